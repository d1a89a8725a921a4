//! The cases of one scenario: all islands side by side, with a campaign's folder or without one (E-4, E-6).

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::campaign::{CampaignFolder, CampaignPast, CaseTally, FindingRecord, SearchRecord};
use super::{FuzzArguments, case_record};
use crate::cli::SILENCE;
use crate::cli::certify::binary_digest;
use crate::cli::ctrl_c::is_stopped;
use crate::cli::output::tell_progress;
use crate::engine::contract::Engine;
use crate::explore::explorer::Workers as _;
use crate::explore::fuzz::{FuzzCase, FuzzGround, FuzzIsland};
use crate::files::scenario::{LoadedScenario, digest};
use crate::prelude::*;
use crate::runner::PanicCatcher;
use crate::runner::explore::Threads;

/// So many cases an island makes before the others are waited for.
const CASES_AT_ONCE: usize = 4;

/// How long the first part of the progress is, and how long a part is at most: so much work is done again after a program was killed.
const PART: Duration = Duration::from_secs(1);
const PART_MAX: Duration = Duration::from_secs(30);

/// The cases of one scenario.
pub(super) struct FuzzOutcome {
    /// With those that the campaign had.
    pub(super) cases: u64,
    /// How many of them the campaign had.
    pub(super) earlier: u64,
    /// How many different steps the engine was seen to make.
    pub(super) behaviours: usize,
    /// How often each oracle was asked in all cases.
    pub(super) tally: CaseTally,
    /// By defect: how many cases, and the one with the fewest decisions.
    pub(super) findings: BTreeMap<String, (u64, FindingRecord)>,
}

struct ScenarioSearch<'a, E> {
    arguments: &'a FuzzArguments,
    scenario: &'a LoadedScenario,
    engine: &'a E,
    ground: FuzzGround,
    islands: Vec<FuzzIsland>,
    folder: Option<CampaignFolder>,
    outcome: FuzzOutcome,
    /// The counts of islands since the last part of the progress.
    tallies: BTreeMap<u64, CaseTally>,
}

/// Makes the cases.
///
/// # Errors
/// When the campaign's folder cannot be read or written.
pub(super) fn fuzz<E: Engine + Send>(arguments: &FuzzArguments, scenario: &LoadedScenario, engine: &E) -> Result<FuzzOutcome, String> {
    let threads = Threads(arguments.selection.threads());
    let mut search = ScenarioSearch::new(arguments, scenario, engine, &threads)?;
    let (began, mut silence) = (Instant::now(), SILENCE);
    let (mut part, mut part_began) = (PART, began);
    let is_in_time = || !is_stopped() && arguments.time.is_none_or(|time| began.elapsed() < Duration::from_secs(time));
    while is_in_time() && search.make_some(&threads, &is_in_time)? {
        if part_began.elapsed() > part {
            search.write_progress()?;
            (part, part_began) = ((part * 2).min(PART_MAX), Instant::now());
        }
        if began.elapsed() > silence {
            silence *= 2;
            search.write_progress()?;
            let FuzzOutcome { cases, findings, .. } = &search.outcome;
            let counts = (plural(search.behaviours() as u64, "behaviour"), plural(findings.len() as u64, "finding"));
            tell_progress(&format!("fuzzing {}: {}, {}, {}", scenario.path.display(), plural(*cases, "case"), counts.0, counts.1));
        }
    }
    search.write_progress()?;
    search.outcome.behaviours = search.behaviours();
    Ok(search.outcome)
}

impl<'a, E: Engine + Send> ScenarioSearch<'a, E> {
    fn new(arguments: &'a FuzzArguments, scenario: &'a LoadedScenario, engine: &'a E, threads: &Threads) -> Result<Self, String> {
        let ground = FuzzGround::new(&scenario.setup, engine, &PanicCatcher);
        let islands = (0..FuzzIsland::COUNT).map(FuzzIsland::new).collect();
        let outcome = FuzzOutcome { cases: 0, earlier: 0, behaviours: 0, tally: CaseTally::default(), findings: BTreeMap::new() };
        let mut search = Self { arguments, scenario, engine, ground, islands, folder: None, outcome, tallies: BTreeMap::new() };
        if let Some(campaign) = &arguments.campaign {
            let scenario_digest = digest(scenario).map_err(|error| error.to_string())?;
            let set = arguments.selection.overrides();
            let drawn = (arguments.strategy.as_str(), arguments.fuzz_seed);
            let binary = binary_digest();
            if binary.is_empty() {
                return Err(String::from(
                    "the program's own file cannot be read, so nobody knows what its folder would be of: leave out --campaign",
                ));
            }
            let record = SearchRecord::new(&scenario.name, scenario_digest, binary, set, drawn);
            let (folder, past) = CampaignFolder::open(campaign, &record)?;
            search.resume(past, threads)?;
            search.folder = Some(folder);
        }
        Ok(search)
    }

