//! Money and tokens (S-10), and what a result tells of them.

use super::*;
use crate::budget::NanoUsd;

/// An answer has 100 input tokens at $3 and ten output tokens at $15 a million.
const ANSWER: u64 = 300_000 + 150_000;

fn budget(nano: u64) -> impl FnOnce(&mut Settings) {
    move |settings| settings.session.max_budget = Some(NanoUsd(nano))
}

#[test]
fn s_10_a_budget_that_is_used_up_to_the_last_bit_ends_the_prompt_and_keeps_the_answer() {
    let mut bench = QueryHarness::new(budget(ANSWER));
    bench.answers("a", "end_turn");
    assert_eq!((bench.terminal(), &*bench.kept()), (&Terminal::MaxBudget, "user(hi) assistant(a)"));
    assert_eq!(bench.memory.spent, NanoUsd(ANSWER));
    assert_eq!(bench.outcome().errors.len(), 1);
    let mut more = QueryHarness::new(budget(ANSWER + 1));
    more.answers("a", "end_turn");
    assert_eq!((more.terminal(), more.outcome().errors.len()), (&Terminal::Completed, 0));
}

#[test]
fn s_10_the_answer_that_crosses_it_is_closed_with_results() {
    let mut bench = QueryHarness::new(budget(ANSWER));
    bench.answers("use=A@Write", "tool_use");
    assert_eq!(bench.query.state.phase(), QueryPhase::Ending, "a tool that blocks has its grace");
    bench.ends("A!");
    assert_eq!((bench.terminal(), &*bench.kept()), (&Terminal::MaxBudget, "user(hi) assistant(use=A) user(result=A!)"));
    assert_eq!(bench.requests.len(), 1, "nothing more is asked");
    assert!(!bench.seen().iter().any(|word| word.contains("interrupted")), "the user did nothing");
}

#[test]
fn s_10_what_earlier_prompts_cost_counts() {
    let memory = SessionMemory { spent: NanoUsd(1), ..SessionMemory::default() };
    let mut bench = QueryHarness::begin(environment(budget(ANSWER + 1)), memory, QueryBeginning::Asking);
    bench.answers("a", "end_turn");
    assert_eq!((bench.terminal(), bench.memory.spent), (&Terminal::MaxBudget, NanoUsd(ANSWER + 1)));
    let spent = SessionMemory { spent: NanoUsd(5), ..SessionMemory::default() };
    let none = QueryHarness::begin(environment(budget(5)), spent, QueryBeginning::Asking);
    assert_eq!((none.terminal(), none.requests.len()), (&Terminal::MaxBudget, 0), "looked at before the first request");
}

#[test]
fn s_10_a_running_answer_counts_at_each_block() {
    let mut bench = QueryHarness::new(budget(300_000 + 15_000));
    let id = bench.streams("a");
    assert_eq!((bench.terminal(), bench.asked()), (&Terminal::MaxBudget, id), "the input alone, and one token");
    assert!(bench.seen().contains(&format!("close {id}")));
    assert_eq!(*bench.outcome().errors, [Arc::from("the budget is used up: $0.00032 of $0.00032")], "it is counted once");
}

#[test]
fn s_10_an_attempt_that_was_lost_is_paid_for() {
    let mut bench = QueryHarness::new(budget(600_000 + 30_000));
    let id = bench.streams("a");
    bench.input(&Input::End { id, how: AnswerEnd::Reset });
    assert_eq!(bench.query.totals.cost(), NanoUsd(300_000 + 15_000));
    let _ = bench.streams("b");
    assert_eq!(*bench.terminal(), Terminal::MaxBudget, "both together");
}

