//! The questions of a verdict: those that were asked of the client, and those that could not be (K-6, F-10).
//!
//! A scenario is made for engines. Of a client only its requests are seen, and only its driver does anything to it. All else that the scenario says
//! fails a verdict, unless it `may` be left out.

use super::{ServedClient, SessionTerms};
use reenact_engine::settings::Settings;
use reenact_scenario::plan::Plan;
use reenact_scenario::statement::{PathStep, Statement, statements};
use reenact_scenario::types::{Expectations, Scenario};
use reenact_wire::prelude::*;

/// The questions behind a verdict, a few words each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerdictQuestions {
    /// Those that were asked.
    pub asked: Vec<String>,
    /// Those that were not.
    pub unasked: Vec<String>,
}

/// The rules of oracles that any client is asked.
pub const BY_REQUESTS: [&str; 1] = ["O-1"];

/// The questions to each client.
const ALWAYS: [&str; 4] =
    ["requests that the API takes", "an answer for each request", "pairs of tool uses and results (O-1)", "waits after retry-after"];

impl VerdictQuestions {
    /// Those of a scenario, before anything is known of the client beside its requests.
    pub(super) fn of_scenario(scenario: &Scenario, terms: &SessionTerms) -> Self {
        let Expectations { requests, delays, models, sent, not_sent, refusals, .. } = &scenario.expect;
        let expected = [
            ("the number of requests", requests.is_some()),
            ("the waits between attempts", delays.is_some() && terms.client == ServedClient::Foreign),
            ("the models", models.is_some()),
            ("texts that are sent", !sent.is_empty()),
            ("texts that are not sent", !not_sent.is_empty()),
            ("the number of refusals", refusals.is_some()),
            ("requests as they were recorded", scenario.tape.is_some() && scenario.matching.strict),
        ];
        let mut questions = Self { asked: ALWAYS.map(String::from).into(), unasked: Vec::new() };
        questions.asked.extend(expected.iter().filter(|(_, is_asked)| *is_asked).map(|(words, _)| String::from(*words)));
        if scenario.tape.is_some() && !scenario.matching.strict {
            questions.unasked.push("requests as they were recorded (`strict` in [matching])".into());
        }
        let unaskable = unaskable_keys(&scenario.expect).into_iter().map(|key| format!("`{key}` in [expect]"));
        let sections = unaskable_sections(scenario, terms).into_iter().map(|(name, _)| name);
        questions.unasked.extend(unaskable.chain(sections).chain(own_affairs(scenario).map(String::from)));
        questions
    }
}

/// The parts of a scenario that a client has of its own: they are no promise, so that they are named and fail nothing.
fn own_affairs(scenario: &Scenario) -> impl Iterator<Item = &'static str> {
    let Scenario { settings, tools, results, network, plan, workspace, .. } = scenario;
    let parts = [
        ("settings of [engine]", *settings != Settings::default()),
        ("what tools do", !tools.is_empty() || !results.is_empty()),
        ("[workspace]", workspace.is_some()),
        ("[network]", network.is_some()),
        ("[plan]", *plan != Plan::EMPTY),
    ];
    parts.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name)
}

/// A failure for all that cannot be asked and must be.
pub(super) fn failures(scenario: &Scenario, terms: &SessionTerms) -> Vec<String> {
    if scenario.drive.may {
        return Vec::new();
    }
    let keys = if scenario.expect.may { Vec::new() } else { unaskable_keys(&scenario.expect) };
    let names = |keys: &[&str]| keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
    let of_expectations = (!keys.is_empty()).then(|| {
        format!(
            "{} in [expect] cannot be asked of a client, of which only the requests are seen; to leave that out write `may = true` in [drive]",
            names(&keys)
        )
    });
    let sections = unaskable_sections(scenario, terms).into_iter().filter(|(_, may)| !may).map(|(name, _)| {
        format!(
            "{name} of the scenario is nothing that can be done to a client, or seen of it; to leave that out write `may = true` in [drive]"
        )
    });
    of_expectations.into_iter().chain(sections).collect()
}

/// The expectations that requests cannot show.
fn unaskable_keys(expect: &Expectations) -> Vec<&'static str> {
    let Expectations { terminal, terminals, transitions, tools, result, text_present, text_absent, order, ends_after, ends_before, .. } =
        expect;
    let is_own_end = terminal.as_deref() == Some("tape_exhausted");
    let keys = [
        ("terminal", terminal.is_some() && !is_own_end),
        ("terminals", terminals.is_some()),
        ("transitions", transitions.is_some()),
        ("tools", tools.is_some()),
        ("result", result.is_some()),
        ("text_present", !text_present.is_empty()),
        ("text_absent", !text_absent.is_empty()),
        ("order", !order.is_empty()),
        ("ends_after", ends_after.is_some()),
        ("ends_before", ends_before.is_some()),
        ("files", !expect.files.is_empty()),
        ("absent", !expect.absent.is_empty()),
        ("breaks", expect.breaks.iter().any(|rule| !BY_REQUESTS.contains(&rule.as_str()))),
    ];
    keys.into_iter().filter(|(_, is_set)| *is_set).map(|(key, _)| key).collect()
}

/// The sections about what a client has or does by itself, each with whether all of it may be left out. A driver does the interrupts, and says itself
/// which it could not do.
fn unaskable_sections(scenario: &Scenario, terms: &SessionTerms) -> Vec<(String, bool)> {
    let mut found: Vec<(String, bool)> = Vec::new();
    let mut add = |name: String, may: bool| match found.iter_mut().find(|(known, _)| *known == name) {
        Some((_, all_may)) => *all_may &= may,
        None => found.push((name, may)),
    };
    for entry in statements(scenario) {
        let is_unaskable = match entry.statement {
            Statement::Fault(_) | Statement::FaultChance(_) | Statement::Turn(_) | Statement::Exchange(_) | Statement::Result(_) => false,
            Statement::Interrupt(_) => !terms.is_driven,
            _ => true,
        };
        if is_unaskable {
            add(section_name(&entry.path), entry.may);
        }
    }
    if !scenario.history.is_empty() {
        add("[[history]]".into(), false);
    }
    found
}

/// `[[hook]]`, `[auth]`, `asks` of [[tool]].
fn section_name(path: &[PathStep]) -> String {
    let key = |step: &PathStep| if let PathStep::Key(key) = step { Some(*key) } else { None };
    let is_list = matches!(path.get(1), Some(PathStep::Nth(_) | PathStep::Where(..)));
    let first = path.first().and_then(key).unwrap_or("scenario");
    let section = if is_list { format!("[[{first}]]") } else { format!("[{first}]") };
    match path.last().and_then(key).filter(|_| is_list) {
        Some(last) => format!("`{last}` of {section}"),
        None => section,
    }
}
