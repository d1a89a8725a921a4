//! The frame of a conversation: the system prompt (S-2), contexts that are sent and never stored (S-2a), the tools.
//!
//! The frame is the same in every request of a prompt, so it is made once and shared as text.

mod change;

use crate::key::KeylessValue;
use crate::settings::{Environment, NeighbourMerging, Settings, ThinkingSetting, ToolDefinition};
use crate::texts::TextName;
use reenact_wire::block::{Block, Message};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;
use reenact_wire::request::{Request, list_with_breakpoint, system_with_breakpoint};
use reenact_wire::tokens;

/// All of a request but its messages.
#[derive(Clone, Debug, PartialEq, Hash)]
#[doc(hidden)]
pub struct RequestFrame {
    request: Request,
    user_context: Option<Block>,
    neighbours: NeighbourMerging,
    /// About how many tokens system prompt and tools have: this follows from the request, and is counted once.
    tokens: KeylessValue<u64>,
}

impl RequestFrame {
    /// Puts the frame together (S-2): custom or default prompt, then the memory part, then the appended part, then the system
    /// context; breakpoints at system and tools if the settings ask for them (N-7).
    #[doc(hidden)]
    pub fn from_environment(env: &Environment) -> Self {
        let settings = &env.settings;
        let (mut system, mut tools) = (system_prompt(settings), tool_list(env));
        if settings.cache_breakpoints {
            system = system.map(|system| system_with_breakpoint(&system));
            tools = tools.map(|tools| list_with_breakpoint(&tools));
        }
        let mut request = Request::new(&settings.model, settings.max_tokens);
        request.stream = settings.stream;
        request.system = system;
        request.tools = tools;
        request.extra = with_thinking(&settings.request_extra, settings.session.thinking);
        request.cache_last_message = settings.cache_breakpoints;
        let tokens = KeylessValue(tokens::frame(&request));
        Self { request, user_context: settings.user_context.as_deref().map(Block::text), neighbours: settings.neighbours, tokens }
    }

    /// The model that is asked.
    pub(crate) fn model(&self) -> &Arc<str> {
        &self.request.model
    }

    /// The cap on output tokens.
    pub(crate) fn max_tokens(&self) -> u64 {
        self.request.max_tokens
    }

    /// The treatment of messages of one role in a row (N-7).
    pub(crate) fn neighbours(&self) -> NeighbourMerging {
        self.neighbours
    }

    /// The members of a request that a host can take out (S-11).
    #[doc(hidden)]
    pub fn members(&self) -> Vec<String> {
        let Request { stream, system, tools, extra, .. } = &self.request;
        let own = [("stream", *stream), ("system", system.is_some()), ("tools", tools.is_some())];
        let own = own.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| String::from(name));
        let extra = extra.to_value();
        own.chain(extra.as_object().into_iter().flat_map(|extra| extra.keys().cloned())).collect()
    }

    /// About how many tokens come with the messages of a conversation: system prompt, tools, user context.
    pub(crate) fn tokens(&self) -> u64 {
        *self.tokens + tokens::blocks(&self.user_context)
    }

    /// The same for another model (Q-19).
    pub(crate) fn with_model(&self, model: &Arc<str>) -> Self {
        Self { request: Request { model: model.clone(), ..self.request.clone() }, ..self.clone() }
    }

    /// The request for a conversation, with another cap on output tokens if there is one (Q-15); the user context goes before it as a
    /// hidden user message that is never stored (S-2a).
    pub(crate) fn request(&self, conversation: Vec<Arc<Message>>, raised_cap: Option<u64>) -> Request {
        let mut request = self.request.clone();
        request.max_tokens = raised_cap.unwrap_or(request.max_tokens);
        let Some(context) = &self.user_context else {
            request.messages = conversation;
            return request;
        };
        request.messages.reserve(conversation.len() + 1);
        self.neighbours.push(&mut request.messages, Arc::new(Message::user(vec![context.clone()])));
        for message in conversation {
            self.neighbours.push(&mut request.messages, message);
        }
        request
    }
}

/// The further members with how the model thinks, if the settings say so (S-11).
fn with_thinking(extra: &Json, thinking: Option<ThinkingSetting>) -> Json {
    match (thinking, RawObject::parse(extra.as_str())) {
        (Some(thinking), Ok(members)) => Json::trusted(members.with(&[("thinking", thinking.json())])),
        _ => extra.clone(),
    }
}

