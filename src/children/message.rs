//! The messages between the program and a watcher: a line each.

use core::fmt;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildExit {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// A signal to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChildSignal {
    /// As Ctrl-C sends.
    Interrupt,
    /// As a service manager sends.
    Terminate,
    /// As a terminal that closes sends.
    HangUp,
    /// The end at once.
    Kill,
}

/// The target of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SignalTarget {
    /// The process that was started.
    Process,
    /// Its whole group, as Ctrl-C reaches it.
    Group,
}

/// A request of the program to a watcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WatcherRequest {
    Signal(ChildSignal, SignalTarget),
    /// Everything that was started ends now.
    End,
}

/// A report of a watcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WatcherReport {
    /// The command runs; its id.
    Started(u32),
    /// It could not be started; the number of the system's error.
    NotStarted(i32),
    /// Its sandbox is not there; the reason.
    NotSandboxed(String),
    /// The command itself ended.
    Exited(ChildExit),
    /// A descendant did not go by itself and is ended.
    Left(String),
    /// A descendant that may stay stays.
    Stayed(String),
    /// A descendant could not be ended.
    Stuck(String),
    /// Nothing is left of the command.
    Done,
}

impl ChildExit {
    /// As shells have it: 128 and the signal, where one ended the command.
    pub fn shell_code(self) -> u8 {
        match self {
            Self::Code(code) => u8::try_from(code).unwrap_or(1),
            Self::Signal(signal) => u8::try_from(128 + signal).unwrap_or(u8::MAX),
        }
    }
}

impl ChildSignal {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Interrupt, Self::Terminate, Self::HangUp, Self::Kill];

    /// `SIGINT`
    pub fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
            Self::HangUp => "SIGHUP",
            Self::Kill => "SIGKILL",
        }
    }

    pub(super) fn number(self) -> rustix::process::Signal {
        use rustix::process::Signal;
        match self {
            Self::Interrupt => Signal::INT,
            Self::Terminate => Signal::TERM,
            Self::HangUp => Signal::HUP,
            Self::Kill => Signal::KILL,
        }
    }
}

impl WatcherRequest {
    pub(super) fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["end"] => Some(Self::End),
            ["signal", name, target] => {
                let signal = ChildSignal::ALL.into_iter().find(|known| known.name() == *name)?;
                let target = if *target == "group" { SignalTarget::Group } else { SignalTarget::Process };
                Some(Self::Signal(signal, target))
            }
            _ => None,
        }
    }
}

impl fmt::Display for WatcherRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::End => f.write_str("end"),
            Self::Signal(signal, target) => {
                let name = signal.name();
                write!(f, "signal {name} {}", if *target == SignalTarget::Group { "group" } else { "process" })
            }
        }
    }
}

impl WatcherReport {
    pub(super) fn parse(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "started" => Some(Self::Started(rest.parse().ok()?)),
            "not-started" => Some(Self::NotStarted(rest.parse().ok()?)),
            "not-sandboxed" => Some(Self::NotSandboxed(rest.into())),
            "exited" => Some(Self::Exited(match rest.split_once(' ')? {
                ("code", code) => ChildExit::Code(code.parse().ok()?),
                (_, signal) => ChildExit::Signal(signal.parse().ok()?),
            })),
            "left" => Some(Self::Left(rest.into())),
            "stayed" => Some(Self::Stayed(rest.into())),
            "stuck" => Some(Self::Stuck(rest.into())),
            "done" => Some(Self::Done),
            _ => None,
        }
    }
}

impl fmt::Display for WatcherReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started(id) => write!(f, "started {id}"),
            Self::NotStarted(error) => write!(f, "not-started {error}"),
            Self::NotSandboxed(reason) => write!(f, "not-sandboxed {}", reason.replace('\n', " ")),
            Self::Exited(ChildExit::Code(code)) => write!(f, "exited code {code}"),
            Self::Exited(ChildExit::Signal(signal)) => write!(f, "exited signal {signal}"),
            // A process may call itself anything, and a message is one line.
            Self::Left(name) => write!(f, "left {}", name.replace('\n', " ")),
            Self::Stayed(name) => write!(f, "stayed {}", name.replace('\n', " ")),
            Self::Stuck(name) => write!(f, "stuck {}", name.replace('\n', " ")),
            Self::Done => f.write_str("done"),
        }
    }
}

/// `exit 0`, `killed by SIGINT`.
impl fmt::Display for ChildExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit {code}"),
            Self::Signal(1) => f.write_str("killed by SIGHUP"),
            Self::Signal(2) => f.write_str("killed by SIGINT"),
            Self::Signal(9) => f.write_str("killed by SIGKILL"),
            Self::Signal(15) => f.write_str("killed by SIGTERM"),
            Self::Signal(signal) => write!(f, "killed by signal {signal}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_13_messages_are_read_as_they_were_written() {
        let requests = [WatcherRequest::End, WatcherRequest::Signal(ChildSignal::Interrupt, SignalTarget::Group)];
        for request in requests {
            assert_eq!(WatcherRequest::parse(&request.to_string()), Some(request));
        }
        let reports = [
            WatcherReport::Started(7),
            WatcherReport::NotStarted(2),
            WatcherReport::NotSandboxed("a b".into()),
            WatcherReport::Exited(ChildExit::Code(3)),
            WatcherReport::Exited(ChildExit::Signal(9)),
            WatcherReport::Left("node server".into()),
            WatcherReport::Stayed("a".into()),
            WatcherReport::Stuck("b".into()),
            WatcherReport::Done,
        ];
        for report in reports {
            assert_eq!(WatcherReport::parse(&report.to_string()), Some(report));
        }
        assert_eq!(WatcherReport::parse("anything"), None);
    }
}
