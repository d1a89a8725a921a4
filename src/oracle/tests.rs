//! Each oracle alone, on short lists of events made by hand.

mod abort_scope;
mod accounts;
mod agent_frame;
mod answers;
mod asked_hooks;
mod compactions;
mod due_summary;
mod emission_order;
mod hook_words;
mod interruptions;
mod late_progress;
mod leftovers;
mod live_streams;
mod livelock;
mod marked_rounds;
mod nothing_lost;
mod permission_rules;
mod progress_set;
mod prompt_results;
mod queued_blocks;
mod recoveries;
mod refused_requests;
mod result_limits;
mod retry;
mod retry_decisions;
mod said_blocks;
mod stable_prefix;
mod structured_outputs;
mod summaries;
mod task_budget;
mod terminal_causes;
mod told_texts;
mod tool_starts;
mod truthful_results;
mod unrun_tools;

use super::*;
use reenact_engine::budget::NanoUsd;
use reenact_engine::contract::{
    AnswerEnd, Block, HookEvent, HookInput, HookRun, HookSubject, HttpHeader, Json, PermissionAnswer, Request, Role, Settings, StreamEvent,
    Terminal, ToolDefinition, ToolOutcome, ToolRun, ToolUse,
};
use reenact_engine::emission::{AssistantMessage, UserMessage};
use reenact_engine::settings::{EmissionOrder, InterruptBehaviour, QueuedBlockPolicy, ResultOrder, RetryPolicySource};
use reenact_wire::block::Message;
use reenact_wire::block::{BlockKind, ToolInput};

/// `R` is safe, `W` exclusive, `C` safe and stops for a message.
fn environment(change: impl FnOnce(&mut Settings)) -> Environment {
    let tool = |name: &str, safe| ToolDefinition::new(name, Some(safe), Json::trusted("{}"));
    let stops = ToolDefinition { interrupt: Some(InterruptBehaviour::Cancel), ..tool("C", true) };
    let mut environment = Environment { tools: vec![tool("R", true), tool("W", false), stops], ..Environment::default() };
    environment.settings.model = "m".into();
    // Most stories leave out the waits and the repetitions that settings would ask for.
    environment.settings.retry.policy = RetryPolicySource::Engine;
    change(&mut environment.settings);
    environment
}

/// A run as a list of events, one a millisecond.
struct EventStory {
    oracles: Oracles,
    at: Time,
}

const ASKED: RequestId = RequestId { prompt: 1, turn: 1, attempt: 1 };

fn run(index: u32) -> ToolRun {
    ToolRun { request: ASKED, index }
}

fn tool_use(name: &str, index: u32) -> ToolUse {
    ToolUse { id: format!("t{index}").into(), name: name.into(), input: ToolInput::Valid(Json::trusted("{}")) }
}

