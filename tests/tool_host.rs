//! The built-in tools for real: commands end with all that they have started, their output costs flat memory, and a sandbox holds (B-5, K-13, P-3).
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "processes run in real time")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use reenact::children::{SandboxSupport, WatcherProgram};
use reenact::engine::contract::{
    Effect, Effects, Engine, FailureCause, Input, ProgressKind, RequestId, Terminal, ToolOutcome, ToolRun, ToolUse,
};
use reenact::engine::permission::{PermissionRule, PermissionWord, RuleSource};
use reenact::engine::settings::Environment;
use reenact::engine::time::Time;
use reenact::files::scenario::from_text;
use reenact::live::driver::{ApiAddress, EngineDriverOptions, RealTools, drive};
use reenact::live::network::MachineNetwork;
use reenact::live::web_fetch::WebFetch;
use reenact::sim::Run;
use reenact::tool_host::{CommandPlacement, ToolHost, ToolHostOptions};
use reenact::tools::BuiltinTool;
use reenact::tools::outcome::text_of;
use reenact::wire::block::ToolInput;
use reenact::wire::json::Json;
use serde_json::{Value, json};
use tempfile::TempDir;

fn wait<R>(work: impl Future<Output = R>) -> R {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(work)
}

fn host(folder: &Path) -> ToolHost {
    placed_host(folder, CommandPlacement::ByCommand)
}

fn placed_host(folder: &Path, placement: CommandPlacement) -> ToolHost {
    let watcher = WatcherProgram::from_path(env!("CARGO_BIN_EXE_reenact"));
    ToolHost::open(ToolHostOptions { directory: folder.into(), directories: Vec::new(), watcher, placement }).unwrap()
}

async fn run(host: &mut ToolHost, tool: BuiltinTool, input: Value) -> ToolOutcome {
    host.call((tool, &Json::from_value(&input)), false, core::future::pending(), |_, _: &str| ()).await
}

async fn bash(host: &mut ToolHost, command: &str) -> ToolOutcome {
    run(host, BuiltinTool::Bash, json!({ "command": command })).await
}

fn shown(outcome: &ToolOutcome) -> String {
    format!("{}{}", if outcome.is_error { "error: " } else { "" }, text_of(outcome))
}

