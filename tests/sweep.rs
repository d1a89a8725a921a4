//! E-1 over every scenario of the repository: an interrupt at every boundary breaks no oracle, and each oracle can be broken.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::{Command, Output};

use reenact::engine::agent_loop::AgentLoop;
use reenact::engine::contract::{Effect, Effects, Engine, Environment, EventPayload, Input, RequestId, Terminal, Time};
use reenact::explore::canary::{CANARIES, CANARY_TRIALS, Canary, CanaryTrial, Saboteur};
use reenact::explore::finding_group::group;
use reenact::explore::interrupt::InjectionKind;
use reenact::explore::sweep::{AT_LIMIT_MAX, InterruptSweepReport, SweepFinding};
use reenact::explore::verdict::look;
use reenact::files::scenario::{LoadedScenario, find, load, load_all};
use reenact::oracle::ORACLES;
use reenact::runner::sweep::sweep_all;
use reenact::runner::{PanicCatcher, run_file};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn shipped() -> Vec<LoadedScenario> {
    let (paths, errors) = find(&[root().join("scenarios")]);
    assert!(errors.is_empty(), "{errors:?}");
    paths.iter().flat_map(|path| load_all(path, &[]).unwrap_or_else(|error| panic!("{error}"))).collect()
}

fn swept<E: Engine>(scenarios: &[LoadedScenario], kinds: &[InjectionKind], new_engine: impl Fn() -> E + Sync) -> Vec<InterruptSweepReport> {
    sweep_all(scenarios, NonZeroUsize::new(2).unwrap(), kinds, new_engine)
}

/// The finding, in words that name the command to look at it.
fn told(scenario: &LoadedScenario, finding: &SweepFinding) -> String {
    let at = finding
        .interrupt
        .as_ref()
        .map_or_else(String::new, |(place, kind)| format!(" --interrupt-at {} --interrupt-kind {kind} # {place}", place.boundary));
    let violations: Vec<String> = finding.violations.iter().map(|violation| format!("\n  {violation}")).collect();
    format!("cargo run -- run {}{at}{}", scenario.path.display(), violations.concat())
}

#[test]
fn e_1_no_interrupt_at_any_boundary_of_any_scenario_breaks_an_oracle() {
    let scenarios = shipped();
    let reports = swept(&scenarios, &InjectionKind::ALL, AgentLoop::default);
    let mut findings = Vec::new();
    for (scenario, report) in scenarios.iter().zip(&reports) {
        assert!(report.boundaries > 0 && report.runs > report.boundaries, "{}: {report:?}", scenario.name);
        findings.extend(report.findings.iter().map(|finding| told(scenario, finding)));
    }
    assert!(findings.is_empty(), "{} findings, e.g.\n{}", findings.len(), findings[..findings.len().min(5)].join("\n"));
}

#[test]
fn e_1_threads_change_no_report() {
    let scenarios = shipped();
    let reports = |threads| sweep_all(&scenarios[..6], NonZeroUsize::new(threads).unwrap(), &InjectionKind::ALL, AgentLoop::default);
    assert_eq!(reports(1), reports(5));
}

/// The scenario, with requests that have results in the order of their tool uses: a result that was swapped on its way out would
/// otherwise be in another order in the next request, which O-1 sees too.
fn scenario(name: &str) -> LoadedScenario {
    let order = [(String::from("engine.result_order"), String::from("tool_use"))];
    load(&root().join(format!("scenarios/{name}.toml")), &order).unwrap_or_else(|error| panic!("{error}"))
}

fn oracles(report: &InterruptSweepReport) -> BTreeSet<&'static str> {
    report.findings.iter().flat_map(|finding| &finding.violations).map(|violation| violation.oracle).collect()
}

