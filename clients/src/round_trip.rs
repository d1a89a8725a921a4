//! An SDK's tool runner, recorded while it talks to a served scenario; the tape replayed to our own loop shows what the scenario shows (K-1, K-4,
//! K-6).
//!
//! ```text
//!   scenario ── drive ──> record ──> the SDK's tool runner
//!      │                     └── tape ──> run ──┐
//!      └── run ───────────────────────────────> the same transcript
//! ```

use std::process::Output;

use super::cases::AT_ONCE;
use super::client_kind::SdkClient;
use super::install::InstallProblem;
use super::judge::{JudgeRow, row_of_requests};
use super::run::{CaseStage, ClientObservation};

/// Its answers tell their usage, because else the server tells how many tokens the SDK's own requests have.
const SCENARIO: &str = "scenarios/query/usage-adds-up.toml";

pub(super) const NAME: &str = "the tool runner, recorded and replayed";
const OUTCOME: &str = r#"end_turn, "It is a package named demo.""#;

pub(super) fn row(stage: &CaseStage, client: &SdkClient) -> Result<JudgeRow, InstallProblem> {
    let (scenario, tape) = (crate::root().join(SCENARIO), stage.folder.join(format!("{}.tape.jsonl", client.language.name())));
    // What an earlier run left is no recording of this one.
    let _ = std::fs::remove_file(&tape);
    let mut command = stage.driving(&scenario, "sdk", &[]);
    command.arg(stage.program()).args(["record", "--upstream", "{base}", "--out"]).arg(&tape).arg("--");
    let seen = ClientObservation::read(&stage.output(command.args(&client.command).arg("runner"))?);
    let mut row = row_of_requests(NAME, client.language.name(), &[AT_ONCE], OUTCOME, seen);
    if row.outcome != OUTCOME {
        row.problems.push(format!("the client reports `{}`, and not `{OUTCOME}`", row.outcome));
    }
    let run = |path| stage.output(stage.reenact().arg("run").arg(path).args(["--detail", "brief", "--untimed"]));
    let (simulated, replayed) = (lines(&run(&scenario)?), lines(&run(&tape)?));
    if simulated.is_empty() || simulated != replayed {
        row.problems.push("the tape shows something else than the scenario".to_string());
        row.said.extend(simulated.iter().map(|line| format!("scenario  {line}")));
        row.said.extend(replayed.iter().map(|line| format!("tape      {line}")));
    }
    let scan = stage.output(stage.reenact().arg("scan").arg(&tape))?;
    if !scan.status.success() {
        row.problems.push(format!("there are secrets on the tape: {}", String::from_utf8_lossy(&scan.stdout).trim()));
    }
    row.expected += "; the tape shows what the scenario shows";
    row.seen += if simulated == replayed { "; the same" } else { "; something else" };
    Ok(row)
}

/// The events: all lines but the heading and the verdict, which name the file, and the seed.
fn lines(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines: Vec<String> = text.lines().skip_while(|line| !line.is_empty()).map(str::to_string).collect();
    lines.pop_if(|line| line.starts_with("ok "));
    lines
}
