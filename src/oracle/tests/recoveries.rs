//! O-34: recoveries are tried, as often as their rules say.

use super::*;
use reenact_engine::contract::{Note, StagedSummary};
use reenact_engine::emission::{CompactTrigger, CompactionLevel, ResultMessage, SessionPhase, Transition};
use reenact_engine::settings::{ContextWindow, QueuedMessagePlace};
use reenact_wire::usage::Usage;

const TOO_LONG: &str = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}"#;

fn asked(turn: u32) -> RequestId {
    RequestId { turn, ..ASKED }
}

impl EventStory {
    /// A run of an engine that notes its phases.
    fn noting(change: impl FnOnce(&mut Settings)) -> Self {
        Self::with(change).effect(Effect::Note(Note::Phase(SessionPhase::MainLoop)))
    }

    /// It shows as many texts of the model as there are after a raised cap in the first turn.
    fn asks_with_cap(self, turn: u32, max_tokens: u64) -> Self {
        let shown = vec![Block::text("well"); turn.saturating_sub(1).max(1) as usize];
        let said = [Message::user(vec![Block::text("hi")]), Message::assistant(shown)];
        let request = Request::new("claude-sonnet-4-5", max_tokens).with_messages(said);
        self.effect(Effect::Request { id: asked(turn), request: Arc::new(request) })
    }

