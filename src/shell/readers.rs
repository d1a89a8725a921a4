//! Which commands only read, so that they may run beside others (T-3, B-5).
//!
//! ```text
//!   reader | reader && reader ; reader        only reads, if each program is known and none of its options writes
//!   > >> & $(…) $name {…} ( ) A=1 unknown     may write
//! ```
//!
//! Pure functions. A command that is not understood may write. To run it alone costs time; to run it beside others may cost work.

use reenact_wire::prelude::*;

use crate::lexeme::{CommandWord, Operator};
use crate::lexer::lexemes;
use crate::simple_command::{CommandEnd, Redirection, SimpleCommand, simple_commands};

/// A program that writes nothing, but for some of its options.
struct ReaderProgram {
    name: &'static str,
    /// Its command, for a program of several: `log` of `git log`.
    subcommand: Option<&'static str>,
    /// Long options that write or start something. A shortened or lengthened one counts.
    long: &'static [&'static str],
    /// Short ones, alone or among others.
    short: &'static str,
    /// Options with a single dash and a long name, by their beginnings.
    single_dash: &'static [&'static str],
}

const fn plain(name: &'static str) -> ReaderProgram {
    ReaderProgram { name, subcommand: None, long: &[], short: "", single_dash: &[] }
}

const fn git(subcommand: &'static str) -> ReaderProgram {
    // A format may ask for signatures, which are verified by a program.
    let long = &["output", "ext-diff", "show-signature", "textconv", "help"];
    ReaderProgram { name: "git", subcommand: Some(subcommand), long, short: "o", single_dash: &[] }
}

const PROGRAMS: &[ReaderProgram] = &[
    plain("basename"),
    plain("cat"),
    plain("cmp"),
    plain("comm"),
    plain("cut"),
    plain("df"),
    plain("dirname"),
    plain("du"),
    plain("echo"),
    plain("false"),
    plain("fold"),
    plain("grep"),
    plain("head"),
    plain("join"),
    plain("ls"),
    plain("md5sum"),
    plain("nl"),
    plain("od"),
    plain("paste"),
    plain("pwd"),
    plain("readlink"),
    plain("realpath"),
    plain("rev"),
    plain("sha1sum"),
    plain("sha256sum"),
    plain("sleep"),
    plain("stat"),
    plain("tac"),
    plain("tail"),
    plain("tr"),
    plain("true"),
    plain("type"),
    plain("uname"),
    plain("wc"),
    plain("which"),
    plain("whoami"),
    ReaderProgram { name: "diff", subcommand: None, long: &["paginate"], short: "l", single_dash: &[] },
    ReaderProgram { name: "file", subcommand: None, long: &["compile", "uncompress"], short: "CzZ", single_dash: &[] },
    ReaderProgram {
        name: "find",
        subcommand: None,
        long: &[],
        short: "",
        single_dash: &["delete", "exec", "execdir", "ok", "okdir", "fprint", "fls"],
    },
    // Some shells have options of their own for these, which set variables.
    ReaderProgram { name: "printf", subcommand: None, long: &[], short: "v", single_dash: &[] },
    ReaderProgram { name: "test", subcommand: None, long: &[], short: "v", single_dash: &[] },
    ReaderProgram { name: "rg", subcommand: None, long: &["pre", "hostname-bin", "search-zip"], short: "z", single_dash: &[] },
    ReaderProgram {
        name: "sort",
        subcommand: None,
        long: &["output", "compress-program", "temporary-directory"],
        short: "oT",
        single_dash: &[],
    },
    ReaderProgram { name: "tree", subcommand: None, long: &["output"], short: "oR", single_dash: &[] },
    git("blame"),
    git("diff"),
    git("log"),
    git("ls-files"),
    git("rev-parse"),
    git("show"),
    git("status"),
];

