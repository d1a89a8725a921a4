//! The summary of a recording, in numbers and in words.

use std::collections::BTreeMap;

use crate::files::redact::{ReplacedSecret, counts_text};
use crate::live::access::RefusedRequests;
use crate::prelude::*;
use crate::scenario::tape::ResponseEnd;

/// What is on a tape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TapeSummary {
    /// Exchanges that are on the tape, from their request to their end.
    pub exchanges: u64,
    /// Of those, answers with another status than 2xx.
    pub refused: u64,
    /// Of those, answers that were cut.
    pub cut: u64,
    /// Of those, answers from which the client went away.
    pub abandoned: u64,
    /// Of those, requests that got no answer.
    pub unanswered: u64,
    /// Exchanges that are not on the tape, and why, a sentence each.
    pub lost: Vec<String>,
    /// Answers that ended for their clients before they were written, because the disk was slow: a recorder that is killed then has lost them.
    pub ends_unwritten: u64,
    /// How often each rule replaced something.
    pub redacted: BTreeMap<String, u64>,
    /// What was replaced, and why.
    pub explained: BTreeMap<ReplacedSecret, u64>,
    /// Requests that were turned away: they were neither passed on nor recorded.
    pub refused_requests: RefusedRequests,
    /// What ended the recording early.
    pub problem: Option<String>,
}

impl TapeSummary {
    /// Whether everything that happened is on the tape.
    pub fn is_whole(&self) -> bool {
        self.lost.is_empty() && self.problem.is_none()
    }

    /// For people: one or two lines.
    pub fn text(&self) -> String {
        let mut parts = vec![plural(self.exchanges, "exchange")];
        for (count, what) in
            [(self.refused, "refused"), (self.cut, "cut"), (self.abandoned, "abandoned by the client"), (self.unanswered, "never answered")]
        {
            if count > 0 {
                parts.push(format!("{count} {what}"));
            }
        }
        let mut text = format!("recorded {}", parts.join(", "));
        if self.exchanges == 0 && self.is_whole() && self.refused_requests.is_empty() {
            text.push_str(": no client connected (set ANTHROPIC_BASE_URL for the client)");
        }
        self.refused_requests.texts().iter().for_each(|line| text.push_str(&format!("\n{line}")));
        if let Some(secrets) = counts_text(&self.redacted) {
            text.push_str(&format!("\n{secrets}"));
        }
        if self.ends_unwritten > 0 {
            text.push_str(&format!(
                "\npassed on before they were written: {} (with --durable they wait)",
                plural(self.ends_unwritten, "end")
            ));
        }
        if !self.lost.is_empty() {
            text.push_str(&format!("\nnot on the tape: {}", plural(self.lost.len() as u64, "exchange")));
        }
        text
    }

    pub(super) fn count(&mut self, status: u16, how: ResponseEnd) {
        self.exchanges += 1;
        match (status, how) {
            (0, _) => self.unanswered += 1,
            (_, ResponseEnd::ClientGone) => self.abandoned += 1,
            (_, ResponseEnd::Reset | ResponseEnd::Timeout) => self.cut += 1,
            (200..300, ResponseEnd::Complete) => (),
            (_, ResponseEnd::Complete) => self.refused += 1,
        }
    }

    pub(super) fn from_panic(who: &str) -> Self {
        Self {
            problem: Some(format!("{who} panicked, and recording stopped then: this is a defect of the program; please report it")),
            ..Self::default()
        }
    }
}
