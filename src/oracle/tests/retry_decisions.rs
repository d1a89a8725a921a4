//! The decisions of a retry table, and the model that a prompt begins with (O-31).

use super::super::retry_decisions::ORACLE;
use super::*;
use reenact_engine::settings::OverloadPolicy;

fn attempt(number: u32) -> RequestId {
    RequestId { attempt: number, ..ASKED }
}

/// A story with a second model, about the answers to attempts.
struct RetryStory(EventStory);

impl RetryStory {
    fn with(change: impl FnOnce(&mut Settings)) -> Self {
        Self(EventStory::with(|settings| {
            settings.retry.policy = RetryPolicySource::Settings;
            change(settings);
        }))
    }

    fn with_fallback(change: impl FnOnce(&mut Settings)) -> Self {
        Self::with(|settings| {
            settings.session.fallback_model = Some("other".into());
            change(settings);
        })
    }

    fn asks(self, number: u32, model: &str) -> Self {
        self.requests(attempt(number), Request::new(model, 8_000))
    }

    fn requests(self, id: RequestId, request: Request) -> Self {
        Self(self.0.effect(Effect::Request { id, request: Arc::new(request) }))
    }

    /// An answer with an error status.
    fn refused(self, number: u32, status: u16, message: &str) -> Self {
        self.refused_with(number, status, message, &[])
    }

    fn refused_with(self, number: u32, status: u16, message: &str, headers: &[(&str, &str)]) -> Self {
        let id = attempt(number);
        let headers: Vec<HttpHeader> = headers.iter().map(|(name, value)| HttpHeader::new(name, value)).collect();
        let body = format!(
            r#"{{"type":"error","error":{{"type":"{}","message":"{message}"}}}}"#,
            if status == 529 { "overloaded_error" } else { "" }
        );
        let story = self.0.input(Input::Head { id, status, headers: headers.into() }).input(Input::Body { id, body: body.into() });
        Self(story.input(Input::End { id, how: AnswerEnd::Complete }))
    }

