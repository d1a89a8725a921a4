//! `[[prompt]]` with its scripted answers, and `[[history]]`.

use core::ops::RangeInclusive;

use crate::language::description::ValueShape;
use crate::language::forms::{BlocksText, TextTable, TrueMark};
use crate::language::keys::{ConvertedTable, KeyForm, KeyPosition, keys};
use crate::language::tables::{Flat, Inlines, Section, Sections};
use crate::language::toml::TomlValue;
use crate::latency::Latency;
use crate::parse::reader::TableReader;
use crate::parse::report::DiagnosticReport;
use crate::parse::tree::{TreeMember, TreeValue, TreeValueKind};
use crate::tape::Provenance;
use crate::types::{AgentScript, ScriptedOutcome, ScriptedPrompt, ScriptedTurn, ToolUseSlip, TurnBlock};
use reenact_engine::time::Micros;
use reenact_wire::block::{Block, Message, Role};
use reenact_wire::http;
use reenact_wire::prelude::*;

/// The statuses that an answer can have. One from 100 to 199 is no answer: another one follows it.
pub(crate) const ANSWER_STATUSES: RangeInclusive<u16> = 200..=599;

/// More tokens than any model has read or written at once. The cost of more could not be added up.
const TOKENS_MAX: u64 = 1_000_000_000_000;

keys! {
    /// A message of the user.
    pub(crate) struct ContentKeys {
        /// The message as text. Either this or `content_json` is needed.
        text: Option<Arc<str>> = None, example("\"Hello\"");
        /// The message as content blocks, for images and the like.
        content_json: Option<Vec<Block>> as Option<BlocksText> = None;
    }
}

/// The content of a message, which is needed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Content(pub(crate) Vec<Block>);

impl ConvertedTable for Content {
    type Keys = ContentKeys;

    fn from_keys(keys: ContentKeys, reader: &mut TableReader<'_, '_>) -> Option<Self> {
        if reader.one_of(&["text", "content_json"]).is_none() {
            let message = format!("{} needs `text` or `content_json`", reader.title());
            reader.lacks(&["text", "content_json"], message, None);
        }
        Some(keys.into())
    }

    fn to_keys(&self) -> ContentKeys {
        (&self.0[..]).into()
    }
}

impl From<ContentKeys> for Content {
    fn from(ContentKeys { text, content_json }: ContentKeys) -> Self {
        Self(text.map(|text| vec![Block::text(&text)]).or(content_json).unwrap_or_default())
    }
}

impl From<&[Block]> for ContentKeys {
    fn from(blocks: &[Block]) -> Self {
        if let [block] = blocks
            && let Ok(serde_json::Value::Object(members)) = serde_json::from_str(block.json().as_str())
            && let Some(text) = members.get("text").and_then(serde_json::Value::as_str)
            && Block::text(text) == *block
        {
            return Self { text: Some(text.into()), content_json: None };
        }
        Self { text: None, content_json: Some(blocks.to_vec()) }
    }
}

keys! {
    /// `[[prompt]]`: a message of the user, and the answers to it.
    pub(crate) struct PromptKeys {
        /// The message.
        content: Option<Content> as Option<Flat<Content>> = None;
        /// When the user submits it. By default as soon as the session is free.
        at: Option<Micros> = None;
        /// The answers of the model, in order.
        turn: Vec<ScriptedTurn> as Sections<ScriptedTurn> = Vec::new();
    }
}

impl ConvertedTable for ScriptedPrompt {
    type Keys = PromptKeys;

    fn from_keys(PromptKeys { content, at, turn }: PromptKeys, _: &mut TableReader<'_, '_>) -> Option<Self> {
        Some(Self { content: content.unwrap_or_default().0, at, turns: turn })
    }

    fn to_keys(&self) -> PromptKeys {
        let Self { content, at, turns } = self.clone();
        PromptKeys { content: Some(Content(content)), at, turn: turns }
    }
}

keys! {
    /// `[[history]]`: a message from before the first prompt.
    pub(crate) struct HistoryKeys {
        /// The role of a message.
        role: Option<Role> = None, required_such_as(": \"user\", \"assistant\" or \"system\"");
        /// The message.
        content: Option<Content> as Option<Flat<Content>> = None;
    }
}

impl ConvertedTable for Arc<Message> {
    type Keys = HistoryKeys;

    fn from_keys(HistoryKeys { role, content }: HistoryKeys, _: &mut TableReader<'_, '_>) -> Option<Self> {
        Some(Self::new(Message { role: role?, content: content.unwrap_or_default().0 }))
    }

    fn to_keys(&self) -> HistoryKeys {
        HistoryKeys { role: Some(self.role), content: Some(Content(self.content.clone())) }
    }
}

