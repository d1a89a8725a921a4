//! The differences of two transcripts as text (V-2).
//!
//! ```text
//! + +1.100s  engine    fails          529 overloaded_error: Overloaded        added
//! - +2.000s  model     text           That is all.                            removed
//! ~ +1.000s  model     text           Both are [-short.-]{+long.+}            changed
//! > +2.200s  tool 1B   ends           after 0.736s                            moved
//!     was behind `tool 1A ends`, is behind `model tool 1B`
//! @ 6 events come 0.500s later, from `tool 1B ends` to `run idle`             retimed
//! ```

use anstyle::{AnsiColor, Style};
use reenact_transcript::diff::{KINDS, TranscriptChange, TranscriptDiff, TranscriptLine};
use similar::{ChangeTag, TextDiff};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// With more different shifts of time than this only their range is told.
const SHIFTS_MAX: usize = 4;

/// So narrow a column of two can be.
const COLUMN_MIN: usize = 20;

pub(crate) const OLD: Style = AnsiColor::Red.on_default();
pub(crate) const NEW: Style = AnsiColor::Green.on_default();
const ORDER: Style = AnsiColor::Cyan.on_default();
const TIME: Style = AnsiColor::Yellow.on_default();

/// How differences are shown. The text has escapes for colours in each case: its writer takes them out where nobody sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffLayout {
    /// One below the other; inside of a changed line word by word, with marks around the words.
    Unified,
    /// The older one on the left, in so many columns.
    SideBySide(usize),
}

/// All changes of the kinds that are not ignored, and their counts in the last line.
pub fn text(diff: &TranscriptDiff<'_>, layout: DiffLayout) -> String {
    let shifts = diff.count("retimed");
    let mut lines = Vec::new();
    if shifts > SHIFTS_MAX {
        lines.push(shifts_text(diff));
    }
    for change in &diff.changes {
        match (change, layout) {
            (TranscriptChange::Retimed { .. }, _) if shifts > SHIFTS_MAX => (),
            (_, DiffLayout::SideBySide(columns)) => lines.push(side_by_side(change, columns)),
            (_, DiffLayout::Unified) => lines.push(change_text(change)),
        }
    }
    lines.push(summary(diff));
    lines.join("\n")
}

/// `1 added, 2 changed; 14 events the same`.
pub fn summary(diff: &TranscriptDiff<'_>) -> String {
    let counts = KINDS.iter().map(|kind| (diff.count(kind), kind)).filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, kind)| format!("{count} {kind}")).collect();
    let same = if diff.same == 1 { String::from("1 event the same") } else { format!("{} events the same", diff.same) };
    if counts.is_empty() { format!("no difference; {same}") } else { format!("{}; {same}", counts.join(", ")) }
}

fn change_text(change: &TranscriptChange<'_>) -> String {
    match change {
        TranscriptChange::Added(line) => styled(NEW, &format!("+ {}", line.whole)),
        TranscriptChange::Removed(line) => styled(OLD, &format!("- {}", line.whole)),
        TranscriptChange::Changed { old, new } => {
            let before = new.whole.strip_suffix(new.text).unwrap_or_default();
            format!("~ {before}{}", words(old.text, new.text))
        }
        TranscriptChange::Moved { new, behind, now_behind, .. } => {
            let name = |line: &Option<TranscriptLine<'_>>| line.as_ref().map_or_else(|| String::from("nothing"), name);
            styled(ORDER, &format!("> {}\n    was behind {}, is behind {}", new.whole, name(behind), name(now_behind)))
        }
        TranscriptChange::Retimed { first, last, by, events } => {
            let span = shift(*by);
            let text = match events {
                1 => format!("@ {} comes {span}", name(first)),
                _ => format!("@ {events} events come {span}, from {} to {}", name(first), name(last)),
            };
            styled(TIME, &text)
        }
    }
}

/// `@ 40 events come at 12 other distances, from 0.300s earlier to 1.200s later`.
fn shifts_text(diff: &TranscriptDiff<'_>) -> String {
    let shifts = || {
        diff.changes.iter().filter_map(|change| match change {
            TranscriptChange::Retimed { by, events, .. } => Some((*by, *events)),
            _ => None,
        })
    };
    let events: usize = shifts().map(|(_, events)| events).sum();
    let least = shifts().map(|(by, _)| by).min().unwrap_or_default();
    let most = shifts().map(|(by, _)| by).max().unwrap_or_default();
    styled(TIME, &format!("@ {events} events come at other times, from {} to {}", shift(least), shift(most)))
}

