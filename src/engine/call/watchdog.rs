//! The watchdog over an answer that takes too long: a stream that does not begin or falls silent, or an unstreamed answer that does not come.
//!
//! There is one timer at a time, however many events come: an event only notes when it was, and the timer, when it rings, looks how
//! long ago that is and is set again. So a stream of a thousand events costs what a short one costs.

use super::ApiCall;
use crate::engine::contract::{Effect, Effects, TimerId};
use crate::engine::retry::AttemptFailure;
use crate::engine::retry::broken_stream::StreamBreak;
use crate::engine::settings::Environment;
use crate::engine::time::{Micros, Time};
use crate::prelude::*;

/// The timer of the alarm; its generation is the attempt that it watches over.
const ALARM_TIMER: u32 = 7;

/// What rings when an answer takes too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Watchdog {
    timer: TimerId,
    over: WatchedSpan,
    /// How long nothing may come.
    limit: Micros,
    /// When something came last.
    heard: Time,
    /// When the timer rings next.
    rings: Time,
    /// The last thing that came before a warning.
    warned: Option<Time>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WatchedSpan {
    /// A stream that has not begun.
    Head,
    Stream,
    WholeAnswer,
}

/// What a ring means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WatchdogSignal {
    /// Nothing: it is an older setting of the timer.
    StaleTimer,
    /// The timer is set again.
    Rearmed {
        /// For when.
        at: Time,
        /// What the user should know.
        warning: Option<Arc<str>>,
    },
    /// The answer counts as broken.
    Expired(AttemptFailure),
}

impl Watchdog {
    pub(super) fn timer(&self) -> TimerId {
        self.timer
    }

    /// Something came: pings are life, too.
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

/// Rounded up, so that half of something is never nothing.
fn half(limit: Micros) -> Micros {
    Micros(limit.0.div_ceil(2))
}

impl ApiCall {
    /// A stream was asked for.
    pub(super) fn watch_for_head(&mut self, env: &Environment, now: Time, effects: &mut Effects) {
        let limit = env.settings.retry.head_timeout;
        self.arm(now, WatchedSpan::Head, limit, half(limit), effects);
    }

    /// A stream has begun.
    pub(super) fn watch_for_silence(&mut self, env: &Environment, now: Time, effects: &mut Effects) {
        let limit = env.settings.retry.stream_idle;
        self.arm(now, WatchedSpan::Stream, limit, half(limit), effects);
    }

    /// An answer was asked for that comes whole.
    pub(super) fn watch_for_lateness(&mut self, env: &Environment, now: Time, effects: &mut Effects) {
        let limit = env.settings.retry.nonstreaming_timeout;
        self.arm(now, WatchedSpan::WholeAnswer, limit, limit, effects);
    }

    /// A limit of zero is none.
    fn arm(&mut self, now: Time, over: WatchedSpan, limit: Micros, first: Micros, effects: &mut Effects) {
        if limit == Micros::ZERO {
            return;
        }
        let timer = TimerId { id: ALARM_TIMER, generation: self.id.attempt };
        let rings = now + first;
        self.alarm = Some(Watchdog { timer, over, limit, heard: now, rings, warned: None });
        effects.push(Effect::SetTimer { timer, at: rings });
    }

    /// The answer is over: nothing is waited for any more.
    pub(super) fn disarm(&mut self, effects: &mut Effects) {
        if let Some(alarm) = self.alarm.take() {
            effects.push(Effect::CancelTimer { timer: alarm.timer });
        }
    }
}
