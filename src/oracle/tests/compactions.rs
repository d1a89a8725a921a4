//! O-12: what a compaction has to be held against.

use super::*;
use reenact_engine::contract::HookOutcome;
use reenact_engine::contract::Note;
use reenact_engine::emission::{CompactTrigger, CompactionLevel};
use reenact_engine::permission::PermissionWord;
use reenact_engine::settings::{CommandAction, HostMessage, MessagePlace, RequestPlace, SlashCommand};
use reenact_wire::usage::Usage;

impl EventStory {
    /// A request with one message of so many characters.
    pub(super) fn asks_about(self, turn: u32, characters: usize) -> Self {
        self.request(turn, &[(Role::User, &[Block::text(&"x".repeat(characters))])])
    }

    fn compacted(self) -> Self {
        self.compacted_from(9)
    }

    /// The engine says that there were so many tokens.
    fn compacted_from(self, tokens_before: u64) -> Self {
        self.compacted_to(tokens_before, 1)
    }

    /// The same, and how many there are now.
    fn compacted_to(self, tokens_before: u64, tokens_after: u64) -> Self {
        let boundary = Emission::CompactBoundary { trigger: CompactTrigger::Auto, tokens_before, tokens_after, kept: Vec::new() };
        let summary = Emission::Hidden { uuid: "u".into(), why: "summary".into(), text: "short".into() };
        self.effect(Effect::Emit(boundary)).effect(Effect::Emit(summary))
    }
}

#[test]
fn o_12_a_compaction_makes_the_context_smaller() {
    let asked = || EventStory::new().asks_about(1, 300).says(Block::text(&"y".repeat(60)));
    let says = |prompt| Input::Interrupt { prompt, content: [Block::text(&"z".repeat(300))].into() };
    let table = [
        (asked().asks_about(2, 500).compacted().asks_about(3, 100), &[][..], "smaller"),
        (asked().asks_about(2, 500).compacted().asks_about(3, 348), &[], "a little smaller: the answer counts"),
        (asked().asks_about(2, 500).compacted().asks_about(3, 360), &["O-12"], "as large"),
        (asked().asks_about(2, 500).compacted().asks_about(3, 900), &["O-12"], "larger"),
        (asked().asks_about(2, 500).compacted().input(says(1)).asks_about(3, 600), &[], "the user has said more since"),
        (asked().asks_about(2, 500).compacted().input(says(2)).asks_about(3, 600), &["O-12"], "that waits for its turn"),
        (EventStory::new().asks_about(1, 500).compacted().asks_about(2, 490), &[], "what an earlier session left"),
        (EventStory::new().asks_about(1, 500).compacted().asks_about(2, 600), &["O-12"], "it was asked about first"),
        (asked().compacted().asks_about(2, 40).compacted().asks_about(3, 36), &[], "twice"),
        (asked().compacted().asks_about(2, 40).compacted().asks_about(3, 400), &["O-12"], "twice, and larger"),
        (asked().asks_about(2, 900).asks_about(3, 1_800), &[], "nothing was compacted"),
    ];
    for (story, expected, reason) in table {
        let broken: Vec<_> = story.terminal().broken().into_iter().filter(|oracle| *oracle == "O-12").collect();
        assert_eq!(broken, expected, "{reason}");
    }
}

#[test]
fn o_12_a_request_for_the_next_summary_may_be_larger_than_what_it_summarises() {
    let asked = || EventStory::new().asks_about(1, 300).compacted().asks_about(2, 30).asks_about(3, 400);
    let finished = |terminal| Effect::Finished { prompt: 1, terminal };
    let failed = Note::Compaction { level: CompactionLevel::Auto, ran: false, why: "".into(), before: 9, after: 9 };
    let table = [
        (asked().compacted().asks_about(4, 30).says(Block::text("yes")), &[][..], "a summary came of it"),
        (asked().effect(Effect::Note(failed)).asks_about(4, 30).says(Block::text("yes")), &[], "it came to nothing"),
        (asked().effect(finished(Terminal::AbortedStreaming)), &[], "the user broke it off"),
        (asked().says(Block::text("yes")), &["O-12"], "an answer came of it"),
        (asked().effect(finished(Terminal::ModelError)), &["O-12"], "it was the last request"),
    ];
    for (story, expected, reason) in table {
        let broken: Vec<_> = story.terminal().broken().into_iter().filter(|oracle| *oracle == "O-12").collect();
        assert_eq!(broken, expected, "{reason}");
    }
}

