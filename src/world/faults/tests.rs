//! Which requests are hit, and what becomes of one answer.

use super::*;
use crate::decoded_pieces::DecodedPieces;
use crate::plan::{ResponseHead, ResponsePlan, TimedPiece};
use reenact_engine::contract::{Agent, AnswerEnd, RequestId};
use reenact_engine::random::Seed;
use reenact_engine::time::Micros;
use reenact_scenario::fault::{AnswerChange, AnswerSubstitute, ConnectFault, CutAfter, CutManner, FaultAnswer};
use reenact_scenario::types::AnswerTiming;
use reenact_wire::error::{ApiError, ContextFigures, ErrorKind};
use reenact_wire::request::Request;

fn asked(id: RequestId, now: Time) -> ModelRequest<'static> {
    let request = Box::leak(Box::new(Request::new("big", 1)));
    ModelRequest { agent: &Agent::ROOT, id, request, now, origins: &[], gets_default: false, of_head: None, of_body: None }
}

fn first() -> ModelRequest<'static> {
    asked(RequestId::first(1), Time::ZERO)
}

fn overloaded(at: FaultPlace) -> FaultRule {
    FaultRule { at, kind: FaultKind::Instead(AnswerSubstitute::Answer(FaultAnswer { status: 529, ..FaultAnswer::default() })), may: false }
}

fn span(first: u32, last: u32) -> Option<NumberSpan> {
    Some(NumberSpan { first, last: Some(last) })
}

#[test]
fn m_4_all_that_is_said_must_fit_and_the_first_rule_counts() {
    let at = FaultPlace { request: span(2, 3), attempt: span(1, 2), ..FaultPlace::default() };
    let rules = [overloaded(at), FaultRule { at: FaultPlace::default(), kind: FaultKind::Change(AnswerChange::EmptyBody), may: false }];
    let hit = |turn, attempt| {
        verdict(&rules, &asked(RequestId { prompt: 1, turn, attempt }, Time::ZERO), &mut ChoiceMaker::drawn(Seed(1)))
            .map(|(_, kind)| kind.to_string())
    };
    assert_eq!(hit(2, 2).as_deref(), Some("529 overloaded_error"));
    assert_eq!(hit(2, 3).as_deref(), Some("empty body"));
    assert_eq!(hit(1, 1).as_deref(), Some("empty body"));
}

#[test]
fn m_4_by_model_thread_prompt_and_time() {
    let fits = |at: FaultPlace, asked: &ModelRequest<'_>| verdict(&[overloaded(at)], asked, &mut ChoiceMaker::drawn(Seed(1))).is_some();
    let second = Micros::from_secs(1);
    let window = FaultPlace { after: Some(second), before: Some(Micros::from_secs(2)), ..FaultPlace::default() };
    assert!(!fits(window.clone(), &first()));
    assert!(fits(window.clone(), &asked(RequestId::first(1), Time::ZERO + second)));
    assert!(!fits(window, &asked(RequestId::first(1), Time::ZERO + Micros::from_secs(2))));
    assert!(!fits(FaultPlace { model: Some("small".into()), ..FaultPlace::default() }, &first()));
    assert!(!fits(FaultPlace { prompt: span(2, 9), ..FaultPlace::default() }, &first()));
    let main = FaultPlace { thread: Some("main".into()), ..FaultPlace::default() };
    assert!(fits(main.clone(), &first()));
    assert!(!fits(main, &ModelRequest { agent: &Agent::child("toolu_1"), ..first() }));
}

#[test]
fn d_3_a_probable_fault_is_drawn_for_each_request_and_moves_no_other() {
    let half = |rules: &[FaultRule]| -> Vec<bool> {
        let hit = |turn| verdict(rules, &asked(RequestId { prompt: 1, turn, attempt: 1 }, Time::ZERO), &mut ChoiceMaker::drawn(Seed(3)));
        (1..=200).map(|turn| matches!(hit(turn), Some((_, FaultKind::Instead(_))))).collect()
    };
    let rule = overloaded(FaultPlace { probability: Some(0.5), ..FaultPlace::default() });
    let alone = half(core::slice::from_ref(&rule));
    let hits = alone.iter().filter(|hit| **hit).count();
    assert!((70..130).contains(&hits), "{hits}");
    let never = FaultRule {
        at: FaultPlace { probability: Some(0.0), ..FaultPlace::default() },
        kind: FaultKind::Change(AnswerChange::EmptyBody),
        may: false,
    };
    assert_eq!(half(&[never, rule]), alone, "a rule before it changes nothing");
}

fn of_status(answer: FaultAnswer) -> (ResponsePlan, ApiError) {
    let plan = instead(&AnswerSubstitute::Answer(answer), &first(), &AnswerTiming::default(), &mut ChoiceMaker::drawn(Seed(1)));
    let head = plan.head.clone().unwrap();
    let body = plan.body();
    let error = ApiError::read(head.status, &head.headers, &body);
    (plan, error)
}

