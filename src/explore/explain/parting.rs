//! Where two runs part: the first lines of their transcripts that differ (E-5).

use reenact_engine::contract::Input;
use reenact_transcript::event::{Event, EventKind, Transcript};
use reenact_transcript::text::{DetailLevel, render_untimed};
use reenact_wire::prelude::*;

/// The word for a transcript that has no further line.
const END: &str = "(the end)";

/// The first lines that differ, without times, in as much detail as it takes. The interrupts themselves are left out: they are what differs, and not what comes of it.
pub(super) fn between(one: &Transcript, other: &Transcript) -> Option<(String, String)> {
    let [one, other] = [one, other].map(without_interrupts);
    [DetailLevel::Normal, DetailLevel::Debug].into_iter().find_map(|detail| first_difference([&one, &other], detail))
}

fn first_difference(transcripts: [&Transcript; 2], detail: DetailLevel) -> Option<(String, String)> {
    let [one, other] = transcripts.map(|transcript| render_untimed(transcript, detail));
    let (mut ones, mut others) = (one.lines(), other.lines());
    loop {
        match (ones.next(), others.next()) {
            (None, None) => return None,
            (one, other) if one == other => (),
            (one, other) => return Some((line(one), line(other))),
        }
    }
}

fn line(text: Option<&str>) -> String {
    text.unwrap_or(END).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn without_interrupts(transcript: &Transcript) -> Transcript {
    let is_left = |event: &&Event| !matches!(event.what, EventKind::Input(Input::Cancel | Input::Interrupt { .. }));
    Transcript { header: transcript.header.clone(), events: transcript.events.iter().filter(is_left).cloned().collect() }
}
