//! The tree of agents: effects of one agent that are of concern to others.

use super::accounts::{AccountOracle, spent_most};
use super::{AgentOracles, OracleFindings, OracleRules};
use reenact_engine::contract::{Agent, ByAgent, Effect, Emission, Terminal};
use reenact_wire::prelude::*;

/// An effect of one agent that is of concern to the whole tree.
pub(super) fn on_effect_of_tree(
    rules: &OracleRules,
    agents: &mut Arc<ByAgent<AgentOracles>>,
    agent: &Agent,
    effect: &Effect,
    found: &mut OracleFindings<'_>,
) {
    match effect {
        Effect::Emit(Emission::Result(result)) if !agent.is_root() => {
            let root = Arc::make_mut(agents).entry(&Agent::ROOT);
            root.accounts.on_child_result(result);
            if let Some(tool_use_id) = agent.tool_use_id() {
                root.losses.on_agent_result(tool_use_id, result);
            }
        }
        Effect::Finished { prompt, terminal } => {
            if let Some(of_agent) = agent.tool_use_id() {
                Arc::make_mut(agents).all_mut().for_each(|watched| watched.progress_set.on_agent_finished(of_agent));
            }
            if *terminal == Terminal::MaxBudget {
                AccountOracle::check_broke(rules, *prompt, spent_most(agents), found);
            }
        }
        _ => (),
    }
}

/// A prompt ended: where none is open, no agent has a timer.
pub(super) fn expect_no_timer_at_rest(agents: &mut Arc<ByAgent<AgentOracles>>, found: &mut OracleFindings<'_>) {
    if agents.get(&Agent::ROOT).is_some_and(|root| !root.terminals.is_any_open()) {
        Arc::make_mut(agents).all_mut().for_each(|watched| watched.leftovers.expect_no_timer(found));
    }
}
