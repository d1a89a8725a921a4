//! The places between the events of a run, and what can be injected there: a sweep makes all of these injections, and a plan names one.

use core::fmt;
use core::str::FromStr;

use reenact_wire::prelude::*;

words! {
    /// Whether the engine has seen an event when something else happens.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum BoundarySide default After {
        /// Not yet: it is the next input.
        Before = "before",
        /// Just now.
        After = "after",
    }
}

/// One place between two events of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunBoundary {
    /// Which input of the engine, from 1.
    pub event: u64,
    /// On which side of it. The instant before an event is that of the event, the instant after it too. So between two events there are two
    /// places: at the first, the engine has carried out all that it wants because of the event before; at the second, the next event is due.
    pub side: BoundarySide,
}

impl RunBoundary {
    /// How many inputs the engine has seen there.
    pub fn inputs_before(self) -> u64 {
        match self.side {
            BoundarySide::Before => self.event.saturating_sub(1),
            BoundarySide::After => self.event,
        }
    }
}

impl fmt::Display for RunBoundary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.event, self.side.as_str())
    }
}

/// `12`, `12:before` (the same) or `12:after`.
impl FromStr for RunBoundary {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (number, side) = match text.split_once(':') {
            None => (text, Some(BoundarySide::Before)),
            Some((number, side)) => (number, BoundarySide::from_word(side)),
        };
        let event = number.parse().ok().filter(|event| *event > 0);
        match (event, side) {
            (Some(event), Some(side)) => Ok(Self { event, side }),
            _ => Err(format!("`{text}` is not a place in a run: write the number of an event from 1, then `:before` or `:after`")),
        }
    }
}

words! {
    /// The kinds of injection: the two kinds of interrupt, and the end of all faults.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum InjectionKind {
        /// The user cancels.
        Cancel = "cancel",
        /// The user submits a message.
        Interrupt = "interrupt",
        /// From here on, the API answers without faults.
        Heal = "heal",
    }
}

impl InjectionKind {
    /// Those of the user.
    pub const OF_USER: [Self; 2] = [Self::Cancel, Self::Interrupt];
}

impl fmt::Display for InjectionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for InjectionKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::from_word(text).ok_or_else(|| format!("unknown interrupt `{text}`: write `cancel`, `interrupt` or `heal`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boundary_is_written_as_it_is_read() {
        for text in ["1:before", "12:after"] {
            assert_eq!(text.parse::<RunBoundary>().unwrap().to_string(), text);
        }
        assert_eq!("7".parse::<RunBoundary>(), "7:before".parse());
        for wrong in ["", "0", "x", "1:", "1:within", "-1:after"] {
            assert!(wrong.parse::<RunBoundary>().unwrap_err().contains("from 1"), "{wrong}");
        }
    }
}
