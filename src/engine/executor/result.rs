//! The shortened form of a result that is too large (T-27, B-12): pure functions over its content.
//!
//! Only text counts, by its characters: an image's data is not text, and its tool has already kept it small.

use crate::texts::{ModelTexts, TextName};
use reenact_wire::block::{Block, BlockKind};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::request::read_content;

/// Whether the content has more than `limit` characters of text; how many, if so.
pub(super) fn excess(content: &Json, limit: u64) -> Option<u64> {
    // No text has more characters than its JSON has bytes, which spares most results the counting.
    if length(content.as_str().len()) <= limit {
        return None;
    }
    let characters = texts(content).iter().map(|text| length(text.chars().count())).sum();
    (characters > limit).then_some(characters)
}

/// The first characters of a result that was stored, and where the rest is.
pub(super) fn preview(texts: &ModelTexts, content: &Json, (characters, shown): (u64, u64), path: &str) -> Json {
    let parts = [("characters", &*characters.to_string()), ("shown", &shown.to_string()), ("path", path)];
    shortened(content, shown, &texts.say(TextName::ResultStored, &parts))
}

/// The first characters of a result that there is no place for.
pub(super) fn cut(texts: &ModelTexts, content: &Json, (characters, limit): (u64, u64)) -> Json {
    let left_out = characters.saturating_sub(limit);
    let parts = [("left_out", &*left_out.to_string()), ("characters", &characters.to_string())];
    shortened(content, limit, &texts.say(TextName::ResultCut, &parts))
}

/// The whole content and a note behind it.
pub(crate) fn with_note(content: &Json, note: &str) -> Json {
    shortened(content, u64::MAX, note)
}

/// The first `keep` characters of text, a note behind them, and every block that is not text.
fn shortened(content: &Json, keep: u64, note: &str) -> Json {
    let mut left = keep;
    let mut first = |text: &str| {
        let kept: String = text.chars().take(usize::try_from(left).unwrap_or(usize::MAX)).collect();
        left -= length(kept.chars().count());
        kept
    };
    if let Ok(text) = serde_json::from_str::<Cow<'_, str>>(content.as_str()) {
        return Json::from_value(&joined(&first(&text), note));
    }
    let mut blocks = Vec::new();
    for block in read_content(content.as_str()).unwrap_or_default() {
        match block.kind() {
            BlockKind::Text(text) => {
                let kept = first(text);
                if !kept.is_empty() {
                    blocks.push(Block::text(&kept));
                }
            }
            _ => blocks.push(block),
        }
    }
    blocks.push(Block::text(note));
    let list: Vec<&str> = blocks.iter().map(|block| block.json().as_str()).collect();
    Json::trusted(format!("[{}]", list.join(",")))
}

fn joined(text: &str, note: &str) -> String {
    if text.is_empty() { String::from(note) } else { format!("{text}\n\n{note}") }
}

/// All text of a content, which is a JSON string or a JSON array of blocks.
fn texts(content: &Json) -> Vec<Arc<str>> {
    if let Ok(text) = serde_json::from_str::<String>(content.as_str()) {
        return vec![text.into()];
    }
    let blocks = read_content(content.as_str()).unwrap_or_default();
    let text = |block: &Block| match block.kind() {
        BlockKind::Text(text) => Some(text.clone()),
        _ => None,
    };
    blocks.iter().filter_map(text).collect()
}

fn length(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const IMAGE: &str = r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}}"#;

    #[test]
    fn t_27_only_characters_of_text_count() {
        let blocks = format!(r#"[{{"type":"text","text":"abc"}},{IMAGE},{{"type":"text","text":"de"}}]"#);
        let table: [(&str, u64, Option<u64>); 8] = [
            (r#""abcde""#, 5, None),
            (r#""abcde""#, 4, Some(5)),
            (r#""ééééé""#, 5, None),
            (r#""\u00e9\u00e9""#, 2, None),
            (r#""\n\n\n""#, 2, Some(3)),
            (&blocks, 5, None),
            (&blocks, 4, Some(5)),
            ("[]", 0, None),
        ];
        for (content, limit, expected) in table {
            assert_eq!(excess(&Json::trusted(content), limit), expected, "{content} over {limit}");
        }
    }

    #[test]
    fn t_27_a_cut_result_says_how_much_is_left_out() {
        let text = cut(&ModelTexts::default(), &Json::from_value("abcdéf"), (6, 5)).to_value();
        assert_eq!(text, "abcdé\n\n[1 of 6 characters were left out here: there is no place to store them.]");
        assert!(
            cut(&ModelTexts::default(), &Json::from_value("ab"), (2, 0)).to_value().as_str().unwrap().starts_with("[2 of 2 characters")
        );
    }

    #[test]
    fn t_27_a_preview_says_where_the_rest_is() {
        let text = preview(&ModelTexts::default(), &Json::from_value("abcdef"), (6, 2), "/w/x.txt").to_value();
        assert_eq!(text, "ab\n\n[This result has 6 characters. The first 2 are shown; all of it is in /w/x.txt.]");
    }

    #[test]
    fn t_27_of_several_blocks_the_first_text_stays_and_all_that_is_no_text() {
        let content = Json::trusted(format!(
            r#"[{{"type":"text","text":"abc"}},{IMAGE},{{"type":"text","text":"def"}},{{"type":"text","text":"g"}}]"#
        ));
        let value = cut(&ModelTexts::default(), &content, (7, 4)).to_value();
        let kinds: Vec<_> = value.as_array().unwrap().iter().map(|block| block["text"].as_str().unwrap_or("image").to_string()).collect();
        assert_eq!(kinds, ["abc", "image", "d", "[3 of 7 characters were left out here: there is no place to store them.]"]);
    }
}
