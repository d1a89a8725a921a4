//! How failed attempts are repeated.

use serde::{Deserialize, Serialize};

use super::table::settings;
use crate::engine::time::Micros;
use crate::prelude::*;

settings! {
    ($)
    /// R-1's figures, and what is done when waiting does not help.
    #[derive(Eq)]
    pub struct RetrySettings, keys retry_keys {
        /// How many attempts may follow the first.
        max_retries: u32 = 10, unit("attempts");
        /// The first delay; each further one is twice as long.
        base_delay: Micros = Micros::from_millis(500);
        /// No computed delay is longer, before jitter.
        max_delay: Micros = Micros::from_secs(32);
        /// Jitter adds up to this many percent.
        jitter_percent: u32 = 25, unit("percent");
        /// A `retry-after` beyond this is not waited for.
        max_retry_after: Micros = Micros::from_secs(6 * 3_600);
        /// After this many answers in a row that the API is overloaded, waiting is no longer enough.
        overloads_to_fallback: u32 = 3, above_zero("it takes at least 1 answer to be overloaded");
        /// What is done then when no other model can take over.
        on_overload: OverloadPolicy = OverloadPolicy::GiveUp;
        /// Whether requests ask for fast answers.
        fast_mode: bool = false;
        /// A shorter `retry-after` is waited for at fast speed; otherwise the speed is switched.
        fast_wait_max: Micros = Micros::from_secs(20);
        /// How long requests are not fast after that, at least.
        fast_cooldown_min: Micros = Micros::from_secs(10 * 60);
        /// The same when the server names no time.
        fast_cooldown: Micros = Micros::from_secs(30 * 60);
        /// Whether no user waits for the answer: 429 and 529 are then retried without limit.
        unattended: bool = false;
        /// No computed delay of an unattended call is longer, jitter included.
        unattended_max_delay: Micros = Micros::from_secs(5 * 60);
        /// After so long, the delays of an unattended call begin with the first one again; no reset time is waited for longer.
        unattended_reset: Micros = Micros::from_secs(6 * 3_600);
        /// An unattended wait is cut into pieces of this length, with a message after each.
        heartbeat: Micros = Micros::from_secs(30);
        /// How many tokens stay free of input and output when `max_tokens` is lowered.
        overflow_margin: u64 = 1_000, unit("tokens");
        /// `max_tokens` is not lowered below this.
        overflow_floor: u64 = 3_000, unit("tokens");
        /// Whether a stream that broke after it brought a block is asked for again unstreamed, and one that broke before, when no retry is left
        ///
        nonstreaming_fallback: bool = true;
        /// Whether a stream that broke before it brought a block is asked for again unstreamed at once, too.
        nonstreaming_without_block: bool = false;
        /// The most that `max_tokens` may be in that case: the API lets no answer take longer than ten minutes that comes whole.
        nonstreaming_max_tokens: u64 = 21_333, unit("tokens");
        /// How long an answer that comes whole may take; zero for as long as it likes.
        nonstreaming_timeout: Micros = Micros::from_secs(300);
        /// A stream whose answer has not begun after this long counts as broken; zero for never. The user is warned at half of it. The default
        /// is what the official SDKs wait: a long prompt may take minutes, and no request should wait for ever.
        head_timeout: Micros = Micros::from_secs(600);
        /// A stream that brings no event for this long, once its answer has begun, counts as broken; zero for never.
        stream_idle: Micros = Micros::from_secs(90);
        /// The cloud provider whose credentials the requests carry.
        cloud: Option<CloudProvider> as WordOrNone<CloudProvider> = None;
    }
}

words! {
    /// What is done about an API that stays overloaded: both are in use.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum OverloadPolicy default GiveUp {
        /// The call gives up and says so.
        GiveUp = "give_up",
        /// It continues to the general limit of retries.
        GoOn = "go_on",
    }
}

words! {
    /// A cloud provider that stands before the API and has credentials of its own.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum CloudProvider {
        /// AWS: expired credentials are a 403.
        Bedrock = "bedrock",
        /// Google: an expired token is a 401.
        Vertex = "vertex",
    }
}