keys! {
    /// `[[prompt.turn]]`, `[[interrupt.turn]]`: one answer of the model. Either `content`, or its short form with `thinking`, `text` and `tool`.
    pub(crate) struct TurnKeys {
        /// Why the model stopped. By default `tool_use` with tools and `end_turn` without.
        stop_reason: Option<Arc<str>> = None, example("\"max_tokens\"");
        /// The HTTP status of the answer, from 200 to 599. With another status than 200 there is no content.
        status: u16 as AnswerStatus = 200, example("529");
        /// The literal body: of an answer with another status, or a stream as SSE text.
        body: Option<Arc<str>> = None, example("'{\"type\":\"error\"}'");
        /// Further headers of the answer.
        headers: Vec<(String, String)> as HeaderTable = Vec::new();
        /// `usage.input_tokens` of the answer. By default the answer does not have it.
        input_tokens: Option<u64> as Option<AnswerTokens> = None, unit("tokens"), example("150000");
        /// `usage.output_tokens` of the answer. By default an estimate.
        output_tokens: Option<u64> as Option<AnswerTokens> = None, unit("tokens"), example("300");
        /// How many input tokens the API left out of old tool results (C-2).
        cleared_tokens: Option<u64> as Option<AnswerTokens> = None, unit("tokens"), example("20000");
        /// Where the answer comes from (F-12).
        provenance: Provenance = Provenance::Written;
        /// The answer need not be asked for, nor the answers after it (F-10).
        may: bool = false;
        /// Thinking, before text and tools.
        thinking: Option<Arc<str>> = None;
        /// Text, before tools.
        text: Option<Arc<str>> = None;
        /// The tool uses.
        tool: Vec<ToolUseEntry> as Inlines<ToolUseEntry> = Vec::new(), example("[{ name = \"Read\", input = { file_path = \"a.txt\" } }]");
        /// The blocks of the answer in any order.
        content: Vec<TurnBlock> as Sections<TurnBlock> = Vec::new(), example("[{ text = \"First,\" }, { tool = { name = \"Read\" } }]");
    }
}

const CONTENT_KEYS: [&str; 4] = ["content", "thinking", "text", "tool"];

impl ConvertedTable for ScriptedTurn {
    type Keys = TurnKeys;

    fn from_keys(keys: TurnKeys, reader: &mut TableReader<'_, '_>) -> Option<Self> {
        let has_content = reader.has_any(&CONTENT_KEYS);
        for key in ["thinking", "text", "tool"] {
            reader.one_of(&["content", key]);
        }
        if has_content && keys.body.is_some() {
            reader.key_problem("body", "`body` is the literal answer and cannot stand beside content; keep one of them".into());
        }
        if matches!(keys.status, 204 | 304) && keys.body.is_some() {
            reader.key_problem("body", format!("an answer with status {} has no body: remove it, or change the status", keys.status));
        }
        if has_content && keys.status != 200 {
            let message = format!("an answer with status {} has no content; give its `body` or nothing", keys.status);
            reader.value_problem("status", message);
        }
        let TurnKeys { stop_reason, status, body, headers, input_tokens, output_tokens, cleared_tokens, provenance, may, .. } = keys;
        let mut content = keys.content;
        content.extend(keys.thinking.map(TurnBlock::Thinking));
        content.extend(keys.text.map(TurnBlock::Text));
        content.extend(keys.tool.into_iter().map(|ToolUseEntry(block)| block));
        Some(Self { content, stop_reason, status, body, headers, input_tokens, output_tokens, cleared_tokens, provenance, may })
    }

    fn to_keys(&self) -> TurnKeys {
        let Self { content, stop_reason, status, body, headers, input_tokens, output_tokens, cleared_tokens, provenance, may } =
            self.clone();
        TurnKeys {
            stop_reason,
            status,
            body,
            headers,
            input_tokens,
            output_tokens,
            cleared_tokens,
            provenance,
            may,
            content,
            ..TurnKeys::default()
        }
    }
}

/// A status from 200 to 599.
pub(crate) struct AnswerStatus;

impl KeyForm for AnswerStatus {
    type Value = u16;

    fn shape() -> ValueShape {
        ValueShape::Integer(200)
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<u16> {
        let given = u32::read(value, at, report)?;
        let status = u16::try_from(given).ok().filter(|status| ANSWER_STATUSES.contains(status));
        if status.is_none() {
            report.value(value.place, format!("expected an HTTP status from 200 to 599, found {given}"), None);
        }
        status
    }

    fn write(value: &u16) -> TomlValue {
        TomlValue::Inline(value.to_string())
    }
}

/// A count of tokens that can be added up.
struct AnswerTokens;

impl KeyForm for AnswerTokens {
    type Value = u64;

