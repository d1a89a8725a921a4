//! A client sweep as a table, moment by outcome, with what is wrong, and what was asked (K-9).

use core::fmt;

use super::client_sweep::{ClientSweepReport, ClientSweepRow, ClientSweepRun, RowVerdict, prints_no_result};
use super::moment::{ClientMoment, MomentKind};
use super::{ChildSignal, ClientAction, ClientRun, RunQuestion, verdict};
use crate::serve::gate::AnswerPart;
use reenact_wire::prelude::*;

/// The heads of the columns.
const COLUMNS: [&str; 9] = ["moment", "action", "before", "ended", "results", "requests", "left", "again", "verdict"];

/// The questions about the end after a signal.
const SIGNAL_QUESTIONS: [(ChildSignal, &str); 2] =
    [(ChildSignal::Interrupt, "the exit code after SIGINT"), (ChildSignal::Terminate, "the exit code after SIGTERM")];

/// The questions about results that a profile leaves out.
const SILENT_SIGNALS: [(ChildSignal, &str); 3] = [
    (ChildSignal::Interrupt, "result lines after SIGINT (the profile has none)"),
    (ChildSignal::Terminate, "result lines after SIGTERM (the profile has none)"),
    (ChildSignal::HangUp, "result lines after SIGHUP (the profile has none)"),
];

/// The kinds of moments, where none of a kind was in time.
const MOMENTS: [(MomentKind, &str); 5] = [
    (MomentKind::Start, "the start (no action reached the client in time)"),
    (MomentKind::Answer, "moments inside of answers (no action reached the client in time)"),
    (MomentKind::Tools, "moments between answers (no action reached the client in time)"),
    (MomentKind::Marker, "tools that show that they run (no action reached the client in time)"),
    (MomentKind::Done, "moments after the last answer (no action reached the client in time)"),
];

impl ClientSweepReport {
    /// The questions that were asked of each row, and those that were not.
    pub(super) fn questions(&self) -> [(&'static str, Vec<&'static str>); 2] {
        let (mut asked, mut unasked) = (vec!["requests that the API takes", "processes left behind", "an end in time"], Vec::new());
        for what in verdict::QUESTIONS {
            let is_asked = self.usual.verdict.questions.asked.iter().any(|other| *other == *what);
            if is_asked { &mut asked } else { &mut unasked }.push(what);
        }
        for (signal, what) in SIGNAL_QUESTIONS {
            let of_signal = || self.rows.iter().filter(|row| matches!(row.action, ClientAction::Signal(sent, _) if sent == signal));
            if of_signal().next().is_some() {
                let codes = self.profile.as_deref().and_then(|profile| verdict::codes_after(profile, signal)).unwrap_or_default();
                let is_asked = !codes.is_empty() && of_signal().any(ClientSweepRow::is_done);
                if is_asked { &mut asked } else { &mut unasked }.push(what);
            }
        }
        if self.usual.output.results() > 0 { &mut asked } else { &mut unasked }.push("result lines");
        for (signal, what) in SILENT_SIGNALS {
            let is_silent = |row: &ClientSweepRow| matches!(row.action, ClientAction::Signal(sent, _) if sent == signal && prints_no_result(self.profile.as_deref(), &row.action));
            unasked.extend(self.rows.iter().any(is_silent).then_some(what));
        }
        for (kind, what) in MOMENTS {
            let of_kind = || self.rows.iter().filter(|row| row.moment.kind() == kind);
            unasked.extend((of_kind().next().is_some() && !of_kind().any(ClientSweepRow::is_done)).then_some(what));
        }
        for question in RunQuestion::ALL {
            if self.is_judged(question) { &mut asked } else { &mut unasked }.push(question.as_str());
        }
        // These depend on what the run shows in which nothing is done.
        let usual = &self.usual.verdict.questions;
        for what in [verdict::NEVER_ASKED_AT_TERMINALS, verdict::PARTS_OF_OUTPUT] {
            for (of_usual, found) in [(&usual.asked, &mut asked), (&usual.unasked, &mut unasked)] {
                found.extend(of_usual.iter().any(|other| **other == *what).then_some(what));
            }
        }
        if self.usual.marked.is_empty() {
            unasked.push("a tool that shows that it runs (no marker was seen)");
        }
        [("asked", asked), ("not asked", unasked)]
    }

    /// Whether the question was asked of a run.
    fn is_judged(&self, question: RunQuestion) -> bool {
        let runs = self.rows.iter().flat_map(|row| &row.runs).filter_map(|run| run.run.as_ref().ok());
        runs.chain([&self.usual]).any(|run| run.judgement.asked.contains(&question))
    }

