//! `decode`: from bytes to typed events.

use std::hint::black_box;

use eventsource_stream::Eventsource as _;
use reenact::wire::event::decode::payload;
use reenact::wire::event::{EventPayload, StreamEvent};
use reenact::wire::sse::{SseFrame, SseFramer};

use super::body;
use super::outcome::{BarLimit, ReportLine, TIMES, throughput};
use super::peers::{CHUNK, chunks, drain};
use super::rounds;
use super::typed_parser::TypedEvent;

const BODY_BYTES: usize = 8 << 20;

pub(crate) fn against_others() -> Vec<ReportLine> {
    let body = body::of_at_least(BODY_BYTES);
    let (mut all, mut understood) = (0, 0);
    framed(&body, |frame| {
        all += 1;
        understood +=
            usize::from(!matches!(payload(frame.event, frame.data), EventPayload::Malformed { .. } | EventPayload::Unknown { .. }));
    });
    assert_eq!((understood, eventsource_and_serde(&body)), (all, all), "both ways understand every event");
    let rounds = rounds::in_turns([
        &mut || framed(&body, |frame| rounds::used(payload(frame.event, frame.data))),
        &mut || rounds::used(eventsource_and_serde(&body)),
        &mut || framed(&body, |frame| rounds::used(StreamEvent::decode(frame.event, frame.data))),
        &mut || framed(&body, |frame| rounds::used(serde_json::from_str::<TypedEvent>(frame.data))),
    ]);
    let speed = |way| throughput(body.len(), rounds.median(way));
    vec![
        ReportLine::Bar {
            name: "decode",
            ours: speed(0),
            theirs: speed(1),
            figure: rounds.ratio(1, 0),
            unit: TIMES,
            limit: BarLimit::AtLeast(3.0),
        },
        ReportLine::Orientation { name: "ours, as owned events", figure: speed(2) },
        ReportLine::Orientation { name: "our framing + serde's enum", figure: speed(3) },
    ]
}

fn framed(body: &[u8], mut take: impl FnMut(SseFrame<'_>)) {
    let mut framer = SseFramer::new();
    for chunk in body.chunks(CHUNK) {
        let fed = framer.feed(black_box(chunk), &mut take);
        assert_eq!(fed, Ok(()), "the body has no large event");
    }
}

/// How many events were read.
fn eventsource_and_serde(body: &[u8]) -> usize {
    let mut events = 0;
    drain(chunks(body).eventsource(), |event| {
        let event = event.expect("the body is well-formed");
        black_box(serde_json::from_str::<TypedEvent>(&event.data).expect("the enum knows every event of the body"));
        events += 1;
    });
    events
}
