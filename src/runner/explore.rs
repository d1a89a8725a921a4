//! Explorations on threads (E-3).

use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::PoisonError;
use std::thread;

use reenact_explore::explorer::Workers;

/// So few items are not worth a second thread.
const ITEMS_MIN: usize = 32;

/// So many items a thread takes at once.
const SHARE: usize = 8;

/// So many threads.
#[derive(Clone, Copy, Debug)]
pub struct Threads(pub NonZeroUsize);

impl Workers for Threads {
    fn map<T: Send, R: Send>(&self, items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
        if items.len() < ITEMS_MIN { items.into_iter().map(work).collect() } else { self.map_shares(items, SHARE, work) }
    }
}

impl Threads {
    /// As [`Workers::map`], for work that takes long: each thread takes one item after the other, however few there are.
    pub fn map_each<T: Send, R: Send>(&self, items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
        self.map_shares(items, 1, work)
    }

    #[expect(clippy::disallowed_types, reason = "the threads take items from one list, and no engine sees it")]
    fn map_shares<T: Send, R: Send>(&self, items: Vec<T>, share: usize, work: impl Fn(T) -> R + Sync) -> Vec<R> {
        if self.0 == NonZeroUsize::MIN {
            return items.into_iter().map(work).collect();
        }
        let waiting = std::sync::Mutex::new((0..).zip(items).collect::<Vec<(usize, T)>>().into_iter());
        // A thread that is held up keeps no other one waiting for long: each takes some more items when it is done with some.
        let take_some = || -> Vec<(usize, T)> { waiting.lock().unwrap_or_else(PoisonError::into_inner).by_ref().take(share).collect() };
        let work_off = || {
            let mut results = Vec::new();
            loop {
                let share = take_some();
                if share.is_empty() {
                    return results;
                }
                results.extend(share.into_iter().map(|(place, item)| (place, work(item))));
            }
        };
        let mut results: Vec<(usize, R)> = thread::scope(|scope| {
            let others: Vec<_> = (1..self.0.get()).map(|_| scope.spawn(work_off)).collect();
            let mut results = work_off();
            results.extend(others.into_iter().flat_map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))));
            results
        });
        results.sort_unstable_by_key(|(place, _)| *place);
        results.into_iter().map(|(_, result)| result).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e_3_results_come_in_the_order_of_the_items() {
        let square = |number: u64| number * number;
        let numbers: Vec<u64> = (0..1000).collect();
        let expected: Vec<u64> = numbers.iter().copied().map(square).collect();
        for threads in [1, 2, 7] {
            assert_eq!(Threads(NonZeroUsize::new(threads).unwrap()).map(numbers.clone(), square), expected);
        }
    }
}
