//! Actions of the user beside prompts, and inputs from the background.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::closing_turns::closing_turn;
use super::tools::NAMES;
use super::turns::{content, turn};
use super::values::{message_name, span, tool_use_id, words};
use reenact_engine::contract::{Agent, StagedSummary};
use reenact_engine::time::Micros;
use reenact_scenario::boundary::BoundarySide;
use reenact_scenario::interrupt::{InterruptKind, InterruptMoment, InterruptTrigger, ReachedState, ScriptedInterrupt};
use reenact_scenario::types::ScriptedTurn;
use reenact_wire::prelude::*;

/// A cancel or a message, at any anchor.
pub fn interrupt() -> BoxedStrategy<ScriptedInterrupt> {
    let message = (content(), turns()).prop_map(|(content, turns)| (InterruptKind::Interrupt(content), turns));
    let kind = prop_oneof![Just((InterruptKind::Cancel, Vec::new())), message];
    (kind, moment()).prop_map(|((kind, turns), moment)| ScriptedInterrupt { kind, moment, turns, may: true }).boxed()
}

fn turns() -> BoxedStrategy<Vec<ScriptedTurn>> {
    let some = (vec(turn(), 0..2), vec(closing_turn(), 3)).prop_map(|(turns, closing)| turns.into_iter().chain(closing).collect());
    prop_oneof![some, Just(Vec::new())].boxed()
}

/// Messages that are dead.
pub fn dead() -> BoxedStrategy<ScriptedInterrupt> {
    (vec(message_name(), 1..4), moment())
        .prop_map(|(names, moment)| ScriptedInterrupt { kind: InterruptKind::Dead(names), moment, turns: Vec::new(), may: true })
        .boxed()
}

/// A span that was summarised in the background.
pub fn collapse() -> BoxedStrategy<ScriptedInterrupt> {
    // Whole rounds, as they are in most conversations; any two names seldom hold some.
    let round = select(vec![("p1", "p1.r1.a1"), ("p1", "p1.r1.a1.results"), ("p1.r1.a1", "p1.r1.a1.results"), ("h1", "h2"), ("h1", "h4")]);
    let span = prop_oneof![3 => round.prop_map(|(from, to)| (Arc::from(from), Arc::from(to))), 1 => (message_name(), message_name())];
    (span, words(), moment())
        .prop_map(|((from, to), summary, moment)| {
            let kind = InterruptKind::Collapse(Arc::new(StagedSummary { from, to, summary }));
            ScriptedInterrupt { kind, moment, turns: Vec::new(), may: true }
        })
        .boxed()
}

/// The moment of an interrupt.
pub fn moment() -> BoxedStrategy<InterruptMoment> {
    let agent = prop_oneof![9 => Just(Agent::ROOT), 1 => tool_use_id().prop_map(|id| Agent::child(&id))];
    let offset = prop_oneof![2 => Just(Micros::ZERO), 1 => span()];
    let when = (anchor(), agent, any::<bool>(), offset).prop_map(|(anchor, agent, before, offset)| {
        // Only what comes in from outside can be forestalled, and then at once.
        let before = before && anchor.is_an_input();
        let (side, offset) = if before { (BoundarySide::Before, Micros::ZERO) } else { (BoundarySide::After, offset) };
        InterruptMoment::When { anchor, agent, side, offset }
    });
    prop_oneof![1 => span().prop_map(InterruptMoment::At), 4 => when].boxed()
}

/// The event that an interrupt waits for.
pub fn anchor() -> BoxedStrategy<InterruptTrigger> {
    let nth = || 1_u32..4;
    let state = select(ReachedState::ALL.to_vec());
    let name = select(NAMES.to_vec());
    let events = [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "ping",
        "error",
    ];
    prop_oneof![
        4 => (name, state, nth()).prop_map(|(name, state, nth)| InterruptTrigger::Tool { name: name.into(), state, nth }),
        3 => (select(events.to_vec()), 1_u32..9).prop_map(|(name, nth)| InterruptTrigger::Event { name: name.into(), nth }),
        2 => (option::of(1_u32..3), 1_u32..4, 1_u32..3).prop_map(|(prompt, request, attempt)| InterruptTrigger::Request { prompt, request, attempt }),
        1 => nth().prop_map(|nth| InterruptTrigger::Retry { nth }),
        1 => nth().prop_map(|nth| InterruptTrigger::Result { nth }),
        1 => nth().prop_map(|nth| InterruptTrigger::Terminal { nth }),
    ]
    .boxed()
}
