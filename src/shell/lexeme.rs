//! Tokens, words and their parts (W-1).

use core::fmt;
use core::ops::Range;

use reenact_wire::prelude::*;

/// A token and its place: the byte of the command at which it begins. Inside of backticks places are those of the backtick.
#[derive(Clone, Debug, PartialEq)]
pub struct Lexeme {
    /// The token.
    pub token: ShellToken,
    /// Its first byte.
    pub at: usize,
}

/// A token of a command.
#[derive(Clone, Debug, PartialEq)]
pub enum ShellToken {
    /// A word.
    Word(CommandWord),
    /// An operator.
    Operator(Operator),
    /// The number of an open file before a redirection: the 2 of `2>&1`.
    Descriptor(String),
    /// `<<` or `<<-` with its body.
    HereDocument(CommandWord),
    /// The end of a line.
    Newline,
}

/// A word: its parts stand without a blank between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandWord {
    /// The parts, in order. A word without parts does not exist: `""` has one, which is empty.
    pub parts: Vec<WordPart>,
}

/// A part of a word.
#[derive(Clone, Debug, PartialEq)]
pub enum WordPart {
    /// Characters that stand for themselves, or that the shell would take as a pattern where they are not quoted.
    Text {
        /// The characters, without quotes and backslashes.
        text: String,
        /// Whether they stood in quotes or behind a backslash.
        is_quoted: bool,
    },
    /// `$NAME` or `${NAME}`.
    Variable {
        /// The name, without the dollar sign.
        name: String,
        /// Whether it stood in double quotes.
        is_quoted: bool,
    },
    /// `$(…)`, backticks, `<(…)`: commands whose output is put in its place.
    Substitution {
        /// The commands.
        lexemes: Vec<Lexeme>,
        /// The bytes of the text that they are; `None` in backticks, which are read without their backslashes.
        source: Option<Range<usize>>,
        /// Whether it stood in double quotes.
        is_quoted: bool,
    },
    /// Something else that the shell replaces, as it is written: `${x:-y}`, `$((1+2))`, `$?`.
    Expansion(String),
}

impl CommandWord {
    /// The word's text, if all of it stands for itself; nothing of it is replaced.
    pub fn literal(&self) -> Option<String> {
        let texts = self.parts.iter().map(|part| if let WordPart::Text { text, .. } = part { Some(text.as_str()) } else { None });
        texts.collect()
    }

    /// How many bytes its parts have: what it costs to look at it once.
    pub(crate) fn size(&self) -> usize {
        let of = |part: &WordPart| match part {
            WordPart::Text { text, .. } | WordPart::Variable { name: text, .. } | WordPart::Expansion(text) => text.len(),
            WordPart::Substitution { .. } => 0,
        };
        self.parts.iter().map(|part| 1 + of(part)).sum()
    }

    /// Whether some shells make several words of it: `{a,b}`, `{1..9}`.
    pub(crate) fn has_braces(&self) -> bool {
        let holds = |text: &str| {
            self.parts.iter().any(|part| matches!(part, WordPart::Text { text: part, is_quoted: false } if part.contains(text)))
        };
        holds("{") && (holds(",") || holds(".."))
    }

    /// Whether a shell might make several words of it, or other ones: by a pattern, by braces, or by a tilde.
    pub fn is_pattern(&self) -> bool {
        let is_special = |text: &str| text.contains(['*', '?', '[']) || text.starts_with('~');
        self.has_braces() || self.parts.iter().any(|part| matches!(part, WordPart::Text { text, is_quoted: false } if is_special(text)))
    }
}

/// An operator of the shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `||`
    Or,
    /// `&&`
    And,
    /// `;;`
    CaseEnd,
    /// `;`
    Semicolon,
    /// `|&`
    PipeBoth,
    /// `|`
    Pipe,
    /// `&`
    Background,
    /// `(`
    Open,
    /// `)`
    Close,
    /// `<`
    Input,
    /// `<&`
    InputFrom,
    /// `<>`
    ReadWrite,
    /// `<<<`
    HereString,
    /// `>`
    Output,
    /// `>>`
    Append,
    /// `>|`
    Overwrite,
    /// `>&`
    OutputTo,
}

impl Operator {
    /// All of them, a longer one before its own beginning.
    pub(crate) const ALL: [Operator; 17] = [
        Operator::HereString,
        Operator::Or,
        Operator::And,
        Operator::CaseEnd,
        Operator::PipeBoth,
        Operator::InputFrom,
        Operator::ReadWrite,
        Operator::Append,
        Operator::Overwrite,
        Operator::OutputTo,
        Operator::Semicolon,
        Operator::Pipe,
        Operator::Background,
        Operator::Open,
        Operator::Close,
        Operator::Input,
        Operator::Output,
    ];

    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Operator::Or => "||",
            Operator::And => "&&",
            Operator::CaseEnd => ";;",
            Operator::Semicolon => ";",
            Operator::PipeBoth => "|&",
            Operator::Pipe => "|",
            Operator::Background => "&",
            Operator::Open => "(",
            Operator::Close => ")",
            Operator::Input => "<",
            Operator::InputFrom => "<&",
            Operator::ReadWrite => "<>",
            Operator::HereString => "<<<",
            Operator::Output => ">",
            Operator::Append => ">>",
            Operator::Overwrite => ">|",
            Operator::OutputTo => ">&",
        }
    }

    /// Whether a file's name or number follows.
    pub fn is_redirection(self) -> bool {
        matches!(self.as_str().as_bytes()[0], b'<' | b'>')
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