    /// Brings each island to where the campaign left it: the cases that were kept are made again.
    fn resume(&mut self, past: CampaignPast, threads: &Threads) -> Result<(), String> {
        let (arguments, ground, setup) = (self.arguments, &self.ground, &self.scenario.setup);
        let resumed = |(mut island, engine): (FuzzIsland, E)| {
            let (own, cases) = (island.number(), past.islands.get(&island.number()).copied().unwrap_or_default());
            for number in past.kept.iter().filter(|kept| *kept % FuzzIsland::COUNT == own) {
                island.pass_to(number / FuzzIsland::COUNT);
                let drawn = (arguments.strategy.of_case(*number), arguments.fuzz_seed);
                if !island.advance((ground, setup, &engine), drawn, &PanicCatcher).1 {
                    return Err(format!(
                        "case {number} shows nothing new although it was kept: the files are of another program; name another folder"
                    ));
                }
            }
            island.pass_to(cases);
            Ok(island)
        };
        let islands = std::mem::take(&mut self.islands).into_iter().map(|island| (island, self.engine.clone())).collect();
        for island in threads.map(islands, resumed) {
            self.islands.push(island?);
        }
        self.outcome.cases = self.islands.iter().map(FuzzIsland::cases).sum();
        self.outcome.earlier = self.outcome.cases;
        self.outcome.tally.asked = past.tally.asked;
        for finding in past.findings {
            // The case of a finding that is younger than the progress is made again, and counted then.
            let count = past.tally.found.get(&finding.defect).copied().unwrap_or_default();
            self.outcome.findings.entry(finding.defect.clone()).or_insert_with(|| (count, finding.clone()));
            self.note_best(finding);
        }
        Ok(())
    }

    /// Makes some cases of each island; whether there were any.
    fn make_some(&mut self, threads: &Threads, is_in_time: &(impl Fn() -> bool + Sync)) -> Result<bool, String> {
        let (arguments, ground, setup) = (self.arguments, &self.ground, &self.scenario.setup);
        let is_wanted = |island: &FuzzIsland| match arguments.time {
            Some(_) => is_in_time(),
            None => island.next_number() < arguments.cases && !is_stopped(),
        };
        let is_ours = |island: &FuzzIsland| arguments.shard.is_none_or(|shard| shard.has(island.number()));
        let islands = std::mem::take(&mut self.islands);
        let work = |(mut island, engine): (FuzzIsland, E)| {
            let mut cases = Vec::new();
            while cases.len() < CASES_AT_ONCE && is_ours(&island) && is_wanted(&island) {
                let drawn = (arguments.strategy.of_case(island.next_number()), arguments.fuzz_seed);
                cases.push(island.advance((ground, setup, &engine), drawn, &PanicCatcher).0);
            }
            (island, cases)
        };
        let mut made = Vec::new();
        for (island, cases) in threads.map(islands.into_iter().map(|island| (island, self.engine.clone())).collect(), work) {
            self.islands.push(island);
            made.extend(cases);
        }
        for case in &made {
            self.add(case)?;
        }
        Ok(!made.is_empty())
    }

    /// Takes a case into the outcome. The file of a finding is there before anything is said of it.
    fn add(&mut self, case: &FuzzCase) -> Result<(), String> {
        self.outcome.cases += 1;
        let tally = self.tallies.entry(case.number % FuzzIsland::COUNT).or_default();
        tally.add_asked(&case.asked);
        self.outcome.tally.add_asked(&case.asked);
        let Some(fingerprint) = case.fingerprint() else { return Ok(()) };
        let defect = fingerprint.to_string();
        *tally.found.entry(defect.clone()).or_default() += 1;
        if let Some((count, known)) = self.outcome.findings.get_mut(&defect) {
            *count += 1;
            if (known.decision_count, known.case) <= (case.decisions(), case.number) {
                return Ok(());
            }
        }
        let record = case_record(self.arguments, self.scenario, self.engine, (&defect, case));
        if let Some(folder) = &self.folder {
            folder.report(&record)?;
        }
        self.outcome.findings.entry(defect).or_insert_with(|| (1, record.clone()));
        self.note_best(record);
        Ok(())
    }

    /// Of the cases of a defect the one with the fewest decisions is shown.
    fn note_best(&mut self, finding: FindingRecord) {
        if let Some((_, known)) = self.outcome.findings.get_mut(&finding.defect)
            && (finding.decision_count, finding.case) < (known.decision_count, known.case)
        {
            *known = finding;
        }
    }

    fn write_progress(&mut self) -> Result<(), String> {
        let tallies = std::mem::take(&mut self.tallies);
        self.folder.as_mut().map_or(Ok(()), |folder| folder.advance(&self.islands, tallies))
    }

    /// How many different ones there are in all islands.
    fn behaviours(&self) -> usize {
        let all: std::collections::BTreeSet<_> = self.islands.iter().flat_map(FuzzIsland::behaviours).collect();
        all.len()
    }
}
