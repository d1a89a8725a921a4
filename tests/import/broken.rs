//! Files that are cut, changed, renamed or something else: an error that says what to do, and never a panic (K-5).

use std::path::Path;

use reenact::files::recording::format_name;
use reenact::import::import_bytes;

use super::{SAMPLES, forms, options};

/// The advice at the end of an error.
const NEXT: [&str; 7] = ["repair", "import", "record", "name the file", "check the path", "write it again", "unpack"];

/// Imports; an error is one that helps.
fn survives(name: &str, bytes: &[u8]) -> bool {
    format_name(bytes);
    match import_bytes(Path::new("x"), bytes, &options()) {
        Ok(imported) => imported.left_out.is_empty(),
        Err(error) => {
            let message = error.to_string();
            assert!(message.starts_with("x:") && NEXT.iter().any(|next| message.contains(next)), "{name}: {message}");
            false
        }
    }
}

/// The samples, and one file of each form.
fn files() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let samples = SAMPLES.iter().map(|name| ((*name).to_owned(), std::fs::read(folder.join(name)).unwrap()));
    samples.chain(forms::files().into_iter().filter(|(name, _)| name.ends_with("Api, plain") || name.ends_with("Bedrock, gzip"))).collect()
}

/// Numbers that look drawn and are the same in each run.
fn drawn(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize
}

#[test]
fn k_5_a_file_that_is_cut_is_an_error_that_helps() {
    for (name, file) in files() {
        for part in 0..24 {
            survives(&name, &file[..file.len() * part / 24]);
        }
        survives(&name, &file[..file.len() - 1]);
    }
}

#[test]
fn k_5_a_file_that_is_damaged_is_an_error_that_helps() {
    let mut state = 7;
    for (name, file) in files() {
        for _ in 0..24 {
            let mut damaged = file.clone();
            for _ in 0..=drawn(&mut state) % 3 {
                let at = drawn(&mut state) % damaged.len();
                match drawn(&mut state) % 4 {
                    0 => damaged[at] = drawn(&mut state) as u8,
                    1 => damaged[at] ^= 1 << (drawn(&mut state) % 8),
                    2 => drop(damaged.remove(at)),
                    _ => damaged.insert(at, b"{}[]\",:\n- &*!|\0"[drawn(&mut state) % 15]),
                }
            }
            survives(&name, &damaged);
        }
    }
}

#[test]
fn k_5_text_in_another_encoding_is_an_error_that_helps() {
    for (name, file) in files() {
        let Ok(text) = std::str::from_utf8(&file) else { continue };
        let units = |unit: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(unit).collect::<Vec<u8>>();
        for wide in [units(u16::to_le_bytes), units(u16::to_be_bytes), [b"\xff\xfe".to_vec(), units(u16::to_le_bytes)].concat()] {
            let message = import_bytes(Path::new("x"), &wide, &options()).unwrap_err().to_string();
            assert!(message.contains("UTF-16") && message.contains("UTF-8"), "{name}: {message}");
        }
        assert!(survives(&name, &[b"\xef\xbb\xbf", text.as_bytes()].concat()) == survives(&name, text.as_bytes()), "{name}: a mark");
        if !name.contains("httprr") {
            let other_ends = text.replace("\r\n", "\n").replace('\n', "\r\n");
            assert_eq!(survives(&name, other_ends.as_bytes()), survives(&name, text.as_bytes()), "{name}: ends of lines");
        }
    }
}

#[test]
fn k_5_files_that_are_something_else_are_errors_that_help() {
    let others: [&[u8]; 15] = [
        b"",
        b"\n\n",
        b"\0",
        b"hello",
        b"{}",
        b"[]",
        b"null",
        b"\"interactions\"",
        b"{\"interactions\":7}",
        b"{\"log\":{\"entries\":[7,null,[]]}}",
        b"interactions: {}\n",
        b"- 1\n- 2\n",
        b"httprr trace v1\n",
        b"httprr trace v1\n99999999999 1\nx",
        b"\x1f\x8b\x08\x00",
    ];
    for other in others {
        assert!(!survives("something else", other), "{}", String::from_utf8_lossy(other));
    }
    let deep = [b"{\"request\":{\"body\":".to_vec(), b"[".repeat(100_000)].concat();
    assert!(!survives("deep JSON", &deep));
    assert!(!survives("deep YAML", &[b"interactions:\n- ".to_vec(), b"[".repeat(100_000)].concat()));
}

/// Browsers leave out what they have not kept.
#[test]
fn k_5_an_archive_without_bodies_is_reported() {
    let entry = |content: &str| {
        format!(
            r#"{{"request":{{"method":"POST","url":"https://x.example/v1/messages","headers":[]}},"response":{{"status":200,"headers":[],"content":{content}}}}}"#
        )
    };
    let import = |entries: &[String]| {
        let har = format!(r#"{{"log":{{"version":"1.2","entries":[{}]}}}}"#, entries.join(","));
        import_bytes(Path::new("x.har"), har.as_bytes(), &options())
    };
    let bodiless = [entry(r#"{"size":812}"#), entry(r#"{"size":0,"mimeType":"text/event-stream"}"#)];
    let message = import(&bodiless).unwrap_err().to_string();
    assert!(message.contains("2 exchanges, the first at entries[0]: the archive leaves out the answer's body: save it again"), "{message}");
    let imported = import(&[&bodiless[..], &[entry(r#"{"text":"{}"}"#)]].concat()).unwrap();
    assert_eq!((imported.exchanges.len(), imported.left_out.len()), (1, 1), "it does not cost the others");
}
