//! `reenact shrink PATH…`: a smaller scenario with the same violation, and the reasons of it (E-5).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use tokio::time::Instant;

use super::CommandExit;
use super::output::{complain, print_line, without_panic_messages, wrong_input};
use super::program::{quoted, run_command};
use super::report::{BorderEntry, NearestRunEntry, ShrinkChoiceEntry, ShrinkEntry, ShrinkReportDocument, print_document};
use super::selection::Selection;
use crate::engine::contract::Engine;
use crate::engine::time::Micros;
use crate::explore::budget::ExploreBudget;
use crate::explore::explain::{Explanation, explain};
use crate::explore::explorer::{ExploreOutcome, explore};
use crate::explore::fingerprint::Fingerprint;
use crate::explore::interrupt::{InjectionKind, RunBoundary};
use crate::explore::plan::planned_interrupt;
use crate::explore::shrink::{EngineProbe, PlanInjection, ScenarioProbe, ShrunkRun, shrink};
use crate::explore::verdict::is_announced;
use crate::files::atomic;
use crate::files::plan::scenario_file_text;
use crate::files::scenario::{FileReach, LoadOptions, LoadedScenario, ScenarioVariants, load_with, regressions_folder, snapshot_path};
use crate::oracle::{ORACLES, Violation};
use crate::prelude::*;
use crate::runner::explore::Threads;
use crate::runner::{PanicCatcher, snapshot};
use crate::scenario::plan::Plan;
use crate::scenario::types::Scenario;
use crate::sim::Run;

#[derive(Debug, clap::Args)]
pub(super) struct ShrinkArguments {
    #[command(flatten)]
    selection: Selection,
    /// Interrupt the run at a place: `12` or `12:before`, `12:after`, as `sweep` shows it
    #[arg(long, value_name = "EVENT")]
    interrupt_at: Option<RunBoundary>,
    /// How
    #[arg(long, value_name = "KIND", default_value = "cancel", requires = "interrupt_at")]
    interrupt_kind: InjectionKind,
    /// The rule, if the run breaks several; by default the one that is broken first
    #[arg(long, value_name = "RULE", value_parser = rule)]
    oracle: Option<String>,
    /// The file of the small scenario; by default in the folder `regressions`
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// How many seconds each smaller budget may take when it is shown that no run within it breaks the rule; 0 leaves this out
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    prove: u64,
    /// In which form; `json` is one document
    #[arg(long, value_enum, default_value = "text")]
    format: ShrinkFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ShrinkFormat {
    Text,
    Json,
}

/// `o-2` is O-2.
fn rule(text: &str) -> Result<String, String> {
    Ok(text.trim().to_uppercase())
}

/// A finding that is to be made small.
pub(super) struct ShrinkTask<'a> {
    /// The scenario that it was found in.
    pub(super) loaded: &'a LoadedScenario,
    /// The same with the injections in its plan.
    pub(super) scenario: &'a Scenario,
    /// The violation.
    pub(super) fingerprint: &'a Fingerprint,
    /// The file of the small scenario.
    pub(super) out: Option<PathBuf>,
    /// How long each smaller budget may take; zero asks for no proof.
    pub(super) prove: Duration,
    /// How many threads.
    pub(super) threads: Threads,
    /// The files that the small scenario may name.
    pub(super) reach: FileReach,
}

pub(super) fn run<E: Engine + Send>(arguments: &ShrinkArguments, new_engine: &(impl Fn() -> E + Sync)) -> CommandExit {
    let selected = arguments.selection.load();
    let mut exit = selected.exit;
    if selected.scenarios.len() > 1 {
        return wrong_input(&format!("shrink takes one scenario, and these are {}: name one of them", selected.scenarios.len()));
    }
    if let Some(rule) = arguments.oracle.as_ref().filter(|rule| !ORACLES.iter().any(|(oracle, _)| oracle == rule)) {
        return wrong_input(&format!("there is no rule `{rule}`: write one such as `O-2`"));
    }
    let mut entries = Vec::new();
    for loaded in &selected.scenarios {
        let engine = new_engine();
        let mut scenario = loaded.setup.scenario.clone();
        if let Some(boundary) = arguments.interrupt_at {
            scenario.plan.add_interrupt(planned_interrupt(boundary, arguments.interrupt_kind));
        }
        let shrink = |fingerprint: Fingerprint| {
            let task = ShrinkTask {
                loaded,
                scenario: &scenario,
                fingerprint: &fingerprint,
                out: arguments.out.clone(),
                prove: Duration::from_secs(arguments.prove),
                threads: Threads(arguments.selection.threads()),
                reach: arguments.selection.reach(),
            };
            task.shrink(&engine)
        };
        let small = without_panic_messages(|| broken_rule(arguments, loaded, &scenario, &engine).and_then(shrink));
        match small {
            Ok(entry) => {
                if arguments.format == ShrinkFormat::Text {
                    print_line(&text(&entry));
                }
                entries.push(entry);
            }
            Err(problem) => {
                complain(&format!("{}: {problem}", loaded.path.display()));
                exit = exit.max(CommandExit::WrongInput);
            }
        }
    }
    if arguments.format == ShrinkFormat::Json {
        print_document(&ShrinkReportDocument::new(entries, selected.unread, exit as u8));
    }
    exit
}

