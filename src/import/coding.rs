//! Bodies as they were before they were compressed, framed or written as text (K-5).
//!
//! Recorders differ in whether they decompress and in whether they then drop the header, and some write bytes as base64 or JSON as a JSON string
//! without a word. So a body's own first bytes decide where they can.

use std::io::Read;

use super::eventstream;
use reenact_files::compression::{CompressionFormat, read_bounded};
use reenact_files::recording::base64_text::from_base64;
use reenact_wire::http::HttpHeader;
use reenact_wire::raw_json::string;

/// A body that grows beyond this, all its layers together, is not a recorded answer (K-12).
const BODY_BYTES_MAX: u64 = 256 << 20;

/// More layers are not expected.
const WRAPPED_MAX: usize = 8;

/// A body as it reads.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DecodedBody {
    pub(super) body: Vec<u8>,
    /// The parts that stood around it and were lost.
    pub(super) lost: Vec<String>,
}

/// Takes off what is around a body; the headers that speak of it are left out.
pub(super) fn decode(headers: &mut Vec<HttpHeader>, mut body: Vec<u8>) -> Result<DecodedBody, String> {
    let mut lost = Vec::new();
    let mut encodings = encodings(headers);
    let mut is_chunked = is_named(headers, "transfer-encoding", "chunked");
    let was_encoded = !encodings.is_empty();
    let speaks_of_it =
        |header: &HttpHeader| ["content-encoding", "content-length"].iter().any(|name| header.name.eq_ignore_ascii_case(name));
    if was_encoded {
        headers.retain(|header| !speaks_of_it(header));
    }
    let mut left = BODY_BYTES_MAX;
    for _ in 0..WRAPPED_MAX {
        if let Some(inner) = text_of_json(&body) {
            lost.push(String::from("a JSON string around bodies"));
            body = inner;
        } else if let Some(inner) = is_chunked.then(|| without_chunks(&body)).flatten() {
            is_chunked = false;
            lost.push(String::from("chunk sizes in bodies"));
            body = inner;
        } else if let Some(inner) = bytes_of_base64(&body, &encodings) {
            lost.push(String::from("base64 around bodies"));
            body = inner;
        } else if let Some(encoding) =
            encodings.pop().or_else(|| CompressionFormat::from_start(&body).map(|format| format.name().to_owned()))
        {
            let Some(inner) = decompressed(&encoding, &body, &mut left) else { continue };
            body = inner.map_err(|problem| format!("the header gives the encoding {encoding}, and the body does not fit it: {problem}"))?;
            lost.push(format!("compressed bytes ({encoding})"));
        } else {
            break;
        }
    }
    match was_encoded && !body.is_empty() && !is_plain(&body) && !eventstream::begins(&body) {
        true => Err(String::from("the body is neither text nor compressed as its header states: the recorder has damaged it")),
        false => Ok(DecodedBody { body, lost }),
    }
}

/// The encodings that the headers name, the last one applied at the end.
fn encodings(headers: &[HttpHeader]) -> Vec<String> {
    let values = headers.iter().filter(|header| header.name.eq_ignore_ascii_case("content-encoding"));
    values.flat_map(|header| header.value.split(',')).map(|name| name.trim().to_ascii_lowercase()).filter(|name| !name.is_empty()).collect()
}

fn is_named(headers: &[HttpHeader], name: &str, value: &str) -> bool {
    headers.iter().any(|header| header.name.eq_ignore_ascii_case(name) && header.value.to_ascii_lowercase().contains(value))
}

/// `None` when the body is not in this encoding: a recorder has decompressed it and left the header.
fn decompressed(encoding: &str, body: &[u8], left: &mut u64) -> Option<Result<Vec<u8>, String>> {
    let format = CompressionFormat::from_name(encoding)?;
    let may_be = match format {
        CompressionFormat::Gzip | CompressionFormat::Zstd => CompressionFormat::from_start(body) == Some(format),
        CompressionFormat::Deflate | CompressionFormat::Brotli => !is_text(body),
    };
    let read = may_be.then(|| read_all(format.reader(body), left))?;
    (format != CompressionFormat::Brotli || read.is_ok() || !is_plain(body)).then_some(read)
}

/// Whether a body is what the API sends: JSON or events.
fn is_text(body: &[u8]) -> bool {
    let start = body.trim_ascii_start();
    body.is_empty()
        || (["{", "[", "event:", "data:", ":", "<"].iter().any(|first| start.starts_with(first.as_bytes()))
            && std::str::from_utf8(body).is_ok())
}

/// Whether a body is text of any kind: no bytes that were taken for text.
fn is_plain(body: &[u8]) -> bool {
    std::str::from_utf8(body)
        .is_ok_and(|text| !text.chars().any(|c| c == '\u{fffd}' || (c.is_control() && !['\n', '\r', '\t'].contains(&c))))
}

/// The text of a body that is a JSON string: JSON that was put into JSON once more.
fn text_of_json(body: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(body.trim_ascii()).ok().filter(|text| text.len() > 1 && text.starts_with('"') && text.ends_with('"'))?;
    serde_json::from_str::<&serde_json::value::RawValue>(text).ok()?;
    Some(string(text)?.into_owned().into_bytes())
}

