//! `cargo xtask schema`: the JSON Schema of scenarios and the reference of their keys, written anew from what the program prints.

use std::process::{Command, ExitCode};

/// The files, each with the format that the program prints it in.
const FILES: [(&str, &str); 2] = [("scenarios/scenario.schema.json", "json"), ("docs/scenario.md", "markdown")];

pub(crate) fn main() -> ExitCode {
    for (file, format) in FILES {
        if let Err(problem) = write(file, format) {
            eprintln!("xtask schema: {problem}");
            return ExitCode::FAILURE;
        }
        println!("wrote {file}");
    }
    ExitCode::SUCCESS
}

fn write(file: &str, format: &str) -> Result<(), String> {
    let mut cargo = Command::new("cargo");
    cargo
        .args(["run", "--quiet", "--package", "reenact", "--bin", "reenact", "--", "schema", "--format", format])
        .current_dir(crate::root());
    let output = cargo.output().map_err(|error| format!("cargo could not be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("`reenact schema` failed: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    std::fs::write(crate::root().join(file), output.stdout).map_err(|error| format!("{file} cannot be written: {error}"))
}
