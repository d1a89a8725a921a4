//! Paths that lead elsewhere (P-4): each is refused or asked about, also while another process changes them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use reenact_engine::permission::PermissionWord;
use reenact_engine::permission::path::PathAccess;
use reenact_tools::read_state::ReadState;
use reenact_tools::todo::TodoList;
use reenact_tools::{BuiltinTool, ToolSite};
use reenact_wire::json::Json;
use serde_json::json;

use super::run;
use crate::DirectoryWorkspace;

/// A working directory beside a folder with a secret.
struct Surroundings {
    folder: tempfile::TempDir,
}

const SECRET: &str = "the secret";

impl Surroundings {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for path in ["in/src", "outside", "inside", "in/.ssh"] {
            fs::create_dir_all(folder.path().join(path)).unwrap();
        }
        for path in ["outside/secret", "inside/secret", "in/.ssh/id_rsa"] {
            fs::write(folder.path().join(path), SECRET).unwrap();
        }
        fs::write(folder.path().join("in/src/a"), "inside").unwrap();
        Self { folder }
    }

    fn root(&self) -> String {
        fs::canonicalize(self.folder.path()).unwrap().join("in").into_os_string().into_string().unwrap()
    }

    fn above(&self) -> String {
        self.root().trim_end_matches("/in").to_owned()
    }

    fn secrets(&self) -> Vec<String> {
        ["outside/secret", "inside/secret", "in/.ssh/id_rsa"]
            .map(|path| fs::read_to_string(self.folder.path().join(path)).unwrap_or_default())
            .to_vec()
    }
}

/// The word of the check about the path, and the result of a call without any agreement.
fn outcome(root: &str, tool: BuiltinTool, path: &str) -> (Option<PermissionWord>, String) {
    let mut workspace = DirectoryWorkspace::open(Path::new(root)).unwrap();
    let (mut read, mut todos) = (ReadState::default(), TodoList::default());
    let access = PathAccess { directories: vec![root.into()], denied: Vec::new() };
    let mut site = ToolSite { workspace: &mut workspace, read: &mut read, todos: &mut todos, access: &access };
    let key = if matches!(tool, BuiltinTool::Grep | BuiltinTool::Glob) { "path" } else { "file_path" };
    let input = Json::from_value(
        &json!({ key: path, "content": "overwritten", "pattern": if tool == BuiltinTool::Glob { "**" } else { "secret" } }),
    );
    let check = tool.check(&input, &site);
    (check.permission, run(tool, &input, &mut site))
}

/// Links of the working directory, with their targets.
fn links(root: &str, above: &str) -> [(&'static str, String); 16] {
    [
        ("link", format!("{above}/outside")),
        ("relative", String::from("../outside")),
        ("file-link", format!("{above}/outside/secret")),
        ("root", String::from("/")),
        ("process", String::from("/proc/self/root")),
        ("cwd", String::from("/proc/self/cwd/../../outside")),
        ("two", String::from("link")),
        ("src/up", String::from("../..")),
        ("src/key", String::from("../.ssh/id_rsa")),
        ("keys", String::from(".ssh")),
        ("dangling", format!("{above}/outside/new")),
        ("dangling-two", String::from("dangling")),
        ("password", String::from("/etc/passwd")),
        ("loop", String::from("loop")),
        ("shop", format!("{root}side")),
        ("dotted", format!("{root}/src/../../outside")),
    ]
}

/// Paths that lead outside, or to what is denied.
fn escape_paths(root: &str, above: &str) -> Vec<String> {
    [
        "../outside/secret",
        "../outside/new",
        "..",
        "../inside/secret",
        "../in/../outside/secret",
        "src/../../outside/secret",
        "src/../../../../../../etc/passwd",
        "./../outside/secret",
        "//../outside/secret",
        "../../../../../../../../etc/shadow",
        "link/secret",
        "link",
        "link/new",
        "link/deep/new",
        "link/../outside/secret",
        "relative/secret",
        "relative/new",
        "file-link",
        "root/etc/passwd",
        "root/etc/hostname",
        "process/etc/passwd",
        "process/etc/hostname",
        "cwd/secret",
        "two/secret",
        "src/up/outside/secret",
        "src/up/outside/new",
        "src/key",
        "keys/id_rsa",
        ".ssh/id_rsa",
        ".ssh/ID_RSA.",
        ".SSH/id_rsa",
        "dangling",
        "dangling-two",
        "password",
        "loop",
        "loop/x",
        "shop/secret",
        "dotted/secret",
        "hard",
        "src/../link/secret",
        "src/up/in/../outside/secret",
        "two/../secret",
    ]
    .map(|path| format!("{root}/{path}"))
    .into_iter()
    .chain(
        [
            "/etc/passwd",
            "/etc/./passwd",
            "//etc//passwd",
            "/etc/../etc/passwd",
            "/ETC/PASSWD",
            "/etc/passwd.",
            "/etc/shadow",
            "/proc/self/root/etc/passwd",
            "/proc/self/cwd/../../Cargo.toml",
            "/proc/self/environ",
            "/dev/stdin",
            "/root/.ssh/id_rsa",
            "/users/u/.ssh/id_ed25519",
            "../outside/secret",
            "~/.ssh/id_rsa.",
        ]
        .map(String::from),
    )
    .chain([format!("{above}/outside/secret"), format!("{root}side/secret"), format!("{above}/in/../inside/secret")])
    .collect()
}

#[test]
fn p_4_paths_that_lead_outside_are_refused_or_asked_about() {
    let place = Surroundings::new();
    let (root, above) = (place.root(), place.above());
    let at = |path: &str| Path::new(&root).join(path);
    for (name, target) in &links(&root, &above) {
        symlink(target, at(name)).unwrap();
    }
    fs::hard_link(format!("{above}/outside/secret"), at("hard")).unwrap();
    let paths = escape_paths(&root, &above);
    assert!(paths.len() >= 60, "{}", paths.len());
    for path in &paths {
        for tool in [BuiltinTool::Read, BuiltinTool::Write, BuiltinTool::Grep] {
            let (word, given) = outcome(&root, tool, path);
            let is_stopped = matches!(word, Some(PermissionWord::Ask | PermissionWord::Deny));
            // A relative path is meant from the working directory, and a tilde is a name.
            let is_inside = path.starts_with('~');
            assert!(is_stopped || is_inside, "{} {path}: {word:?}", tool.as_str());
            // A second name is only asked about: to read it is as much as was asked for.
            if !path.ends_with("/hard") && !is_inside {
                assert!(given.starts_with("error: ") && !given.contains(SECRET), "{} {path}: {given}", tool.as_str());
            }
        }
    }
    fs::remove_file(at("hard")).unwrap();
    assert!(place.secrets().iter().all(|secret| secret == SECRET), "{:?}", place.secrets());
    let (word, given) = outcome(&root, BuiltinTool::Read, &format!("{root}/src/a"));
    assert_eq!((word, given.as_str()), (None, "\"1\\tinside\""), "what lies inside is read unasked");
}

#[test]
fn p_4_an_agreed_path_is_used_and_no_other() {
    let place = Surroundings::new();
    let (root, above) = (place.root(), place.above());
    let mut workspace = DirectoryWorkspace::open(Path::new(&root)).unwrap();
    let (mut read, mut todos) = (ReadState::default(), TodoList::default());
    let access = PathAccess { directories: vec![root.as_str().into()], denied: Vec::new() };
    let mut site = ToolSite { workspace: &mut workspace, read: &mut read, todos: &mut todos, access: &access };
    let link = format!("{root}/link");
    let agreed = format!("{above}/outside/secret");
    symlink(&agreed, &link).unwrap();
    let mut with_agreement = |path: &str| {
        let input = Json::from_value(&json!({ "file_path": path }));
        let mut call = BuiltinTool::Read.call(&input).unwrap().with_agreed_path(&agreed);
        call.step(&mut site);
        format!("{:?}", call.step(&mut site))
    };
    assert!(with_agreement(&link).contains(SECRET));
    fs::remove_file(&link).unwrap();
    symlink(format!("{above}/inside/secret"), &link).unwrap();
    let other = with_agreement(&link);
    assert!(!other.contains("1\\tthe secret") && other.contains("nobody has agreed"), "{other}");
}

/// Ends the race when it is dropped.
#[cfg(target_os = "linux")]
struct RaceEnd<'a>(&'a AtomicBool);

