//! A timer ends no stream that lives (O-31).

use super::*;
use reenact_engine::contract::TimerId;

const EVENT: &str = r#"{"type":"ping"}"#;

impl EventStory {
    fn waits(mut self, time: Micros) -> Self {
        self.at = self.at + time;
        self
    }

    fn rings(self) -> Self {
        self.input(Input::Timer(TimerId { id: 7, generation: 1 }))
    }

    fn gives_up(self) -> usize {
        self.effect(Effect::CloseRequest { id: ASKED }).times_broken("O-31")
    }
}

#[test]
fn o_31_no_timer_ends_a_stream_that_lives() {
    let with = |policy| EventStory::with(|settings| settings.retry.policy = policy).request(1, &[]).hears(ASKED, &[EVENT]);
    let story = || with(RetryPolicySource::default());
    let (short, long) = (Micros::from_secs(50), Micros::from_secs(90));
    assert_eq!(story().waits(long).rings().gives_up(), 0, "it was silent");
    assert_eq!(story().waits(short).rings().gives_up(), 1);
    assert_eq!(story().waits(short).hears(ASKED, &[EVENT]).waits(short).rings().gives_up(), 1, "an event came between");
    assert_eq!(story().waits(short).rings().input(Input::Cancel).gives_up(), 0, "the user ends it");
    let ended = story().input(Input::End { id: ASKED, how: AnswerEnd::Complete });
    assert_eq!(ended.waits(short).rings().gives_up(), 0, "it has ended");
    assert_eq!(with(RetryPolicySource::Engine).waits(short).rings().gives_up(), 0, "the engine has rules of its own");
}