#[test]
fn s_10_the_task_budget_is_sent_and_stops_nothing() {
    let mut bench = QueryHarness::new(|settings| settings.session.task_budget = Some(50));
    let extra = |bench: &QueryHarness| bench.requests.last().unwrap().1.extra.to_string();
    assert_eq!(extra(&bench), r#"{"output_config":{"task_budget":{"type":"tokens","total":50,"remaining":50}}}"#);
    bench.memory.task_tokens_used = 80;
    bench.answers("use=A", "tool_use");
    bench.ends("A");
    assert!(extra(&bench).contains(r#""remaining":0"#), "{}", extra(&bench));
}

#[test]
fn s_8_totals_tell_of_the_last_answer_and_of_all_tokens() {
    let mut bench = QueryHarness::new(|_| ());
    bench.now = Time(1_000);
    bench.answers("one use=A", "tool_use");
    bench.ends("A");
    assert_eq!(bench.query.totals.last, LastMessage::Results);
    bench.now = Time(5_000);
    bench.answers("two three", "end_turn");
    let totals = &bench.outcome().totals;
    assert_eq!((&*totals.text, totals.stop_reason.as_deref()), ("three", Some("end_turn")));
    assert_eq!((totals.turns, totals.last), (1, LastMessage::Answer(AnswerTail::Words)));
    assert_eq!(totals.by_model.len(), 1);
    assert_eq!((totals.by_model[0].usage.input_tokens, totals.by_model[0].usage.output_tokens), (Some(200), Some(20)));
    assert_eq!((totals.cost(), totals.api_time.0.0), (NanoUsd(2 * ANSWER), 5_000));
}

#[test]
fn s_8_what_an_answer_ends_in_is_told() {
    for (picture, tail, text) in [("-", AnswerTail::Empty, ""), ("a think", AnswerTail::Words, ""), ("a b", AnswerTail::Words, "b")] {
        let mut bench = QueryHarness::new(|_| ());
        bench.answers(picture, "end_turn");
        let totals = &bench.outcome().totals;
        assert_eq!((totals.last, &*totals.text), (LastMessage::Answer(tail), text), "{picture}");
    }
}

#[test]
fn s_10_a_compact_command_without_money_asks_no_hook() {
    let mut env = environment(|settings| settings.session.max_budget = Some(NanoUsd(1)));
    env.hooks = vec![hook("before", HookEvent::PreCompact)];
    let mut memory = SessionMemory { spent: NanoUsd(1), ..SessionMemory::default() };
    memory.conversation.push_user("p0", ItemKind::Prompt, vec![Block::text("so")]);
    memory.conversation.push_answer(RequestId::first(0), vec![Block::text("much")], None);
    let mut bench = QueryHarness::begin(env, memory, QueryBeginning::Compacting(None));
    assert_eq!(*bench.terminal(), Terminal::MaxBudget);
    assert_eq!(bench.seen(), [""; 0]);
}

#[test]
fn s_10_an_attempt_that_broke_before_a_block_is_paid_for() {
    let mut bench = QueryHarness::new(|_| ());
    let id = bench.streams("-");
    bench.input(&Input::End { id, how: AnswerEnd::Reset });
    bench.waits();
    assert_eq!(bench.asked().attempt, 2);
    bench.answers("a", "end_turn");
    assert_eq!(bench.outcome().totals.cost(), NanoUsd(300_000 + 15_000 + ANSWER));
}

#[test]
fn s_10_no_attempt_is_made_without_money() {
    let mut bench = QueryHarness::new(budget(300_000 + 15_000));
    let id = bench.streams("-");
    bench.input(&Input::End { id, how: AnswerEnd::Reset });
    bench.waits();
    assert_eq!((bench.terminal(), bench.requests.len()), (&Terminal::MaxBudget, 1));
}

#[test]
fn s_10_a_summary_that_was_aborted_is_paid_for() {
    let mut bench = QueryHarness::begin(environment(nearly_full), earlier(), QueryBeginning::Asking);
    let _ = bench.streams("a");
    bench.input(&Input::Cancel);
    assert_eq!((bench.terminal(), bench.memory.spent), (&Terminal::AbortedStreaming, NanoUsd(300_000 + 15_000)));
}

#[test]
fn s_10_a_refusal_without_content_is_free() {
    let mut bench = QueryHarness::new(|_| ());
    bench.answers("-", "refusal");
    assert_eq!(bench.outcome().totals.cost(), NanoUsd(0));
    let mut later = QueryHarness::new(|_| ());
    later.answers("no", "refusal");
    assert_eq!(later.outcome().totals.cost(), NanoUsd(ANSWER));
}

/// An answer that comes whole, to a request that was not streamed.
const WHOLE: &str = r#"{"type":"message","id":"m","model":"claude-sonnet-4-5","content":[{"type":"tool_use","id":"A","name":"Read","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":100,"output_tokens":10}}"#;

#[test]
fn s_10_no_tool_of_a_whole_answer_starts_without_money() {
    // Another model than the one that was asked may have answered, for less: its tool was refused all the same.
    for body in [WHOLE.into(), WHOLE.replace("sonnet", "haiku")] {
        let mut bench = QueryHarness::new(budget(300_000 + 15_000 + ANSWER));
        let id = bench.streams("look");
        bench.input(&Input::End { id, how: AnswerEnd::Reset });
        let whole = bench.asked();
        assert!(!bench.requests.last().unwrap().1.stream, "a stream that broke is asked for whole (Q-20)");
        bench.head(whole, 200);
        bench.input(&Input::Body { id: whole, body: body.into() });
        bench.input(&Input::End { id: whole, how: AnswerEnd::Complete });
        assert_eq!((bench.terminal(), bench.runs.len()), (&Terminal::MaxBudget, 0));
        assert_eq!(bench.kept(), "user(hi) assistant(use=A) user(result=A!)");
    }
}

const MILLION: u64 = 1_000_000;

#[test]
fn s_10_where_others_spend_the_last_of_it_no_other_model_is_asked() {
    let mut bench = QueryHarness::new(|settings| {
        settings.session.fallback_model = Some("claude-haiku-4-5".into());
        settings.session.max_budget = Some(NanoUsd(MILLION));
    });
    for _ in 0..2 {
        bench.fails(529, "Overloaded");
        bench.waits();
    }
    bench.memory.spent = NanoUsd(MILLION);
    bench.fails(529, "Overloaded");
    assert_eq!((bench.terminal(), bench.requests.len()), (&Terminal::MaxBudget, 3));
    assert!(!bench.seen().iter().any(|word| word.starts_with("fallback")), "nobody takes over");
}

#[test]
fn s_10_where_others_spend_the_last_of_it_no_hook_of_a_summary_is_asked() {
    let spends = |spent| {
        let mut env = environment(|settings| {
            nearly_full(settings);
            settings.session.max_budget = Some(NanoUsd(MILLION * MILLION));
        });
        env.hooks = vec![hook("before", HookEvent::PreCompact)];
        let mut bench = QueryHarness::with_environment(env);
        bench.input_tokens = 9_000;
        bench.answers("look use=A", "tool_use");
        bench.memory.spent = NanoUsd(spent);
        bench.ends("A");
        bench
    };
    assert_eq!(spends(0).hooks.len(), 1, "a summary is due");
    let spent = spends(MILLION * MILLION);
    assert_eq!((spent.terminal(), spent.hooks.len()), (&Terminal::MaxBudget, 0));
}
