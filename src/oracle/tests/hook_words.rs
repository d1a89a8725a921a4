//! The words of hooks beyond the start of tools (O-26).

use super::*;
use reenact_engine::contract::HookOutcome;
use reenact_engine::hook::HookDefinition;
use reenact_engine::permission::PermissionWord;
use reenact_engine::texts::TextName;

fn denies() -> HookOutcome {
    HookOutcome { decision: Some(PermissionWord::Deny), ..HookOutcome::default() }
}

fn stops() -> HookOutcome {
    HookOutcome { stop: Some("enough".into()), ..HookOutcome::default() }
}

impl EventStory {
    fn hook(self, event: HookEvent, subject: HookSubject, outcome: HookOutcome) -> Self {
        let input = HookInput { event, tool: None, data: Json::trusted("{}"), stop_hook_active: false };
        let hook = HookRun { hook: 0, subject };
        self.effect(Effect::RunHook { hook, input: Arc::new(input) }).input(Input::HookEnded { hook, outcome: Arc::new(outcome) })
    }

    fn stop_hook(self, outcome: HookOutcome) -> Self {
        self.hook(HookEvent::Stop, HookSubject::Stop(ASKED), outcome)
    }

    fn says_to_model(self, turn: u32, text: &str) -> Self {
        self.request(turn, &[(Role::User, &[Block::text(text)])])
    }

    fn o_26(&self) -> usize {
        self.times_broken("O-26")
    }
}

#[test]
fn o_26_a_stop_hook_that_objects_is_heard() {
    assert_eq!(EventStory::new().stop_hook(HookOutcome::default()).terminal().o_26(), 0);
    assert_eq!(EventStory::new().stop_hook(denies()).terminal().o_26(), 1);
    assert_eq!(EventStory::new().stop_hook(denies()).says_to_model(2, "no").terminal().o_26(), 0, "the model was asked again");
    assert_eq!(EventStory::new().stop_hook(stops()).terminal().o_26(), 1, "that is another end");
    assert_eq!(EventStory::new().stop_hook(stops()).says_to_model(2, "no").o_26(), 1);
    let prevented = Effect::Finished { prompt: 1, terminal: Terminal::StopHookPrevented };
    assert_eq!(EventStory::new().stop_hook(stops()).effect(prevented).o_26(), 0);
    let aborted = Effect::Finished { prompt: 1, terminal: Terminal::AbortedStreaming };
    assert_eq!(EventStory::new().stop_hook(denies()).input(Input::Cancel).effect(aborted).o_26(), 0, "the user ended it");
}

#[test]
fn o_26_a_tool_hook_that_ends_the_turn_is_heard() {
    let told = || EventStory::new().says_to_model(1, "hi").hook(HookEvent::PreToolUse, HookSubject::Tool(run(0)), stops());
    assert_eq!(told().effect(Effect::Finished { prompt: 1, terminal: Terminal::HookStopped }).o_26(), 0);
    assert_eq!(told().says_to_model(2, "on").o_26(), 1);
    let discarded = Effect::Note(reenact_engine::contract::Note::Discarded { id: ASKED, running: Vec::new() });
    assert_eq!(told().effect(discarded).says_to_model(2, "on").o_26(), 0, "its answer does not count");
    let late = HookRun { hook: 0, subject: HookSubject::Tool(run(0)) };
    let input = HookInput { event: HookEvent::PreToolUse, tool: None, data: Json::trusted("{}"), stop_hook_active: false };
    let late = EventStory::new()
        .effect(Effect::RunHook { hook: late, input: Arc::new(input) })
        .effect(Effect::StopHook { hook: late })
        .input(Input::HookEnded { hook: late, outcome: Arc::new(stops()) });
    assert_eq!(late.says_to_model(2, "on").o_26(), 0, "it was too late");
}

#[test]
fn o_26_a_hook_prevents_a_compaction() {
    let summary = || TextName::SummaryPrompt.ours();
    let told = |outcome| EventStory::new().hook(HookEvent::PreCompact, HookSubject::Compaction(ASKED), outcome);
    assert_eq!(told(HookOutcome::default()).says_to_model(2, summary()).o_26(), 0);
    assert_eq!(told(denies()).says_to_model(2, summary()).o_26(), 1);
    assert_eq!(told(stops()).says_to_model(2, summary()).o_26(), 1);
    assert_eq!(told(denies()).says_to_model(2, "on").o_26(), 0, "the conversation goes on without one");
    let next = HookSubject::Compaction(RequestId { turn: 2, ..ASKED });
    let again = told(denies()).hook(HookEvent::PreCompact, next, HookOutcome::default());
    assert_eq!(again.says_to_model(2, summary()).o_26(), 0, "the next compaction is asked about anew");
}

#[test]
fn o_24_each_of_two_objections_is_heard() {
    let objects = |hook: u32, reason: &str| {
        let outcome = HookOutcome { reason: Some(reason.into()), ..denies() };
        (HookRun { hook, subject: HookSubject::Stop(ASKED) }, Arc::new(outcome))
    };
    let input = || HookInput { event: HookEvent::Stop, tool: None, data: Json::trusted("{}"), stop_hook_active: false };
    let told = |text: &str| {
        let story = [objects(0, "tests fail"), objects(1, "no changelog")].into_iter().fold(EventStory::new(), |story, (hook, outcome)| {
            story.effect(Effect::RunHook { hook, input: Arc::new(input()) }).input(Input::HookEnded { hook, outcome })
        });
        story.says_to_model(2, text).times_broken("O-24")
    };
    assert_eq!(told("tests fail, and no changelog"), 0);
    assert_eq!(told("tests fail"), 1);
}

#[test]
fn o_26_a_hook_has_its_time() {
    let hook = HookRun { hook: 0, subject: HookSubject::Tool(run(0)) };
    let starts = |timeout_ms: u64, is_stopped: bool| {
        let mut environment = environment(|_| ());
        let (name, timeout) = ("h".into(), Micros::from_millis(timeout_ms));
        environment.hooks = vec![HookDefinition { name, event: HookEvent::PreToolUse, matcher: None, timeout }];
        let input = HookInput { event: HookEvent::PreToolUse, tool: None, data: Json::trusted("{}"), stop_hook_active: false };
        let asked =
            EventStory { oracles: Oracles::new(&environment), at: Time::ZERO }.effect(Effect::RunHook { hook, input: Arc::new(input) });
        let asked = asked.input(Input::Prompt { prompt: 2, content: [].into() }); // a millisecond later
        let asked = if is_stopped { asked.effect(Effect::StopHook { hook }) } else { asked };
        asked.effect(Effect::StartTool { run: run(0), tool_use: Arc::new(tool_use("R", 0)) }).o_26()
    };
    assert_eq!((starts(5, true), starts(5, false)), (1, 1));
    assert_eq!((starts(1, true), starts(1, false)), (0, 0), "its time is up");
}