fn use_block(name: &str, index: u32) -> Block {
    let json = format!(r#"{{"type":"tool_use","id":"t{index}","name":"{name}","input":{{}}}}"#);
    Block::assembled(BlockKind::ToolUse(tool_use(name, index)), Json::trusted(json))
}

fn result_block(index: u32) -> Block {
    Block::tool_result(&format!("t{index}"), &Json::from_value("x"), false)
}

/// The result of a run comes out.
fn result_effect(run: ToolRun, block: Block) -> Effect {
    let message = UserMessage { uuid: "u".into(), run, answers: "u".into(), block, structured: None, took: None };
    Effect::Emit(Emission::User(Arc::new(message)))
}

impl EventStory {
    fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let story = Self { oracles: Oracles::new(&environment(change)), at: Time::ZERO };
        story.input(Input::Prompt { prompt: 1, content: [].into() })
    }

    fn new() -> Self {
        Self::with(|_| ())
    }

    fn input(mut self, input: Input) -> Self {
        self.at = self.at + Micros::from_millis(1);
        self.oracles.input(self.at, &Agent::ROOT, &input);
        self
    }

    fn effect(mut self, effect: Effect) -> Self {
        self.oracles.effect(self.at, &Agent::ROOT, &effect);
        self
    }

    /// Sends messages, given as (whether the model speaks, blocks).
    fn request(self, turn: u32, messages: &[(Role, &[Block])]) -> Self {
        let mut request = Request::new("m", 1);
        request.messages = messages.iter().map(|(role, blocks)| Arc::new(Message { role: *role, content: blocks.to_vec() })).collect();
        self.effect(Effect::Request { id: RequestId { turn, ..ASKED }, request: Arc::new(request) })
    }

    fn says(self, block: Block) -> Self {
        let message = AssistantMessage { uuid: "u".into(), id: ASKED, api_id: "".into(), model: "".into(), block, error: None };
        self.effect(Effect::Emit(Emission::Assistant(Arc::new(message))))
    }

    /// The model asks for a tool, which starts at once.
    fn asks(self, name: &str, index: u32) -> Self {
        self.says(use_block(name, index)).effect(Effect::StartTool { run: run(index), tool_use: Arc::new(tool_use(name, index)) })
    }

    fn ends(self, index: u32) -> Self {
        self.input(Input::ToolEnded { run: run(index), outcome: Arc::new(ToolOutcome::text("x")) })
    }

    fn result(self, index: u32) -> Self {
        self.effect(result_effect(run(index), result_block(index)))
    }

    /// The same with this text, of the first tool use.
    fn result_says(self, text: &str) -> Self {
        self.effect(result_effect(run(0), Block::tool_result("t0", &Json::from_value(text), false)))
    }

    /// The answer to a request streams these events.
    fn hears(self, id: RequestId, events: &[&str]) -> Self {
        let decoded = |data: &&str| Input::Stream { id, event: Arc::new(StreamEvent::decode("message", data)) };
        events.iter().map(decoded).fold(self, Self::input)
    }

    /// How often an oracle has complained so far, tools aside that no story offers.
    fn times_broken(&self, oracle: &str) -> usize {
        let of_oracle = self.oracles.violations().iter().filter(|violation| violation.oracle == oracle);
        of_oracle.filter(|violation| !violation.text.contains(super::request_frame::MISSING_TOOL)).count()
    }

    fn progress(self, index: u32) -> Self {
        let id = format!("t{index}").into();
        self.effect(Effect::Emit(Emission::Progress { run: run(index), tool_use_id: id, text: "…".into(), kind: None, details: None }))
    }

    fn terminal(self) -> Self {
        self.ends_with(Terminal::Completed)
    }

    fn ends_with(self, terminal: Terminal) -> Self {
        self.effect(Effect::Finished { prompt: 1, terminal })
    }

    /// The run is over: which oracles complained, once for each complaint. That the requests of a story are mostly no valid ones is left out,
    /// and that most stories leave something open, have no answers, and offer no tools.
    fn broken(self) -> Vec<&'static str> {
        self.broken_but(&[validity::ORACLE, super::leftovers::ORACLE])
    }

    /// The same, with others left out. In a story no model says what its requests hold.
    fn broken_but(self, left_out: &[&str]) -> Vec<&'static str> {
        let violations = self.violations();
        let usual = [super::terminal_causes::OPEN_ANSWER, super::request_frame::MISSING_TOOL];
        let is_usual = |violation: &&Violation| usual.iter().any(|text| violation.text.contains(text));
        let oracles = violations.iter().filter(|violation| !is_usual(violation)).map(|violation| violation.oracle);
        oracles.filter(|oracle| *oracle != super::said_blocks::ORACLE && !left_out.contains(oracle)).collect()
    }

    /// All that was seen.
    fn violations(mut self) -> Vec<Violation> {
        self.oracles.note(self.at, &Agent::ROOT, &EventKind::Ended { end: RunEnd::Idle });
        self.oracles.expect_nothing_open(self.at);
        self.oracles.into_violations()
    }

    /// The words of one oracle.
    fn words(self, oracle: &str) -> Vec<String> {
        let said = self.violations().into_iter().filter(|violation| violation.oracle == oracle);
        said.map(|violation| violation.text).collect()
    }
}

