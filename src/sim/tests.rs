//! Whole runs of the reference engine over scripted scenarios made in code.

use std::println;

use super::*;
use reenact_engine::agent_loop::AgentLoop;
use reenact_engine::log::{ReplayError, replay};
use reenact_engine::settings::ToolDefinition;
use reenact_engine::time::Micros;
use reenact_scenario::known_tools::known_tool;
use reenact_scenario::latency::Latency;
use reenact_scenario::types::{Chunking, Scenario, ScriptedPrompt, ScriptedTool, ScriptedTurn, TurnBlock};
use reenact_transcript::json;
use reenact_transcript::text::DetailLevel;
use reenact_wire::block::Block;

mod delays;
mod faults;
mod interrupts;

/// A tool as requests have it.
fn definition_of(name: &str) -> reenact_wire::json::Json {
    reenact_wire::json::Json::trusted(format!(r#"{{"name":"{name}","input_schema":{{"type":"object"}}}}"#))
}

pub(crate) fn tool(name: &str, input: &str) -> TurnBlock {
    TurnBlock::Tool { name: name.into(), input: input.into(), id: None, outcome: None, safe: None, slip: None }
}

fn text(text: &str) -> TurnBlock {
    TurnBlock::Text(text.into())
}

fn turn(content: Vec<TurnBlock>) -> ScriptedTurn {
    ScriptedTurn { content, ..ScriptedTurn::default() }
}

/// Two reads and an answer.
fn scenario() -> Scenario {
    let read = known_tool("Read").unwrap();
    let definition = ToolDefinition::new("Read", read.tool.safety(), definition_of("Read"));
    Scenario {
        title: Some(String::from("two reads")),
        tools: vec![ScriptedTool { definition, latency: None, outcome: None }],
        prompts: vec![ScriptedPrompt {
            content: vec![Block::text("What do the files say?")],
            turns: vec![
                turn(vec![text("I'll read both."), tool("Read", r#"{"file_path":"/a"}"#), tool("Read", r#"{"file_path":"/b"}"#)]),
                turn(vec![text("They say a and b.")]),
            ],
            ..ScriptedPrompt::default()
        }],
        ..Scenario::default()
    }
}

/// A run of a scenario file.
fn run_file(toml: &str) -> RunReport<AgentLoop> {
    run(read_file(toml))
}

fn read_file(toml: &str) -> Scenario {
    reenact_scenario::parse::scenario("x.toml", toml, &[]).unwrap_or_else(|faults| panic!("{faults}")).scenario
}

fn run(scenario: Scenario) -> RunReport<AgentLoop> {
    Run::new(Arc::new(RunSetup::new(scenario, None).unwrap()), AgentLoop::default()).to_end()
}

#[test]
fn q_1_a_turn_with_tools_ends_completed() {
    let report = run(scenario());
    println!("{}", report.text(DetailLevel::Debug));
    println!("{}", report.text(DetailLevel::Normal));
    assert_eq!(report.terminal(), "completed");
    assert_eq!(report.failures, [] as [&str; 0]);
}

#[test]
fn d_1_the_same_inputs_give_the_same_bytes() {
    assert_eq!(json::digest(&run(scenario()).transcript), json::digest(&run(scenario()).transcript));
}

#[test]
fn m_6_the_transcript_does_not_depend_on_the_chunks() {
    let digest = |chunking| json::digest(&run(Scenario { chunking, ..scenario() }).transcript);
    let whole = digest(Chunking::AsRecorded);
    for chunking in [Chunking::Bytes, Chunking::Every(7), Chunking::Random] {
        assert_eq!(digest(chunking.clone()), whole, "{chunking:?}");
    }
}

#[test]
fn d_3_another_tool_moves_no_other_draw() {
    let ends = |report: &RunReport<AgentLoop>| -> Vec<String> {
        report.text(DetailLevel::Debug).lines().filter(|line| line.contains("tool 1A") && line.contains("ends")).map(String::from).collect()
    };
    let mut more = scenario();
    more.prompts[0].turns[0].content.push(tool("Read", r#"{"file_path":"/c"}"#));
    let took = |report: &RunReport<AgentLoop>| ends(report)[0].split("after").nth(1).map(String::from);
    assert_eq!(took(&run(scenario())), took(&run(more)));
}

#[test]
fn m_1_hours_of_waiting_are_one_jump() {
    let mut slow = scenario();
    slow.tools[0].latency = Some(Latency::Fixed(Micros::from_secs(6 * 3_600)));
    let report = run(slow);
    assert_eq!(report.terminal(), "completed");
    assert!(report.transcript.events.last().unwrap().at >= Time::ZERO + Micros::from_secs(6 * 3_600));
}

#[test]
fn m_3_a_request_without_an_answer_ends_the_run_and_an_answer_without_a_request_is_named() {
    let mut short = scenario();
    short.prompts[0].turns.pop();
    let report = run(short);
    assert_eq!(report.terminal(), "tape_exhausted");
    assert_eq!(report.failures.len(), 1, "it is a failure without being asked: {:?}", report.failures);
    let mut long = scenario();
    long.prompts[0].turns.push(turn(vec![text("Nobody asks.")]));
    assert!(run(long.clone()).text(DetailLevel::Normal).contains("turn 1.3"));
    long.matching.strict = true;
    assert_eq!(run(long).failures, ["turn 1.3 was never asked for"]);
}

#[test]
fn m_9_each_limit_is_a_named_end() {
    for (limit, change) in [
        ("virtual time", (|scenario: &mut Scenario| scenario.limits.time = Micros(10)) as fn(&mut Scenario)),
        ("events", |scenario| scenario.limits.events = 5),
        ("requests", |scenario| scenario.limits.requests = 1),
    ] {
        let mut scenario = scenario();
        change(&mut scenario);
        let report = run(scenario);
        assert_eq!(report.end, RunEnd::LimitReached { limit: limit.into() });
        assert_eq!(report.terminal(), "limit_reached");
        assert_eq!(report.failures.len(), 1);
    }
}

#[test]
fn q_3_nothing_comes_after_the_terminal() {
    let report = run(scenario());
    let events = &report.transcript.events;
    let end = events.iter().position(|event| matches!(&event.what, EventKind::Effect(Effect::Finished { .. }))).unwrap();
    assert!(events[end + 1..].iter().all(|event| matches!(&event.what, EventKind::Ended { .. })));
}

#[test]
fn x_4_the_json_form_reads_back_and_gives_the_same_text() {
    let transcript = run(scenario()).transcript;
    let lines = json::to_json_lines(&transcript);
    let read = json::from_json_lines(&lines).unwrap();
    assert_eq!(read, transcript);
    assert_eq!(json::to_json_lines(&read), lines);
    for detail in [DetailLevel::Brief, DetailLevel::Normal, DetailLevel::Debug] {
        assert_eq!(reenact_transcript::text::render(&read, detail), reenact_transcript::text::render(&transcript, detail));
    }
}

#[test]
fn a_copied_run_goes_on_from_where_it_was_copied() {
    let mut run = Run::new(Arc::new(RunSetup::new(scenario(), None).unwrap()), AgentLoop::default());
    for _ in 0..12 {
        assert_eq!(run.advance(), None);
    }
    let copy = run.clone();
    assert_eq!(json::digest(&copy.to_end().transcript), json::digest(&run.to_end().transcript));
}

#[test]
fn d_1_a_boundary_log_replays_byte_for_byte_and_a_changed_one_does_not() {
    let setup = Arc::new(RunSetup::new(scenario(), None).unwrap());
    let log = Run::new(setup, AgentLoop::default()).with_log().to_end().log.unwrap();
    let done = replay(log.as_str(), AgentLoop::default()).unwrap();
    assert_eq!(done.steps + 1, log.as_str().lines().count());
    let changed = log.as_str().replace("They say a and b.", "They say nothing.");
    assert!(replay(&changed, AgentLoop::default()).is_ok(), "input and effect changed alike");
    let dropped: String = log.as_str().lines().enumerate().filter(|(line, _)| *line != 9).map(|(_, line)| format!("{line}\n")).collect();
    assert!(matches!(replay(&dropped, AgentLoop::default()), Err(ReplayError::Differs { .. })));
    let newer = log.as_str().replacen("\"reenact_log\":1", "\"reenact_log\":2", 1);
    assert!(matches!(replay(&newer, AgentLoop::default()), Err(ReplayError::Newer { log: 2, .. })));
    assert_eq!(replay("{}", AgentLoop::default()), Err(ReplayError::NoHeader));
}

#[test]
fn d_4_at_the_same_instant_the_answer_comes_before_a_tool() {
    // The tool is scheduled first, for the instant of the event after the next: only its class puts it behind.
    let fixed = |ms| Latency::Fixed(Micros::from_millis(ms));
    let mut tie = scenario();
    tie.timing.head = fixed(10);
    tie.timing.first_event = fixed(10);
    tie.timing.between_events = fixed(10);
    tie.tools[0].latency = Some(fixed(20));
    let text = run(tie).text(DetailLevel::Debug);
    let lines: Vec<&str> = text.lines().collect();
    let returns = lines.iter().position(|line| line.contains("tool 1A   returns")).unwrap();
    let same_instant = lines[returns].split_whitespace().next().unwrap();
    let event = lines.iter().position(|line| line.contains("event") && line.split_whitespace().next() == Some(same_instant)).unwrap();
    assert!(event < returns, "{text}");
}

/// An engine that answers each prompt twice and names all its requests alike.
#[derive(Clone, Debug, Default, PartialEq)]
struct StutteringEngine;

impl Engine for StutteringEngine {
    fn step(&mut self, _env: &reenact_engine::contract::Environment, _now: Time, input: &Input, effects: &mut Effects) {
        use reenact_engine::contract::{EventPayload, Message, Request, RequestId, Terminal};
        match input {
            Input::Prompt { content, .. } => {
                for _ in 0..2 {
                    let request = Request::new("m", 1).with_messages([Message::user(content.to_vec())]);
                    effects.push(Effect::Request { id: RequestId::first(1), request: request.into() });
                }
            }
            Input::Stream { event, .. } if *event.payload() == EventPayload::MessageStop => {
                for prompt in [1, 1, 7] {
                    effects.push(Effect::Finished { prompt, terminal: Terminal::Completed });
                }
            }
            _ => (),
        }
    }
}

/// An engine that sets a timer for the present instant, again and again.
#[derive(Clone, Debug, Default, PartialEq)]
struct SpinningEngine;

impl Engine for SpinningEngine {
    fn step(&mut self, _env: &reenact_engine::contract::Environment, now: Time, input: &Input, effects: &mut Effects) {
        if matches!(input, Input::Prompt { .. } | Input::Timer(_)) {
            let timer = reenact_engine::contract::TimerId { id: 5, generation: 1 };
            effects.push(Effect::SetTimer { timer, at: now });
        }
    }
}

#[test]
fn o_19_a_livelock_ends_the_run_and_is_a_finding() {
    let setup = RunSetup::new(scenario(), None).unwrap();
    let report = Run::new(Arc::new(setup), SpinningEngine).to_end();
    assert_eq!(report.end, RunEnd::LimitReached { limit: "timers in a row at one instant".into() });
    assert!(report.failures.iter().any(|failure| failure.starts_with("O-19")), "{:?}", report.failures);
    assert!(report.transcript.events.len() < 3_000, "{}", report.transcript.events.len());
}

#[test]
fn an_engine_that_breaks_the_contract_is_told_what_it_did_and_nothing_panics() {
    let mut two = scenario();
    two.prompts[0].turns = vec![turn(vec![text("a")]), turn(vec![text("b")])];
    two.prompts.push(two.prompts[0].clone());
    let report = Run::new(Arc::new(RunSetup::new(two, None).unwrap()), StutteringEngine).to_end();
    let told = |part: &str| report.failures.iter().any(|failure| failure.contains(part));
    assert!(told("prompt 1 was finished, and it was not open"), "{:?}", report.failures);
    assert!(told("prompt 7 was finished"), "{:?}", report.failures);
    assert!(told("request 1 was made while another request with this id is open"), "{:?}", report.failures);
}

/// The demands of T-4, T-5, T-7 and T-8 on three tool uses that arrive at once, by a model that knows no engine: who ends when, and in
/// which order results come out.
fn expected_emissions(exclusive: [bool; 3], takes: [u64; 3], order: reenact_engine::settings::EmissionOrder) -> Vec<usize> {
    let (mut started, mut ended) = ([None; 3], [None::<u64>; 3]);
    let mut emitted = Vec::new();
    for now in 0..200 {
        for tool in 0..3 {
            if started[tool].is_some_and(|from: u64| from + takes[tool] == now) {
                ended[tool] = Some(now);
            }
        }
        for tool in 0..3 {
            let running: Vec<usize> = (0..3).filter(|other| started[*other].is_some() && ended[*other].is_none()).collect();
            let may = running.is_empty() || (!exclusive[tool] && running.iter().all(|other| !exclusive[*other]));
            if started[tool].is_none() && may {
                started[tool] = Some(now);
            } else if started[tool].is_none() && exclusive[tool] {
                break;
            }
        }
        for tool in 0..3 {
            if ended[tool].is_some() && !emitted.contains(&tool) {
                emitted.push(tool);
            }
            let holds = match order {
                reenact_engine::settings::EmissionOrder::Eager => exclusive[tool] && started[tool].is_some(),
                reenact_engine::settings::EmissionOrder::Arrival => true,
            };
            if ended[tool].is_none() && holds {
                break;
            }
        }
    }
    emitted
}

#[test]
fn t_8_two_safe_and_one_exclusive_tool_in_all_orders_of_completion_and_both_settings() {
    use reenact_engine::settings::{EmissionOrder, ResultDelivery, ResultOrder};
    let orders = [[10, 20, 30], [10, 30, 20], [20, 10, 30], [20, 30, 10], [30, 10, 20], [30, 20, 10]];
    let arrangements = [[true, false, false], [false, true, false], [false, false, true]];
    let settings = [(EmissionOrder::Eager, ResultOrder::ToolUse), (EmissionOrder::Eager, ResultOrder::Emission)];
    let settings =
        settings.into_iter().chain([(EmissionOrder::Arrival, ResultOrder::ToolUse), (EmissionOrder::Arrival, ResultOrder::Emission)]);
    let all = settings.flat_map(|setting| arrangements.map(|exclusive| (setting, exclusive)));
    for (((emission, result), exclusive), takes) in all.flat_map(|case| orders.map(|takes| (case, takes))) {
        let mut scenario = scenario();
        scenario.settings.emission_order = emission;
        scenario.settings.result_order = result;
        scenario.settings.result_delivery = ResultDelivery::AtOnce;
        let fixed = |micros| Latency::Fixed(Micros(micros));
        scenario.timing = reenact_scenario::types::AnswerTiming { head: fixed(1), first_event: fixed(0), between_events: fixed(0) };
        scenario.tools = ["S0", "S1", "S2", "X0", "X1", "X2"].map(|name| tool_taking(name, name.starts_with('S'), takes)).into();
        let name = |index: usize| format!("{}{index}", if exclusive[index] { "X" } else { "S" });
        scenario.prompts[0].turns[0].content = (0..3).map(|index| tool(&name(index), "{}")).collect();
        let report = run(scenario);
        let expected = expected_emissions(exclusive, takes, emission);
        assert_eq!(emitted_results(&report), expected, "{exclusive:?} {takes:?} {emission:?}");
        let sent = if result == ResultOrder::ToolUse { vec![0, 1, 2] } else { expected };
        assert_eq!(sent_results(&report), sent, "{exclusive:?} {takes:?} {emission:?} {result:?}");
    }
}

fn tool_taking(name: &str, safe: bool, takes: [u64; 3]) -> ScriptedTool {
    let index = usize::from(name.as_bytes()[1] - b'0');
    let definition = ToolDefinition::new(name, Some(safe), definition_of(name));
    ScriptedTool { definition, latency: Some(Latency::Fixed(Micros::from_millis(takes[index]))), outcome: None }
}

/// The indexes of the emitted results, in order.
fn emitted_results(report: &RunReport<AgentLoop>) -> Vec<usize> {
    let index = |event: &reenact_transcript::event::Event| match &event.what {
        EventKind::Effect(Effect::Emit(reenact_engine::emission::Emission::User(message))) => Some(message.run.index as usize),
        _ => None,
    };
    report.transcript.events.iter().filter_map(index).collect()
}

/// The indexes of the results in the second request, in order.
fn sent_results(report: &RunReport<AgentLoop>) -> Vec<usize> {
    let mut requests = report.transcript.events.iter().filter_map(|event| match &event.what {
        EventKind::Request { request, .. } => Some(request),
        _ => None,
    });
    let blocks = requests.next_back().into_iter().flat_map(|request| &request.added).flat_map(|message| &message.content);
    let index = |block: &Block| match block.kind() {
        reenact_wire::block::BlockKind::ToolResult { tool_use_id, .. } => tool_use_id.bytes().last().map(|digit| usize::from(digit - b'1')),
        _ => None,
    };
    blocks.filter_map(index).collect()
}
