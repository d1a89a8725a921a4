//! Explorations of a made-up client: its traces are the same whatever its plan says, and what is wrong with a run is a question to its decisions.

use std::collections::BTreeSet;
use std::vec::Vec;

use super::decision::ClientDecision;
use super::*;
use crate::run_trace::{ArrivalPart, TimeLever, TracedArrival, TracedRequest, TracedSource};
use reenact_explore::explorer::faults_at;
use serde_json::Value;

const BOUNDARIES: [(&str, u64); 3] = [("start + 0", 0), ("answer 1 head + 1", 10), ("tool a end + 0", 50)];

/// A request, and two tools of which each could end first.
fn trace(digest: &str) -> RunTrace {
    let times = |name: &str, at: u64, came| TracedArrival {
        name: name.into(),
        part: ArrivalPart::End,
        at: Time(at),
        earliest: Time(30),
        latest: Time(90),
        came: Some(came),
    };
    let tool = |id: &str, at, came| TracedSource {
        lever: Some(TimeLever::Tool(id.into())),
        from: Time(20),
        came_before: 0,
        left_at: None,
        arrivals: vec![times(id, at, came)],
    };
    let request =
        TracedRequest { name: "1".into(), at: Time(0), is_faulted: false, events: vec![Time(10), Time(15), Time(20)], left_at: None };
    let sources = vec![tool("a", 50, 0), tool("b", 60, 1)];
    RunTrace { requests: vec![request], sources, missed: Vec::new(), digest: digest.into() }
}

fn exploration(budgets: &[&str]) -> ClientExploration {
    let budgets = budgets.iter().map(|budget| budget.parse().unwrap()).collect();
    let actions = vec![ClientInput::Cancel];
    ClientExploration::new(ExplorationTerms { budgets, actions, then: "Go on.".into(), message: "".into() }, &Scenario::default())
}

/// A client: what its run has in its trace, and what is wrong with it.
struct MadeUpClient<'a> {
    digest: &'a dyn Fn(&[String]) -> String,
    is_wrong: &'a dyn Fn(&[String]) -> bool,
    group: &'a dyn Fn(&[String]) -> &'static str,
    /// Whether orders are as before, whatever the plan says.
    keeps_orders: bool,
    misses: &'a dyn Fn(&[String]) -> bool,
    /// How many plans are asked for at once; the last of them comes back first.
    at_once: usize,
}

impl Default for MadeUpClient<'_> {
    fn default() -> Self {
        Self {
            digest: &|decisions| decisions.join("; "),
            is_wrong: &|_| false,
            group: &|_| "O-1",
            keeps_orders: false,
            misses: &|_| false,
            at_once: 1,
        }
    }
}

impl MadeUpClient<'_> {
    /// The plans of the search, and the report.
    fn explore(&self, budgets: &[&str]) -> (Vec<String>, Value) {
        let mut exploration = exploration(budgets);
        let mut tried = Vec::new();
        while !exploration.is_over() {
            let plans = exploration.next(self.at_once);
            assert!(!plans.is_empty() || exploration.is_over(), "nothing is out, and nothing is to be tried");
            tried.extend(plans.iter().filter(|plan| plan.is_search).map(|plan| plan.decisions.join("; ")));
            for plan in plans.into_iter().rev() {
                exploration.tried(self.run(&plan)).unwrap();
            }
        }
        (tried, exploration.report())
    }

    fn run(&self, NextPlan { number, text, decisions, .. }: &NextPlan) -> TriedLine {
        let mut trace = trace(&(self.digest)(decisions));
        let orders = decisions.iter().filter(|decision| decision.contains("b at")).count();
        if orders == 1 && !self.keeps_orders {
            let came = [1, 0].map(Some);
            came.into_iter().zip(&mut trace.sources).for_each(|(came, source)| source.arrivals[0].came = came);
        }
        if (self.misses)(decisions) {
            trace.missed.push("it did not happen".into());
        }
        let wrong = TriedFinding {
            group: (self.group)(decisions).into(),
            words: "O-1: open".into(),
            others: Vec::new(),
            plan: text.as_str().into(),
        };
        let boundaries = BOUNDARIES.map(|(name, at)| (name.into(), Time(at))).into();
        TriedLine { exploration: 1, number: *number, trace, boundaries, finding: (self.is_wrong)(decisions).then_some(wrong) }
    }
}

fn has(decisions: &[String], part: &str) -> bool {
    decisions.iter().any(|decision| decision.contains(part))
}

