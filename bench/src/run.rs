//! `run`, `run-network` and `waiting`: a whole replay beside what else a test could do with the same exchange.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use reenact::engine::agent_loop::AgentLoop;
use reenact::engine::time::Micros;
use reenact::sim::Run;
use reenact::world::setup::RunSetup;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;

use super::network;
use super::outcome::{BarLimit, MILLISECONDS, ReportLine, TIMES, count, time};
use super::rounds;
use super::session::{self, RecordedSession};

/// Chunks and timers of the bare runtime.
const CHUNKS: u32 = 30;

pub(crate) fn against_tokio() -> Vec<ReportLine> {
    let session = session::recorded();
    let (middle, uncompared) = (at_the_middle(&session), session.without_requests());
    let warm = runtime();
    let rounds = rounds::in_turns([
        &mut || rounds::used(session.replay()),
        &mut || chunks_through_a_channel(&runtime(), CHUNKS),
        &mut || chunks_through_a_channel(&warm, CHUNKS),
        &mut || rounds::used(black_box(&middle).clone()),
        &mut || rounds::used(uncompared.replay()),
        &mut || rounds::used(session.replay_without_oracles()),
    ]);
    let theirs = |name: &str, way| format!("{name} {}", time(rounds.median(way)));
    let ours = rounds.median(0);
    let inputs = session.inputs();
    vec![
        ReportLine::Bar {
            name: "run",
            ours: time(ours),
            theirs: theirs("paused tokio", 1),
            figure: rounds.ratio(0, 1),
            unit: TIMES,
            limit: BarLimit::AtMost(3.0),
        },
        ReportLine::Bar {
            name: "run-plain",
            ours: time(rounds.median(5)),
            theirs: theirs("paused tokio", 1),
            figure: rounds.ratio(5, 1),
            unit: TIMES,
            limit: BarLimit::AtMost(1.3),
        },
        ReportLine::Bar {
            name: "oracles",
            ours: time(ours),
            theirs: theirs("without them", 5),
            figure: rounds.ratio(0, 5),
            unit: TIMES,
            limit: BarLimit::AtMost(1.5),
        },
        ReportLine::Orientation {
            name: "the same runtime, warm",
            figure: format!("{} ({:.2}x)", time(rounds.median(2)), rounds.ratio(0, 2)),
        },
        ReportLine::Orientation { name: "stream events, inputs", figure: format!("{}, {inputs}", session.events) },
        ReportLine::Orientation { name: "inputs a second", figure: format!("{:.2} M", count(inputs) / ours * 1e3) },
        ReportLine::Orientation { name: "without requests to compare with", figure: time(rounds.median(4)) },
        ReportLine::Orientation { name: "copy of a run half-way", figure: time(rounds.median(3)) },
    ]
}

pub(crate) fn against_turmoil() -> Vec<ReportLine> {
    let session = session::recorded();
    let millisecond = Duration::from_millis(1);
    network::exchange(&session, millisecond);
    let rounds = rounds::in_turns([&mut || rounds::used(session.replay()), &mut || network::exchange(&session, millisecond), &mut || {
        network::exchange(&session, 10 * millisecond)
    }]);
    vec![
        ReportLine::Bar {
            name: "run-network",
            ours: time(rounds.median(0)),
            theirs: format!("turmoil {}", time(rounds.median(1))),
            figure: rounds.ratio(1, 0),
            unit: TIMES,
            limit: BarLimit::AtLeast(200.0),
        },
        ReportLine::Orientation {
            name: "turmoil with ticks of 10 ms",
            figure: format!("{} ({:.0}x)", time(rounds.median(2)), rounds.ratio(2, 0)),
        },
    ]
}

pub(crate) fn waiting() -> Vec<ReportLine> {
    let hours = Micros::from_secs(6 * 3_600);
    let setup = |tool| Arc::new(RunSetup::new(session::scripted(tool), None).expect("a scripted scenario needs no tape"));
    let (long, short) = (setup(hours), setup(session::TOOL));
    let run = |setup: &Arc<RunSetup>| Run::new(setup.clone(), AgentLoop::default()).to_end();
    assert!(run(&long).transcript.events.last().is_some_and(|event| event.at.0 >= hours.0), "the run waits for the tool");
    let rounds = rounds::in_turns([&mut || rounds::used(run(&long)), &mut || rounds::used(run(&short))]);
    vec![ReportLine::Bar {
        name: "waiting",
        ours: format!("6 h {}", time(rounds.median(0))),
        theirs: format!("50 ms {}", time(rounds.median(1))),
        figure: rounds.median(0) / 1e6,
        unit: MILLISECONDS,
        limit: BarLimit::AtMost(1.0),
    }]
}

/// The replay, stopped when half of its inputs are through.
fn at_the_middle(session: &RecordedSession) -> Run<AgentLoop> {
    let mut run = Run::new(session.setup.clone(), AgentLoop::default());
    for _ in 0..session.inputs() / 2 {
        assert_eq!(run.advance(), None, "the run is not over at its middle");
    }
    run
}

/// The runtime that `#[tokio::test(start_paused = true)]` builds.
pub(super) fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().start_paused(true).build().expect("a runtime can be built")
}

/// One task sleeps and sends, the other takes: five virtual seconds, and the least that a test of a streamed answer needs.
pub(super) fn chunks_through_a_channel(runtime: &Runtime, chunks: u32) {
    runtime.block_on(async {
        let (sender, mut receiver) = mpsc::channel::<Arc<[u8]>>(16);
        let chunk: Arc<[u8]> = (*b"event: ping\ndata: {\"type\": \"ping\"}\n\n").into();
        let task = tokio::spawn(async move {
            for _ in 0..chunks {
                tokio::time::sleep(Duration::from_secs(5) / chunks).await;
                sender.send(chunk.clone()).await.expect("the receiver takes until the sender is gone");
            }
        });
        let mut taken = 0;
        while let Some(chunk) = receiver.recv().await {
            black_box(chunk);
            taken += 1;
        }
        assert_eq!(taken, chunks);
        task.await.expect("the sending task does not panic");
    });
}
