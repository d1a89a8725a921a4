//! `redact`: what the search for secrets costs, beside one pass over the same bytes.
//!
//! A rule may make the automaton of all patterns so large that texts which only look like it are read hundreds of times as slowly: long rows of
//! letters, as in base64.

use std::hint::black_box;
use std::sync::Arc;

use reenact::engine::time::Micros;
use reenact::redact::{AnswerRedactor, HeldChunk, RedactionRules, Redactor};
use reenact::wire::http::HttpHeader;

use super::body;
use super::outcome::{ReportLine, throughput};
use super::peers::CHUNK;
use super::rounds;

const BODY_BYTES: usize = 1 << 20;

/// Fewer than usual: each takes some time.
const ROUNDS: usize = 7;

pub(crate) fn against_a_pass() -> Vec<ReportLine> {
    let rules = RedactionRules::with(&[]).expect("the shipped rules are right");
    let stream = body::of_at_least(BODY_BYTES);
    let kinds: [(&'static str, Vec<u8>); 4] = [
        ("redact a stream", stream),
        ("redact words", words(BODY_BYTES)),
        ("redact base64", letters(BODY_BYTES, 64)),
        ("redact hexadecimal digits", letters(BODY_BYTES, 16)),
    ];
    kinds.into_iter().map(|(name, text)| measured(name, &text, &rules)).collect()
}

fn measured(name: &'static str, text: &[u8], rules: &Arc<RedactionRules>) -> ReportLine {
    let sample = std::time::Duration::from_millis(4);
    let rounds = rounds::in_turns_of(ROUNDS, sample, [&mut || redact(text, rules), &mut || pass(text)]);
    let figure = format!("{}, the time of {:.0} passes", throughput(text.len(), rounds.median(0)), rounds.ratio(0, 1));
    ReportLine::Orientation { name, figure }
}

/// As the recorder does it.
fn redact(text: &[u8], rules: &Arc<RedactionRules>) {
    let kind = if text.starts_with(b"event:") { "text/event-stream" } else { "text/plain" };
    let mut answer = AnswerRedactor::from_headers(&[HttpHeader::new("content-type", kind)]);
    let mut redactor = Redactor::new(rules);
    let mut written = 0;
    let mut sink = |chunk: HeldChunk| written += black_box(chunk.bytes).len();
    for chunk in text.chunks(CHUNK) {
        answer.feed(&mut redactor, HeldChunk { at: Micros(0), bytes: chunk.to_vec() }, &mut sink);
    }
    answer.finish(&mut redactor, &mut sink);
    assert_eq!(written, text.len(), "each byte has its place");
}

/// One look at each byte.
fn pass(text: &[u8]) {
    rounds::used(black_box(text).iter().filter(|byte| **byte == b'\n').count());
}

/// Letters of base64 in lines, or the first of them.
fn letters(bytes: usize, count: usize) -> Vec<u8> {
    const LETTERS: &[u8; 64] = b"0123456789abcdefABCDEFGHIJKLMNOPQRSTUVWXYZghijklmnopqrstuvwxyz+/";
    drawn().take(bytes).enumerate().map(|(at, number)| if at % 77 == 76 { b'\n' } else { LETTERS[number % count] }).collect()
}

fn words(bytes: usize) -> Vec<u8> {
    const WORDS: [&str; 8] = ["the ", "tide ", "rises ", "at ", "noon, ", "token ", "and ", "key\n"];
    let mut text: Vec<u8> = drawn().take(bytes / 3).flat_map(|number| WORDS[number % WORDS.len()].bytes()).collect();
    text.truncate(bytes);
    text
}

/// Numbers in no order, the same each time.
fn drawn() -> impl Iterator<Item = usize> {
    std::iter::successors(Some(1_u64), |state| Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407)))
        .map(|state| usize::try_from(state >> 33).unwrap_or_default())
}
