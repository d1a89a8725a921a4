//! `doctor`: many stored sessions found, read and judged.

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::{Duration, SystemTime};

use reenact::review::doctor::{ExamineOptions, examine};

use super::outcome::{BarLimit, MEGABYTES_A_SECOND, ReportLine, count, throughput};
use super::rounds;

/// So many sessions.
const SESSIONS: usize = 300;

/// So long is each, at least.
const SESSION_BYTES: usize = 1_000_000;

/// Fewer than usual: each takes a second.
const ROUNDS: usize = 5;

/// The bar is for two cores.
const THREADS: NonZeroUsize = NonZeroUsize::new(2).expect("two are not none");

pub(crate) fn sessions() -> Vec<ReportLine> {
    let folder = std::env::temp_dir().join(format!("reenact-bench-doctor-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("there is a folder for temporary files");
    let bytes = write_sessions(&folder);
    let options = ExamineOptions { format: None, threads: THREADS, now: SystemTime::UNIX_EPOCH + Duration::from_secs(4_000_000_000) };
    let paths = [folder.clone()];
    let broken = examine(&paths, &options).broken().count();
    assert_eq!(broken, SESSIONS / 10, "every tenth session is broken");
    let rounds = rounds::in_turns_of(ROUNDS, Duration::from_millis(4), [&mut || rounds::used(examine(&paths, &options))]);
    // What is left of the folder is nobody's loss.
    let _ = std::fs::remove_dir_all(&folder);
    let took = rounds.median(0);
    vec![ReportLine::Bar {
        name: "doctor of 300 sessions of 1 MB",
        ours: throughput(bytes, took),
        theirs: String::from("two threads"),
        figure: count(bytes) / took * 1e3,
        unit: MEGABYTES_A_SECOND,
        limit: BarLimit::AtLeast(300.0),
    }]
}

/// Writes the sessions, half of them of Claude Code and half of pi; returns how many bytes they have.
fn write_sessions(folder: &Path) -> usize {
    let mut bytes = 0;
    for number in 0..SESSIONS {
        let is_broken = number % 10 == 3;
        let text = if number % 2 == 0 { claude(is_broken) } else { pi(is_broken) };
        bytes += text.len();
        std::fs::write(folder.join(format!("{number}.jsonl")), text).expect("the temporary folder takes files");
    }
    bytes
}

/// The id of the last line of the turn before, as JSON: the first line has none before it.
fn line_before(turn: usize) -> String {
    turn.checked_sub(1).map_or_else(|| String::from("null"), |before| quoted(&format!("c{before}")))
}

fn quoted(id: &str) -> String {
    format!("\"{id}\"")
}

/// The output of a tool, between one and twenty thousand bytes, as JSON has it.
fn output(turn: usize) -> String {
    let lines = 15 + turn * 7919 % 285;
    (0..lines).map(|line| format!(r#"{line:>5}\tlet value = map.get(\"key {turn}\").unwrap_or_default(); // é\n"#)).collect()
}

fn claude(is_broken: bool) -> String {
    let mut text = String::new();
    let mut turn = 0_usize;
    while text.len() < SESSION_BYTES {
        let head = |id: &str, parent: &str| {
            format!(
                r#""parentUuid":{parent},"isSidechain":false,"userType":"external","cwd":"/w","sessionId":"s","version":"2.1.38","gitBranch":"main","uuid":"{id}","timestamp":"2026-02-10T21:11:56.846Z""#
            )
        };
        let (ask, call, result) = (format!("a{turn}"), format!("b{turn}"), format!("c{turn}"));
        let parent = line_before(turn);
        let output = output(turn);
        let _ = writeln!(text, r#"{{{},"type":"user","message":{{"role":"user","content":"Look at {turn}."}}}}"#, head(&ask, &parent));
        let _ = writeln!(
            text,
            r#"{{{},"type":"assistant","message":{{"model":"m","id":"msg_{turn}","type":"message","role":"assistant","content":[{{"type":"tool_use","id":"toolu_{turn}","name":"Bash","input":{{"command":"cat {turn}"}}}}],"stop_reason":null,"usage":{{"input_tokens":3,"output_tokens":9}}}}}}"#,
            head(&call, &quoted(&ask))
        );
        let is_lost = is_broken && turn == 5;
        let content = if is_lost {
            String::from(r#"{"type":"text","text":"Stop."}"#)
        } else {
            format!(r#"{{"tool_use_id":"toolu_{turn}","type":"tool_result","content":"{output}"}}"#)
        };
        let _ = writeln!(
            text,
            r#"{{{},"type":"user","message":{{"role":"user","content":[{content}]}},"toolUseResult":{{"stdout":"{output}","stderr":"","interrupted":false}}}}"#,
            head(&result, &quoted(&call))
        );
        turn += 1;
    }
    text
}

fn pi(is_broken: bool) -> String {
    let mut text = String::from("{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"cwd\":\"/w\"}\n");
    let mut turn = 0_usize;
    while text.len() < SESSION_BYTES {
        let parent = line_before(turn);
        let _ = writeln!(
            text,
            r#"{{"type":"message","id":"a{turn}","parentId":{parent},"message":{{"role":"user","content":[{{"type":"text","text":"Look at {turn}."}}]}}}}"#
        );
        let _ = writeln!(
            text,
            r#"{{"type":"message","id":"b{turn}","parentId":"a{turn}","message":{{"role":"assistant","content":[{{"type":"toolCall","id":"t{turn}","name":"bash","arguments":{{"command":"cat {turn}"}}}}],"stopReason":"toolUse"}}}}"#
        );
        let message = match is_broken && turn == 5 {
            true => String::from(r#""role":"user","content":[{"type":"text","text":"Stop."}]"#),
            false => format!(
                r#""role":"toolResult","toolCallId":"t{turn}","content":[{{"type":"text","text":"{}"}}],"isError":false"#,
                output(turn)
            ),
        };
        let _ = writeln!(text, r#"{{"type":"message","id":"c{turn}","parentId":"b{turn}","message":{{{message}}}}}"#);
        turn += 1;
    }
    text
}
