//! Dangerous programs anywhere in a command, and ways to hide one: those must be asked about (P-2).
//!
//! ```text
//!   each simple command, in lists, pipes, substitutions and here-documents
//!     ──> words that the shell itself reads (if, do, !) are gone over
//!     ──> wrappers (env, sudo, xargs, sh -c) are gone through
//!     ──> the program's name: dangerous, harmless, or not known before it runs
//! ```
//!
//! Names are compared as whole words, never as parts of words: `farm`, `git rm` and `docker run --rm` are no `rm`.

mod interpreters;
mod wrappers;

use reenact_wire::prelude::*;

use crate::lexeme::{CommandWord, Lexeme, Operator, ShellToken, WordPart};
use crate::lexer::{ShellError, lexemes};
use crate::simple_command::{CommandEnd, Redirection, SimpleCommand, simple_commands};
use wrappers::WrappedCommand;

/// Programs that destroy. `mkfs` counts with any ending: `mkfs.ext4`.
const DANGEROUS: [&str; 5] = ["rm", "dd", "mkfs", "fdisk", "kill"];

/// Words that the shell reads itself, with a command behind them.
const KEYWORDS: [&str; 9] = ["if", "then", "elif", "else", "while", "until", "do", "!", "{"];

/// Words that end something, or begin a list of words which are no commands.
const NO_COMMANDS: [&str; 6] = ["fi", "done", "}", "esac", "for", "select"];

/// Words that begin what this reader does not follow.
const UNREAD: [&str; 2] = ["case", "coproc"];

/// Variables that hold a command for another program.
const COMMAND_VARIABLES: [&str; 12] =
    ["BASH_ENV", "ENV", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS4", "LESSOPEN", "RSYNC_RSH", "GIT_SSH", "GIT_EXTERNAL_DIFF", "FCEDIT"];

/// Their endings.
const COMMAND_ENDINGS: [&str; 6] = ["EDITOR", "PAGER", "ASKPASS", "_COMMAND", "_WRAPPER", "BROWSER"];

/// How many commands may start each other: `env nice sh -c "sudo sh -c '…'"`.
const DEPTH_MAX: usize = 24;

/// How many bytes may be looked at. In a hostile command each word may begin another one, and all words behind it are looked at again.
const BYTES_MAX: usize = 16 << 20;

/// Why a command must be asked about (P-2).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Danger {
    /// It starts a dangerous program.
    #[error("it starts {0}")]
    Program(String),
    /// Which program it starts is known only when it runs.
    #[error("which program it starts is known only when it runs: {0}")]
    UnknownProgram(String),
    /// A shell gets its commands from elsewhere.
    #[error("{0} reads its commands from elsewhere")]
    UnknownCommands(String),
    /// It is more than this reader understands.
    #[error("it is not understood: {0}")]
    NotUnderstood(String),
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(#[from] ShellError),
}

impl Danger {
    /// The rule that would allow this program to the tool from now on; `None` where no program is known.
    pub fn suggested_rule(&self, tool: &str) -> Option<String> {
        match self {
            Danger::Program(name) => Some(format!("{tool}({name} *)")),
            _ => None,
        }
    }
}

/// The first reason to ask about a command; `None` if there is nothing in it that is known to be dangerous.
pub fn danger(command: &str) -> Option<Danger> {
    in_text(command, &mut ReadingLimits { depth: DEPTH_MAX, bytes: BYTES_MAX, programs: None }).err()
}

/// The programs that a command starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartedPrograms {
    /// Each with its arguments, without quotes: those behind wrappers as well. One that is named by its path stands there by its name, too.
    pub texts: Vec<String>,
    /// Whether these are all. What is not understood may start more.
    pub are_all: bool,
}

/// The programs that a command starts, as far as they can be known (P-1).
///
/// `A=1 sudo /bin/rm -r x; ls` starts `sudo /bin/rm -r x`, `/bin/rm -r x`, `rm -r x` and `ls`.
pub fn started_programs(command: &str) -> StartedPrograms {
    let mut limits = ReadingLimits { depth: DEPTH_MAX, bytes: BYTES_MAX, programs: Some(Vec::new()) };
    let are_all = in_text(command, &mut limits).is_ok();
    StartedPrograms { texts: limits.programs.unwrap_or_default(), are_all }
}

/// How much more may be read, and what was found so far.
struct ReadingLimits {
    depth: usize,
    bytes: usize,
    /// The programs that are started, where they are wanted. Then a dangerous one is no reason to stop.
    programs: Option<Vec<String>>,
}

