//! One line for consumers about the tools of a turn (S-7: tool-use summaries).
//!
//! ```text
//!   next_turn ──> ToolSummary, request 2 ──an answer with text──> emitted
//!        │                 └── anything else, the next turn's tools, or the end of the prompt ──> dropped
//!        └──────> Calling, request 3, and so on: nothing here is waited for
//! ```
//!
//! The request is an ordinary one with a number of its own, made before the request that it runs beside, so that the order of the answers changes no
//! name. It is tried once: a line that comes late is worth less than none. For the same reason a line that is not there when the prompt ends
//! is dropped: the user waits for the answer, and not for a caption of what led to it. It counts as any other in usage and cost, and not as time
//! spent waiting for the model, because the prompt does not wait for it.

use super::QueryScope;
use super::outcome::AttemptCost;
use crate::agent_effects::AgentEffects;
use crate::contract::{AnswerEnd, Effect, Input, RequestId};
use crate::emission::{AssistantMessage, AttemptReport, Emission, Note};
use crate::key::KeylessValue;
use crate::texts::{ModelTexts, TextName};
use crate::time::Time;
use reenact_wire::block::{Block, BlockKind, Message};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;
use reenact_wire::request::Request;
use reenact_wire::usage::Usage;
use reenact_wire::whole_message::whole_message;

/// How long the line may get, in tokens.
const TOKENS_MAX: u64 = 100;

/// How much of each input and each result the model is shown, in characters.
const SHOWN_MAX: usize = 300;

/// A line that is asked for.
#[derive(Clone, Debug, PartialEq, Hash)]
struct ToolSummary {
    id: RequestId,
    model: Arc<str>,
    tool_use_ids: Vec<Arc<str>>,
    asked: KeylessValue<Time>,
    first_byte: KeylessValue<Option<Time>>,
    /// The status, once the head of the answer is in.
    status: Option<u16>,
    body: Arc<str>,
}

/// The line that is asked for at present; at most one.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(super) struct ToolSummaries(Option<Box<ToolSummary>>);

/// The meaning of an input for the line.
#[derive(Debug)]
#[must_use]
pub(super) enum SummaryVerdict {
    /// Nothing: it is about something else.
    Unrelated,
    /// It was about the line.
    Taken,
    /// The line was answered, and this is to be paid.
    Paid(AttemptCost),
}

impl ToolSummaries {
    /// Asks this model for the line about an answer's tools, behind the last request that was made; the number of its request.
    pub(super) fn ask(
        &mut self,
        scope: &mut QueryScope<'_>,
        (model, asked): (Arc<str>, RequestId),
        (blocks, results): (&[Arc<AssistantMessage>], &[Block]),
    ) -> RequestId {
        let id = RequestId { turn: asked.turn + 1, attempt: 1, ..asked };
        let tool_use_ids = blocks.iter().filter_map(|message| Some(message.block.as_tool_use()?.id.clone())).collect();
        let request = Arc::new(request(&model, blocks, results, &scope.env.settings.texts));
        let (asked, first_byte) = (KeylessValue(scope.now), KeylessValue(None));
        self.0 = Some(Box::new(ToolSummary { id, model, tool_use_ids, asked, first_byte, status: None, body: "".into() }));
        scope.effects.push(Effect::Request { id, request });
        id
    }

    /// Takes what concerns the line.
    pub(super) fn step(&mut self, scope: &mut QueryScope<'_>, input: &Input) -> SummaryVerdict {
        let Some(summary) = &mut self.0 else { return SummaryVerdict::Unrelated };
        match input {
            Input::Head { id, status, .. } if *id == summary.id => {
                summary.first_byte = KeylessValue(Some(scope.now));
                summary.status = Some(*status);
            }
            Input::Body { id, body } if *id == summary.id => summary.body = body.clone(),
            Input::End { id, how } if *id == summary.id => {
                let cost = summary.end(scope, how);
                self.0 = None;
                return cost.map_or(SummaryVerdict::Taken, SummaryVerdict::Paid);
            }
            Input::Stream { id, .. } if *id == summary.id => (), // nobody asked for a stream
            _ => return SummaryVerdict::Unrelated,
        }
        SummaryVerdict::Taken
    }

    /// The line is no longer wanted.
    pub(super) fn drop_line(&mut self, scope: &mut QueryScope<'_>) {
        if let Some(summary) = self.0.take() {
            summary.report(scope.now, "dropped", Usage::default(), scope.effects);
            scope.effects.push(Effect::CloseRequest { id: summary.id });
        }
    }
}

