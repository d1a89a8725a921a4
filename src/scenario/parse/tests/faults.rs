//! `[[fault]]`: which requests, and what happens to them.

use super::*;
use crate::fault::known_errors::KnownError;
use crate::fault::{
    AnswerChange, AnswerSubstitute, ConnectFault, CutAfter, CutManner, FaultAnswer, FaultKind, FaultPlace, FaultRule, NumberSpan as Numbers,
};

fn with(fault: &str) -> String {
    format!("{SHORT}[[fault]]\n{fault}\n")
}

fn fault(text: &str) -> FaultRule {
    read(&with(text)).faults.remove(0)
}

fn answer(text: &str) -> FaultAnswer {
    match fault(text).kind {
        FaultKind::Instead(AnswerSubstitute::Answer(answer)) => answer,
        other => panic!("{other:?}"),
    }
}

fn change(text: &str) -> AnswerChange {
    match fault(text).kind {
        FaultKind::Change(change) => change,
        FaultKind::Instead(other) => panic!("{other:?}"),
    }
}

#[test]
fn m_4_the_example_of_the_format() {
    let numbers = |first, last| Some(Numbers { first, last });
    let at = FaultPlace { request: numbers(1, Some(1)), attempt: numbers(1, Some(3)), ..FaultPlace::default() };
    let kind = FaultKind::Instead(AnswerSubstitute::Answer(FaultAnswer { status: 529, ..FaultAnswer::default() }));
    assert_eq!(fault("at = { request = 1, attempt = \"1..=3\" }\nstatus = 529"), FaultRule { at, kind, may: false });
}

#[test]
fn m_4_which_requests() {
    let text =
        "at = { prompt = \"2..\", model = \"m\", thread = \"main\", after = \"5s\", before = \"9s\", probability = 0.25 }\nstatus = 500";
    let at = FaultPlace {
        prompt: Some(Numbers { first: 2, last: None }),
        model: Some("m".into()),
        thread: Some("main".into()),
        after: Some(Micros::from_secs(5)),
        before: Some(Micros::from_secs(9)),
        probability: Some(0.25),
        ..FaultPlace::default()
    };
    assert_eq!(fault(text).at, at);
    assert_eq!(fault("at = { probability = 1 }\nstatus = 500").at.probability, Some(1.0));
}

#[test]
fn m_4_answers_in_the_answers_place() {
    let limited = answer("status = 429\nretry_after = \"2s\"\nrate_limits = true\nheaders = { x-should-retry = \"true\" }");
    assert_eq!((limited.retry_after, limited.rate_limits), (Some(Micros::from_secs(2)), true));
    assert_eq!(limited.headers, [("x-should-retry".into(), "true".into())]);
    let long = answer("error = \"prompt_too_long\"");
    assert_eq!((long.status, long.error.map(|error| error.name)), (400, Some("prompt_too_long")));
    let revoked = answer("status = 403\nerror = \"revoked\"");
    assert_eq!(revoked.error, KnownError::named("revoked"));
    assert_eq!(answer("error = \"overloaded\""), answer("status = 529"), "the usual one need not be named");
    let page = answer("html = true");
    assert_eq!((page.status, &*page.headers[0].1), (200, "text/html"));
    assert_eq!(answer("status = 503\nhtml = true").status, 503);
}

#[test]
fn m_4_connections_and_changes() {
    assert_eq!(fault("connect = \"broken_pipe\"").kind, FaultKind::Instead(AnswerSubstitute::Connection(ConnectFault::BrokenPipe)));
    assert_eq!(
        change("cut = { after_events = 3, how = \"close\" }"),
        AnswerChange::Cut { after: CutAfter::Events(3), how: CutManner::Close }
    );
    assert_eq!(change("cut = { after_bytes = 7 }"), AnswerChange::Cut { after: CutAfter::Bytes(7), how: CutManner::Reset });
    assert_eq!(change("stall = { time = \"forever\" }"), AnswerChange::Stall { after_events: 0, time: None });
    assert_eq!(
        change("stall = { after_events = 2, time = \"30s\" }"),
        AnswerChange::Stall { after_events: 2, time: Some(Micros::from_secs(30)) }
    );
    assert_eq!(
        change("duplicate = \"block_stop\"\nafter_events = 4"),
        AnswerChange::Duplicate { name: "content_block_stop", after_events: 4 }
    );
    assert_eq!(change("missing = \"message_stop\""), AnswerChange::Missing { name: "message_stop", after_events: 0 });
    assert_eq!(change("empty_body = true"), AnswerChange::EmptyBody);
    assert_eq!(change("content_type = \"text/html\""), AnswerChange::ContentType("text/html".into()));
    assert_eq!(change("truncate_tool_input = true"), AnswerChange::TruncateToolInput);
    assert_eq!(change("drip = 100"), AnswerChange::Drip { bytes_per_second: 100 });
}

#[test]
fn m_4_shorthands_are_events() {
    let data = |text: &str| match change(text) {
        AnswerChange::Insert { after_events, name, data } => format!("{after_events} {name} {data}"),
        other => panic!("{other:?}"),
    };
    let overloaded = r#"2 error {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    assert_eq!(data("error_event = \"overloaded_error\"\nafter_events = 2"), overloaded);
    assert!(data("malformed_event = true").starts_with("0 content_block_delta {"));
    assert!(data("unknown_event = true").starts_with("0 weather_report {"));
    assert_eq!(data("event = { name = \"ping\", data = '{}' }"), "0 ping {}");
}
