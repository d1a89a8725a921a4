//! `cargo xtask schema`: the JSON Schema of scenarios, written anew from what the program says.

use std::process::{Command, ExitCode};

const FILE: &str = "scenarios/scenario.schema.json";

pub(crate) fn main() -> ExitCode {
    match write() {
        Ok(()) => {
            println!("wrote {FILE}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("xtask schema: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn write() -> Result<(), String> {
    let mut cargo = Command::new("cargo");
    cargo.args(["run", "--quiet", "--package", "reenact", "--bin", "reenact", "--", "schema"]).current_dir(crate::root());
    let output = cargo.output().map_err(|error| format!("cargo could not be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("`reenact schema` failed: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    std::fs::write(crate::root().join(FILE), output.stdout).map_err(|error| format!("{FILE} cannot be written: {error}"))
}
