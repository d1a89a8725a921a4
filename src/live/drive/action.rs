//! The actions on a client, and their results (K-9).

use core::fmt;
use std::time::Duration;

use super::moment::ClientMoment;
use super::{CallResult, ChildSignal, SignalTarget};
use reenact_wire::prelude::*;

/// The action on a client at a moment of its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundaryAction {
    /// The moment of the action.
    pub at: ClientMoment,
    /// The number of the last answer, for moments after it.
    pub last_answer: u32,
    /// The action.
    pub what: ClientAction,
    /// How long the answer stands still before: the client has read all that was sent.
    pub lead: Duration,
    /// How long the answer stands still after.
    pub wait: Duration,
    /// The results of tools in the run in which nothing is done.
    pub usual_results: Arc<[CallResult]>,
}

impl BoundaryAction {
    /// Whether the client is killed.
    pub(super) fn is_kill(&self) -> bool {
        matches!(self.what, ClientAction::Signal(ChildSignal::Kill, _))
    }
}

/// Something that is done to a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientAction {
    /// It gets a signal, alone or with its group.
    Signal(ChildSignal, SignalTarget),
    /// The connection is closed inside the answer.
    Close,
    /// The connection breaks.
    Reset,
    /// It gets a line on its standard input.
    Line(String),
    /// These keys are pressed at its terminal, one after another.
    Keys(Vec<TerminalKey>),
}

/// A key of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalKey {
    /// ESC.
    Escape,
    /// Ctrl and this letter.
    Control(char),
}

/// The result of an action on a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionOutcome {
    /// None was wanted, or its boundary never came.
    NotDone,
    /// It was done.
    Done,
    /// The next request came first, or the client ended first.
    TooLate,
}

/// How actions are written, for messages.
const WRITTEN: &str = "SIGINT, SIGTERM, SIGHUP, SIGKILL, close, reset, line:TEXT, key:ESC, key:^C or key:^C^C";

impl ClientAction {
    /// Whether it is done to the client itself, and not to a connection: then it can be done between answers, too.
    pub fn is_on_process(&self) -> bool {
        matches!(self, Self::Signal(..) | Self::Line(_) | Self::Keys(_))
    }

    /// Whether it tells the client to stop, in a way that it can obey.
    pub fn is_abort(&self) -> bool {
        match self {
            Self::Signal(signal, _) => *signal != ChildSignal::Kill,
            Self::Keys(_) => true,
            Self::Close | Self::Reset | Self::Line(_) => false,
        }
    }

    /// The actions of words between commas, each for runs of its own: a signal without a target goes to the client, and to its group. A line
    /// stands alone, because commas may be part of it.
    ///
    /// # Errors
    /// What to write instead.
    pub fn parse(words: &str) -> Result<Vec<Self>, String> {
        if words.starts_with("line:") {
            return Self::parse_word(words);
        }
        let mut actions: Vec<Self> = Vec::new();
        for word in words.split(',') {
            let new = Self::parse_word(word)?.into_iter().filter(|action| !actions.contains(action)).collect::<Vec<_>>();
            actions.extend(new);
        }
        Ok(actions)
    }

    fn parse_word(word: &str) -> Result<Vec<Self>, String> {
        let (name, rest) = word.split_once(':').unwrap_or((word, ""));
        let wrong = || format!("write {WRITTEN}");
        if let Some(signal) = ChildSignal::ALL.into_iter().find(|signal| signal.name() == name) {
            let targets = match rest {
                "" => [SignalTarget::Process, SignalTarget::Group].as_slice(),
                "process" => &[SignalTarget::Process],
                "group" => &[SignalTarget::Group],
                _ => return Err(format!("write {name}, {name}:process or {name}:group")),
            };
            return Ok(targets.iter().map(|target| Self::Signal(signal, *target)).collect());
        }
        match (word, name) {
            ("close", _) => Ok(vec![Self::Close]),
            ("reset", _) => Ok(vec![Self::Reset]),
            (_, "line") if word != name => Ok(vec![Self::Line(rest.into())]),
            (_, "key") => TerminalKey::read(rest).map(|keys| vec![Self::Keys(keys)]).ok_or_else(wrong),
            _ => Err(wrong()),
        }
    }
}

