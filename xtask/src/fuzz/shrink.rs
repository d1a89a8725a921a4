//! A finding made small: proptest drops and reduces what is not needed for it.

use proptest::strategy::ValueTree;
use reenact::scenario::types::Scenario;

use super::check::has;
use super::finding::Finding;

/// How many smaller scenarios are tried at most.
const TRIES: u32 = 1_500;

/// The smallest scenario that was found with this finding, and the finding as it shows there.
pub(super) fn shrink(mut tree: impl ValueTree<Value = Scenario>, finding: &Finding) -> (Scenario, Finding) {
    let mut smallest = (tree.current(), finding.clone());
    let mut tries = 0;
    if !tree.simplify() {
        return smallest;
    }
    while tries < TRIES {
        let scenario = tree.current();
        // What a case leaves out shrinks without changing anything.
        let found = if scenario == smallest.0 {
            Some(smallest.1.clone())
        } else {
            tries += 1;
            has(&scenario, finding)
        };
        let goes_on = match found {
            Some(found) => {
                smallest = (scenario, found);
                tree.simplify()
            }
            None => tree.complicate(),
        };
        if !goes_on {
            break;
        }
    }
    smallest
}