    fn summary(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdicts: Vec<RowVerdict> = self.rows.iter().map(ClientSweepRow::verdict).collect();
        let count = |wanted: fn(&RowVerdict) -> bool| verdicts.iter().filter(|verdict| wanted(verdict)).count();
        let failed = count(|verdict| matches!(verdict, RowVerdict::Failed));
        let flaky = count(|verdict| matches!(verdict, RowVerdict::Flaky { .. }));
        let too_late = count(|verdict| matches!(verdict, RowVerdict::TooLate));
        if self.planned == 0 {
            return f.write_str("no moment, so nothing was tried: FAILED");
        }
        write!(f, "{}, {failed} failed", plural(self.rows.len() as u64, "row"))?;
        if self.runs() > self.rows.len() {
            write!(f, ", {} runs", self.runs())?;
        }
        if flaky > 0 {
            write!(f, ", {flaky} flaky: equal runs end differently")?;
        }
        if too_late > 0 {
            write!(f, ", {too_late} too late: the next request or the end of the client came first")?;
        }
        let shells: Vec<&str> = verdicts
            .iter()
            .filter_map(|verdict| match verdict {
                RowVerdict::Unasked { shell } => Some(*shell),
                _ => None,
            })
            .collect();
        if let [shell, ..] = shells[..] {
            let count = shells.len();
            write!(f, ", {count} not asked: the signal reached the shell `{shell}` alone; ")?;
            f.write_str("put `exec` before the client, or name its program after `--`")?;
        }
        if self.runs() < self.planned {
            write!(f, ", {} not done: the sweep was stopped", plural((self.planned - self.runs()) as u64, "run"))?;
        }
        Ok(())
    }
}

impl fmt::Display for ClientSweepReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual_verdict = if self.usual.failures.is_empty() { "ok" } else { "FAILED" };
        let usual = cells(["-", "(nothing done)", ""].map(String::from), Some(&self.usual), usual_verdict.into());
        let lines: Vec<[String; 9]> = [COLUMNS.map(String::from), usual].into_iter().chain(self.rows.iter().map(row_cells)).collect();
        let widths: Vec<usize> = (0..9).map(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0)).collect();
        for line in &lines {
            let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect::<Vec<_>>();
            writeln!(f, "{}", cells.join("  ").trim_end())?;
        }
        for row in &self.rows {
            if let RowVerdict::Flaky { failed: 0, .. } = row.verdict() {
                writeln!(f, "{}, {}: the runs end differently: {}", row.moment, row.action, row.ends())?;
            }
            for (problem, count) in row.problems() {
                let of = if row.runs.len() > 1 { format!(" ({count} of {} runs)", row.runs.len()) } else { String::new() };
                writeln!(f, "{}, {}: {problem}{of}", row.moment, row.action)?;
            }
        }
        if !self.usual.failures.is_empty() {
            for failure in &self.usual.failures {
                writeln!(f, "FAILED: {failure}")?;
            }
            return f.write_str("the client fails although nothing is done to it, so nothing was tried: FAILED");
        }
        for (name, what) in self.questions() {
            writeln!(f, "{name}: {}", if what.is_empty() { String::from("nothing") } else { what.join(", ") })?;
        }
        self.summary(f)
    }
}

/// `ok`, `FAILED`, `flaky, 2 of 5 failed`, `too late`, `not asked`.
impl fmt::Display for RowVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fine => f.write_str("ok"),
            Self::Failed => f.write_str("FAILED"),
            Self::Flaky { failed, runs } => write!(f, "flaky, {failed} of {runs} failed"),
            Self::TooLate => f.write_str("too late"),
            Self::Unasked { .. } => f.write_str("not asked"),
        }
    }
}

/// A row by the first of its runs with which something is wrong, or else by its first.
fn row_cells(row: &ClientSweepRow) -> [String; 9] {
    let before = match &row.moment {
        ClientMoment::Answer(boundary) => match (&row.event, boundary.before) {
            (Some(event), _) => event.to_string(),
            (None, AnswerPart::Head) => String::from("head"),
            (None, AnswerPart::Event(_)) => String::from("body"),
            (None, AnswerPart::End | AnswerPart::Left) => String::from("end"),
        },
        _ => String::new(),
    };
    let shown = row.runs.iter().find(|run| !run.problems.is_empty()).or_else(|| row.runs.iter().find(|run| !run.is_too_late()));
    let shown = shown.or(row.runs.first()).and_then(|ClientSweepRun { run, .. }| run.as_ref().ok());
    cells([row.moment.to_string(), row.action.to_string(), before], shown, row.verdict().to_string())
}

fn cells([moment, action, before]: [String; 3], driven: Option<&ClientRun>, verdict: String) -> [String; 9] {
    let Some(driven) = driven else {
        let mut cells: [String; 9] = Default::default();
        (cells[0], cells[1], cells[2], cells[8]) = (moment, action, before, verdict);
        return cells;
    };
    let left = if driven.output.left_behind.is_empty() { String::from("-") } else { driven.output.left_behind.len().to_string() };
    let again = driven.again.as_ref().map_or(String::from("-"), |again| format!("{}, {} results", again.ended, again.results()));
    let requests = driven.message_requests().to_string();
    let (ended, results) = (driven.output.ended.to_string(), driven.output.results().to_string());
    [moment, action, before, ended, results, requests, left, again, verdict]
}
