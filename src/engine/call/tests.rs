//! Calls driven by hand: what an owner sees of each.

use super::*;
use crate::emission::Note;
use crate::settings::{RetrySettings, Settings};
use crate::time::Micros;
use reenact_wire::block::Message;

/// A call and its surroundings.
struct CallHarness {
    env: Environment,
    call: ApiCall,
    now: Time,
    effects: AgentEffects,
}

fn settings(retry: RetrySettings) -> Environment {
    let retry = RetrySettings { jitter_percent: 0, ..retry };
    Environment { settings: Settings { retry, ..Settings::default() }, ..Environment::default() }
}

fn with_fallback() -> Environment {
    let mut env = settings(RetrySettings::default());
    env.settings.session.fallback_model = Some("other".into());
    env
}

fn ask(model: &str) -> Request {
    Request::new(model, 32_000).with_messages([Message::user(vec![Block::text("hi")])])
}

impl CallHarness {
    fn open(env: Environment, model: &str) -> Self {
        Self::open_with(env, ask(model), RequestId::first(1), CallStanding::default())
    }

    fn open_with(env: Environment, request: Request, id: RequestId, standing: CallStanding) -> Self {
        let mut effects = AgentEffects::default();
        let call = ApiCall::open(&env, Time::ZERO, (id, CallUrgency::for_loop(&env.settings)), request, standing, &mut effects);
        let mut driven = Self { env, call, now: Time::ZERO, effects };
        driven.make();
        driven
    }

    /// Makes the attempt that is due, as an owner with money does.
    fn make(&mut self) {
        if self.call.is_due() {
            self.call.make(&self.env, self.now, &mut self.effects);
        }
    }

    fn head(&mut self, status: u16) {
        self.call.on_head(&self.env, self.now, status, &[].into(), &mut self.effects);
    }

    fn events(&mut self, events: &[(&str, &str)]) -> Vec<CallVerdict> {
        let event = |name: &str, data: &str| StreamEvent::decode(name, data);
        let verdicts =
            events.iter().map(|(name, data)| self.call.on_event(&self.env, self.now, &event(name, data), &mut self.effects)).collect();
        self.make();
        verdicts
    }

    fn end(&mut self, how: &AnswerEnd) -> CallVerdict {
        let verdict = self.call.on_end(&self.env, self.now, how, &mut self.effects);
        self.make();
        verdict
    }

    /// An answer with an error status, then whatever wait follows it.
    fn fails(&mut self, status: u16) -> CallVerdict {
        self.head(status);
        let verdict = self.end(&AnswerEnd::Complete);
        self.wait();
        verdict
    }

    /// Lets the timer of a wait ring at its time.
    fn wait(&mut self) {
        if let CallState::Waiting { rings, .. } = self.call.state {
            self.now = rings;
            let timer = TimerId { id: RETRY_TIMER, generation: self.call.id.attempt + 1 };
            assert_eq!(self.ring(timer), CallVerdict::Pending);
        }
    }

    fn ring(&mut self, timer: TimerId) -> CallVerdict {
        let verdict = self.call.on_timer(&self.env, self.now, timer, &mut self.effects);
        self.make();
        verdict
    }

    /// A stream that hands up one block and then breaks.
    fn breaks_after_a_block(&mut self) -> CallVerdict {
        self.head(200);
        let verdicts = self.events(BLOCK);
        assert!(matches!(verdicts.last(), Some(CallVerdict::Blocks(_))), "{verdicts:?}");
        self.end(&AnswerEnd::Reset)
    }

    fn effects(&mut self) -> Vec<Effect> {
        self.effects.drain().map(|(_, effect)| effect).collect()
    }
}

