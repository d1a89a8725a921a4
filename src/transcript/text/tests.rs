//! Lines as people read them.

use super::*;
use crate::event::TranscriptHeader;
use reenact_engine::contract::{Agent, Input, Json, ToolInput, ToolOutcome, ToolUse};
use reenact_engine::emission::ToolState;
use reenact_wire::block::Block;

fn rendered(title: &str, said: &str) -> String {
    let content = [Block::text(said)].into();
    let event = Event { at: Time(1_500), agent: Agent::ROOT, what: EventKind::Input(Input::Prompt { prompt: 1, content }) };
    let header = TranscriptHeader { title: Some(title.into()), ..TranscriptHeader::default() };
    render(&Transcript { header, events: [event].into() }, DetailLevel::Brief)
}

#[test]
fn x_2_no_content_can_break_a_line_or_forge_one() {
    let text = rendered("a\nb", "one\n   0.000s  engine    completed\r\u{1b}[31m\u{202e}\\n");
    assert_eq!(text.lines().count(), 4, "{text}");
    assert!(text.lines().all(|line| !line.contains(char::is_control)), "{text:?}");
    assert!(text.contains("one⏎   0.000s  engine    completed␍␛[31m\\u{202e}\\n"), "{text}");
}

#[test]
fn x_2_long_content_is_cut_with_its_size_and_a_digest() {
    let text = rendered("t", &"x".repeat(1_000));
    let line = text.lines().last().unwrap();
    assert!(line.len() < 200 && line.contains("(1000 bytes, "), "{line}");
}

#[test]
fn x_2_backslashes_stay_as_they_are_where_nothing_is_escaped() {
    assert!(rendered("t", r"C:\n").contains(r"C:\n"));
}

#[test]
fn m_11_without_times_two_runs_differ_in_what_happened_alone() {
    assert_eq!(
        without_spans("gave up after 3 attempts in 1.989255s, v1.25, 10.5s, 2.500s"),
        "gave up after 3 attempts in …s, v1.25, 10.5s, …s"
    );
    let at = |micros, said: &str| {
        let event = Event {
            at: Time(micros),
            agent: Agent::ROOT,
            what: EventKind::Input(Input::Prompt { prompt: 1, content: [Block::text(said)].into() }),
        };
        Transcript { header: TranscriptHeader::default(), events: [event].into() }
    };
    let text = |micros, said| render_untimed(&at(micros, said), DetailLevel::Brief);
    assert_eq!(text(1_500, "Hello?"), text(2_000_000, "Hello?"));
    assert_ne!(text(1_500, "Hello?"), text(1_500, "Hello!"));
    assert!(text(1_500, "Hello?").ends_with("\nuser      prompt 1       Hello?\n"), "{}", text(1_500, "Hello?"));
}

#[test]
fn m_11_a_part_of_a_line_reads_as_the_line_does_without_times() {
    let parts = [
        ("0.110s engine request 1.2", "engine request 1.2"),
        ("+30.110s engine heartbeat waited 30.000s, 45.000s to go", "engine heartbeat waited …s, …s to go"),
        ("30.000s, 45.000s to go", "s, …s to go"),
        ("Hello in 5s.", "Hello in 5s."),
    ];
    for (part, read) in parts {
        assert_eq!(untimed(part), read);
    }
}

#[test]
fn x_3_of_an_engine_without_notes_the_driver_tells_when_tools_start_stop_and_end() {
    let run = ToolRun { request: RequestId::first(1), index: 0 };
    let tool_use = ToolUse { id: "t".into(), name: "Read".into(), input: ToolInput::Valid(Json::trusted("{}")) };
    let ended = Input::ToolEnded { run, outcome: ToolOutcome::text("x").into() };
    let note = Effect::Note(Note::Tool { run, state: ToolState::Executing });
    let what = |is_noted: bool| {
        let start = EventKind::Effect(Effect::StartTool { run, tool_use: tool_use.clone().into() });
        let driven = [start, EventKind::Effect(Effect::StopTool { run }), EventKind::Input(ended.clone())];
        driven.into_iter().chain(is_noted.then(|| EventKind::Effect(note.clone())))
    };
    let text = |is_noted: bool| {
        let events: Vec<Event> =
            (1..).zip(what(is_noted)).map(|(at, what)| Event { at: Time(at * 1_000), agent: Agent::ROOT, what }).collect();
        let transcript = Transcript { header: TranscriptHeader::default(), events: events.into() };
        render_untimed(&transcript, DetailLevel::Normal).lines().skip(3).map(str::to_string).collect::<Vec<_>>()
    };
    assert_eq!(text(false), ["tool 1A   starts", "tool 1A   is stopping", "tool 1A   ends           after …s"]);
    assert_eq!(text(true), ["tool 1A   starts"], "the engine's own note");
}