/// A number of seconds that no other test sleeps: by it the processes of a test are found.
fn long() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("700.{}{:03}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// How many processes have this word in their command line.
fn with_word(word: &str) -> usize {
    let has = |path: &Path| {
        std::fs::read(path.join("cmdline")).is_ok_and(|line| line.split(|byte| *byte == 0).any(|part| part == word.as_bytes()))
    };
    std::fs::read_dir("/proc").unwrap().filter(|entry| has(&entry.as_ref().unwrap().path())).count()
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Children in the group, in a session of their own, without parents, and deaf to SIGTERM.
fn stubborn(seconds: &str) -> String {
    format!(
        "trap '' TERM; sleep {seconds} & setsid sleep {seconds} & (setsid sh -c 'trap \"\" TERM; sleep {seconds} & exit' &); echo ready; sleep {seconds}"
    )
}

#[test]
fn b_5_the_result_has_output_errors_exit_code_signal_and_duration() {
    wait(async {
        let folder = TempDir::new().unwrap();
        let mut host = host(folder.path());
        let fine = bash(&mut host, "echo one; echo two >&2").await;
        assert_eq!(shown(&fine), "one\ntwo");
        let facts = fine.structured.unwrap().to_value();
        assert_eq!(facts["exit_code"], 0);
        assert!(facts["duration_ms"].as_u64().unwrap() < 30_000);
        let failed = bash(&mut host, "echo one; exit 3").await;
        assert_eq!((shown(&failed).as_str(), failed.cause), ("error: one\nexit code 3", Some(FailureCause::ExitCode)));
        let killed = bash(&mut host, "kill -9 $$").await;
        assert_eq!(shown(&killed), "error: ended by SIGKILL");
        assert_eq!(killed.structured.unwrap().to_value()["signal"], "SIGKILL");
        let elsewhere = bash(&mut host, "pwd; test -t 0 || cat").await;
        assert_eq!(shown(&elsewhere), folder.path().canonicalize().unwrap().to_str().unwrap(), "its folder, and no input");
        let shell = run(&mut host, BuiltinTool::Bash, json!({ "command": "echo $0", "shell_executable": "/bin/sh" })).await;
        assert_eq!(shown(&shell), "/bin/sh");
        let shell = run(&mut host, BuiltinTool::Bash, json!({ "command": "echo", "shell_executable": "sh" })).await;
        assert_eq!(shown(&shell), "error: shell_executable: sh is not an absolute path");
        let shell = run(&mut host, BuiltinTool::Bash, json!({ "command": "echo", "shell_executable": "/no/shell" })).await;
        assert!(shown(&shell).starts_with("error: /no/shell: No such file or directory (os error 2)"), "{}", shown(&shell));
    });
}

#[test]
fn k_13_a_command_that_ends_by_time_or_by_a_stop_leaves_nothing_running() {
    wait(async {
        let folder = TempDir::new().unwrap();
        let mut host = host(folder.path());
        let seconds = long();
        let input = json!({ "command": stubborn(&seconds), "timeout": 700 });
        let timed_out = run(&mut host, BuiltinTool::Bash, input).await;
        assert_eq!(shown(&timed_out), "error: ready\n(ended after 0.7 s, which is its timeout)");
        assert_eq!(timed_out.cause, Some(FailureCause::TimedOut));
        assert_eq!(with_word(&seconds), 0, "after the timeout");

        let seconds = long();
        let input = Json::from_value(&json!({ "command": stubborn(&seconds) }));
        let (ready, stop) = (tokio::sync::Notify::new(), tokio::sync::Notify::new());
        let mut progress = |_, _: &str| ready.notify_one();
        let running = host.call((BuiltinTool::Bash, &input), false, stop.notified(), &mut progress);
        let stopping = async {
            ready.notified().await;
            until("its children run", || with_word(&seconds) == 4);
            stop.notify_one();
        };
        let (stopped, ()) = tokio::join!(running, stopping);
        assert_eq!(shown(&stopped), "error: stopped");
        assert_eq!(with_word(&seconds), 0, "after the stop");

        let seconds = long();
        let left = bash(&mut host, &format!("setsid sleep {seconds} & echo done")).await;
        assert_eq!(shown(&left), "done\n(ended what the command left behind: sleep)");
        assert_eq!(with_word(&seconds), 0, "after its own end");

        let seconds = long();
        let input = Json::from_value(&json!({ "command": stubborn(&seconds) }));
        let mut progress = |_, _: &str| ready.notify_one();
        let running = host.call((BuiltinTool::Bash, &input), false, core::future::pending(), &mut progress);
        tokio::select! {
            _ = running => panic!("it does not end by itself"),
            () = ready.notified() => (),
        }
        assert_eq!(with_word(&seconds), 0, "after its call was dropped");
    });
}

/// Not a test by itself: it runs a command until it is killed.
#[test]
#[ignore = "started by another test"]
fn host_that_is_killed() {
    let (folder, seconds) = (std::env::var_os("HOST_FOLDER").unwrap(), std::env::var("HOST_SECONDS").unwrap());
    wait(async {
        let mut host = host(Path::new(&folder));
        let in_background = json!({ "command": stubborn(&seconds), "run_in_background": true });
        run(&mut host, BuiltinTool::Bash, in_background).await;
        bash(&mut host, &stubborn(&seconds)).await;
    });
}

#[test]
fn k_13_a_killed_host_leaves_nothing_running() {
    let (folder, seconds) = (TempDir::new().unwrap(), long());
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["--exact", "host_that_is_killed", "--ignored"]).env("HOST_FOLDER", folder.path()).env("HOST_SECONDS", &seconds);
    let mut program = program.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("all of both commands run", || with_word(&seconds) == 8);
    program.kill().unwrap();
    program.wait().unwrap();
    until("nothing is left", || with_word(&seconds) == 0);
}

#[test]
fn b_5_a_gigabyte_of_output_costs_flat_memory() {
    wait(async {
        let folder = TempDir::new().unwrap();
        let mut host = host(folder.path());
        let before = resident();
        let mut told = 0;
        let mut peak = 0;
        let input = Json::from_value(&json!({ "command": "head -c 1000000000 /dev/zero | tr '\\0' x; echo end >&2", "timeout": 300_000 }));
        let mut progress = |_, text: &str| {
            told += text.len();
            peak = peak.max(resident());
        };
        let outcome = host.call((BuiltinTool::Bash, &input), false, core::future::pending(), &mut progress).await;
        let peak = peak.max(resident());
        let text = shown(&outcome);
        assert!(
            text.starts_with("xxx") && text.ends_with("(cut: the rest of more than 1 MiB is left out)\nend"),
            "{}",
            &text[text.len() - 80..]
        );
        assert!(text.len() < (1 << 20) + 200 && told < (1 << 20) + 200, "{} bytes of result, {told} of progress", text.len());
        assert!(peak < before + (16 << 20), "from {before} to {peak} bytes");
    });
}

/// The memory of this process, in bytes.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4_096
}

