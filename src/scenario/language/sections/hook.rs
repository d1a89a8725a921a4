//! `[[hook]]`: which hooks there are, and what they answer (M-7).

use crate::language::forms::{JsonObjectText, word_forms};
use crate::language::keys::{ConvertedTable, keys};
use crate::language::sections::reply::Replies;
use crate::latency::Latency;
use crate::parse::reader::TableReader;
use crate::replies::{AT_ONCE, ScriptedHook, ScriptedReply};
use reenact_engine::hook::{HookDefinition, HookEvent, HookOutcome};
use reenact_engine::permission::PermissionWord;
use reenact_engine::time::Micros;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

word_forms!(HookEvent);

keys! {
    /// `[[hook]]`: a hook, with its answers. A hook without an answer is silent.
    pub(crate) struct HookKeys {
        /// The name of the hook in transcripts.
        name: Option<Arc<str>> = None, required, not_blank("a hook needs a name: transcripts use it");
        /// When it runs.
        event: Option<HookEvent> = None, required_such_as(", e.g. \"pre_tool_use\"");
        /// The tools that it is for, by name: `Bash`, `Read|Edit`, `*`. By default all.
        matcher: Option<Arc<str>> = None, example("\"Read|Edit\"");
        /// How long the engine waits for its answer. After that the hook has failed, which stops nothing.
        timeout: Micros = HookDefinition::TIMEOUT;
        /// How long an answer takes that has no latency of its own.
        latency: Latency = AT_ONCE;
        /// This need not come to pass (F-10).
        may: bool = false;
        /// The answers.
        replies: Vec<ScriptedReply<HookOutcome>> as Replies<HookOutcome> = Vec::new();
    }
}

impl ConvertedTable for ScriptedHook {
    type Keys = HookKeys;

    fn from_keys(keys: HookKeys, reader: &mut TableReader<'_, '_>) -> Option<Self> {
        let HookKeys { name, event, matcher, timeout, latency, may, replies } = keys;
        if let (Some(event), Some(_)) = (event, &matcher)
            && !event.is_about_a_tool()
        {
            let message = format!("a hook of `{}` has no tool to match: remove `matcher`", event.as_str());
            reader.key_problem("matcher", message);
        }
        Some(Self { definition: HookDefinition { name: name?, event: event?, matcher, timeout }, latency, replies, may })
    }

    fn to_keys(&self) -> HookKeys {
        let Self { definition: HookDefinition { name, event, matcher, timeout }, latency, replies, may } = self.clone();
        HookKeys { name: Some(name), event: Some(event), matcher, timeout, latency, may, replies }
    }
}

keys! {
    /// The answer of a hook.
    pub(crate) struct HookOutcomeKeys {
        /// Its decision about the tool use. `deny` from a stop hook objects to the end of the prompt.
        decision: Option<PermissionWord> = None;
        /// Why. The model sees it.
        reason: Option<Arc<str>> = None;
        /// Another input for the tool, as a JSON object.
        updated_input: Option<Json> as Option<JsonObjectText> = None;
        /// Something that the model should know.
        context: Option<Arc<str>> = None;
        /// The turn should not continue, and why.
        stop: Option<Arc<str>> = None;
        /// The hook itself fails with this text, which stops nothing.
        fails: Option<Arc<str>> = None;
    }
}

impl ConvertedTable for HookOutcome {
    type Keys = HookOutcomeKeys;

    fn from_keys(keys: HookOutcomeKeys, _: &mut TableReader<'_, '_>) -> Option<Self> {
        let HookOutcomeKeys { decision, reason, updated_input, context, stop, fails } = keys;
        Some(Self { decision, reason, updated_input, context, stop, failure: fails })
    }

    fn to_keys(&self) -> HookOutcomeKeys {
        let Self { decision, reason, updated_input, context, stop, failure } = self.clone();
        HookOutcomeKeys { decision, reason, updated_input, context, stop, fails: failure }
    }
}
