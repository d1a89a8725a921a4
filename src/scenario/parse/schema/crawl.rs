//! Goes through everything that the parser asks for, from the whole file inwards.

use alloc::collections::BTreeMap;

use super::super::tree::{TreeTable, TreeValueKind};
use super::probe::{ProbeAnswer, ProbeNeighbour, ProbeStep, ask, look};
use super::shape::{TableShape, TextShape, ValueShape};
use crate::prelude::*;

/// Texts to try; nearly every form of text that the parser takes is among them.
const TEXTS: [&str; 7] = ["x", "1s", "1", "[]", "{}", "\"\"", "T-5"];

/// Integers to try, to find the least; a status of HTTP begins at 100.
const INTEGERS: [i64; 4] = [-1, 0, 1, 529];

/// The tables that were met, by name; one is in here before its keys are described, for a table may be inside of itself.
pub(super) struct SchemaCrawl {
    tables: BTreeMap<String, TableShape>,
    /// Tables that are called alike are told apart by their keys.
    known: Vec<(&'static str, Vec<&'static str>, String)>,
}

/// What a value can be beside: each is a scenario in which the same place may be looked at otherwise.
type ProbeContexts = Vec<Vec<ProbeNeighbour>>;

impl SchemaCrawl {
    /// The name of the whole file's table, and all tables.
    pub(super) fn of_scenarios() -> (String, BTreeMap<String, TableShape>) {
        let mut crawl = Self { tables: BTreeMap::new(), known: Vec::new() };
        let root = crawl.table(&[], &[], "");
        (root, crawl.tables)
    }

    /// Describes a table that is read in this context, unless that is done already; gives its name.
    fn table(&mut self, path: &[ProbeStep], context: &[ProbeNeighbour], title: &'static str) -> String {
        let (keys, contexts) = keys_and_contexts(path, context);
        if let Some((.., name)) = self.known.iter().find(|(known, others, _)| *known == title && *others == keys) {
            return name.clone();
        }
        let name = self.free_name(title);
        self.known.push((title, keys.clone(), name.clone()));
        let mut table = TableShape { keys: Vec::new(), required: required(path, &contexts) };
        for key in keys {
            let own_path = [path, &[ProbeStep::Key(key)]].concat();
            // No key takes a date. Where one is passed over in silence, the parser looks at the key beside some other one only.
            let is_looked_at_alone = !ask(&own_path, TreeValueKind::Date, context).is_fine();
            let own_contexts: ProbeContexts = match is_looked_at_alone {
                true => vec![context.to_vec()],
                false => contexts.iter().filter(|beside| !sets(beside, path, key)).cloned().collect(),
            };
            let shape = self.shape(&own_path, &own_contexts);
            table.keys.push((key, shape));
        }
        self.tables.insert(name.clone(), table);
        name
    }

    fn free_name(&self, title: &str) -> String {
        let words: Vec<&str> = title.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let name = if words.is_empty() { String::from("scenario") } else { words.join("-") };
        let taken = |name: &str| self.known.iter().any(|(.., other)| other == name);
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        core::iter::once(name.clone()).chain(numbered).find(|name| !taken(name)).unwrap_or(name)
    }

    /// What may stand at a place: what is taken in the first context and refused in none.
    fn shape(&mut self, path: &[ProbeStep], contexts: &ProbeContexts) -> ValueShape {
        let is_taken = |kinds: &[TreeValueKind]| {
            let refused = |beside: &Vec<ProbeNeighbour>| kinds.iter().all(|kind| ask(path, kind.clone(), beside).is_refused());
            !contexts.iter().any(refused)
        };
        let fine = |kind: &TreeValueKind| contexts.iter().all(|beside| ask(path, kind.clone(), beside).is_fine());
        let not_refused = |kind: TreeValueKind| is_taken(&[kind]);
        let mut shape = ValueShape { text: texts(path, contexts), ..ValueShape::default() };
        if is_taken(&INTEGERS.map(integer)) {
            shape.integer = Some(INTEGERS.into_iter().take(3).find(|number| fine(&integer(*number))).filter(|least| *least >= 0));
        }
        shape.float = not_refused(TreeValueKind::Float("0.5".into()));
        shape.boolean = (not_refused(TreeValueKind::Boolean(true)), not_refused(TreeValueKind::Boolean(false)));
        shape.help = help(path, contexts);
        if shape.is_anything() {
            return shape;
        }
        if not_refused(TreeValueKind::List(Vec::new())) {
            let item = self.shape(&[path, &[ProbeStep::Entry]].concat(), contexts);
            shape.list = Some(Box::new(item));
        }
        let empty = || TreeValueKind::Table(TreeTable::default());
        let opened = contexts.iter().find_map(|beside| {
            let answer = ask(path, empty(), beside);
            answer.table().filter(|_| !answer.is_refused()).map(|(title, _)| (beside.clone(), title))
        });
        match opened {
            Some((beside, title)) => shape.table = Some(self.table(path, &beside, title)),
            None if is_taken(&[empty()]) => {
                let value = self.shape(&[path, &[ProbeStep::AnyKey]].concat(), contexts);
                shape.free_table = Some(Box::new(value));
            }
            None => (),
        }
        shape
    }
}

