//! One case: its scenario as a tree that can be shrunk.

use proptest::strategy::{BoxedStrategy, Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use reenact::engine::random::Seed;
use reenact::scenario::types::Scenario;
use reenact::strategies::feature::Feature;
use reenact::strategies::scenarios_with;

/// Where cases come from.
pub(super) struct CaseSource {
    strategy: BoxedStrategy<Scenario>,
    seed: u64,
}

impl CaseSource {
    pub(super) fn new(seed: u64, only: &[Feature]) -> Self {
        Self { strategy: scenarios_with(only), seed }
    }

    /// The scenario of a case, by its number.
    pub(super) fn tree(&self, number: u64) -> impl ValueTree<Value = Scenario> + use<> {
        let mut draws = Seed(self.seed).draws("fuzz-scenarios", &number.to_string());
        let bytes: Vec<u8> = (0..4).flat_map(|_| draws.bits().to_le_bytes()).collect();
        let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
        self.strategy.new_tree(&mut runner).expect("the strategies reject next to nothing")
    }
}
