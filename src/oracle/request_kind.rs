//! The purpose of a request: the conversation itself, its summary, or a line about tools. Several rules are about one of them.
//!
//! The environment states the texts that an engine sends to the model (T-31), and a request is known by them. The requests of an engine with other
//! texts are all ordinary.

use reenact_engine::contract::{Block, Input, Json, Request, RequestId, Role};
use reenact_engine::key::SharedValue;
use reenact_engine::settings::{CommandAction, Settings, SlashCommand};
use reenact_engine::texts::{ModelTexts, TextName};
use reenact_wire::block::BlockKind;

/// A request with its purpose.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct SentRequest<'a> {
    pub(super) id: RequestId,
    pub(super) request: &'a SharedValue<Request>,
    pub(super) kind: RequestKind,
}

/// The purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum RequestKind {
    /// The conversation goes on.
    Ordinary,
    /// The conversation is to be summarised (C-4, C-5, C-9).
    Summary,
    /// A line about the tools of a turn, beside the conversation (S-7).
    ToolSummary,
    /// It may ask for a summary, or go on: the user has spoken in the words of such a request.
    Unclear,
}

/// Tells the kinds of requests apart.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct RequestKindReader {
    /// Whether a message of the user, or another text of the engine, begins like a request for a summary, so that neither is known by its text.
    is_summary_text_said: bool,
}

impl RequestKindReader {
    pub(super) fn new(texts: &ModelTexts) -> Self {
        Self { is_summary_text_said: texts.is_ambiguous(TextName::SummaryPrompt) }
    }

    pub(super) fn on_input(&mut self, input: &Input, settings: &Settings) {
        if let Input::Prompt { content, .. } | Input::Interrupt { content, .. } = input {
            let prompt = settings.texts.template(TextName::SummaryPrompt);
            self.is_summary_text_said |= content.iter().any(|block| begins_with(block, prompt));
            // A command's text may be sent in the place of its name.
            let is_such_command = |command: &SlashCommand| match &command.does {
                CommandAction::Ask(text) => !prompt.is_empty() && text.starts_with(prompt),
                _ => false,
            };
            self.is_summary_text_said |= settings.session.commands.iter().any(is_such_command);
        }
    }

    pub(super) fn read(&self, request: &Request, texts: &ModelTexts) -> RequestKind {
        let prompt = texts.template(TextName::SummaryPrompt);
        let last = asking_message(request).map(|place| &request.messages[place]).filter(|message| message.role == Role::User);
        // What nobody has answered yet stands behind the prompt.
        let is_asked = last.is_some_and(|last| last.content.iter().any(|block| begins_with(block, prompt)));
        let line = texts.template(TextName::ToolSummaryPrompt);
        match () {
            () if is_asked && !self.is_summary_text_said => RequestKind::Summary,
            () if !line.is_empty() && request.system.as_ref().is_some_and(|system| is_text(system, line)) => RequestKind::ToolSummary,
            () if is_asked => RequestKind::Unclear,
            () => RequestKind::Ordinary,
        }
    }
}

/// The place of the message that asks: the last one. A message of the system may stand behind it (S-11).
pub(super) fn asking_message(request: &Request) -> Option<usize> {
    request.messages.iter().rposition(|message| message.role != Role::System)
}

/// Whether JSON is this text. Most system prompts are blocks, for which no text is written out.
fn is_text(json: &Json, text: &str) -> bool {
    json.as_str().starts_with('"') && *json == Json::from_value(text)
}

/// Whether a block is a text that begins so.
fn begins_with(block: &Block, template: &str) -> bool {
    matches!(block.kind(), BlockKind::Text(text) if !template.is_empty() && text.starts_with(template))
}

/// Whether the model is offered tools.
pub(super) fn has_tools(request: &Request) -> bool {
    request.tools.as_ref().is_some_and(|tools| tools.as_str().trim() != "[]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_engine::contract::Message;
    use reenact_wire::prelude::*;

    #[test]
    fn c_4_a_request_for_a_summary_is_known_by_its_text() {
        let texts = ModelTexts::default();
        let prompt = Block::text(&format!("{}\n\nMind the tests.", TextName::SummaryPrompt.ours()));
        let kind = |messages: Vec<Message>| RequestKindReader::default().read(&Request::new("m", 1).with_messages(messages), &texts);
        let said = || Message::assistant(vec![Block::text("well")]);
        assert_eq!(kind(vec![Message::user(vec![Block::text("hi")]), said(), Message::user(vec![prompt.clone()])]), RequestKind::Summary);
        assert_eq!(kind(vec![Message::user(vec![prompt.clone(), Block::text("and then?")])]), RequestKind::Summary);
        assert_eq!(kind(vec![Message::user(vec![prompt.clone()]), said(), Message::user(vec![Block::text("hi")])]), RequestKind::Ordinary);
        let of_system = Message { role: Role::System, content: vec![Block::text("be brief")] };
        assert_eq!(
            kind(vec![Message::user(vec![prompt.clone()]), of_system]),
            RequestKind::Summary,
            "a message of the system is behind it"
        );
        let mut user = RequestKindReader::default();
        user.on_input(&Input::Prompt { prompt: 1, content: [prompt.clone()].into() }, &Settings::default());
        let read = |content: Block| user.read(&Request::new("m", 1).with_messages([Message::user(vec![content])]), &texts);
        assert_eq!(read(prompt), RequestKind::Unclear, "the user may have said it, or the engine");
        assert_eq!(read(Block::text("hi")), RequestKind::Ordinary);
        let mut line = Request::new("m", 1);
        line.system = Some(Json::from_value(TextName::ToolSummaryPrompt.ours()));
        assert_eq!(RequestKindReader::default().read(&line, &texts), RequestKind::ToolSummary);
    }

    #[test]
    fn o_35_an_empty_list_of_tools_offers_none() {
        let with = |tools| has_tools(&Request { tools, ..Request::new("m", 1) });
        assert!(!with(None) && !with(Some(Json::trusted("[]"))));
        assert!(with(Some(Json::trusted(r#"[{"name":"Read"}]"#))));
    }
}
