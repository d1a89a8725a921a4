//! The engine's settings as keys of files: their lines stand in `engine::settings`.

use super::description::ValueShape;
use super::forms::{
    JsonObjectText, ModelName, NoKey, Readable, ReadableText, TextListOf, TextOrJson, Word, WordList, WordOf, WordOrNone, WordValue,
    word_forms,
};
use super::keys::{ConvertedTable, KeyForm, KeyPosition, describe_keys, keys};
use super::tables::{Flat, Section};
use super::toml::TomlValue;
use crate::parse::reader::TableReader;
use crate::parse::report::DiagnosticReport;
use crate::parse::tree::{TreeValue, TreeValueKind};
use crate::presets::files::PresetNames;
use reenact_engine::budget::{Date, NanoUsd};
use reenact_engine::permission::PermissionSettings;
use reenact_engine::settings::{
    AbortResultOrder, BrokenStreamPolicy, CloudProvider, CompactionSettings, ContextWindow, DiscardPolicy, EmissionOrder, HostMessage,
    MicrocompactMode, NeighbourMerging, OrphanedPermission, OverloadPolicy, PausePolicy, PipelineSettings, QueuedBlockPolicy,
    QueuedMessagePlace, RequestChange, ResultDelivery, ResultOrder, RetryPolicySource, RetrySettings, SessionSettings, Settings,
    SiblingAbort, SlashCommand, StreamOrderPolicy, ThinkingSetting, TooLargeRequestPolicy, UnauthorizedPolicy,
};
use reenact_engine::texts::ModelTexts;
use reenact_engine::time::Micros;
use reenact_engine::{compaction_keys, engine_keys, pipeline_keys, retry_keys, session_keys};
use reenact_wire::prelude::*;

engine_keys!(describe_keys);
session_keys!(describe_keys);
pipeline_keys!(describe_keys);
retry_keys!(describe_keys);
compaction_keys!(describe_keys);

word_forms!(
    AbortResultOrder,
    QueuedBlockPolicy,
    DiscardPolicy,
    EmissionOrder,
    ResultOrder,
    ResultDelivery,
    NeighbourMerging,
    OverloadPolicy,
    CloudProvider,
    MicrocompactMode,
    UnauthorizedPolicy,
    BrokenStreamPolicy,
    TooLargeRequestPolicy,
    PausePolicy,
    QueuedMessagePlace,
    StreamOrderPolicy,
    RetryPolicySource
);

keys! {
    /// `[engine]`: the settings of the reference engine. An engine of another kind reads the keys that apply to it.
    pub(crate) struct EngineKeys check refuse_own_members {
        /// The settings of a real client (F-13). They count where this file does not have them.
        preset: Option<String> as Option<WordOf<PresetNames>> = None;
        /// The settings.
        settings: Settings as Flat<Settings> = Settings::default();
        /// The file with the price table that takes the place of the shipped one, relative to the scenario (S-10).
        prices: Option<String> = None, example("\"prices.toml\"");
        /// The file with the table of context windows that takes the place of the shipped one, relative to the scenario (C-4).
        windows: Option<String> = None, example("\"windows.toml\"");
    }
}

/// The engine writes these members itself: they would stand in a request twice.
fn refuse_own_members(keys: &EngineKeys, reader: &mut TableReader<'_, '_>) {
    const OWN: [(&str, &str); 6] = [
        ("model", "`model`"),
        ("max_tokens", "`max_tokens`"),
        ("stream", "`stream`"),
        ("system", "`system_prompt`"),
        ("tools", "[[tool]]"),
        ("messages", "[[history]] and [[prompt]]"),
    ];
    let Some(place) = reader.member("request_extra").map(|member| member.value.place) else { return };
    let extra = keys.settings.request_extra.to_value();
    for (name, instead) in OWN.into_iter().filter(|(name, _)| extra.get(name).is_some()) {
        let message = format!("`{name}` is not an extra member of a request; write {instead} instead");
        reader.report.value(place, message, None);
    }
    if let (Some(_), Some(member)) = (extra.get("thinking"), reader.one_of(&["thinking", "thinking_budget"])) {
        let message = format!("`{}` and `thinking` in `request_extra` cannot both be given; keep one of them", member.key);
        reader.report.value(member.place, message, None);
    }
}

words! {
    /// How the model thinks, where no budget is given.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum ThinkingWord {
        /// The model does not think.
        Off = "off",
        /// The model thinks as much as it sees fit.
        Adaptive = "adaptive",
    }
}

word_forms!(ThinkingWord);

