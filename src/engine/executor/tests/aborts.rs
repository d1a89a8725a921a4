//! The executor alone, when something is aborted (T-12 to T-20).

use super::*;
use crate::settings::{AbortResultOrder, DiscardPolicy, QueuedBlockPolicy, SiblingAbort};
use crate::time::Micros;

const GRACE: Micros = Micros::from_secs(5);

fn after(span: Micros) -> Time {
    Time::ZERO + span
}

impl ExecutorHarness {
    fn fail(&mut self, run: ToolRun) -> ToolEvent {
        self.outcome(run, ToolOutcome::error("exit code 1"))
    }

    fn abort(&mut self, kind: AbortKind) {
        self.with(|executor, scope| executor.abort(scope, kind));
    }

    fn grace_over(&mut self, now: Time) {
        self.now = now;
        let _ = self.input(Input::Timer(GRACE_TIMER));
    }

    fn results(&mut self) -> Vec<String> {
        self.emit();
        let text = |block: Block| block.json().to_value()["content"].as_str().unwrap_or_default().to_string();
        self.executor.results(&self.env.settings).into_iter().map(text).collect()
    }
}

fn bench() -> ExecutorHarness {
    ExecutorHarness::new(at_once(EmissionOrder::Eager))
}

#[test]
fn t_13_a_failed_shell_aborts_its_siblings_and_what_comes_later() {
    let mut bench = bench();
    let shell = bench.submit("Sh", ToolInput::Valid(Json::trusted(r#"{"command":"make"}"#)));
    let sibling = bench.tool("R");
    bench.tool("W");
    bench.seen();
    let _ = bench.fail(shell);
    assert_eq!(bench.seen(), ["stop B", "result A", "result C"], "the waiting one is answered and never starts");
    bench.tool("R");
    bench.emit();
    assert_eq!(bench.seen(), ["result D"], "the scope stays aborted");
    let _ = bench.end(sibling);
    let results = bench.results();
    assert_eq!(results[0], "exit code 1", "the failed one keeps its own result");
    assert!(results[1..].iter().all(|text| text == "Cancelled: the parallel tool call Sh(make) failed."), "{results:?}");
}

#[test]
fn t_13_other_tools_and_a_setting_that_is_off_abort_nobody() {
    let mut bench = bench();
    let (a, b) = (bench.tool("R"), bench.tool("R"));
    bench.seen();
    let _ = bench.fail(a);
    assert_eq!(bench.seen(), ["result A"]);
    let _ = bench.end(b);
    let mut off = ExecutorHarness::new(Settings { sibling_abort: SiblingAbort::Off, ..at_once(EmissionOrder::Eager) });
    let shell = off.tool("Sh");
    off.tool("R");
    off.seen();
    let _ = off.fail(shell);
    assert_eq!(off.seen(), ["result A"]);
}

#[test]
fn t_14_a_tool_that_aborts_itself_aborts_the_query_unless_that_is_aborted() {
    let outcome = ToolOutcome { abort: Some("refused".into()), ..ToolOutcome::error("refused") };
    let mut bench = bench();
    let run = bench.tool("W");
    let ended = bench.outcome(run, outcome.clone());
    assert_eq!(ended.abort.as_deref(), Some("refused"));
    let mut bench = self::bench();
    let run = bench.tool("W");
    bench.abort(AbortKind::Cancel);
    let ended = bench.outcome(run, outcome.clone());
    assert_eq!(ended.abort, None);
}

#[test]
fn t_15_cancel_stops_what_runs_and_answers_what_waits() {
    let mut bench = bench();
    bench.tool("W");
    bench.tool("R");
    bench.seen();
    bench.abort(AbortKind::Cancel);
    bench.emit();
    assert_eq!(bench.seen(), ["stop A"], "the waiting one is complete, and held back by the exclusive one that still runs");
    assert!(!bench.executor.is_settled());
}

#[test]
fn t_15_interrupt_stops_only_what_says_so_and_nothing_waiting_starts() {
    let mut bench = bench();
    let write = bench.tool("W");
    bench.tool("W");
    bench.seen();
    bench.abort(AbortKind::Interrupt);
    assert_eq!(bench.seen(), [] as [&str; 0], "a tool that blocks goes on");
    let _ = bench.end(write);
    assert_eq!(bench.seen(), ["result A", "result B"]);
    assert_eq!(bench.results()[0], "done", "it keeps its own result");
}

#[test]
fn t_15a_a_tool_that_does_not_stop_is_answered_after_its_grace_and_its_late_word_is_dropped() {
    let mut bench = bench();
    let run = bench.tool("R");
    bench.abort(AbortKind::Cancel);
    bench.seen();
    bench.grace_over(after(Micros(GRACE.0 - 1)));
    bench.emit();
    assert_eq!(bench.seen(), [] as [&str; 0], "its grace is not over");
    bench.grace_over(after(GRACE));
    bench.emit();
    assert_eq!(bench.seen(), ["result A"]);
    let _ = bench.end(run);
    assert_eq!(bench.seen(), [] as [&str; 0]);
    assert!(bench.results()[0].starts_with("The user rejected"));
}

#[test]
fn t_17_a_tool_that_cannot_say_counts_as_block() {
    let mut bench = bench();
    bench.tool("R");
    assert!(!bench.executor.blocks_interrupt());
    let mut bench = self::bench();
    bench.tool("Unsure");
    assert!(bench.executor.blocks_interrupt());
}

#[test]
fn t_18_the_user_may_interrupt_while_everything_that_runs_stops_for_it() {
    let told = |bench: &mut ExecutorHarness| -> Vec<bool> {
        let effects = bench.effects.drain().filter_map(|(_, effect)| match effect {
            Effect::Emit(Emission::Interruptible(may)) => Some(may),
            _ => None,
        });
        effects.collect()
    };
    let mut bench = bench();
    let read = bench.tool("R");
    let shell = bench.tool("Sh");
    assert_eq!(told(&mut bench), [true, false], "the shell cannot say, so it counts as block");
    let _ = bench.end(shell);
    assert_eq!(told(&mut bench), [true]);
    let _ = bench.end(read);
    assert_eq!(told(&mut bench), [false]);
}

#[test]
fn t_19_a_discarded_executor_says_nothing_more_and_what_still_runs_holds_others_back() {
    let mut bench = bench();
    let write = bench.tool("W");
    bench.tool("R");
    bench.seen();
    bench.with(|executor, scope| executor.discard(scope));
    assert_eq!(bench.seen(), ["stop A"]);
    bench.tool("R");
    assert_eq!(bench.seen(), [] as [&str; 0], "the old write still counts as executing (T-4)");
    let old = ToolRun { request: RequestId { attempt: 9, ..write.request }, ..write };
    let _ = bench.end(old);
    assert_eq!(bench.seen(), [] as [&str; 0], "another run's end is not its end");
    bench.grace_over(after(GRACE));
    assert_eq!(bench.seen(), ["start A"]);
}

#[test]
fn t_19_what_was_told_to_stop_before_keeps_its_own_grace_in_the_next_executor() {
    let mut bench = bench();
    let write = bench.tool("W");
    bench.abort(AbortKind::Cancel);
    bench.seen();
    bench.now = after(Micros(GRACE.0 / 2));
    let discarded = |bench: &mut ExecutorHarness| {
        bench.with(|executor, scope| executor.discard(scope));
    };
    discarded(&mut bench);
    assert_eq!(bench.seen(), [] as [&str; 0], "it knows already");
    bench.tool("R");
    assert_eq!(bench.seen(), [] as [&str; 0], "it still counts as executing (T-4)");
    bench.grace_over(after(Micros(GRACE.0 - 1)));
    assert_eq!(bench.seen(), [] as [&str; 0], "its grace is not over");
    bench.grace_over(after(GRACE));
    assert_eq!(bench.seen(), ["start A"]);
    let _ = bench.end(write);
}

impl ExecutorHarness {
    fn discards(&mut self) {
        self.with(|executor, scope| executor.discard(scope));
    }

    /// The tool of the next attempt, or of the next request.
    fn asks_again(&mut self, request: RequestId) -> ToolRun {
        self.request = request;
        self.tool("W")
    }

    /// The runs that were noted as repetitions of others, since the last call.
    fn repeated(&mut self) -> Vec<String> {
        let told = |effect| match effect {
            Effect::Note(Note::Repeated { run, earlier }) => Some(format!("{run} repeats {earlier}")),
            _ => None,
        };
        self.effects.drain().filter_map(|(_, effect)| told(effect)).collect()
    }
}

const AGAIN: RequestId = RequestId { prompt: 1, turn: 1, attempt: 2 };
const THEN: RequestId = RequestId { prompt: 1, turn: 2, attempt: 1 };
const LATER: RequestId = RequestId { prompt: 1, turn: 3, attempt: 1 };

#[test]
fn o_17_a_discarded_tool_that_finishes_though_it_was_told_to_stop_is_done() {
    for (outcome, noted) in [(ToolOutcome::text("done"), &["1.2A repeats 1A"][..]), (ToolOutcome::error("stopped"), &[])] {
        let mut bench = bench();
        let write = bench.tool("W");
        bench.discards();
        bench.asks_again(AGAIN);
        let _ = bench.outcome(write, outcome.clone());
        assert_eq!(bench.repeated(), noted, "{outcome:?}");
        bench.emit();
    }
}

#[test]
fn o_17_a_discarded_tool_that_finishes_after_its_grace_is_done_for_later_requests() {
    let mut bench = bench();
    let write = bench.tool("W");
    bench.discards();
    bench.grace_over(after(GRACE));
    bench.executor.begin_answer();
    let _ = bench.end(write);
    bench.asks_again(THEN);
    assert_eq!(bench.repeated(), ["2A repeats 1A"]);
}

#[test]
fn o_17_what_a_discarded_tool_did_stays_done_until_the_model_is_told_of_the_same() {
    let mut bench = bench();
    let write = bench.tool("W");
    let _ = bench.end(write);
    bench.discards();
    bench.executor.begin_answer();
    let again = bench.asks_again(THEN);
    assert_eq!(bench.repeated(), ["2A repeats 1A"], "an answer in between does not undo it");
    let _ = bench.end(again);
    bench.executor.begin_answer();
    bench.asks_again(LATER);
    assert_eq!(bench.repeated(), [] as [&str; 0], "the model knows, and asks once more");
}

#[test]
fn t_20_without_streaming_execution_tools_run_in_batches_after_the_stream() {
    let settings = Settings { streaming_execution: false, max_batch_tools: 2, ..at_once(EmissionOrder::Eager) };
    let mut bench = ExecutorHarness::new(settings);
    let runs: Vec<_> = ["R", "R", "R", "W", "R"].into_iter().map(|name| bench.tool(name)).collect();
    assert_eq!(bench.seen(), [] as [&str; 0], "nothing starts beside the stream");
    bench.with(Executor::on_stream_over).by_nobody();
    assert_eq!(bench.seen(), ["start A", "start B"], "two at once");
    let _ = bench.end(runs[0]);
    assert_eq!(bench.seen(), ["start C", "result A"]);
    let _ = bench.end(runs[1]);
    let _ = bench.end(runs[2]);
    assert_eq!(bench.seen(), ["result B", "start D", "result C"]);
    let _ = bench.end(runs[3]);
    assert_eq!(bench.seen(), ["start E", "result D"]);
}

#[test]
fn t_20_an_unknown_tool_waits_for_the_stream_and_splits_no_batch() {
    let mut bench = ExecutorHarness::new(Settings { streaming_execution: false, ..at_once(EmissionOrder::Eager) });
    for name in ["Nope", "R", "Nope", "R", "W"] {
        bench.tool(name);
    }
    bench.emit();
    assert_eq!(bench.seen(), [] as [&str; 0], "its error waits like all results");
    bench.with(Executor::on_stream_over).by_nobody();
    assert_eq!(bench.seen(), ["start B", "start D"]);
    bench.emit();
    assert_eq!(bench.seen(), ["result A", "result C"]);
}

#[test]
fn t_20_nothing_starts_beside_the_stream_whatever_comes_in() {
    let mut bench = ExecutorHarness::new(Settings { streaming_execution: false, ..at_once(EmissionOrder::Eager) });
    bench.tool("R");
    let late = Input::Timer(HOOK_TIMER);
    let _ = bench.input(late);
    bench.with(|executor, scope| executor.on_room(scope)).by_nobody();
    assert_eq!(bench.seen(), [] as [&str; 0]);
    bench.with(Executor::on_stream_over).by_nobody();
    assert_eq!(bench.seen(), ["start A"]);
}

#[test]
fn t_20_a_failed_shell_aborts_its_batch_where_that_is_set_and_never_the_next_one() {
    let seen = |aborts: bool| {
        let batch_sibling_abort = aborts.into();
        let mut bench = ExecutorHarness::new(Settings { streaming_execution: false, batch_sibling_abort, ..at_once(EmissionOrder::Eager) });
        let shell = bench.tool("Sh");
        let sibling = bench.tool("R");
        bench.tool("W");
        bench.with(Executor::on_stream_over).by_nobody();
        bench.seen();
        let _ = bench.fail(shell);
        let _ = bench.end(sibling);
        bench.seen()
    };
    assert_eq!(seen(true), ["stop B", "result A", "start C", "result B"]);
    assert_eq!(seen(false), ["result A", "start C", "result B"]);
}

fn in_turn() -> ExecutorHarness {
    ExecutorHarness::new(Settings { abort_results: AbortResultOrder::InTurn, ..at_once(EmissionOrder::Eager) })
}

#[test]
fn t_15a_queued_entries_are_answered_at_once_or_each_in_its_turn() {
    for (mut bench, at_the_abort, later) in [
        (bench(), &["stop A", "result B", "result C", "result D"][..], &["result A"][..]),
        (in_turn(), &["stop A"], &["result A", "result B", "result C", "result D"]),
    ] {
        let first = bench.tool("R");
        for name in ["W", "R", "W"] {
            bench.tool(name);
        }
        bench.seen();
        bench.abort(AbortKind::Cancel);
        bench.emit();
        assert_eq!(bench.seen(), at_the_abort);
        let _ = bench.end(first);
        assert_eq!(bench.seen(), later);
        assert!(bench.executor.is_settled());
    }
}

#[test]
fn t_15a_in_turn_the_grace_of_what_executes_is_the_longest_wait() {
    let mut bench = in_turn();
    bench.tool("W");
    bench.tool("W");
    bench.seen();
    bench.abort(AbortKind::Cancel);
    assert_eq!(bench.seen(), ["stop A"]);
    bench.grace_over(after(GRACE));
    assert_eq!(bench.seen(), ["result A", "result B"]);
}

#[test]
fn t_15a_in_turn_nothing_of_an_aborted_scope_starts() {
    let mut bench = in_turn();
    let shell = bench.submit("Sh", ToolInput::Valid(Json::trusted(r#"{"command":"make"}"#)));
    let sibling = bench.tool("R");
    bench.tool("W");
    bench.seen();
    let _ = bench.fail(shell);
    assert_eq!(bench.seen(), ["stop B", "result A"]);
    bench.tool("R");
    bench.emit();
    assert_eq!(bench.seen(), [] as [&str; 0], "what arrives later waits for its turn, too");
    let _ = bench.end(sibling);
    assert_eq!(bench.seen(), ["result B", "result C", "result D"]);
}

#[test]
fn t_15a_before_the_batches_are_cut_there_is_no_turn() {
    let settings = Settings { streaming_execution: false, abort_results: AbortResultOrder::InTurn, ..at_once(EmissionOrder::Eager) };
    let mut bench = ExecutorHarness::new(settings);
    bench.tool("R");
    bench.abort(AbortKind::Cancel);
    bench.tool("W");
    bench.emit();
    assert_eq!(bench.seen(), ["result A", "result B"]);
}

fn letting_run() -> ExecutorHarness {
    ExecutorHarness::new(Settings { queued_block: QueuedBlockPolicy::Run, ..at_once(EmissionOrder::Eager) })
}

#[test]
fn t_15a_a_queued_block_tool_is_answered_or_runs_after_a_message() {
    for (mut bench, later) in [(bench(), &["result A"][..]), (letting_run(), &["start C", "result A"])] {
        let reads = bench.tool("R");
        bench.submit("R", ToolInput::Valid(Json::trusted("{}")));
        let writes = bench.tool("W");
        let _ = bench.end(ToolRun { index: 1, ..reads });
        bench.seen();
        bench.abort(AbortKind::Interrupt);
        let answered = if later.len() == 1 { &["stop A", "result C"][..] } else { &["stop A"] };
        bench.emit();
        assert_eq!(bench.seen(), answered);
        let _ = bench.end(reads);
        assert_eq!(bench.seen(), later);
        let _ = bench.end(writes);
        assert!(bench.executor.is_settled());
        let kept = if later.len() == 1 { "The user rejected" } else { "done" };
        assert!(bench.results()[2].starts_with(kept), "its own result is kept");
    }
}

#[test]
fn t_15a_a_later_cancel_ends_a_block_tool_that_was_let_run() {
    let mut bench = letting_run();
    let reads = bench.tool("R");
    let (writes, _waits) = (bench.tool("W"), bench.tool("W"));
    bench.abort(AbortKind::Interrupt);
    let _ = bench.end(reads);
    bench.seen();
    bench.abort(AbortKind::Cancel);
    assert_eq!(bench.seen(), ["stop B"]);
    let _ = bench.end(writes);
    bench.emit();
    assert_eq!(bench.seen(), ["result B", "result C"], "and no other one starts");
}

#[test]
fn t_15a_what_waits_and_is_no_block_tool_is_answered() {
    let mut bench = letting_run();
    let write = bench.tool("W");
    bench.tool("R");
    bench.tool("W");
    bench.seen();
    bench.abort(AbortKind::Interrupt);
    bench.emit();
    assert_eq!(bench.seen(), [] as [&str; 0], "the exclusive one that executes holds results back");
    let _ = bench.end(write);
    assert_eq!(bench.seen(), ["start C", "result A", "result B"]);
}

#[test]
fn t_13_a_shell_that_was_let_run_still_cancels_its_siblings() {
    let mut env = environment(Settings { queued_block: QueuedBlockPolicy::Run, ..at_once(EmissionOrder::Eager) });
    env.tools[3].interrupt = Some(InterruptBehaviour::Block);
    env.tools[3].safe = Some(false).into();
    let mut bench = ExecutorHarness::with_environment(env);
    let reads = bench.tool("R");
    let (shell, _other) = (bench.tool("Sh"), bench.tool("W"));
    bench.abort(AbortKind::Interrupt);
    let _ = bench.end(reads);
    bench.seen();
    let _ = bench.fail(shell);
    assert_eq!(bench.seen(), ["result B", "result C"]);
}

#[test]
fn t_19_tools_of_a_discarded_answer_are_stopped_or_left_running() {
    for (policy, discarded, beside) in
        [(DiscardPolicy::Stop, &["stop A", "stop B"][..], &[][..]), (DiscardPolicy::Ignore, &[], &["start A"])]
    {
        let mut bench = ExecutorHarness::new(Settings { discarded_tools: policy, ..at_once(EmissionOrder::Eager) });
        let (first, _second, _waits) = (bench.tool("R"), bench.tool("R"), bench.tool("W"));
        bench.seen();
        bench.with(|executor, scope| executor.discard(scope));
        assert_eq!(bench.seen(), discarded);
        assert_eq!(bench.executor.is_quiet(), policy == DiscardPolicy::Ignore, "what is left is waited for by nobody");
        bench.tool("W");
        assert_eq!(bench.seen(), beside, "{policy:?}");
        assert_eq!(bench.end(first), ToolEvent::default(), "what it returns is dropped");
    }
}

#[test]
fn t_28_an_input_that_cannot_be_used_aborts_siblings_where_any_failure_does() {
    for (sibling_abort, seen) in [(SiblingAbort::Failed, &["result A", "start B"][..]), (SiblingAbort::Any, &["result A", "result B"])] {
        let mut bench = ExecutorHarness::new(Settings { sibling_abort, ..at_once(EmissionOrder::Eager) });
        bench.submit("Sh", ToolInput::read("{"));
        bench.emit();
        bench.tool("R");
        bench.emit();
        assert_eq!(bench.seen(), seen);
    }
}
