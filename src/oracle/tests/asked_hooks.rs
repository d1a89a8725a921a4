//! Hooks are asked about the tools that run (O-26).

use super::*;
use reenact_engine::contract::HookOutcome;
use reenact_engine::hook::HookDefinition;
use reenact_engine::permission::PermissionWord;

impl EventStory {
    /// There is a hook of each of these events, for these tools.
    fn with_hooks(hooks: &[(HookEvent, Option<&str>)]) -> Self {
        let hook = |(event, matcher): &(HookEvent, Option<&str>)| HookDefinition {
            name: event.as_str().into(),
            event: *event,
            matcher: matcher.map(Into::into),
            timeout: HookDefinition::TIMEOUT,
        };
        let environment = Environment { hooks: hooks.iter().map(hook).collect(), ..environment(|_| ()) };
        let story = Self { oracles: Oracles::new(&environment), at: Time::ZERO };
        story.input(Input::Prompt { prompt: 1, content: [].into() })
    }

    fn runs(self, number: u32, event: HookEvent) -> Self {
        let hook = HookRun { hook: number, subject: HookSubject::Tool(run(0)) };
        let input = HookInput { event, tool: Some("R".into()), data: Json::trusted("{}"), stop_hook_active: false };
        let story = self.effect(Effect::RunHook { hook, input: Arc::new(input) });
        story.input(Input::HookEnded { hook, outcome: Arc::new(HookOutcome::default()) })
    }

    fn fails(self) -> Self {
        self.input(Input::ToolEnded { run: run(0), outcome: Arc::new(ToolOutcome::error("x")) })
    }

    fn about_hooks(&self) -> usize {
        self.times_broken("O-26")
    }
}

const BEFORE: HookEvent = HookEvent::PreToolUse;
const AFTER: HookEvent = HookEvent::PostToolUse;
const FAILED: HookEvent = HookEvent::PostToolFailure;

#[test]
fn o_26_and_t_23_each_hook_for_a_tool_runs_before_it_starts() {
    let asks = |matcher| EventStory::with_hooks(&[(BEFORE, matcher)]).asks("R", 0).about_hooks();
    assert_eq!((asks(None), asks(Some("*")), asks(Some("W | R"))), (1, 1, 1));
    assert_eq!((asks(Some("W")), asks(Some("Re"))), (0, 0), "it is for others");
    assert_eq!(EventStory::with_hooks(&[(BEFORE, None)]).runs(0, BEFORE).asks("R", 0).about_hooks(), 0);
    assert_eq!(EventStory::with_hooks(&[(BEFORE, None), (BEFORE, None)]).runs(0, BEFORE).asks("R", 0).about_hooks(), 1, "one of two");
    let denied = EventStory::with_hooks(&[(BEFORE, None)]).says(use_block("R", 0)).result(0);
    assert_eq!(denied.about_hooks(), 0, "it never ran");
}

#[test]
fn o_26_and_t_26_each_hook_for_a_tool_runs_after_it() {
    let asked = || EventStory::with_hooks(&[(AFTER, None), (FAILED, None)]).asks("R", 0);
    assert_eq!(asked().ends(0).runs(0, AFTER).result(0).about_hooks(), 0);
    assert_eq!(asked().ends(0).result(0).about_hooks(), 1);
    assert_eq!(asked().fails().runs(1, FAILED).result(0).about_hooks(), 0);
    assert_eq!(asked().fails().result(0).about_hooks(), 1);
    assert_eq!(asked().fails().runs(0, AFTER).result(0).about_hooks(), 1, "that is another hook");
    assert_eq!(asked().effect(Effect::StopTool { run: run(0) }).ends(0).result(0).about_hooks(), 0, "it was told to stop");
    assert_eq!(asked().ends(0).input(Input::Cancel).result(0).about_hooks(), 0, "the user ended it");
    assert_eq!(asked().result(0).about_hooks(), 0, "it has not ended");
}

#[test]
fn o_26_and_t_25_a_call_that_returns_nothing_has_failed() {
    let nothing = || ToolOutcome { content: Json::default(), ..ToolOutcome::text("") };
    let asked = || {
        let story = EventStory::with_hooks(&[(AFTER, None), (FAILED, None)]).asks("R", 0);
        story.input(Input::ToolEnded { run: run(0), outcome: Arc::new(nothing()) })
    };
    assert_eq!(asked().runs(1, FAILED).result(0).about_hooks(), 0);
    assert_eq!(asked().result(0).about_hooks(), 1);
    assert_eq!(asked().runs(0, AFTER).result(0).about_hooks(), 1, "that is another hook");
}

