//! Q-14: a conversation without its images and documents.

use crate::texts::{ModelTexts, TextName};
use reenact_wire::block::{Block, BlockKind, Message};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::{self, RawObject};

/// The same message with a word in the place of each image and document; `None` when it has none.
pub(in crate::compaction) fn without_media(message: &Message, texts: &ModelTexts) -> Option<Message> {
    let stripped: Vec<Option<Block>> = message.content.iter().map(|block| stripped(block, texts)).collect();
    stripped.iter().any(Option::is_some).then(|| {
        let content = stripped.into_iter().zip(&message.content).map(|(stripped, block)| stripped.unwrap_or_else(|| block.clone()));
        Message { role: message.role, content: content.collect() }
    })
}

/// Whether a text is such a word.
pub(super) fn is_left_out(text: &str, texts: &ModelTexts) -> bool {
    [TextName::ImageLeftOut, TextName::DocumentLeftOut].into_iter().any(|name| text == texts.template(name))
}

/// The word for a block of this kind, if it is media.
fn left_out(kind: &str) -> Option<TextName> {
    match kind {
        "image" => Some(TextName::ImageLeftOut),
        "document" => Some(TextName::DocumentLeftOut),
        _ => None,
    }
}

/// The block without media, if it has any: itself, or in a tool's result.
fn stripped(block: &Block, texts: &ModelTexts) -> Option<Block> {
    match block.kind() {
        BlockKind::Other(kind) => left_out(kind).map(|name| Block::text(texts.template(name))),
        BlockKind::ToolResult { .. } => {
            let result = RawObject::parse(block.json().as_str()).ok()?;
            let parts: Vec<Block> =
                raw_json::elements(result.get("content")?).ok()?.into_iter().map(|part| Block::from(Json::trusted(part))).collect();
            let without: Vec<Option<Block>> = parts.iter().map(|part| stripped(part, texts)).collect();
            if without.iter().all(Option::is_none) {
                return None;
            }
            let parts = without.into_iter().zip(parts).map(|(stripped, part)| stripped.unwrap_or(part).json().to_string());
            let content = format!("[{}]", parts.collect::<Vec<_>>().join(","));
            Some(Block::from(Json::trusted(result.with(&[("content", content)]))))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IMAGE: &str = r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}"#;

    fn read(json: &str) -> Block {
        Block::from(Json::parse(json).unwrap())
    }

    #[test]
    fn q_14_images_and_documents_become_a_word() {
        let document = read(r#"{"type":"document","source":{"type":"text","data":"x"}}"#);
        let message = Message::user(vec![read(IMAGE), Block::text("look"), document]);
        let stripped = without_media(&message, &ModelTexts::default()).unwrap();
        assert_eq!(stripped.content, [Block::text("[image left out]"), Block::text("look"), Block::text("[document left out]")]);
        assert_eq!(without_media(&stripped, &ModelTexts::default()), None, "nothing is left to strip");
    }

    #[test]
    fn q_14_also_in_the_results_of_tools() {
        let text = r#"{"type":"text","text":"a"}"#;
        let result = read(&format!(r#"{{"type":"tool_result","tool_use_id":"t","content":[{text},{IMAGE}],"is_error":true}}"#));
        let stripped = without_media(&Message::user(vec![result]), &ModelTexts::default()).unwrap();
        let expected = format!(
            r#"{{"type":"tool_result","tool_use_id":"t","content":[{text},{{"type":"text","text":"[image left out]"}}],"is_error":true}}"#
        );
        assert_eq!(stripped.content[0].json().as_str(), expected);
        let plain = read(r#"{"type":"tool_result","tool_use_id":"t","content":"image"}"#);
        assert_eq!(without_media(&Message::user(vec![plain]), &ModelTexts::default()), None);
    }
}