#[test]
fn e_3_every_plan_of_a_budget_is_tried_once() {
    let (inputs, report) = MadeUpClient::default().explore(&["0,0,1"]);
    assert_eq!(inputs, ["", "cancel at start + 0", "cancel at answer 1 head + 1", "cancel at tool a end + 0"]);
    assert_eq!((&report["finished"], &report["is_finished"]), (&serde_json::json!(["(0,0,1)"]), &true.into()));
    let (tried, report) = MadeUpClient::default().explore(&["1,1,1"]);
    let names: BTreeSet<Vec<&str>> = tried
        .iter()
        .map(|plan| {
            let mut parts: Vec<&str> = plan.split("; ").collect();
            parts.sort_unstable();
            parts
        })
        .collect();
    assert_eq!(names.len(), tried.len(), "the same decisions in another order are the same plan");
    let faults = tried.iter().filter(|plan| !plan.contains(';') && plan.contains("answer 1") && !plan.contains("cancel")).count();
    // 14 in the answer's place that reach once, a model or for ever; three kinds after the head and after the first event; one early end.
    assert_eq!(faults, 13 + 6 + 1, "{tried:#?}");
    assert_eq!(report["finished"].as_array().unwrap().len(), 7, "{report}");
    // A fault shows at its request, and a cancel before it would leave the request out.
    let both = tried.iter().filter(|plan| plan.contains("overloaded") && plan.contains("cancel")).count();
    assert_eq!(both % 3, 0, "with each reach at each boundary behind the request");
}

#[test]
fn e_3_runs_with_equal_transcripts_are_continued_once() {
    let (all, _) = MadeUpClient::default().explore(&["0,1,1"]);
    let same = MadeUpClient { digest: &|_| String::from("the same"), ..MadeUpClient::default() };
    let (merged, report) = same.explore(&["0,1,1"]);
    assert!(merged.len() < all.len(), "{} and {}", merged.len(), all.len());
    assert_eq!(report["transcripts"], 1);
}

#[test]
fn e_3_a_plan_that_does_not_come_to_pass_says_nothing() {
    let is_second = |decisions: &[String]| decisions.len() == 2;
    let client = MadeUpClient { is_wrong: &is_second, misses: &is_second, ..MadeUpClient::default() };
    let (_, report) = client.explore(&["0,0,2"]);
    assert_eq!((&report["findings"], &report["classes"][2]["void"]), (&serde_json::json!([]), &6.into()));
}

#[test]
fn e_3_a_run_that_does_not_come_to_what_lies_within_the_run_as_it_is_is_a_finding() {
    let is_cancel = |decisions: &[String]| has(decisions, "cancel");
    let client = MadeUpClient { is_wrong: &is_cancel, misses: &is_cancel, ..MadeUpClient::default() };
    let (_, report) = client.explore(&["0,0,1"]);
    let finding = &report["findings"][0];
    assert_eq!((&finding["group"], &finding["ways"], &finding["has_come_again"]), (&OTHER_RUN.into(), &3.into(), &false.into()));
    assert!(finding["words"].as_str().unwrap().ends_with("cancel at start + 0"), "{finding}");
}

#[test]
fn e_3_an_order_that_the_run_does_not_have_says_nothing() {
    let client = MadeUpClient { keeps_orders: true, is_wrong: &|decisions| has(decisions, "b at"), ..MadeUpClient::default() };
    let (_, report) = client.explore(&["1,0,0"]);
    assert_eq!((&report["findings"], &report["classes"][1]["void"]), (&serde_json::json!([]), &1.into()));
}

#[test]
fn e_3_runs_with_equal_transcripts_are_continued_where_another_may_follow() {
    // After one decision all transcripts are the same. A fault's run is continued by inputs, which that of an input is not.
    let client = MadeUpClient { digest: &|decisions| decisions.len().min(1).to_string(), ..MadeUpClient::default() };
    let (tried, _) = client.explore(&["0,1,1"]);
    assert!(tried.contains(&"overloaded instead of answer 1; cancel at tool a end + 0".into()), "{tried:#?}");
    // And one that has had its decision earlier is continued from there.
    let mut exploration = exploration(&["0,0,2"]);
    let mut continued = |from: u64| {
        let decisions = vec![ClientDecision::Fault(faults_at(&ExploreSettings::default(), &"1".into(), None)[0].clone())];
        let planned = PlannedRun { decisions, from: Time(from) };
        let boundaries = BOUNDARIES.map(|(name, at)| (name.into(), Time(at))).into();
        exploration.continue_run(ExploreBudget::NONE, MadeRun { planned, trace: trace("x"), boundaries });
        exploration.classes[1].waiting.len()
    };
    assert_eq!([continued(50), continued(50), continued(10), continued(20)], [1, 1, 2, 2]);
    assert_eq!(exploration.equal_runs, 2);
    assert!(exploration.report()["notes"][0].as_str().unwrap().starts_with("2 runs had the transcript and the boundaries of another one"));
}