#[test]
fn each_canary_is_caught_by_its_oracle_alone() {
    for CanaryTrial { canary: name, scenario: place, kinds } in CANARY_TRIALS {
        let canary = Canary::named(name).unwrap_or_else(|| panic!("{name} is no canary"));
        let scenarios = [scenario(place)];
        let honest = swept(&scenarios, kinds, AgentLoop::default);
        assert_eq!(honest[0].findings, [], "{place} without {name}");
        let sabotaged = swept(&scenarios, kinds, || Saboteur::new(AgentLoop::default(), canary));
        assert_eq!(oracles(&sabotaged[0]), BTreeSet::from([canary.oracle]), "{name} in {place}");
    }
}

#[test]
fn every_canary_is_tried_and_every_oracle_has_one() {
    let tried: BTreeSet<&str> = CANARY_TRIALS.iter().map(|trial| trial.canary).collect();
    assert_eq!(tried, CANARIES.iter().map(|canary| canary.name).collect());
    let caught_by: BTreeSet<&str> = CANARIES.iter().map(|canary| canary.oracle).collect();
    assert_eq!(caught_by, ORACLES.iter().map(|(oracle, _)| *oracle).collect());
}

/// A sabotage is one defect.
#[test]
fn e_5_each_canary_is_one_group() {
    for CanaryTrial { canary: name, scenario: place, kinds } in CANARY_TRIALS {
        let canary = Canary::named(name).unwrap();
        let reports = swept(&[scenario(place)], kinds, || Saboteur::new(AgentLoop::default(), canary));
        let groups = group(&reports);
        let counts: Vec<usize> = groups.iter().map(|group| group.findings).collect();
        assert_eq!(counts, [reports[0].findings.len()], "{name} in {place}: {groups:#?}");
    }
}

#[test]
fn a_finding_can_be_looked_at() {
    for CanaryTrial { canary: name, scenario: place, kinds } in CANARY_TRIALS {
        let canary = Canary::named(name).unwrap();
        let engine = || Saboteur::new(AgentLoop::default(), canary);
        let scenarios = [scenario(place)];
        let report = &swept(&scenarios, kinds, engine)[0];
        let Some((found, (boundary, kind))) = report
            .findings
            .iter()
            .find_map(|finding| Some((finding, finding.interrupt.as_ref().map(|(place, kind)| (place.boundary, *kind))?)))
        else {
            continue;
        };
        let looked = look(&scenarios[0].setup, &engine(), boundary, kind, &PanicCatcher).unwrap();
        let seen: BTreeSet<&str> = looked.violations.iter().map(|violation| violation.oracle).collect();
        assert_eq!(seen, found.violations.iter().map(|violation| violation.oracle).collect(), "{name} at {boundary}");
    }
}

/// The engine of the README: it asks once and knows no interrupts.
#[derive(Clone, Debug, Default, PartialEq)]
struct AskOnce;

impl Engine for AskOnce {
    fn step(&mut self, env: &Environment, _now: Time, input: &Input, effects: &mut Effects) {
        match input {
            Input::Prompt { prompt, content } => {
                let question = reenact::wire::block::Message::user(content.to_vec());
                let request = reenact::wire::request::Request::new(&env.settings.model, 1_000).with_messages([question]);
                effects.push(Effect::Request { id: RequestId::first(*prompt), request: request.into() });
            }
            Input::Stream { id, event } if *event.payload() == EventPayload::MessageStop => {
                effects.push(Effect::Finished { prompt: id.prompt, terminal: Terminal::Completed });
            }
            _ => (),
        }
    }
}

#[test]
fn a_foreign_engine_without_interrupts_is_found_out() {
    let hello = [scenario("session/hello")];
    assert_eq!(run_file(&hello[0].path, AskOnce).unwrap().terminal(), "completed");
    let report = &swept(&hello, &InjectionKind::ALL, || AskOnce)[0];
    assert_eq!(oracles(report), BTreeSet::from(["O-8", "O-11"]), "it ends late when cancelled, and answers no message");
}