/// The bytes of a body that is nothing but base64 of something that a body can be.
fn bytes_of_base64(body: &[u8], encodings: &[String]) -> Option<Vec<u8>> {
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=\r\n".contains(byte);
    if body.len() < 8 || !body.iter().all(is_base64) {
        return None;
    }
    let bytes = from_base64(std::str::from_utf8(body).ok()?).ok()?;
    // These two show nothing by themselves.
    let is_named = || encodings.iter().any(|encoding| ["br", "deflate"].contains(&encoding.as_str()));
    (is_text(&bytes)
        || CompressionFormat::from_start(&bytes).is_some()
        || eventstream::begins(&bytes)
        || text_of_json(&bytes).is_some()
        || is_named())
    .then_some(bytes)
}

/// A body without the sizes of its chunks, when it has them from beginning to end.
fn without_chunks(body: &[u8]) -> Option<Vec<u8>> {
    let (mut whole, mut rest) = (Vec::with_capacity(body.len()), body);
    loop {
        let end = memchr::memchr(b'\n', rest)?;
        let line = std::str::from_utf8(rest[..end].trim_ascii()).ok()?;
        let size = usize::from_str_radix(line.split(';').next()?.trim(), 16).ok()?;
        rest = &rest[end + 1..];
        if size == 0 {
            return Some(whole);
        }
        whole.extend_from_slice(rest.get(..size)?);
        rest = rest.get(size..)?;
        rest = rest.strip_prefix(b"\r\n").or_else(|| rest.strip_prefix(b"\n"))?;
    }
}

/// `left` is what this body may still unpack to.
fn read_all(reader: impl Read, left: &mut u64) -> Result<Vec<u8>, String> {
    let body = read_bounded(reader, *left).map_err(|error| error.to_string())?;
    let body = body.ok_or_else(|| format!("unpacked it is larger than {} MiB", BODY_BYTES_MAX >> 20))?;
    *left -= body.len() as u64;
    Ok(body)
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;
    use reenact_files::compression::packed::{gzip, raw_deflate, zlib, zstd, zstd_with_window};

    const TEXT: &str = "event: ping\ndata: {\"type\": \"ping\"}\n\n";

    fn headers(list: &[(&str, &str)]) -> Vec<HttpHeader> {
        list.iter().map(|(name, value)| HttpHeader::new(name, value)).collect()
    }

    fn read(list: &[(&str, &str)], body: impl Into<Vec<u8>>) -> (String, String) {
        let decoded = decode(&mut headers(list), body.into()).unwrap();
        (String::from_utf8(decoded.body).unwrap(), decoded.lost.join(", "))
    }

    #[test]
    fn k_5_bodies_are_decompressed_and_it_is_said() {
        let text = TEXT.as_bytes();
        for (encoding, body) in [("gzip", gzip(text)), ("deflate", zlib(text)), ("deflate", raw_deflate(text)), ("zstd", zstd(text))] {
            let mut list = headers(&[("Content-Encoding", encoding), ("content-length", "9"), ("x", "y")]);
            let decoded = decode(&mut list, body).unwrap();
            assert_eq!(decoded, DecodedBody { body: TEXT.into(), lost: vec![format!("compressed bytes ({encoding})")] });
            assert_eq!(list, headers(&[("x", "y")]));
        }
        assert_eq!(read(&[("content-encoding", "br")], TEXT).0, TEXT, "decompressed by the recorder, which left the header");
        assert_eq!(read(&[("content-encoding", "br")], "no healthy upstream").0, "no healthy upstream");
        assert_eq!(read(&[], gzip(TEXT.as_bytes())), (TEXT.into(), "compressed bytes (gzip)".into()), "the header is not there");
    }

    #[test]
    fn k_5_what_a_recorder_put_around_a_body_is_taken_off() {
        let json = serde_json::to_string(TEXT).unwrap();
        let chunked = format!("10\r\n{}\r\n{:x};x=y\r\n{}\r\n0\r\n\r\n", &TEXT[..16], TEXT.len() - 16, &TEXT[16..]);
        let is_chunked = ("transfer-encoding", "chunked");
        assert_eq!(read(&[], json.clone()), (TEXT.into(), "a JSON string around bodies".into()));
        assert_eq!(read(&[], serde_json::to_string(&json).unwrap()).0, TEXT);
        assert_eq!(read(&[is_chunked], chunked.clone()), (TEXT.into(), "chunk sizes in bodies".into()));
        assert_eq!(read(&[], chunked.clone()).0, chunked, "only where the headers say so");
        assert_eq!(read(&[is_chunked], TEXT).0, TEXT, "the recorder has taken them off");
        assert_eq!(read(&[], STANDARD.encode(TEXT)), (TEXT.into(), "base64 around bodies".into()));
        assert_eq!(
            read(&[("content-encoding", "gzip")], STANDARD.encode(gzip(TEXT.as_bytes()))).1,
            "base64 around bodies, compressed bytes (gzip)"
        );
        assert_eq!(read(&[], "Unavailable0").0, "Unavailable0", "a word may look like base64");
        assert_eq!(read(&[], r#"{"a":"b"}"#).1, "");
    }

    #[test]
    fn k_5_a_body_that_cannot_be_read_is_an_error() {
        let error = |encoding: &str, body: &[u8]| decode(&mut headers(&[("content-encoding", encoding)]), body.to_vec()).unwrap_err();
        assert!(error("gzip", &[0x1f, 0x8b, 1, 2]).contains("the encoding gzip"));
        assert!(error("gzip", "\u{1f}\u{fffd}\u{8}".as_bytes()).contains("damaged"));
        assert!(error("br", b"\x01\xff\xfe").contains("the encoding br"));
        assert!(error("zstd", &zstd_with_window(24)).contains("a zstd window of 16 MiB"));
    }
}
