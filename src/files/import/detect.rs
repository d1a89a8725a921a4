//! Which recording a file is, found from what it holds (K-5): names and endings of recordings follow no rule.

use super::node::{Node, SyntaxError};
use crate::wire::raw::Object;

/// A format that can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// vcrpy and pytest-recording, YAML or JSON, with the `parsed_body` variant.
    Vcrpy,
    /// go-vcr, YAML.
    GoVcr,
    /// Ruby's VCR and R's vcr, YAML or JSON.
    RubyVcr,
    /// httpmock, YAML of several documents.
    Httpmock,
    /// opencode's http-recorder, JSON.
    Opencode,
    /// Inline snapshots of the Anthropic SDK for Python, JSON.
    AnthropicSdk,
    /// claude-trace, a JSON value a line.
    ClaudeTrace,
    /// HTTP archive, as browsers and Polly.js write it.
    Har,
    /// The body of one streamed answer.
    Sse,
    /// The data of a stream's events, a line each.
    Chunks,
}

impl Format {
    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Vcrpy => "a vcrpy cassette",
            Self::GoVcr => "a go-vcr cassette",
            Self::RubyVcr => "a Ruby VCR cassette",
            Self::Httpmock => "httpmock recordings",
            Self::Opencode => "an opencode http recording",
            Self::AnthropicSdk => "inline snapshots of the Anthropic SDK",
            Self::ClaudeTrace => "a claude-trace log",
            Self::Har => "a HAR file",
            Self::Sse => "a raw event stream",
            Self::Chunks => "stream data with one JSON value a line",
        }
    }
}

