//! E-7: what runs reached is counted for any engine, what they never reached is listed, and `--require` is a gate.

use super::{HELLO, folder, reenact};
use std::num::NonZeroUsize;
use std::path::Path;

use reenact::engine::agent_loop::AgentLoop;
use reenact::engine::contract::{Effect, Effects, Engine, Environment, EventPayload, Input, RequestId, Terminal, Time};
use reenact::explore::coverage::{CoverageClass, RunCoverage};
use reenact::explore::interrupt::InjectionKind;
use reenact::explore::sweep::InterruptSweepReport;
use reenact::files::scenario::{LoadedScenario, load};
use reenact::runner::sweep::{sweep_all, sweep_all_with_coverage};
use reenact::sim::Run;

fn hello() -> LoadedScenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/session/hello.toml");
    load(&path, &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn swept<E: Engine>(new_engine: impl Fn() -> E + Sync) -> InterruptSweepReport {
    sweep_all_with_coverage(&[hello()], NonZeroUsize::MIN, &InjectionKind::OF_USER, new_engine).remove(0)
}

/// An engine without notes and emissions.
#[derive(Clone, Debug, Default, PartialEq)]
struct AskAndStop;

impl Engine for AskAndStop {
    fn step(&mut self, env: &Environment, _now: Time, input: &Input, effects: &mut Effects) {
        match input {
            Input::Prompt { prompt, content } => {
                let question = reenact::wire::block::Message::user(content.to_vec());
                let request = reenact::wire::request::Request::new(&env.settings.model, 1_000).with_messages([question]);
                effects.push(Effect::Request { id: RequestId::first(*prompt), request: request.into() });
            }
            Input::Stream { id, event } if *event.payload() == EventPayload::MessageStop => {
                effects.push(Effect::Finished { prompt: id.prompt, terminal: Terminal::Other("said".into()) });
            }
            _ => (),
        }
    }
}

#[test]
fn e_7_a_foreign_engine_has_a_coverage_in_runs_and_sweeps() {
    let scenario = hello();
    let report = Run::new(scenario.setup.clone(), AskAndStop).to_end();
    let ran = RunCoverage::of_transcript(&scenario.setup, &report.transcript);
    let names = |coverage: &RunCoverage, class| coverage.reached(class).into_keys().collect::<Vec<_>>();
    assert_eq!(names(&ran, CoverageClass::Pair), ["prompt/request", "stream.message_stop/finished"]);
    assert_eq!(names(&ran, CoverageClass::Terminal), ["said"]);
    let swept = swept(|| AskAndStop).coverage;
    let pairs = names(&swept, CoverageClass::Pair);
    assert_eq!(pairs, names(&ran, CoverageClass::Pair));
    assert!(swept.reached(CoverageClass::Input).contains_key("cancel") && swept.runs > 1, "{swept:?}");
    assert!(swept.unreached(CoverageClass::Terminal).contains(&"completed".into()), "{swept:?}");
}

#[test]
fn e_7_an_event_before_an_interrupt_is_counted_once_in_all() {
    let report = swept(AgentLoop::default);
    let prompts = report.coverage.reached(CoverageClass::Input)["prompt"];
    let cancels = report.coverage.reached(CoverageClass::Input)["cancel"];
    // The prompt comes in the run as it is, and after the interrupts before it: one of each kind.
    assert_eq!((prompts, report.coverage.runs), (3, 1 + 2 * cancels), "{:?}", report.coverage);
    let plain = sweep_all(&[hello()], NonZeroUsize::MIN, &InjectionKind::OF_USER, AgentLoop::default).remove(0);
    assert!((report.merged, plain.merged > 0) == (0, true), "where runs are counted, each goes to its end");
    let merged = plain.merged;
    assert_eq!(InterruptSweepReport { coverage: RunCoverage::default(), merged, ..report }, plain, "counting changes nothing else");
}

#[test]
fn e_7_the_command_lists_what_was_reached_and_what_never_was() {
    let folder = folder(&[("a.toml", HELLO)]);
    let at = folder.path();
    let (ran, _, code) = reenact(at, &["run", "a.toml", "--coverage"]);
    assert_eq!(code, Some(0));
    for part in ["coverage of 1 run\n", "terminals, 1 of 12: completed 1\n  never: aborted_streaming, ", "  prompt: ", "oracles, ", "O-8 1"]
    {
        assert!(ran.contains(part), "{part} is not in:\n{ran}");
    }
    let (swept, _, _) = reenact(at, &["sweep", "a.toml", "--coverage"]);
    assert!(swept.contains("aborted_streaming ") && swept.contains("\n  cancel: "), "{swept}");
    assert!(!reenact(at, &["sweep", "a.toml"]).0.contains("coverage of"));
    for command in ["run", "sweep"] {
        let on = |threads| reenact(at, &[command, "a.toml", "--coverage", "--seeds", "1..=6", "--threads", threads]);
        assert!(on("1").0.contains("coverage of ") && on("1") == on("4"), "{command}: threads change nothing");
    }
    let (digest, said, _) = reenact(at, &["run", "a.toml", "--coverage", "--format", "digest"]);
    assert!(digest.lines().count() == 1 && said.contains("coverage of 1 run"), "{digest}{said}");
}

#[test]
fn e_7_what_is_required_and_not_reached_fails() {
    let gate = "# what the scenarios must show\nterminal:completed\n\npair:prompt/request # the first request\n";
    let folder = folder(&[("a.toml", HELLO), ("gate.txt", gate), ("empty.txt", "# nothing\n")]);
    let at = folder.path();
    for fine in ["gate.txt", "terminal:completed", "terminal:completed,effect:request"] {
        let (shown, said, code) = reenact(at, &["run", "a.toml", "--require", fine]);
        assert!(code == Some(0) && !shown.contains("coverage of"), "{fine}: {shown}{said}");
    }
    let cancelled = "terminal:aborted_streaming,pair:cancel/close_request";
    let (_, said, code) = reenact(at, &["run", "a.toml", "--require", cancelled]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("required and never reached: terminal:aborted_streaming, pair:cancel/close_request"), "{said}");
    assert_eq!(reenact(at, &["sweep", "a.toml", "--require", cancelled]).2, Some(0), "a sweep cancels");
    assert_eq!(reenact(at, &["sweep", "a.toml", "--kind", "interrupt", "--require", cancelled]).2, Some(1));
    assert_eq!(reenact(at, &["run", "a.toml", "--seeds", "1..=3", "--require", "fault:*"]).2, Some(1));
    for (refused, words) in [
        ("empty.txt", "nothing is required"),
        ("terminal", "neither a file"),
        ("step:vlaidate", "known are validate"),
        ("oracle:O-99", "unknown oracle"),
    ] {
        for command in ["run", "sweep"] {
            let (shown, said, code) = reenact(at, &[command, "a.toml", "--require", refused]);
            assert!(code == Some(2) && shown.is_empty() && said.contains(words), "{command} {refused}: {shown}{said}");
        }
    }
}