#[test]
fn m_4_every_status_is_read_as_what_it_is() {
    for (status, kind) in [
        (400, ErrorKind::InvalidRequest),
        (401, ErrorKind::Authentication),
        (403, ErrorKind::Permission),
        (404, ErrorKind::NotFound),
        (408, ErrorKind::Timeout),
        (413, ErrorKind::RequestTooLarge),
        (418, ErrorKind::InvalidRequest),
        (429, ErrorKind::RateLimit),
        (500, ErrorKind::Api),
        (502, ErrorKind::Api),
        (503, ErrorKind::Api),
        (504, ErrorKind::Timeout),
        (529, ErrorKind::Overloaded),
    ] {
        let (plan, error) = of_status(FaultAnswer { status, ..FaultAnswer::default() });
        assert_eq!(error.kind, kind, "{status}");
        assert!(plan.head_at < Micros::from_secs(1) && plan.end_at == plan.head_at);
    }
    let (_, edge) = of_status(FaultAnswer { status: 413, ..FaultAnswer::default() });
    assert_eq!(edge.request_id, None, "the edge has no wrapper and no id");
}

#[test]
fn m_4_named_errors_and_details() {
    use reenact_scenario::fault::known_errors::KnownError;
    let named =
        |name| KnownError::named(name).map(|error| FaultAnswer { status: error.status, error: Some(error), ..FaultAnswer::default() });
    let (_, long) = of_status(named("prompt_too_long").unwrap());
    assert_eq!(long.context, Some(ContextFigures::PromptTooLong { tokens: 200_251, maximum: 200_000 }));
    let (_, both) = of_status(named("context_overflow").unwrap());
    assert_eq!(both.context, Some(ContextFigures::InputAndMaxTokens { input_tokens: 188_240, max_tokens: 21_333, limit: 200_000 }));
    let (_, threshold) = of_status(named("spend_threshold").unwrap());
    assert_eq!(threshold.error_code.as_deref(), Some("enforced_spend_limit_reached"));
    let limited = |retry_after| FaultAnswer { status: 429, retry_after: Some(retry_after), rate_limits: true, ..FaultAnswer::default() };
    let (plan, error) = of_status(limited(Micros::from_millis(1_500)));
    assert_eq!(error.delay_us(), Some(1_500_000));
    assert!(!error.rate_limits.is_empty());
    assert!(plan.head.unwrap().headers.iter().any(|header| &*header.name == "retry-after" && &*header.value == "2"));
    let own = FaultAnswer {
        status: 500,
        body: Some("oops".into()),
        headers: vec![("content-type".into(), "text/plain".into())],
        ..FaultAnswer::default()
    };
    let (plan, error) = of_status(own);
    assert_eq!(&*error.message, "oops");
    let types = plan.head.unwrap().headers.iter().filter(|header| &*header.name == "content-type").count();
    assert_eq!(types, 1, "the given header is in the usual one's place");
}

#[test]
fn m_4_a_connection_that_comes_to_nothing_has_no_head() {
    for (how, end) in [
        (ConnectFault::Refused, AnswerEnd::ConnectRefused),
        (ConnectFault::Dns, AnswerEnd::Dns),
        (ConnectFault::Tls, AnswerEnd::Tls),
        (ConnectFault::Timeout, AnswerEnd::ConnectTimeout),
        (ConnectFault::Reset, AnswerEnd::Reset),
        (ConnectFault::BrokenPipe, AnswerEnd::BrokenPipe),
    ] {
        let plan = instead(&AnswerSubstitute::Connection(how), &first(), &AnswerTiming::default(), &mut ChoiceMaker::drawn(Seed(1)));
        assert_eq!((plan.head, plan.end), (None, Some(end)));
    }
}

const TOOL: &str = r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"path\":\"ä\"}"} }"#;

