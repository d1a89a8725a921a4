//! From what a format holds to a tape: the part that all importers share.
//!
//! Here bodies are decompressed, secrets replaced, hosts and threads found, and it is noted what the tape does not have any more.

use std::collections::BTreeSet;
use std::io::Read as _;

use super::{Format, ImportOptions, Imported};
use crate::engine::time::Micros;
use crate::files::redact::{self, AnswerRedactor, Redactor};
use crate::scenario::tape::{Answer, Chunk, End, Exchange, Provenance, Tape, TapeHeader};
use crate::scenario::thread;
use crate::wire::http::Header;

/// A body that grows beyond this is not a recorded answer.
const BODY_MAX: u64 = 256 << 20;

/// One exchange as a format has it.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) method: String,
    /// Absolute, or only a path.
    pub(super) url: String,
    pub(super) request_headers: Vec<(String, String)>,
    pub(super) request_body: Vec<u8>,
    /// 0 when no answer came.
    pub(super) status: u16,
    pub(super) response_headers: Vec<(String, String)>,
    pub(super) response_body: Vec<u8>,
    pub(super) at: Option<Micros>,
    pub(super) head_at: Option<Micros>,
    pub(super) end_at: Option<Micros>,
    /// How it ended, where the source says so; else it was cut when there is no status.
    pub(super) end: Option<End>,
}

/// An exchange as it reads, its secrets still in it.
#[derive(Debug)]
struct Decoded {
    path: String,
    request_headers: Vec<Header>,
    request_body: Vec<u8>,
    response_headers: Vec<Header>,
    response_body: Vec<u8>,
    /// Everything else.
    found: Found,
}

/// Collects exchanges into a tape.
#[derive(Debug)]
pub(super) struct Collector {
    tape: Tape,
    decoded: Vec<Decoded>,
    lost: BTreeSet<String>,
    redactor: Redactor,
    provenance: Provenance,
    keep_bodies: bool,
    has_headers: bool,
}

impl Collector {
    pub(super) fn new(format: Format, options: &ImportOptions) -> Self {
        let header = TapeHeader {
            recorder: concat!("reenact ", env!("CARGO_PKG_VERSION"), " import").into(),
            imported_from: Some(format.name().to_owned()),
            ..TapeHeader::default()
        };
        let ImportOptions { provenance, rules, keep_bodies } = options;
        Self {
            tape: Tape { header, ..Tape::default() },
            decoded: Vec::new(),
            lost: BTreeSet::new(),
            redactor: Redactor::new(rules),
            provenance: *provenance,
            keep_bodies: *keep_bodies,
            has_headers: false,
        }
    }

    /// Notes something that the source did not hold.
    pub(super) fn lose(&mut self, what: &str) {
        self.lost.insert(what.to_owned());
    }

    pub(super) fn recorded_at(&mut self, when: &str) {
        self.tape.header.recorded_at.get_or_insert_with(|| when.to_owned());
    }

    /// Takes the next exchange, in the order of the requests.
    pub(super) fn push(&mut self, mut found: Found) -> Result<(), String> {
        self.has_headers |= !found.request_headers.is_empty() || !found.response_headers.is_empty();
        let mut request_headers = named(std::mem::take(&mut found.request_headers));
        // A request that cannot be read is no reason to do without the answers of all. What cannot be searched for secrets stays out.
        let request_body = self.decompress(&mut request_headers, std::mem::take(&mut found.request_body)).unwrap_or_else(|_| {
            self.lose("request bodies that are not compressed as their headers say");
            Vec::new()
        });
        let mut response_headers = named(std::mem::take(&mut found.response_headers));
        let response_body = self.decompress(&mut response_headers, std::mem::take(&mut found.response_body))?;
        if let Some(date) = response_headers.iter().find(|header| header.name.eq_ignore_ascii_case("date")) {
            self.recorded_at(&date.value);
        }
        let (host, path) = split_url(&found.url);
        if let Some(host) = host {
            self.tape.header.upstream.get_or_insert(host);
        }
        self.decoded.push(Decoded { path, request_headers, request_body, response_headers, response_body, found });
        match u32::try_from(self.decoded.len()) {
            Ok(_) => Ok(()),
            Err(_) => Err(String::from("more exchanges than a tape can count")),
        }
    }

    pub(super) fn finish(mut self, format: Format) -> Imported {
        if !self.has_headers {
            self.lose("headers");
        }
        // Bodies may repeat the keys that stand in headers, also in those of later exchanges.
        let decoded = std::mem::take(&mut self.decoded);
        for Decoded { request_headers, response_headers, .. } in &decoded {
            self.redactor.learn_headers(request_headers);
            self.redactor.learn_headers(response_headers);
        }
        self.tape.exchanges = (1..).zip(decoded).map(|(id, decoded)| self.redacted(id, decoded)).collect();
        thread::assign(&mut self.tape.exchanges);
        self.tape.header.lost = self.lost.into_iter().collect();
        let redacted = self.redactor.counts().clone();
        self.tape.header.redactions = redacted.keys().cloned().collect();
        Imported { format, tape: self.tape, redacted }
    }

