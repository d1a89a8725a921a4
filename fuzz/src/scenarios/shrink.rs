//! A finding made small: proptest drops and reduces what is not needed for it. Runs of a thousand requests are dear, so patience has an end.

use std::time::{Duration, Instant};

use proptest::strategy::ValueTree;
use reenact::engine::settings::{CompactionSettings, RetrySettings};
use reenact::scenario::explore_settings::ExploreSettings;
use reenact::scenario::types::{AnswerTiming, Chunking, RunLimits, Scenario};

use reenact::strategies::fitted;

use super::check::has;
use super::finding::FuzzFinding;

/// How many smaller scenarios are tried at most.
const TRIES: u32 = 1_500;

/// How long they are tried. One that was begun is looked at to its end.
const TIME: Duration = Duration::from_secs(20);

/// How much more is tried.
struct ShrinkPatience {
    tries: u32,
    since: Instant,
}

impl ShrinkPatience {
    #[expect(clippy::disallowed_methods, reason = "how long to look for a smaller scenario is real time")]
    fn new() -> Self {
        Self { tries: TRIES, since: Instant::now() }
    }

    /// Whether one more is tried, which this one then is.
    #[expect(clippy::disallowed_methods, reason = "how long to look for a smaller scenario is real time")]
    fn take(&mut self) -> bool {
        let goes_on = self.tries > 0 && self.since.elapsed() < TIME;
        self.tries = self.tries.saturating_sub(1);
        goes_on
    }
}

/// The smallest scenario that was found with this finding, and the finding as it shows there.
pub(super) fn shrink(mut tree: impl ValueTree<Value = Scenario>, finding: &FuzzFinding) -> (Scenario, FuzzFinding) {
    let mut smallest = (tree.current(), finding.clone());
    let mut patience = ShrinkPatience::new();
    let mut goes_on = tree.simplify();
    while goes_on && patience.take() {
        let scenario = tree.current();
        // What a case leaves out shrinks without changing anything.
        let found = if scenario == smallest.0 { Some(smallest.1.clone()) } else { has(&scenario, finding) };
        goes_on = match found {
            Some(found) => {
                smallest = (scenario, found);
                tree.simplify()
            }
            None => tree.complicate(),
        };
    }
    dropped(smallest)
}

/// The same without all that can go: what each case has, and proptest therefore keeps.
fn dropped(mut smallest: (Scenario, FuzzFinding)) -> (Scenario, FuzzFinding) {
    let mut at = 0;
    let mut patience = ShrinkPatience::new();
    while let Some(scenario) = without(&smallest.0, at).map(fitted).filter(|_| patience.take()) {
        let found = if scenario == smallest.0 { None } else { has(&scenario, &smallest.1) };
        match found {
            // What is now in its place is next.
            Some(found) => smallest = (scenario, found),
            None => at += 1,
        }
    }
    smallest
}

/// The scenario without the part of this number, the last turns first; `None` when it has no such part.
fn without(scenario: &Scenario, mut at: usize) -> Option<Scenario> {
    let mut scenario = scenario.clone();
    macro_rules! try_each {
        ($list:expr) => {
            if let Some(index) = $list.len().checked_sub(at + 1) {
                $list.remove(index);
                return Some(scenario);
            }
            at -= $list.len();
        };
    }
    for prompt in 0..scenario.prompts.len() {
        try_each!(scenario.prompts[prompt].turns);
        for turn in 0..scenario.prompts[prompt].turns.len() {
            try_each!(scenario.prompts[prompt].turns[turn].content);
        }
    }
    for interrupt in 0..scenario.interrupts.len() {
        try_each!(scenario.interrupts[interrupt].turns);
    }
    try_each!(scenario.interrupts);
    try_each!(scenario.faults);
    try_each!(scenario.hooks);
    try_each!(scenario.permissions);
    try_each!(scenario.tools);
    try_each!(scenario.settings.session.commands);
    try_each!(scenario.settings.session.changes);
    try_each!(scenario.settings.session.host_messages);
    let whole: [fn(&mut Scenario); 15] = [
        |scenario| scenario.history.clear(),
        // A question and its answer go together.
        |scenario| drop(scenario.history.drain(..scenario.history.len().min(2))),
        |scenario| scenario.limits = RunLimits::default(),
        |scenario| scenario.explore = ExploreSettings::default(),
        |scenario| scenario.timing = AnswerTiming::default(),
        |scenario| scenario.chunking = Chunking::default(),
        |scenario| scenario.settings.retry = RetrySettings::default(),
        |scenario| scenario.settings.compaction = CompactionSettings::default(),
        |scenario| scenario.settings.session.json_schema = None,
        |scenario| scenario.settings.session.max_budget = None,
        |scenario| scenario.settings.session.fallback_model = None,
        |scenario| scenario.settings.session.thinking = None,
        |scenario| scenario.settings.stream = true,
        |scenario| scenario.settings.streaming_execution = true,
        |scenario| scenario.settings.permissions = None,
    ];
    whole.get(at).map(|reset| {
        reset(&mut scenario);
        scenario
    })
}
