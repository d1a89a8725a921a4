//! Files that are written whole or not at all (B-2), and what stays of them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use reenact_tools::Workspace as _;
use reenact_tools::workspace::FileProblem;

use crate::DirectoryWorkspace;

/// In the environment of a process that writes until it is killed: where.
const WRITER_DIRECTORY: &str = "REENACT_TEST_WRITER_DIRECTORY";

fn content(number: usize) -> Vec<u8> {
    format!("{number:08}\n").repeat(20_000).into_bytes()
}

/// In the environment of a process that reads a large file: where it lies.
#[cfg(target_os = "linux")]
const LARGE_DIRECTORY: &str = "REENACT_TEST_LARGE_DIRECTORY";

/// No test of its own: the process whose memory is measured. It prints how much more it needed, in KiB.
#[cfg(target_os = "linux")]
#[test]
#[expect(clippy::disallowed_methods, reason = "the test starts itself as the process that is measured")]
fn reader() {
    use reenact_engine::permission::path::PathAccess;
    use reenact_tools::{BuiltinTool, ToolSite, read_state::ReadState, todo::TodoList};
    let Ok(directory) = std::env::var(LARGE_DIRECTORY) else { return };
    let peak = || {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    let mut workspace = DirectoryWorkspace::open(Path::new(&directory)).unwrap();
    let (mut read, mut todos) = (ReadState::default(), TodoList::default());
    let root = workspace.working_directory().to_owned();
    let access = PathAccess { directories: vec![root.as_str().into()], denied: Vec::new() };
    let mut site = ToolSite { workspace: &mut workspace, read: &mut read, todos: &mut todos, access: &access };
    let input = reenact_wire::json::Json::trusted(format!(r#"{{"file_path":"{root}/large","limit":100}}"#));
    let before = peak();
    let result = super::run(BuiltinTool::Read, &input, &mut site);
    assert!(result.contains("100\\tline 100\\n(cut: the file goes on; read on with offset 101)"), "{result}");
    std::println!("needed {}", peak() - before);
}

#[cfg(target_os = "linux")]
#[test]
fn b_1_a_part_of_a_huge_file_takes_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let lines: String = (1..=2_000).map(|number| format!("line {number}\n")).collect();
    fs::write(folder.path().join("large"), lines).unwrap();
    fs::File::options().write(true).open(folder.path().join("large")).unwrap().set_len(10 << 30).unwrap();
    let arguments = ["--exact", "tests::kept_files::reader", "--nocapture", "--test-threads=1"];
    let output = Command::new(std::env::current_exe().unwrap()).args(arguments).env(LARGE_DIRECTORY, folder.path()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let needed = text.lines().find_map(|line| line.split_once("needed ")?.1.parse::<u64>().ok());
    assert!(needed.is_some_and(|kibibytes| kibibytes < 5 << 10), "{text}");
}

/// No test of its own: the process that is killed.
#[test]
#[expect(clippy::disallowed_methods, reason = "the test starts itself as the process that is killed")]
fn writer() {
    let Ok(directory) = std::env::var(WRITER_DIRECTORY) else { return };
    let mut workspace = DirectoryWorkspace::open(Path::new(&directory)).unwrap();
    let path = format!("{}/file", workspace.working_directory());
    for number in 0.. {
        workspace.write(&path, &content(number)).unwrap();
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a process is killed at instants of the real clock")]
fn b_2_a_killed_writer_leaves_the_old_file_or_the_new_one_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let (mut kills_in_the_middle, mut seen) = (0, 0);
    for number in 0..100_u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "tests::kept_files::writer"])
            .env(WRITER_DIRECTORY, folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // From its first write on: on a slow machine it takes long to begin.
        let own = format!(".reenact-partial-{}-", child.id());
        let has_begun = || {
            fs::read_dir(folder.path()).unwrap().any(|entry| entry.is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with(&own)))
        };
        let since = std::time::Instant::now();
        while !has_begun() && since.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_micros(50));
        }
        std::thread::sleep(Duration::from_micros(number * 37));
        child.kill().unwrap();
        child.wait().unwrap();
        let left = |folder: &Path| {
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()
        };
        kills_in_the_middle += usize::from(left(folder.path()).iter().any(|name| name.starts_with(".reenact-partial-")));
        DirectoryWorkspace::open(folder.path()).unwrap();
        let names = left(folder.path());
        assert!(names.is_empty() || names == ["file"], "{names:?}");
        if let Ok(bytes) = fs::read(folder.path().join("file")) {
            seen += 1;
            let number: usize = String::from_utf8_lossy(&bytes[..8]).parse().unwrap();
            assert!(bytes == content(number), "{number}: half of a file");
        }
    }
    assert!(kills_in_the_middle > 0 && seen > 0, "no kill came in the middle of a write: {kills_in_the_middle}, {seen}");
}

#[test]
fn b_2_a_folder_of_a_living_process_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let partial = folder.path().join(".reenact-partial-1-0");
    fs::create_dir(&partial).unwrap();
    let held = fs::File::open(&partial).unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    DirectoryWorkspace::open(folder.path()).unwrap();
    assert!(partial.exists());
    drop(held);
    DirectoryWorkspace::open(folder.path()).unwrap();
    assert!(!partial.exists());
}

#[test]
fn b_2_permissions_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut workspace = DirectoryWorkspace::open(folder.path()).unwrap();
    let path = format!("{}/script", workspace.working_directory());
    fs::write(&path, "old").unwrap();
    for mode in [0o755, 0o640, 0o600] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        workspace.write(&path, b"new").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
    }
    let new = format!("{}/made", workspace.working_directory());
    workspace.write(&new, b"new").unwrap();
    fs::write(format!("{new}-by-the-system"), "new").unwrap();
    let mode = |path: &str| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&new), mode(&format!("{new}-by-the-system")), "a new file is as the process makes them");
}

#[test]
fn b_1_what_is_no_file_is_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = DirectoryWorkspace::open(folder.path()).unwrap();
    let pipe = format!("{}/pipe", workspace.working_directory());
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let read = |path: &str| workspace.read(path, &mut |_| core::ops::ControlFlow::Continue(()));
    assert_eq!(read(&pipe), Err(FileProblem::Other(String::from("it is no regular file"))), "to wait for a pipe might never end");
    assert_eq!(read(workspace.working_directory()), Err(FileProblem::IsFolder));
}
