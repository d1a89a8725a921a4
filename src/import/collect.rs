//! From what a format holds to a tape: the part that all importers share.
//!
//! Here bodies are decoded, secrets replaced, services and threads found, and it is noted what the tape does not have any more. What is of no use
//! is counted and let go at once: held are the exchanges that will stand on the tape, packed.

use std::collections::{BTreeMap, BTreeSet};

use super::coding::decode;
use super::folding::{FoldedBody, Folder};
use super::packed_bytes::PackedBytes;
use super::packing::PackedExchange;
use super::service::{ExchangeService, service};
use super::{ImportOptions, cloud, eventstream};
use reenact_engine::time::Micros;
use reenact_redact::{AnswerRedactor, HeldChunk, Redactor, ReplacedSecret};
use reenact_scenario::conversation::{MAIN, ThreadAssignment};
use reenact_scenario::tape::asks_for_message;
use reenact_scenario::tape::{BodyChunk, Exchange, Provenance, RecordedResponse, ResponseEnd, TapeHeader};
use reenact_wire::http::{self, HttpHeader};
use reenact_wire::prelude::plural;

/// A longer body is put in pieces of this length, so that it need not be in memory twice.
const PIECE_BYTES: usize = 8 << 20;

/// So many different problems are reported one by one.
const PROBLEMS_MAX: usize = 20;

/// One exchange as a format has it.
#[derive(Clone, Debug, Default)]
pub(super) struct FoundExchange {
    pub(super) method: String,
    /// Absolute, or only a path; empty when it is not known.
    pub(super) url: String,
    pub(super) request_headers: Vec<(String, String)>,
    pub(super) request_body: Vec<u8>,
    /// 0 when no answer came.
    pub(super) status: u16,
    pub(super) response_headers: Vec<(String, String)>,
    pub(super) response_body: Vec<u8>,
    /// When the request was made, in microseconds since 1970.
    pub(super) asked: Option<i64>,
    /// The same, or the time of the answer, as the source spells it.
    pub(super) when: Option<String>,
    /// From the request.
    pub(super) head_at: Option<Micros>,
    /// From the request.
    pub(super) end_at: Option<Micros>,
    /// How it ended, where the source says so; else it was cut when there is no status.
    pub(super) end: Option<ResponseEnd>,
    /// Why it is of no use if it is one with the Messages API.
    pub(super) problem: Option<&'static str>,
}

/// An exchange as it reads, its secrets still in it.
#[derive(Debug)]
struct DecodedExchange {
    host: Option<String>,
    path: String,
    request_headers: Vec<HttpHeader>,
    request_body: FoldedBody,
    response_headers: Vec<HttpHeader>,
    response_body: PackedBytes,
    /// Everything else.
    found: FoundExchange,
}

/// The bodies of an exchange while they are looked at.
struct Bodies {
    request: Vec<u8>,
    response: Vec<u8>,
}

/// The fate of everything in a file.
#[derive(Debug)]
pub(super) struct CollectionSummary {
    pub(super) header: TapeHeader,
    pub(super) exchanges: Vec<PackedExchange>,
    /// How often each rule replaced or left out something.
    pub(super) redacted: BTreeMap<String, u64>,
    /// The replaced secrets, with the reason.
    pub(super) explained: BTreeMap<ReplacedSecret, u64>,
    /// The parts of the file that are not on the tape, a line each.
    pub(super) left_out: Vec<String>,
    /// The texts that were not searched for secrets, a sentence each.
    pub(super) unsearched: Vec<String>,
}

/// Collects exchanges into a tape.
#[derive(Debug)]
pub(super) struct TapeCollector {
    decoded: Vec<DecodedExchange>,
    folder: Folder,
    lost: BTreeSet<String>,
    recorded_at: Option<String>,
    redactor: Redactor,
    provenance: Provenance,
    keep_bodies: bool,
    has_headers: bool,
    /// Exchanges of other APIs.
    other_apis: BTreeMap<&'static str, u64>,
    /// The entries that have nothing to do with an API of models, by kind.
    others: BTreeMap<&'static str, u64>,
    /// The mistakes in exchanges: where first, and how often.
    problems: BTreeMap<String, (String, u64)>,
}

