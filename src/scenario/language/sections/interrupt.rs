//! `[[interrupt]]`, `[[dead]]` and `[[collapse]]`: what happens while work goes on, and when (M-8, C-1, C-3).

use crate::boundary::{BoundarySide, InjectionKind};
use crate::interrupt::{InterruptKind, InterruptMoment, InterruptTrigger, ReachedState, ScriptedInterrupt};
use crate::language::description::ValueShape;
use crate::language::forms::{TextListOf, TrueMark, WordList, WordOf, word_forms};
use crate::language::keys::{ConvertedTable, KeyForm, KeyPosition, keys};
use crate::language::sections::prompt::{Content, ContentKeys};
use crate::language::tables::{Flat, Inline, Sections};
use crate::language::toml::TomlValue;
use crate::parse::reader::TableReader;
use crate::parse::report::DiagnosticReport;
use crate::parse::tree::{TreeValue, TreeValueKind};
use crate::types::ScriptedTurn;
use reenact_engine::contract::{Agent, StagedSummary};
use reenact_engine::time::Micros;
use reenact_wire::prelude::*;

word_forms!(BoundarySide, ReachedState, AbortWord, InjectionKind);

words! {
    /// The user's action while work goes on.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum AbortWord {
        /// The user cancels: ESC, Ctrl+C, shutdown.
        Cancel = "cancel",
        /// The user submits a message.
        Interrupt = "interrupt",
    }
}

keys! {
    /// `[[interrupt]]`: the user cancels, or submits a message while work goes on (M-8).
    pub(crate) struct InterruptKeys {
        /// The user's action.
        kind: Option<AbortWord> = None, required_such_as(": \"cancel\" or \"interrupt\"");
        /// The message. Only with kind `interrupt`.
        content: ContentKeys as Flat<ContentKeys> = ContentKeys::default();
        /// The moment at which it happens.
        moment: Option<InterruptMoment> as Flat<Option<InterruptMoment>> = None;
        /// This need not come to pass (F-10).
        may: bool = false;
        /// The answers, should the message become a prompt of its own. By default the scenario's default answer.
        turn: Vec<ScriptedTurn> as Sections<ScriptedTurn> = Vec::new();
    }
}

/// An `[[interrupt]]`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct InterruptEntry(pub(crate) ScriptedInterrupt);

impl ConvertedTable for InterruptEntry {
    type Keys = InterruptKeys;

    fn from_keys(keys: InterruptKeys, reader: &mut TableReader<'_, '_>) -> Option<Self> {
        let InterruptKeys { kind, content, moment, may, turn } = keys;
        let kind = match kind {
            Some(AbortWord::Cancel) => {
                refuse_content(reader, "turn");
                InterruptKind::Cancel
            }
            Some(AbortWord::Interrupt) => InterruptKind::Interrupt(Content::from_keys(content, reader)?.0),
            None => {
                reader.one_of(&["text", "content_json"]);
                return None;
            }
        };
        Some(Self(ScriptedInterrupt { kind, moment: moment?, turns: turn, may }))
    }

    fn to_keys(&self) -> InterruptKeys {
        let ScriptedInterrupt { kind, moment, turns, may } = self.0.clone();
        let (kind, content) = match kind {
            InterruptKind::Interrupt(content) => (AbortWord::Interrupt, Content(content).to_keys()),
            _ => (AbortWord::Cancel, ContentKeys::default()),
        };
        InterruptKeys { kind: Some(kind), content, moment: Some(moment), may, turn: turns }
    }
}

/// A cancel has no message, and no answer to one.
pub(crate) fn refuse_content(reader: &mut TableReader<'_, '_>, answers: &'static str) {
    for key in ["text", "content_json", answers] {
        if reader.has_any(&[key]) {
            let message = format!("a cancel has no message: remove `{key}`, or make it kind = \"interrupt\"");
            reader.key_problem(key, message);
        }
    }
}

keys! {
    /// `[[dead]]`: messages of the conversation are marked as dead (C-1).
    pub(crate) struct DeadKeys {
        /// The messages, as transcripts name them.
        names: Option<Vec<Arc<str>>> as Option<TextListOf<Arc<str>>> = None, required, example("[\"p1.r2.a1\"]");
        /// The moment at which it happens.
        moment: Option<InterruptMoment> as Flat<Option<InterruptMoment>> = None;
        /// This need not come to pass (F-10).
        may: bool = false;
    }
}

/// A `[[dead]]`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DeadEntry(pub(crate) ScriptedInterrupt);

impl ConvertedTable for DeadEntry {
    type Keys = DeadKeys;

    fn from_keys(DeadKeys { names, moment, may }: DeadKeys, reader: &mut TableReader<'_, '_>) -> Option<Self> {
        let names = names?;
        if names.is_empty()
            && let Some(place) = reader.member("names").map(|member| member.value.place)
        {
            let help = "name messages as transcripts do: \"p1\", \"p1.r2.a1\", \"p1.r2.a1.results\"";
            reader.report.value(place, "`names` names no message".into(), Some(help.into()));
        }
        Some(Self(ScriptedInterrupt { kind: InterruptKind::Dead(names), moment: moment?, turns: Vec::new(), may }))
    }

