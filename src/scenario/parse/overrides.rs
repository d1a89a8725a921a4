//! Values from the command line (`--set engine.model=x`), put into the file's tree before it is read.
//!
//! So an override is held to the same rules as the file, and what is wrong with it is reported the same way, with `--set` for the file's name.

use super::report::DiagnosticReport;
use super::tree::{self, TextPlace, TreeMember, TreeTable, TreeValue, TreeValueKind};
use reenact_wire::prelude::*;

/// Puts every override into the tree, in order: a later one wins.
pub(super) fn apply(root: &mut TreeTable, overrides: &[(String, String)], report: &mut DiagnosticReport) {
    for (key, value) in overrides {
        let source = report.add_override("--set", format!("{key}={value}"));
        let value = tree::from_override(value, source, key.len() + 1);
        let mut start = 0;
        let steps: Vec<KeyStep<'_>> = key
            .split('.')
            .map(|name| {
                let place = TextPlace { source, start, end: start + name.len() };
                start = place.end + 1;
                KeyStep { name, place }
            })
            .collect();
        if let Some(empty) = steps.iter().find(|step| step.name.is_empty()) {
            report.value(empty.place, "an empty key; write e.g. --set engine.model=x".into(), None);
        } else if key == "extends" {
            report.value(steps[0].place, "`extends` can only stand in the scenario's own file".into(), None);
        } else {
            put_into_table(root, &steps, value, report);
        }
    }
}

/// Puts one value at a dotted key that stands at one place, as it does in a `[matrix]`.
pub(super) fn put_at(root: &mut TreeTable, key: &str, place: TextPlace, value: TreeValue, report: &mut DiagnosticReport) {
    let steps: Vec<KeyStep<'_>> = key.split('.').map(|name| KeyStep { name, place }).collect();
    put_into_table(root, &steps, value, report);
}

/// One part of a dotted key.
struct KeyStep<'k> {
    name: &'k str,
    place: TextPlace,
}

impl KeyStep<'_> {
    fn index(&self) -> Option<usize> {
        self.name.parse().ok()
    }
}

fn put_into_table(table: &mut TreeTable, steps: &[KeyStep<'_>], value: TreeValue, report: &mut DiagnosticReport) {
    let Some((step, rest)) = steps.split_first() else { return };
    if table.get(step.name).is_none() {
        let first_of_list = rest.first().is_some_and(|next| next.index() == Some(0));
        let kind = if first_of_list { TreeValueKind::List(Vec::new()) } else { TreeValueKind::Table(TreeTable::default()) };
        let value = TreeValue { place: step.place, kind };
        table.members.push(TreeMember { key: step.name.into(), place: step.place, value });
    }
    let Some(member) = table.get_mut(step.name) else { return };
    if rest.is_empty() {
        member.place = step.place;
    }
    put(&mut member.value, step, rest, value, report);
}

fn put(target: &mut TreeValue, reached: &KeyStep<'_>, rest: &[KeyStep<'_>], value: TreeValue, report: &mut DiagnosticReport) {
    let Some((step, further)) = rest.split_first() else {
        *target = value;
        return;
    };
    match &mut target.kind {
        TreeValueKind::Table(table) => put_into_table(table, rest, value, report),
        TreeValueKind::List(items) => {
            let count = items.len();
            // Only a list that this override begins may grow: counting from 1 would otherwise add an entry without a word.
            if count == 0 && step.index() == Some(0) {
                items.push(TreeValue { place: step.place, kind: TreeValueKind::Table(TreeTable::default()) });
            }
            match step.index().and_then(|at| items.get_mut(at)) {
                Some(item) => put(item, step, further, value, report),
                None => {
                    let message = format!("`{}` has no entry `{}`; it has {count}, counted from 0", reached.name, step.name);
                    let help = format!(
                        "write the number of an entry, as in `{}.0.{}`, or set `{}` as a whole",
                        reached.name, step.name, reached.name
                    );
                    report.value(step.place, message, step.index().is_none().then_some(help));
                }
            }
        }
        TreeValueKind::StandIn => (),
        _ => report.value(reached.place, format!("`{}` is {} and has no `{}`", reached.name, target.found(), step.name), None),
    }
}
