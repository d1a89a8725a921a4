//! Which state follows which: one table beside each machine, from which the diagrams in ARCHITECTURE.md are drawn.
//!
//! A table is true because its machine asks it: each change of state goes through `Diagram::pass`, which asserts that the edge is there. And
//! it holds nothing else, because a test runs and sweeps every scenario and names the edges that none of them took. So a diagram can neither
//! lack what the code does nor show what it does not do. A release build asks, too: a run along an unknown edge is a run nobody has looked at.

use core::fmt::Debug;

#[cfg(any(test, feature = "taken-edges"))]
use reenact_wire::prelude::*;

/// From which state, by what, to which. A machine that begins comes from no state.
pub type DiagramEdge<Phase, Cause> = (Option<Phase>, Cause, Phase);

/// One machine's states and how they follow each other.
pub struct Diagram<Phase: 'static, Cause: 'static> {
    /// The name of the machine.
    pub machine: &'static str,
    pub edges: &'static [DiagramEdge<Phase, Cause>],
}

impl<Phase: Copy + Debug + PartialEq, Cause: Debug + PartialEq> Diagram<Phase, Cause> {
    /// The machine changes its state.
    #[inline]
    pub(crate) fn pass(&self, from: Option<Phase>, by: Cause, to: Phase) {
        let edge = (from, by, to);
        #[cfg(any(test, feature = "taken-edges"))]
        if taken::note(self.machine, || DrawnEdge::from_typed(&edge)) {
            return;
        }
        invariant!(
            self.edges.contains(&edge),
            "the {} took the edge {edge:?}, which its diagram lacks: add the edge, then `cargo xtask diagrams`",
            self.machine
        );
    }
}

/// An edge in words: the names of the states and of the cause.
#[cfg(any(test, feature = "taken-edges"))]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DrawnEdge {
    /// Empty: the machine begins.
    pub from: String,
    pub by: String,
    pub to: String,
}

#[cfg(any(test, feature = "taken-edges"))]
impl DrawnEdge {
    fn from_typed<Phase: Copy + Debug, Cause: Debug>((from, by, to): &DiagramEdge<Phase, Cause>) -> Self {
        let from = from.map(|from| format!("{from:?}")).unwrap_or_default();
        Self { from, by: format!("{by:?}"), to: format!("{to:?}") }
    }
}

/// A diagram of any machine.
#[cfg(any(test, feature = "taken-edges"))]
pub trait MachineDiagram {
    /// The name of the machine.
    fn machine(&self) -> &'static str;
    /// Its edges, in the order of the table.
    fn drawn_edges(&self) -> Vec<DrawnEdge>;
}

#[cfg(any(test, feature = "taken-edges"))]
impl<Phase: Copy + Debug + PartialEq, Cause: Debug + PartialEq> MachineDiagram for Diagram<Phase, Cause> {
    fn machine(&self) -> &'static str {
        self.machine
    }

    fn drawn_edges(&self) -> Vec<DrawnEdge> {
        self.edges.iter().map(DrawnEdge::from_typed).collect()
    }
}

/// Every machine that has one. A machine that is not here is not drawn, and its edges fail the test below.
#[cfg(any(test, feature = "taken-edges"))]
pub const DIAGRAMS: &[&dyn MachineDiagram] =
    &[&super::query::DIAGRAM, &super::call::DIAGRAM, &super::executor::diagram::DIAGRAM, &super::compaction::diagram::DIAGRAM];

/// Which edges were taken on this thread, for the test that asks for each.
#[cfg(any(test, feature = "taken-edges"))]
#[expect(clippy::disallowed_types, reason = "a test looks at machines deep inside of an engine, which have no way to tell it")]
pub mod taken {
    use std::cell::RefCell;
    use std::collections::BTreeSet;
    use std::thread_local;

    use super::DrawnEdge;

    /// The machine and its edge.
    pub type Taken = BTreeSet<(&'static str, DrawnEdge)>;

    thread_local! {
        static TAKEN: RefCell<Option<Taken>> = const { RefCell::new(None) };
    }

    /// Notes all edges that `body` takes, those included that no table has.
    pub fn during(body: impl FnOnce()) -> Taken {
        TAKEN.set(Some(Taken::new()));
        body();
        TAKEN.take().unwrap_or_default()
    }

    /// Whether edges are noted.
    pub(super) fn note(machine: &'static str, edge: impl FnOnce() -> DrawnEdge) -> bool {
        TAKEN.with_borrow_mut(|taken| taken.as_mut().map(|taken| taken.insert((machine, edge())))).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use DoorCause::*;
    use DoorPhase::*;

    #[derive(Clone, Copy, Debug, PartialEq, Hash)]
    enum DoorPhase {
        Shut,
        Open,
    }

    #[derive(Debug, PartialEq, Hash)]
    enum DoorCause {
        Building,
        Push,
        Pull,
    }

    const DOOR: Diagram<DoorPhase, DoorCause> = Diagram { machine: "door", edges: &[(None, Building, Shut), (Some(Shut), Push, Open)] };

    #[test]
    fn an_edge_stands_once_in_its_table() {
        for diagram in DIAGRAMS {
            let edges = diagram.drawn_edges();
            let twice = edges.iter().enumerate().find(|(place, edge)| edges[..*place].contains(edge));
            assert_eq!(twice, None, "in the {}", diagram.machine());
        }
    }

    #[test]
    fn an_edge_of_the_table_may_be_taken() {
        DOOR.pass(Some(Shut), Push, Open);
        let taken = taken::during(|| DOOR.pass(Some(Open), Pull, Shut));
        let edge = DrawnEdge { from: "Open".into(), by: "Pull".into(), to: "Shut".into() };
        assert_eq!(taken.into_iter().collect::<Vec<_>>(), [("door", edge)]);
    }

    #[test]
    #[should_panic(expected = "the door took the edge (Some(Open), Pull, Shut), which its diagram lacks")]
    fn any_other_edge_is_a_mistake() {
        DOOR.pass(Some(Open), Pull, Shut);
    }
}
