//! `reenact certify CERT`: checks the claim of an exploration without searching (E-3c). And what `explore` does with certificates.

mod canaries;

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::OnceLock;

use tokio::time::Instant;

use super::output::{complain, one_line, print_line, tell_progress, without_panic_messages, wrong_input};
use super::program::{plan_command, program_name, quoted, quoted_path};
use super::report::unasked_text;
use super::{CommandExit, SILENCE};
use crate::engine::contract::Engine;
use crate::explore::against::{VersionDifference, compare};
use crate::explore::certificate::{Certificate, CertificateClaim, MARK, unclaimed_rules, windows};
use crate::explore::certify::{CertifyPart, CertifyRefusal, CertifyReport, certify};
use crate::explore::explorer::{ExploreReport, ExploredGraph, PathDecision, fault_list};
use crate::files::scenario::{FileReach, LoadOptions, LoadedScenario, digest, load_with};
use crate::files::{atomic, open};
use crate::prelude::*;
use crate::runner::PanicCatcher;
use crate::scenario::explore_settings::ExploreSettings;

#[derive(Debug, clap::Args)]
pub(super) struct CertifyArguments {
    /// The certificate: `explore --certificate FILE` writes one
    certificate: PathBuf,
    /// The scenario, where it is not at the path that the certificate names
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Check the part k of n: `2/8`; all parts together are the whole
    #[arg(long, value_name = "K/N", conflicts_with = "sample")]
    shard: Option<SearchShard>,
    /// Check so many of a hundred states, chosen by --sample-seed: `1%`
    #[arg(long, value_name = "PERCENT")]
    sample: Option<SamplePercentage>,
    /// Which states a sample has; by default others each time
    #[arg(long, value_name = "N")]
    sample_seed: Option<u64>,
    /// Let the scenario name files outside of its project
    #[arg(long)]
    allow_outside: bool,
}

/// One part of a search that is divided.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchShard {
    number: u32,
    of: u32,
}

impl SearchShard {
    /// Whether the thing of this number is in it.
    pub(super) fn has(self, number: u64) -> bool {
        number % u64::from(self.of) == u64::from(self.number - 1)
    }
}

impl FromStr for SearchShard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        parts
            .filter(|(number, of)| (1..=*of).contains(number))
            .map(|(number, of)| Self { number, of })
            .ok_or_else(|| format!("`{text}` is no part: write one from 1 and how many there are, as in `2/8`"))
    }
}

/// In parts of a million.
#[derive(Clone, Copy, Debug)]
struct SamplePercentage(u32);

impl FromStr for SamplePercentage {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let percent: Option<f64> = text.trim_end_matches('%').trim().parse().ok();
        let percent = percent.filter(|percent| *percent > 0.0 && *percent <= 100.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most a million, and above 0")]
        percent
            .map(|percent| Self(((percent * 10_000.0).round() as u32).max(1)))
            .ok_or_else(|| format!("`{text}` is no percentage: write `1%`"))
    }
}

pub(super) fn run<E: Engine + Send>(arguments: &CertifyArguments, new_engine: &(impl Fn() -> E + Sync)) -> CommandExit {
    let name = arguments.certificate.display();
    let (certificate, loaded) = match read(arguments) {
        Ok(read) => read,
        Err(CertifyProblem::Input(problem)) => return wrong_input(&format!("{name}: {problem}")),
        Err(CertifyProblem::Refused(problem)) => return refuse(&arguments.certificate, &one_line(&problem)),
    };
    let part = arguments.part();
    if part.is_empty(certificate.states.len()) {
        return wrong_input(&format!("{name}: no state is in this part: take a larger one"));
    }
    without_panic_messages(|| check(arguments, &certificate, &loaded, part, new_engine))
}

/// Lets the oracles catch their canaries, then checks the certificate.
fn check<E: Engine>(
    arguments: &CertifyArguments,
    certificate: &Certificate,
    loaded: &LoadedScenario,
    part: CertifyPart,
    new_engine: &impl Fn() -> E,
) -> CommandExit {
    let name = arguments.certificate.display();
    let trials = match canaries::check() {
        Ok(trials) => trials,
        Err(problem) => return refuse(&arguments.certificate, &problem),
    };
    let (began, mut silence) = (Instant::now(), SILENCE);
    let mut goes_on = |checked: usize| {
        if began.elapsed() > silence {
            silence *= 2;
            tell_progress(&format!("certifying {name}: {checked} of {} states are checked", certificate.states.len()));
        }
        true
    };
    match certify(certificate, &loaded.setup, &new_engine(), &PanicCatcher, (part, &mut goes_on)) {
        Ok(report) => {
            print_line(&told(part, certificate, loaded, &report, trials));
            CommandExit::Fine
        }
        Err(refusal) => {
            let CertifyRefusal { reason, path } = refusal.unwrap_or(CertifyRefusal { reason: String::from("it was stopped"), path: None });
            let mut problem = reason;
            if let Some(path) = path {
                let (plan, decisions) = path.plan(&loaded.setup, &new_engine(), &PanicCatcher);
                let set = certificate.claim.set.iter().map(|(key, value)| format!(" --set {}", quoted(&format!("{key}={value}"))));
                let options: String = set.collect();
                problem += &decisions.iter().map(|decision: &PathDecision| format!("\n  {decision}")).collect::<String>();
                problem += &format!("\n  the run up to there: {}", plan_command(&loaded.path, &options, &loaded.setup.scenario, &plan));
            }
            refuse(&arguments.certificate, &problem)
        }
    }
}

