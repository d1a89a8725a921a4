//! Recorded answers for a client in another folder than the recorded one: what they say of its folders is about its own (M-3, K-10).
//!
//! Tools get paths from the model. If these were the recorded ones, the client would look into a folder that is not there, and its results would
//! differ from the recorded ones. Thinking stays as it is: a signature holds it.

use alloc::collections::BTreeMap;

use serde_json::Value;

use super::normalise::FolderMoves;
use super::plan::{ResponsePlan, TimedPiece};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::{RawObject, elements};

/// The members of deltas that name folders. What arrives in pieces is read as one text.
const PIECES: [(&str, &str); 2] = [("text_delta", "text"), ("input_json_delta", "partial_json")];

/// The answer with the client's folders in the place of the recorded ones.
pub(super) fn relocated(plan: ResponsePlan, moves: &FolderMoves) -> ResponsePlan {
    if moves.is_empty() {
        return plan;
    }
    if plan.is_stream { stream(plan, moves) } else { whole(plan, moves) }
}

/// The body as one piece, at the time of the last.
fn whole(plan: ResponsePlan, moves: &FolderMoves) -> ResponsePlan {
    let body = plan.body();
    let Some(moved) = core::str::from_utf8(&body).ok().and_then(|body| message(body, moves)) else { return plan };
    let at = plan.pieces.last().map_or(plan.end_at, |last| last.at);
    ResponsePlan { pieces: vec![TimedPiece { at, bytes: moved.into_bytes().into() }], ..plan }
}

/// The message with its blocks changed, but for thinking; `None` where nothing changes.
fn message(body: &str, moves: &FolderMoves) -> Option<String> {
    let message = RawObject::parse(body).ok()?;
    let content = elements(message.get("content")?).ok()?;
    let is_kept =
        |block: &str| RawObject::parse(block).is_ok_and(|block| block.string("type").is_none_or(|kind| kind.contains("thinking")));
    let moved = |block: &&str| if is_kept(block) { String::from(*block) } else { moves.json(block) };
    let blocks: Vec<String> = content.iter().map(moved).collect();
    (blocks != content).then(|| message.with(&[("content", format!("[{}]", blocks.join(",")))]))
}

/// The first piece of a text that changes has all of it, and the others are empty.
fn stream(plan: ResponsePlan, moves: &FolderMoves) -> ResponsePlan {
    let mut events = plan.events();
    let mut texts: BTreeMap<u64, Vec<(usize, DeltaText)>> = BTreeMap::new();
    for (at, event) in events.iter().enumerate() {
        if let Some((block, piece)) = DeltaText::read(&event.bytes) {
            texts.entry(block).or_default().push((at, piece));
        }
    }
    let mut is_changed = false;
    for pieces in texts.into_values() {
        let text: String = pieces.iter().map(|(_, piece)| &*piece.text).collect();
        let is_json = pieces.iter().any(|(_, piece)| piece.member == "partial_json");
        let mut moved = if is_json { moves.json(&text) } else { moves.text(&text) };
        if moved == text {
            continue;
        }
        is_changed = true;
        for (at, piece) in pieces.iter().filter(|(_, piece)| !piece.text.is_empty()) {
            events[*at].bytes = piece.with_text(&events[*at].bytes, &core::mem::take(&mut moved)).into();
        }
    }
    if is_changed { ResponsePlan { pieces: events, ..plan } } else { plan }
}

/// A piece of a text, as one event has it.
struct DeltaText {
    /// The data of the event.
    data: String,
    /// The member of the delta.
    member: &'static str,
    text: String,
}

impl DeltaText {
    /// The piece in an event, with the number of its block; `None` for all other events.
    fn read(event: &[u8]) -> Option<(u64, Self)> {
        let event = core::str::from_utf8(event).ok()?;
        let data = event.lines().find_map(|line| line.strip_prefix("data:"))?.trim_start();
        let value: Value = serde_json::from_str(data).ok()?;
        let kind = value["delta"]["type"].as_str()?;
        let (_, member) = PIECES.into_iter().find(|(known, _)| *known == kind)?;
        let text = value["delta"][member].as_str()?.into();
        Some((value["index"].as_u64()?, Self { data: data.into(), member, text }))
    }