const NONE: [&str; 0] = [];

#[test]
fn a_turn_with_two_tools_breaks_nothing() {
    let asked: &[Block] = &[use_block("R", 0), use_block("R", 1)];
    let story = EventStory::new().request(1, &[]).asks("R", 0).asks("R", 1).progress(0).ends(1).result(1).ends(0).result(0);
    let story = story.request(2, &[(Role::User, &[]), (Role::Assistant, asked), (Role::User, &[result_block(0), result_block(1)])]);
    assert_eq!(story.terminal().broken(), NONE);
}

#[test]
fn o_1_each_use_has_its_result_in_the_next_user_message() {
    let two: &[Block] = &[use_block("R", 0), use_block("R", 1)];
    let (a, b) = (result_block(0), result_block(1));
    let table: [(&[Block], &[&str], &str); 6] = [
        (&[a.clone(), b.clone()], &[], "both, in order"),
        (core::slice::from_ref(&a), &["O-1"], "one is missing"),
        (&[], &["O-1"], "both are missing"),
        (&[a.clone(), b.clone(), b.clone()], &["O-1"], "one is there twice"),
        (&[b.clone(), a.clone()], &["O-1"], "the wrong way round"),
        (&[a.clone(), b.clone(), result_block(2)], &["O-1"], "one that nobody asked for"),
    ];
    for (results, expected, reason) in table {
        let story = EventStory::new().request(1, &[(Role::User, &[]), (Role::Assistant, two), (Role::User, results)]);
        assert_eq!(story.terminal().broken(), expected, "{reason}");
    }
    let text = Block::text("and");
    let (one, other, and) = (|| a.clone(), || b.clone(), || text.clone());
    let joined = [
        (vec![vec![one()], vec![other()]], &[][..], "neighbours of one role are one turn"),
        (vec![vec![], vec![one(), other()]], &[], "an empty one is none"),
        (vec![vec![one(), other(), and()]], &[], "results come first"),
        (vec![vec![and(), one(), other()]], &["O-1"], "text comes first"),
        (vec![vec![one(), and(), other()]], &["O-1"], "text comes between"),
        (vec![vec![and()], vec![one(), other()]], &["O-1"], "text comes first, in a message of its own"),
    ];
    for (messages, expected, reason) in &joined {
        let said = messages.iter().map(|content| (Role::User, &**content));
        let all: Vec<_> = [(Role::User, &[][..]), (Role::Assistant, two)].into_iter().chain(said).collect();
        assert_eq!(EventStory::new().request(1, &all).terminal().broken(), *expected, "{reason}");
    }
    let late =
        [(Role::Assistant, two), (Role::User, &[text.clone()][..]), (Role::Assistant, &[text.clone()][..]), (Role::User, &[a, b][..])];
    assert_eq!(EventStory::new().request(1, &late).terminal().broken(), ["O-1"], "not in the next turn");
    let last = [(Role::User, &[][..]), (Role::Assistant, two)];
    assert_eq!(EventStory::new().request(1, &last).terminal().broken(), ["O-1"], "the request ends with tool uses");
}

#[test]
fn m_2_what_the_scenario_s_api_refuses_is_a_finding_and_told_once() {
    let refused = |messages: &[(Role, &[Block])], rule: &str| {
        let mut story = EventStory::new().request(1, messages);
        let what = EventKind::Refused { id: ASKED, rule: rule.into(), text: "no".into(), overruled: false };
        story.oracles.note(story.at, &Agent::ROOT, &what);
        story.terminal().broken_but(&[super::leftovers::ORACLE])
    };
    let (says, empty): (&[Block], &[Block]) = (&[Block::text("hi")], &[]);
    assert_eq!(refused(&[(Role::User, says)], "invalid_signature"), ["O-10"]);
    assert_eq!(refused(&[(Role::User, says)], "prompt_too_long"), NONE, "nobody but the API can count that");
    assert_eq!(refused(&[(Role::User, empty)], "empty_content"), ["O-10"], "it is the same thing");
}

