//! The data of a stream's events, one JSON value a line, without what stood around it (K-5).

use super::collect::Collector;
use super::node::SyntaxError;
use super::sse::{LOST, answer};
use crate::wire::raw::Object;

/// Events are rebuilt as the API writes them; a `message_start` begins the next answer.
pub(super) fn read(text: &str, collector: &mut Collector) -> Result<(), SyntaxError> {
    LOST.iter().chain(&["event lines", "padding"]).for_each(|lost| collector.lose(lost));
    let mut body = String::new();
    for (number, line) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let wrong = |column: usize, problem: String| SyntaxError { line: number, column, problem };
        let event = Object::parse(line).map_err(|error| wrong(error.column(), error.to_string()))?;
        let kind = event.string("type").ok_or_else(|| wrong(1, String::from("an event without a `type`")))?;
        if kind == "message_start" && !body.is_empty() {
            push(&mut body, number, collector)?;
        }
        body.push_str(&format!("event: {kind}\ndata: {line}\n\n"));
    }
    push(&mut body, text.lines().count(), collector)
}

fn push(body: &mut String, line: usize, collector: &mut Collector) -> Result<(), SyntaxError> {
    let body = std::mem::take(body).into_bytes();
    collector.push(answer(body)).map_err(|problem| SyntaxError { line, column: 1, problem })
}