    fn shape() -> ValueShape {
        ValueShape::Integer(0)
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<u64> {
        let tokens = u64::read(value, at, report)?;
        if tokens > TOKENS_MAX {
            report.value(value.place, format!("an answer cannot have so many tokens; write {TOKENS_MAX} at most"), None);
        }
        Some(tokens)
    }

    fn write(value: &u64) -> TomlValue {
        TomlValue::Inline(value.to_string())
    }
}

/// Headers of an answer, in the order in which they are written.
pub(crate) struct HeaderTable;

impl KeyForm for HeaderTable {
    type Value = Vec<(String, String)>;

    fn shape() -> ValueShape {
        ValueShape::Map(Box::new(ValueShape::Text))
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<Vec<(String, String)>> {
        match &value.kind {
            TreeValueKind::Table(table) => Some(table.members.iter().filter_map(|member| header(member, at, report)).collect()),
            TreeValueKind::StandIn => None,
            _ => {
                report.mismatch(value, "a table of names with text");
                None
            }
        }
    }

    fn write(headers: &Vec<(String, String)>) -> TomlValue {
        TextTable::write(headers)
    }
}

/// A header that a server can send. The server writes the connection's own headers, so they cannot be chosen.
fn header(member: &TreeMember, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<(String, String)> {
    let text = String::read(&member.value, at, report)?;
    let is_name =
        !member.key.is_empty() && member.key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte));
    let problem = if !is_name {
        "this is not the name of a header: use letters, digits and `-`"
    } else if text.chars().any(char::is_control) {
        "a header's text has no line breaks and no other control characters"
    } else if http::is_of_connection(&member.key) {
        "this header belongs to the connection, and the server writes it; leave it out"
    } else {
        return Some((member.key.clone(), text));
    };
    report.value(member.place, problem.into(), None);
    None
}

keys! {
    /// An entry of `content`: one block of an answer. It needs exactly one of these keys.
    pub(crate) struct TurnBlockKeys {
        /// A block of text.
        text: Option<Arc<str>> = None;
        /// Thinking. Its signature is made up.
        thinking: Option<Arc<str>> = None;
        /// A tool use.
        tool: Option<ToolUseEntry> as Option<Section<ToolUseEntry>> = None;
    }
}

impl ConvertedTable for TurnBlock {
    type Keys = TurnBlockKeys;

    fn from_keys(keys: TurnBlockKeys, reader: &mut TableReader<'_, '_>) -> Option<Self> {
        const KINDS: [&str; 3] = ["text", "thinking", "tool"];
        if reader.one_of(&KINDS).is_none() {
            reader.lacks(&KINDS, format!("{} needs `text`, `thinking` or `tool`", reader.title()), None);
        }
        let TurnBlockKeys { text, thinking, tool } = keys;
        thinking.map(Self::Thinking).or(text.map(Self::Text)).or(tool.map(|ToolUseEntry(block)| block))
    }

    fn to_keys(&self) -> TurnBlockKeys {
        let keys = TurnBlockKeys::default();
        match self {
            Self::Text(text) => TurnBlockKeys { text: Some(text.clone()), ..keys },
            Self::Thinking(thinking) => TurnBlockKeys { thinking: Some(thinking.clone()), ..keys },
            Self::Tool { .. } => TurnBlockKeys { tool: Some(ToolUseEntry(self.clone())), ..keys },
        }
    }
}

keys! {
    /// A tool use of the model, with the outcome of its run. Without a key about the run, the tool's outcome holds.
    pub(crate) struct ToolUseKeys {
        /// The name of the tool.
        name: Option<Arc<str>> = None, required, example("\"Read\"");
        /// Its input: a table, or the text that the model writes, which need not be JSON.
        input: Arc<str> as ToolInputText = "{}".into(), example("{ file_path = \"a.txt\" }");
        /// The API's id. By default it is derived from prompt, turn and position.
        id: Option<Arc<str>> = None, example("\"toolu_1\"");
        /// The model names a tool that does not exist, on purpose.
        unknown: bool as TrueMark = false;
        /// The model writes an input that does not fit the tool's schema, on purpose.
        invalid: bool as TrueMark = false;
        /// Whether this use may run beside others (T-3). It wins over the tool's own `safe`.
        safe: Option<bool> = None;
        /// How long the run takes. By default it takes the tool's time.
        latency: Option<Latency> = None;
        /// The outcome of the run.
        outcome: Option<ScriptedOutcome> as Flat<Option<ScriptedOutcome>> = None;
        /// The agents that the tool use makes, with the answers to each (B-8).
        agent: Vec<AgentTurnsKeys> as Sections<AgentTurnsKeys> = Vec::new(), example("[{ turn = [{ text = \"Done.\" }] }]");
        /// The answer to the request that puts the results of several agents together.
        synthesis: Option<ScriptedTurn> as Option<Section<ScriptedTurn>> = None, example("{ text = \"Both are done.\" }");
    }
}

keys! {
    /// The answers to one agent.
    pub(crate) struct AgentTurnsKeys {
        /// The answers, in order.
        turn: Vec<ScriptedTurn> as Sections<ScriptedTurn> = Vec::new();
    }
}

/// A [`TurnBlock::Tool`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ToolUseEntry(TurnBlock);

impl ConvertedTable for ToolUseEntry {
    type Keys = ToolUseKeys;
    const TITLE: Option<&'static str> = Some("a tool use");

