//! The settings of an engine, table by table. Each field has its own value in some cases, so that all of them are met, and few at once.

use alloc::collections::BTreeMap;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::values::{some_time, span, text, vary, words};
use reenact_engine::settings::{
    AbortResultOrder, BrokenStreamPolicy, CloudProvider, CompactionSettings, ContextWindow, DiscardPolicy, EmissionOrder, MicrocompactMode,
    NeighbourMerging, OverloadPolicy, PausePolicy, PipelineSettings, QueuedBlockPolicy, QueuedMessagePlace, ResultDelivery, ResultOrder,
    RetryPolicySource, RetrySettings, Settings, SiblingAbort, StreamOrderPolicy, TooLargeRequestPolicy, UnauthorizedPolicy,
};
use reenact_engine::texts::{ModelTexts, TextName, TextSet, parts};
use reenact_engine::time::Micros;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// How often a field is not as usual.
const SHARE: f64 = 0.3;

/// The members of requests beside the conversation.
pub fn requests() -> BoxedStrategy<Settings> {
    let system = prop_oneof![
        2 => words().prop_map(|words| Json::from_value(&*words)),
        1 => words().prop_map(|words| Json::trusted(format!(r#"[{{"type":"text","text":"{words}"}}]"#))),
    ];
    let extra =
        select(vec![r#"{"temperature":0.5}"#, r#"{"metadata":{"user_id":"u"}}"#, r#"{"tool_choice":{"type":"auto"}}"#, r#"{"top_k":4}"#]);
    vary!(Settings::default(), SHARE;
        max_tokens: prop_oneof![2_000_u64..8_000, 8_001_u64..30_000],
        system_prompt: system.prop_map(Some),
        memory: Just(true),
        append_system_prompt: text().prop_map(Some),
        user_context: text().prop_map(Some),
        system_context: text().prop_map(Some),
        cache_breakpoints: Just(false),
        request_extra: extra.prop_map(Json::trusted),
        partial_messages: Just(true),
        max_pause_resumes: 0_u32..4,
        on_pause: Just(PausePolicy::End),
        retry_refusal: Just(true),
        refusal_notes: Just(true),
        empty_answer_nudges: 1_u32..3,
        missing_tool_use_nudges: 1_u32..3,
        stream_order: Just(StreamOrderPolicy::Lenient),
        unparsed_inputs: Just(true),
        background: Just(true),
        neighbours: select(vec![NeighbourMerging::Apart, NeighbourMerging::ApartWithResults]),
    )
}

/// How tools run.
pub fn execution() -> BoxedStrategy<Settings> {
    vary!(Settings::default(), SHARE;
        emission_order: Just(EmissionOrder::Arrival),
        result_order: Just(ResultOrder::Emission),
        result_delivery: Just(ResultDelivery::AtOnce),
        max_concurrent_tools: (1_u32..5).prop_map(Some),
        max_batch_tools: 1_u32..4,
        sibling_abort: select(vec![SiblingAbort::Off, SiblingAbort::Any]),
        batch_sibling_abort: select(vec![SiblingAbort::Failed, SiblingAbort::Any]),
        tool_grace: span(),
        abort_results: Just(AbortResultOrder::InTurn),
        queued_block: Just(QueuedBlockPolicy::Run),
        discarded_tools: Just(DiscardPolicy::Ignore),
        queued_messages: Just(QueuedMessagePlace::InResult),
        texts: texts(),
    )
}

/// `[texts]`: a set, and some texts in the place of its own, with the parts that they may have.
fn texts() -> BoxedStrategy<ModelTexts> {
    let replaced = (select(TextName::ALL), words(), any::<bool>()).prop_map(|(name, words, has_parts)| {
        let parts = parts(name.ours())
            .into_iter()
            .filter(|_| has_parts || name == TextName::QueuedMessage)
            .map(|part| format!(" {{{part}}}"))
            .collect::<String>();
        (name, Arc::from(format!("{words}{parts}")))
    });
    let set = select(vec![TextSet::Reenact, TextSet::Observed]);
    let replaced = vec(replaced, 0..12).prop_map(|texts| texts.into_iter().collect::<BTreeMap<_, _>>());
    (set, replaced).prop_map(|(set, replaced)| ModelTexts { set, replaced }).boxed()
}

/// `[engine.pipeline]`.
pub fn pipeline() -> BoxedStrategy<PipelineSettings> {
    vary!(PipelineSettings::default(), SHARE;
        check_inputs: Just(false),
        result_limit: 0_u64..600,
        result_preview: 0_u64..300,
        exit_code_aborts: Just(false),
        hooks_shown_from: span(),
        slow_from: span(),
    )
}

/// `[engine.retry]`.
pub fn retry() -> BoxedStrategy<RetrySettings> {
    vary!(RetrySettings::default(), 0.2;
        policy: Just(RetryPolicySource::Engine),
        max_retries: 0_u32..4,
        base_delay: span(),
        max_delay: span(),
        jitter_percent: 0_u32..120,
        retry_after_jitter_percent: 1_u32..40,
        max_retry_after: span(),
        overloads_to_fallback: 1_u32..4,
        on_overload: Just(OverloadPolicy::GoOn),
        fallback_on_server_error: Just(true),
        fallback_on_missing_model: Just(true),
        on_unauthorized: Just(UnauthorizedPolicy::Wait),
        refused_retries: 1_u32..4,
        fast_mode: Just(true),
        fast_wait_max: span(),
        fast_cooldown_min: span(),
        fast_cooldown: span(),
        unattended: Just(true),
        unattended_max_delay: span(),
        unattended_reset: span(),
        heartbeat: some_time().prop_map(|time| time.max(Micros::from_millis(10))),
        overflow_margin: 0_u64..2_000,
        overflow_floor: 0_u64..4_000,
        nonstreaming_fallback: Just(false),
        nonstreaming_without_block: Just(true),
        nonstreaming_counts: Just(true),
        broken_streams: Just(BrokenStreamPolicy::ByCause),
        silent_retries: 1_u32..3,
        nonstreaming_max_tokens: 500_u64..30_000,
        nonstreaming_timeout: span(),
        stream_idle: span(),
        head_timeout: span(),
        cloud: select(vec![CloudProvider::Bedrock, CloudProvider::Vertex]).prop_map(Some),
    )
}

/// `[engine.compaction]`, with windows that a few turns fill.
pub fn compaction() -> BoxedStrategy<CompactionSettings> {
    let small = || 0_u64..600;
    let figures = vary!(CompactionSettings::default(), 0.25;
        snip: Just(false),
        microcompact: select(vec![MicrocompactMode::Local, MicrocompactMode::Cached]),
        keep_results: 0_u32..4,
        collapse: Just(false),
        collapse_percent: 1_u32..120,
        auto: Just(false),
        reactive: Just(false),
        output_cap: (1_u64..4_000).prop_map(Some),
        max_failures: 1_u32..4,
        summary_drops: 0_u32..4,
        full_summary_first: Just(true),
        summary_tools: Just(true),
        summary_tags: Just(true),
        too_large_request: Just(TooLargeRequestPolicy::Media),
        too_large_answers: 1_u32..4,
        keep_messages: 0_u32..6,
        attached_files: 0_u32..3,
        attached_file_tokens: small(),
        plan: words().prop_map(Some),
        skills: words().prop_map(|words| vec![words]),
    );
    let figure = prop_oneof![3 => 300_u64..6_000, 1 => Just(200_000)].prop_map(ContextWindow::Tokens);
    let window = prop_oneof![8 => figure, 1 => Just(ContextWindow::Auto), 1 => Just(ContextWindow::None)];
    let margins = option::weighted(0.8, (small(), small(), small(), small()));
    (figures, window, margins)
        .prop_map(|(figures, context_window, margins)| match margins {
            None => CompactionSettings { context_window, ..figures },
            Some((output_reserve, margin, warning_margin, hard_margin)) => {
                CompactionSettings { context_window, output_reserve, margin, warning_margin, hard_margin, ..figures }
            }
        })
        .boxed()
}