    /// The event with another text, all else byte for byte.
    fn with_text(&self, event: &[u8], text: &str) -> Vec<u8> {
        let changed = RawObject::parse(&self.data).ok().and_then(|whole| {
            let delta = whole.object("delta")?.with(&[(self.member, Json::from_value(text).as_str().into())]);
            Some(whole.with(&[("delta", delta)]))
        });
        let (Some(changed), Some(at)) = (changed, memchr::memmem::find(event, self.data.as_bytes())) else { return event.to_vec() };
        [&event[..at], changed.as_bytes(), &event[at + self.data.len()..]].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoded_pieces::DecodedPieces;
    use reenact_engine::time::Micros;
    use reenact_scenario::tape::ClientFolder;

    fn moves() -> FolderMoves {
        let recorded = [(ClientFolder::Home, String::from("/w/then")), (ClientFolder::Work, String::from("/w/then/a"))];
        FolderMoves::new(&recorded, &[(String::from("/w/now"), "<home>"), (String::from("/w/then/now"), "<work>")])
    }

    fn moved(is_stream: bool, pieces: &[&str]) -> String {
        let pieces = pieces.iter().map(|piece| TimedPiece { at: Micros(2), bytes: piece.as_bytes().into() }).collect();
        let plan = ResponsePlan {
            head: None,
            head_at: Micros(1),
            is_stream,
            pieces,
            decoded: DecodedPieces::default(),
            end: None,
            end_at: Micros(3),
        };
        String::from_utf8(relocated(plan, &moves()).body()).unwrap()
    }

    fn delta(index: u32, kind: &str, member: &str, text: &str) -> String {
        let text = Json::from_value(text);
        format!(
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":{index},\"delta\":{{\"type\":\"{kind}\",\"{member}\":{text}}} }}\n\n"
        )
    }

    #[test]
    fn m_3_the_folders_of_a_recorded_answer_are_the_client_s() {
        let events = [
            delta(0, "text_delta", "text", "In /w/then/a, and /w/then/b, not /w/thence."),
            delta(1, "input_json_delta", "partial_json", ""),
            delta(1, "input_json_delta", "partial_json", "{\"file\":\"/w/the"),
            delta(1, "input_json_delta", "partial_json", "n/a/x\"}"),
            delta(2, "thinking_delta", "thinking", "/w/then/a"),
        ];
        let stream = events.concat();
        // Packets end anywhere.
        for cut in [1, 40, stream.len() - 1] {
            let text = moved(true, &[&stream[..cut], &stream[cut..]]);
            assert!(text.contains("In /w/then/now, and /w/now/b, not /w/thence."), "each folder once, the inner one first: {text}");
            assert!(text.contains(r#""partial_json":"{\"file\":\"/w/then/now/x\"}"}"#), "{text}");
            assert!(text.ends_with(&events[4]), "thinking has a signature: {text}");
            assert_eq!(text.matches("content_block_delta").count(), stream.matches("content_block_delta").count());
        }
    }

    #[test]
    fn m_3_a_whole_answer_and_one_that_names_no_folder() {
        let body =
            r#"{"id":"m", "content":[{"type":"tool_use","input":{"p":"/w/then/a"}},{"type":"thinking","thinking":"/w/then/a"}],"x":1.0}"#;
        assert_eq!(moved(false, &[&body[..40], &body[40..]]), body.replacen("/w/then/a", "/w/then/now", 1));
        let other = delta(0, "text_delta", "text", "nothing") + "event: message_stop\ndata: {\"type\":\"message_stop\" }\n\n";
        assert_eq!(moved(true, &[&other]), other, "byte for byte");
        assert_eq!(moved(false, &["no JSON /w/then/a"]), "no JSON /w/then/a");
    }
}
