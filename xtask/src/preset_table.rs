//! `cargo xtask preset-table`: the pages in `docs/presets`, written anew from runs of the scenarios that the presets name, or held against them.

use std::process::{Command, ExitCode};

use crate::ci::TEST_BUILD;

pub(crate) fn main(options: &[&str]) -> ExitCode {
    let is_check = match options {
        [] => false,
        ["--check"] => true,
        _ => return crate::usage(&format!("`preset-table` does not know `{}`", options.join(" "))),
    };
    let mut cargo = Command::new("cargo");
    // The test that runs the scenarios and makes the pages.
    cargo.args(["test", "--quiet"]).args(TEST_BUILD).args(["--test", "presets"]).current_dir(crate::root());
    if !is_check {
        cargo.env("REENACT_UPDATE", "1");
    }
    match cargo.status() {
        Ok(status) if status.success() => {
            println!("{}", if is_check { "docs/presets is true" } else { "wrote docs/presets" });
            ExitCode::SUCCESS
        }
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask preset-table: cargo could not be started: {error}");
            ExitCode::FAILURE
        }
    }
}