/// Five events, 10 ms apart from 20 ms on, in packets that cut them anywhere.
fn stream() -> ResponsePlan {
    let event = |name: &str, data: &str| format!("event: {name}\ndata: {data}\n\n");
    let body = [
        event("message_start", r#"{"type":"message_start"}"#),
        event("content_block_start", r#"{"type":"content_block_start","index":1}"#),
        event("content_block_delta", TOOL),
        event("content_block_stop", r#"{"type":"content_block_stop","index":1}"#),
        event("message_stop", r#"{"type":"message_stop"}"#),
    ];
    let pieces = (2..).zip(&body).map(|(at, event)| TimedPiece { at: Micros(at * 10), bytes: event.as_bytes().into() }).collect();
    let head = Some(ResponseHead { status: 200, headers: [].into() });
    ResponsePlan {
        head,
        head_at: Micros(10),
        is_stream: true,
        pieces,
        decoded: DecodedPieces::default(),
        end: Some(AnswerEnd::Complete),
        end_at: Micros(70),
    }
}

fn changed(what: &AnswerChange) -> ResponsePlan {
    change(what, &stream()).unwrap()
}

fn text(plan: &ResponsePlan) -> String {
    String::from_utf8_lossy(&plan.body()).into_owned()
}

fn times(plan: &ResponsePlan) -> Vec<Micros> {
    plan.pieces.iter().map(|piece| piece.at).collect()
}

/// The names of the events.
fn names(plan: &ResponsePlan) -> Vec<String> {
    let text = text(plan);
    text.lines().filter_map(|line| line.strip_prefix("event: ")).map(|name| name.replace("content_block_", "")).collect()
}

#[test]
fn m_4_cut_after_events_or_bytes() {
    let two = changed(&AnswerChange::Cut { after: CutAfter::Events(2), how: CutManner::Reset });
    assert_eq!(names(&two), ["message_start", "start"]);
    assert_eq!((two.end, two.end_at), (Some(AnswerEnd::Reset), Micros(30)));
    let none = changed(&AnswerChange::Cut { after: CutAfter::Events(0), how: CutManner::Close });
    assert_eq!((none.pieces.len(), none.end, none.end_at), (0, Some(AnswerEnd::Complete), Micros(10)));
    let whole = stream().body();
    let inside = whole.windows(2).position(|pair| pair == "ä".as_bytes()).unwrap() + 1;
    let bytes = changed(&AnswerChange::Cut { after: CutAfter::Bytes(u32::try_from(inside).unwrap()), how: CutManner::Reset });
    assert_eq!(bytes.body(), whole[..inside], "inside a character");
}

#[test]
fn m_4_what_is_behind_the_end_of_an_answer_is_not_carried_out() {
    let (events, bytes) = (CutAfter::Events(900), CutAfter::Bytes(9_999));
    for late in [
        AnswerChange::Cut { after: events, how: CutManner::Reset },
        AnswerChange::Cut { after: bytes, how: CutManner::Close },
        AnswerChange::Stall { after_events: 900, time: None },
        AnswerChange::Insert { after_events: 900, name: "error".into(), data: "{}".into() },
    ] {
        assert_eq!(change(&late, &stream()), None, "{late}");
    }
    let last = AnswerChange::Cut { after: CutAfter::Events(5), how: CutManner::Reset };
    assert_eq!(changed(&last).end, Some(AnswerEnd::Reset), "behind the last event is not behind the end");
}

#[test]
fn m_4_stall_for_a_time_or_for_ever() {
    let late = changed(&AnswerChange::Stall { after_events: 2, time: Some(Micros(1_000)) });
    assert_eq!(times(&late), [20, 30, 1_040, 1_050, 1_060].map(Micros));
    assert_eq!((late.end_at, names(&late)), (Micros(1_070), names(&stream())));
    let never = changed(&AnswerChange::Stall { after_events: 2, time: None });
    assert_eq!((names(&never).len(), never.end), (2, None));
}

#[test]
fn m_4_events_inserted_doubled_and_left_out() {
    let insert = |name: &str| changed(&AnswerChange::Insert { after_events: 1, name: name.into(), data: "{}".into() });
    assert_eq!(names(&insert("weather")), ["message_start", "weather", "start", "delta", "stop", "message_stop"]);
    assert_eq!(names(&insert("error")), ["message_start", "error"], "an error is the last");
    let twice = changed(&AnswerChange::Duplicate { name: "content_block_start", after_events: 0 });
    assert_eq!(names(&twice), ["message_start", "start", "start", "delta", "stop", "message_stop"]);
    let gone = changed(&AnswerChange::Missing { name: "content_block_stop", after_events: 2 });
    assert_eq!(names(&gone), ["message_start", "start", "delta", "message_stop"]);
    assert_eq!(
        change(&AnswerChange::Missing { name: "content_block_start", after_events: 2 }, &stream()),
        None,
        "its only one is already gone"
    );
}

#[test]
fn m_4_bodies_that_are_empty_mislabelled_truncated_or_slow() {
    assert_eq!(changed(&AnswerChange::EmptyBody).pieces.len(), 0);
    let page = changed(&AnswerChange::ContentType("text/html".into()));
    assert!(!page.is_stream && page.pieces == stream().pieces);
    let truncated = text(&changed(&AnswerChange::TruncateToolInput));
    assert!(truncated.contains(r#""partial_json":"{\"path"}}"#), "{truncated}");
    let slow = changed(&AnswerChange::Drip { bytes_per_second: 100 });
    assert_eq!((text(&slow), slow.pieces.len()), (text(&stream()), text(&stream()).len().div_ceil(10)));
    assert_eq!(times(&slow)[..2], [Micros(100_010), Micros(200_010)]);
}

#[test]
fn m_6_events_are_found_whatever_the_packets() {
    let whole = stream().body();
    for size in [1, 7, 1_000] {
        let pieces = (0..).zip(whole.chunks(size)).map(|(at, bytes)| TimedPiece { at: Micros(at), bytes: bytes.into() }).collect();
        let packets = ResponsePlan { pieces, ..stream() };
        let cut = change(&AnswerChange::Cut { after: CutAfter::Events(3), how: CutManner::Reset }, &packets).unwrap();
        assert_eq!(names(&cut).len(), 3);
        assert_eq!(times(&cut)[2], Micros((cut.body().len().div_ceil(size) - 1) as u64), "when its last byte comes");
    }
}
