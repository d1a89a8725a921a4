//! Any beginning of any tape has a timeline, which is a beginning of the whole one (F-2, V-8).

use proptest::prelude::*;

use super::story::{self, StoryPiece, TapeStory, cut, ends, ping, results, text, tool, user};
use crate::{RecordedAttempt, RemarkKind, STALL_LIMIT, SessionTimeline};
use alloc::collections::BTreeMap;
use reenact_engine::time::Micros;
use reenact_wire::prelude::*;

/// A piece of an answer: its kind, and how much later it comes.
type DrawnPiece = (u8, u64);

/// A request: whether it is in a side thread, how long after the last it comes, whether it is refused or sends all results, and its answer.
type DrawnRequest = (bool, u64, u8, Vec<DrawnPiece>);

fn pieces(drawn: &[DrawnPiece], request: usize) -> Vec<StoryPiece> {
    let mut at = 60;
    let mut pieces = vec![story::starts(at, 5, 5)];
    for (index, (kind, later)) in (0..).zip(drawn) {
        at += later;
        pieces.push(match kind % 4 {
            0 => text(at, index, "word"),
            1 | 2 => tool(at, index, &format!("toolu_{request}_{index}"), "Read"),
            _ => ping(at),
        });
    }
    at += 10;
    pieces.push(if drawn.len() % 4 == 3 { cut(at) } else { ends(at, "tool_use", 5) });
    pieces
}

fn told(requests: &[DrawnRequest]) -> TapeStory {
    let mut story = TapeStory::new();
    let mut at = 0;
    let mut histories: [Vec<String>; 2] = [vec![user("a")], vec![user("b")]];
    for (number, (is_side, later, how, drawn)) in requests.iter().enumerate() {
        at += later;
        let (thread, history) = if *is_side { ("thread-2", &mut histories[1]) } else { ("main", &mut histories[0]) };
        if how % 4 == 0 {
            story = story.refused(thread, at, history, (529, "overloaded_error", "1"));
            continue;
        }
        story = story.exchange(thread, at, history, &pieces(drawn, number));
        let ids: Vec<String> = (0..)
            .zip(drawn)
            .filter(|(_, (kind, _))| matches!(kind % 4, 1 | 2))
            .map(|(index, _): (u32, _)| format!("toolu_{number}_{index}"))
            .collect();
        let sent: Vec<&str> = ids.iter().map(String::as_str).skip(usize::from(how % 4 == 1)).collect();
        history.push(results(&sent));
    }
    story
}

/// Of each exchange its thread, and how many blocks and tool uses it has. Which request it is an attempt at may only be known later.
fn events(timeline: &SessionTimeline) -> BTreeMap<u32, (usize, usize, usize)> {
    let tools = |attempt: &RecordedAttempt| attempt.blocks.iter().filter(|block| block.tool.is_some()).count();
    let attempts = timeline.attempts();
    attempts.map(|(call, attempt)| (attempt.exchange.parse().unwrap(), (call.thread, attempt.blocks.len(), tools(attempt)))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn v_8_any_prefix_of_a_tape_shows_a_prefix_of_the_events(
        requests in proptest::collection::vec((any::<bool>(), 0_u64..5_000, any::<u8>(), proptest::collection::vec((any::<u8>(), 0_u64..4_000), 0..6)), 1..8),
        at in 0.0_f64..1.0,
    ) {
        let tape = story::interleaved(&told(&requests));
        let whole = story::read(&tape, STALL_LIMIT);
        prop_assert_eq!(whole.attempts().count(), requests.len());
        prop_assert!(whole.remarks.iter().all(|remark| remark.kind != RemarkKind::Unread));
        let header = tape.find('\n').unwrap() + 1;
        let end = header + ((tape.len() - header) as f64 * at) as usize;
        let part = story::read(&tape.as_bytes()[..end], STALL_LIMIT);
        let starts: BTreeMap<u32, Micros> = whole.attempts().map(|(_, attempt)| (attempt.exchange.parse().unwrap(), attempt.at.unwrap())).collect();
        let (part, whole) = (events(&part), events(&whole));
        for (exchange, (thread, blocks, tools)) in &part {
            let (whole_thread, whole_blocks, whole_tools) = whole[exchange];
            prop_assert!(*thread == whole_thread && *blocks <= whole_blocks && *tools <= whole_tools, "exchange {}", exchange);
        }
        // The requests that are not there come later than those that are.
        let at = |exchange: &u32| starts[exchange];
        prop_assert!(part.keys().map(at).max() <= whole.keys().filter(|exchange| !part.contains_key(*exchange)).map(at).min().or(Some(Micros(u64::MAX))));
    }
}
