//! Places in JSON values: members with dots between them, `[]` for each entry of an array, as in `message.content[].text`.

use serde_json::Value;

use reenact_wire::prelude::*;

/// The values at a path.
pub(super) fn values_at<'v>(value: &'v Value, path: &str) -> Vec<&'v Value> {
    let mut found = vec![value];
    for member in path.split('.') {
        let name = member.trim_end_matches("[]");
        let depth = (member.len() - name.len()) / 2;
        // `[].text` begins with the entries of the value itself.
        found = found.into_iter().filter_map(|value| if name.is_empty() { Some(value) } else { value.get(name) }).collect();
        for _ in 0..depth {
            found = found.into_iter().flat_map(|value| value.as_array().into_iter().flatten()).collect();
        }
    }
    found
}

/// Whether a value has all these members, each with this text; numbers and truth values are compared as they are written.
pub(super) fn has_members(value: &Value, members: &[(String, String)]) -> bool {
    let written = |value: &Value| value.as_str().map_or_else(|| value.to_string(), Into::into);
    let is_there = |(path, wanted): &(String, String)| values_at(value, path).into_iter().map(written).any(|text| text == *wanted);
    members.iter().all(is_there)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn k_9_a_path_names_members_and_all_entries_of_arrays() {
        let line = json!({ "type": "assistant", "n": 1, "message": { "content": [{ "text": "a" }, { "id": 2 }, { "text": "b" }] }, "deep": [[1], [2]] });
        let shown = |path: &str| values_at(&line, path).into_iter().map(Value::to_string).collect::<Vec<_>>().join(" ");
        assert_eq!(shown("message.content[].text"), "\"a\" \"b\"");
        assert_eq!(
            (shown("deep[][]"), shown("type"), shown("message.content.text"), shown("x[].y")),
            ("1 2".into(), "\"assistant\"".into(), String::new(), String::new())
        );
        assert_eq!(values_at(&json!([{ "a": 1 }]), "[].a"), [&json!(1)]);
        let has = |pairs: &[(&str, &str)]| {
            has_members(&line, &pairs.iter().map(|(path, text)| ((*path).into(), (*text).into())).collect::<Vec<_>>())
        };
        assert!(has(&[]) && has(&[("type", "assistant"), ("n", "1")]) && has(&[("message.content[].text", "b")]));
        assert!(!has(&[("type", "user")]) && !has(&[("type", "assistant"), ("x", "1")]));
    }
}
