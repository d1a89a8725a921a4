//! Explorations of shipped scenarios: the same on one thread and on many, and each finding is a run that its plan makes again.

use std::hash::Hash as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use super::PanicCatcher;
use super::explore::Threads;
use reenact_engine::agent_loop::AgentLoop;
use reenact_engine::contract::{Effect, Effects, Engine, Environment, Input, KeySink, Note, Time};
use reenact_engine::emission::SessionPhase;
use reenact_engine::time::Micros;
use reenact_explore::budget::ExploreBudget;
use reenact_explore::canary::{CANARIES, Saboteur};
use reenact_explore::explorer::{
    EqualStates, ExploreOptions, ExploreOutcome, ExplorePace, ExploreProgress, ExploreReport, ExploreStep, FinishedExploration, explore,
    explore_with, fault_list, key_violation, replay,
};
use reenact_explore::fingerprint::Fingerprint;
use reenact_explore::fuzz::{FuzzGround, FuzzStrategy};
use reenact_files::scenario::{LoadOptions, LoadedScenario, load_with, search};
use reenact_sim::Run;
use reenact_wire::prelude::*;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name)
}

fn load(name: &str) -> LoadedScenario {
    load_with(&path(name), &LoadOptions::default()).unwrap()
}

fn explored<E: Engine + Send>(loaded: &LoadedScenario, engine: &E, budget: ExploreBudget, threads: usize) -> ExploreReport {
    let threads = Threads(NonZeroUsize::new(threads).unwrap());
    explore(&loaded.setup, engine, budget, &PanicCatcher, &threads, &mut |_| true)
}

/// Two tools side by side, an order that matters.
const SIDE_BY_SIDE: &str = "executor/tool-details.toml";

#[test]
fn e_3_an_exploration_is_the_same_on_one_thread_and_on_many() {
    let loaded = load(SIDE_BY_SIDE);
    let [one, many] = [1, 3].map(|threads| explored(&loaded, &AgentLoop::default(), ExploreBudget::new(1, 0, 1), threads));
    assert_eq!(one, many);
    assert!(one.states > 500 && one.merged > 100 && one.swaps > 0, "{one:?}");
    assert_eq!((one.outcome, &one.findings[..]), (ExploreOutcome::Finished, &[][..]));
}

#[test]
fn e_3_each_part_of_a_budget_adds_what_it_says() {
    let loaded = load(SIDE_BY_SIDE);
    let count = |budget: [u8; 3]| {
        let [deviations, faults, inputs] = budget;
        let report = explored(&loaded, &AgentLoop::default(), ExploreBudget::new(deviations, faults, inputs), 1);
        (report.swaps > 0, report.faults > 0, report.inputs > 0)
    };
    assert_eq!(count([0, 0, 0]), (false, false, false));
    assert_eq!(count([1, 0, 0]), (true, false, false));
    assert_eq!(count([0, 1, 0]), (false, true, false));
    assert_eq!(count([0, 0, 1]), (false, false, true));
}

