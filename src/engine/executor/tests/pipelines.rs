//! The pipeline of single tool uses: what each step asks for, what comes of each answer, and what an abort finds (T-21 to T-30).

use core::hash::Hash as _;

use super::*;
use crate::contract::{FailureCause, HookEvent, HookOutcome, HookRun, PermissionAnswer, PermissionWord, ToolCheck};
use crate::hook::HookDefinition;
use crate::key::KeySink;
use crate::permission::PermissionSettings;
use crate::schema::{SchemaProblem, Validate, Validators};
use crate::time::Micros;

/// Finds fault with every input that has a member `bad`.
#[derive(Debug)]
struct BadMemberValidator;

impl Validate for BadMemberValidator {
    fn problems(&self, _tool: &str, input: &Json) -> Vec<SchemaProblem> {
        let problem = || SchemaProblem { path: "bad".into(), expected: "nothing was expected".into() };
        input.as_str().contains("\"bad\"").then(problem).into_iter().collect()
    }
}

/// Permissions ask, and `W` looks at its input; hooks as given.
fn asking(hooks: &[HookEvent]) -> ExecutorHarness {
    let mut env = environment(Settings { permissions: Some(PermissionSettings::default()), ..at_once(EmissionOrder::Eager) });
    env.validators = Validators::new(BadMemberValidator);
    env.tools[1].checks = true;
    let hook = |event: &HookEvent| HookDefinition { name: "h".into(), event: *event, matcher: None, timeout: HookDefinition::TIMEOUT };
    env.hooks = hooks.iter().map(hook).collect();
    ExecutorHarness::with_environment(env)
}

/// No permissions, no checks.
fn plain(hooks: &[HookEvent]) -> ExecutorHarness {
    let mut bench = asking(hooks);
    bench.env.settings.permissions = None;
    bench.env.tools[1].checks = false;
    bench
}

impl ExecutorHarness {
    fn hook(&mut self, hook: u32, run: ToolRun, outcome: HookOutcome) -> ToolEvent {
        self.input(Input::HookEnded { hook: HookRun { hook, subject: HookSubject::Tool(run) }, outcome: Arc::new(outcome) })
    }

    fn answer(&mut self, run: ToolRun, answer: PermissionAnswer) -> ToolEvent {
        self.input(Input::PermissionAnswered { run, answer: Arc::new(answer) })
    }

    fn check(&mut self, run: ToolRun, check: ToolCheck) -> ToolEvent {
        self.input(Input::ToolChecked { run, check })
    }

    fn stored(&mut self, run: ToolRun, path: Option<&str>) -> ToolEvent {
        self.input(Input::ResultStored { run, path: path.map(Into::into) })
    }

    fn pass_to(&mut self, now: Time) -> ToolEvent {
        self.now = now;
        self.input(Input::Timer(HOOK_TIMER))
    }

    /// The effects since the last call: questions to the world, and results.
    fn asked(&mut self) -> Vec<String> {
        let told = |effect| match effect {
            Effect::CheckTool { .. } => Some("check".into()),
            Effect::RunHook { hook, input } => Some(format!("hook {} {}", hook.hook, input.event.as_str())),
            Effect::StopHook { hook } => Some(format!("stop hook {}", hook.hook)),
            Effect::AskPermission { .. } => Some("ask".into()),
            Effect::WithdrawPermission { .. } => Some("withdraw".into()),
            Effect::StartTool { tool_use, .. } => Some(format!("start {}", tool_use.input.as_str())),
            Effect::StopTool { .. } => Some("stop".into()),
            Effect::StoreResult { .. } => Some("store".into()),
            Effect::Emit(Emission::User(message)) => Some(format!("result {}", content(&message.block))),
            Effect::Emit(Emission::HookContext { text, .. }) => Some(format!("context {text}")),
            Effect::Emit(Emission::Warning { text }) => Some(format!("warning {text}")),
            Effect::Note(Note::ToolFailed { cause, .. }) => Some(format!("fails {}", cause.as_str())),
            Effect::Note(Note::Slow { step, took, .. }) => Some(format!("slow {} {took}", step.as_str())),
            _ => None,
        };
        self.effects.drain().filter_map(|(_, effect)| told(effect)).collect()
    }

