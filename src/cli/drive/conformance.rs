//! `reenact drive --conformance -- COMMAND`: a client through the scenarios that any client should pass (K-7).

use std::path::Path;

use super::super::CommandExit;
use super::super::conformance::{CONFORMANCE, ConformanceScenario};
use super::super::output::{print_line, print_verdict, wrong_input};
use super::{DriveArguments, how, unpassed_by, until_stopped, with_signals};
use crate::live::drive::conformance::departures;
use crate::live::drive::{ClientRun, drive};
use crate::prelude::*;

/// So many failures of a client in one scenario are shown.
const FAILURES_MAX: usize = 4;

pub(super) fn run(arguments: &DriveArguments) -> CommandExit {
    let folder = match tempfile::tempdir() {
        Ok(folder) => folder,
        Err(error) => {
            return wrong_input(&format!("no folder for the scenarios can be made: {error}; is TMPDIR a folder that can be written?"));
        }
    };
    with_signals(async |signals| until_stopped(signals, all(arguments, folder.path())).await)
}

/// One client after the other: they may share a home folder.
async fn all(arguments: &DriveArguments, folder: &Path) -> CommandExit {
    let asked: Vec<&ConformanceScenario> = CONFORMANCE.iter().filter(|scenario| scenario.is_for_clients()).collect();
    let mut failed = 0;
    for scenario in &asked {
        let (title, driven) = match one(arguments, scenario, folder).await {
            Ok(driven) => driven,
            Err(exit) => return exit,
        };
        let is_fine = driven.failures.is_empty();
        failed += u64::from(!is_fine);
        print_verdict(&format!("{}  {:<16} {title}", if is_fine { "ok    " } else { "FAILED" }, scenario.name));
        driven
            .failures
            .iter()
            .take(FAILURES_MAX)
            .for_each(|failure| print_line(&format!("        {}", failure.replace('\n', "\n        "))));
        if driven.failures.len() > FAILURES_MAX {
            print_line(&format!("        … and {} more", driven.failures.len() - FAILURES_MAX));
        }
    }
    let left_out = (CONFORMANCE.len() - asked.len()) as u64;
    let count = plural(asked.len() as u64, "scenario");
    print_line(&format!(
        "{count}, {failed} failed; {left_out} not asked: they have a second prompt, an interrupt, or a result that a client cannot have. \
             `drive SCENARIO --sweep SIGINT` interrupts a client"
    ));
    print_line(
        "asked: whether the API takes each request, waits, retries, answers that go back as they came, the exit code; not asked: what is in results, and what the client prints",
    );
    if failed == 0 { CommandExit::Fine } else { CommandExit::Failed }
}

/// One client in one scenario, with the scenario's title.
async fn one(arguments: &DriveArguments, scenario: &ConformanceScenario, folder: &Path) -> Result<(String, ClientRun), CommandExit> {
    let path = scenario.write(folder).map_err(|problem| wrong_input(&problem))?;
    let loaded = arguments.how.load(&path)?;
    let harness = how(arguments, &loaded).map_err(|problem| wrong_input(&problem))?;
    let mut driven = drive(&loaded.setup, &harness, None).await.map_err(|error| wrong_input(&error.to_string()))?;
    driven.failures.extend(unpassed_by(&loaded, &driven));
    driven.failures.extend(departures(&driven.verdict));
    let title = loaded.setup.scenario.title.clone().unwrap_or_default();
    Ok((title, driven))
}
