//! Where a body is cut: after each event, and into the chunks of a network (M-5, M-6).

use alloc::collections::BTreeSet;

use reenact_engine::random::KeyedDraws;
use reenact_scenario::types::Chunking;
use reenact_wire::prelude::*;

/// Cuts after each blank line, with any line ends; the text after the last one is an event of its own.
pub(crate) fn events(body: &[u8]) -> Vec<&[u8]> {
    let mut events = Vec::new();
    let mut start = 0;
    let ends = |blank: &'static [u8]| memchr::memmem::find_iter(body, blank).map(move |at| at + blank.len());
    for end in [&b"\n\n"[..], b"\r\r", b"\r\n\r\n"].into_iter().flat_map(ends).collect::<BTreeSet<_>>() {
        events.push(&body[start..end]);
        start = end;
    }
    if start < body.len() {
        events.push(&body[start..]);
    }
    events
}

/// Cuts pieces of a body into network chunks, the first ones of the sizes that are given; the times stay, so that nothing else depends on the
/// cuts (M-6).
pub(crate) fn chunks<'a>(piece: &'a [u8], chunking: &Chunking, given: &[u32], draws: &mut KeyedDraws) -> Vec<&'a [u8]> {
    let size = |draws: &mut KeyedDraws| match chunking {
        Chunking::AsRecorded => usize::MAX,
        Chunking::Bytes => 1,
        Chunking::Every(size) => (*size).max(1),
        Chunking::Random => 1 + usize::try_from(draws.below(96)).unwrap_or(0),
    };
    let mut rest = piece;
    let mut chunks = Vec::new();
    while !rest.is_empty() {
        let usual = size(draws);
        let size = given.get(chunks.len()).map_or(usual, |given| (*given as usize).max(1));
        let (chunk, later) = rest.split_at(size.min(rest.len()));
        chunks.push(chunk);
        rest = later;
    }
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_engine::random::Seed;

    #[test]
    fn a_body_without_times_arrives_event_by_event() {
        let texts = |body: &str| -> Vec<String> {
            let events = events(body.as_bytes());
            events.into_iter().map(|event| String::from_utf8_lossy(event).into_owned()).collect()
        };
        assert_eq!(texts("data: a\n\ndata: b\n\n"), ["data: a\n\n", "data: b\n\n"]);
        assert_eq!(texts("data: a\r\n\r\ndata: b"), ["data: a\r\n\r\n", "data: b"]);
        assert_eq!(texts(""), [] as [&str; 0]);
    }

    #[test]
    fn m_6_every_cut_keeps_all_bytes() {
        let piece = b"event: ping\ndata: {}\n\n";
        for chunking in [Chunking::AsRecorded, Chunking::Bytes, Chunking::Every(7), Chunking::Random] {
            let chunks = chunks(piece, &chunking, &[], &mut Seed(1).draws("cut", ""));
            assert_eq!(chunks.concat(), piece, "{chunking:?}");
        }
    }
}