    fn from_keys(keys: ToolUseKeys, reader: &mut TableReader<'_, '_>) -> Option<Self> {
        reader.one_of(&["unknown", "invalid"]);
        check_agents(&keys, reader);
        let ToolUseKeys { name, input, id, unknown, invalid, safe, latency, outcome, agent, synthesis } = keys;
        let agents = AgentScript { tasks: agent.into_iter().map(|agent| agent.turn).collect(), synthesis };
        let is_given = outcome.is_some() || latency.is_some() || agents != AgentScript::default();
        let outcome = is_given.then(|| Box::new(ScriptedOutcome { latency, agents, ..outcome.unwrap_or_default() }));
        let slip = unknown.then_some(ToolUseSlip::UnknownTool).or(invalid.then_some(ToolUseSlip::InvalidInput));
        Some(Self(TurnBlock::Tool { name: name?, input, id, outcome, safe, slip }))
    }

    fn to_keys(&self) -> ToolUseKeys {
        let TurnBlock::Tool { name, input, id, outcome, safe, slip } = self.0.clone() else { return ToolUseKeys::default() };
        let outcome = outcome.map(|outcome| *outcome);
        let agents = outcome.as_ref().map(|outcome| outcome.agents.clone()).unwrap_or_default();
        ToolUseKeys {
            name: Some(name),
            input,
            id,
            unknown: slip == Some(ToolUseSlip::UnknownTool),
            invalid: slip == Some(ToolUseSlip::InvalidInput),
            safe,
            latency: outcome.as_ref().and_then(|outcome| outcome.latency.clone()),
            outcome,
            agent: agents.tasks.into_iter().map(|turn| AgentTurnsKeys { turn }).collect(),
            synthesis: agents.synthesis,
        }
    }
}

/// The answers to agents make the result of the tool use; an agent makes no agents.
fn check_agents(keys: &ToolUseKeys, reader: &mut TableReader<'_, '_>) {
    for key in ["result", "result_json", "structured", "hangs", "panics", "latency"] {
        reader.one_of(&["agent", key]);
    }
    let turns = || keys.agent.iter().flat_map(|agent| &agent.turn).chain(&keys.synthesis);
    if reader.member("agent").is_some() && turns().any(makes_agents) {
        reader.key_problem("agent", "a sub-agent makes no agents: remove `agent` from its tool use".into());
    }
    if reader.member("synthesis").is_some() && keys.agent.len() < 2 {
        let message = "`synthesis` puts several results together: it needs two entries of `agent` or more".into();
        reader.key_problem("synthesis", message);
    }
}

fn makes_agents(turn: &ScriptedTurn) -> bool {
    let has_agents =
        |block: &TurnBlock| matches!(block, TurnBlock::Tool { outcome: Some(outcome), .. } if outcome.agents != AgentScript::default());
    turn.content.iter().any(has_agents)
}

/// The input of a tool use as the model writes it: a table becomes JSON, text stays as it is.
struct ToolInputText;

impl KeyForm for ToolInputText {
    type Value = Arc<str>;

    fn shape() -> ValueShape {
        ValueShape::Either(vec![ValueShape::Text, ValueShape::Map(Box::new(ValueShape::Anything))])
    }

    fn read(value: &TreeValue, _: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<Arc<str>> {
        match &value.kind {
            TreeValueKind::Text(text) => Some(text.as_str().into()),
            TreeValueKind::Table(_) => value.to_json(report).map(|json| json.as_str().into()),
            TreeValueKind::StandIn => None,
            _ => {
                report.mismatch(value, "a table, or text as the model writes it");
                None
            }
        }
    }

    fn write(value: &Arc<str>) -> TomlValue {
        TomlValue::text(value)
    }
}

/// The times of prompts: each comes when the one before it is over.
pub(crate) fn check_order(reader: &mut TableReader<'_, '_>, prompts: &[ScriptedPrompt]) {
    let times: Vec<Micros> = prompts.iter().filter_map(|prompt| prompt.at).collect();
    let Some(wrong) = times.windows(2).find(|times| times[1] < times[0]) else { return };
    let message = format!("a [[prompt]] with at = \"{}\" stands behind one with at = \"{}\": sort them by time", wrong[1], wrong[0]);
    reader.key_problem("prompt", message);
}
