//! Leftovers at the end of a run (O-27).

use super::*;
use reenact_engine::contract::{Note, TimerId};
use reenact_engine::settings::DiscardPolicy;

impl EventStory {
    /// Which oracles complained at the end. That the requests of a story are mostly no valid ones is left out.
    fn left(self) -> Vec<&'static str> {
        self.broken_but(&[validity::ORACLE])
    }
}

#[test]
fn o_27_at_a_terminal_everything_that_was_begun_is_ended_or_taken_back() {
    let hook = HookRun { hook: 0, subject: HookSubject::Tool(run(0)) };
    let data = Json::trusted("{}");
    let told = Arc::new(HookInput { event: HookEvent::PreToolUse, tool: Some("R".into()), data, stop_hook_active: false });
    let timer = TimerId { id: 1, generation: 1 };
    let ask = || Effect::AskPermission { run: run(0), tool_use: Arc::new(tool_use("R", 0)), reason: "r".into(), suggestions: Vec::new() };
    let allow = || PermissionAnswer::Allow { updated_input: None, rules: Vec::new() };
    let text = || Input::PermissionAnswered { run: run(0), answer: Arc::new(allow()) };
    let begun = [
        (Effect::RunHook { hook, input: told }, Input::HookEnded { hook, outcome: Arc::default() }, Effect::StopHook { hook }),
        (ask(), text(), Effect::WithdrawPermission { run: run(0) }),
        (
            Effect::Elicit { run: run(0), message: "m".into() },
            Input::ElicitationAnswered { run: run(0), answer: None },
            Effect::WithdrawElicitation { run: run(0) },
        ),
        (Effect::SetTimer { timer, at: Time(5) }, Input::Timer(timer), Effect::CancelTimer { timer }),
    ];
    for (begins, ends, taken_back) in begun {
        let story = || EventStory::new().effect(begins.clone());
        assert_eq!(story().terminal().left(), ["O-27"], "{begins:?}");
        assert_eq!(story().input(ends.clone()).terminal().left(), NONE, "{ends:?}");
        assert_eq!(story().effect(taken_back.clone()).terminal().left(), NONE, "{taken_back:?}");
        assert_eq!(story().input(ends).effect(taken_back.clone()).terminal().left(), ["O-27"], "{taken_back:?}, which is not open");
    }
}

#[test]
fn o_27_an_answer_that_has_said_everything_may_be_closed_and_need_not() {
    let event = Arc::new(StreamEvent::decode("message_stop", r#"{"type":"message_stop"}"#));
    let said = || EventStory::new().request(1, &[]).input(Input::Stream { id: ASKED, event: event.clone() });
    let end = || Input::End { id: ASKED, how: AnswerEnd::Complete };
    let close = || Effect::CloseRequest { id: ASKED };
    assert_eq!(said().terminal().left(), NONE);
    assert_eq!(said().effect(close()).terminal().left(), NONE);
    assert_eq!(said().effect(close()).effect(close()).terminal().left(), ["O-27"]);
    assert_eq!(said().input(end()).effect(close()).terminal().left(), ["O-27"]);
    assert_eq!(EventStory::new().request(1, &[]).terminal().left(), ["O-27"]);
}

#[test]
fn o_27_timers_may_be_set_as_long_as_a_prompt_is_open() {
    let set = || Effect::SetTimer { timer: TimerId { id: 1, generation: 1 }, at: Time(5) };
    let message = || Input::Prompt { prompt: 2, content: [].into() };
    let last = || Effect::Finished { prompt: 2, terminal: Terminal::Completed };
    assert_eq!(EventStory::new().effect(set()).input(message()).terminal().left(), ["O-8"], "the second prompt has no terminal");
    assert_eq!(EventStory::new().effect(set()).input(message()).terminal().effect(last()).left(), ["O-27"]);
    let later = || Effect::SetTimer { timer: TimerId { id: 1, generation: 1 }, at: Time(5_000_000) };
    let rings = || Input::Timer(TimerId { id: 1, generation: 1 });
    assert_eq!(EventStory::new().effect(later()).input(rings()).terminal().left(), ["O-27"], "an older setting of it has rung");
}

#[test]
fn o_27_tools_that_are_left_running_are_nobody_s_where_the_settings_say_so() {
    let left = |policy| {
        let story = EventStory::with(|settings| settings.discarded_tools = policy).request(1, &[]).asks("W", 0);
        let story =
            story.input(Input::End { id: ASKED, how: AnswerEnd::Reset }).effect(Effect::Emit(Emission::Tombstone { uuid: "u".into() }));
        let story = story.effect(Effect::Note(Note::LeftRunning { id: ASKED, runs: vec![run(0)] }));
        let again = ToolRun { request: RequestId { attempt: 2, ..ASKED }, index: 0 };
        let story = story.effect(Effect::StartTool { run: again, tool_use: Arc::new(tool_use("W", 1)) });
        story.input(Input::ToolEnded { run: again, outcome: Arc::new(ToolOutcome::text("x")) }).terminal().left()
    };
    assert_eq!(left(DiscardPolicy::Ignore), NONE);
    assert_eq!(left(DiscardPolicy::Stop), ["O-3", "O-27"], "a word alone leaves nobody alone");
}
