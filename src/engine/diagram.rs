//! Which state follows which: one table beside each machine, from which the diagrams in ARCHITECTURE.md are drawn.
//!
//! A table is true because its machine asks it: each change of state goes through `Diagram::pass`, which asserts that the edge is there. And
//! it holds nothing else, because a test runs and sweeps every scenario and names the edges that none of them took. So a diagram can neither
//! lack what the code does nor show what it does not do. A release build asks, too: a run along an unknown edge is a run nobody has looked at.

/// From which state, by what, to which. The first state has no name before it.
pub type DiagramEdge = (&'static str, &'static str, &'static str);

/// One machine's states and how they follow each other.
pub struct Diagram {
    /// The name of the machine.
    pub machine: &'static str,
    pub edges: &'static [DiagramEdge],
}

impl Diagram {
    /// The machine changes its state.
    #[inline]
    pub(crate) fn pass(&self, from: &'static str, by: &str, to: &'static str) {
        #[cfg(any(test, feature = "taken-edges"))]
        if taken::note(self.machine, from, by, to) {
            return;
        }
        invariant!(
            self.edges.contains(&(from, by, to)),
            "the {} went by `{by}` from `{from}` to `{to}`, which its diagram lacks: add the edge, then `cargo xtask diagrams`",
            self.machine
        );
    }
}

/// Every machine that has one. A machine that is not here is not drawn, and its edges fail the test below.
#[cfg(any(test, feature = "taken-edges"))]
pub const DIAGRAMS: &[&Diagram] = &[
    &super::query::DIAGRAM,
    &super::call::DIAGRAM,
    &super::executor::entry::DIAGRAM,
    &super::executor::pipeline::diagram::DIAGRAM,
    &super::compaction::diagram::DIAGRAM,
];

/// Which edges were taken on this thread, for the test that asks for each.
#[cfg(any(test, feature = "taken-edges"))]
#[expect(clippy::disallowed_types, reason = "a test looks at machines deep inside of an engine, which have no way to tell it")]
pub mod taken {
    use std::cell::RefCell;
    use std::collections::BTreeSet;
    use std::string::String;
    use std::thread_local;

    /// The machine, from which state, by what, to which.
    pub type Taken = BTreeSet<(&'static str, &'static str, String, &'static str)>;

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
    pub(super) fn note(machine: &'static str, from: &'static str, by: &str, to: &'static str) -> bool {
        TAKEN.with_borrow_mut(|taken| taken.as_mut().map(|taken| taken.insert((machine, from, by.into(), to)))).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_wire::prelude::*;

    const DOOR: Diagram = Diagram { machine: "door", edges: &[("", "built", "Shut"), ("Shut", "pushed", "Open")] };

    #[test]
    fn an_edge_stands_once_in_its_table() {
        for diagram in DIAGRAMS {
            let twice = diagram.edges.iter().enumerate().find(|(place, edge)| diagram.edges[..*place].contains(edge));
            assert_eq!(twice, None, "in the {}", diagram.machine);
        }
    }

    #[test]
    fn an_edge_of_the_table_may_be_taken() {
        DOOR.pass("Shut", "pushed", "Open");
        let taken = taken::during(|| DOOR.pass("Open", "pulled", "Shut"));
        assert_eq!(taken.into_iter().collect::<Vec<_>>(), [("door", "Open", "pulled".into(), "Shut")]);
    }

    #[test]
    #[should_panic(expected = "the door went by `pulled` from `Open` to `Shut`, which its diagram lacks")]
    fn any_other_edge_is_a_mistake() {
        DOOR.pass("Open", "pulled", "Shut");
    }
}
