//! The keys of a tool run, at each place where a scenario gives one: a tool, a scripted tool use, `[[result]]` (M-7).

use crate::language::description::ValueShape;
use crate::language::forms::{JsonObjectText, TextOrJson, TrueMark, Word, WordValue, duration_shape, word_forms};
use crate::language::keys::{ConvertedTable, KeyForm, KeyPosition, KeyTable, keys};
use crate::language::tables::{Flat, Inline, Inlines};
use crate::language::toml::TomlValue;
use crate::latency::Latency;
use crate::parse::reader::TableReader;
use crate::parse::report::DiagnosticReport;
use crate::parse::tree::{TreeValue, TreeValueKind};
use crate::replies::{ScriptedElicitation, ScriptedReply};
use crate::types::{AgentScript, ScriptedOutcome, ScriptedProgress, StopDeafness, ToolEnding, ToolStopping};
use reenact_engine::contract::{FailureCause, ProgressKind};
use reenact_engine::permission::{PermissionWord, ToolCheck};
use reenact_engine::time::Micros;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

word_forms!(ProgressKind);

impl WordValue for FailureCause {
    /// Those that are a tool's own; the engine finds the others.
    fn words() -> Vec<(&'static str, Self, &'static str)> {
        vec![
            (Self::ExitCode.as_str(), Self::ExitCode, "A command ended with another exit code than 0."),
            (Self::NotStarted.as_str(), Self::NotStarted, "It could not be started."),
            (Self::TimedOut.as_str(), Self::TimedOut, "It took too long."),
        ]
    }
}

keys! {
    /// The outcome of a tool run. Without any of these keys it returns a short text.
    pub(crate) struct OutcomeKeys {
        /// The text of its result.
        result: Option<Json> as TextOrJson = None, or_key("result_json");
        /// The result is an error.
        is_error: bool = false;
        /// The kind of error (T-28). It needs `is_error = true`.
        cause: Option<FailureCause> as Option<Word<FailureCause>> = None;
        /// The result in the tool's own form, as a JSON object: for consumers, not for the model (T-32).
        structured: Option<Json> as Option<JsonObjectText> = None, example("'{\"exit\":1}'");
        /// Progress on the way.
        progress: Vec<ScriptedProgress> as Inlines<ScriptedProgress> = Vec::new(), example("[{ at = \"1s\", text = \"half\" }]");
        /// A change of the tools' context that comes with the result (T-11).
        context_change: Option<Arc<str>> = None;
        /// The run aborts itself, and the query with it, for this reason (T-14).
        aborts: Option<Arc<str>> = None;
        /// The manner of its end.
        ending: ToolEnding as Flat<ToolEnding> = ToolEnding::Returns;
        /// How long the run ignores a stop; `true` for ever.
        ignores_stop: StopDeafness = StopDeafness::No;
        /// How long it takes to stop after that.
        stop_takes: Micros = Micros::ZERO;
        /// The finding of the tool's own check.
        check: Option<ScriptedReply<ToolCheck>> as Flat<Option<ScriptedReply<ToolCheck>>> = None;
        /// A question to the user from the tool's server (S-11).
        asks: Option<ScriptedElicitation> as Option<Inline<ScriptedElicitation>> = None, example("{ message = \"Which branch?\", answer = \"main\" }");
    }
}

impl ConvertedTable for Option<ScriptedOutcome> {
    type Keys = OutcomeKeys;

    fn from_keys(keys: OutcomeKeys, reader: &mut TableReader<'_, '_>) -> Option<Self> {
        check_cause(&keys, reader);
        check_ending(reader);
        // `check_may` alone gives nothing.
        let given: Vec<&str> = OutcomeKeys::names().into_iter().filter(|key| *key != "check_may").collect();
        if !reader.has_any(&given) {
            return Some(None);
        }
        let OutcomeKeys {
            result,
            is_error,
            cause,
            structured,
            progress,
            context_change,
            aborts,
            ending,
            ignores_stop,
            stop_takes,
            check,
            asks,
        } = keys;
        Some(Some(ScriptedOutcome {
            content: result,
            is_error,
            cause,
            latency: None,
            structured,
            progress,
            context_change,
            aborts,
            ending,
            stopping: ToolStopping { ignores: ignores_stop, takes: stop_takes },
            check,
            asks,
            agents: AgentScript::default(),
            safe: None,
            may: false,
        }))
    }

    fn to_keys(&self) -> OutcomeKeys {
        let Some(outcome) = self.clone() else { return OutcomeKeys::default() };
        let ScriptedOutcome {
            content,
            is_error,
            cause,
            structured,
            progress,
            context_change,
            aborts,
            ending,
            stopping: ToolStopping { ignores, takes },
            check,
            asks,
            // These are keys of the tables around.
            latency: _,
            agents: _,
            safe: _,
            may: _,
        } = outcome;
        OutcomeKeys {
            result: content,
            is_error,
            cause,
            structured,
            progress,
            context_change,
            aborts,
            ending,
            ignores_stop: ignores,
            stop_takes: takes,
            check,
            asks,
        }
    }
}

