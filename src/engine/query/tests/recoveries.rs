//! Errors that are withheld while something may help: the output limit (Q-15), prompts and media that are too large (Q-13, Q-14); and another
//! model that takes over (Q-19), an attempt that is taken back (Q-20).

use super::*;
use crate::contract::StagedSummary;

#[test]
fn q_15_the_cap_is_raised_then_the_model_goes_on_three_times_then_the_error_is_shown() {
    let mut bench = QueryHarness::new(|_| ());
    bench.answers("one", "max_tokens");
    let escalated = ["request 1 8000", "one", "tombstone p1.r1.a1.b0", "-> max_output_tokens_escalate", "request 2 64000"];
    assert_eq!(bench.seen(), escalated);
    assert_eq!(bench.conversation(), "user(hi)", "nothing of the cut answer is kept");
    for (turn, word) in [(3, "two"), (4, "three"), (5, "four")] {
        bench.answers(word, "max_tokens");
        let request = format!("request {turn} 64000");
        let recovery = "max_output_tokens_recovery";
        assert_eq!(bench.seen(), [word, &format!("hidden {recovery}"), &format!("-> {recovery}"), &request]);
    }
    bench.answers("five", "max_tokens");
    assert_eq!(bench.seen(), ["five", "error max_output_tokens"]);
    assert_eq!(*bench.terminal(), Terminal::Completed);
    assert!(bench.kept().ends_with("assistant(five)"), "{}", bench.kept());
}

#[test]
fn q_15_a_turn_gives_all_recoveries_back() {
    let mut bench = QueryHarness::new(|_| ());
    bench.answers("one", "max_tokens");
    bench.answers("two", "max_tokens");
    bench.answers("use=A", "tool_use");
    bench.ends("A");
    assert_eq!(bench.requests.last().unwrap().1.max_tokens, 8_000, "the raised cap held for its chain");
    bench.answers("three", "max_tokens");
    assert_eq!(bench.requests.last().unwrap().1.max_tokens, 64_000, "and may be raised again");
}

#[test]
fn q_15_thinking_at_the_end_of_a_cut_answer_is_not_kept() {
    let mut bench = QueryHarness::new(|settings| settings.max_tokens = 500);
    bench.answers("think one think", "max_tokens");
    assert!(bench.conversation().starts_with("user(hi) assistant(think one) user("), "{}", bench.conversation());
}

const TOO_LONG: &str = "prompt is too long: 200251 tokens > 200000 maximum";

/// A summary of the turn that began with the request of this number.
fn staged(turn: u32) -> Input {
    let (from, to) = (format!("p1.r{turn}.a1").into(), format!("p1.r{turn}.a1.results").into());
    Input::CollapseStaged(Arc::new(StagedSummary { from, to, summary: "It was read.".into() }))
}

impl QueryHarness {
    /// A turn that says so much that a summary of it is shorter.
    fn reads(&mut self, tool: &str) {
        self.answers(&format!("{} use={tool}", "long-".repeat(100)), "tool_use");
        self.ends(tool);
    }
}

/// A prompt with two turns behind it, so that there is something to summarise.
fn second_turn(change: impl FnOnce(&mut Settings)) -> QueryHarness {
    let mut bench = QueryHarness::new(|settings| {
        settings.compaction.auto = false;
        settings.compaction.keep_messages = 0;
        change(settings);
    });
    bench.input_tokens = 1_000;
    bench.reads("A");
    bench.reads("B");
    let _ = bench.seen();
    bench
}

#[test]
fn q_13_staged_collapses_come_first_then_a_summary_then_the_error() {
    let mut bench = second_turn(|settings| settings.compaction.collapse_percent = 99);
    bench.input(&staged(1));
    bench.fails(400, TOO_LONG);
    assert_eq!(bench.seen(), ["-> collapse_drain_retry", "request 4 8000"]);
    assert!(bench.conversation().contains("It was read."), "{}", bench.conversation());
    bench.fails(400, TOO_LONG);
    assert_eq!(bench.query.state.phase(), QueryPhase::Compacting);
    let _ = bench.seen();
    bench.answers("<summary>Short.</summary>", "end_turn");
    let seen = bench.seen();
    assert!(seen.iter().any(|word| word == "-> reactive_compact_retry"), "{seen:?}");
    assert!(!seen.iter().any(|word| word.starts_with("error")), "nobody sees an error that was recovered from: {seen:?}");
    bench.fails(400, TOO_LONG);
    let seen = bench.seen();
    assert_eq!(seen.iter().filter(|word| word.starts_with("error")).count(), 1, "once, after the last attempt: {seen:?}");
    assert_eq!(*bench.terminal(), Terminal::PromptTooLong);
}

