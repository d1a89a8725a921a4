//! Sessions on a simulated network: its faults, its clock, and that the same seed gives the same bytes (M-11).

use std::num::NonZeroUsize;
use std::sync::Arc;

use reenact::engine::agent_loop::AgentLoop;
use reenact::engine::contract::{Effects, Engine, Environment, Input, Time};
use reenact::engine::log::replay;
use reenact::files::scenario::LoadedScenario;
use reenact::live::clock::TimeScale;
use reenact::live::simulation::{NetworkRun, SimulationError, run_in_network};
use reenact::transcript::event::RunEnd;
use reenact::transcript::json;
use reenact::transcript::text::DetailLevel;
use reenact::world::setup::RunSetup;

use super::{setup, shipped, shipped_in};

pub(crate) fn on_network(setup: &Arc<RunSetup>, scale: TimeScale) -> NetworkRun<AgentLoop> {
    run_in_network(setup, AgentLoop::default(), scale).unwrap_or_else(|error| panic!("{error}"))
}

fn text(finished: &NetworkRun<AgentLoop>) -> String {
    finished.report.text(DetailLevel::Normal)
}

fn at_usual_speed(loaded: &LoadedScenario) -> NetworkRun<AgentLoop> {
    on_network(&loaded.setup, TimeScale::default())
}

#[test]
fn m_11_what_happens_to_the_network_is_what_the_scenario_says() {
    for loaded in shipped_in("network") {
        let finished = at_usual_speed(&loaded);
        assert_eq!(finished.report.failures, [] as [&str; 0], "{}: {}", loaded.name, text(&finished));
        let log = finished.report.log.unwrap();
        replay(log.as_str(), AgentLoop::default()).unwrap_or_else(|error| panic!("{}: {error}", loaded.name));
    }
}

#[test]
fn k_6_waits_are_judged_where_the_engine_waits_with_some_tolerance() {
    let failures = |delays: &str, scale: u32| {
        let scenario = format!(
            "[engine.retry]\njitter_percent = 0\n\n[network]\nlatency = \"5ms..80ms\"\n\n[[prompt]]\ntext = \"Hello?\"\n\n[[prompt.turn]]\n\
             text = \"Hello.\"\n\n[[fault]]\nat = {{ attempt = 1 }}\nstatus = 529\n\n[expect]\ndelays = [\"{delays}\"]\n"
        );
        on_network(&setup(&scenario), TimeScale::from_percent(scale).unwrap()).report.failures
    };
    for (fits, scale) in [("500ms", 100), ("500ms..625ms", 100), ("500ms", 1)] {
        assert_eq!(failures(fits, scale), [] as [&str; 0], "{fits} at {scale} %");
    }
    let failed = failures("2s", 100);
    assert_eq!(failed.len(), 1, "it is told once: {failed:?}");
    assert!(
        failed[0].starts_with("request 1.2 came 0.5") && failed[0].contains("expected 2.000s, and 1.940s..2.460s passes"),
        "{failed:?}"
    );
}

#[test]
fn m_11_each_fault_leaves_its_mark_and_none_means_none() {
    let calm = at_usual_speed(&shipped("network/slow-link", &[]));
    assert_eq!(calm.verdict.asked.len(), 2, "{}", text(&calm));
    for (name, mark) in [
        ("reset", "connection_reset: the connection was cut"),
        ("crash-and-bounce", "connection_refused: no server listens at this address"),
        ("crash-and-bounce", "connection_reset: the connection was closed inside the answer"),
        ("partition", "stream_idle"),
    ] {
        let finished = at_usual_speed(&shipped(&format!("network/{name}"), &[]));
        assert!(text(&finished).contains(mark), "{name}: {}", text(&finished));
        // What was lost is given again, and the scenario's result goes with it.
        assert!(text(&finished).contains("ok alpha"), "{name}: {}", text(&finished));
    }
    let held = at_usual_speed(&shipped("network/hold-and-release", &[]));
    assert!(!text(&held).contains("fails"), "{}", text(&held));
    assert_eq!(held.verdict.asked.len(), 2);
}

