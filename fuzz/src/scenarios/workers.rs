//! The same work on many numbers at once. How many threads there are changes how long that takes, and nothing else.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;

use reenact::runner::threads_available;

/// Does the work on each number below `count`; `done` gets the results in the order of the numbers. Each thread makes its own `tools` once.
pub(super) fn in_order<T, R: Send>(
    count: u64,
    tools: impl Fn() -> T + Sync,
    work: impl Fn(&T, u64) -> R + Sync,
    mut done: impl FnMut(u64, R),
) {
    let next = AtomicU64::new(0);
    let (sender, receiver) = mpsc::sync_channel(1_000);
    thread::scope(|scope| {
        for _ in 0..threads_available().get() {
            let (sender, next, tools, work) = (sender.clone(), &next, &tools, &work);
            scope.spawn(move || {
                let tools = tools();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count || sender.send((number, work(&tools, number))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut waiting = std::collections::BTreeMap::new();
        let mut expected = 0;
        for (number, result) in receiver {
            waiting.insert(number, result);
            while let Some(result) = waiting.remove(&expected) {
                done(expected, result);
                expected += 1;
            }
        }
    });
}
