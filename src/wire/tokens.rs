//! About how many tokens something has, without a tokenizer: the engine watches its context with it, and the simulated API counts
//! input with it, so that both mean the same.
//!
//! Characters / 4 rounded up, times 4/3 rounded up again, for each block by itself; images and documents 2,000 each, flat. Blocks are
//! what is rounded, not messages, because neighbouring messages merge in a request (N-7) and the figure must not depend on that.
//! The characters are those of what a block says (its text, a tool's name and input, a result's content), not of the JSON around it.

use super::block::{Block, BlockSize, Message};
use super::json::Json;
use super::request::Request;
use crate::prelude::*;

/// The tokens of an image or a document of any size.
pub const MEDIA_TOKENS: u64 = 2_000;

/// The estimate for this many characters.
pub fn tokens_of_characters(characters: u64) -> u64 {
    characters.div_ceil(4).saturating_mul(4).div_ceil(3)
}

/// The estimate for a piece of text.
pub fn tokens_of_text(text: &str) -> u64 {
    tokens_of_characters(text.chars().count() as u64)
}

fn tokens_of_size(size: BlockSize) -> u64 {
    tokens_of_characters(size.characters) + size.media * MEDIA_TOKENS
}

/// The estimate for one block.
pub fn block(block: &Block) -> u64 {
    tokens_of_size(block.size())
}

/// The estimate for the content of a message.
pub fn blocks<'a>(blocks: impl IntoIterator<Item = &'a Block>) -> u64 {
    blocks.into_iter().map(block).sum()
}

/// The estimate for messages.
pub fn messages<'a>(messages: impl IntoIterator<Item = &'a Arc<Message>>) -> u64 {
    messages.into_iter().map(|message| blocks(&message.content)).sum()
}

/// The estimate for a system prompt: a JSON string or a JSON array of blocks.
pub fn system(system: &Json) -> u64 {
    tokens_of_size(BlockSize::of_content(system.as_str()))
}

/// The estimate for a list of tools: all of its JSON, because the model sees names, descriptions and schemas.
pub fn tools(tools: &Json) -> u64 {
    tokens_of_text(tools.as_str())
}

/// The estimate for all that a request makes the model read.
pub fn request(request: &Request) -> u64 {
    frame(request) + messages(&request.messages)
}

/// The estimate for what surrounds the messages of a request: system prompt and tools.
pub fn frame(request: &Request) -> u64 {
    frame_of(request.system.as_ref(), request.tools.as_ref())
}

/// The same for a system prompt and a list of tools.
pub fn frame_of(system_prompt: Option<&Json>, tool_list: Option<&Json>) -> u64 {
    system_prompt.map_or(0, system) + tool_list.map_or(0, tools)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Block {
        Block::from(Json::parse(json).unwrap())
    }

    #[test]
    fn c_4_characters_become_tokens_by_quarters_and_thirds_each_rounded_up() {
        let table = [(0, 0), (1, 2), (4, 2), (5, 3), (12, 4), (13, 6), (400, 134), (4_000, 1_334)];
        for (characters, tokens) in table {
            assert_eq!(tokens_of_characters(characters), tokens, "{characters} characters");
        }
        assert_eq!(tokens_of_text("éé世界"), 2, "characters count, not bytes");
    }

    #[test]
    fn c_4_what_a_block_says_counts_and_not_its_json() {
        let use_of_read = r#"{"type":"tool_use","id":"toolu_123456789","name":"Read","input":{"a":1}}"#;
        let result = |content: &str| format!(r#"{{"type":"tool_result","tool_use_id":"toolu_123456789","content":{content}}}"#);
        let table = [
            (r#"{"type":"text","text":"twelve chars"}"#.into(), 4),
            (r#"{"type":"thinking","thinking":"1234","signature":"a very long signature indeed"}"#.into(), 2),
            (use_of_read.into(), tokens_of_characters(4 + 7)),
            (result(r#""twelve\nchars""#), 4),
            (result(r#"[{"type":"text","text":"123456"},{"type":"text","text":"123456"}]"#), 4),
            (result(r#"[{"type":"image","source":{"type":"base64","data":"AAAA"}}]"#), MEDIA_TOKENS),
            (r#"{"type":"document","source":{"type":"text","data":"long"}}"#.into(), MEDIA_TOKENS),
            (String::from(r#"{"type":"tool_result","tool_use_id":"x"}"#), 0),
        ];
        for (json, tokens) in table {
            assert_eq!(block(&read(&json)), tokens, "{json}");
        }
    }

    #[test]
    fn c_4_merging_messages_does_not_change_the_estimate() {
        let said = |text: &str| Message::user(vec![Block::text(text)]);
        let apart = [Arc::new(said("a")), Arc::new(said("b"))];
        let merged = Request::new("m", 1).with_messages([said("a"), said("b")]);
        assert_eq!(merged.messages.len(), 1);
        assert_eq!(request(&merged), messages(&apart));
    }

    #[test]
    fn c_4_system_and_tools_count_too() {
        let mut asked = Request::new("m", 1);
        asked.system = Some(Json::trusted(r#"[{"type":"text","text":"twelve chars","cache_control":{"type":"ephemeral"}}]"#));
        asked.tools = Some(Json::trusted(r#"[{"name":""}]"#));
        assert_eq!(request(&asked), 4 + tokens_of_characters(13));
        asked.system = Some(Json::trusted(r#""twelve chars""#));
        assert_eq!(request(&asked), 4 + tokens_of_characters(13));
    }
}