impl ToolSummary {
    /// Emits what was answered; what it cost, if it was answered.
    fn end(&self, scope: &mut QueryScope<'_>, how: &AnswerEnd) -> Option<AttemptCost> {
        let whole = match (self.status, how) {
            (Some(200), AnswerEnd::Complete) => whole_message(&self.body).ok(),
            _ => None,
        };
        let Some(whole) = whole else {
            self.report(scope.now, "not answered, and not retried", Usage::default(), scope.effects);
            return None;
        };
        self.report(scope.now, "ok", whole.usage, scope.effects);
        if let Some(text) = line(&whole.blocks) {
            scope.effects.push(Effect::Emit(Emission::ToolUseSummary { text, tool_use_ids: self.tool_use_ids.clone() }));
        }
        Some(AttemptCost { model: self.model.clone(), usage: whole.usage, is_fast: false })
    }

    /// R-12.
    fn report(&self, now: Time, outcome: &str, usage: Usage, effects: &mut AgentEffects) {
        let Self { id, model, asked, first_byte, .. } = self;
        let (id, model, started, first_byte) = (*id, model.clone(), **asked, **first_byte);
        let report = AttemptReport { id, model, client: 1, started, first_byte, ended: now, outcome: outcome.into(), usage };
        effects.push(Effect::Note(Note::Attempt(Box::new(report))));
    }
}

fn request(model: &Arc<str>, blocks: &[Arc<AssistantMessage>], results: &[Block], texts: &ModelTexts) -> Request {
    let mut text = String::new();
    for tool_use in blocks.iter().filter_map(|message| message.block.as_tool_use()) {
        let answers = |block: &&Block| matches!(block.kind(), BlockKind::ToolResult { tool_use_id, .. } if *tool_use_id == tool_use.id);
        let result = results.iter().find(answers).and_then(|block| RawObject::parse(block.json().as_str()).ok()?.get("content"));
        text.push_str(&format!("{} {}\n-> {}\n\n", tool_use.name, shown(tool_use.input.as_str()), shown(result.unwrap_or_default())));
    }
    let mut request = Request::new(model, TOKENS_MAX).with_messages([Message::user(vec![Block::text(text.trim_end())])]);
    request.system = Some(Json::from_value(texts.template(TextName::ToolSummaryPrompt)));
    request.stream = false;
    request
}

/// The beginning of a text that may be long.
fn shown(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// The first line that an answer says.
fn line(blocks: &[Block]) -> Option<Arc<str>> {
    let mut texts = blocks.iter().filter_map(|block| match block.kind() {
        BlockKind::Text(text) => text.lines().map(str::trim).find(|line| !line.is_empty()).map(Arc::from),
        _ => None,
    });
    texts.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s_7_the_line_is_the_first_that_is_said() {
        let of = |texts: &[&str]| line(&texts.iter().map(|text| Block::text(text)).collect::<Vec<_>>());
        assert_eq!(of(&["\n  Read a log \nand more", "other"]).as_deref(), Some("Read a log"));
        assert_eq!(of(&[" ", "Read"]).as_deref(), Some("Read"));
        assert_eq!(of(&["\n"]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn s_7_the_model_is_shown_each_tool_use_with_its_own_result() {
        let said = |json: &str| AssistantMessage {
            uuid: "u".into(),
            id: RequestId::first(1),
            api_id: "".into(),
            model: "m".into(),
            block: Block::from(Json::trusted(json)),
            error: None,
        };
        let uses = |id: &str| Arc::new(said(&format!(r#"{{"type":"tool_use","id":"{id}","name":"Read","input":{{"file":"{id}"}}}}"#)));
        let result = |id: &str| Block::tool_result(id, &Json::from_value(&format!("in {id}")), false);
        let asked = request(&"small".into(), &[uses("a"), uses("b")], &[result("b"), result("a")], &ModelTexts::default());
        let BlockKind::Text(text) = asked.messages[0].content[0].kind() else { panic!("no text") };
        assert_eq!(&**text, "Read {\"file\":\"a\"}\n-> \"in a\"\n\nRead {\"file\":\"b\"}\n-> \"in b\"");
        assert_eq!((&*asked.model, asked.stream, asked.tools), ("small", false, None));
    }

    #[test]
    fn s_7_the_model_is_shown_the_beginning_of_what_is_long() {
        assert_eq!(shown("é"), "é");
        assert_eq!(shown(&"é".repeat(SHOWN_MAX)).chars().count(), SHOWN_MAX);
        assert_eq!(shown(&"é".repeat(SHOWN_MAX + 1)).chars().last(), Some('…'));
    }
}
