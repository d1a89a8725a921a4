//! Figures of compaction, dead messages and staged summaries, written and read back.

use super::*;
use reenact_engine::contract::{Agent, StagedSummary};
use reenact_engine::settings::{ContextWindow, MicrocompactMode, TooLargeRequestPolicy};

#[test]
fn c_1_and_c_3_what_comes_from_the_background_reads_back() {
    let staged = StagedSummary { from: "p1".into(), to: "p1.r1.a1".into(), summary: "short\n".into() };
    let kinds = [InterruptKind::Dead(vec!["p1".into(), "h2".into()]), InterruptKind::Collapse(Arc::new(staged))];
    let moments = [
        InterruptMoment::At(Micros(3)),
        InterruptMoment::When {
            agent: Agent::ROOT,
            anchor: InterruptTrigger::Result { nth: 2 },
            side: BoundarySide::After,
            offset: Micros(7),
        },
    ];
    let interrupts =
        kinds.into_iter().zip(moments).map(|(kind, moment)| ScriptedInterrupt { kind, moment, turns: Vec::new(), may: true }).collect();
    reads_back(&Scenario { prompts: vec![prompt("hi")], interrupts, ..Scenario::default() });
}

#[test]
fn c_4_the_figures_of_compaction_read_back() {
    let compaction = CompactionSettings {
        context_window: ContextWindow::Tokens(200_000),
        snip: false,
        microcompact: MicrocompactMode::Cached,
        keep_results: 0,
        collapse: false,
        collapse_percent: 50,
        auto: false,
        reactive: false,
        output_cap: Some(64_000),
        output_reserve: 1,
        margin: 2,
        warning_margin: 3,
        hard_margin: 4,
        max_failures: 5,
        summary_drops: 6,
        full_summary_first: true,
        summary_tools: true,
        summary_tags: true,
        too_large_request: TooLargeRequestPolicy::Media,
        too_large_answers: 10,
        keep_messages: 7,
        attached_files: 8,
        attached_file_tokens: 9,
        plan: Some("first\nsecond".into()),
        skills: vec!["one".into(), "two \"quoted\"".into()],
    };
    let local = CompactionSettings { microcompact: MicrocompactMode::Local, ..CompactionSettings::default() };
    for compaction in [compaction, local] {
        let settings = Settings { compaction, ..Settings::default() };
        reads_back(&Scenario { settings, prompts: vec![prompt("hi")], ..Scenario::default() });
    }
}
