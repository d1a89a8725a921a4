//! The moments of a run at which something is done to a client: while it starts, at a boundary of an answer, while its tools run, and after the last
//! answer (K-9).

use core::fmt;
use std::time::Duration;

use crate::serve::gate::{AnswerBoundary, AnswerPart};
use reenact_wire::prelude::*;

/// How long after the start of a client a client sweep acts.
const START_DELAYS: [Duration; 3] = [Duration::ZERO, Duration::from_millis(100), Duration::from_millis(500)];

/// How long after an answer's end a client sweep acts: while a tool starts, while it runs, and when it has run for a while.
const TOOL_DELAYS: [Duration; 3] = [Duration::from_millis(50), Duration::from_millis(300), Duration::from_millis(1000)];

/// How long after the last answer a client sweep acts: while a client stores what it has, and when it waits or goes.
const DONE_DELAYS: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(500)];

/// How late a signal to a client that starts may be: as far as the next moment of a client sweep.
const LATENESS_MAX: Duration = Duration::from_millis(100);

const START: &str = "start+";
const TOOLS: &str = "tools+";
const MARKER: &str = "marker";
const DONE: &str = "done+";

/// A moment of a client's run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientMoment {
    /// So long after the client started, before its first request.
    Start(Duration),
    /// Where an answer is held.
    Answer(AnswerBoundary),
    /// So long after an answer that another one follows came to its end, or was left: the client runs tools, or waits to ask again.
    Tools {
        /// The how many-th answer.
        answer: u32,
        /// How long after it.
        after: Duration,
    },
    /// When a tool shows that it runs.
    Marker {
        /// The newest answer by then.
        answer: u32,
    },
    /// So long after the last answer came to its end, or was left.
    Done(Duration),
}

words! {
    /// The kinds of moments.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum MomentKind {
        /// Before the first request.
        Start = "start",
        /// Inside an answer.
        Answer = "answer",
        /// After the end of an answer that another one follows.
        Tools = "tools",
        /// When a tool shows that it runs.
        Marker = "marker",
        /// After the last answer.
        Done = "done",
    }
}

impl ClientMoment {
    /// Its kind.
    pub fn kind(&self) -> MomentKind {
        match self {
            Self::Start(_) => MomentKind::Start,
            Self::Answer(_) => MomentKind::Answer,
            Self::Tools { .. } => MomentKind::Tools,
            Self::Marker { .. } => MomentKind::Marker,
            Self::Done(_) => MomentKind::Done,
        }
    }

    /// The moments of a run that nothing was done to: the boundaries of its answers, and the answers whose tools showed a marker.
    pub(super) fn of_run(boundaries: &[AnswerBoundary], marked: &[u32]) -> Vec<Self> {
        let last = last_answer(boundaries);
        let start = START_DELAYS.map(Self::Start).into_iter();
        let of_boundary = |boundary: &AnswerBoundary| {
            let answer = boundary.answer;
            let is_left = boundary.before == AnswerPart::Left;
            // Who leaves an answer that hangs at its end has come to it before.
            let is_known = is_left && boundaries.contains(&AnswerBoundary { answer, before: AnswerPart::End });
            let is_over = (is_left && !is_known) || boundary.before == AnswerPart::End;
            let delays = if is_over && Some(answer) != last { TOOL_DELAYS.as_slice() } else { &[] };
            let marker = (is_over && marked.contains(&answer)).then_some(Self::Marker { answer });
            let after = delays.iter().map(move |after| Self::Tools { answer, after: *after });
            let held = (!is_left).then(|| Self::Answer(boundary.clone()));
            held.into_iter().chain(marker).chain(after)
        };
        let done = DONE_DELAYS.iter().filter(|_| last.is_some()).map(|after| Self::Done(*after));
        start.chain(boundaries.iter().flat_map(of_boundary)).chain(done).collect()
    }

    /// The moments of a word: one, or with `start`, `2:tools` and `done` all that a client sweep has of them.
    ///
    /// # Errors
    /// The way to write it.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, String> {
        let tools =
            text.split_once(':').filter(|(_, rest)| *rest == TOOLS.trim_end_matches('+')).and_then(|(answer, _)| answer.parse().ok());
        match (text, tools) {
            (_, Some(answer)) => Ok(TOOL_DELAYS.map(|after| Self::Tools { answer, after }).into()),
            _ if text == START.trim_end_matches('+') => Ok(START_DELAYS.map(Self::Start).into()),
            _ if text == DONE.trim_end_matches('+') => Ok(DONE_DELAYS.map(Self::Done).into()),
            _ => text.parse().map(|moment| vec![moment]),
        }
    }

    /// Whether it is one of the start, and long over for a client of this age: on a busy machine a signal comes late.
    pub(super) fn is_long_over(&self, age: Duration) -> bool {
        matches!(self, Self::Start(after) if age > *after + LATENESS_MAX)
    }

    /// Whether an answer is held at it. Elsewhere there is no connection that could be closed.
    pub fn is_in_answer(&self) -> bool {
        matches!(self, Self::Answer(_))
    }
}

/// The number of the last answer.
pub(super) fn last_answer(boundaries: &[AnswerBoundary]) -> Option<u32> {
    boundaries.iter().map(|boundary| boundary.answer).max()
}

