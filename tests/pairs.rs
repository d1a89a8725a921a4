//! E-1 over pairs of scenarios: two at a time as one session break no oracle, and what an engine keeps from one situation into the next is found.

use std::num::NonZeroUsize;
use std::path::Path;
use std::process::{Command, Output};

use reenact::engine::agent_loop::AgentLoop;
use reenact::engine::contract::{Effect, Effects, Engine, Environment, EventPayload, Input, RequestId, Terminal, Time};
use reenact::engine::random::Seed;
use reenact::files::scenario::{LoadedScenario, find, load_all};
use reenact::runner::pairs::{PairRun, ScenarioPairs};
use reenact::runner::run_file;
use reenact::transcript::event::RunEnd;

const THREADS: NonZeroUsize = NonZeroUsize::new(2).unwrap();

const REFUSED: &str = "[[prompt]]\ntext = \"Hello?\"\n[[prompt.turn]]\nstatus = 400\nbody = '{}'\n";
const ANSWERED: &str = "[[prompt]]\ntext = \"And now?\"\n[[prompt.turn]]\ntext = \"Now.\"\n";

fn loaded(folder: &Path) -> Vec<LoadedScenario> {
    let (paths, errors) = find(&[folder.to_path_buf()]);
    assert!(errors.is_empty(), "{errors:?}");
    paths.iter().flat_map(|path| load_all(path, &[]).unwrap_or_else(|error| panic!("{error}"))).collect()
}

fn two_scenarios() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.toml"), REFUSED).unwrap();
    std::fs::write(folder.path().join("b.toml"), ANSWERED).unwrap();
    folder
}

fn reenact(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_reenact")).args(arguments).current_dir(folder).output().unwrap()
}

/// It asks once. When a request was refused, it ends each later prompt twice.
#[derive(Clone, Debug, Default, PartialEq)]
struct Grudge {
    is_refused: bool,
}

impl Engine for Grudge {
    fn step(&mut self, env: &Environment, _now: Time, input: &Input, effects: &mut Effects) {
        let finished = |id: &RequestId| Effect::Finished { prompt: id.prompt, terminal: Terminal::Completed };
        match input {
            Input::Prompt { prompt, content } => {
                let question = reenact::wire::block::Message::user(content.to_vec());
                let request = reenact::wire::request::Request::new(&env.settings.model, 1_000).with_messages([question]);
                effects.push(Effect::Request { id: RequestId::first(*prompt), request: request.into() });
            }
            Input::Head { id, status: 400, .. } => {
                self.is_refused = true;
                effects.push(Effect::CloseRequest { id: *id });
                effects.push(Effect::Finished { prompt: id.prompt, terminal: Terminal::ModelError });
            }
            Input::Stream { id, event } if *event.payload() == EventPayload::MessageStop => {
                effects.push(finished(id));
                if self.is_refused {
                    effects.push(finished(id));
                }
            }
            _ => (),
        }
    }
}

#[test]
fn e_1_pairs_of_shipped_scenarios_break_no_rule() {
    let scenarios = loaded(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios"));
    let pairs = ScenarioPairs::new(&scenarios, THREADS, &AgentLoop::default);
    assert!(pairs.count() * 10 > scenarios.len() * 9, "{} of {} scenarios can be part of a pair", pairs.count(), scenarios.len());
    let runs = pairs.run(&pairs.drawn(4_000, Seed(0)), THREADS, &AgentLoop::default);
    assert!(runs.len() > 3_900, "{} pairs", runs.len());
    let ended = runs.iter().filter(|run| run.end == Some(RunEnd::Idle)).count();
    assert!(ended * 10 > runs.len() * 8, "{ended} of {} pairs came to their ends", runs.len());
    let name = |at: usize| &*scenarios[at].name;
    let told =
        |run: &PairRun| format!("{} then {} ({:?}): {:?}", name(run.pair.first), name(run.pair.second), run.pair.form, run.violations);
    let found: Vec<String> = runs.iter().filter(|run| !run.violations.is_empty()).map(told).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn e_1_what_an_engine_keeps_from_one_scenario_into_the_next_is_found() {
    let folder = two_scenarios();
    for name in ["a.toml", "b.toml"] {
        let alone = run_file(folder.path().join(name), Grudge::default()).unwrap();
        let violations = alone.violations.as_deref().unwrap();
        assert!(violations.iter().all(|violation| violation.oracle != "O-8"), "neither shows it alone: {violations:?}");
    }
    let scenarios = loaded(folder.path());
    let pairs = ScenarioPairs::new(&scenarios, THREADS, &Grudge::default);
    let runs = pairs.run(&pairs.drawn(100, Seed(0)), THREADS, &Grudge::default);
    assert_eq!((pairs.count(), pairs.possible(), runs.len()), (2, 8, 8));
    let found: Vec<(usize, usize)> = runs
        .iter()
        .filter(|run| run.violations.iter().any(|violation| violation.oracle == "O-8"))
        .map(|run| (run.pair.first, run.pair.second))
        .collect();
    assert!(found.contains(&(0, 1)) && !found.contains(&(1, 1)), "{found:?}");
    let one = NonZeroUsize::MIN;
    let again = pairs.run(&pairs.drawn(100, Seed(0)), one, &Grudge::default);
    assert_eq!(format!("{runs:?}"), format!("{again:?}"), "threads change nothing");
}

#[test]
fn e_1_a_pair_is_shown_and_kept_as_a_scenario() {
    let folder = two_scenarios();
    let all = reenact(folder.path(), &["pairs", "."]);
    let said = String::from_utf8(all.stdout).unwrap();
    assert_eq!((all.status.code(), said.trim()), (Some(0), "2 scenarios of 2, 8 pairs of 8, 0 findings"));
    let shown = reenact(folder.path(), &["pairs", "a.toml", "b.toml", "--show", "prompts", "--write", "both.toml"]);
    let said = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.status.success() && said.contains("Hello?") && said.contains("And now?"), "{said}");
    let kept = reenact(folder.path(), &["run", "both.toml"]);
    assert!(kept.status.success(), "{}", String::from_utf8_lossy(&kept.stderr));
    let three = reenact(folder.path(), &["pairs", ".", "--show", "turns"]);
    let problem = String::from_utf8(three.stderr).unwrap();
    assert!(three.status.code() == Some(2) && problem.contains("takes two scenarios"), "{problem}");
    std::fs::write(folder.path().join("c.toml"), format!("{ANSWERED}[expect]\nbreaks = [\"O-8\"]\n")).unwrap();
    let hazard = reenact(folder.path(), &["pairs", "c.toml"]);
    let problem = String::from_utf8(hazard.stderr).unwrap();
    assert!(hazard.status.code() == Some(1) && problem.contains("no two of these scenarios"), "nothing was looked at: {problem}");
}
