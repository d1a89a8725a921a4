//! The command: options in, progress and a summary out.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::{fs, panic};

use proptest::strategy::ValueTree;
use reenact::scenario::language::scenario_text;
use reenact::scenario::types::Scenario;
use reenact::strategies::feature::Feature;

use super::case::CaseSource;
use super::check::check;
use super::coverage::{Coverage, feature, points};
use super::finding::FuzzFinding;
use super::shrink::shrink;
use super::workers::in_order;

/// From so many cases on, everything must have been reached.
const LONG_RUN: u64 = 50_000;

struct FuzzOptions {
    cases: u64,
    seed: u64,
    only: Vec<Feature>,
    out: PathBuf,
    /// The one case that is printed, and nothing run.
    case: Option<u64>,
}

/// One bug: the first case that showed it, and how many did.
struct FindingGroup {
    first: u64,
    finding: FuzzFinding,
    cases: u64,
}

pub(crate) fn main(options: &[&str]) -> ExitCode {
    let options = match read(options) {
        Ok(options) => options,
        Err(problem) => return crate::usage(&problem),
    };
    if let Some(number) = options.case {
        let title = format!("Case {number} of cargo xtask fuzz-scenarios --seed {}{}", options.seed, words_of(&options.only));
        print!("{}", scenario_text(&CaseSource::new(options.seed, &options.only).tree(number).current(), &[title]));
        return ExitCode::SUCCESS;
    }
    // A panic is a finding; its words are in it.
    panic::set_hook(Box::new(|_| ()));
    let (coverage, groups) = search(&options);
    println!("\n{}", coverage.table());
    let missing = coverage.missing();
    if !missing.is_empty() {
        println!("\nnever reached ({}): {}", missing.len(), missing.join(", "));
    }
    println!("\n{} cases of seed {}, {} findings in {}", options.cases, options.seed, groups.len(), options.out.display());
    write_all(&options, &groups);
    let lacks = options.cases >= LONG_RUN && options.only.is_empty() && !missing.is_empty();
    if lacks {
        println!("unreached parts are not tested: add them to the strategies (src/strategies)");
    }
    if groups.is_empty() && !lacks { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn read(mut words: &[&str]) -> Result<FuzzOptions, String> {
    let mut options = FuzzOptions { cases: 2_000, seed: 1, only: Vec::new(), out: crate::root().join("target/fuzz-scenarios"), case: None };
    let number =
        |name: &str, text: &str| text.parse::<u64>().map_err(|_| format!("`{name}` needs a whole number, and `{text}` is not one"));
    loop {
        words = match words {
            [] => return Ok(options),
            ["--cases", cases, rest @ ..] => {
                options.cases = number("--cases", cases)?;
                rest
            }
            ["--case", case, rest @ ..] => {
                options.case = Some(number("--case", case)?);
                rest
            }
            ["--seed", seed, rest @ ..] => {
                options.seed = number("--seed", seed)?;
                rest
            }
            ["--only", name, rest @ ..] => {
                options.only.push(feature(name)?);
                rest
            }
            ["--out", folder, rest @ ..] => {
                options.out = PathBuf::from(folder);
                rest
            }
            _ => return Err(format!("`fuzz-scenarios` does not know `{}`", words.join(" "))),
        };
    }
}

fn search(options: &FuzzOptions) -> (Coverage, BTreeMap<String, FindingGroup>) {
    let (mut coverage, mut groups) = (Coverage::default(), BTreeMap::<String, FindingGroup>::new());
    let step = (options.cases / 20).max(1);
    in_order(
        options.cases,
        || CaseSource::new(options.seed, &options.only),
        |cases, number| {
            let scenario = cases.tree(number).current();
            let checked = check(&scenario, number);
            let reached = points(&checked.text, checked.run.as_ref());
            (checked.findings, reached)
        },
        |number, (findings, reached)| {
            coverage.add(reached);
            for finding in findings {
                let group = groups.entry(finding.fingerprint()).or_insert_with(|| {
                    println!("case {number}: {}: {}", finding.rule, finding.text);
                    FindingGroup { first: number, finding: finding.clone(), cases: 0 }
                });
                group.cases += 1;
            }
            if (number + 1) % step == 0 {
                println!("{} of {} cases, {} findings", number + 1, options.cases, groups.len());
            }
        },
    );
    (coverage, groups)
}

/// Shrinks each finding, writes it, and prints a line about it. Each is written as it was found first, in case the rest is interrupted.
fn write_all(options: &FuzzOptions, groups: &BTreeMap<String, FindingGroup>) {
    let groups: Vec<&FindingGroup> = groups.values().collect();
    let group = |at: u64| groups[usize::try_from(at).unwrap_or(usize::MAX)];
    in_order(
        groups.len() as u64,
        || CaseSource::new(options.seed, &options.only),
        |cases, at| {
            let FindingGroup { first, finding, .. } = group(at);
            write_one(options, group(at), &cases.tree(*first).current(), finding, "");
            shrink(cases.tree(*first), finding)
        },
        |at, (scenario, finding)| println!("{}", write_one(options, group(at), &scenario, &finding, ", shrunk")),
    );
}

fn words_of(only: &[Feature]) -> String {
    only.iter().map(|feature| format!(" --only {}", feature.as_str())).collect()
}

fn write_one(options: &FuzzOptions, group: &FindingGroup, scenario: &Scenario, finding: &FuzzFinding, how: &str) -> String {
    let file = options.out.join(finding.file_name());
    let at = finding.interrupt.map_or_else(String::new, |(boundary, kind)| format!(" --interrupt-at {boundary} --interrupt-kind {kind}"));
    let only = words_of(&options.only);
    let comments = [
        format!("{}: {}", finding.rule, finding.text),
        format!("cargo run -- run {}{at}", file.display()),
        format!("Case {} of cargo xtask fuzz-scenarios --seed {}{only}{how}; {} cases show it.", group.first, options.seed, group.cases),
    ];
    let written = fs::create_dir_all(&options.out).and_then(|()| fs::write(&file, scenario_text(scenario, &comments)));
    let place = written.map_or_else(|error| format!("cannot be written: {error}"), |()| file.display().to_string());
    format!("{:>6} cases, first {}: {}: {}\n        {place}{at}", group.cases, group.first, finding.rule, finding.text)
}