#[test]
fn o_12_whatever_joined_the_context_counts_as_having_been_there() {
    let usage = |tokens| Usage { input_tokens: Some(tokens), ..Usage::default() };
    let answered = |tokens| Effect::Emit(Emission::Answered { id: ASKED, uuid: None, stop_reason: None, usage: usage(tokens) });
    let hook = |subject| {
        let outcome = HookOutcome { decision: Some(PermissionWord::Deny), reason: Some("n".repeat(300).into()), ..HookOutcome::default() };
        Input::HookEnded { hook: HookRun { hook: 0, subject }, outcome: outcome.into() }
    };
    let says = Input::Prompt { prompt: 2, content: [Block::text(&"z".repeat(300))].into() };
    let finished = Effect::Finished { prompt: 2, terminal: Terminal::BlockingLimit };
    let asked = || EventStory::new().asks_about(1, 300).says(Block::text("yes"));
    let table = [
        (asked().compacted().asks_about(2, 330), &["O-12"][..], "nothing was said since"),
        (asked().input(hook(HookSubject::Tool(run(0)))).compacted().asks_about(2, 330), &[], "a hook has objected"),
        (asked().input(hook(HookSubject::Compaction(ASKED))).compacted().asks_about(2, 330), &["O-12"], "a summary's hook adds to it"),
        (asked().input(says.clone()).effect(finished).compacted().asks_about(2, 330), &[], "a prompt came to nothing, and stays"),
        (asked().input(says).compacted().asks_about(2, 330), &["O-12"], "it still waits"),
        (asked().effect(answered(9_000)).compacted_from(9_000).asks_about(2, 330), &[], "the API counted more than the estimate"),
        (asked().effect(answered(9_000)).compacted_from(310).asks_about(2, 1_200), &["O-12"], "it was less by then, says the engine"),
        (asked().effect(answered(9_000)).compacted_from(u64::MAX).asks_about(2, 28_000), &["O-12"], "the engine says more than there was"),
        (asked().effect(answered(2)).compacted_from(2).asks_about(2, 200), &[], "the API counted less than the estimate"),
        (asked().compacted().asks_about(2, 30).asks_about(3, 330), &["O-12"], "nothing came of the first request after it"),
        (asked().compacted_to(100, 90).compacted().asks_about(2, 240), &[], "what was kept twice was there"),
        (asked().compacted().asks_about(2, 30).says(Block::text("yes")).asks_about(3, 330), &[], "something came of it"),
    ];
    for (story, expected, reason) in table {
        let broken: Vec<_> = story.terminal().broken().into_iter().filter(|oracle| *oracle == "O-12").collect();
        assert_eq!(broken, expected, "{reason}");
    }
}

/// A summarising request has no tools: it says nothing about how large requests with tools are.
#[test]
fn o_12_what_comes_with_the_messages_is_none_of_the_compaction_s() {
    let story = |characters| {
        let mut request = Request::new("m", 1).with_messages([Message::user(vec![Block::text(&"x".repeat(characters))])]);
        request.tools = Some(Json::from_value(&["t".repeat(600)]));
        let request = Effect::Request { id: RequestId { turn: 2, ..ASKED }, request: Arc::new(request) };
        let broken = EventStory::new().asks_about(1, 300).compacted().effect(request).terminal().broken();
        broken.into_iter().filter(|oracle| *oracle == "O-12").collect::<Vec<_>>()
    };
    assert_eq!(story(200), NONE, "the messages are fewer");
    assert_eq!(story(330), ["O-12"]);
}

