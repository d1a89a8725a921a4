//! Whole scenarios as proptest strategies: for tests of an engine under all circumstances (feature `proptest`).
//!
//! ```text
//!   features ──┐
//!   parts ─────┴─ assemble ──> Scenario      a random subset of features a case: combinations are deep, and not everything happens always
//! ```
//!
//! All parts are generated for each case, and a feature that a case does not have leaves its part out. So a feature that shrinks away takes nothing
//! else with it. Figures are small: budgets, windows, waits and turns are such that limits are really met. What comes out is valid by the language of
//! scenarios, can be written and read back, and has an end: what would wait for ever is cancelled after some hours.
//!
//! Cases are held to the oracles of `docs/rules/explore.md` (O).

extern crate alloc;

pub mod faults;
pub mod feature;
pub mod history;
pub mod host;
pub mod interrupts;
pub mod outcomes;
pub mod question_parts;
pub mod session;
pub mod settings;
pub mod tools;
pub mod turns;
pub mod values;
pub mod workspace;

mod assemble;
mod closing_turns;
mod fitting;
mod surroundings;

use proptest::prelude::*;

use feature::Feature;
use reenact_scenario::types::Scenario;

/// Scenarios with a random subset of features each.
pub fn scenarios() -> BoxedStrategy<Scenario> {
    scenarios_with(&[])
}

/// The same, where each scenario has these features for certain.
pub fn scenarios_with(certain: &[Feature]) -> BoxedStrategy<Scenario> {
    let certain = certain.to_vec();
    let with = move |features: Vec<Feature>| features.into_iter().chain(certain.clone()).collect();
    (feature::subsets().prop_map(with), assemble::parts()).prop_map(|(features, parts)| assemble::assemble(&features, parts)).boxed()
}

/// The same scenario as one whose requests the API takes as far as that is up to it. What [`scenarios`] gives is such a one; what somebody takes a
/// part out of may not be.
pub fn fitted(mut scenario: Scenario) -> Scenario {
    fitting::to_the_api(&mut scenario);
    scenario
}