#[test]
fn b_5_progress_comes_while_the_command_runs_and_by_stream() {
    wait(async {
        let folder = TempDir::new().unwrap();
        let mut host = host(folder.path());
        let mut told = Vec::new();
        let input = Json::from_value(&json!({ "command": "echo one; sleep 0.2; echo two >&2; sleep 0.2; printf 'ä'" }));
        let mut progress = |kind: ProgressKind, text: &str| told.push((kind, text.to_owned()));
        let outcome = host.call((BuiltinTool::Bash, &input), false, core::future::pending(), &mut progress).await;
        assert_eq!(shown(&outcome), "one\nä\ntwo");
        let expected = [(ProgressKind::Stdout, "one\n"), (ProgressKind::Stderr, "two\n"), (ProgressKind::Stdout, "ä")];
        assert_eq!(told, expected.map(|(kind, text)| (kind, text.to_owned())));
    });
}

#[test]
fn b_5_a_command_in_the_background_is_read_later_and_ends_with_the_session() {
    wait(async {
        let folder = TempDir::new().unwrap();
        let mut host = host(folder.path());
        let seconds = long();
        let started = run(
            &mut host,
            BuiltinTool::Bash,
            json!({ "command": format!("echo one; sleep 0.3; echo two; sleep {seconds}"), "run_in_background": true }),
        );
        assert_eq!(shown(&started.await), "The command runs in the background as bash_1. Read its output with BashOutput.");
        let mut read = async |kill| shown(&run(&mut host, BuiltinTool::BashOutput, json!({ "bash_id": "bash_1", "kill": kill })).await);
        tokio::time::sleep(Duration::from_millis(150)).await;
        assert_eq!(read(false).await, "one\n(running)");
        tokio::time::sleep(Duration::from_millis(600)).await;
        assert_eq!(read(false).await, "two\n(running)");
        assert_eq!(read(false).await, "(running)");
        assert_eq!(read(true).await, "(ended)");
        assert_eq!(with_word(&seconds), 0);
        let unknown = run(&mut host, BuiltinTool::BashOutput, json!({ "bash_id": "bash_9" })).await;
        assert_eq!(shown(&unknown), "error: no command in the background is called bash_9; known: bash_1");
        let quick = run(&mut host, BuiltinTool::Bash, json!({ "command": "echo x; exit 4", "run_in_background": true })).await;
        assert!(shown(&quick).contains("bash_2"));
        tokio::time::sleep(Duration::from_millis(900)).await;
        let ended = shown(&run(&mut host, BuiltinTool::BashOutput, json!({ "bash_id": "bash_2" })).await);
        assert!(ended.starts_with("x\n(ended: ") && ended.contains("\"exit_code\":4"), "{ended}");

        let seconds = long();
        run(&mut host, BuiltinTool::Bash, json!({ "command": stubborn(&seconds), "run_in_background": true })).await;
        until("it runs", || with_word(&seconds) == 4);
        drop(host);
        tokio::time::sleep(Duration::from_millis(100)).await;
        until("the session is over", || with_word(&seconds) == 0);
    });
}