impl ClientAction {
    /// The word that [`ClientAction::parse`] reads as this alone.
    pub fn word(&self) -> String {
        match self {
            Self::Signal(signal, SignalTarget::Process) => format!("{}:process", signal.name()),
            Self::Signal(signal, SignalTarget::Group) => format!("{}:group", signal.name()),
            Self::Close | Self::Reset => self.to_string(),
            Self::Line(line) => format!("line:{line}"),
            Self::Keys(keys) => format!("key:{}", keys.iter().map(ToString::to_string).collect::<String>()),
        }
    }
}

impl TerminalKey {
    /// The bytes that a terminal sends for it.
    pub(super) fn byte(self) -> u8 {
        match self {
            Self::Escape => 0x1b,
            // Ctrl takes the upper three bits of a letter.
            Self::Control(letter) => letter as u8 & 0x1f,
        }
    }

    /// `ESC`, `^C`, `^C^C`; `None` for anything else.
    fn read(text: &str) -> Option<Vec<Self>> {
        let (mut keys, mut rest) = (Vec::new(), text);
        while !rest.is_empty() {
            let (key, after) = match (rest.strip_prefix("ESC"), rest.strip_prefix('^')) {
                (Some(after), _) => (Self::Escape, after),
                (None, Some(after)) => {
                    let letter = after.chars().next().filter(char::is_ascii_alphabetic)?;
                    (Self::Control(letter.to_ascii_uppercase()), &after[1..])
                }
                (None, None) => return None,
            };
            keys.push(key);
            rest = after;
        }
        (!keys.is_empty()).then_some(keys)
    }
}

/// `SIGINT`, `SIGINT to the group`, `close`, `key ^C^C`.
impl fmt::Display for ClientAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signal(signal, SignalTarget::Process) => f.write_str(signal.name()),
            Self::Signal(signal, SignalTarget::Group) => write!(f, "{} to the group", signal.name()),
            Self::Close => f.write_str("close"),
            Self::Reset => f.write_str("reset"),
            Self::Line(line) => write!(f, "line {line:?}"),
            Self::Keys(keys) => {
                f.write_str("key ")?;
                keys.iter().try_for_each(|key| key.fmt(f))
            }
        }
    }
}

/// `ESC`, `^C`.
impl fmt::Display for TerminalKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Escape => f.write_str("ESC"),
            Self::Control(letter) => write!(f, "^{letter}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_9_an_action_is_read_and_shown() {
        let shown = |word| ClientAction::parse(word).map(|actions| actions.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(shown("SIGINT").unwrap(), ["SIGINT", "SIGINT to the group"]);
        assert_eq!(shown("SIGTERM:group").unwrap(), ["SIGTERM to the group"]);
        assert_eq!(shown("close").unwrap(), ["close"]);
        assert_eq!(shown("line:a:b").unwrap(), ["line \"a:b\""]);
        assert_eq!(shown("key:^c^C").unwrap(), ["key ^C^C"]);
        assert_eq!(shown("key:ESC").unwrap(), ["key ESC"]);
        assert_eq!(shown("SIGINT:group,close,SIGINT").unwrap(), ["SIGINT to the group", "close", "SIGINT"]);
        assert_eq!(shown("line:a,b").unwrap(), ["line \"a,b\""]);
        for word in ["", "SIGINT,", "SIGINT,quit", "SIGINT:all", "key:", "key:x", "key:^1", "line", "quit"] {
            assert!(shown(word).unwrap_err().starts_with("write "), "{word}");
        }
        for word in ["SIGINT:process", "SIGHUP:group", "reset", "line:a:b", "key:ESC", "key:^C^C"] {
            assert_eq!(ClientAction::parse(word).unwrap().iter().map(ClientAction::word).collect::<Vec<_>>(), [word]);
        }
        assert_eq!([TerminalKey::Control('C'), TerminalKey::Escape].map(TerminalKey::byte), [3, 27]);
    }
}
