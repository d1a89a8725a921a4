//! A command cut into tokens (W-1).
//!
//! ```text
//!   blank, newline, operator ──> between words
//!   '…'  "…"  \x               ──> text that is quoted
//!   $name  ${name}             ──> variable
//!   $(…)  `…`  <(…)  >(…)      ──> substitution, cut in the same way
//!   <<end … end                ──> a here-document: its body begins on the next line
//! ```
//!
//! The text is read once, but for backticks: they are unescaped, and what is in them is read again.

mod expansion;
mod here_document;

use here_document::OpenDocument;
use reenact_wire::prelude::*;

use crate::lexeme::{CommandWord, Lexeme, Operator, ShellToken, WordPart};

/// How deep substitutions may lie in each other. Nobody writes so many; without a limit a hostile text takes the stack.
const DEPTH_MAX: usize = 32;

/// The mistake in a command, with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem} at byte {at}")]
pub struct ShellError {
    /// The mistake.
    pub problem: ShellProblem,
    /// The byte of the command at which it begins.
    pub at: usize,
}

/// A mistake in a command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShellProblem {
    /// A quote without its end.
    #[error("the quote {0} is not closed")]
    OpenQuote(char),
    /// `$(`, `${`, `$((` or a backtick without its end.
    #[error("{0} is not closed")]
    OpenExpansion(&'static str),
    /// A closing parenthesis that closes nothing.
    #[error("nothing is open that ) could close")]
    StrayParenthesis,
    /// `<<` without a word behind it.
    #[error("<< has no word that ends its text")]
    NoDelimiter,
    /// Substitutions in each other without end.
    #[error("substitutions lie more than {DEPTH_MAX} deep in each other")]
    TooDeep,
    /// Shells read it in different ways.
    #[error("shells read {0} in different ways")]
    Ambiguous(&'static str),
    /// Only to run it would tell what it gives.
    #[error("what {0} gives is known only when it runs")]
    Unknown(String),
}

impl ShellProblem {
    pub(crate) fn at(self, at: usize) -> ShellError {
        ShellError { problem: self, at }
    }
}

/// Cuts a command into its tokens. Nothing is run or replaced.
///
/// # Errors
/// What is not closed, and where it begins.
pub fn lexemes(command: &str) -> Result<Vec<Lexeme>, ShellError> {
    Lexer { text: command, at: 0, depth: 0, origin: None }.lexemes(None)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// The place that errors and tokens have, for a text that is none of the command's own.
    origin: Option<usize>,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn byte_after(&self, count: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + count).copied()
    }

    fn place(&self, at: usize) -> usize {
        self.origin.unwrap_or(at)
    }

    fn fail<T>(&self, problem: ShellProblem, at: usize) -> Result<T, ShellError> {
        Err(problem.at(self.place(at)))
    }

    /// Tokens up to the end of the text, or behind the parenthesis that closes the substitution which began at `opened`.
    fn lexemes(&mut self, opened: Option<usize>) -> Result<Vec<Lexeme>, ShellError> {
        let mut lexemes = Vec::new();
        let mut documents: Vec<OpenDocument> = Vec::new();
        let mut parentheses = 0_usize;
        loop {
            self.skip_blanks_and_comment();
            let at = self.at;
            let Some(byte) = self.byte() else { break };
            let token = match byte {
                b'\n' => {
                    self.at += 1;
                    lexemes.push(Lexeme { token: ShellToken::Newline, at: self.place(at) });
                    self.read_bodies(&mut documents, &mut lexemes)?;
                    continue;
                }
                b'<' if self.rest().starts_with("<<") && !self.rest().starts_with("<<<") => {
                    documents.push(self.open_document(lexemes.len())?);
                    ShellToken::HereDocument(CommandWord::default())
                }
                b')' if opened.is_some() && parentheses == 0 => {
                    self.at += 1;
                    return Ok(lexemes);
                }
                b'|' | b'&' | b';' | b'(' | b')' | b'<' | b'>' if !self.is_process_substitution() => {
                    let operator = self.operator();
                    match operator {
                        Operator::Open => parentheses += 1,
                        Operator::Close if parentheses == 0 => return self.fail(ShellProblem::StrayParenthesis, at),
                        Operator::Close => parentheses -= 1,
                        _ => (),
                    }
                    ShellToken::Operator(operator)
                }
                _ => match self.descriptor() {
                    Some(number) => ShellToken::Descriptor(number),
                    None => ShellToken::Word(self.word()?),
                },
            };
            lexemes.push(Lexeme { token, at: self.place(at) });
        }
        self.read_bodies(&mut documents, &mut lexemes)?;
        match opened {
            Some(at) => self.fail(ShellProblem::OpenExpansion("$("), at),
            None => Ok(lexemes),
        }
    }

    fn skip_blanks_and_comment(&mut self) {
        loop {
            match self.byte() {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.byte_after(1) == Some(b'\n') => self.at += 2,
                Some(b'#') => return self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                _ => return,
            }
        }
    }

    /// The operator that begins here: the caller has seen its first character.
    fn operator(&mut self) -> Operator {
        let rest = self.rest();
        let operator = Operator::ALL.into_iter().find(|operator| rest.starts_with(operator.as_str())).unwrap_or(Operator::Semicolon);
        self.at += operator.as_str().len();
        operator
    }

    /// `<(` and `>(` begin a word in shells that know them. In the others they are an error.
    fn is_process_substitution(&self) -> bool {
        matches!(self.byte(), Some(b'<' | b'>')) && self.byte_after(1) == Some(b'(')
    }

    /// Figures with a redirection right behind them are no word.
    fn descriptor(&mut self) -> Option<String> {
        let rest = self.rest();
        let number = &rest[..rest.bytes().take_while(u8::is_ascii_digit).count()];
        let is_one = !number.is_empty() && rest[number.len()..].starts_with(['<', '>']) && !rest[number.len() + 1..].starts_with('(');
        let number = is_one.then(|| number.to_owned())?;
        self.at += number.len();
        Some(number)
    }

    /// The word that begins here.
    fn word(&mut self) -> Result<CommandWord, ShellError> {
        let mut word = CommandWord::default();
        while let Some(byte) = self.byte() {
            match byte {
                b' ' | b'\t' | b'\n' | b'|' | b'&' | b';' | b'(' | b')' => break,
                b'<' | b'>' if !self.is_process_substitution() => break,
                b'<' | b'>' => {
                    self.at += 2;
                    let part = self.substitution(false)?;
                    word.parts.push(part);
                }
                b'\'' => self.single_quoted(&mut word)?,
                b'"' => self.double_quoted(&mut word)?,
                b'\\' if self.byte_after(1) == Some(b'\n') => self.at += 2,
                b'\\' => self.escaped(&mut word),
                b'$' | b'`' => self.expansion(&mut word, false)?,
                _ => {
                    let rest = self.rest();
                    let length = rest.find([' ', '\t', '\n', '|', '&', ';', '(', ')', '<', '>', '\'', '"', '\\', '$', '`']);
                    let text = &rest[..length.unwrap_or(rest.len())];
                    let length = text.len();
                    push_text(&mut word, text, false);
                    self.at += length;
                }
            }
        }
        Ok(word)
    }

    fn single_quoted(&mut self, word: &mut CommandWord) -> Result<(), ShellError> {
        let at = self.at;
        let inner = &self.rest()[1..];
        let Some(length) = inner.find('\'') else { return self.fail(ShellProblem::OpenQuote('\''), at) };
        push_text(word, &inner[..length], true);
        self.at += length + 2;
        Ok(())
    }

    fn double_quoted(&mut self, word: &mut CommandWord) -> Result<(), ShellError> {
        let at = self.at;
        self.at += 1;
        push_text(word, "", true);
        loop {
            let rest = self.rest();
            let Some(length) = rest.find(['"', '\\', '$', '`']) else { return self.fail(ShellProblem::OpenQuote('"'), at) };
            if length > 0 {
                push_text(word, &rest[..length], true);
            }
            let special = rest.as_bytes()[length];
            self.at += length;
            match special {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => self.escaped_in_quotes(word, b"$`\"\\"),
                _ => self.expansion(word, true)?,
            }
        }
    }

    /// A backslash outside of quotes: the next character stands for itself.
    fn escaped(&mut self, word: &mut CommandWord) {
        let next = self.rest()[1..].chars().next();
        // A backslash at the very end stands for itself.
        let text = next.unwrap_or('\\');
        push_text(word, text.encode_utf8(&mut [0; 4]), true);
        self.at += 1 + next.map_or(0, char::len_utf8);
    }

    /// A backslash in quotes: it takes away the meaning of these characters, and the end of a line. Before others it stands for itself.
    fn escaped_in_quotes(&mut self, word: &mut CommandWord, special: &[u8]) {
        match self.byte_after(1) {
            Some(b'\n') => self.at += 2,
            Some(next) if special.contains(&next) => {
                push_text(word, char::from(next).encode_utf8(&mut [0; 4]), true);
                self.at += 2;
            }
            _ => {
                push_text(word, "\\", true);
                self.at += 1;
            }
        }
    }
}

/// Adds text to a word. It joins the part before if that is quoted alike.
fn push_text(word: &mut CommandWord, added: &str, quoted: bool) {
    match word.parts.last_mut() {
        Some(WordPart::Text { text, is_quoted }) if *is_quoted == quoted => text.push_str(added),
        _ => word.parts.push(WordPart::Text { text: added.to_owned(), is_quoted: quoted }),
    }
}
