//! Requests extend each other (O-21).

use super::*;
use reenact_engine::contract::{FailureCause, Note};
use reenact_engine::emission::{CompactTrigger, CompactionLevel};

impl EventStory {
    fn sends_texts(self, turn: u32, texts: &[&str]) -> Self {
        let said: Vec<[Block; 1]> = texts.iter().map(|text| [Block::text(text)]).collect();
        let role = |place: usize| if place.is_multiple_of(2) { Role::User } else { Role::Assistant };
        let messages: Vec<(Role, &[Block])> = said.iter().enumerate().map(|(place, block)| (role(place), &block[..])).collect();
        self.request(turn, &messages)
    }

    fn o_21(&self) -> usize {
        self.times_broken("O-21")
    }
}

#[test]
fn o_21_each_request_begins_with_the_one_before() {
    let asked = || EventStory::new().sends_texts(1, &["a"]);
    assert_eq!(asked().sends_texts(2, &["a", "b", "c"]).o_21(), 0);
    assert_eq!(asked().sends_texts(2, &["x", "b", "c"]).o_21(), 1, "the first message is another one");
    assert_eq!(asked().sends_texts(2, &["a", "b", "c"]).sends_texts(3, &["a", "x", "c"]).o_21(), 1);
    assert_eq!(asked().sends_texts(2, &["a"]).o_21(), 0, "the same again");
}

#[test]
fn o_21_a_command_of_the_user_announces_an_edit() {
    for (text, count) in [("/clear", 0), ("clear", 1)] {
        let said = Input::Prompt { prompt: 2, content: [Block::text(text)].into() };
        assert_eq!(EventStory::new().sends_texts(1, &["a"]).input(said).sends_texts(2, &["b"]).o_21(), count, "{text}");
    }
}

#[test]
fn o_21_an_edit_that_was_announced_is_none_of_its_affairs() {
    let kept = Vec::new();
    let boundary = Emission::CompactBoundary { trigger: CompactTrigger::Auto, tokens_before: 9, tokens_after: 1, kept };
    let level = CompactionLevel::Microcompact;
    let note = |ran| Note::Compaction { level, ran, why: "w".into(), before: 9, after: 1 };
    let failed = Note::ToolFailed { run: run(0), cause: FailureCause::TimedOut };
    let table = [(Effect::Emit(boundary), 0), (Effect::Note(note(true)), 0), (Effect::Note(note(false)), 1), (Effect::Note(failed), 1)];
    for (effect, count) in table {
        let asked = EventStory::new().sends_texts(1, &["a", "b", "c"]).effect(effect.clone());
        assert_eq!(asked.sends_texts(2, &["summary", "b"]).o_21(), count, "{effect:?}");
    }
    let refused = EventStory::new().sends_texts(1, &["a"]).input(Input::Head { id: ASKED, status: 413, headers: [].into() });
    assert_eq!(refused.sends_texts(2, &["b"]).o_21(), 0, "it was too large");
}

#[test]
fn o_21_after_a_request_of_its_own_a_compaction_gives_the_conversation_back() {
    let summarised = || EventStory::new().sends_texts(1, &["a"]).sends_texts(2, &["a", "b", "Summarise."]);
    assert_eq!(summarised().sends_texts(3, &["a", "b", "c"]).o_21(), 0);
    assert_eq!(summarised().sends_texts(3, &["x", "b", "c"]).o_21(), 1);
    assert_eq!(summarised().sends_texts(3, &["a", "x", "c"]).o_21(), 1, "the answer before the instruction is another one");
    let said = |role, text| (role, [Block::text(text)]);
    let before_system = |next: &[&str]| {
        let said = [said(Role::User, "a"), said(Role::Assistant, "b"), said(Role::User, "Summarise."), said(Role::System, "be brief")];
        let messages: Vec<(Role, &[Block])> = said.iter().map(|(role, block)| (*role, &block[..])).collect();
        EventStory::new().sends_texts(1, &["a"]).request(2, &messages).sends_texts(3, next).o_21()
    };
    assert_eq!(before_system(&["a", "b", "c"]), 0, "a message of the system stands behind the instruction");
    assert_eq!(before_system(&["a", "x", "c"]), 1);
}

#[test]
fn o_21_a_command_that_waited_announces_an_edit_when_it_has_ended() {
    let said = |text: &str| Input::Prompt { prompt: 2, content: [Block::text(text)].into() };
    let waited = |text: &str| EventStory::new().sends_texts(1, &["a"]).input(said(text)).sends_texts(2, &["a", "b"]);
    let aborted = |text: &str| waited(text).effect(Effect::Finished { prompt: 2, terminal: Terminal::AbortedStreaming });
    assert_eq!(aborted("/clear").sends_texts(3, &["c"]).o_21(), 0);
    assert_eq!(aborted("clear").sends_texts(3, &["c"]).o_21(), 1);
}

#[test]
fn o_21_an_edit_of_the_cache_is_sent_again() {
    let sends = |story: EventStory, turn: u32, extra: &'static str| {
        let request = Request { extra: Json::trusted(extra), ..Request::new("m", 1) };
        story.effect(Effect::Request { id: RequestId { turn, ..ASKED }, request: Arc::new(request) })
    };
    let edit = r#"{"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]}}"#;
    let edited = || sends(EventStory::new(), 1, edit);
    assert_eq!(sends(edited(), 2, edit).o_21(), 0);
    assert_eq!(sends(edited(), 2, "{}").o_21(), 1);
    let boundary = Emission::CompactBoundary { trigger: CompactTrigger::Auto, tokens_before: 9, tokens_after: 1, kept: Vec::new() };
    assert_eq!(sends(edited().effect(Effect::Emit(boundary)), 2, "{}").o_21(), 0, "there is nothing left to clear");
}

#[test]
fn o_21_nothing_of_a_cleared_conversation_is_sent() {
    let says = |text: &str| Input::Prompt { prompt: 2, content: [Block::text(text)].into() };
    let sends = |story: EventStory| {
        let request =
            Request::new("m", 1).with_messages([Message::user(vec![Block::text("a")]), Message::assistant(vec![Block::text("b")])]);
        story.effect(Effect::Request { id: RequestId { prompt: 3, ..ASKED }, request: Arc::new(request) }).o_21()
    };
    let cleared = |text: &str, terminal| EventStory::new().input(says(text)).effect(Effect::Finished { prompt: 2, terminal });
    assert_eq!(sends(cleared("/clear", Terminal::Completed)), 1);
    assert_eq!(sends(cleared("/model n", Terminal::Completed)), 0, "another command");
    assert_eq!(sends(cleared("/clear", Terminal::AbortedStreaming)), 0, "nobody knows");
}

#[test]
fn o_21_no_request_asks_for_a_stream_against_the_settings() {
    let asks = |stream: bool| {
        let request = Request { stream, ..Request::new("m", 1) };
        let story = EventStory::with(|settings| settings.stream = false);
        story.effect(Effect::Request { id: ASKED, request: Arc::new(request) }).times_broken("O-21")
    };
    assert_eq!((asks(false), asks(true)), (0, 1));
}
