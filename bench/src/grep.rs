//! `grep`: our Grep over a directory of 100 MB, beside ripgrep's own program.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use reenact::directory::DirectoryWorkspace;
use reenact::engine::permission::path::PathAccess;
use reenact::tools::outcome::text_of;
use reenact::tools::read_state::ReadState;
use reenact::tools::shell_run::CallStep;
use reenact::tools::todo::TodoList;
use reenact::tools::{BuiltinTool, ToolSite};
use reenact::wire::json::Json;

use super::outcome::{BarLimit, ReportLine, TIMES, count, throughput, time};
use super::rounds;

/// So many rounds: each takes a part of a second.
const ROUNDS: usize = 9;

/// So many files.
const FILES: usize = 200;

/// So many bytes each of them has, about.
const FILE_BYTES: usize = 500_000;

/// An expression that is in one line of a hundred files.
const PATTERN: &str = r"needle \d+ of";

pub(crate) fn against_ripgrep() -> Vec<ReportLine> {
    let folder = std::env::temp_dir().join(format!("reenact-bench-grep-{}", std::process::id()));
    fill(&folder);
    let mut grep = Grep::new(&folder);
    let found = grep.run();
    assert_eq!(found.lines().filter(|line| line.starts_with('/')).count(), FILES / 2, "{found:.300}");
    let ripgrep = || {
        let mut command = Command::new("rg");
        command.args(["--count", "--no-config", PATTERN]).arg(&folder).stdout(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let has_ripgrep = ripgrep();
    let rounds = rounds::in_turns_of(
        ROUNDS,
        Duration::from_millis(4),
        [&mut || rounds::used(grep.run()), &mut || rounds::used(has_ripgrep && ripgrep())],
    );
    // What is left of the folder is nobody's loss.
    let _ = fs::remove_dir_all(&folder);
    let speed = ReportLine::Orientation { name: "Grep", figure: throughput(FILES * FILE_BYTES, rounds.median(0)) };
    if !has_ripgrep {
        return vec![ReportLine::NotMeasured { name: "grep", why: String::from("rg is missing: cargo install ripgrep") }, speed];
    }
    let bar = ReportLine::Bar {
        name: "Grep of 100 MB",
        ours: time(rounds.median(0)),
        theirs: format!("rg {}", time(rounds.median(1))),
        figure: rounds.ratio(0, 1),
        unit: TIMES,
        limit: BarLimit::AtMost(1.2),
    };
    vec![bar, speed]
}

/// Files of words, half of them with what is searched for.
fn fill(folder: &Path) {
    for file in 0..FILES {
        let mut text = String::with_capacity(FILE_BYTES + 200);
        let mut line = 0;
        while text.len() < FILE_BYTES {
            line += 1;
            let _ = writeln!(
                text,
                "line {line} of file {file}: some words that are as long as words are, and no end of them {}",
                line * 7919 % 1_000_003
            );
            if file % 2 == 0 && line == 1_000 {
                let _ = writeln!(text, "a needle {file} of the hay");
            }
        }
        let path: PathBuf = folder.join(format!("part{}", file % 10)).join(format!("file{file}.txt"));
        fs::create_dir_all(path.parent().unwrap_or(folder)).expect("there is a folder for temporary files");
        fs::write(path, text).expect("the temporary folder takes files");
    }
}

struct Grep {
    workspace: DirectoryWorkspace,
    access: PathAccess,
    input: Json,
}

impl Grep {
    fn new(folder: &Path) -> Self {
        let workspace = DirectoryWorkspace::open(folder).expect("the folder was made");
        let root = fs::canonicalize(folder).expect("the folder was made").to_string_lossy().into_owned();
        let input = serde_json::json!({ "pattern": PATTERN, "output_mode": "count", "limit": count(FILES) as u64 });
        Self { workspace, access: PathAccess { directories: vec![root.into()], denied: Vec::new() }, input: Json::from_value(&input) }
    }

    fn run(&mut self) -> String {
        let (mut read, mut todos) = (ReadState::default(), TodoList::default());
        let mut site = ToolSite { workspace: &mut self.workspace, read: &mut read, todos: &mut todos, access: &self.access };
        let mut call = BuiltinTool::Grep.call(&self.input).expect("it works on files");
        loop {
            if let CallStep::Done(outcome) = call.step(&mut site) {
                assert!(!outcome.is_error, "{}", text_of(&outcome));
                return text_of(&outcome);
            }
        }
    }
}
