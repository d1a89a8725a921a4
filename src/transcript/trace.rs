//! The form that viewers of timelines open: Chrome's trace events, which Perfetto shows (X-6).
//!
//! ```text
//!   process = an agent      lane = a request attempt, a tool, a hook, the prompts
//!   prompt 1      ├──────────────────────────────┤
//!   request 1     ├─ waits ─┼─ streams ──┤
//!   request 1.2                             ├─ …     ▼ fault, ▼ cancel: instants
//!   tool 1A                    ├─ Read ─────┤
//! ```
//!
//! Times are microseconds of virtual time. What has not ended when the run is over lasts until then and is marked `open`.

use alloc::collections::BTreeMap;

use reenact_engine::contract::{Agent, Effect, Input, RequestId};
use reenact_engine::emission::Emission;
use reenact_engine::hook::{HookRun, HookSubject};
use reenact_engine::time::Time;
use reenact_wire::prelude::*;
use serde_json::{Value, json};

use super::event::{Event, EventKind, Transcript};

/// One document for the viewer.
pub fn to_trace(transcript: &Transcript) -> String {
    let mut trace = TraceBuilder::default();
    transcript.events.iter().for_each(|event| trace.add(event));
    let end = transcript.events.last().map_or(Time::ZERO, |event| event.at);
    let title = transcript.header.title.as_deref().unwrap_or_default();
    let document = json!({
        "traceEvents": trace.finish(end), "displayTimeUnit": "ms", "otherData": { "title": title, "seed": transcript.header.seed.0.to_string() },
    });
    document.to_string()
}

/// Something that lasts, by its agent and lane.
type SpanPlace = (Agent, String);

/// A span that has not ended.
struct OpenSpan {
    name: String,
    from: Time,
    arguments: Value,
}

#[derive(Default)]
struct TraceBuilder {
    events: Vec<Value>,
    agents: Vec<Agent>,
    /// The lanes of each agent, in the order of their first event.
    lanes: BTreeMap<Agent, Vec<String>>,
    /// The outer span of a lane, and the one inside of it.
    open: BTreeMap<SpanPlace, Vec<OpenSpan>>,
}

impl TraceBuilder {
    fn add(&mut self, event: &Event) {
        let (agent, at) = (&event.agent, event.at);
        match &event.what {
            EventKind::Input(input) => self.add_input(agent, at, input),
            EventKind::Effect(effect) => self.add_effect(agent, at, effect),
            EventKind::Request { id, request } => {
                let lane = request_lane(*id);
                self.end_all(agent, at, RETRIES, false);
                self.begin(agent, at, &lane, (&lane, json!({ "model": &*request.model, "max_tokens": request.max_tokens })));
                self.begin(agent, at, &lane, ("waits", json!({})));
            }
            EventKind::Fault { id, text } => self.instant(agent, at, &request_lane(*id), (&format!("fault: {text}"), "t")),
            EventKind::Refused { id, text, .. } => self.instant(agent, at, &request_lane(*id), (&format!("refused: {text}"), "t")),
            EventKind::Difference { id, difference } => {
                self.instant(agent, at, &request_lane(*id), (&format!("differs: {difference}"), "t"));
            }
            EventKind::Healed => self.instant(agent, at, PROMPTS, ("healed", "g")),
            EventKind::Misuse { text } => self.instant(agent, at, PROMPTS, (text, "p")),
            EventKind::Client { did, .. } => self.instant(agent, at, PROMPTS, (did, "t")),
            EventKind::Ended { end } => self.instant(agent, at, PROMPTS, (end.as_str(), "g")),
            _ => (),
        }
    }

    fn add_input(&mut self, agent: &Agent, at: Time, input: &Input) {
        match input {
            Input::Prompt { prompt, .. } => self.begin(agent, at, PROMPTS, (&format!("prompt {prompt}"), json!({}))),
            Input::Head { id, status, .. } => self.instant(agent, at, &request_lane(*id), (&format!("status {status}"), "t")),
            Input::Stream { id, .. } => {
                let lane = request_lane(*id);
                if self.innermost(agent, &lane) == Some("waits") {
                    self.end(agent, at, &lane, false);
                    self.begin(agent, at, &lane, ("streams", json!({})));
                }
            }
            Input::End { id, .. } => self.end_all(agent, at, &request_lane(*id), false),
            Input::ToolEnded { run, .. } => self.end_all(agent, at, &format!("tool {run}"), false),
            Input::HookEnded { hook, .. } => self.end_all(agent, at, &hook_lane(*hook), false),
            Input::Cancel => self.instant(agent, at, PROMPTS, ("cancel", "g")),
            Input::Interrupt { .. } => self.instant(agent, at, PROMPTS, ("interrupt", "g")),
            _ => (),
        }
    }