#[test]
fn e_1_what_the_contract_does_not_allow_is_a_finding() {
    let misuse = |story: EventStory| {
        let mut story = story;
        story.oracles.note(story.at, &Agent::ROOT, &EventKind::Misuse { text: "no such prompt".into() });
        story.broken_but(&[super::leftovers::ORACLE])
    };
    let says: &[Block] = &[Block::text("hi")];
    let end = Input::End { id: ASKED, how: AnswerEnd::Complete };
    let asked = || EventStory::new().request(1, &[(Role::User, says)]).input(end.clone());
    assert_eq!(misuse(asked().terminal()), ["contract"]);
    assert_eq!(misuse(asked().terminal().terminal()), ["O-8"], "an oracle has blamed it");
}

#[test]
fn o_2_each_emitted_use_has_one_emitted_result() {
    let asked = || EventStory::new().request(1, &[]).asks("R", 0).ends(0);
    assert_eq!(asked().result(0).terminal().broken(), NONE);
    assert_eq!(asked().terminal().broken(), ["O-2"], "none");
    assert_eq!(asked().result(0).result(0).terminal().broken(), ["O-2"], "two");
    assert_eq!(asked().result(0).result(1).terminal().broken(), ["O-2"], "one that nobody asked for");
    let same_id_twice = asked().asks("R", 0).ends(0).result(0).result(0);
    assert_eq!(same_id_twice.terminal().broken(), NONE, "a model that uses an id twice gets two results");
}

#[test]
fn o_1_and_o_2_and_o_27_say_what_it_is_about() {
    let results = [result_block(1), result_block(0)];
    let two: &[Block] = &[use_block("R", 0), use_block("R", 1)];
    let story = EventStory::new().request(1, &[(Role::User, &[]), (Role::Assistant, two), (Role::User, &results)]);
    let (first, second) = (tool_use("R", 0).id, tool_use("R", 1).id);
    let orders = format!("\"{second}, {first}\" in place of \"{first}, {second}\"");
    assert_eq!(story.words("O-1"), [format!("request 1 has its results in another order than their tool uses: {orders}")]);
    let lost = EventStory::new().request(1, &[]).asks("R", 0).terminal().words("O-2");
    assert_eq!(lost, [format!("tool use 1A ({first}) of answer 1 has no result at the end")]);
    let ended = Input::End { id: ASKED, how: AnswerEnd::Complete };
    let closed = |story: EventStory| story.effect(Effect::CloseRequest { id: ASKED }).terminal().words("O-27");
    assert_eq!(closed(EventStory::new().request(1, &[]).input(ended)), ["the engine closed request 1, which had ended already"]);
    assert_eq!(closed(EventStory::new()), ["request 1 was closed, and it is not open"]);
}

#[test]
fn o_3_an_exclusive_tool_runs_alone() {
    let beside = |first: &str, second: &str| {
        let story = EventStory::new().request(1, &[]).asks(first, 0).asks(second, 1).ends(0).result(0).ends(1).result(1);
        story.terminal().broken()
    };
    assert_eq!(beside("R", "R"), NONE);
    assert_eq!(beside("R", "W"), ["O-3"]);
    assert_eq!(beside("W", "R"), ["O-3"]);
    assert_eq!(beside("R", "unknown"), ["O-3"], "what is not known to be safe is exclusive");
}

#[test]
fn o_3_a_stopped_tool_counts_until_its_grace_is_over() {
    let grace = |grace_ms| {
        let story = EventStory::with(|settings| settings.tool_grace = Micros::from_millis(grace_ms)).request(1, &[]);
        let story = story.asks("W", 0).effect(Effect::StopTool { run: run(0) });
        let story = story.input(Input::End { id: ASKED, how: AnswerEnd::Reset }); // a millisecond later
        story.asks("W", 1).ends(1).result(1).ends(0).result(0).terminal().broken()
    };
    assert_eq!(grace(1), NONE);
    assert_eq!(grace(2), ["O-3"]);
}