/// `0.300s earlier`. `by` is in milliseconds.
fn shift(by: i64) -> String {
    format!("{}.{:03}s {}", by.abs() / 1_000, by.abs() % 1_000, if by < 0 { "earlier" } else { "later" })
}

fn name(line: &TranscriptLine<'_>) -> String {
    let whole = [line.actor, line.name].join(" ");
    format!("`{}`", whole.trim())
}

/// The newer text, with the older one's words where it differs.
fn words(old: &str, new: &str) -> String {
    let mut out = String::new();
    let diff = TextDiff::from_words(old, new);
    let (mut gone, mut come) = (String::new(), String::new());
    let flush = |out: &mut String, gone: &mut String, come: &mut String| {
        if !gone.is_empty() {
            *out += &styled(OLD, &format!("[-{gone}-]"));
        }
        if !come.is_empty() {
            *out += &styled(NEW, &format!("{{+{come}+}}"));
        }
        gone.clear();
        come.clear();
    };
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Delete => gone += change.value(),
            ChangeTag::Insert => come += change.value(),
            ChangeTag::Equal => {
                flush(&mut out, &mut gone, &mut come);
                out += change.value();
            }
        }
    }
    flush(&mut out, &mut gone, &mut come);
    out
}

/// Both lines beside each other, each as long as it needs to be.
fn side_by_side(change: &TranscriptChange<'_>, columns: usize) -> String {
    let (old, mark, new) = match change {
        TranscriptChange::Added(line) => ("", '+', line.whole),
        TranscriptChange::Removed(line) => (line.whole, '-', ""),
        TranscriptChange::Changed { old, new } => (old.whole, '~', new.whole),
        TranscriptChange::Moved { .. } | TranscriptChange::Retimed { .. } => return change_text(change),
    };
    let width = (columns.saturating_sub(3) / 2).max(COLUMN_MIN);
    let (old, new) = (parts(old, width), parts(new, width));
    let row = |row: usize| {
        let part = |parts: &[String]| parts.get(row).cloned().unwrap_or_default();
        let (old, new) = (part(&old), part(&new));
        let padding = " ".repeat(width.saturating_sub(old.width()));
        let mark = if row == 0 { mark } else { ' ' };
        format!("{}{padding} {mark} {}", styled(OLD, &old), styled(NEW, &new)).trim_end().to_owned()
    };
    (0..old.len().max(new.len())).map(row).collect::<Vec<_>>().join("\n")
}

/// A line in parts of at most so many columns.
fn parts(line: &str, width: usize) -> Vec<String> {
    let mut parts = vec![String::new()];
    for character in line.chars() {
        let is_full = parts.last().is_some_and(|part| part.width() + character.width().unwrap_or(0) > width);
        if is_full {
            parts.push(String::new());
        }
        parts.iter_mut().last().into_iter().for_each(|part| part.push(character));
    }
    parts
}

pub(crate) fn styled(style: Style, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{style}{text}{style:#}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_transcript::diff::compare;

    const OLD_TEXT: &str =
        "Hello\nseed 0\n\n   0.000s  user      prompt 1       Hello?\n  +1.364s  model     text           Hello to you.\n";

    fn plain(new: &str, layout: DiffLayout) -> String {
        anstream::adapter::strip_str(&text(&compare(OLD_TEXT, new), layout)).to_string()
    }

    #[test]
    fn v_2_a_changed_word_is_marked_inside_its_line() {
        let new = OLD_TEXT.replace("to you", "to everybody");
        let expected = "~   +1.364s  model     text           Hello to [-you.-]{+everybody.+}\n1 changed; 3 events the same";
        assert_eq!(plain(&new, DiffLayout::Unified), expected);
        let beside = plain(&new, DiffLayout::SideBySide(120));
        assert!(beside.contains("Hello to you.") && beside.contains(" ~   +1.364s  model"), "{beside}");
        assert!(plain(&new, DiffLayout::SideBySide(10)).lines().all(|line| line.chars().count() <= 2 * COLUMN_MIN + 3));
    }

    #[test]
    fn v_2_the_summary_counts_the_kinds() {
        assert_eq!(plain(OLD_TEXT, DiffLayout::Unified), "no difference; 4 events the same");
        let more = format!("{OLD_TEXT}  +1.500s  model     stop           end_turn\n");
        assert_eq!(plain(&more, DiffLayout::Unified), "+   +1.500s  model     stop           end_turn\n1 added; 4 events the same");
        let later = OLD_TEXT.replace("+1.364s", "+1.564s");
        assert_eq!(plain(&later, DiffLayout::Unified), "@ `model text` comes 0.200s later\n1 retimed; 4 events the same");
    }
}
