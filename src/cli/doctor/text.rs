//! The findings of a doctor, for people.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::super::output::one_line;
use super::places::AgentPlace;
use super::scenarios::FindingScenarios;
use crate::prelude::*;
use crate::review::doctor::{Examination, ExaminedConversation};
use crate::stores::StoreFormat;
use crate::stores::conversation::{HistoryPlace, StoredBranch};
use crate::stores::judgement::SessionFinding;
use anstyle::{AnsiColor, Style};

/// So many files that could not be judged are listed, unless all are wanted.
const UNJUDGED_MAX: usize = 20;

/// So many places of a session are told, unless all are wanted.
const GROUPS_MAX: usize = 5;

/// No line is cut shorter, however narrow the terminal is.
const COLUMNS_MIN: usize = 40;

const BAD: Style = AnsiColor::Red.on_default().bold();
const GOOD: Style = AnsiColor::Green.on_default();

/// The text form of a report.
pub(super) struct DoctorText<'a> {
    pub(super) places: &'a [AgentPlace],
    pub(super) examination: &'a Examination,
    pub(super) scenarios: &'a FindingScenarios,
    /// Whether the notes on each session are wanted, and all that was left out.
    pub(super) is_verbose: bool,
}

/// `file:7`, `file, row 4 of part`.
pub(in crate::cli) fn place_text(file: &str, place: &HistoryPlace) -> String {
    match place {
        HistoryPlace::Line(line) => format!("{file}:{line}"),
        HistoryPlace::LineElsewhere(other, line) => format!("{other}:{line}"),
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
        self.add_places(columns.max(COLUMNS_MIN), &mut text);
        add_wrapped(&mut text, "", &self.summary(), columns.max(COLUMNS_MIN));
        text
    }

    fn add_conversation(&self, conversation: &ExaminedConversation, columns: usize, text: &mut String) {
        let ExaminedConversation { judgement, file, format, messages, .. } = conversation;
        let is_broken = !judgement.findings.is_empty();
        if !is_broken && !self.is_verbose && judgement.open_calls.is_empty() {
            return;
        }
        let (style, word) = if is_broken { (BAD, "BROKEN") } else { (GOOD, "ok") };
        let of_file = of_file(conversation);
        let _ = writeln!(text, "{style}{word:<7}{style:#} {file}{of_file} ({}, {})", format.as_str(), plural(*messages as u64, "message"));
        let groups: Vec<&[SessionFinding]> = judgement.findings.chunk_by(is_alike).collect();
        let shown = if self.is_verbose { groups.len() } else { GROUPS_MAX.min(groups.len()) };
        for group in &groups[..shown] {
            self.add_findings(group, columns, text);
        }
        let rest: usize = groups[shown..].iter().map(|group| group.len()).sum();
        if rest > 0 {
            let _ = writeln!(text, "  and {} of this session; -v shows all", plural(rest as u64, "further finding"));
        }
        if let Some(refused) = &judgement.refusal {
            // A side chain, such as a sub-agent's, has no next request of its own.
            let request = if conversation.branch == StoredBranch::Main { "the next request" } else { "a request with this history" };
            let answer = format!("The API would answer {request} with {}: {}", refused.refusal.status, refused.refusal.message);
            add_wrapped(text, "  ", &answer, columns);
        } else if is_broken && *format == StoreFormat::Codex {
            add_wrapped(text, "  ", "Its requests go to the Responses API, whose answer is not known.", columns);
        }
        let notes = judgement.remarks.iter().chain(&conversation.remarks).filter(|_| self.is_verbose);
        judgement.open_calls.iter().chain(notes).for_each(|note| add_wrapped(text, "  note: ", note, columns));
    }

    /// Findings that are alike but for their calls. The file stands above them.
    fn add_findings(&self, group: &[SessionFinding], columns: usize, text: &mut String) {
        let Some(finding) = group.first() else { return };
        let place = finding.violation.places.first().map_or_else(String::new, |place| format!("{place}: "));
        let count = if group.len() > 1 { format!(", {} calls", group.len()) } else { String::new() };
        let _ = writeln!(text, "  {place}{}{count}", finding.violation.kind.as_str());
        let others: Vec<&str> = group.iter().skip(1).filter_map(|finding| finding.violation.call.as_deref()).collect();
        let others = if others.is_empty() { String::new() } else { format!("; the same of {}", others.join(", ")) };
        add_wrapped(text, "    ", &format!("{}{others}", finding.violation.text), columns);
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
    fn add_places(&self, columns: usize, text: &mut String) {
        let names = |is_there: bool| {
            let places = self.places.iter().filter(|place| place.agent.is_some() && place.is_there == is_there);
            places.map(|place| format!("{} ({})", place.path.display(), place.agent.unwrap_or_default())).collect::<Vec<_>>().join(", ")
        };
        for (label, names) in [("looked at", names(true)), ("not there", names(false))] {
            if !names.is_empty() {
                add_wrapped(text, &format!("{label}: "), &names, columns);
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

/// Whether two findings are alike but for their calls.
fn is_alike(one: &SessionFinding, other: &SessionFinding) -> bool {
    let of = |finding: &SessionFinding| (finding.violation.kind, finding.violation.places.clone(), finding.mechanism);
    of(one) == of(other)
}

/// Which of a file's conversations it is, where there are several.
fn of_file(conversation: &ExaminedConversation) -> String {
    let session = conversation.session.as_ref().filter(|_| conversation.format == StoreFormat::Opencode);
    let session = session.map(|session| format!(", session {session}")).unwrap_or_default();
    match &conversation.branch {
        StoredBranch::Main => session,
        StoredBranch::SideChain(place) => format!("{session}, side chain of {place}"),
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
        line.push_str(&one_line(word));
        is_empty = false;
    }
    text.push_str(&line);
    text.push('\n');
}