#[test]
fn o_3_no_more_run_at_once_than_may() {
    let three = |change: fn(&mut Settings)| {
        let story = EventStory::with(change).request(1, &[]).asks("R", 0).asks("R", 1).asks("R", 2);
        story.ends(0).result(0).ends(1).result(1).ends(2).result(2).terminal().broken()
    };
    assert_eq!(three(|settings| settings.max_concurrent_tools = Some(3)), NONE);
    assert_eq!(three(|settings| settings.max_concurrent_tools = Some(2)), ["O-3"]);
    assert_eq!(three(|settings| settings.max_batch_tools = 2), NONE, "batches are cut without streaming execution alone");
    let batches = |settings: &mut Settings| (settings.streaming_execution, settings.max_batch_tools) = (false, 2);
    assert_eq!(three(batches), ["O-3"]);
}

#[test]
fn o_8_one_terminal_each_and_nothing_after_it() {
    let text = || Block::text("hi");
    let story = || EventStory::new().request(1, &[]).says(text());
    assert_eq!(story().terminal().broken(), NONE);
    assert_eq!(story().broken(), ["O-8"], "none");
    assert_eq!(story().terminal().terminal().broken(), ["O-8"], "two");
    assert_eq!(story().terminal().says(text()).broken(), ["O-8"], "a message after it");
    assert_eq!(story().terminal().request(2, &[]).broken(), ["O-8"], "a request after it");
    assert_eq!(story().terminal().effect(Effect::Emit(Emission::Interruptible(false))).broken(), ["O-8"], "a word about tools after it");
    let start = Effect::StartTool { run: run(0), tool_use: Arc::new(tool_use("R", 0)) };
    assert_eq!(story().terminal().effect(start).broken(), ["O-8"], "a tool after it");
    assert_eq!(story().terminal().effect(Effect::Finished { prompt: 2, terminal: Terminal::Completed }).broken(), ["O-8"], "nobody's");
}

#[test]
fn o_8_a_message_that_was_taken_in_has_no_terminal() {
    let message = || Input::Interrupt { prompt: 2, content: [].into() };
    let taken_in = || Effect::Emit(Emission::QueuedCommand { prompt: 2, content: [].into() });
    let story = || EventStory::new().request(1, &[]).asks("R", 0).input(message()).effect(taken_in()).ends(0).result(0).terminal();
    assert_eq!(story().broken(), NONE);
    assert_eq!(story().effect(Effect::Finished { prompt: 2, terminal: Terminal::Completed }).broken(), ["O-8"]);
}

#[test]
fn o_11_a_cancelled_prompt_ends_within_the_grace() {
    let grace = |change: &mut Settings| change.tool_grace = Micros::from_millis(2);
    let head = || Input::Head { id: ASKED, status: 200, headers: Arc::<[HttpHeader]>::from([]) };
    let cancelled = || EventStory::with(grace).request(1, &[]).input(Input::Cancel);
    assert_eq!(cancelled().terminal().broken(), NONE);
    assert_eq!(cancelled().input(head()).terminal().broken(), ["O-11"], "nothing runs, so nothing has a grace");
    let with_tool = || EventStory::with(grace).request(1, &[]).asks("R", 0).input(Input::Cancel);
    assert_eq!(with_tool().ends(0).result(0).terminal().broken(), NONE);
    assert_eq!(with_tool().input(head()).input(head()).input(head()).result(0).terminal().broken(), ["O-11"], "too late");
    assert_eq!(with_tool().request(2, &[]).result(0).terminal().broken(), ["O-11"], "asks again");
    assert_eq!(with_tool().asks("R", 1).result(0).result(1).terminal().broken(), ["O-11"], "starts a tool");
    assert_eq!(with_tool().result(0).broken(), ["O-11", "O-8"], "never");
    assert_eq!(EventStory::new().request(1, &[]).terminal().input(Input::Cancel).input(head()).broken(), NONE, "nothing is worked on");
}