    /// An exchange as it stands on the tape.
    fn redacted(&mut self, id: u32, decoded: Decoded) -> Exchange {
        let Decoded { path, request_headers, request_body, response_headers, response_body, found } = decoded;
        let headers = self.redactor.headers(&request_headers);
        let body = if self.keep_bodies { request_body } else { self.redactor.body(&request_body) };
        let path = self.redactor.path(&path);
        let answer_headers = self.redactor.headers(&response_headers);
        let answer_body = if self.keep_bodies { response_body } else { self.redacted_answer(&response_headers, response_body) };
        let chunks = if answer_body.is_empty() { Vec::new() } else { vec![Chunk { at: None, bytes: answer_body.into() }] };
        Exchange {
            id,
            thread: thread::MAIN.into(),
            parent: None,
            provenance: self.provenance,
            at: found.at,
            method: found.method.to_ascii_uppercase().into(),
            path: path.into(),
            headers: headers.into(),
            body: body.into(),
            answer: Answer {
                status: found.status,
                headers: answer_headers.into(),
                head_at: found.head_at,
                chunks: chunks.into(),
                end: found.end.unwrap_or(if found.status == 0 { End::Reset } else { End::Complete }),
                end_at: found.end_at,
            },
        }
    }

    /// The body of an answer, its length kept.
    fn redacted_answer(&mut self, headers: &[Header], bytes: Vec<u8>) -> Vec<u8> {
        let (mut answer, mut out) = (AnswerRedactor::of(headers), Vec::with_capacity(bytes.len()));
        let mut sink = |chunk: redact::Chunk| out.extend(chunk.bytes);
        answer.feed(&mut self.redactor, redact::Chunk { at: Micros::ZERO, bytes }, &mut sink);
        answer.finish(&mut self.redactor, &mut sink);
        out
    }

    /// The body as it was before compression; the headers that speak of the compressed one are left out.
    ///
    /// Recorders differ in whether they decompress and in whether they then drop the header, so the body's own first bytes decide where they can.
    fn decompress(&mut self, headers: &mut Vec<Header>, mut body: Vec<u8>) -> Result<Vec<u8>, String> {
        let Some(encoding) = headers.iter().find(|header| is_any(&header.name, &["content-encoding"])) else { return Ok(body) };
        let value = encoding.value.clone();
        headers.retain(|header| !is_any(&header.name, &["content-encoding", "content-length"]));
        for encoding in value.split(',').map(|encoding| encoding.trim().to_ascii_lowercase()).rev() {
            let decoded = match encoding.as_str() {
                "gzip" | "x-gzip" if body.starts_with(&[0x1f, 0x8b]) => read_all(flate2::read::MultiGzDecoder::new(&*body)),
                "deflate" if is_zlib(&body) => read_all(flate2::read::ZlibDecoder::new(&*body)),
                "deflate" if !is_text(&body) => read_all(flate2::read::DeflateDecoder::new(&*body)),
                "br" if !is_text(&body) => read_all(brotli_decompressor::Decompressor::new(&*body, 4096)),
                "zstd" if body.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) => zstd(&body),
                _ => continue,
            };
            body = decoded.map_err(|problem| format!("the body is not the {encoding} that its header says: {problem}"))?;
            self.lose(&format!("compressed bytes ({encoding})"));
        }
        Ok(body)
    }
}

/// HTTP/2 tools write the request line among the headers.
fn named(headers: Vec<(String, String)>) -> Vec<Header> {
    headers.iter().filter(|(name, _)| !name.starts_with(':')).map(|(name, value)| Header::new(name, value)).collect()
}

fn is_any(name: &str, names: &[&str]) -> bool {
    names.iter().any(|other| name.eq_ignore_ascii_case(other))
}

/// The two bytes that a zlib stream begins with.
fn is_zlib(body: &[u8]) -> bool {
    matches!(body, [first, second, ..] if first & 0x0f == 8 && (u16::from(*first) << 8 | u16::from(*second)).is_multiple_of(31))
}

/// Whether a recorder has decompressed the body before: answers are JSON or events.
fn is_text(body: &[u8]) -> bool {
    let start = body.trim_ascii_start();
    body.is_empty()
        || (std::str::from_utf8(body).is_ok()
            && ["{", "[", "event:", "data:", ":", "<"].iter().any(|first| start.starts_with(first.as_bytes())))
}

fn zstd(body: &[u8]) -> Result<Vec<u8>, String> {
    let decoder = ruzstd::decoding::StreamingDecoder::new(body).map_err(|error| error.to_string())?;
    read_all(decoder)
}