#[test]
fn o_26_and_q_16_a_stop_hook_knows_of_the_objections_before_it() {
    let hook = |number, turn| HookRun { hook: number, subject: HookSubject::Stop(RequestId { turn, ..ASKED }) };
    let asks = |story: EventStory, hook, is_active| {
        let input = HookInput { event: HookEvent::Stop, tool: None, data: Json::trusted("{}"), stop_hook_active: is_active };
        story.effect(Effect::RunHook { hook, input: Arc::new(input) })
    };
    let first = || asks(EventStory::new(), hook(0, 1), false);
    let says = |story: EventStory, decision| {
        let outcome = HookOutcome { decision, ..HookOutcome::default() };
        story.input(Input::HookEnded { hook: hook(0, 1), outcome: Arc::new(outcome) })
    };
    let objects = || says(first(), Some(PermissionWord::Deny));
    assert_eq!(asks(EventStory::new(), hook(0, 1), true).about_hooks(), 1, "none has objected");
    assert_eq!(asks(objects(), hook(0, 2), true).about_hooks(), 0);
    assert_eq!(asks(objects(), hook(0, 2), false).about_hooks(), 1);
    assert_eq!(asks(objects(), hook(1, 1), false).about_hooks(), 0, "it is about the same answer");
    assert_eq!(asks(says(first(), None), hook(0, 2), false).about_hooks(), 0, "it was silent");
    let stopped = first().effect(Effect::StopHook { hook: hook(0, 1) });
    assert_eq!(asks(says(stopped, Some(PermissionWord::Deny)), hook(0, 2), false).about_hooks(), 0, "it was too late");
    let aborted = objects().effect(Effect::Finished { prompt: 1, terminal: Terminal::AbortedStreaming });
    assert_eq!(asks(aborted, hook(0, 2), false).about_hooks(), 0, "another prompt begins anew");
}

#[test]
fn o_26_a_hook_is_asked_about_the_tools_that_it_is_for() {
    let asked = |matcher, event| EventStory::with_hooks(&[(BEFORE, matcher)]).runs(0, event).about_hooks();
    assert_eq!((asked(None, BEFORE), asked(Some("W|R"), BEFORE)), (0, 0));
    assert_eq!(asked(Some("W"), BEFORE), 1, "it is for another tool");
    assert_eq!(asked(None, AFTER), 1, "it is for another event");
}

#[test]
fn o_26_a_hook_is_waited_for_as_long_as_its_own_time() {
    let asked = |timeout_ms: u64, late_ms: u64| {
        let definition = |timeout_ms| HookDefinition {
            name: "h".into(),
            event: HookEvent::Stop,
            matcher: None,
            timeout: Micros::from_millis(timeout_ms),
        };
        let environment = Environment { hooks: vec![definition(timeout_ms), definition(9)], ..environment(|_| ()) };
        let oracles = Oracles::new(&environment).with_lateness(Micros::from_millis(late_ms));
        let input = HookInput { event: HookEvent::Stop, tool: None, data: Json::trusted("{}"), stop_hook_active: false };
        let runs = |hook| Effect::RunHook { hook: HookRun { hook, subject: HookSubject::Stop(ASKED) }, input: Arc::new(input.clone()) };
        let story = EventStory { oracles, at: Time::ZERO }.effect(runs(0)).effect(runs(1));
        let nothing = || Input::MarkedDead { names: [].into() };
        story.input(nothing()).input(nothing()) // two milliseconds pass
    };
    let hook = HookRun { hook: 0, subject: HookSubject::Stop(ASKED) };
    let answers = |story: EventStory| story.input(Input::HookEnded { hook, outcome: Arc::default() }).times_broken("O-26");
    let stops = |story: EventStory| story.effect(Effect::StopHook { hook }).times_broken("O-26");
    assert_eq!((answers(asked(3, 0)), stops(asked(2, 0))), (0, 0), "in time");
    assert_eq!((answers(asked(2, 0)), stops(asked(1, 0))), (1, 1));
    assert_eq!((answers(asked(2, 1)), stops(asked(1, 1))), (0, 0), "timers are late");
}