/// Only an error has a cause.
fn check_cause(keys: &OutcomeKeys, reader: &mut TableReader<'_, '_>) {
    if reader.member("cause").is_some() && !keys.is_error {
        reader.key_problem("cause", "`cause` names the kind of an error: add is_error = true".into());
    }
}

/// A run ends once, and a run that hangs or panics has no result.
fn check_ending(reader: &mut TableReader<'_, '_>) {
    reader.one_of(&["hangs", "panics", "returns_twice", "no_result"]);
    for key in ["result", "result_json", "structured", "aborts"] {
        for ending in ["hangs", "panics", "no_result"] {
            reader.one_of(&[ending, key]);
        }
    }
}

keys! {
    /// Progress of a tool run.
    pub(crate) struct ProgressKeys {
        /// When after the start.
        at: Option<Micros> = None, required;
        /// The text that the tool reports.
        text: Option<Arc<str>> = None, required;
        /// Where the tool reports it. By default that is not known.
        kind: Option<ProgressKind> = None;
    }
}

impl ConvertedTable for ScriptedProgress {
    type Keys = ProgressKeys;

    fn from_keys(ProgressKeys { at, text, kind }: ProgressKeys, _: &mut TableReader<'_, '_>) -> Option<Self> {
        Some(Self { at: at?, text: text?, kind })
    }

    fn to_keys(&self) -> ProgressKeys {
        let Self { at, text, kind } = self.clone();
        ProgressKeys { at: Some(at), text: Some(text), kind }
    }
}

keys! {
    /// How a tool run ends when nothing stops it (M-7).
    pub(crate) struct EndingKeys {
        /// It never ends by itself.
        hangs: bool as TrueMark = false;
        /// It panics; with a text, with this message. Its driver makes an error result of that.
        panics: Option<Arc<str>> as Option<PanicMessage> = None, example("\"index out of bounds\"");
        /// It returns its result, and a millisecond later the same result again.
        returns_twice: bool as TrueMark = false;
        /// It ends without a result (T-25).
        no_result: bool as TrueMark = false;
    }
}

impl ConvertedTable for ToolEnding {
    type Keys = EndingKeys;

    fn from_keys(keys: EndingKeys, _: &mut TableReader<'_, '_>) -> Option<Self> {
        Some(match keys {
            EndingKeys { hangs: true, .. } => Self::Hangs,
            EndingKeys { panics: Some(message), .. } => Self::Panics(message),
            EndingKeys { no_result: true, .. } => Self::ReturnsNothing,
            EndingKeys { returns_twice: true, .. } => Self::ReturnsTwice,
            EndingKeys { .. } => Self::Returns,
        })
    }

    fn to_keys(&self) -> EndingKeys {
        let keys = EndingKeys::default();
        match self {
            Self::Returns => keys,
            Self::ReturnsTwice => EndingKeys { returns_twice: true, ..keys },
            Self::Hangs => EndingKeys { hangs: true, ..keys },
            Self::ReturnsNothing => EndingKeys { no_result: true, ..keys },
            Self::Panics(message) => EndingKeys { panics: Some(message.clone()), ..keys },
        }
    }
}

/// `panics = true`, or the message of the panic.
struct PanicMessage;

impl KeyForm for PanicMessage {
    type Value = Arc<str>;

    fn shape() -> ValueShape {
        ValueShape::Either(vec![ValueShape::Text, ValueShape::True])
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<Arc<str>> {
        match value.kind {
            TreeValueKind::Text(_) => Arc::<str>::read(value, at, report),
            _ => TrueMark::read(value, at, report).map(|_| "explicit panic".into()),
        }
    }

    fn write(value: &Arc<str>) -> TomlValue {
        TomlValue::text(value)
    }
}

impl KeyForm for StopDeafness {
    type Value = Self;

    fn shape() -> ValueShape {
        ValueShape::Either(vec![duration_shape(), ValueShape::Boolean])
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<Self> {
        match value.kind {
            TreeValueKind::Boolean(true) => Some(Self::Forever),
            TreeValueKind::Boolean(false) => Some(Self::No),
            _ => Micros::read(value, at, report).map(Self::For),
        }
    }

    fn write(value: &Self) -> TomlValue {
        match value {
            Self::No => TomlValue::Inline("false".into()),
            Self::For(span) => Micros::write(span),
            Self::Forever => TomlValue::Inline("true".into()),
        }
    }
}

keys! {
    /// The finding of the tool's own check of its input (T-22, T-24). With one of these keys the tool has a check.
    pub(crate) struct CheckKeys {
        /// The mistake in the input. The tool use is answered with it. On a tool use it needs a tool with a check.
        check: Option<Arc<str>> = None;
        /// The tool's decision about the permission.
        check_permission: Option<PermissionWord> = None;
        /// Why the tool decides so.
        check_reason: Option<Arc<str>> = None;
        /// Rules that would make a question needless, in place of the usual ones.
        check_suggestions: Option<Vec<Arc<str>>> = None, example("[\"Bash(git *)\"]");
        /// How long the check takes. By default it takes no time.
        check_latency: Option<Latency> = None;
        /// The check never answers.
        check_never_answers: bool as TrueMark = false;
        /// The check need not come to pass (F-10).
        check_may: bool = false;
    }
}

impl ConvertedTable for Option<ScriptedReply<ToolCheck>> {
    type Keys = CheckKeys;

