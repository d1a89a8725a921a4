//! `[[fault]]`: what goes wrong between engine and model server, and for which requests (M-4).

use crate::fault::known_errors::{KNOWN_ERRORS, KnownError, PROXY_PAGE};
use crate::fault::{
    AnswerChange, AnswerSubstitute, ConnectFault, CutAfter, CutManner, FaultAnswer, FaultKind, FaultPlace, FaultRule, NumberSpan,
    STREAM_PARTS,
};
use crate::language::description::{ValueShape, WrittenForm};
use crate::language::forms::{TrueMark, Word, WordList, WordOf, WordValue, duration_shape, word_forms};
use crate::language::keys::{ConvertedTable, KeyForm, KeyPosition, KeyTable, keys};
use crate::language::sections::prompt::{AnswerStatus, HeaderTable};
use crate::language::tables::{Flat, Inline};
use crate::language::toml::TomlValue;
use crate::parse::reader::TableReader;
use crate::parse::report::DiagnosticReport;
use crate::parse::tree::{TreeValue, TreeValueKind};
use reenact_engine::time::Micros;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

word_forms!(ConnectFault, CutManner);

/// The kinds that put another answer in the answer's place.
const ANSWERS: [&str; 3] = ["status", "error", "html"];

/// The kinds without a table of their own that count events.
const COUNTING: [&str; 5] = ["error_event", "malformed_event", "unknown_event", "duplicate", "missing"];

/// The keys that are details of a kind, and no kind.
const ANSWER_DETAILS: [&str; 4] = ["body", "headers", "retry_after", "rate_limits"];
const COUNT: &str = "after_events";

/// Data that breaks off in the middle.
const MALFORMED: &str = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_del"#;

keys! {
    /// `[[fault]]`: a failure between engine and model server (M-4). It needs exactly one key for its kind, such as `status`, `cut` or
    /// `stall`; `status` and `error` may stand together. Of the faults that fit a request the first counts.
    pub(crate) struct FaultKeys {
        /// Which requests it hits: those that fit every key. By default all.
        at: FaultPlace as Inline<FaultPlace> = FaultPlace::default(), example("{ request = 1, attempt = \"1..=3\" }");
        /// The failure.
        kind: Option<FaultKind> as Option<Flat<FaultKind>> = None;
        /// This need not come to pass (F-10).
        may: bool = false;
    }
}

impl ConvertedTable for FaultRule {
    type Keys = FaultKeys;

    fn from_keys(FaultKeys { at, kind, may }: FaultKeys, _: &mut TableReader<'_, '_>) -> Option<Self> {
        Some(Self { at, kind: kind?, may })
    }

    fn to_keys(&self) -> FaultKeys {
        let Self { at, kind, may } = self.clone();
        FaultKeys { at, kind: Some(kind), may }
    }
}

keys! {
    /// The failure: one of these keys, with its details. `status` and `error` may stand together.
    pub(crate) struct FaultKindKeys {
        /// Another answer with this HTTP status comes in the answer's place.
        status: Option<u16> as Option<AnswerStatus> = None, example("529");
        /// Another answer with this known error comes in the answer's place.
        error: Option<String> as Option<WordOf<KnownErrorNames>> = None;
        /// The page of a proxy comes in the answer's place.
        html: bool as TrueMark = false;
        /// With `status` and `error`: the literal body. By default the error's own.
        body: Option<Arc<str>> = None;
        /// With `status`, `error` and `html`: further headers.
        headers: Vec<(String, String)> as HeaderTable = Vec::new();
        /// With `status` and `error`: when to try again, as the answer gives it.
        retry_after: Option<Micros> = None;
        /// With `status` and `error`: headers tell of rate limits.
        rate_limits: bool as TrueMark = false;
        /// There is no connection, or it ends before the answer's head.
        connect: Option<ConnectFault> = None;
        /// The connection ends early.
        cut: Option<Cut> as Option<Inline<Cut>> = None, example("{ after_events = 3, how = \"reset\" }");
        /// Nothing comes for a time.
        stall: Option<Stall> as Option<Inline<Stall>> = None, example("{ after_events = 3, time = \"30s\" }");
        /// One more event comes. One with the name `error` is the last.
        event: Option<InsertedEvent> as Option<Inline<InsertedEvent>> = None, example("{ name = \"ping\", data = '{\"type\":\"ping\"}' }");
        /// An error event of this type comes.
        error_event: Option<Arc<str>> = None, example("\"overloaded_error\"");
        /// The stream holds an event with data that breaks off.
        malformed_event: bool as TrueMark = false;
        /// An event of an unknown type comes.
        unknown_event: bool as TrueMark = false;
        /// This event comes twice.
        duplicate: Option<StreamPart> as Option<Word<StreamPart>> = None;
        /// This event does not come.
        missing: Option<StreamPart> as Option<Word<StreamPart>> = None;
        /// With `error_event`, `malformed_event`, `unknown_event`, `duplicate` and `missing`: after this many events.
        after_events: Option<u32> = None, unit("events");
        /// The answer is its head alone.
        empty_body: bool as TrueMark = false;
        /// The head gives another content type.
        content_type: Option<Arc<str>> = None, example("\"text/html\""), checked(problem_of_header_text);
        /// The last piece of the first tool use's input lacks its second half.
        truncate_tool_input: bool as TrueMark = false;
        /// The body comes at this many bytes a second.
        drip: Option<u32> = None, unit("bytes a second"), above_zero("at 0 bytes a second nothing comes; write stall = { time = \"forever\" }");
    }
}

