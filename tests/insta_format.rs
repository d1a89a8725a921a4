//! Our snapshot files and insta's are the same: each side reads what the other wrote, byte for byte (V-1).
//!
//! Insta takes its orders from the environment and once per process, so each scene with it is played by this test program itself, started
//! again with a clean environment: the ignored tests below are those scenes. So it does not matter where the tests run, or with which
//! settings (CI=true makes insta write nothing).
#![cfg(feature = "files")]

use reenact::files::snapshot::{Snapshot, SnapshotMetadata, accept, pending_path, write_pending};
use std::path::Path;
use std::process::{Command, Output};

/// Names the folder in which a scene is played.
const FOLDER: &str = "REENACT_SCENE_FOLDER";
const CONTENTS: &str = "0.000s  user    prompt 1\n\n        +0.412  fault   529 \"overloaded\"\n---\n        done";

/// Titles with all that YAML could misread.
const TITLES: &[&str] = &[
    "After three 529s the second model takes over",
    "one: two",
    "quotes \" and ' and \\",
    "tabs\tand\nlines\r\n",
    " spaces around ",
    "#hash",
    "a # b",
    "[list]",
    "{map}",
    "a, b",
    "- item",
    "&anchor",
    "*alias",
    "!tag",
    "%directive",
    "@at",
    "`tick`",
    "? key",
    "| block",
    "> folded",
    "<less",
    "=equals",
    "...",
    ".5",
    "yes",
    "No",
    "NULL",
    "~",
    "~a",
    "true",
    "on",
    "12",
    "-3",
    "1.5",
    "1e3",
    "inf",
    "0x1f",
    "0o17",
    "2025-01-01",
    "é – ü 漢字 🦀",
    "---",
    "\u{1}\u{1f}",
];

#[test]
fn v_1_insta_accepts_what_we_wrote() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("scene.snap");
    std::fs::write(&path, snapshot(TITLES[1], CONTENTS).to_string()).expect("writes the snapshot");
    assert!(play("scene_insta_compares", folder.path(), "no").status.success());
    std::fs::write(&path, snapshot(TITLES[1], &CONTENTS.replace("529", "500")).to_string()).expect("writes another snapshot");
    assert!(!play("scene_insta_compares", folder.path(), "no").status.success(), "insta must see the difference");
}

#[test]
fn v_1_what_insta_wrote_is_read_and_rewritten_byte_for_byte() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    assert!(play("scene_insta_writes_every_title", folder.path(), "always").status.success());
    for (index, title) in TITLES.iter().enumerate() {
        let text = read(&folder.path().join(format!("title_{index}.snap")));
        let read = Snapshot::parse(&text).expect("insta's file is a snapshot");
        assert_eq!(read.metadata.description().as_deref(), Some(*title));
        assert_eq!(read.metadata.source().as_deref(), Some("tests/insta_format.rs"));
        assert_eq!(read.contents(), CONTENTS);
        assert_eq!(read.to_string(), text);
        let ours = Snapshot::new(read.metadata.clone().without("description").with("description", title), CONTENTS);
        assert_eq!(ours.to_string(), text, "we write {title:?} as insta does");
    }
}

#[test]
fn v_1_a_pending_snapshot_of_insta_is_accepted_by_us() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("scene.snap");
    assert!(!play("scene_insta_compares", folder.path(), "new").status.success(), "a new snapshot fails its test");
    let pending = Snapshot::parse(&read(&pending_path(&path))).expect("insta's pending file is a snapshot");
    assert!(pending.metadata.get("assertion_line").is_some());
    let accepted = accept(&path).expect("there is a pending snapshot");
    assert_eq!(accepted.contents(), CONTENTS);
    assert!(play("scene_insta_compares", folder.path(), "no").status.success());
    assert!(play("scene_insta_compares", folder.path(), "force").status.success());
    assert_eq!(read(&path), accepted.to_string(), "insta, made to write again, changes nothing");
}

#[test]
#[ignore = "a scene: started by the tests above"]
fn scene_insta_compares() {
    with_insta(|| insta::assert_snapshot!("scene", CONTENTS));
}

#[test]
#[ignore = "a scene: started by the tests above"]
fn scene_insta_writes_every_title() {
    for (index, title) in TITLES.iter().enumerate() {
        insta::with_settings!({ description => *title }, {
            with_insta(|| insta::assert_snapshot!(format!("title_{index}"), CONTENTS));
        });
    }
}

