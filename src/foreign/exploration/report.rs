//! The report of an exploration, as JSON: the plans that were tried, and the findings (E-3).

use serde_json::{Value, json};

use super::{ClientExploration, ClientFinding, PlanClass};
use reenact_explore::budget::ExploreBudget;
use reenact_explore::explorer::fault_list;
use reenact_wire::prelude::*;

impl ClientExploration {
    /// All that is known.
    pub(in super::super) fn report(&self) -> Value {
        let class = |class: &PlanClass| {
            json!({
                "budget": class.budget.to_string(),
                "tried": class.tried,
                "void": class.void,
                "waiting": class.waiting.len(),
                "is_done": class.is_done,
            })
        };
        let mut found: Vec<&ClientFinding> = self.findings.iter().collect();
        found.sort_by_key(|finding| finding.number);
        let words = |budgets: Vec<ExploreBudget>| budgets.iter().map(ToString::to_string).collect::<Vec<_>>();
        json!({
            "budgets": words(self.terms.budgets.clone()),
            "finished": words(self.finished()),
            "is_empty": self.lacks_kind(),
            "is_finished": self.classes.iter().all(|class| class.is_done),
            "classes": self.classes.iter().map(class).collect::<Vec<_>>(),
            "transcripts": self.transcripts.len(),
            "faults": if self.terms.budgets.iter().any(|budget| budget.faults > 0) { fault_list(&self.settings) } else { Vec::new() },
            "notes": self.notes(),
            "findings": found.into_iter().map(finding).collect::<Vec<_>>(),
        })
    }

    /// The budgets of which everything was tried, but for the run as it is.
    fn finished(&self) -> Vec<ExploreBudget> {
        let is_done = |budget: &ExploreBudget| self.classes.iter().filter(|class| budget.covers(class.budget)).all(|class| class.is_done);
        let known = |budget: &ExploreBudget| self.classes.iter().any(|class| class.budget == *budget);
        let mut finished: Vec<ExploreBudget> =
            ExploreBudget::RISING.into_iter().filter(|budget| known(budget) && is_done(budget)).collect();
        let asked = self.terms.budgets.iter().copied().filter(is_done);
        for budget in asked {
            if !finished.contains(&budget) {
                finished.push(budget);
            }
        }
        finished
    }

    /// Whether the budgets have a kind of decision of which none was possible. That another order is not is no lack: it is said.
    fn lacks_kind(&self) -> bool {
        let kinds = [ExploreBudget::new(0, 0, 1), ExploreBudget::new(0, 1, 0)];
        kinds.into_iter().any(|kind| self.had_no_plan(kind))
    }

    /// Whether plans with these decisions were asked for, and none was possible.
    fn had_no_plan(&self, budget: ExploreBudget) -> bool {
        self.classes.iter().any(|class| class.budget == budget && class.is_done && class.tried == 0)
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.settings.in_words();
        if self.had_no_plan(ExploreBudget::new(1, 0, 0)) {
            notes.push(String::from("nothing to reorder: at no point of the run could another arrival come first"));
        }
        if self.had_no_plan(ExploreBudget::new(0, 0, 1)) {
            notes.push(String::from("no input was tried: no prompt was open at any boundary, or no action is possible"));
        }
        if self.had_no_plan(ExploreBudget::new(0, 1, 0)) {
            let why = "the run has no request, or [explore] leaves out the faults that its requests can meet";
            notes.push(format!("no fault was tried: {why}"));
        }
        if self.has_unstreamed && self.terms.budgets.iter().any(|budget| budget.faults > 0) {
            notes.push(String::from(
                "answers that are no streams have no faults within them, so nothing is claimed of bodies that break off",
            ));
        }
        if self.equal_runs > 0 {
            let runs = plural(self.equal_runs, "run");
            notes.push(format!(
                "{runs} had the transcript and the boundaries of another one, and were not continued: should the agent's state differ, nothing is claimed of what follows them"
            ));
        }
        notes
    }
}

fn finding(finding: &ClientFinding) -> Value {
    let ClientFinding { number: _, found, ways, smaller } = finding;
    json!({
        "group": &*found.group,
        "words": &*found.words,
        "others": found.others.iter().map(|other| &**other).collect::<Vec<_>>(),
        "plan": &*found.plan,
        "ways": ways,
        "decisions": smaller.best().iter().map(ToString::to_string).collect::<Vec<_>>(),
        "has_come_again": smaller.has_come_again(),
    })
}
