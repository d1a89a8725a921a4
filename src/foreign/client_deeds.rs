//! The notes of a client in virtual time about itself, and the rules that they can break (G-2).
//!
//! A rule is asked only where the client sends the notes that it needs. A verdict names the rules that were not asked, and why.

use alloc::collections::{BTreeMap, BTreeSet};

use super::lines::{ClientDeed, DeedEnd};
use reenact_engine::time::Time;
use reenact_oracle::Violation;
use reenact_scenario::plan::Plan;
use reenact_wire::prelude::*;

/// Every prompt has its terminal.
const TERMINALS: &str = "O-8";
/// No tool use is run twice.
const REPEATED: &str = "O-17";
/// The run gets on.
const PROGRESS: &str = "O-19";
/// Nothing is left open.
pub(super) const LEFTOVERS: &str = "O-27";

/// The notes of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct ClientDeeds {
    /// The prompts, each with how it ended.
    pub(super) prompts: BTreeMap<u32, Option<(DeedEnd, Arc<str>)>>,
    /// The tools that run.
    running: BTreeMap<Arc<str>, Arc<str>>,
    /// The tool uses that were started.
    started: BTreeSet<Arc<str>>,
    /// The prompts that were open when a fault hit.
    faulted: BTreeSet<u32>,
    has_terminals: bool,
    /// The boundaries at which something was done.
    boundaries: BTreeSet<Arc<str>>,
    /// Whether the user did anything beside prompts.
    pub(super) is_disturbed: bool,
    /// How often.
    pub(super) acts_count: usize,
    violations: Vec<Violation>,
}

impl ClientDeeds {
    /// The client notes something.
    pub(super) fn on_deed(&mut self, at: Time, deed: &ClientDeed) {
        match deed {
            ClientDeed::Prompt { prompt, .. } => {
                self.prompts.entry(*prompt).or_default();
            }
            ClientDeed::Cancel | ClientDeed::Message { .. } => {
                self.is_disturbed = true;
                self.acts_count += 1;
            }
            ClientDeed::ToolStart { id, name } => self.on_tool_start(at, id, name),
            ClientDeed::ToolEnd { id, .. } => self.on_tool_end(id),
            ClientDeed::Terminal { prompt, how, text } => {
                self.has_terminals = true;
                let ended = self.prompts.entry(*prompt).or_default();
                if ended.is_some() {
                    self.violations.push(violation(at, TERMINALS, format!("prompt {prompt} has two terminals")));
                }
                *ended = Some((*how, text.clone()));
            }
            ClientDeed::Deadlock { text } => {
                self.violations.push(violation(at, PROGRESS, format!("nothing is left to happen, and the client waits: {text}")));
            }
            ClientDeed::Livelock { text } => {
                self.violations.push(violation(at, PROGRESS, format!("the client does not come to an end: {text}")));
            }
            ClientDeed::LeftTask { text } => {
                self.violations.push(violation(at, LEFTOVERS, format!("at the end of the run a task still runs: {text}")));
            }
            ClientDeed::OpenConnection { answer } => {
                self.violations.push(violation(at, LEFTOVERS, format!("at the end of the run the connection of answer {answer} is open")));
            }
            ClientDeed::Boundary { boundary } => {
                self.boundaries.insert(boundary.clone());
            }
        }
    }

    /// A tool starts.
    pub(super) fn on_tool_start(&mut self, at: Time, id: &Arc<str>, name: &Arc<str>) {
        if !self.started.insert(id.clone()) {
            self.violations.push(violation(at, REPEATED, format!("tool use {id} of {name} is started a second time")));
        }
        self.running.insert(id.clone(), name.clone());
    }

    /// A tool ends; whether it ran.
    pub(super) fn on_tool_end(&mut self, id: &Arc<str>) {
        self.running.remove(id);
    }

    /// The prompts that have no terminal so far.
    pub(super) fn open_prompts(&self) -> impl Iterator<Item = u32> + '_ {
        self.prompts.iter().filter(|(_, ended)| ended.is_none()).map(|(prompt, _)| *prompt)
    }

    /// A fault hits a request.
    pub(super) fn on_fault(&mut self) {
        let open: Vec<u32> = self.open_prompts().collect();
        self.faulted.extend(open);
    }

    /// Whether a prompt was open when a fault hit: it may fail.
    pub(super) fn is_faulted(&self, prompt: u32) -> bool {
        self.faulted.contains(&prompt)
    }

    /// Whether such a prompt failed.
    pub(super) fn has_failed_by_fault(&self) -> bool {
        self.faulted.iter().any(|prompt| matches!(self.prompts.get(prompt), Some(Some((DeedEnd::Error, _)))))
    }

    /// All of them.
    pub(super) fn faulted_prompts(&self) -> Vec<u32> {
        self.faulted.iter().copied().collect()
    }

    /// The tool of a running tool use.
    pub(super) fn running_name(&self, id: &Arc<str>) -> Option<&Arc<str>> {
        self.running.get(id)
    }

    /// The interrupts of the plan that did not happen, in words (E-8).
    pub(super) fn missed(&self, plan: &Plan) -> Vec<String> {
        let missed = plan.client_interrupts.iter().filter(|planned| !self.boundaries.contains(&planned.boundary));
        missed.map(|planned| format!("the plan's interrupt did not happen: the client came to no boundary {}", planned.boundary)).collect()
    }

    /// The run is over: the violations.
    pub(super) fn into_violations(mut self, at: Time) -> Vec<Violation> {
        if self.has_terminals {
            let open: Vec<u32> = self.open_prompts().collect();
            self.violations
                .extend(open.iter().map(|prompt| violation(at, TERMINALS, format!("prompt {prompt} has no terminal at the end"))));
            for (id, name) in &self.running {
                self.violations.push(violation(at, LEFTOVERS, format!("tool use {id} of {name} still runs at the end of the run")));
            }
        }
        self.violations
    }

    /// Whether the notes were sent that a rule needs.
    pub(super) fn is_asked(&self, rule: &str) -> bool {
        match rule {
            TERMINALS => self.has_terminals && !self.prompts.is_empty(),
            REPEATED => !self.started.is_empty(),
            LEFTOVERS => self.has_terminals,
            PROGRESS => !self.prompts.is_empty(),
            _ => false,
        }
    }
}

fn violation(at: Time, oracle: &'static str, text: String) -> Violation {
    Violation { at, oracle, text }
}
