//! O-3: no exclusive tool overlaps any other in the whole tree of agents, and no more run at once than the settings allow (T-4, T-20).

use super::running::{Class, Running};
use super::{Findings, Rules};
use crate::engine::contract::ToolRun;
use crate::prelude::*;

pub(super) const ORACLE: &str = "O-3";

/// A tool starts beside those that run.
pub(super) fn on_start(rules: &Rules, running: &Running, run: ToolRun, class: Class, found: &mut Findings<'_>) {
    let others = running.tools();
    let in_the_way = others.iter().find(|other| class == Class::Exclusive || other.class == Class::Exclusive);
    if let Some(other) = in_the_way {
        let which = if class == Class::Exclusive { run } else { other.run };
        found.add(ORACLE, format!("tool {run} starts while {} runs, and {which} must run alone", other.run));
        return;
    }
    if let Some(most) = rules.at_once_max
        && others.len() + 1 > usize::try_from(most).unwrap_or(usize::MAX)
    {
        found.add(ORACLE, format!("tool {run} starts beside {} others, and at most {most} may run at once", others.len()));
    }
}