    /// The steps that were noted since the last call.
    fn steps(&mut self) -> Vec<&'static str> {
        let step = |effect| match effect {
            Effect::Note(Note::Pipeline { step, .. }) => Some(step.as_str()),
            _ => None,
        };
        self.effects.drain().filter_map(|(_, effect)| step(effect)).collect()
    }
}

fn content(block: &Block) -> String {
    block.json().to_value()["content"].as_str().unwrap_or_default().to_string()
}

fn allow() -> PermissionAnswer {
    PermissionAnswer::Allow { updated_input: None, rules: Vec::new() }
}

fn decides(decision: PermissionWord) -> HookOutcome {
    HookOutcome { decision: Some(decision), reason: Some("because".into()), ..HookOutcome::default() }
}

fn changes(input: &str) -> HookOutcome {
    HookOutcome { updated_input: Some(Json::trusted(input)), ..HookOutcome::default() }
}

const PRE: HookEvent = HookEvent::PreToolUse;
const POST: HookEvent = HookEvent::PostToolUse;
const FAILURE: HookEvent = HookEvent::PostToolFailure;

#[test]
fn t_30_every_step_is_gone_through_in_order() {
    let mut bench = asking(&[PRE, POST]);
    bench.env.settings.pipeline.result_limit = 2;
    let run = bench.tool("W");
    let _ = bench.check(run, ToolCheck::default());
    let _ = bench.hook(0, run, HookOutcome::default());
    let _ = bench.answer(run, allow());
    let _ = bench.end(run);
    let _ = bench.hook(1, run, HookOutcome::default());
    let _ = bench.stored(run, None);
    assert_eq!(bench.steps(), ["check", "pre_hooks", "permission", "ask", "call", "post_hooks", "map", "store"]);
    assert!(bench.executor.is_settled());
}

#[test]
fn t_30_where_nothing_is_to_be_done_there_is_no_step() {
    let mut bench = plain(&[]);
    let run = bench.tool("W");
    let _ = bench.end(run);
    assert_eq!(bench.steps(), [] as [&str; 0]);
    assert!(bench.executor.is_settled());
}

