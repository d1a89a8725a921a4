//! Bytes from samples: cut, joined, repeated, nested, with odd pieces in odd places.

use reenact::engine::random::{KeyedDraws, Seed};

/// No case is longer, so that a target that takes long has a reason of its own.
pub(crate) const CASE_BYTES_MAX: usize = 256 * 1024;

/// How many changes one case has at most.
const CHANGES_MAX: u64 = 6;

/// Pieces that readers trip over.
const PIECES: [&[u8]; 29] = [
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\r",
    b"\r\n\r\n",
    b"\\u0000",
    b"\\ud800",
    b"\"",
    b"'''",
    b"{",
    b"[",
    b"? ",
    b"&a *a ",
    b"- - - ",
    b"!!binary ",
    b"18446744073709551616",
    b"-1",
    b"1e999",
    b"null",
    b"data: ",
    b"content-encoding: gzip, gzip",
    b"2026-13-45T99:99:99Z",
    b"\xf0\x9f\x98\x80",
    b"token=",
    b"password: ",
    b"%41+",
    b"\\\"key\\\":",
    b"a = \n",
];

/// The case of this number for a target: one of its samples, changed.
pub(crate) fn case(seed: u64, target: &str, number: u64, samples: &[Vec<u8>]) -> Vec<u8> {
    let mut draws = Seed(seed).draws("reader-fuzz", &format!("{target}/{number}"));
    let mut bytes = sample(&mut draws, samples);
    for _ in 0..=draws.below(CHANGES_MAX) {
        change(&mut draws, &mut bytes, samples);
        bytes.truncate(CASE_BYTES_MAX);
    }
    bytes
}

fn sample(draws: &mut KeyedDraws, samples: &[Vec<u8>]) -> Vec<u8> {
    let nth = index(draws, samples.len());
    samples.get(nth).cloned().unwrap_or_default()
}

fn change(draws: &mut KeyedDraws, bytes: &mut Vec<u8>, samples: &[Vec<u8>]) {
    let at = index(draws, bytes.len() + 1);
    match draws.below(8) {
        0 if at < bytes.len() => bytes[at] ^= 1 << draws.below(8),
        0 | 1 => insert(bytes, at, piece(draws)),
        2 => {
            let piece = piece(draws);
            insert(bytes, at, &piece.repeat(repetitions(draws, piece.len())));
        }
        3 => bytes.truncate(at),
        4 => drop(bytes.drain(at..end(draws, at, bytes.len()))),
        5 => {
            let part = bytes[at..end(draws, at, bytes.len())].to_vec();
            insert(bytes, at, &part.repeat(repetitions(draws, part.len())));
        }
        6 => {
            let other = sample(draws, samples);
            let from = index(draws, other.len() + 1);
            let part = &other[from..end(draws, from, other.len())];
            insert(bytes, at, part);
        }
        _ => {
            let other = sample(draws, samples);
            bytes.truncate(at);
            bytes.extend_from_slice(&other[index(draws, other.len() + 1)..]);
        }
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, part: &[u8]) {
    bytes.splice(at..at, part.iter().copied());
}

fn piece(draws: &mut KeyedDraws) -> &'static [u8] {
    PIECES[index(draws, PIECES.len())]
}

/// Mostly few, at times as many as fit.
fn repetitions(draws: &mut KeyedDraws, length: usize) -> usize {
    let most = CASE_BYTES_MAX / length.max(1);
    let wanted = if draws.below(3) == 0 { most } else { 1 + index(draws, 40) };
    wanted.min(most)
}

fn end(draws: &mut KeyedDraws, start: usize, length: usize) -> usize {
    start + index(draws, length - start + 1)
}

fn index(draws: &mut KeyedDraws, bound: usize) -> usize {
    usize::try_from(draws.below(bound as u64)).unwrap_or(0)
}
