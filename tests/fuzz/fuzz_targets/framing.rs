//! Any bytes in any chunking: no panic, and the same events as fed whole (N-1); decoding and assembling them never panics (N-2, N-3).
//!
//! From the repository's root, with `cargo install cargo-fuzz`:
//!
//! ```text
//! RUSTC_BOOTSTRAP=1 cargo fuzz run --fuzz-dir tests/fuzz framing -- -max_total_time=60
//! ```
//!
//! Where the sanitizer's libraries are missing, add `-s none` before the target's name. The first byte of an input says how many of the next
//! ones are lengths of chunks; the stream is what follows, and the last chunk is its rest.
#![no_main]

use libfuzzer_sys::fuzz_target;
use reenact::wire::{
    assembler::{Assembler, Step},
    event::Event,
    sse::{Framer, FramingError},
};

/// Small, so that the limit is met too.
const EVENT_BYTES_MAX: usize = 4096;

type Seen = (Vec<(String, String, String)>, Result<(), FramingError>, Framer);

fn frame<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Seen {
    let mut framer = Framer::with_limit(EVENT_BYTES_MAX);
    let mut events = Vec::new();
    let mut sink = |frame: reenact::wire::sse::Frame<'_>| events.push((frame.event.into(), frame.data.into(), frame.id.into()));
    let result = chunks.into_iter().try_for_each(|chunk| framer.feed(chunk, &mut sink));
    (events, result, framer)
}

fn cut<'a>(mut stream: &'a [u8], lengths: &[u8]) -> Vec<&'a [u8]> {
    let mut chunks = Vec::new();
    for length in lengths {
        let (chunk, rest) = stream.split_at(stream.len().min(usize::from(*length)));
        chunks.push(chunk);
        stream = rest;
    }
    chunks.push(stream);
    chunks
}

fn assemble(events: &[(String, String, String)]) {
    let (mut assembler, mut notes) = (Assembler::new(), Vec::new());
    for (name, data, _) in events {
        let event = Event::decode(name, data);
        assert_eq!(event.data(), data, "the text is kept");
        if let Step::Block { block, .. } = assembler.on_event(&event, &mut notes) {
            let json = block.json().as_str();
            assert!(reenact::wire::json::Json::parse(json).is_ok(), "what goes back is no JSON: {json}");
        }
    }
    let _ = assembler.at_end_of_stream();
}

fuzz_target!(|input: &[u8]| {
    let Some((&count, rest)) = input.split_first() else { return };
    let (lengths, stream) = rest.split_at(rest.len().min(usize::from(count)));
    let whole = frame([stream]);
    assert_eq!(whole, frame(cut(stream, lengths)));
    assert_eq!(whole, frame(stream.chunks(1)));
    assemble(&whole.0);
});
