//! Stories about answers that do not count, about errors and budgets (O-2, O-5, O-6, O-7, O-13, O-17).

use super::*;
use reenact_engine::budget::NanoUsd;
use reenact_engine::emission::{Note, Transition};
use reenact_wire::usage::Usage;

const SECOND: RequestId = RequestId { attempt: 2, ..ASKED };

fn thinking(text: &str) -> Block {
    Block::from(Json::trusted(format!(r#"{{"type":"thinking","thinking":"{text}","signature":"s"}}"#)))
}

impl EventStory {
    fn with_block(self, id: RequestId, uuid: &str, block: Block) -> Self {
        let message = AssistantMessage { uuid: uuid.into(), id, api_id: "".into(), model: "".into(), block, error: None };
        self.effect(Effect::Emit(Emission::Assistant(Arc::new(message))))
    }

    fn error(self, uuid: &str) -> Self {
        let (block, error) = (Block::text("x"), Some("x".into()));
        let message = AssistantMessage { uuid: uuid.into(), id: ASKED, api_id: "".into(), model: "".into(), block, error };
        self.effect(Effect::Emit(Emission::Assistant(Arc::new(message))))
    }

    fn tombstone(self, uuid: &str) -> Self {
        self.effect(Effect::Emit(Emission::Tombstone { uuid: uuid.into() }))
    }

    fn discards(self, id: RequestId) -> Self {
        self.effect(Effect::Note(Note::Discarded { id, running: Vec::new() }))
    }

    fn falls_back(self) -> Self {
        let (from, to, reason) = ("m".into(), "n".into(), "x".into());
        self.effect(Effect::Emit(Emission::ModelFallback { id: ASKED, from, to, reason }))
    }

    fn goes_on(self, transition: Transition) -> Self {
        self.effect(Effect::Note(Note::Transition(transition)))
    }

    fn answered(self, stop_reason: &str) -> Self {
        let stop_reason = Some(stop_reason.into());
        self.effect(Effect::Emit(Emission::Answered { id: ASKED, uuid: None, stop_reason, usage: Usage::default() }))
    }

    fn asks_model(self, id: RequestId, model: &str, blocks: &[Block]) -> Self {
        let mut request = Request::new(model, 1);
        request.messages = vec![Arc::new(Message::assistant(blocks.to_vec()))];
        self.effect(Effect::Request { id, request: Arc::new(request) })
    }

    fn tells(self, turn: u32, left: u64) -> Self {
        let mut request = Request::new("m", 1);
        request.extra = Json::trusted(format!(r#"{{"output_config":{{"task_budget":{{"remaining":{left}}}}}}}"#));
        self.effect(Effect::Request { id: RequestId { turn, ..ASKED }, request: Arc::new(request) })
    }

    fn ended_with(self, terminal: Terminal) -> Self {
        self.effect(Effect::Finished { prompt: 1, terminal })
    }

    /// A request to Sonnet, which this model answers.
    fn spends(self, answered_by: &str, output_tokens: u64) -> Self {
        let usage = format!(r#"{{"output_tokens":{output_tokens}}}"#);
        let start = format!(r#"{{"type":"message_start","message":{{"id":"a","model":"{answered_by}","usage":{usage}}}}}"#);
        let asked = self.effect(Effect::Request { id: ASKED, request: Arc::new(Request::new(SONNET, 1)) });
        let stream = Input::Stream { id: ASKED, event: Arc::new(StreamEvent::decode("message_start", &start)) };
        asked.input(stream).effect(Effect::CloseRequest { id: ASKED })
    }
}

#[test]
fn o_5_the_tools_of_an_attempt_that_is_replaced_are_told_to_stop() {
    let asked = || EventStory::new().asks("R", 0);
    let again = |story: EventStory| story.asks_model(SECOND, "m", &[]).times_broken("O-5");
    assert_eq!(again(asked()), 1);
    assert_eq!(again(asked().effect(Effect::StopTool { run: run(0) })), 0);
    assert_eq!(again(asked().ends(0)), 0);
    let left = asked().effect(Effect::Note(Note::LeftRunning { id: ASKED, runs: Vec::new() })).tombstone("u");
    assert_eq!(again(left), 0, "its tools go on to their ends");
    assert_eq!(asked().request(2, &[]).times_broken("O-5"), 0, "the next turn is no other attempt");
}

#[test]
fn o_2_what_is_taken_back_is_owed_no_result() {
    let asks = || EventStory::new().with_block(ASKED, "a", use_block("R", 0));
    assert_eq!(asks().tombstone("a").terminal().broken(), NONE);
    assert_eq!(asks().tombstone("b").terminal().broken(), ["O-2"]);
    assert_eq!(asks().tombstone("a").result(0).terminal().broken(), ["O-2"], "a result of what is gone");
}

#[test]
fn o_5_a_discarded_attempt_is_taken_back_whole_and_silent() {
    let said = || EventStory::new().with_block(ASKED, "a", Block::text("x")).with_block(ASKED, "b", Block::text("y"));
    let next = |story: EventStory| story.asks_model(RequestId { turn: 2, ..ASKED }, "m", &[]).terminal().broken();
    assert_eq!(next(said().tombstone("a").tombstone("b").discards(ASKED)), NONE);
    assert_eq!(next(said().tombstone("a").discards(ASKED)), ["O-5"], "b still stands");
    assert_eq!(said().discards(ASKED).terminal().broken(), ["O-5", "O-5"], "the prompt ends, and both stand");
    assert_eq!(next(said().discards(ASKED).falls_back()), NONE, "another model takes over: what was said stays");
    assert_eq!(next(said().tombstone("a").tombstone("b").discards(ASKED).progress(0)), ["O-5"]);
    assert_eq!(next(said().tombstone("a").tombstone("b").discards(ASKED).with_block(SECOND, "c", Block::text("z"))), NONE);
}

#[test]
fn o_5_a_cut_answer_that_is_asked_for_again_is_taken_back() {
    let cut = || EventStory::new().with_block(ASKED, "a", Block::text("x")).answered("max_tokens");
    let escalated = |story: EventStory| story.goes_on(Transition::MaxOutputTokensEscalate).terminal().broken();
    assert_eq!(escalated(cut().tombstone("a")), NONE);
    assert_eq!(escalated(cut()), ["O-5"]);
}

#[test]
fn o_6_thinking_goes_to_the_model_that_signed_it() {
    let third = RequestId { turn: 2, ..ASKED };
    let story = || EventStory::new().asks_model(ASKED, "m", &[]).with_block(ASKED, "a", thinking("hm"));
    let close = |story: EventStory| story.effect(Effect::CloseRequest { id: ASKED });
    assert_eq!(close(story()).asks_model(third, "m", &[thinking("hm")]).terminal().broken(), NONE);
    assert_eq!(close(story()).asks_model(third, "n", &[Block::text("x")]).terminal().broken(), NONE);
    assert_eq!(close(story()).asks_model(third, "n", &[thinking("hm")]).terminal().broken(), ["O-6"]);
    assert_eq!(close(story()).asks_model(third, "n", &[thinking("other")]).terminal().broken(), NONE, "nobody knows whose it is");
}

#[test]
fn o_7_an_error_is_the_last_word_and_comes_once() {
    let cut = || EventStory::new().with_block(ASKED, "a", Block::text("x")).answered("max_tokens");
    assert_eq!(cut().error("e").terminal().broken(), NONE);
    assert_eq!(cut().terminal().broken(), ["O-7"], "nobody was told");
    assert_eq!(cut().error("e").error("f").terminal().broken(), ["O-7"], "told twice");
    assert_eq!(cut().goes_on(Transition::MaxOutputTokensRecovery).terminal().broken(), NONE, "recovered");
    assert_eq!(cut().error("e").goes_on(Transition::MaxOutputTokensRecovery).terminal().broken(), ["O-7"]);
    let lost = || EventStory::new().input(Input::End { id: ASKED, how: AnswerEnd::Reset });
    assert_eq!(lost().ended_with(Terminal::ModelError).broken(), ["O-7"], "lost without a word");
    assert_eq!(lost().error("e").ended_with(Terminal::ModelError).broken(), NONE);
}

/// The model of the stories about money, and its budget.
const SONNET: &str = "claude-sonnet-4-5";

fn limited_to_cents(settings: &mut Settings) {
    settings.model = SONNET.into();
    settings.session.max_budget = Some(NanoUsd::read("0.03").unwrap());
}

#[test]
fn o_13_no_request_after_a_budget_is_passed() {
    let with_money = |tokens| EventStory::with(limited_to_cents).spends("claude-sonnet-4-5", tokens).request(2, &[]).terminal().broken();
    assert_eq!(with_money(1_999), NONE);
    assert_eq!(with_money(2_000), ["O-13"]);
    let with_turns = |max| {
        let story = EventStory::with(|settings| settings.session.max_turns = Some(max)).asks("R", 0).ends(0).result(0);
        story.request(2, &[]).terminal().broken()
    };
    assert_eq!(with_turns(2), NONE);
    assert_eq!(with_turns(1), ["O-13"]);
}

#[test]
fn o_13_the_cheaper_of_the_model_that_was_asked_and_the_one_that_answered_is_charged() {
    let begun = || EventStory::with(limited_to_cents);
    for (model, expected) in [("claude-sonnet-4-5", &["O-13"][..]), ("claude-haiku-4-5", &[]), ("claude-opus-4-6", &["O-13"])] {
        assert_eq!(begun().spends(model, 2_000).request(2, &[]).terminal().broken(), expected, "{model} answers");
    }
}

#[test]
fn o_13_a_tool_use_that_an_earlier_session_left_open_is_no_turn() {
    let with_result_of_turn = |turn| {
        let run = ToolRun { request: RequestId { turn, ..ASKED }, index: 0 };
        let story = EventStory::with(|settings| settings.session.max_turns = Some(1)).effect(result_effect(run, result_block(0)));
        story.request(turn + 1, &[]).broken_but(&["O-1", "O-2", "O-4", "O-8", validity::ORACLE, super::super::leftovers::ORACLE])
    };
    assert_eq!(with_result_of_turn(0), NONE);
    assert_eq!(with_result_of_turn(1), ["O-13"]);
}

#[test]
fn o_13_the_task_budget_never_grows() {
    let told = |first, second| {
        let story = EventStory::with(|settings| settings.session.task_budget = Some(1_000));
        let story = story.tells(1, first).effect(Effect::CloseRequest { id: ASKED });
        story.tells(2, second).terminal().broken()
    };
    assert_eq!(told(1_000, 1_000), NONE);
    assert_eq!(told(1_000, 400), NONE);
    assert_eq!(told(400, 401), ["O-13"]);
    assert_eq!(told(1_001, 1_000), ["O-13"]);
}

#[test]
fn o_17_an_effect_is_not_silently_repeated() {
    let again = ToolRun { request: SECOND, index: 0 };
    let start = || Effect::StartTool { run: again, tool_use: Arc::new(tool_use("W", 0)) };
    let repeated = || Effect::Note(Note::Repeated { run: again, earlier: run(0) });
    let done = || EventStory::new().with_block(ASKED, "a", use_block("W", 0)).effect(started()).ends(0);
    let forgotten = |story: EventStory| story.tombstone("a").discards(ASKED);
    assert_eq!(forgotten(done()).effect(repeated()).effect(start()).terminal().broken(), NONE);
    assert_eq!(forgotten(done()).effect(start()).terminal().broken(), ["O-17"]);
    let told_to_stop =
        || EventStory::new().with_block(ASKED, "a", use_block("W", 0)).effect(started()).effect(Effect::StopTool { run: run(0) });
    let ended = |story: EventStory, outcome| story.input(Input::ToolEnded { run: run(0), outcome: Arc::new(outcome) });
    let stopped = forgotten(ended(told_to_stop(), ToolOutcome::error("stopped")));
    assert_eq!(stopped.effect(start()).terminal().broken(), NONE, "it did not come to its end");
    let deaf = || ended(forgotten(told_to_stop()), ToolOutcome::text("x"));
    assert_eq!(deaf().effect(start()).terminal().broken(), ["O-17"], "it did what it does, though it was told to stop");
    assert_eq!(deaf().effect(repeated()).effect(start()).terminal().broken(), NONE);
}

#[test]
fn o_17_who_is_told_of_the_same_work_repeats_nothing_silently() {
    let run_of = |turn| ToolRun { request: RequestId { turn, ..ASKED }, index: 0 };
    let start = |turn: u32| Effect::StartTool { run: run_of(turn), tool_use: Arc::new(tool_use("W", turn)) };
    let lost = || EventStory::new().with_block(ASKED, "a", use_block("W", 0)).effect(started()).ends(0).tombstone("a").discards(ASKED);
    let broken = |story: EventStory| story.times_broken("O-17");
    let later = |story: EventStory| story.request(2, &[]).effect(start(2));
    assert_eq!(broken(later(lost())), 1, "the model of a later request is not told either");
    let compacted = lost().effect(Effect::Emit(Emission::SnipBoundary { names: Vec::new(), tokens_freed: 1 }));
    assert_eq!(broken(later(compacted)), 1, "no summary holds what was discarded");
    let noted = || later(lost().effect(Effect::Note(Note::Repeated { run: run_of(2), earlier: run(0) })));
    let ended = || noted().input(Input::ToolEnded { run: run_of(2), outcome: Arc::new(ToolOutcome::text("x")) });
    let told: &[Block] = &[result_block(2)];
    assert_eq!(broken(ended().request(3, &[(Role::User, told)]).effect(start(3))), 0, "it was told of the second time");
    assert_eq!(broken(ended().request(3, &[]).effect(start(3))), 1, "it was told of neither");
}

fn started() -> Effect {
    Effect::StartTool { run: run(0), tool_use: Arc::new(tool_use("W", 0)) }
}

#[test]
fn o_2_a_tool_use_without_a_result_is_found_though_its_prompt_never_ends() {
    assert_eq!(EventStory::new().says(use_block("Read", 0)).broken(), ["O-2", "O-8"]);
    assert_eq!(EventStory::new().says(use_block("Read", 0)).result(0).broken(), ["O-8"]);
}

#[test]
fn o_17_what_an_earlier_session_left_open_is_run_once() {
    let settles = |prompt: u32| {
        let run = ToolRun { request: RequestId { prompt, turn: 0, attempt: 1 }, index: 0 };
        Effect::StartTool { run, tool_use: Arc::new(tool_use("R", 0)) }
    };
    assert_eq!(EventStory::new().effect(settles(1)).times_broken("O-17"), 0);
    assert_eq!(EventStory::new().effect(settles(1)).effect(settles(2)).times_broken("O-17"), 1);
}