/// The rule that the run breaks first, or the one that is asked for.
fn broken_rule<E: Engine>(
    arguments: &ShrinkArguments,
    loaded: &LoadedScenario,
    written: &Scenario,
    engine: &E,
) -> Result<Fingerprint, String> {
    let variants = ScenarioVariants::new(loaded).map_err(|error| error.to_string())?;
    let ready = |scenario| variants.ready(scenario);
    let mut probe = EngineProbe::new(engine, &PanicCatcher, &ready);
    let plain = Scenario { plan: written.plan.without_injections(), ..written.clone() };
    let usual_end = probe.run(&plain, None).and_then(|run| run.end).filter(|end| is_announced(written, end));
    let run = probe.run(written, usual_end.as_deref()).ok_or("the scenario cannot be made ready")?;
    if !run.is_as_planned && run.end.is_some() {
        return Err(String::from("its plan has an injection that does not come: correct it in [plan], or in --set"));
    }
    let breaks = &written.expect.breaks;
    let is_wanted = |violation: &&Violation| match &arguments.oracle {
        Some(rule) => violation.oracle == rule,
        None => !breaks.iter().any(|rule| rule == violation.oracle),
    };
    let first = run.violations.iter().filter(is_wanted).min_by_key(|violation| violation.at);
    first.map(Fingerprint::from).ok_or_else(|| {
        let broken: BTreeSet<&str> = run.violations.iter().map(|violation| violation.oracle).collect();
        match (&arguments.oracle, broken.is_empty()) {
            (Some(rule), false) => format!("its run does not break {rule}; it breaks {}", broken.into_iter().collect::<Vec<_>>().join(", ")),
            _ => String::from("its run breaks no rule, so nothing can be made smaller; `reenact explore` and `reenact sweep` look for a run that does, and print its command: give its --set options to `shrink`"),
        }
    })
}