impl TapeCollector {
    pub(super) fn new(options: &ImportOptions) -> Self {
        let ImportOptions { provenance, rules, keep_bodies } = options;
        Self {
            decoded: Vec::new(),
            folder: Folder::default(),
            lost: BTreeSet::new(),
            recorded_at: None,
            redactor: Redactor::new(rules),
            provenance: *provenance,
            keep_bodies: *keep_bodies,
            has_headers: false,
            other_apis: BTreeMap::new(),
            others: BTreeMap::new(),
            problems: BTreeMap::new(),
        }
    }

    /// Notes something that the source did not hold.
    pub(super) fn lose(&mut self, what: &str) {
        if !self.lost.contains(what) {
            self.lost.insert(what.to_owned());
        }
    }

    /// The whole recording is of this time.
    pub(super) fn recorded_at(&mut self, when: &str) {
        self.recorded_at.get_or_insert_with(|| when.to_owned());
    }

    /// An exchange with another API.
    pub(super) fn other_api(&mut self, name: &'static str) {
        *self.other_apis.entry(name).or_default() += 1;
    }

    /// Something that is left out and only counted.
    pub(super) fn other(&mut self, what: &'static str) {
        *self.others.entry(what).or_default() += 1;
    }

    /// An exchange that cannot be read. It does not cost the others.
    pub(super) fn skip(&mut self, place: &str, problem: String) {
        let known = self.problems.len() < PROBLEMS_MAX || self.problems.contains_key(&problem);
        let problem = if known { problem } else { String::from("further problems") };
        self.problems.entry(problem).or_insert_with(|| (place.to_owned(), 0)).1 += 1;
    }

    /// Takes the next exchange.
    pub(super) fn push(&mut self, place: &str, found: FoundExchange) {
        if let Err(problem) = self.take(found) {
            self.skip(place, problem);
        }
    }

    fn take(&mut self, mut found: FoundExchange) -> Result<(), String> {
        let had_headers = !found.request_headers.is_empty() || !found.response_headers.is_empty();
        let mut request_headers = named(std::mem::take(&mut found.request_headers));
        let mut response_headers = named(std::mem::take(&mut found.response_headers));
        // A request that cannot be read is no reason to do without the answer. What cannot be searched for secrets stays out.
        let (request_body, request_lost) = match decode(&mut request_headers, std::mem::take(&mut found.request_body)) {
            Ok(decoded) => (decoded.body, decoded.lost),
            Err(_) => (Vec::new(), vec![String::from("request bodies that are not compressed as their headers state")]),
        };
        let answer = decode(&mut response_headers, std::mem::take(&mut found.response_body));
        let body = answer.as_ref().map_or(&b""[..], |answer| &answer.body);
        let (host, path) = split_url(&found.url);
        let service = service(&found.method, (host.as_deref(), &path), &request_body, body);
        match service {
            ExchangeService::OtherApi(name) => self.other_api(name),
            ExchangeService::Unrelated => self.other("requests to other services"),
            _ => {
                let answer = answer?;
                if let Some(problem) = found.problem.filter(|_| service != ExchangeService::Endpoint) {
                    return Err(problem.to_owned());
                }
                let mut bodies = Bodies { request: request_body, response: answer.body };
                let (request_body, response_body) = (FoldedBody::default(), PackedBytes::default());
                let mut decoded = DecodedExchange { host, path, request_headers, request_body, response_headers, response_body, found };
                self.put(&service, &mut decoded, &mut bodies)?;
                (decoded.request_body, decoded.response_body) = (self.folder.fold(&bodies.request), PackedBytes::new(&bodies.response));
                self.has_headers |= had_headers;
                request_lost.iter().chain(&answer.lost).for_each(|lost| self.lose(lost));
                self.decoded.push(decoded);
            }
        }
        Ok(())
    }

    /// Puts an exchange as the Messages API has it under its own path.
    fn put(&mut self, service: &ExchangeService, decoded: &mut DecodedExchange, bodies: &mut Bodies) -> Result<(), String> {
        match service {
            ExchangeService::Gateway if decoded.path.is_empty() => (),
            ExchangeService::Gateway => self.lose(&format!("the path of a gateway ({})", decoded.path)),
            ExchangeService::Cloud { name, model, streams } => {
                self.lose(&format!("the form of requests to {name}: path, model, version"));
                let body = std::str::from_utf8(&bodies.request).unwrap_or_default();
                if let Some(body) = cloud::request(body, model, *streams, &mut decoded.request_headers) {
                    bodies.request = body.into_bytes();
                }
                if eventstream::begins(&bodies.response) {
                    self.lose("the frames of Amazon's event stream");
                    let events = eventstream::events(&bodies.response)?;
                    bodies.response = events.body;
                    cloud::stream_headers(&mut decoded.response_headers);
                    decoded.found.end = decoded.found.end.or(events.is_cut.then_some(ResponseEnd::Reset));
                }
            }
            _ => return Ok(()),
        }
        decoded.path = String::from(cloud::PATH);
        Ok(())
    }

