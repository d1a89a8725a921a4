//! The next request holds the words of hooks and the interruption message (O-24, O-30).

use super::*;
use reenact_engine::contract::HookOutcome;
use reenact_engine::texts::TextName;

impl EventStory {
    /// A hook gives the model a text.
    fn hook_adds(self, hook: HookRun, text: &str) -> Self {
        let input = HookInput { event: HookEvent::PostToolUse, tool: None, data: Json::trusted("{}"), stop_hook_active: false };
        let outcome = HookOutcome { context: Some(text.into()), ..HookOutcome::default() };
        self.effect(Effect::RunHook { hook, input: Arc::new(input) }).input(Input::HookEnded { hook, outcome: Arc::new(outcome) })
    }

    fn asks_with(self, prompt: u32, turn: u32, text: &str) -> Self {
        let request = Request::new("m", 1).with_messages([Message::user(vec![Block::text(text)])]);
        self.effect(Effect::Request { id: RequestId { prompt, turn, attempt: 1 }, request: Arc::new(request) })
    }

    fn interrupted(self) -> Self {
        let said = Effect::Emit(Emission::Interrupted { prompt: 1, text: "[stopped]".into() });
        self.input(Input::Cancel).effect(said).effect(Effect::Finished { prompt: 1, terminal: Terminal::AbortedStreaming })
    }
}

#[test]
fn o_24_the_context_of_a_hook_is_in_the_next_request() {
    let hook = HookRun { hook: 0, subject: HookSubject::Tool(run(0)) };
    let added = || EventStory::new().hook_adds(hook, "It is \"generated\".");
    assert_eq!(added().asks_with(1, 2, "Hook says: It is \"generated\".").times_broken("O-24"), 0);
    assert_eq!(added().asks_with(1, 2, "Go on.").times_broken("O-24"), 1);
    assert_eq!(added().asks_with(1, 1, "Go on.").times_broken("O-24"), 0, "the same answer is asked for again");
    assert_eq!(added().asks_with(1, 2, TextName::SummaryPrompt.ours()).times_broken("O-24"), 0, "that is about something else");
    assert_eq!(added().terminal().asks_with(2, 1, "Go on.").times_broken("O-24"), 0, "the prompt is over");
    let stopped = added().effect(Effect::StopHook { hook: HookRun { hook: 1, ..hook } });
    assert_eq!(stopped.asks_with(1, 2, "Go on.").times_broken("O-24"), 0, "nothing comes of hooks that were stopped together");
    let at_stop = HookRun { hook: 0, subject: HookSubject::Stop(ASKED) };
    assert_eq!(EventStory::new().hook_adds(at_stop, "more").asks_with(1, 2, "Go on.").times_broken("O-24"), 1);
    let silent = EventStory::with(|settings| {
        settings.texts.replaced.insert(TextName::HookContext, "A hook has a word.".into());
    });
    assert_eq!(silent.hook_adds(hook, "more").asks_with(1, 2, "Go on.").times_broken("O-24"), 0, "the text leaves it out");
}

#[test]
fn o_24_the_objection_of_a_hook_behind_a_tool_is_in_the_next_request() {
    let hook = HookRun { hook: 0, subject: HookSubject::Tool(run(0)) };
    let objects = |story: EventStory| {
        let input = HookInput { event: HookEvent::PostToolUse, tool: None, data: Json::trusted("{}"), stop_hook_active: false };
        let decision = Some(reenact_engine::permission::PermissionWord::Deny);
        let outcome = HookOutcome { decision, reason: Some("no tests".into()), ..HookOutcome::default() };
        story.effect(Effect::RunHook { hook, input: Arc::new(input) }).input(Input::HookEnded { hook, outcome: Arc::new(outcome) })
    };
    let behind = || objects(EventStory::new().asks("R", 0).ends(0));
    assert_eq!(behind().asks_with(1, 2, "A hook says: no tests").times_broken("O-24"), 0);
    assert_eq!(behind().asks_with(1, 2, "Go on.").times_broken("O-24"), 1);
    let before = objects(EventStory::new().says(use_block("R", 0)));
    assert_eq!(before.asks_with(1, 2, "Go on.").times_broken("O-24"), 0, "a refusal has its reason in the result");
}

#[test]
fn o_30_the_next_request_holds_the_interruption_message() {
    assert_eq!(EventStory::new().interrupted().asks_with(2, 1, "[stopped] Go on.").times_broken("O-30"), 0);
    assert_eq!(EventStory::new().interrupted().asks_with(2, 1, "Go on.").times_broken("O-30"), 1);
    assert_eq!(
        EventStory::new().interrupted().asks_with(2, 1, "Go on.").asks_with(2, 2, "Go on.").times_broken("O-30"),
        1,
        "once is enough"
    );
    let cleared = Effect::Emit(Emission::LocalOutput { prompt: 2, text: "cleared".into() });
    assert_eq!(EventStory::new().interrupted().effect(cleared).asks_with(3, 1, "Go on.").times_broken("O-30"), 0);
}
