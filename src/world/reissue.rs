//! An answer that is given again has ids of its own, as the API's would (M-3), and one that is not asked for as a stream comes whole (R-13).

use memchr::memmem::Finder;

use super::decoded_pieces::DecodedPieces;
use super::plan::{ResponseHead, ResponsePlan, TimedPiece};
use reenact_wire::assembler::Assembler;
use reenact_wire::block::{Block, Role};
use reenact_wire::event::StreamEvent;
use reenact_wire::http::HttpHeader;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::request::Request;
use reenact_wire::sse::{SseFrame, SseFramer};

/// An id that was made fresh, and the one that the scenario knows.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) struct FreshId {
    pub(crate) fresh: Arc<str>,
    pub(crate) original: Arc<str>,
}

/// The plan with fresh ids: the `nth` time that it is given, from 2.
pub(crate) fn with_fresh_ids(plan: ResponsePlan, nth: u32) -> (ResponsePlan, Vec<FreshId>) {
    let mut events = plan.events();
    let ids: Vec<FreshId> = events
        .iter()
        .flat_map(|event| ids(event, plan.is_stream))
        .map(|original| FreshId { fresh: format!("{original}_{nth}").into(), original: original.into() })
        .collect();
    for id in &ids {
        let [original, fresh] = [&id.original, &id.fresh].map(|id| format!("\"{id}\""));
        let finder = Finder::new(&original);
        // Most events name no id.
        for event in events.iter_mut().filter(|event| finder.find(&event.bytes).is_some()) {
            event.bytes = replaced(&event.bytes, &original, &fresh).into();
        }
    }
    (ResponsePlan { pieces: events, ..plan }, ids)
}

/// How many answers of the same ids a client may have already that goes on with a session of earlier runs: no more than it has answers, or as many as
/// the ids in the request tell.
pub(crate) fn copies_in(request: &Request) -> u32 {
    let answers = request.messages.iter().filter(|message| message.role == Role::Assistant).count();
    let tool_uses = request.messages.iter().flat_map(|message| &message.content).filter_map(Block::as_tool_use);
    let copies = tool_uses.filter_map(|tool_use| tool_use.id.strip_prefix("toolu_")?.rsplit_once('_')?.1.parse::<u32>().ok());
    copies.max().unwrap_or(0).max(u32::try_from(answers).unwrap_or(u32::MAX))
}

/// Text with the ids that the scenario knows.
pub(crate) fn with_original_ids(text: String, ids: &[FreshId]) -> String {
    ids.iter().fold(text, |text, id| text.replace(&format!("\"{}\"", id.fresh), &format!("\"{}\"", id.original)))
}

/// The ids of the message and of the tool uses that begin in this event, or stand in this body.
fn ids(event: &TimedPiece, is_stream: bool) -> Vec<String> {
    let text = |value: &serde_json::Value| value.as_str().map(String::from);
    if !is_stream {
        let value: serde_json::Value = serde_json::from_slice(&event.bytes).unwrap_or_default();
        let blocks = value["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        return text(&value["id"]).into_iter().chain(blocks.iter().filter_map(|block| text(&block["id"]))).collect();
    }
    let mut ids = Vec::new();
    event.read_events(|_, data| {
        if data.contains("\"id\"") {
            let value: serde_json::Value = serde_json::from_str(data).unwrap_or_default();
            ids.extend(text(&value["message"]["id"]).or_else(|| text(&value["content_block"]["id"])));
        }
    });
    ids
}

/// Has a scripted answer say that it is from the model that was asked: it is made ready for the usual one.
pub(crate) fn name_model(plan: &mut ResponsePlan, usual: &str, asked: &str) {
    let name = |model: &str| format!("\"model\":{}", Json::from_value(model));
    // The model stands in the first event, or in the one body.
    if let Some(first) = plan.pieces.first_mut() {
        first.bytes = replaced(&first.bytes, &name(usual), &name(asked)).into();
    }
}

fn replaced(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = memchr::memmem::find(rest, from.as_bytes()) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(to.as_bytes());
        rest = &rest[at + from.len()..];
    }
    out.extend_from_slice(rest);
    out
}

/// A streamed answer whole where the request does not ask for a stream, as far as it is a whole message.
pub(crate) fn as_asked(plan: ResponsePlan, request: &Request) -> ResponsePlan {
    let whole = if plan.is_stream && !request.stream { unstreamed(&plan) } else { None };
    whole.unwrap_or(plan)
}

