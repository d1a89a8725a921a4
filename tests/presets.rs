//! The shipped presets against their observations (F-13): each row that is said to be the same has scenarios that hold, and each setting is needed by a
//! row.
//!
//! `cargo xtask preset-table` writes the pages in `docs/presets` anew; this test fails while one of them is out of date.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, fs};

use reenact::engine::agent_loop::AgentLoop;
use reenact::engine::contract::*;
use reenact::engine::settings::Settings;
use reenact::files::scenario::{LoadedScenario, find, load};
use reenact::runner::run_file;
use reenact::scenario::presets::{self, Observation, ObservationVerdict, Preset};
use reenact::sim::Run;
use serde_json::Value as Json;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A preset with its scenarios, by their names in it.
struct PresetEvidence {
    name: &'static str,
    preset: Preset,
    scenarios: BTreeMap<String, LoadedScenario>,
}

fn evidence() -> Vec<PresetEvidence> {
    presets::names().map(PresetEvidence::read).collect()
}

impl PresetEvidence {
    fn read(name: &'static str) -> Self {
        let preset = presets::read(name, presets::text(name).unwrap()).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
        let (paths, errors) = find(&[root().join("scenarios/presets").join(name)]);
        assert!(errors.is_empty(), "{errors:?}");
        let scenarios = paths.iter().map(|path| (stem(path), load(path, &[]).unwrap_or_else(|error| panic!("{error}")))).collect();
        Self { name, preset, scenarios }
    }

    /// The rows of which some scenario fails once `change` was made to its settings.
    fn rows_that_fail(&self, change: impl Fn(&mut Json)) -> Vec<u32> {
        let fails: BTreeMap<&str, bool> =
            self.scenarios.iter().map(|(name, scenario)| (name.as_str(), fails_with(scenario, &change))).collect();
        let is_red = |row: &&Observation| row.scenarios.iter().any(|name| fails[name.as_str()]);
        self.preset.observations.iter().filter(is_red).map(|row| row.row).collect()
    }

