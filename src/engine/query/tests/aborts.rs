//! Aborts at every state (Q-10, Q-22), and silence after the terminal (Q-3).

use super::*;

const STREAMING: &str = "[The user interrupted.]";
const TOOLS: &str = "[The user interrupted while tools ran.]";

#[test]
fn q_10_a_cancel_during_the_stream_closes_it_and_every_tool_use() {
    let mut bench = QueryHarness::new(|_| ());
    let id = bench.streams("look use=A");
    let _ = bench.seen();
    bench.input(&Input::Cancel);
    assert_eq!(bench.seen()[..2], [format!("close {id}"), String::from("stop")]);
    bench.ends("A!");
    assert_eq!(*bench.terminal(), Terminal::AbortedStreaming);
    assert_eq!(bench.outcome().errors, ["aborted by the user".into()]);
    assert_eq!(bench.kept(), format!("user(hi) assistant(look use=A) user(result=A!) user({STREAMING})"));
    assert_eq!(bench.seen().last().map(|last| &**last), Some(STREAMING));
}

#[test]
fn q_10_a_tool_that_was_done_keeps_its_own_result() {
    let mut bench = QueryHarness::new(|_| ());
    let _ = bench.streams("use=A");
    bench.ends("A");
    bench.input(&Input::Cancel);
    assert_eq!(bench.kept(), format!("user(hi) assistant(use=A) user(result=A) user({STREAMING})"));
}

#[test]
fn q_10_thinking_that_nothing_followed_is_not_kept() {
    let mut bench = QueryHarness::new(|_| ());
    let _ = bench.streams("look think");
    bench.input(&Input::Cancel);
    assert_eq!(bench.kept(), format!("user(hi) assistant(look) user({STREAMING})"));
}

#[test]
fn q_18_a_cancel_while_tools_run_says_so() {
    let mut bench = QueryHarness::new(|_| ());
    bench.answers("use=A", "tool_use");
    bench.input(&Input::Cancel);
    bench.ends("A!");
    assert_eq!(*bench.terminal(), Terminal::AbortedTools);
    assert!(bench.kept().ends_with(&format!("user({TOOLS})")), "{}", bench.kept());
}

#[test]
fn q_18_a_cancelled_turn_that_would_have_been_the_last_says_so() {
    for (max, says) in [(1, true), (2, false)] {
        let mut bench = QueryHarness::new(|settings| settings.session.max_turns = Some(max));
        bench.answers("use=A", "tool_use");
        bench.input(&Input::Cancel);
        assert_eq!(bench.seen().contains(&String::from("max turns 1")), says, "of {max}");
    }
}

#[test]
fn q_22_a_submitted_message_aborts_and_needs_no_message_about_it() {
    let mut bench = QueryHarness::new(|_| ());
    bench.answers("use=A", "tool_use");
    assert!(!bench.submits(2));
    bench.ends("A!");
    assert_eq!((bench.terminal(), &*bench.kept()), (&Terminal::AbortedTools, "user(hi) assistant(use=A) user(result=A!)"));
    assert!(!bench.seen().iter().any(|word| word.contains("interrupted")));
}

#[test]
fn q_22_a_cancel_while_stop_hooks_are_asked_withdraws_them() {
    let mut env = environment(|_| ());
    env.hooks = vec![hook("guard", HookEvent::Stop)];
    let mut bench = QueryHarness::with_environment(env);
    bench.answers("a", "end_turn");
    let _ = bench.seen();
    bench.input(&Input::Cancel);
    assert_eq!(bench.seen(), ["stop hook", STREAMING]);
    assert_eq!((bench.terminal(), bench.kept()), (&Terminal::AbortedStreaming, format!("user(hi) assistant(a) user({STREAMING})")));
}

#[test]
fn q_22_a_cancel_during_a_compaction_keeps_what_was_said() {
    let mut memory = SessionMemory::default();
    memory.conversation.push_user("p0", ItemKind::Prompt, vec![Block::text("before")]);
    memory.conversation.push_answer(RequestId::first(0), vec![Block::text("yes")], None);
    let mut bench =
        QueryHarness::begin(environment(|settings| settings.compaction.keep_messages = 0), memory, QueryBeginning::Compacting(None));
    assert_eq!(bench.query.state.phase(), QueryPhase::Compacting);
    let id = bench.asked();
    bench.input(&Input::Cancel);
    assert!(bench.seen().contains(&format!("close {id}")));
    assert_eq!(*bench.terminal(), Terminal::AbortedStreaming);
    assert_eq!(bench.kept(), format!("user(before) assistant(yes) user(hi) user({STREAMING})"));
}

#[test]
fn q_3_after_the_terminal_nothing_comes_out() {
    let mut bench = QueryHarness::new(|_| ());
    let id = bench.streams("use=A");
    bench.ends("A");
    bench.input(&Input::Cancel);
    assert_eq!(*bench.terminal(), Terminal::AbortedStreaming);
    let _ = bench.seen();
    let run = bench.runs[0].1;
    bench.event(id, r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"late"}}"#);
    bench.input(&Input::End { id, how: AnswerEnd::Complete });
    bench.input(&Input::ToolEnded { run, outcome: Arc::new(ToolOutcome::text("late")) });
    bench.input(&Input::Cancel);
    let of_others = bench.with(|query, scope| [query.on_room(scope), query.look_at_budget(scope)]);
    assert_eq!(of_others, [QueryVerdict::Running, QueryVerdict::Running], "what happens elsewhere does not concern it");
    assert_eq!(bench.effects.iter().count(), 0);
}

#[test]
fn q_22_a_second_cancel_ends_nothing_twice() {
    let mut bench = QueryHarness::new(|_| ());
    bench.answers("use=A@Write", "tool_use");
    bench.input(&Input::Cancel);
    bench.input(&Input::Cancel);
    bench.ends("A!");
    let seen = bench.seen();
    assert_eq!(seen.iter().filter(|word| **word == TOOLS).count(), 1, "{seen:?}");
    assert_eq!(seen.iter().filter(|word| **word == "result=A!").count(), 1, "{seen:?}");
}

#[test]
fn q_10_what_hooks_said_of_a_tool_is_kept_with_its_result() {
    let mut env = environment(|_| ());
    env.hooks = vec![hook("guard", HookEvent::PostToolUse)];
    let mut bench = QueryHarness::with_environment(env);
    bench.answers("use=A use=B", "tool_use");
    bench.ends("A");
    bench.hook_says(HookOutcome { context: Some("mind the gap".into()), ..HookOutcome::default() });
    bench.input(&Input::Cancel);
    bench.ends("B!");
    assert!(bench.kept().contains("user(result=A result=B! Hook guard says: mind the gap)"), "{}", bench.kept());
}