/// A streamed answer as the one message that the same request would have got without streaming, at the time at which the stream ended. `None`
/// when the stream is no whole message.
fn unstreamed(plan: &ResponsePlan) -> Option<ResponsePlan> {
    let (mut assembler, mut blocks) = (Assembler::new(), Vec::new());
    let sink = &mut |frame: SseFrame<'_>| {
        let step = assembler.on_event(&StreamEvent::decode(frame.event, frame.data), &mut Vec::new());
        blocks.extend(step.into_blocks());
    };
    SseFramer::new().feed(&plan.body(), sink).ok()?;
    if !assembler.is_complete() {
        return None;
    }
    let text = format!(
        r#"{{"id":{},"type":"message","role":"assistant","model":{},"content":[{}],"stop_reason":{},"stop_sequence":{},"usage":{}}}"#,
        Json::from_value(&**assembler.message_id()),
        Json::from_value(&**assembler.model()),
        blocks.iter().map(|block| block.json().as_str()).collect::<Vec<_>>().join(","),
        Json::from_value(&assembler.stop_reason()),
        Json::from_value(&assembler.stop_sequence()),
        Json::from_value(assembler.usage()),
    );
    let at = plan.end_at;
    let head = plan.head.as_ref().map(|head| {
        let others = head.headers.iter().filter(|header| !header.name.eq_ignore_ascii_case("content-type")).cloned();
        ResponseHead {
            status: head.status,
            headers: core::iter::once(HttpHeader::new("content-type", "application/json")).chain(others).collect(),
        }
    });
    let pieces = vec![TimedPiece { at, bytes: text.into_bytes().into() }];
    Some(ResponsePlan { head, head_at: at, is_stream: false, pieces, decoded: DecodedPieces::default(), end: plan.end.clone(), end_at: at })
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_engine::contract::AnswerEnd;
    use reenact_engine::random::Seed;
    use reenact_engine::time::Micros;
    use reenact_scenario::plan::Plan as RunPlan;
    use reenact_scenario::script::{self, AnswerOrigin, StreamStyle, TurnPlace};
    use reenact_scenario::types::{ScriptedTurn, TurnBlock};
    use reenact_wire::block::Message;
    use reenact_wire::whole_message::whole_message;

    fn plan(turn: &ScriptedTurn, is_stream: bool) -> ResponsePlan {
        let look = StreamStyle { seed: Seed(1), plan: &RunPlan::EMPTY };
        let body = script::body(turn, TurnPlace { origin: AnswerOrigin::Prompt(1), turn: 1 }, "m", look, is_stream).bytes;
        let head = Some(ResponseHead { status: 200, headers: [HttpHeader::new("Content-Type", "text/event-stream")].into() });
        let pieces = vec![TimedPiece { at: Micros(2), bytes: body.into() }];
        ResponsePlan {
            head,
            head_at: Micros(1),
            is_stream,
            pieces,
            decoded: DecodedPieces::default(),
            end: Some(AnswerEnd::Complete),
            end_at: Micros(3),
        }
    }

    fn turn() -> ScriptedTurn {
        let tool = TurnBlock::Tool {
            name: "Read".into(),
            input: r#"{"id":"toolu_p1t1n1"}"#.into(),
            id: None,
            outcome: None,
            safe: None,
            slip: None,
        };
        ScriptedTurn { content: vec![TurnBlock::Text("msg_p1t1".into()), tool], input_tokens: Some(5), ..ScriptedTurn::default() }
    }

    #[test]
    fn m_3_an_answer_given_again_has_ids_of_its_own() {
        for is_stream in [true, false] {
            let (again, ids) = with_fresh_ids(plan(&turn(), is_stream), 2);
            let originals: Vec<&str> = ids.iter().map(|id| &*id.original).collect();
            assert_eq!(originals, ["msg_p1t1", "toolu_p1t1n1"]);
            let text = String::from_utf8(again.body()).unwrap();
            assert!(text.contains(r#""id":"toolu_p1t1n1_2""#) && text.contains(r#""id":"msg_p1t1_2""#), "{text}");
            let sent = with_original_ids(String::from(r#"{"tool_use_id":"toolu_p1t1n1_2"}"#), &ids);
            assert_eq!(sent, r#"{"tool_use_id":"toolu_p1t1n1"}"#);
        }
    }

    #[test]
    fn m_3_a_resumed_session_has_answers_of_another_run() {
        let copies = |content: &[(&str, &str)]| {
            let message = |(id, name): &(&str, &str)| {
                let json = Json::from_value(&serde_json::json!({"type": "tool_use", "id": id, "name": name, "input": {}}));
                Message::assistant(vec![Block::from(json)])
            };
            copies_in(&Request::new("m", 1).with_messages(content.iter().map(message)))
        };
        assert_eq!(copies(&[]), 0, "nothing was said before");
        assert_eq!(copies(&[("toolu_p1t1n1", "Read")]), 1);
        assert_eq!(copies(&[("toolu_p1t1n1", "Read"), ("toolu_p1t1n1_2", "Read")]), 2);
        assert_eq!(copies(&[("toolu_p1t1n1_5", "Read")]), 5, "a compaction took the others");
        assert_eq!(copies(&[("call_1_7", "Read")]), 1, "an id of somebody else");
    }

    #[test]
    fn r_13_a_stream_as_one_message() {
        let whole = unstreamed(&plan(&turn(), true)).unwrap();
        let body = String::from_utf8(whole.body()).unwrap();
        let scripted = String::from_utf8(plan(&turn(), false).body()).unwrap();
        assert_eq!(whole_message(&body).unwrap(), whole_message(&scripted).unwrap());
        assert_eq!((whole.head_at, whole.pieces[0].at, whole.end_at), (Micros(3), Micros(3), Micros(3)));
        assert_eq!(whole.head.unwrap().headers[..], [HttpHeader::new("content-type", "application/json")]);
        let cut = TimedPiece { at: Micros(2), bytes: Arc::from(&b"event: message_start\n"[..]) };
        let cut = ResponsePlan { pieces: vec![cut], ..plan(&turn(), true) };
        assert_eq!(unstreamed(&cut), None);
    }
}
