//! What a doctor found, for people.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::places::SessionPlace;
use super::scenarios::FindingScenarios;
use crate::prelude::*;
use crate::review::doctor::{Examination, ExaminedConversation};
use crate::stores::conversation::{HistoryPlace, StoredBranch};
use crate::stores::judgement::SessionFinding;
use anstyle::{AnsiColor, Style};

/// So many files that could not be judged are listed, unless all are wanted.
const UNJUDGED_MAX: usize = 20;

/// So many findings of a session are told in full, unless all are wanted.
const FINDINGS_MAX: usize = 5;

/// No line is cut shorter, however narrow the terminal is.
const COLUMNS_MIN: usize = 40;

const BAD: Style = AnsiColor::Red.on_default().bold();
const GOOD: Style = AnsiColor::Green.on_default();

/// The text form of a report.
pub(super) struct DoctorText<'a> {
    pub(super) places: &'a [SessionPlace],
    pub(super) examination: &'a Examination,
    pub(super) scenarios: &'a FindingScenarios,
    /// Whether the notes on each session are wanted, and all that was left out.
    pub(super) is_verbose: bool,
}

/// `file:7`, `file, row 4 of part`.
pub(in crate::cli) fn place_text(file: &str, place: &HistoryPlace) -> String {
    match place {
        HistoryPlace::Line(line) => format!("{file}:{line}"),
        HistoryPlace::File(name) => name.to_string(),
        other => format!("{file}, {other}"),
    }
}