#[test]
fn t_21_an_input_that_does_not_fit_is_answered_in_its_turn_and_runs_beside_nothing() {
    let mut bench = plain(&[PRE]);
    let first = bench.submit("R", ToolInput::Valid(Json::trusted("{}")));
    bench.submit("R", ToolInput::Valid(Json::trusted(r#"{"bad":1}"#)));
    assert_eq!(bench.executor.entries[1].class, ConcurrencyClass::Exclusive, "T-3");
    bench.asked();
    let _ = bench.hook(0, first, HookOutcome::default());
    let _ = bench.end(first);
    let text = "The input of R does not fit its schema:\n- `bad`: nothing was expected\nCall the tool again with an input that fits.";
    assert_eq!(bench.asked(), ["start {}", "fails invalid_input", "result done", &format!("result {text}")], "no hook hears of it");
}

#[test]
fn t_22_what_the_tool_finds_is_the_answer() {
    let mut bench = asking(&[PRE]);
    let run = bench.tool("W");
    assert_eq!(bench.asked(), ["check"]);
    let _ = bench.check(run, ToolCheck { problem: Some("Read the file first.".into()), ..ToolCheck::default() });
    assert_eq!(bench.asked(), ["fails check", "result Read the file first."]);
}

#[test]
fn t_23_a_hook_denies() {
    let mut bench = plain(&[PRE]);
    let run = bench.tool("R");
    assert_eq!(bench.asked(), ["hook 0 pre_tool_use"]);
    let _ = bench.hook(0, run, decides(PermissionWord::Deny));
    assert_eq!(bench.asked(), ["fails hook", "result A hook did not allow this call of R: because"]);
    let denials = bench.executor.take_denials();
    assert_eq!((denials.len(), &*denials[0].tool_use_id), (1, "toolu_0"));
    assert_eq!(bench.executor.take_denials(), [], "taken once");
}

#[test]
fn t_23_a_hook_that_asks_reaches_the_person_even_without_permissions() {
    let mut bench = plain(&[PRE]);
    let run = bench.tool("R");
    bench.asked();
    let _ = bench.hook(0, run, decides(PermissionWord::Ask));
    assert_eq!(bench.asked(), ["ask"]);
}

#[test]
fn t_23_a_hook_changes_the_input_which_must_fit_again() {
    let mut bench = plain(&[PRE]);
    let run = bench.tool("R");
    bench.asked();
    let _ = bench.hook(0, run, changes(r#"{"a":2}"#));
    assert_eq!(bench.asked(), [r#"start {"a":2}"#]);
    for (input, said) in [(r#"{"bad":2}"#, "to one that does not fit its schema"), ("[1]", "to what is not valid JSON")] {
        let mut bench = plain(&[PRE]);
        let run = bench.tool("R");
        bench.asked();
        let _ = bench.hook(0, run, changes(input));
        let asked = bench.asked();
        assert!(asked[0] == "fails invalid_input" && asked[1].contains(said) && asked.len() == 2, "{asked:?}");
    }
}

#[test]
fn t_23_context_reaches_consumer_and_model_and_a_stop_waits_for_the_answer() {
    let mut bench = plain(&[PRE, POST]);
    let run = bench.tool("R");
    bench.asked();
    let says = |context: &str, stop: Option<&str>| HookOutcome {
        context: Some(context.into()),
        stop: stop.map(Into::into),
        ..HookOutcome::default()
    };
    let _ = bench.hook(0, run, says("before", Some("enough")));
    assert_eq!(bench.asked(), ["context before", "start {}"], "the tool runs");
    let _ = bench.end(run);
    let _ = bench.hook(1, run, says("after", Some("too late")));
    assert_eq!(bench.executor.stopped_by_hook().map(|why| &**why), Some("enough"), "the first who says so");
    let texts: Vec<_> = bench.executor.attachments().iter().map(|block| block.json().to_value()["text"].clone()).collect();
    assert_eq!(texts, ["Hook h says: before", "Hook h says: after"]);
}

#[test]
fn t_24_refusals() {
    let refuse = |reason: &str| PermissionAnswer::Refuse { reason: reason.into() };
    let abort = |reason: &str| PermissionAnswer::RefuseAndAbort { reason: reason.into() };
    let table = [
        (refuse("not now"), "The user refused this call of R: not now", None),
        (refuse(""), "The user refused this call of R.", None),
        (abort("not now"), "The user refused this call of R: not now", Some("not now")),
        (abort(""), "The user refused this call of R.", Some("the user refused")),
    ];
    for (answer, text, aborts) in table {
        let mut bench = asking(&[]);
        let run = bench.tool("R");
        assert_eq!(bench.asked(), ["ask"]);
        let ended = bench.answer(run, answer);
        assert_eq!(ended.abort.as_deref(), aborts);
        bench.emit();
        assert_eq!(bench.asked(), ["fails refused", &format!("result {text}")]);
        assert_eq!(bench.executor.take_denials().len(), 1);
    }
}

#[test]
fn t_24_the_person_allows_with_another_input_and_for_good() {
    let mut bench = asking(&[]);
    let run = bench.tool("R");
    bench.asked();
    let _ = bench.answer(run, PermissionAnswer::Allow { updated_input: Some(Json::trusted(r#"{"a":1}"#)), rules: vec!["R".into()] });
    assert_eq!(bench.asked(), [r#"start {"a":1}"#]);
    bench.tool("R");
    assert_eq!(bench.asked(), ["start {}"], "not retried");
    let mut bench = asking(&[]);
    let run = bench.tool("R");
    bench.asked();
    let _ = bench.answer(run, PermissionAnswer::Allow { updated_input: Some(Json::trusted(r#"{"bad":1}"#)), rules: Vec::new() });
    let asked = bench.asked();
    assert!(asked[0] == "fails invalid_input" && asked[1].contains("The user changed"), "{asked:?}");
}

#[test]
fn t_24_the_tool_s_own_word_is_asked_for() {
    let mut bench = plain(&[]);
    bench.env.tools[1].checks = true;
    let run = bench.tool("W");
    let _ = bench.check(run, ToolCheck { permission: Some(PermissionWord::Ask), ..ToolCheck::default() });
    assert_eq!(bench.asked(), ["check", "ask"]);
}

#[test]
fn t_11_a_context_change_counts_for_the_next_tool_in_the_same_step() {
    let mut bench = asking(&[]);
    bench.env.tools[1].checks = false;
    bench.permissions.apply("allow W");
    let first = bench.tool("W");
    bench.tool("W");
    bench.asked();
    let _ = bench.end_with(first, Some("deny W"));
    let asked = bench.asked();
    assert_eq!(asked[..1], ["fails refused"], "the second one is denied by what the first one brought: {asked:?}");
}

#[test]
fn t_25_a_call_without_a_result_is_an_error_result() {
    let mut bench = plain(&[FAILURE]);
    let run = bench.tool("R");
    bench.asked();
    let _ = bench.outcome(run, ToolOutcome { content: Json::default(), ..ToolOutcome::text("") });
    assert_eq!(bench.asked(), ["hook 0 post_tool_failure"]);
    let _ = bench.hook(0, run, HookOutcome::default());
    assert_eq!(bench.asked(), ["fails no_result", "result R ended without a result."]);
}

#[test]
fn t_26_hooks_hear_of_what_went_well_or_of_what_failed() {
    for (outcome, hook) in [(ToolOutcome::text("x"), "hook 0 post_tool_use"), (ToolOutcome::error("x"), "hook 1 post_tool_failure")] {
        let mut bench = plain(&[POST, FAILURE]);
        let run = bench.tool("R");
        bench.asked();
        let _ = bench.outcome(run, outcome);
        assert_eq!(bench.asked(), [hook]);
    }
    let mut bench = plain(&[POST]);
    let run = bench.tool("R");
    let _ = bench.end(run);
    let _ = bench.hook(0, run, decides(PermissionWord::Deny));
    let told = bench.executor.attachments().remove(0).json().to_value()["text"].clone();
    assert_eq!(told, "A hook objects: because", "too late to prevent it, so the model is told");
}

#[test]
fn t_27_a_large_result_is_stored_and_previewed_or_cut() {
    for (path, expected) in [
        (Some("/w/x"), "result abc\n\n[This result has 6 characters. The first 3 are shown; all of it is in /w/x.]"),
        (None, "result abcde\n\n[1 of 6 characters were left out here: there is no place to store them.]"),
    ] {
        let mut bench = plain(&[]);
        bench.env.settings.pipeline.result_preview = 3;
        bench.env.tools[0].result_limit = Some(5);
        let run = bench.tool("R");
        bench.asked();
        let _ = bench.outcome(run, ToolOutcome::text("abcdef"));
        assert_eq!(bench.asked(), ["store"]);
        let _ = bench.stored(run, path);
        assert_eq!(bench.asked(), [expected]);
    }
}

#[test]
fn t_28_a_refused_or_invalid_shell_call_leaves_its_siblings_alone_and_a_setting_decides_on_exit_codes() {
    let mut bench = asking(&[]);
    let (shell, sibling) = (bench.tool("Sh"), bench.tool("R"));
    let _ = bench.answer(sibling, allow());
    bench.asked();
    let _ = bench.answer(shell, PermissionAnswer::Refuse { reason: "".into() });
    assert!(!bench.asked().contains(&"stop".into()), "refused");
    for (cause, stops) in [(FailureCause::ExitCode, false), (FailureCause::TimedOut, true)] {
        let mut bench = plain(&[]);
        bench.env.settings.pipeline.exit_code_aborts = false;
        let (shell, _) = (bench.tool("Sh"), bench.tool("R"));
        bench.asked();
        let _ = bench.outcome(shell, ToolOutcome { cause: Some(cause), ..ToolOutcome::error("x") });
        assert_eq!(bench.asked().contains(&"stop".into()), stops, "{cause:?}");
    }
}

#[test]
fn t_29_hooks_are_shown_from_half_a_second_other_steps_from_two() {
    let at = |ms| Time::ZERO + Micros::from_millis(ms);
    for (hook_ms, person_ms, expected) in [(499, 1_999, vec![]), (500, 2_000, vec!["slow pre_hooks 0.500s", "slow ask 2.000s"])] {
        let mut bench = asking(&[PRE]);
        let run = bench.tool("R");
        bench.now = at(hook_ms);
        let _ = bench.hook(0, run, HookOutcome::default());
        bench.now = at(hook_ms + person_ms);
        let _ = bench.answer(run, allow());
        let slow: Vec<_> = bench.asked().into_iter().filter(|said| said.starts_with("slow")).collect();
        assert_eq!(slow, expected);
    }
}

/// Whether the step becomes a slow one is an effect. How slow it is, is a figure.
#[test]
fn e_3_how_long_a_step_takes_is_part_of_the_key_until_it_is_slow() {
    let key = |began: u64, now: u64| {
        let [began, now] = [began, now].map(|ms| Time::ZERO + Micros::from_millis(ms));
        let mut bench = asking(&[]);
        bench.now = began;
        bench.tool("R");
        let mut sink = KeySink::new(now);
        bench.executor.hash(&mut sink);
        sink.key()
    };
    assert_ne!(key(0, 1_000), key(500, 1_000));
    assert_eq!((key(0, 1_000), key(0, 4_000)), (key(500, 1_500), key(500, 4_000)), "the same later; and both are slow");
}

#[test]
fn t_23_a_hook_that_never_answers_is_given_up_by_name() {
    let mut bench = plain(&[PRE]);
    bench.tool("R");
    bench.asked();
    let _ = bench.pass_to(Time::ZERO + Micros::from_millis(59_999));
    assert_eq!(bench.asked(), [] as [&str; 0]);
    let _ = bench.pass_to(Time::ZERO + Micros::from_secs(60));
    let asked = bench.asked();
    assert_eq!(asked[0], "stop hook 0");
    assert!(asked.iter().any(|said| said.starts_with("warning hook h failed: it did not answer within 60")), "{asked:?}");
    assert_eq!(asked.last().unwrap(), "start {}", "a hook that fails stops nothing");
}

/// Brings a tool use to each state, aborts it, and says what was asked for and what the model is told.
#[test]
fn t_30_an_abort_finds_each_state() {
    type Reach = fn(&mut ExecutorHarness, ToolRun);
    let table: [(&str, Reach, &[&str], &str); 6] = [
        ("checking", |_, _| (), &[], "The user rejected"),
        ("pre hooks", |bench, run| drop(bench.check(run, ToolCheck::default())), &["stop hook 0"], "The user rejected"),
        (
            "asking",
            |bench, run| {
                let _ = bench.check(run, ToolCheck::default());
                let _ = bench.hook(0, run, HookOutcome::default());
            },
            &["withdraw"],
            "The user rejected",
        ),
        ("calling", to_call, &["stop"], ""),
        (
            "post hooks",
            |bench, run| {
                to_call(bench, run);
                let _ = bench.end(run);
            },
            &["stop hook 1"],
            "do\n\n[2 of 4 characters",
        ),
        (
            "storing",
            |bench, run| {
                to_call(bench, run);
                let _ = bench.end(run);
                let _ = bench.hook(1, run, HookOutcome::default());
            },
            &[],
            "do\n\n[2 of 4 characters",
        ),
    ];
    for (state, reach, stopped, told) in table {
        let mut bench = asking(&[PRE, POST]);
        bench.env.settings.pipeline.result_limit = 2;
        let run = bench.tool("W");
        reach(&mut bench, run);
        bench.asked();
        assert!(bench.executor.blocks_interrupt(), "{state} counts as executing");
        bench.with(|executor, scope| executor.abort(scope, AbortKind::Cancel));
        bench.emit();
        let mut asked = bench.asked();
        let result = if told.is_empty() { String::new() } else { asked.pop().unwrap() };
        assert_eq!(asked, stopped, "{state}");
        assert!(result.trim_start_matches("result ").starts_with(told), "{state}: {result}");
        assert_eq!(bench.executor.is_settled(), !told.is_empty(), "{state}: only a tool that runs has a grace");
        // Whatever comes now is late.
        let before = bench.executor.clone();
        let _ = bench.check(run, ToolCheck::default());
        let _ = bench.hook(0, run, decides(PermissionWord::Deny));
        let _ = bench.answer(run, allow());
        let _ = bench.stored(run, None);
        assert_eq!(bench.executor, before, "{state}");
    }
}

fn to_call(bench: &mut ExecutorHarness, run: ToolRun) {
    let _ = bench.check(run, ToolCheck::default());
    let _ = bench.hook(0, run, HookOutcome::default());
    let _ = bench.answer(run, allow());
}

#[test]
fn t_19_discarding_withdraws_questions_and_stops_hooks_and_leaves_no_ghost_of_them() {
    let mut bench = asking(&[]);
    bench.env.tools[1].checks = false;
    bench.tool("W");
    bench.asked();
    bench.with(|executor, scope| executor.discard(scope));
    assert_eq!(bench.asked(), ["withdraw"]);
    bench.tool("W");
    assert_eq!(bench.asked(), ["ask"], "nothing of the old one is in the way");
}
