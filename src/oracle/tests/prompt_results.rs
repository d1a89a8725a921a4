//! Result messages (O-8), the frame of requests (O-21), and requests without a cause (O-34).

use super::*;
use reenact_engine::emission::{ResultMessage, ResultSubtype, SessionPhase};

impl EventStory {
    fn results_with(self, change: impl FnOnce(&mut ResultMessage)) -> Self {
        let mut result = accounts::result_of(1, "");
        change(&mut result);
        self.effect(Effect::Emit(Emission::Result(Box::new(result))))
    }

    fn begins(self) -> Self {
        self.effect(Effect::Emit(Emission::Init { prompt: 1, model: "m".into(), tools: Vec::new(), surroundings: Default::default() }))
    }

    /// The answer to the request of a turn: a text, and the end that it told.
    fn hears_yes(self, turn: u32, stop_reason: &str) -> Self {
        let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"yes"}}"#;
        let end = format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{stop_reason}"}},"usage":{{}}}}"#);
        let events = [start, r#"{"type":"content_block_stop","index":0}"#, &end, r#"{"type":"message_stop"}"#];
        self.hears(RequestId { turn, ..ASKED }, &events)
    }
}

#[test]
fn o_8_each_prompt_has_a_result_where_any_has() {
    let first = || EventStory::new().begins().results_with(|_| ()).terminal();
    assert_eq!(first().times_broken("O-8"), 0);
    assert_eq!(first().begins().terminal().words("O-8").iter().filter(|words| words.contains("no result message")).count(), 1);
    assert_eq!(EventStory::new().begins().terminal().times_broken("O-8"), 0, "this engine tells none");
}

#[test]
fn o_8_a_result_is_of_its_kind_and_has_the_last_words() {
    let broken = |change: fn(&mut ResultMessage)| {
        EventStory::new()
            .begins()
            .says(Block::text("yes"))
            .results_with(|result| result.text = "yes".into())
            .results_with(change)
            .times_broken("O-8")
    };
    assert_eq!(broken(|result| result.text = "yes".into()), 0);
    assert_eq!(broken(|_| ()), 1, "it has no words");
    assert_eq!(broken(|result| (result.text, result.is_error) = ("yes".into(), true)), 1, "an error, and a success by its kind");
    assert_eq!(broken(|result| (result.subtype, result.is_error) = (ResultSubtype::ErrorDuringExecution, true)), 0);
    assert_eq!(broken(|result| result.subtype = ResultSubtype::ErrorDuringExecution), 1);
    assert_eq!(broken(|result| result.subtype = ResultSubtype::ErrorMaxTurns), 0, "a limit is told either way");
}

#[test]
fn o_21_the_first_request_has_what_the_settings_say() {
    let broken = |tools: &str, system: Option<&str>| {
        let mut request = Request::new("m", 1);
        (request.tools, request.system) = (Some(Json::trusted(tools)), system.map(Json::trusted));
        let story = EventStory::with(|settings| settings.system_prompt = Some(Json::from_value("Be \"brief\".")));
        let asked = story.effect(Effect::Request { id: ASKED, request: Arc::new(request) });
        asked.oracles.violations().iter().filter(|violation| violation.oracle == "O-21").count()
    };
    let all = r#"[{"name":"R"},{"name":"W"},{"name":"C"}]"#;
    assert_eq!(broken(all, Some(r#""Be \"brief\". Today is Monday.""#)), 0);
    assert_eq!(broken(all, Some(r#"[{"type":"text","text":"Be \"brief\".","cache_control":{"type":"ephemeral"}}]"#)), 0);
    assert_eq!(broken(all, None), 1);
    assert_eq!(broken(r#"[{"name":"R"}]"#, Some(r#""Be \"brief\".""#)), 2, "two tools are missing");
}

#[test]
fn o_34_a_further_request_has_a_cause() {
    let noted = || EventStory::new().effect(Effect::Note(reenact_engine::contract::Note::Phase(SessionPhase::Result)));
    let answered = |stop_reason: &str| noted().request(1, &[]).hears_yes(1, stop_reason);
    let again = |story: EventStory| story.request(2, &[]).times_broken("O-34");
    assert_eq!(again(answered("end_turn")), 1);
    assert_eq!(again(answered("max_tokens")), 0, "it was cut off");
    assert_eq!(again(answered("end_turn").input(Input::Interrupt { prompt: 2, content: [].into() })), 0, "the user wants more");
    let next = RequestId { prompt: 2, turn: 1, attempt: 1 };
    let of_next = answered("end_turn").effect(Effect::Request { id: next, request: Arc::new(Request::new("m", 1)) });
    assert_eq!(of_next.times_broken("O-34"), 0, "another prompt");
    let wanted = EventStory::with(|settings| settings.session.token_budget = Some(9)).request(1, &[]).hears_yes(1, "end_turn");
    assert_eq!(again(wanted), 0, "a setting wants more");
}

#[test]
fn o_32_and_o_13_no_limit_ends_a_prompt_that_no_setting_knows() {
    assert_eq!(EventStory::new().ends_with(Terminal::MaxBudget).times_broken("O-32"), 1);
    assert_eq!(EventStory::new().ends_with(Terminal::MaxTurns).times_broken("O-13"), 1);
}
