//! Explorations on threads (E-3).

use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::thread;

use reenact_explore::explorer::Workers;

/// So few items are not worth a second thread.
const ITEMS_MIN: usize = 32;

/// So many threads.
#[derive(Clone, Copy, Debug)]
pub struct Threads(pub NonZeroUsize);

impl Workers for Threads {
    fn map<T: Send, R: Send>(&self, items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
        if self.0 == NonZeroUsize::MIN || items.len() < ITEMS_MIN {
            return items.into_iter().map(work).collect();
        }
        // Neighbours take about as long as each other, so the threads take items in turns.
        let mut parts: Vec<Vec<(usize, T)>> = (0..self.0.get()).map(|_| Vec::new()).collect();
        for (place, item) in items.into_iter().enumerate() {
            parts[place % self.0].push((place, item));
        }
        let work = &work;
        let mut results: Vec<(usize, R)> = thread::scope(|scope| {
            let share = |part: Vec<(usize, T)>| move || part.into_iter().map(|(place, item)| (place, work(item))).collect::<Vec<_>>();
            let threads: Vec<_> = parts.into_iter().map(|part| scope.spawn(share(part))).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
        });
        results.sort_by_key(|(place, _)| *place);
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
