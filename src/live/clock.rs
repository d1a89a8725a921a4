//! The time of a session on the clock of its network.
//!
//! All parts of a simulated network use the same clock, so that it can run faster than the scenario's times: answers, tools, waits
//! and limits are scaled together, and neither engine nor world can tell.

use std::time::Duration;

use tokio::time::Instant;

use reenact_engine::time::{Micros, Time};

/// How long a second of the scenario takes, in percent of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeScale(u32);

impl Default for TimeScale {
    fn default() -> Self {
        Self(100)
    }
}

impl TimeScale {
    /// So many percent; `None` for 0, at which no time would ever pass.
    pub fn from_percent(percent: u32) -> Option<Self> {
        (percent > 0).then_some(Self(percent))
    }

    /// How many percent.
    pub fn percent(self) -> u32 {
        self.0
    }

    /// The same for what takes so many percent of its time in the scenario.
    pub(crate) fn at_pace(self, percent: u32) -> Self {
        let scaled = u64::from(self.0) * u64::from(percent) / 100;
        Self(u32::try_from(scaled).unwrap_or(u32::MAX))
    }

    /// How long something takes on the network's clock; never too short, so that a wait of this time is long enough.
    pub fn duration(self, span: Micros) -> Duration {
        let scaled = (u128::from(span.0) * u128::from(self.0)).div_ceil(100);
        Duration::from_micros(u64::try_from(scaled).unwrap_or(u64::MAX))
    }

    /// How long it is for the scenario.
    pub fn span(self, duration: Duration) -> Micros {
        Micros(u64::try_from(duration.as_micros() * 100 / u128::from(self.0)).unwrap_or(u64::MAX))
    }
}

/// A session's clock.
#[derive(Clone, Copy, Debug)]
pub struct SessionClock {
    /// When the session began.
    pub began: Instant,
    /// How fast its time goes.
    pub scale: TimeScale,
}

impl SessionClock {
    /// The session's time then.
    pub fn time(&self, at: Instant) -> Time {
        Time::ZERO + self.scale.span(at.saturating_duration_since(self.began))
    }

    /// When that is; the end of time where it is out of reach.
    pub fn instant(&self, time: Time) -> Option<Instant> {
        self.began.checked_add(self.scale.duration(time.since(Time::ZERO)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m_11_who_waits_until_a_time_has_reached_it() {
        for percent in [1, 3, 7, 33, 100, 250] {
            let scale = TimeScale::from_percent(percent).unwrap();
            for micros in [0, 1, 2, 3, 10, 99, 101, 1_234_567, u64::from(u32::MAX)] {
                assert!(scale.span(scale.duration(Micros(micros))) >= Micros(micros), "{micros} at {percent} %");
            }
        }
        assert_eq!(TimeScale::from_percent(10).unwrap().duration(Micros::from_secs(1)), Duration::from_millis(100));
        assert_eq!(TimeScale::from_percent(0), None);
    }
}
