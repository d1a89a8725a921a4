//! `[[fault]]`: what goes wrong between engine and model server, and for which requests (M-4).

use super::prompts;
use super::reader::{TableReader, known_word};
use super::tree::{TextPlace, TreeMember, TreeValueKind};
use super::values::FromValue;
use crate::engine::time::Micros;
use crate::prelude::*;
use crate::scenario::fault::known_errors::{KNOWN_ERRORS, KnownError, PROXY_PAGE};
use crate::scenario::fault::{
    AnswerChange, AnswerSubstitute, ConnectFault, CutAfter, CutManner, FaultAnswer, FaultKind, FaultPlace, FaultRule, NumberSpan,
    STREAM_PARTS,
};
use crate::wire::json::Json;

/// What a fault can be; `status` and `error` may stand together.
const KINDS: [&str; 16] = [
    "status",
    "error",
    "html",
    "connect",
    "cut",
    "stall",
    "event",
    "error_event",
    "malformed_event",
    "unknown_event",
    "duplicate",
    "missing",
    "empty_body",
    "content_type",
    "truncate_tool_input",
    "drip",
];

/// The kinds that put another answer in the answer's place.
const ANSWERS: [&str; 3] = ["status", "error", "html"];

/// The kinds that count events under a key of their own.
const COUNTING: [&str; 5] = ["error_event", "malformed_event", "unknown_event", "duplicate", "missing"];

/// What belongs to an answer in the answer's place.
const OF_ANSWERS: [&str; 4] = ["body", "headers", "retry_after", "rate_limits"];

/// Data that breaks off in the middle.
const MALFORMED: &str = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_del"#;

/// Reads one fault.
pub(super) fn rule(reader: &mut TableReader<'_, '_>) -> Option<FaultRule> {
    let at = reader.section("at", "`at`", place).unwrap_or_default();
    let kind = kind(reader);
    let may = reader.get("may").unwrap_or_default();
    Some(FaultRule { at, kind: kind?, may })
}

fn kind(reader: &mut TableReader<'_, '_>) -> Option<FaultKind> {
    // These three make one answer together, so that only the first of them is held against the other kinds.
    let answers: Vec<&str> = ANSWERS.into_iter().filter(|key| reader.member(key).is_some()).collect();
    let kinds: Vec<&'static str> = KINDS.into_iter().filter(|key| !answers.iter().skip(1).any(|other| other == key)).collect();
    let which = reader.one_of(&kinds);
    let Some(which) = which else {
        let list = kinds.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
        reader.lacks(&kinds, "[[fault]] does not say what goes wrong".into(), Some(format!("give one of {list}")));
        ask_for_details(reader);
        return None;
    };
    let is_answer = ANSWERS.contains(&which.key.as_str());
    check_details(reader, is_answer, &which.key);
    if is_answer {
        return answer(reader).map(|answer| FaultKind::Instead(AnswerSubstitute::Answer(answer)));
    }
    if which.key == "connect" {
        let how = reader.choice("connect", &ConnectFault::ALL)?;
        return Some(FaultKind::Instead(AnswerSubstitute::Connection(how)));
    }
    change(reader, which).map(FaultKind::Change)
}

/// Where the kind is not known, its details are not to be called unknown keys.
fn ask_for_details(reader: &mut TableReader<'_, '_>) {
    for key in OF_ANSWERS.into_iter().chain(["after_events"]) {
        reader.member(key);
    }
}

/// A detail that belongs to another kind would be passed over in silence.
fn check_details(reader: &mut TableReader<'_, '_>, is_answer: bool, kind: &str) {
    for key in OF_ANSWERS {
        if let (false, Some(member)) = (is_answer, reader.member(key)) {
            let message = format!("`{key}` belongs to a fault with `status` or `error`, this one is about `{kind}`");
            reader.report.value(member.place, message, None);
        }
    }
    if let (false, Some(member)) = (COUNTING.contains(&kind), reader.member("after_events")) {
        let list = COUNTING.map(|key| format!("`{key}`")).join(", ");
        let help = format!("it belongs to {list}; `cut`, `stall` and `event` have it inside their table");
        reader.report.value(member.place, format!("`after_events` means nothing beside `{kind}`"), Some(help));
    }
}

