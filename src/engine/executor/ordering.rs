//! In which order results come out (T-7, T-8): pure functions over what is in.

use super::admission::ConcurrencyClass;
use super::diagram::ToolPhase;
use crate::settings::{EmissionOrder, ResultOrder};
use reenact_wire::prelude::*;

/// The positions that this pass visits, in order, each with whether its result is emitted now; progress of every visited entry
/// is emitted too (T-7).
pub(crate) fn pass(entries: &[(ConcurrencyClass, ToolPhase)], order: EmissionOrder) -> Vec<(usize, bool)> {
    let mut visited = Vec::new();
    for (position, (class, phase)) in entries.iter().enumerate() {
        visited.push((position, *phase == ToolPhase::Completed));
        let holds = match order {
            EmissionOrder::Eager => phase.is_running() && *class == ConcurrencyClass::Exclusive,
            EmissionOrder::Arrival => !phase.is_over(),
        };
        if holds {
            break;
        }
    }
    // Progress may come whatever other entries do (T-6): what a held-back pass did not reach still shows its progress.
    let reached = visited.len();
    visited.extend((reached..entries.len()).map(|position| (position, false)));
    visited
}

/// The order of the results in the next request, from the order in which each was emitted (T-8).
pub(crate) fn for_next_request(emitted: &[u32], order: ResultOrder) -> Vec<usize> {
    let mut positions: Vec<usize> = (0..emitted.len()).collect();
    if order == ResultOrder::Emission {
        positions.sort_by_key(|position| emitted[*position]);
    }
    positions
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `r`/`w` queued, `R`/`W` executing, `c` completed, `y` yielded.
    fn entries(picture: &str) -> Vec<(ConcurrencyClass, ToolPhase)> {
        picture
            .chars()
            .map(|entry| match entry {
                'r' => (ConcurrencyClass::Safe, ToolPhase::Queued),
                'w' => (ConcurrencyClass::Exclusive, ToolPhase::Queued),
                'R' => (ConcurrencyClass::Safe, ToolPhase::Calling),
                'W' => (ConcurrencyClass::Exclusive, ToolPhase::Calling),
                'c' => (ConcurrencyClass::Safe, ToolPhase::Completed),
                _ => (ConcurrencyClass::Safe, ToolPhase::Yielded),
            })
            .collect()
    }

    fn emitted(picture: &str, order: EmissionOrder) -> Vec<usize> {
        pass(&entries(picture), order).into_iter().filter(|(_, result)| *result).map(|(position, _)| position).collect()
    }

    #[test]
    fn t_7_and_t_8_emission_table() {
        let table: [(&str, &[usize], &[usize], &str); 6] = [
            ("c", &[0], &[0], "a completed one comes out"),
            ("yc", &[1], &[1], "a yielded one is skipped"),
            ("Rc", &[1], &[], "an executing safe one holds back in arrival order alone"),
            ("Wc", &[], &[], "an executing exclusive one holds back in both"),
            ("cRc", &[0, 2], &[0], "what came before is not held back"),
            ("wc", &[1], &[], "a queued one holds back in arrival order alone"),
        ];
        for (picture, eager, arrival, reason) in table {
            assert_eq!(emitted(picture, EmissionOrder::Eager), eager, "{picture:?} eager: {reason}");
            assert_eq!(emitted(picture, EmissionOrder::Arrival), arrival, "{picture:?} arrival: {reason}");
        }
    }

    #[test]
    fn t_6_progress_is_held_back_by_nobody() {
        for order in [EmissionOrder::Eager, EmissionOrder::Arrival] {
            assert_eq!(pass(&entries("WRc"), order).len(), 3);
        }
    }

    #[test]
    fn t_8_the_next_request_has_tool_use_order_or_emission_order() {
        assert_eq!(for_next_request(&[1, 0], ResultOrder::ToolUse), [0, 1]);
        assert_eq!(for_next_request(&[1, 0], ResultOrder::Emission), [1, 0]);
    }
}
