//! From one turn to the next (Q-18): results, queued messages, tool hooks, the turn limit (S-10), the line about tools (S-7).

use super::*;
use crate::contract::ToolOutcome;

#[test]
fn q_18_results_then_queued_messages_then_the_next_request() {
    let mut bench = QueryHarness::new(|_| ());
    bench.answers("use=A@Write", "tool_use");
    assert!(bench.submits(2), "a tool that blocks is running");
    assert!(bench.submits(3));
    let _ = bench.seen();
    bench.ends("A");
    assert_eq!(bench.seen(), ["result=A", "queued 2", "queued 3", "-> next_turn", "request 2 8000"]);
    assert_eq!(bench.conversation(), "user(hi) assistant(use=A) user(result=A wait wait)");
    bench.answers("done", "end_turn");
    assert_eq!(bench.outcome().queued.len(), 0, "each is said once");
}

#[test]
fn q_22_a_queued_message_that_finds_no_place_is_the_next_prompt() {
    let mut bench = QueryHarness::new(|_| ());
    bench.answers("use=A@Write", "tool_use");
    assert!(bench.submits(2));
    bench.input(&Input::Cancel);
    bench.ends("A");
    assert_eq!(*bench.terminal(), Terminal::AbortedTools);
    assert_eq!(bench.outcome().queued, [message(2)]);
}

#[test]
fn q_18_the_next_turn_waits_for_every_result() {
    let mut bench = QueryHarness::new(|_| ());
    bench.answers("use=A use=B", "tool_use");
    let _ = bench.seen();
    bench.ends("A");
    assert_eq!(bench.seen(), ["result=A"]);
    bench.ends("B");
    assert_eq!(bench.seen(), ["result=B", "-> next_turn", "request 2 8000"]);
}

#[test]
fn s_10_before_turn_n_plus_one_the_limit_ends_the_prompt() {
    let mut bench = QueryHarness::new(|settings| settings.session.max_turns = Some(2));
    bench.answers("use=A", "tool_use");
    bench.ends("A");
    bench.answers("use=B", "tool_use");
    let _ = bench.seen();
    bench.ends("B");
    assert_eq!(bench.seen(), ["result=B", "max turns 2"]);
    assert_eq!((bench.terminal(), bench.outcome().totals.turns), (&Terminal::MaxTurns, 2));
    assert!(bench.kept().ends_with("assistant(use=B) user(result=B)"), "results are kept: {}", bench.kept());
    assert_eq!(bench.outcome().errors, ["the turn limit is reached".into()]);
    let mut within = QueryHarness::new(|settings| settings.session.max_turns = Some(2));
    within.answers("use=A", "tool_use");
    within.ends("A");
    within.answers("done", "end_turn");
    assert_eq!((within.terminal(), within.outcome().totals.turns), (&Terminal::Completed, 1), "an answer without tools is no turn");
}

#[test]
fn q_18_a_tool_hook_that_says_stop_ends_the_prompt_before_queued_messages() {
    let mut env = environment(|_| ());
    env.hooks = vec![hook("guard", HookEvent::PostToolUse)];
    let mut bench = QueryHarness::with_environment(env);
    bench.answers("use=A@Write", "tool_use");
    assert!(bench.submits(2));
    bench.ends("A");
    let _ = bench.seen();
    bench.hook_says(HookOutcome { stop: Some("enough".into()), ..HookOutcome::default() });
    assert_eq!(bench.seen(), ["result=A", "warning a hook ends the turn: enough"]);
    assert_eq!((bench.terminal(), bench.outcome().errors.len()), (&Terminal::HookStopped, 0));
    assert_eq!(bench.kept(), "user(hi) assistant(use=A) user(result=A)");
    assert_eq!(bench.outcome().queued, [message(2)]);
}