/// `status`, `error` or `html`, with what belongs to them.
fn answer(reader: &mut TableReader<'_, '_>) -> Option<FaultAnswer> {
    let error = known_error(reader);
    let html = reader.mark("html");
    let given: Option<u32> = reader.get("status");
    let status = match (given, error) {
        (Some(status), _) => u16::try_from(status).ok().filter(|status| prompts::ANSWER_STATUSES.contains(status)),
        (None, Some(error)) => Some(error.status),
        (None, None) => html.then_some(200),
    };
    let place = reader.member("status").map(|member| member.value.place);
    if let (Some(given), Some(place)) = (given, place) {
        check_status(reader, place, given, error);
    }
    let mut answer = FaultAnswer {
        status: status.unwrap_or_default(),
        error: error.filter(|error| KnownError::usual(error.status) != Some(error)),
        body: reader.get("body"),
        headers: prompts::headers(reader),
        retry_after: reader.get("retry_after"),
        rate_limits: reader.mark("rate_limits"),
    };
    if html {
        reader.one_of(&["html", "body"]);
        answer.body = Some(PROXY_PAGE.into());
        if !answer.headers.iter().any(|(name, _)| name == "content-type") {
            answer.headers.insert(0, ("content-type".into(), "text/html".into()));
        }
    }
    status.map(|_| answer)
}

fn known_error(reader: &mut TableReader<'_, '_>) -> Option<&'static KnownError> {
    let member = reader.member("error")?;
    let names: Vec<&str> = KNOWN_ERRORS.iter().map(|error| error.name).collect();
    KnownError::named(known_word(&member.value, reader.report, "error", &names)?)
}

fn check_status(reader: &mut TableReader<'_, '_>, place: TextPlace, given: u32, error: Option<&KnownError>) {
    if !u16::try_from(given).is_ok_and(|given| prompts::ANSWER_STATUSES.contains(&given)) {
        reader.report.value(place, format!("expected an HTTP status from 200 to 599, found {given}"), None);
    } else if let Some(error) = error.filter(|error| u32::from(error.status) != given) {
        let message = format!("`{}` comes with status {}; leave `status` out", error.name, error.status);
        reader.report.value(place, message, None);
    }
}