enum CertifyProblem {
    /// The input is wrong.
    Input(String),
    /// The certificate does not hold.
    Refused(String),
}

fn refuse(path: &Path, problem: &str) -> CommandExit {
    let problem: Vec<String> = problem.lines().map(one_line).collect();
    complain(&format!("{}: REFUSED: {}", path.display(), problem.join("\n")));
    CommandExit::Failed
}

/// Reads a certificate and its scenario, and holds the one against the other.
fn read(arguments: &CertifyArguments) -> Result<(Certificate, LoadedScenario), CertifyProblem> {
    let certificate = read_certificate(&arguments.certificate)?;
    let claim = &certificate.claim;
    if claim.path.contains(char::is_control) {
        return Err(CertifyProblem::Refused(format!("its scenario has a path that no terminal shows: {}", one_line(&claim.path))));
    }
    let reach = if arguments.allow_outside { FileReach::Anywhere } else { FileReach::Project };
    let path = arguments.scenario.clone().unwrap_or_else(|| PathBuf::from(&claim.path));
    let loaded = load_with(&path, &LoadOptions { overrides: claim.set.clone(), reach, ..LoadOptions::default() })
        .map_err(|error| CertifyProblem::Input(error.to_string()))?;
    let known = digest(&loaded).map_err(|error| CertifyProblem::Input(error.to_string()))?;
    if known != claim.scenario {
        return Err(CertifyProblem::Refused(format!("the scenario {} is not the one that was explored", path.display())));
    }
    let differences = claim.differences(&loaded.setup.scenario.explore);
    if !differences.is_empty() {
        return Err(CertifyProblem::Refused(format!("it cannot be compared: {}", differences.join("; "))));
    }
    Ok((certificate, loaded))
}

fn read_certificate(path: &Path) -> Result<Certificate, CertifyProblem> {
    let bytes = open::read(path, u64::MAX).map_err(|error| CertifyProblem::Input(error.to_string()))?;
    if !bytes.starts_with(MARK.as_bytes()) {
        return Err(CertifyProblem::Input(format!(
            "this is no certificate: `{} explore SCENARIO --certificate FILE` writes one",
            program_name()
        )));
    }
    Certificate::decode(&bytes).map_err(CertifyProblem::Refused)
}

impl CertifyArguments {
    fn part(&self) -> CertifyPart {
        match (self.shard, self.sample) {
            (Some(SearchShard { number: 1, of: 1 }), _) | (None, None | Some(SamplePercentage(1_000_000))) => CertifyPart::All,
            (Some(SearchShard { number, of }), _) => CertifyPart::Shard { number, of },
            (None, Some(SamplePercentage(per_million))) => {
                CertifyPart::Sample { per_million, seed: self.sample_seed.unwrap_or_else(fresh_seed) }
            }
        }
    }
}

/// A forger must not know which states a sample has.
#[expect(clippy::disallowed_methods, reason = "the seed is printed, and changes nothing but which states are looked at")]
fn fresh_seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs().wrapping_mul(1_000_000_000).wrapping_add(now.subsec_nanos().into()))
}

/// The outcome of a check, in words.
fn told(part: CertifyPart, certificate: &Certificate, loaded: &LoadedScenario, report: &CertifyReport, trials: usize) -> String {
    let CertificateClaim { set, collision_log2, faults, program, .. } = &certificate.claim;
    let CertifyReport { states, checked, transitions } = report;
    let set: String = set.iter().map(|(key, value)| format!(" --set {}", quoted(&one_line(&format!("{key}={value}"))))).collect();
    let name = format!("{}{set}", one_line(&loaded.path.display().to_string()));
    let budget = certificate.budget().map(|budget| budget.to_string()).unwrap_or_default();
    let mut text = match part {
        CertifyPart::All => {
            format!("ok      {name}: no run within {budget} breaks a rule: {states} states, {transitions} transitions, all checked")
        }
        CertifyPart::Shard { number, of } => {
            format!(
                "ok      {name}: part {number} of {of} of the claim for {budget}: {checked} of {states} states and their {transitions} transitions hold"
            )
        }
        CertifyPart::Sample { per_million, seed } => format!(
            "ok      {name}: a sample of the claim for {budget}: {checked} of {states} states and their {transitions} transitions hold; of a hundred wrong states it finds \
             about {:.0} (--sample-seed {seed})",
            f64::from(per_million) / 10_000.0
        ),
    };
    text += &format!("\n  two states with one key: at most 2^{collision_log2} likely; {trials} canaries were caught");
    if *faults != fault_list(&ExploreSettings::default()) {
        let faults = if faults.is_empty() { String::from("none") } else { one_line(&faults.join(", ")) };
        text += &format!("\n  its faults are not the usual ones: {faults}");
    }
    unclaimed_rules(&loaded.setup.scenario).into_iter().for_each(|note| text += &format!("\n  {note}"));
    if program != env!("CARGO_PKG_VERSION") {
        text += &format!("\n  it says that it was made by version {}", one_line(program));
    }
    let unasked = certificate.unasked();
    if part != CertifyPart::All {
        text += "\n  the figures of the claim (transitions, rules that were asked) are compared when it is checked as a whole";
    } else if let Some(unasked) = unasked_text(&unasked) {
        text += &format!("\n  {unasked}");
    }
    text
}

