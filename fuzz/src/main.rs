//! Much that is random: `cargo xtask fuzz-scenarios` and `cargo xtask fuzz`.
//!
//! Both need the library with its strategies, so this is a crate beside `xtask`, which starts it optimised and with debug assertions.

#[cfg(reenact_mutants)]
mod mutants;
mod readers;
mod scenarios;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["fuzz-scenarios", options @ ..] => scenarios::main(options),
        ["fuzz", options @ ..] => readers::main(options),
        #[cfg(reenact_mutants)]
        ["mutants", numbers] => mutants::main(numbers),
        other => usage(&format!("`fuzz-scenarios` or `fuzz`, and not `{}`", other.join(" "))),
    }
}

/// Says what was not understood. The exit code 2 has `xtask` say what would be.
fn usage(problem: &str) -> ExitCode {
    eprintln!("xtask: {problem}");
    ExitCode::from(2)
}

/// The checkout's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("fuzz is a folder of the checkout").to_path_buf()
}
