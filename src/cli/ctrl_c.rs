//! Ctrl-C in a search: the first one ends it and shows what was done, the second one ends the program.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::serve::{listen, single_runtime};
use super::{CommandExit, STOPPED};

/// Whether Ctrl-C was pressed.
static IS_STOPPED: AtomicBool = AtomicBool::new(false);

/// Does work that asks [`is_stopped`] now and then.
pub(super) fn until_ctrl_c<R>(work: impl FnOnce() -> R) -> R {
    let (is_at_work, over) = unbounded_channel::<()>();
    thread::scope(|scope| {
        scope.spawn(|| wait_for_ctrl_c(over));
        let done = work();
        drop(is_at_work);
        done
    })
}

/// The first Ctrl-C ends the exploration and shows what was finished; the second one ends the program.
fn wait_for_ctrl_c(mut over: UnboundedReceiver<()>) {
    // Without a runtime or signals nothing is lost but the words at the end.
    let Ok(runtime) = single_runtime() else { return };
    runtime.block_on(async {
        let Ok(mut signals) = listen() else { return };
        for is_second in [false, true] {
            tokio::select! {
                biased;
                _ = signals.next() => IS_STOPPED.store(true, Ordering::Relaxed),
                _ = over.recv() => return,
            }
            if is_second {
                std::process::exit(STOPPED.into());
            }
        }
    });
}

/// The exit code that a document of the search has.
pub(super) fn exit_code(exit: CommandExit) -> u8 {
    if is_stopped() { STOPPED } else { exit as u8 }
}

/// Whether the search is to end.
pub(super) fn is_stopped() -> bool {
    IS_STOPPED.load(Ordering::Relaxed)
}
