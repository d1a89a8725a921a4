//! The reach of the cases: terminals, transitions, faults, steps, and the oracles that had something to look at. A test of a feature that no
//! case reaches tests nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use reenact::engine::contract::Effect;
use reenact::engine::emission::{CompactionLevel, Note};
use reenact::explore::coverage::CoverageClass;
use reenact::oracle::ORACLES;
use reenact::strategies::feature::Feature;
use reenact::transcript::event::EventKind;

use super::check::CheckedRun;

/// The points that one case reached.
pub(super) type ReachedPoints = BTreeSet<String>;

/// How many cases reached each point.
#[derive(Default)]
pub(super) struct Coverage {
    cases: BTreeMap<String, u64>,
}

const LEVELS: [CompactionLevel; 5] =
    [CompactionLevel::Snip, CompactionLevel::Microcompact, CompactionLevel::Collapse, CompactionLevel::Auto, CompactionLevel::Reactive];

/// The classes of which everything should be reached.
const WANTED: [CoverageClass; 4] = [CoverageClass::Terminal, CoverageClass::Fault, CoverageClass::Transition, CoverageClass::Step];

impl Coverage {
    pub(super) fn add(&mut self, points: ReachedPoints) {
        points.into_iter().for_each(|point| *self.cases.entry(point).or_default() += 1);
    }

    /// Everything that was reached, with how many cases did.
    pub(super) fn table(&self) -> String {
        let mut out = String::new();
        let mut group = "";
        for (point, count) in &self.cases {
            let (kind, name) = point.split_once(": ").unwrap_or(("", point));
            if kind != group {
                let _ = write!(out, "\n{kind}:");
                group = kind;
            }
            let _ = write!(out, " {name} {count},");
        }
        out.trim_start().trim_end_matches(',').replace(",\n", "\n")
    }

    /// The points that should have been reached and were not.
    pub(super) fn missing(&self) -> Vec<String> {
        wanted().into_iter().filter(|point| !self.cases.contains_key(point)).collect()
    }
}

/// The points that the cases should reach in the long run.
fn wanted() -> Vec<String> {
    let names = WANTED.into_iter().flat_map(|class| class.known_names().into_iter().map(move |name| format!("{}: {name}", class.as_str())));
    let levels = LEVELS.iter().map(|level| format!("compaction: {}", level.as_str()));
    let oracles = ORACLES.iter().map(|(oracle, _)| format!("oracle asked: {oracle}"));
    let keys = super::keys::wanted().into_iter().map(|key| format!("key: {key}"));
    names.chain(levels).chain(oracles).chain(keys).collect()
}

/// The points of a case, from the text of its scenario, and its run.
pub(super) fn points(text: &str, run: Option<&CheckedRun>) -> ReachedPoints {
    let mut points = ReachedPoints::new();
    points.extend(super::keys::scenario_keys(text).into_iter().map(|key| format!("key: {key}")));
    let Some(CheckedRun { transcript, end, coverage }) = run else { return points };
    let mut add = |kind: &str, name: &str| {
        points.insert(format!("{kind}: {name}"));
    };
    add("end", end.as_str());
    for class in WANTED.into_iter().chain([CoverageClass::Input, CoverageClass::Effect]) {
        coverage.reached(class).keys().for_each(|name| add(class.as_str(), name));
    }
    let asked = coverage.reached(CoverageClass::Oracle);
    // Each case is run twice.
    asked.keys().map(String::as_str).chain(["O-15", "O-16"]).for_each(|oracle| add("oracle asked", oracle));
    for event in transcript.events.iter() {
        match &event.what {
            EventKind::Effect(Effect::Note(Note::Compaction { level, ran: true, .. })) => add("compaction", level.as_str()),
            EventKind::Effect(Effect::Note(Note::Defect { name, .. })) => add("defect", name),
            EventKind::Effect(Effect::Note(Note::Tool { state, .. })) => add("tool state", &format!("{state:?}")),
            _ => (),
        }
    }
    points
}

/// A feature by its name.
pub(super) fn feature(name: &str) -> Result<Feature, String> {
    let names = || Feature::ALL.iter().map(|feature| feature.as_str()).collect::<Vec<_>>().join(", ");
    Feature::named(name).ok_or_else(|| format!("unknown feature `{name}`; the features are {}", names()))
}
