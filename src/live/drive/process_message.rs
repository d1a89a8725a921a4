//! The messages between the process of a client and the watch over its moments.

use super::action::TerminalKey;
use reenact_children::{ChildSignal, SignalTarget};
use reenact_wire::prelude::*;

/// An action on a client while it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ProcessAction {
    Signal(ChildSignal, SignalTarget),
    /// A line on its standard input.
    Line(String),
    /// Keys at its terminal.
    Keys(Vec<TerminalKey>),
    /// It has nothing to do any more, and should go.
    SendAway,
}

/// The signs of a client beside its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientSign {
    /// Its process runs.
    Started,
    /// A tool of it runs.
    Marker,
    /// Its terminal has shown nothing for a while.
    Quiet,
    /// Its process has ended.
    Ended,
}
