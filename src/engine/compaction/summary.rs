//! The request for a summary, and the items that replace the conversation (C-4).
//!
//! ```text
//!   replaced                      kept          before: what the model summarises, and what stays as it is
//!   p1 a1 r1 … a9 r9              p2
//!   summary                       p2  attachments  hook results          after
//! ```

mod attachments;
mod media;

use super::estimate::item_tokens;
use super::rounds;
use crate::call::thinking_below;
use crate::conversation::host::place_of_the_users;
use crate::conversation::{ConversationItem, ItemKind};
use crate::emission::AssistantMessage;
use crate::retry::AttemptFailure;
use crate::settings::{CompactionSettings, Environment, Settings};
use crate::texts::{ModelTexts, TextName};
use reenact_wire::block::{Block, BlockKind, Message};
use reenact_wire::json::Json;
use reenact_wire::models::ModelFacts;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;
use reenact_wire::request::{Request, push_merged};

/// A conversation, divided.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(super) struct ConversationParts {
    /// The items that the summary replaces.
    pub(super) replaced: Vec<Arc<ConversationItem>>,
    /// The items that stay as they are.
    pub(super) kept: Vec<Arc<ConversationItem>>,
}

impl ConversationParts {
    /// Divides what requests see; `None` when no answer is in what could be summarised. `holds_message` says of which tool uses the results hold words of the user.
    pub(super) fn divide(
        seen: Vec<Arc<ConversationItem>>,
        settings: &CompactionSettings,
        holds_message: impl Fn(&Arc<str>) -> bool,
    ) -> Option<Self> {
        let from = kept_from(&seen, settings.keep_messages, holds_message);
        let mut replaced = seen;
        let kept = replaced.split_off(from);
        let is_worth_it = replaced.iter().any(|item| item.is_answer());
        is_worth_it.then_some(Self { replaced, kept })
    }

    /// The same parts for this model: what stays comes to stand behind a summary, and loses the thinking that the model binds to what was before it.
    pub(super) fn unbound(mut self, model: &str, texts: &ModelTexts) -> Self {
        if ModelFacts::binds_thinking(model) {
            forget_thinking(&mut self.kept, texts);
        }
        self
    }
}

/// Where that which stays begins: the newest `keep` items and what belongs to the same unit, or what the user said last and is not
/// answered, whichever is more.
fn kept_from(items: &[Arc<ConversationItem>], keep: u32, holds_message: impl Fn(&Arc<str>) -> bool) -> usize {
    let holds = |block: &Block| matches!(block.kind(), BlockKind::ToolResult { tool_use_id, .. } if holds_message(tool_use_id));
    let is_unanswered = |item: &Arc<ConversationItem>| {
        let is_the_users = matches!(item.kind, ItemKind::Prompt | ItemKind::Hidden | ItemKind::Earlier) && is_the_users(item);
        is_the_users || item.message.content.iter().any(holds)
    };
    let unanswered = items.iter().rev().take_while(|item| is_unanswered(item)).count();
    let wanted = items.len() - unanswered.max(keep as usize).min(items.len());
    let cuts = rounds::cuts(items);
    (0..=wanted).rev().find(|at| cuts[*at]).unwrap_or(0)
}

/// Whether only the user speaks: no answer, and no tool's result.
fn is_the_users(item: &ConversationItem) -> bool {
    !item.is_answer() && !item.message.content.iter().any(|block| matches!(block.kind(), BlockKind::ToolResult { .. }))
}

/// An item as it is after the compaction: what the API counted for it counted what was before it, too, and holds no more.
pub(super) fn as_it_goes_on(item: &Arc<ConversationItem>, without_media: bool, texts: &ModelTexts) -> Arc<ConversationItem> {
    let stripped = if without_media { media::without_media(&item.message, texts) } else { None };
    match stripped {
        None if item.usage.is_none() => item.clone(),
        stripped => {
            let message = stripped.map_or_else(|| item.message.clone(), Arc::new);
            Arc::new(ConversationItem { message, usage: None, ..ConversationItem::clone(item) })
        }
    }
}

