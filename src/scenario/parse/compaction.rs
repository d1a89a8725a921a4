//! `[engine.compaction]`: when and how the context is shortened (C-1 to C-9, Q-5).

use super::reader::{TableReader, known_word};
use super::report::DiagnosticReport;
use super::tree::{TreeValue, TreeValueKind};
use super::values::{FromValue, TextList, wrong};
use crate::engine::settings::{CompactionSettings, ContextWindow, MicrocompactMode};
use crate::prelude::*;

/// Reads the figures; what is not said keeps its default.
pub(super) fn compaction(reader: &mut TableReader<'_, '_>) -> CompactionSettings {
    let mut compaction = CompactionSettings::default();
    reader.set("context_window", &mut compaction.context_window);
    reader.set("snip", &mut compaction.snip);
    let ways = [("off", MicrocompactMode::Off), ("local", MicrocompactMode::Local), ("cached", MicrocompactMode::Cached)];
    compaction.microcompact = reader.choice("microcompact", &ways).unwrap_or_default();
    reader.set("keep_results", &mut compaction.keep_results);
    reader.set("collapse", &mut compaction.collapse);
    reader.set("collapse_percent", &mut compaction.collapse_percent);
    reader.set("auto", &mut compaction.auto);
    reader.set("reactive", &mut compaction.reactive);
    reader.set_some("output_cap", &mut compaction.output_cap);
    reader.set("output_reserve", &mut compaction.output_reserve);
    reader.set("margin", &mut compaction.margin);
    reader.set("warning_margin", &mut compaction.warning_margin);
    reader.set("hard_margin", &mut compaction.hard_margin);
    if let Some(most) = reader.get_above_zero("max_failures", "a circuit breaker opens after at least 1 failure") {
        compaction.max_failures = most;
    }
    reader.set("summary_drops", &mut compaction.summary_drops);
    reader.set("keep_messages", &mut compaction.keep_messages);
    reader.set("attached_files", &mut compaction.attached_files);
    reader.set("attached_file_tokens", &mut compaction.attached_file_tokens);
    reader.set_some("plan", &mut compaction.plan);
    if let Some(TextList(skills)) = reader.get("skills") {
        compaction.skills = skills.into_iter().map(Arc::from).collect();
    }
    compaction
}

impl FromValue for ContextWindow {
    fn from_value(value: &TreeValue, report: &mut DiagnosticReport) -> Option<Self> {
        match &value.kind {
            TreeValueKind::Text(_) => match known_word(value, report, "window", &["auto", "none"])? {
                "auto" => Some(Self::Auto),
                _ => Some(Self::None),
            },
            TreeValueKind::Integer(..) => u64::from_value(value, report).map(Self::Tokens),
            _ => wrong(value, report, "a number of tokens, \"auto\" or \"none\""),
        }
    }
}
