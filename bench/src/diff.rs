//! `diff`: two transcripts compared event by event, beside `git diff` over their texts.

use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use reenact::transcript::diff::compare;

use super::outcome::{BarLimit, ReportLine, TIMES, time};
use super::rounds;

/// So many rounds: each takes a tenth of a second.
const ROUNDS: usize = 9;

/// Long transcripts and short ones.
pub(crate) fn against_git() -> Vec<ReportLine> {
    [("diff of 100,000 events", 100_000), ("diff of 5,000 events", 5_000)].map(|(name, events)| measure(name, events)).into()
}

fn measure(name: &'static str, events: usize) -> ReportLine {
    let [old, new] = [false, true].map(|is_new| transcript(events, is_new));
    let diff = compare(&old, &new);
    let changes = diff.changes.len();
    assert!(changes >= events / 150 && changes <= events / 30, "about one event in a hundred differs: {changes}");
    let folder = std::env::temp_dir().join(format!("reenact-bench-diff-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("there is a folder for temporary files");
    let paths = ["old", "new"].map(|name| folder.join(name));
    for (path, text) in paths.iter().zip([&old, &new]) {
        std::fs::write(path, text).expect("the temporary folder takes files");
    }
    let git = || {
        let mut command = Command::new("git");
        command.args(["diff", "--no-index"]).args(&paths).stdout(Stdio::null());
        command.status().is_ok_and(|status| status.code() == Some(1))
    };
    let has_git = git();
    let rounds = rounds::in_turns_of(
        ROUNDS,
        Duration::from_millis(4),
        [&mut || rounds::used(compare(&old, &new)), &mut || rounds::used(has_git && git())],
    );
    // What is left of the folder is nobody's loss.
    let _ = std::fs::remove_dir_all(&folder);
    if !has_git {
        return ReportLine::NotMeasured { name, why: String::from("git is missing: install it") };
    }
    ReportLine::Bar {
        name,
        ours: time(rounds.median(0)),
        theirs: format!("git {}", time(rounds.median(1))),
        figure: rounds.ratio(0, 1),
        unit: TIMES,
        limit: BarLimit::AtMost(0.4),
    }
}

/// A transcript as text; the newer one has other words, one more event, and one less, now and then.
fn transcript(events: usize, is_new: bool) -> String {
    let mut text = String::from("A long session\nseed 0\n\n");
    let mut events_left = events;
    for request in 1.. {
        let at = request * 5;
        let _ = writeln!(
            text,
            "{at:>4}.000s  engine    request {request:<7} claude-sonnet-4-5, max 8000, 2 messages as before, + user(1 result), cached"
        );
        for event in 1..10 {
            let differs = is_new && (request * 10 + event) % 100 == 7;
            match (differs, request % 3) {
                (true, 0) => continue,
                (true, 1) => {
                    let _ =
                        writeln!(text, "  +0.{event:03}s  model     thinking       a thought that only this run has, {request}.{event}");
                }
                _ => (),
            }
            let word = if differs && request % 3 == 2 { "another" } else { "usual" };
            let _ = writeln!(
                text,
                "  +0.{event:03}s  model     text {event:<9} Some {word} words of the answer, so that the line is as long as lines are."
            );
        }
        events_left = events_left.saturating_sub(10);
        if events_left == 0 {
            break;
        }
    }
    text
}
