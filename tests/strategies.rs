//! Generated scenarios (feature `proptest`): each is one of the language, has an end, and together they use all of the language.
#![cfg(feature = "proptest")]

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use reenact::engine::texts::TextName;
use reenact::scenario::language::scenario_text;
use reenact::scenario::parse;
use reenact::scenario::types::Scenario;
use reenact::strategies::feature::Feature;
use reenact::strategies::{scenarios, scenarios_with};

fn read(scenario: &Scenario) -> Scenario {
    let text = scenario_text(scenario, &[]);
    parse::scenario("generated.toml", &text, &[]).unwrap_or_else(|faults| panic!("{faults}\n{text}")).scenario
}

/// Reads back what many cases of a strategy give.
fn read_back(strategy: &BoxedStrategy<Scenario>) {
    let mut runner = runner();
    for _ in 0..200 {
        let scenario = strategy.new_tree(&mut runner).unwrap().current();
        assert!(read(&scenario) == scenario, "it is read otherwise:\n{}", scenario_text(&scenario, &[]));
    }
}

#[test]
fn f_6_a_generated_scenario_is_read_back_as_it_was_written() {
    read_back(&scenarios());
}

#[test]
fn f_6_so_is_one_with_every_feature() {
    read_back(&scenarios_with(Feature::ALL));
}

/// A runner whose draws are always the same.
fn runner() -> TestRunner {
    TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

#[test]
fn a_feature_shrinks_away_and_takes_nothing_else_with_it() {
    let (strategy, mut runner) = (scenarios_with(&[Feature::Hooks]), runner());
    for _ in 0..20 {
        let mut tree = strategy.new_tree(&mut runner).unwrap();
        // Whatever can go goes: what is asked for stays, and so does a prompt.
        while tree.simplify() {}
        let smallest = tree.current();
        assert_eq!((smallest.prompts.len(), smallest.hooks.len()), (1, 1), "{smallest:?}");
        assert!(smallest.faults.is_empty() && smallest.interrupts.is_empty() && smallest.tools.is_empty(), "{smallest:?}");
        assert_eq!(smallest.settings.retry, reenact::engine::settings::RetrySettings::default());
    }
}

#[test]
fn t_31_each_text_is_replaced_in_some_case() {
    let (strategy, mut runner) = (scenarios_with(&[Feature::Execution]), runner());
    let cases = (0..400).map(|_| strategy.new_tree(&mut runner).unwrap().current());
    let replaced: BTreeSet<TextName> = cases.flat_map(|scenario| scenario.settings.texts.replaced.into_keys()).collect();
    let never: Vec<&TextName> = TextName::ALL.iter().filter(|name| !replaced.contains(*name)).collect();
    assert!(never.is_empty(), "no case replaces {never:?}");
}

#[test]
fn each_feature_has_a_name_of_its_own() {
    for feature in Feature::ALL {
        assert_eq!(Feature::named(feature.as_str()), Some(*feature));
    }
}