#[test]
fn t_14_a_tool_that_aborts_itself_ends_the_prompt_as_a_cancel_does() {
    let mut bench = QueryHarness::new(|_| ());
    bench.answers("use=A use=B", "tool_use");
    let _ = bench.seen();
    let run = bench.runs[0].1;
    bench.input(&Input::ToolEnded { run, outcome: Arc::new(ToolOutcome { abort: Some("no".into()), ..ToolOutcome::error("no") }) });
    assert_eq!(bench.query.state.phase(), QueryPhase::Ending, "the other tool has its grace");
    bench.ends("B!");
    assert_eq!(*bench.terminal(), Terminal::AbortedTools);
    assert!(bench.seen().contains(&String::from("[The user interrupted while tools ran.]")));
}

fn with_line(settings: &mut Settings) {
    settings.session.tool_use_summaries = Some("claude-haiku-4-5".into());
}

/// A line is asked for about one tool; its request, and that of the next turn.
fn asked_for_a_line(change: impl FnOnce(&mut Settings)) -> (QueryHarness, RequestId) {
    let mut bench = QueryHarness::new(|settings| {
        with_line(settings);
        change(settings);
    });
    bench.answers("use=A", "tool_use");
    bench.ends("A");
    let line = bench.requests[1].0;
    assert_eq!(
        (line.turn, &*bench.requests[1].1.model, bench.asked().turn),
        (2, "claude-haiku-4-5", 3),
        "the line has a number of its own"
    );
    let _ = bench.seen();
    (bench, line)
}

const LINE: &str = r#"{"type":"message","content":[{"type":"text","text":"Read A"}],"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":5}}"#;

impl QueryHarness {
    fn line(&mut self, id: RequestId, status: u16, how: AnswerEnd) {
        self.head(id, status);
        self.input(&Input::Body { id, body: LINE.into() });
        self.input(&Input::End { id, how });
    }
}

#[test]
fn s_7_a_line_is_emitted_and_paid_for_and_takes_no_time() {
    let (mut bench, line) = asked_for_a_line(|_| ());
    let before = bench.query.totals.api_time;
    bench.now = Time(5_000_000);
    bench.line(line, 200, AnswerEnd::Complete);
    assert_eq!(bench.seen(), ["summary Read A"]);
    let of = &bench.query.totals.by_model[1];
    assert_eq!((&*of.model, of.usage.output_tokens), ("claude-haiku-4-5", Some(5)));
    assert_eq!(bench.query.totals.api_time, before, "nobody waits for it");
    bench.answers("done", "end_turn");
    assert_eq!(*bench.terminal(), Terminal::Completed);
}

#[test]
fn s_7_a_line_that_fails_is_not_asked_for_again() {
    for (status, how) in [(500, AnswerEnd::Complete), (200, AnswerEnd::Reset), (529, AnswerEnd::Complete)] {
        let (mut bench, line) = asked_for_a_line(|_| ());
        bench.line(line, status, how);
        assert_eq!((bench.seen(), bench.requests.len()), (vec![], 3), "{status}");
        assert_eq!(bench.query.totals.by_model.len(), 1, "{status}: it costs nothing");
    }
}

#[test]
fn s_7_a_line_that_is_late_is_dropped_with_its_request() {
    let (mut ended, line) = asked_for_a_line(|_| ());
    ended.answers("done", "end_turn");
    assert_eq!(ended.seen(), ["done", &format!("close {line}")]);
    let (mut next, line) = asked_for_a_line(|_| ());
    next.answers("use=B", "tool_use");
    let _ = next.seen();
    next.ends("B");
    assert_eq!(next.seen()[1], format!("close {line}"), "what was done since is another matter");
    next.line(line, 200, AnswerEnd::Complete);
    assert!(!next.seen().contains(&String::from("summary Read A")), "it was dropped");
    let (mut aborted, line) = asked_for_a_line(|_| ());
    let _ = aborted.streams("use=B");
    aborted.input(&Input::Cancel);
    assert!(aborted.seen().contains(&format!("close {line}")), "at once, though the tool has its grace");
    assert_eq!(aborted.query.state.phase(), QueryPhase::Ending);
}
