//! How a prompt begins: what earlier sessions left open (S-3), a compaction that is asked for (C-9) or due (C-4), the blocking limit (Q-5).

use super::*;
use crate::budget::NanoUsd;
use crate::permission::PermissionAnswer;
use crate::settings::{ContextWindow, NeighbourMerging, OrphanedPermission, RequestPlace};
use reenact_wire::block::Message;

fn read(role: Role, blocks: &[&str]) -> Arc<Message> {
    let content = blocks.iter().map(|word| Block::from(Json::trusted(block(word)))).collect();
    Arc::new(Message { role, content })
}

/// An earlier session that was cut off while `A` and `B` were asked about.
fn cut_off() -> SessionMemory {
    let mut memory = SessionMemory::default();
    memory.conversation.begin(&[read(Role::User, &["before"]), read(Role::Assistant, &["use=A", "use=B"])], NeighbourMerging::default());
    memory
}

fn answered(answer: PermissionAnswer) -> impl FnOnce(&mut Settings) {
    move |settings| settings.session.orphaned_permission = Some(OrphanedPermission { tool_use_id: "A".into(), answer })
}

fn allow() -> PermissionAnswer {
    PermissionAnswer::Allow { updated_input: None, rules: Vec::new() }
}

#[test]
fn s_3_a_tool_use_that_nobody_answered_is_closed_with_an_error() {
    let bench = QueryHarness::begin(environment(|_| ()), cut_off(), QueryBeginning::Asking);
    assert_eq!(bench.conversation(), "user(before) assistant(use=A use=B) user(result=A! result=B! hi)");
    assert_eq!(bench.runs.len(), 0);
}

#[test]
fn s_3_one_that_was_permitted_runs_before_the_first_request() {
    let mut bench = QueryHarness::begin(environment(answered(allow())), cut_off(), QueryBeginning::Asking);
    assert_eq!(bench.seen(), ["use=A", "start A"], "consumers see it once more");
    bench.ends("A");
    assert_eq!(bench.seen(), ["result=A", "request 1 8000"]);
    assert_eq!(bench.conversation(), "user(before) assistant(use=A use=B) user(result=A result=B! hi)");
}

#[test]
fn s_3_one_that_was_refused_is_a_denial_and_the_prompt_begins() {
    let refuse = PermissionAnswer::Refuse { reason: "no".into() };
    let mut bench = QueryHarness::begin(environment(answered(refuse)), cut_off(), QueryBeginning::Asking);
    assert_eq!(bench.conversation(), "user(before) assistant(use=A use=B) user(result=A! result=B! hi)");
    bench.answers("done", "end_turn");
    assert_eq!(bench.outcome().totals.denials.len(), 1);
}

#[test]
fn s_10_where_nothing_may_be_spent_nothing_begins_and_nothing_stays_open() {
    let refuse = |reason: &str| PermissionAnswer::Refuse { reason: reason.into() };
    let abort = PermissionAnswer::RefuseAndAbort { reason: "no".into() };
    for begins in [QueryBeginning::Asking, QueryBeginning::Compacting(None)] {
        for answer in [allow(), refuse("no"), abort.clone()] {
            let nothing = |settings: &mut Settings| {
                answered(answer)(settings);
                settings.session.max_budget = Some(NanoUsd(0));
            };
            let mut bench = QueryHarness::begin(environment(nothing), cut_off(), begins.clone());
            if let Some((id, _)) = bench.runs.first().cloned() {
                bench.ends(id.as_ref());
            }
            assert_eq!((bench.terminal(), bench.requests.len(), bench.runs.len()), (&Terminal::MaxBudget, 0, 0), "{begins:?}");
            assert!(bench.kept().starts_with("user(before) assistant(use=A use=B) user(result=A! result=B!"), "{}", bench.kept());
        }
    }
}

#[test]
fn s_3_a_cancel_meanwhile_leaves_nothing_open() {
    let mut bench = QueryHarness::begin(environment(answered(allow())), cut_off(), QueryBeginning::Asking);
    bench.input(&Input::Cancel);
    bench.ends("A!");
    assert_eq!((bench.terminal(), bench.requests.len()), (&Terminal::AbortedTools, 0));
    assert!(bench.kept().starts_with("user(before) assistant(use=A use=B) user(result=A! result=B!) user(hi)"), "{}", bench.kept());
}

#[test]
fn c_9_a_compaction_that_is_asked_for_is_all_that_happens() {
    let mut bench =
        QueryHarness::begin(environment(|settings| settings.compaction.keep_messages = 0), earlier(), QueryBeginning::Compacting(None));
    bench.answers("<summary>Short.</summary>", "end_turn");
    assert_eq!((bench.terminal(), bench.requests.len()), (&Terminal::Completed, 1));
    assert!(bench.kept().contains("Short."), "{}", bench.kept());
    assert_eq!(bench.outcome().totals.by_model.len(), 1, "it is paid for");
    let mut lost =
        QueryHarness::begin(environment(|settings| settings.compaction.keep_messages = 0), earlier(), QueryBeginning::Compacting(None));
    lost.fails(400, "no");
    assert_eq!(*lost.terminal(), Terminal::ModelError);
}