    /// All of an answer comes, and comes out.
    fn wholly_answered(self, turn: u32, stop_reason: &str) -> Self {
        let end = Emission::Answered { id: asked(turn), uuid: None, stop_reason: Some(stop_reason.into()), usage: Usage::default() };
        let message = AssistantMessage {
            uuid: "u".into(),
            id: asked(turn),
            api_id: "".into(),
            model: "".into(),
            block: Block::text("so"),
            error: None,
        };
        let story = self.effect(Effect::Emit(Emission::Assistant(Arc::new(message)))).hears(asked(turn), &[r#"{"type":"message_stop"}"#]);
        story.effect(Effect::Emit(end))
    }

    fn passes(self, transition: Transition) -> Self {
        self.effect(Effect::Note(Note::Transition(transition)))
    }

    fn refused(self, turn: u32) -> Self {
        let id = asked(turn);
        let story = self.input(Input::Head { id, status: 400, headers: [].into() });
        story.input(Input::Body { id, body: TOO_LONG.into() }).input(Input::End { id, how: AnswerEnd::Complete })
    }

    fn notes(self, level: CompactionLevel, ran: bool, before: u64) -> Self {
        self.effect(Effect::Note(Note::Compaction { level, ran, why: "".into(), before, after: before }))
    }

    /// A compaction begins.
    fn asks_hook(self) -> Self {
        let hook = HookRun { hook: 0, subject: HookSubject::Compaction(ASKED) };
        let input = HookInput { event: HookEvent::PreCompact, tool: None, data: Json::trusted("{}"), stop_hook_active: false };
        self.effect(Effect::RunHook { hook, input: Arc::new(input) })
    }

    fn finishes(self, terminal: Terminal) -> usize {
        self.effect(Effect::Finished { prompt: 1, terminal }).times_broken("O-34")
    }
}

#[test]
fn o_34_the_recovery_that_an_answer_calls_for_is_made() {
    use Transition::{MaxOutputTokensEscalate as Raise, MaxOutputTokensRecovery as Recover, NextTurn};
    let cut = || EventStory::noting(|_| ()).asks_with_cap(1, 8_000).wholly_answered(1, "max_tokens");
    let raised = || cut().passes(Raise).asks_with_cap(2, 64_000).wholly_answered(2, "max_tokens");
    let again = |story: EventStory, turn| story.passes(Recover).asks_with_cap(turn, 64_000).wholly_answered(turn, "max_tokens");
    let used_up = || (3..6).fold(raised(), again);
    let table = [
        (cut().finishes(Terminal::Completed), 1, "nothing was tried"),
        (cut().finishes(Terminal::AbortedStreaming), 0, "the user broke it off"),
        (cut().finishes(Terminal::MaxBudget), 0, "no money is left"),
        (cut().passes(Recover).finishes(Terminal::Completed), 1, "the cap was to be raised first"),
        (raised().finishes(Terminal::Completed), 1, "the model was not asked to go on"),
        (raised().passes(Raise).finishes(Terminal::Completed), 2, "the cap is raised once, and something else was due"),
        (used_up().finishes(Terminal::Completed), 0, "all is used up"),
        (used_up().passes(Recover).finishes(Terminal::Completed), 1, "once more than may be"),
        (used_up().passes(NextTurn).asks_with_cap(6, 64_000).finishes(Terminal::Completed), 1, "the cap holds for its chain"),
        (
            used_up().passes(NextTurn).asks_with_cap(6, 8_000).wholly_answered(6, "max_tokens").finishes(Terminal::Completed),
            1,
            "counts begin anew",
        ),
        (cut().passes(Raise).asks_with_cap(2, 8_000).finishes(Terminal::Completed), 1, "the cap was not raised"),
        (
            EventStory::new().asks_with_cap(1, 8_000).wholly_answered(1, "max_tokens").finishes(Terminal::Completed),
            0,
            "an engine of other habits",
        ),
    ];
    for (broken, expected, reason) in table {
        assert_eq!(broken, expected, "{reason}");
    }
}

#[test]
fn o_34_an_answer_that_is_not_whole_calls_for_nothing() {
    let end = Emission::Answered { id: ASKED, uuid: None, stop_reason: Some("max_tokens".into()), usage: Usage::default() };
    let story = || EventStory::noting(|_| ()).asks_with_cap(1, 8_000).effect(Effect::Emit(end.clone()));
    assert_eq!(story().finishes(Terminal::Completed), 0);
    let stop = r#"{"type":"message_stop"}"#;
    assert_eq!(story().hears(ASKED, &[stop]).finishes(Terminal::Completed), 1);
}

#[test]
fn o_34_a_refusal_is_tried_once_more_where_that_is_on() {
    let refused = |on: bool| EventStory::noting(|settings| settings.retry_refusal = on).asks_with_cap(1, 9).wholly_answered(1, "refusal");
    let again = |on| refused(on).passes(Transition::RefusalRetry).asks_with_cap(2, 9).wholly_answered(2, "refusal");
    assert_eq!(refused(false).finishes(Terminal::Completed), 0);
    assert_eq!(refused(true).finishes(Terminal::Completed), 1, "it was not tried");
    assert_eq!(again(true).finishes(Terminal::Completed), 0);
    assert_eq!(again(false).finishes(Terminal::Completed), 1, "it is off");
    assert_eq!(again(true).passes(Transition::RefusalRetry).finishes(Terminal::Completed), 1, "it was tried twice");
}

#[test]
fn o_34_the_conversation_is_compacted_once_in_a_chain() {
    let story = || EventStory::noting(|_| ()).asks_with_cap(1, 8).refused(1);
    let compacted = || story().notes(CompactionLevel::Reactive, true, 9).passes(Transition::ReactiveCompactRetry);
    let again = || compacted().asks_with_cap(2, 8).refused(2);
    let off = || EventStory::noting(|settings| settings.compaction.reactive = false).asks_with_cap(1, 8).refused(1);
    let worker = || EventStory::noting(|settings| settings.background = true).asks_with_cap(1, 8).refused(1);
    let table = [
        (story().finishes(Terminal::PromptTooLong), 1, "it was not tried"),
        (story().finishes(Terminal::AbortedStreaming), 0, "the user broke it off"),
        (story().notes(CompactionLevel::Reactive, false, 9).finishes(Terminal::PromptTooLong), 0, "it was tried, and failed"),
        (off().finishes(Terminal::PromptTooLong), 0, "it is off"),
        (off().notes(CompactionLevel::Reactive, true, 9).finishes(Terminal::Completed), 1, "it is off, and was tried"),
        (worker().finishes(Terminal::PromptTooLong), 0, "background work does not summarise"),
        (again().finishes(Terminal::PromptTooLong), 0, "once is enough"),
        (again().notes(CompactionLevel::Reactive, true, 9).finishes(Terminal::PromptTooLong), 1, "twice is too often"),
        (again().passes(Transition::StopHookBlocking).notes(CompactionLevel::Reactive, true, 9).finishes(Terminal::Completed), 1, "Q-16"),
        (again().passes(Transition::NextTurn).asks_with_cap(3, 8).refused(3).finishes(Terminal::PromptTooLong), 1, "another chain"),
    ];
    for (broken, expected, reason) in table {
        assert_eq!(broken, expected, "{reason}");
    }
}

#[test]
fn o_34_nothing_to_summarise_and_an_open_breaker_are_reasons() {
    let request = Request::new("m", 8).with_messages([Message::user(vec![Block::text("hi")])]);
    let alone = EventStory::noting(|_| ()).effect(Effect::Request { id: ASKED, request: Arc::new(request) }).refused(1);
    assert_eq!(alone.finishes(Terminal::PromptTooLong), 0);
    let failed = |times| {
        let story = (0..times).fold(EventStory::noting(|_| ()).asks_with_cap(1, 8), |story, _| {
            let story = story.refused(1).notes(CompactionLevel::Reactive, false, 9);
            story.effect(Effect::Finished { prompt: 1, terminal: Terminal::PromptTooLong })
        });
        story.asks_with_cap(2, 8).refused(2).finishes(Terminal::PromptTooLong)
    };
    assert_eq!(failed(2), 1);
    assert_eq!(failed(3), 0, "the circuit breaker may be open");
}

#[test]
fn o_34_results_with_a_message_of_the_user_stay_until_it_is_answered() {
    let refused_after = |terminal, place| {
        let story = EventStory::noting(|settings| settings.queued_messages = place).asks_with_cap(1, 8);
        let taken_in = Effect::Emit(Emission::QueuedCommand { prompt: 1, content: [Block::text("and?")].into() });
        let ended = story.effect(taken_in).effect(Effect::Finished { prompt: 1, terminal });
        ended.asks_with_cap(2, 8).refused(2).finishes(Terminal::PromptTooLong)
    };
    let in_result = QueuedMessagePlace::InResult;
    assert_eq!(refused_after(Terminal::AbortedStreaming, in_result), 0, "nothing else may be there");
    assert_eq!(refused_after(Terminal::Completed, in_result), 1, "it was answered");
    assert_eq!(refused_after(Terminal::AbortedStreaming, QueuedMessagePlace::default()), 1, "it stands by itself");
}

#[test]
fn o_34_staged_summaries_come_first() {
    let staged = || Input::CollapseStaged(Arc::new(StagedSummary { from: "a".into(), to: "b".into(), summary: "s".into() }));
    let story = |change: fn(&mut Settings)| EventStory::noting(change).input(staged()).asks_with_cap(1, 8).refused(1);
    let plain = || story(|_| ());
    let compacts = |story: EventStory| story.notes(CompactionLevel::Reactive, true, 9).finishes(Terminal::Completed);
    assert_eq!(compacts(plain()), 1);
    assert_eq!(compacts(plain().notes(CompactionLevel::Collapse, true, 9)), 0, "they were committed");
    assert_eq!(compacts(plain().notes(CompactionLevel::Collapse, false, 9)), 0, "they were of no use");
    assert_eq!(compacts(story(|settings| settings.compaction.collapse = false)), 0, "it is off");
    let looked = |window, before| {
        let story = EventStory::noting(|settings| settings.compaction.context_window = window).asks_with_cap(1, 8).input(staged());
        compacts(story.notes(CompactionLevel::Collapse, false, before).asks_with_cap(2, 8).refused(2))
    };
    assert_eq!(looked(ContextWindow::Tokens(30_000), 8_999), 1, "they were left for later: that is 90 % of 10,000");
    assert_eq!(looked(ContextWindow::Tokens(30_000), 9_000), 0, "they were looked at, and discarded");
    assert_eq!(looked(ContextWindow::None, 1), 0, "nobody can say");
    let window = |settings: &mut Settings| settings.compaction.context_window = ContextWindow::Tokens(30_000);
    let discarded = story(window).notes(CompactionLevel::Collapse, false, 1).passes(Transition::NextTurn).asks_with_cap(2, 8).refused(2);
    assert_eq!(compacts(discarded), 0, "after a refusal no threshold counts: it was discarded");
}

#[test]
fn o_34_a_summary_staged_behind_the_first_hook_of_a_compaction_is_too_late() {
    let staged = || Input::CollapseStaged(Arc::new(StagedSummary { from: "a".into(), to: "b".into(), summary: "s".into() }));
    let refused = || EventStory::noting(|_| ()).asks_with_cap(1, 8).refused(1);
    let compacts = |story: EventStory| story.notes(CompactionLevel::Reactive, true, 9).finishes(Terminal::Completed);
    assert_eq!(compacts(refused().asks_hook().input(staged())), 0);
    assert_eq!(compacts(refused().input(staged()).asks_hook()), 1, "it was there before");
}

#[test]
fn o_34_the_hard_limit_is_no_end_while_something_helps() {
    let story = || EventStory::noting(|_| ()).asks_with_cap(1, 8).wholly_answered(1, "end_turn");
    assert_eq!(story().finishes(Terminal::BlockingLimit), 1);
    let boundary = Emission::CompactBoundary { trigger: CompactTrigger::Auto, tokens_before: 9, tokens_after: 1, kept: Vec::new() };
    assert_eq!(story().effect(Effect::Emit(boundary)).finishes(Terminal::BlockingLimit), 0, "there is nothing more to summarise");
}

#[test]
fn o_34_a_token_budget_asks_for_more_and_structured_output_is_asked_for_five_times() {
    let noting = || EventStory::noting(|settings| settings.session.token_budget = Some(1_000)).asks_with_cap(1, 8);
    let ends_with = |tokens: u64, nudges: usize| {
        let story = (0..nudges).fold(noting(), |story, _| story.passes(Transition::TokenBudgetContinuation));
        story
            .wholly_answered(1, "end_turn")
            .effect(Effect::Emit(Emission::Result(Box::new(result_with(tokens)))))
            .finishes(Terminal::Completed)
    };
    assert_eq!(ends_with(899, 0), 1);
    assert_eq!(ends_with(499, 3), 0, "that is often enough, and the last two gave little");
    assert_eq!(ends_with(899, 3), 1, "the last one gave much");
    assert_eq!(ends_with(900, 0), 0);
    let mut beside = noting();
    beside.oracles.effect(beside.at, &Agent::child("t0"), &Effect::Emit(Emission::Result(Box::new(result_with(990)))));
    assert_eq!(beside.passes(Transition::TokenBudgetContinuation).times_broken("O-34"), 0, "an engine may count its own output alone");
    let nudges = |times| (0..times).fold(noting(), |story, _| story.passes(Transition::TokenBudgetContinuation)).times_broken("O-34");
    assert_eq!((nudges(3), nudges(4)), (0, 1), "none of them gave anything");
    let hidden = || Effect::Emit(Emission::Hidden { uuid: "u".into(), why: "structured_output".into(), text: "please".into() });
    let times = |count| (0..count).fold(EventStory::new(), |story, _| story.effect(hidden())).times_broken("O-34");
    assert_eq!((times(5), times(6)), (0, 1));
}

/// The result of a prompt that ended well, with so many output tokens.
pub(super) fn result_with(tokens: u64) -> ResultMessage {
    ResultMessage { usage: Usage { output_tokens: Some(tokens), ..Usage::default() }, ..accounts::result_of(1, "") }
}

#[test]
fn o_34_a_cut_answer_stays_and_one_that_is_asked_for_again_does_not() {
    let says = |texts: usize| {
        let said = [Message::user(vec![Block::text("hi")]), Message::assistant(vec![Block::text("well"); texts])];
        Request::new("m", 500).with_messages(said)
    };
    let asks = |story: EventStory, turn, texts| story.effect(Effect::Request { id: asked(turn), request: Arc::new(says(texts)) });
    let goes_on = |stop_reason, transition, texts| {
        let story = asks(EventStory::noting(|settings| settings.retry_refusal = true), 1, 1).wholly_answered(1, stop_reason);
        asks(story.passes(transition), 2, texts).times_broken("O-34")
    };
    let table = [
        ("max_tokens", Transition::MaxOutputTokensRecovery, [1, 0]),
        ("pause_turn", Transition::PauseTurnResume, [1, 0]),
        ("end_turn", Transition::StopHookBlocking, [1, 0]),
        ("refusal", Transition::RefusalRetry, [0, 1]),
    ];
    for (stop_reason, transition, expected) in table {
        assert_eq!([1, 2].map(|texts| goes_on(stop_reason, transition, texts)), expected, "{}", transition.as_str());
    }
    let story = asks(EventStory::noting(|_| ()), 1, 1).wholly_answered(1, "pause_turn").passes(Transition::PauseTurnResume);
    assert_eq!(asks(story.notes(CompactionLevel::Snip, true, 9), 2, 0).times_broken("O-34"), 0, "the conversation was cut");
}

#[test]
fn o_34_a_command_that_waited_for_a_prompt_leaves_nothing_to_summarise() {
    let says = |text: &str| Input::Prompt { prompt: 2, content: [Block::text(text)].into() };
    let ends = |prompt, terminal| Effect::Finished { prompt, terminal };
    let blocked = |text: &str| {
        let asked = EventStory::noting(|settings| settings.compaction.reactive = true).input(says(text)).asks_with_cap(2, 9);
        let done = asked.effect(ends(1, Terminal::AbortedStreaming)).effect(ends(2, Terminal::Completed));
        done.effect(ends(3, Terminal::BlockingLimit)).times_broken("O-34")
    };
    assert_eq!(blocked("/clear"), 0);
    assert_eq!(blocked("clear"), 1);
}