impl ShrinkTask<'_> {
    /// Makes the finding small, explains it, and writes it as a scenario with its snapshot.
    ///
    /// # Errors
    /// When the run does not show the violation, or a file cannot be written.
    pub(super) fn shrink<E: Engine + Send>(&self, engine: &E) -> Result<ShrinkEntry, String> {
        if let Some(out) = self.out.as_ref().filter(|out| out.is_dir()) {
            return Err(format!("{}: this is a folder: name a file in it with --out", out.display()));
        }
        if let Some(folder) = self.out.as_ref().and_then(|out| out.parent()).filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        let variants = ScenarioVariants::new(self.loaded).map_err(|error| error.to_string())?;
        let ready = |scenario| variants.ready(scenario);
        let mut probe = EngineProbe::new(engine, &PanicCatcher, &ready);
        let mut shrunk = shrink(self.scenario, self.fingerprint, &mut probe)?;
        let violation = shrunk.violations.iter().find(|violation| Fingerprint::from(*violation) == *self.fingerprint);
        shrunk.scenario.title = violation.map(|violation| violation.text.clone());
        let explanation = explain(&shrunk, self.fingerprint, &mut probe);
        let proof = self.prove(&shrunk, engine, &ready);
        let text = |out: &Path| scenario_file_text(out, self.loaded, shrunk.scenario.clone(), &self.comments(&explanation));
        let out = match &self.out {
            Some(out) if is_free(out, &text(out)) => out.clone(),
            Some(out) => {
                return Err(format!("{}: this file exists and says something else: remove it, or name another one", out.display()));
            }
            None => self.usual_file(text),
        };
        let command = |plan: &Plan| command(&out, self.reach, &shrunk.scenario.plan, plan);
        let entry = self.entry(&shrunk, &explanation, proof, &out, command);
        self.write(&out, &text(&out), engine)?;
        Ok(entry)
    }

    /// The head of the file: the rule, the observation, and the reasons.
    fn comments(&self, explanation: &Explanation) -> Vec<String> {
        let made = format!("A small run that breaks {}. Made from {}.", self.fingerprint.oracle, self.loaded.name);
        let reasons = explanation.choices.iter().map(|choice| choice.text.clone());
        [made, self.fingerprint.observation.clone()].into_iter().chain(reasons).collect()
    }

    /// `scenarios/regressions/o-2-dropped-call.toml`; of a scenario in a folder with the folder's name. One that names other files stays beside them, as it may
    /// not reach them from elsewhere. A file that says something else keeps its place.
    fn usual_file(&self, text: impl Fn(&Path) -> String) -> PathBuf {
        let LoadedScenario { tape_file, prices_file, windows_file, workspace_folder, file, .. } = self.loaded;
        let names_files = [tape_file, prices_file, windows_file, workspace_folder].into_iter().any(Option::is_some);
        let (folder, name) = if names_files {
            let name = file.file_name().map(|name| name.to_string_lossy().replace(".tape.jsonl", "").replace(".toml", ""));
            (file.parent().unwrap_or(Path::new("")).into(), format!("regression-{}", name.unwrap_or_default()))
        } else {
            (regressions_folder(&self.loaded.path), self.loaded.name.replace(['/', '@', '=', ','], "-"))
        };
        let name = format!("{}-{name}", self.fingerprint.oracle.to_lowercase());
        let first = folder.join(format!("{name}.toml"));
        let numbered = (2..1000).map(|number| folder.join(format!("{name}-{number}.toml")));
        std::iter::once(first.clone()).chain(numbered).find(|file| is_free(file, &text(file))).unwrap_or(first)
    }

    /// The budgets that are smaller by one decision: those in which no run breaks the rule, and those that were not finished.
    fn prove<E: Engine + Send>(
        &self,
        shrunk: &ShrunkRun,
        engine: &E,
        ready: &dyn Fn(Scenario) -> Option<Arc<crate::world::setup::RunSetup>>,
    ) -> ShrinkProof {
        let plain = Scenario { plan: shrunk.scenario.plan.without_injections(), ..shrunk.scenario.clone() };
        let Some(setup) = ready(plain).filter(|_| !self.prove.is_zero()) else { return ShrinkProof::default() };
        let mut proof = ShrinkProof::default();
        for budget in smaller_budgets(&shrunk.injections) {
            let began = Instant::now();
            let report = explore(&setup, engine, budget, &PanicCatcher, &self.threads, &mut |_| began.elapsed() <= self.prove);
            let is_found = report.findings.iter().any(|finding| finding.fingerprint == *self.fingerprint);
            let list = match report.outcome {
                _ if is_found => &mut proof.refuted,
                ExploreOutcome::Finished => &mut proof.without,
                ExploreOutcome::Stopped => &mut proof.unproven,
            };
            list.push(budget.to_string());
        }
        proof
    }

    fn entry(
        &self,
        shrunk: &ShrunkRun,
        explanation: &Explanation,
        ShrinkProof { without, refuted, unproven }: ShrinkProof,
        out: &Path,
        command: impl Fn(&Plan) -> String,
    ) -> ShrinkEntry {
        let border = |(place, plan): &(String, Plan)| BorderEntry { place: place.clone(), command: command(plan) };
        let choices = explanation
            .choices
            .iter()
            .map(|choice| ShrinkChoiceEntry { text: choice.text.clone(), borders: choice.borders.iter().map(border).collect() });
        let nearest = explanation.nearest.as_ref().map(|near| {
            let (fails, passes) = near.parting.clone().unzip();
            NearestRunEntry {
                text: near.text.clone(),
                distance: near.distance.map(|distance| distance.0),
                command: command(&near.plan),
                fails,
                passes,
            }
        });
        ShrinkEntry {
            path: self.loaded.path.display().to_string(),
            oracle: self.fingerprint.oracle,
            observation: self.fingerprint.observation.clone(),
            regression: out.display().to_string(),
            snapshot: snapshot_path(out).display().to_string(),
            injections: shrunk.injections.len(),
            removed: shrunk.removed,
            runs: shrunk.runs,
            complete: shrunk.is_complete,
            violations: shrunk.violations.iter().map(ToString::to_string).collect(),
            choices: choices.collect(),
            nearest,
            without,
            refuted,
            unproven,
        }
    }

    /// Writes the scenario and its snapshot, and sees whether the file shows the same.
    fn write<E: Engine>(&self, out: &Path, text: &str, engine: &E) -> Result<(), String> {
        atomic::write(out, text.as_bytes()).map_err(|error| format!("{}: cannot write the small scenario: {error}", out.display()))?;
        let options = LoadOptions { reach: self.reach, ..LoadOptions::default() };
        let written = load_with(out, &options).map_err(|error| format!("the small scenario was written and cannot be read: {error}"))?;
        let report = crate::explore::PanicGuard::run(&PanicCatcher, || Run::new(written.setup.clone(), engine.clone()).to_end());
        let Ok(report) = report else {
            // A run that panics has no whole transcript.
            return Ok(());
        };
        let is_same = report.violations.iter().flatten().any(|violation| Fingerprint::from(violation) == *self.fingerprint);
        if !is_same {
            return Err(format!(
                "{}: the file was written, and its run does not show the violation: this is a fault of shrink",
                out.display()
            ));
        }
        snapshot::approve(&written, &report).map_err(|error| error.to_string())?;
        Ok(())
    }
}