impl ConvertedTable for FaultKind {
    type Keys = FaultKindKeys;

    fn from_keys(keys: FaultKindKeys, reader: &mut TableReader<'_, '_>) -> Option<Self> {
        // These make one answer together, so that only the first of them is held against the other kinds.
        let answers: Vec<&str> = ANSWERS.into_iter().filter(|key| reader.member(key).is_some()).collect();
        let is_kind =
            |key: &&'static str| !ANSWER_DETAILS.contains(key) && *key != COUNT && !answers.iter().skip(1).any(|other| other == key);
        let kinds: Vec<&'static str> = FaultKindKeys::names().into_iter().filter(is_kind).collect();
        let Some(which) = reader.one_of(&kinds) else {
            let list = kinds.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
            reader.lacks(&kinds, format!("{} needs a kind of failure", reader.title()), Some(format!("give one of {list}")));
            return None;
        };
        check_details(reader, &which.key);
        if ANSWERS.contains(&which.key.as_str()) {
            return answer(keys, reader).map(|answer| Self::Instead(AnswerSubstitute::Answer(answer)));
        }
        if which.key == "connect" {
            return keys.connect.map(|how| Self::Instead(AnswerSubstitute::Connection(how)));
        }
        change(keys).map(Self::Change)
    }

    fn to_keys(&self) -> FaultKindKeys {
        let keys = FaultKindKeys::default();
        match self.clone() {
            Self::Instead(AnswerSubstitute::Connection(how)) => FaultKindKeys { connect: Some(how), ..keys },
            Self::Instead(AnswerSubstitute::Answer(answer)) => {
                let FaultAnswer { status, error, body, headers, retry_after, rate_limits } = answer;
                let named = error.filter(|error| error.status == status);
                let status = named.is_none().then_some(status);
                let error = named.map(|error| String::from(error.name));
                FaultKindKeys { status, error, body, headers, retry_after, rate_limits, ..keys }
            }
            Self::Change(change) => change_keys(change),
        }
    }
}

/// A detail of another kind would have no effect.
fn check_details(reader: &mut TableReader<'_, '_>, kind: &str) {
    for key in ANSWER_DETAILS {
        if !ANSWERS.contains(&kind) && reader.member(key).is_some() {
            reader.key_problem(key, format!("`{key}` belongs to a fault with `status` or `error`, and this one has `{kind}`"));
        }
    }
    if let (false, Some(place)) = (COUNTING.contains(&kind), reader.member(COUNT).map(|member| member.place)) {
        let list = COUNTING.map(|key| format!("`{key}`")).join(", ");
        let help = format!("it belongs to {list}; `cut`, `stall` and `event` have it inside their table");
        reader.report.value(place, format!("`{COUNT}` has no effect beside `{kind}`"), Some(help));
    }
}

/// `status`, `error` or `html`, with their details.
fn answer(keys: FaultKindKeys, reader: &mut TableReader<'_, '_>) -> Option<FaultAnswer> {
    let error = keys.error.as_deref().and_then(KnownError::named);
    if let (Some(status), Some(error)) = (keys.status, error.filter(|error| Some(error.status) != keys.status)) {
        let message = format!("`{}` comes with status {}, and not with {status}; leave `status` out", error.name, error.status);
        reader.value_problem("status", message);
    }
    let status = keys.status.or(error.map(|error| error.status)).or(keys.html.then_some(200))?;
    if matches!(status, 204 | 304) && keys.body.is_some() {
        reader.key_problem("body", format!("an answer with status {status} has no body: remove it, or change the status"));
    }
    let error = error.filter(|error| KnownError::usual(error.status) != Some(error));
    let FaultKindKeys { html, mut body, mut headers, retry_after, rate_limits, .. } = keys;
    if html {
        reader.one_of(&["html", "body"]);
        body = Some(PROXY_PAGE.into());
        if !headers.iter().any(|(name, _)| name == "content-type") {
            headers.insert(0, ("content-type".into(), "text/html".into()));
        }
    }
    Some(FaultAnswer { status, error, body, headers, retry_after, rate_limits })
}

