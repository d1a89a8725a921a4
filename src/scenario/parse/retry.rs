//! `[engine.retry]`: how failed attempts are repeated.

use super::reader::TableReader;
use crate::engine::settings::{CloudProvider, OverloadPolicy, RetrySettings};

/// Reads the settings; what is not said keeps its default.
pub(super) fn retry(reader: &mut TableReader<'_, '_>) -> RetrySettings {
    let mut retry = RetrySettings::default();
    reader.set("max_retries", &mut retry.max_retries);
    reader.set("base_delay", &mut retry.base_delay);
    reader.set("max_delay", &mut retry.max_delay);
    reader.set("jitter_percent", &mut retry.jitter_percent);
    reader.set("max_retry_after", &mut retry.max_retry_after);
    if let Some(overloads) = reader.get_above_zero("overloads_to_fallback", "it takes at least 1 answer to be overloaded") {
        retry.overloads_to_fallback = overloads;
    }
    retry.on_overload =
        reader.choice("on_overload", &[("give_up", OverloadPolicy::GiveUp), ("go_on", OverloadPolicy::GoOn)]).unwrap_or_default();
    reader.set("fast_mode", &mut retry.fast_mode);
    reader.set("fast_wait_max", &mut retry.fast_wait_max);
    reader.set("fast_cooldown_min", &mut retry.fast_cooldown_min);
    reader.set("fast_cooldown", &mut retry.fast_cooldown);
    reader.set("unattended", &mut retry.unattended);
    reader.set("unattended_max_delay", &mut retry.unattended_max_delay);
    reader.set("unattended_reset", &mut retry.unattended_reset);
    reader.set("heartbeat", &mut retry.heartbeat);
    reader.set("overflow_margin", &mut retry.overflow_margin);
    reader.set("overflow_floor", &mut retry.overflow_floor);
    reader.set("nonstreaming_fallback", &mut retry.nonstreaming_fallback);
    reader.set("nonstreaming_without_block", &mut retry.nonstreaming_without_block);
    reader.set("nonstreaming_max_tokens", &mut retry.nonstreaming_max_tokens);
    reader.set("nonstreaming_timeout", &mut retry.nonstreaming_timeout);
    reader.set("head_timeout", &mut retry.head_timeout);
    reader.set("stream_idle", &mut retry.stream_idle);
    let clouds = [("none", None), ("bedrock", Some(CloudProvider::Bedrock)), ("vertex", Some(CloudProvider::Vertex))];
    retry.cloud = reader.choice("cloud", &clouds).flatten();
    retry
}
