//! Which queued tools may start (T-4, T-5): a pure function over what waits and what runs.
//!
//! ```text
//!   arrival   R1 run   W2 wait   R3 wait        R safe, W exclusive
//!   scan             ▲ stops here: R3 must not overtake W2, which would then wait for R3 too
//! ```

use super::diagram::ToolPhase;
use reenact_wire::prelude::*;

/// Whether a tool use may run beside others (T-3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ConcurrencyClass {
    /// Beside other safe ones.
    Safe,
    /// Alone.
    Exclusive,
}

/// The positions that may start now, in the order in which they start. `entries` are in order of arrival; `safe_at_once` caps
/// how many safe ones run together.
pub(crate) fn admit(entries: &[(ConcurrencyClass, ToolPhase)], safe_at_once: Option<u32>) -> Vec<usize> {
    let mut executing = ExecutingTools::from_entries(entries);
    let mut starts = Vec::new();
    for (position, (class, phase)) in entries.iter().enumerate() {
        if *phase != ToolPhase::Queued {
            continue;
        }
        if executing.admits(*class, safe_at_once) {
            executing.add(*class);
            starts.push(position);
        } else if *class == ConcurrencyClass::Exclusive {
            break;
        }
    }
    starts
}

/// Which batch each entry runs in, from 0: consecutive safe ones share one, each exclusive one has its own (T-20). `None` stands for an entry
/// that will not run, whose tool is unknown: it splits no batch.
pub(crate) fn batches(classes: &[Option<ConcurrencyClass>]) -> Vec<u32> {
    let mut batch = 0;
    let mut before = None;
    let mut numbers = Vec::with_capacity(classes.len());
    for class in classes {
        if let Some(class) = class {
            if before.is_some_and(|before| before == ConcurrencyClass::Exclusive || *class == ConcurrencyClass::Exclusive) {
                batch += 1;
            }
            before = Some(*class);
        }
        numbers.push(batch);
    }
    numbers
}

/// The running tools.
struct ExecutingTools {
    count: u32,
    all_safe: bool,
}

impl ExecutingTools {
    fn from_entries(entries: &[(ConcurrencyClass, ToolPhase)]) -> Self {
        let mut executing = Self { count: 0, all_safe: true };
        for (class, _) in entries.iter().filter(|(_, phase)| phase.is_running()) {
            executing.add(*class);
        }
        executing
    }

    fn add(&mut self, class: ConcurrencyClass) {
        self.count += 1;
        self.all_safe &= class == ConcurrencyClass::Safe;
    }

    /// T-4: nothing executes, or it is safe and everything that executes is.
    fn admits(&self, class: ConcurrencyClass, safe_at_once: Option<u32>) -> bool {
        let room = safe_at_once.is_none_or(|cap| self.count < cap.max(1));
        self.count == 0 || (class == ConcurrencyClass::Safe && self.all_safe && room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `r`/`w` queued, `R`/`W` executing, `.` over; R safe, W exclusive.
    fn starts(picture: &str, cap: Option<u32>) -> Vec<usize> {
        let entries: Vec<_> = picture
            .chars()
            .map(|entry| match entry {
                'r' => (ConcurrencyClass::Safe, ToolPhase::Queued),
                'w' => (ConcurrencyClass::Exclusive, ToolPhase::Queued),
                'R' => (ConcurrencyClass::Safe, ToolPhase::Calling),
                'W' => (ConcurrencyClass::Exclusive, ToolPhase::Calling),
                _ => (ConcurrencyClass::Safe, ToolPhase::Completed),
            })
            .collect();
        admit(&entries, cap)
    }

    #[test]
    fn t_4_and_t_5_admission_table() {
        let table: [(&str, Option<u32>, &[usize], &str); 12] = [
            ("", None, &[], "nothing waits"),
            ("r", None, &[0], "nothing executes"),
            ("w", None, &[0], "nothing executes"),
            ("rr", None, &[0, 1], "safe ones run together"),
            ("Rr", None, &[1], "safe beside safe"),
            ("Rw", None, &[], "exclusive waits for safe"),
            ("Wr", None, &[], "safe waits for exclusive"),
            ("Rwr", None, &[], "nothing overtakes a waiting exclusive entry"),
            ("wr", None, &[0], "the exclusive one starts, then nothing beside it"),
            ("..wr", None, &[2], "what is over does not hold anyone back"),
            ("Rrr", Some(2), &[1], "the cap holds"),
            ("RRr", Some(2), &[], "at the cap"),
        ];
        for (picture, cap, expected, reason) in table {
            assert_eq!(starts(picture, cap), expected, "{picture:?}: {reason}");
        }
    }

    #[test]
    fn t_20_consecutive_safe_ones_form_a_batch() {
        let of = |picture: &str| -> Vec<u32> {
            let class = |entry| match entry {
                'R' => Some(ConcurrencyClass::Safe),
                'W' => Some(ConcurrencyClass::Exclusive),
                _ => None,
            };
            batches(&picture.chars().map(class).collect::<Vec<_>>())
        };
        assert_eq!(of("RRWRR"), [0, 0, 1, 2, 2]);
        assert_eq!(of("WWR"), [0, 1, 2]);
        assert_eq!(of("R?R"), [0, 0, 0], "an unknown tool splits no batch");
        assert_eq!(of("?RW?R?"), [0, 0, 1, 1, 2, 2]);
        assert_eq!(of(""), [] as [u32; 0]);
    }

    #[test]
    fn t_5_a_safe_entry_that_may_not_start_is_passed_over() {
        // The scan continues past the second one, and stops at the exclusive one.
        assert_eq!(starts("Rrwr", Some(1)), [] as [usize; 0]);
        assert_eq!(starts("Wrr", None), [] as [usize; 0]);
        assert_eq!(starts(".rw", Some(1)), [1], "the scan stops at the exclusive one after starting the safe one");
    }
}
