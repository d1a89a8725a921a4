//! How many tokens something has, without a tokenizer: characters / 4 rounded up, times 4/3; images and documents 2,000 each.

use super::block::{Block, BlockKind};
use super::json::Json;
use super::raw::{Object, elements};
use super::request::Request;
use crate::prelude::*;

/// What an image or a document counts for.
const MEDIA: u64 = 2_000;

/// About how many tokens a request's input has: system prompt, tools and messages.
pub fn request(request: &Request) -> u64 {
    let json = |json: &Option<Json>| json.as_ref().map_or(0, |json| characters(json.as_str()));
    let (mut characters, mut media) = (json(&request.system) + json(&request.tools), 0);
    for block in request.messages.iter().flat_map(|message| &message.content) {
        let (of_block, media_of_block) = of_block(block);
        characters += of_block;
        media += media_of_block;
    }
    media * MEDIA + (characters.div_ceil(4) * 4).div_ceil(3)
}

fn of_block(block: &Block) -> (u64, u64) {
    match block.kind() {
        BlockKind::Text(text) => (characters(text), 0),
        BlockKind::Other(kind) if matches!(&**kind, "image" | "document") => (0, 1),
        // A result may hold media; what is no list is text.
        BlockKind::ToolResult { .. } => {
            let content = Object::parse(block.json().as_str()).ok().and_then(|object| elements(object.get("content")?).ok());
            let Some(items) = content else { return (characters(block.json().as_str()), 0) };
            let (media, others): (Vec<&str>, Vec<&str>) =
                items.into_iter().partition(|item| ["\"image\"", "\"document\""].iter().any(|kind| item.contains(kind)));
            (others.iter().map(|item| characters(item)).sum(), media.len() as u64)
        }
        _ => (characters(block.json().as_str()), 0),
    }
}

fn characters(text: &str) -> u64 {
    text.chars().count() as u64
}
