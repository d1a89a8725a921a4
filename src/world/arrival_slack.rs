//! How far from its time an arrival may come in an exploration (E-3).

use reenact_engine::time::Micros;

/// How far from its time an arrival may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ArrivalSlack {
    /// So much earlier.
    pub earlier: Micros,
    /// So much later.
    pub later: Micros,
}

impl ArrivalSlack {
    /// So much in both directions.
    pub fn at_most(limit: Micros) -> Self {
        Self { earlier: limit, later: limit }
    }

    /// The slack of what `takes` so long, in the range of its latency.
    pub(crate) fn within(range: Option<(Micros, Micros)>, takes: Micros) -> Option<Self> {
        let (least, most) = range?;
        Some(Self { earlier: Micros(takes.0.saturating_sub(least.0)), later: Micros(most.0.saturating_sub(takes.0)) })
    }
}