/// The messages of the summarising call.
pub(super) fn messages(
    asked_about: &[Arc<ConversationItem>],
    are_all: bool,
    instructions: &[Arc<str>],
    texts: &ModelTexts,
) -> Vec<Arc<Message>> {
    let mut messages = Vec::new();
    if !are_all {
        push_merged(&mut messages, Arc::new(Message::user(vec![Block::text(texts.template(TextName::OlderLeftOut))])));
    }
    let (answered, unanswered) = asked_about.split_at(place_of_the_users(asked_about));
    answered.iter().for_each(|item| push_merged(&mut messages, item.message.clone()));
    let mut prompt = String::from(texts.template(TextName::SummaryPrompt));
    for instruction in instructions {
        prompt.push_str("\n\n");
        prompt.push_str(&texts.say(TextName::SummaryInstruction, &[("instruction", instruction)]));
    }
    push_merged(&mut messages, Arc::new(Message::user(vec![Block::text(&prompt)])));
    unanswered.iter().for_each(|item| push_merged(&mut messages, item.message.clone()));
    messages
}

/// The request as the summarising call makes it: streamed, with room for a summary, and without tools unless they are to stay.
pub(super) fn request(mut request: Request, max_tokens: u64, keeps_tools: bool) -> Request {
    if !keeps_tools {
        request.tools = None;
    }
    request.stream = true;
    // The API takes no 0, and the settings may leave no room for a summary.
    request.max_tokens = max_tokens.max(1);
    // Who may not use tools cannot be told which to use, and who may say little cannot think for long: the API refuses both.
    if let Ok(extra) = RawObject::parse(request.extra.as_str())
        && extra.get("tool_choice").is_some()
    {
        request.extra = Json::trusted(extra.without("tool_choice"));
    }
    if let Some(extra) = thinking_below(&request.extra, max_tokens) {
        request.extra = extra;
    }
    request
}

/// Thinking is bound to the model that thought it, and of newer models to all that was before it: elsewhere it is refused (Q-19). `None` where there
/// is none. What an answer was nothing but is said to be missing, because the API refuses a message without content.
fn without_thinking(message: &Message, texts: &ModelTexts) -> Option<Message> {
    if !message.content.iter().any(Block::is_thinking) {
        return None;
    }
    let mut content: Vec<Block> = message.content.iter().filter(|block| !block.is_thinking()).cloned().collect();
    if content.is_empty() {
        content.push(Block::text(texts.template(TextName::ThinkingLeftOut)));
    }
    Some(Message { role: message.role, content })
}

/// Takes the thinking out of these items (Q-19).
pub(super) fn forget_thinking(items: &mut [Arc<ConversationItem>], texts: &ModelTexts) {
    for item in items {
        if let Some(message) = without_thinking(&item.message, texts) {
            *item = Arc::new(ConversationItem { message: Arc::new(message), lacks_thinking: true, ..ConversationItem::clone(item) });
        }
    }
}

/// The summary in an answer.
pub(super) fn read(blocks: &[Arc<AssistantMessage>], stop_reason: Option<&str>) -> Result<Arc<str>, AttemptFailure> {
    match stop_reason {
        Some("max_tokens" | "model_context_window_exceeded") => {
            return Err(AttemptFailure::new("summary_cut_short", "the summary is itself too long: the output limit cut it off"));
        }
        Some("refusal") => return Err(AttemptFailure::new("summary_refused", "the model refused to summarise the conversation")),
        _ => (),
    }
    let said = text(blocks);
    let said = untagged(said.trim());
    if said.is_empty() {
        return Err(AttemptFailure::new("empty_summary", "the model answered without any text"));
    }
    Ok(said.into())
}

/// Whether the summary is in tags.
pub(super) fn is_tagged(blocks: &[Arc<AssistantMessage>]) -> bool {
    let said = text(blocks);
    untagged(said.trim()) != said.trim()
}

/// All that an answer says.
fn text(blocks: &[Arc<AssistantMessage>]) -> String {
    let text = |message: &Arc<AssistantMessage>| match message.block.kind() {
        BlockKind::Text(text) => Some(text.clone()),
        _ => None,
    };
    blocks.iter().filter_map(text).collect::<Vec<_>>().join("\n")
}

/// C-4a: the summary in what was said. The prompt asks for plain text, so all of it is the summary, and there is no reason to ask once more for
/// tags. Models that know another prompt may put it into tags, and an analysis before it: what is in the tags stands alone then.
fn untagged(said: &str) -> &str {
    let tagged = || {
        let rest = match said.strip_prefix("<analysis>") {
            Some(analysis) => analysis.split_once("</analysis>")?.1.trim_start(),
            None => said,
        };
        rest.strip_prefix("<summary>")?.strip_suffix("</summary>")
    };
    tagged().map_or(said, str::trim)
}

