//! A long event stream as the Messages API sends it, made up from a seed.

use std::fmt::Write as _;

use reenact::engine::random::{KeyedDraws, Seed};

const WORDS: &[&str] = &[
    "the", "file", "returns", "a", "value", "when", "parser", "state", "is", "empty", "let", "mut", "request", "token", "für", "später",
    "–", "so", "that", "every", "caller", "sees", "one", "error", "message", "before", "it", "retries", "with", "backoff", "次の",
    "config",
];

/// A body of at least `bytes`: messages with thinking, text and tool input in deltas of 100 to 250 bytes, blocks, pings and padding.
pub(crate) fn of_at_least(bytes: usize) -> Vec<u8> {
    let mut writer = BodyWriter { out: String::with_capacity(bytes + 64 * 1024), draws: Seed(20).draws("bench-body", "") };
    let mut number = 0;
    while writer.out.len() < bytes {
        number += 1;
        writer.message(number);
    }
    writer.out.into_bytes()
}

struct BodyWriter {
    out: String,
    draws: KeyedDraws,
}

impl BodyWriter {
    fn message(&mut self, number: u32) {
        let usage = r#""usage":{"input_tokens":2679,"cache_creation_input_tokens":0,"cache_read_input_tokens":18432,"output_tokens":3}"#;
        self.event(
            "message_start",
            &format!(r#","message":{{"id":"msg_01{number:022}","type":"message","role":"assistant","content":[],"model":"claude-sonnet-4-5","stop_reason":null,"stop_sequence":null,{usage}}}"#),
        );
        self.block(0, r#"{"type":"thinking","thinking":"","signature":""}"#, "thinking_delta", "thinking", 60);
        self.out.push_str("event: ping\ndata: {\"type\": \"ping\"}\n\n");
        self.block(1, r#"{"type":"text","text":""}"#, "text_delta", "text", 160);
        let tool = format!(r#"{{"type":"tool_use","id":"toolu_01{number:022}","name":"Edit","input":{{}}}}"#);
        self.block(2, &tool, "input_json_delta", "partial_json", 40);
        self.event("message_delta", r#","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":1290}"#);
        self.event("message_stop", "");
    }

    fn block(&mut self, index: u32, start: &str, kind: &str, member: &str, deltas: u32) {
        self.event("content_block_start", &format!(r#","index":{index},"content_block":{start}"#));
        for _ in 0..deltas {
            let mut delta = format!(r#","index":{index},"delta":{{"type":"{kind}","{member}":""#);
            // With the frame around it a delta's data is 100 to 250 bytes long.
            let length = delta.len() + 10 + usize::try_from(self.draws.below(130)).unwrap_or(0);
            while delta.len() < length {
                self.word(&mut delta);
            }
            delta.push_str("\"}");
            self.event("content_block_delta", &delta);
        }
        self.event("content_block_stop", &format!(r#","index":{index}"#));
    }

    /// One word in twelve brings an escape with it.
    fn word(&mut self, out: &mut String) {
        let word = WORDS[usize::try_from(self.draws.below(WORDS.len() as u64)).unwrap_or(0)];
        out.push_str(word);
        out.push_str(match self.draws.below(24) {
            0 => "\\n",
            1 => "\\\"",
            _ => " ",
        });
    }

    fn event(&mut self, name: &str, members: &str) {
        let padding = usize::try_from(self.draws.below(16)).unwrap_or(0);
        // Writing to a string cannot fail.
        let _ = write!(self.out, "event: {name}\ndata: {{\"type\":\"{name}\"{members}{:padding$}}}\n\n", "");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_is_a_stream_of_whole_deltas() {
        let body = of_at_least(100_000);
        let text = String::from_utf8(body).unwrap();
        let deltas: Vec<usize> =
            text.lines().filter_map(|line| line.strip_prefix("data: {\"type\":\"content_block_delta\"")).map(str::len).collect();
        assert!(deltas.iter().all(|length| (60..230).contains(length)), "{:?} {:?}", deltas.iter().min(), deltas.iter().max());
        for data in text.lines().filter_map(|line| line.strip_prefix("data: ")) {
            serde_json::from_str::<serde_json::Value>(data).unwrap();
        }
    }
}
