//! The surroundings of a run: its times, the API, and what explorations of it would try (E-3).

use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::values::{latency, span, vary};
use reenact_engine::time::Micros;
use reenact_scenario::explore_settings::{ArrivalJitter, ExploreSettings};
use reenact_scenario::single_fault::SingleFaultKind;
use reenact_scenario::types::{AnswerTiming, Chunking, RefreshOutcome, ScriptedAuth, SimulatedApi};
use reenact_wire::models::SignaturePolicy;
use reenact_wire::prelude::*;

#[derive(Clone, Debug)]
pub(super) struct SurroundingParts {
    pub(super) timing: AnswerTiming,
    pub(super) chunking: Chunking,
    pub(super) auth: ScriptedAuth,
    pub(super) api: SimulatedApi,
    pub(super) default_answer: Option<Arc<str>>,
    pub(super) explore: ExploreSettings,
}

pub(super) fn surroundings_of_runs() -> BoxedStrategy<SurroundingParts> {
    let timing = vary!(AnswerTiming::default(), 0.7; head: latency(), first_event: latency(), between_events: latency());
    let chunking = prop_oneof![Just(Chunking::Bytes), Just(Chunking::Random), (1_usize..200).prop_map(Chunking::Every)];
    let auth = vary!(ScriptedAuth { may: true, ..ScriptedAuth::default() }, 0.5; refresh: Just(RefreshOutcome::Fails), latency: latency());
    let api = vary!(SimulatedApi::default(), 0.5;
        context_window: prop_oneof![3 => 900_u64..12_000, 1 => Just(200_000)].prop_map(Some),
        count_tokens: Just(true),
        counts_max_tokens: any::<bool>().prop_map(Some),
        signatures: select(vec![SignaturePolicy::Ignore, SignaturePolicy::Drop]).prop_map(Some),
        lingers: (0_u64..120).prop_map(Micros::from_secs),
    );
    let default_answer = option::of(Just(Arc::from("Very well.")));
    (timing, chunking, auth, api, default_answer, explorations())
        .prop_map(|(timing, chunking, auth, api, default_answer, explore)| SurroundingParts {
            timing,
            chunking,
            auth,
            api,
            default_answer,
            explore,
        })
        .boxed()
}

/// The decisions that explorations of a case would try. The case itself does not know them.
fn explorations() -> BoxedStrategy<ExploreSettings> {
    let jitter = vary!(ArrivalJitter::default(), 0.3;
        tools: span().prop_map(Some),
        answers: span().prop_map(Some),
        hooks: span().prop_map(Some),
        permissions: span().prop_map(Some),
        user: span().prop_map(Some),
        auth: span().prop_map(Some),
    );
    vary!(ExploreSettings::default(), 0.2; faults: subsequence(SingleFaultKind::ALL.to_vec(), 0..9), jitter: jitter)
}
