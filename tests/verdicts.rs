//! A verdict says what was looked at: an engine that breaks a rule fails wherever it is run, and what was not looked at is never green.

#[path = "verdicts/files.rs"]
mod files;
#[path = "verdicts/nothing.rs"]
mod nothing;
#[path = "verdicts/output.rs"]
mod output;
#[path = "verdicts/readme.rs"]
mod readme;
#[path = "verdicts/walk.rs"]
mod walk;

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::{Command, Output};

use reenact::engine::agent_loop::AgentLoop;
use reenact::engine::contract::{Effects, Engine, Environment, Input, Time};
use reenact::explore::canary::{Canary, Saboteur};
use reenact::explore::interrupt::InjectionKind;
use reenact::files::scenario::load;
use reenact::runner::sweep::sweep_all;
use reenact::runner::{run_all, run_file};
use tempfile::TempDir;

const TWO_READS: &str = r#"
tools = ["Read"]

[engine]
emission_order = "arrival"

[[prompt]]
text = "What do a and b say?"

[[prompt.turn]]
text = "I'll read both."
tool = [
  { name = "Read", input = { file_path = "/w/a" }, result = "slow", latency = "9s" },
  { name = "Read", input = { file_path = "/w/b" }, result = "fast", latency = "5ms" },
]

[[prompt.turn]]
text = "One was slow, one was fast."

[expect]
terminal = "completed"
"#;

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn reenact(at: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_reenact")).args(arguments).current_dir(at).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The text on both outputs of a command, and its exit code.
fn said(at: &Path, arguments: &[&str]) -> (String, Option<i32>) {
    let output = reenact(at, arguments);
    (text(&output.stdout) + &text(&output.stderr), output.status.code())
}

/// An engine that gives each second result before the first.
fn swaps_results() -> Saboteur<AgentLoop> {
    Saboteur::new(AgentLoop::default(), Canary::named("swap-results").unwrap())
}

fn breaking(rules: &str) -> String {
    format!("{TWO_READS}breaks = [{rules}]\n")
}

#[test]
fn o_14_an_engine_that_orders_results_wrongly_fails_without_being_asked_for() {
    let folder = folder(&[("x.toml", TWO_READS)]);
    let path = folder.path().join("x.toml");
    let honest = run_file(&path, AgentLoop::default()).unwrap();
    assert_eq!((honest.failures.len(), honest.violations.as_deref()), (0, Some(&[][..])));
    honest.assert();
    let broken = run_file(&path, swaps_results()).unwrap();
    assert_eq!(broken.terminal(), "completed", "what the scenario expects holds");
    assert!(broken.failures.iter().any(|failure| failure.starts_with("O-14 at ")), "{:?}", broken.failures);
    let one = NonZeroUsize::MIN;
    let outcome = run_all(&[load(&path, &[]).unwrap()], one, swaps_results).remove(0).unwrap();
    assert_eq!(outcome.failures, broken.failures);
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| broken.assert())).unwrap_err();
    let words = panic.downcast_ref::<String>().unwrap();
    assert!(words.contains("O-14") && words.contains("result 1B"), "it shows what is wrong and what happened: {words}");
}

#[test]
fn f_10_a_scenario_that_shows_a_hazard_passes_if_exactly_its_rules_are_broken() {
    let failures = |rules: &str, sabotaged: bool| {
        let folder = folder(&[("x.toml", &breaking(rules))]);
        let path = folder.path().join("x.toml");
        if sabotaged { run_file(&path, swaps_results()).unwrap().failures } else { run_file(&path, AgentLoop::default()).unwrap().failures }
    };
    assert_eq!(failures("\"O-14\"", true), [""; 0]);
    assert!(failures("\"O-14\"", false)[0].contains("expected O-14 to be broken"));
    assert!(failures("\"O-14\", \"O-3\"", true)[0].contains("expected O-3 to be broken"));
    let other = failures("\"O-3\"", true);
    assert!(other.iter().any(|failure| failure.starts_with("O-14 at ")), "{other:?}");
}

