//! Amazon's binary event streams, in which Bedrock sends what it streams (K-5).
//!
//! ```text
//! length of all, length of the headers, CRC of these eight bytes   4 bytes each, most significant first
//! headers: length of the name, the name, a type, the value
//! payload: {"bytes":"<base64 of an event's JSON>","p":"<padding>"}
//! CRC of everything before it
//! ```

use reenact_files::recording::base64_text::from_base64;
use reenact_wire::json::Json;
use reenact_wire::raw_json::RawObject;

/// The bytes before the headers of a frame.
const PRELUDE: usize = 12;

/// The CRC at its end.
const TRAILER: usize = 4;

/// The type of a header's value that is text.
const TEXT: u8 = 7;

/// An answer as server-sent events.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DecodedEvents {
    pub(super) body: Vec<u8>,
    /// The last frame is not whole.
    pub(super) is_cut: bool,
}

/// Whether a body begins with a frame.
pub(super) fn begins(body: &[u8]) -> bool {
    prelude(body).is_some()
}

/// The frames of a body as the events that they hold.
pub(super) fn events(mut rest: &[u8]) -> Result<DecodedEvents, String> {
    let mut body = Vec::new();
    let mut is_cut = false;
    while !rest.is_empty() {
        if rest.len() < PRELUDE {
            is_cut = true;
            break;
        }
        let (length, headers) = prelude(rest).ok_or("a frame of the event stream does not match its checksum")?;
        if rest.len() < length {
            is_cut = true;
            break;
        }
        let (frame, tail) = rest.split_at(length);
        let (inside, trailer) = frame.split_at(length - TRAILER);
        if crc(inside).to_be_bytes() != trailer {
            return Err(String::from("a frame of the event stream does not match its checksum"));
        }
        push(&mut body, &inside[PRELUDE..PRELUDE + headers], &inside[PRELUDE + headers..])?;
        rest = tail;
    }
    Ok(DecodedEvents { body, is_cut })
}

/// The length of the frame and of its headers.
fn prelude(bytes: &[u8]) -> Option<(usize, usize)> {
    let number = |from: usize| Some(u32::from_be_bytes(bytes.get(from..from + 4)?.try_into().ok()?));
    let (length, headers, checksum) = (number(0)? as usize, number(4)? as usize, number(8)?);
    (crc(&bytes[..8]) == checksum && length >= PRELUDE + TRAILER && headers <= length - PRELUDE - TRAILER).then_some((length, headers))
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Appends the event of one frame.
fn push(body: &mut Vec<u8>, headers: &[u8], payload: &[u8]) -> Result<(), String> {
    let payload = std::str::from_utf8(payload).map_err(|_| "a frame of the event stream holds no text")?;
    let object = RawObject::parse(payload).map_err(|_| "a frame of the event stream holds no JSON")?;
    let data = match object.string("bytes") {
        Some(bytes) => String::from_utf8(from_base64(&bytes).map_err(|problem| format!("a frame's `bytes` are not base64: {problem}"))?)
            .map_err(|_| "a frame's `bytes` are not text")?,
        None => error(text_header(headers, ":exception-type").unwrap_or_default(), &object.string("message").unwrap_or_default()),
    };
    let kind = RawObject::parse(&data).ok().and_then(|event| event.string("type").map(|kind| kind.into_owned())).unwrap_or_default();
    body.extend_from_slice(format!("event: {kind}\ndata: {data}\n\n").as_bytes());
    Ok(())
}

/// An exception as the error event that the API sends for it.
fn error(exception: &str, message: &str) -> String {
    let kind = match exception {
        "throttlingException" => "rate_limit_error",
        "serviceUnavailableException" => "overloaded_error",
        "validationException" => "invalid_request_error",
        "modelTimeoutException" => "timeout_error",
        _ => "api_error",
    };
    format!(r#"{{"type":"error","error":{{"type":"{kind}","message":{}}}}}"#, Json::from_value(message))
}

/// The value of a header that is text.
fn text_header<'a>(mut headers: &'a [u8], wanted: &str) -> Option<&'a str> {
    while let [length, rest @ ..] = headers {
        let (name, rest) = rest.split_at_checked(usize::from(*length))?;
        let (kind, rest) = rest.split_first()?;
        let size = match kind {
            0 | 1 => 0,
            2 => 1,
            3 => 2,
            4 => 4,
            5 | 8 => 8,
            9 => 16,
            _ => 2 + usize::from(u16::from_be_bytes([*rest.first()?, *rest.get(1)?])),
        };
        let (value, rest) = rest.split_at_checked(size)?;
        if name == wanted.as_bytes() && *kind == TEXT {
            return std::str::from_utf8(&value[2..]).ok();
        }
        headers = rest;
    }
    None
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    fn frame(headers: &[(&str, &str)], payload: &str) -> Vec<u8> {
        let mut head = Vec::new();
        for (name, value) in headers {
            head.push(name.len() as u8);
            head.extend_from_slice(name.as_bytes());
            head.push(TEXT);
            head.extend_from_slice(&(value.len() as u16).to_be_bytes());
            head.extend_from_slice(value.as_bytes());
        }
        let mut frame = Vec::new();
        frame.extend_from_slice(&((PRELUDE + head.len() + payload.len() + TRAILER) as u32).to_be_bytes());
        frame.extend_from_slice(&(head.len() as u32).to_be_bytes());
        frame.extend_from_slice(&crc(&frame).to_be_bytes());
        frame.extend_from_slice(&head);
        frame.extend_from_slice(payload.as_bytes());
        frame.extend_from_slice(&crc(&frame).to_be_bytes());
        frame
    }

    #[test]
    fn k_5_frames_become_events() {
        let event = r#"{"type":"ping"}"#;
        let chunk = frame(&[(":event-type", "chunk")], &format!(r#"{{"bytes":"{}","p":"abc"}}"#, STANDARD.encode(event)));
        let exception =
            frame(&[(":message-type", "exception"), (":exception-type", "throttlingException")], r#"{"message":"too \"many\""}"#);
        let whole = [chunk.clone(), exception].concat();
        let text = concat!(
            "event: ping\ndata: {\"type\":\"ping\"}\n\n",
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"too \\\"many\\\"\"}}\n\n",
        );
        assert!(begins(&whole) && !begins(b"event: ping\ndata: {}\n\n"));
        assert_eq!(events(&whole).unwrap(), DecodedEvents { body: text.into(), is_cut: false });
        for length in chunk.len()..whole.len() {
            assert_eq!(events(&whole[..length]).unwrap().is_cut, length > chunk.len(), "{length}");
        }
        for at in 0..chunk.len() {
            let mut changed = chunk.clone();
            changed[at] ^= 1;
            assert!(events(&changed).is_err(), "byte {at}");
        }
    }

    /// The beginning of a frame that Bedrock sent.
    #[test]
    fn k_5_the_checksum_is_that_of_the_real_service() {
        assert_eq!(crc(&[0, 0, 1, 0xc8, 0, 0, 0, 0x4b]), 0x9615_37ce);
    }
}