#[test]
fn e_3_a_defect_of_the_run_as_it_is_hides_no_other() {
    let client = MadeUpClient {
        is_wrong: &|_| true,
        group: &|decisions| if has(decisions, "cancel") { "O-2" } else { "O-1" },
        ..MadeUpClient::default()
    };
    let (_, report) = client.explore(&["0,0,1"]);
    let groups: Vec<&str> = report["findings"].as_array().unwrap().iter().map(|finding| finding["group"].as_str().unwrap()).collect();
    assert_eq!(groups, ["O-1", "O-2"]);
}

#[test]
fn e_5_another_defect_or_a_run_without_its_decisions_is_no_smaller_one() {
    let needs_both = |decisions: &[String]| decisions.len() == 2;
    let is_wrong = |decisions: &[String]| !decisions.is_empty() && (has(decisions, "overloaded") || decisions.len() == 2);
    let group = |decisions: &[String]| if needs_both(decisions) { "O-2" } else { "O-1" };
    let client = MadeUpClient { is_wrong: &is_wrong, group: &group, ..MadeUpClient::default() };
    let (_, report) = client.explore(&["0,1,1"]);
    let of_both = report["findings"].as_array().unwrap().iter().find(|finding| finding["group"] == "O-2").unwrap();
    assert_eq!(of_both["decisions"].as_array().unwrap().len(), 2, "{of_both}");
    // Alone the fault shows it, and its plan is not all of its run.
    let misses = |decisions: &[String]| has(decisions, "overloaded") && decisions.len() == 1;
    let client = MadeUpClient { is_wrong: &|decisions| has(decisions, "overloaded"), misses: &misses, ..MadeUpClient::default() };
    let (_, report) = client.explore(&["0,0,1", "0,1,0", "0,1,1"]);
    let of_rule = report["findings"].as_array().unwrap().iter().filter(|finding| finding["group"] == "O-1");
    assert!(
        of_rule.clone().count() > 0 && of_rule.into_iter().all(|finding| finding["decisions"].as_array().unwrap().len() == 2),
        "{report}"
    );
}

#[test]
fn e_5_a_finding_is_made_smaller() {
    let client = MadeUpClient {
        is_wrong: &|decisions| {
            decisions.len() == 2 && has(decisions, "overloaded instead of answer 1") && has(decisions, "cancel")
                || has(decisions, "reset") && decisions.iter().any(|decision| decision.ends_with("each further attempt"))
        },
        ..MadeUpClient::default()
    };
    let (_, report) = client.explore(&["0,1,1"]);
    // For ever is the shortest that shows it.
    let finding = &report["findings"][0];
    assert_eq!(finding["decisions"], serde_json::json!(["reset instead of answer 1 and of each further attempt"]));
    assert_eq!((&finding["has_come_again"], &report["findings"][1]), (&true.into(), &Value::Null));
    let long = MadeUpClient { is_wrong: &|decisions| has(decisions, "overloaded") && has(decisions, "cancel"), ..MadeUpClient::default() };
    let (_, report) = long.explore(&["0,1,1"]);
    assert_eq!(report["findings"][0]["decisions"], serde_json::json!(["cancel at start + 0", "overloaded instead of answer 1"]));
    let order = MadeUpClient { is_wrong: &|decisions| has(decisions, "b at"), ..MadeUpClient::default() };
    let (_, report) = order.explore(&["1,0,0"]);
    assert_eq!(report["findings"][0]["decisions"], serde_json::json!(["b at 0.000030s, before a"]), "no rounder time fits");
}

#[test]
fn e_5_a_finding_that_does_not_come_again_is_said() {
    let runs = core::cell::Cell::new(0);
    let once = |decisions: &[String]| has(decisions, "cancel at start") && runs.replace(runs.get() + 1) == 0;
    let (_, report) = MadeUpClient { is_wrong: &once, ..MadeUpClient::default() }.explore(&["0,0,1"]);
    assert_eq!(report["findings"][0]["has_come_again"], false);
}