    pub(super) fn finish(mut self, imported_from: &str) -> CollectionSummary {
        let mut decoded = std::mem::take(&mut self.decoded);
        // Exchanges without a time keep their place behind those that have one; the sort is stable.
        decoded.sort_by_key(|decoded| decoded.found.asked.unwrap_or(i64::MAX));
        self.note_what_is_lost(&decoded);
        // Bodies may repeat the keys that stand in headers, also in those of later exchanges.
        for DecodedExchange { request_headers, response_headers, .. } in &decoded {
            self.redactor.learn_headers(request_headers);
            self.redactor.learn_headers(response_headers);
        }
        let first = decoded.first();
        let when =
            first.and_then(|first| first.found.when.clone().or_else(|| http::find(&first.response_headers, "date").map(str::to_owned)));
        let mut header = TapeHeader {
            recorder: concat!("reenact ", env!("CARGO_PKG_VERSION"), " import").into(),
            imported_from: Some(imported_from.to_owned()),
            recorded_at: self.recorded_at.take().or(when),
            upstream: decoded.iter().find_map(|decoded| decoded.host.clone()),
            ..TapeHeader::default()
        };
        let zero = first.and_then(|first| first.found.asked);
        let (mut threads, mut exchanges) = (ThreadAssignment::default(), Vec::with_capacity(decoded.len()));
        let (mut folder, mut folder_of_whole) = (Folder::default(), Folder::default());
        self.folder = Folder::default();
        for (id, decoded) in (1..).zip(decoded) {
            let exchange = self.redacted(id, zero, decoded);
            let body = folder.fold(&exchange.body);
            let whole = threads.push(&exchange).map(|body| folder_of_whole.fold(&body));
            exchanges.push(PackedExchange::new(exchange, body, whole));
        }
        for (exchange, (thread, parent)) in exchanges.iter_mut().zip(threads.finish()) {
            exchange.place(thread, parent);
        }
        let left_out = self.left_out();
        self.lost.extend(left_out.iter().cloned());
        header.lost = self.lost.into_iter().collect();
        let redacted = self.redactor.counts().clone();
        header.redactions = redacted.keys().cloned().collect();
        let unsearched = self.redactor.unsearched();
        CollectionSummary { header, exchanges, redacted, explained: self.redactor.explained().clone(), left_out, unsearched }
    }

    fn note_what_is_lost(&mut self, decoded: &[DecodedExchange]) {
        self.lose("chunk times");
        self.lose("packet boundaries");
        if !self.has_headers {
            self.lose("headers");
        }
        if decoded.iter().any(|decoded| decoded.found.asked.is_none()) {
            self.lose("request times");
        }
        if decoded.iter().any(|decoded| asks_for_message(&decoded.found.method, &decoded.path) && decoded.request_body.length() == 0) {
            self.lose("requests");
        }
        if decoded.iter().any(|decoded| decoded.found.end_at.is_none()) {
            self.lose("response times");
        }
    }

    /// The entries that were of no use, a line each.
    fn left_out(&self) -> Vec<String> {
        let apis = self.other_apis.iter().map(|(name, count)| format!("{} with {name}: not supported", plural(*count, "exchange")));
        let problems = self.problems.iter().map(|(problem, (place, count))| match count {
            1 => format!("{place}: {problem}"),
            count => format!("{}, the first at {place}: {problem}", plural(*count, "exchange")),
        });
        let others = self.others.iter().map(|(what, count)| format!("{what} ({count})"));
        apis.chain(problems).chain(others).collect()
    }

