//! Both workspaces side by side: the same calls on the same files give the same results.

mod calls;
mod escapes;
mod kept_files;
mod random_calls;

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use reenact_engine::permission::path::PathAccess;
use reenact_engine::time::Micros;
use reenact_tools::outcome::text_of;
use reenact_tools::read_state::ReadState;
use reenact_tools::shell_run::{CallStep, ShellRun};
use reenact_tools::todo::TodoList;
use reenact_tools::virtual_workspace::VirtualWorkspace;
use reenact_tools::{BuiltinTool, ToolSite, Workspace};
use reenact_wire::json::Json;

use crate::DirectoryWorkspace;

/// A directory, and the same files in memory under the same paths.
pub(crate) struct WorkspacePair {
    _folder: tempfile::TempDir,
    root: String,
    directory: DirectoryWorkspace,
    memory: VirtualWorkspace,
    states: [(ReadState, TodoList); 2],
    clock: i64,
}

impl WorkspacePair {
    /// With these files, the first one the newest.
    pub(crate) fn new(files: &[(&str, &[u8])]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap().into_os_string().into_string().unwrap();
        let directory = DirectoryWorkspace::open(folder.path()).unwrap();
        let memory = VirtualWorkspace::new(&root);
        let mut pair = Self { _folder: folder, root, directory, memory, states: Default::default(), clock: 2_000_000_000 };
        for (index, (path, content)) in files.iter().enumerate() {
            pair.place(path, content, 1_000_000_000 - index as i64);
        }
        pair
    }

    /// Puts a file into both. `seconds` is its time.
    pub(crate) fn place(&mut self, path: &str, content: &[u8], seconds: i64) {
        let whole = format!("{}/{path}", self.root);
        fs::create_dir_all(Path::new(&whole).parent().unwrap()).unwrap();
        fs::write(&whole, content).unwrap();
        set_time(&whole, seconds * 1_000_000);
        self.memory.place(path, content, seconds * 1_000_000);
    }

    /// Whether a file can have this path: nothing on the way is a file, and it is no folder.
    pub(crate) fn can_hold(&self, path: &str) -> bool {
        let whole = Path::new(&self.root).join(path);
        !whole.is_dir() && whole.ancestors().skip(1).all(|above| !above.is_file())
    }

    /// Calls the tool on both.
    pub(crate) fn call(&mut self, tool: BuiltinTool, input: &Json) -> [String; 2] {
        self.clock += 1;
        self.memory.set_clock(self.clock * 1_000_000);
        let access = PathAccess { directories: vec![self.root.as_str().into()], denied: Vec::new() };
        let [(read, todos), (memory_read, memory_todos)] = &mut self.states;
        let input = &Json::trusted(input.as_str().replace("$ROOT", &self.root));
        let directory = run(tool, input, &mut ToolSite { workspace: &mut self.directory, read, todos, access: &access });
        let memory =
            run(tool, input, &mut ToolSite { workspace: &mut self.memory, read: memory_read, todos: memory_todos, access: &access });
        self.share_times();
        [directory, memory]
    }

    /// Runs the command on both.
    pub(crate) fn shell(&mut self, command: &str) -> [String; 2] {
        self.clock += 1;
        self.memory.set_clock(self.clock * 1_000_000);
        let output = std::process::Command::new("sh")
            .args(["-c", command])
            .current_dir(&self.root)
            .env("LC_ALL", "C")
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        let mut run = ShellRun::new(command, Micros::from_secs(30));
        run.print(&String::from_utf8_lossy(&output.stdout));
        run.print_error(&String::from_utf8_lossy(&output.stderr));
        run.code = output.status.code().unwrap_or(-1);
        let directory = run.outcome();
        let mut run = ShellRun::new(command, Micros::from_secs(30));
        let memory = loop {
            if let CallStep::Done(outcome) = self.memory.run_shell(&mut run) {
                break outcome;
            }
        };
        self.share_times();
        [directory, memory].map(|outcome| format!("{}{}", if outcome.is_error { "error: " } else { "" }, text_of(&outcome)))
    }

    /// The files of the directory get the times of those in memory.
    fn share_times(&self) {
        for (path, _) in self.memory.all_files() {
            if let (true, Ok(facts)) = (Path::new(&**path).is_file(), self.memory.facts(path)) {
                set_time(path, facts.modified);
            }
        }
    }

    /// All files with their contents.
    pub(crate) fn files(&self) -> [Vec<(String, Vec<u8>)>; 2] {
        let mut directory = Vec::new();
        let mut folders = vec![Path::new(&self.root).to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
                match entry.file_type().unwrap().is_dir() {
                    true => folders.push(entry.path()),
                    false => directory.push((entry.path().to_str().unwrap().to_owned(), fs::read(entry.path()).unwrap())),
                }
            }
        }
        directory.sort();
        let memory = self.memory.all_files().map(|(path, content)| (path.to_string(), content.to_vec())).collect();
        [directory, memory]
    }
}

/// Carries a call out, and tells its result.
pub(crate) fn run<W: Workspace>(tool: BuiltinTool, input: &Json, site: &mut ToolSite<'_, W>) -> String {
    let mut call = tool.call(input).expect("a tool with files");
    loop {
        if let CallStep::Done(outcome) = call.step(site) {
            return format!("{}{}", if outcome.is_error { "error: " } else { "" }, outcome.content.as_str());
        }
    }
}

fn set_time(path: &str, micros: i64) {
    let time = UNIX_EPOCH + Duration::from_micros(micros.try_into().unwrap());
    File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}