fn reenact(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_reenact")).args(arguments).current_dir(root()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_command_exits_with_1_for_findings_and_its_replay_command_shows_them() {
    let clean = reenact(&["sweep", "scenarios/session/hello.toml", "--threads", "1"]);
    assert_eq!(clean.status.code(), Some(0), "{}", text(&clean.stderr));
    assert!(text(&clean.stdout).contains("0 findings"), "{}", text(&clean.stdout));
    let caught = reenact(&["sweep", "scenarios/session/hello.toml", "--canary", "drop-cancel", "--seed", "7"]);
    let complaint = text(&caught.stderr);
    assert_eq!(caught.status.code(), Some(0), "a canary is there to be caught: {complaint}");
    let command = complaint.lines().find_map(|line| line.trim().strip_prefix("look at it: ")).unwrap();
    let words: Vec<&str> = command.split(' ').collect();
    assert_eq!(words[0], env!("CARGO_BIN_EXE_reenact"));
    let looked = reenact(&words[1..]);
    assert_eq!(looked.status.code(), Some(1), "{command}");
    assert!(text(&looked.stdout).contains("cancels"), "{}", text(&looked.stdout));
    assert!(text(&looked.stderr).contains("O-11"), "{}", text(&looked.stderr));
}

#[test]
fn e_5_the_command_shows_each_defect_once_with_its_smallest_run() {
    let drop = ["sweep", "scenarios/query/read-one-file.toml", "scenarios/executor/progress.toml", "--canary", "drop-result"];
    let said = |more: &[&str]| text(&reenact(&[&drop, more].concat()).stderr);
    let told = said(&[]);
    let lines: Vec<&str> = told.lines().collect();
    let group = "group 1 of 1: O-2: tool use # of answer # has no result at the end";
    let first = lines.iter().position(|line| *line == group).unwrap_or_else(|| panic!("{told}"));
    assert!(lines[first + 1].contains("findings in 2 scenarios: ") && lines[first + 1].contains(" in the run as it is"), "{told}");
    assert!(lines[first + 2].ends_with(".toml: the run as it is"), "{told}");
    assert!(lines[first + 3].trim().starts_with("O-2 at ") && lines[first + 4].contains("look at it: "), "{told}");
    assert_eq!(told.matches("look at it: ").count(), 1, "{told}");
    let findings: usize = lines[first + 1].trim().split(' ').next().unwrap().parse().unwrap();
    assert_eq!(said(&["--all"]).matches("look at it: ").count(), findings + 1);
    assert_eq!(said(&["--threads", "1"]), said(&["--threads", "5"]));
}

#[test]
fn e_1_runs_that_go_on_for_ever_are_cut_short_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("objects.toml");
    let hook = "[[hook]]\nname = \"objects\"\nevent = \"stop\"\ndecision = \"deny\"\nreason = \"Go on.\"\n";
    let turns = "[[prompt]]\ntext = \"Hi.\"\n[[prompt.turn]]\ntext = \"Hello.\"\n";
    std::fs::write(&path, format!("{turns}{hook}[limits]\nrequests = 30\n[expect]\nterminal = \"tape_exhausted\"\n")).unwrap();
    let loaded = load(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
    let report = &swept(&[loaded], &InjectionKind::ALL, AgentLoop::default)[0];
    assert!(report.left_out > 0 && report.findings.len() <= 2 * AT_LIMIT_MAX, "{report:?}");
    let output = reenact(&["sweep", &path.to_string_lossy()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("interrupts were not made"), "{}", text(&output.stderr));
}

#[test]
fn wrong_words_are_refused_with_what_to_write() {
    let refused = |arguments: &[&str], words: &str| {
        let output = reenact(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
    };
    refused(&["sweep", "nowhere.toml"], "no such file");
    refused(&["sweep", "--canary", "parrot"], "drop-result");
    refused(&["run", "scenarios/session/hello.toml", "--interrupt-at", "0"], "from 1");
    refused(&["run", "scenarios/session/hello.toml", "--interrupt-at", "999"], "is not reached");
    refused(&["run", "scenarios", "--interrupt-at", "3"], "one scenario");
    let list = text(&reenact(&["sweep", "--canary", "list"]).stdout);
    assert!(CANARIES.iter().all(|canary| list.contains(canary.name)));
}
