//! Hands out the members of one table, and at its end reports the keys that the table does not have (F-7).

use super::nearest::nearest;
use super::report::DiagnosticReport;
use super::tree::{TextPlace, TreeMember, TreeTable, TreeValue, TreeValueKind};
use reenact_wire::prelude::*;

/// One table being read.
pub(crate) struct TableReader<'a, 'r> {
    /// Where diagnostics go.
    pub(crate) report: &'r mut DiagnosticReport,
    /// Where the table is.
    pub(crate) place: TextPlace,
    table: &'a TreeTable,
    title: String,
    known: Vec<&'static str>,
}

impl<'a, 'r> TableReader<'a, 'r> {
    /// A table of which these keys are known.
    pub(crate) fn new(
        report: &'r mut DiagnosticReport,
        table: &'a TreeTable,
        place: TextPlace,
        title: &str,
        known: Vec<&'static str>,
    ) -> Self {
        Self { report, place, table, title: title.into(), known }
    }

    /// The name of the table in messages.
    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    /// The member of this name, of whatever kind.
    pub(crate) fn member(&self, key: &'static str) -> Option<&'a TreeMember> {
        debug_assert!(self.known.contains(&key), "`{key}` is not a key of {}: describe it in the table's keys", self.title);
        self.table.get(key)
    }

    /// Where the n-th entry of this member stands, from 0.
    pub(crate) fn entry_place(&self, key: &'static str, nth: usize) -> TextPlace {
        let table = self.place;
        let Some(member) = self.member(key) else { return table };
        match &member.value.kind {
            TreeValueKind::List(entries) => entries.get(nth).map_or(member.place, |entry| entry.place),
            _ => member.place,
        }
    }

    /// Where the value of a member of the n-th entry of this member stands, from 0.
    pub(crate) fn entry_member_place(&self, key: &'static str, nth: usize, inner: &str) -> TextPlace {
        let place = self.entry_place(key, nth);
        let entry = self.member(key).and_then(|member| match &member.value.kind {
            TreeValueKind::List(entries) => entries.get(nth),
            _ => None,
        });
        match entry.map(|entry| &entry.kind) {
            Some(TreeValueKind::Table(table)) => table.get(inner).map_or(place, |member| member.value.place),
            _ => place,
        }
    }

    /// Where the key of a member of the n-th entry of this member stands, from 0.
    pub(crate) fn entry_key_place(&self, key: &'static str, nth: usize, inner: &str) -> TextPlace {
        let place = self.entry_place(key, nth);
        let Some(TreeValueKind::List(entries)) = self.member(key).map(|member| &member.value.kind) else { return place };
        match entries.get(nth).map(|entry| &entry.kind) {
            Some(TreeValueKind::Table(table)) => table.get(inner).map_or(place, |member| member.place),
            _ => place,
        }
    }

    /// Where the entry of this member stands whose `inner` is this text.
    pub(crate) fn entry_place_where(&self, key: &'static str, inner: &str, wanted: &str) -> TextPlace {
        let table = self.place;
        let Some(member) = self.member(key) else { return table };
        let TreeValueKind::List(entries) = &member.value.kind else { return member.place };
        let is_it = |entry: &&TreeValue| matches!(&entry.kind, TreeValueKind::Table(entry) if entry.get(inner).is_some_and(|member| member.value.is_text(wanted)));
        entries.iter().find(is_it).map_or(member.place, |entry| entry.place)
    }

    /// Whether one of these members is there.
    pub(crate) fn has_any(&self, keys: &[&'static str]) -> bool {
        keys.iter().any(|key| self.member(key).is_some())
    }

    /// Something is wrong with the value of this member, or with the table where it is not there.
    pub(crate) fn value_problem(&mut self, key: &'static str, message: String) {
        let place = self.member(key).map_or(self.place, |member| member.value.place);
        self.report.value(place, message, None);
    }

    /// Something is wrong with this member's being there.
    pub(crate) fn key_problem(&mut self, key: &'static str, message: String) {
        let place = self.member(key).map_or(self.place, |member| member.place);
        self.report.value(place, message, None);
    }

    /// The first of these members that is there; a second one is a diagnostic, for only one of them can count.
    pub(crate) fn one_of(&mut self, keys: &[&'static str]) -> Option<&'a TreeMember> {
        let mut given: Vec<&TreeMember> = keys.iter().filter_map(|key| self.member(key)).collect();
        given.sort_by_key(|member| member.place);
        let (first, others) = given.split_first()?;
        for other in others {
            let message = format!("`{}` and `{}` cannot both be given; keep one of them", first.key, other.key);
            self.report.value(other.place, message, None);
        }
        Some(first)
    }

    /// Reports that none of `keys` is there; a misspelt one is reported as such instead.
    pub(crate) fn lacks(&mut self, keys: &[&'static str], message: String, help: Option<String>) {
        let misspelt = |member: &TreeMember| !self.known.contains(&&*member.key) && nearest(&member.key, keys.iter().copied()).is_some();
        if !self.table.members.iter().any(misspelt) {
            self.report.missing(self.place, message, help);
        }
    }

    pub(crate) fn report_unknown_keys(&mut self) {
        let within = if self.title.is_empty() { String::new() } else { format!(" in {}", self.title) };
        for member in self.table.members.iter().filter(|member| !self.known.contains(&&*member.key)) {
            self.report.unknown(member.place, "key", &member.key, &within, &self.known);
        }
    }
}

/// Text that must be one of the words that are known here.
pub(crate) fn known_word<'a>(value: &'a TreeValue, report: &mut DiagnosticReport, what: &str, words: &[&str]) -> Option<&'a str> {
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