/// Whether a helper of this user gets a mount namespace of its own: as root, or in a user namespace.
fn has_mount_namespace() -> bool {
    let makes =
        |options: &str| std::process::Command::new("unshare").args([options, "true"]).output().is_ok_and(|made| made.status.success());
    makes("-m") || makes("-Urm")
}

#[test]
fn p_3_a_sandbox_lets_commands_write_in_their_folder_alone_and_reach_no_network() {
    if SandboxSupport::of_system() != SandboxSupport::Full {
        eprintln!("SKIPPED: this system has no whole sandbox, so nothing was tried");
        return;
    }
    let (folder, outside) = (TempDir::new().unwrap(), TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap());
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let at = outside.path().display().to_string();
    std::fs::write(outside.path().join("there"), "kept").unwrap();
    wait(async {
        let mut host = placed_host(folder.path(), CommandPlacement::AlwaysSandbox);
        let inside = bash(&mut host, "echo one > a && mkdir b && mv a b/c && ln -s c b/d && cat b/d && rm b/d && echo x > /dev/null && date > $TMPDIR/x && cat /etc/hostname > /dev/null").await;
        assert_eq!(shown(&inside), "one");
        let mut tries = vec![
            format!("echo x > {at}/new"),
            format!("echo x >> {at}/there"),
            format!("rm {at}/there"),
            format!("mv {at}/there {at}/away"),
            format!("mkdir {at}/new"),
            format!("ln -s {at} b/out && echo x > b/out/new"),
            format!("ln {at}/there b/hard && echo x > b/hard"),
            format!("setsid sh -c 'echo x > {at}/new'"),
            format!("cd / && nohup sh -c 'rm -rf {at}/there' &"),
            format!("cp b/c {at}/new"),
            String::from("echo x > /tmp/reenact-not-allowed"),
        ];
        let of_metadata = [
            format!("chmod 777 {at}/there"),
            format!("touch -d 2001-01-01 {at}/there"),
            format!("ln -sf {at}/there b/link && chmod 777 b/link && touch -d 2001-01-01 b/link"),
        ];
        if has_mount_namespace() {
            tries.extend(of_metadata);
        } else {
            eprintln!("SKIPPED: this system gives no mount namespace, without which permissions and times of files outside are not held");
        }
        let facts = || {
            let facts = std::fs::metadata(outside.path().join("there")).unwrap();
            (facts.permissions(), facts.modified().unwrap())
        };
        let before = facts();
        for text in &tries {
            let outcome = bash(&mut host, text).await;
            assert!(outcome.is_error || text.ends_with('&'), "{text}: {}", shown(&outcome));
            assert_eq!(std::fs::read_to_string(outside.path().join("there")).unwrap(), "kept", "{text}");
            assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1, "{text}");
            assert_eq!(facts(), before, "{text}");
        }
        let connect = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo open");
        let of = async |host: &mut ToolHost| {
            shown(&run(host, BuiltinTool::Bash, json!({ "command": connect, "shell_executable": "/bin/bash" })).await)
        };
        let refused = of(&mut host).await;
        assert!(refused.contains("Permission denied"), "{refused}");
        // The same without a sandbox: the tries are real ones.
        let mut free = placed_host(folder.path(), CommandPlacement::ByCommand);
        assert_eq!(of(&mut free).await, "open", "what is not known reaches the network only outside");
    });
}

