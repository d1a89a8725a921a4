//! `growth`: what a long session costs beside a shorter one.

use std::sync::Arc;
use std::time::Duration;

use reenact::engine::agent_loop::AgentLoop;
use reenact::explore::NoPanicGuard;
use reenact::explore::interrupt::InjectionKind;
use reenact::explore::sweep::sweep;
use reenact::sim::Run;
use reenact::world::setup::RunSetup;

use super::outcome::{BarLimit, MILLISECONDS, ReportLine, TIMES, time};
use super::{rounds, session};

/// Long runs take long, and so does a round.
const ROUNDS: usize = 5;

/// A prompt of 1,600 turns beside one of 400, and the sweep of one with 100.
pub(crate) fn turns() -> Vec<ReportLine> {
    let [short, long, swept] = [400, 1_600, 100].map(session::of_turns);
    let run = |setup: &Arc<RunSetup>| Run::new(setup.clone(), AgentLoop::default()).to_end();
    let sweep = || sweep(&swept, &AgentLoop::default(), &[InjectionKind::Cancel], &NoPanicGuard);
    let report = sweep();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    let ways = rounds::in_turns_of(
        ROUNDS,
        Duration::from_millis(4),
        [&mut || rounds::used(run(&long)), &mut || rounds::used(run(&short)), &mut || rounds::used(sweep())],
    );
    vec![
        ReportLine::Bar {
            name: "growth",
            ours: format!("1600 turns {}", time(ways.median(0))),
            theirs: format!("400 turns {}", time(ways.median(1))),
            figure: ways.ratio(0, 1),
            unit: TIMES,
            limit: BarLimit::AtMost(5.0),
        },
        ReportLine::Bar {
            name: "sweep of 100 turns",
            ours: time(ways.median(2)),
            theirs: format!("{} runs", report.runs),
            figure: ways.median(2) / 1e6,
            unit: MILLISECONDS,
            limit: BarLimit::AtMost(400.0),
        },
    ]
}
