//! `reenact run SCENARIO --interrupt-at PLACE`: one interrupted run, to be looked at.

use super::super::Exit;
use super::super::output::{complain, say};
use super::{Arguments, Format};
use crate::engine::contract::Engine;
use crate::explore::interrupt::Boundary;
use crate::explore::verdict::look;
use crate::files::scenario::Loaded;
use crate::prelude::*;
use crate::runner::Catching;
use crate::scenario::types::Expect;
use crate::sim::rules;
use crate::transcript::{json, text};

/// Interrupts the run, shows it and what the oracles say. What the scenario expects of its uninterrupted run is not asked for.
pub(super) fn run<E: Engine>(arguments: &Arguments, scenario: &Loaded, boundary: Boundary, engine: &E) -> Exit {
    let path = scenario.path.display();
    let looked = match look(&scenario.setup, engine, boundary, arguments.interrupt_kind, &Catching) {
        Ok(looked) => looked,
        Err(problem) => {
            complain(&format!("{path}: {problem}"));
            return Exit::WrongInput;
        }
    };
    match arguments.format {
        Format::Jsonl => say(&json::to_json_lines(&looked.transcript)),
        Format::Digest => say(&format!("{}  {}", json::digest(&looked.transcript), scenario.name)),
        Format::Text => say(&format!("{}\n{}", scenario.name, text::render(&looked.transcript, arguments.detail()))),
    }
    let expect = &scenario.setup.scenario.expect;
    let (shown, broken): (Vec<_>, Vec<_>) = looked.violations.iter().partition(|violation| rules::shows(expect, violation.oracle));
    shown.iter().for_each(|violation| complain(&format!("note: {path}: {violation}, as the scenario says (`breaks`)")));
    broken.iter().for_each(|violation| complain(&format!("{path}: {violation}")));
    if *expect != Expect::default() {
        complain("note: what the scenario expects of its run without an interrupt was not asked for");
    }
    if broken.is_empty() { Exit::Fine } else { Exit::Failed }
}