#[test]
fn e_3_a_scenario_chooses_the_faults_and_the_times_of_its_explorations() {
    let loaded = |set: &[(&str, &str)]| {
        let overrides = set.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        load_with(&path(SIDE_BY_SIDE), &LoadOptions { overrides, ..LoadOptions::default() }).unwrap()
    };
    let explored = |set: &[(&str, &str)]| explored(&loaded(set), &AgentLoop::default(), ExploreBudget::new(1, 1, 0), 1);
    let usual = explored(&[]);
    let resets = explored(&[("explore.faults", r#"["reset"]"#)]);
    assert!(resets.faults > 0 && resets.faults * 5 < usual.faults, "{resets:?}");
    let none = explored(&[("explore.faults", "[]")]);
    assert_eq!(none.faults, 0);
    // Where the tools keep to their times, none of them can overtake another arrival; where they need not, they can overtake more.
    let swaps = |jitter: &str| explored(&[("explore.faults", "[]"), ("explore.jitter", jitter)]).swaps;
    let exact = r#"{ tools = "0ms", answers = "0ms", hooks = "0ms", permissions = "0ms", user = "0ms", auth = "0ms" }"#;
    let wide = r#"{ tools = "10s", answers = "10s" }"#;
    assert!(swaps(exact) < none.swaps && none.swaps < swaps(wide), "{} {} {}", swaps(exact), none.swaps, swaps(wide));
    assert_eq!(fault_list(&loaded(&[("explore.faults", r#"["reset"]"#)]).setup.scenario.explore), ["reset once", "reset forever"]);
}

/// It has a key only while it was asked for few.
#[derive(Clone, Debug, PartialEq)]
struct SometimesKeyless {
    engine: AgentLoop,
    steps: u32,
    keys: u32,
}

impl Engine for SometimesKeyless {
    fn step(&mut self, environment: &Environment, now: Time, input: &Input, effects: &mut Effects) {
        self.steps += 1;
        self.engine.step(environment, now, input, effects);
    }

    fn key(&self, now: Time, out: &mut KeySink) -> bool {
        self.steps < self.keys && self.engine.key(now, out)
    }
}

#[test]
fn e_3_states_without_a_key_are_looked_at_one_by_one() {
    let loaded = load("query/read-one-file.toml");
    let size = |keys: u32| {
        let engine = SometimesKeyless { engine: AgentLoop::default(), steps: 0, keys };
        let report = explored(&loaded, &engine, ExploreBudget::new(0, 0, 1), 2);
        assert_eq!((report.outcome, report.findings.len()), (ExploreOutcome::Finished, 0));
        report.transitions
    };
    let sizes = [0, 8, 16, 24, u32::MAX].map(size);
    assert!(
        sizes.windows(2).all(|pair| pair[0] >= pair[1]) && sizes[0] > sizes[2] && sizes[2] > sizes[4],
        "fewer keys, fewer merges: {sizes:?}"
    );
}

#[test]
fn e_3_an_exploration_that_is_stopped_claims_nothing() {
    let loaded = load(SIDE_BY_SIDE);
    let report = explore(
        &loaded.setup,
        &AgentLoop::default(),
        ExploreBudget::new(1, 1, 1),
        &PanicCatcher,
        &Threads(NonZeroUsize::MIN),
        &mut |progress| progress.states < 300,
    );
    assert_eq!(report.outcome, ExploreOutcome::Stopped);
}

#[test]
fn e_3_where_memory_is_scarce_the_same_is_explored() {
    let budget = ExploreBudget::new(1, 1, 1);
    let explored = |pace: ExplorePace, keys: u32, budget: ExploreBudget| {
        let loaded = load("query/read-one-file.toml");
        let engine = SometimesKeyless { engine: AgentLoop::default(), steps: 0, keys };
        let options = ExploreOptions { keeps_graph: true, ..ExploreOptions::default() };
        let threads = Threads(NonZeroUsize::new(2).unwrap());
        let explored = explore_with(&loaded.setup, &engine, budget, &PanicCatcher, &threads, (options, &mut |_| pace));
        assert_eq!(explored.report.outcome, ExploreOutcome::Finished);
        (explored.report, explored.graph)
    };
    for (keys, budget) in [(u32::MAX, budget), (8, ExploreBudget::new(0, 0, 1))] {
        assert_eq!(explored(ExplorePace::Sparing, keys, budget), explored(ExplorePace::Usual, keys, budget));
    }
}

/// It comes to other states each time, because all copies count together.
#[derive(Clone, Debug)]
struct CountingLoop {
    engine: AgentLoop,
    steps: Arc<core::sync::atomic::AtomicU32>,
}

impl PartialEq for CountingLoop {
    fn eq(&self, other: &Self) -> bool {
        self.engine == other.engine
    }
}

impl Engine for CountingLoop {
    fn step(&mut self, environment: &Environment, now: Time, input: &Input, effects: &mut Effects) {
        let steps = self.steps.fetch_add(1, core::sync::atomic::Ordering::Relaxed);
        assert!(steps < 200, "two hundred steps are enough");
        self.engine.step(environment, now, input, effects);
    }
}

#[test]
fn e_3_a_state_that_cannot_be_made_again_is_found() {
    let loaded = load("query/read-one-file.toml");
    let engine = CountingLoop { engine: AgentLoop::default(), steps: Arc::default() };
    let budget = ExploreBudget::new(0, 0, 1);
    let mut pace = |_| ExplorePace::Sparing;
    let options = (ExploreOptions::default(), &mut pace as &mut dyn FnMut(ExploreProgress) -> ExplorePace);
    let report = explore_with(&loaded.setup, &engine, budget, &PanicCatcher, &Threads(NonZeroUsize::MIN), options).report;
    let found: Vec<&str> = report.findings.iter().map(|finding| finding.fingerprint.oracle).collect();
    assert!(found.contains(&"O-16"), "{found:?}");
}

/// A saboteur misbehaves in every run; what counts here is that whatever is found is found again by its plan.
#[test]
fn e_8_each_finding_is_the_run_that_its_plan_makes() {
    let loaded = load(SIDE_BY_SIDE);
    let mut replayed = 0;
    for canary in CANARIES.iter().step_by(4) {
        let engine = Saboteur::new(AgentLoop::default(), *canary);
        let report = explored(&loaded, &engine, ExploreBudget::new(1, 0, 1), 1);
        for finding in &report.findings {
            let planned = finding.path.setup(&loaded.setup, &engine, &PanicCatcher);
            let violations = replay(&planned, &engine, report.usual_end.as_deref(), &PanicCatcher);
            let again: Vec<String> = violations.iter().map(|violation| Fingerprint::from(violation).to_string()).collect();
            assert!(again.contains(&finding.fingerprint.to_string()), "{}: {finding:#?}\n{again:#?}", canary.name);
            replayed += usize::from(finding.path.choices.iter().any(|choice| choice.step != ExploreStep::Next));
        }
    }
    assert!(replayed >= 3, "only {replayed} findings needed a decision: too few to say anything");
}

/// Audits merges of an exploration: how many pairs there were, and the first that differs.
fn audited(name: &str, budget: ExploreBudget, count: usize) -> (usize, Option<String>) {
    let loaded = load(name);
    let (engine, threads) = (AgentLoop::default(), Threads(NonZeroUsize::MIN));
    let options = ExploreOptions { audited: count, ..ExploreOptions::default() };
    let pairs = explore_with(&loaded.setup, &engine, budget, &PanicCatcher, &threads, (options, &mut |_| ExplorePace::Usual)).equal_states;
    let differs = |pair: &EqualStates| pair.compare(&loaded.setup, &engine, &PanicCatcher).err();
    (pairs.len(), pairs.iter().find_map(|pair| Some(format!("{name}: {}\n{pair:?}", differs(pair)?))))
}

#[test]
fn e_3_states_with_one_key_run_on_alike() {
    let mut pairs = 0;
    for name in [SIDE_BY_SIDE, "query/read-one-file.toml", "fallback/both-overloaded.toml", "world/planned-order.toml"] {
        let (count, difference) = audited(name, ExploreBudget::new(1, 0, 1), usize::MAX);
        assert_eq!(difference, None);
        pairs += count;
    }
    assert!(pairs > 150, "only {pairs} pairs: too few to say anything");
}

/// The model that asked for an agent reads how long a call of it took that gave up (R-6).
#[test]
fn e_3_the_time_that_a_model_reads_is_part_of_the_key() {
    let report = explored(&load("agents/all-failed.toml"), &AgentLoop::default(), ExploreBudget::new(2, 0, 1), 2);
    assert_eq!((report.outcome, report.findings), (ExploreOutcome::Finished, Vec::new()));
}

/// It knows when the first answer ended, and its key does not, until it tells of it when the third has ended.
#[derive(Clone, Debug, Default, PartialEq)]
struct SecretTime {
    engine: AgentLoop,
    ends: u32,
    first: Time,
    told: Option<Micros>,
}

impl Engine for SecretTime {
    fn step(&mut self, environment: &Environment, now: Time, input: &Input, effects: &mut Effects) {
        if matches!(input, Input::End { .. }) {
            self.ends += 1;
            match self.ends {
                1 => self.first = now,
                3 => {
                    let since = now.since(self.first);
                    self.told = Some(since);
                    let phase = if since.0.is_multiple_of(2) { SessionPhase::Init } else { SessionPhase::FileHistory };
                    effects.push(Effect::Note(Note::Phase(phase)));
                }
                _ => (),
            }
        }
        self.engine.step(environment, now, input, effects);
    }

    fn key(&self, now: Time, out: &mut KeySink) -> bool {
        self.told.hash(out);
        self.engine.key(now, out)
    }
}

#[test]
fn e_3_a_key_that_leaves_out_what_matters_is_found() {
    let loaded = load("agents/all-failed.toml");
    let explored = |engine: &SecretTime, budget: ExploreBudget| {
        let options = ExploreOptions { audited: 4, ..ExploreOptions::default() };
        let threads = Threads(NonZeroUsize::new(2).unwrap());
        explore_with(&loaded.setup, engine, budget, &PanicCatcher, &threads, (options, &mut |_| ExplorePace::Usual))
    };
    let FinishedExploration { report, equal_states, graph } = explored(&SecretTime::default(), ExploreBudget::new(2, 0, 1));
    let found: Vec<String> = report.findings.iter().map(|finding| finding.fingerprint.to_string()).collect();
    assert_eq!(found, [Fingerprint::from(&key_violation()).to_string()], "two runs ahead went on otherwise");
    assert!(report.findings[0].violations[0].at > Time::ZERO && graph.is_none(), "{report:?}");
    assert!((4..8).contains(&equal_states.len()), "{} pairs", equal_states.len());
    let differs = |pair: &EqualStates| pair.compare(&loaded.setup, &SecretTime::default(), &PanicCatcher).is_err();
    assert!(equal_states.iter().any(differs), "the audit sees it");
}

/// `cargo test --release -p reenact-runner -- --ignored audit --nocapture`: a hundred thousand pairs of the shipped scenarios.
#[test]
#[ignore = "it takes minutes"]
fn e_3_a_long_audit_of_the_shipped_scenarios() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut pairs = 0;
    let mut differences = Vec::new();
    let paths = search(std::slice::from_ref(&folder)).scenarios;
    let budgets = [ExploreBudget::new(2, 0, 1), ExploreBudget::new(0, 1, 0)];
    for budget in budgets {
        for path in &paths {
            // Of a matrix there is more than one run; one of each kind of scenario is enough.
            if load_with(path, &LoadOptions::default()).is_err() {
                continue;
            }
            let name = path.strip_prefix(&folder).unwrap_or(path).display().to_string();
            let (count, difference) = audited(&name, budget, usize::MAX);
            pairs += count;
            differences.extend(difference);
        }
        if pairs >= 100_000 {
            break;
        }
    }
    println!("{pairs} pairs, {} scenarios with a difference\n{}", differences.len(), differences.join("\n\n"));
    assert!(pairs >= 100_000, "only {pairs} pairs");
    assert_eq!(differences.len(), 0);
}

#[test]
fn e_8_a_plan_that_names_what_does_not_come_fails() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/world/planned-order.toml");
    let failures = |key: &str, value: &str| {
        let overrides = vec![(key.into(), value.into()), (String::from("expect"), String::from("{}"))];
        let loaded = load_with(&folder, &LoadOptions { overrides, ..LoadOptions::default() }).unwrap();
        Run::new(loaded.setup, AgentLoop::default()).to_end().failures.join("\n")
    };
    assert_eq!(failures("plan.late", r#"[{ event = 35, tool = "2.2A" }]"#), "");
    for (key, value, words) in [
        ("plan.late", r#"[{ event = 35, tool = "2.2B" }]"#, "the plan's late completion at event 35, of tool 2.2B did not come"),
        (
            "plan.deviation",
            r#"[{ event = 17, arrival = "tool 1C ends", at = "1s" }]"#,
            "the plan's deviation at event 17, tool 1C ends did not come",
        ),
        (
            "plan.deviation",
            r#"[{ event = 1700, arrival = "tool 1B ends", at = "1s" }]"#,
            "the plan's deviation at event 1700, tool 1B ends did not come",
        ),
        // It is asked for and changes nothing: the answer has fewer events.
        (
            "plan.fault",
            r#"[{ request = "1", kind = "cut", after_event = 99 }]"#,
            "the plan's fault, cut after event 99 of answer 1 did not come",
        ),
        (
            "plan.fault",
            r#"[{ request = "7", kind = "stall", after_event = 2 }]"#,
            "the plan's fault, stall after event 2 of answer 7 did not come",
        ),
    ] {
        // Without the fault of its plan the run has other events: what is asked for is told among the rest.
        assert!(failures(key, value).contains(words), "{key}={value}:\n{}", failures(key, value));
    }
}

/// It never does anything.
#[derive(Clone, Debug, Default, PartialEq)]
struct Silent;

impl Engine for Silent {
    fn step(&mut self, _: &Environment, _: Time, _: &Input, _: &mut Effects) {}

    fn key(&self, _: Time, _: &mut KeySink) -> bool {
        true
    }
}

/// The end of the run as it is counts as good where the scenario says it, and nowhere else.
#[test]
fn o_18_a_run_that_gets_stuck_as_it_is_is_found() {
    let loaded = load("query/read-one-file.toml");
    for budget in [ExploreBudget::NONE, ExploreBudget::new(1, 1, 1)] {
        let report = explored(&loaded, &Silent, budget, 1);
        assert!(!report.findings.is_empty(), "{budget}");
    }
    let ground = FuzzGround::new(&loaded.setup, &Silent, &PanicCatcher);
    for strategy in FuzzStrategy::ALL {
        let case = ground.case(&loaded.setup, &Silent, (strategy, 0, 1), &[], &PanicCatcher);
        assert!(!case.violations.is_empty(), "{strategy:?}");
    }
    // A scenario that says how its run gets stuck.
    let stuck = load("world/exhausted.toml");
    assert_eq!(explored(&stuck, &AgentLoop::default(), ExploreBudget::NONE, 1).findings, []);
}

/// How much earlier and later than usual a tool may end: half to twice its span, in the range of its latency, or as the scenario says, which counts first.
#[test]
fn e_3_a_tool_ends_in_the_range_of_its_latency() {
    let slack = |latency: &str, jitter: &str| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.toml");
        let tool = format!("tool = [{{ name = \"Read\", input = {{ file_path = \"/a\" }}, latency = \"{latency}\" }}]");
        let turns = format!("[[prompt.turn]]\n{tool}\n[[prompt.turn]]\ntext = \"b\"\n");
        std::fs::write(&file, format!("tools = [\"Read\"]\n[[prompt]]\ntext = \"a\"\n{turns}")).unwrap();
        let overrides = vec![("explore.jitter".into(), jitter.into())];
        let loaded = load_with(&file, &LoadOptions { overrides, ..LoadOptions::default() }).unwrap();
        let mut run = Run::new(loaded.setup.clone(), AgentLoop::default());
        while run.next_arrival_name() != "tool 1A ends" {
            assert_eq!(run.advance(), None, "the tool ends");
        }
        let (_, at, window, _) = run.pending().next().unwrap();
        (at.since(window.earliest), window.latest.since(at))
    };
    let milliseconds = Micros::from_millis;
    assert_eq!(slack("400ms", "{}"), (milliseconds(200), milliseconds(400)));
    let (earlier, later) = slack("1s..9s", "{}");
    assert_eq!(earlier + later, milliseconds(8_000));
    assert_eq!(slack("1s..9s", "{ tools = \"100ms\" }"), (milliseconds(100), milliseconds(100)));
}