#[cfg(target_os = "linux")]
impl Drop for RaceEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Another process swaps a folder of the working directory for a link to the outside, over and over.
#[cfg(target_os = "linux")]
#[test]
fn p_4_a_path_that_is_swapped_while_it_is_used_never_leads_outside() {
    const TRIES: usize = 2_500;
    let place = Surroundings::new();
    let (root, above) = (place.root(), place.above());
    fs::write(format!("{root}/src/secret"), "inside").unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let at = |name: &str| Path::new(&root).join(name);
            // A relative link: an absolute one may be refused because it leaves the file system.
            symlink("../outside", at("evil")).unwrap();
            let top = rustix::fs::CWD;
            while !is_over.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(top, at("src"), top, at("evil"), rustix::fs::RenameFlags::EXCHANGE).unwrap();
            }
        });
        // Also when an assertion fails: or the other thread would never end.
        let _end = RaceEnd(&is_over);
        let (mut inside, mut stopped) = (0, 0);
        let mut workspace = DirectoryWorkspace::open(Path::new(&root)).unwrap();
        let access = PathAccess { directories: vec![root.as_str().into()], denied: Vec::new() };
        for number in 0..TRIES {
            let (mut read, mut todos) = (ReadState::default(), TodoList::default());
            let mut site = ToolSite { workspace: &mut workspace, read: &mut read, todos: &mut todos, access: &access };
            for tool in [BuiltinTool::Read, BuiltinTool::Write, BuiltinTool::Grep, BuiltinTool::Glob] {
                let path = match tool {
                    BuiltinTool::Write => format!("{root}/src/new-{number}"),
                    BuiltinTool::Glob => format!("{root}/src"),
                    _ => format!("{root}/src/secret"),
                };
                let key = if matches!(tool, BuiltinTool::Grep | BuiltinTool::Glob) { "path" } else { "file_path" };
                let pattern = if tool == BuiltinTool::Glob { "**" } else { "e" };
                let input = Json::from_value(&json!({ key: path, "content": "new", "pattern": pattern, "output_mode": "content" }));
                let given = run(tool, &input, &mut site);
                assert!(!given.contains(SECRET), "{} {given}", tool.as_str());
                if given.starts_with("error: ") { stopped += 1 } else { inside += 1 }
            }
        }
        assert!(inside > 0 && stopped > 0, "the race was no race: {inside} inside, {stopped} stopped");
    });
    let outside: Vec<_> = fs::read_dir(format!("{above}/outside")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(outside, ["secret"], "nothing was made outside");
    assert!(place.secrets().iter().all(|secret| secret == SECRET));
}