    fn to_keys(&self) -> DeadKeys {
        let ScriptedInterrupt { kind, moment, may, .. } = self.0.clone();
        let names = if let InterruptKind::Dead(names) = kind { Some(names) } else { None };
        DeadKeys { names, moment: Some(moment), may }
    }
}

keys! {
    /// `[[collapse]]`: a span of the conversation was summarised in the background (C-3).
    pub(crate) struct CollapseKeys {
        /// The first message of the span, as transcripts name it.
        from: Option<Arc<str>> = None, required, example("\"p1\"");
        /// The last message of the span.
        to: Option<Arc<str>> = None, required, example("\"p1.r1.a1\"");
        /// The summary.
        summary: Option<Arc<str>> = None, required;
        /// The moment at which it happens.
        moment: Option<InterruptMoment> as Flat<Option<InterruptMoment>> = None;
        /// This need not come to pass (F-10).
        may: bool = false;
    }
}

/// A `[[collapse]]`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CollapseEntry(pub(crate) ScriptedInterrupt);

impl ConvertedTable for CollapseEntry {
    type Keys = CollapseKeys;

    fn from_keys(keys: CollapseKeys, _: &mut TableReader<'_, '_>) -> Option<Self> {
        let CollapseKeys { from, to, summary, moment, may } = keys;
        let kind = InterruptKind::Collapse(Arc::new(StagedSummary { from: from?, to: to?, summary: summary? }));
        Some(Self(ScriptedInterrupt { kind, moment: moment?, turns: Vec::new(), may }))
    }

    fn to_keys(&self) -> CollapseKeys {
        let ScriptedInterrupt { kind, moment, may, .. } = self.0.clone();
        let keys = CollapseKeys { moment: Some(moment), may, ..CollapseKeys::default() };
        let InterruptKind::Collapse(staged) = kind else { return keys };
        let StagedSummary { from, to, summary } = (*staged).clone();
        CollapseKeys { from: Some(from), to: Some(to), summary: Some(summary), ..keys }
    }
}

keys! {
    /// When something happens: at a time, or at the first sight of something.
    pub(crate) struct MomentKeys {
        /// At this virtual time. Either this or `when` is needed.
        at: Option<Micros> = None;
        /// When this is seen for the first time.
        when: Option<Trigger> as Option<Inline<Trigger>> = None, example("{ tool = \"Read\", state = \"executing\" }");
        /// With `when`: whether the engine has seen it already.
        side: BoundarySide = BoundarySide::default();
        /// With `when`: how long after it.
        offset: Micros = Micros::ZERO;
    }
}

impl ConvertedTable for Option<InterruptMoment> {
    type Keys = MomentKeys;

    fn from_keys(keys: MomentKeys, reader: &mut TableReader<'_, '_>) -> Option<Self> {
        let which = reader.one_of(&["at", "when"]);
        if which.is_none() {
            let help = "write at = \"5s\", or when = { tool = \"Read\", state = \"executing\" }";
            reader.lacks(&["at", "when"], format!("{} needs `at` or `when`", reader.title()), Some(help.into()));
        }
        let MomentKeys { at, when, side, offset } = keys;
        if which.is_some_and(|member| member.key == "at") {
            for key in ["offset", "side"] {
                if reader.member(key).is_some() {
                    reader.key_problem(key, format!("`{key}` belongs to `when`; with `at` the time is given: remove it"));
                }
            }
            return Some(at.map(InterruptMoment::At));
        }
        let Trigger { anchor, agent } = when?;
        if side == BoundarySide::Before {
            check_before(reader, &anchor);
        }
        Some(Some(InterruptMoment::When { anchor, agent, side, offset }))
    }

    fn to_keys(&self) -> MomentKeys {
        match self.clone() {
            None => MomentKeys::default(),
            Some(InterruptMoment::At(at)) => MomentKeys { at: Some(at), ..MomentKeys::default() },
            Some(InterruptMoment::When { anchor, agent, side, offset }) => {
                MomentKeys { at: None, when: Some(Trigger { anchor, agent }), side, offset }
            }
        }
    }
}

/// Before the engine has seen something it has done nothing about it, and there is no time to wait.
fn check_before(reader: &mut TableReader<'_, '_>, anchor: &InterruptTrigger) {
    if reader.member("offset").is_some() {
        reader.key_problem("offset", "with side = \"before\" it comes in the same instant as its trigger: remove `offset`".into());
    }
    if !anchor.is_an_input()
        && let Some(place) = reader.member("side").map(|member| member.value.place)
    {
        let help = "\"before\" goes with `event`, and with `tool` whose state is \"completed\"";
        reader.report.value(place, "no action can come before an effect of the engine".into(), Some(help.into()));
    }
}

/// An event that is waited for, and its agent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Trigger {
    anchor: InterruptTrigger,
    agent: Agent,
}

