//! Explorations on threads (E-3).

use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::PoisonError;
use std::thread;

use reenact_explore::explorer::Workers;

/// So many threads.
#[derive(Clone, Copy, Debug)]
pub struct Threads(pub NonZeroUsize);

impl Workers for Threads {
    #[expect(clippy::disallowed_types, reason = "the threads take items from one list, and no engine sees it")]
    fn map<T: Send, R: Send>(&self, items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
        if self.0 == NonZeroUsize::MIN || items.len() < 2 {
            return items.into_iter().map(work).collect();
        }
        let waiting = std::sync::Mutex::new((0..).zip(items).collect::<Vec<(usize, T)>>().into_iter());
        // A thread that is held up keeps no other one waiting for long: each takes another item when it is done with one.
        let take_one = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work_off = || -> Vec<(usize, R)> { core::iter::from_fn(take_one).map(|(place, item)| (place, work(item))).collect() };
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