/// The full number is run by hand: `reenact run scenarios/network/storm.toml --level network --seeds 1..=200 --check`.
#[test]
fn m_11_whatever_the_network_does_a_session_ends_and_twice_the_same() {
    let mut ends = Vec::new();
    for seed in 1..=12 {
        let loaded = shipped("network/storm", &[("seed", &seed.to_string())]);
        let finished = at_usual_speed(&loaded);
        assert_eq!(finished.report.end, RunEnd::Idle, "seed {seed}: {}", text(&finished));
        assert_eq!(finished.report.terminals.len(), 1, "seed {seed}: {}", text(&finished));
        assert_eq!(finished.report.failures, [] as [&str; 0], "seed {seed}: {}", text(&finished));
        let again = at_usual_speed(&loaded);
        assert_eq!(json::to_json_lines(&again.report.transcript), json::to_json_lines(&finished.report.transcript), "seed {seed}");
        assert_eq!(again.verdict, finished.verdict, "seed {seed}");
        ends.push(json::digest(&finished.report.transcript));
    }
    ends.sort();
    ends.dedup();
    assert!(ends.len() > 6, "seeds hardly differ");
}

#[test]
fn d_5_other_threads_change_nothing() {
    let loaded = shipped("network/storm", &[("seed", "5")]);
    let alone = json::digest(&at_usual_speed(&loaded).report.transcript);
    let threads = NonZeroUsize::new(4).unwrap();
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..threads.get()).map(|_| scope.spawn(|| json::digest(&at_usual_speed(&loaded).report.transcript))).collect();
        for run in runs {
            assert_eq!(run.join().unwrap(), alone);
        }
    });
}

#[test]
fn m_11_scaled_time_changes_how_long_it_takes_and_not_what_happens() {
    let loaded = shipped("query/six-hours", &[]);
    let refused = at_usual_speed(&loaded);
    assert!(refused.report.failures.iter().any(|failure| failure.contains("--scale")), "{:?}", refused.report.failures);
    let scaled = on_network(&loaded.setup, TimeScale::from_percent(1).unwrap());
    assert_eq!(scaled.report.failures, [] as [&str; 0], "{}", text(&scaled));
    assert!(scaled.report.transcript.events.last().unwrap().at >= Time(6 * 3_600 * 1_000_000));
}

#[test]
fn m_11_lost_packets_do_not_hang_a_session() {
    let text_of = |loss: &str| format!("[network]\nloss = {loss}\n[[prompt]]\ntext = \"Hello?\"\n[[prompt.turn]]\ntext = \"Hello.\"\n");
    let lossy = setup(&text_of("0.08"));
    let finished = on_network(&lossy, TimeScale::from_percent(10).unwrap());
    assert_eq!(finished.report.end, RunEnd::Idle, "{}", text(&finished));
    assert!(text(&finished).contains("stream_idle"), "{}", text(&finished));
    let lossless = on_network(&setup(&text_of("0")), TimeScale::from_percent(10).unwrap());
    assert!(!text(&lossless).contains("fails"), "{}", text(&lossless));
}

/// An engine with a fault of its own.
#[derive(Clone, Debug, PartialEq)]
struct Panics;

impl Engine for Panics {
    fn step(&mut self, _env: &Environment, _now: Time, _input: &Input, _effects: &mut Effects) {
        panic!("on purpose");
    }
}

#[test]
fn m_11_a_panic_fails_the_run() {
    let hello = setup("[[prompt]]\ntext = \"Hello?\"\n[[prompt.turn]]\ntext = \"Hello.\"\n");
    match run_in_network(&hello, Panics, TimeScale::default()) {
        Err(SimulationError::Panic(text)) => assert!(text.contains("on purpose"), "{text}"),
        other => panic!("the panic was lost: {other:?}"),
    }
}

#[test]
fn m_11_answers_are_scaled_with_everything_else() {
    let text = "[timing]\nhead = \"2s\"\nfirst_event = \"1s\"\nbetween_events = \"1s\"\n[[prompt]]\ntext = \"Hello?\"\n[[prompt.turn]]\ntext = \"Hello.\"\n";
    let ends = |scale| on_network(&setup(text), TimeScale::from_percent(scale).unwrap()).report.transcript.events.last().unwrap().at;
    let (usual, scaled) = (ends(100), ends(20));
    assert!(scaled.since(usual).0.max(usual.since(scaled).0) < 1_000_000, "{usual} and {scaled}");
}

#[test]
fn m_11_a_break_and_an_end_inside_an_answer_stay_apart() {
    for (how, mark) in [("reset", "the connection was cut"), ("truncate", "the connection was closed inside the answer")] {
        let fault = format!("[[fault]]\nat = {{ attempt = 1 }}\ncut = {{ after_events = 2, how = \"{how}\" }}\n");
        let finished = on_network(
            &setup(&format!("{fault}[[prompt]]\ntext = \"Hello?\"\n[[prompt.turn]]\ntext = \"Hello.\"\n")),
            TimeScale::default(),
        );
        assert!(text(&finished).contains(mark), "{how}: {}", text(&finished));
    }
}