fn integer(number: i64) -> TreeValueKind {
    TreeValueKind::Integer(number.to_string(), 10)
}

/// The keys of a table in the order in which they are asked for, and the contexts of its members: alone, and beside each of the others,
/// set to different things. A key may only be asked for beside another one, so this is done until nothing new is found.
fn keys_and_contexts(path: &[ProbeStep], context: &[ProbeNeighbour]) -> (Vec<&'static str>, ProbeContexts) {
    let mut keys: Vec<&'static str> = Vec::new();
    let mut contexts: ProbeContexts = vec![context.to_vec()];
    let add = |keys: &mut Vec<&'static str>, answer: &ProbeAnswer| {
        let (_, asked) = answer.table().unwrap_or_default();
        let new: Vec<&'static str> = asked.iter().filter(|key| !keys.contains(key)).copied().collect();
        keys.extend(new);
    };
    add(&mut keys, &look(path, context));
    let mut done = 0;
    while let Some(key) = keys.get(done).copied() {
        done += 1;
        let own_path = [path, &[ProbeStep::Key(key)]].concat();
        let words = ask(&own_path, TreeValueKind::Text("x".into()), context).words().unwrap_or_default().to_vec();
        let texts = core::iter::once(String::from("x")).chain(words).map(TreeValueKind::Text);
        for value in texts.chain([integer(1), TreeValueKind::Boolean(true), TreeValueKind::Table(TreeTable::default())]) {
            let mut beside = context.to_vec();
            beside.push(ProbeNeighbour { table: path.to_vec(), key, value });
            add(&mut keys, &look(path, &beside));
            contexts.push(beside);
        }
    }
    (keys, contexts)
}

/// Whether a context is about this key.
fn sets(beside: &[ProbeNeighbour], path: &[ProbeStep], key: &str) -> bool {
    beside.last().is_some_and(|beside| beside.table == path && beside.key == key)
}

/// The keys that a table needs whatever else stands in it.
fn required(path: &[ProbeStep], contexts: &ProbeContexts) -> Vec<&'static str> {
    let answers: Vec<Vec<&'static str>> = contexts.iter().map(|beside| look(path, beside).required()).collect();
    let mut keys = answers.first().cloned().unwrap_or_default();
    keys.retain(|key| contexts.iter().zip(&answers).all(|(beside, required)| required.contains(key) || sets(beside, path, key)));
    keys.dedup();
    keys
}

fn texts(path: &[ProbeStep], contexts: &ProbeContexts) -> TextShape {
    let ask_text = |text: &str, beside: &Vec<ProbeNeighbour>| ask(path, TreeValueKind::Text(text.into()), beside);
    if contexts.iter().any(|beside| TEXTS.iter().all(|text| ask_text(text, beside).is_refused())) {
        return TextShape::None;
    }
    let words = contexts.iter().find_map(|beside| ask_text("x", beside).words().map(<[String]>::to_vec));
    match words {
        None => TextShape::Free,
        Some(words) => {
            let unknown = |beside: &Vec<ProbeNeighbour>| TEXTS.iter().all(|text| ask_text(text, beside).words().is_some());
            if contexts.iter().any(unknown) { TextShape::Words(words) } else { TextShape::WordsAndMore(words) }
        }
    }
}

/// What the parser says about a text that is of the right kind and still wrong.
fn help(path: &[ProbeStep], contexts: &ProbeContexts) -> Option<String> {
    let said = |beside: &Vec<ProbeNeighbour>| {
        let answer = ask(path, TreeValueKind::Text("x".into()), beside);
        let help = answer.help().filter(|_| answer.words().is_none() && !answer.is_refused())?;
        Some(String::from(help))
    };
    contexts.iter().find_map(said)
}