#[test]
fn q_13_collapses_are_drained_once_in_a_chain_and_again_after_a_turn() {
    let no_summaries = |settings: &mut Settings| (settings.compaction.reactive, settings.compaction.collapse_percent) = (false, 99);
    let mut bench = second_turn(no_summaries);
    bench.input(&staged(1));
    bench.fails(400, TOO_LONG);
    bench.reads("C");
    bench.input(&staged(2));
    let _ = bench.seen();
    bench.fails(400, TOO_LONG);
    assert_eq!(bench.seen(), ["-> collapse_drain_retry", "request 6 8000"], "a turn begins another chain");
    let mut once = second_turn(no_summaries);
    once.reads("C");
    once.input(&staged(1));
    once.fails(400, TOO_LONG);
    once.input(&staged(2));
    once.fails(400, TOO_LONG);
    assert_eq!(*once.terminal(), Terminal::PromptTooLong, "once in a chain, though there is more to collapse");
}

/// The model has summarised after a prompt that was too long.
fn summarised() -> QueryHarness {
    let mut bench = second_turn(|_| ());
    bench.fails(400, TOO_LONG);
    bench.answers("<summary>Short.</summary>", "end_turn");
    bench
}

#[test]
fn q_13_the_model_summarises_once_in_a_chain_and_again_after_a_turn() {
    let mut again = summarised();
    again.reads("C");
    again.reads("D");
    again.fails(400, TOO_LONG);
    assert_eq!(again.query.state.phase(), QueryPhase::Compacting, "a turn begins another chain");
    let mut once = summarised();
    once.answers(&"long-".repeat(100), "pause_turn");
    once.fails(400, TOO_LONG);
    assert_eq!(*once.terminal(), Terminal::PromptTooLong, "once in a chain, though there is more to summarise");
}

#[test]
fn q_14_media_are_summarised_away_and_never_collapsed() {
    let mut bench = second_turn(|settings| settings.compaction.collapse_percent = 99);
    bench.input(&staged(1));
    bench.fails(400, "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 5429176 bytes > 5242880 bytes");
    assert_eq!(bench.query.state.phase(), QueryPhase::Compacting);
    let mut off = second_turn(|settings| settings.compaction.reactive = false);
    off.fails(400, "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 5429176 bytes > 5242880 bytes");
    assert_eq!(*off.terminal(), Terminal::ImageError);
}

fn with_fallback(settings: &mut Settings) {
    settings.session.fallback_model = Some("claude-haiku-4-5".into());
    settings.retry.jitter_percent = 0;
}

impl QueryHarness {
    /// The last request finds the API overloaded, and the wait after that is over.
    fn overloaded(&mut self) {
        self.fails(529, "Overloaded");
        self.waits();
    }
}

#[test]
fn q_19_another_model_takes_over_in_the_same_iteration_without_signatures() {
    let mut bench = QueryHarness::new(with_fallback);
    bench.answers("think use=A", "tool_use");
    bench.ends("A");
    assert_eq!(bench.conversation(), "user(hi) assistant(think use=A) user(result=A)");
    (0..3).for_each(|_| bench.overloaded());
    let (id, request) = bench.requests.last().unwrap().clone();
    assert_eq!((id.turn, &*request.model), (2, "claude-haiku-4-5"));
    assert!(id.attempt > 3, "attempts go on: {id}");
    assert!(!bench.conversation().contains("think "), "signatures are bound to a model: {}", bench.conversation());
    let seen = bench.seen();
    assert_eq!(seen.iter().filter(|word| word.starts_with("fallback claude-sonnet-4-5 claude-haiku-4-5")).count(), 1, "{seen:?}");
    bench.answers("done", "end_turn");
    assert_eq!(*bench.terminal(), Terminal::Completed);
    let models: Vec<&str> = bench.outcome().totals.by_model.iter().map(|of| &*of.model).collect();
    assert_eq!(models, ["claude-sonnet-4-5", "claude-haiku-4-5"]);
}

#[test]
fn q_20_an_attempt_that_broke_is_taken_back_with_its_results() {
    let mut bench = QueryHarness::new(|_| ());
    let id = bench.streams("look use=A use=B");
    bench.ends("A");
    bench.event(id, r#"{"type":"ping"}"#);
    let _ = bench.seen();
    bench.input(&Input::End { id, how: AnswerEnd::Reset });
    let seen = bench.seen();
    let taken_back = ["tombstone p1.r1.a1.b0", "tombstone p1.r1.a1.b1", "tombstone p1.r1.a1.b2", "tombstone p1.r1.a1.b1.t0.result"];
    assert_eq!(seen[..4], taken_back, "{seen:?}");
    assert!(seen.contains(&String::from("discarded")) && seen.contains(&String::from("stop")), "{seen:?}");
    bench.ends("B!");
    assert_eq!(bench.requests.last().unwrap().0, RequestId { prompt: 1, turn: 1, attempt: 2 });
    assert_eq!(bench.conversation(), "user(hi)");
    let totals = &bench.query.totals;
    assert_eq!(totals.by_model.iter().map(|of| of.usage.input_tokens).collect::<Vec<_>>(), [Some(100)], "it is paid for, once");
    bench.answers("done", "end_turn");
    assert_eq!(bench.kept(), "user(hi) assistant(done)");
}
