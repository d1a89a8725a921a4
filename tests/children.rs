//! Commands that are started end with everything that they started, also when the program that started them is killed (K-13).
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "processes run in real time")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use reenact::children::{
    ChildCommand, ChildExit, ChildSession, ChildSignal, ChildStartError, ChildTerminal, LeftProcesses, SignalTarget, WatchedChild,
    WatcherProgram,
};
use tempfile::TempDir;

const SCENARIO: &str = "[[prompt]]\ntext = \"hi\"\n[[prompt.turn]]\ntext = \"Done.\"\n";

fn wait<R>(work: impl Future<Output = R>) -> R {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(work)
}

fn program() -> WatcherProgram {
    WatcherProgram::from_path(env!("CARGO_BIN_EXE_reenact"))
}

fn shell(text: &str) -> ChildCommand {
    let mut command = ChildCommand::new(["sh", "-c", text].map(OsString::from).to_vec());
    command.streams = [Stdio::null(), Stdio::null(), Stdio::null()];
    command
}

/// A number of seconds that no other test sleeps: by it the processes of a test are found.
fn long() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("600.{}{:03}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// How many processes sleep so long.
fn sleeping(seconds: &str) -> usize {
    let wanted = format!("sleep\0{seconds}\0");
    let entries = std::fs::read_dir("/proc").unwrap();
    entries
        .filter(|entry| std::fs::read(entry.as_ref().unwrap().path().join("cmdline")).is_ok_and(|line| line == wanted.as_bytes()))
        .count()
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

async fn started(command: ChildCommand) -> WatchedChild {
    command.start(&program()).await.unwrap()
}

#[test]
fn k_13_how_a_command_ends_is_told() {
    wait(async {
        for (text, exit) in [("exit 0", ChildExit::Code(0)), ("exit 7", ChildExit::Code(7)), ("kill -9 $$", ChildExit::Signal(9))] {
            let mut child = started(shell(text)).await;
            assert_eq!((child.exited().await.unwrap(), child.exited().await.unwrap()), (exit, exit));
            assert_eq!(child.left().await.unwrap(), LeftProcesses::default());
        }
        let missing = ChildCommand::new(vec![OsString::from("/no/such/program")]).start(&program()).await;
        assert!(matches!(&missing, Err(ChildStartError::Program { program, .. }) if program == "/no/such/program"), "{missing:?}");
        let not_a_watcher = shell("exit 0").start(&WatcherProgram::from_path("/bin/true")).await;
        assert!(matches!(&not_a_watcher, Err(ChildStartError::Watcher(_))), "{not_a_watcher:?}");
        assert!(matches!(ChildCommand::new(Vec::new()).start(&program()).await, Err(ChildStartError::NoCommand)));
    });
}

#[test]
fn k_13_descendants_in_sessions_of_their_own_are_ended() {
    let seconds = long();
    // One in the group, one in a session of its own, one whose parents are all gone.
    let text = format!("sleep {seconds} & setsid sleep {seconds} & (setsid sh -c 'sleep {seconds} & exit' &) ; sleep 0.2");
    let left = wait(async {
        let mut child = started(shell(&text)).await;
        child.exited().await.unwrap();
        child.left().await.unwrap()
    });
    assert_eq!((left.ended.as_slice(), sleeping(&seconds)), (["sleep", "sleep", "sleep"].map(String::from).as_slice(), 0));
    assert_eq!(left.notice().unwrap(), "ended what the command left behind: sleep, sleep, sleep");
}

#[test]
fn k_13_a_process_that_ignores_the_request_to_end_is_killed() {
    let seconds = long();
    let since = Instant::now();
    wait(async {
        let mut child = started(shell(&format!("trap '' TERM HUP; sleep {seconds}; sleep {seconds}"))).await;
        until("it runs", || sleeping(&seconds) == 1);
        child.end();
        assert_eq!(child.exited().await.unwrap(), ChildExit::Signal(9));
        child.left().await.unwrap();
    });
    assert_eq!(sleeping(&seconds), 0);
    assert!(since.elapsed() >= Duration::from_millis(500), "it got no time to end by itself");
}

#[test]
fn k_13_a_process_that_may_stay_stays() {
    let seconds = long();
    let mut command = shell(&format!("setsid sleep {seconds} & sleep 0.2"));
    command.may_stay = vec![String::from("sleep")];
    let left = wait(async {
        let mut child = started(command).await;
        child.exited().await.unwrap();
        child.left().await.unwrap()
    });
    assert_eq!((left.stayed.as_slice(), sleeping(&seconds)), ([String::from("sleep")].as_slice(), 1));
    Command::new("pkill").args(["-f", &format!("sleep {seconds}")]).status().unwrap();
}

#[test]
fn k_13_signals_reach_the_command_or_its_group() {
    for (target, children) in [(SignalTarget::Process, 1), (SignalTarget::Group, 0)] {
        let seconds = long();
        wait(async {
            let mut command = shell(&format!("trap 'exit 5' INT TERM; sleep {seconds} & wait; wait"));
            command.linger = Duration::from_secs(5);
            let mut child = started(command).await;
            until("it runs", || sleeping(&seconds) == 1);
            child.signal(ChildSignal::Terminate, target);
            assert_eq!(child.exited().await.unwrap(), ChildExit::Code(5));
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert_eq!(sleeping(&seconds), children, "{target:?}");
        });
        assert_eq!(sleeping(&seconds), 0, "what was dropped leaves nothing behind");
    }
}

#[test]
fn k_13_a_command_at_a_terminal_keeps_its_session() {
    let session = |session| {
        let mut command = ChildCommand::new(["sh", "-c", "ps -o sid= -p $$"].map(OsString::from).to_vec());
        command.streams = [Stdio::null(), Stdio::piped(), Stdio::null()];
        command.session = session;
        wait(async {
            let mut child = started(command).await;
            let (_, mut output, _) = child.take_streams();
            let mut text = String::new();
            tokio::io::AsyncReadExt::read_to_string(output.as_mut().unwrap(), &mut text).await.unwrap();
            child.left().await.unwrap();
            text.trim().to_owned()
        })
    };
    let ours = Command::new("ps").args(["-o", "sid=", "-p", &std::process::id().to_string()]).output().unwrap();
    let ours = String::from_utf8_lossy(&ours.stdout).trim().to_owned();
    assert_eq!(session(ChildSession::Shared), ours);
    assert_ne!(session(ChildSession::Own), ours);
}

#[test]
fn k_13_a_command_reads_what_it_is_given() {
    let mut command = shell("cat");
    command.streams = [Stdio::piped(), Stdio::piped(), Stdio::null()];
    let text = wait(async {
        let mut child = started(command).await;
        let (input, output, _) = child.take_streams();
        tokio::io::AsyncWriteExt::write_all(&mut input.unwrap(), b"a line").await.unwrap();
        let mut text = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut output.unwrap(), &mut text).await.unwrap();
        child.left().await.unwrap();
        text
    });
    assert_eq!(text, "a line");
}

#[test]
fn k_13_a_command_with_a_terminal_leads_its_session_and_ends_with_all_it_started() {
    let seconds = long();
    let text = format!("test -t 0 && test -t 1 && ps -o tpgid=,pgid=,sid= -p $$; setsid sleep {seconds} & read line; echo \"got $line\"");
    let (shown, left) = wait(async {
        let terminal = ChildTerminal::open().unwrap();
        let mut command = shell(&text);
        command.terminal = Some(terminal.path().into());
        let mut child = started(command).await;
        until("it runs", || sleeping(&seconds) == 1);
        terminal.write(b"hello\r").await.unwrap();
        assert_eq!(child.exited().await.unwrap(), ChildExit::Code(0));
        let left = child.left().await.unwrap();
        let mut shown = Vec::new();
        while let Some(bytes) = terminal.read().await {
            shown.extend(bytes);
        }
        (String::from_utf8(shown).unwrap(), left)
    });
    let ids: Vec<&str> = shown.lines().next().unwrap().split_whitespace().collect();
    assert!(ids.len() == 3 && ids.iter().all(|id| *id == ids[0]), "{shown}");
    assert!(shown.contains("got hello"), "{shown}");
    assert_eq!((left.ended.as_slice(), sleeping(&seconds)), ([String::from("sleep")].as_slice(), 0));
}

/// The folders that runs made in `parent`.
fn folders(parent: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(parent).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect()
}

#[test]
fn k_13_a_killed_program_leaves_no_client_and_no_folder() {
    for command in ["drive x.toml", "serve x.toml", "record --upstream http://127.0.0.1:9 --out x.tape.jsonl"] {
        for signal in ["KILL", "TERM", "INT"] {
            let (folder, seconds) = (TempDir::new().unwrap(), long());
            std::fs::write(folder.path().join("x.toml"), SCENARIO).unwrap();
            // It keeps writing where its folders are, and ignores what it can.
            let text = format!("trap '' TERM; setsid sleep {seconds} & while :; do mkdir -p \"$HOME/a\"; sleep 0.01; done");
            let mut program = Command::new(env!("CARGO_BIN_EXE_reenact"));
            program.args(command.split(' ')).args(["--", "sh", "-c", &text]).current_dir(folder.path()).env("TMPDIR", folder.path());
            program.env("HOME", folder.path().join("home"));
            let mut program = program.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            until("the client runs", || sleeping(&seconds) == 1);
            Command::new("kill").args([&format!("-{signal}"), &program.id().to_string()]).status().unwrap();
            if command.starts_with("record") && signal == "INT" {
                // A recorder passes an interrupt on: the client decides when to end.
                Command::new("kill").args(["-KILL", &program.id().to_string()]).status().unwrap();
            }
            program.wait().unwrap();
            until(&format!("`{command}` was sent SIG{signal}: the client ends"), || sleeping(&seconds) == 0);
            let kept = |folder: &PathBuf| folder.file_name().is_some_and(|name| name != "home");
            until("the folders go", || folders(folder.path()).iter().filter(|folder| kept(folder)).count() == 0);
            std::thread::sleep(Duration::from_millis(300));
            assert_eq!(folders(folder.path()).into_iter().filter(kept).collect::<Vec<_>>(), Vec::<PathBuf>::new());
        }
    }
}
