//! `reenact run SCENARIO --interrupt-at PLACE`: one interrupted run, to be looked at.

use super::super::CommandExit;
use super::super::output::{complain, print_line, print_verdict, wrong_input};
use super::super::report::{RunReportDocument, print_document};
use super::{OutputFormat, RunArguments, end_line, verdict};
use crate::engine::contract::Engine;
use crate::explore::interrupt::RunBoundary;
use crate::explore::verdict::look;
use crate::files::scenario::LoadedScenario;
use crate::prelude::*;
use crate::runner::PanicCatcher;
use crate::scenario::types::Expectations;
use crate::sim::rules;
use crate::transcript::text;

/// Interrupts the run, shows it and what the oracles say. What the scenario expects of its uninterrupted run is not asked for.
pub(super) fn run<E: Engine>(arguments: &RunArguments, scenario: &LoadedScenario, boundary: RunBoundary, engine: &E) -> CommandExit {
    let path = scenario.path.display();
    let looked = match look(&scenario.setup, engine, boundary, arguments.interrupt_kind, &PanicCatcher) {
        Ok(looked) => looked,
        Err(problem) => return wrong_input(&format!("{path}: {problem}")),
    };
    match arguments.format {
        OutputFormat::Text => print_line(&format!("{}\n{}", scenario.name, text::render(&looked.transcript, arguments.detail()))),
        format => format.of_run(&looked.transcript, &scenario.name).iter().for_each(|text| print_line(text)),
    }
    let expect = &scenario.setup.scenario.expect;
    let (shown, broken): (Vec<_>, Vec<_>) = looked.violations.iter().partition(|violation| rules::shows(expect, violation.oracle));
    shown.iter().for_each(|violation| complain(&format!("note: {path}: {violation}, as the scenario expects (`breaks`)")));
    let failures: Vec<String> = broken.iter().map(ToString::to_string).collect();
    let entry = verdict::inspected(arguments, scenario, &looked, failures);
    let exit = if broken.is_empty() { CommandExit::Fine } else { CommandExit::Failed };
    if arguments.format == OutputFormat::Json {
        print_document(&RunReportDocument::new(vec![entry.clone()], Vec::new(), (0, usize::from(!broken.is_empty())), None, exit as u8));
    } else {
        broken.iter().for_each(|violation| complain(&format!("{path}: {violation}")));
    }
    if arguments.format == OutputFormat::Text {
        let terminal = entry.terminal.as_deref().unwrap_or("panic");
        print_verdict(&end_line(&scenario.name, terminal, entry.t.unwrap_or_default(), broken.is_empty()));
    }
    if *expect != Expectations::default() {
        complain("note: the expectations were not checked: they are for the run without an interrupt");
    }
    exit
}