/// `start+100ms`, `2:5`, `2:end`, `2:tools+50ms`, `2:marker`, `done+50ms`.
impl fmt::Display for ClientMoment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(after) => write!(f, "{START}{}ms", after.as_millis()),
            Self::Answer(boundary) => boundary.fmt(f),
            Self::Tools { answer, after } => write!(f, "{answer}:{TOOLS}{}ms", after.as_millis()),
            Self::Marker { answer } => write!(f, "{answer}:{MARKER}"),
            Self::Done(after) => write!(f, "{DONE}{}ms", after.as_millis()),
        }
    }
}

impl core::str::FromStr for ClientMoment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            let examples = "`start+100ms`, `2:head`, `2:5`, `2:end`, `2:tools+50ms`, `2:marker` or `done+500ms`";
            format!("`{text}` is not a moment: write {examples}; the numbers are those of answers and events")
        };
        let parsed = if let Some(delay) = text.strip_prefix(START) {
            delay_of(delay).map(Self::Start)
        } else if let Some(delay) = text.strip_prefix(DONE) {
            delay_of(delay).map(Self::Done)
        } else {
            let (answer, rest) = text.split_once(':').ok_or_else(wrong)?;
            let answer = answer.parse().map_err(|_| wrong())?;
            match (rest, rest.strip_prefix(TOOLS)) {
                (MARKER, _) => Some(Self::Marker { answer }),
                (_, Some(delay)) => delay_of(delay).map(|after| Self::Tools { answer, after }),
                (_, None) => text.parse().ok().map(Self::Answer),
            }
        };
        parsed.ok_or_else(wrong)
    }
}

/// `50ms`, `1s`.
fn delay_of(text: &str) -> Option<Duration> {
    let number = |digits: &str| digits.parse::<u64>().ok();
    match text.strip_suffix("ms").and_then(number) {
        Some(time) => Some(Duration::from_millis(time)),
        None => text.strip_suffix('s').and_then(number).map(Duration::from_secs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_9_a_moment_reads_back() {
        for text in ["1:head", "2:17", "3:end", "2:tools+50ms", "2:marker", "start+0ms", "done+500ms"] {
            assert_eq!(text.parse::<ClientMoment>().unwrap().to_string(), text);
        }
        assert_eq!("2:tools+1s".parse::<ClientMoment>().unwrap().to_string(), "2:tools+1000ms");
        for text in ["", "1", "2:tools+", "2:tools+5", "x:tools+1s", "start", "done+", "x:marker", "2:mark"] {
            assert!(text.parse::<ClientMoment>().unwrap_err().contains("2:tools+50ms"), "{text}");
        }
    }

    #[test]
    fn k_9_a_moment_of_the_start_can_be_over() {
        let is_over = |text: &str, age| text.parse::<ClientMoment>().unwrap().is_long_over(Duration::from_millis(age));
        assert_eq!([is_over("start+0ms", 90), is_over("start+0ms", 110), is_over("start+500ms", 510)], [false, true, false]);
        assert!(!is_over("1:head", 60_000) && !is_over("done+50ms", 60_000));
    }

    #[test]
    fn k_9_a_word_without_a_delay_stands_for_all_of_its_kind() {
        let count = |text| ClientMoment::parse_all(text).map(|moments| moments.len()).ok();
        assert_eq!(["2:tools", "start", "done", "2:5", "2:marker", "2:tools+7ms"].map(count), [3, 3, 2, 1, 1, 1].map(Some));
        assert_eq!(["x:tools", "starts", "tools"].map(count), [None; 3]);
        assert_eq!(ClientMoment::parse_all("2:tools").unwrap()[0].to_string(), "2:tools+50ms");
    }

    #[test]
    fn k_9_a_run_has_moments_before_between_and_after_its_answers() {
        let boundaries = ["1:head", "1:end", "2:head", "2:end"].map(|text| text.parse().unwrap());
        let shown: Vec<String> = ClientMoment::of_run(&boundaries, &[1]).iter().map(ToString::to_string).collect();
        let between = ["1:head", "1:end", "1:marker", "1:tools+50ms", "1:tools+300ms", "1:tools+1000ms"];
        let wanted = [["start+0ms", "start+100ms", "start+500ms"].as_slice(), &between, &["2:head", "2:end"], &["done+50ms", "done+500ms"]];
        assert_eq!(shown, wanted.concat());
        let left = [(1, AnswerPart::Head), (1, AnswerPart::Left), (2, AnswerPart::Head), (2, AnswerPart::End), (2, AnswerPart::Left)];
        let boundaries = left.map(|(answer, before)| AnswerBoundary { answer, before });
        let shown: Vec<String> = ClientMoment::of_run(&boundaries, &[]).iter().skip(3).map(ToString::to_string).collect();
        let between = ["1:head", "1:tools+50ms", "1:tools+300ms", "1:tools+1000ms"];
        assert_eq!(shown, [between.as_slice(), &["2:head", "2:end", "done+50ms", "done+500ms"]].concat(), "what is left is over");
        assert_eq!(ClientMoment::of_run(&[], &[]).len(), START_DELAYS.len(), "a run without an answer is never done");
    }
}
