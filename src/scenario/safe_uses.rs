//! The classes that a scenario gives to single tool uses: may they run beside others (T-3)?

use alloc::collections::BTreeMap;

use super::statement::tool_uses;
use super::types::{Scenario, TurnBlock};
use reenact_wire::prelude::*;

impl Scenario {
    /// The class of each tool use by its id. If tool uses share an id and their classes differ, each runs alone.
    pub fn safe_uses(&self) -> BTreeMap<Arc<str>, bool> {
        let mut uses = BTreeMap::new();
        for (id, safe) in self.said_safe() {
            *uses.entry(id).or_insert(safe) &= safe;
        }
        uses
    }

    /// Everything that is said, in the order written: at tool uses, then in `[[result]]`.
    pub(crate) fn said_safe(&self) -> impl Iterator<Item = (Arc<str>, bool)> + '_ {
        let of_uses = tool_uses(self).into_iter().filter_map(|tool_use| match tool_use.block {
            TurnBlock::Tool { safe: Some(safe), .. } => Some((tool_use.id, *safe)),
            _ => None,
        });
        of_uses.chain(self.results.iter().filter_map(|(id, outcome)| Some((id.clone(), outcome.safe?))))
    }
}
