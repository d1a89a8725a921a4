//! The program of the museum in a folder of its own.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// A folder with the scenarios of an exhibit.
pub(crate) fn folder(name: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    for file in ["_base.toml", &format!("{name}.toml")] {
        std::fs::copy(from.join(file), folder.path().join(file)).unwrap();
    }
    folder
}

/// Runs the program of the museum in a folder: what it prints, what it complains of, and its exit code.
pub(crate) fn museum(at: &Path, arguments: &[&str]) -> (String, String, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_reenact-museum")).current_dir(at).args(arguments).output().unwrap();
    let [shown, said] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (shown, said, output.status.code())
}
