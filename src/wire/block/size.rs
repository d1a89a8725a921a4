//! The size of a block: what is counted of it for an estimate of its tokens, before anything is rounded.

use super::BlockKind;
use crate::raw_json::{self, RawObject};

/// Characters of what a block says, and images and documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Hash)]
pub(crate) struct BlockSize {
    pub(crate) characters: u64,
    pub(crate) media: u64,
}

impl BlockSize {
    fn of_text(text: &str) -> Self {
        Self { characters: text.chars().count() as u64, media: 0 }
    }

    fn plus(self, other: Self) -> Self {
        Self { characters: self.characters + other.characters, media: self.media + other.media }
    }

    pub(super) fn of_block(kind: &BlockKind, json: &str) -> Self {
        match kind {
            BlockKind::Text(text) => Self::of_text(text),
            BlockKind::Thinking { thinking, .. } => Self::of_text(thinking), // the signature is for the API, not for the model
            BlockKind::ToolUse(tool_use) => Self::of_text(&tool_use.name).plus(Self::of_text(tool_use.input.as_str())),
            BlockKind::ToolResult { .. } => {
                let content = RawObject::parse(json).ok().and_then(|block| block.get("content").map(Self::of_content));
                content.unwrap_or_default()
            }
            BlockKind::Other(kind) if matches!(&**kind, "image" | "document") => Self { characters: 0, media: 1 },
            BlockKind::RedactedThinking | BlockKind::Other(_) => Self::of_text(json),
        }
    }

    /// A JSON string or a JSON array of blocks; what is neither counts as it is written.
    pub(crate) fn of_content(content: &str) -> Self {
        if let Some(text) = raw_json::string(content.trim()) {
            return Self::of_text(&text);
        }
        match raw_json::elements(content) {
            Ok(elements) => {
                elements.into_iter().map(|element| Self::of_block(&BlockKind::read(element), element)).fold(Self::default(), Self::plus)
            }
            Err(_) => Self::of_text(content),
        }
    }
}
