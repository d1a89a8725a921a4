//! A client that only reads: when each event came, and when the answer was over.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use super::upstream::{AnswerSpec, LAST_CHUNK, MARK, MARK_DIGITS, now_ns};

/// A request for a stream.
pub(crate) const BODY: &str =
    r#"{"model":"claude-sonnet-4-5","max_tokens":1024,"stream":true,"messages":[{"role":"user","content":"Hello?"}]}"#;

/// An answer that does not continue for this long never will.
const PATIENCE: Duration = Duration::from_secs(60);

/// The answer as it came.
#[derive(Debug, Default)]
pub(crate) struct ReceivedAnswer {
    /// How long each event was on its way, in nanoseconds.
    pub(crate) delays_ns: Vec<f64>,
    /// How many bytes came.
    pub(crate) bytes: usize,
    /// From the request to the end of the answer, in nanoseconds.
    pub(crate) took_ns: f64,
}

/// Asks at this port of this machine, over a connection of its own, and reads to the end.
pub(crate) fn ask(port: u16, wanted: AnswerSpec) -> ReceivedAnswer {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("the way is open");
    stream.set_nodelay(true).expect("TCP can be told not to wait");
    stream.set_read_timeout(Some(PATIENCE)).expect("reading can have a limit");
    let request = request(&wanted.path(), BODY);
    let began = now_ns();
    stream.write_all(request.as_bytes()).expect("the way takes a request");
    let reads_events = !matches!(wanted, AnswerSpec::Bulk(_));
    let (mut got, mut buffer, mut filled) = (ReceivedAnswer::default(), vec![0; 1 << 18], 0);
    loop {
        let read = stream.read(&mut buffer[filled..]).expect("the answer goes on");
        assert!(read > 0, "the answer to {} ended after {} bytes, before its end", wanted.path(), got.bytes);
        let now = now_ns();
        got.bytes += read;
        let text = &buffer[..filled + read];
        let is_over = text.ends_with(LAST_CHUNK);
        let rest = if reads_events { events(text, now, &mut got.delays_ns) } else { text.len().saturating_sub(LAST_CHUNK.len()) };
        if is_over {
            got.took_ns = duration(began, now);
            return got;
        }
        buffer.copy_within(rest..filled + read, 0);
        filled = filled + read - rest;
    }
}

/// A request for a message as text.
pub(crate) fn request(path: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer made-up\r\nanthropic-version: 2023-06-01\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Notes the events whose times are there; where the rest begins, which may hold the beginning of one.
fn events(text: &[u8], now: u64, delays_ns: &mut Vec<f64>) -> usize {
    let mut from = 0;
    while let Some(mark) = text[from..].iter().position(|byte| *byte == MARK) {
        let digits = from + mark + 1..from + mark + 1 + MARK_DIGITS;
        let Some(time) = text.get(digits.clone()) else { return from + mark };
        let sent = time.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0'));
        delays_ns.push(duration(sent, now));
        from = digits.end;
    }
    text.len().saturating_sub(LAST_CHUNK.len()).max(from)
}

/// A duration in nanoseconds.
#[expect(clippy::cast_precision_loss, reason = "durations stay far below 2^53 nanoseconds")]
pub(crate) fn duration(from_ns: u64, to_ns: u64) -> f64 {
    to_ns.saturating_sub(from_ns) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_comes_in_two_parts_is_counted_once() {
        let whole = b"text @000000000000100 and @000000000000200 end";
        for cut in 0..whole.len() {
            let mut delays = Vec::new();
            let rest = events(&whole[..cut], 300, &mut delays);
            events(&whole[rest..], 300, &mut delays);
            assert_eq!(delays, [200.0, 100.0], "cut at {cut}");
        }
    }
}
