//! Verdicts as JSON, for test suites that ask while the server runs (K-6).

use serde_json::{Value, json};

use super::verdict::{ServedExchange, ServedMessage, SessionVerdict};
use reenact_wire::prelude::*;

/// The path of all verdicts. One of them is below it, by its name.
pub const VERDICTS_PATH: &str = "/reenact/verdicts";

/// The name of the verdict that a request asks for: empty for all of them, `None` for another request.
pub fn asked_verdict<'a>(method: &str, path: &'a str) -> Option<&'a str> {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let rest = path.strip_prefix(VERDICTS_PATH).filter(|rest| method == "GET" && (rest.is_empty() || rest.starts_with('/')))?;
    Some(rest.trim_matches('/'))
}

/// One verdict. `is_fine` is `null` as long as nothing was asked.
pub fn verdict(name: &str, verdict: &SessionVerdict) -> Value {
    let is_asked = !verdict.asked.is_empty();
    json!({
        "name": name,
        "is_fine": is_asked.then(|| verdict.is_fine()),
        "end": verdict.end.as_str(),
        "failures": if is_asked { &verdict.failures[..] } else { &[] },
        "asked": verdict.questions.asked,
        "not_asked": verdict.questions.unasked,
        "remarks": verdict.remarks,
        "unused": verdict.unused.iter().map(|answer| &**answer).collect::<Vec<_>>(),
        "requests": verdict.asked.iter().map(exchange).collect::<Vec<_>>(),
    })
}

fn exchange(asked: &ServedExchange) -> Value {
    let message = asked.message.as_ref().map(|ServedMessage { agent, id, model, messages, stream }| {
        json!({ "request": agent.key(*id), "model": &**model, "messages": messages, "stream": stream })
    });
    json!({
        "at_us": asked.at.0,
        "over_at_us": asked.over_at.map(|at| at.0),
        "line": asked.line,
        "message": message,
        "answer": asked.answer.as_deref(),
        "status": asked.status,
        "pieces": asked.pieces,
        "end": asked.how.as_str(),
        "problem": asked.problem,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_6_the_paths_of_verdicts() {
        assert_eq!(asked_verdict("GET", "/reenact/verdicts"), Some(""));
        assert_eq!(asked_verdict("GET", "/reenact/verdicts/query/a?x"), Some("query/a"));
        assert_eq!(asked_verdict("POST", "/reenact/verdicts"), None);
        assert_eq!(asked_verdict("GET", "/reenact/verdictsx"), None);
    }
}
