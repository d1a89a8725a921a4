//! The permitted events after a message where the settings let queued *block* tools run (O-11, T-15a).

use super::*;

fn message() -> Input {
    Input::Interrupt { prompt: 2, content: [].into() }
}

fn head() -> Input {
    Input::Head { id: ASKED, status: 200, headers: Arc::<[HttpHeader]>::from([]) }
}

fn starts(name: &str, index: u32) -> Effect {
    Effect::StartTool { run: run(index), tool_use: Arc::new(tool_use(name, index)) }
}

/// `C` runs, `W` and another `C` wait, and a message comes.
fn interrupted(queued_block: QueuedBlockPolicy) -> EventStory {
    let story = EventStory::with(|settings| (settings.queued_block, settings.tool_grace) = (queued_block, Micros::from_millis(2)));
    let story = story.request(1, &[]).asks("C", 0).says(use_block("W", 1)).says(use_block("C", 2)).input(message());
    story.effect(Effect::StopTool { run: run(0) })
}

fn end(story: EventStory) -> Vec<&'static str> {
    story.terminal().effect(Effect::Finished { prompt: 2, terminal: Terminal::Completed }).broken()
}

#[test]
fn o_11_a_block_tool_may_start_after_a_message_where_it_is_let_run() {
    let block_runs = |policy| {
        let story = interrupted(policy).ends(0).result(0).result(2).effect(starts("W", 1));
        end(story.input(head()).input(head()).input(head()).ends(1).result(1))
    };
    assert_eq!(block_runs(QueuedBlockPolicy::Run), NONE, "and the prompt waits for it, whatever the grace is");
    assert_eq!(block_runs(QueuedBlockPolicy::Answered), ["O-11", "O-11"], "it starts, and it takes longer than the grace");
    let cancel_runs = interrupted(QueuedBlockPolicy::Run).ends(0).result(0).result(1).effect(starts("C", 2)).result(2);
    assert_eq!(end(cancel_runs), ["O-11"], "one that stops for a message may not start");
}

#[test]
fn o_11_a_block_tool_that_was_let_run_ends_with_its_result_or_a_cancel() {
    let running = || interrupted(QueuedBlockPolicy::Run).ends(0).result(0).result(2).effect(starts("W", 1));
    let late = running().ends(1).result(1).input(head());
    assert_eq!(end(late), ["O-11"], "the prompt goes on when the last of them has its result");
    let cancelled = || running().input(Input::Cancel).effect(Effect::StopTool { run: run(1) });
    assert_eq!(end(cancelled().ends(1).result(1)), NONE);
    assert_eq!(end(cancelled().input(head()).input(head()).input(head()).result(1)), ["O-11"], "a cancel gives it the grace alone");
    let starts_another = running().says(use_block("W", 3)).input(Input::Cancel).effect(starts("W", 3)).ends(1).result(1).result(3);
    assert_eq!(starts_another.broken().first(), Some(&"O-3"));
    assert_eq!(end(interrupted(QueuedBlockPolicy::Run).input(head()).input(head()).input(head())), ["O-11", "O-2", "O-2", "O-2"]);
}
