//! The reference loop's runs, sweeps and explorations, compiled once.
//!
//! Code that runs an engine is generic over it, and each crate compiles it again for the engine that it names. The profile `release` optimises this room and not
//! the program. The program links the code that is compiled here for the reference loop, so it runs scenarios fast after a short build. A program around another engine
//! compiles its own.

use reenact_engine::agent_loop::AgentLoop;
use reenact_explore::budget::ExploreBudget;
use reenact_explore::certificate::Certificate;
use reenact_explore::certify::{CertifyPart, CertifyRefusal, CertifyReport, certify};
use reenact_explore::explorer::{ExploreOptions, ExplorePace, ExploreProgress, FinishedExploration, explore_with};
use reenact_explore::interrupt::InjectionKind;
use reenact_explore::sweep::{InterruptSweepReport, sweep};
use reenact_sim::Run;
use reenact_sim::report::RunReport;
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;

use super::PanicCatcher;
use super::explore::Threads;
use super::sweep::CountingCatcher;

/// A run of a scenario and a sweep over it.
pub fn run_and_sweep(setup: &Arc<RunSetup>, kinds: &[InjectionKind]) -> (RunReport<AgentLoop>, InterruptSweepReport) {
    (Run::new(setup.clone(), AgentLoop::default()).to_end(), sweep(setup, &AgentLoop::default(), kinds, &CountingCatcher::default()))
}

/// An exploration of a scenario.
pub fn exploration(
    setup: &Arc<RunSetup>,
    budget: ExploreBudget,
    threads: Threads,
    options: (ExploreOptions, &mut dyn FnMut(ExploreProgress) -> ExplorePace),
) -> FinishedExploration {
    explore_with(setup, &AgentLoop::default(), budget, &PanicCatcher, &threads, options)
}

/// A check of a certificate.
///
/// # Errors
/// As [`certify`].
pub fn certification(
    certificate: &Certificate,
    setup: &Arc<RunSetup>,
    part: (CertifyPart, &mut dyn FnMut(usize) -> bool),
) -> Result<CertifyReport, Option<CertifyRefusal>> {
    certify(certificate, setup, &AgentLoop::default(), &PanicCatcher, part)
}