/// The items that a summary brings with it.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(super) struct SummaryItems {
    /// The summary as a hidden user message.
    pub(super) summary: Arc<ConversationItem>,
    /// Files, plan, skills; `None` when there is nothing to attach.
    pub(super) attachments: Option<Arc<ConversationItem>>,
}

impl SummaryItems {
    /// `name` is the answer's that holds the summary; names are made from it.
    pub(super) fn new(name: &str, summary: &str, parts: &ConversationParts, settings: &Settings) -> Self {
        let said = format!("{}\n\n{summary}", settings.texts.template(TextName::SummaryHead));
        let summary = ConversationItem::user(format!("{name}.summary"), ItemKind::Summary, vec![Block::text(&said)]);
        let content = attachments::blocks(parts, settings);
        let attached = || Arc::new(ConversationItem::user(format!("{name}.attachments"), ItemKind::Hidden, content.clone()));
        Self { summary: Arc::new(summary), attachments: (!content.is_empty()).then(attached) }
    }

    /// All that is added, in tokens.
    pub(super) fn tokens(&self, env: &Environment) -> u64 {
        item_tokens(env, &self.summary) + self.attachments.as_ref().map_or(0, |item| item_tokens(env, item))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compaction::rounds::tests::{conversations, is_paired, items};
    use crate::contract::RequestId;
    use proptest::prelude::*;

    fn kept(said: &str, keep: u32) -> usize {
        let items = items(said);
        items.len() - kept_from(&items, keep, |_| false)
    }

    #[test]
    fn c_4_a_summary_is_asked_for_with_some_room() {
        let room = |tokens| request(Request::new("m", 9), tokens, false).max_tokens;
        assert_eq!((room(0), room(7)), (1, 7));
    }

    #[test]
    fn c_4_what_is_kept_is_whole_and_holds_what_is_not_answered() {
        let table = [
            ("p a+1 r", 0, 0),
            ("p a+1 r", 1, 2),
            ("p a+1 r", 2, 2),
            ("p a+1 r", 3, 3),
            ("p a p", 0, 1),
            ("p a p p", 1, 2),
            ("p a p", 2, 2),
            ("p", 0, 1),
            ("p a", 0, 0),
            ("p a", 99, 2),
        ];
        for (said, keep, expected) in table {
            assert_eq!(kept(said, keep), expected, "{keep} of {said}");
        }
    }

    #[test]
    fn c_4_without_an_answer_there_is_nothing_to_summarise() {
        let settings = CompactionSettings::default();
        assert_eq!(ConversationParts::divide(items("p"), &settings, |_| false), None);
        assert_eq!(ConversationParts::divide(items(""), &settings, |_| false), None);
        let keeps_all = CompactionSettings { keep_messages: 9, ..settings.clone() };
        assert_eq!(ConversationParts::divide(items("p a+1 r"), &keeps_all, |_| false), None);
        let with_message = |id: &Arc<str>| &**id == "toolu_3_0";
        let parts = ConversationParts::divide(items("p a+1 r a+1 r"), &settings, with_message).unwrap();
        assert_eq!((parts.replaced.len(), parts.kept.len()), (3, 2), "the words of the user stand in the last result");
        let parts = ConversationParts::divide(items("p a p"), &settings, |_| false).unwrap();
        assert_eq!((parts.replaced.len(), parts.kept.len()), (2, 1));
    }

    #[test]
    fn c_9_the_prompt_is_the_last_message_and_ends_in_the_instructions() {
        let all = items("p a+1 r");
        let asked = messages(&all, true, &["the tests".into()], &ModelTexts::default());
        let last = asked.last().unwrap();
        assert_eq!(asked.len(), 3, "it merges with the results");
        let Some(BlockKind::Text(text)) = last.content.last().map(Block::kind) else { panic!("{last:?}") };
        assert!(text.starts_with(TextName::SummaryPrompt.ours()) && text.ends_with("the tests"), "{text}");
        let rest = messages(&all[1..], false, &[], &ModelTexts::default());
        assert_eq!(rest[0].content, [Block::text(TextName::OlderLeftOut.ours())], "a conversation begins with the user");
    }

    #[test]
    fn c_4_the_call_is_streamed_and_has_no_tools() {
        let mut frame = Request::new("m", 8_000);
        frame.stream = false;
        frame.tools = Some(Json::trusted("[]"));
        frame.extra = Json::trusted(r#"{"temperature":0,"tool_choice":{"type":"any"},"top_k":1}"#);
        let with_tools = request(frame.clone(), 20_000, true);
        assert_eq!(with_tools.tools, frame.tools);
        let asked = request(frame, 20_000, false);
        assert_eq!((asked.tools, asked.stream, asked.max_tokens), (None, true, 20_000));
        assert_eq!(asked.extra.as_str(), r#"{"temperature":0,"top_k":1}"#);
        let mut thinks = Request::new("m", 64_000);
        thinks.extra = Json::trusted(r#"{"thinking":{"type":"enabled","budget_tokens":32000}}"#);
        assert_eq!(request(thinks, 20_000, false).extra.as_str(), r#"{"thinking":{"type":"enabled","budget_tokens":19999}}"#);
    }

    #[test]
    fn c_4_only_a_whole_text_is_a_summary() {
        let block = |json: &str| {
            let block = Block::from(Json::parse(json).unwrap());
            let id = RequestId::first(1);
            Arc::new(AssistantMessage { uuid: "u".into(), id, api_id: "m".into(), model: "m".into(), block, error: None })
        };
        let text = block(r#"{"type":"text","text":" done "}"#);
        let thinking = block(r#"{"type":"thinking","thinking":"hm","signature":"s"}"#);
        assert_eq!(&*read(&[thinking.clone(), text.clone()], Some("end_turn")).unwrap(), "done");
        let kind = |blocks: &[_], stop| read(blocks, Some(stop)).unwrap_err().kind;
        assert_eq!(&*kind(core::slice::from_ref(&text), "max_tokens"), "summary_cut_short");
        assert_eq!(&*kind(&[text], "refusal"), "summary_refused");
        assert_eq!(&*kind(&[thinking], "end_turn"), "empty_summary");
        assert_eq!(&*kind(&[block(r#"{"type":"text","text":" \n"}"#)], "end_turn"), "empty_summary");
    }

    #[test]
    fn c_4a_a_summary_needs_no_tags_and_loses_those_it_has() {
        let table = [
            ("plain", "plain"),
            ("<summary>\nin tags\n</summary>", "in tags"),
            ("<analysis>first this</analysis>\n\n<summary>then that</summary>", "then that"),
            ("<analysis>first this</analysis>\n\nthen that", "<analysis>first this</analysis>\n\nthen that"),
            ("The page has <summary>a title</summary>", "The page has <summary>a title</summary>"),
            ("<summary>cut off", "<summary>cut off"),
            ("<summary> </summary>", ""),
        ];
        for (said, summary) in table {
            assert_eq!(untagged(said), summary, "{said}");
        }
    }

    #[test]
    fn q_19_another_model_gets_no_thinking() {
        let thinking = Block::from(Json::trusted(r#"{"type":"thinking","thinking":"hm","signature":"s"}"#));
        let stripped = without_thinking(&Message::assistant(vec![thinking.clone(), Block::text("a")]), &ModelTexts::default()).unwrap();
        assert_eq!(stripped.content, [Block::text("a")]);
        let alone = without_thinking(&Message::assistant(vec![thinking.clone()]), &ModelTexts::default()).unwrap();
        assert_eq!(alone.content, [Block::text("[thinking left out]")], "the API refuses a message without content");
        let texts = ModelTexts { replaced: [(TextName::ThinkingLeftOut, "[no thought]".into())].into(), ..ModelTexts::default() };
        assert_eq!(without_thinking(&Message::assistant(vec![thinking.clone()]), &texts).unwrap().content, [Block::text("[no thought]")]);
        assert_eq!(without_thinking(&stripped, &ModelTexts::default()), None);
    }

    proptest! {
        #[test]
        fn c_7_both_parts_are_whole(items in conversations(), keep in 0..9_u32) {
            let settings = CompactionSettings { keep_messages: keep, ..CompactionSettings::default() };
            if let Some(parts) = ConversationParts::divide(items, &settings, |_| false) {
                prop_assert!(is_paired(parts.replaced.iter().map(|item| &item.message)));
                prop_assert!(is_paired(parts.kept.iter().map(|item| &item.message)));
                for round in rounds::rounds(&parts.replaced) {
                    prop_assert!(is_paired(parts.replaced[round.end..].iter().map(|item| &item.message)));
                }
            }
        }
    }
}
