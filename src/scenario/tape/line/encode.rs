//! From exchanges to lines. One call for each thing that happens, so that a recorder can write while it happens (F-1).

use alloc::collections::{BTreeMap, VecDeque};

use core::borrow::Borrow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::super::{Exchange, Provenance, ResponseEnd, TAPE_VERSION, Tape, TapeHeader, TapePlace, UnknownPart};
use super::body::{BodyPart, BodyPiece, SpanId, WINDOW, cut};
use reenact_engine::time::Micros;
use reenact_wire::http::HttpHeader;
use reenact_wire::json::{Json, push_string};
use reenact_wire::prelude::*;

/// Writes a whole tape: its exchanges one after another, and what was not known back in its place (F-5).
///
/// Only whole exchanges are in a [`Tape`], so what was left out on reading is not in the result.
pub fn encode(tape: &Tape) -> String {
    let mut out = String::new();
    let written: Result<(), core::convert::Infallible> = encode_to(tape, &mut |lines| {
        out.push_str(lines);
        Ok(())
    });
    let Ok(()) = written;
    out
}

/// The same line by line, so that a large tape is in memory once.
///
/// # Errors
/// Those of `put`.
pub fn encode_to<E>(tape: &Tape, put: &mut impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
    let mut writer = LineWriter::default();
    for unknown in &tape.unknown {
        writer.unknown.entry(unknown.place).or_default().push(&unknown.what);
    }
    writer.tape(&tape.header, &tape.exchanges, put)
}

/// The same for exchanges that come one by one, so that a large recording is never in memory as a whole.
///
/// # Errors
/// Those of `put`.
pub fn encode_exchanges<E>(
    header: &TapeHeader,
    exchanges: impl IntoIterator<Item = impl Borrow<Exchange>>,
    put: &mut impl FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    LineWriter::default().tape(header, exchanges, put)
}

/// A request to write.
#[derive(Clone, Debug)]
pub struct NewRequest<'a> {
    /// Its number in the tape.
    pub id: u32,
    /// Its thread of conversation.
    pub thread: &'a str,
    /// The exchange whose conversation it extends.
    pub parent: Option<u32>,
    /// Where it comes from (F-12).
    pub provenance: Provenance,
    /// When, from the start of the tape.
    pub at: Option<Micros>,
    /// HTTP method.
    pub method: &'a str,
    /// Path with query.
    pub path: &'a str,
    /// Headers to keep.
    pub headers: &'a [HttpHeader],
    /// The whole body.
    pub body: &'a [u8],
}

impl<'a> NewRequest<'a> {
    /// The request of an exchange.
    pub fn from_exchange(exchange: &'a Exchange) -> Self {
        Self {
            id: exchange.id,
            thread: &exchange.thread,
            parent: exchange.parent,
            provenance: exchange.provenance,
            at: exchange.at,
            method: &exchange.method,
            path: &exchange.path,
            headers: &exchange.headers,
            body: &exchange.body,
        }
    }
}

/// Turns what happens into lines, each with its line end.
///
/// It keeps the hashes of what it wrote and not the content, about 60 bytes a span.
#[derive(Clone, Debug, Default)]
pub struct TapeEncoder {
    spans: BTreeMap<SpanId, blake3::Hash>,
    recent: VecDeque<(u32, Vec<blake3::Hash>)>,
    open: BTreeMap<u32, WrittenBody>,
}

/// The written parts of an answer's body.
#[derive(Clone, Copy, Debug, Default)]
struct WrittenBody {
    chunks: u64,
    bytes: u64,
}

impl TapeEncoder {
    /// For a new tape.
    pub fn new() -> Self {
        Self::default()
    }