    fn from_keys(keys: CheckKeys, reader: &mut TableReader<'_, '_>) -> Option<Self> {
        const FINDINGS: [&str; 4] = ["check", "check_permission", "check_reason", "check_suggestions"];
        for key in FINDINGS {
            reader.one_of(&["check_never_answers", key]);
        }
        if !reader.has_any(&[&FINDINGS[..], &["check_latency", "check_never_answers"]].concat()) {
            if reader.member("check_may").is_some() {
                reader.value_problem("check_may", "`check_may` needs another key of the tool's check: give one, or remove it".into());
            }
            return Some(None);
        }
        let CheckKeys { check, check_permission, check_reason, check_suggestions, check_latency, check_never_answers, check_may } = keys;
        let suggestions = check_suggestions.unwrap_or_default();
        let check = ToolCheck { problem: check, permission: check_permission, reason: check_reason, suggestions, is_about_path: false };
        Some(Some(ScriptedReply { latency: check_latency, says: (!check_never_answers).then_some(check), may: check_may }))
    }

    fn to_keys(&self) -> CheckKeys {
        let Some(ScriptedReply { latency, says, may }) = self.clone() else { return CheckKeys::default() };
        let keys = CheckKeys { check_latency: latency, check_may: may, ..CheckKeys::default() };
        let Some(check) = says else { return CheckKeys { check_never_answers: true, ..keys } };
        // A check that finds nothing is written as well: it wins over what the tool finds otherwise.
        let is_blank = check == ToolCheck::default() && keys.check_latency.is_none();
        let ToolCheck { problem, permission, reason, suggestions, is_about_path: _ } = check;
        CheckKeys {
            check: problem,
            check_permission: permission,
            check_reason: reason,
            check_suggestions: (is_blank || !suggestions.is_empty()).then_some(suggestions),
            ..keys
        }
    }
}

keys! {
    /// A question from a tool's server to the user, while the tool runs, and the answer (S-11).
    pub(crate) struct ElicitationKeys {
        /// The question.
        message: Option<Arc<str>> = None, required;
        /// When after the tool's start. A tool that ends before asks at its end.
        after: Micros = Micros::ZERO;
        /// The answer. Without one the user declines.
        answer: Option<Arc<str>> = None;
        /// How long the answer takes. By default it takes no time.
        latency: Option<Latency> = None;
        /// No answer ever comes.
        never_answers: bool as TrueMark = false;
        /// The tool's result when the user declines. By default an error.
        if_declined: Option<Arc<str>> = None;
        /// This need not come to pass (F-10).
        may: bool = false;
    }
}

impl ConvertedTable for ScriptedElicitation {
    type Keys = ElicitationKeys;

    fn from_keys(keys: ElicitationKeys, reader: &mut TableReader<'_, '_>) -> Option<Self> {
        for key in ["answer", "latency"] {
            reader.one_of(&["never_answers", key]);
        }
        let ElicitationKeys { message, after, answer, latency, never_answers, if_declined, may } = keys;
        let reply = ScriptedReply { latency, says: (!never_answers).then_some(answer), may };
        Some(Self { message: message?, after, reply, if_declined })
    }

    fn to_keys(&self) -> ElicitationKeys {
        let Self { message, after, reply: ScriptedReply { latency, says, may }, if_declined } = self.clone();
        let never_answers = says.is_none();
        ElicitationKeys { message: Some(message), after, answer: says.flatten(), latency, never_answers, if_declined, may }
    }
}

keys! {
    /// `[[result]]`: the outcome of one tool use, by the API's id of the tool use. It wins over the tool's own.
    pub(crate) struct ResultKeys {
        /// The id of the tool use.
        tool_use: Option<Arc<str>> = None, required, example("\"toolu_1\"");
        /// The outcome of the run.
        outcome: Option<ScriptedOutcome> as Flat<Option<ScriptedOutcome>> = None;
        /// How long it takes. By default it takes the tool's time.
        latency: Option<Latency> = None;
        /// Whether this use may run beside others (T-3). It wins over the tool's own `safe`.
        safe: Option<bool> = None;
        /// This need not come to pass (F-10).
        may: bool = false;
    }
}