impl DoctorText<'_> {
    /// The text, in lines of so many columns where their words permit it.
    pub(super) fn text(&self, columns: usize) -> String {
        let mut text = String::new();
        for conversation in &self.examination.conversations {
            self.add_conversation(conversation, columns.max(COLUMNS_MIN), &mut text);
        }
        self.add_unjudged(&mut text);
        if !text.is_empty() {
            text.push('\n');
        }
        self.add_places(&mut text);
        text + &self.summary()
    }

    fn add_conversation(&self, conversation: &ExaminedConversation, columns: usize, text: &mut String) {
        let ExaminedConversation { judgement, file, .. } = conversation;
        let is_broken = !judgement.findings.is_empty();
        let notes: Vec<&String> = judgement.remarks.iter().chain(conversation.remarks.iter().filter(|_| self.is_verbose)).collect();
        // A note of the judge's own says that the agent may still be running.
        if !is_broken && !self.is_verbose && judgement.remarks.is_empty() {
            return;
        }
        let mut of_session = match &conversation.session {
            Some(session) if !file.contains(&**session) => format!(", session {session}"),
            _ => String::new(),
        };
        if let StoredBranch::SideChain(place) = &conversation.branch {
            let _ = write!(of_session, ", side chain of {place}");
        }
        let (style, word) = if is_broken { (BAD, "BROKEN") } else { (GOOD, "ok") };
        let messages = plural(conversation.messages as u64, "message");
        let _ = writeln!(text, "{style}{word:<7}{style:#} {file}{of_session} ({}, {messages})", conversation.format.as_str());
        let shown = if self.is_verbose { judgement.findings.len() } else { FINDINGS_MAX };
        for finding in judgement.findings.iter().take(shown) {
            self.add_finding(finding, file, columns, text);
        }
        if let Some(rest) = judgement.findings.len().checked_sub(shown).filter(|rest| *rest > 0) {
            let _ = writeln!(text, "  and {} of this session; -v shows all", plural(rest as u64, "further finding"));
        }
        if let Some(refused) = &judgement.refusal {
            let answer = format!("the API would answer the next request with {}: {}", refused.refusal.status, refused.refusal.message);
            add_wrapped(text, "  ", &answer, columns);
        } else if is_broken && conversation.format == crate::stores::StoreFormat::Codex {
            add_wrapped(text, "  ", "the next request goes to the Responses API, whose answer is not known here", columns);
        }
        notes.iter().for_each(|note| add_wrapped(text, "  note: ", note, columns));
    }

    fn add_finding(&self, finding: &SessionFinding, file: &str, columns: usize, text: &mut String) {
        let place = finding.violation.places.first().map(|place| place_text(file, place)).unwrap_or_else(|| file.into());
        let _ = writeln!(text, "  {place}: {}", finding.violation.kind.as_str());
        add_wrapped(text, "    ", &finding.violation.text, columns);
        add_wrapped(text, "    likely: ", finding.mechanism, columns);
        if let Some(path) = self.scenarios.file(finding) {
            let _ = writeln!(text, "    shown by {}", path.display());
        }
    }

    fn add_unjudged(&self, text: &mut String) {
        let unjudged = &self.examination.unjudged;
        let shown = if self.is_verbose { unjudged.len() } else { UNJUDGED_MAX };
        for file in unjudged.iter().take(shown) {
            let _ = writeln!(text, "{BAD}{:<7}{BAD:#} {}: {}", "?", file.path.display(), file.problem);
        }
        if let Some(rest) = unjudged.len().checked_sub(shown).filter(|rest| *rest > 0) {
            let _ = writeln!(text, "and {} not judged; -v lists all", plural(rest as u64, "further file"));
        }
    }

    /// The usual places: those that are there, and those that are not.
    fn add_places(&self, text: &mut String) {
        let names = |is_there: bool| {
            let places = self.places.iter().filter(|place| place.agent.is_some() && place.is_there == is_there);
            places.map(|place| format!("{} ({})", place.path.display(), place.agent.unwrap_or_default())).collect::<Vec<_>>().join(", ")
        };
        for (label, names) in [("looked at", names(true)), ("not there", names(false))] {
            if !names.is_empty() {
                let _ = writeln!(text, "{label}: {names}");
            }
        }
    }

    /// `2636 sessions, 53 broken: 75 dangling-call; 2 files not judged`.
    fn summary(&self) -> String {
        let Examination { conversations, unjudged, without_messages, beside, others, .. } = self.examination;
        let broken = self.examination.broken().count();
        let is_main = |conversation: &&ExaminedConversation| conversation.branch == StoredBranch::Main;
        let sessions = conversations.iter().filter(is_main).count();
        let mut by_format: BTreeMap<&str, u64> = BTreeMap::new();
        conversations.iter().filter(is_main).for_each(|conversation| *by_format.entry(conversation.format.as_str()).or_default() += 1);
        let mut line = plural(sessions as u64, "session");
        if by_format.len() > 1 {
            let counts: Vec<String> = by_format.iter().map(|(format, count)| format!("{count} {format}")).collect();
            let _ = write!(line, " ({})", counts.join(", "));
        }
        if conversations.len() > sessions {
            let _ = write!(line, ", {}", plural((conversations.len() - sessions) as u64, "side chain"));
        }
        let _ = write!(line, ", {broken} broken");
        let kinds: Vec<String> = self.examination.counts().iter().map(|(kind, count)| format!("{count} {}", kind.as_str())).collect();
        if !kinds.is_empty() {
            let _ = write!(line, ": {}", kinds.join(", "));
        }
        let scenarios = self.scenarios.count();
        let more = [
            (unjudged.len(), "file", " NOT judged"),
            (*without_messages, "session", " without messages"),
            (*beside, "file", " beside sessions"),
            (*others, "other file", " by name no session"),
            (scenarios, "scenario", " written"),
        ];
        for (count, noun, what) in more.into_iter().filter(|(count, ..)| *count > 0) {
            let _ = write!(line, "; {}{what}", plural(count as u64, noun));
        }
        line
    }
}

/// A text in lines behind a label, the further ones indented by two more columns than the first.
fn add_wrapped(text: &mut String, label: &str, words: &str, columns: usize) {
    let indent = label.len() - label.trim_start().len();
    let mut line = String::from(label);
    let mut is_empty = true;
    for word in words.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > columns {
            text.push_str(&line);
            text.push('\n');
            line = " ".repeat(indent + 2);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(&super::super::output::one_line(word));
        is_empty = false;
    }
    text.push_str(&line);
    text.push('\n');
}
