//! `cargo xtask mutants`: breaks the engine in a few hundred ways, one at a time, and counts how often a test or a scenario notices.
//!
//! cargo-mutants does the breaking. The shard is fixed, so that the figure of two days can be compared; what a broken engine makes run for
//! ever is counted apart, because only patience noticed it. It is no step of CI: it takes an hour.

use std::path::Path;
use std::process::{Command, ExitCode};

/// Every sixth mutant of the engine: more than 300.
const SHARD: &str = "0/6";

/// How many percent of those that built and came to an end must be noticed.
const CAUGHT_PERCENT_MIN: usize = 85;

const HELP: &str = "install it with: cargo install cargo-mutants --locked";

pub(crate) fn main(options: &[&str]) -> ExitCode {
    let shard = match options {
        [] => SHARD,
        ["--shard", shard] => shard,
        _ => return crate::usage(&format!("`mutants` does not know `{}`", options.join(" "))),
    };
    let root = crate::root();
    let mut line = Command::new("cargo");
    line.args(["mutants", "--package", "reenact-engine", "--sharding", "round-robin", "--shard", shard]);
    line.args(["--jobs", "2", "--timeout", "120", "--baseline", "skip", "--no-shuffle", "--output", "target"]);
    // The machines' own tests, the runs of `sim`, and every shipped scenario with its transcript.
    line.args(["engine", "sim", "runner"].map(|room| format!("--test-package=reenact-{room}")));
    line.args(["--cargo-arg", "--lib"]);
    line.env("CARGO_PROFILE_DEV_DEBUG", "0").current_dir(&root);
    match line.status() {
        Err(error) => {
            eprintln!("xtask mutants: cargo could not be started: {error}");
            return ExitCode::FAILURE;
        }
        // 2: mutants were missed, 3: some ran out of time. Both are counted below.
        Ok(status) if !matches!(status.code(), Some(0 | 2 | 3)) => {
            eprintln!("xtask mutants: {status} from cargo mutants; {HELP}");
            return ExitCode::FAILURE;
        }
        Ok(_) => (),
    }
    let count = MutantCounts::read(&root.join("target/mutants.out"));
    println!("{}", count.text(shard));
    if count.is_enough() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The fates of the mutants of a shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct MutantCounts {
    caught: usize,
    missed: usize,
    timeout: usize,
    unviable: usize,
}

impl MutantCounts {
    fn read(folder: &Path) -> Self {
        let lines = |name: &str| std::fs::read_to_string(folder.join(name)).map_or(0, |text| text.lines().count());
        Self { caught: lines("caught.txt"), missed: lines("missed.txt"), timeout: lines("timeout.txt"), unviable: lines("unviable.txt") }
    }

    /// Of those that built and came to an end.
    fn percent(self) -> usize {
        (self.caught * 100).checked_div(self.caught + self.missed).unwrap_or(0)
    }

    fn is_enough(self) -> bool {
        self.percent() >= CAUGHT_PERCENT_MIN
    }

    fn text(self, shard: &str) -> String {
        let Self { caught, missed, timeout, unviable } = self;
        format!(
            "shard {shard}: {} mutants, {unviable} did not build, {timeout} ran out of time, {caught} caught, {missed} missed: {} % caught, {CAUGHT_PERCENT_MIN} % wanted",
            caught + missed + timeout + unviable,
            self.percent()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ran_out_of_time_counts_neither_way() {
        let count = MutantCounts { caught: 85, missed: 15, timeout: 9, unviable: 7 };
        assert_eq!((count.percent(), count.is_enough()), (85, true));
        assert!(!MutantCounts { missed: 16, ..count }.is_enough());
        assert!(!MutantCounts::default().is_enough(), "nothing tried is nothing caught");
        assert!(count.text("0/6").starts_with("shard 0/6: 116 mutants, 7 did not build, 9 ran out of time"), "{}", count.text("0/6"));
    }
}