#[test]
fn p_3_a_command_in_a_sandbox_cannot_reach_its_watcher() {
    if SandboxSupport::of_system() != SandboxSupport::Full {
        eprintln!("SKIPPED: this system has no whole sandbox, so nothing was tried");
        return;
    }
    wait(async {
        let folder = TempDir::new().unwrap();
        let mut host = placed_host(folder.path(), CommandPlacement::AlwaysSandbox);
        for signal in ["KILL", "STOP"] {
            let seconds = long();
            let command = format!("setsid sleep {seconds} & kill -{signal} $PPID && echo reached; sleep {seconds}");
            let input = json!({ "command": command, "timeout": 700 });
            let outcome = run(&mut host, BuiltinTool::Bash, input).await;
            assert_eq!(outcome.cause, Some(FailureCause::TimedOut), "{signal}: {}", shown(&outcome));
            assert!(!shown(&outcome).contains("reached"), "{}", shown(&outcome));
            assert_eq!(with_word(&seconds), 0, "{signal}");
        }
    });
}

#[test]
fn p_3_the_place_is_said_by_the_input_or_by_the_command() {
    if SandboxSupport::of_system() == SandboxSupport::None {
        eprintln!("SKIPPED: this system has no sandbox, so nothing was tried");
        return;
    }
    let (folder, outside) = (TempDir::new().unwrap(), TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap());
    wait(async {
        let mut host = host(folder.path());
        let write = |name: &str| {
            format!(
                "python3 -c \"open('{}/{name}', 'w')\" 2> /dev/null || sh -c ': > {}/{name}'",
                outside.path().display(),
                outside.path().display()
            )
        };
        let said = run(&mut host, BuiltinTool::Bash, json!({ "command": write("a"), "sandbox": true })).await;
        assert!(said.is_error, "{}", shown(&said));
        let said = run(&mut host, BuiltinTool::Bash, json!({ "command": write("b"), "sandbox": false })).await;
        assert!(!said.is_error, "{}", shown(&said));
        assert!(!outside.path().join("a").exists() && outside.path().join("b").exists());
    });
}

#[test]
fn p_2_and_p_4_the_host_asks_before_it_runs() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("a"), "one\n").unwrap();
    wait(async {
        let mut host = host(folder.path());
        let check = async |tool, input: Value| host.check(tool, &Json::from_value(&input)).await;
        assert_eq!(check(BuiltinTool::Bash, json!({ "command": "rm a" })).await.permission, Some(PermissionWord::Ask));
        assert_eq!(check(BuiltinTool::Bash, json!({ "command": "git log" })).await.permission, None);
        let outside = check(BuiltinTool::Read, json!({ "file_path": "/etc/hostname" })).await;
        assert_eq!((outside.permission, outside.is_about_path), (Some(PermissionWord::Ask), true));
        assert_eq!(check(BuiltinTool::Read, json!({ "file_path": "/etc/passwd" })).await.permission, Some(PermissionWord::Deny));
        let unread = check(BuiltinTool::Edit, json!({ "file_path": "a", "old_string": "one", "new_string": "two" })).await;
        assert!(unread.problem.unwrap().ends_with("the file was not read; read it first"));
        let refused = run(&mut host, BuiltinTool::Read, json!({ "file_path": "/etc/hostname" })).await;
        assert!(shown(&refused).contains("nobody has agreed to it"), "{}", shown(&refused));
        let path = json!({ "file_path": "/etc/hostname" });
        let agreed = host.call((BuiltinTool::Read, &Json::from_value(&path)), true, core::future::pending(), |_, _: &str| ()).await;
        assert!(!agreed.is_error, "{}", shown(&agreed));
        run(&mut host, BuiltinTool::Read, json!({ "file_path": "a" })).await;
        let edited = run(&mut host, BuiltinTool::Edit, json!({ "file_path": "a", "old_string": "one", "new_string": "two" })).await;
        assert!(!edited.is_error, "{}", shown(&edited));
        assert_eq!(shown(&bash(&mut host, "cat a").await), "two");
    });
}

