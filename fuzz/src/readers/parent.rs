//! Arguments, a child for each target, and the report.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use super::child;
use super::mutation;
use super::options::ReaderFuzzOptions;
use super::targets::{ReaderTarget, TARGETS, samples};

/// Virtual memory of a child: a reader that needs more for 256 KiB is a finding.
const MEMORY_KIB_MAX: u64 = 2_000_000;

/// A target whose child ends this often is left alone.
const DEATHS_MAX: u32 = 5;

/// Runs all targets, or the child's one.
pub(crate) fn main(options: &[&str]) -> ExitCode {
    let options = match ReaderFuzzOptions::parse(options) {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("xtask fuzz: {problem}");
            return ExitCode::from(2);
        }
    };
    let wanted: Vec<&ReaderTarget> = TARGETS.iter().filter(|target| options.only.as_ref().is_none_or(|only| only == target.name)).collect();
    if wanted.is_empty() {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!("xtask fuzz: unknown target; choose one of {}", names.join(", "));
        return ExitCode::from(2);
    }
    if let (Some((first, state)), [target]) = (&options.child, &wanted[..]) {
        return child::run(target, &options, *first, state);
    }
    let mut findings = 0;
    for target in wanted {
        match run(target, &options) {
            Ok(count) => findings += count,
            Err(problem) => {
                eprintln!("xtask fuzz: {}: {problem}", target.name);
                return ExitCode::FAILURE;
            }
        }
    }
    if findings == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs one target in as many children as it takes; how many kinds of findings there were.
#[expect(clippy::disallowed_methods, reason = "fuzzing runs for a time, and time is what it bounds")]
fn run(target: &ReaderTarget, options: &ReaderFuzzOptions) -> Result<usize, String> {
    let samples = samples(target, &crate::root(), options.corpus.as_deref());
    if samples.is_empty() {
        return Err("there are no samples: nothing would be looked at".into());
    }
    let folder = options.out.join(target.name);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let state = folder.join("case");
    let (begin, mut next, mut deaths) = (Instant::now(), 0, 0);
    let mut findings: BTreeMap<String, (u64, u32)> = BTreeMap::new();
    let mut add = |number: u64, problem: &str| {
        // Findings of one kind differ in figures only.
        let kind: String = problem.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).take(120).collect();
        let (_, count) = findings.entry(kind).or_insert((number, 0));
        *count += 1;
    };
    while deaths < DEATHS_MAX {
        let left = options.time.saturating_sub(begin.elapsed());
        if left < Duration::from_secs(1) {
            break;
        }
        let output = spawn(target, options, next, &state, left)?;
        for line in output.lines().filter_map(|line| line.split_once('\t')) {
            add(line.0.parse().unwrap_or_default(), line.1);
        }
        match output.lines().last().and_then(|line| line.parse::<u64>().ok()) {
            Some(number) => {
                next = number;
                break;
            }
            None => {
                let number = fs::read_to_string(&state).ok().and_then(|number| number.parse::<u64>().ok()).unwrap_or(next);
                add(number, "the process ended: its stack overflowed, or its memory ran out");
                (next, deaths) = (number + 1, deaths + 1);
            }
        }
    }
    println!("{:<10} {next:>8} cases of {} samples, {} findings", target.name, samples.len(), findings.len());
    for (kind, (number, count)) in &findings {
        let path = folder.join(format!("{number}.bin"));
        let bytes = mutation::case(options.seed, target.name, *number, &samples);
        fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))?;
        println!("  {count} x {kind}\n    first: {}", path.display());
    }
    Ok(findings.len())
}

/// A child with bounded memory; what it printed.
fn spawn(target: &ReaderTarget, options: &ReaderFuzzOptions, first: u64, state: &Path, time: Duration) -> Result<String, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -v {MEMORY_KIB_MAX}; exec \"$0\" \"$@\"")]).arg(program);
    command.args(["fuzz", "--target", target.name, "--seed", &options.seed.to_string(), "--seconds", &time.as_secs().to_string()]);
    if let Some(corpus) = &options.corpus {
        command.arg("--corpus").arg(corpus);
    }
    command.args(["--child", &first.to_string(), "--state"]).arg(state);
    let output = command.stderr(Stdio::null()).output().map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
