//! When the pieces of an answer arrive (M-5): a pure function from what is recorded and what is asked for.
//!
//! Without figures a whole turn takes a log-normal time with a median of 5 s and a 99th percentile of 46 s, as real sessions do,
//! spread unevenly over its events; a recorded total without recorded pieces is spread the same way.

use reenact_engine::random::KeyedDraws;
use reenact_engine::time::Micros;
use reenact_scenario::latency::Latency;
use reenact_scenario::types::AnswerTiming;
use reenact_wire::prelude::*;

/// The known times of an answer, each from its request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownTimes {
    /// The head.
    pub head: Option<Micros>,
    /// Each piece of the body.
    pub pieces: Vec<Option<Micros>>,
    /// The end.
    pub end: Option<Micros>,
}

/// When an answer arrives, each from its request, never decreasing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerTimesTable {
    /// The head.
    pub head: Micros,
    /// Each piece of the body.
    pub pieces: Vec<Micros>,
    /// The end.
    pub end: Micros,
}

/// A whole turn where nothing is known of it.
const TURN: Latency = Latency::LogNormal { p50: Micros::from_secs(5), p99: Micros::from_secs(46) };

/// The times of one answer. `draws` belong to this answer alone; piece k takes the k-th draws, so that with given gaps a longer answer
/// changes nothing that came before. Shares of a whole turn do depend on how many pieces share it.
pub fn times(timing: &AnswerTiming, known: &KnownTimes, draws: &mut KeyedDraws) -> AnswerTimesTable {
    let drawn_turn = TURN.draw(draws, None, 0).unwrap_or_default();
    let usual_head = known.end.unwrap_or(drawn_turn).scaled(1, 8);
    // Pieces that are recorded without a head came right behind it.
    let known_head = known.head.or_else(|| known.pieces.first().copied().flatten());
    let head = timing.head.draw(draws, known_head, 0).unwrap_or(usual_head);
    let turn = known.end.unwrap_or(drawn_turn).max(head);
    let pieces = if known.pieces.iter().all(Option::is_some) && matches!(timing.between_events, Latency::Recorded { .. }) {
        recorded_pieces(timing, known, known_head, head, draws)
    } else {
        drawn_pieces(timing, known.pieces.len(), head, turn, draws)
    };
    let last = pieces.last().copied().unwrap_or(head);
    let end = match (&timing.between_events, known.end) {
        (Latency::Recorded { percent }, Some(end)) => end.scaled(u64::from(*percent), 100).max(last),
        _ => last,
    };
    AnswerTimesTable { head, pieces, end }
}

/// Whether anything in the times of an answer is left to the draws.
pub fn is_drawn(timing: &AnswerTiming, known: &KnownTimes) -> bool {
    let AnswerTiming { head, first_event, between_events } = timing;
    if head.is_drawn() || first_event.is_drawn() || between_events.is_drawn() {
        return true;
    }
    let says_nothing = |latency: &Latency| matches!(latency, Latency::Recorded { .. });
    let known_head = known.head.or_else(|| known.pieces.first().copied().flatten());
    let drawn_head = says_nothing(head) && known_head.is_none() && known.end.is_none();
    let is_recorded = known.pieces.iter().all(Option::is_some) && says_nothing(between_events);
    let shares = !is_recorded && (says_nothing(first_event) || (known.pieces.len() > 1 && says_nothing(between_events)));
    drawn_head || shares
}

/// Recorded gaps, scaled as asked; the gap before the first piece may be set apart.
fn recorded_pieces(
    timing: &AnswerTiming,
    known: &KnownTimes,
    known_head: Option<Micros>,
    head: Micros,
    draws: &mut KeyedDraws,
) -> Vec<Micros> {
    let mut before = known_head.unwrap_or(Micros::ZERO);
    let mut at = head;
    let mut pieces = Vec::with_capacity(known.pieces.len());
    for (position, recorded) in known.pieces.iter().flatten().enumerate() {
        let gap = *recorded - before;
        let latency = if position == 0 { &timing.first_event } else { &timing.between_events };
        at = at + latency.draw(draws, Some(gap), position).unwrap_or(gap);
        before = (*recorded).max(before);
        pieces.push(at);
    }
    pieces
}

