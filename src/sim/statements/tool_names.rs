//! Names of tools in matchers and rules that are those of no tool, and nearly those of one (F-10).
//!
//! A rule for a tool that a scenario does not have may be there for another scenario's sake; one for `Wirte` is there for nothing.

use super::evidence::did_you_mean;
use super::{PlayedRun, StatementProblem, is_judged_elsewhere};
use reenact_scenario::known_tools::{KNOWN_TOOLS, known_tool};
use reenact_scenario::parse::nearest::nearest;
use reenact_scenario::statement::{PathStep, Statement, StatementPath, tool_uses};
use reenact_scenario::types::{Scenario, TurnBlock};
use reenact_wire::prelude::*;

/// The misspelt names in hooks that ran all the same, for the sake of another name, and in rules.
pub(super) fn problems(runs: &[PlayedRun<'_>]) -> Vec<StatementProblem> {
    let mut problems: Vec<StatementProblem> = runs.iter().flat_map(run_problems).collect();
    problems.sort_by(|left, right| (left.key, &left.text).cmp(&(right.key, &right.text)));
    problems.dedup();
    problems
}

fn run_problems(run: &PlayedRun<'_>) -> Vec<StatementProblem> {
    let scenario = &run.setup.scenario;
    let known = known_tools(run);
    let misspelt = |name: &str| {
        let is_unknown = !name.is_empty() && !name.contains('*') && !known.iter().any(|known| **known == *name);
        is_unknown.then(|| nearest(name, known.iter().map(|known| &**known))).flatten()
    };
    let mut problems = Vec::new();
    let mut report = |path: StatementPath, name: &str| {
        if let Some(near) = misspelt(name).filter(|_| !is_judged_elsewhere(run.places, &path)) {
            let help = String::from("a rule that is for no tool does nothing: correct it or remove it");
            problems.push(StatementProblem::at(run.places, &path, format!("there is no tool `{name}`{}", did_you_mean(Some(near))), help));
        }
    };
    for (path, names) in matchers(run) {
        names.iter().for_each(|name| report(path.clone(), name));
    }
    for (path, about) in rules(scenario) {
        report(path, about.split('(').next().unwrap_or_default());
    }
    problems.extend(definitions(run));
    problems
}

/// Those of hooks that ran. Other hooks are reported elsewhere.
fn matchers<'a>(run: &PlayedRun<'a>) -> Vec<(StatementPath, Vec<&'a str>)> {
    let hooks = run.setup.scenario.hooks.iter().enumerate();
    let ran = hooks.filter(|(index, hook)| !hook.may && run.passed.holds(&Statement::Hook(*index)));
    let named = ran.filter_map(|(index, hook)| {
        let names = hook.definition.matcher.as_ref()?.split('|').map(str::trim).collect();
        Some((vec![PathStep::Key("hook"), PathStep::Nth(index), PathStep::Key("matcher")], names))
    });
    named.collect()
}

/// The rules of `[permissions]` and of commands.
fn rules(scenario: &Scenario) -> Vec<(StatementPath, &str)> {
    let permissions = scenario.settings.permissions.iter().flat_map(|permissions| &permissions.rules);
    let of_permissions = permissions.map(|rule| (vec![PathStep::Key("permissions"), PathStep::Key(rule.word.as_str())], &*rule.about));
    let commands = scenario.settings.session.commands.iter().enumerate();
    let of_commands = commands.flat_map(|(index, command)| {
        let path = vec![PathStep::Key("command"), PathStep::Nth(index), PathStep::Key("allows")];
        command.allows.iter().map(move |about| (path.clone(), &**about))
    });
    of_permissions.chain(of_commands).collect()
}

/// Tools of which no use is made, and whose names are nearly those of others. What a tape asks for is not looked at.
fn definitions(run: &PlayedRun<'_>) -> Vec<StatementProblem> {
    let scenario = &run.setup.scenario;
    if scenario.tape.is_some() {
        return Vec::new();
    }
    let asked = used_tools(scenario);
    let is_used = |name: &str| asked.iter().any(|asked| **asked == *name) || known_tool(name).is_some();
    let names = || asked.iter().map(|name| &**name).chain(KNOWN_TOOLS.iter().map(|known| known.name()));
    let unused = scenario.tools.iter().map(|tool| &tool.definition.name).filter(|name| !is_used(name));
    let problem = |name: &Arc<str>| {
        let near = nearest(name, names())?;
        let path = vec![PathStep::Key("tool"), PathStep::Where("name", name.clone()), PathStep::Key("name")];
        let help = String::from("a tool without a use has no effect: correct its name or remove it");
        let message = format!("tool `{name}` is never used{}", did_you_mean(Some(near)));
        (!is_judged_elsewhere(run.places, &path)).then(|| StatementProblem::at(run.places, &path, message, help))
    };
    unused.filter_map(problem).collect()
}

/// The tools that there are, those that everybody knows, and those that the model asks for.
fn known_tools(run: &PlayedRun<'_>) -> Vec<Arc<str>> {
    let scenario = &run.setup.scenario;
    let declared = scenario.tools.iter().map(|tool| tool.definition.name.clone());
    declared.chain(KNOWN_TOOLS.iter().map(|known| known.name().into())).chain(used_tools(scenario)).collect()
}

/// The tools that the model asks for in scripted turns.
fn used_tools(scenario: &Scenario) -> Vec<Arc<str>> {
    let name = |block: &TurnBlock| match block {
        TurnBlock::Tool { name, .. } => Some(name.clone()),
        _ => None,
    };
    tool_uses(scenario).into_iter().filter_map(|tool_use| name(tool_use.block)).collect()
}
