//! The chores of development, as one command each: `cargo xtask ci`, `tidy`, `rules`, `schema`, `diagrams`, `preset-table`, `mutants`, `insta`,
//! `bench`, `clients`, `compare`, `deny`, `fuzz`, `fuzz-scenarios`, `hostile`, `packages`.
//!
//! The standard library alone, so that it builds in a moment on a new machine. `bench`, `clients`, `fuzz` and `fuzz-scenarios` are crates beside this one.

mod ci;
mod compare;
mod deny;
mod diagrams;
mod hostile;
mod insta;
mod members;
mod mutants;
mod oracle_mutants;
mod preset_table;
mod room_graph;
mod rules;
mod schema;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const HELP: &str = "\
cargo xtask <command>

  ci     everything that must hold before a change is merged: format, lints, builds, tidy, tests, docs
           --keep-going        continue after a failed step and list the failures at the end
           --need <step>       fail where this step would be skipped, because the machine lacks what it needs
           --list              print the steps and the command of each, run nothing
  tidy   the text checks over the checkout alone, in a second
           --list              print the checks with their purposes
  rules  where each rule of docs/rules stands and what holds it: tests, scenarios, oracles, checks
           --missing           those alone that nothing holds
           --rule <id>         the text of this rule, and everything that holds it
  names  how many types there are, how many names have one word, and how many are shared
  circles  files that import each other in a circle, and the names that tie them
  schema writes scenarios/scenario.schema.json and docs/scenario.md anew; `cargo test` fails while one of them is out of date
  diagrams  draws the state diagrams in ARCHITECTURE.md from the tables in src/engine
  preset-table  runs the scenarios of the presets, and writes docs/presets anew
           --check             writes nothing, and fails if a page is not true
  bench  how fast we are beside others: ratios that must hold, measured in turns; some minutes
           --only <name>       this bench alone
           --program <path>    measure this `reenact` and build none
           --fetch-peers       first put nginx and mitmproxy into the target folder, where they are missing
           --report            exit code 0 even if a bar is missed
           --list              print the benches and the bar of each, measure nothing
  clients  pinned real clients through a table of cases: their behaviour must be the known one; needs Python and Node, installs the rest
           --only <part>       the cases with this in their names
           --built             with the program that is built already
           --with <agent>      a headless agent in their place, installed for it: claude-code (361 MB) or opencode (354 MB)
           --agents [<name>…]  the shipped agents that are installed, or these: interrupted at every moment; writes docs/agent-tables.md
           --page              write docs/client-tables.md from the cases, run nothing
           --list              print the cases, run nothing
  compare <commit>  runs all scenarios of a commit with its program and with this one: transcripts, boundary logs and sweeps must be equal
  deny   the dependencies have the licences and sources that deny.toml allows; needs cargo-deny
           --advisories        in place of that, whether anything is known against them; needs the database of advisories as well
  fuzz-scenarios  many whole scenarios from one seed, each run with all oracles; a case that breaks a rule is shrunk and written to a file
           --cases <n>         how many (2000)
           --seed <n>          from which seed (1)
           --case <n>          print this case as a scenario, run nothing
           --only <feature>    each of them with this feature, e.g. agents; may be given several times
           --out <folder>      where findings are written (target/fuzz-scenarios)
  fuzz   every reader of bytes on changed samples, in a process with bounded memory
           --seconds <n>       for each reader (10)
           --target <name>     this reader alone
           --seed <n>          from which seed (1)
           --corpus <folder>   with the samples of this folder as well
           --out <folder>      where the bytes of findings are written (target/fuzz)
  hostile  files that are made to hurt, and every reader of the optimised program: exit code, time and memory of each
           --program <path>    this program and not target/dist/reenact
  mutants  how often a test notices that the engine is broken on purpose; needs cargo-mutants, and an hour
           --shard <k/n>       this part of the mutants and not the usual one
           --oracles           what the oracles alone find of some two thousand mutants; needs nothing, and ten minutes
                   --part <p>  those of the files of src/engine that begin so, e.g. query
  insta  the proof that the real cargo-insta program understands our snapshots; fetches and builds it once
  packages [<language>…]  the Python and TypeScript packages with the program that is built and with pinned frameworks; `python`, `typescript` or both
  help   this text

Exit code 0: all is well. 1: a step or a check failed, or nothing holds a rule of the engine. 2: the command line was not understood. 3: what `clients`, `deny` or `packages` need could not be had.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["ci", options @ ..] => ci::main(options),
        ["tidy", options @ ..] => tidy::main(options),
        ["rules", options @ ..] => rules::main(options),
        ["names"] => tidy::print_names(),
        ["circles"] => tidy::print_circles(),
        ["diagrams"] => diagrams::main(),
        ["schema"] => schema::main(),
        ["preset-table", options @ ..] => preset_table::main(options),
        ["bench", options @ ..] => members::bench(options),
        ["compare", options @ ..] => compare::main(options),
        ["deny", options @ ..] => deny::main(options),
        ["clients", options @ ..] => members::clients(options),
        ["fuzz", ..] => members::fuzz(&words),
        ["fuzz-scenarios", ..] => members::fuzz(&words),
        ["hostile", options @ ..] => hostile::main(options),
        ["mutants", "--oracles", options @ ..] => oracle_mutants::main(options),
        ["mutants", options @ ..] => mutants::main(options),
        ["insta", options @ ..] => insta::main(options),
        ["packages", languages @ ..] => members::packages(languages),
        ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            ExitCode::SUCCESS
        }
        [] => usage("no command given"),
        [other, ..] => usage(&format!("unknown command `{other}`")),
    }
}

/// How many cores there are.
#[expect(clippy::disallowed_methods, reason = "how much is done at once changes no result")]
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Says what was not understood, then what would be; the exit code is 2.
fn usage(problem: &str) -> ExitCode {
    eprintln!("xtask: {problem}");
    usage_after_problem()
}

/// Says what would be understood, after the problem was told.
fn usage_after_problem() -> ExitCode {
    eprintln!("\n{HELP}");
    ExitCode::from(2)
}

/// The checkout's root: the folder above this package, wherever the command was started.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the checkout").to_path_buf()
}
