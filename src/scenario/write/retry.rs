//! `[engine.retry]` as TOML.

use super::TomlLines;
use crate::engine::settings::{CloudProvider, OverloadPolicy, RetrySettings};

/// The section, where anything in it is not the default.
pub(super) fn retry_section(out: &mut TomlLines, retry: &RetrySettings) {
    let default = RetrySettings::default();
    if *retry == default {
        return;
    }
    out.table("[engine.retry]");
    let RetrySettings {
        max_retries,
        base_delay,
        max_delay,
        jitter_percent,
        max_retry_after,
        overloads_to_fallback,
        on_overload,
        fast_mode,
        fast_wait_max,
        fast_cooldown_min,
        fast_cooldown,
        unattended,
        unattended_max_delay,
        unattended_reset,
        heartbeat,
        overflow_margin,
        overflow_floor,
        nonstreaming_fallback,
        nonstreaming_without_block,
        nonstreaming_max_tokens,
        nonstreaming_timeout,
        head_timeout,
        stream_idle,
        cloud,
    } = retry;
    for (key, value, usual) in [
        ("max_retries", u64::from(*max_retries), u64::from(default.max_retries)),
        ("jitter_percent", u64::from(*jitter_percent), u64::from(default.jitter_percent)),
        ("overloads_to_fallback", u64::from(*overloads_to_fallback), u64::from(default.overloads_to_fallback)),
        ("overflow_margin", *overflow_margin, default.overflow_margin),
        ("overflow_floor", *overflow_floor, default.overflow_floor),
        ("nonstreaming_max_tokens", *nonstreaming_max_tokens, default.nonstreaming_max_tokens),
    ] {
        if value != usual {
            out.raw(key, value);
        }
    }
    out.span("base_delay", *base_delay, default.base_delay);
    out.span("max_delay", *max_delay, default.max_delay);
    out.span("max_retry_after", *max_retry_after, default.max_retry_after);
    let on_overload_word = match on_overload {
        OverloadPolicy::GiveUp => "give_up",
        OverloadPolicy::GoOn => "go_on",
    };
    out.word("on_overload", *on_overload, on_overload_word);
    out.flag("fast_mode", *fast_mode, default.fast_mode);
    out.span("fast_wait_max", *fast_wait_max, default.fast_wait_max);
    out.span("fast_cooldown_min", *fast_cooldown_min, default.fast_cooldown_min);
    out.span("fast_cooldown", *fast_cooldown, default.fast_cooldown);
    out.flag("unattended", *unattended, default.unattended);
    out.span("unattended_max_delay", *unattended_max_delay, default.unattended_max_delay);
    out.span("unattended_reset", *unattended_reset, default.unattended_reset);
    out.span("heartbeat", *heartbeat, default.heartbeat);
    out.flag("nonstreaming_fallback", *nonstreaming_fallback, default.nonstreaming_fallback);
    out.flag("nonstreaming_without_block", *nonstreaming_without_block, default.nonstreaming_without_block);
    out.span("nonstreaming_timeout", *nonstreaming_timeout, default.nonstreaming_timeout);
    out.span("head_timeout", *head_timeout, default.head_timeout);
    out.span("stream_idle", *stream_idle, default.stream_idle);
    if let Some(cloud) = cloud {
        out.text("cloud", CloudProvider::as_str(*cloud));
    }
}
