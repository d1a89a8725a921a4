//! The executor alone, without a stream: starts, results and their order.

mod aborts;
mod elicitations;
mod pipelines;

use super::abort_reason::AbortKind;
use super::*;
use crate::contract::RequestId;
use crate::emission::ProgressDetails;
use crate::permission::context::PermissionContext;
use crate::settings::EmissionOrder;
use crate::settings::Environment;
use crate::settings::ToolDefinition;
use reenact_wire::block::ToolInput;
use reenact_wire::json::Json;

/// `R` is safe and stops for a message, `W` is exclusive and does not, `Sh` is a safe shell, `Unsure` cannot say anything.
fn environment(settings: Settings) -> Environment {
    let tool = |name: &str, safe| ToolDefinition::new(name, safe, Json::trusted("{}"));
    let mut tools = vec![tool("R", Some(true)), tool("W", Some(false)), tool("Unsure", None), tool("Sh", Some(true))];
    tools[0].interrupt = Some(InterruptBehaviour::Cancel);
    tools[1].interrupt = Some(InterruptBehaviour::Block);
    tools[3].shell = true;
    Environment { settings, tools, ..Environment::default() }
}

struct ExecutorHarness {
    env: Environment,
    executor: Executor,
    permissions: PermissionContext,
    effects: AgentEffects,
    now: Time,
    request: RequestId,
}

impl ExecutorHarness {
    fn new(settings: Settings) -> Self {
        Self::with_environment(environment(settings))
    }

    fn with_environment(env: Environment) -> Self {
        let (executor, permissions, effects) = (Executor::default(), PermissionContext::default(), AgentEffects::default());
        Self { env, executor, permissions, effects, now: Time::ZERO, request: RequestId::first(1) }
    }

