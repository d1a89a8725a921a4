//! The interruption message has a cancel (O-30).

use super::*;

fn said() -> Effect {
    Effect::Emit(Emission::Interrupted { prompt: 1, text: "[stopped]".into() })
}

fn aborted() -> Effect {
    Effect::Finished { prompt: 1, terminal: Terminal::AbortedTools }
}

#[test]
fn o_30_an_interruption_message_has_a_cancel_and_a_cancel_one() {
    let message = || Input::Interrupt { prompt: 2, content: [].into() };
    let refused = || {
        let answer = Arc::new(PermissionAnswer::RefuseAndAbort { reason: "no".into() });
        Input::PermissionAnswered { run: run(0), answer }
    };
    let table = [
        (EventStory::new().effect(said()).effect(aborted()), 1, "nobody cancelled"),
        (EventStory::new().input(Input::Cancel).effect(said()).effect(aborted()), 0, "cancelled"),
        (EventStory::new().input(refused()).effect(said()).effect(aborted()), 0, "refused, and all is to end"),
        (EventStory::new().input(message()).effect(said()).effect(aborted()), 1, "a message ends it, and follows itself"),
        (EventStory::new().input(Input::Cancel).effect(aborted()), 1, "a cancel of which nothing is said"),
        (EventStory::new().input(message()).input(Input::Cancel).effect(aborted()), 0, "the message had ended it before"),
        (EventStory::new().input(Input::Cancel).terminal(), 0, "it had ended well before"),
    ];
    for (story, count, what) in table {
        assert_eq!(story.times_broken("O-30"), count, "{what}");
    }
}