#[test]
fn o_12_what_the_host_puts_in_was_not_there_before() {
    let story = |prompt| {
        let said = Arc::new(Message::user(vec![Block::text(&"h".repeat(300))]));
        let host = HostMessage { at: RequestPlace { prompt, request: 2 }, place: MessagePlace::Beside, message: said };
        let story = EventStory::with(|settings| settings.session.host_messages = vec![host]);
        story.asks_about(1, 300).compacted().asks_about(2, 500).says(Block::text("yes")).terminal().broken()
    };
    assert_eq!(story(1), NONE);
    assert_eq!(story(2), ["O-12"], "that is still to come");
}

#[test]
fn o_12_what_an_earlier_session_left_was_there() {
    let said = Arc::new(Message::user(vec![Block::text(&"h".repeat(900))]));
    let story = |history: Vec<Arc<Message>>| {
        let environment = Environment { history, ..environment(|_| ()) };
        let story = EventStory { oracles: Oracles::new(&environment), at: Time::ZERO };
        let story = story.input(Input::Prompt { prompt: 1, content: [].into() });
        // That the requests of this story hold nothing of it is another rule's.
        let others = [validity::ORACLE, super::super::leftovers::ORACLE, super::super::nothing_lost::ORACLE];
        story.asks_about(1, 40).compacted().asks_about(2, 200).terminal().broken_but(&others)
    };
    assert_eq!(story(vec![said]), NONE, "what was kept of it was never asked about");
    assert_eq!(story(Vec::new()), ["O-12"]);
}

#[test]
fn o_12_requests_do_not_go_round_in_circles() {
    let rounds = |count| (1..=count).fold(EventStory::new(), |story, turn| story.asks_about(turn, 9));
    assert_eq!(rounds(19).terminal().broken(), NONE);
    assert_eq!(rounds(20).terminal().broken(), ["O-12"]);
    let answered = rounds(19).says(Block::text("at last"));
    assert_eq!((20..38).fold(answered, |story, turn| story.asks_about(turn, 9)).terminal().broken(), NONE);
}

#[test]
fn o_12_and_c_4_counts_from_before_a_compaction_are_forgotten() {
    let told_then = |before: u64, is_counted: bool, then: fn(EventStory) -> EventStory| {
        let boundary = Emission::CompactBoundary { trigger: CompactTrigger::Auto, tokens_before: 990, tokens_after: 60, kept: Vec::new() };
        let note = Note::Compaction { level: CompactionLevel::Auto, ran: false, why: "".into(), before, after: before };
        let usage = Usage { input_tokens: Some(900), ..Usage::default() };
        let counted = Emission::Answered { uuid: None, id: ASKED, stop_reason: None, usage };
        let story = EventStory::new().effect(Effect::Emit(boundary));
        let story = if is_counted { story.effect(Effect::Emit(counted)) } else { story };
        then(story.effect(Effect::Note(note))).request(2, &[(Role::User, &[Block::text("hi")])]).times_broken("O-12")
    };
    let told = |before, is_counted| told_then(before, is_counted, |story| story);
    assert_eq!(told(60, false), 0);
    assert_eq!(told(990, false), 1);
    assert_eq!(told(990, true), 0, "the API has counted what is there now");
    assert_eq!(told_then(990, false, EventStory::terminal), 0, "the prompt has ended, and the next one takes the size anew");
}

/// The text that is taken out.
const DEAD: &str = "a text of some length that is taken out";

/// Two requests, with messages that are taken out between them.
fn snips(names: &[&str], after: &[(Role, &[Block])]) -> EventStory {
    let (hi, dead, more) = ([Block::text("hi")], [Block::text(DEAD)], [Block::text("go on")]);
    let names: Vec<Arc<str>> = names.iter().map(|name| Arc::from(*name)).collect();
    let story = EventStory::new().input(Input::MarkedDead { names: names.clone().into() });
    let story = story.request(1, &[(Role::User, &hi)]).says(Block::text(DEAD));
    let story = story.request(2, &[(Role::User, &hi), (Role::Assistant, &dead), (Role::User, &more)]);
    story.effect(Effect::Emit(Emission::SnipBoundary { names, tokens_freed: 1 })).request(3, after)
}