/// The real program of insta, over a folder that ignores pending files as this checkout does.
#[test]
#[ignore = "needs the cargo-insta program: run `cargo xtask insta`"]
fn v_1_cargo_insta_lists_and_accepts_what_we_left_pending() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::create_dir_all(folder.path().join(".git")).expect("a checkout's mark");
    std::fs::create_dir_all(folder.path().join("src")).expect("a package's folder");
    std::fs::write(folder.path().join("src/lib.rs"), "").expect("writes the package");
    std::fs::write(folder.path().join("Cargo.toml"), "[package]\nname = \"scene\"\n[workspace]\n").expect("writes the package");
    std::fs::write(folder.path().join(".gitignore"), "*.snap.new\n").expect("writes the ignore file");
    let old = folder.path().join("snapshots/retry/changed.snap");
    let new = folder.path().join("snapshots/retry/new.snap");
    write_pending(&old, &snapshot("old", "old contents")).expect("writes");
    accept(&old).expect("accepts");
    write_pending(&old, &snapshot("changed: yes", CONTENTS)).expect("writes");
    write_pending(&new, &snapshot("new", CONTENTS)).expect("writes");

    let listed = cargo_insta(folder.path(), "pending-snapshots");
    assert!(listed.contains("changed.snap") && listed.contains("new.snap"), "cargo insta lists both: {listed}");
    println!("cargo insta lists what we left pending:\n{}", listed.trim_end());

    cargo_insta(folder.path(), "accept");
    for (path, title) in [(&old, "changed: yes"), (&new, "new")] {
        let accepted = Snapshot::parse(&read(path)).expect("what cargo insta accepted is a snapshot");
        assert_eq!(accepted, snapshot(title, CONTENTS));
        assert_eq!(read(path), accepted.to_string(), "cargo insta wrote the bytes that we would write");
        assert!(!pending_path(path).exists(), "nothing is pending any more");
        println!("cargo insta accepted {}: same contents, same bytes as ours", path.file_name().expect("a name").display());
    }
}

fn snapshot(title: &str, contents: &str) -> Snapshot {
    let metadata =
        SnapshotMetadata::default().with("source", "scenarios/retry/a.toml").with("description", title).with("expression", "transcript");
    Snapshot::new(metadata, contents)
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Runs the ignored test `scene` of this program over `folder`, with insta set to `update` and no other settings.
fn play(scene: &str, folder: &Path, update: &str) -> Output {
    let program = std::env::current_exe().expect("this test program");
    let mut command = Command::new(program);
    command.args([scene, "--exact", "--ignored"]);
    clean(&mut command).env(FOLDER, folder).env("INSTA_UPDATE", update);
    let output = command.output().expect("this test program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("running 1 test\n"), "the scene {scene} exists: {text}");
    output
}

/// Runs `cargo insta` as a person would, and returns what it printed.
fn cargo_insta(folder: &Path, command: &str) -> String {
    let mut line = Command::new("cargo");
    clean(&mut line).args(["insta", command]).current_dir(folder);
    let output = line.output().expect("cargo starts");
    let printed = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "cargo insta {command}: {printed}");
    printed
}

/// Takes away what would change how insta behaves.
fn clean(command: &mut Command) -> &mut Command {
    let settings =
        ["CI", "TF_BUILD", "INSTA_UPDATE", "INSTA_FORCE_PASS", "INSTA_FORCE_UPDATE", "INSTA_FORCE_UPDATE_SNAPSHOTS", "INSTA_OUTPUT"];
    let more = ["INSTA_PENDING_DIR", "INSTA_REQUIRE_FULL_MATCH", "INSTA_YAML_BLOCK_STYLE", "INSTA_WORKSPACE_ROOT", "NEXTEST_RUN_ID"];
    settings.iter().chain(&more).fold(command, |command, name| command.env_remove(name))
}

fn with_insta(assertion: impl FnOnce()) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(environment(FOLDER));
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(assertion);
}

#[expect(clippy::disallowed_methods, reason = "a test that starts itself tells the scene its folder this way; it decides nothing of a run")]
fn environment(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: this test is started by another"))
}
