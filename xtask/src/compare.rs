//! `cargo xtask compare COMMIT`: whether this checkout still does what a commit did. It builds the program of both, and runs both on the scenarios of the commit.
//!
//! A change that only moves code must leave every transcript, boundary log and sweep as it was. Scenarios, snapshots and held logs are files: `git` says which
//! of them have changed since.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Files that say what a run must be.
const HELD_FILES: [&str; 3] = ["scenarios", "snapshots", "tests/formats"];

/// A program, and the scenarios that it runs.
struct BuiltProgram<'a> {
    path: PathBuf,
    /// The checkout of the commit, for both programs.
    scenarios_of: &'a Path,
}

pub(crate) fn main(options: &[&str]) -> ExitCode {
    let [commit] = options else { return crate::usage("`compare` needs one commit") };
    match compare(commit) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("xtask compare: {problem}");
            ExitCode::from(2)
        }
    }
}

/// Prints a line for each kind of output. False when one differs.
fn compare(commit: &str) -> Result<bool, String> {
    let root = crate::root();
    let folder = root.join("target/compare");
    let checkout = folder.join("checkout");
    check_out(&root, commit, &checkout)?;
    let before = BuiltProgram { path: build(&checkout, &folder.join("target"))?, scenarios_of: &checkout };
    let now = BuiltProgram { path: build(&root, &root.join("target"))?, scenarios_of: &checkout };

    let digests = [before.output(&["run", "scenarios", "--format", "digest"])?, now.output(&["run", "scenarios", "--format", "digest"])?];
    let names: Vec<String> = digests[0].lines().filter_map(|line| Some(line.split_once("  ")?.1.to_owned())).collect();
    if names.is_empty() {
        return Err(format!("the program of {commit} ran no scenario"));
    }
    let sweeps = [before.output(&["sweep", "scenarios"])?, now.output(&["sweep", "scenarios"])?];
    let logs = [before.logs(&names, &folder.join("before.log"))?, now.logs(&names, &folder.join("now.log"))?];

    let mut is_same = true;
    for (what, [before, now]) in
        [("digest of each transcript", digests), ("sweep of each scenario", sweeps), ("boundary log of each scenario", logs)]
    {
        is_same &= tell(what, &before, &now);
    }
    for held in HELD_FILES {
        let changed = git(&root, &["diff", "--name-status", commit, "--", held])?;
        println!("{held}: {} files changed since {commit}", changed.lines().count());
        print!("{changed}");
    }
    Ok(is_same)
}

/// One line if both are equal, and otherwise the first line that is not.
fn tell(what: &str, before: &str, now: &str) -> bool {
    let lines = before.lines().count();
    if lines == 0 {
        println!("{what}: NOT COMPARED, the program of the commit printed nothing");
        return false;
    }
    if before == now {
        println!("{what}: {lines} lines, all equal");
        return true;
    }
    let both = before.lines().chain(std::iter::repeat("(nothing)")).zip(now.lines().chain(std::iter::repeat("(nothing)")));
    let (old, new) = both.take(lines.max(now.lines().count())).find(|(old, new)| old != new).unwrap_or_default();
    println!("{what}: DIFFERENT\n  before: {old}\n  now:    {new}");
    false
}

impl BuiltProgram<'_> {
    /// Its output. The exit code is not looked at: a scenario may fail in both.
    fn output(&self, arguments: &[&str]) -> Result<String, String> {
        let made = Command::new(&self.path).args(arguments).current_dir(self.scenarios_of).output();
        let made = made.map_err(|error| format!("{}: {error}", self.path.display()))?;
        String::from_utf8(made.stdout).map_err(|error| format!("{}: {error}", self.path.display()))
    }

    /// A line for each scenario: its name and its boundary log.
    fn logs(&self, names: &[String], file: &Path) -> Result<String, String> {
        let mut lines = String::new();
        for name in names {
            let (path, setting) =
                name.split_once('@').map_or((name.as_str(), String::new()), |(path, setting)| (path, format!("@{setting}")));
            let scenario = format!("scenarios/{path}.toml{setting}");
            let _ = std::fs::remove_file(file);
            self.output(&["run", &scenario, "--log", &file.display().to_string()])?;
            let log = std::fs::read_to_string(file).map_err(|error| format!("{scenario} wrote no log: {error}"))?;
            lines += &format!("{name} {}\n", log.replace('\n', " "));
        }
        Ok(lines)
    }
}

fn check_out(root: &Path, commit: &str, checkout: &Path) -> Result<(), String> {
    let path = checkout.display().to_string();
    if checkout.exists() {
        git(root, &["worktree", "remove", "--force", &path])?;
    }
    git(root, &["worktree", "prune"])?;
    git(root, &["worktree", "add", "--quiet", "--detach", &path, commit]).map(|_| ())
}

fn build(checkout: &Path, target: &Path) -> Result<PathBuf, String> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--release", "--package", "reenact"]).env("CARGO_TARGET_DIR", target).current_dir(checkout);
    match cargo.status() {
        Ok(status) if status.success() => Ok(target.join("release/reenact")),
        Ok(_) => Err(format!("{} does not build", checkout.display())),
        Err(error) => Err(format!("cargo could not be started: {error}")),
    }
}

fn git(folder: &Path, arguments: &[&str]) -> Result<String, String> {
    let made =
        Command::new("git").args(arguments).current_dir(folder).output().map_err(|error| format!("git could not be started: {error}"))?;
    if !made.status.success() {
        return Err(format!("git {}: {}", arguments.join(" "), String::from_utf8_lossy(&made.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&made.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::tell;

    #[test]
    fn a_line_more_and_another_line_are_differences() {
        assert!(tell("t", "a\nb\n", "a\nb\n"));
        assert!(!tell("t", "a\nb\n", "a\nc\n"));
        assert!(!tell("t", "a\n", "a\nb\n"));
        assert!(!tell("t", "a\nb\n", ""));
        assert!(!tell("t", "", ""), "nothing was looked at");
    }
}
