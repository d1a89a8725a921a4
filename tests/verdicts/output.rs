//! The effect of a closed output: only its own text is lost.

use std::io::Read as _;
use std::process::Stdio;

use super::*;

/// Closes standard output after the first bytes, or at once.
fn until_closed(at: &Path, arguments: &[&str], bytes: usize) -> Option<i32> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reenact"));
    let mut child = command.args(arguments).current_dir(at).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut output = child.stdout.take().unwrap();
    output.read_exact(&mut vec![0; bytes]).unwrap();
    drop(output);
    child.wait().unwrap().code()
}

#[test]
fn who_stops_reading_gets_every_snapshot_that_others_get() {
    let files: Vec<(String, &str)> = (10..60).map(|number| (format!("scenarios/n{number}.toml"), TWO_READS)).collect();
    let named: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), *text)).collect();
    let folder = folder(&named);
    assert_eq!(until_closed(folder.path(), &["run", "scenarios", "--accept", "--detail", "debug"], 1), Some(0));
    assert_eq!(fs::read_dir(folder.path().join("snapshots")).unwrap().count(), files.len());
}

#[test]
fn who_stops_reading_gets_the_exit_code_that_others_get() {
    let folder = folder(&[("a.toml", TWO_READS), ("b.toml", &TWO_READS.replace("completed", "max_turns")), ("c.toml", TWO_READS)]);
    assert_eq!(until_closed(folder.path(), &["run", ".", "--detail", "debug"], 0), Some(1));
    assert_eq!(until_closed(folder.path(), &["sweep", "a.toml", "--canary", "drop-tombstone"], 0), Some(1));
    assert_eq!(until_closed(folder.path(), &["schema"], 0), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_not_green() {
    let folder = folder(&[("a.toml", TWO_READS)]);
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_reenact"));
    let output = command.args(["run", "a.toml"]).current_dir(folder.path()).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("cannot write the output"));
}