    /// An exchange as it stands on the tape. `zero` is when the first request was made.
    fn redacted(&mut self, id: u32, zero: Option<i64>, decoded: DecodedExchange) -> Exchange {
        let DecodedExchange { host: _, path, request_headers, request_body, response_headers, response_body, found } = decoded;
        let (request_body, response_body) = (request_body.unfolded(), response_body.unpacked());
        let headers = self.redactor.headers(&request_headers);
        let body = if self.keep_bodies { request_body } else { self.redactor.body(&request_body) };
        let path = self.redactor.path(&path);
        let answer_headers = self.redactor.headers(&response_headers);
        let pieces = pieces(response_body, PIECE_BYTES);
        let pieces = if self.keep_bodies { pieces } else { self.redacted_answer(&response_headers, pieces) };
        let chunks: Vec<BodyChunk> = pieces.into_iter().map(|bytes| BodyChunk { at: None, bytes: bytes.into() }).collect();
        Exchange {
            id,
            thread: MAIN.into(),
            parent: None,
            provenance: self.provenance,
            at: found.asked.zip(zero).map(|(asked, zero)| Micros(asked.abs_diff(zero))),
            method: found.method.to_ascii_uppercase().into(),
            path: path.into(),
            headers: headers.into(),
            body: body.into(),
            answer: RecordedResponse {
                status: found.status,
                headers: answer_headers.into(),
                head_at: found.head_at,
                chunks: chunks.into(),
                end: found.end.unwrap_or(if found.status == 0 { ResponseEnd::Reset } else { ResponseEnd::Complete }),
                end_at: found.end_at,
            },
        }
    }

    /// The pieces of an answer, their lengths kept.
    fn redacted_answer(&mut self, headers: &[HttpHeader], pieces: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let (mut answer, mut out) = (AnswerRedactor::from_headers(headers), Vec::with_capacity(pieces.len()));
        let mut sink = |chunk: HeldChunk| out.push(chunk.bytes);
        for bytes in pieces {
            answer.feed(&mut self.redactor, HeldChunk { at: Micros::ZERO, bytes }, &mut sink);
        }
        answer.finish(&mut self.redactor, &mut sink);
        out
    }
}

/// A body in pieces of `length`, cut from its end so that none of it is there twice.
fn pieces(mut body: Vec<u8>, length: usize) -> Vec<Vec<u8>> {
    let mut pieces = Vec::new();
    while body.len() > length {
        pieces.push(body.split_off((body.len() - 1) / length * length));
        body.shrink_to_fit();
    }
    pieces.extend(Some(body).filter(|body| !body.is_empty()));
    pieces.reverse();
    pieces
}

/// HTTP/2 tools write the request line among the headers.
fn named(headers: Vec<(String, String)>) -> Vec<HttpHeader> {
    headers.iter().filter(|(name, _)| !name.starts_with(':')).map(|(name, value)| HttpHeader::new(name, value)).collect()
}

