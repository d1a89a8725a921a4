//! The query loop alone: what it does with answers, tools and hooks that a test hands to it, policy by policy.
//!
//! A test's inputs are short words (`text`, `use=A`, `think`), and so are its outputs: see [`Bench::answers`] and [`Bench::seen`].

mod aborts;
mod answers;
mod budgets;
mod recoveries;
mod start;
mod stops;
mod turns;

use super::diagram::QueryPhase;
use super::*;
use crate::agent_effects::AgentEffects;
use crate::contract::{AnswerEnd, Effect, RequestId, Terminal, ToolOutcome, ToolRun};
use crate::conversation::ItemKind;
use crate::emission::{Emission, Note};
use crate::hook::{HookDefinition, HookEvent, HookInput, HookOutcome, HookRun};
use crate::settings::{ContextWindow, InterruptBehaviour, Settings, ToolDefinition};
use reenact_wire::block::{BlockKind, Role};
use reenact_wire::event::StreamEvent;
use reenact_wire::json::Json;
use reenact_wire::request::Request;

/// A query and all that surrounds it.
struct QueryHarness {
    env: Environment,
    query: Query,
    memory: SessionMemory,
    now: Time,
    effects: AgentEffects,
    /// Requests that were made, in order.
    requests: Vec<(RequestId, Arc<Request>)>,
    hooks: Vec<(HookRun, Arc<HookInput>)>,
    runs: Vec<(Arc<str>, ToolRun)>,
    outcome: Option<Box<QueryOutcome>>,
    /// The input tokens in the usage of answers.
    input_tokens: u64,
}

