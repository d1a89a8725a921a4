//! Text that is packed as base64, on one line or on many (K-2).
//!
//! ```text
//! Zmlyc3Qg…      lines of one width and a shorter last one are one run; what holds them apart is skipped
//! dGV4dCB3…
//! aXM=
//! ```

use std::ops::Range;

use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use base64::{Engine as _, alphabet};

use super::text_map::{ByteRole, MappedText};

/// The least length of a run of base64 that is looked into.
const PACKED_BYTES_MIN: usize = 24;

/// The shortest line of base64 that continues in the next.
const LINE_BYTES_MIN: usize = 16;

/// The longest: what is longer was not put into lines, and a word in the next line does not belong to it.
const LINE_BYTES_MAX: usize = 128;

/// How far a line of base64 may be indented.
const INDENT_BYTES_MAX: usize = 64;

/// How much of it is unpacked to see whether it holds text: whole groups of four.
const PACKED_SAMPLE_BYTES: usize = 88;

/// Text that was packed.
pub(super) struct PackedText {
    /// The text.
    pub(super) bytes: Vec<u8>,
    /// The base64 without its line ends, and where it stands.
    pub(super) characters: MappedText,
    url_safe: bool,
}

/// A secret in base64: the bytes of the groups that hold it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PackedSecret {
    pub(super) bytes: Vec<u8>,
    pub(super) secret: Range<usize>,
    url_safe: bool,
}

impl PackedText {
    /// Unpacks lines; nothing where they hold no text.
    pub(super) fn read(text: &[u8], lines: &[Range<usize>]) -> Option<Self> {
        // A word in the line before is none of it.
        let rest = || lines.get(1..).filter(|rest| !rest.is_empty());
        read_lines(text, lines).or_else(|| read_lines(text, rest()?))
    }

    /// The characters that hold a part of the text, and how they are written anew.
    pub(super) fn secret(&self, part: Range<usize>) -> (Range<usize>, PackedSecret) {
        let groups = part.start / 3 * 3..self.bytes.len().min(part.end.div_ceil(3) * 3);
        let start = groups.start / 3 * 4;
        let end = (start + (groups.len() * 4).div_ceil(3)).min(self.characters.text().len());
        let secret = part.start - groups.start..part.end - groups.start;
        (start..end, PackedSecret { bytes: self.bytes[groups].to_vec(), secret, url_safe: self.url_safe })
    }
}

impl PackedSecret {
    /// The base64 with `replacement` in the place of the secret.
    pub(super) fn written(&self, replacement: &[u8]) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        bytes[self.secret.clone()].copy_from_slice(replacement);
        let text = if self.url_safe { URL_SAFE_NO_PAD.encode(bytes) } else { STANDARD_NO_PAD.encode(bytes) };
        text.into_bytes()
    }
}

/// The lines of each run of base64 that is long enough.
pub(super) fn runs(text: &[u8]) -> Vec<Vec<Range<usize>>> {
    let (mut runs, mut at) = (Vec::new(), 0);
    while at < text.len() {
        let lines = run_at(text, at);
        at = lines.last().map_or(at, |line| line.end) + 1;
        runs.extend((lines.iter().map(ExactSizeIterator::len).sum::<usize>() >= PACKED_BYTES_MIN).then_some(lines));
    }
    runs
}

/// Whether a text holds text that is packed.
pub(super) fn holds_text(text: &[u8]) -> bool {
    runs(text).iter().any(|lines| PackedText::read(text, lines).is_some())
}

/// Whether a value is base64 as its writers write it, and holds no text: a signature, a picture, what the model keeps encrypted.
pub(super) fn is_opaque(value: &[u8]) -> bool {
    let bytes = match value.iter().any(|byte| b"-_".contains(byte)) {
        true => URL_SAFE.decode(value),
        false => STANDARD.decode(value),
    };
    bytes.is_ok_and(|bytes| !is_readable(&bytes))
}