/// The further members with the task budget among what is said of the output (S-10).
pub(crate) fn with_task_budget(extra: &Json, total: u64, left: u64) -> Json {
    let budget = format!(r#"{{"type":"tokens","total":{total},"remaining":{left}}}"#);
    let Ok(members) = RawObject::parse(extra.as_str()) else { return extra.clone() };
    let config = members
        .object("output_config")
        .map_or_else(|| format!(r#"{{"task_budget":{budget}}}"#), |config| config.with(&[("task_budget", budget.clone())]));
    Json::trusted(members.with(&[("output_config", config)]))
}

/// The custom prompt stays as it is written when nothing is added to it; an empty one means none at all.
fn system_prompt(settings: &Settings) -> Option<Json> {
    let memory = settings.memory.then(|| settings.texts.template(TextName::MemoryPrompt));
    let added: Vec<&str> =
        [memory, settings.append_system_prompt.as_deref(), settings.system_context.as_deref()].into_iter().flatten().collect();
    let base = settings.system_prompt.clone().unwrap_or_else(|| Json::from_value(settings.texts.template(TextName::SystemPrompt)));
    let is_empty = matches!(base.as_str(), "\"\"" | "[]" | "null");
    if added.is_empty() {
        return (!is_empty).then_some(base);
    }
    let added = added.join("\n\n");
    Some(match serde_json::from_str::<Cow<'_, str>>(base.as_str()) {
        Ok(text) if text.is_empty() => Json::from_value(&added),
        Ok(text) => Json::from_value(&format!("{text}\n\n{added}")),
        Err(_) => blocks_with(&base, &Block::text(&added)),
    })
}

/// A JSON array of blocks with one more at its end.
fn blocks_with(list: &Json, block: &Block) -> Json {
    let inner = list.as_str().trim().trim_start_matches('[').trim_end_matches(']').trim();
    let comma = if inner.is_empty() { "" } else { "," };
    Json::trusted(format!("[{inner}{comma}{}]", block.json()))
}

fn tool_list(env: &Environment) -> Option<Json> {
    listed(env.tools.iter())
}

fn listed<'a>(tools: impl Iterator<Item = &'a ToolDefinition>) -> Option<Json> {
    let list: Vec<&str> = tools.map(|tool| tool.json.as_str()).collect();
    (!list.is_empty()).then(|| Json::trusted(format!("[{}]", list.join(","))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(settings: Settings) -> Option<String> {
        let settings = Settings { cache_breakpoints: false, ..settings };
        RequestFrame::from_environment(&Environment { settings, ..Environment::default() }).request.system.map(|json| json.to_string())
    }

    #[test]
    fn s_2_parts_follow_each_other_in_order() {
        let settings = Settings {
            system_prompt: Some(Json::from_value("custom")),
            memory: true,
            append_system_prompt: Some("appended".into()),
            system_context: Some("context".into()),
            ..Settings::default()
        };
        let text: String = serde_json::from_str(&system(settings).unwrap()).unwrap();
        let places: Vec<_> = ["custom", TextName::MemoryPrompt.ours(), "appended", "context"].map(|part| text.find(part).unwrap()).to_vec();
        assert!(places.is_sorted(), "{text}");
    }

    #[test]
    fn s_2_the_default_prompt_is_used_when_none_is_set_and_an_empty_one_is_none() {
        assert_eq!(system(Settings::default()).unwrap(), Json::from_value(TextName::SystemPrompt.ours()).to_string());
        assert_eq!(system(Settings { system_prompt: Some(Json::from_value("")), ..Settings::default() }), None);
    }

    #[test]
    fn s_2_blocks_stay_blocks() {
        let blocks = Json::trusted(r#"[{"type":"text","text":"a"}]"#);
        let settings = Settings { system_prompt: Some(blocks), append_system_prompt: Some("b".into()), ..Settings::default() };
        assert_eq!(system(settings).unwrap(), r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#);
    }

    #[test]
    fn s_11_how_the_model_thinks_is_a_member_of_each_request() {
        let of = |thinking| with_thinking(&Json::trusted(r#"{"temperature":1}"#), thinking).to_value();
        assert_eq!(of(None), serde_json::json!({"temperature": 1}));
        let table = [
            (ThinkingSetting::Off, serde_json::json!({"type": "disabled"})),
            (ThinkingSetting::Adaptive, serde_json::json!({"type": "adaptive"})),
            (ThinkingSetting::Budget(2_000), serde_json::json!({"type": "enabled", "budget_tokens": 2_000})),
        ];
        for (thinking, expected) in table {
            assert_eq!(of(Some(thinking)), serde_json::json!({"temperature": 1, "thinking": expected}));
        }
    }

    #[test]
    fn s_2a_the_user_context_is_sent_and_not_stored() {
        let settings = Settings { user_context: Some("today".into()), ..Settings::default() };
        let frame = RequestFrame::from_environment(&Environment { settings, ..Environment::default() });
        let conversation = vec![Arc::new(Message::user(vec![Block::text("hi")]))];
        let request = frame.request(conversation.clone(), None);
        assert_eq!(request.messages.len(), 1, "two user messages are one");
        assert_eq!(request.messages[0].content, [Block::text("today"), Block::text("hi")]);
        assert_eq!(conversation[0].content.len(), 1);
    }
}