/// What a file turned out to be.
#[derive(Debug)]
pub(super) enum Detected {
    /// It can be imported, from this tree.
    Tree(Format, Node),
    /// It can be imported, from its text.
    Text(Format),
    /// It is a tape already.
    Tape,
    /// It is known and cannot be imported.
    Known(&'static str),
    /// It would be YAML or JSON, but for this.
    Broken(&'static str, SyntaxError),
    /// It is none of these.
    Unknown,
}

/// Finds out what `text` is.
pub(super) fn detect(text: &str) -> Detected {
    let text = text.trim_start_matches('\u{feff}');
    let Some(first) = text.lines().map(str::trim).find(|line| !line.is_empty()) else { return Detected::Unknown };
    if ["event:", "data:", "id:", "retry:", ":"].iter().any(|field| first.starts_with(field)) && has_event_data(text) {
        return Detected::Text(Format::Sse);
    }
    if first.starts_with("httprr trace") {
        return Detected::Known("an httprr trace");
    }
    match first.as_bytes()[0] {
        b'{' | b'[' => json(text, first),
        _ => yaml(text),
    }
}

fn has_event_data(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("data:"))
}

fn json(text: &str, first: &str) -> Detected {
    match Node::from_json(text) {
        // A file with one line is a list of lines too.
        Ok(node) if text.trim().lines().count() == 1 => match of_line(first) {
            Detected::Unknown => of_tree(node),
            known => known,
        },
        Ok(node) => of_tree(node),
        Err(error) => match of_line(first) {
            Detected::Unknown => Detected::Broken("JSON", error),
            known => known,
        },
    }
}

/// A file of one JSON value a line, by its first.
fn of_line(first: &str) -> Detected {
    let Ok(line) = Object::parse(first) else { return Detected::Unknown };
    let has = |names: &[&str]| names.iter().all(|name| line.get(name).is_some());
    let kind = line.string("type").unwrap_or_default();
    if has(&["reenact_tape"]) {
        Detected::Tape
    } else if ["message_start", "ping", "content_block_start"].contains(&&*kind) {
        Detected::Text(Format::Chunks)
    } else if has(&["request", "response", "logged_at"]) {
        Detected::Text(Format::ClaudeTrace)
    } else if has(&["method", "response"])
        && line.string("method").is_some_and(|method| method.contains("Content") || method.contains("Tokens"))
    {
        Detected::Known("gemini-cli responses")
    } else if has(&["v", "run_id"]) {
        Detected::Known("a reeltime tape")
    } else if has(&["sessionId", "message"]) || has(&["parentUuid"]) || (kind == "session" && has(&["cwd"])) {
        Detected::Known("an agent's transcript (messages, not wire traffic)")
    } else {
        Detected::Unknown
    }
}

fn yaml(text: &str) -> Detected {
    match Node::documents(text) {
        Ok(documents) if documents.first().is_some_and(|one| one.get("when").is_some() && one.get("then").is_some()) => {
            Detected::Tree(Format::Httpmock, Node::List(documents))
        }
        Ok(documents) => documents.into_iter().next().map_or(Detected::Unknown, of_tree),
        // The first words tell a broken recording from any other text.
        Err(error) => match text.contains("interactions:") || text.contains("\nwhen:") || text.starts_with("when:") {
            true => Detected::Broken("YAML", error),
            false => Detected::Unknown,
        },
    }
}

/// A tree, by the members that only one format has.
fn of_tree(node: Node) -> Detected {
    let has = |node: Option<&Node>, names: &[&str]| node.is_some_and(|node| names.iter().all(|name| node.get(name).is_some()));
    let first = |list: Option<&Node>| list.and_then(Node::list).and_then(<[Node]>::first).cloned();
    if node.get("log").is_some_and(|log| log.get("entries").is_some()) {
        return Detected::Tree(Format::Har, node);
    }
    if node.get("http_interactions").is_some() {
        return Detected::Tree(Format::RubyVcr, node);
    }
    if node.get("fixtures").is_some() {
        return Detected::Known("aimock fixtures");
    }
    if node.get("model_spec").is_some() && node.get("chunks").is_some() {
        return Detected::Known("a req_llm fixture");
    }
    if let Some(list) = node.get("interactions") {
        let interaction = first(Some(list));
        let (request, response) =
            (interaction.as_ref().and_then(|one| one.get("request")), interaction.as_ref().and_then(|one| one.get("response")));
        return match () {
            () if has(response, &["code"]) => Detected::Tree(Format::GoVcr, node),
            () if has(request, &["uri"]) => Detected::Tree(Format::Vcrpy, node),
            () if has(interaction.as_ref(), &["transport"]) || has(Some(&node), &["metadata"]) => Detected::Tree(Format::Opencode, node),
            // Both of these members are optional.
            () if has(request, &["url"]) && has(response, &["status"]) => Detected::Tree(Format::Opencode, node),
            // An empty cassette says at least whose it is.
            () if list.list().is_some_and(<[Node]>::is_empty) => match node.get("version").and_then(Node::text) {
                Some("2") => Detected::Tree(Format::GoVcr, node),
                _ => Detected::Tree(Format::Vcrpy, node),
            },
            () => Detected::Unknown,
        };
    }
    match first(Some(&node)) {
        Some(one) if has(Some(&one), &["request", "response", "logged_at"]) => Detected::Tree(Format::ClaudeTrace, node),
        Some(one) if has(one.get("response"), &["status_code"]) => Detected::Tree(Format::AnthropicSdk, node),
        _ => Detected::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(text: &str) -> &'static str {
        match detect(text) {
            Detected::Tree(format, _) | Detected::Text(format) => format.name(),
            Detected::Known(name) => name,
            Detected::Tape => "a tape",
            Detected::Broken(kind, _) => kind,
            Detected::Unknown => "",
        }
    }

    #[test]
    fn k_5_formats_are_found_by_what_they_hold() {
        let table = [
            ("event: message_start\r\ndata: {}\r\n\r\n", "a raw event stream"),
            ("\u{feff}: hello\n\ndata: {}\n\n", "a raw event stream"),
            ("{\"type\":\"message_start\"}\n{\"type\":\"ping\"}", "stream data with one JSON value a line"),
            ("{\"reenact_tape\":1}\n", "a tape"),
            ("{\"log\":{\"version\":\"1.2\",\"entries\":[]}}", "a HAR file"),
            ("interactions: []\nversion: 1\n", "a vcrpy cassette"),
            ("interactions:\n- request: {uri: u}\n  response: {status: {code: 200}}\n", "a vcrpy cassette"),
            ("version: 2\ninteractions:\n- request: {url: u}\n  response: {code: 200}\n", "a go-vcr cassette"),
            ("{\"interactions\":[{\"request\":{\"uri\":\"u\"},\"response\":{}}]}", "a vcrpy cassette"),
            ("---\nhttp_interactions: []\n", "a Ruby VCR cassette"),
            ("when:\n  path: /\nthen:\n  status: 200\n---\nwhen: {}\nthen: {}\n", "httpmock recordings"),
            ("{\"version\":1,\"metadata\":{},\"interactions\":[{\"request\":{\"url\":1},\"response\":{}}]}", "an opencode http recording"),
            ("{\"version\":1,\"interactions\":[{\"request\":{\"url\":1},\"response\":{\"status\":1}}]}", "an opencode http recording"),
            ("{\"interactions\":[{\"request\":{\"path\":1},\"response\":{\"status\":1}}]}", ""),
            ("[{\"request\":{},\"response\":{\"status_code\":200}}]", "inline snapshots of the Anthropic SDK"),
            ("{\"request\":{},\"response\":null,\"logged_at\":1}\n{}", "a claude-trace log"),
            ("httprr trace v1\n1 2\n", "an httprr trace"),
            ("{\"method\":\"generateContent\",\"response\":{}}\n", "gemini-cli responses"),
            ("{\"fixtures\":[]}", "aimock fixtures"),
            ("{\"log\":\n{", "JSON"),
            ("interactions:\n- request: {uri: [}\n", "YAML"),
            ("hello", ""),
            ("", ""),
            ("42", ""),
        ];
        for (text, name) in table {
            assert_eq!(known(text), name, "{text}");
        }
    }
}
