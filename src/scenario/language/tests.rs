//! A written scenario reads back as the same scenario.

mod compaction;
mod network;
mod plan;
pub(crate) mod reference;
mod replies;
mod session;
mod workspace;

use alloc::collections::BTreeMap;

use crate::boundary::BoundarySide;
use crate::client_profile::{
    ClientProfile, ClientSignal, ExitCodes, FailedAttempts, OutputPlaces, OutputTextPlace, PrintedAnswers, ProfileFile, SessionPlace,
    StorePlace,
};
use crate::drive::{DriveScript, KnownClient, NormaliseRule, ToolMarkers, VaryingPlace};
use crate::explore_settings::{ArrivalJitter, ExploreSettings};
use crate::fault::known_errors::KnownError;
use crate::fault::{
    AnswerChange, AnswerSubstitute, ConnectFault, CutAfter, CutManner, FaultAnswer, FaultKind, FaultPlace, FaultRule, NumberSpan,
};
use crate::interrupt::{InterruptKind, InterruptMoment, InterruptTrigger, ReachedState, ScriptedInterrupt};
use crate::known_tools::known_tool;
use crate::latency::Latency;
use crate::parse;
use crate::side::SideRule;
use crate::single_fault::SingleFaultKind;
use crate::tape::Provenance;
use crate::types::{
    AgentScript, AnswerTiming, Chunking, Expectations, RefreshOutcome, RequestMatching, RunLimits, Scenario, ScriptedAuth, ScriptedOutcome,
    ScriptedProgress, ScriptedPrompt, ScriptedTool, ScriptedTurn, SimulatedApi, StopDeafness, TapeSource, ToolEnding, ToolStopping,
    ToolUseSlip, TurnBlock,
};
use reenact_engine::contract::{Agent, FailureCause, ProgressKind};
use reenact_engine::random::Seed;
use reenact_engine::settings::{
    AbortResultOrder, AgentTool, BrokenStreamPolicy, CloudProvider, CompactionSettings, DiscardPolicy, EmissionOrder, InterruptBehaviour,
    NeighbourMerging, ObservableField, OverloadPolicy, PausePolicy, PipelineSettings, QueuedBlockPolicy, QueuedMessagePlace,
    ResultDelivery, ResultOrder, RetryPolicySource, RetrySettings, SessionSettings, Settings, SiblingAbort, StreamOrderPolicy,
    ToolDefinition, ToolSafety, UnauthorizedPolicy,
};
use reenact_engine::texts::{ModelTexts, TextName, TextSet};
use reenact_engine::time::Micros;
use reenact_wire::block::{Block, Message, Role};
use reenact_wire::compare::{VolatileMember, VolatileRule};
use reenact_wire::json::Json;
use reenact_wire::models::SignaturePolicy;
use reenact_wire::prelude::*;

fn reads_back(scenario: &Scenario) -> String {
    let text = super::scenario_text(scenario, &["a comment\nof two lines".into()]);
    match parse::scenario("written.toml", &text, &[]) {
        Ok(parsed) => assert_eq!(parsed.scenario, *scenario, "{text}"),
        Err(faults) => panic!("{faults}\n{text}"),
    }
    text
}

fn prompt(text: &str) -> ScriptedPrompt {
    ScriptedPrompt { content: vec![Block::text(text)], ..ScriptedPrompt::default() }
}