#[test]
fn f_10_a_scenario_may_show_a_request_that_the_api_refuses() {
    let failures = |rules: &str| {
        let folder = folder(&[("x.toml", &format!("{TWO_READS}{rules}"))]);
        let empty_text = Saboteur::new(AgentLoop::default(), Canary::named("send-empty-text").unwrap());
        run_file(folder.path().join("x.toml"), empty_text).unwrap().failures
    };
    let plain = failures("");
    let refused = plain.iter().filter(|failure| failure.contains("the API refuses request 1:")).count();
    assert_eq!(refused, 1, "said once: {plain:?}");
    let shown = failures("breaks = [\"O-10\"]\n");
    assert!(!shown.iter().any(|failure| failure.contains("O-10") || failure.contains("refuses")), "{shown:?}");
}

#[test]
fn f_7_a_rule_that_there_is_not_is_named_with_the_nearest() {
    let folder = folder(&[("x.toml", &breaking("\"O14\"")), ("y.toml", &breaking("\"O-16\""))]);
    let (words, code) = said(folder.path(), &["run", "x.toml"]);
    assert!(code == Some(2) && words.contains("O14") && words.contains("O-14"), "{words}");
    assert_eq!(said(folder.path(), &["run", "y.toml"]).1, Some(2), "one run cannot differ from itself");
}

#[test]
fn e_1_what_a_scenario_says_is_broken_is_a_remark_in_sweeps() {
    let folder = folder(&[("x.toml", &breaking("\"O-14\"")), ("y.toml", TWO_READS)]);
    let swept = |name: &str| {
        let loaded = [load(&folder.path().join(name), &[]).unwrap()];
        sweep_all(&loaded, NonZeroUsize::MIN, &[InjectionKind::Interrupt], swaps_results).remove(0)
    };
    let (hazard, plain) = (swept("x.toml"), swept("y.toml"));
    assert!(hazard.findings.is_empty() && hazard.shown > 1, "{hazard:?}");
    assert!(!plain.findings.is_empty() && plain.shown == 0);
    let run = ["run", "x.toml", "--canary", "swap-results"];
    assert_eq!(said(folder.path(), &run).1, Some(0));
    let (words, code) = said(folder.path(), &[&run[..], &["--interrupt-at", "1:before"]].concat());
    assert!(code == Some(0) && words.contains("note: x.toml: O-14"), "{words}");
    let (words, code) = said(folder.path(), &["run", "x.toml"]);
    assert!(code == Some(1) && words.contains("expected O-14 to be broken"), "{words}");
}

#[test]
fn every_level_asks_the_oracles_and_who_does_not_says_so() {
    let folder = folder(&[("x.toml", TWO_READS), ("y.toml", TWO_READS)]);
    let canary = ["--canary", "swap-results"];
    for options in [&[][..], &["--level", "network"], &["--oracles"]] {
        let (words, code) = said(folder.path(), &[&["run", "x.toml"], &canary[..], options].concat());
        assert!(code == Some(1) && words.contains("O-14 at "), "{options:?}: {words}");
    }
    let (words, code) = said(folder.path(), &[&["run", "x.toml", "y.toml", "--no-oracles"], &canary[..]].concat());
    assert_eq!(code, Some(0), "{words}");
    assert!(words.contains("note: --no-oracles") && words.contains("2 scenarios, 0 failed; oracles not checked"), "{words}");
    assert_eq!(said(folder.path(), &["run", "x.toml", "--no-oracles", "--level", "network"]).1, Some(2));
}