    fn add_effect(&mut self, agent: &Agent, at: Time, effect: &Effect) {
        match effect {
            Effect::CloseRequest { id } => self.end_all(agent, at, &request_lane(*id), false),
            Effect::StartTool { run, tool_use } => {
                let arguments = json!({ "id": &*tool_use.id, "input": tool_use.input.as_str() });
                self.begin(agent, at, &format!("tool {run}"), (&tool_use.name, arguments));
            }
            Effect::StopTool { run } => self.instant(agent, at, &format!("tool {run}"), ("is told to stop", "t")),
            Effect::RunHook { hook, input } => self.begin(agent, at, &hook_lane(*hook), (input.event.as_str(), json!({}))),
            Effect::StopHook { hook } => self.end_all(agent, at, &hook_lane(*hook), false),
            Effect::Emit(Emission::ApiRetry { id, retry, delay, kind, .. }) => {
                let arguments = json!({ "planned_ms": delay.0 / 1_000 });
                self.begin(agent, at, RETRIES, (&format!("retry {retry} after {kind}"), arguments));
                self.instant(agent, at, &request_lane(*id), ("failed", "t"));
            }
            Effect::Emit(Emission::ModelFallback { from, to, .. }) => {
                self.instant(agent, at, PROMPTS, (&format!("fallback from {from} to {to}"), "p"));
            }
            Effect::Finished { .. } => [RETRIES, PROMPTS].iter().for_each(|lane| self.end_all(agent, at, lane, false)),
            _ => (),
        }
    }

    /// A lane's numbers of process and thread. A new one is named.
    fn lane(&mut self, agent: &Agent, name: &str) -> (usize, usize) {
        let process = self.agents.iter().position(|known| known == agent).unwrap_or_else(|| {
            self.agents.push(agent.clone());
            let shown = agent.tool_use_id().map_or_else(|| String::from("agent"), |id| format!("agent of {id}"));
            self.events.push(json!({ "ph": "M", "name": "process_name", "pid": self.agents.len(), "tid": 0, "args": { "name": shown } }));
            self.agents.len() - 1
        }) + 1;
        let lanes = self.lanes.entry(agent.clone()).or_default();
        let thread = lanes.iter().position(|known| known == name).unwrap_or_else(|| {
            lanes.push(name.into());
            let named = json!({ "ph": "M", "name": "thread_name", "pid": process, "tid": lanes.len(), "args": { "name": name } });
            let sorted =
                json!({ "ph": "M", "name": "thread_sort_index", "pid": process, "tid": lanes.len(), "args": { "sort_index": lanes.len() } });
            self.events.extend([named, sorted]);
            lanes.len() - 1
        }) + 1;
        (process, thread)
    }

    fn begin(&mut self, agent: &Agent, at: Time, lane: &str, (name, arguments): (&str, Value)) {
        self.lane(agent, lane);
        let spans = self.open.entry((agent.clone(), lane.into())).or_default();
        spans.push(OpenSpan { name: name.into(), from: at, arguments });
    }

    /// The name of the span inside of all others.
    fn innermost(&self, agent: &Agent, lane: &str) -> Option<&str> {
        self.open.get(&(agent.clone(), lane.into()))?.last().map(|span| &*span.name)
    }

    /// Ends the innermost span, if there is one.
    fn end(&mut self, agent: &Agent, at: Time, lane: &str, is_open: bool) {
        let Some(OpenSpan { name, from, mut arguments }) = self.open.get_mut(&(agent.clone(), lane.into())).and_then(Vec::pop) else {
            return;
        };
        if is_open {
            arguments["open"] = true.into();
        }
        self.complete(agent, lane, (from, at), (&name, arguments));
    }

    fn end_all(&mut self, agent: &Agent, at: Time, lane: &str, is_open: bool) {
        while self.innermost(agent, lane).is_some() {
            self.end(agent, at, lane, is_open);
        }
    }

    fn complete(&mut self, agent: &Agent, lane: &str, (from, to): (Time, Time), (name, arguments): (&str, Value)) {
        let (process, thread) = self.lane(agent, lane);
        self.events.push(json!({
            "ph": "X", "name": name, "ts": from.0, "dur": to.0 - from.0, "pid": process, "tid": thread, "args": arguments,
        }));
    }

    /// `scope` is `t` for a lane, `p` for an agent, `g` for the whole run.
    fn instant(&mut self, agent: &Agent, at: Time, lane: &str, (name, scope): (&str, &str)) {
        let (process, thread) = self.lane(agent, lane);
        self.events.push(json!({ "ph": "i", "name": name, "ts": at.0, "pid": process, "tid": thread, "s": scope }));
    }

    fn finish(mut self, end: Time) -> Vec<Value> {
        let open: Vec<SpanPlace> = self.open.keys().cloned().collect();
        open.iter().for_each(|(agent, lane)| self.end_all(agent, end, lane, true));
        self.events
    }
}

/// The lane of the prompts, and of what concerns the whole run.
const PROMPTS: &str = "prompts";

/// The lane of the waits between attempts. A wait ends with the next request.
const RETRIES: &str = "waits for retries";

fn request_lane(id: RequestId) -> String {
    format!("request {id}")
}

fn hook_lane(hook: HookRun) -> String {
    let subject = match hook.subject {
        HookSubject::Tool(run) => format!("tool {run}"),
        HookSubject::Stop(id) => format!("the end of {id}"),
        HookSubject::Compaction(id) => format!("the compaction before {id}"),
    };
    format!("hook {} for {subject}", hook.hook)
}