/// A stream up to the end of its first block.
const BLOCK: &[(&str, &str)] = &[
    (
        "message_start",
        r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":3,"output_tokens":1}}}"#,
    ),
    ("content_block_start", r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#),
    ("content_block_delta", r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}"#),
    ("content_block_stop", r#"{"type":"content_block_stop","index":0}"#),
];

/// An answer that came whole with its first event.
const WHOLE: &[(&str, &str)] = &[
    (
        "message_start",
        r#"{"type":"message_start","message":{"id":"msg_1","model":"m","content":[{"type":"text","text":"Hm"},{"type":"tool_use","id":"toolu_1","name":"Roll","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":1}}}"#,
    ),
    ("message_stop", r#"{"type":"message_stop"}"#),
];

#[test]
fn n_3_blocks_that_come_with_message_start_are_handed_up_at_once_and_in_order() {
    let mut call = CallHarness::open(settings(RetrySettings::default()), "m");
    call.head(200);
    let verdicts = call.events(WHOLE);
    let CallVerdict::Blocks(blocks) = &verdicts[0] else { panic!("{verdicts:?}") };
    let uuids: Vec<&str> = blocks.iter().map(|message| &*message.uuid).collect();
    assert_eq!(uuids, ["p1.r1.a1.b0", "p1.r1.a1.b1"]);
    assert_eq!(verdicts[1], CallVerdict::Pending);
    let CallVerdict::Ended(ended) = call.end(&AnswerEnd::Complete) else { panic!("the answer is complete") };
    assert_eq!((ended.blocks.len(), ended.stop_reason.as_deref()), (0, Some("tool_use")), "handed up once");
    let mut cut = CallHarness::open(settings(RetrySettings::default()), "m");
    cut.head(200);
    let _ = cut.events(&WHOLE[..1]);
    assert!(matches!(cut.end(&AnswerEnd::Reset), CallVerdict::Abandoned(_)), "the owner forgets what was handed up");
}

/// An attempt is made again that had used up nothing.
fn attempt_lost() -> CallVerdict {
    CallVerdict::AttemptLost(LostAttempt { usage: Usage::default(), is_fast: false })
}

fn requests(effects: &[Effect]) -> Vec<(RequestId, Arc<Request>)> {
    let of = |effect: &Effect| match effect {
        Effect::Request { id, request } => Some((*id, request.clone())),
        _ => None,
    };
    effects.iter().filter_map(of).collect()
}

#[test]
fn r_8_the_third_overload_hands_the_call_over_and_counts_anew() {
    let mut call = CallHarness::open(with_fallback(), "first");
    assert_eq!((call.fails(529), call.fails(529)), (attempt_lost(), attempt_lost()));
    assert_eq!(call.call.standing().overloads, 2);
    let CallVerdict::Fallback { to, failure } = call.fails(529) else { panic!("another model takes over") };
    assert_eq!((&*to, failure.status), ("other", Some(529)));
    assert_eq!(call.call.standing().overloads, 0, "none of the other model's answers was counted");
    assert!(call.effects().iter().any(|effect| matches!(effect, Effect::Emit(Emission::ApiRetry { retry: 2, .. }))));
}

#[test]
fn r_8_a_count_is_carried_into_the_call_and_any_other_answer_resets_it() {
    let carried = CallStanding { overloads: 2, ..CallStanding::default() };
    let mut call = CallHarness::open_with(with_fallback(), ask("first"), RequestId::first(1), carried.clone());
    assert!(matches!(call.fails(529), CallVerdict::Fallback { .. }));
    let mut reset = CallHarness::open_with(with_fallback(), ask("first"), RequestId::first(1), carried);
    assert_eq!((reset.fails(500), reset.fails(529), reset.fails(529)), (attempt_lost(), attempt_lost(), attempt_lost()));
    assert!(matches!(reset.fails(529), CallVerdict::Fallback { .. }));
}

#[test]
fn q_21_the_model_that_took_over_hands_over_to_nobody() {
    let id = RequestId { attempt: 4, ..RequestId::first(1) };
    let mut call = CallHarness::open_with(with_fallback(), ask("other"), id, CallStanding::default());
    assert_eq!(requests(&call.effects())[0].0, id, "attempts are numbered on");
    assert_eq!((call.fails(529), call.fails(529)), (attempt_lost(), attempt_lost()));
    let CallVerdict::Failed(failure) = call.fails(529) else { panic!("nobody is left") };
    assert!(failure.message.contains("the service is overloaded"), "{}", failure.message);
    assert!(failure.message.contains("3 attempts"), "its own attempts alone: {}", failure.message);
}

#[test]
fn r_11_a_broken_stream_goes_up_and_then_goes_on_unstreamed_with_a_cap_and_a_timeout() {
    let mut call = CallHarness::open(settings(RetrySettings::default()), "m");
    let CallVerdict::Abandoned(attempt) = call.breaks_after_a_block() else { panic!("its owner must forget it") };
    assert_eq!((attempt.usage.input_tokens, *call.call.usage()), (Some(3), Usage::default()), "it is counted once");
    assert_eq!(call.end(&AnswerEnd::Complete), CallVerdict::Pending, "an abandoned attempt speaks");
    let before = call.effects();
    assert_eq!(requests(&before).len(), 1, "nothing is asked before the owner says so");
    assert!(matches!(before.last(), Some(Effect::Note(Note::Attempt(report))) if report.usage.input_tokens == Some(3)), "R-12");
    call.call.go_on(&call.env, call.now, &mut call.effects);
    call.make();
    let after = call.effects();
    let (id, request) = requests(&after)[0].clone();
    assert_eq!((id.attempt, request.stream, request.max_tokens), (2, false, 21_333));
    let Some(Effect::SetTimer { timer, at }) = after.last().cloned() else { panic!("it has a timeout: {after:?}") };
    assert_eq!(at, Time::ZERO + Micros::from_secs(300));
    call.now = at;
    assert_eq!(call.ring(timer), attempt_lost(), "an attempt like any other");
    let late = call.effects();
    assert!(late.contains(&Effect::CloseRequest { id }), "{late:?}");
    assert!(late.iter().any(|effect| matches!(effect, Effect::Emit(Emission::ApiRetry { kind, .. }) if &**kind == "timeout")));
    call.wait();
    assert!(!requests(&call.effects())[0].1.stream, "it stays unstreamed");
}

#[test]
fn r_11_by_setting_a_broken_stream_is_streamed_again_after_a_wait() {
    let mut call = CallHarness::open(settings(RetrySettings { nonstreaming_fallback: false, ..RetrySettings::default() }), "m");
    assert!(matches!(call.breaks_after_a_block(), CallVerdict::Abandoned(_)));
    call.call.go_on(&call.env, call.now, &mut call.effects);
    call.make();
    assert!(matches!(call.call.state, CallState::Waiting { .. }));
    call.wait();
    let requests = requests(&call.effects());
    assert_eq!((requests.len(), requests[1].1.stream, requests[1].1.max_tokens), (2, true, 32_000));
}

#[test]
fn r_11_an_answer_that_comes_whole_is_never_abandoned() {
    let mut call = CallHarness::open_with(
        settings(RetrySettings::default()),
        Request { stream: false, ..ask("m") },
        RequestId::first(1),
        CallStanding::default(),
    );
    call.head(200);
    assert_eq!(call.end(&AnswerEnd::Reset), attempt_lost());
    assert!(matches!(call.call.state, CallState::Waiting { .. }));
}

#[test]
fn r_8_an_overload_after_a_block_counts_for_the_attempt_that_follows_unstreamed() {
    let mut call = CallHarness::open(with_fallback(), "m");
    call.head(200);
    let mut events = BLOCK.to_vec();
    events.push(("error", r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#));
    assert!(matches!(call.events(&events).last(), Some(CallVerdict::Abandoned(_))));
    call.call.go_on(&call.env, call.now, &mut call.effects);
    call.make();
    assert_eq!(call.fails(529), attempt_lost());
    assert!(matches!(call.fails(529), CallVerdict::Fallback { .. }), "it is the third");
}

#[test]
fn r_11_silence_is_warned_of_and_then_breaks_the_stream_and_one_timer_does_it() {
    let mut call = CallHarness::open(settings(RetrySettings::default()), "m");
    call.head(200);
    let at = |seconds| Time::ZERO + Micros::from_secs(seconds);
    let set = |effects: &[Effect]| effects.iter().filter(|effect| matches!(effect, Effect::SetTimer { .. })).count();
    let effects = call.effects();
    let Some(Effect::SetTimer { timer, .. }) = effects.last().cloned() else { panic!("it is watched: {effects:?}") };
    for second in 1..=40 {
        call.now = at(second);
        assert_eq!(call.events(&[("ping", r#"{"type":"ping"}"#)]), [CallVerdict::Pending]);
    }
    assert_eq!(set(&call.effects()), 0, "an event sets no timer");
    call.now = at(45);
    assert_eq!(call.ring(timer), CallVerdict::Pending);
    assert_eq!(call.effects(), [Effect::SetTimer { timer, at: at(85) }], "half of the time after the last ping");
    assert_eq!(call.ring(timer), CallVerdict::Pending, "an early ring is stale");
    assert_eq!(call.effects(), []);
    call.now = at(85);
    assert_eq!(call.ring(timer), CallVerdict::Pending);
    let warned = call.effects();
    assert!(matches!(&warned[..], [Effect::Emit(Emission::Warning { .. }), Effect::SetTimer { at: next, .. }] if *next == at(130)));
    call.now = at(130);
    assert_eq!(call.ring(timer), attempt_lost());
    assert!(matches!(call.call.state, CallState::Waiting { .. }), "an attempt like any other");
}

#[test]
fn r_11_the_watchdog_is_disarmed_at_the_end_of_the_answer() {
    let cancelled = |end: fn(&mut CallHarness)| {
        let mut call = CallHarness::open(settings(RetrySettings::default()), "m");
        call.head(200);
        call.effects(); // that of the head is taken back with the head
        end(&mut call);
        call.effects().iter().filter(|effect| matches!(effect, Effect::CancelTimer { .. })).count()
    };
    assert_eq!(cancelled(|call| call.call.abort(call.now, &mut call.effects)), 1);
    assert_eq!(cancelled(|call| drop(call.breaks_after_a_block())), 1);
    assert_eq!(cancelled(|call| drop(call.end(&AnswerEnd::Complete))), 1);
    let ends_well = |call: &mut CallHarness| {
        call.events(BLOCK);
        call.events(&[("message_delta", r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}"#)]);
        call.events(&[("message_stop", r#"{"type":"message_stop"}"#)]);
        assert!(matches!(call.end(&AnswerEnd::Complete), CallVerdict::Ended(_)));
    };
    assert_eq!(cancelled(ends_well), 1);
}

#[test]
fn r_9_the_next_call_is_fast_again_after_the_cooldown_and_never_when_it_was_refused() {
    let env = settings(RetrySettings { fast_mode: true, ..RetrySettings::default() });
    let mut call = CallHarness::open(env.clone(), "m");
    assert_eq!(requests(&call.effects())[0].1.extra.as_str(), r#"{"speed":"fast"}"#);
    assert!(matches!(call.fails(429), CallVerdict::AttemptLost(LostAttempt { is_fast: true, .. })));
    let effects = call.effects();
    assert_eq!(requests(&effects)[0].1.extra.as_str(), "{}", "at once, at standard speed");
    let standing = call.call.standing();
    let until = Time::ZERO + Micros::from_secs(30 * 60);
    assert_eq!(standing.speed, FastModeState::CoolingUntil(until));
    let asks_fast = |now, standing: &CallStanding| {
        let mut effects = AgentEffects::default();
        let call = ApiCall::open(&env, now, (RequestId::first(2), CallUrgency::Foreground), ask("m"), standing.clone(), &mut effects);
        let said = effects.iter().any(|(_, effect)| matches!(effect, Effect::Emit(Emission::Speed { fast: true, .. })));
        assert_eq!(said, call.shape.is_fast(), "a change of speed is said");
        said
    };
    assert!(!asks_fast(Time(until.0 - 1), &standing));
    assert!(asks_fast(until, &standing));
    assert!(!asks_fast(until, &CallStanding { speed: FastModeState::Off, ..standing }));
}

#[test]
fn r_3_each_call_has_an_urgency_of_its_own() {
    let failed = |urgency| {
        let env = settings(RetrySettings::default());
        let mut effects = AgentEffects::default();
        let call = ApiCall::open(&env, Time::ZERO, (RequestId::first(1), urgency), ask("m"), CallStanding::default(), &mut effects);
        let mut driven = CallHarness { env, call, now: Time::ZERO, effects };
        driven.make();
        driven.fails(529)
    };
    assert_eq!(failed(CallUrgency::Foreground), attempt_lost(), "it is tried again");
    let CallVerdict::Failed(failure) = failed(CallUrgency::Background) else { panic!("it goes on") };
    assert!(failure.message.contains("background work is not retried when the API is overloaded"), "{}", failure.message);
}

#[test]
fn r_2_a_request_that_is_changed_waits_too_when_the_server_asks_for_it() {
    let mut call = CallHarness::open(settings(RetrySettings::default()), "m");
    call.call.on_head(&call.env, call.now, 404, &[HttpHeader::new("retry-after", "7")].into(), &mut call.effects);
    assert_eq!(call.end(&AnswerEnd::Complete), attempt_lost());
    assert_eq!(requests(&call.effects()).len(), 1, "not yet");
    call.wait();
    let again = requests(&call.effects());
    assert_eq!((call.now, again.len(), again[0].1.stream), (Time::ZERO + Micros::from_secs(7), 1, false));
    call.call.on_head(&call.env, call.now, 401, &[HttpHeader::new("retry-after", "7")].into(), &mut call.effects);
    assert_eq!(call.end(&AnswerEnd::Complete), attempt_lost());
    assert_eq!(call.call.on_auth(&call.env, call.now, true, &mut call.effects), CallVerdict::Pending);
    call.make();
    assert_eq!(requests(&call.effects()), [], "new credentials do not shorten it");
}

/// The head of an error says all that counts, however its body ends.
#[test]
fn r_2_an_error_whose_body_breaks_off_is_the_error_of_its_head() {
    let waits = |ends: fn(&mut CallHarness) -> CallVerdict| {
        let mut call = CallHarness::open(settings(RetrySettings::default()), "m");
        let effects = call.effects();
        call.call.on_head(&call.env, call.now, 429, &[HttpHeader::new("retry-after", "100")].into(), &mut call.effects);
        assert!(!effects.is_empty() && matches!(call.call.state, CallState::AwaitingBody { .. }));
        assert_eq!(ends(&mut call), attempt_lost());
        let CallState::Waiting { until, .. } = call.call.state else { panic!("{:?}", call.call.state) };
        until.since(call.now)
    };
    let asked = Micros::from_secs(100);
    assert_eq!(waits(|call| call.end(&AnswerEnd::Complete)), asked);
    assert_eq!(waits(|call| call.end(&AnswerEnd::Reset)), asked, "the connection breaks");
    let silent = waits(|call| {
        let timer =
            call.effects().into_iter().filter_map(|effect| if let Effect::SetTimer { timer, .. } = effect { Some(timer) } else { None });
        let timer = timer.last().unwrap();
        // It warns at half of the time, and rings again at its end.
        call.now = call.now + Micros::from_secs(45);
        assert_eq!(call.ring(timer), CallVerdict::Pending);
        call.now = call.now + Micros::from_secs(45);
        call.ring(timer)
    });
    assert_eq!(silent, asked, "nothing more comes");
}
