//! A large file is imported in less memory than its own size (K-5): what is measured is the peak of a process of its own.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use reenact::files::import::{import_file, write};
use serde_json::json;

use super::options;

/// The sizes of two files. The difference of their peaks leaves out what any import takes: patterns of secrets, buffers, one exchange.
const BYTES: [usize; 2] = [2 << 20, 12 << 20];

/// Names the file that the child imports.
const FILE: &str = "REENACT_TEST_IMPORT";

/// The peak of this process's memory, in bytes.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

fn body(number: usize, bytes: usize) -> (String, String) {
    let words = format!("number {number}: the tide \"table\" of Samplehaven\n").repeat(bytes / 50);
    let request = json!({ "model": "m", "max_tokens": 1, "messages": [{ "role": "user", "content": words }] }).to_string();
    let message = json!({ "type": "message", "role": "assistant", "content": [{ "type": "text", "text": words }] }).to_string();
    (request, message)
}

/// A file of this format with exchanges of half a mebibyte each.
fn large(format: &str, bytes: usize) -> Vec<u8> {
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
    write(&imported, &Path::new(&path).with_extension("imported")).expect("the files");
    let written = peak().expect("the peak after writing");
    println!("{} exchanges, peak {} {}", imported.tape.exchanges.len(), read - before, written - before);
}

#[test]
fn k_5_a_large_file_is_read_in_less_memory_than_its_size() {
    if peak().is_none() {
        eprintln!("SKIPPED: this system does not say how much memory a process takes");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for format in ["claude-trace", "HAR", "vcrpy", "httprr"] {
        let [small, large] = BYTES.map(|bytes| {
            let path = folder.path().join(format!("{format}-{bytes}"));
            let file = large(format, bytes);
            std::fs::write(&path, &file).unwrap();
            [file.len() as u64, peak_of_import(&path)]
        });
        let [bytes, memory] = [large[0] - small[0], large[1].saturating_sub(small[1])];
        println!("{format}: {bytes} bytes more take {memory} bytes of memory");
        // A quarter for what the allocator keeps between bodies; a second copy of them would take four.
        assert!(memory <= bytes + bytes / 4, "{format}: {bytes} bytes more take {memory} bytes of memory");
    }
}

fn peak_of_import(path: &Path) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "memory::the_peak_of_an_import", "--ignored", "--nocapture"]).env(FILE, path);
    let output = child.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let numbers = said.split_once("peak ").and_then(|(_, rest)| rest.lines().next());
    numbers.and_then(|numbers| numbers.split(' ').next()?.parse().ok()).unwrap_or_else(|| panic!("{}: {said}", path.display()))
}
