//! A scenario without some of its parts, to find a smaller one that shows the same (E-5).
//!
//! The parts are those of the text: each prompt, each turn, each entry of a list, each key. What is left is read like a file, so that a scenario
//! which lacks what it needs is none.

use super::extends::{SourceText, read_one};
use super::report::DiagnosticReport;
use super::tree::{TextPlace, TreeTable, TreeValue, TreeValueKind};
use crate::language::read_table::read_table;
use crate::language::scenario_text;
use crate::types::Scenario;
use reenact_wire::prelude::*;

/// So many characters of a text are left when it is made shorter.
const TEXT_LEFT: usize = 12;

/// Keys of `[plan]` that say what happens at which event: they are no parts, as all events change with the scenario.
const INJECTIONS: [&str; 4] = ["deviation", "fault", "interrupt", "late"];

/// Keys with words that are said. Other texts are names, paths and data, of which an end cannot be taken off.
const WORDS: [&str; 6] = ["result", "system_prompt", "append_system_prompt", "text", "thinking", "default_answer"];

/// Tables that say nothing of what happens in a run.
const OTHERS: [&str; 3] = ["title", "rules", "expect"];

/// A scenario in parts that can be taken out.
#[derive(Clone, Debug)]
pub struct ScenarioParts {
    root: TreeTable,
    parts: Vec<ScenarioPart>,
}

/// The order in which parts are tried: the large ones first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartKind {
    /// The choices of the plan, and each of them. The injections are no parts.
    Choice,
    /// A prompt.
    Prompt,
    /// An answer of the model.
    Turn,
    /// A table, or an entry of a list: a tool, a block, a hook, a result, a fault.
    Entry,
    /// A key.
    Key,
    /// The end of a long text.
    TextEnd,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ScenarioPart {
    kind: PartKind,
    path: Vec<PartStep>,
}

/// A step to a part.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PartStep {
    Key(String),
    Entry(usize),
}

impl PartKind {
    /// All, in order.
    pub const ALL: [Self; 6] = [Self::Choice, Self::Prompt, Self::Turn, Self::Entry, Self::Key, Self::TextEnd];
}

impl ScenarioParts {
    /// Takes a scenario apart.
    pub fn new(scenario: &Scenario) -> Self {
        let file = SourceText { name: String::new(), text: scenario_text(scenario, &[]) };
        let root = read_one(&file, &mut DiagnosticReport::new());
        let mut parts = Vec::new();
        collect(&root, &mut Vec::new(), &mut parts);
        Self { root, parts }
    }

    /// The numbers of the parts of a kind.
    pub fn of_kind(&self, kind: PartKind) -> Vec<usize> {
        (0..self.parts.len()).filter(|number| self.parts[*number].kind == kind).collect()
    }

    /// Whether a part is inside another one.
    pub fn is_inside(&self, part: usize, other: usize) -> bool {
        let [inner, outer] = [part, other].map(|number| &self.parts[number]);
        part != other && outer.kind != PartKind::TextEnd && inner.path.starts_with(&outer.path)
    }

    /// The scenario without these parts; `None` when what is left is no scenario.
    pub fn without(&self, removed: &[usize]) -> Option<Scenario> {
        let mut root = self.root.clone();
        // From the last to the first, so that entries keep their numbers.
        let mut removed: Vec<usize> = removed.to_vec();
        removed.sort_unstable();
        removed.dedup();
        for number in removed.into_iter().rev() {
            let ScenarioPart { kind, path } = &self.parts[number];
            match kind {
                PartKind::TextEnd => shorten(&mut root, path),
                _ => take_out(&mut root, path),
            }
        }
        let mut report = DiagnosticReport::new();
        let source = SourceText { name: String::new(), text: String::new() };
        read_one(&source, &mut report);
        let scenario = read_table(&mut report, &root, TextPlace { source: 0, start: 0, end: 0 }, "");
        scenario.filter(|_| report.verdict().is_ok())
    }
}

fn collect(table: &TreeTable, path: &mut Vec<PartStep>, parts: &mut Vec<ScenarioPart>) {
    for member in &table.members {
        let is_left = match &path[..] {
            [] => OTHERS.contains(&&*member.key),
            [PartStep::Key(section)] if section == "plan" => INJECTIONS.contains(&&*member.key),
            _ => false,
        };
        if is_left {
            continue;
        }
        path.push(PartStep::Key(member.key.clone()));
        let is_of_plan = matches!(&path[0], PartStep::Key(section) if section == "plan");
        let kind = match path.len() {
            _ if is_of_plan => PartKind::Choice,
            1 if member.key != "prompt" => PartKind::Entry,
            _ => PartKind::Key,
        };
        parts.push(ScenarioPart { kind, path: path.clone() });
        collect_within(&member.value, path, parts);
        path.pop();
    }
}