fn change(reader: &mut TableReader<'_, '_>, which: &TreeMember) -> Option<AnswerChange> {
    let after_events = reader.get("after_events").unwrap_or(0);
    let insert = |name: &str, data: String| AnswerChange::Insert { after_events, name: name.into(), data: data.into() };
    match which.key.as_str() {
        "cut" => reader.section("cut", "`cut`", cut)?,
        "stall" => reader.section("stall", "`stall`", stall)?,
        "event" => reader.section("event", "`event`", event)?,
        "error_event" => {
            let kind: String = reader.get("error_event")?;
            let text = if kind == "overloaded_error" { "Overloaded" } else { "Internal server error" };
            Some(insert("error", format!(r#"{{"type":"error","error":{{"type":{},"message":"{text}"}}}}"#, Json::from_value(&kind))))
        }
        "malformed_event" => reader.mark("malformed_event").then(|| insert("content_block_delta", MALFORMED.into())),
        "unknown_event" => reader.mark("unknown_event").then(|| insert("weather_report", r#"{"type":"weather_report","sun":true}"#.into())),
        "duplicate" => Some(AnswerChange::Duplicate { name: reader.choice("duplicate", &STREAM_PARTS)?, after_events }),
        "missing" => Some(AnswerChange::Missing { name: reader.choice("missing", &STREAM_PARTS)?, after_events }),
        "empty_body" => reader.mark("empty_body").then_some(AnswerChange::EmptyBody),
        "content_type" => Some(AnswerChange::ContentType(reader.get("content_type")?)),
        "truncate_tool_input" => reader.mark("truncate_tool_input").then_some(AnswerChange::TruncateToolInput),
        _ => Some(AnswerChange::Drip {
            bytes_per_second: reader.get_above_zero("drip", "at 0 bytes a second nothing comes; write stall = { time = \"forever\" }")?,
        }),
    }
}

/// `cut = { after_events = 3, how = "reset" }`.
fn cut(reader: &mut TableReader<'_, '_>) -> Option<AnswerChange> {
    if reader.one_of(&["after_events", "after_bytes"]).is_none() {
        reader.lacks(&["after_events", "after_bytes"], "`cut` needs `after_events` or `after_bytes`".into(), None);
    }
    let events = reader.get("after_events").map(CutAfter::Events);
    let after = events.or(reader.get("after_bytes").map(CutAfter::Bytes));
    let how = reader.choice("how", &CutManner::ALL).unwrap_or_default();
    Some(AnswerChange::Cut { after: after?, how })
}

/// `stall = { after_events = 3, time = "30s" }`, or `"forever"`.
fn stall(reader: &mut TableReader<'_, '_>) -> Option<AnswerChange> {
    let after_events = reader.get("after_events").unwrap_or(0);
    let is_forever = matches!(reader.member("time").map(|member| &member.value.kind), Some(TreeValueKind::Text(word)) if word == "forever");
    let time = if is_forever { None } else { Some(reader.required::<Micros>("time")?) };
    Some(AnswerChange::Stall { after_events, time })
}

/// `event = { after_events = 3, name = "ping", data = '{"type":"ping"}' }`.
fn event(reader: &mut TableReader<'_, '_>) -> Option<AnswerChange> {
    let after_events = reader.get("after_events").unwrap_or(0);
    let (name, data): (Option<Arc<str>>, Option<Arc<str>>) = (reader.required("name"), reader.required("data"));
    for key in ["name", "data"] {
        if let Some(TreeMember { value, .. }) = reader.member(key)
            && matches!(&value.kind, TreeValueKind::Text(text) if text.contains(['\n', '\r']))
        {
            reader.report.value(value.place, format!("an event's `{key}` is one line"), None);
        }
    }
    Some(AnswerChange::Insert { after_events, name: name?, data: data? })
}

/// `at = { request = 1, attempt = "1..=3" }`.
fn place(reader: &mut TableReader<'_, '_>) -> FaultPlace {
    let place = FaultPlace {
        prompt: reader.get("prompt"),
        request: reader.get("request"),
        attempt: reader.get("attempt"),
        model: reader.model("model"),
        thread: reader.get("thread"),
        after: reader.get("after"),
        before: reader.get("before"),
        probability: reader.get("probability").map(|FaultProbability(probability)| probability),
    };
    if let (Some(after), Some(before), Some(member)) = (place.after, place.before, reader.member("before"))
        && after >= before
    {
        reader.report.value(member.value.place, "nothing is `before` this and `after` that".into(), None);
    }
    place
}

const SPAN_HELP: &str = "write a number from 1 on, \"1..=3\" with both ends, or \"2..\" without end";

impl FromValue for NumberSpan {
    fn from_value(value: &super::tree::TreeValue, report: &mut super::report::DiagnosticReport) -> Option<Self> {
        let span = match &value.kind {
            TreeValueKind::Integer(..) => u32::from_value(value, report).map(|number| Self { first: number, last: Some(number) })?,
            TreeValueKind::Text(text) => match span(text) {
                Some(span) => span,
                None => {
                    report.value(value.place, format!("`{text}` is no range of numbers"), Some(SPAN_HELP.into()));
                    return None;
                }
            },
            TreeValueKind::StandIn => return None,
            _ => {
                report.mismatch(value, "a number, or text with a range");
                return None;
            }
        };
        let is_empty = span.first == 0 || span.last.is_some_and(|last| last < span.first);
        if is_empty {
            report.value(value.place, "no request is in this range: numbers count from 1, the smaller one first".into(), None);
        }
        (!is_empty).then_some(span)
    }
}

fn span(text: &str) -> Option<NumberSpan> {
    let number = |text: &str| text.trim().parse::<u32>().ok();
    match text.split_once("..") {
        None => number(text).map(|number| NumberSpan { first: number, last: Some(number) }),
        Some((first, "")) => Some(NumberSpan { first: number(first)?, last: None }),
        // `1..3` would leave out its end to some and not to others.
        Some((first, rest)) => Some(NumberSpan { first: number(first)?, last: Some(number(rest.strip_prefix('=')?)?) }),
    }
}

/// A number from 0 to 1.
pub(super) struct FaultProbability(pub(super) f64);

impl FromValue for FaultProbability {
    fn from_value(value: &super::tree::TreeValue, report: &mut super::report::DiagnosticReport) -> Option<Self> {
        let number = match &value.kind {
            TreeValueKind::Integer(digits, 10) | TreeValueKind::Float(digits) => digits.replace('_', "").parse::<f64>().ok(),
            TreeValueKind::StandIn => return None,
            _ => None,
        };
        let known = number.filter(|number| (0.0..=1.0).contains(number));
        if known.is_none() {
            report.mismatch(value, "a number from 0 to 1");
        }
        known.map(Self)
    }
}