    /// Lets the executor do something.
    fn with<R>(&mut self, body: impl FnOnce(&mut Executor, &mut PipelineScope<'_>) -> R) -> R {
        let Self { env, executor, permissions, effects, now, .. } = self;
        body(executor, &mut PipelineScope { env, now: *now, permissions, effects })
    }

    fn input(&mut self, input: Input) -> ToolEvent {
        self.with(|executor, scope| executor.on_input(scope, &input))
    }

    fn submit(&mut self, name: &str, input: ToolInput) -> ToolRun {
        let nth = self.executor.entries.len();
        let tool_use = ToolUse { id: format!("toolu_{nth}").into(), name: name.into(), input };
        let message = AssistantMessage {
            uuid: format!("m{nth}").into(),
            id: self.request,
            api_id: "msg".into(),
            model: "m".into(),
            block: Block::text(""),
            error: None,
        };
        self.with(|executor, scope| executor.submit(scope, &message, &tool_use));
        ToolRun { request: self.request, index: u32::try_from(nth).unwrap() }
    }

    fn tool(&mut self, name: &str) -> ToolRun {
        self.submit(name, ToolInput::Valid(Json::trusted("{}")))
    }

    fn progress(&mut self, run: ToolRun, text: &str) {
        self.with(|executor, scope| executor.on_progress(scope, run, &text.into(), Some(ProgressKind::Stdout)));
    }

    fn end(&mut self, run: ToolRun) -> ToolEvent {
        self.end_with(run, None)
    }

    fn end_with(&mut self, run: ToolRun, change: Option<&str>) -> ToolEvent {
        self.outcome(run, ToolOutcome { context_change: change.map(Into::into), ..ToolOutcome::text("done") })
    }

    fn outcome(&mut self, run: ToolRun, outcome: ToolOutcome) -> ToolEvent {
        self.input(Input::ToolEnded { run, outcome: Arc::new(outcome) })
    }

    fn emit(&mut self) {
        self.executor.emit_completed(&self.env.settings, &mut self.effects);
    }

    /// The effects since the last call: `start A`, `result A`, `progress A`, `in-progress 2`.
    fn seen(&mut self) -> Vec<String> {
        let letter = |run: &ToolRun| run.to_string().trim_start_matches('1').to_string();
        let told = |effect| match effect {
            Effect::StartTool { run, .. } => Some(format!("start {}", letter(&run))),
            Effect::Emit(Emission::User(message)) => Some(format!("result {}", letter(&message.run))),
            Effect::Emit(Emission::Progress { run, .. }) => Some(format!("progress {}", letter(&run))),
            Effect::StopTool { run } => Some(format!("stop {}", letter(&run))),
            _ => None,
        };
        self.effects.drain().filter_map(|(_, effect)| told(effect)).collect()
    }
}

fn at_once(emission_order: EmissionOrder) -> Settings {
    Settings { result_delivery: ResultDelivery::AtOnce, emission_order, ..Settings::default() }
}

#[test]
fn t_1_an_entry_goes_through_its_states_in_order() {
    let mut bench = ExecutorHarness::new(Settings::default());
    let run = bench.tool("R");
    let _ = bench.end(run);
    bench.emit();
    let states: Vec<_> = bench
        .effects
        .drain()
        .filter_map(|(_, effect)| match effect {
            Effect::Note(Note::Tool { state, .. }) => Some(state),
            _ => None,
        })
        .collect();
    assert_eq!(states, [ToolState::QueuedSafe, ToolState::Executing, ToolState::Completed, ToolState::Yielded]);
}

#[test]
fn t_2_an_unknown_tool_is_answered_at_once_and_never_starts() {
    let mut bench = ExecutorHarness::new(Settings::default());
    bench.tool("Nope");
    bench.emit();
    assert_eq!(bench.seen(), ["result A"]);
    let result = bench.executor.results(&bench.env.settings).remove(0);
    assert!(result.json().as_str().contains("No tool named Nope"), "{result:?}");
    assert!(result.json().as_str().contains(r#""is_error":true"#));
}

#[test]
fn t_3_a_tool_that_cannot_say_and_an_invalid_input_run_alone() {
    let mut bench = ExecutorHarness::new(Settings::default());
    bench.tool("R");
    bench.tool("Unsure");
    bench.submit("R", ToolInput::Invalid { text: "{".into(), error: "cut".into() });
    assert_eq!(bench.seen(), ["start A"], "neither starts beside a safe one");
    let classes: Vec<_> = bench.executor.entries.iter().map(|entry| entry.class).collect();
    assert_eq!(classes, [ConcurrencyClass::Safe, ConcurrencyClass::Exclusive, ConcurrencyClass::Exclusive]);
}

#[test]
fn t_3_an_invalid_input_is_answered_when_its_turn_comes_without_a_call() {
    let mut bench = ExecutorHarness::new(at_once(EmissionOrder::Eager));
    let first = bench.tool("W");
    bench.submit("W", ToolInput::Invalid { text: "{".into(), error: "cut".into() });
    bench.tool("R");
    assert_eq!(bench.seen(), ["start A"]);
    let _ = bench.end(first);
    assert_eq!(bench.seen(), ["start C", "result A", "result B"]);
}

#[test]
fn t_4_safe_ones_run_together_and_exclusive_ones_alone() {
    let mut bench = ExecutorHarness::new(Settings::default());
    let a = bench.tool("R");
    let b = bench.tool("R");
    bench.tool("W");
    bench.tool("R");
    assert_eq!(bench.seen(), ["start A", "start B"]);
    let _ = bench.end(b);
    assert_eq!(bench.seen(), [] as [&str; 0], "A still runs, and D must not overtake C");
    let _ = bench.end(a);
    assert_eq!(bench.seen(), ["start C"]);
}

#[test]
fn t_6_progress_comes_before_its_result_and_never_after() {
    let mut bench = ExecutorHarness::new(at_once(EmissionOrder::Arrival));
    let a = bench.tool("R");
    let b = bench.tool("R");
    bench.progress(b, "half");
    let _ = bench.end(b);
    bench.progress(b, "late");
    let _ = bench.end(a);
    assert_eq!(bench.seen(), ["start A", "start B", "progress B", "result A", "result B"]);
}

#[test]
fn t_32_results_and_progress_carry_what_consumers_get() {
    let details = |is_wanted: bool| {
        let mut settings = at_once(EmissionOrder::Eager);
        settings.session.tool_details = is_wanted;
        let mut bench = ExecutorHarness::new(settings);
        bench.now = Time(1_000_000);
        let run = bench.tool("R");
        bench.now = Time(1_250_000);
        bench.progress(run, "a");
        bench.progress(run, "b");
        bench.now = Time(3_000_000);
        let structured = Some(Json::trusted(r#"{"lines":2}"#));
        let _ = bench.outcome(run, ToolOutcome { structured, ..ToolOutcome::text("done") });
        bench.tool("Nope");
        bench.emit();
        let emitted = bench.effects.drain().filter_map(|(_, effect)| match effect {
            Effect::Emit(Emission::Progress { kind, details, .. }) => {
                let details = details.map(|ProgressDetails { id, after }| format!(" {id} after {after}")).unwrap_or_default();
                Some(format!("{}{details}", kind.unwrap().as_str()))
            }
            Effect::Emit(Emission::User(message)) => {
                Some(format!("{} took {:?}", message.structured.as_ref().map_or("nothing", Json::as_str), message.took))
            }
            _ => None,
        });
        emitted.collect::<Vec<_>>()
    };
    let said = ["stdout m0.t0.progress1 after 0.250s", "stdout m0.t0.progress2 after 0.250s"];
    let results = [r#"{"lines":2} took Some(Micros(2000000))"#, "nothing took None"];
    assert_eq!(details(true), [said, results].concat(), "what was not called took no time");
    assert_eq!(details(false), ["stdout", "stdout", r#"{"lines":2} took None"#, "nothing took None"], "names and times are for who asks");
}

#[test]
fn q_9_at_once_progress_comes_out_in_the_step_in_which_it_arrives() {
    let mut bench = ExecutorHarness::new(at_once(EmissionOrder::Eager));
    let a = bench.tool("R");
    bench.seen();
    bench.progress(a, "half");
    assert_eq!(bench.seen(), ["progress A"]);
    let mut waiting = ExecutorHarness::new(Settings::default());
    let a = waiting.tool("R");
    waiting.seen();
    waiting.progress(a, "half");
    assert_eq!(waiting.seen(), [] as [&str; 0], "the default waits for the next item");
}

#[test]
fn t_7_an_executing_exclusive_tool_holds_back_what_came_after_it() {
    let mut bench = ExecutorHarness::new(at_once(EmissionOrder::Eager));
    let write = bench.tool("W");
    bench.tool("Nope");
    bench.emit();
    assert_eq!(bench.seen(), ["start A"], "the unknown one is complete and waits");
    let _ = bench.end(write);
    assert_eq!(bench.seen(), ["result A", "result B"]);
}

#[test]
fn t_8_two_orders_of_emission() {
    for (order, expected) in [(EmissionOrder::Eager, ["result B", "result A"]), (EmissionOrder::Arrival, ["result A", "result B"])] {
        let mut bench = ExecutorHarness::new(at_once(order));
        let (a, b) = (bench.tool("R"), bench.tool("R"));
        bench.seen();
        let _ = bench.end(b);
        let _ = bench.end(a);
        assert_eq!(bench.seen(), expected, "{order:?}");
    }
}

#[test]
fn t_10_in_progress_runs_from_start_to_the_emission_of_the_result() {
    let mut bench = ExecutorHarness::new(Settings::default());
    let a = bench.tool("R");
    let b = bench.tool("R");
    let _ = bench.end(a);
    bench.emit();
    let _ = bench.end(b);
    bench.emit();
    let sets: Vec<_> = bench
        .effects
        .drain()
        .filter_map(|(_, effect)| match effect {
            Effect::Emit(Emission::InProgress { tool_use_ids }) => Some(tool_use_ids.join(" ")),
            _ => None,
        })
        .collect();
    assert_eq!(sets, ["toolu_0", "toolu_0 toolu_1", "toolu_1", ""]);
}

#[test]
fn t_11_a_context_change_is_applied_for_exclusive_tools_only() {
    let mut bench = ExecutorHarness::new(Settings::default());
    let safe = bench.tool("R");
    let _ = bench.end_with(safe, Some("deny R"));
    assert!(bench.permissions.is_empty());
    let defects = bench.effects.drain().filter(|(_, effect)| matches!(effect, Effect::Note(Note::Defect { .. }))).count();
    assert_eq!(defects, 1, "a safe tool that changes the context is a defect of the tool");
    let exclusive = bench.tool("W");
    let _ = bench.end_with(exclusive, Some("deny R"));
    assert!(!bench.permissions.is_empty());
    let changes = bench.effects.drain().filter(|(_, effect)| matches!(effect, Effect::Note(Note::ContextChanged { .. }))).count();
    assert_eq!(changes, 1);
}

#[test]
fn a_late_or_second_outcome_is_ignored() {
    let mut bench = ExecutorHarness::new(Settings::default());
    let a = bench.tool("R");
    let _ = bench.end(a);
    let before = bench.executor.clone();
    let _ = bench.end(a);
    assert_eq!(bench.executor, before);
    bench.emit();
    assert_eq!(bench.seen(), ["start A", "result A"]);
}
