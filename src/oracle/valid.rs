//! O-10: every request is one that the API takes (N-6, M-2). That tool uses and results belong together, and where results stand, is O-1's to
//! see, by the same check.

use super::Findings;
use crate::engine::contract::{Request, RequestId};
use crate::prelude::*;
use crate::wire::validate::{self, Validator};

pub(super) const ORACLE: &str = "O-10";

/// What was looked at before.
#[derive(Clone, Debug, Default)]
pub(super) struct Valid(Validator);

impl Valid {
    /// A request is sent. What depends on a scenario's API (its window, its memory of thinking) is no matter of validity.
    pub(super) fn on_request(&mut self, id: RequestId, request: &Request, found: &mut Findings<'_>) {
        let taken = validate::Rules { pairs: false, ..validate::Rules::default() };
        if let Some(refusal) = self.0.refusal(request, &taken) {
            found.add(ORACLE, format!("the API refuses request {id}: {}", refusal.message));
        }
    }
}