fn line_at(text: &[u8], at: usize) -> Range<usize> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
    at..at + text[at..].iter().take_while(|byte| is_part(byte)).count()
}

/// The run that begins here: lines of one width, and a shorter one. The first stands behind something, perhaps, and is shorter, too.
fn run_at(text: &[u8], at: usize) -> Vec<Range<usize>> {
    let mut lines = vec![line_at(text, at)];
    let mut width = lines[0].len();
    let is_line = |line: &&Range<usize>| (LINE_BYTES_MIN..=LINE_BYTES_MAX).contains(&line.len());
    while let Some(last) = lines.last().filter(is_line).filter(|last| last.len() == width || lines.len() == 1) {
        let Some(next) = line_after(text, last.end).filter(|next| next.len() <= width || lines.len() == 1) else { break };
        width = if lines.len() == 1 { next.len() } else { width };
        lines.push(next);
    }
    lines
}

/// The line of base64 behind the end of one.
fn line_after(text: &[u8], end: usize) -> Option<Range<usize>> {
    let start = end + usize::from(text.get(end) == Some(&b'\r'));
    (text.get(start) == Some(&b'\n')).then_some(())?;
    let indent = text[start + 1..].iter().take(INDENT_BYTES_MAX).take_while(|byte| b" \t".contains(byte)).count();
    Some(line_at(text, start + 1 + indent)).filter(|line| !line.is_empty())
}

fn read_lines(text: &[u8], lines: &[Range<usize>]) -> Option<PackedText> {
    let url_safe = lines.iter().any(|line| text[line.clone()].iter().any(|byte| b"-_".contains(byte)));
    let unpack = |packed: &[u8]| match url_safe {
        true => LENIENT_URL_SAFE.decode(packed).ok(),
        false => LENIENT.decode(packed).ok(),
    };
    let whole = |length: usize| length - usize::from(length % 4 == 1);
    // Most runs hold no text, pictures above all: their beginning shows it.
    let sample: Vec<u8> = lines.iter().flat_map(|line| &text[line.clone()]).take(PACKED_SAMPLE_BYTES).copied().collect();
    unpack(&sample[..whole(sample.len())]).filter(|bytes| is_readable(bytes))?;
    let mut characters = MappedText::default();
    lines.iter().for_each(|line| characters.push_run(line.start as u64, &text[line.clone()], ByteRole::String));
    let packed = characters.text();
    let bytes = unpack(&packed[..whole(packed.len())]).filter(|bytes| is_readable(bytes))?;
    Some(PackedText { bytes, characters, url_safe })
}

/// Base64 as it is found: the left-over bits of the last character do not matter.
const LENIENT_CONFIG: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_allow_trailing_bits(true)
    .with_encode_padding(false)
    .with_decode_padding_mode(DecodePaddingMode::Indifferent);
static LENIENT: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT_CONFIG);
static LENIENT_URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT_CONFIG);

/// Whether bytes are text: of a picture, and of words that merely could be base64, most are none.
fn is_readable(bytes: &[u8]) -> bool {
    let first = &bytes[..bytes.len().min(64)];
    // Letters of older encodings are text, too, but not all of it.
    let others: usize = bytes.utf8_chunks().map(|chunk| chunk.invalid().iter().filter(|byte| **byte >= 0xc2).count()).sum();
    readable_bytes(first) * 10 >= first.len() * 9 && (readable_bytes(bytes) + others) * 20 >= bytes.len() * 17
}

/// How many bytes belong to characters of a text. The arrows and lines that tools draw have three each.
fn readable_bytes(bytes: &[u8]) -> usize {
    // An escape begins the sequences that colour a text.
    let is_text = |character: &char| !character.is_control() || character.is_ascii_whitespace() || *character == '\u{1b}';
    bytes.utf8_chunks().flat_map(|chunk| chunk.valid().chars().filter(is_text).map(char::len_utf8)).sum()
}
