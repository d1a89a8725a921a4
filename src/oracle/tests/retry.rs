//! Attempts and the waits between them (O-9).

use super::*;

const SECOND: RequestId = RequestId { attempt: 2, ..ASKED };

impl EventStory {
    fn at(mut self, milliseconds: u64) -> Self {
        self.at = Time::ZERO + Micros::from_millis(milliseconds);
        self
    }

    fn attempt(self, id: RequestId, model: &str) -> Self {
        self.effect(Effect::Request { id, request: Arc::new(Request::new(model, 1)) })
    }

    /// The last attempt fails, and the server asks to wait for a second.
    fn limited(self) -> Self {
        let headers = [HttpHeader::new("retry-after", "1")].into();
        self.input(Input::Head { id: ASKED, status: 429, headers }).input(Input::End { id: ASKED, how: AnswerEnd::Complete })
    }

    fn notice(self, id: RequestId, retry: u32, of: u32, seconds: u64) -> Self {
        let delay = Micros::from_secs(seconds);
        let (status, kind, text) = (Some(429), "x".into(), "".into());
        self.effect(Effect::Emit(Emission::ApiRetry { id, retry, of, delay, status, kind, text }))
    }

    fn speed(self, fast: bool) -> Self {
        self.effect(Effect::Emit(Emission::Speed { fast, until: None, reason: "".into() }))
    }
}

#[test]
fn o_9_waits_are_announced_and_kept() {
    let asked = || EventStory::new().at(0).attempt(ASKED, "m").limited();
    let table = [
        (asked().notice(ASKED, 1, 10, 1).at(1_002).attempt(SECOND, "m"), &[][..], "in time"),
        (asked().notice(ASKED, 1, 10, 1).at(1_000).attempt(SECOND, "m"), &["O-9", "O-9"], "before the server's and the announced time"),
        (asked().notice(ASKED, 1, 10, 2).at(1_500).attempt(SECOND, "m"), &["O-9"], "before the announced time"),
        (asked().notice(ASKED, 1, 10, 1).at(1_600).attempt(SECOND, "m"), &["O-9"], "long after the announced time"),
        (asked().at(1_500).attempt(SECOND, "m"), &["O-9"], "a wait without a word"),
        (asked().notice(ASKED, 1, 0, 1).at(1_002).attempt(SECOND, "m"), &[], "there may be any number"),
        (asked().notice(ASKED, 2, 10, 1).at(1_002).attempt(SECOND, "m"), &["O-9"], "the second before the first"),
        (asked().notice(SECOND, 1, 10, 1), &["O-9"], "of an attempt that was not made"),
        (asked().speed(false).attempt(SECOND, "m"), &[], "the speed was switched"),
        (asked().speed(true).attempt(SECOND, "m"), &["O-9"], "the speed was not switched to standard"),
        (asked().attempt(SECOND, "other"), &[], "another model was not asked to wait for"),
        (asked().input(Input::Cancel).attempt(SECOND, "m"), &["O-11"], "what follows an abort is another rule's matter"),
    ];
    for (story, expected, reason) in table {
        assert_eq!(story.terminal().broken(), expected, "{reason}");
    }
}

#[test]
fn o_9_credentials_take_as_long_as_they_take() {
    let end = Input::End { id: ASKED, how: AnswerEnd::Complete };
    let renews = Effect::RefreshAuth { id: ASKED, forced: false, provider: None };
    let story = EventStory::new().attempt(ASKED, "m").input(end).effect(renews).at(5_000).attempt(SECOND, "m");
    assert_eq!(story.terminal().broken(), NONE);
}

#[test]
fn o_9_attempts_are_numbered_on() {
    let third = RequestId { attempt: 3, ..ASKED };
    let end = || Input::End { id: ASKED, how: AnswerEnd::Reset };
    let close = Effect::CloseRequest { id: ASKED };
    let table = [
        (EventStory::new().attempt(ASKED, "m").input(end()).attempt(SECOND, "m"), &[][..], "one after the other"),
        (EventStory::new().attempt(ASKED, "m").effect(close).attempt(SECOND, "m"), &[], "it was closed"),
        (EventStory::new().attempt(ASKED, "m").attempt(SECOND, "m"), &["O-9"], "the first is still open"),
        (EventStory::new().attempt(ASKED, "m").input(end()).attempt(third, "m"), &["O-9"], "one is left out"),
        (EventStory::new().attempt(SECOND, "m"), &["O-9"], "there was no first one"),
        (EventStory::new().attempt(ASKED, "m").input(end()).attempt(RequestId { turn: 2, ..ASKED }, "m"), &[], "the next request"),
    ];
    for (story, expected, reason) in table {
        assert_eq!(story.terminal().broken(), expected, "{reason}");
    }
}
