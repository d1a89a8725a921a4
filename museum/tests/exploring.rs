//! Gates 2, 4 and 5 of the museum: `explore` finds each exhibit in its plain scenario, within a small budget, and finds nothing in the honest loop and in the
//! reference loop.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::Path;

use reenact::engine::agent_loop::AgentLoop;
use reenact::engine::contract::Engine;
use reenact::explore::budget::ExploreBudget;
use reenact::explore::explorer::{ExploreOutcome, ExploreReport, explore, replay};
use reenact::explore::fingerprint::Fingerprint;
use reenact::files::scenario::{LoadOptions, LoadedScenario, load_with};
use reenact::runner::PanicCatcher;
use reenact::runner::explore::Threads;
use reenact_museum::exhibits::{CARDS, MuseumLoop};

/// The budgets in which exhibits are looked for.
const LARGEST: ExploreBudget = ExploreBudget::new(1, 0, 1);

/// The budgets in which the loops that are in order are looked at. `explore` on the command line takes larger ones, in a program without debug assertions.
const CLEAN: [ExploreBudget; 2] = [ExploreBudget::new(1, 0, 1), ExploreBudget::new(0, 1, 0)];

fn load(name: &str) -> LoadedScenario {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    load_with(&folder.join(format!("{name}.toml")), &LoadOptions::default()).unwrap()
}

fn explored<E: Engine + Send>(loaded: &LoadedScenario, engine: &E, budget: ExploreBudget) -> ExploreReport {
    let threads = Threads(NonZeroUsize::new(2).unwrap());
    let report = explore(&loaded.setup, engine, budget, &PanicCatcher, &threads, &mut |_| true);
    assert_eq!(report.outcome, ExploreOutcome::Finished, "{}: {budget}", loaded.name);
    report
}

#[test]
fn e_3_each_exhibit_is_found_by_an_oracle_of_its_card_and_its_plan_shows_it_again() {
    let mut missed = Vec::new();
    for card in CARDS {
        let (loaded, engine) = (load(card.name), MuseumLoop::find(card.name).unwrap());
        let seen: BTreeSet<&str> = card.seen().into_iter().collect();
        let found =
            ExploreBudget::RISING.into_iter().filter(|budget| LARGEST.covers(*budget) || CLEAN.contains(budget)).find_map(|budget| {
                let report = explored(&loaded, &engine, budget);
                let own = report.findings.iter().find(|finding| seen.contains(finding.fingerprint.oracle))?;
                let planned = own.path.setup(&loaded.setup, &engine, &PanicCatcher);
                let again: BTreeSet<Fingerprint> =
                    replay(&planned, &engine, report.usual_end.as_deref(), &PanicCatcher).iter().map(Fingerprint::from).collect();
                assert!(again.contains(&own.fingerprint), "{}: {own:#?}\n{again:#?}", card.name);
                println!("{:<18} {budget} {:>7} states  {}", card.name, report.states, own.fingerprint);
                Some(budget)
            });
        if found != Some(budget_of(card.name)) {
            missed.push((card.name, found));
        }
    }
    assert_eq!(missed, [], "the others are found at the budgets that the README names, and at no smaller ones");
}

/// The budget in the last column of an exhibit's row in the README.
fn budget_of(name: &str) -> ExploreBudget {
    let row = include_str!("../README.md").lines().find(|line| line.starts_with(&format!("| [{name}]"))).expect("each exhibit has a row");
    row.trim_end_matches(" |").rsplit("| ").next().expect("a row has columns").parse().unwrap()
}

#[test]
fn e_3_nothing_is_found_in_loops_that_are_in_order() {
    for card in CARDS {
        let loaded = load(card.name);
        for budget in CLEAN {
            let honest = explored(&loaded, &MuseumLoop::find("honest").unwrap(), budget);
            assert_eq!(honest.findings, [], "the honest loop, {}", card.name);
            let reference = explored(&loaded, &AgentLoop::default(), budget);
            assert_eq!(reference.findings, [], "the reference loop, {}", card.name);
        }
    }
}
