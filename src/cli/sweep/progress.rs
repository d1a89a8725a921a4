//! A sweep at work: after some seconds it says what it is at, and Ctrl-C shows what was swept until then.
//!
//! The thread of this file gets news and prints. It changes nothing of a sweep, so reports do not depend on it.

use std::collections::BTreeMap;
use std::process::exit;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep_until};

use super::super::output::{complain, print_line, tell_progress};
use super::super::serve::{listen, single_runtime};
use super::super::{SILENCE, STOPPED};
use super::{SweepArguments, SweepFormat, SweptScenario, SweptScenarios};
use crate::explore::finding_group::group;
use crate::files::scenario::LoadedScenario;
use crate::prelude::*;
use crate::runner::sweep::SweepNews;

/// With fewer runs in a second than this, runs are long.
const RUNS_A_SECOND: u64 = 2;

/// The way of news from a sweep to its watch.
pub(super) struct NewsSender(UnboundedSender<ProgressNews>);

/// News of sweeps at work.
enum ProgressNews {
    /// These are swept next.
    Scenarios(Vec<SweptScenario>),
    Sweep(SweepNews),
}

impl NewsSender {
    /// Scenarios are swept next; their positions are counted from here.
    pub(super) fn begin(&self, scenarios: &[LoadedScenario]) {
        // If nobody listens, nobody wants to know.
        let _ = self.0.send(ProgressNews::Scenarios(scenarios.iter().map(SweptScenario::from).collect()));
    }

    pub(super) fn tell(&self, news: SweepNews) {
        let _ = self.0.send(ProgressNews::Sweep(news));
    }
}

/// Does work that sweeps, with a watch on it.
pub(super) fn watched<R>(arguments: &SweepArguments, work: impl FnOnce(&NewsSender) -> R) -> R {
    let (sender, receiver) = unbounded_channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            // Without a runtime or signals nothing is lost but words.
            let Ok(runtime) = single_runtime() else { return };
            runtime.block_on(watch(arguments, receiver));
        });
        let watch = NewsSender(sender);
        let done = work(&watch);
        drop(watch);
        done
    })
}

/// Until the sweeps are over.
async fn watch(arguments: &SweepArguments, mut news: UnboundedReceiver<ProgressNews>) {
    let Ok(mut signals) = listen() else { return };
    let mut progress = SweepProgress { arguments, batch: Vec::new(), first: 0, swept: SweptScenarios::default(), running: BTreeMap::new() };
    let (mut silence, mut next) = (SILENCE, Instant::now() + SILENCE);
    loop {
        tokio::select! {
            biased;
            _ = signals.next() => progress.stop(),
            told = news.recv() => match told {
                Some(news) => progress.take(news),
                None => return,
            },
            () = sleep_until(next) => {
                progress.show();
                silence *= 2;
                next += silence;
            }
        }
    }
}

/// The state of the sweeps of a command.
struct SweepProgress<'a> {
    arguments: &'a SweepArguments,
    /// All scenarios, of files before this one as well.
    batch: Vec<SweptScenario>,
    /// Where those begin that are swept now.
    first: usize,
    swept: SweptScenarios,
    /// The scenarios that are being swept: how many runs were made, and since when.
    running: BTreeMap<usize, (Arc<AtomicUsize>, Instant)>,
}

impl SweepProgress<'_> {
    fn take(&mut self, news: ProgressNews) {
        match news {
            ProgressNews::Scenarios(scenarios) => {
                self.first = self.batch.len();
                self.batch.extend(scenarios);
            }
            ProgressNews::Sweep(SweepNews::Began { scenario, runs }) => {
                self.running.insert(self.first + scenario, (runs, Instant::now()));
            }
            ProgressNews::Sweep(SweepNews::Ended { scenario, report }) => {
                self.running.remove(&(self.first + scenario));
                self.swept.scenarios.push(self.batch[self.first + scenario].clone());
                self.swept.reports.push(*report);
            }
        }
    }

    fn show(&self) {
        for (scenario, (runs, since)) in &self.running {
            let runs = runs.load(Ordering::Relaxed) as u64;
            let are_long = runs < RUNS_A_SECOND * since.elapsed().as_secs();
            let advice = "; they are long, as runs are that end at a limit (--set limits.requests=50 makes them shorter)";
            let path = self.batch[*scenario].path.display();
            tell_progress(&format!("sweeping {path}: {} so far{}", plural(runs, "run"), if are_long { advice } else { "" }));
        }
    }

    /// Shows what was swept, and ends the program.
    fn stop(&self) {
        let Self { arguments, swept, batch, .. } = self;
        if arguments.format == SweepFormat::Text && !swept.scenarios.is_empty() {
            swept.show(arguments, &group(&swept.reports));
        }
        let told =
            format!("stopped: {} of {} swept, the rest was not looked at", swept.scenarios.len(), plural(batch.len() as u64, "scenario"));
        if arguments.format == SweepFormat::Text {
            print_line(&told)
        } else {
            complain(&told)
        }
        exit(STOPPED.into())
    }
}
