//! The machines' tables of edges hold what is done and nothing else: every scenario is run and swept, and what was taken is compared.

use std::collections::BTreeSet;

use super::shipped_scenarios::shipped;
use super::{PanicCatcher, in_parallel, threads_available};
use reenact_engine::agent_loop::AgentLoop;
use reenact_engine::diagram::{DIAGRAMS, DrawnEdge, taken};
use reenact_explore::interrupt::InjectionKind;
use reenact_explore::sweep::sweep;

#[test]
fn q_1_and_q_2_and_t_1_the_diagrams_show_what_is_done_and_nothing_else() {
    let runs = shipped();
    // Beside the runs that it interrupts, a sweep makes the run as it is. Another kind of interrupt would take the same edges.
    let swept = in_parallel(&runs, threads_available(), |run| {
        taken::during(|| drop(sweep(&run.setup, &AgentLoop::default(), &[InjectionKind::Cancel], &PanicCatcher)))
    });
    let taken: BTreeSet<_> = swept.into_iter().flatten().collect();
    let mut problems = String::new();
    for diagram in DIAGRAMS {
        let of_machine = taken.iter().filter(|(machine, _)| *machine == diagram.machine());
        let done: BTreeSet<DrawnEdge> = of_machine.map(|(_, edge)| edge.clone()).collect();
        let drawn: BTreeSet<DrawnEdge> = diagram.drawn_edges().into_iter().collect();
        let list = |edges: Vec<&DrawnEdge>| edges.iter().map(|edge| format!("        {edge:?},\n")).collect::<String>();
        let (more, fewer) = (list(done.difference(&drawn).collect()), list(drawn.difference(&done).collect()));
        if !more.is_empty() {
            problems += &format!("the {} does this, and its table lacks it:\n{more}", diagram.machine());
        }
        if !fewer.is_empty() {
            problems +=
                &format!("no scenario shows the {} doing this: write one, or remove it from the table:\n{fewer}", diagram.machine());
        }
    }
    let known: BTreeSet<&str> = DIAGRAMS.iter().map(|diagram| diagram.machine()).collect();
    assert!(taken.iter().all(|(machine, ..)| known.contains(machine)), "a machine is not in the list of diagrams");
    assert!(problems.is_empty(), "{problems}then: cargo xtask diagrams");
}
