//! Each key of `[expect]` fails a run in which it does not hold.

use super::{reading, said};
use reenact_scenario::types::Expectations;

/// A value that does not hold for the scenario, and the words of the failure.
const BROKEN: [(&str, &str); 19] = [
    ("terminal = \"max_turns\"", "expected terminal max_turns, got completed"),
    ("terminals = [\"completed\", \"completed\"]", "expected terminals [completed, completed], got [completed]"),
    ("transitions = []", "expected transitions [], got [next_turn]"),
    ("requests = 3", "expected requests 3, got 2"),
    ("delays = [\"1s\"]", "expected a further attempt after 1.000s, and none came"),
    ("refusals = 1", "expected refusals 1, got 0"),
    ("breaks = [\"O-3\"]", "expected O-3 to be broken"),
    ("models = [\"claude-haiku-4-5\"]", "expected models [claude-haiku-4-5], got [claude-sonnet-4-5]"),
    ("tools = [\"Read\", \"Read\"]", "expected tools [Read, Read], got [Read]"),
    ("result = \"error_max_turns\"", "expected result error_max_turns, got success"),
    ("text_present = [\"signed out\"]", "expected some message to hold \"signed out\", none does"),
    ("text_absent = [\"signed in\"]", "expected no message to hold \"signed in\", one does"),
    ("sent = [\"signed out\"]", "expected some request to hold \"signed out\", none does"),
    ("not_sent = [\"signed in\"]", "expected no request to hold \"signed in\", one does"),
    ("files = { \"a.txt\" = \"two\" }\n[workspace]\nfiles = { \"a.txt\" = \"one\" }", "expected the file `a.txt` to be \"two\" at the end"),
    ("absent = [\"a.txt\"]\n[workspace]\nfiles = { \"a.txt\" = \"one\" }", "expected no file or folder `a.txt` at the end"),
    ("order = [\"tool 1A ends\", \"tool 1A starts\"]", "`order` expects a transcript line with \"tool 1A starts\""),
    ("ends_after = \"20h\"", "at or after"),
    ("ends_before = \"1us\"", "at or before"),
];

#[test]
fn f_10_each_expectation_that_does_not_hold_fails_the_run() {
    for (expectation, words) in BROKEN {
        let failures = said(&reading("", &format!("[expect]\n{expectation}")));
        assert!(failures.iter().any(|failure| failure.contains(words)), "{expectation}: {failures:#?}");
    }
    // `may` excuses a text and expects nothing.
    let keys: Vec<&str> = Expectations::keys().into_iter().filter(|key| *key != "may").collect();
    let asked: Vec<&str> = BROKEN.iter().filter_map(|(expectation, _)| expectation.split(' ').next()).collect();
    assert_eq!(keys, asked, "each key has a value that does not hold");
}
