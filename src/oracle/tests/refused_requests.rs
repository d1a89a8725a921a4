//! A request that was refused for its content is not repeated as it was (O-9, O-12).

use super::*;

const TOO_LONG: &str = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}"#;
const NO_ROOM: &str = r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 1 + 9 > 8"}}"#;
const OTHER: &str = r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages: no"}}"#;

impl EventStory {
    fn answered_with(self, turn: u32, (status, body): (u16, &str), how: AnswerEnd) -> Self {
        let id = RequestId { turn, ..ASKED };
        self.input(Input::Head { id, status, headers: [].into() })
            .input(Input::Body { id, body: body.into() })
            .input(Input::End { id, how })
    }
}

#[test]
fn o_12_what_was_too_long_is_not_asked_again_as_it_was() {
    let asked = |answer| EventStory::new().asks_about(1, 90).answered_with(1, answer, AnswerEnd::Complete);
    let table = [
        (asked((400, TOO_LONG)).asks_about(2, 90), &["O-12"][..], "the same"),
        (asked((400, TOO_LONG)).asks_about(2, 80), &[], "less"),
        (asked((400, TOO_LONG)).asks_about(2, 80).asks_about(3, 90), &["O-12"], "the same, later"),
        (asked((400, NO_ROOM)).asks_about(2, 90), &["O-12"], "no room for the answer"),
        (asked((413, "")).asks_about(2, 90), &["O-12"], "too many bytes"),
        (asked((400, OTHER)).asks_about(2, 90), &["O-9"], "it was something else"),
        (asked((400, OTHER)).asks_about(2, 80), &[], "something else, and another request"),
        (asked((400, "")).asks_about(2, 90), &[], "who knows what it was"),
        (asked((529, TOO_LONG)).asks_about(2, 90), &[], "an overload may end"),
        (EventStory::new().asks_about(1, 90).answered_with(1, (413, ""), AnswerEnd::Reset).asks_about(2, 90), &[], "who knows what it was"),
    ];
    for (story, expected, reason) in table {
        assert_eq!(story.terminal().broken(), expected, "{reason}");
    }
}

#[test]
fn o_12_after_an_attempt_that_was_short_enough_chance_may_bring_the_same_again() {
    let mut request = Request::new("m", 9);
    request.messages = vec![Arc::new(Message::user(vec![Block::text("long")]))];
    let ask = |turn, attempt, max_tokens| {
        let request = Request { max_tokens, ..request.clone() };
        Effect::Request { id: RequestId { turn, attempt, ..ASKED }, request: Arc::new(request) }
    };
    let refused = || EventStory::new().effect(ask(1, 1, 9)).answered_with(1, (400, NO_ROOM), AnswerEnd::Complete);
    let shorter = |status| {
        let id = RequestId { attempt: 2, ..ASKED };
        let answered = refused().effect(ask(1, 2, 3)).input(Input::Head { id, status, headers: [].into() });
        answered.input(Input::End { id, how: AnswerEnd::Complete }).effect(ask(2, 1, 9)).terminal().broken()
    };
    assert_eq!(shorter(200), NONE);
    assert_eq!(shorter(529), ["O-12"]);
}

#[test]
fn o_12_the_user_may_ask_the_same_again() {
    let mut request = Request::new("m", 1);
    request.messages = vec![Arc::new(Message::user(vec![Block::text("long")]))];
    let ask = |prompt| Effect::Request { id: RequestId { prompt, ..ASKED }, request: Arc::new(request.clone()) };
    let refused = EventStory::new().effect(ask(1)).answered_with(1, (413, ""), AnswerEnd::Complete).terminal();
    let again = refused.input(Input::Prompt { prompt: 2, content: [].into() }).effect(ask(2));
    assert_eq!(again.effect(Effect::Finished { prompt: 2, terminal: Terminal::Completed }).broken(), NONE);
}
