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
fn o_31_a_request_that_is_silent_for_too_long_is_ended() {
    let after = |story: EventStory, seconds| story.waits(Micros::from_secs(seconds)).input(Input::Cancel).times_broken("O-31");
    let asked = || EventStory::with(|settings| settings.retry.policy = RetryPolicySource::default()).request(1, &[]);
    let (head, idle) = (Settings::default().retry.head_timeout.0 / 1_000_000, Settings::default().retry.stream_idle.0 / 1_000_000);
    assert_eq!(after(asked(), head - 1), 0);
    assert_eq!(after(asked(), head + 1), 1, "no head");
    assert_eq!(after(asked().hears(ASKED, &[EVENT]), idle + 1), 1, "no event");
    assert_eq!(after(asked().hears(ASKED, &[EVENT]).effect(Effect::CloseRequest { id: ASKED }), idle + 1), 0, "it was ended");
    let free = EventStory::with(|settings| settings.retry.policy = RetryPolicySource::Engine).request(1, &[]);
    assert_eq!(after(free, head + 1), 0, "the engine has rules of its own");
    let patient = EventStory::with(|settings| {
        settings.retry.policy = RetryPolicySource::default();
        settings.retry.head_timeout = Micros::ZERO;
    });
    assert_eq!(after(patient.request(1, &[]), head + 1), 0, "there is no limit");
}

#[test]
fn o_31_no_timer_ends_a_stream_that_lives() {
    let with = |policy| EventStory::with(|settings| settings.retry.policy = policy).request(1, &[]).hears(ASKED, &[EVENT]);
    let story = || with(RetryPolicySource::default());
    // Each event takes a millisecond of its own.
    let (short, long) = (Micros::from_secs(50), Micros::from_millis(89_999));
    assert_eq!(story().waits(long).rings().gives_up(), 0, "it was silent");
    assert_eq!(story().waits(short).rings().gives_up(), 1);
    assert_eq!(story().waits(short).hears(ASKED, &[EVENT]).waits(short).rings().gives_up(), 1, "an event came between");
    assert_eq!(story().waits(short).rings().input(Input::Cancel).gives_up(), 0, "the user ends it");
    let mut beside = story().waits(short).rings();
    beside.oracles.input(beside.at, &Agent::child("t0"), &Input::ToolEnded { run: run(0), outcome: Arc::new(ToolOutcome::text("x")) });
    assert_eq!(beside.gives_up(), 0, "a child's tool ends it");
    let ended = story().input(Input::End { id: ASKED, how: AnswerEnd::Complete });
    assert_eq!(ended.waits(short).rings().gives_up(), 0, "it has ended");
    assert_eq!(with(RetryPolicySource::Engine).waits(short).rings().gives_up(), 0, "the engine has rules of its own");
}
