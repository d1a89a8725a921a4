//! Faults between engine and model server.

use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::values::{model, some_time, span, tool_use_id, vary};
use reenact_scenario::fault::known_errors::{KNOWN_ERRORS, KnownError, PROXY_PAGE};
use reenact_scenario::fault::{
    AnswerChange, AnswerSubstitute, ConnectFault, CutAfter, CutManner, FaultAnswer, FaultKind, FaultPlace, FaultRule, NumberSpan,
    STREAM_PARTS,
};
use reenact_wire::prelude::*;

/// Any fault at any place.
pub fn fault() -> BoxedStrategy<FaultRule> {
    (place(), kind()).prop_map(|(at, kind)| FaultRule { at, kind, may: true }).boxed()
}

/// Which requests are hit: mostly one of the first.
pub fn place() -> BoxedStrategy<FaultPlace> {
    let thread = prop_oneof![Just(Arc::from("main")), tool_use_id()];
    let some = vary!(FaultPlace::default(), 0.25;
        prompt: numbers().prop_map(Some),
        model: model().prop_map(Some),
        thread: thread.prop_map(Some),
        after: span().prop_map(Some),
        before: some_time().prop_map(Some),
        probability: select(vec![0.25, 0.5, 1.0]).prop_map(Some),
    );
    (some, option::weighted(0.7, numbers()), option::weighted(0.8, numbers()))
        .prop_map(|(place, request, attempt)| {
            // Nothing is before a time and after a later one.
            let before = place.before.filter(|before| place.after.is_none_or(|after| after < *before));
            FaultPlace { request, attempt, before, ..place }
        })
        .boxed()
}

fn numbers() -> impl Strategy<Value = NumberSpan> {
    prop_oneof![
        4 => (1_u32..5).prop_map(|number| NumberSpan { first: number, last: Some(number) }),
        2 => (1_u32..4, 1_u32..5).prop_map(|(first, more)| NumberSpan { first, last: Some(first + more) }),
        1 => (1_u32..4).prop_map(|first| NumberSpan { first, last: None }),
    ]
}

/// The kind of a fault.
pub fn kind() -> BoxedStrategy<FaultKind> {
    prop_oneof![
        3 => answer().prop_map(|answer| FaultKind::Instead(AnswerSubstitute::Answer(answer))),
        1 => select(ConnectFault::ALL.to_vec()).prop_map(|how| FaultKind::Instead(AnswerSubstitute::Connection(how))),
        4 => change().prop_map(FaultKind::Change),
    ]
    .boxed()
}

/// An answer in an answer's place.
pub fn answer() -> BoxedStrategy<FaultAnswer> {
    // An error that a status usually stands for is said by the status alone.
    let of = |error: &'static KnownError| (error.status, Some(error).filter(|error| KnownError::usual(error.status) != Some(*error)));
    let known = select(KNOWN_ERRORS.iter().collect::<Vec<_>>()).prop_map(of);
    let overloaded = select(vec![(529, None), (429, None), (500, None)]);
    let strange = select(vec![(418, None), (302, None), (599, None)]);
    let page = FaultAnswer {
        status: 200,
        body: Some(PROXY_PAGE.into()),
        headers: vec![(String::from("content-type"), String::from("text/html"))],
        ..FaultAnswer::default()
    };
    let body = option::weighted(0.1, Just(Arc::from("no JSON at all")));
    let retry_after = option::weighted(0.3, some_time());
    let status = prop_oneof![4 => known, 4 => overloaded, 1 => strange];
    let answer = (status, body, retry_after, any::<bool>()).prop_map(|((status, error), body, retry_after, rate_limits)| FaultAnswer {
        status,
        error,
        body,
        retry_after,
        rate_limits,
        ..FaultAnswer::default()
    });
    prop_oneof![12 => answer, 1 => Just(page)].boxed()
}

/// How an answer is changed.
pub fn change() -> BoxedStrategy<AnswerChange> {
    let events = || 0_u32..24;
    let part = || select(STREAM_PARTS.to_vec()).prop_map(|(_, name)| name);
    let after = prop_oneof![3 => events().prop_map(CutAfter::Events), 1 => (0_u32..3_000).prop_map(CutAfter::Bytes)];
    let how = select(CutManner::ALL.to_vec());
    let stall = prop_oneof![3 => some_time().prop_map(Some), 1 => Just(None)];
    let event = select(vec![
        ("error", r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#),
        ("error", r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}"#),
        ("ping", r#"{"type":"ping"}"#),
        ("weather_report", r#"{"type":"weather_report","sun":true}"#),
        ("content_block_delta", r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_del"#),
        ("content_block_delta", r#"{"type":"content_block_delta","index":9,"delta":{"type":"text_delta","text":"x"}}"#),
        ("content_block_stop", r#"{"type":"content_block_stop","index":0}"#),
        ("message_stop", r#"{"type":"message_stop"}"#),
        ("data", "[DONE]"),
    ]);
    prop_oneof![
        3 => (after, how).prop_map(|(after, how)| AnswerChange::Cut { after, how }),
        2 => (events(), stall).prop_map(|(after_events, time)| AnswerChange::Stall { after_events, time }),
        2 => (events(), event).prop_map(|(after_events, (name, data))| AnswerChange::Insert { after_events, name: name.into(), data: data.into() }),
        1 => (part(), events()).prop_map(|(name, after_events)| AnswerChange::Duplicate { name, after_events }),
        1 => (part(), events()).prop_map(|(name, after_events)| AnswerChange::Missing { name, after_events }),
        1 => Just(AnswerChange::EmptyBody),
        1 => select(vec!["text/html", "application/json", "text/event-stream"]).prop_map(|kind| AnswerChange::ContentType(kind.into())),
        1 => Just(AnswerChange::TruncateToolInput),
        1 => (20_u32..4_000).prop_map(|bytes_per_second| AnswerChange::Drip { bytes_per_second }),
    ].boxed()
}