#[test]
fn a_canary_that_nothing_catches_is_a_failure_and_one_that_is_caught_is_none() {
    let folder = folder(&[("x.toml", TWO_READS)]);
    let swept = |canary: &str| said(folder.path(), &["sweep", "x.toml", "--canary", canary]);
    let (words, code) = swept("swap-results");
    assert!(code == Some(0) && words.contains("canary swap-results was caught by O-14"), "{words}");
    let (words, code) = swept("drop-tombstone");
    assert!(code == Some(1) && words.contains("canary drop-tombstone was NOT caught"), "{words}");
    let (words, code) = said(folder.path(), &["run", "x.toml", "--canary", "drop-tombstone"]);
    assert!(code == Some(1) && words.contains("canary drop-tombstone was NOT caught"), "{words}");
}

/// An engine that hears of no interrupt.
#[derive(Clone, Debug, Default, PartialEq)]
struct Deaf(AgentLoop);

impl Engine for Deaf {
    fn step(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut Effects) {
        if !matches!(input, Input::Cancel | Input::Interrupt { .. }) {
            self.0.step(env, now, input, effects);
        }
    }
}

#[test]
fn e_1_an_engine_without_interrupts_is_told_so_once() {
    let folder = folder(&[("x.toml", TWO_READS)]);
    let loaded = [load(&folder.path().join("x.toml"), &[]).unwrap()];
    let report = &sweep_all(&loaded, NonZeroUsize::MIN, &InjectionKind::ALL, Deaf::default)[0];
    assert_eq!(report.ignored, InjectionKind::OF_USER);
    let [finding] = &report.findings[..] else { panic!("{} findings", report.findings.len()) };
    let words: Vec<String> = finding.violations.iter().map(ToString::to_string).collect();
    assert!(words[0].starts_with("O-11") && words[0].contains("ignores a cancel"), "{words:?}");
    assert!(words[1].starts_with("O-8") && words[1].contains("ignores a message"), "{words:?}");
    // One that hears of messages alone is told of the other.
    let drop_cancel = || Saboteur::new(AgentLoop::default(), Canary::named("drop-cancel").unwrap());
    let report = &sweep_all(&loaded, NonZeroUsize::MIN, &InjectionKind::ALL, drop_cancel)[0];
    assert_eq!((report.ignored.as_slice(), report.findings.len()), (&[InjectionKind::Cancel][..], 1));
}

#[test]
fn m_3_a_difference_that_each_later_request_repeats_is_told_once() {
    let read = |name: &str| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/world").join(name)).unwrap();
    let folder = folder(&[("replayed.toml", &read("replayed.toml")), ("replayed.tape.jsonl", &read("replayed.tape.jsonl"))]);
    let output = reenact(folder.path(), &["run", "replayed.toml", "--set", "prompt.0.text=Other", "--set", "matching.strict=true"]);
    let complaints = text(&output.stderr);
    let told: Vec<&str> = complaints.lines().filter(|line| line.contains("differs from the recorded one at messages[0]")).collect();
    assert!(told.len() == 1 && told[0].ends_with("(and in 1 later request)"), "{complaints}");
    assert_eq!(text(&output.stdout).matches("differs        messages[0]").count(), 2, "the transcript has both: {}", text(&output.stdout));
}

#[test]
fn m_9_the_limit_that_was_reached_is_named_with_its_key() {
    let limits = [("time", "\"1s\"", "virtual time", "1.000s"), ("events", "5", "events", "5"), ("requests", "1", "requests", "1")];
    for (key, value, name, shown) in limits {
        let folder = folder(&[("x.toml", &format!("{TWO_READS}[limits]\n{key} = {value}\n"))]);
        let (words, code) = said(folder.path(), &["run", "x.toml"]);
        let wanted = format!("the limit on {name} was reached; it is {shown}, and");
        assert!(code == Some(1) && words.contains(&wanted) && words.contains(&format!("--set limits.{key}=")), "{words}");
    }
    let folder = folder(&[("x.toml", &format!("{}[limits]\nevents = 5\n", TWO_READS.replace("completed", "limit_reached")))]);
    let (words, code) = said(folder.path(), &["sweep", "x.toml"]);
    assert!(code == Some(0) && words.contains("note: x.toml: without an interrupt the run ends at its limit on events"), "{words}");
}
