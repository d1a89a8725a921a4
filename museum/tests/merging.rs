//! E-3: a sweep that ends copies in states that were judged finds the same defects as one that runs each copy to its end.

use reenact::engine::contract::{Effects, Engine, Environment, Input, Time};
use reenact::explore::fingerprint::Fingerprint;
use reenact::explore::interrupt::InjectionKind;
use reenact::explore::sweep::{InterruptSweepReport, sweep};
use reenact::files::scenario::{LoadOptions, load_with};
use reenact::runner::PanicCatcher;
use reenact_museum::exhibits::{CARDS, MuseumLoop};
use std::collections::BTreeSet;
use std::path::Path;

/// The same engine without a key: no two states are known to be the same.
#[derive(Clone, Debug, PartialEq)]
struct KeylessLoop(MuseumLoop);

impl Engine for KeylessLoop {
    fn step(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut Effects) {
        self.0.step(env, now, input, effects);
    }
}

fn fingerprints(report: &InterruptSweepReport) -> BTreeSet<Fingerprint> {
    report.findings.iter().filter_map(|finding| finding.violations.first()).map(Fingerprint::from).collect()
}

#[test]
fn e_3_merged_copies_hide_no_defect_of_any_exhibit() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let (mut merged, mut defects) = (0, 0);
    for card in CARDS {
        for ending in ["", "-trigger"] {
            let loaded = load_with(&folder.join(format!("{}{ending}.toml", card.name)), &LoadOptions::default()).unwrap();
            let engine = MuseumLoop::find(card.name).unwrap();
            let with_key = sweep(&loaded.setup, &engine, &InjectionKind::ALL, &PanicCatcher);
            let without = sweep(&loaded.setup, &KeylessLoop(engine), &InjectionKind::ALL, &PanicCatcher);
            assert_eq!(
                (with_key.runs, with_key.boundaries, without.merged),
                (without.runs, without.boundaries, 0),
                "{}{ending}",
                card.name
            );
            assert_eq!(fingerprints(&with_key), fingerprints(&without), "{}{ending}", card.name);
            merged += with_key.merged;
            defects += fingerprints(&without).len();
        }
    }
    assert!(merged > 500 && defects > 20, "{merged} copies were merged, {defects} defects were found: too few to say anything");
}
