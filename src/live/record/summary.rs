//! The summary of a recording, in numbers and in words.

use std::collections::BTreeMap;
use std::io::{self, BufRead};

use crate::access::RefusedRequests;
use reenact_redact::{ReplacedSecret, counts_text};
use reenact_scenario::tape::ResponseEnd;
use reenact_scenario::tape::line::{LineKind, TapeLine};
use reenact_wire::prelude::*;

/// How many exchanges are on a tape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExchangeCounts {
    /// From their request to their end.
    pub exchanges: u64,
    /// Of those, answers with another status than 2xx.
    pub refused: u64,
    /// Of those, answers that were cut.
    pub cut: u64,
    /// Of those, answers from which the client went away.
    pub abandoned: u64,
    /// Of those, requests that got no answer.
    pub unanswered: u64,
}

impl ExchangeCounts {
    /// Of a tape that was written here: each kind of line is known by how it begins, and most lines are passed over.
    ///
    /// # Errors
    /// Those of the reader.
    pub(super) fn read(mut tape: impl BufRead) -> io::Result<Self> {
        let (mut counts, mut statuses, mut line) = (Self::default(), BTreeMap::new(), Vec::new());
        let mut is_first = true;
        while tape.read_until(b'\n', &mut line)? > 0 {
            if is_first && !line.starts_with(b"{\"reenact_tape\"") {
                return Ok(counts); // without its header it cannot be opened
            }
            is_first = false;
            if let Some(id) = line.strip_prefix(b"{\"request\":") {
                let digits = id.iter().take_while(|byte| byte.is_ascii_digit());
                statuses.insert(digits.fold(0_u32, |id, digit| id.wrapping_mul(10).wrapping_add(u32::from(digit - b'0'))), 0);
            } else if line.starts_with(b"{\"head\":") || line.starts_with(b"{\"end\":") {
                match TapeLine::read(line.trim_ascii_end()).map(|line| line.kind) {
                    Ok(LineKind::Head { id, status: known, .. }) => drop(statuses.get_mut(&id).map(|status| *status = known)),
                    Ok(LineKind::End { id, how, .. }) => drop(statuses.remove(&id).map(|status| counts.count(status, how))),
                    _ => (),
                }
            }
            line.clear();
        }
        Ok(counts)
    }

    fn count(&mut self, status: u16, how: ResponseEnd) {
        self.exchanges += 1;
        match (status, how) {
            (0, _) => self.unanswered += 1,
            (_, ResponseEnd::ClientGone) => self.abandoned += 1,
            (_, ResponseEnd::Reset | ResponseEnd::Timeout) => self.cut += 1,
            (200..300, ResponseEnd::Complete) => (),
            (_, ResponseEnd::Complete) => self.refused += 1,
        }
    }
}

/// The summary of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TapeSummary {
    /// Exchanges that are on the tape, as they were read back from the disk.
    pub counts: ExchangeCounts,
    /// Answers that are cut on the tape and not for their clients, because open bodies took too much memory, a sentence each (K-12).
    pub shortened: Vec<String>,
    /// Exchanges that are not on the tape, and why, a sentence each.
    pub lost: Vec<String>,
    /// Answers that ended for their clients before they were written, because the disk was slow: a recorder that is killed then has lost them.
    pub ends_unwritten: u64,
    /// How often each rule replaced something.
    pub redacted: BTreeMap<String, u64>,
    /// The replaced secrets, with the reason.
    pub explained: BTreeMap<ReplacedSecret, u64>,
    /// The texts that were not searched for secrets, a sentence each (K-2).
    pub unsearched: Vec<String>,
    /// Requests that were turned away: they were neither passed on nor recorded.
    pub refused_requests: RefusedRequests,
    /// The reason of an early end.
    pub problem: Option<String>,
}

impl TapeSummary {
    /// Whether everything that happened is on the tape.
    pub fn is_whole(&self) -> bool {
        self.lost.is_empty() && self.shortened.is_empty() && self.problem.is_none()
    }

    /// For people: one or two lines.
    pub fn text(&self) -> String {
        let ExchangeCounts { exchanges, refused, cut, abandoned, unanswered } = self.counts;
        let mut parts = vec![plural(exchanges, "exchange")];
        for (count, what) in [(refused, "refused"), (cut, "cut"), (abandoned, "abandoned by the client"), (unanswered, "never answered")] {
            if count > 0 {
                parts.push(format!("{count} {what}"));
            }
        }
        let mut text = format!("recorded {}", parts.join(", "));
        if exchanges == 0 && self.is_whole() && self.refused_requests.is_empty() {
            text.push_str(": no client connected (set ANTHROPIC_BASE_URL for the client)");
        }
        self.refused_requests.texts().iter().for_each(|line| text.push_str(&format!("\n{line}")));
        if let Some(secrets) = counts_text(&self.redacted) {
            text.push_str(&format!("\n{secrets}"));
        }
        self.unsearched.iter().for_each(|sentence| text.push_str(&format!("\n{sentence}")));
        if self.ends_unwritten > 0 {
            text.push_str(&format!(
                "\npassed on before they were written: {} (with --durable they wait)",
                plural(self.ends_unwritten, "end")
            ));
        }
        if !self.shortened.is_empty() {
            text.push_str(&format!("\ncut on the tape and not for the client: {}", plural(self.shortened.len() as u64, "exchange")));
        }
        if !self.lost.is_empty() {
            text.push_str(&format!("\nnot on the tape: {}", plural(self.lost.len() as u64, "exchange")));
        }
        text
    }

    pub(super) fn from_panic(who: &str) -> Self {
        Self {
            problem: Some(format!("{who} panicked, and recording stopped then: this is a defect of the program; please report it")),
            ..Self::default()
        }
    }
}
