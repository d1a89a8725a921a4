//! Many runs and explorations of clients in virtual time, line by line (G-1).

use alloc::collections::BTreeMap;

use serde_json::{Value, json};

use super::exploration::{ClientExploration, ExplorationTerms, NextPlan};
use super::exploration_lines::{ExploreLine, NextLine};
use super::line_run::LineRun;
pub use super::line_run::OpenedScenario;
use super::lines::{ClientLine, OpenLine, PROTOCOL};
use reenact_explore::budget::ExploreBudget;
use reenact_oracle::ORACLES;
use reenact_wire::prelude::*;

/// The largest budget of an exploration.
const LARGEST: ExploreBudget = ExploreBudget::new(9, 9, 9);

/// The open runs, and the explorations.
#[derive(Clone, Debug, Default)]
pub struct LineHost {
    runs: BTreeMap<u64, LineRun>,
    explorations: BTreeMap<u64, ClientExploration>,
    opened: u64,
    /// The error of a line without a reply, for the next reply.
    problem: Option<String>,
}

impl LineHost {
    /// Takes a line; returns the reply, if the line has one. `open` finds a scenario.
    pub fn line(&mut self, text: &str, open: &mut dyn FnMut(&OpenLine) -> Result<OpenedScenario, String>) -> Option<Value> {
        let line = match ClientLine::read(text) {
            Ok(line) => line,
            // Nobody knows whether the client waits. One that does not would read it as the next reply, which is an error as well.
            Err(problem) => return Some(json!({ "error": problem })),
        };
        let has_reply = line.has_reply();
        let reply = match self.problem.take().filter(|_| has_reply) {
            Some(problem) => Err(problem),
            None => self.reply(line, open),
        };
        match reply {
            Ok(reply) => has_reply.then_some(reply),
            Err(problem) if has_reply => Some(json!({ "error": problem })),
            Err(problem) => {
                self.problem.get_or_insert(problem);
                None
            }
        }
    }

    fn reply(&mut self, line: ClientLine, open: &mut dyn FnMut(&OpenLine) -> Result<OpenedScenario, String>) -> Result<Value, String> {
        let moment = line.moment();
        let run = match &moment {
            None => None,
            Some(moment) => {
                let run = self.runs.get_mut(&moment.run);
                let run = run.ok_or_else(|| format!("there is no open run {}: open one, and name it in each line", moment.run))?;
                run.advance(*moment)?;
                Some(run)
            }
        };
        match (line, run) {
            (ClientLine::Open(line), _) => self.open(&line, open),
            (ClientLine::Explore(line), _) => self.explore(line, open),
            (ClientLine::Next(line), _) => self.next(line),
            (ClientLine::Tried(line), _) => self.exploration(line.exploration)?.tried(line).map(|()| Value::Null),
            (ClientLine::Request(line), Some(run)) => Ok(run.request(line)),
            (ClientLine::Closed(line), Some(run)) => run.close(line.moment.at, line.answer).map(|()| Value::Null),
            (ClientLine::Tool(line), Some(run)) => Ok(run.tool(line)),
            (ClientLine::Note(line), Some(run)) => Ok(json!({ "acts": run.note(line.moment.at, &line.deed) })),
            (ClientLine::End(line), Some(_)) => {
                let run = self.runs.remove(&line.moment.run).ok_or("the run is over")?;
                Ok(run.end(line.moment.at, line.transcript))
            }
            (_, None) => Err(String::from("this line needs a `run`")),
        }
    }

    fn open(&mut self, line: &OpenLine, open: &mut dyn FnMut(&OpenLine) -> Result<OpenedScenario, String>) -> Result<Value, String> {
        if line.protocol != PROTOCOL {
            return Err(other_protocol(line.protocol));
        }
        let mut without = Vec::new();
        for rule in &line.without {
            let known = ORACLES.iter().map(|(known, _)| *known).find(|known| known == rule);
            without.push(
                known.ok_or_else(|| format!("`without` names {rule}, and there is no such rule: docs/rules/explore.md has all of them"))?,
            );
        }
        let (run, mut opened) = LineRun::new(open(line)?, without, line.trace);
        self.opened += 1;
        self.runs.insert(self.opened, run);
        opened["run"] = self.opened.into();
        Ok(opened)
    }

    fn explore(&mut self, line: ExploreLine, open: &mut dyn FnMut(&OpenLine) -> Result<OpenedScenario, String>) -> Result<Value, String> {
        let ExploreLine { open: opening, budgets, actions, then, message } = line;
        if budgets.is_empty() {
            return Err(String::from("`budgets` names no budget: write deviations, faults and inputs, as in `1,0,1`"));
        }
        let budgets = budgets.iter().map(|budget| budget.parse()).collect::<Result<Vec<ExploreBudget>, String>>()?;
        if budgets.contains(&ExploreBudget::NONE) {
            return Err(String::from("the budget 0,0,0 has no decision, so that nothing would be tried: write one as in `1,0,1`"));
        }
        if budgets.iter().any(|budget| !LARGEST.covers(*budget)) {
            return Err(format!("a budget has at most {} decisions of a kind: nobody sees the end of more", LARGEST.faults));
        }
        if opening.protocol != PROTOCOL {
            return Err(other_protocol(opening.protocol));
        }
        let scenario = open(&opening)?;
        let terms = ExplorationTerms { budgets, actions, then, message };
        self.opened += 1;
        self.explorations.insert(self.opened, ClientExploration::new(terms, &scenario.setup.scenario));
        Ok(json!({ "exploration": self.opened, "warnings": scenario.warnings }))
    }

    fn next(&mut self, line: NextLine) -> Result<Value, String> {
        let NextLine { exploration: number, count, stop } = line;
        let exploration = self.exploration(number)?;
        if stop {
            exploration.stop();
        }
        let plan = |plan: NextPlan| {
            let NextPlan { number, text, decisions, needs_boundaries, is_search } = plan;
            json!({ "number": number, "plan": text, "decisions": decisions, "needs_boundaries": needs_boundaries, "is_search": is_search })
        };
        let plans: Vec<Value> = exploration.next(count).into_iter().map(plan).collect();
        let (budget, tried, known) = exploration.progress();
        let progress = json!({ "budget": budget.to_string(), "tried": tried, "known": known });
        let mut reply = json!({ "plans": plans, "progress": progress, "is_over": exploration.is_over() });
        if exploration.is_over() {
            reply["report"] = exploration.report();
            self.explorations.remove(&number);
        }
        Ok(reply)
    }

    fn exploration(&mut self, number: u64) -> Result<&mut ClientExploration, String> {
        let found = self.explorations.get_mut(&number);
        found.ok_or_else(|| format!("there is no open exploration {number}: begin one with `explore`"))
    }
}

fn other_protocol(version: u32) -> String {
    format!(
        "this program speaks version {PROTOCOL} of its protocol, and the client version {version}: install the package and the program of one release"
    )
}