/// Host, and path with query; both empty when there is no URL.
fn split_url(url: &str) -> (Option<String>, String) {
    let Some((_, rest)) = url.split_once("://") else { return (None, url.to_owned()) };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    // A name and a password before the host would be a secret.
    let host = authority.rsplit('@').next().unwrap_or(authority);
    let path = path.split('#').next().unwrap_or(path);
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    (Some(host.to_owned()), path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_redact::RedactionRules;
    use reenact_scenario::tape::Tape;

    impl CollectionSummary {
        /// As it will be written.
        pub(crate) fn tape(&self) -> Tape {
            let exchanges = self.exchanges.iter().map(PackedExchange::exchange).collect();
            Tape { header: self.header.clone(), exchanges, ..Tape::default() }
        }
    }

    fn collected(founds: impl IntoIterator<Item = FoundExchange>) -> CollectionSummary {
        let mut collector = TapeCollector::new(&ImportOptions::with(&RedactionRules::with(&[]).unwrap()));
        for (number, found) in (1..).zip(founds) {
            collector.push(&format!("exchange {number}"), found);
        }
        collector.finish("a test")
    }

    fn pushed(found: FoundExchange) -> Tape {
        collected([found]).tape()
    }

    fn messages() -> FoundExchange {
        FoundExchange { method: "POST".into(), url: "https://x.example/v1/messages".into(), status: 200, ..FoundExchange::default() }
    }

    #[test]
    fn k_5_one_bad_exchange_does_not_cost_the_others() {
        let bad = |encoding: &str| FoundExchange {
            response_headers: vec![("content-encoding".into(), encoding.into())],
            response_body: vec![0x1f, 0x8b, 1, 2],
            ..messages()
        };
        let request =
            FoundExchange { request_headers: vec![("content-encoding".into(), "gzip".into())], request_body: vec![0xff], ..messages() };
        let collected = collected([bad("gzip"), request, bad("gzip"), FoundExchange { url: "https://x.example/y".into(), ..bad("gzip") }]);
        assert_eq!(collected.exchanges.len(), 1);
        assert!(collected.tape().exchanges[0].body.is_empty(), "what cannot be searched for secrets stays out");
        assert!(
            collected.left_out[0].starts_with("2 exchanges, the first at exchange 1: the header gives the encoding gzip"),
            "{:?}",
            collected.left_out
        );
        assert_eq!(collected.left_out[1], "requests to other services (1)");
        assert!(collected.header.lost.contains(&collected.left_out[0]));
    }

    #[test]
    fn k_5_exchanges_of_other_apis_are_counted_and_left_out() {
        let at = |url: &str| FoundExchange { url: url.into(), ..messages() };
        let chat = "https://api.openai.com/v1/chat/completions";
        let collected = collected([at(chat), messages(), at(chat), at("https://x.example/v1/models")]);
        assert_eq!(collected.left_out, ["2 exchanges with OpenAI Chat Completions: not supported"]);
        assert_eq!(collected.header.upstream.as_deref(), Some("x.example"));
        let paths: Vec<&str> = collected.exchanges.iter().map(|exchange| &*exchange.outline().path).collect();
        assert_eq!(paths, ["/v1/messages", "/v1/models"]);
    }

    #[test]
    fn k_5_exchanges_stand_in_the_order_of_their_requests() {
        let at = |asked, status| FoundExchange { asked, status, ..messages() };
        let tape = collected([at(None, 1), at(Some(5_000_000), 2), at(Some(3_000_000), 3)]).tape();
        let order: Vec<_> = tape.exchanges.iter().map(|exchange| (exchange.answer.status, exchange.at)).collect();
        assert_eq!(order, [(3, Some(Micros::ZERO)), (2, Some(Micros(2_000_000))), (1, None)]);
    }

    #[test]
    fn k_5_a_long_body_is_put_in_pieces() {
        let cut = |body: &str| pieces(body.into(), 3).into_iter().map(|piece| String::from_utf8(piece).unwrap()).collect::<Vec<_>>();
        assert!(cut("").is_empty());
        assert_eq!(cut("abc"), ["abc"]);
        assert_eq!(cut("abcdefg"), ["abc", "def", "g"]);
    }

    #[test]
    fn k_2_secrets_are_dropped_and_named() {
        let tape = pushed(FoundExchange {
            method: "post".into(),
            url: "https://user:pass@api.example:8443/v1/messages?beta=true&api_key=abc#x".into(),
            request_headers: vec![("X-Api-Key".into(), "abc".into()), (":path".into(), "/".into()), ("accept".into(), "*/*".into())],
            response_headers: vec![("Set-Cookie".into(), "abc".into())],
            status: 200,
            ..FoundExchange::default()
        });
        let exchange = &tape.exchanges[0];
        assert_eq!(tape.header.upstream.as_deref(), Some("api.example:8443"));
        assert_eq!((&*exchange.method, &*exchange.path), ("POST", "/v1/messages?beta=true&api_key=xxx"));
        assert_eq!(*exchange.headers, [HttpHeader::new("accept", "*/*")]);
        assert!(exchange.answer.headers.is_empty());
        assert_eq!(tape.header.redactions, ["header set-cookie", "header x-api-key", "url-parameter"]);
    }

    #[test]
    fn k_2_a_key_that_a_later_header_shows_is_found_in_earlier_bodies() {
        const KEYS: [&str; 2] = ["first-of-the-house", "second-of-the-house"];
        let text = format!("they are {} and {}", KEYS[0], KEYS[1]);
        let says = FoundExchange {
            url: format!("/v1/messages/{}", KEYS[1]),
            request_headers: vec![("x-note".into(), KEYS[0].into())],
            request_body: text.clone().into(),
            response_body: text.into(),
            status: 200,
            ..FoundExchange::default()
        };
        let shows = FoundExchange {
            request_headers: vec![("x-api-key".into(), KEYS[0].into())],
            response_headers: vec![("set-cookie".into(), format!("session={}; Secure", KEYS[1]))],
            ..messages()
        };
        let shown = format!("{:?}", collected([says, shows]).tape());
        assert!(!KEYS.iter().any(|key| shown.contains(key)), "{shown}");
        assert!(shown.contains("/v1/messages/REDACTED"), "{shown}");
    }
}