#[test]
fn b_5_commands_get_no_key_of_the_user() {
    let folder = TempDir::new().unwrap();
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["--exact", "host_that_shows_its_environment", "--ignored"]).env("HOST_FOLDER", folder.path());
    program.env("ANTHROPIC_API_KEY", "sk-secret").env("ANTHROPIC_AUTH_TOKEN", "secret").env("OTHER", "shown");
    assert!(program.stdout(Stdio::null()).status().unwrap().success());
    let shown = std::fs::read_to_string(folder.path().join("environment")).unwrap();
    assert!(shown.contains("OTHER=shown") && !shown.contains("secret"), "{shown}");
}

/// Not a test by itself: it writes the environment of a command.
#[test]
#[ignore = "started by another test"]
fn host_that_shows_its_environment() {
    let folder = std::env::var_os("HOST_FOLDER").unwrap();
    wait(async { assert!(!bash(&mut host(Path::new(&folder)), "env > environment").await.is_error) });
}

/// An engine that asks nobody: it starts one tool with each prompt.
#[derive(Clone, Debug, PartialEq)]
struct AskNobody {
    tool: &'static str,
    input: &'static str,
}

impl Engine for AskNobody {
    fn step(&mut self, _: &Environment, _: Time, input: &Input, effects: &mut Effects) {
        match input {
            Input::Prompt { prompt, .. } => {
                let run = ToolRun { request: RequestId { prompt: *prompt, turn: 1, attempt: 1 }, index: 0 };
                let input = ToolInput::Valid(Json::trusted(self.input));
                let tool_use = Arc::new(ToolUse { id: "toolu_1".into(), name: self.tool.into(), input });
                effects.push(Effect::StartTool { run, tool_use });
            }
            Input::ToolEnded { run, .. } => {
                effects.push(Effect::Finished { prompt: run.request.prompt, terminal: Terminal::Completed });
            }
            _ => (),
        }
    }
}

#[test]
fn p_4_a_path_outside_is_used_only_if_somebody_agreed_whatever_the_engine_does() {
    let folder = TempDir::new().unwrap();
    let text = "tools = [\"Read\"]\n[[prompt]]\ntext = \"hi\"\n[[prompt.turn]]\ntext = \"hi\"\nmay = true\n";
    let setup = from_text("s.toml", text, &[]).unwrap();
    let read = |input: &'static str, rules: Vec<PermissionRule>| {
        wait(async {
            let run = Run::new(setup.clone(), AskNobody { tool: "Read", input }).with_log().without_oracles();
            let tools = RealTools { host: host(folder.path()), asker: None, web: WebFetch::default(), rules };
            let options = EngineDriverOptions { tools: Some(tools), ..EngineDriverOptions::default() };
            let upstream = ApiAddress::read("http://127.0.0.1:9", "", None).unwrap();
            let report = drive(run, MachineNetwork, upstream, options, core::future::pending()).await.unwrap();
            report.log.unwrap().as_str().to_owned()
        })
    };
    let outside = r#"{"file_path":"/etc/hostname"}"#;
    assert!(read(outside, Vec::new()).contains("nobody has agreed to it"));
    let rule = |about: &str| PermissionRule { word: PermissionWord::Allow, about: about.into(), source: RuleSource::User };
    assert!(!read(outside, vec![rule("Read(/etc/*)")]).contains("nobody has agreed to it"));
    assert!(read(outside, vec![rule("Read(/usr/*)")]).contains("nobody has agreed to it"));
    assert!(read(r#"{"file_path":"/etc/passwd"}"#, vec![rule("Read")]).contains("never to be read or written"));
}