    /// The first line.
    pub fn header(&mut self, header: &TapeHeader) -> String {
        let mut line = format!(r#"{{"reenact_tape":{TAPE_VERSION}"#);
        let members = Json::from_value(header);
        line.push(',');
        line.push_str(&members.as_str()[1..]);
        line.push('\n');
        line
    }

    /// The line of a request.
    pub fn request(&mut self, request: &NewRequest<'_>) -> String {
        self.open.insert(request.id, WrittenBody::default());
        let mut line = begin("request", request.id);
        push_text(&mut line, "thread", request.thread);
        if let Some(parent) = request.parent {
            line.push_str(&format!(r#","parent":{parent}"#));
        }
        push_at(&mut line, request.at);
        line.push_str(&format!(r#","provenance":{}"#, Json::from_value(&request.provenance)));
        push_text(&mut line, "method", request.method);
        push_text(&mut line, "path", request.path);
        push_headers(&mut line, request.headers);
        line.push_str(r#","body":["#);
        for (position, piece) in self.pieces(request.id, request.body).iter().enumerate() {
            if position > 0 {
                line.push(',');
            }
            piece.push_to(&mut line);
        }
        line.push_str(&format!(r#"],"body_hash":"{}""#, blake3::hash(request.body).to_hex()));
        finish(line)
    }

    /// The line of an answer's head.
    pub fn head(&mut self, id: u32, at: Option<Micros>, status: u16, headers: &[HttpHeader]) -> String {
        self.decoded_head(id, at, status, headers, None)
    }

    /// The same for an answer whose body travelled in an encoding and stands on the tape without it.
    pub fn decoded_head(&mut self, id: u32, at: Option<Micros>, status: u16, headers: &[HttpHeader], encoding: Option<&str>) -> String {
        let mut line = begin("head", id);
        push_at(&mut line, at);
        line.push_str(&format!(r#","status":{status}"#));
        push_headers(&mut line, headers);
        if let Some(encoding) = encoding {
            push_text(&mut line, "decoded", encoding);
        }
        finish(line)
    }

    /// The line of a piece of an answer's body, as received (F-3).
    pub fn chunk(&mut self, id: u32, at: Option<Micros>, bytes: &[u8]) -> String {
        let mut line = String::with_capacity(bytes.len() + bytes.len() / 4 + 64);
        self.push_chunk(&mut line, id, at, bytes);
        line
    }

    /// Appends that line: there are many of them.
    pub fn push_chunk(&mut self, out: &mut String, id: u32, at: Option<Micros>, bytes: &[u8]) {
        let written = self.open.entry(id).or_default();
        written.chunks += 1;
        written.bytes += bytes.len() as u64;
        out.push_str(&begin("chunk", id));
        push_at(out, at);
        match core::str::from_utf8(bytes) {
            Ok(text) => push_text(out, "text", text),
            Err(_) => push_text(out, "base64", &STANDARD.encode(bytes)),
        }
        out.push_str("}\n");
    }

    /// The last line of an exchange.
    pub fn end(&mut self, id: u32, at: Option<Micros>, how: ResponseEnd) -> String {
        let written = self.open.remove(&id).unwrap_or_default();
        let mut line = begin("end", id);
        push_at(&mut line, at);
        line.push_str(&format!(r#","how":{},"chunks":{},"bytes":{}"#, Json::from_value(&how), written.chunks, written.bytes));
        finish(line)
    }

    /// Cuts a body and refers to what was written before (F-4).
    fn pieces(&mut self, id: u32, body: &[u8]) -> Vec<BodyPiece> {
        let Ok(text) = core::str::from_utf8(body) else {
            self.remember(id, vec![blake3::hash(body)]);
            return vec![BodyPiece::Bytes(body.into())];
        };
        let parts = cut(text);
        let hashes: Vec<_> = parts.iter().map(|part| blake3::hash(part.text().as_bytes())).collect();
        let mut pieces = Vec::new();
        for step in self.steps(&parts, &hashes) {
            pieces.push(match step {
                EncodingStep::Run { of, first, count } => BodyPiece::Run { of, first, count },
                EncodingStep::One(index) => self.piece(parts[index], hashes[index]),
            });
        }
        self.remember(id, hashes);
        pieces
    }

    fn piece(&mut self, part: BodyPart<'_>, hash: blake3::Hash) -> BodyPiece {
        let BodyPart::Span(text) = part else { return BodyPiece::Literal(part.text().into()) };
        let id = SpanId::from_hash(&hash);
        match self.spans.get(&id) {
            Some(known) if *known == hash => BodyPiece::Ref(id),
            // Two texts with the same first eight bytes of hash: the later one is never stored under it.
            Some(_) => BodyPiece::Literal(text.into()),
            None => {
                self.spans.insert(id, hash);
                BodyPiece::Span(id, text.into())
            }
        }
    }

    fn remember(&mut self, id: u32, list: Vec<blake3::Hash>) {
        if self.recent.len() == WINDOW {
            self.recent.pop_front();
        }
        self.recent.push_back((id, list));
    }

    /// Which parts are a run of the recent request that begins most alike.
    ///
    /// Parts that were replaced (a breakpoint that moved) leave the two lists in step, so the next part is looked for at the same
    /// distance first; after parts that are new or gone, a span that both lists hold brings them into step again.
    fn steps(&self, parts: &[BodyPart<'_>], hashes: &[blake3::Hash]) -> Vec<EncodingStep> {
        let alike = |list: &[blake3::Hash]| list.iter().zip(hashes).take_while(|(left, right)| left == right).count();
        let Some((of, base)) = self.recent.iter().max_by_key(|(_, list)| alike(list)) else {
            return (0..parts.len()).map(EncodingStep::One).collect();
        };
        let places: BTreeMap<&[u8; 32], usize> = base.iter().enumerate().map(|(place, hash)| (hash.as_bytes(), place)).collect();
        let (mut steps, mut at, mut behind) = (Vec::new(), 0, Some(0));
        while at < parts.len() {
            let in_step = behind.filter(|place| base.get(*place) == Some(&hashes[at]));
            let elsewhere = || matches!(parts[at], BodyPart::Span(_)).then(|| places.get(hashes[at].as_bytes()).copied()).flatten();
            let Some(first) = in_step.or_else(elsewhere) else {
                steps.push(EncodingStep::One(at));
                at += 1;
                behind = behind.map(|place| place + 1);
                continue;
            };
            let count = alike_from(&base[first..], &hashes[at..]);
            steps.push(if count > 1 { EncodingStep::Run { of: *of, first, count } } else { EncodingStep::One(at) });
            at += count;
            behind = Some(first + count);
        }
        steps
    }
}

/// How a part, or several, of a body are written.
enum EncodingStep {
    One(usize),
    Run { of: u32, first: usize, count: usize },
}

fn alike_from(base: &[blake3::Hash], hashes: &[blake3::Hash]) -> usize {
    base.iter().zip(hashes).take_while(|(left, right)| left == right).count()
}

fn begin(kind: &str, id: u32) -> String {
    format!(r#"{{"{kind}":{id}"#)
}

fn finish(mut line: String) -> String {
    line.push_str("}\n");
    line
}

fn push_text(line: &mut String, name: &str, text: &str) {
    line.push_str(",\"");
    line.push_str(name);
    line.push_str("\":");
    push_string(line, text);
}

fn push_at(line: &mut String, at: Option<Micros>) {
    if let Some(at) = at {
        line.push_str(&format!(r#","at":{}"#, at.0));
    }
}

fn push_headers(line: &mut String, headers: &[HttpHeader]) {
    if headers.is_empty() {
        return;
    }
    line.push_str(r#","headers":["#);
    for (position, header) in headers.iter().enumerate() {
        line.push_str(if position > 0 { ",[" } else { "[" });
        push_string(line, &header.name);
        line.push(',');
        push_string(line, &header.value);
        line.push(']');
    }
    line.push(']');
}

/// Puts lines together with what was not known in them and after them (F-5).
#[derive(Default)]
struct LineWriter<'a> {
    encoder: TapeEncoder,
    out: String,
    unknown: BTreeMap<TapePlace, Vec<&'a UnknownPart>>,
}

impl LineWriter<'_> {
    fn tape<E>(
        mut self,
        header: &TapeHeader,
        exchanges: impl IntoIterator<Item = impl Borrow<Exchange>>,
        put: &mut impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let header = self.encoder.header(header);
        self.line(TapePlace::Header, header);
        for exchange in exchanges {
            self.exchange(exchange.borrow(), put)?;
        }
        self.rest();
        self.give(put)
    }

    fn exchange<E>(&mut self, exchange: &Exchange, put: &mut impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        let (id, answer) = (exchange.id, &exchange.answer);
        let request = self.encoder.request(&NewRequest::from_exchange(exchange));
        self.line(TapePlace::Request(id), request);
        if answer.status != 0 {
            let head = self.encoder.head(id, answer.head_at, answer.status, &answer.headers);
            self.line(TapePlace::Head(id), head);
        }
        for (index, chunk) in (0..).zip(answer.chunks.iter()) {
            self.give(put)?;
            let chunk = self.encoder.chunk(id, chunk.at, &chunk.bytes);
            self.line(TapePlace::Chunk(id, index), chunk);
        }
        let end = self.encoder.end(id, answer.end_at, answer.end);
        self.line(TapePlace::End(id), end);
        self.give(put)
    }

    fn line(&mut self, place: TapePlace, line: String) {
        self.out.push_str(&line);
        let parts = self.unknown.remove(&place).unwrap_or_default();
        for part in &parts {
            if let UnknownPart::Members(members) = part {
                self.out.truncate(self.out.len() - "}\n".len());
                for (name, value) in members {
                    self.out.push(',');
                    push_string(&mut self.out, name);
                    self.out.push(':');
                    self.out.push_str(value.as_str());
                }
                self.out.push_str("}\n");
            }
        }
        self.whole_lines(parts);
    }

    fn whole_lines(&mut self, parts: Vec<&UnknownPart>) {
        for part in parts {
            if let UnknownPart::Line(line) = part {
                self.out.push_str(line);
                self.out.push('\n');
            }
        }
    }

    /// Lines that stood beside an exchange which was left out go to the end; members of its lines go with it.
    fn rest(&mut self) {
        for (_, parts) in core::mem::take(&mut self.unknown) {
            self.whole_lines(parts);
        }
    }

    /// Gives away what is written so far.
    fn give<E>(&mut self, put: &mut impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        let given = put(&self.out);
        self.out.clear();
        given
    }
}
