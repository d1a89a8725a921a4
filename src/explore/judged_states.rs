//! The states of a sweep whose future is known to be without a finding (E-3): a copy that reaches one need not go on.
//!
//! A state is looked up where copies of a run become alike: in the step of the injection, and where a prompt is over. To look everywhere would cost more
//! than it saves.

use alloc::collections::BTreeSet;
use core::hash::Hash as _;

use super::sweep_watch::SweepWatch;
use reenact_engine::contract::{Engine, KeySink};
use reenact_engine::key::StateKey;
use reenact_sim::{FinishedRun, Run};
use reenact_wire::prelude::*;

/// The states from which runs without a finding have gone on, by their keys: those of engine, world and oracles.
#[derive(Debug, Default)]
pub(super) struct JudgedStates {
    known: BTreeSet<StateKey>,
    /// The states that the present run came through.
    passed: Vec<StateKey>,
    sink: KeySink,
}

impl JudgedStates {
    /// Lets a run go on to its end, or until it reaches a known state: `None`.
    pub(super) fn finish<E: Engine>(&mut self, mut run: Run<E, SweepWatch>) -> Option<FinishedRun<E, SweepWatch>> {
        let violations = run.watcher().oracles.violations().len();
        let mut finished = None;
        loop {
            if let Some(end) = run.advance() {
                return Some(run.finished(end));
            }
            if run.watcher().oracles.violations().len() > violations {
                return Some(run.finish());
            }
            let over = Some(run.finished_prompts());
            if finished == over || (finished.is_some() && run.next_input().is_some()) {
                continue;
            }
            finished = over;
            let Some(key) = self.key(&run) else { return Some(run.finish()) };
            if self.known.contains(&key) {
                return None;
            }
            self.passed.push(key);
        }
    }

    /// The present run is judged: whether it ended well, and the same is to be expected of others in the states that it came through.
    pub(super) fn settle(&mut self, is_good: bool) {
        if is_good {
            self.known.extend(self.passed.iter().copied());
        }
        self.passed.clear();
    }

    fn key<E: Engine>(&mut self, run: &Run<E, SweepWatch>) -> Option<StateKey> {
        self.sink.reset(run.now());
        run.watcher().oracles.hash(&mut self.sink);
        run.key(&mut self.sink).then(|| self.sink.key())
    }
}