    /// A whole answer.
    fn answered(self, number: u32) -> Self {
        let id = attempt(number);
        let story = self.0.input(Input::Head { id, status: 200, headers: [].into() });
        Self(story.hears(id, &[r#"{"type":"message_stop"}"#]).input(Input::End { id, how: AnswerEnd::Complete }))
    }

    /// A stream of these events that is cut.
    fn cut(self, number: u32, events: &[&str]) -> Self {
        let id = attempt(number);
        let story = self.0.input(Input::Head { id, status: 200, headers: [].into() });
        Self(story.hears(id, events).input(Input::End { id, how: AnswerEnd::Reset }))
    }

    fn waits(self, number: u32, milliseconds: u64) -> Self {
        let (id, delay) = (attempt(number), Micros::from_millis(milliseconds));
        let (kind, text) = ("x".into(), "".into());
        Self(self.0.effect(Effect::Emit(Emission::ApiRetry { id, retry: number, of: 0, delay, status: None, kind, text })))
    }

    fn renews(self, number: u32) -> Self {
        Self(self.0.effect(Effect::RefreshAuth { id: attempt(number), forced: false, provider: None }))
    }

    fn hands_over(self, number: u32, to: &str) -> Self {
        let (from, reason) = ("m".into(), "".into());
        Self(self.0.effect(Effect::Emit(Emission::ModelFallback { id: attempt(number), from, to: to.into(), reason })))
    }

    fn gives_up(self, number: u32) -> Self {
        let (uuid, id, error) = ("u".into(), attempt(number), Some("x".into()));
        let message = AssistantMessage { uuid, id, api_id: "".into(), model: "".into(), block: Block::text("lost"), error };
        Self(self.0.effect(Effect::Emit(Emission::Assistant(Arc::new(message)))))
    }

    /// How often this rule complained.
    fn times(&self) -> usize {
        self.0.times_broken(ORACLE)
    }

    fn times_asked(&self) -> u64 {
        self.0.oracles.asked().find(|(oracle, _)| *oracle == ORACLE).map_or(0, |(_, count)| count)
    }
}

fn expect(table: impl IntoIterator<Item = (RetryStory, usize, &'static str)>) {
    for (story, expected, reason) in table {
        assert_eq!(story.times(), expected, "{reason}: {:?}", story.0.oracles.violations());
    }
}

#[test]
fn o_31_no_call_is_given_up_that_the_table_repeats() {
    let failed = |status, message: &str| RetryStory::with(|_| ()).asks(1, "m").refused(1, status, message);
    expect([
        (failed(500, "x").gives_up(1), 1, "a server error"),
        (failed(429, "x").gives_up(1), 1, "a rate limit"),
        (failed(409, "x").gives_up(1), 1, "a conflict"),
        (failed(401, "x").gives_up(1), 1, "new credentials come first"),
        (failed(401, "x").renews(1).asks(2, "m").refused(2, 401, "x").gives_up(2), 0, "new credentials did not help"),
        (failed(400, "x").gives_up(1), 0, "a wrong request stays wrong"),
        (failed(403, "x").gives_up(1), 0, "it is not allowed"),
        (failed(403, "it was revoked").gives_up(1), 1, "a token that was revoked"),
        (failed(413, "x").gives_up(1), 0, "too large is not an attempt's matter"),
        (failed(400, "prompt is too long").gives_up(1), 0, "nor is too long"),
        (RetryStory::with(|_| ()).asks(1, "m").cut(1, &[]).gives_up(1), 1, "a broken stream"),
        (RetryStory::with(|settings| settings.retry.max_retries = 0).asks(1, "m").refused(1, 500, "x").gives_up(1), 0, "no retry is left"),
    ]);
    let hangs = RetryStory(RetryStory::with(|_| ()).asks(1, "m").0.input(Input::End { id: attempt(1), how: AnswerEnd::Dns }));
    expect([(hangs.gives_up(1), 1, "the name may be known later")]);
}

#[test]
fn o_31_nothing_is_repeated_that_the_table_gives_up() {
    let failed = |status, headers: &[(&str, &str)]| RetryStory::with(|_| ()).asks(1, "m").refused_with(1, status, "x", headers);
    let spent = |settings: &mut Settings| settings.retry.max_retries = 1;
    expect([
        (failed(400, &[]).asks(2, "m"), 1, "a wrong request"),
        (failed(400, &[]).waits(1, 500), 1, "it shows in the notice"),
        (failed(400, &[]).waits(1, 500).asks(2, "m"), 1, "and is said once"),
        (failed(500, &[("x-should-retry", "false")]).waits(1, 500), 1, "the server says so"),
        (failed(400, &[("x-should-retry", "true")]).waits(1, 500), 0, "the server says so"),
        (failed(429, &[("retry-after", "99999")]).waits(1, 99_999_000), 1, "too long a wait"),
        (failed(500, &[]).waits(1, 500).asks(2, "m"), 0, "a server error"),
        (failed(500, &[]).asks(2, "m"), 1, "without a wait"),
        (failed(401, &[]).asks(2, "m"), 1, "without new credentials"),
        (
            RetryStory::with(spent).asks(1, "m").refused(1, 500, "x").waits(1, 500).asks(2, "m").refused(2, 500, "x").waits(2, 1_000),
            1,
            "one too many",
        ),
    ]);
    let in_background = RetryStory::with(|settings| settings.background = true).asks(1, "m").refused(1, 529, "x");
    expect([(in_background.waits(1, 500), 1, "background work adds nothing to an overload")]);
}

#[test]
fn o_31_another_model_takes_over_at_its_count() {
    let overloaded = |count: u32, between: Option<u16>| {
        let mut story = RetryStory::with_fallback(|_| ());
        for number in 1..=count {
            let status = if number == 2 { between.unwrap_or(529) } else { 529 };
            story = story.asks(number, "m").refused(number, status, "x");
            story = if number < count { story.waits(number, 500 << (number - 1)) } else { story };
        }
        story
    };
    expect([
        (overloaded(1, None).hands_over(1, "other"), 1, "before its count"),
        (overloaded(2, None).asks(3, "other"), 1, "without a word"),
        (overloaded(3, None).hands_over(3, "other").asks(4, "other"), 0, "at its count"),
        (overloaded(3, None).hands_over(3, "third"), 1, "to another one"),
        (overloaded(3, None).waits(3, 2_000), 1, "after its count"),
        (overloaded(3, None).gives_up(3), 1, "there is another model"),
        (overloaded(3, Some(500)).hands_over(3, "other"), 1, "another answer came between"),
        (overloaded(3, Some(500)).waits(3, 2_000), 0, "another answer came between"),
    ]);
    let refused = || RetryStory::with_fallback(|_| ()).asks(1, "m").refused(1, 500, "x");
    let event = r#"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#;
    let in_stream = || RetryStory::with_fallback(|settings| settings.retry.overloads_to_fallback = 1).asks(1, "m").cut(1, &[event]);
    expect([
        (refused().hands_over(1, "other"), 1, "a server error is no overload"),
        (in_stream().hands_over(1, "other"), 0, "an error event is one"),
        (in_stream().waits(1, 500), 1, "an error event is one"),
    ]);
    let broken = RetryStory::with_fallback(|settings| settings.retry.overloads_to_fallback = 2).asks(1, "m").refused(1, 529, "x");
    let broken = || RetryStory(EventStory { oracles: broken.0.oracles.clone(), at: broken.0.at }).waits(1, 500).asks(2, "m");
    let no_answer = || RetryStory(broken().0.input(Input::End { id: attempt(2), how: AnswerEnd::Reset })).waits(2, 1_000).asks(3, "m");
    expect([
        (no_answer().refused(3, 529, "x").waits(3, 2_000), 0, "what is no answer may begin anew"),
        (no_answer().refused(3, 529, "x").hands_over(3, "other"), 0, "or says nothing"),
    ]);
}

#[test]
fn o_31_a_success_resets_the_count() {
    let other = |number| RequestId { turn: 2, attempt: number, ..ASKED };
    let twice = || {
        let story = RetryStory::with_fallback(|settings| settings.retry.overloads_to_fallback = 2);
        let story = story.asks(1, "m").refused(1, 529, "x").waits(1, 500).asks(2, "m").answered(2).requests(other(1), Request::new("m", 1));
        let story = story.0.input(Input::Head { id: other(1), status: 529, headers: [].into() });
        story.input(Input::End { id: other(1), how: AnswerEnd::Complete })
    };
    let hands_over = Effect::Emit(Emission::ModelFallback { id: other(1), from: "m".into(), to: "other".into(), reason: "".into() });
    assert_eq!(twice().effect(hands_over).times_broken(ORACLE), 1, "the count was not reset");
    let (kind, text) = ("x".into(), "".into());
    let delay = Micros::from_millis(500);
    let waits = Effect::Emit(Emission::ApiRetry { id: other(1), retry: 1, of: 10, delay, status: None, kind, text });
    assert_eq!(twice().effect(waits).times_broken(ORACLE), 0);
}

#[test]
fn o_31_without_another_model_a_setting_decides() {
    let overloaded = |change: fn(&mut Settings)| {
        let story = RetryStory::with(change).asks(1, "m").refused(1, 529, "x").waits(1, 500).asks(2, "m").refused(2, 529, "x");
        story.waits(2, 1_000).asks(3, "m").refused(3, 529, "x")
    };
    let go_on: fn(&mut Settings) = |settings| settings.retry.on_overload = OverloadPolicy::GoOn;
    expect([
        (overloaded(|_| ()).gives_up(3), 0, "it gives up"),
        (overloaded(|_| ()).waits(3, 2_000), 1, "it gives up"),
        (overloaded(go_on).waits(3, 2_000), 0, "it goes on"),
        (overloaded(go_on).gives_up(3), 1, "it goes on"),
    ]);
}

#[test]
fn o_31_computed_waits_are_doubled_and_capped() {
    let second = || RetryStory::with(|settings| settings.retry.max_delay = Micros::from_millis(900)).asks(1, "m").refused(1, 500, "x");
    let third = || second().waits(1, 500).asks(2, "m").refused(2, 500, "x");
    let limited = |seconds: &str| RetryStory::with(|_| ()).asks(1, "m").refused_with(1, 429, "x", &[("retry-after", seconds)]);
    expect([
        (second().waits(1, 500), 0, "the shortest"),
        (second().waits(1, 625), 0, "the longest"),
        (second().waits(1, 499), 1, "too short"),
        (second().waits(1, 626), 1, "too long"),
        (third().waits(2, 900), 0, "the cap"),
        (third().waits(2, 1_125), 0, "the cap with jitter"),
        (third().waits(2, 899), 1, "not doubled"),
        (third().waits(2, 1_126), 1, "over the cap"),
        (limited("7").waits(1, 7_000), 0, "what the server asks for"),
        (limited("7").waits(1, 20_000), 1, "it wins over the computed delay"),
        (limited("0.2").waits(1, 500), 1, "also over a longer one"),
        (limited("7").waits(1, 500), 0, "that it is undercut is told by O-9"),
    ]);
}

#[test]
fn o_31_a_stream_that_breaks_behind_a_block_is_asked_for_whole() {
    let block = r#"{"type":"content_block_stop","index":0}"#;
    let broken = |stream, change: fn(&mut Settings)| {
        let asked = || Request { stream, ..Request::new("m", 8_000) };
        RetryStory::with(change).requests(attempt(1), asked()).cut(1, &[block])
    };
    let whole = || Request { stream: false, ..Request::new("m", 8_000) };
    let streamed = || Request { stream: true, ..Request::new("m", 8_000) };
    let never: fn(&mut Settings) = |settings| settings.retry.nonstreaming_fallback = false;
    expect([
        (broken(true, |_| ()).requests(attempt(2), whole()), 0, "it is"),
        (broken(true, |_| ()).requests(attempt(2), streamed()), 1, "it is not"),
        (broken(true, never).waits(1, 500).requests(attempt(2), streamed()), 0, "not by this setting"),
        (broken(true, |_| ()).gives_up(1), 1, "it is given up"),
        (broken(true, |settings| settings.retry.max_retries = 0).gives_up(1), 0, "no retry at all is wanted"),
    ]);
    let spent = |stream| {
        let asked = Request { stream, ..Request::new("m", 8_000) };
        let story = RetryStory::with(|settings| settings.retry.max_retries = 1).requests(attempt(1), asked.clone()).refused(1, 500, "x");
        story.waits(1, 500).requests(attempt(2), asked).cut(2, &[])
    };
    expect([
        (spent(true).requests(attempt(3), whole()), 0, "it is the last resort"),
        (spent(true).gives_up(2), 1, "there is the last resort"),
        (spent(false).gives_up(2), 0, "there was no stream"),
    ]);
}

#[test]
fn o_31_less_room_for_the_output_is_what_fits() {
    let text = "input length and `max_tokens` exceed context limit: 100 + 8000 > 7000";
    let refused = || RetryStory::with(|_| ()).asks(1, "m").refused(1, 400, text);
    expect([
        (refused().requests(attempt(2), Request::new("m", 5_900)), 0, "the limit without input and margin"),
        (refused().requests(attempt(2), Request::new("m", 6_900)), 1, "without the margin"),
        (refused().gives_up(1), 1, "there is room"),
    ]);
}

#[test]
fn o_31_a_refused_request_is_repeated_at_once_as_often_as_the_settings_say() {
    let repeated = |is_fast: bool, times: u32| {
        let story = RetryStory::with(|settings| (settings.retry.refused_retries, settings.retry.fast_mode) = (2, true));
        let request = || {
            let extra = if is_fast { r#"{"speed":"fast"}"# } else { "{}" };
            Request { extra: Json::trusted(extra), ..Request::new("m", 8_000) }
        };
        (1..=times + 1).fold(story, |story, number| story.requests(attempt(number), request()).refused(number, 400, "x"))
    };
    expect([
        (repeated(false, 2).gives_up(3), 0, "both repetitions are made"),
        (repeated(false, 1).gives_up(2), 1, "one is left"),
        (repeated(true, 2).gives_up(3), 0, "so it is at high speed"),
        (repeated(true, 1).gives_up(2), 1, "one is left at high speed"),
    ]);
}

#[test]
fn o_31_is_not_asked_of_an_engine_with_a_policy_of_its_own() {
    let own = |settings: &mut Settings| settings.retry.policy = RetryPolicySource::Engine;
    let stated = RetryStory::with(|_| ()).asks(1, "m").refused(1, 500, "x").gives_up(1);
    let story = RetryStory::with(own).asks(1, "m").refused(1, 500, "x").gives_up(1);
    assert_eq!((stated.times(), stated.times_asked()), (1, 1));
    assert_eq!((story.times(), story.times_asked()), (0, 0));
}

#[test]
fn o_31_what_follows_an_abort_is_no_decision() {
    let story = RetryStory(RetryStory::with(|_| ()).asks(1, "m").refused(1, 500, "x").0.input(Input::Cancel));
    expect([(story.gives_up(1), 0, "the user has cancelled")]);
}

#[test]
fn o_31_a_prompt_begins_with_the_model_of_the_session() {
    let prompt = |story: EventStory, prompt, text: &str| story.input(Input::Prompt { prompt, content: [Block::text(text)].into() });
    let ends = |story: EventStory, prompt| story.effect(Effect::Finished { prompt, terminal: Terminal::Completed });
    let begins = |story: EventStory, prompt, model| {
        story.effect(Effect::Request { id: RequestId::first(prompt), request: Request::new(model, 1).into() })
    };
    let first = || ends(RetryStory::with(|_| ()).asks(1, "m").0, 1);
    let chosen = || ends(prompt(first(), 2, "/model other"), 2);
    let table = [
        (begins(prompt(first(), 2, "x"), 2, "m"), 0, "the configured one"),
        (begins(prompt(first(), 2, "x"), 2, "other"), 1, "one that nobody chose"),
        (begins(prompt(chosen(), 3, "x"), 3, "other"), 0, "the one that the user chose"),
        (begins(prompt(chosen(), 3, "x"), 3, "m"), 1, "the choice was forgotten"),
        (begins(prompt(first(), 2, "/model other"), 2, "m"), 0, "an engine without commands"),
        (begins(prompt(prompt(first(), 2, "/model other"), 3, "x"), 3, "m"), 0, "the command is not read yet"),
    ];
    for (story, expected, reason) in table {
        assert_eq!(story.times_broken(ORACLE), expected, "{reason}");
    }
}

#[test]
fn o_31_a_whole_answer_has_the_room_of_one_that_is_not_streamed() {
    let asked = |max_tokens: u64| {
        const START: &str = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
        let first = Request { stream: true, ..Request::new("m", 30_000) };
        let cut = RetryStory::with(|_| ()).requests(ASKED, first).cut(1, &[START, r#"{"type":"content_block_stop","index":0}"#]);
        let again = Request { stream: false, ..Request::new("m", max_tokens) };
        cut.requests(attempt(2), again).0.times_broken(ORACLE)
    };
    assert_eq!(asked(21_333), 0);
    assert_eq!(asked(30_000), 1);
    assert_eq!(asked(8_000), 1);
}

#[test]
fn o_31_at_standard_speed_no_fast_answer_is_asked_for() {
    let asks = |fast: bool, until: Option<Time>| {
        let story = RetryStory::with(|settings| settings.retry.fast_mode = true);
        let speed = Effect::Emit(Emission::Speed { fast, until, reason: "".into() });
        let request = Request { extra: Json::trusted(r#"{"speed":"fast"}"#), ..Request::new("m", 8_000) };
        RetryStory(story.0.effect(speed)).requests(ASKED, request).times()
    };
    assert_eq!(asks(false, None), 1, "for good");
    assert_eq!(asks(false, Some(Time(u64::MAX))), 1);
    assert_eq!(asks(false, Some(Time(1))), 0, "that is over");
    assert_eq!(asks(true, None), 0);
}