impl ReadingLimits {
    /// Reads a command that another one starts, with so many bytes.
    fn within(&mut self, bytes: usize, read: impl FnOnce(&mut Self) -> Result<(), Danger>) -> Result<(), Danger> {
        let (Some(depth), Some(bytes)) = (self.depth.checked_sub(1), self.bytes.checked_sub(bytes)) else {
            return Err(Danger::NotUnderstood(String::from("commands in commands")));
        };
        (self.depth, self.bytes) = (depth, bytes);
        let result = read(self);
        self.depth += 1;
        result
    }
}

fn in_text(command: &str, limits: &mut ReadingLimits) -> Result<(), Danger> {
    let lexemes = lexemes(command)?;
    limits.within(command.len(), |limits| in_lexemes(&lexemes, limits))
}

fn in_lexemes(lexemes: &[Lexeme], limits: &mut ReadingLimits) -> Result<(), Danger> {
    for lexeme in lexemes {
        if let ShellToken::Word(word) | ShellToken::HereDocument(word) = &lexeme.token {
            in_parts(word, limits)?;
        }
    }
    // `((a<<b))` is arithmetic to some shells, and two groups with a here-document to others.
    let is_open = |lexeme: &Lexeme| lexeme.token == ShellToken::Operator(Operator::Open);
    if lexemes.windows(2).any(|pair| is_open(&pair[0]) && is_open(&pair[1]) && pair[1].at == pair[0].at + 1) {
        return Err(Danger::NotUnderstood(String::from("((")));
    }
    simple_commands(lexemes).iter().try_for_each(|command| in_command(command, limits))
}

/// Looks into the substitutions of a word.
fn in_parts(word: &CommandWord, limits: &mut ReadingLimits) -> Result<(), Danger> {
    word.parts.iter().try_for_each(|part| match part {
        WordPart::Substitution { lexemes, .. } => in_lexemes(lexemes, limits),
        // Commands may lie in it, which the lexer has gone over.
        WordPart::Expansion(text) => {
            let inner = text.strip_prefix("$((").unwrap_or(text);
            let has_commands = inner.contains("$(") || inner.contains('`') || inner.ends_with("@P}");
            if has_commands { Err(Danger::NotUnderstood(text.clone())) } else { Ok(()) }
        }
        _ => Ok(()),
    })
}

fn in_command(command: &SimpleCommand<'_>, limits: &mut ReadingLimits) -> Result<(), Danger> {
    // `a=(x y)`: words in parentheses that are no commands. Nothing of it is followed.
    if command.end == Some(CommandEnd::Operator(Operator::Open)) && command.words.iter().any(|word| is_assignment(word)) {
        return Err(Danger::NotUnderstood(String::from("a list of values")));
    }
    let given = GivenInput::from_redirections(&command.redirections);
    in_words(&command.words, &given, limits)
}

/// The input that a command gets from its redirections.
enum GivenInput {
    Nothing,
    /// A text that is known.
    Text(String),
    Unknown,
}

impl GivenInput {
    fn from_redirections(redirections: &[Redirection<'_>]) -> Self {
        let of = |redirection: &Redirection<'_>| match redirection {
            Redirection::HereDocument(word) | Redirection::To(Operator::HereString, Some(word)) => {
                Some(word.literal().map_or(Self::Unknown, Self::Text))
            }
            Redirection::To(Operator::Input | Operator::InputFrom | Operator::ReadWrite | Operator::HereString, _) => Some(Self::Unknown),
            Redirection::To(..) => None,
        };
        // Of several the last one counts.
        redirections.iter().rev().find_map(of).unwrap_or(Self::Nothing)
    }
}

/// A program with its arguments, behind what the shell reads itself.
fn in_words(words: &[&CommandWord], given: &GivenInput, limits: &mut ReadingLimits) -> Result<(), Danger> {
    limits.within(words.iter().map(|word| 1 + word.size()).sum(), |limits| in_program(words, given, limits))
}

