//! How failed attempts are repeated.

use serde::{Deserialize, Serialize};

use crate::engine::time::Micros;

/// R-1's figures, and what is done when waiting does not help.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RetrySettings {
    /// How many attempts may follow the first.
    pub max_retries: u32,
    /// The first delay; each further one is twice as long.
    pub base_delay: Micros,
    /// No computed delay is longer, before jitter.
    pub max_delay: Micros,
    /// Jitter adds up to this many percent.
    pub jitter_percent: u32,
    /// A `retry-after` beyond this is not waited for.
    pub max_retry_after: Micros,
    /// After this many answers in a row that the API is overloaded, waiting is no longer enough.
    pub overloads_to_fallback: u32,
    /// What is done then when no other model can take over.
    pub on_overload: OverloadPolicy,
    /// Whether requests ask for fast answers.
    pub fast_mode: bool,
    /// A shorter `retry-after` is waited for at fast speed; otherwise the speed is switched.
    pub fast_wait_max: Micros,
    /// How long requests are not fast after that, at least.
    pub fast_cooldown_min: Micros,
    /// The same when the server names no time.
    pub fast_cooldown: Micros,
    /// Whether no user waits for the answer: 429 and 529 are then retried without limit.
    pub unattended: bool,
    /// No computed delay of an unattended call is longer, jitter included.
    pub unattended_max_delay: Micros,
    /// After so long, the delays of an unattended call begin with the first one again; no reset time is waited for longer.
    pub unattended_reset: Micros,
    /// An unattended wait is cut into pieces of this length, with a message after each.
    pub heartbeat: Micros,
    /// How many tokens stay free of input and output when `max_tokens` is lowered.
    pub overflow_margin: u64,
    /// `max_tokens` is not lowered below this.
    pub overflow_floor: u64,
    /// Whether a stream that broke after it brought a block is asked for again unstreamed, and one that broke before, when no retry is left.
    pub nonstreaming_fallback: bool,
    /// Whether a stream that broke before it brought a block is asked for again unstreamed at once, too.
    pub nonstreaming_without_block: bool,
    /// The most that `max_tokens` may be in that case: the API lets no answer take longer than ten minutes that comes whole.
    pub nonstreaming_max_tokens: u64,
    /// How long an answer that comes whole may take; zero for as long as it likes.
    pub nonstreaming_timeout: Micros,
    /// A stream whose answer has not begun after this long counts as broken; zero for never. The user is warned at half of it. The default
    /// is what the official SDKs wait: a long prompt may take minutes, and no request should wait for ever.
    pub head_timeout: Micros,
    /// A stream that brings no event for this long, once its answer has begun, counts as broken; zero for never.
    pub stream_idle: Micros,
    /// The cloud provider whose credentials the requests carry.
    pub cloud: Option<CloudProvider>,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self {
            max_retries: 10,
            base_delay: Micros::from_millis(500),
            max_delay: Micros::from_secs(32),
            jitter_percent: 25,
            max_retry_after: Micros::from_secs(6 * 3_600),
            overloads_to_fallback: 3,
            on_overload: OverloadPolicy::GiveUp,
            fast_mode: false,
            fast_wait_max: Micros::from_secs(20),
            fast_cooldown_min: Micros::from_secs(10 * 60),
            fast_cooldown: Micros::from_secs(30 * 60),
            unattended: false,
            unattended_max_delay: Micros::from_secs(5 * 60),
            unattended_reset: Micros::from_secs(6 * 3_600),
            heartbeat: Micros::from_secs(30),
            overflow_margin: 1_000,
            overflow_floor: 3_000,
            nonstreaming_fallback: true,
            nonstreaming_without_block: false,
            nonstreaming_max_tokens: 21_333,
            nonstreaming_timeout: Micros::from_secs(300),
            head_timeout: Micros::from_secs(600),
            stream_idle: Micros::from_secs(90),
            cloud: None,
        }
    }
}

/// What is done about an API that stays overloaded: both are in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverloadPolicy {
    /// The call gives up and says so.
    #[default]
    GiveUp,
    /// It continues to the general limit of retries.
    GoOn,
}

/// A cloud provider that stands before the API and has credentials of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CloudProvider {
    /// AWS: expired credentials are a 403.
    Bedrock,
    /// Google: an expired token is a 401.
    Vertex,
}

impl CloudProvider {
    /// The word that scenarios and transcripts use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bedrock => "bedrock",
            Self::Vertex => "vertex",
        }
    }
}
