//! Usage and cost of a result are what the answers told (O-32).

use super::*;
use reenact_engine::budget::NanoUsd;
use reenact_engine::contract::Terminal;
use reenact_engine::emission::{ResultMessage, ResultSubtype};
use reenact_wire::usage::Usage;

/// The price of Sonnet 4.5 for 10 tokens of input and 7 of output.
const COST: u64 = 10 * 3_000 + 7 * 15_000;

/// The result of a prompt that ended well with this text.
pub(super) fn result_of(prompt: u32, text: &str) -> ResultMessage {
    ResultMessage {
        prompt,
        subtype: ResultSubtype::Success,
        is_error: false,
        terminal: Terminal::Completed,
        duration: Micros::ZERO,
        api_duration: Micros::ZERO,
        turns: 0,
        text: text.into(),
        stop_reason: None,
        usage: Usage::default(),
        usage_by_model: Vec::new(),
        errors: Vec::new(),
        cost: NanoUsd::default(),
        cost_by_model: Vec::new(),
        structured_output: None,
        warnings: Vec::new(),
        permission_denials: Vec::new(),
    }
}

impl EventStory {
    /// A request to Sonnet, with an answer of 10 tokens of input and 7 of output in the end.
    fn answers(self) -> Self {
        let start =
            r#"{"type":"message_start","message":{"id":"a","model":"claude-sonnet-4-5","usage":{"input_tokens":10,"output_tokens":1}}}"#;
        let delta = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}"#;
        let asked = self.effect(Effect::Request { id: ASKED, request: Arc::new(Request::new("claude-sonnet-4-5", 1)) });
        let told = [("message_start", start), ("message_delta", delta)];
        let event = |(name, data)| Input::Stream { id: ASKED, event: Arc::new(StreamEvent::decode(name, data)) };
        told.into_iter().map(event).fold(asked, Self::input)
    }

    /// How often O-32 complains about a result with these figures.
    fn results_in(self, output_tokens: u64, cost: u64) -> usize {
        let usage = Usage { input_tokens: Some(10), output_tokens: Some(output_tokens), ..Usage::default() };
        let (waited, stop_reason) = (Micros::from_millis(2), Some("end_turn".into()));
        let result = ResultMessage { api_duration: waited, stop_reason, usage, cost: NanoUsd(cost), ..result_of(1, "") };
        self.effect(Effect::Emit(Emission::Result(Box::new(result)))).times_broken("O-32")
    }
}

#[test]
fn o_32_a_result_has_the_figures_of_its_answers() {
    assert_eq!(EventStory::new().answers().results_in(7, COST), 0);
    assert_eq!(EventStory::new().answers().results_in(8, COST), 1, "the last count holds, and not the sum");
    assert_eq!(EventStory::new().answers().results_in(7, COST + 1), 1);
    assert_eq!(EventStory::with(|settings| settings.retry.fast_mode = true).answers().results_in(7, 2 * COST), 0, "at another price");
}

#[test]
fn o_32_a_result_has_the_time_and_the_stop_reason_of_its_answers() {
    let usage = Usage { input_tokens: Some(10), output_tokens: Some(7), ..Usage::default() };
    let broken = |waited: u64, stop_reason: Option<&str>| {
        let story = EventStory::new().answers().input(Input::End { id: ASKED, how: AnswerEnd::Complete });
        let (api_duration, stop_reason) = (Micros::from_millis(waited), stop_reason.map(Into::into));
        let result = ResultMessage { api_duration, stop_reason, usage, cost: NanoUsd(COST), ..result_of(1, "") };
        story.effect(Effect::Emit(Emission::Result(Box::new(result)))).times_broken("O-32")
    };
    assert_eq!(broken(3, Some("end_turn")), 0);
    assert_eq!(broken(9, Some("end_turn")), 0, "waits between attempts may count");
    assert_eq!(broken(2, Some("end_turn")), 1);
    assert_eq!(broken(3, None), 1);
    let late =
        [r#"{"type":"message_stop"}"#, r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":7}}"#];
    let told = |late: &[&str]| {
        let story = EventStory::new().answers().hears(ASKED, late).input(Input::End { id: ASKED, how: AnswerEnd::Complete });
        let (api_duration, stop_reason) = (Micros::from_millis(9), Some("end_turn".into()));
        let result = ResultMessage { api_duration, stop_reason, usage, cost: NanoUsd(COST), ..result_of(1, "") };
        story.effect(Effect::Emit(Emission::Result(Box::new(result)))).times_broken("O-32")
    };
    assert_eq!((told(&late), told(&late[1..])), (0, 1), "behind the end of the message it is no stop reason");
}

#[test]
fn o_32_nothing_begins_when_the_money_is_spent() {
    let story = |max: u64| {
        let story = EventStory::with(|settings| settings.session.max_budget = Some(NanoUsd(max))).answers().says(use_block("R", 0));
        story.effect(Effect::StartTool { run: run(0), tool_use: Arc::new(tool_use("R", 0)) }).times_broken("O-32")
    };
    assert_eq!(story(COST), 1);
    assert_eq!(story(COST + 1), 0);
}

#[test]
fn o_32_and_s_1_each_model_has_its_own_tokens() {
    let broken = |models: &[(&str, u64)]| {
        let usage = |output| Usage { input_tokens: Some(10), output_tokens: Some(output), ..Usage::default() };
        let usage_by_model = models.iter().map(|(model, output)| (Arc::from(*model), usage(*output))).collect();
        let (api_duration, stop_reason) = (Micros::from_millis(2), Some("end_turn".into()));
        let result = ResultMessage { api_duration, stop_reason, usage: usage(7), usage_by_model, cost: NanoUsd(COST), ..result_of(1, "") };
        EventStory::new().answers().effect(Effect::Emit(Emission::Result(Box::new(result)))).times_broken("O-32")
    };
    assert_eq!(broken(&[("claude-sonnet-4-5", 7)]), 0);
    assert_eq!(broken(&[("claude-sonnet-4-5", 6)]), 1);
    assert_eq!(broken(&[("claude-opus-4-1", 7)]), 0, "which models are asked is another rule's");
}