fn in_program(words: &[&CommandWord], given: &GivenInput, limits: &mut ReadingLimits) -> Result<(), Danger> {
    let mut words = words;
    while let [first, rest @ ..] = words {
        match unquoted(first) {
            Some(keyword) if KEYWORDS.contains(&keyword) => words = rest,
            // Its body is read as commands are, and starts with the brace behind its name.
            Some("function") => words = rest.get(1..).unwrap_or_default(),
            Some(word) if NO_COMMANDS.contains(&word) => return Ok(()),
            Some(word) if UNREAD.contains(&word) => return Err(Danger::NotUnderstood(word.to_owned())),
            _ if is_assignment(first) => {
                in_assignment(first, limits)?;
                words = rest;
            }
            _ => break,
        }
    }
    let [program, arguments @ ..] = words else { return Ok(()) };
    let name = program_name(program);
    if let Some(programs) = &mut limits.programs {
        let text = words.iter().map(|word| shown(word)).collect::<Vec<_>>().join(" ");
        let behind_path =
            text.split(' ').next().and_then(|first| first.rsplit_once('/')).map(|(path, _)| text[path.len() + 1..].to_owned());
        programs.push(text);
        programs.extend(behind_path);
    }
    let name = name?;
    if is_dangerous(&name) && limits.programs.is_none() {
        return Err(Danger::Program(name));
    }
    let wrapped = match (wrappers::wrapped(&name, arguments), given) {
        // A text that a shell gets can be read as well.
        (Err(Danger::UnknownCommands(_)), GivenInput::Text(text)) if wrappers::is_shell(&name) => return in_text(text, limits),
        (wrapped, _) => wrapped?,
    };
    match wrapped {
        WrappedCommand::None => interpreters::check(&name, arguments, given),
        // The shell itself reads on from there.
        WrappedCommand::Words([]) if name == "exec" && !matches!(given, GivenInput::Nothing) => Err(Danger::UnknownCommands(name)),
        WrappedCommand::Words(words) if name == "xargs" => in_fed(words, given, limits),
        WrappedCommand::Words(words) => in_words(words, given, limits),
        WrappedCommand::Texts(texts) => texts.iter().try_for_each(|text| in_text(text, limits)),
        WrappedCommand::Several(commands) => commands.into_iter().try_for_each(|words| in_words(words, given, limits)),
    }
}

/// A command whose last words come from elsewhere: nothing may be missing that names a program.
fn in_fed(words: &[&CommandWord], given: &GivenInput, limits: &mut ReadingLimits) -> Result<(), Danger> {
    in_words(words, given, limits)?;
    let [program, arguments @ ..] = words else { return Ok(()) };
    let name = program_name(program)?;
    let is_open = match wrappers::wrapped(&name, arguments)? {
        WrappedCommand::Words(words) => words.is_empty(),
        WrappedCommand::Texts(texts) => texts.iter().all(String::is_empty),
        WrappedCommand::Several(_) => name == "find",
        WrappedCommand::None => false,
    };
    if is_open { Err(Danger::UnknownCommands(name)) } else { Ok(()) }
}

/// A variable that other programs take for a command.
fn in_assignment(word: &CommandWord, limits: &mut ReadingLimits) -> Result<(), Danger> {
    let Some(WordPart::Text { text, .. }) = word.parts.first() else { return Ok(()) };
    let name = text.split(['=', '+']).next().unwrap_or_default();
    if !COMMAND_VARIABLES.contains(&name) && !COMMAND_ENDINGS.iter().any(|ending| name.ends_with(ending)) {
        return Ok(());
    }
    let whole = word.literal().ok_or_else(|| Danger::UnknownProgram(shown(word)))?;
    in_text(whole[name.len()..].trim_start_matches(['+', '=', '|']), limits)
}

/// The word as it is written, if nothing of it is quoted or replaced.
fn unquoted(word: &CommandWord) -> Option<&str> {
    match word.parts.as_slice() {
        [WordPart::Text { text, is_quoted: false }] => Some(text),
        _ => None,
    }
}

/// The last part of the program's path, in lower case: some file systems do not tell them apart.
fn program_name(word: &CommandWord) -> Result<String, Danger> {
    let unknown = || Danger::UnknownProgram(shown(word));
    let text = word.literal().ok_or_else(unknown)?;
    // A terminal shows no difference between a blank and these, and some shells know none.
    let is_hidden = |character: char| {
        character.is_whitespace()
            || character.is_control()
            || matches!(character, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let is_test = matches!(text.as_str(), "[" | "[[");
    if (word.is_pattern() && !is_test) || text.starts_with('$') || text.contains(is_hidden) {
        return Err(unknown());
    }
    Ok(text.rsplit('/').next().unwrap_or_default().to_lowercase())
}

fn is_dangerous(name: &str) -> bool {
    DANGEROUS.contains(&name) || name.starts_with("mkfs.")
}

/// `NAME=value`, as the shell reads it: the name and the `=` stand outside of quotes.
fn is_assignment(word: &CommandWord) -> bool {
    let Some(WordPart::Text { text, is_quoted: false }) = word.parts.first() else { return false };
    let Some((name, _)) = text.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn shown(word: &CommandWord) -> String {
    let of = |part: &WordPart| match part {
        WordPart::Text { text, .. } | WordPart::Expansion(text) => text.clone(),
        WordPart::Variable { name, .. } => format!("${name}"),
        WordPart::Substitution { .. } => String::from("$(…)"),
    };
    word.parts.iter().map(of).collect()
}
