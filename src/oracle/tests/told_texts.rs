//! The next request holds the words of hooks and the interruption message (O-24, O-30).

use super::*;
use reenact_engine::contract::{HookOutcome, Note};
use reenact_engine::emission::{CompactTrigger, SessionPhase};
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

fn compact_boundary() -> Effect {
    Effect::Emit(Emission::CompactBoundary { trigger: CompactTrigger::Auto, tokens_before: 9, tokens_after: 1, kept: Vec::new() })
}

#[test]
fn o_24_what_consumers_are_told_is_said_to_the_model_is_in_the_next_request() {
    let told = |text: &str| Effect::Emit(Emission::Hidden { uuid: "u".into(), why: "nudge".into(), text: text.into() });
    let story = || EventStory::new().effect(told("Go on, please."));
    assert_eq!(story().asks_with(1, 2, "Go on, please.").times_broken("O-24"), 0);
    assert_eq!(story().asks_with(1, 2, "hi").times_broken("O-24"), 1);
    assert_eq!(story().asks_with(1, 2, "hi").asks_with(1, 3, "hi").times_broken("O-24"), 1, "once is enough");
    assert_eq!(story().asks_with(1, 2, TextName::SummaryPrompt.ours()).times_broken("O-24"), 0, "that is about something else");
    assert_eq!(story().terminal().asks_with(2, 1, "hi").times_broken("O-24"), 0, "the prompt is over");
    let compacted = || story().effect(compact_boundary());
    assert_eq!(compacted().asks_with(1, 2, "hi").times_broken("O-24"), 1, "nobody has answered it, so it is not summarised");
    let summary = || compacted().effect(told("It was said.\n\n/a: a"));
    assert_eq!(summary().asks_with(1, 2, "Go on, please. It was said. And /a: a").times_broken("O-24"), 0, "in several blocks");
    assert_eq!(summary().asks_with(1, 2, "Go on, please. It was said.").times_broken("O-24"), 1);
    assert_eq!(
        summary().effect(compact_boundary()).asks_with(1, 2, "Go on, please.").times_broken("O-24"),
        0,
        "it was summarised in its turn"
    );
}

#[test]
fn o_24_the_words_of_an_answer_that_was_broken_off_are_given_to_consumers() {
    let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    let delta = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"We"}}"#;
    let noting = || EventStory::new().effect(Effect::Note(Note::Phase(SessionPhase::MainLoop))).request(1, &[]);
    let closed = |story: EventStory, terminal| {
        story
            .input(Input::Cancel)
            .effect(Effect::CloseRequest { id: ASKED })
            .effect(Effect::Finished { prompt: 1, terminal })
            .times_broken("O-24")
    };
    assert_eq!(closed(noting().hears(ASKED, &[start, delta]), Terminal::AbortedStreaming), 1);
    assert_eq!(closed(noting().hears(ASKED, &[start]), Terminal::AbortedStreaming), 0, "nothing had come");
    assert_eq!(closed(noting().hears(ASKED, &[start, delta]), Terminal::MaxBudget), 0, "nobody broke it off");
    assert_eq!(
        closed(EventStory::new().request(1, &[]).hears(ASKED, &[start, delta]), Terminal::AbortedStreaming),
        0,
        "an engine without notes"
    );
    let broken = noting().hears(ASKED, &[start, delta]).effect(Effect::CloseRequest { id: ASKED }).input(Input::Cancel);
    let finished = broken.effect(Effect::Finished { prompt: 1, terminal: Terminal::AbortedStreaming });
    assert_eq!(finished.times_broken("O-24"), 0, "it had broken before");
    let (uuid, block) = ("u".into(), Block::text("We"));
    let message = AssistantMessage { uuid, id: ASKED, api_id: "".into(), model: "".into(), block, error: None };
    let given = Effect::Emit(Emission::Aborted(message.into()));
    assert_eq!(closed(noting().hears(ASKED, &[start, delta]).effect(given), Terminal::AbortedStreaming), 0);
}