#[test]
fn c_4_a_summary_that_is_due_comes_before_the_request_and_names_follow_it() {
    let change = |settings: &mut Settings| {
        nearly_full(settings);
        settings.session.task_budget = Some(10_000);
    };
    let mut bench = QueryHarness::begin(environment(change), earlier(), QueryBeginning::Asking);
    assert_eq!(bench.query.state.phase(), QueryPhase::Compacting);
    bench.answers("<summary>Short.</summary>", "end_turn");
    assert_eq!(bench.query.state.phase(), QueryPhase::Calling);
    assert_eq!(bench.asked(), RequestId { prompt: 1, turn: 2, attempt: 1 }, "behind the one that summarised");
    assert!(!bench.requests[1].1.extra.as_str().contains(r#""remaining":10000"#), "a compaction uses up the task's tokens (C-6)");
    bench.answers("done", "end_turn");
    assert_eq!(*bench.terminal(), Terminal::Completed);
}

#[test]
fn q_5_nothing_is_sent_over_the_hard_limit_when_nothing_helps() {
    let change = |settings: &mut Settings| {
        let compaction = &mut settings.compaction;
        compaction.context_window = ContextWindow::Tokens(21_000);
        (compaction.auto, compaction.reactive, compaction.collapse) = (false, false, false);
        (compaction.output_reserve, compaction.hard_margin) = (20_000, 500);
    };
    let mut bench = QueryHarness::begin(environment(change), earlier(), QueryBeginning::Asking);
    assert_eq!((bench.terminal(), bench.requests.len()), (&Terminal::BlockingLimit, 0));
    assert_eq!(bench.seen().last().map(|last| &**last), Some("error prompt_too_long"));
}

#[test]
fn q_19_another_model_than_the_one_that_signed_gets_no_signatures() {
    let mut first = QueryHarness::new(|_| ());
    first.answers("think use=A", "tool_use");
    first.ends("A");
    first.answers("done", "end_turn");
    let said = first.memory;
    let mut memory = SessionMemory { conversation: Default::default(), ..said.clone() };
    memory.conversation.begin(&said.conversation.messages(NeighbourMerging::default()), NeighbourMerging::default());
    let same = QueryHarness::begin(environment(|_| ()), memory.clone(), QueryBeginning::Asking);
    assert!(same.conversation().contains("assistant(think use=A)"), "{}", same.conversation());
    let other = QueryHarness::begin(environment(|settings| settings.model = "claude-opus-4-5".into()), memory, QueryBeginning::Asking);
    assert!(!other.conversation().contains("think"), "{}", other.conversation());
}

#[test]
fn q_22_a_message_waits_for_the_tool_of_an_earlier_session_that_blocks() {
    let mut memory = SessionMemory::default();
    memory.conversation.begin(&[read(Role::User, &["before"]), read(Role::Assistant, &["use=A@Write"])], NeighbourMerging::default());
    let mut bench = QueryHarness::begin(environment(answered(allow())), memory, QueryBeginning::Asking);
    assert!(bench.submits(2));
    bench.ends("A");
    bench.answers("done", "end_turn");
    assert_eq!((bench.terminal(), &*bench.outcome().queued), (&Terminal::Completed, &[message(2)][..]));
}

#[test]
fn s_3_a_person_who_refuses_and_aborts_ends_the_prompt_before_a_request() {
    let refuse = PermissionAnswer::RefuseAndAbort { reason: "no".into() };
    let bench = QueryHarness::begin(environment(answered(refuse)), cut_off(), QueryBeginning::Asking);
    assert_eq!((bench.terminal(), bench.requests.len()), (&Terminal::AbortedTools, 0));
}

#[test]
fn q_13_a_prompt_begins_a_chain_of_its_own() {
    let mut memory = earlier();
    memory.tracking.reactively_compacted = true;
    let mut bench = QueryHarness::begin(environment(|settings| settings.compaction.keep_messages = 0), memory, QueryBeginning::Asking);
    bench.fails(400, "prompt is too long: 200251 tokens > 200000 maximum");
    assert_eq!(bench.query.state.phase(), QueryPhase::Compacting);
}

#[test]
fn c_4_the_request_behind_a_summary_that_failed_has_a_number_of_its_own() {
    let mut bench = QueryHarness::begin(environment(nearly_full), earlier(), QueryBeginning::Asking);
    bench.fails(400, "no");
    assert_eq!((bench.query.state.phase(), bench.asked()), (QueryPhase::Calling, RequestId { prompt: 1, turn: 2, attempt: 1 }));
}

#[test]
fn r_9_what_a_summary_learns_of_the_speed_holds_for_the_request_behind_it() {
    let change = |settings: &mut Settings| {
        nearly_full(settings);
        settings.retry.fast_mode = true;
    };
    let mut bench = QueryHarness::begin(environment(change), earlier(), QueryBeginning::Asking);
    let is_fast = |bench: &QueryHarness| bench.requests.last().unwrap().1.extra.as_str().contains("fast");
    assert!(is_fast(&bench));
    bench.fails(429, "slow down");
    assert!(!is_fast(&bench), "at standard speed, at once");
    bench.answers("<summary>Short.</summary>", "end_turn");
    assert_eq!(bench.query.state.phase(), QueryPhase::Calling);
    assert!(!is_fast(&bench), "the cooldown is not over");
}

#[test]
fn s_11_what_the_host_has_said_counts_from_the_furthest_request() {
    let reached = RequestPlace { prompt: 2, request: 1 };
    let mut bench = QueryHarness::begin(environment(|_| ()), SessionMemory { reached, ..SessionMemory::default() }, QueryBeginning::Asking);
    bench.answers("done", "end_turn");
    assert_eq!(bench.memory.reached, reached, "an earlier prompt may come later");
}