/// `Read` is safe and stops for a message, `Write` is exclusive and does not.
fn environment(change: impl FnOnce(&mut Settings)) -> Environment {
    let mut settings = Settings { cache_breakpoints: false, ..Settings::default() };
    settings.session.fallback_model = None;
    change(&mut settings);
    let tool = |name: &str, safe, interrupt| {
        let json = Json::trusted(format!(r#"{{"name":"{name}","input_schema":{{"type":"object"}}}}"#));
        ToolDefinition { interrupt: Some(interrupt), ..ToolDefinition::new(name, Some(safe), json) }
    };
    let tools = vec![
        tool("Read", true, InterruptBehaviour::Cancel),
        tool("Write", false, InterruptBehaviour::Block),
        tool("StructuredOutput", true, InterruptBehaviour::Cancel),
    ];
    Environment { settings, tools, ..Environment::default() }
}

fn hook(name: &str, event: HookEvent) -> HookDefinition {
    HookDefinition { name: name.into(), event, matcher: None, timeout: HookDefinition::TIMEOUT }
}

impl QueryHarness {
    /// A first prompt that says "hi".
    fn new(change: impl FnOnce(&mut Settings)) -> Self {
        Self::with_environment(environment(change))
    }

    fn with_environment(env: Environment) -> Self {
        Self::begin(env, SessionMemory::default(), QueryBeginning::Asking)
    }

    /// A prompt that says "hi" behind what is remembered.
    fn begin(env: Environment, mut memory: SessionMemory, begins: QueryBeginning) -> Self {
        let mut effects = AgentEffects::default();
        memory.conversation.push_user("p1", ItemKind::Prompt, vec![Block::text("hi")]);
        let frame = Arc::new(RequestFrame::from_environment(&env));
        let scope = &mut QueryScope::new(&env, Time::ZERO, &mut memory, &mut effects);
        let (query, verdict) = Query::start(scope, 1, frame, begins);
        let (requests, hooks, runs) = (Vec::new(), Vec::new(), Vec::new());
        let mut bench = Self { env, query, memory, now: Time::ZERO, effects, requests, hooks, runs, outcome: None, input_tokens: 100 };
        bench.take(verdict);
        bench
    }

    fn take(&mut self, verdict: QueryVerdict) {
        for (_, effect) in self.effects.iter() {
            match effect {
                Effect::Request { id, request } if !self.requests.iter().any(|(known, _)| known == id) => {
                    self.requests.push((*id, request.clone()));
                }
                Effect::RunHook { hook, input } if !self.hooks.iter().any(|(known, _)| known == hook) => {
                    self.hooks.push((*hook, input.clone()));
                }
                Effect::StartTool { run, tool_use } if !self.runs.iter().any(|(_, known)| known == run) => {
                    self.runs.push((tool_use.id.clone(), *run));
                }
                _ => (),
            }
        }
        if let QueryVerdict::Finished(outcome) = verdict {
            assert!(self.outcome.is_none(), "a prompt ends once");
            self.outcome = Some(outcome);
        }
    }

    /// Lets the query do something.
    fn with<R>(&mut self, body: impl FnOnce(&mut Query, &mut QueryScope<'_>) -> R) -> R {
        let Self { env, query, memory, now, effects, .. } = self;
        body(query, &mut QueryScope::new(env, *now, memory, effects))
    }

    fn input(&mut self, input: &Input) {
        let verdict = self.with(|query, scope| query.step(scope, input));
        self.take(verdict);
    }

    /// The request that was made last.
    fn asked(&self) -> RequestId {
        self.requests.last().expect("no request was made").0
    }

    fn event(&mut self, id: RequestId, data: &str) {
        self.input(&Input::Stream { id, event: Arc::new(StreamEvent::decode("event", data)) });
    }

    fn head(&mut self, id: RequestId, status: u16) {
        self.input(&Input::Head { id, status, headers: [].into() });
    }

    /// Begins to answer the last request: `text`, `think` or `use=A` (by `Read`, or `use=A@Write`), each a whole block; `-` is none.
    fn streams(&mut self, picture: &str) -> RequestId {
        let (id, model) = (self.asked(), self.requests.last().unwrap().1.model.clone());
        self.head(id, 200);
        let usage = format!(r#"{{"input_tokens":{},"output_tokens":1}}"#, self.input_tokens);
        let start = format!(r#""role":"assistant","content":[],"usage":{usage}"#);
        self.event(id, &format!(r#"{{"type":"message_start","message":{{"id":"msg","model":"{model}",{start}}}}}"#));
        for (index, word) in picture.split_whitespace().filter(|word| *word != "-").enumerate() {
            self.event(id, &format!(r#"{{"type":"content_block_start","index":{index},"content_block":{}}}"#, block(word)));
            self.event(id, &format!(r#"{{"type":"content_block_stop","index":{index}}}"#));
        }
        id
    }

    /// Ends the answer with a stop reason and `output` tokens in all.
    fn stops(&mut self, id: RequestId, stop_reason: &str, output: u64) {
        self.event(
            id,
            &format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{stop_reason}"}},"usage":{{"output_tokens":{output}}}}}"#),
        );
        self.event(id, r#"{"type":"message_stop"}"#);
        self.input(&Input::End { id, how: AnswerEnd::Complete });
    }

    /// Answers the last request, whole, with ten tokens.
    fn answers(&mut self, picture: &str, stop_reason: &str) {
        let id = self.streams(picture);
        self.stops(id, stop_reason, 10);
    }

    /// Refuses the last request.
    fn fails(&mut self, status: u16, message: &str) {
        let id = self.asked();
        self.head(id, status);
        let body = format!(r#"{{"type":"error","error":{{"type":"invalid_request_error","message":"{message}"}}}}"#);
        self.input(&Input::Body { id, body: body.into() });
        self.input(&Input::End { id, how: AnswerEnd::Complete });
    }

    /// A tool ends: `A` well, `A!` with an error.
    fn ends(&mut self, tool: &str) {
        let id = tool.trim_end_matches('!');
        let run = self.runs.iter().find(|(known, _)| &**known == id).unwrap_or_else(|| panic!("{id} was not started")).1;
        let outcome = if tool == id { ToolOutcome::text("done") } else { ToolOutcome::error("broken") };
        self.input(&Input::ToolEnded { run, outcome: Arc::new(outcome) });
    }

    /// The hook that was asked last has answered.
    fn hook_says(&mut self, outcome: HookOutcome) {
        let hook = self.hooks.last().expect("no hook was asked").0;
        self.input(&Input::HookEnded { hook, outcome: Arc::new(outcome) });
    }

    /// The wait that was announced last is over.
    fn waits(&mut self) {
        let timer = self.effects.iter().filter_map(|(_, effect)| match effect {
            Effect::SetTimer { timer, at } => Some((*timer, *at)),
            _ => None,
        });
        if let Some((timer, at)) = timer.last() {
            self.now = at;
            self.input(&Input::Timer(timer));
        }
    }

    /// A message is submitted that says "wait": whether it waits for a tool.
    fn submits(&mut self, prompt: u32) -> bool {
        let (prompt, content) = message(prompt);
        let (is_queued, verdict) = self.with(|query, scope| query.interrupt(scope, (prompt, &content)));
        self.take(verdict);
        is_queued
    }

    /// The effects since the last call.
    fn seen(&mut self) -> Vec<String> {
        self.effects.drain().filter_map(|(_, effect)| told(&effect)).collect()
    }

    /// The messages of the last request: `user(hi) assistant(text use=A) user(result=A)`.
    fn conversation(&self) -> String {
        picture(&self.requests.last().unwrap().1.messages)
    }

    fn outcome(&self) -> &QueryOutcome {
        self.outcome.as_ref().unwrap_or_else(|| panic!("the prompt goes on in {:?}", self.query.state.phase()))
    }

    fn terminal(&self) -> &Terminal {
        &self.outcome().terminal
    }

    /// The conversation that the next prompt continues, item by item.
    fn kept(&self) -> String {
        let items = self.memory.conversation.items();
        picture(&items.iter().map(|item| item.message.clone()).collect::<Vec<_>>())
    }
}

fn message(prompt: u32) -> (u32, Arc<[Block]>) {
    (prompt, [Block::text("wait")].into())
}

/// Something was said before, so that there is something to summarise.
fn earlier() -> SessionMemory {
    let mut memory = SessionMemory::default();
    memory.conversation.push_user("p0", ItemKind::Prompt, vec![Block::text(&"before ".repeat(500))]);
    memory.conversation.push_answer(RequestId::first(0), vec![Block::text(&"yes ".repeat(500))], None);
    memory
}

/// Under these settings what was said before is summarised before the first request.
fn nearly_full(settings: &mut Settings) {
    settings.compaction.context_window = ContextWindow::Tokens(30_000);
    (settings.compaction.keep_messages, settings.compaction.output_reserve, settings.compaction.margin) = (0, 20_000, 9_500);
    settings.compaction.hard_margin = 0;
}

fn block(word: &str) -> String {
    match word.split_once('=') {
        Some(("use", id)) => {
            let (id, name) = id.split_once('@').unwrap_or((id, "Read"));
            format!(r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{{"path":"{id}"}}}}"#)
        }
        _ if word == "think" => r#"{"type":"thinking","thinking":"hm","signature":"s"}"#.into(),
        _ if word == "blank" => r#"{"type":"text","text":" "}"#.into(),
        _ => format!(r#"{{"type":"text","text":"{word}"}}"#),
    }
}

fn told(effect: &Effect) -> Option<String> {
    Some(match effect {
        Effect::Request { id, request } => format!("request {id} {}", request.max_tokens),
        Effect::CloseRequest { id } => format!("close {id}"),
        Effect::StartTool { tool_use, .. } => format!("start {}", tool_use.id),
        Effect::StopTool { .. } => "stop".into(),
        Effect::RunHook { input, .. } => format!("hook{}", if input.stop_hook_active { " again" } else { "" }),
        Effect::StopHook { .. } => "stop hook".into(),
        Effect::Note(Note::Transition(transition)) => format!("-> {}", transition.as_str()),
        Effect::Note(Note::Discarded { .. }) => "discarded".into(),
        Effect::Note(Note::Defect { name, .. }) => format!("defect {name}"),
        Effect::Emit(emission) => return emitted(emission),
        _ => return None,
    })
}

fn emitted(emission: &Emission) -> Option<String> {
    Some(match emission {
        Emission::Assistant(message) => match &message.error {
            Some(kind) => format!("error {kind}"),
            None => word(&message.block),
        },
        Emission::User(message) => word(&message.block),
        Emission::Hidden { why, .. } => format!("hidden {why}"),
        Emission::Tombstone { uuid } => format!("tombstone {uuid}"),
        Emission::ModelFallback { from, to, .. } => format!("fallback {from} {to}"),
        Emission::Interrupted { text, .. } => text.to_string(),
        Emission::MaxTurnsReached { turns } => format!("max turns {turns}"),
        Emission::QueuedCommand { prompt, .. } => format!("queued {prompt}"),
        Emission::StructuredOutput { json } => format!("structured {json}"),
        Emission::HookContext { text, .. } => format!("context {text}"),
        Emission::Warning { text } => format!("warning {text}"),
        Emission::ToolUseSummary { text, .. } => format!("summary {text}"),
        _ => return None,
    })
}

fn word(block: &Block) -> String {
    match block.kind() {
        BlockKind::Text(text) => text.to_string(),
        BlockKind::Thinking { signature, .. } => if signature.is_empty() { "think-unsigned" } else { "think" }.into(),
        BlockKind::ToolUse(tool_use) => format!("use={}", tool_use.id),
        BlockKind::ToolResult { tool_use_id, is_error } => format!("result={tool_use_id}{}", if *is_error { "!" } else { "" }),
        BlockKind::RedactedThinking => "redacted".into(),
        BlockKind::Other(kind) => kind.to_string(),
    }
}

fn picture(messages: &[Arc<reenact_wire::block::Message>]) -> String {
    let of = |message: &Arc<reenact_wire::block::Message>| {
        let role = if message.role == Role::User { "user" } else { "assistant" };
        format!("{role}({})", message.content.iter().map(word).collect::<Vec<_>>().join(" "))
    };
    messages.iter().map(of).collect::<Vec<_>>().join(" ")
}
