//! A large file is imported in less memory than its own size (K-5): what is measured is the peak of a process of its own.
//!
//! Exchanges are held compressed until the tape is written. Of content in which nothing repeats, as pictures, three quarters stay. So the memory grows with
//! the file by [`OF_NEW_CONTENT`] at most, and by a small part of that where requests repeat what was said before.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::thread;

use reenact::files::atomic::ExistingFile;
use reenact::import::{import_file, write};
use serde_json::json;

use super::options;

/// The sizes of two files. The difference of their peaks leaves out what any import takes: patterns of secrets, buffers, one exchange. It is so large
/// that two runs on the same file, whose peaks differ by 2 MiB at most, differ by a sixth of it.
const BYTES: [usize; 2] = [2 << 20, 14 << 20];

/// How many bytes of memory a hundred bytes more of a file take at most: of pictures and words, and of the requests of a loop.
const OF_NEW_CONTENT: u64 = 95;
const OF_A_LOOP: u64 = 50;

/// Names the file that the child imports.
const FILE: &str = "REENACT_TEST_IMPORT";

/// The peak of this process's memory, in bytes.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

/// Text in which nothing repeats, as in pictures that are written in base64: it can be compressed by a quarter and no more.
fn noise(seed: u64, bytes: usize) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut letters = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        [33, 40, 47, 54].map(|shift| char::from(LETTERS[(state >> shift) as usize % 64]))
    };
    (0..bytes / 4).flat_map(|_| letters()).collect()
}

/// Text of words in no order, which can be compressed by half or so, as what models and tools write.
fn prose(seed: u64, bytes: usize) -> String {
    const WORDS: [&str; 16] =
        ["tide", "table", "harbour", "the", "of", "at", "noon", "water", "and", "moon", "rises", "with", "by", "pilot", "no", "quay"];
    noise(seed, bytes / 3).bytes().map(|byte| WORDS[usize::from(byte % 16)]).collect::<Vec<_>>().join(" ").chars().take(bytes).collect()
}

/// A picture is sent, and words are answered.
fn body(number: usize, bytes: usize) -> (String, String) {
    let (picture, words) = (noise(number as u64, bytes), prose(number as u64, bytes));
    let request = json!({ "model": "m", "max_tokens": 1, "messages": [{ "role": "user", "content": picture }] }).to_string();
    let message = json!({ "type": "message", "role": "assistant", "content": [{ "type": "text", "text": words }] }).to_string();
    (request, message)
}

