//! Hands out the members of one table as typed values, and at its end reports the keys that nobody asked for (F-7).
//!
//! A section is a function that asks a [`TableReader`] for what it knows. The keys that exist are therefore nowhere listed: what was asked
//! for is what exists, and what a misspelt key is compared with.

use super::nearest::nearest;
use super::report::DiagnosticReport;
use super::tree::{TextPlace, TreeMember, TreeTable, TreeValue, TreeValueKind};
use super::values::FromValue;
use crate::prelude::*;

/// One table being read.
pub(super) struct TableReader<'a, 'r> {
    /// Where faults go.
    pub(super) report: &'r mut DiagnosticReport,
    /// Where the table is.
    pub(super) place: TextPlace,
    table: &'a TreeTable,
    title: &'static str,
    asked: Vec<&'static str>,
}

/// Reads a table: `body` asks for its members; what it did not ask for is then reported. `title` is empty for the file itself.
pub(super) fn read_table<'a, R>(
    report: &mut DiagnosticReport,
    table: &'a TreeTable,
    place: TextPlace,
    title: &'static str,
    body: impl FnOnce(&mut TableReader<'a, '_>) -> R,
) -> R {
    let mut reader = TableReader { report, place, table, title, asked: Vec::new() };
    let result = body(&mut reader);
    reader.report_unknown_keys();
    if let Some(seen) = reader.report.seen() {
        seen.tables.push((place, title, reader.asked));
    }
    result
}