fn read_all(reader: impl std::io::Read) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    reader.take(BODY_MAX + 1).read_to_end(&mut body).map_err(|error| error.to_string())?;
    match body.len() as u64 > BODY_MAX {
        true => Err(format!("it grows beyond {} MiB", BODY_MAX >> 20)),
        false => Ok(body),
    }
}

/// Host, and path with query.
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
    use std::io::Write as _;

    use super::*;
    use crate::files::redact::Rules;

    fn options() -> ImportOptions {
        ImportOptions::with(&Rules::with(&[]).unwrap())
    }

    fn pushed(found: Found) -> Tape {
        let mut collector = Collector::new(Format::Har, &options());
        collector.push(found).unwrap();
        collector.finish(Format::Har).tape
    }

    fn encoded(encoding: &str, body: Vec<u8>) -> Found {
        let response_headers = vec![("Content-Encoding".into(), encoding.into()), ("content-length".into(), body.len().to_string())];
        Found { response_headers, response_body: body, status: 200, url: "/v1/messages".into(), ..Found::default() }
    }

    #[test]
    fn k_5_bodies_are_decompressed_and_it_is_said() {
        let text = b"event: ping\ndata: {\"type\": \"ping\"}\n\n";
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text).unwrap();
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        zlib.write_all(text).unwrap();
        let mut raw = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        raw.write_all(text).unwrap();
        let zstd = ruzstd::encoding::compress_to_vec(&text[..], ruzstd::encoding::CompressionLevel::Fastest);
        // An uncompressed meta-block: window size 16, one block of the text's length, and an empty last one.
        for (encoding, body) in
            [("gzip", gzip.finish().unwrap()), ("deflate", zlib.finish().unwrap()), ("deflate", raw.finish().unwrap()), ("zstd", zstd)]
        {
            let tape = pushed(encoded(encoding, body));
            assert_eq!(tape.exchanges[0].answer.body(), text, "{encoding}");
            assert!(tape.exchanges[0].answer.headers.is_empty());
            assert_eq!(tape.header.lost, [format!("compressed bytes ({encoding})")]);
        }
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(b"{}").unwrap();
        let asked = Found {
            request_headers: vec![("Content-Encoding".into(), "gzip".into())],
            request_body: gzip.finish().unwrap(),
            ..Found::default()
        };
        assert_eq!(*pushed(asked).exchanges[0].body, *b"{}", "or no secret could be found in it");
        let tape = pushed(encoded("br", text.to_vec()));
        assert_eq!(tape.exchanges[0].answer.body(), text, "decompressed by the recorder, which left the header");
        let mut collector = Collector::new(Format::Har, &options());
        assert!(collector.push(encoded("gzip", vec![0x1f, 0x8b, 1, 2])).unwrap_err().contains("not the gzip"));
    }

    #[test]
    fn k_2_secrets_are_dropped_and_named() {
        let tape = pushed(Found {
            method: "post".into(),
            url: "https://user:pass@api.example:8443/v1/messages?beta=true&api_key=abc#x".into(),
            request_headers: vec![("X-Api-Key".into(), "abc".into()), (":path".into(), "/".into()), ("accept".into(), "*/*".into())],
            response_headers: vec![("Set-Cookie".into(), "abc".into())],
            status: 200,
            ..Found::default()
        });
        let exchange = &tape.exchanges[0];
        assert_eq!(tape.header.upstream.as_deref(), Some("api.example:8443"));
        assert_eq!((&*exchange.method, &*exchange.path), ("POST", "/v1/messages?beta=true&api_key=xxx"));
        assert_eq!(*exchange.headers, [Header::new("accept", "*/*")]);
        assert!(exchange.answer.headers.is_empty());
        assert_eq!(tape.header.redactions, ["header set-cookie", "header x-api-key", "url-parameter"]);
    }

    #[test]
    fn k_2_a_key_that_a_later_header_shows_is_found_in_earlier_bodies() {
        const KEYS: [&str; 2] = ["first-of-the-house", "second-of-the-house"];
        let text = format!("they are {} and {}", KEYS[0], KEYS[1]);
        let says = Found {
            url: format!("/v1/messages/{}", KEYS[1]),
            request_headers: vec![("x-note".into(), KEYS[0].into())],
            request_body: text.clone().into(),
            response_body: text.into(),
            status: 200,
            ..Found::default()
        };
        let shows = Found {
            request_headers: vec![("x-api-key".into(), KEYS[0].into())],
            response_headers: vec![("set-cookie".into(), format!("session={}; Secure", KEYS[1]))],
            ..Found::default()
        };
        let mut collector = Collector::new(Format::Har, &options());
        [says, shows].into_iter().for_each(|found| collector.push(found).unwrap());
        let shown = format!("{:?}", collector.finish(Format::Har).tape);
        assert!(!KEYS.iter().any(|key| shown.contains(key)), "{shown}");
        assert!(shown.contains("/v1/messages/REDACTED"), "{shown}");
    }
}
