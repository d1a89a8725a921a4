//! A client sweep as JSON, for programs that read what was found (K-9).

use serde_json::{Value, json};

use super::client_sweep::{ClientSweepReport, ClientSweepRow, ClientSweepRun, RowVerdict};
use reenact_wire::prelude::*;

/// The version of this form. It rises when a member changes its meaning or goes.
pub const CLIENT_SWEEP_JSON_VERSION: u32 = 1;

impl ClientSweepReport {
    /// The whole report. `action` and `moment` of a row are the words that `--sweep` and `--only` read as this row alone.
    pub fn json(&self) -> Value {
        let [(_, asked), (_, not_asked)] = self.questions();
        json!({
            "version": CLIENT_SWEEP_JSON_VERSION,
            "client": self.profile.as_deref().map(|profile| &profile.name),
            "is_fine": self.is_fine(),
            "baseline": {
                "ended": self.usual.output.ended.to_string(),
                "results": self.usual.output.results(),
                "requests": self.usual.message_requests(),
                "failures": self.usual.failures,
            },
            "runs": self.runs(),
            "planned_runs": self.planned,
            "asked": asked,
            "not_asked": not_asked,
            "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
        })
    }
}

fn row(row: &ClientSweepRow) -> Value {
    let problems = row.problems().into_iter().map(|(text, runs)| json!({ "text": text, "runs": runs }));
    let verdict = match row.verdict() {
        RowVerdict::Fine => "ok",
        RowVerdict::Failed => "failed",
        RowVerdict::Flaky { .. } => "flaky",
        RowVerdict::TooLate => "too_late",
        RowVerdict::Unasked { .. } => "not_asked",
    };
    json!({
        "moment": row.moment.to_string(),
        "kind": row.moment.kind().as_str(),
        "action": row.action.word(),
        "before": row.event.as_deref(),
        "verdict": verdict,
        "problems": problems.collect::<Vec<_>>(),
        "runs": row.runs.iter().map(run).collect::<Vec<_>>(),
    })
}

/// The numbers are `null` where the client could not be started.
fn run(run: &ClientSweepRun) -> Value {
    let driven = run.run.as_ref().ok();
    let again = driven.and_then(|driven| driven.again.as_ref());
    json!({
        "is_too_late": run.is_too_late(),
        "problems": run.problems.len(),
        "ended": driven.map(|driven| driven.output.ended.to_string()),
        "results": driven.map(|driven| driven.output.results()),
        "requests": driven.map(super::ClientRun::message_requests),
        "left_behind": driven.map(|driven| &driven.output.left_behind),
        "again": again.map(|again| json!({ "ended": again.ended.to_string(), "results": again.results() })),
    })
}
