//! `workspace`: turns of built-in tools on files in memory, beside the same turns with results of the scenario.

use std::fmt::Write as _;
use std::sync::Arc;

use reenact::engine::agent_loop::AgentLoop;
use reenact::scenario::parse;
use reenact::sim::Run;
use reenact::world::setup::RunSetup;

use super::outcome::{BarLimit, MICROSECONDS, ReportLine, count, time};
use super::rounds;

/// So many turns with one Read, one Edit and one Grep each.
const TURNS: usize = 20;

pub(crate) fn turns() -> Vec<ReportLine> {
    let (files, scripted) = (setup(true), setup(false));
    let play = |setup: &Arc<RunSetup>| Run::new(setup.clone(), AgentLoop::default()).without_oracles().to_end();
    let report = play(&files);
    assert!(report.failures.is_empty(), "the tools do their work: {:?}", report.failures);
    let rounds = rounds::in_turns([&mut || rounds::used(play(&files)), &mut || rounds::used(play(&scripted))]);
    vec![ReportLine::Bar {
        name: "workspace",
        ours: time(rounds.median(0)),
        theirs: format!("results of the scenario {}", time(rounds.median(1))),
        figure: rounds.difference(0, 1) / count(TURNS) / 1e3,
        unit: MICROSECONDS,
        limit: BarLimit::AtMost(100.0),
    }]
}

/// The session: the tools do their work, or have the results of the scenario.
fn setup(has_files: bool) -> Arc<RunSetup> {
    let content: String = (0..200).map(|line| format!("line {line} of the file\\n")).collect();
    let mut text = String::from("tools = [\"Read\", \"Edit\", \"Grep\"]\n[[prompt]]\ntext = \"Go.\"\n");
    for turn in 0..TURNS {
        let result = if has_files { String::new() } else { format!(", result = \"{}\"", "x".repeat(400)) };
        let (old, new) = (format!("line {turn} of"), format!("row {turn} of"));
        let uses = [
            String::from("name = \"Read\", input = { file_path = \"/w/a.txt\", limit = 20 }"),
            format!("name = \"Edit\", input = {{ file_path = \"/w/a.txt\", old_string = \"{old}\", new_string = \"{new}\" }}"),
            String::from("name = \"Grep\", input = { pattern = \"row \\\\d+\", output_mode = \"content\" }"),
        ];
        let uses: Vec<String> = uses.iter().map(|used| format!("{{ {used}{result} }}")).collect();
        let _ = writeln!(text, "[[prompt.turn]]\ntool = [{}]", uses.join(", "));
    }
    text.push_str("[[prompt.turn]]\ntext = \"Done.\"\n");
    if has_files {
        let _ = writeln!(text, "[workspace]\nfiles = {{ \"a.txt\" = \"{content}\", \"b.txt\" = \"{content}\" }}");
        let _ = writeln!(text, "[expect]\nsent = [\"row {} of the file\"]", TURNS - 1);
    }
    let scenario = parse::scenario("workspace.toml", &text, &[]).unwrap_or_else(|report| panic!("{report}")).scenario;
    Arc::new(RunSetup::new(scenario, None).expect("it needs no tape"))
}