    /// The settings of the preset that differ from the default, each by its path.
    fn settings(&self) -> Vec<Vec<String>> {
        let mut paths = Vec::new();
        differences(&as_json(&self.preset.settings), &as_json(&Settings::default()), &mut Vec::new(), &mut paths);
        paths
    }
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

fn as_json(settings: &Settings) -> Json {
    serde_json::to_value(settings).unwrap()
}

/// Whether a scenario does not hold once its settings are changed.
fn fails_with(scenario: &LoadedScenario, change: impl Fn(&mut Json)) -> bool {
    let mut settings = as_json(&scenario.setup.environment.settings);
    change(&mut settings);
    let settings: Settings = serde_json::from_value(settings).unwrap();
    let mut setup = (*scenario.setup).clone();
    setup.scenario.settings.clone_from(&settings);
    setup.environment.settings = settings;
    !Run::new(Arc::new(setup), AgentLoop::default()).to_end().failures.is_empty()
}

/// The paths at which two values differ.
fn differences(one: &Json, other: &Json, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    if one == other {
        return;
    }
    match (one.as_object(), other) {
        (Some(members), Json::Object(_) | Json::Null) => {
            for (name, value) in members {
                path.push(name.clone());
                differences(value, other.get(name).unwrap_or(&Json::Null), path, found);
                path.pop();
            }
        }
        _ => found.push(path.clone()),
    }
}

/// Puts the default at a path, where the preset's value stands: a scenario may say something else.
fn reset(settings: &mut Json, path: &[String], preset: &Json) {
    let (Some((last, folders)), usual) = (path.split_last(), as_json(&Settings::default())) else { return };
    let at = |root: &Json| path.iter().try_fold(root.clone(), |value, name| value.get(name).cloned());
    if at(settings) != at(preset) {
        return;
    }
    let folder = folders.iter().try_fold(settings, |value, name| value.get_mut(name)).and_then(Json::as_object_mut);
    match (folder, at(&usual)) {
        (Some(folder), Some(value)) => drop(folder.insert(last.clone(), value)),
        (Some(folder), None) => drop(folder.remove(last)),
        (None, _) => (),
    }
}

#[test]
fn f_13_rows_and_scenarios_of_a_preset_belong_together() {
    for evidence in evidence() {
        let PresetEvidence { name, preset, scenarios } = &evidence;
        let named = |scenario: &String| preset.observations.iter().any(|row| row.scenarios.contains(scenario));
        for scenario in scenarios.keys() {
            assert!(named(scenario), "no row of {name} names the scenario {scenario}");
        }
        for row in &preset.observations {
            for scenario in &row.scenarios {
                assert!(scenarios.contains_key(scenario), "row {} of {name} names {scenario}, and there is no such scenario", row.row);
            }
        }
    }
}

#[test]
fn f_13_every_scenario_of_a_preset_holds_and_has_its_settings() {
    for evidence in evidence() {
        let preset = as_json(&evidence.preset.settings);
        let paths = evidence.settings();
        for (name, scenario) in &evidence.scenarios {
            let report = run_file(&scenario.path, AgentLoop::default()).unwrap_or_else(|error| panic!("{error}"));
            assert!(report.failures.is_empty(), "{name}: {:#?}", report.failures);
            // A scenario may overrule a few of them; one without the preset would overrule all.
            let own = as_json(&scenario.setup.environment.settings);
            let at = |root: &Json, path: &[String]| path.iter().try_fold(root.clone(), |value, name| value.get(name).cloned());
            let kept = paths.iter().filter(|path| at(&own, path) == at(&preset, path)).count();
            assert!(kept + 3 >= paths.len(), "{name} has {kept} of the {} settings of its preset", paths.len());
        }
    }
}

/// An engine that makes one request for each prompt and is content with whatever comes.
#[derive(Clone, Debug, Default, PartialEq)]
struct AskOnce;

impl Engine for AskOnce {
    fn step(&mut self, env: &Environment, _now: Time, input: &Input, effects: &mut Effects) {
        match input {
            Input::Prompt { prompt, content } => {
                let request = Request::new(&env.settings.model, env.settings.max_tokens).with_messages([Message::user(content.to_vec())]);
                effects.push(Effect::Request { id: RequestId::first(*prompt), request: request.into() });
            }
            Input::End { id, .. } => effects.push(Effect::Finished { prompt: id.prompt, terminal: Terminal::Completed }),
            _ => (),
        }
    }
}

#[test]
fn f_13_no_scenario_of_a_preset_holds_for_an_engine_that_takes_what_comes() {
    for evidence in evidence() {
        for (name, scenario) in &evidence.scenarios {
            let report = run_file(&scenario.path, AskOnce).unwrap_or_else(|error| panic!("{error}"));
            assert!(!report.failures.is_empty(), "{name} asks too little: write down what the engine has to do");
        }
    }
}

#[test]
fn f_13_at_least_65_of_the_74_rows_that_were_observed_are_the_same() {
    for evidence in evidence() {
        let counts = VerdictCounts::from_rows(&evidence.preset.observations);
        assert!(counts.same + counts.as_sdks >= 65, "{} rows", counts.same + counts.as_sdks);
        assert_eq!(counts.same + counts.as_sdks + counts.differs, 74);
    }
}

#[test]
fn f_13_the_pages_are_true_and_every_setting_is_needed_by_a_row() {
    #[expect(clippy::disallowed_methods, reason = "the documented way to rewrite the pages")]
    let update = env::var_os("REENACT_UPDATE").is_some();
    for evidence in evidence() {
        let path: PathBuf = root().join("docs/presets").join(format!("{}.md", evidence.name));
        let page = page(&evidence);
        if update {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, page).unwrap();
        } else {
            let shown = fs::read_to_string(&path).unwrap_or_default();
            assert_eq!(shown, page, "{} is out of date: run `cargo xtask preset-table`", path.display());
        }
    }
}

/// How many rows have each verdict.
#[derive(Default)]
struct VerdictCounts {
    same: usize,
    as_sdks: usize,
    differs: usize,
    not_observed: usize,
}

