//! Before a good end: stop hooks and the token budget.

use super::*;
use crate::permission::PermissionWord;

fn with_hook(change: impl FnOnce(&mut Settings)) -> QueryHarness {
    let mut env = environment(change);
    env.hooks = vec![hook("guard", HookEvent::Stop)];
    QueryHarness::with_environment(env)
}

fn objection(reason: &str) -> HookOutcome {
    HookOutcome { decision: Some(PermissionWord::Deny), reason: Some(reason.into()), ..HookOutcome::default() }
}

#[test]
fn q_16_a_silent_hook_lets_the_prompt_end() {
    let mut bench = with_hook(|_| ());
    bench.answers("a", "end_turn");
    assert_eq!(bench.seen(), ["request 1 8000", "a", "hook"]);
    assert_eq!(&*bench.hooks[0].1.data.to_string(), "\"a\"", "the hook is told what was said last");
    bench.hook_says(HookOutcome::default());
    assert_eq!((bench.terminal(), &bench.outcome().errors), (&Terminal::Completed, &vec![]));
}

#[test]
fn q_16_an_objection_goes_back_and_the_next_hook_knows_of_it() {
    let mut bench = with_hook(|_| ());
    bench.answers("a", "end_turn");
    let _ = bench.seen();
    bench.hook_says(HookOutcome { context: Some("tests fail".into()), ..objection("Run the tests.") });
    assert_eq!(bench.seen(), ["context tests fail", "hidden stop_hook_blocking", "-> stop_hook_blocking", "request 2 8000"]);
    assert_eq!(bench.conversation(), "user(hi) assistant(a) user(Run the tests. Hook guard says: tests fail)");
    bench.answers("b", "end_turn");
    assert_eq!(bench.seen(), ["b", "hook again"]);
    bench.hook_says(objection("More."));
    assert!(bench.conversation().ends_with("assistant(b) user(More.)"), "{}", bench.conversation());
}

#[test]
fn q_16_prevent_continuation_ends_the_prompt_whatever_else_is_said() {
    let mut bench = with_hook(|settings| settings.session.token_budget = Some(1_000));
    bench.answers("a", "end_turn");
    let _ = bench.seen();
    bench.hook_says(HookOutcome { stop: Some("enough".into()), ..objection("Run the tests.") });
    assert_eq!(bench.seen(), ["warning a stop hook ends the turn: enough"]);
    assert_eq!((bench.terminal(), &*bench.kept()), (&Terminal::StopHookPrevented, "user(hi) assistant(a)"));
    assert_eq!(bench.outcome().errors.len(), 0, "it ends well");
}

#[test]
fn q_16_a_hook_that_fails_stops_nothing() {
    let mut bench = with_hook(|_| ());
    bench.answers("a", "end_turn");
    let _ = bench.seen();
    bench.hook_says(HookOutcome { failure: Some("not found".into()), ..HookOutcome::default() });
    assert_eq!(bench.seen(), ["warning stop hook guard failed: not found"]);
    assert_eq!(*bench.terminal(), Terminal::Completed);
}

#[test]
fn q_16_hooks_are_not_asked_where_the_end_is_not_good() {
    let mut lost = with_hook(|settings| settings.compaction.reactive = false);
    lost.fails(400, "prompt is too long: 2 tokens > 1 maximum");
    assert_eq!((lost.hooks.len(), lost.terminal()), (0, &Terminal::PromptTooLong));
    let mut refused = with_hook(|_| ());
    refused.answers("no", "refusal");
    assert_eq!(refused.hooks.len(), 0);
}

#[test]
fn q_16_each_answer_has_hooks_of_its_own_and_a_late_word_is_not_heard() {
    let mut bench = with_hook(|_| ());
    bench.answers("a", "end_turn");
    bench.hook_says(objection("Go on."));
    let first = bench.hooks[0].0;
    bench.answers("b", "end_turn");
    assert_eq!(bench.hooks.len(), 2);
    let stop = HookOutcome { stop: Some("late".into()), ..HookOutcome::default() };
    bench.input(&Input::HookEnded { hook: first, outcome: Arc::new(stop) });
    assert_eq!(bench.query.state.phase(), QueryPhase::StopHooks, "it is about another answer");
}

#[test]
fn q_17_the_model_is_nudged_until_nine_tenths_are_used() {
    let mut bench = QueryHarness::new(|settings| settings.session.token_budget = Some(1_000));
    let mut answer = |tokens| {
        let id = bench.streams("a");
        bench.stops(id, "end_turn", tokens);
        bench.seen()
    };
    let nudged = "hidden token_budget_continuation";
    assert_eq!(answer(600)[1..], ["a", nudged, "-> token_budget_continuation", "request 2 8000"]);
    assert_eq!(answer(299), ["a", nudged, "-> token_budget_continuation", "request 3 8000"]);
    assert_eq!(answer(1), ["a"], "900 of 1000");
    assert_eq!(*bench.terminal(), Terminal::Completed);
}

#[test]
fn q_17_continuations_that_give_little_are_given_up() {
    let mut bench = QueryHarness::new(|settings| settings.session.token_budget = Some(100_000));
    for requests in [2, 3, 4, 4] {
        bench.answers("a", "end_turn");
        assert_eq!(bench.requests.len(), requests, "three continuations, of which the last two gave ten tokens each");
    }
    assert_eq!(*bench.terminal(), Terminal::Completed);
}

#[test]
fn q_17_the_nudge_says_how_much_is_used() {
    let mut bench = QueryHarness::new(|settings| settings.session.token_budget = Some(1_000));
    bench.answers("a", "end_turn");
    let nudge = "1% of the tokens for this turn are used (10 of 1000). Go on with the work; do not sum up.";
    assert_eq!(bench.conversation(), format!("user(hi) assistant(a) user({nudge})"));
}

#[test]
fn q_16_a_hook_that_does_not_answer_in_time_stops_nothing() {
    let mut bench = with_hook(|_| ());
    bench.answers("a", "end_turn");
    let _ = bench.seen();
    bench.now = Time::ZERO + HookDefinition::TIMEOUT;
    bench.input(&Input::Timer(HOOK_TIMER));
    assert_eq!(bench.seen()[0], "stop hook");
    assert_eq!(*bench.terminal(), Terminal::Completed);
}

#[test]
fn q_17_what_hooks_say_goes_with_the_nudge() {
    let mut bench = with_hook(|settings| settings.session.token_budget = Some(1_000));
    bench.answers("a", "end_turn");
    bench.hook_says(HookOutcome { context: Some("tests fail".into()), ..HookOutcome::default() });
    assert!(bench.conversation().ends_with("do not sum up. Hook guard says: tests fail)"), "{}", bench.conversation());
}

#[test]
fn q_16_a_nudge_does_not_make_an_objection_forgotten() {
    let mut bench = with_hook(|settings| settings.session.token_budget = Some(1_000));
    bench.answers("a", "end_turn");
    bench.hook_says(objection("Run the tests."));
    bench.answers("b", "end_turn");
    bench.hook_says(HookOutcome::default());
    let _ = bench.seen();
    bench.answers("c", "end_turn");
    assert_eq!(bench.seen(), ["c", "hook again"]);
}
