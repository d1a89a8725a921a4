//! Recordings of a session with tools, told as lines and compared.

use std::path::Path;

use reenact_files::tape;
use reenact_timeline::{ReadingOptions, TapeReader};
use reenact_transcript::diff::compare;

use super::text;

/// A session of two threads, with retries and an answer that is cut.
const TAPE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/samples/sample.tape.jsonl");

/// The lines of the tape with each `was` in it as `is`. Its spans have hashes, so only answers may be changed.
fn lines_with(was: &str, is: &str) -> String {
    let mut whole = Vec::new();
    tape::read_lines(Path::new(TAPE), |line| {
        whole.extend_from_slice(line);
        Ok(())
    })
    .expect("the sample");
    let whole = String::from_utf8(whole).expect("text");
    assert!(whole.contains(was), "{was}");
    let mut reader = TapeReader::new(ReadingOptions { keeps_contents: true, ..ReadingOptions::default() });
    whole.replace(was, is).split_inclusive('\n').for_each(|line| reader.feed(line.as_bytes()).expect("a tape"));
    text(&reader.finish())
}

fn changes(was: &str, is: &str) -> Vec<String> {
    let [old, new] = [lines_with("", ""), lines_with(was, is)];
    compare(&old, &new)
        .changes
        .iter()
        .map(|change| format!("{change:?}").split([' ', '(', '{']).next().unwrap_or_default().into())
        .collect()
}

#[test]
fn v_2_a_recording_is_told_line_by_line() {
    let lines = lines_with("", "");
    let expected = "   0.000s  client    request 1      claude-sonnet-4-5, frame 0f9f01c5
  +0.000s  client    user text      Why does the build fail?
  +0.412s  model     text           I look at the file and run the build.
  +1.250s  model     tool 1A        Read {\"path\":\"/w/a\"}
  +1.600s  model     tool 1B        Bash {\"path\":\"/w/a\"}
  +2.100s  model     tool 1C        Task {\"path\":\"/w/a\"}
  +2.400s  model     stop           tool_use, 10 in, 143 out
   2.450s  client    request 2      [thread-2] claude-sonnet-4-5, frame 0f9f01c5
";
    assert!(lines.contains(expected), "{lines}");
    let expected = "   5.000s  client    request 4      claude-sonnet-4-5, frame 0f9f01c5
  +0.000s  client    assistant text …
  +0.000s  client    result 1B      x
  +0.000s  client    result 1A      x
  +0.000s  client    result 1C      x
  +0.050s  model     refused        529 overloaded_error: no more
";
    assert!(lines.contains(expected), "an answer that comes back in other words is told:\n{lines}");
    assert!(lines.contains("  +1.300s  model     cut            the connection was cut\n"), "{lines}");
}

#[test]
fn v_2_recordings_are_compared_as_they_happened() {
    assert_eq!(changes("", ""), [""; 0]);
    assert_eq!(changes("In Cargo.toml.", "In src/lib.rs."), ["Changed"]);
    assert_eq!(changes(r#"\"name\":\"Grep\""#, r#"\"name\":\"Glob\""#), ["Changed"]);
    assert_eq!(changes(r#""at":2100000,"text""#, r#""at":2200000,"text""#), ["Retimed"]);
    assert_eq!(changes(r#""at":2100000,"text""#, r#""at":1300000,"text""#), ["Moved"]);
    assert_eq!(changes(r#"\"output_tokens\":143"#, r#"\"output_tokens\":144"#), ["Changed"]);
}
