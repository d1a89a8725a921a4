//! A terminal names what has come to pass (O-8, Q-2), and limits are reached before a prompt ends for them (O-13, O-32).

use super::*;
use reenact_engine::contract::HookOutcome;

impl EventStory {
    /// How often O-8 complains about this end.
    fn causes(self, terminal: Terminal) -> usize {
        self.ends_with(terminal).times_broken("O-8")
    }

    fn stops_by_hook(self, subject: HookSubject) -> Self {
        let outcome = HookOutcome { stop: Some("enough".into()), ..HookOutcome::default() };
        self.input(Input::HookEnded { hook: HookRun { hook: 0, subject }, outcome: outcome.into() })
    }
}

#[test]
fn o_8_a_terminal_has_its_cause() {
    let asked = || EventStory::new().request(1, &[]);
    let whole = || asked().hears(ASKED, &[r#"{"type":"message_stop"}"#]);
    assert_eq!(whole().causes(Terminal::Completed), 0);
    assert_eq!(asked().causes(Terminal::Completed), 1, "inside its answer");
    assert_eq!(EventStory::new().causes(Terminal::Completed), 0, "nothing was asked");
    for terminal in [Terminal::ModelError, Terminal::PromptTooLong, Terminal::ImageError] {
        assert_eq!(whole().causes(terminal.clone()), 1);
        assert_eq!(asked().input(Input::Head { id: ASKED, status: 413, headers: [].into() }).causes(terminal.clone()), 0);
        assert_eq!(asked().input(Input::End { id: ASKED, how: AnswerEnd::Reset }).causes(terminal), 0);
    }
    let stop = HookSubject::Stop(ASKED);
    let tool = HookSubject::Tool(run(0));
    assert_eq!(whole().causes(Terminal::StopHookPrevented), 1);
    assert_eq!(whole().stops_by_hook(tool).causes(Terminal::StopHookPrevented), 1);
    assert_eq!(whole().stops_by_hook(stop).causes(Terminal::StopHookPrevented), 0);
    assert_eq!(whole().stops_by_hook(stop).causes(Terminal::HookStopped), 1);
    assert_eq!(whole().stops_by_hook(tool).causes(Terminal::HookStopped), 0);
}

#[test]
fn o_8_a_prompt_does_not_end_well_while_its_answer_waits_for_tools() {
    let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t0","name":"R","input":{}}}"#;
    let end = |reason: &str| format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}},"usage":{{}}}}"#);
    let (block_stop, stop) = (r#"{"type":"content_block_stop","index":0}"#, r#"{"type":"message_stop"}"#);
    let answered = |reason: &str| EventStory::new().request(1, &[]).hears(ASKED, &[start, block_stop, &end(reason), stop]);
    assert_eq!(answered("tool_use").causes(Terminal::Completed), 1);
    assert_eq!(answered("tool_use").asks("R", 0).ends(0).result(0).causes(Terminal::Completed), 0);
    assert_eq!(answered("refusal").causes(Terminal::Completed), 0, "the model took it back");
    let open = EventStory::new().request(1, &[]).hears(ASKED, &[start, &end("tool_use"), stop]);
    assert_eq!(open.causes(Terminal::Completed), 0, "its tool use has no end, and is none");
    assert_eq!(answered("tool_use").causes(Terminal::AbortedTools), 0);
    let body = r#"{"type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"t0","name":"R","input":{}}],"stop_reason":"tool_use","usage":{}}"#;
    let whole = EventStory::new().request(1, &[]).input(Input::Body { id: ASKED, body: body.into() });
    assert_eq!(whole.causes(Terminal::Completed), 1, "an answer that came whole");
}

#[test]
fn o_13_a_prompt_ends_for_its_turns_once_they_are_made() {
    let turns = |max| {
        let story = EventStory::with(|settings| settings.session.max_turns = Some(max)).request(1, &[]).asks("R", 0).ends(0).result(0);
        story.ends_with(Terminal::MaxTurns).times_broken("O-13")
    };
    assert_eq!(turns(1), 0);
    assert_eq!(turns(2), 1);
}

#[test]
fn o_32_a_prompt_ends_for_its_money_once_it_is_spent() {
    let spends = |max: u64| {
        let story = EventStory::with(|settings| settings.session.max_budget = Some(NanoUsd(max))).request(1, &[]);
        let start = r#"{"type":"message_start","message":{"model":"m","usage":{"input_tokens":1000,"output_tokens":0}}}"#;
        story.hears(ASKED, &[start]).ends_with(Terminal::MaxBudget).times_broken("O-32")
    };
    assert_eq!(spends(1), 0);
    assert_eq!(spends(1_000_000_000_000), 1);
}