#[test]
fn e_3_what_comes_back_first_makes_no_difference() {
    let is_wrong = |decisions: &[String]| has(decisions, "cut") || has(decisions, "b at") && has(decisions, "cancel");
    let one = MadeUpClient { is_wrong: &is_wrong, ..MadeUpClient::default() }.explore(&["1,1,1"]);
    let many = MadeUpClient { is_wrong: &is_wrong, at_once: 7, ..MadeUpClient::default() }.explore(&["1,1,1"]);
    assert_eq!(one, many);
}

#[test]
fn e_3_a_search_that_is_stopped_claims_what_it_finished() {
    let client = MadeUpClient::default();
    let mut exploration = exploration(&["0,1,0"]);
    let plain = exploration.next(9);
    assert_eq!(plain.len(), 1);
    assert_eq!((exploration.next(9).len(), exploration.is_over()), (0, false), "the plain run decides what comes next");
    exploration.tried(client.run(&plain[0])).unwrap();
    let some = exploration.next(2);
    exploration.stop();
    assert_eq!((exploration.next(9).len(), exploration.is_over()), (0, false), "two are still out");
    some.iter().for_each(|plan| exploration.tried(client.run(plan)).unwrap());
    assert_eq!((exploration.next(9).len(), exploration.is_over()), (0, true));
    let report = exploration.report();
    assert_eq!((&report["is_finished"], &report["finished"]), (&false.into(), &serde_json::json!([])), "{report}");
    assert!(exploration.tried(client.run(&some[0])).unwrap_err().contains("is not open"));
}

#[test]
fn g_2_a_run_with_a_fault_is_prompted_once_more() {
    let mut exploration = exploration(&["0,1,1"]);
    let plain = exploration.next(1);
    assert_eq!((&*plain[0].text, plain[0].needs_boundaries), ("[plan]\n", true));
    exploration.tried(MadeUpClient::default().run(&plain[0])).unwrap();
    let plans = exploration.next(99);
    assert!(plans.iter().all(|plan| plan.text.contains("boundary = ") && !plan.text.contains("follow_up")), "{plans:#?}");
    plans.iter().for_each(|plan| exploration.tried(MadeUpClient::default().run(plan)).unwrap());
    let plans = exploration.next(99);
    assert!(plans.iter().all(|plan| plan.text.contains("follow_up = \"Go on.\"") && plan.text.contains("[[plan.fault]]")), "{plans:#?}");
    assert!(
        matches!(exploration.out.values().next(), Some(OpenPlan::Search(planned)) if matches!(planned.decisions[..], [ClientDecision::Fault(_)]))
    );
}

#[test]
fn e_3_what_is_left_out_is_said() {
    let mut exploration = exploration(&["0,1,0"]);
    let plain = exploration.next(1);
    let mut tried = MadeUpClient::default().run(&plain[0]);
    tried.trace.requests[0].events.clear();
    exploration.tried(tried).unwrap();
    assert!(exploration.report()["notes"].to_string().contains("answers that are no streams have no faults within them"));
    // Equal transcripts with other boundaries are of other states.
    let (all, _) = MadeUpClient::default().explore(&["0,0,2"]);
    let same = MadeUpClient { digest: &|_| "same".into(), ..MadeUpClient::default() };
    let (merged, report) = same.explore(&["0,0,2"]);
    assert!(merged.len() < all.len() && report["notes"].to_string().contains("had the transcript and the boundaries"), "{report}");
}

#[test]
fn e_3_a_budget_of_which_nothing_is_possible_is_empty() {
    let settings = ExploreSettings { faults: Vec::new(), ..ExploreSettings::default() };
    let scenario = Scenario { explore: settings, ..Scenario::default() };
    let terms = ExplorationTerms { budgets: vec![ExploreBudget::new(1, 1, 0)], actions: Vec::new(), then: "".into(), message: "".into() };
    let mut exploration = ClientExploration::new(terms, &scenario);
    while !exploration.is_over() {
        for plan in exploration.next(9) {
            exploration.tried(MadeUpClient::default().run(&plan)).unwrap();
        }
    }
    assert_eq!(exploration.report()["is_empty"], true);
    let (_, report) = MadeUpClient::default().explore(&["1,1,1"]);
    assert_eq!(report["is_empty"], false);
}
