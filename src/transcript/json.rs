//! The lossless form: JSON Lines, and its digest.
//!
//! The first line is the header with the version of this form, then one event a line. Text is a pure function of what is read back.

use alloc::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use thiserror::Error;

use super::event::{Event, Transcript, TranscriptHeader};
use reenact_engine::contract::Agent;
use reenact_wire::prelude::*;

/// The JSON Schema of one line, header or event: what the emitted messages hold inside is described where their types are.
pub const SCHEMA: &str = include_str!("schema.json");

/// The version of the JSON form.
pub const TRANSCRIPT_VERSION: u32 = 1;

/// Why a text is not a transcript.
#[derive(Debug, Error)]
pub enum ReadError {
    /// There is no header line.
    #[error("this is not a transcript: its first line has no `reenact_transcript`")]
    NoHeader,
    /// A newer program wrote it.
    #[error("the transcript has version {found}, this program reads up to {TRANSCRIPT_VERSION}; use a newer reenact")]
    Newer {
        /// Its version.
        found: u32,
    },
    /// A line is not an event.
    #[error("line {line}: {problem}")]
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// The error of the parser.
        problem: serde_json::Error,
    },
}

#[derive(Serialize, Deserialize)]
struct TranscriptHeaderLine {
    reenact_transcript: u32,
    #[serde(flatten)]
    header: TranscriptHeader,
}

/// Writes a transcript as JSON Lines.
pub fn to_json_lines(transcript: &Transcript) -> String {
    let mut out = String::new();
    let mut line = |text: serde_json::Result<String>| {
        // No type of ours has map keys that are not text, which is all that can fail.
        out.push_str(&text.unwrap_or_default());
        out.push('\n');
    };
    line(serde_json::to_string(&TranscriptHeaderLine { reenact_transcript: TRANSCRIPT_VERSION, header: transcript.header.clone() }));
    for event in transcript.events.iter() {
        line(serde_json::to_string(event));
    }
    out
}

/// How JSON lines of a transcript begin.
pub const MARK: &str = "{\"reenact_transcript\"";

/// Reads what [`to_json_lines`] wrote.
///
/// # Errors
/// When the header is missing or too new, or a line is not an event.
// Compiled where it is called: most programs only write transcripts, and reading is two thirds of this room's code.
#[inline]
pub fn from_json_lines(text: &str) -> Result<Transcript, ReadError> {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let members: BTreeMap<String, serde_json::Value> = serde_json::from_str(first).map_err(|_| ReadError::NoHeader)?;
    let version = members.get("reenact_transcript").and_then(serde_json::Value::as_u64).ok_or(ReadError::NoHeader)?;
    if version > u64::from(TRANSCRIPT_VERSION) {
        return Err(ReadError::Newer { found: u32::try_from(version).unwrap_or(u32::MAX) });
    }
    let header: TranscriptHeaderLine = serde_json::from_str(first).map_err(|problem| ReadError::Line { line: 1, problem })?;
    let read = |(line, text): (usize, &str)| event_of(text).map_err(|problem| ReadError::Line { line, problem });
    let events: Vec<Event> = (2..).zip(lines).map(read).collect::<Result<_, _>>()?;
    Ok(Transcript { header: header.header, events: events.into() })
}

/// Reads one event. A derived reader of the flattened kind would first keep each line as a tree, and takes a fifth of this room's compile time.
#[inline]
fn event_of(line: &str) -> serde_json::Result<Event> {
    let (mut at, mut agent, mut kind) = (None, Agent::default(), None);
    for (name, value) in serde_json::from_str::<BTreeMap<String, &RawValue>>(line)? {
        match name.as_str() {
            "t" => at = Some(serde_json::from_str(value.get())?),
            "agent" => agent = serde_json::from_str(value.get())?,
            _ if kind.is_some() => return Err(serde_json::Error::custom(format_args!("`{name}` stands beside the kind of the event"))),
            _ => kind = Some(serde_json::from_str(&format!("{{{}:{value}}}", serde_json::to_string(&name)?))?),
        }
    }
    Ok(Event {
        at: at.ok_or_else(|| serde_json::Error::missing_field("t"))?,
        agent,
        what: kind.ok_or_else(|| serde_json::Error::custom("the line has no kind of event"))?,
    })
}

/// BLAKE3 of the JSON form, as 64 hex digits: the same on every machine (D1).
pub fn digest(transcript: &Transcript) -> String {
    blake3::hash(to_json_lines(transcript).as_bytes()).to_hex().to_string()
}