/// The log of an agent's loop: each request repeats what was said before it.
fn log_of_a_loop(bytes: usize) -> Vec<u8> {
    let (mut file, mut messages) = (Vec::new(), vec![json!({ "role": "user", "content": "What do the files say?" })]);
    for number in 0.. {
        let id = format!("toolu_{number}");
        let tool_use = json!([{ "type": "tool_use", "id": id, "name": "Read", "input": { "file_path": format!("/w/{number}") } }]);
        let system = "All about the tides. ".repeat(2_000);
        let request = json!({ "model": "m", "max_tokens": 9, "messages": messages, "tools": [{ "name": "Read", "input_schema": {} }], "system": system });
        let answer = json!({ "type": "message", "id": format!("msg_{number}"), "role": "assistant", "content": tool_use, "stop_reason": "tool_use" });
        let response = json!({ "status_code": 200, "headers": {}, "body": answer });
        let request = json!({ "url": "https://x.example/v1/messages", "body": request });
        writeln!(file, "{}", json!({ "request": request, "response": response, "logged_at": number })).unwrap();
        if file.len() >= bytes {
            break;
        }
        messages.push(json!({ "role": "assistant", "content": tool_use }));
        let result = format!("number {number}: the tide table of Samplehaven, ").repeat(40);
        messages.push(json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": id, "content": result }] }));
    }
    file
}

/// A file of this format with exchanges of half a mebibyte each, which have nothing in common.
fn large(format: &str, bytes: usize) -> Vec<u8> {
    if format == "loop" {
        return log_of_a_loop(bytes);
    }
    let mut file = Vec::new();
    let mut number = 0;
    file.extend_from_slice(match format {
        "HAR" => &b"{\"log\":{\"entries\":["[..],
        "vcrpy" => b"interactions:\n",
        "httprr" => b"httprr trace v1\n",
        _ => b"",
    });
    while file.len() < bytes {
        let (request, answer) = body(number, 256 << 10);
        let url = "https://x.example/v1/messages";
        let comma = if number > 0 { "," } else { "" };
        match format {
            "HAR" => write!(
                file,
                "{comma}{}",
                json!({
                    "request": { "method": "POST", "url": url, "headers": [], "postData": { "text": request } },
                    "response": { "status": 200, "headers": [], "content": { "text": answer } },
                })
            ),
            "vcrpy" => write!(
                file,
                "- request: {{uri: \"{url}\", body: {}}}\n  response: {{status: {{code: 200}}, body: {{string: {}}}}}\n",
                json!(request),
                json!(answer)
            ),
            "httprr" => {
                let request = format!("POST {url} HTTP/1.1\r\n\r\n{request}");
                let answer = format!("HTTP/1.1 200 OK\r\n\r\n{answer}");
                write!(file, "{} {}\n{request}{answer}", request.len(), answer.len())
            }
            _ => {
                let response = json!({ "status_code": 200, "headers": {}, "body_raw": answer });
                writeln!(file, "{}", json!({ "request": { "url": url, "body": request }, "response": response, "logged_at": number }))
            }
        }
        .unwrap();
        number += 1;
    }
    file.extend_from_slice(match format {
        "HAR" => &b"]}}"[..],
        _ => b"",
    });
    file
}

/// In a process of its own: imports the file that it is told, and prints by how much its peak grew.
#[test]
#[ignore = "run by the test below, in a process of its own"]
#[expect(clippy::disallowed_methods, reason = "the test below names the file")]
fn the_peak_of_an_import() {
    let path = std::env::var_os(FILE).expect("the file's name");
    let before = peak().expect("the peak before");
    let imported = import_file(Path::new(&path), &options()).expect("an import");
    let read = peak().expect("the peak after reading");
    write(&imported, &Path::new(&path).with_extension("imported"), ExistingFile::IsAnError).expect("the files");
    let written = peak().expect("the peak after writing");
    println!("{} exchanges, peak {} {}", imported.exchanges.len(), written - before, read - before);
}

#[test]
fn k_5_a_large_file_is_read_in_less_memory_than_its_size() {
    if peak().is_none() {
        eprintln!("SKIPPED: this system does not say how much memory a process takes");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // Each import is a process of its own, so that formats can be measured at once.
    thread::scope(|scope| {
        for format in ["loop", "claude-trace", "HAR", "vcrpy", "httprr"] {
            let folder = folder.path();
            scope.spawn(move || less_memory_than_its_size(folder, format));
        }
    });
}

fn less_memory_than_its_size(folder: &Path, format: &str) {
    let [small, large] = BYTES.map(|bytes| {
        let path = folder.join(format!("{format}-{bytes}"));
        let file = large(format, bytes);
        std::fs::write(&path, &file).unwrap();
        [file.len() as u64, peak_of_import(&path)]
    });
    let [bytes, memory] = [large[0] - small[0], large[1].saturating_sub(small[1])];
    let most = if format == "loop" { OF_A_LOOP } else { OF_NEW_CONTENT };
    println!("{format}: {bytes} bytes more take {memory} bytes of memory, {} of a hundred", memory * 100 / bytes);
    assert!(memory * 100 <= bytes * most, "{format}: {bytes} bytes more take {memory} bytes of memory, and not {most} of a hundred");
}

fn peak_of_import(path: &Path) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "memory::the_peak_of_an_import", "--ignored", "--nocapture"]).env(FILE, path);
    let output = child.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let numbers = said.split_once("peak ").and_then(|(_, rest)| rest.lines().next());
    numbers.and_then(|numbers| numbers.split(' ').next()?.parse().ok()).unwrap_or_else(|| panic!("{}: {said}", path.display()))
}
