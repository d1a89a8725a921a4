//! Whether all that scenario files say came to pass in the runs that were made of them (F-10).

use std::collections::BTreeMap;

use super::super::output::complain;
use super::{RunArguments, level};
use crate::files::scenario::LoadedScenario;
use crate::prelude::*;
use crate::runner::RunOutcome;
use crate::runner::statements::{StatementsVerdict, judge_outcomes};

/// A file that was not asked, and the reason.
pub(super) type UnaskedFile = (String, &'static str);

/// The statements that did not come to pass, by the position of the file's first run, and the files that were not asked, with the reason.
pub(super) fn unpassed<E>(
    arguments: &RunArguments,
    scenarios: &[LoadedScenario],
    outcomes: &[RunOutcome<E>],
) -> (BTreeMap<usize, Vec<String>>, Vec<UnaskedFile>) {
    if arguments.canary.is_some() {
        return Default::default(); // an engine that is broken on purpose shows what it shows
    }
    let StatementsVerdict { failures, not_asked } = judge_outcomes(scenarios, outcomes, level::view(arguments));
    (failures.into_iter().collect(), not_asked)
}

/// A line for each reason.
pub(super) fn print_reasons(arguments: &RunArguments, not_asked: &[UnaskedFile]) {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (file, reason) in not_asked.iter().filter(|_| arguments.format.has_notes()) {
        by_reason.entry(reason).or_default().push(file);
    }
    for (reason, files) in by_reason {
        complain(&format!(
            "note: not checked whether each turn, fault and interrupt of the file was used ({reason}): {}",
            level::named(&files)
        ));
    }
}
