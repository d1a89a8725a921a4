//! `cargo xtask bench`: how fast we are beside others, as ratios that must hold.
//!
//! An absolute time says more about the machine than about the program, so each bar is a ratio of two ways that are measured in turns
//! within one run. The others are dependencies that nothing else needs, so this is a crate beside `xtask`, which starts it optimised.

mod bare;
mod bars;
mod body;
mod client;
mod decode;
mod diff;
mod doctor;
mod explore;
mod foreign;
mod framing;
mod grep;
mod growth;
mod level;
mod museum;
mod network;
mod outcome;
mod peers;
mod record;
mod redact;
mod rounds;
mod run;
mod search;
mod serve;
mod session;
mod shell;
mod start;
mod sweep;
mod typed_parser;
mod upstream;
mod ways;
mod workspace;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    bars::main(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Says what was not understood. The exit code 2 has `xtask` say what would be.
fn usage(problem: &str) -> ExitCode {
    eprintln!("xtask: {problem}");
    ExitCode::from(2)
}

/// The checkout's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("bench is a folder of the checkout").to_path_buf()
}