#[test]
fn o_12_what_is_taken_out_stays_out() {
    let (hi, dead, more) = ([Block::text("hi")], [Block::text(DEAD)], [Block::text("go on")]);
    let whole: [(Role, &[Block]); 4] = [(Role::User, &hi), (Role::Assistant, &dead), (Role::User, &more), (Role::Assistant, &more)];
    let snipped: [(Role, &[Block]); 2] = [(Role::User, &hi), (Role::User, &more)];
    let o_12 = |story: &EventStory| story.times_broken("O-12");
    assert_eq!(o_12(&snips(&["p1.r1.a1"], &whole)), 1, "nothing was taken out");
    assert_eq!(o_12(&snips(&["p1.r2.a1"], &whole)), 0, "the request before did not hold it");
    let snips = || snips(&["p1.r1.a1"], &snipped);
    assert_eq!(o_12(&snips()), 0);
    assert_eq!(o_12(&snips().request(4, &whole)), 1, "it is back");
    assert_eq!(o_12(&snips().request(4, &snipped).request(5, &whole)), 1);
    assert_eq!(o_12(&snips().says(Block::text(DEAD)).request(4, &whole)), 0, "the model has said it again");
}

#[test]
fn o_12_the_user_may_have_said_the_same_before() {
    let waits = |text: &str| {
        let (hi, dead) = ([Block::text("hi")], [Block::text(DEAD)]);
        let ask = CommandAction::Ask("a text of some length $ARGUMENTS".into());
        let story = EventStory::with(|settings| {
            settings.session.commands = vec![SlashCommand { name: "do".into(), does: ask, allows: Vec::new() }]
        });
        let names: Vec<Arc<str>> = vec!["p1.r1.a1".into()];
        let story = story.request(1, &[(Role::User, &hi), (Role::Assistant, &dead), (Role::User, &hi)]);
        let story = story.input(Input::Prompt { prompt: 2, content: [Block::text(text)].into() });
        let story = story.input(Input::MarkedDead { names: names.clone().into() });
        let story = story.effect(Effect::Emit(Emission::SnipBoundary { names, tokens_freed: 1 })).request(2, &[(Role::User, &hi)]);
        let mut request = Request::new("m", 1);
        request.messages = vec![Arc::new(Message { role: Role::User, content: dead.to_vec() })];
        story.effect(Effect::Request { id: RequestId { prompt: 2, ..ASKED }, request: Arc::new(request) }).times_broken("O-12")
    };
    assert_eq!(waits("something else"), 1);
    assert_eq!(waits(DEAD), 0);
    assert_eq!(waits("/do that is taken out"), 0, "the command stands for it");
}

#[test]
fn o_12_a_tool_use_that_is_taken_out_stays_out() {
    let (hi, used) = ([Block::text("hi")], [use_block("R", 0)]);
    let whole: [(Role, &[Block]); 2] = [(Role::User, &hi), (Role::Assistant, &used)];
    let snipped: [(Role, &[Block]); 1] = [(Role::User, &hi)];
    let names: Vec<Arc<str>> = vec!["p1.r1.a1".into()];
    let story = || {
        let story = EventStory::new().input(Input::MarkedDead { names: names.clone().into() }).says(use_block("R", 0));
        let boundary = Emission::SnipBoundary { names: names.clone(), tokens_freed: 1 };
        story.request(1, &snipped).request(2, &whole).effect(Effect::Emit(boundary)).request(3, &snipped)
    };
    let back = |story: EventStory| story.request(4, &whole).times_broken("O-12");
    assert_eq!(story().times_broken("O-12"), 0);
    assert_eq!(back(story()), 1);
    assert_eq!(back(story().says(use_block("R", 0))), 0, "the model has asked for it again");
}
