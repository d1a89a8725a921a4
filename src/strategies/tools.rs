//! Which tools there are, and uses of them.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;

use super::closing_turns::closing_turn;
use super::outcomes::outcome;
use super::values::{latency, model, vary, words};
use reenact_engine::settings::{AgentTool, InterruptBehaviour, ObservableField, ToolDefinition, ToolSafety};
use reenact_scenario::known_tools::known_tool;
use reenact_scenario::types::{AgentScript, ScriptedOutcome, ScriptedTool, ScriptedTurn, ToolUseSlip, TurnBlock};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// The tools that there may be: well-known ones, one that makes agents, one of a server, one of which nothing is known, one for structured output.
pub const NAMES: [&str; 10] = ["Read", "Grep", "Edit", "Write", "Bash", "WebFetch", AGENT, "mcp__desk__ask", "Measure", STRUCTURED];

/// The tool whose uses make agents.
pub const AGENT: &str = "Agent";
/// The tool that takes structured output (S-9).
pub const STRUCTURED: &str = "StructuredOutput";
/// A name that no tool has.
pub const UNKNOWN: &str = "Raed";

/// One of each of [`NAMES`], in this order, all as usual or not.
pub fn tools() -> impl Strategy<Value = Vec<ScriptedTool>> {
    NAMES.map(tool).to_vec()
}

/// The tool of this name.
pub fn tool(name: &'static str) -> BoxedStrategy<ScriptedTool> {
    let usual = ScriptedTool { definition: usual(name), latency: None, outcome: None };
    let behaviour = select(vec![Some(InterruptBehaviour::Cancel), Some(InterruptBehaviour::Block), None]);
    let observable =
        select(vec!["/w", "/srv/w"]).prop_map(|base| ObservableField { name: "absolute".into(), from: "path".into(), base: base.into() });
    let agent = (name == AGENT).then(|| model().prop_map(|fast_model| AgentTool { fast_model }));
    let agent = agent.map_or_else(|| Just(None).boxed(), |agent| agent.prop_map(Some).boxed());
    let whole = vary!(usual, 0.2;
        definition.safe: select(vec![ToolSafety::Always, ToolSafety::Never, ToolSafety::ByCommand, ToolSafety::Unknown]),
        definition.interrupt: behaviour,
        definition.shell: any::<bool>(),
        definition.checks: any::<bool>(),
        definition.reads_only: any::<bool>(),
        definition.edits: any::<bool>(),
        definition.observable: observable.prop_map(|observable| vec![observable]),
        definition.result_limit: (0_u64..300).prop_map(Some),
        definition.agent: agent,
        latency: latency().prop_map(Some),
        outcome: outcome().prop_map(|outcome| Some(ScriptedOutcome { latency: None, ..outcome })),
    );
    whole.boxed()
}

