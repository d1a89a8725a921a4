//! `[engine.compaction]` as TOML.

use super::TomlLines;
use crate::engine::settings::{CompactionSettings, ContextWindow, MicrocompactMode};

/// The section, if anything in it is not as usual.
pub(super) fn compaction_section(out: &mut TomlLines, compaction: &CompactionSettings) {
    let default = CompactionSettings::default();
    if *compaction == default {
        return;
    }
    let CompactionSettings {
        context_window,
        snip,
        microcompact,
        keep_results,
        collapse,
        collapse_percent,
        auto,
        reactive,
        output_cap,
        output_reserve,
        margin,
        warning_margin,
        hard_margin,
        max_failures,
        summary_drops,
        keep_messages,
        attached_files,
        attached_file_tokens,
        plan,
        skills,
    } = compaction;
    out.table("[engine.compaction]");
    match context_window {
        ContextWindow::Auto => (),
        ContextWindow::Tokens(tokens) => out.raw("context_window", tokens),
        ContextWindow::None => out.text("context_window", "none"),
    }
    if let Some(cap) = output_cap {
        out.raw("output_cap", cap);
    }
    for (key, value, usual) in [
        ("snip", snip, default.snip),
        ("collapse", collapse, default.collapse),
        ("auto", auto, default.auto),
        ("reactive", reactive, default.reactive),
    ] {
        out.flag(key, *value, usual);
    }
    microcompact_word(out, *microcompact);
    for (key, value, usual) in [
        ("keep_results", u64::from(*keep_results), u64::from(default.keep_results)),
        ("collapse_percent", u64::from(*collapse_percent), u64::from(default.collapse_percent)),
        ("output_reserve", *output_reserve, default.output_reserve),
        ("margin", *margin, default.margin),
        ("warning_margin", *warning_margin, default.warning_margin),
        ("hard_margin", *hard_margin, default.hard_margin),
        ("max_failures", u64::from(*max_failures), u64::from(default.max_failures)),
        ("summary_drops", u64::from(*summary_drops), u64::from(default.summary_drops)),
        ("keep_messages", u64::from(*keep_messages), u64::from(default.keep_messages)),
        ("attached_files", u64::from(*attached_files), u64::from(default.attached_files)),
        ("attached_file_tokens", *attached_file_tokens, default.attached_file_tokens),
    ] {
        if value != usual {
            out.raw(key, value);
        }
    }
    if let Some(plan) = plan {
        out.text("plan", plan);
    }
    out.texts("skills", skills);
}

fn microcompact_word(out: &mut TomlLines, microcompact: MicrocompactMode) {
    let word = match microcompact {
        MicrocompactMode::Off => "off",
        MicrocompactMode::Local => "local",
        MicrocompactMode::Cached => "cached",
    };
    out.word("microcompact", microcompact, word);
}
