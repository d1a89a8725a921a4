//! Gate 6 of the museum: strategy by exhibit, in how many runs each finds it (E-4). `-- --nocapture` prints the table of the README.

use std::num::NonZeroUsize;
use std::path::Path;

use reenact::explore::budget::ExploreBudget;
use reenact::explore::explorer::{ExploreOutcome, explore};
use reenact::explore::fingerprint::Fingerprint;
use reenact::explore::fuzz::{FuzzCase, FuzzGround, FuzzIsland, FuzzStrategy};
use reenact::explore::shrink::{EngineProbe, ScenarioProbe};
use reenact::files::scenario::{LoadOptions, LoadedScenario, ScenarioVariants, load_with};
use reenact::runner::PanicCatcher;
use reenact::runner::explore::Threads;
use reenact::scenario::types::Scenario;
use reenact_museum::exhibits::{CARDS, MuseumLoop};

/// So many cases a strategy may take.
const CASES_MAX: u64 = 2_000;

fn load(name: &str) -> LoadedScenario {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    load_with(&folder.join(format!("{name}.toml")), &LoadOptions::default()).unwrap()
}

/// The first case of a seed that an oracle of the card sees, and how many cases that took. A guided search is one island, which learns from its own cases.
fn first(name: &str, strategy: FuzzStrategy, seed: u64) -> Option<(u64, FuzzCase)> {
    let (loaded, engine) = (load(name), MuseumLoop::find(name).unwrap());
    let seen = CARDS.iter().find(|card| card.name == name).unwrap().seen();
    let ground = FuzzGround::new(&loaded.setup, &engine, &PanicCatcher);
    let mut island = FuzzIsland::new(0);
    let mut case = |number| match strategy {
        FuzzStrategy::Guided => island.advance((&ground, &loaded.setup, &engine), (strategy, seed), &PanicCatcher).0,
        _ => ground.case(&loaded.setup, &engine, (strategy, seed, number), &[], &PanicCatcher),
    };
    let found = |case: &FuzzCase| case.violations.iter().any(|violation| seen.contains(&violation.oracle));
    (0..CASES_MAX).map(|number| (number + 1, case(number))).find(|(_, case)| found(case))
}

/// How many transitions the exploration makes until its budget shows the exhibit.
fn explored(name: &str) -> u64 {
    let (loaded, engine) = (load(name), MuseumLoop::find(name).unwrap());
    let seen = CARDS.iter().find(|card| card.name == name).unwrap().seen();
    let threads = Threads(NonZeroUsize::MIN);
    let mut transitions = 0;
    for budget in [ExploreBudget::new(0, 0, 1), ExploreBudget::new(1, 0, 0), ExploreBudget::new(0, 1, 0)] {
        let report = explore(&loaded.setup, &engine, budget, &PanicCatcher, &threads, &mut |_| true);
        assert_eq!(report.outcome, ExploreOutcome::Finished);
        transitions += report.transitions;
        if report.findings.iter().any(|finding| seen.contains(&finding.fingerprint.oracle)) {
            return transitions;
        }
    }
    panic!("{name} is not found")
}

#[test]
fn e_4_strategies_find_exhibits() {
    let seeds = if cfg!(debug_assertions) { 1 } else { 15 };
    let mut found = [0; FuzzStrategy::ALL.len()];
    println!("| exhibit | explore | uniform | pct | weighted | swarm | guided |\n| --- | --- | --- | --- | --- | --- | --- |");
    for card in CARDS {
        let cells = FuzzStrategy::ALL.iter().zip(&mut found).map(|(strategy, found)| {
            let mut runs: Vec<u64> = (0..seeds).filter_map(|seed| Some(first(card.name, *strategy, seed)?.0)).collect();
            runs.sort_unstable();
            *found += runs.len();
            let missed = seeds as usize - runs.len();
            match (runs.get(runs.len() / 2), missed) {
                (None, _) => format!("none in {CASES_MAX}"),
                (Some(median), 0) => median.to_string(),
                (Some(median), missed) => format!("{median}, {missed} missed"),
            }
        });
        let cells: Vec<String> = cells.collect();
        println!("| {} | {} | {} |", card.name, explored(card.name), cells.join(" | "));
    }
    for (strategy, found) in FuzzStrategy::ALL.iter().zip(found) {
        assert!(found * 10 > seeds as usize * CARDS.len() * 7, "{strategy:?} finds {found}");
    }
}

#[test]
fn e_4_nothing_is_found_in_the_honest_loop() {
    let cases = if cfg!(debug_assertions) { 40 } else { 400 };
    for card in CARDS {
        let (loaded, engine) = (load(card.name), MuseumLoop::find("honest").unwrap());
        let ground = FuzzGround::new(&loaded.setup, &engine, &PanicCatcher);
        for strategy in FuzzStrategy::ALL {
            for number in 0..cases {
                let case = ground.case(&loaded.setup, &engine, (strategy, 5, number), &[], &PanicCatcher);
                assert_eq!(case.violations, [], "{}: {} {number}", card.name, strategy.as_str());
            }
        }
    }
}

#[test]
fn e_4_a_case_is_the_same_again_and_its_plan_makes_its_run() {
    let mut replayed = 0;
    // A program without optimisation takes one strategy for each exhibit.
    let strategies = if cfg!(debug_assertions) { 1 } else { FuzzStrategy::ALL.len() };
    for (place, card) in CARDS.iter().enumerate() {
        for strategy in (place..place + strategies).map(|place| FuzzStrategy::ALL[place % FuzzStrategy::ALL.len()]) {
            let Some((_, case)) = first(card.name, strategy, 1) else { continue };
            let (loaded, engine) = (load(card.name), MuseumLoop::find(card.name).unwrap());
            let ground = FuzzGround::new(&loaded.setup, &engine, &PanicCatcher);
            if strategy != FuzzStrategy::Guided {
                assert_eq!(ground.case(&loaded.setup, &engine, (strategy, 1, case.number), &[], &PanicCatcher), case);
            }
            let (plan, decisions) = case.plan(&loaded.setup, &engine, &PanicCatcher);
            let variants = ScenarioVariants::new(&loaded).unwrap();
            let ready = |scenario| variants.ready(scenario);
            let mut probe = EngineProbe::new(&engine, &PanicCatcher, &ready);
            let run = probe.run(&Scenario { plan, ..loaded.setup.scenario.clone() }, None).unwrap();
            let again: Vec<Fingerprint> = run.violations.iter().map(Fingerprint::from).collect();
            let wanted = case.fingerprint().unwrap();
            assert!(again.contains(&wanted), "{} {}: {wanted} is not in {again:?}: {decisions:?}", card.name, strategy.as_str());
            replayed += 1;
        }
    }
    assert!(replayed >= 10 * strategies, "only {replayed} were replayed");
}
