//! Attachments of a summary (C-4): the files that were read last, the plan, invoked skills.
//!
//! A file's content is what Read gave last, so only results that the conversation shows can be attached. Without them the agent would have to read
//! the files again after a summary.

use alloc::collections::BTreeMap;

use super::{ConversationParts, media};
use crate::conversation::ConversationItem;
use crate::settings::Settings;
use crate::texts::{ModelTexts, TextName};
use reenact_wire::block::{Block, BlockKind};
use reenact_wire::prelude::*;
use reenact_wire::raw_json::{self, RawObject};
use reenact_wire::tokens;

/// The blocks that are attached, files first, the last read before the others.
pub(super) fn blocks(parts: &ConversationParts, settings: &Settings) -> Vec<Block> {
    let Settings { compaction: settings, texts, .. } = settings;
    let mut left = settings.attached_file_tokens;
    let mut blocks = Vec::new();
    let kept: Vec<Arc<str>> = files(&parts.kept, texts).into_iter().map(|file| file.path).collect();
    for file in files(&parts.replaced, texts).into_iter().rev().filter(|file| !kept.contains(&file.path)) {
        if blocks.len() == settings.attached_files as usize {
            break;
        }
        let block = Block::text(&texts.say(TextName::AttachedFile, &[("path", &file.path), ("content", &file.content)]));
        let tokens = tokens::block(&block);
        if tokens <= left {
            left -= tokens;
            blocks.push(block);
        }
    }
    let plan = settings.plan.iter().map(|plan| Block::text(&texts.say(TextName::AttachedPlan, &[("plan", plan)])));
    let skills = settings.skills.iter().map(|skill| Block::text(&texts.say(TextName::AttachedSkill, &[("skill", skill)])));
    blocks.into_iter().chain(plan).chain(skills).collect()
}

struct AttachedFile {
    path: Arc<str>,
    content: String,
}

/// The files that Read gave, each once with what it gave last, in the order of that.
fn files(items: &[Arc<ConversationItem>], texts: &ModelTexts) -> Vec<AttachedFile> {
    let mut asked: BTreeMap<&str, Arc<str>> = BTreeMap::new();
    let mut files: Vec<AttachedFile> = Vec::new();
    for block in items.iter().flat_map(|item| &item.message.content) {
        match block.kind() {
            BlockKind::ToolUse(tool_use) if &*tool_use.name == "Read" => {
                let input = RawObject::parse(tool_use.input.as_str()).ok();
                let path = input.and_then(|input| input.string("file_path").or(input.string("path")).map(|path| Arc::from(&*path)));
                asked.extend(path.map(|path| (&*tool_use.id, path)));
            }
            BlockKind::ToolResult { tool_use_id, is_error: false } => {
                if let (Some(path), Some(content)) = (asked.get(&**tool_use_id), content(block, texts)) {
                    files.retain(|file| file.path != *path);
                    files.push(AttachedFile { path: path.clone(), content });
                }
            }
            _ => (),
        }
    }
    files
}

/// The text of a result; `None` when it has none, or is a placeholder.
fn content(result: &Block, texts: &ModelTexts) -> Option<String> {
    let result = RawObject::parse(result.json().as_str()).ok()?;
    let content = result.get("content")?;
    let text = match raw_json::string(content) {
        Some(text) => text.into_owned(),
        None => {
            let parts = raw_json::elements(content).ok()?;
            let said = parts.into_iter().filter_map(|part| RawObject::parse(part).ok()?.string("text").map(Cow::into_owned));
            said.filter(|text| !media::is_left_out(text, texts)).collect::<Vec<_>>().join("\n")
        }
    };
    (!text.is_empty() && text != texts.template(TextName::ClearedResult)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compaction::rounds::tests::read;
    use crate::conversation::ItemKind;
    use crate::settings::CompactionSettings;
    use reenact_wire::block::Message;
    use reenact_wire::json::Json;

    /// One round for each file that was read: its path, and how many characters it gave.
    fn reads(files: &[(&str, usize)]) -> Vec<Arc<ConversationItem>> {
        let mut items = Vec::new();
        for (nth, (path, characters)) in files.iter().enumerate() {
            let id = format!("toolu_{nth}_{}", path.trim_start_matches('/'));
            let answer = ConversationItem {
                name: format!("a{nth}").into(),
                kind: ItemKind::Answer,
                message: Arc::new(Message::assistant(vec![read(&id, path)])),
                usage: None,
                lacks_thinking: false,
            };
            let result = Block::tool_result(&id, &Json::from_value(&nth.to_string().repeat(*characters)), false);
            items.extend([Arc::new(answer), Arc::new(ConversationItem::user(format!("r{nth}"), ItemKind::Results, vec![result]))]);
        }
        items
    }

    fn with(compaction: &CompactionSettings) -> Settings {
        Settings { compaction: compaction.clone(), ..Settings::default() }
    }

    fn attached(replaced: &[(&str, usize)], kept: &[(&str, usize)], settings: &CompactionSettings) -> Vec<String> {
        let parts = ConversationParts { replaced: reads(replaced), kept: reads(kept) };
        let text = |block: &Block| match block.kind() {
            BlockKind::Text(text) => text.split(" as it").next().unwrap().to_owned(),
            other => panic!("{other:?}"),
        };
        blocks(&parts, &with(settings)).iter().map(text).collect()
    }

    #[test]
    fn c_4_the_files_that_were_read_last_are_attached_newest_first() {
        let settings = CompactionSettings { attached_files: 2, ..CompactionSettings::default() };
        let files = [("/a", 9), ("/b", 9), ("/c", 9)];
        assert_eq!(attached(&files, &[], &settings), ["/c", "/b"]);
        assert_eq!(attached(&files, &[("/c", 9)], &settings), ["/b", "/a"], "what is kept is not attached");
        assert_eq!(attached(&[("/a", 9), ("/b", 9), ("/a", 9)], &[], &settings), ["/a", "/b"], "each once");
        let none = CompactionSettings { attached_files: 0, ..settings };
        assert_eq!(attached(&files, &[], &none), [] as [&str; 0]);
    }

    #[test]
    fn c_4_a_file_is_attached_as_it_was_read_last() {
        let parts = ConversationParts { replaced: reads(&[("/a", 3), ("/a", 3)]), kept: Vec::new() };
        assert_eq!(blocks(&parts, &Settings::default()), [Block::text("/a as it was last read:\n\n111")]);
    }

    #[test]
    fn c_4_a_file_that_does_not_fit_makes_place_for_an_older_one() {
        let settings = CompactionSettings { attached_file_tokens: 100, ..CompactionSettings::default() };
        assert_eq!(attached(&[("/small", 90), ("/large", 900), ("/tiny", 9)], &[], &settings), ["/tiny", "/small"]);
    }

    #[test]
    fn c_4_plan_and_skills_follow() {
        let settings = CompactionSettings {
            plan: Some("first".into()),
            skills: vec!["second".into(), "third".into()],
            ..CompactionSettings::default()
        };
        let expected = ["The plan:\n\nfirst", "A skill that was invoked:\n\nsecond", "A skill that was invoked:\n\nthird"];
        assert_eq!(blocks(&ConversationParts { replaced: Vec::new(), kept: Vec::new() }, &with(&settings)), expected.map(Block::text));
    }
}