/// Drawn gaps: as the settings say, or shares of the turn between a half and one and a half of the average, ending with the turn.
fn drawn_pieces(timing: &AnswerTiming, count: usize, head: Micros, turn: Micros, draws: &mut KeyedDraws) -> Vec<Micros> {
    let mut shares = Vec::with_capacity(count);
    let mut sum = 0;
    for position in 0..count {
        let latency = if position == 0 { &timing.first_event } else { &timing.between_events };
        sum += 512 + draws.below(1_024);
        shares.push((sum, latency.draw(draws, None, position)));
    }
    let mut at = head;
    let mut shared_before = Micros::ZERO;
    let mut pieces = Vec::with_capacity(count);
    for (share, asked) in shares {
        let shared = (turn - head).scaled(share, sum);
        at = at + asked.unwrap_or(shared - shared_before);
        shared_before = shared;
        pieces.push(at);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_engine::random::Seed;

    fn new(timing: &AnswerTiming, known: &KnownTimes) -> AnswerTimesTable {
        times(timing, known, &mut Seed(1).draws("answer", "1"))
    }

    #[test]
    fn m_5_recorded_times_are_kept_to_the_microsecond() {
        let known = KnownTimes { head: Some(Micros(400)), pieces: vec![Some(Micros(500)), Some(Micros(1_700))], end: Some(Micros(1_800)) };
        let times = new(&AnswerTiming::default(), &known);
        assert_eq!(times, AnswerTimesTable { head: Micros(400), pieces: vec![Micros(500), Micros(1_700)], end: Micros(1_800) });
        let headless = KnownTimes { head: None, ..known.clone() };
        assert_eq!(new(&AnswerTiming::default(), &headless).pieces, [Micros(500), Micros(1_700)], "offsets hold without a recorded head");
        let half = AnswerTiming { between_events: Latency::Recorded { percent: 50 }, ..AnswerTiming::default() };
        assert_eq!(new(&half, &known).pieces, [Micros(500), Micros(1_100)]);
    }

    #[test]
    fn m_5_a_recorded_total_is_spread_over_the_pieces() {
        let known = KnownTimes { head: None, pieces: vec![None; 8], end: Some(Micros::from_secs(2)) };
        let times = new(&AnswerTiming::default(), &known);
        assert_eq!((times.head, times.end), (Micros::from_millis(250), Micros::from_secs(2)));
        assert_eq!(times.pieces.last(), Some(&Micros::from_secs(2)));
        assert!(times.pieces.is_sorted());
    }

    #[test]
    fn m_5_fixed_figures_win() {
        let fixed = |ms| Latency::Fixed(Micros::from_millis(ms));
        let timing = AnswerTiming { head: fixed(100), first_event: fixed(5), between_events: fixed(10) };
        let times = new(&timing, &KnownTimes { pieces: vec![None; 3], ..KnownTimes::default() });
        assert_eq!(times.head, Micros::from_millis(100));
        assert_eq!(times.pieces, [105, 115, 125].map(Micros::from_millis));
        assert_eq!(times.end, Micros::from_millis(125));
    }

    #[test]
    fn d_3_a_longer_answer_changes_no_draw_before() {
        let fixed = Latency::Uniform(Micros(0), Micros(1_000_000));
        let timing = AnswerTiming { head: fixed.clone(), first_event: fixed.clone(), between_events: fixed };
        let short = new(&timing, &KnownTimes { pieces: vec![None; 3], ..KnownTimes::default() });
        let long = new(&timing, &KnownTimes { pieces: vec![None; 9], ..KnownTimes::default() });
        assert_eq!(short.pieces, long.pieces[..3]);
    }
}