impl VerdictCounts {
    fn from_rows(rows: &[Observation]) -> Self {
        let mut counts = Self::default();
        for row in rows {
            *match row.verdict {
                ObservationVerdict::Same => &mut counts.same,
                ObservationVerdict::AsSdks => &mut counts.as_sdks,
                ObservationVerdict::Differs(_) => &mut counts.differs,
                ObservationVerdict::NotObserved => &mut counts.not_observed,
            } += 1;
        }
        counts
    }
}

/// The page of a preset: its rows, and its settings with the rows that need them.
fn page(evidence: &PresetEvidence) -> String {
    let PresetEvidence { name, preset, .. } = evidence;
    let VerdictCounts { same, as_sdks, differs, not_observed } = VerdictCounts::from_rows(&preset.observations);
    let mut page = format!(
        "# The preset `{name}`\n\n\
         Under `preset = \"{name}\"` in `[engine]` the engine does what {client} was seen to do, up to {date}. The keys of a scenario win over those of the \
         preset. `reenact preset {name}` prints its file.\n\n\
         Written by `cargo xtask preset-table` from runs of the scenarios in `scenarios/presets/{name}`.\n\n\
         {about}\n\n\
         ## The rows\n\n\
         {same} rows are the same. In {as_sdks} rows the client was not watched, and the engine does what the official SDKs do. {differs} rows differ. \
         {not_observed} rows were not watched, and nothing is held against them.\n\n\
         A scenario with ✓ was met by the client itself, driven by `reenact drive`: {driven} of {scenarios}. The last column says whether the scenarios of the row \
         hold without the preset, too.\n\n\
         | row | case | {client} | engine | shown by | without the preset |\n| --- | --- | --- | --- | --- | --- |\n",
        client = preset.client,
        date = preset.date,
        about = preset.about.trim(),
        driven = preset.observations.iter().map(|row| row.driven.len()).sum::<usize>(),
        scenarios = evidence.scenarios.len(),
    );
    let (wanted, paths) = (as_json(&preset.settings), evidence.settings());
    let red = evidence.rows_that_fail(|settings| paths.iter().for_each(|path| reset(settings, path, &wanted)));
    for row in &preset.observations {
        let verdict = match &row.verdict {
            ObservationVerdict::Same => String::from("same"),
            ObservationVerdict::AsSdks => String::from("as the SDKs"),
            ObservationVerdict::Differs(reason) => format!("**differs**: {reason}"),
            ObservationVerdict::NotObserved => String::from("not observed"),
        };
        let scenarios: Vec<String> =
            row.scenarios.iter().map(|name| format!("`{name}`{}", if row.driven.contains(name) { " ✓" } else { "" })).collect();
        let without = match () {
            () if row.scenarios.is_empty() => "",
            () if red.contains(&row.row) => "fails",
            () => "holds",
        };
        let _ = writeln!(page, "| {} | {} | {} | {verdict} | {} | {without} |", row.row, row.case, row.client, scenarios.join(", "));
    }
    page.push_str("\n## The settings\n\nEach is needed: with the default in its place the scenarios of these rows fail.\n\n| key | value | rows |\n| --- | --- | --- |\n");
    for path in &paths {
        let red = evidence.rows_that_fail(|settings| reset(settings, path, &wanted));
        assert!(!red.is_empty(), "no row of {name} needs {}: add one that does, or leave it out", path.join("."));
        let rows: Vec<String> = red.iter().map(u32::to_string).collect();
        let _ = writeln!(page, "| `{}` | {} | {} |", key(path), value(name, path), rows.join(", "));
    }
    page
}

/// A setting as files name it.
fn key(path: &[String]) -> String {
    let last = path.last().unwrap();
    match path[0].as_str() {
        "retry" | "compaction" | "pipeline" => format!("[engine.{}] {last}", path[0]),
        "texts" => format!("[texts] {last}"),
        _ => format!("[engine] {last}"),
    }
}

/// Its value as the preset's file has it.
fn value(name: &str, path: &[String]) -> String {
    let start = format!("{} = ", path.last().unwrap());
    let line = presets::text(name).unwrap().lines().find_map(|line| line.strip_prefix(&start));
    format!("`{}`", line.unwrap_or_else(|| panic!("the file of {name} has no line for {}", path.join("."))))
}