/// The kind that is given.
fn change(keys: FaultKindKeys) -> Option<AnswerChange> {
    let after_events = keys.after_events.unwrap_or(0);
    let insert = |name: &str, data: String| AnswerChange::Insert { after_events, name: name.into(), data: data.into() };
    let error_event = |kind: Arc<str>| {
        let text = if &*kind == "overloaded_error" { "Overloaded" } else { "Internal server error" };
        insert("error", format!(r#"{{"type":"error","error":{{"type":{},"message":"{text}"}}}}"#, Json::from_value(&*kind)))
    };
    let changes = [
        keys.cut.map(|Cut { after, how }| AnswerChange::Cut { after, how }),
        keys.stall.map(|Stall { after_events, time }| AnswerChange::Stall { after_events, time }),
        keys.event.map(|InsertedEvent { after_events, name, data }| AnswerChange::Insert { after_events, name, data }),
        keys.error_event.map(error_event),
        keys.malformed_event.then(|| insert("content_block_delta", MALFORMED.into())),
        keys.unknown_event.then(|| insert("weather_report", r#"{"type":"weather_report","sun":true}"#.into())),
        keys.duplicate.map(|StreamPart(name)| AnswerChange::Duplicate { name, after_events }),
        keys.missing.map(|StreamPart(name)| AnswerChange::Missing { name, after_events }),
        keys.empty_body.then_some(AnswerChange::EmptyBody),
        keys.content_type.map(AnswerChange::ContentType),
        keys.truncate_tool_input.then_some(AnswerChange::TruncateToolInput),
        keys.drip.map(|bytes_per_second| AnswerChange::Drip { bytes_per_second }),
    ];
    changes.into_iter().flatten().next()
}

fn change_keys(change: AnswerChange) -> FaultKindKeys {
    let keys = FaultKindKeys::default();
    let count = |after_events: u32| (after_events != 0).then_some(after_events);
    match change {
        AnswerChange::Cut { after, how } => FaultKindKeys { cut: Some(Cut { after, how }), ..keys },
        AnswerChange::Stall { after_events, time } => FaultKindKeys { stall: Some(Stall { after_events, time }), ..keys },
        AnswerChange::Insert { after_events, name, data } => {
            FaultKindKeys { event: Some(InsertedEvent { after_events, name, data }), ..keys }
        }
        AnswerChange::Duplicate { name, after_events } => {
            FaultKindKeys { duplicate: Some(StreamPart(name)), after_events: count(after_events), ..keys }
        }
        AnswerChange::Missing { name, after_events } => {
            FaultKindKeys { missing: Some(StreamPart(name)), after_events: count(after_events), ..keys }
        }
        AnswerChange::EmptyBody => FaultKindKeys { empty_body: true, ..keys },
        AnswerChange::ContentType(kind) => FaultKindKeys { content_type: Some(kind), ..keys },
        AnswerChange::TruncateToolInput => FaultKindKeys { truncate_tool_input: true, ..keys },
        AnswerChange::Drip { bytes_per_second } => FaultKindKeys { drip: Some(bytes_per_second), ..keys },
    }
}

/// The names of the known errors.
pub(crate) struct KnownErrorNames;

impl WordList for KnownErrorNames {
    const NOUN: &'static str = "error";

    fn words() -> Vec<&'static str> {
        KNOWN_ERRORS.iter().map(|error| error.name).collect()
    }
}

/// A part of a stream, by the name of its event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StreamPart(&'static str);

impl WordValue for StreamPart {
    fn words() -> Vec<(&'static str, Self, &'static str)> {
        STREAM_PARTS.iter().map(|(word, name)| (*word, Self(name), *name)).collect()
    }
}

/// Where and how a connection ends early.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cut {
    after: CutAfter,
    how: CutManner,
}

keys! {
    /// `cut`: where and how the connection ends. Either `after_events` or `after_bytes` is needed.
    pub(crate) struct CutKeys {
        /// After this many events.
        after_events: Option<u32> = None, unit("events");
        /// After this many bytes of the body, which may be inside an event or a character.
        after_bytes: Option<u32> = None, unit("bytes");
        /// The manner of its end.
        how: CutManner = CutManner::default();
    }
}

impl ConvertedTable for Cut {
    type Keys = CutKeys;

    fn from_keys(keys: CutKeys, reader: &mut TableReader<'_, '_>) -> Option<Self> {
        const PLACES: [&str; 2] = ["after_events", "after_bytes"];
        if reader.one_of(&PLACES).is_none() {
            reader.lacks(&PLACES, format!("{} needs `after_events` or `after_bytes`", reader.title()), None);
        }
        let after = keys.after_events.map(CutAfter::Events).or(keys.after_bytes.map(CutAfter::Bytes));
        Some(Self { after: after?, how: keys.how })
    }

    fn to_keys(&self) -> CutKeys {
        let (after_events, after_bytes) = match self.after {
            CutAfter::Events(count) => (Some(count), None),
            CutAfter::Bytes(count) => (None, Some(count)),
        };
        CutKeys { after_events, after_bytes, how: self.how }
    }
}

/// Where nothing comes, and how long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stall {
    after_events: u32,
    time: Option<Micros>,
}

keys! {
    /// `stall`: where nothing comes, and for how long.
    pub(crate) struct StallKeys {
        /// After this many events.
        after_events: u32 = 0, unit("events");
        /// How long; `"forever"` for no end.
        time: Option<Option<Micros>> as Option<StallTime> = None, required;
    }
}

impl ConvertedTable for Stall {
    type Keys = StallKeys;

    fn from_keys(StallKeys { after_events, time }: StallKeys, _: &mut TableReader<'_, '_>) -> Option<Self> {
        Some(Self { after_events, time: time? })
    }

    fn to_keys(&self) -> StallKeys {
        let Self { after_events, time } = *self;
        StallKeys { after_events, time: Some(time) }
    }
}

/// A duration, or `forever`.
struct StallTime;

impl KeyForm for StallTime {
    type Value = Option<Micros>;

    fn shape() -> ValueShape {
        duration_shape()
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<Option<Micros>> {
        if value.is_text("forever") { Some(None) } else { Micros::read(value, at, report).map(Some) }
    }

    fn write(value: &Option<Micros>) -> TomlValue {
        value.as_ref().map_or(TomlValue::text("forever"), Micros::write)
    }
}

/// One more event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct InsertedEvent {
    after_events: u32,
    name: Arc<str>,
    data: Arc<str>,
}

keys! {
    /// `event`: one more event.
    pub(crate) struct InsertedEventKeys {
        /// After this many events.
        after_events: u32 = 0, unit("events");
        /// The event's name.
        name: Option<Arc<str>> = None, required, example("\"ping\""), checked(more_than_a_line);
        /// The event's data.
        data: Option<Arc<str>> = None, required, example("'{\"type\":\"ping\"}'"), checked(more_than_a_line);
    }
}

fn problem_of_header_text(text: &str) -> Option<String> {
    text.chars().any(char::is_control).then(|| "a header's text has no line breaks and no other control characters".into())
}

fn more_than_a_line(text: &str) -> Option<String> {
    text.contains(['\n', '\r']).then(|| "name and data of an event are one line each".into())
}

impl ConvertedTable for InsertedEvent {
    type Keys = InsertedEventKeys;

    fn from_keys(keys: InsertedEventKeys, _: &mut TableReader<'_, '_>) -> Option<Self> {
        let InsertedEventKeys { after_events, name, data } = keys;
        Some(Self { after_events, name: name?, data: data? })
    }

    fn to_keys(&self) -> InsertedEventKeys {
        let Self { after_events, name, data } = self.clone();
        InsertedEventKeys { after_events, name: Some(name), data: Some(data) }
    }
}

const SPAN_HELP: &str = "write a number from 1 on, \"1..=3\" with both ends, or \"2..\" without end";

impl KeyForm for NumberSpan {
    type Value = Self;

    fn shape() -> ValueShape {
        let form = WrittenForm { noun: "a number or a range of numbers", help: SPAN_HELP, example: "\"1..=3\"" };
        ValueShape::Written(form, Box::new(ValueShape::Either(vec![ValueShape::Integer(1), ValueShape::Text])))
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<Self> {
        let span = match &value.kind {
            TreeValueKind::Integer(..) => u32::read(value, at, report).map(|number| Self { first: number, last: Some(number) })?,
            TreeValueKind::Text(text) => match span(text) {
                Some(span) => span,
                None => {
                    report.value(value.place, format!("`{text}` is not a range of numbers"), Some(SPAN_HELP.into()));
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

    fn write(value: &Self) -> TomlValue {
        let Self { first, last } = *value;
        match last {
            Some(last) if last == first => TomlValue::Inline(first.to_string()),
            Some(last) => TomlValue::text(&format!("{first}..={last}")),
            None => TomlValue::text(&format!("{first}..")),
        }
    }
}

fn span(text: &str) -> Option<NumberSpan> {
    let number = |text: &str| text.trim().parse::<u32>().ok();
    match text.split_once("..") {
        None => number(text).map(|number| NumberSpan { first: number, last: Some(number) }),
        Some((first, "")) => Some(NumberSpan { first: number(first)?, last: None }),
        // Readers disagree on whether `1..3` has its end.
        Some((first, rest)) => Some(NumberSpan { first: number(first)?, last: Some(number(rest.strip_prefix('=')?)?) }),
    }
}
