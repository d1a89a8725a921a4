//! Where each part of a scenario stands, for what is only found out when it has run (F-10).

use super::diagnostic::Diagnostic;
use super::tree::{TextPlace, TreeTable, TreeValue, TreeValueKind};
use crate::statement::PathStep;
use reenact_wire::prelude::*;

/// A scenario's tables with the texts that they were read from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TablePlaces {
    sources: Arc<[(String, String)]>,
    tree: Arc<TreeTable>,
}

/// The keys about the scenario itself and its end: no text of this comes into a run.
const NOT_SAID_IN_RUNS: [&str; 4] = ["expect", "title", "rules", "extends"];

impl TablePlaces {
    pub(super) fn new(sources: Arc<[(String, String)]>, tree: TreeTable) -> Self {
        Self { sources, tree: Arc::new(tree) }
    }

    /// Whether nothing stands anywhere: what was run comes from no scenario file.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Something to say about what a path leads to, or about the last of its steps that is there; `None` when none is.
    pub fn diagnostic(&self, path: &[PathStep], message: String, help: Option<String>) -> Option<Diagnostic> {
        let place = self.find(path)?;
        let (name, text) = self.sources.get(place.source)?;
        Some(Diagnostic::at(name, text, place.start, place.end, message, help))
    }

    /// A key that is the same for what stands at the same place, whichever run of a matrix it is read for; `None` when it stands nowhere.
    pub fn key(&self, path: &[PathStep]) -> Option<(usize, usize)> {
        self.find(path).map(|place| (place.source, place.start))
    }

    /// The file that a path leads into, if it is another than the one that was read; `None` for what `--set` says as well.
    pub fn base(&self, path: &[PathStep]) -> Option<&str> {
        let place = self.find(path).filter(|place| place.source > 0)?;
        self.sources.get(place.source).map(|(name, _)| name.as_str())
    }

    /// The files that the one that was read extends.
    pub fn bases(&self) -> impl Iterator<Item = &str> {
        self.sources.iter().skip(1).map(|(name, _)| name.as_str())
    }

    /// Whether some text of the scenario holds this one, expectations left out.
    pub fn say(&self, wanted: &str) -> bool {
        let members = self.tree.members.iter().filter(|member| !NOT_SAID_IN_RUNS.contains(&&*member.key));
        members.into_iter().any(|member| says(&member.value, wanted))
    }

    fn find(&self, path: &[PathStep]) -> Option<TextPlace> {
        let (PathStep::Key(first), rest) = path.split_first()? else { return None };
        let member = self.tree.get(first)?;
        let (mut place, mut value) = (member.place, &member.value);
        for step in rest {
            let Some((at, found)) = go(value, step) else { break };
            (place, value) = (at, found);
        }
        Some(place)
    }
}

/// One step further.
fn go<'a>(value: &'a TreeValue, step: &PathStep) -> Option<(TextPlace, &'a TreeValue)> {
    match (step, &value.kind) {
        (PathStep::Key(key), TreeValueKind::Table(table)) => table.get(key).map(|member| (member.place, &member.value)),
        (PathStep::Nth(nth), TreeValueKind::List(items)) => items.get(*nth).map(|item| (item.place, item)),
        (PathStep::Where(key, wanted), TreeValueKind::List(items)) => {
            let says = |item: &&TreeValue| matches!(&item.kind, TreeValueKind::Table(table) if table.get(key).is_some_and(|member| member.value.is_text(wanted)));
            items.iter().find(says).map(|item| (item.place, item))
        }
        (PathStep::ToolUse(nth), TreeValueKind::Table(turn)) => tool_use(turn, *nth).map(|tool| (tool.place, tool)),
        _ => None,
    }
}

/// A turn has its tool uses under `tool`, or among its `content`.
fn tool_use(turn: &TreeTable, nth: usize) -> Option<&TreeValue> {
    let list = |key: &str| match &turn.get(key)?.value.kind {
        TreeValueKind::List(items) => Some(items),
        _ => None,
    };
    if let Some(tools) = list("tool") {
        return tools.get(nth);
    }
    let tool = |entry: &'_ TreeValue| matches!(&entry.kind, TreeValueKind::Table(table) if table.get("tool").is_some());
    let entry = list("content")?.iter().filter(|entry| tool(entry)).nth(nth)?;
    let TreeValueKind::Table(table) = &entry.kind else { return None };
    table.get("tool").map(|member| &member.value)
}

/// Text that holds JSON says what its strings say, too.
fn says(value: &TreeValue, wanted: &str) -> bool {
    match &value.kind {
        TreeValueKind::Text(text) => text.contains(wanted) || (text.contains('\\') && unescaped(text).contains(wanted)),
        TreeValueKind::Integer(text, _) | TreeValueKind::Float(text) => text.contains(wanted),
        TreeValueKind::List(items) => items.iter().any(|item| says(item, wanted)),
        TreeValueKind::Table(table) => {
            let is_of_runs = |key: &str| key != "expect";
            table.members.iter().any(|member| is_of_runs(&member.key) && (member.key.contains(wanted) || says(&member.value, wanted)))
        }
        TreeValueKind::Boolean(_) | TreeValueKind::Date | TreeValueKind::StandIn => false,
    }
}

/// The text as it reads when it is taken out of a JSON string; what is none stays as it is.
fn unescaped(text: &str) -> String {
    text.replace("\\\"", "\"").replace("\\n", "\n").replace("\\\\", "\\")
}