/// Whether a shell command is known to read only: nothing that it starts writes, whatever there is in its folder.
pub fn only_reads(command: &str) -> bool {
    let Ok(lexemes) = lexemes(command) else { return false };
    // Behind `|` or `&&` a list may go on in the next line.
    let mut commands = simple_commands(&lexemes);
    commands.retain(|command| !(command.is_empty() && command.end == Some(CommandEnd::Newline)));
    let is_some = commands.iter().any(|command| !command.is_empty());
    is_some && commands.iter().enumerate().all(|(index, command)| reads(command, commands.get(index + 1)))
}

/// Whether one of the commands reads only, and what joins it to the next one starts nothing that goes on.
fn reads(command: &SimpleCommand<'_>, next: Option<&SimpleCommand<'_>>) -> bool {
    let is_joined = match command.end {
        None => true,
        // A pipe leads somewhere; a list may end.
        Some(CommandEnd::Operator(Operator::Pipe | Operator::And | Operator::Or)) => {
            !command.is_empty() && next.is_some_and(|next| !next.is_empty())
        }
        Some(CommandEnd::Operator(Operator::Semicolon)) => !command.is_empty(),
        Some(CommandEnd::Newline) => true,
        Some(CommandEnd::Operator(_)) => false,
    };
    is_joined && command.redirections.iter().all(only_gives) && (command.is_empty() || is_reader(&command.words))
}

/// Whether a redirection opens no file to be written.
fn only_gives(redirection: &Redirection<'_>) -> bool {
    let is_plain = |word: &CommandWord| word.literal().is_some() && !word.is_pattern();
    match redirection {
        Redirection::HereDocument(body) => body.literal().is_some(),
        // Some shells open connections by such names.
        Redirection::To(Operator::Input, Some(word)) => is_plain(word) && !word.literal().is_some_and(|name| name.starts_with("/dev/")),
        Redirection::To(Operator::HereString, Some(word)) => is_plain(word),
        // `2>&1` joins two that are open. `>&file` writes.
        Redirection::To(Operator::OutputTo, Some(word)) => matches!(word.literal().as_deref(), Some("1" | "2")),
        Redirection::To(..) => false,
    }
}

fn is_reader(words: &[&CommandWord]) -> bool {
    // What the shell replaces may be anything: another program, another option. Other white space splits words in some shells.
    let is_odd = |character: char| (character.is_whitespace() || character.is_control()) && !matches!(character, ' ' | '\t' | '\n');
    let Some(texts) = words.iter().map(|word| word.literal().filter(|text| !text.contains(is_odd))).collect::<Option<Vec<_>>>() else {
        return false;
    };
    let has_braces = words.iter().any(|word| word.has_braces());
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (words, texts) = match texts.as_slice() {
        ["git", "--no-pager", ..] => (&words[1..], [&["git"], &texts[2..]].concat()),
        _ => (words, texts),
    };
    let is_it = |program: &&ReaderProgram| match (texts.as_slice(), program.subcommand) {
        ([name, subcommand, ..], Some(known)) => *name == program.name && *subcommand == known,
        ([name, ..], None) => *name == program.name,
        _ => false,
    };
    let Some(program) = PROGRAMS.iter().find(is_it).filter(|_| !has_braces && !words[0].is_pattern()) else { return false };
    let skipped = 1 + usize::from(program.subcommand.is_some());
    words.iter().zip(&texts).skip(skipped).all(|(word, text)| program.has_only_read(word, text))
}

impl ReaderProgram {
    /// Whether an argument is none of the options that write, and cannot become one: a file may be named like an option.
    fn has_only_read(&self, word: &CommandWord, text: &str) -> bool {
        if self.long.is_empty() && self.short.is_empty() && self.single_dash.is_empty() {
            return true;
        }
        if word.is_pattern() && text.starts_with(['*', '?', '[']) {
            return false;
        }
        if self.name == "git" && text.contains("%G") {
            return false;
        }
        if let Some(option) = text.strip_prefix("--") {
            let name = option.split('=').next().unwrap_or_default();
            return name.is_empty() || !self.long.iter().any(|long| long.starts_with(name) || name.starts_with(long));
        }
        let Some(option) = text.strip_prefix('-') else { return true };
        !option.contains(|short| self.short.contains(short)) && !self.single_dash.iter().any(|name| option.starts_with(name))
    }
}
