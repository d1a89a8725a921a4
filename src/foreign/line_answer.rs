//! An answer as one line: each part with its time, and the events that come of it (G-1).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::session::PlannedAnswer;
use super::world_events::{EventSource, WorldEvent};
use reenact_engine::contract::AnswerEnd;
use reenact_engine::time::{Micros, Time};
use reenact_scenario::types::Chunking;
use reenact_wire::http::HttpHeader;
use reenact_wire::prelude::*;
use reenact_wire::sse::{SseFrame, SseFramer};
use reenact_world::choices::ChoiceMaker;
use reenact_world::delivery::AnswerPart;
use reenact_world::plan::ResponseHead;

/// An answer for its client.
#[derive(Clone, Debug)]
pub(super) struct LineAnswer {
    /// Its number among all answers of the run, from 1.
    pub(super) answer: u32,
    /// The request as transcripts name it; `None` for one that is not for a message.
    pub(super) name: Option<Arc<str>>,
    pub(super) head: Option<(Time, ResponseHead)>,
    pub(super) chunks: Vec<AnswerChunk>,
    pub(super) end: Option<(Time, &'static str)>,
    /// Its number in the session; `None` where the session does not follow it.
    pub(super) number: Option<u32>,
}

/// Bytes that come together.
#[derive(Clone, Debug)]
pub(super) struct AnswerChunk {
    pub(super) at: Time,
    bytes: Vec<u8>,
    /// Its piece of the plan, from 1.
    piece: u32,
    /// Whether the piece is whole with it.
    pub(super) is_last: bool,
    /// The names of the stream events that it completes.
    pub(super) stream_events: Vec<Arc<str>>,
}

impl LineAnswer {
    /// An answer that comes in parts, asked for at `now`.
    pub(super) fn planned(answer: u32, planned: &PlannedAnswer, now: Time, chunking: &Chunking, choices: &mut ChoiceMaker<'_>) -> Self {
        let PlannedAnswer { number, agent, id, plan, .. } = planned;
        let at = |after: Micros| now + after;
        let mut framer = SseFramer::new();
        let mut chunks = Vec::with_capacity(plan.pieces.len());
        for (piece, timed, cut) in choices.cut_body((agent, *id), plan, chunking) {
            let last = cut.len() - 1;
            for (position, bytes) in cut.into_iter().enumerate() {
                let mut stream_events = Vec::new();
                if plan.is_stream {
                    // What cannot be framed has no events that anyone sees.
                    let _ = framer.feed(bytes, &mut |frame: SseFrame<'_>| stream_events.push(frame.event.into()));
                }
                chunks.push(AnswerChunk { at: at(timed.at), bytes: bytes.to_vec(), piece, is_last: position == last, stream_events });
            }
        }
        Self {
            answer,
            name: Some(agent.key(*id).into()),
            head: plan.head.clone().map(|head| (at(plan.head_at), head)),
            chunks,
            end: plan.end.as_ref().and_then(end_word).map(|how| (at(plan.end_at), how)),
            number: Some(*number),
        }
    }

    /// An answer that comes at once.
    pub(super) fn whole(answer: u32, head: ResponseHead, body: Vec<u8>, now: Time) -> Self {
        let chunk = AnswerChunk { at: now, bytes: body, piece: 1, is_last: true, stream_events: Vec::new() };
        Self { answer, name: None, head: Some((now, head)), chunks: vec![chunk], end: Some((now, "complete")), number: None }
    }

    /// The line.
    pub(super) fn to_json(&self) -> Value {
        let headers =
            |head: &ResponseHead| head.headers.iter().map(|HttpHeader { name, value }| json!([&**name, &**value])).collect::<Vec<_>>();
        let head = |(at, head): &(Time, ResponseHead)| json!({ "at": at.0, "status": head.status, "headers": headers(head) });
        json!({
            "answer": self.answer,
            "name": self.name.as_deref(),
            "head": self.head.as_ref().map(head),
            "pieces": self.chunks.iter().map(|chunk| json!([chunk.at.0, bytes_json(&chunk.bytes)])).collect::<Vec<_>>(),
            "end": self.end.map(|(at, how)| json!({ "at": at.0, "how": how })),
        })
    }

    /// The events that come of it, in their order.
    pub(super) fn events(&self) -> Vec<WorldEvent> {
        let answer = self.answer;
        let event = |at: Time, part: Option<AnswerPart>, name: String, stream_events: Vec<Arc<str>>| WorldEvent {
            at,
            source: EventSource::Answer { answer, part: self.number.zip(part) },
            name: name.into(),
            stream_events,
        };
        let mut events = Vec::with_capacity(self.chunks.len() + 2);
        if let Some((at, _)) = &self.head {
            events.push(event(*at, Some(AnswerPart::Head), format!("answer {answer} head"), Vec::new()));
        }
        for (nth, chunk) in (1..).zip(&self.chunks) {
            let name = format!("answer {answer} piece {nth}");
            events.push(event(chunk.at, chunk.is_last.then_some(AnswerPart::Event(chunk.piece)), name, chunk.stream_events.clone()));
        }
        if let Some((at, _)) = self.end {
            events.push(event(at, Some(AnswerPart::End), format!("answer {answer} end"), Vec::new()));
        }
        events
    }
}

fn bytes_json(bytes: &[u8]) -> Value {
    match core::str::from_utf8(bytes) {
        Ok(text) => Value::from(text),
        Err(_) => json!({ "base64": STANDARD.encode(bytes) }),
    }
}

/// How a connection ends; `None` for one that is silent for ever: its client has to give up.
fn end_word(end: &AnswerEnd) -> Option<&'static str> {
    Some(match end {
        AnswerEnd::Complete => "complete",
        AnswerEnd::Reset => "reset",
        AnswerEnd::Truncated | AnswerEnd::Framing(_) => "close",
        AnswerEnd::ConnectRefused => "refused",
        AnswerEnd::Dns => "dns",
        AnswerEnd::Tls => "tls",
        AnswerEnd::BrokenPipe => "broken_pipe",
        AnswerEnd::Timeout | AnswerEnd::ConnectTimeout => return None,
    })
}