/// Whether a certificate may be written to a file: it is free, or has a certificate.
pub(super) fn may_write(path: &Path) -> bool {
    !path.exists() || open::is_ours(path, MARK)
}

/// The certificate of a finished exploration, as a file.
pub(super) fn write_certificate(
    path: &Path,
    loaded: &LoadedScenario,
    set: Vec<(String, String)>,
    (report, graph): (&ExploreReport, &ExploredGraph),
) -> Result<(), String> {
    let claim = CertificateClaim {
        program: String::from(env!("CARGO_PKG_VERSION")),
        binary: binary_digest(),
        path: loaded.path.display().to_string(),
        set,
        scenario: digest(loaded).map_err(|error| error.to_string())?,
        ..CertificateClaim::new(report, &loaded.setup.scenario.explore)
    };
    let bytes = Certificate::new(claim, graph).encode();
    atomic::write(path, &bytes).map_err(|error| format!("{}: cannot write the certificate: {error}", path.display()))
}

/// Of this program's file, which is read once; empty where it cannot be read.
pub(super) fn binary_digest() -> String {
    static DIGEST: OnceLock<String> = OnceLock::new();
    let read = || {
        let bytes = std::env::current_exe().and_then(|file| open::read(&file, u64::MAX)).unwrap_or_default();
        if bytes.is_empty() { String::new() } else { crate::files::scenario::bytes_digest(&bytes) }
    };
    DIGEST.get_or_init(read).clone()
}

/// An older certificate, to be held against a new exploration of the same scenario.
pub(super) fn read_older(path: &Path, loaded: &LoadedScenario, set: &[(String, String)]) -> Result<Certificate, String> {
    let certificate = read_certificate(path).map_err(|problem| match problem {
        CertifyProblem::Input(problem) | CertifyProblem::Refused(problem) => format!("{}: {problem}", path.display()),
    })?;
    let claim = &certificate.claim;
    let refused = |what: &str| Err(format!("{}: it cannot be compared: {what}", path.display()));
    if digest(loaded).map_err(|error| error.to_string())? != claim.scenario {
        return refused(&format!("it is of another scenario than {}", loaded.path.display()));
    }
    let settings = &loaded.setup.scenario.explore;
    if claim.windows != windows(settings) || claim.faults != fault_list(settings) {
        return refused("its arrivals or faults are others than those of this program");
    }
    if claim.set != set {
        return refused("other keys of its scenario were set: give the same --set and --seed");
    }
    if let Some(difference) = claim.differences(settings).first() {
        return refused(difference);
    }
    Ok(certificate)
}

/// So many changed states are shown.
const SHOWN: usize = 3;

/// The changes since an older certificate, in words; `None` without any.
pub(super) fn difference(older: &Certificate, graph: &ExploredGraph, show: impl Fn(&ExploredGraph, usize) -> String) -> Option<String> {
    let difference = compare(older, graph);
    if difference.is_empty() {
        return None;
    }
    let VersionDifference { same, changed, gone, added } = difference;
    let mut text = format!(
        "against the certificate: {} as before, {} changed, {} more, {} fewer",
        plural(same as u64, "state"),
        plural(changed.len() as u64, "state"),
        added,
        gone
    );
    for place in changed.iter().take(SHOWN) {
        text += &format!("\n  the decisions have other effects, or lead elsewhere, at the state after {}", show(graph, *place));
    }
    if changed.len() > SHOWN {
        text += &format!("\n  and at {} further on", plural((changed.len() - SHOWN) as u64, "state"));
    }
    Some(text)
}

/// The command and decisions that lead to a state.
pub(super) fn witness(decisions: &[PathDecision], steps: usize, command: &str) -> String {
    let decisions: Vec<String> = decisions.iter().map(ToString::to_string).collect();
    let decisions = if decisions.is_empty() { String::from("no decision") } else { decisions.join(", then ") };
    format!("{} with {decisions}\n    {command}", plural(steps as u64, "arrival"))
}

/// A file's name for the shell.
pub(super) fn certify_command(path: &Path) -> String {
    format!("{} certify {}", program_name(), quoted_path(path))
}
