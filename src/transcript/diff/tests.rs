//! Changes of a run, and the words of the comparison for each.

use super::*;

const USUAL: &str = "\
Two tools
seed 0

   0.000s  user      prompt 1       Compare them.
   0.000s  engine    request 1      claude-sonnet-4-5, max 8000, + user(text), frame 1891974f, cached
  +1.364s  model     tool 1A        Read {\"file_path\":\"/w/a\"}
  +1.464s  model     tool 1B        Read {\"file_path\":\"/w/b\"}
  +2.000s  tool 1A   ends           one, after 0.636s
  +2.200s  tool 1B   ends           two, after 0.736s
   2.200s  engine    request 2      claude-sonnet-4-5, max 8000, 2 messages as before, + user(2 results), cached
  +1.000s  model     text           Both are short.
  +1.100s  model     text           That is all.
  +1.500s  engine    result         success, 1 turn, 3.700s in all
   3.700s  run       idle           every prompt was answered
";

/// The kinds of all changes, each with the lines that it shows.
fn changes(new: &str) -> Vec<String> {
    let diff = compare(USUAL, new);
    let name = |line: &TranscriptLine<'_>| format!("{} {}", line.actor, line.name);
    let text = |change: &TranscriptChange<'_>| match change {
        TranscriptChange::Added(line) | TranscriptChange::Removed(line) => name(line),
        TranscriptChange::Changed { old, new } => format!("{}: {} -> {}", name(new), old.text, new.text),
        TranscriptChange::Moved { new, behind, now_behind, .. } => {
            format!("{} from behind {} to behind {}", name(new), name(&behind.unwrap()), name(&now_behind.unwrap()))
        }
        TranscriptChange::Retimed { first, last, by, events } => format!("{events} by {by}: {} to {}", name(first), name(last)),
    };
    diff.changes.iter().map(|change| format!("{} {}", change.kind(), text(change))).collect()
}

#[test]
fn v_2_a_time_inside_of_words_is_a_word() {
    let words = |seconds: &str| format!("t\nseed 0\n\n  +0.000s  model     text           It took {seconds}.\n");
    assert_eq!(compare(&words("1.500s"), &words("1.600s")).count("changed"), 1);
    let spans = |seconds: &str| format!("t\nseed 0\n\n  +9.000s  tool 1A   ends           after {seconds}\n");
    assert_eq!(compare(&spans("1.500s"), &spans("1.600s")).changes, []);
}

#[test]
fn v_2_nothing_differs_from_itself() {
    assert_eq!(changes(USUAL), Vec::<String>::new());
    assert_eq!(compare(USUAL, USUAL).same, 13);
}

#[test]
fn v_2_a_longer_latency_is_one_change() {
    let later = USUAL
        .replace("+2.200s  tool 1B   ends           two, after 0.736s", "+2.700s  tool 1B   ends           two, after 1.236s")
        .replace("   2.200s  engine    request 2", "   2.700s  engine    request 2")
        .replace("3.700s", "4.200s");
    assert_eq!(changes(&later), ["retimed 6 by 500: tool 1B ends to run idle"]);
}

#[test]
fn v_2_what_completes_in_another_order_has_moved() {
    let lines: Vec<&str> = USUAL.lines().collect();
    let mut other = lines.clone();
    other.swap(7, 8);
    let (first, second) = (other[7].replace("2.200s", "1.900s").replace("0.736s", "0.436s"), other[8]);
    let text = [&other[..7], &[&first, second], &other[9..]].concat().join("\n");
    let found = changes(&text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("moved tool 1"), "{found:?}");
}

#[test]
fn v_2_a_retry_is_added_and_the_rest_is_the_same() {
    let retry = "   0.000s  engine    request 1      claude-sonnet-4-5, max 8000, + user(text), frame 1891974f, cached\n  \
                 +0.100s  engine    fails          529 overloaded_error: Overloaded\n   0.000s  engine    request 1.2    the same\n";
    let first = USUAL.lines().nth(4).unwrap();
    let text = USUAL.replace(&format!("{first}\n"), retry).replace("tool 1A", "tool 1.2A").replace("tool 1B", "tool 1.2B");
    let found = changes(&text);
    assert!(found.iter().any(|change| change == "added engine request 1.2"), "{found:?}");
    assert!(found.iter().any(|change| change == "added engine fails"), "{found:?}");
    assert!(!found.iter().any(|change| change.contains("request 2") || change.starts_with("changed")), "{found:?}");
}

#[test]
fn v_2_another_word_is_a_change_of_one_event() {
    assert_eq!(changes(&USUAL.replace("Both are short.", "Both are long.")), ["changed model text: Both are short. -> Both are long."]);
    assert_eq!(changes(&USUAL.replace("  +1.000s  model     text           Both are short.\n", "")), ["removed model text"]);
    let more = USUAL.replace("  +1.100s  model     text", "  +1.050s  model     text           One more.\n  +1.100s  model     text");
    assert_eq!(changes(&more), ["added model text"], "the one behind it is known by its words");
    assert_eq!(changes(&USUAL.replace("seed 0", "seed 7")), ["removed  seed 0", "added  seed 7"]);
}

#[test]
fn v_2_texts_without_times_differ_in_no_time() {
    let untimed = "Title\nseed 0\n\nuser      prompt 1       Hello.\nengine    aborted_streaming [toolu_1]\nmodel     text           Hi.\n";
    let other = untimed.replace("Hi.", "Ho.");
    let diff = compare(untimed, &other);
    let [TranscriptChange::Changed { old, .. }] = diff.changes[..] else { panic!("{diff:?}") };
    assert_eq!((old.actor, old.name, old.text), ("model", "text", "Hi."));
    assert_eq!(diff.same, 4);
}

/// A run of many requests, each with its own text and with one that comes again and again.
fn long_run() -> Vec<String> {
    let mut lines: Vec<String> = ["Long", "seed 0", "", "   0.000s  user      prompt 1       Go on."].map(String::from).into();
    for request in 1..60 {
        lines.push(format!("{request:>4}.000s  engine    request {request:<7} claude-sonnet-4-5, max 8000, cached"));
        lines.push(format!("  +0.100s  model     text           Step {request}."));
        lines.push("  +0.200s  model     text           And on.".into());
    }
    lines
}

#[test]
fn v_2_one_event_of_a_long_run_is_one_change_wherever_it_is() {
    let lines = long_run();
    let whole = lines.join("\n");
    for place in 4..lines.len() {
        let changed = |change: &dyn Fn(&mut Vec<String>)| {
            let mut other = lines.clone();
            change(&mut other);
            let other = other.join("\n");
            let diff = compare(&whole, &other);
            let kinds: Vec<&str> = diff.changes.iter().map(TranscriptChange::kind).collect();
            (kinds.join(" "), diff.same)
        };
        let is_request = lines[place].contains("request");
        let events = lines.len() - 1;
        assert_eq!(changed(&|other| other[place].push_str(" More.")), ("changed".into(), events - 1), "{}", lines[place]);
        assert_eq!(
            changed(&|other| other.insert(place, "  +0.050s  tool 9Z   starts".into())),
            ("added".into(), events),
            "{}",
            lines[place]
        );
        if !is_request {
            assert_eq!(changed(&|other| drop(other.remove(place))), ("removed".into(), events - 1), "{}", lines[place]);
        }
    }
}

#[test]
fn v_2_requests_that_come_later_are_one_change_wherever_it_begins() {
    let lines = long_run();
    for first in [1, 2, 30, 59] {
        let later = lines.iter().map(|line| match line.split_once(".000s  engine    request ") {
            Some((seconds, rest)) if seconds.trim().parse::<u32>().unwrap() >= first => {
                format!("{:>4}.000s  engine    request {rest}", seconds.trim().parse::<u32>().unwrap() + 7)
            }
            _ => line.clone(),
        });
        let (old, new) = (lines.join("\n"), later.collect::<Vec<_>>().join("\n"));
        let diff = compare(&old, &new);
        let [TranscriptChange::Retimed { by: 7_000, events, .. }] = diff.changes[..] else { panic!("{:?}", diff.changes) };
        assert_eq!(events, usize::try_from(60 - first).unwrap() * 3);
    }
}
