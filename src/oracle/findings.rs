//! Where oracles put what they find.

use reenact_engine::time::Time;
use reenact_wire::prelude::*;

use super::question_counts::QuestionCounts;
use super::violation::Violation;

/// The findings of a run, and how often each oracle was asked.
pub(super) struct OracleFindings<'a> {
    pub(super) at: Time,
    pub(super) violations: &'a mut Vec<Violation>,
    pub(super) questions: &'a mut QuestionCounts,
}

impl OracleFindings<'_> {
    /// The situation of a rule has come to pass, and the rule is asked.
    pub(super) fn ask(&mut self, oracle: &'static str) {
        self.questions.add(oracle);
    }

    pub(super) fn add(&mut self, oracle: &'static str, text: String) {
        self.violations.push(Violation { at: self.at, oracle, text });
    }
}