#[test]
fn f_6_texts_read_back_whatever_they_hold() {
    let texts = [
        "plain",
        "two\nlines",
        "ends with a line end\n",
        "\n\nbegins with two",
        "a \"quote\" and a \\ slash",
        "an 'apostrophe' and a \"quote\"",
        "three ''' quotes \"\"\" of each \\",
        "lines and ''' three\nquotes",
        "lines that end in '\n'",
        "tab\there",
        "carriage\r\nreturn",
        "bell \u{7} delete \u{7f} next line \u{85}",
        "é 😀 \u{2028}",
        "ends with a quote\"",
        "'",
        "\"",
        "",
    ];
    for text in texts {
        reads_back(&Scenario { prompts: vec![prompt(text)], ..Scenario::default() });
    }
    assert_eq!(super::text::string("a\nb"), "'''\na\nb'''");
    assert_eq!(super::text::string(r#"{"a":1}"#), r#"'{"a":1}'"#);
}

fn outcome() -> ScriptedOutcome {
    ScriptedOutcome {
        content: Some(Json::trusted(r#"[{"type":"text","text":"a"}]"#)),
        is_error: true,
        cause: Some(FailureCause::TimedOut),
        latency: Some(Latency::Fixed(Micros(1_234_567))),
        structured: Some(Json::trusted(r#"{"exit":1,"lines":["a"]}"#)),
        progress: vec![
            ScriptedProgress { at: Micros::from_millis(1), text: "half".into(), kind: None },
            ScriptedProgress { at: Micros::from_millis(2), text: "most".into(), kind: Some(ProgressKind::Stderr) },
        ],
        context_change: Some("cwd".into()),
        aborts: Some("refused".into()),
        ending: ToolEnding::ReturnsTwice,
        stopping: ToolStopping { ignores: StopDeafness::For(Micros::from_secs(2)), takes: Micros::from_millis(50) },
        agents: AgentScript::default(),
        check: None,
        asks: None,
        safe: None,
        may: false,
    }
}

/// Two agents, of which the first runs a tool, and who puts together what they say.
fn agents() -> ScriptedOutcome {
    let says = |text: &str| ScriptedTurn { content: vec![TurnBlock::Text(text.into())], ..ScriptedTurn::default() };
    let reads =
        TurnBlock::Tool { name: "Read".into(), input: "{}".into(), id: None, outcome: Some(Box::new(outcome())), safe: None, slip: None };
    let tasks = vec![vec![ScriptedTurn { content: vec![reads], ..ScriptedTurn::default() }, says("one")], vec![says("two")]];
    let synthesis = Some(ScriptedTurn { output_tokens: Some(3), ..says("both") });
    ScriptedOutcome { agents: AgentScript { tasks, synthesis }, ..ScriptedOutcome::default() }
}

fn turns() -> Vec<ScriptedTurn> {
    let turn = ScriptedTurn {
        content: vec![
            TurnBlock::Thinking("hm".into()),
            TurnBlock::Tool {
                name: "own".into(),
                input: "{\"a\":".into(),
                id: Some("toolu_1".into()),
                outcome: Some(Box::new(outcome())),
                safe: Some(false),
                slip: Some(ToolUseSlip::InvalidInput),
            },
            TurnBlock::Tool {
                name: "Agent".into(),
                input: "{}".into(),
                id: None,
                outcome: Some(Box::new(agents())),
                safe: None,
                slip: None,
            },
            TurnBlock::Text("after".into()),
            TurnBlock::Tool {
                name: "Read".into(),
                input: "{}".into(),
                id: None,
                outcome: None,
                safe: None,
                slip: Some(ToolUseSlip::UnknownTool),
            },
        ],
        stop_reason: Some("tool_use".into()),
        headers: vec![("x-b".into(), "1".into()), ("x-a".into(), "\"2\"".into())],
        input_tokens: Some(3),
        cleared_tokens: Some(9),
        provenance: Provenance::Derived,
        may: true,
        ..ScriptedTurn::default()
    };
    vec![turn, ScriptedTurn { status: 529, body: Some("{\n}".into()), ..ScriptedTurn::default() }]
}

fn tools() -> Vec<ScriptedTool> {
    let mut own = ToolDefinition::new("own", Some(true), Json::trusted(r#"{"name":"own","n":1e3}"#));
    own.observable = vec![ObservableField { name: "absolute".into(), from: "path".into(), base: "/x".into() }];
    own.shell = true;
    (own.checks, own.reads_only, own.edits, own.result_limit) = (true, true, true, Some(5));
    own.interrupt = Some(InterruptBehaviour::Cancel);
    own.agent = Some(AgentTool { fast_model: "small".into() });
    let read = known_tool("Read").unwrap().definition();
    let unsure = ToolDefinition { interrupt: None, shell: false, safe: ToolSafety::Unknown, ..known_tool("Bash").unwrap().definition() };
    let hangs = ScriptedOutcome {
        ending: ToolEnding::Hangs,
        stopping: ToolStopping { ignores: StopDeafness::Forever, ..ToolStopping::default() },
        ..ScriptedOutcome::default()
    };
    let panics = ScriptedOutcome { ending: ToolEnding::Panics("out of bounds".into()), ..ScriptedOutcome::default() };
    let nothing = ScriptedOutcome { ending: ToolEnding::ReturnsNothing, ..ScriptedOutcome::default() };
    let build = ToolDefinition::new("Build", None, Json::trusted("{}"));
    let agent = ToolDefinition { agent: Some(AgentTool::default()), ..known_tool("Agent").unwrap().definition() };
    vec![
        ScriptedTool { definition: agent, latency: None, outcome: None },
        ScriptedTool { definition: own, latency: Some(Latency::Recorded { percent: 5 }), outcome: None },
        ScriptedTool { definition: read, latency: None, outcome: Some(ScriptedOutcome { latency: None, ..outcome() }) },
        ScriptedTool { definition: unsure, latency: None, outcome: Some(hangs) },
        ScriptedTool {
            definition: ToolDefinition { json: Json::trusted(r#"{"name":"Build"}"#), ..build },
            latency: None,
            outcome: Some(panics),
        },
        ScriptedTool {
            definition: ToolDefinition::new("Mute", ToolSafety::ByCommand, Json::trusted(r#"{"name":"Mute"}"#)),
            latency: None,
            outcome: Some(nothing),
        },
    ]
}

#[test]
fn f_6_a_session_reads_back() {
    let scenario = Scenario {
        title: Some("All of it".into()),
        rules: vec!["T-5".into(), "K-4".into()],
        seed: Seed(u64::MAX),
        tools: tools(),
        history: vec![
            Arc::new(Message { role: Role::User, content: vec![Block::text("before")] }),
            Arc::new(Message { role: Role::Assistant, content: vec![Block::text("a"), Block::text("b")] }),
        ],
        prompts: vec![ScriptedPrompt { content: vec![Block::text("now")], at: Some(Micros(5)), turns: turns() }, prompt("then")],
        results: BTreeMap::from([("toolu_9".into(), ScriptedOutcome { safe: Some(true), ..outcome() })]),
        ..Scenario::default()
    };
    let text = reads_back(&scenario);
    assert!(text.starts_with("# a comment\n# of two lines\n\ntitle = \"All of it\"\n"), "{text}");
}

#[test]
fn f_6_settings_read_back() {
    let settings = Settings {
        model: "m".into(),
        max_tokens: 9,
        stream: false,
        system_prompt: Some(Json::trusted(r#"[{"type":"text","text":"x"}]"#)),
        memory: true,
        append_system_prompt: Some("more".into()),
        user_context: Some("today\n".into()),
        system_context: Some("here".into()),
        cache_breakpoints: false,
        request_extra: Json::trusted(r#"{"temperature":1.0}"#),
        neighbours: NeighbourMerging::ApartWithResults,
        partial_messages: true,
        emission_order: EmissionOrder::Arrival,
        result_order: ResultOrder::Emission,
        result_delivery: ResultDelivery::AtOnce,
        max_concurrent_tools: Some(2),
        max_pause_resumes: 3,
        on_pause: PausePolicy::End,
        retry_refusal: true,
        refusal_notes: true,
        empty_answer_nudges: 1,
        missing_tool_use_nudges: 2,
        stream_order: StreamOrderPolicy::Lenient,
        unparsed_inputs: true,
        queued_messages: QueuedMessagePlace::InResult,
        background: true,
        texts: ModelTexts {
            set: TextSet::Observed,
            replaced: [(TextName::UnknownTool, "No {tool},\n \"{tools}\" {} {Tool}".into()), (TextName::Interrupted, " x".into())].into(),
        },
        streaming_execution: false,
        max_batch_tools: 3,
        abort_results: AbortResultOrder::InTurn,
        queued_block: QueuedBlockPolicy::Run,
        discarded_tools: DiscardPolicy::Ignore,
        sibling_abort: SiblingAbort::Any,
        batch_sibling_abort: SiblingAbort::Failed,
        tool_grace: Micros::from_millis(1),
        pipeline: PipelineSettings {
            check_inputs: false,
            result_limit: 1,
            result_preview: 2,
            exit_code_aborts: false,
            hooks_shown_from: Micros(3),
            slow_from: Micros(4),
        },
        retry: odd_retry(),
        compaction: CompactionSettings::default(),
        permissions: None,
        session: session::odd_session(),
    };
    let prices = Some(String::from("my prices.toml"));
    let windows = Some(String::from("my windows.toml"));
    reads_back(&Scenario { settings, prices, windows, prompts: vec![prompt("hi")], ..Scenario::default() });
}

/// No field has its default.
fn odd_retry() -> RetrySettings {
    RetrySettings {
        policy: RetryPolicySource::Engine,
        max_retries: 1,
        base_delay: Micros(1),
        max_delay: Micros(2),
        jitter_percent: 3,
        retry_after_jitter_percent: 18,
        max_retry_after: Micros(4),
        overloads_to_fallback: 5,
        on_overload: OverloadPolicy::GoOn,
        fallback_on_server_error: true,
        fallback_on_missing_model: true,
        on_unauthorized: UnauthorizedPolicy::Wait,
        refused_retries: 19,
        fast_mode: true,
        fast_wait_max: Micros(6),
        fast_cooldown_min: Micros(7),
        fast_cooldown: Micros(8),
        unattended: true,
        unattended_max_delay: Micros(9),
        unattended_reset: Micros(10),
        heartbeat: Micros(11),
        overflow_margin: 12,
        overflow_floor: 13,
        nonstreaming_fallback: false,
        nonstreaming_without_block: true,
        nonstreaming_counts: true,
        broken_streams: BrokenStreamPolicy::ByCause,
        silent_retries: 20,
        nonstreaming_max_tokens: 14,
        nonstreaming_timeout: Micros(15),
        head_timeout: Micros(17),
        stream_idle: Micros(16),
        cloud: Some(CloudProvider::Vertex),
    }
}

#[test]
fn r_3_each_cloud_reads_back() {
    for cloud in [None, Some(CloudProvider::Bedrock), Some(CloudProvider::Vertex)] {
        let retry = RetrySettings { cloud, max_retries: 1, ..RetrySettings::default() };
        let settings = Settings { retry, ..Settings::default() };
        reads_back(&Scenario { settings, prompts: vec![prompt("hi")], ..Scenario::default() });
    }
}

#[test]
fn f_6_conditions_and_expectations_read_back() {
    let scenario = Scenario {
        prompts: vec![prompt("hi")],
        timing: AnswerTiming {
            head: Latency::LogUniform(Micros(1), Micros(2)),
            first_event: Latency::LogNormal { p50: Micros(1_000), p99: Micros(2_000_000) },
            between_events: Latency::Table([Micros(1), Micros(2)].into()),
        },
        chunking: Chunking::Every(7),
        limits: RunLimits { time: Micros::from_secs(60), events: 5, requests: 6 },
        explore: ExploreSettings {
            faults: vec![SingleFaultKind::Reset, SingleFaultKind::Cut],
            jitter: ArrivalJitter { tools: Some(Micros::ZERO), answers: Some(Micros(7)), ..ArrivalJitter::default() },
        },
        auth: ScriptedAuth { refresh: RefreshOutcome::Fails, latency: Latency::Fixed(Micros(7)), may: true },
        api: SimulatedApi {
            context_window: Some(200_000),
            count_tokens: true,
            counts_max_tokens: Some(false),
            models: vec!["local-7b".into()],
            lenient: true,
            signatures: Some(SignaturePolicy::Refuse),
            lingers: Micros(6),
        },
        matching: RequestMatching { strict: true, volatile: VolatileMember::from_rules([VolatileRule::Metadata]) },
        expect: Expectations {
            terminal: Some("completed".into()),
            terminals: Some(vec!["aborted_tools".into(), "completed".into()]),
            transitions: Some(vec!["next_turn".into()]),
            requests: Some(2),
            delays: Some(vec![(Micros::from_millis(500), Micros::from_millis(750)), (Micros(7), Micros(7))]),
            refusals: Some(1),
            breaks: vec!["O-3".into()],
            models: Some(Vec::new()),
            tools: Some(vec!["Read".into()]),
            result: Some("success".into()),
            text_present: vec!["a".into()],
            text_absent: vec!["b".into(), "c".into()],
            sent: vec!["d".into()],
            not_sent: vec!["e".into()],
            order: vec!["d".into()],
            ends_after: Some(Micros(1)),
            ends_before: Some(Micros::from_secs(9)),
            ..Expectations::default()
        },
        ..Scenario::default()
    };
    reads_back(&scenario);
}

#[test]
fn k_10_what_is_known_of_a_driven_client_reads_back() {
    let rule = |name: &str, place| NormaliseRule { name: name.into(), place };
    let between = |until: Option<&str>| VaryingPlace::Between { after: "build ".into(), until: until.map(Into::into) };
    let normalise =
        vec![rule("id", VaryingPlace::Member("build_id".into())), rule("build", between(Some(","))), rule("host", between(None))];
    let markers = ToolMarkers { file: Some("started".into()), line: Some("runs".into()) };
    let (client, without) = (Some(KnownClient::ClaudeCode), vec!["dates".into()]);
    let drive = DriveScript { client, exit: Some(143), without, normalise, markers, may: true, profile: None };
    reads_back(&Scenario { drive, prompts: vec![prompt("hi")], ..Scenario::default() });
}

#[test]
fn k_7_the_profile_of_a_client_reads_back() {
    let members = |pairs: &[(&str, &str)]| pairs.iter().map(|(name, value)| (String::from(*name), String::from(*value))).collect();
    let (at, failed_attempts) = (Some("message.text".into()), Some(FailedAttempts::Hidden));
    let text = OutputTextPlace { lines: members(&[("message.role", "assistant")]), at, of: PrintedAnswers::Last, failed_attempts };
    let no_result_after = vec![ClientSignal::Terminate];
    let profile = ClientProfile {
        name: "a".into(),
        start: vec!["a".into(), "{prompt}".into()],
        env: members(&[("A_URL", "{base_url}")]),
        session: Some(SessionPlace { member: Some("id".into()), files: None }),
        store: Some(StorePlace { files: "{home}/*.jsonl".into(), format: "pi".into() }),
        output: OutputPlaces { result: members(&[("type", "result")]), no_result_after, text: Some(text) },
        exit: ExitCodes { ok: vec![0], sigint: vec![0, 130], ..ExitCodes::default() },
        files: vec![ProfileFile { path: "{home}/a".into(), text: "{}\n".into() }],
        ..ClientProfile::default()
    };
    let drive = DriveScript { profile: Some(Arc::new(profile)), ..DriveScript::default() };
    reads_back(&Scenario { drive, prompts: vec![prompt("hi")], ..Scenario::default() });
}

#[test]
fn f_6_a_tape_and_its_thread_read_back() {
    for thread in ["main", "thread-2"] {
        let tape = Some(TapeSource { path: "x.tape.jsonl".into(), thread: thread.into() });
        let text = reads_back(&Scenario { tape, prompts: vec![prompt("hi")], ..Scenario::default() });
        assert_eq!(text.contains("thread ="), thread != "main", "{text}");
    }
}

#[test]
fn f_11_interrupts_read_back() {
    let when = |anchor, side, offset| InterruptMoment::When { anchor, agent: Agent::child("toolu_1.2"), side, offset };
    let moments = [
        InterruptMoment::At(Micros::from_secs(5)),
        when(
            InterruptTrigger::Tool { name: "Read".into(), state: ReachedState::Executing, nth: 1 },
            BoundarySide::After,
            Micros::from_millis(5),
        ),
        when(InterruptTrigger::Tool { name: "Read".into(), state: ReachedState::Completed, nth: 2 }, BoundarySide::Before, Micros::ZERO),
        when(InterruptTrigger::Event { name: "ping".into(), nth: 3 }, BoundarySide::Before, Micros::ZERO),
        when(InterruptTrigger::Request { prompt: Some(2), request: 3, attempt: 4 }, BoundarySide::After, Micros::ZERO),
        when(InterruptTrigger::Request { prompt: None, request: 1, attempt: 1 }, BoundarySide::After, Micros::ZERO),
        when(InterruptTrigger::Retry { nth: 1 }, BoundarySide::After, Micros(1)),
        when(InterruptTrigger::Result { nth: 2 }, BoundarySide::After, Micros::ZERO),
        when(InterruptTrigger::Terminal { nth: 1 }, BoundarySide::After, Micros::ZERO),
    ];
    let cancels = moments.map(|moment| ScriptedInterrupt { kind: InterruptKind::Cancel, moment, turns: Vec::new(), may: true });
    let says = InterruptKind::Interrupt(vec![Block::text("stop")]);
    let interrupt = ScriptedInterrupt { kind: says, moment: InterruptMoment::At(Micros::ZERO), turns: turns(), may: false };
    let interrupts = cancels.into_iter().chain([interrupt]).collect();
    reads_back(&Scenario {
        prompts: vec![prompt("hi")],
        interrupts,
        default_answer: Some("ok".into()),
        tools: tools(),
        ..Scenario::default()
    });
}

#[test]
fn f_11_faults_read_back() {
    let insert = |name: &str| AnswerChange::Insert { after_events: 1, name: name.into(), data: "{\"a\": 'b'}".into() };
    let changes = [
        AnswerChange::Cut { after: CutAfter::Events(3), how: CutManner::Reset },
        AnswerChange::Cut { after: CutAfter::Bytes(0), how: CutManner::Close },
        AnswerChange::Cut { after: CutAfter::Events(1), how: CutManner::Truncate },
        AnswerChange::Stall { after_events: 1, time: Some(Micros(1)) },
        AnswerChange::Stall { after_events: 0, time: None },
        insert("error"),
        AnswerChange::Duplicate { name: "content_block_start", after_events: 0 },
        AnswerChange::Missing { name: "message_delta", after_events: 9 },
        AnswerChange::EmptyBody,
        AnswerChange::ContentType("text/html".into()),
        AnswerChange::TruncateToolInput,
        AnswerChange::Drip { bytes_per_second: 1 },
    ];
    let headers = vec![("x-b".into(), "1".into()), ("retry-after".into(), "\"2\"".into())];
    let answers = [
        FaultAnswer { status: 529, ..FaultAnswer::default() },
        FaultAnswer { status: 400, error: KnownError::named("image_too_large"), ..FaultAnswer::default() },
        FaultAnswer { status: 299, body: Some("a\nb".into()), headers, retry_after: Some(Micros(1)), rate_limits: true, error: None },
    ];
    let connections = ConnectFault::ALL.map(|how| FaultKind::Instead(AnswerSubstitute::Connection(how)));
    let kinds =
        changes.map(FaultKind::Change).into_iter().chain(answers.map(|answer| FaultKind::Instead(AnswerSubstitute::Answer(answer))));
    let at = FaultPlace {
        prompt: Some(NumberSpan { first: 1, last: Some(1) }),
        request: Some(NumberSpan { first: 1, last: Some(3) }),
        attempt: Some(NumberSpan { first: 2, last: None }),
        model: Some("m".into()),
        thread: Some("main".into()),
        after: Some(Micros(1)),
        before: Some(Micros(2)),
        probability: Some(0.1),
    };
    let rule = |kind| FaultRule { at: FaultPlace::default(), kind, may: true };
    let faults = kinds
        .chain(connections)
        .map(rule)
        .chain([FaultRule { at, kind: FaultKind::Change(AnswerChange::EmptyBody), may: false }])
        .collect();
    reads_back(&Scenario { prompts: vec![prompt("hi")], faults, ..Scenario::default() });
}

fn side() -> SideRule {
    SideRule { model: Some("m".into()), contains: Some("title".into()), max_tokens: Some(1), answer: Some("T".into()), may: true }
}