#[test]
fn o_11_on_a_clock_that_goes_by_itself_the_end_may_be_as_late_as_its_timers() {
    let broken = |late_ms| {
        let mut story = EventStory::with(|settings| settings.tool_grace = Micros::from_millis(2));
        story.oracles = story.oracles.with_lateness(Micros::from_millis(late_ms));
        let head = || Input::Head { id: ASKED, status: 200, headers: Arc::<[HttpHeader]>::from([]) };
        let cancelled = story.request(1, &[]).asks("R", 0).input(Input::Cancel);
        cancelled.input(head()).input(head()).input(head()).result(0).terminal().broken()
    };
    assert_eq!(broken(1), NONE);
    assert_eq!(broken(0), ["O-11"]);
}

#[test]
fn o_11_a_submitted_message_aborts_unless_a_tool_blocks_it() {
    let message = || Input::Interrupt { prompt: 2, content: [].into() };
    let end = |story: EventStory| story.effect(Effect::Finished { prompt: 2, terminal: Terminal::Completed }).broken();
    let with = |name: &str| EventStory::new().request(1, &[]).asks(name, 0).input(message()).request(2, &[]).result(0).terminal();
    assert_eq!(end(with("R")), NONE, "it waits for a tool that blocks");
    assert_eq!(end(with("C")), ["O-11"], "it does not wait for one that stops");
    assert_eq!(end(EventStory::new().request(1, &[]).input(message()).terminal()), NONE);
}

/// Asks a person about the n-th tool use.
fn question(name: &str, index: u32) -> Effect {
    let tool_use = Arc::new(tool_use(name, index));
    Effect::AskPermission { run: run(index), tool_use, reason: "".into(), suggestions: Vec::new() }
}

#[test]
fn o_11_a_question_about_a_tool_counts_as_executing_and_has_no_grace() {
    let message = || Input::Interrupt { prompt: 2, content: [].into() };
    let withdraws = || Effect::WithdrawPermission { run: run(0) };
    let end = |story: EventStory| story.effect(Effect::Finished { prompt: 2, terminal: Terminal::Completed }).broken();
    let asked = |name: &str| EventStory::new().request(1, &[]).says(use_block(name, 0)).effect(question(name, 0));
    let goes_on = |story: EventStory| end(story.input(message()).request(2, &[]).result(0).terminal());
    assert_eq!(goes_on(asked("R")), NONE, "the message waits for a tool that blocks");
    assert_eq!(goes_on(asked("C")), ["O-11"], "it does not wait for one that stops");
    assert_eq!(goes_on(asked("R").effect(withdraws())), ["O-11"], "nor for one that nobody is asked about any more");
    let answer = Input::PermissionAnswered { run: run(0), answer: Arc::new(PermissionAnswer::Refuse { reason: "".into() }) };
    assert_eq!(goes_on(asked("R").input(answer)), ["O-11"], "nor for one whose question is answered");
    let cancelled = || asked("R").input(Input::Cancel).effect(withdraws());
    assert_eq!(cancelled().result(0).terminal().broken(), NONE);
    let head = Input::Head { id: ASKED, status: 200, headers: Arc::<[HttpHeader]>::from([]) };
    assert_eq!(cancelled().input(head).result(0).terminal().broken(), ["O-11"], "nothing runs, so nothing has a grace");
    assert_eq!(cancelled().effect(question("R", 0)).result(0).terminal().broken(), ["O-11"], "nobody is asked any more");
}

#[test]
fn o_8_nobody_is_asked_about_a_tool_after_the_terminal() {
    let story = || EventStory::new().request(1, &[]).asks("R", 0).ends(0).result(0).terminal();
    assert_eq!(story().effect(question("R", 0)).broken(), ["O-8"]);
    let hook = HookRun { hook: 0, subject: HookSubject::Tool(run(0)) };
    let input = HookInput { event: HookEvent::PostToolUse, tool: None, data: Json::default(), stop_hook_active: false };
    assert_eq!(story().effect(Effect::RunHook { hook, input: Arc::new(input) }).broken(), ["O-8"]);
}

