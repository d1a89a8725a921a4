//! `cargo xtask insta`: proves with the real cargo-insta program that it lists and accepts the pending snapshots that we write (V-1).
//!
//! The proof itself is an ignored test in `tests/insta_format.rs`, because only there our writer is at hand; here the program is fetched, once,
//! into `target/tools`, and the test is told where it is.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use crate::ci::TEST_BUILD;

/// The version of the insta library in Cargo.toml; the program follows it.
const VERSION: &str = "1.49.0";
const PROOF: &str = "v_1_cargo_insta_lists_and_accepts_what_we_left_pending";

pub(crate) fn main(options: &[&str]) -> ExitCode {
    if !options.is_empty() {
        return crate::usage(&format!("`insta` does not know `{}`", options.join(" ")));
    }
    match install().and_then(prove) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("xtask insta: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// Makes sure that the program is there, and returns a search path on which it is found first.
///
/// Built without optimisation: it runs for a tenth of a second, and the build is what one waits for.
fn install() -> Result<OsString, String> {
    let tools = crate::root().join("target/tools");
    let folder = tools.join("bin");
    if !folder.join(format!("cargo-insta{}", std::env::consts::EXE_SUFFIX)).exists() {
        println!("xtask insta: building cargo-insta {VERSION} into target/tools, once, for about a minute");
        let mut line = Command::new("cargo");
        line.args(["install", "cargo-insta", "--locked", "--debug", "--version", VERSION, "--root"]).arg(&tools);
        run(line)?;
    }
    let others = search_path();
    std::env::join_paths(std::iter::once(folder).chain(std::env::split_paths(&others))).map_err(|error| error.to_string())
}

fn prove(search_path: OsString) -> Result<(), String> {
    let mut line = Command::new("cargo");
    line.arg("test").args(TEST_BUILD).args(["--test", "insta_format", "--", "--exact", "--ignored", "--nocapture", PROOF]);
    line.env("PATH", search_path);
    run(line)?;
    println!("xtask insta: cargo-insta lists, accepts and leaves our snapshots as we would write them");
    Ok(())
}

fn run(mut line: Command) -> Result<(), String> {
    let status = line.current_dir(crate::root()).status().map_err(|error| format!("cargo could not be started: {error}"))?;
    let words: Vec<_> = line.get_args().map(|word| word.to_string_lossy()).collect();
    if status.success() { Ok(()) } else { Err(format!("{status} from cargo {}", words.join(" "))) }
}

#[expect(clippy::disallowed_methods, reason = "cargo finds its subcommands on the search path; there is no other way to name one")]
fn search_path() -> OsString {
    std::env::var_os("PATH").unwrap_or_default()
}
