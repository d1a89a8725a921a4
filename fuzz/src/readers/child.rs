//! The process that reads: it notes each case before it begins it, and prints what it finds.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::mutation;
use super::options::ReaderFuzzOptions;
use super::targets::{ReaderTarget, samples};

/// No case of 256 KiB should take longer. The densest text takes two seconds in a build for tests, and a reader that goes over all for each byte a minute.
const CASE_TIME_MAX: Duration = Duration::from_secs(6);

/// Runs cases until the time is over. A finding is a line on standard output: its number, a tab, its text. The last line is the number of the next case.
#[expect(clippy::disallowed_methods, reason = "fuzzing runs for a time, and time is what it bounds")]
pub(crate) fn run(target: &ReaderTarget, options: &ReaderFuzzOptions, first: u64, state: &Path) -> ExitCode {
    let samples = samples(target, &crate::root(), options.corpus.as_deref());
    let end = Instant::now() + options.time;
    let folder = state.parent().unwrap_or(Path::new("."));
    std::panic::set_hook(Box::new(|_| {}));
    let mut number = first;
    while Instant::now() < end {
        let bytes = mutation::case(options.seed, target.name, number, &samples);
        if fs::write(state, number.to_string()).is_err() {
            return ExitCode::FAILURE;
        }
        let begin = Instant::now();
        let read = catch_unwind(AssertUnwindSafe(|| (target.read)(&bytes, folder)));
        let problem = match read {
            Err(panic) => Some(format!("panic: {}", panic_text(&*panic))),
            Ok(Err(problem)) => Some(problem),
            Ok(Ok(())) => {
                slow(begin.elapsed(), || drop((target.read)(&bytes, folder))).map(|took| format!("{} bytes took {took:?}", bytes.len()))
            }
        };
        if let Some(problem) = problem {
            println!("{number}\t{}", problem.lines().next().unwrap_or_default());
        }
        number += 1;
    }
    println!("{number}");
    ExitCode::SUCCESS
}

/// How long a case takes that takes too long. It is read twice more: the machine may have been busy with something else.
#[expect(clippy::disallowed_methods, reason = "whether a reader hangs is a question of time")]
fn slow(first: Duration, read: impl Fn()) -> Option<Duration> {
    let mut least = first;
    for _ in 0..2 {
        if least <= CASE_TIME_MAX {
            return None;
        }
        let begin = Instant::now();
        read();
        least = least.min(begin.elapsed());
    }
    (least > CASE_TIME_MAX).then_some(least)
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| String::from(*text))).unwrap_or_default()
}
