//! How long the budgets of a scenario will take (E-3): it is told before one that takes long, and `--budget auto` goes by it.

use std::time::Duration;

use tokio::time::Instant;

use crate::explore::budget::ExploreBudget;
use crate::explore::estimate::ExploreEstimate;

/// The explorations of a scenario so far.
pub(super) struct ExploreForecast {
    began: Instant,
    estimate: ExploreEstimate,
    /// How many transitions were made in all.
    made: u64,
}

impl ExploreForecast {
    /// At the beginning. The run without any decision has so many transitions.
    pub(super) fn new(began: Instant, plain: u64) -> Self {
        let mut forecast = Self { began, estimate: ExploreEstimate::default(), made: 0 };
        forecast.add(ExploreBudget::NONE, plain);
        forecast
    }

    /// A budget is finished.
    pub(super) fn add(&mut self, budget: ExploreBudget, transitions: u64) {
        self.estimate.add(budget, transitions);
        self.made += transitions;
    }

    /// About how many transitions a budget has, and how long they take; `None` where nothing is known to go by.
    pub(super) fn size(&self, budget: ExploreBudget) -> Option<(u64, Duration)> {
        let transitions = self.estimate.transitions(budget)?;
        let each = self.began.elapsed().as_secs_f64() / figure(self.made.max(1));
        Some((transitions, Duration::try_from_secs_f64(each * figure(transitions)).unwrap_or(Duration::MAX)))
    }

    /// The rest of so much time for the scenario.
    pub(super) fn time_left(&self, time: Duration) -> Duration {
        time.saturating_sub(self.began.elapsed())
    }
}

/// Nobody makes more than four thousand million transitions.
fn figure(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
