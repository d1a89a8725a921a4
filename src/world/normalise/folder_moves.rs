//! From the folders of a recording to those of the client that is served (K-10).

use serde_json::Value;

use super::{named_folder, spans};
use reenact_scenario::tape::ClientFolder;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::request::Request;

/// Which folder stands for which.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FolderMoves {
    recorded: Vec<(ClientFolder, String)>,
    /// The spellings of recorded folders with those of the client's, longest first.
    spans: Vec<(spans::FolderSpan, String)>,
}

impl FolderMoves {
    /// From recorded folders to the client's, each with the name that it is shown by.
    pub(crate) fn new(recorded: &[(ClientFolder, String)], client: &[(String, &'static str)]) -> Self {
        let of = |folder: ClientFolder| client.iter().find(|(_, name)| *name == folder.as_str());
        let pairs = recorded.iter().filter_map(|(folder, path)| Some((path.as_str(), of(*folder)?.0.as_str())));
        Self { recorded: recorded.to_vec(), spans: spans_of(pairs) }
    }

    /// The same for a client that says itself where it works.
    pub(crate) fn for_request(&self, request: &Request) -> Self {
        let Some(named) = named_folder::of_request(&beginning(request)) else { return self.clone() };
        let work = self.recorded.iter().find(|(folder, _)| *folder == ClientFolder::Work);
        let Some((_, work)) = work else { return self.clone() };
        let is_other = |(span, _): &&(spans::FolderSpan, String)| !spans::FolderSpan::from_path(work).contains(span);
        let mut spans: Vec<_> = self.spans.iter().filter(is_other).cloned().collect();
        spans.extend(spans_of([(work.as_str(), named.as_str())].into_iter()));
        spans.sort_by_key(|(span, _)| core::cmp::Reverse(span.len()));
        Self { recorded: self.recorded.clone(), spans }
    }

    /// Whether every folder is where it was.
    pub(crate) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// A text with the client's folders.
    pub(crate) fn text(&self, text: &str) -> String {
        self.replaced(text, |path| path.into())
    }

    /// The same for JSON as it is written.
    pub(crate) fn json(&self, json: &str) -> String {
        self.replaced(json, |path| String::from(Json::from_value(path).as_str().trim_matches('"')))
    }

    /// In one pass: a new path may hold an old one.
    fn replaced(&self, text: &str, spelled: impl Fn(&str) -> String) -> String {
        let length = |bytes: &[u8], at: usize| self.spans.iter().find_map(|(span, _)| span.length_at(bytes, at));
        spans::replaced(text, length, |path| {
            let to = self.spans.iter().find(|(span, _)| span.spelling() == path).map_or(path, |(_, to)| to);
            spelled(to)
        })
    }
}

/// The constant part of a client's requests: the system prompt, and its first message.
fn beginning(request: &Request) -> Value {
    let value = |json: &Json| serde_json::from_str::<Value>(json.as_str()).unwrap_or_default();
    let first = request.messages.first().map_or_else(Vec::new, |message| message.content.iter().map(|block| value(block.json())).collect());
    serde_json::json!({ "system": request.system.as_ref().map(value), "messages": [{ "content": first }] })
}

/// The spellings of both, longest first; none where nothing changes.
fn spans_of<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<(spans::FolderSpan, String)> {
    let mut all = Vec::new();
    for (from, to) in pairs.filter(|(from, to)| from.trim_end_matches('/') != to.trim_end_matches('/')) {
        let to = spans::FolderSpan::from_path(to).into_iter().map(|span| String::from(span.spelling()));
        all.extend(spans::FolderSpan::from_path(from).into_iter().zip(to));
    }
    all.sort_by_key(|(span, _): &(spans::FolderSpan, String)| core::cmp::Reverse(span.len()));
    all
}
