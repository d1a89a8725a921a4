//! The words of the model go back as they came (O-28).

use super::*;

impl EventStory {
    fn hears_text(self, id: RequestId, pieces: &[&str]) -> Self {
        let story = self.hears(id, &[r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#]);
        let delta =
            |piece: &&str| format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":{piece:?}}}}}"#);
        let story = pieces.iter().fold(story, |story, piece| story.hears(id, &[&delta(piece)]));
        story.hears(id, &[r#"{"type":"content_block_stop","index":0}"#])
    }

    fn sends(self, blocks: &[Block]) -> usize {
        let story =
            self.request(2, &[(Role::User, &[Block::text("Hi.")]), (Role::Assistant, blocks), (Role::User, &[Block::text("Go on.")])]);
        story.times_broken("O-28")
    }
}

#[test]
fn o_28_text_and_inputs_go_back_byte_for_byte() {
    let said = || EventStory::new().request(1, &[]).hears_text(ASKED, &["a", "b"]);
    assert_eq!(said().sends(&[Block::text("ab")]), 0);
    assert_eq!(said().sends(&[Block::text("a b")]), 1, "a blank more");
    assert_eq!(said().sends(&[Block::text("ab"), Block::text("c")]), 1, "nobody said c");
    let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t0","name":"R","input":{}}}"#;
    let delta = r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\": 1}"}}"#;
    let asked = || EventStory::new().request(1, &[]).hears(ASKED, &[start, delta]);
    let with = |input: &str| {
        let tool_use = ToolUse { input: ToolInput::Valid(Json::trusted(input)), ..tool_use("R", 0) };
        Block::assembled(BlockKind::ToolUse(tool_use), Json::trusted("{}"))
    };
    assert_eq!(asked().sends(&[with(r#"{"a": 1}"#)]), 0);
    assert_eq!(asked().sends(&[with(r#"{"a":1}"#)]), 1, "written anew");
    assert_eq!(asked().sends(&[with(r#"{"a": 2}"#)]), 1);
}

#[test]
fn o_28_answers_that_come_at_once_are_kept_apart() {
    let second = RequestId { turn: 2, ..ASKED };
    let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    let text = |piece: &str| format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{piece}"}}}}"#);
    let both = || {
        let story = EventStory::new().hears(ASKED, &[start]).hears(second, &[start, &text("x")]);
        story.hears(ASKED, &[&text("a")]).hears(second, &[&text("y")]).hears(ASKED, &[&text("b")])
    };
    assert_eq!(both().sends(&[Block::text("ab"), Block::text("xy")]), 0);
    assert_eq!(both().sends(&[Block::text("ay")]), 1);
}
