//! Small scenarios that are made to be read, and what the reader said about one value in them.

use super::super::report::{DiagnosticReport, ReaderTrace};
use super::super::tree::{TextPlace, TreeMember, TreeTable, TreeValue, TreeValueKind};
use super::super::{read_table, whole_file};
use crate::prelude::*;

/// A step into a scenario.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ProbeStep {
    Key(&'static str),
    /// A key that is not known to the parser, in a table where any key is right.
    AnyKey,
    /// The only entry of an array.
    Entry,
}

/// Something that is set beside the value that the question is about.
#[derive(Clone, Debug)]
pub(super) struct ProbeNeighbour {
    /// The table that it stands in.
    pub(super) table: Vec<ProbeStep>,
    pub(super) key: &'static str,
    pub(super) value: TreeValueKind,
}

/// What the reader made of a probe.
pub(super) struct ProbeAnswer {
    pub(super) place: TextPlace,
    seen: ReaderTrace,
    faults: Vec<(TextPlace, String, Option<String>)>,
}

/// Reads a scenario with nothing in it but `value` at `path`, and what stands beside.
pub(super) fn ask(path: &[ProbeStep], value: TreeValueKind, beside: &[ProbeNeighbour]) -> ProbeAnswer {
    let (mut root, mut places) = scene(beside);
    let target = descend(&mut root, path, &mut places);
    target.kind = value;
    let place = target.place;
    read(&root, place)
}

/// Reads a scenario with nothing in it but a table at `path`, and what stands beside or in it.
pub(super) fn look(path: &[ProbeStep], beside: &[ProbeNeighbour]) -> ProbeAnswer {
    let (mut root, mut places) = scene(beside);
    let place = descend(&mut root, path, &mut places).place;
    read(&root, place)
}

fn scene(beside: &[ProbeNeighbour]) -> (TreeValue, ProbePlaces) {
    let mut places = ProbePlaces { next: 0 };
    let mut root = TreeValue { place: places.take(), kind: TreeValueKind::Table(TreeTable::default()) };
    for ProbeNeighbour { table, key, value } in beside {
        member(descend(&mut root, table, &mut places), key, &mut places).kind = value.clone();
    }
    (root, places)
}

fn read(root: &TreeValue, place: TextPlace) -> ProbeAnswer {
    let mut report = DiagnosticReport::noting();
    if let TreeValueKind::Table(table) = &root.kind {
        read_table(&mut report, table, root.place, "", whole_file);
    }
    let (seen, faults) = report.into_notes();
    ProbeAnswer { place, seen, faults }
}

impl ProbeAnswer {
    /// Whether the reader has anything against the value.
    pub(super) fn is_fine(&self) -> bool {
        !self.faults.iter().any(|(place, ..)| *place == self.place)
    }

    /// Whether the reader refuses this kind of value, as against what it says.
    pub(super) fn is_refused(&self) -> bool {
        let wants_another = |message: &str| message.starts_with("expected ") || message.contains(" can only be ");
        self.faults.iter().any(|(place, message, _)| *place == self.place && wants_another(message))
    }

    /// What the reader says would be right.
    pub(super) fn help(&self) -> Option<&str> {
        self.faults.iter().find(|(place, ..)| *place == self.place)?.2.as_deref()
    }

    /// The words that are known where the value is.
    pub(super) fn words(&self) -> Option<&[String]> {
        self.seen.words.iter().find(|(place, _)| *place == self.place).map(|(_, words)| words.as_slice())
    }

    /// If the value was read as a table key by key: what it is called and its keys.
    pub(super) fn table(&self) -> Option<(&'static str, &[&'static str])> {
        self.seen.tables.iter().find(|(place, ..)| *place == self.place).map(|(_, title, keys)| (*title, keys.as_slice()))
    }

    /// The keys that the table needs.
    pub(super) fn required(&self) -> Vec<&'static str> {
        self.seen.required.iter().filter(|(place, _)| *place == self.place).map(|(_, key)| *key).collect()
    }
}

/// Places that tell values apart; there is no text that they are in.
struct ProbePlaces {
    next: usize,
}

impl ProbePlaces {
    fn take(&mut self) -> TextPlace {
        self.next += 1;
        TextPlace { source: 0, start: self.next, end: self.next }
    }
}

/// The value at a path, made where it is not there yet.
fn descend<'v>(root: &'v mut TreeValue, path: &[ProbeStep], places: &mut ProbePlaces) -> &'v mut TreeValue {
    let mut value = root;
    for step in path {
        value = match step {
            ProbeStep::Key(key) => member(value, key, places),
            ProbeStep::AnyKey => member(value, "any", places),
            ProbeStep::Entry => {
                if !matches!(value.kind, TreeValueKind::List(_)) {
                    value.kind =
                        TreeValueKind::List(vec![TreeValue { place: places.take(), kind: TreeValueKind::Table(TreeTable::default()) }]);
                }
                match &mut value.kind {
                    TreeValueKind::List(items) => &mut items[0],
                    _ => unreachable!("it was made a list above"),
                }
            }
        };
    }
    value
}

fn member<'v>(value: &'v mut TreeValue, key: &str, places: &mut ProbePlaces) -> &'v mut TreeValue {
    if !matches!(value.kind, TreeValueKind::Table(_)) {
        value.kind = TreeValueKind::Table(TreeTable::default());
    }
    let TreeValueKind::Table(table) = &mut value.kind else { unreachable!("it was made a table above") };
    let at = table.members.iter().position(|member| member.key == key).unwrap_or_else(|| {
        let value = TreeValue { place: places.take(), kind: TreeValueKind::Table(TreeTable::default()) };
        table.members.push(TreeMember { key: key.into(), place: places.take(), value });
        table.members.len() - 1
    });
    &mut table.members[at].value
}
