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

#[test]
fn o_28_and_q_23_the_words_of_a_refusal_are_not_sent() {
    let delta = |reason: &str| format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}},"usage":{{"output_tokens":1}}}}"#);
    let ends = |how| Input::End { id: ASKED, how };
    let begun = |reason: &str| EventStory::new().request(1, &[]).hears_text(ASKED, &["No."]).hears(ASKED, &[&delta(reason)]);
    let said = |reason: &str| begun(reason).input(ends(AnswerEnd::Complete));
    assert_eq!(said("end_turn").sends(&[Block::text("No.")]), 0);
    assert_eq!(said("refusal").sends(&[Block::text("No.")]), 1);
    assert_eq!(said("refusal").sends(&[]), 0);
    assert_eq!(begun("refusal").sends(&[Block::text("No.")]), 0, "it did not end so");
    let closed = begun("refusal").effect(Effect::CloseRequest { id: ASKED }).input(ends(AnswerEnd::Complete));
    assert_eq!(closed.sends(&[Block::text("No.")]), 0, "it was closed before");
    let again = RequestId { attempt: 2, ..ASKED };
    assert_eq!(said("refusal").hears_text(again, &["No."]).sends(&[Block::text("No.")]), 0, "another answer has the same words");
    let start = r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t0","name":"R","input":{}}}"#;
    let with_tool = EventStory::new().request(1, &[]).hears_text(ASKED, &["No."]).hears(ASKED, &[start, &delta("refusal")]);
    assert_eq!(with_tool.input(ends(AnswerEnd::Complete)).sends(&[Block::text("No.")]), 0, "a tool use is answered");
    let body = r#"{"type":"message","content":[{"type":"text","text":"No."}],"stop_reason":"refusal"}"#;
    let whole = EventStory::new().request(1, &[]).input(Input::Body { id: ASKED, body: body.into() });
    assert_eq!(whole.input(ends(AnswerEnd::Complete)).sends(&[Block::text("No.")]), 1);
    let notes = EventStory::with(|settings| settings.refusal_notes = true).request(1, &[]).hears_text(ASKED, &["No."]);
    let notes = notes.hears(ASKED, &[&delta("refusal")]).input(ends(AnswerEnd::Complete));
    assert_eq!(notes.sends(&[Block::text("No.")]), 0, "the settings keep it");
}

#[test]
fn o_28_and_q_10a_an_aborted_half_is_not_sent() {
    let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    let text = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"ha"}}"#;
    let half = || EventStory::new().request(1, &[]).hears(ASKED, &[start, text]);
    let aborted = |story: EventStory| {
        let (uuid, block) = ("u".into(), Block::text("ha"));
        let message = AssistantMessage { uuid, id: ASKED, api_id: "".into(), model: "".into(), block, error: None };
        story.effect(Effect::Emit(Emission::Aborted(message.into())))
    };
    assert_eq!(half().sends(&[Block::text("ha")]), 0, "an engine may keep what came");
    assert_eq!(aborted(half()).sends(&[Block::text("ha")]), 1);
    let closed = half().effect(Effect::CloseRequest { id: ASKED }).hears(ASKED, &[text]);
    assert_eq!(closed.sends(&[Block::text("ha")]), 0, "what came later was for nobody");
}

#[test]
fn o_28_the_words_of_the_model_stand_in_their_order() {
    let second = RequestId { turn: 2, ..ASKED };
    let said = || EventStory::new().request(1, &[]).hears_text(ASKED, &["a"]).hears_text(second, &["b"]);
    let [a, b] = ["a", "b"].map(Block::text);
    assert_eq!(said().sends(&[a.clone(), b.clone()]), 0);
    assert_eq!(said().sends(&[b.clone(), a.clone()]), 1);
    assert_eq!(said().sends(core::slice::from_ref(&a)), 0, "words of an earlier answer alone");
    let third = RequestId { turn: 3, ..ASKED };
    assert_eq!(said().hears_text(third, &["a"]).sends(&[a.clone(), b.clone(), a.clone()]), 0, "the same words came twice");
    assert_eq!(said().hears_text(third, &["a"]).sends(&[b.clone(), a.clone()]), 0);
}

#[test]
fn o_28_the_words_of_the_model_stand_before_what_the_user_said_later() {
    let say = |text: &str| Input::Interrupt { prompt: 2, content: [Block::text(text)].into() };
    let note = || Effect::Emit(Emission::Interrupted { prompt: 1, text: "[interrupted]".into() });
    let heard = || EventStory::new().input(say("Hi.")).request(1, &[(Role::User, &[Block::text("Hi.")])]).hears_text(ASKED, &["a"]);
    let [hi, answer, user, interrupted] = ["Hi.", "a", "Stop.", "[interrupted]"].map(|text| [Block::text(text)]);
    let times = |story: EventStory, order: &[(Role, &[Block])]| story.request(2, order).times_broken("O-28");
    let behind = [(Role::User, &hi[..]), (Role::Assistant, &answer), (Role::User, &interrupted), (Role::User, &user)];
    assert_eq!(times(heard().effect(note()).input(say("Stop.")), &behind), 0);
    let before = [(Role::User, &hi[..]), (Role::User, &interrupted), (Role::Assistant, &answer), (Role::User, &user)];
    assert_eq!(times(heard().effect(note()).input(say("Stop.")), &before), 1, "the interruption was later");
    assert_eq!(times(heard().input(say("Stop.")), &before), 0, "nobody interrupted");
    let user_before = [(Role::User, &hi[..]), (Role::User, &user), (Role::Assistant, &answer)];
    assert_eq!(times(heard().input(say("Stop.")), &user_before), 1);
    let first = [(Role::User, &hi[..]), (Role::User, &interrupted)];
    let twice = || EventStory::new().input(say("Hi.")).effect(note()).request(1, &first).hears_text(ASKED, &["a"]).effect(note());
    let one = [(Role::User, &user[..]), (Role::User, &interrupted), (Role::Assistant, &answer)];
    assert_eq!(times(twice(), &one), 0, "it is of the first interruption");
    let both = [&first[..], &[(Role::User, &interrupted), (Role::Assistant, &answer)]].concat();
    assert_eq!(times(twice(), &both), 1);
}
