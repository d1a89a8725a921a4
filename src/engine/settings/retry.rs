//! How failed attempts are repeated.

use serde::{Deserialize, Serialize};

use super::table::settings;
use crate::time::Micros;
use reenact_wire::prelude::*;

settings! {
    ($)
    /// Retries: their number and delays, and the next steps when waiting does not help.
    #[derive(Eq)]
    pub struct RetrySettings, keys retry_keys {
        /// The policy that the engine follows: that of these settings, or one of its own. O-31 judges the first alone. The reference engine has no
        /// other.
        #[serde(skip_serializing_if = "RetryPolicySource::is_settings")]
        policy: RetryPolicySource = RetryPolicySource::Settings;
        /// How many attempts may follow the first one.
        max_retries: u32 = 10, unit("attempts");
        /// The first delay. Each further delay is twice as long.
        base_delay: Micros = Micros::from_millis(500);
        /// The longest computed delay, without jitter.
        max_delay: Micros = Micros::from_secs(32);
        /// Jitter adds up to this much to a delay.
        jitter_percent: u32 = 25, unit("percent");
        /// Jitter adds up to this much to a `retry-after`.
        retry_after_jitter_percent: u32 = 0, unit("percent");
        /// The engine does not wait for a longer `retry-after`.
        max_retry_after: Micros = Micros::from_secs(6 * 3_600);
        /// After this many overload errors in a row another model takes over, or `on_overload` decides.
        overloads_to_fallback: u32 = 3, above_zero("it takes at least 1 answer to be overloaded");
        /// The next step after so many overloads without a fallback model.
        on_overload: OverloadPolicy = OverloadPolicy::GiveUp;
        /// Whether another model also takes over when the first one answers with a server error.
        fallback_on_server_error: bool = false;
        /// Whether another model also takes over when the first one does not exist.
        fallback_on_missing_model: bool = false;
        /// The next step after a 401.
        on_unauthorized: UnauthorizedPolicy = UnauthorizedPolicy::Renew;
        /// How often a request that the API refuses with a plain 400 is made again at once.
        refused_retries: u32 = 0, unit("attempts");
        /// Whether requests ask for fast answers.
        fast_mode: bool = false;
        /// The engine waits for a shorter `retry-after` at fast speed. For a longer one it switches the speed.
        fast_wait_max: Micros = Micros::from_secs(20);
        /// How long requests are not fast after a switch, at least.
        fast_cooldown_min: Micros = Micros::from_secs(10 * 60);
        /// How long requests are not fast after a switch when the server names no time.
        fast_cooldown: Micros = Micros::from_secs(30 * 60);
        /// Whether no user waits for the answer: 429 and 529 are then retried without limit.
        unattended: bool = false;
        /// The longest computed delay of an unattended call, jitter included.
        unattended_max_delay: Micros = Micros::from_secs(5 * 60);
        /// After this time the delays of an unattended call start again with the first one. It is also the longest wait for a reset time.
        unattended_reset: Micros = Micros::from_secs(6 * 3_600);
        /// An unattended wait is cut into pieces of this length, with a message after each.
        heartbeat: Micros = Micros::from_secs(30);
        /// How many tokens of the window stay free when the engine lowers `max_tokens`.
        overflow_margin: u64 = 1_000, unit("tokens");
        /// The engine does not lower `max_tokens` below this.
        overflow_floor: u64 = 3_000, unit("tokens");
        /// Whether the engine repeats a request without streaming when its stream broke after a first block, or when no retry is left.
        nonstreaming_fallback: bool = true;
        /// Whether it does so at once for a stream that broke before a first block as well.
        nonstreaming_without_block: bool = false;
        /// Whether a request in the place of a broken stream counts as one of the retries.
        nonstreaming_counts: bool = false;
        /// The fact that decides about a broken stream: its blocks, or the cause of the break.
        broken_streams: BrokenStreamPolicy = BrokenStreamPolicy::ByBlock;
        /// How many retries after an error event before the first delta have no notice and count as none. After them the answer is asked for whole.
        /// They need `broken_streams = "by_cause"`.
        silent_retries: u32 = 0, unit("attempts");
        /// The greatest `max_tokens` of a request without streaming: the API limits such answers to ten minutes.
        nonstreaming_max_tokens: u64 = 21_333, unit("tokens");
        /// How long an answer without streaming may take. `0s` is no limit.
        nonstreaming_timeout: Micros = Micros::from_secs(300);
        /// A stream without a head after this time is broken. The user gets a warning at half of it. `0s` is no limit. The default is that of the
        /// official SDKs.
        head_timeout: Micros = Micros::from_secs(600);
        /// A stream without an event for this time is broken. `0s` is no limit.
        stream_idle: Micros = Micros::from_secs(90);
        /// The cloud provider of the credentials.
        cloud: Option<CloudProvider> as WordOrNone<CloudProvider> = None;
    }
}

words! {
    /// Where the decisions about retries come from (O-31).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum RetryPolicySource default Settings {
        /// The settings of `[engine.retry]`.
        Settings = "settings",
        /// The engine itself: it does what these settings do not say.
        Engine = "engine",
    }
}

impl RetryPolicySource {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
    fn is_settings(&self) -> bool {
        *self == Self::Settings
    }
}

words! {
    /// The next step after too many overloads. Both words are in use in the field.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum OverloadPolicy default GiveUp {
        /// The call gives up.
        GiveUp = "give_up",
        /// It continues to the general limit of retries.
        GoOn = "go_on",
    }
}

words! {
    /// what follows a 401.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum UnauthorizedPolicy default Renew {
        /// The credentials are renewed, and the request is made again at once; a second 401 ends the call.
        Renew = "renew",
        /// The request is made again after a wait, like any that may be repeated.
        Wait = "wait",
    }
}

words! {
    /// what decides about a stream that broke.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum BrokenStreamPolicy default ByBlock {
        /// Whether a block was complete: all of it is taken back, and the request is made again without streaming; before that it is streamed again.
        ByBlock = "by_block",
        /// How it broke. After a cut it is streamed again; after silence, disorder, an empty body or an error event behind a first delta it is asked for
        /// whole. What holds a complete tool use is kept, and so is text before a tool use that was cut.
        ByCause = "by_cause",
    }
}

words! {
    /// A cloud provider that stands before the API and has credentials of its own.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum CloudProvider {
        /// AWS: expired credentials are a 403.
        Bedrock = "bedrock",
        /// Google: an expired token is a 401.
        Vertex = "vertex",
    }
}
