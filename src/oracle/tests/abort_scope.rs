//! A prompt that ends as aborted was aborted (O-23).

use super::*;
use reenact_engine::contract::Note;

fn aborted(prompt: u32) -> Effect {
    Effect::Finished { prompt, terminal: Terminal::AbortedStreaming }
}

#[test]
fn o_23_an_abort_ends_the_prompt_that_it_was_pressed_in() {
    let next = |prompt| Input::Prompt { prompt, content: [].into() };
    let message = |prompt| Input::Interrupt { prompt, content: [].into() };
    let table = [
        (EventStory::new().input(Input::Cancel).effect(aborted(1)), 0, "cancelled"),
        (EventStory::new().input(message(2)).effect(aborted(1)), 0, "a message ends it"),
        (EventStory::new().effect(aborted(1)), 1, "nobody aborted it"),
        (EventStory::new().input(Input::Cancel).effect(aborted(1)).input(next(2)).effect(aborted(2)), 1, "the cancel was for the first"),
        (
            EventStory::new().input(Input::Cancel).terminal().input(message(2)).effect(aborted(2)),
            1,
            "a message to an idle session is a prompt",
        ),
        (EventStory::new().terminal().input(next(2)).input(Input::Cancel).effect(aborted(2)), 0, "the cancel is for the second"),
    ];
    for (story, count, what) in table {
        assert_eq!(story.times_broken("O-23"), count, "{what}");
    }
}

#[test]
fn o_23_a_prompt_that_waited_begins_when_it_is_taken_up() {
    let waits = || EventStory::new().input(Input::Prompt { prompt: 2, content: [].into() }).input(Input::Cancel).effect(aborted(1));
    let taken_up = || waits().effect(Effect::Request { id: RequestId::first(2), request: Request::new("m", 1).into() });
    assert_eq!(taken_up().effect(aborted(2)).times_broken("O-23"), 1, "the cancel was before");
    assert_eq!(taken_up().input(Input::Cancel).effect(aborted(2)).times_broken("O-23"), 0);
}

#[test]
fn o_23_a_message_that_has_to_wait_for_a_tool_aborts_nothing() {
    let beside = |tool: &str| EventStory::new().asks(tool, 0).input(Input::Interrupt { prompt: 2, content: [].into() }).effect(aborted(1));
    assert_eq!(beside("R").times_broken("O-23"), 1);
    assert!(beside("R").words("O-23")[0].ends_with("for a tool that does not stop for messages (`ToolDefinition::interrupt`)"));
    assert_eq!(beside("C").times_broken("O-23"), 0, "that one stops for it");
}

#[test]
fn o_23_a_message_waits_for_no_look_at_an_input_of_a_discarded_attempt() {
    let checks = || EventStory::new().says(use_block("R", 0)).effect(Effect::CheckTool { run: run(0), tool_use: tool_use("R", 0).into() });
    let message = || Input::Interrupt { prompt: 2, content: [].into() };
    let discards = Effect::Note(Note::Discarded { id: run(0).request, running: Vec::new() });
    assert_eq!(checks().input(message()).effect(aborted(1)).times_broken("O-23"), 1, "the tool is there");
    assert_eq!(checks().effect(discards).input(message()).effect(aborted(1)).times_broken("O-23"), 0, "it is not");
}
