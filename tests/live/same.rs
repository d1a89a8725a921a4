//! The same scenario at both levels, held side by side at detail `brief`, times left out (M-11).
//!
//! Every scenario that ships is compared, apart from those that take long; where one differs, it stands here with the reason.

use std::collections::BTreeSet;

use reenact::engine::agent_loop::AgentLoop;
use reenact::engine::time::{Micros, Time};
use reenact::files::scenario::LoadedScenario;
use reenact::live::clock::TimeScale;
use reenact::sim::Run;
use reenact::sim::report::RunReport;
use reenact::transcript::text::{DetailLevel, render_untimed};

use super::network::on_network;
use super::{shipped, shipped_in};

/// The scenarios that differ, with the reason.
const DIFFERENT: [(&str, &str); 13] = [
    ("agents/all-failed", "a time stands in a text of which the transcript shows the digest"),
    ("budget/one-of-two-agents-is-done", SHORTER_THAN_A_TICK),
    ("budget/spent-by-agents", SHORTER_THAN_A_TICK),
    ("compaction/interrupt-in-a-compaction", UNSEEN),
    ("hook/adds-context", SHORTER_THAN_A_TICK),
    ("permission/mode-accept-edits", SHORTER_THAN_A_TICK),
    ("permission/rules", SHORTER_THAN_A_TICK),
    ("permission/the-tool-asks", SHORTER_THAN_A_TICK),
    ("query/six-hours", TOO_LONG),
    ("retry/overage", TOO_LONG),
    ("session/a-clear-that-is-interrupted", UNSEEN),
    ("world/planned-order", "its plan names events of a simulated run"),
    ("world/outcomes-of-one-id", "which answer a tool use is from is known where the world gives the answers"),
];

const UNSEEN: &str = "the API cannot see that a message became a prompt before anything was asked for it";
const SHORTER_THAN_A_TICK: &str = "what comes first is decided by less than a tick";
const TOO_LONG: &str = "it takes longer than a network can run without scaling";

/// From every folder at least one, so that a folder cannot drop out unseen.
const FROM_EACH_FOLDER: [&str; 23] = [
    "agents/",
    "api/",
    "budget/",
    "call/",
    "compaction/",
    "executor/",
    "fallback/",
    "hook/",
    "interrupt/",
    "network/hold-and-release",
    "network/slow-link",
    "permission/",
    "pipeline/",
    "query/",
    "retry/always-529",
    "retry/overflow",
    "retry/stream-breaks-after-content",
    "session/",
    "world/byte-by-byte",
    "world/faults/refused",
    "world/leftovers",
    "world/recorded-times",
    "world/replayed",
];

/// The limit of a compared run on the virtual clock. Longer ones are compared by hand: each second is a hundred ticks.
const TIME_MAX: Micros = Micros::from_secs(15);

fn brief(report: &RunReport<AgentLoop>) -> String {
    render_untimed(&report.transcript, DetailLevel::Brief)
}

fn is_short(report: &RunReport<AgentLoop>) -> bool {
    report.transcript.events.last().is_some_and(|event| event.at < Time::ZERO + TIME_MAX)
}

/// Those that break the network on purpose say so by expecting something else there.
fn is_rough(loaded: &LoadedScenario) -> bool {
    loaded.setup.scenario.network.as_ref().is_some_and(|network| network.is_rough() && network.expect.is_some())
        && !loaded.name.ends_with("hold-and-release")
}

#[test]
fn m_11_both_levels_say_the_same() {
    let (mut equal, mut problems) = (BTreeSet::new(), Vec::new());
    for loaded in shipped_in("").iter().filter(|loaded| !is_rough(loaded)) {
        let simulated = Run::new(loaded.setup.clone(), AgentLoop::default()).to_end();
        if DIFFERENT.iter().any(|(name, _)| *name == loaded.name) || !is_short(&simulated) {
            continue;
        }
        let (one, other) = (brief(&simulated), brief(&on_network(&loaded.setup, TimeScale::default()).report));
        if one == other {
            equal.insert(loaded.name.clone());
        } else {
            problems.push(format!("{}:\n{one}\nand on the network:\n{other}", loaded.name));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(equal.len() >= 200, "only {} were compared", equal.len());
    for part in FROM_EACH_FOLDER {
        assert!(equal.iter().any(|name| name.starts_with(part)), "none of {part} was compared");
    }
}

#[test]
fn m_11_what_is_said_to_differ_differs() {
    for (name, reason) in DIFFERENT.iter().filter(|(_, reason)| *reason != TOO_LONG) {
        let loaded = shipped(name, &[]);
        let simulated = Run::new(loaded.setup.clone(), AgentLoop::default()).to_end();
        let network = on_network(&loaded.setup, TimeScale::default());
        assert_ne!(brief(&simulated), brief(&network.report), "{name} is equal now, and was said to differ: {reason}");
    }
}
