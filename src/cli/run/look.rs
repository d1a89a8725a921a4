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
    for violation in &looked.violations {
        complain(&format!("{path}: {violation}"));
    }
    if looked.violations.is_empty() { Exit::Fine } else { Exit::Failed }
}
