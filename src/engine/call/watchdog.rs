//! The watchdog of an attempt: it ends a stream that does not begin or falls silent, and an unstreamed answer that does not come.
//!
//! There is one timer at a time, for any number of events. An event only notes its time. A ring of the timer compares that time with the
//! limit and sets the timer again. So a stream of a thousand events costs no more than a short one.

use super::ApiCall;
use crate::agent_effects::AgentEffects;
use crate::contract::{Effect, TimerId};
use crate::retry::AttemptFailure;
use crate::retry::broken_stream::StreamBreak;
use crate::settings::Environment;
use crate::time::{Micros, Time};
use reenact_wire::prelude::*;

/// The timer of the watchdog. Its generation is the attempt that it watches.
const WATCHDOG_TIMER: u32 = 7;

/// The timer that ends an attempt whose response is silent for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Watchdog {
    timer: TimerId,
    over: WatchedSpan,
    /// How long the response may be silent.
    limit: Micros,
    /// The time of the last event.
    heard: Time,
    /// The next time of the timer.
    rings: Time,
    /// The time of the last event before the last warning.
    warned: Option<Time>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum WatchedSpan {
    /// A stream that has not begun.
    Head,
    Stream,
    WholeAnswer,
}

/// The meaning of a ring of the timer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum WatchdogSignal {
    /// Nothing: it is an older setting of the timer.
    StaleTimer,
    /// The timer is set again.
    Rearmed {
        /// The next time of the timer.
        at: Time,
        /// A text for the user.
        warning: Option<Arc<str>>,
    },
    /// The answer counts as broken.
    Expired(AttemptFailure),
}

impl Watchdog {
    pub(super) fn timer(&self) -> TimerId {
        self.timer
    }

    /// An event came. Pings count as life, too.
    pub(super) fn on_event(&mut self, now: Time) {
        self.heard = now;
    }

    pub(super) fn on_timer(&mut self, now: Time) -> WatchdogSignal {
        if now < self.rings {
            return WatchdogSignal::StaleTimer;
        }
        let quiet = now.since(self.heard);
        if quiet >= self.limit {
            return WatchdogSignal::Expired(self.failure());
        }
        let half = half(self.limit);
        let is_warned = self.warned == Some(self.heard) || self.over == WatchedSpan::WholeAnswer;
        let warns = quiet >= half && !is_warned;
        if warns {
            self.warned = Some(self.heard);
        }
        self.rings = if is_warned || warns { self.heard + self.limit } else { self.heard + half };
        WatchdogSignal::Rearmed { at: self.rings, warning: warns.then(|| self.warning(quiet)) }
    }

    fn warning(&self, quiet: Micros) -> Arc<str> {
        let what = match self.over {
            WatchedSpan::Head => "no answer has begun",
            WatchedSpan::Stream | WatchedSpan::WholeAnswer => "the stream was silent",
        };
        format!("{what} for {quiet}; the attempt fails after {}", self.limit).into()
    }

    fn failure(&self) -> AttemptFailure {
        match self.over {
            WatchedSpan::Head => AttemptFailure::new("timeout", &format!("no answer began within {}", self.limit)),
            WatchedSpan::Stream => {
                AttemptFailure::new("stream_idle", &format!("the stream was silent for {}", self.limit)).broken_by(StreamBreak::Silence)
            }
            WatchedSpan::WholeAnswer => AttemptFailure::new("timeout", &format!("no answer came within {}", self.limit)),
        }
    }
}

/// Half of a limit, rounded up, so that it is never zero.
fn half(limit: Micros) -> Micros {
    Micros(limit.0.div_ceil(2))
}

impl ApiCall {
    /// A request for a stream was made.
    pub(super) fn watch_for_head(&mut self, env: &Environment, now: Time, effects: &mut AgentEffects) {
        let limit = env.settings.retry.head_timeout;
        self.arm(now, WatchedSpan::Head, limit, half(limit), effects);
    }

    /// A stream has begun.
    pub(super) fn watch_for_silence(&mut self, env: &Environment, now: Time, effects: &mut AgentEffects) {
        let limit = env.settings.retry.stream_idle;
        self.arm(now, WatchedSpan::Stream, limit, half(limit), effects);
    }

    /// A request without streaming was made.
    pub(super) fn watch_for_lateness(&mut self, env: &Environment, now: Time, effects: &mut AgentEffects) {
        let limit = env.settings.retry.nonstreaming_timeout;
        self.arm(now, WatchedSpan::WholeAnswer, limit, limit, effects);
    }

    /// Sets the first timer. A limit of zero means: no watchdog.
    fn arm(&mut self, now: Time, over: WatchedSpan, limit: Micros, first: Micros, effects: &mut AgentEffects) {
        if limit == Micros::ZERO {
            return;
        }
        let timer = TimerId { id: WATCHDOG_TIMER, generation: self.id.attempt };
        let rings = now + first;
        self.watchdog = Some(Watchdog { timer, over, limit, heard: now, rings, warned: None });
        effects.push(Effect::SetTimer { timer, at: rings });
    }

    /// The answer is over, and its timer is taken back.
    pub(super) fn disarm(&mut self, effects: &mut AgentEffects) {
        if let Some(watchdog) = self.watchdog.take() {
            effects.push(Effect::CancelTimer { timer: watchdog.timer });
        }
    }
}