fn collect_within(value: &TreeValue, path: &mut Vec<PartStep>, parts: &mut Vec<ScenarioPart>) {
    match &value.kind {
        TreeValueKind::Table(table) => collect(table, path, parts),
        TreeValueKind::List(entries) => {
            let kind = match path.last() {
                Some(PartStep::Key(key)) if key == "prompt" && path.len() == 1 => PartKind::Prompt,
                Some(PartStep::Key(key)) if key == "turn" => PartKind::Turn,
                _ => PartKind::Entry,
            };
            for (number, entry) in entries.iter().enumerate() {
                path.push(PartStep::Entry(number));
                parts.push(ScenarioPart { kind, path: path.clone() });
                collect_within(entry, path, parts);
                path.pop();
            }
        }
        TreeValueKind::Text(text) if are_words(path) && shortened(text).is_some() => {
            parts.push(ScenarioPart { kind: PartKind::TextEnd, path: path.clone() });
        }
        _ => (),
    }
}

fn are_words(path: &[PartStep]) -> bool {
    matches!(path.last(), Some(PartStep::Key(key)) if WORDS.contains(&&**key))
}

/// The table that holds what a path leads to, or the list.
fn holder<'t>(root: &'t mut TreeTable, path: &[PartStep]) -> Option<PartHolder<'t>> {
    let mut at = PartHolder::Table(root);
    for step in path {
        let value = match (at, step) {
            (PartHolder::Table(table), PartStep::Key(key)) => &mut table.get_mut(key)?.value,
            (PartHolder::List(list), PartStep::Entry(number)) => list.get_mut(*number)?,
            _ => return None,
        };
        at = match &mut value.kind {
            TreeValueKind::Table(table) => PartHolder::Table(table),
            TreeValueKind::List(list) => PartHolder::List(list),
            TreeValueKind::Text(text) => PartHolder::Text(text),
            _ => return None,
        };
    }
    Some(at)
}

enum PartHolder<'t> {
    Table(&'t mut TreeTable),
    List(&'t mut Vec<TreeValue>),
    Text(&'t mut String),
}

fn take_out(root: &mut TreeTable, path: &[PartStep]) {
    let Some((last, before)) = path.split_last() else { return };
    match (holder(root, before), last) {
        (Some(PartHolder::Table(table)), PartStep::Key(key)) => drop(table.take(key)),
        (Some(PartHolder::List(list)), PartStep::Entry(number)) if *number < list.len() => drop(list.remove(*number)),
        // It went with the part around it.
        _ => (),
    }
}

fn shorten(root: &mut TreeTable, path: &[PartStep]) {
    if let Some(PartHolder::Text(text)) = holder(root, path)
        && let Some(short) = shortened(text)
    {
        *text = short;
    }
}

/// The first words of a long text.
fn shortened(text: &str) -> Option<String> {
    let short: String = text.chars().take(TEXT_LEFT).collect();
    let at_word = short.rsplit_once(char::is_whitespace).map_or(&*short, |(words, _)| words);
    (text.chars().count() > 2 * TEXT_LEFT).then(|| at_word.into())
}

#[cfg(test)]
mod tests {
    use super::super::scenario;
    use super::*;

    const TEXT: &str = r#"
        tools = ["Read"]
        [[prompt]]
        text = "First, and a good many words after it."
        [[prompt.turn]]
        tool = [{ id = "a", name = "Read", input = { path = "/a" } }, { id = "b", name = "Read", input = { path = "/b" } }]
        [[prompt.turn]]
        text = "One."
        [[prompt]]
        text = "Second."
        [[prompt.turn]]
        text = "Two."
        [[plan.interrupt]]
        event = 3
        side = "after"
        kind = "cancel"
    "#;

    fn parts() -> ScenarioParts {
        ScenarioParts::new(&scenario("x", TEXT, &[]).unwrap().scenario)
    }

    #[test]
    fn e_5_parts_are_taken_out_by_kind_and_the_rest_stays() {
        let parts = parts();
        let whole = parts.without(&[]).unwrap();
        assert_eq!(whole, scenario("x", TEXT, &[]).unwrap().scenario);
        let [prompts, turns] = [PartKind::Prompt, PartKind::Turn].map(|kind| parts.of_kind(kind));
        assert_eq!((prompts.len(), turns.len()), (2, 3));
        let without = parts.without(&[prompts[0]]).unwrap();
        assert_eq!((without.prompts.len(), without.prompts[0].turns.len()), (1, 1));
        assert_eq!(without.plan, whole.plan, "what happens at which event stays");
        let without = parts.without(&[turns[0], prompts[1]]).unwrap();
        assert_eq!((without.prompts.len(), without.prompts[0].turns.len()), (1, 1));
        let needed = parts.of_kind(PartKind::Key).into_iter().filter(|key| parts.without(&[*key]).is_none()).count();
        assert!(needed > 0, "what lacks a key that it needs is no scenario");
    }

    #[test]
    fn e_5_a_part_inside_another_one_goes_with_it() {
        let parts = parts();
        let (prompt, turn) = (parts.of_kind(PartKind::Prompt)[0], parts.of_kind(PartKind::Turn)[0]);
        assert!(parts.is_inside(turn, prompt) && !parts.is_inside(prompt, turn));
        assert_eq!(parts.without(&[prompt, turn]), parts.without(&[prompt]));
    }

    #[test]
    fn e_5_a_long_text_keeps_its_first_words() {
        let parts = parts();
        let ends = parts.of_kind(PartKind::TextEnd);
        assert_eq!(ends.len(), 1);
        let short = scenario_text(&parts.without(&ends).unwrap(), &[]);
        assert!(short.contains("text = \"First, and\""), "{short}");
    }
}