#[test]
fn o_14_progress_comes_before_its_result() {
    let story = || EventStory::new().request(1, &[]).asks("R", 0).ends(0);
    assert_eq!(story().progress(0).result(0).terminal().broken(), NONE);
    assert_eq!(story().result(0).progress(0).terminal().broken(), ["O-14"]);
}

#[test]
fn o_14_results_come_in_the_order_of_the_settings() {
    let second_first = |order: EmissionOrder, first: &str| {
        let story = EventStory::with(|settings| settings.emission_order = order).request(1, &[]).asks(first, 0).says(use_block("R", 1));
        story.result(1).ends(0).result(0).terminal().broken()
    };
    assert_eq!(second_first(EmissionOrder::Eager, "R"), NONE);
    assert_eq!(second_first(EmissionOrder::Eager, "W"), ["O-14"]);
    assert_eq!(second_first(EmissionOrder::Arrival, "R"), ["O-14"]);
}

#[test]
fn o_16_the_first_event_that_differs_is_named() {
    let transcript = |times: &[u64]| {
        let event =
            |at: &u64| reenact_transcript::event::Event { at: Time(*at), agent: Agent::ROOT, what: EventKind::Input(Input::Cancel) };
        Transcript { header: Default::default(), events: times.iter().map(event).collect() }
    };
    let compare =
        |other: &[u64]| repeated_requests::compare(&transcript(&[1, 2]), &transcript(other)).map(|found| (found.at.0, found.text));
    assert_eq!(compare(&[1, 2]), None);
    assert_eq!(compare(&[1, 3]).unwrap().0, 2);
    assert!(compare(&[1]).unwrap().1.contains("event 2 of 2"));
    assert!(compare(&[1, 2, 9]).is_some_and(|(at, _)| at == 9), "more events are a difference too");
}

#[test]
fn o_10_a_request_is_one_that_the_api_takes() {
    let says: &[Block] = &[Block::text("hi")];
    let sent = |messages: &[(Role, &[Block])]| EventStory::new().request(1, messages).terminal().broken_but(&[super::leftovers::ORACLE]);
    assert_eq!(sent(&[(Role::User, says)]), NONE);
    assert_eq!(sent(&[(Role::User, &[])]), ["O-10"]);
    assert_eq!(sent(&[(Role::Assistant, says), (Role::User, says)]), NONE, "the model may begin");
    assert_eq!(sent(&[(Role::System, says), (Role::User, says)]), ["O-10"], "a system message may not");
    assert_eq!(sent(&[(Role::User, says), (Role::Assistant, &[use_block("R", 0)]), (Role::User, says)]), ["O-1"], "pairs are O-1's");
}

#[test]
fn b_8_each_agent_is_watched_by_itself_and_overlaps_in_the_whole_tree() {
    let child = Agent::child("toolu_1");
    let starts = |name: &str| Effect::StartTool { run: run(0), tool_use: Arc::new(tool_use(name, 0)) };
    let init = || Effect::Emit(Emission::Init { prompt: 1, model: "m".into(), tools: Vec::new(), surroundings: Box::default() });
    let of = |effects: &[(&Agent, Effect)]| {
        let mut story = EventStory::new().asks("R", 0);
        for (agent, effect) in effects {
            story.oracles.effect(story.at, agent, effect);
        }
        story.ends(0).result(0).terminal().broken()
    };
    let finished = || Effect::Finished { prompt: 1, terminal: Terminal::Completed };
    assert_eq!(of(&[(&child, init()), (&child, finished())]), NONE, "a child has a terminal of its own");
    assert_eq!(of(&[(&child, init())]), ["O-8"], "and needs one");
    assert_eq!(of(&[(&child, init()), (&child, finished()), (&child, finished())]), ["O-8"]);
    assert_eq!(of(&[(&child, init()), (&child, starts("W")), (&child, finished())]), ["O-3"], "beside a tool of the root's");
    assert_eq!(of(&[(&child, init()), (&child, starts("R")), (&child, finished())]), NONE);
}
