//! The output of `run` and `sweep`: verdicts, coverage, seeds, reports for programs.

mod beginning;
mod budgets;
mod certificates;
mod coverage;
mod doctor;
mod forms;
mod fuzzing;
mod hints;
mod real_tools;
mod reports;
mod reviewing;
mod seeds;
mod showing;
mod testing;
mod tools;
mod world;

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

const HELLO: &str = "[[prompt]]\ntext = \"Hello?\"\n\n[[prompt.turn]]\ntext = \"Hello.\"\n";

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, contents) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, contents).unwrap();
    }
    folder
}

/// The output and the messages of a command, and its exit code.
fn reenact(at: &Path, arguments: &[&str]) -> (String, String, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_reenact")).args(arguments).current_dir(at).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code())
}
