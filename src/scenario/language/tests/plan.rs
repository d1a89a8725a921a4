//! Plans read back.

use super::*;
use crate::boundary::RunBoundary;
use crate::plan::{
    AnswerTimes, ClientInterrupt, LateCompletion, NamedChoices, Plan, PlannedDeviation, PlannedInterrupt, PlannedInterruptKind,
    StreamShape, WaitKind,
};
use crate::single_fault::{FaultReach, SingleFault, SingleFaultKind};

fn all<T>(choices: impl IntoIterator<Item = (&'static str, T)>) -> NamedChoices<T> {
    choices.into_iter().map(|(name, choice)| (name.into(), choice)).collect()
}

#[test]
fn f_11_a_plan_reads_back() {
    let times = AnswerTimes { head: Some(Micros(1)), gaps: (0..30).map(Micros).collect(), end: Some(Micros::ZERO) };
    let latencies = WaitKind::ALL.map(|(_, of, _)| (of, all([("toolu_1/2.3", Micros::from_millis(5))])));
    let plan = Plan {
        drawn_from: Some(Seed(u64::MAX)),
        interrupts: vec![
            PlannedInterrupt { boundary: RunBoundary { event: 3, side: BoundarySide::Before }, kind: PlannedInterruptKind::Cancel },
            PlannedInterrupt {
                boundary: RunBoundary { event: 3, side: BoundarySide::After },
                kind: PlannedInterruptKind::Interrupt(vec![Block::text("stop")]),
            },
            PlannedInterrupt { boundary: RunBoundary { event: 9, side: BoundarySide::Before }, kind: PlannedInterruptKind::Heal },
        ],
        client_interrupts: vec![
            ClientInterrupt { boundary: "answer 1 piece 2 + 1".into(), message: None, then: Some("Go on.".into()), at_once: true },
            ClientInterrupt { boundary: "start + 3".into(), message: Some("stop".into()), then: None, at_once: false },
        ],
        client_follow_up: Some("Once more.".into()),
        deviations: vec![PlannedDeviation { event: 7, arrival: "tool 1A ends".into(), at: Micros::ZERO }],
        late_completions: vec![LateCompletion { event: 9, tool: "1A".into() }],
        single_faults: SingleFaultKind::ALL
            .map(|kind| SingleFault { request: "p2/1.3".into(), kind, after_event: 3, reach: FaultReach::Model })
            .into(),
        faults: all([("1.2 529 overloaded_error", true), ("p2/1 connect reset (2)", false)]),
        answers: all([("1", times), ("a b/1", AnswerTimes::default())]),
        streams: all([("msg_p1t1", StreamShape { pieces: vec![1, 2], padding: vec![0; 40] })]),
        chunks: all([("1 piece 0", vec![96, 1])]),
        request_ids: all([("1", "req_1".into())]),
        latencies: latencies.into(),
        backoff: all([("2.2", Micros::from_millis(612))]),
    };
    let fault = |kind: FaultKind| FaultRule { at: FaultPlace { probability: Some(0.5), ..FaultPlace::default() }, kind, may: false };
    let overloaded = FaultAnswer { status: 529, ..FaultAnswer::default() };
    let faults = vec![
        fault(FaultKind::Instead(AnswerSubstitute::Answer(overloaded))),
        fault(FaultKind::Instead(AnswerSubstitute::Connection(ConnectFault::Reset))),
    ];
    let text = reads_back(&Scenario { plan, faults, prompts: vec![prompt("hi")], ..Scenario::default() });
    for line in ["\n[plan.backoff]\n\"2.2\" = \"612ms\"\n", "\n[plan.faults]\n\"1.2 529 overloaded_error\" = true\n"] {
        assert!(text.contains(line), "{line:?} is not in:\n{text}");
    }
}

#[test]
fn f_11_names_read_back_whatever_they_hold() {
    let hooks = all([("a \"quoted\"\nname\\", Micros(1)), ("", Micros(2)), ("é 'x' ''' \u{7f}", Micros(3))]);
    let plan = Plan { latencies: [(WaitKind::Hook, hooks)].into(), ..Plan::default() };
    reads_back(&Scenario { plan, prompts: vec![prompt("hi")], ..Scenario::default() });
}