/// Whether a text may be written to a file: nothing is there, or the same text.
fn is_free(path: &Path, text: &str) -> bool {
    !path.exists() || std::fs::read(path).is_ok_and(|known| known == text.as_bytes())
}

/// The budgets that are smaller by one decision.
fn smaller_budgets(injections: &[PlanInjection]) -> Vec<ExploreBudget> {
    let count =
        |is: fn(&PlanInjection) -> bool| u8::try_from(injections.iter().filter(|injection| is(injection)).count()).unwrap_or(u8::MAX);
    let deviations = count(|injection| matches!(injection, PlanInjection::Deviation(_)));
    let faults = count(|injection| matches!(injection, PlanInjection::Fault(_)));
    let inputs = count(|injection| matches!(injection, PlanInjection::Interrupt(_) | PlanInjection::Late(_)));
    let [less_order, less_faults, less_inputs] = [deviations, faults, inputs].map(|count| count.checked_sub(1));
    let smaller = [
        less_order.map(|less| ExploreBudget::new(less, faults, inputs)),
        less_faults.map(|less| ExploreBudget::new(deviations, less, inputs)),
        less_inputs.map(|less| ExploreBudget::new(deviations, faults, less)),
    ];
    smaller.into_iter().flatten().collect()
}

/// The command that runs the small scenario with another plan.
fn command(out: &Path, reach: FileReach, written: &Plan, plan: &Plan) -> String {
    let set = plan.injections_as_toml(written).into_iter().map(|(key, value)| format!(" --set {}", quoted(&format!("plan.{key}={value}"))));
    let outside = if reach == FileReach::Anywhere { " --allow-outside" } else { "" };
    run_command(out) + &set.collect::<String>() + outside
}

/// The smaller budgets, by the outcome of an exploration of each.
#[derive(Default)]
struct ShrinkProof {
    /// No run breaks the rule.
    without: Vec<String>,
    /// Some run does, with other decisions.
    refuted: Vec<String>,
    /// Not all was looked at.
    unproven: Vec<String>,
}

/// The small run, for people.
pub(super) fn text(entry: &ShrinkEntry) -> String {
    let ShrinkEntry {
        oracle,
        observation,
        regression,
        injections,
        removed,
        runs,
        complete,
        choices,
        nearest,
        without,
        refuted,
        unproven,
        ..
    } = entry;
    let mut text = format!(
        "{oracle}: {observation}\n  {regression}: {} taken out in {}, {} left",
        plural(*removed as u64, "part"),
        plural((*runs).into(), "run"),
        plural(*injections as u64, "injection")
    );
    if !complete {
        text += "; more may be taken out by hand, these were too many to try";
    }
    let others: BTreeSet<&str> =
        entry.violations.iter().filter_map(|violation| violation.split(' ').next()).filter(|rule| rule != oracle).collect();
    if !others.is_empty() {
        text += &format!("\n  its run breaks {} as well", others.into_iter().collect::<Vec<_>>().join(", "));
    }
    for choice in choices {
        text += &format!("\n  {}", choice.text);
        let borders: BTreeSet<&String> = choice.borders.iter().map(|border| &border.command).collect();
        if borders.len() > 1 {
            for BorderEntry { place, command } in &choice.borders {
                text += &format!("\n    {place}: {command}");
            }
        }
    }
    if choices.is_empty() {
        text += "\n  fails as it is, without any injection";
    }
    if let Some(NearestRunEntry { text: what, distance, command, fails, passes }) = nearest {
        let away = match distance {
            None => String::new(),
            Some(0) => String::from(", at the same instant"),
            Some(distance) => format!(", {} away", Micros(*distance)),
        };
        text += &format!("\n  the nearest run that passes{away}: {what}\n    {command}");
        if let (Some(fails), Some(passes)) = (fails, passes) {
            text += &format!("\n    it says: {passes}\n    and not: {fails}");
        }
    }
    if !without.is_empty() {
        text += &format!("\n  proved: no run within {} does this", without.join(" or "));
    }
    if !refuted.is_empty() {
        text += &format!("\n  not the smallest: other runs within {} do this; `reenact explore` shows them", refuted.join(" or "));
    }
    if !unproven.is_empty() {
        text += &format!("\n  not proved: {} was not finished; --prove SECONDS gives it more time", unproven.join(", "));
    }
    text
}
