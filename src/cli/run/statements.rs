//! Whether all that scenario files say came to pass in the runs that were made of them (F-10).

use std::collections::BTreeMap;

use super::super::output::complain;
use super::{OutputFormat, RunArguments, level};
use crate::files::scenario::LoadedScenario;
use crate::prelude::*;
use crate::runner::RunOutcome;
use crate::runner::statements::{StatementsVerdict, judge};

/// The statements that did not come to pass, by the position of the file's first run. Where that was not asked, a note says so.
pub(super) fn unpassed<E>(
    arguments: &RunArguments,
    scenarios: &[LoadedScenario],
    outcomes: &[RunOutcome<E>],
) -> BTreeMap<usize, Vec<String>> {
    if arguments.canary.is_some() {
        return BTreeMap::new(); // an engine that is broken on purpose shows what it shows
    }
    let ran = outcomes.iter().map(|outcome| outcome.as_ref().ok().map(Into::into));
    let runs: Vec<_> = scenarios.iter().zip(ran).collect();
    let StatementsVerdict { failures, not_asked } = judge(&runs, level::view(arguments));
    if arguments.format == OutputFormat::Text {
        print_reasons(&not_asked);
    }
    failures.into_iter().collect()
}

/// A line for each reason.
fn print_reasons(not_asked: &[(String, &'static str)]) {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (file, reason) in not_asked {
        by_reason.entry(reason).or_default().push(file);
    }
    for (reason, files) in by_reason {
        complain(&format!("note: not checked whether all statements come to pass ({reason}): {}", level::named(&files)));
    }
}
