//! The moments of a run at which something is done to a client: at a boundary of an answer, or a while after its end (K-9).

use core::fmt;
use std::time::Duration;

use crate::live::serve::gate::{AnswerBoundary, AnswerPart};
use crate::prelude::*;

/// How long after an answer's end a sweep acts: while a tool starts, while it runs, and when it has run for a while.
pub const DELAYS: [Duration; 3] = [Duration::from_millis(50), Duration::from_millis(300), Duration::from_millis(1000)];

/// The word for the time between an answer's end and the next request.
const BETWEEN: &str = "tools+";

/// A moment of a client's run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientMoment {
    /// The boundary.
    pub boundary: AnswerBoundary,
    /// How long after it: only behind the end of an answer, where the client runs tools or comes to its end.
    pub after: Option<Duration>,
}

impl ClientMoment {
    /// At a boundary.
    pub fn at(boundary: AnswerBoundary) -> Self {
        Self { boundary, after: None }
    }

    /// The moment itself and, behind the end of an answer, those after it.
    pub fn from_boundary(boundary: &AnswerBoundary) -> Vec<Self> {
        let delays = if boundary.before == AnswerPart::End { DELAYS.as_slice() } else { &[] };
        let after = delays.iter().map(|after| Self { boundary: boundary.clone(), after: Some(*after) });
        core::iter::once(Self::at(boundary.clone())).chain(after).collect()
    }
}

/// `2:5`, `2:end`, `2:tools+50ms`.
impl fmt::Display for ClientMoment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.after {
            None => self.boundary.fmt(f),
            Some(after) => write!(f, "{}:{BETWEEN}{}ms", self.boundary.answer, after.as_millis()),
        }
    }
}

impl core::str::FromStr for ClientMoment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((answer, delay)) = text.split_once(':').and_then(|(answer, rest)| Some((answer, rest.strip_prefix(BETWEEN)?))) else {
            return Ok(Self::at(text.parse()?));
        };
        let wrong = || format!("`{text}` is not a moment: write the answer and a time, e.g. `2:tools+50ms` or `2:tools+1s`");
        let number = |digits: &str| digits.parse::<u64>().ok();
        let time = match delay.strip_suffix("ms").and_then(number) {
            Some(time) => Some(Duration::from_millis(time)),
            None => delay.strip_suffix('s').and_then(number).map(Duration::from_secs),
        };
        let boundary = AnswerBoundary { answer: answer.parse().map_err(|_| wrong())?, before: AnswerPart::End };
        Ok(Self { boundary, after: Some(time.ok_or_else(wrong)?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_9_a_moment_reads_back() {
        for text in ["1:head", "2:17", "3:end", "2:tools+50ms"] {
            assert_eq!(text.parse::<ClientMoment>().unwrap().to_string(), text);
        }
        assert_eq!("2:tools+1s".parse::<ClientMoment>().unwrap().to_string(), "2:tools+1000ms");
        for text in ["", "1", "2:tools+", "2:tools+5", "x:tools+1s"] {
            assert!(text.parse::<ClientMoment>().is_err(), "{text}");
        }
        let moments = ClientMoment::from_boundary(&"2:end".parse().unwrap());
        let shown: Vec<String> = moments.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["2:end", "2:tools+50ms", "2:tools+300ms", "2:tools+1000ms"]);
    }
}