/// The tool as it usually is.
pub fn usual(name: &str) -> ToolDefinition {
    let own = || ToolDefinition::new(name, Some(true), Json::trusted(format!(r#"{{"name":"{name}","input_schema":{{"type":"object"}}}}"#)));
    let mut definition = known_tool(name).map_or_else(own, |known| known.definition());
    if name == AGENT {
        definition.agent = Some(AgentTool::default());
    }
    definition
}

/// A use of one of the tools, with what comes of it. See [`super::outcomes::fitting`].
pub fn tool_use() -> BoxedStrategy<TurnBlock> {
    let of = |name: &'static str| (if matches!(name, "Read" | "Edit" | "Bash") { 4 } else { 2 }, tool_use_of(name));
    let known = NAMES.map(of);
    let wrong = Just(UNKNOWN).prop_map(|name| TurnBlock::Tool {
        name: name.into(),
        input: "{}".into(),
        id: None,
        outcome: None,
        safe: None,
        slip: Some(ToolUseSlip::UnknownTool),
    });
    Union::new_weighted(known.into_iter().chain([(1, wrong.boxed())]).collect()).boxed()
}

fn tool_use_of(name: &'static str) -> BoxedStrategy<TurnBlock> {
    let id = option::weighted(0.1, select(vec!["toolu_twice", "toolu_other", "toolu-1_b"]).prop_map(Arc::from));
    let outcome = option::weighted(0.6, outcome());
    if name == AGENT {
        let parts = (agents(), outcome, id, 0_usize..20);
        return parts.prop_map(|(agents, outcome, id, odd)| agent_use(agents, outcome.unwrap_or_default(), id, odd)).boxed();
    }
    let safe = option::weighted(0.1, any::<bool>());
    let parts = (input(name), outcome, id, safe);
    parts.prop_map(move |(input, outcome, id, safe)| with_slip(name, input, (id, safe), outcome.map(Box::new))).boxed()
}

/// As many agents as there are answers for; `odd` is 0 for one more than that.
fn agent_use(agents: AgentScript, outcome: ScriptedOutcome, id: Option<Arc<str>>, odd: usize) -> TurnBlock {
    let count = agents.tasks.len() + usize::from(odd == 0);
    let several = if count > 1 { format!(r#","parallel_tasks":{count}"#) } else { String::new() };
    let input = format!(r#"{{"description":"look","prompt":"Look at it, please."{several}}}"#).into();
    with_slip(AGENT, input, (id, None), Some(Box::new(ScriptedOutcome { agents, ..outcome })))
}

/// Only a use with an id that no other one has says of itself that it may run beside others.
fn with_slip(
    name: &str,
    input: Arc<str>,
    (id, safe): (Option<Arc<str>>, Option<bool>),
    outcome: Option<Box<ScriptedOutcome>>,
) -> TurnBlock {
    let slip = is_wrong(name, &input).then_some(ToolUseSlip::InvalidInput);
    TurnBlock::Tool { name: name.into(), input, safe: safe.filter(|_| id.is_none()), id, outcome, slip }
}

/// The answers to agents: none that needs further agents.
fn agents() -> BoxedStrategy<AgentScript> {
    let tool = prop_oneof![tool_use_of("Read"), tool_use_of("Bash"), tool_use_of("Edit")];
    let working = vec(tool, 1..3).prop_map(|content| ScriptedTurn { content, may: true, ..ScriptedTurn::default() });
    let task = (vec(working, 0..2), vec(closing_turn(), 2)).prop_map(|(working, closing)| working.into_iter().chain(closing).collect());
    (vec(task, 0..4), option::of(closing_turn())).prop_map(|(tasks, synthesis)| AgentScript { tasks, synthesis }).boxed()
}

/// Inputs of a tool: mostly ones that it takes. What is not fits [`is_wrong`].
pub fn input(name: &'static str) -> BoxedStrategy<Arc<str>> {
    let wrong = select(vec![
        r#"{"file_path":"#,
        "",
        "[]",
        r#"{"file_path":7}"#,
        "null",
        r#"{"command":"ls","x":{"y":[1e400]}}"#,
        "{\"file_path\":\"a\n\"}",
        r#"{"a":1}{"#,
    ]);
    prop_oneof![12 => right_input(name), 1 => wrong.prop_map(Arc::from)].boxed()
}

fn right_input(name: &'static str) -> BoxedStrategy<Arc<str>> {
    let path = || select(vec!["/w/a.rs", "/w/src/b.rs", "/etc/hosts", "notes.md"]);
    let strategy = match name {
        "Read" => path().prop_map(|path| format!(r#"{{"file_path":"{path}"}}"#)).boxed(),
        "Edit" => path().prop_map(|path| format!(r#"{{"file_path":"{path}","old_string":"a","new_string":"b"}}"#)).boxed(),
        "Write" => (path(), words()).prop_map(|(path, words)| format!(r#"{{"file_path":"{path}","content":"{words}"}}"#)).boxed(),
        "Bash" => select(vec![
            "ls",
            "git status",
            "cargo test",
            "rm -r x",
            "git diff --output=x",
            "cat a.rs; echo x >> notes.md",
            "echo a; sleep 3; touch t",
        ])
        .prop_map(|line| format!(r#"{{"command":"{line}"}}"#))
        .boxed(),
        "WebFetch" => Just(String::from(r#"{"url":"https://example.com/","prompt":"what?"}"#)).boxed(),
        "Grep" => path().prop_map(|path| format!(r#"{{"pattern":"x","path":"{path}"}}"#)).boxed(),
        _ => select(vec![r#"{"answer":42}"#, "{}", r#"{"path":"a/b"}"#]).prop_map(String::from).boxed(),
    };
    strategy.prop_map(Arc::from).boxed()
}

/// Whether a use would be refused before the tool runs: the tool does not exist, or the input does not fit its schema.
pub fn is_wrong(name: &str, input: &str) -> bool {
    name == UNKNOWN
        || !serde_json::from_str::<serde_json::Value>(input)
            .is_ok_and(|value| value.is_object() && value["file_path"] != 7 && fits(name, &value))
}

fn fits(name: &str, value: &serde_json::Value) -> bool {
    let required = match name {
        "Read" => "file_path",
        "Edit" => "new_string",
        "Write" => "content",
        "Bash" => "command",
        "WebFetch" => "url",
        "Grep" => "pattern",
        _ => return true,
    };
    value.get(required).is_some()
}