keys! {
    /// The event that is waited for: exactly one of `tool`, `event`, `request`, `retry`, `result`, `terminal`.
    pub(crate) struct TriggerKeys {
        /// A use of this tool reaches the state.
        tool: Option<Arc<str>> = None, example("\"Read\"");
        /// With `tool`, which needs it: the state.
        state: Option<ReachedState> = None;
        /// A stream event of this name comes in.
        event: Option<String> as Option<WordOf<StreamEvents>> = None;
        /// With `tool` and `event`: the how many-th one of the run.
        nth: u32 = 1, above_zero("`nth` counts from 1");
        /// The request with this number is sent.
        request: Option<u32> = None, above_zero("requests are counted from 1");
        /// With `request`: the prompt's number. By default any prompt.
        prompt: Option<u32> = None, above_zero("prompts are counted from 1");
        /// With `request`: the attempt's number.
        attempt: u32 = 1, above_zero("attempts are counted from 1");
        /// The how many-th retry of the run begins to wait.
        retry: Option<u32> = None, above_zero("retries are counted from 1");
        /// The how many-th tool result of the run is emitted.
        result: Option<u32> = None, above_zero("results are counted from 1");
        /// The how many-th prompt ends; `true` for the first.
        terminal: Option<u32> as Option<CountOrMark> = None, above_zero("terminals are counted from 1");
        /// Only of the agent that this tool use made. By default of the root agent.
        agent: Option<Arc<str>> = None, example("\"toolu_1\"");
    }
}

const ANCHORS: [&str; 6] = ["tool", "event", "request", "retry", "result", "terminal"];

/// The keys that mean something only beside one of [`ANCHORS`].
const COMPANIONS: [(&str, &[&str]); 4] =
    [("state", &["tool"]), ("nth", &["tool", "event"]), ("prompt", &["request"]), ("attempt", &["request"])];

impl ConvertedTable for Trigger {
    type Keys = TriggerKeys;

    fn from_keys(keys: TriggerKeys, reader: &mut TableReader<'_, '_>) -> Option<Self> {
        let Some(which) = reader.one_of(&ANCHORS) else {
            let list = ANCHORS.map(|key| format!("`{key}`")).join(", ");
            reader.lacks(&ANCHORS, format!("{} needs one of {list}", reader.title()), None);
            return None;
        };
        for (companion, anchors) in COMPANIONS {
            if reader.has_any(&[companion]) && !anchors.contains(&which.key.as_str()) {
                let message = format!("`{companion}` has no effect beside `{}`: remove it", which.key);
                reader.key_problem(companion, message);
            }
        }
        let agent = keys.agent.as_ref().map_or(Agent::ROOT, |tool_use| Agent::child(tool_use));
        let anchor = match which.key.as_str() {
            "tool" => {
                if reader.member("state").is_none() {
                    reader.lacks(&["state"], format!("{} with `tool` needs `state`, e.g. \"executing\"", reader.title()), None);
                }
                InterruptTrigger::Tool { name: keys.tool?, state: keys.state?, nth: keys.nth }
            }
            "event" => InterruptTrigger::Event { name: keys.event?.into(), nth: keys.nth },
            "request" => InterruptTrigger::Request { prompt: keys.prompt, request: keys.request?, attempt: keys.attempt },
            "retry" => InterruptTrigger::Retry { nth: keys.retry? },
            "result" => InterruptTrigger::Result { nth: keys.result? },
            _ => InterruptTrigger::Terminal { nth: keys.terminal? },
        };
        Some(Self { anchor, agent })
    }

    fn to_keys(&self) -> TriggerKeys {
        let keys = TriggerKeys { agent: self.agent.tool_use_id().map(Into::into), ..TriggerKeys::default() };
        match self.anchor.clone() {
            InterruptTrigger::Tool { name, state, nth } => TriggerKeys { tool: Some(name), state: Some(state), nth, ..keys },
            InterruptTrigger::Event { name, nth } => TriggerKeys { event: Some(String::from(&*name)), nth, ..keys },
            InterruptTrigger::Request { prompt, request, attempt } => TriggerKeys { request: Some(request), prompt, attempt, ..keys },
            InterruptTrigger::Retry { nth } => TriggerKeys { retry: Some(nth), ..keys },
            InterruptTrigger::Result { nth } => TriggerKeys { result: Some(nth), ..keys },
            InterruptTrigger::Terminal { nth } => TriggerKeys { terminal: Some(nth), ..keys },
        }
    }
}

/// The events of a stream.
pub(crate) struct StreamEvents;

impl WordList for StreamEvents {
    const NOUN: &'static str = "event";

    fn words() -> Vec<&'static str> {
        vec![
            "message_start",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop",
            "ping",
            "error",
        ]
    }
}

/// A count, or `true` for 1.
struct CountOrMark;

impl KeyForm for CountOrMark {
    type Value = u32;

    fn shape() -> ValueShape {
        ValueShape::Either(vec![ValueShape::Integer(0), ValueShape::True])
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<u32> {
        match value.kind {
            TreeValueKind::Boolean(_) => TrueMark::read(value, at, report).map(|_| 1),
            _ => u32::read(value, at, report),
        }
    }

    fn write(value: &u32) -> TomlValue {
        TomlValue::Inline(value.to_string())
    }
}
