//! `show` on tapes, recordings and boundary logs (V-8).

use std::fs;
use std::path::{Path, PathBuf};

use reenact::engine::time::Micros;
use reenact::review::show_text::{ShowLayout, text};
use reenact::timeline::{ReadingOptions, STALL_LIMIT, TapeReader, read_log};

use super::{folder, reenact};

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

fn shown(name: &str, columns: usize) -> String {
    let contents = fs::read_to_string(sample(name)).unwrap();
    let timeline = if name.ends_with(".log") {
        read_log(&contents, STALL_LIMIT).unwrap()
    } else {
        let mut reader = TapeReader::new(ReadingOptions::default());
        contents.split_inclusive('\n').for_each(|line| reader.feed(line.as_bytes()).unwrap());
        reader.finish()
    };
    let layout = ShowLayout { columns, window: (Micros::ZERO, None) };
    let text = text(name, &timeline, layout);
    let plain = without_escapes(&text);
    let widest = plain.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(columns), "{widest:?} columns of {columns}:\n{plain}");
    plain
}

/// The text without its colours.
fn without_escapes(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_string();
    first + &parts.map(|part| part.split_once('m').map_or("", |(_, rest)| rest)).collect::<String>()
}

#[test]
fn v_8_a_tape_at_a_hundred_columns() {
    insta::assert_snapshot!(shown("samples/sample.tape.jsonl", 100));
}

#[test]
fn v_8_a_boundary_log_at_eighty_columns() {
    insta::assert_snapshot!(shown("formats/three-529s.log", 80));
}

#[test]
fn v_8_no_width_breaks_a_line() {
    for columns in [60, 73, 80, 100, 120, 200] {
        shown("samples/sample.tape.jsonl", columns);
        shown("formats/three-529s.log", columns);
    }
}

#[test]
fn v_8_every_recording_that_import_reads_is_shown_and_nothing_is_written() {
    let samples: Vec<PathBuf> = fs::read_dir(sample("samples")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let folder = folder(&[]);
    for path in &samples {
        let copy = folder.path().join(path.file_name().unwrap());
        fs::copy(path, &copy).unwrap();
        let (text, said, code) = reenact(folder.path(), &["show", copy.to_str().unwrap()]);
        assert!(code == Some(0) && text.contains("request 1"), "{}: {code:?}\n{text}{said}", path.display());
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), samples.len());
}

#[test]
fn v_8_a_part_of_the_time_can_be_shown() {
    let tape = sample("samples/sample.tape.jsonl");
    let (text, _, code) = reenact(Path::new("."), &["show", tape.to_str().unwrap(), "--from", "4.8s", "--to", "8s"]);
    assert!(code == Some(0) && text.contains("request 4.2") && !text.contains("request 3 ") && !text.contains("request 5 "), "{text}");
}

#[test]
fn v_8_secrets_and_control_characters_do_not_reach_the_terminal() {
    let key =
        concat!("sk-ant-", "api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abcdefghijklmnopqrs-AAAA_AAAA");
    let answer = format!(
        r#"{{"type":"message","id":"msg_1","model":"m\u001b[31m","role":"assistant","content":[{{"type":"text","text":"a\u001b[2Jb\rc {key}"}}]}}"#
    );
    let folder = folder(&[("x.json", &answer)]);
    let (text, said, code) = reenact(folder.path(), &["show", "x.json", "--color", "never"]);
    assert!(code == Some(0) && !text.contains('\u{1b}') && !text.contains('\r') && text.contains('b'), "{text:?}{said}");
    assert!(!text.contains("abcdefghijklmnopqrstuvwxyz"), "{text}");
}

#[test]
fn v_8_a_bad_file_is_told_with_the_next_step() {
    let tape = fs::read_to_string(sample("samples/sample.tape.jsonl")).unwrap();
    let log = fs::read_to_string(sample("formats/one.log")).unwrap();
    let (header, rest) = tape.split_once('\n').unwrap();
    let broken = format!("{header}\n{{\"chunk\":true}}\n{rest}");
    let folder = folder(&[
        ("empty.tape.jsonl", ""),
        ("empty.json", ""),
        ("other.txt", "hello"),
        ("broken.tape.jsonl", &broken),
        ("cut.tape.jsonl", &tape[..tape.len() / 2]),
        ("cut.log", &log[..log.len() - 20]),
        ("folder/a.txt", ""),
    ]);
    for (name, words) in [
        ("nowhere.tape.jsonl", "there is no such file"),
        ("nowhere.har", "check the path"),
        ("empty.tape.jsonl", "record or import again"),
        ("empty.json", "it is empty"),
        ("other.txt", "nor a recording that"),
        ("folder", "name one file in it"),
    ] {
        let (text, said, code) = reenact(folder.path(), &["show", name]);
        assert!(code == Some(2) && text.is_empty() && said.contains(name) && said.contains(words), "{name}: {code:?} {text}{said}");
    }
    let (text, said, code) = reenact(folder.path(), &["show", "broken.tape.jsonl"]);
    assert!(code == Some(1) && text.contains("line 2: ") && said.contains("what is shown is not all"), "{text}{said}");
    for name in ["cut.tape.jsonl", "cut.log"] {
        let (text, said, code) = reenact(folder.path(), &["show", name]);
        assert!(code == Some(0) && text.contains("ends inside of a line"), "{name}: {text}{said}");
    }
}

#[test]
fn v_8_a_byte_order_mark_is_no_part_of_a_file() {
    let tape = include_str!("../samples/sample.tape.jsonl");
    let log = include_str!("../formats/one.log");
    let [marked_tape, marked_log] = [tape, log].map(|text| format!("\u{feff}{text}"));
    let folder = folder(&[("a.tape.jsonl", tape), ("b.tape.jsonl", &*marked_tape), ("a.log", log), ("b.log", &*marked_log)]);
    for pair in [["a.tape.jsonl", "b.tape.jsonl"], ["a.log", "b.log"]] {
        let (text, said, code) = reenact(folder.path(), &["diff", pair[0], pair[1]]);
        assert!(code == Some(0) && text.starts_with("no difference; "), "{text}{said}");
        let shown = pair.map(|name| reenact(folder.path(), &["show", name]).0.replace(name, ""));
        assert!(shown[0] == shown[1] && shown[0].contains("requests"), "{}", shown[1]);
    }
}

#[test]
fn v_1_the_name_of_a_file_moves_no_cursor() {
    let hello = "[[prompt]]\ntext = \"Hello?\"\n\n[[prompt.turn]]\ntext = \"Hello.\"\n";
    let folder = folder(&[("a\u{1b}[31m.toml", hello)]);
    for options in [&["test", "."][..], &["test", ".", "--list"], &["run", "-q", "none\u{1b}[31m.toml"]] {
        let (text, said, _) = reenact(folder.path(), options);
        let all = text + &said;
        assert!(all.contains("\\u{1b}[31m") && !all.contains('\u{1b}'), "{all:?}");
    }
}

#[test]
fn v_8_a_page_in_a_pipe_is_as_wide_as_columns_says() {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_reenact"));
    let output = command.arg("show").arg(sample("samples/sample.tape.jsonl")).env("COLUMNS", "70").output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    let widest = shown.lines().map(|line| line.chars().count()).max();
    assert!((60..=70).contains(&widest.unwrap()), "{widest:?}: {shown}");
}
