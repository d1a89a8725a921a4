//! The folder that a client says it works in. A recording of another program, or a client that was started elsewhere, tells it in no other way (K-10).

use serde_json::Value;

use reenact_wire::prelude::*;

/// The words before the path, in small letters: `Working directory: /w`, `cwd=/w`, `<cwd>/w</cwd>`.
const LABELS: [&str; 3] = ["working directory", "working_directory", "cwd"];

/// How much may stand between label and path: `** is: `.
const BETWEEN_MAX: usize = 8;

/// The folder that a request names in its system prompt, or in its first message.
pub(crate) fn of_request(request: &Value) -> Option<String> {
    in_value(&request["system"]).or_else(|| in_value(&request["messages"][0]["content"]))
}

fn in_value(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => in_text(text),
        Value::Array(items) => items.iter().find_map(in_value),
        Value::Object(members) => members.get("text").and_then(in_value),
        _ => None,
    }
}

/// The first absolute path behind a label.
fn in_text(text: &str) -> Option<String> {
    let small = text.to_ascii_lowercase();
    let found = LABELS.iter().flat_map(|label| small.match_indices(label));
    // Behind the end of an element stands something else.
    let ends = found.filter(|(at, _)| !small[..*at].ends_with("</")).map(|(at, label)| at + label.len());
    let mut ends: Vec<usize> = ends.collect();
    ends.sort_unstable();
    ends.into_iter().find_map(|end| path_behind(&text[end..]))
}

fn path_behind(text: &str) -> Option<String> {
    let between = text.find('/').filter(|between| *between <= BETWEEN_MAX)?;
    let is_between = |character: char| character.is_ascii_punctuation() || character == ' ' || "is".contains(character);
    let is_closed = text[..between].ends_with('<'); // the end of an empty element
    if is_closed || !text[..between].chars().all(is_between) {
        return None;
    }
    let path = &text[between..];
    let end = path.find(|character: char| character.is_whitespace() || "\"'`<>|,;)]".contains(character)).unwrap_or(path.len());
    let path = path[..end].trim_end_matches(['.', ':', '/']);
    (path.len() >= 2).then(|| path.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_10_the_folder_that_a_client_names() {
        for (text, folder) in [
            ("<env>\nWorking directory: /w/me/a-b\nPlatform: linux", Some("/w/me/a-b")),
            (" - Primary working directory: /w/x.y\n", Some("/w/x.y")),
            ("Your current working directory is `/w/x`.", Some("/w/x")),
            ("<cwd>/w/x</cwd>", Some("/w/x")),
            ("cwd=/w/x.", Some("/w/x")),
            ("{\"cwd\": \"/w/x\"}", Some("/w/x")),
            ("Paths are relative to the working directory.\nWorking directory: /w", Some("/w")),
            ("Paths are relative to the working directory. Read /etc/hosts", None),
            ("<cwd></cwd> /w", None),
            ("the working directory: /", None),
            ("no folder at /w", None),
        ] {
            assert_eq!(in_text(text).as_deref(), folder, "{text}");
        }
        let request =
            serde_json::json!({ "system": [{ "type": "text", "text": "x" }, { "type": "text", "text": "cwd: /w" }], "messages": [] });
        assert_eq!(of_request(&request).as_deref(), Some("/w"));
        let request = serde_json::json!({ "messages": [{ "role": "user", "content": [{ "type": "text", "text": "cwd: /v" }] }] });
        assert_eq!(of_request(&request).as_deref(), Some("/v"));
    }
}