keys! {
    /// Whether and how the model thinks.
    pub(crate) struct ThinkingKeys {
        /// Whether the model thinks. Without this key and `thinking_budget` the API decides.
        thinking: Option<ThinkingWord> = None;
        /// The model thinks with at most this many tokens, 1024 or more.
        thinking_budget: Option<u32> = None, unit("tokens"), example("4096");
    }
}

impl ConvertedTable for Option<ThinkingSetting> {
    type Keys = ThinkingKeys;

    fn from_keys(keys: ThinkingKeys, reader: &mut TableReader<'_, '_>) -> Option<Self> {
        let member = reader.one_of(&["thinking", "thinking_budget"])?;
        if let Some(tokens) = keys.thinking_budget.filter(|tokens| *tokens < ThinkingSetting::LEAST_BUDGET) {
            let least = ThinkingSetting::LEAST_BUDGET;
            let message = format!("the API takes no budget for thinking below {least} tokens, and this is {tokens}");
            reader.report.value(member.value.place, message, None);
        }
        let word = keys.thinking.map(|word| match word {
            ThinkingWord::Off => ThinkingSetting::Off,
            ThinkingWord::Adaptive => ThinkingSetting::Adaptive,
        });
        Some(word.or(keys.thinking_budget.map(ThinkingSetting::Budget)))
    }

    fn to_keys(&self) -> ThinkingKeys {
        match self {
            None => ThinkingKeys::default(),
            Some(ThinkingSetting::Off) => ThinkingKeys { thinking: Some(ThinkingWord::Off), thinking_budget: None },
            Some(ThinkingSetting::Adaptive) => ThinkingKeys { thinking: Some(ThinkingWord::Adaptive), thinking_budget: None },
            Some(ThinkingSetting::Budget(tokens)) => ThinkingKeys { thinking: None, thinking_budget: Some(*tokens) },
        }
    }
}

impl ReadableText for NanoUsd {
    const HELP: &'static str = "text with a sum in dollars, with at most nine digits behind the point";
    const EXAMPLE: &'static str = "\"0.25\"";

    fn from_text(text: &str) -> Result<Self, String> {
        let sum = Self::read(text).map_err(|problem| problem.to_string())?;
        if sum == Self::default() { Err("a budget must be more than nothing".into()) } else { Ok(sum) }
    }

    fn to_text(&self) -> String {
        self.exact()
    }
}

impl ReadableText for Date {
    const HELP: &'static str = "text with a day: year, month, day";
    const EXAMPLE: &'static str = "\"2026-01-31\"";

    fn from_text(text: &str) -> Result<Self, String> {
        Self::read(text).map_err(|problem| problem.to_string())
    }

    fn to_text(&self) -> String {
        self.to_string()
    }
}

fn problem_with_folder(path: &str) -> Option<String> {
    (!path.starts_with('/')).then(|| format!("the working directory must be an absolute path, and `{path}` is not one"))
}

impl WordValue for SiblingAbort {
    fn words() -> Vec<(&'static str, Self, &'static str)> {
        Self::WORDS.to_vec()
    }
}

/// A word, or a truth value as files had it first.
impl KeyForm for SiblingAbort {
    type Value = Self;

    fn shape() -> ValueShape {
        ValueShape::Either(vec![Word::<Self>::shape(), ValueShape::Boolean])
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<Self> {
        match value.kind {
            TreeValueKind::Boolean(_) => bool::read(value, at, report).map(Into::into),
            _ => Word::<Self>::read(value, at, report),
        }
    }

    fn write(value: &Self) -> TomlValue {
        Word::<Self>::write(value)
    }
}

/// A [`ContextWindow`] that is written as a word.
struct WindowWords;

impl WordList for WindowWords {
    const NOUN: &'static str = "window";

    fn words() -> Vec<&'static str> {
        vec!["auto", "none"]
    }
}

impl KeyForm for ContextWindow {
    type Value = Self;

    fn shape() -> ValueShape {
        let words = vec![("auto", "The window of the model in the request, by the window table."), ("none", "No window.")];
        ValueShape::Either(vec![ValueShape::Integer(0), ValueShape::Words(words)])
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<Self> {
        match &value.kind {
            TreeValueKind::Text(_) => {
                let word = WordOf::<WindowWords>::read(value, at, report)?;
                Some(if word == "auto" { Self::Auto } else { Self::None })
            }
            TreeValueKind::Integer(..) => u64::read(value, at, report).map(Self::Tokens),
            TreeValueKind::StandIn => None,
            _ => {
                report.mismatch(value, "a number of tokens, \"auto\" or \"none\"");
                None
            }
        }
    }

    fn write(value: &Self) -> TomlValue {
        match value {
            Self::Auto => TomlValue::text("auto"),
            Self::Tokens(tokens) => u64::write(tokens),
            Self::None => TomlValue::text("none"),
        }
    }
}
