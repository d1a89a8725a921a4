//! O-10: every request is one that the API takes (N-6, M-2). That tool uses and results belong together, and where results stand, is O-1's to
//! see, by the same check.

use super::{OracleFindings, OracleRules};
use reenact_engine::contract::{Request, RequestId};
use reenact_wire::prelude::*;
use reenact_wire::validate::{self, RequestValidator};

pub(super) const ORACLE: &str = "O-10";

/// The validator, with the requests before.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct ValidityOracle(RequestValidator);

impl ValidityOracle {
    /// A request is sent. What depends on a scenario's API (its window, its memory of thinking) is no matter of validity.
    pub(super) fn on_request(&mut self, rules: &OracleRules, id: RequestId, request: &Request, found: &mut OracleFindings<'_>) {
        found.ask(ORACLE);
        let taken = validate::ValidationContext { pairs: false, ..validate::ValidationContext::default() };
        if let Some(refusal) = self.0.refusal(request, &taken).filter(|refusal| !rules.is_of_host(refusal.name)) {
            found.add(ORACLE, format!("the API refuses request {id}: {}", refusal.message));
        }
    }
}