impl<'a> TableReader<'a, '_> {
    /// What messages call the table.
    pub(super) fn title(&self) -> &'static str {
        self.title
    }

    /// The member of this name, of whatever kind.
    pub(super) fn member(&mut self, key: &'static str) -> Option<&'a TreeMember> {
        if !self.asked.contains(&key) {
            self.asked.push(key);
        }
        self.table.get(key)
    }

    /// Where the n-th entry of this member stands, from 0.
    pub(super) fn entry_place(&mut self, key: &'static str, nth: usize) -> TextPlace {
        let table = self.place;
        let Some(member) = self.member(key) else { return table };
        match &member.value.kind {
            TreeValueKind::List(entries) => entries.get(nth).map_or(member.place, |entry| entry.place),
            _ => member.place,
        }
    }

    /// The first of these members that is there; a second one is a fault, for only one of them can count.
    pub(super) fn one_of(&mut self, keys: &[&'static str]) -> Option<&'a TreeMember> {
        let mut given: Vec<&TreeMember> = keys.iter().filter_map(|key| self.member(key)).collect();
        given.sort_by_key(|member| member.place);
        let (first, others) = given.split_first()?;
        for other in others {
            let message = format!("`{}` and `{}` cannot both be given; keep one of them", first.key, other.key);
            self.report.value(other.place, message, None);
        }
        Some(first)
    }

    /// A value, if it is there and right.
    pub(super) fn get<T: FromValue>(&mut self, key: &'static str) -> Option<T> {
        let member = self.member(key)?;
        T::from_value(&member.value, self.report)
    }

    /// Puts a value into its place, if it is there and right; otherwise the default stays.
    pub(super) fn set<T: FromValue>(&mut self, key: &'static str, target: &mut T) {
        if let Some(value) = self.get(key) {
            *target = value;
        }
    }

    /// Like [`TableReader::set`] where the default is that nothing is said.
    pub(super) fn set_some<T: FromValue>(&mut self, key: &'static str, target: &mut Option<T>) {
        if let Some(value) = self.get(key) {
            *target = Some(value);
        }
    }

    /// A count that must not be 0; `message` says so.
    pub(super) fn get_above_zero(&mut self, key: &'static str, message: &str) -> Option<u32> {
        let place = self.member(key)?.value.place;
        let count: u32 = self.get(key)?;
        if count == 0 {
            self.report.value(place, message.into(), None);
        }
        (count > 0).then_some(count)
    }

    /// The name of a model. The API refuses one without a letter (N-6).
    pub(super) fn model(&mut self, key: &'static str) -> Option<Arc<str>> {
        let place = self.member(key)?.value.place;
        let model: Arc<str> = self.get(key)?;
        if model.trim().is_empty() {
            self.report.value(place, format!("`{key}` is the name of a model; leave it out for the usual one"), None);
            return None;
        }
        Some(model)
    }

    /// Whether a mark is set that is left out otherwise.
    pub(super) fn mark(&mut self, key: &'static str) -> bool {
        let place = self.member(key).map(|member| member.value.place);
        let set: Option<bool> = self.get(key);
        if let (Some(false), Some(place)) = (set, place) {
            self.report.value(place, format!("`{key}` can only be true; leave it out otherwise"), None);
        }
        set == Some(true)
    }

    /// A value that must be there.
    pub(super) fn required<T: FromValue>(&mut self, key: &'static str) -> Option<T> {
        if self.member(key).is_none() {
            self.lacks(&[key], format!("{} needs `{key}`", self.title), None);
        }
        self.get(key)
    }

    /// Reports that none of `keys` is there; a misspelt one is reported as such instead.
    pub(super) fn lacks(&mut self, keys: &[&'static str], message: String, help: Option<String>) {
        if let (Some(seen), [key]) = (self.report.seen(), keys) {
            seen.required.push((self.place, key));
        }
        let misspelt = |member: &TreeMember| !self.asked.contains(&&*member.key) && nearest(&member.key, keys.iter().copied()).is_some();
        if !self.table.members.iter().any(misspelt) {
            self.report.missing(self.place, message, help);
        }
    }

    /// One of several words, each with what it means.
    pub(super) fn choice<T: Clone>(&mut self, key: &'static str, choices: &[(&str, T)]) -> Option<T> {
        let member = self.member(key)?;
        let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
        let word = known_word(&member.value, self.report, "word", &words)?;
        choices.iter().find(|(choice, _)| *choice == word).map(|(_, meaning)| meaning.clone())
    }

    /// A table in this one; `None` when it is not there or is no table.
    pub(super) fn section<R>(
        &mut self,
        key: &'static str,
        title: &'static str,
        body: impl FnOnce(&mut TableReader<'a, '_>) -> R,
    ) -> Option<R> {
        let member = self.member(key)?;
        entry(&member.value, self.report, title, body)
    }

    /// The tables of an array; those that are no tables, or of which `body` makes nothing, are left out.
    pub(super) fn entries<R>(
        &mut self,
        key: &'static str,
        title: &'static str,
        mut body: impl FnMut(&mut TableReader<'a, '_>) -> Option<R>,
    ) -> Vec<R> {
        let Some(member) = self.member(key) else { return Vec::new() };
        match &member.value.kind {
            TreeValueKind::List(items) => items.iter().filter_map(|item| entry(item, self.report, title, &mut body).flatten()).collect(),
            TreeValueKind::StandIn => Vec::new(),
            _ => {
                let section = if title.starts_with('[') { format!("write {title} as the section's head, or ") } else { String::new() };
                let help = format!("{section}write {key} = [{{ … }}]");
                let message = format!("expected an array of tables, found {}", member.value.found());
                self.report.value(member.value.place, message, Some(help));
                // A single table is meant as the only entry, and may have faults of its own.
                let only =
                    matches!(member.value.kind, TreeValueKind::Table(_)).then(|| entry(&member.value, self.report, title, &mut body));
                only.flatten().flatten().into_iter().collect()
            }
        }
    }

    fn report_unknown_keys(&mut self) {
        let within = if self.title.is_empty() { String::new() } else { format!(" in {}", self.title) };
        for member in self.table.members.iter().filter(|member| !self.asked.contains(&&*member.key)) {
            self.report.unknown(member.place, "key", &member.key, &within, &self.asked);
        }
    }
}

/// Reads a value that must be a table.
pub(super) fn entry<'a, R>(
    value: &'a TreeValue,
    report: &mut DiagnosticReport,
    title: &'static str,
    body: impl FnOnce(&mut TableReader<'a, '_>) -> R,
) -> Option<R> {
    match &value.kind {
        TreeValueKind::Table(table) => Some(read_table(report, table, value.place, title, body)),
        TreeValueKind::StandIn => None,
        _ => {
            report.mismatch(value, "a table");
            None
        }
    }
}

/// Text that must be one of the words that are known here.
pub(super) fn known_word<'a>(value: &'a TreeValue, report: &mut DiagnosticReport, what: &str, words: &[&str]) -> Option<&'a str> {
    match &value.kind {
        TreeValueKind::Text(word) if words.contains(&&**word) => Some(word),
        TreeValueKind::Text(word) => {
            report.unknown(value.place, what, word, "", words);
            None
        }
        TreeValueKind::StandIn => None,
        _ => {
            let list = words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
            report.value(value.place, format!("expected one of {list}, found {}", value.found()), None);
            None
        }
    }
}
