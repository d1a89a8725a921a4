//! The conversation, and the requests that are made of it.

use std::sync::Arc;

use reenact::engine::contract::{Block, BlockKind, Environment, Json, Message, Request, Role};
use reenact::engine::settings::ContextWindow;
use reenact::wire::tokens;

/// The words before a summary.
const SUMMARY_HEAD: &str = "What was said before is summarised here:";

/// The request for one.
const SUMMARY_PROMPT: &str =
    "Summarise this conversation: your summary takes its place. Keep what the user wants, what was done, and what is open.";

/// So many characters of a tool's result are shown to the model that summarises.
const SUMMARY_RESULT_CHARACTERS: usize = 1_000;

/// All that was said.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct History {
    /// The messages, as requests have them: neighbours of one role are one message.
    pub messages: Vec<Arc<Message>>,
    /// How many messages there are up to the prompt that is worked on, itself included.
    pub prompt_end: usize,
    /// The model whose thinking is among them.
    pub signer: Option<Arc<str>>,
}

/// The facts that decide how long the conversation may become.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct ContextFacts {
    /// The model that the prompt began with.
    pub first_model: Arc<str>,
    /// The model that is asked now.
    pub model: Arc<str>,
    /// The size that the API has refused as too long, in tokens.
    pub refused: Option<u64>,
}

impl ContextFacts {
    /// How many tokens a request to this model should have at most, by the settings; `None` where its window is not known.
    pub fn limit(env: &Environment, model: &str) -> Option<u64> {
        let settings = &env.settings.compaction;
        let window = match settings.context_window {
            ContextWindow::Auto => env.windows.tokens(model)?,
            ContextWindow::Tokens(tokens) => tokens,
            ContextWindow::None => return None,
        };
        Some(window.saturating_sub(settings.output_reserve + settings.margin))
    }
}

impl History {
    /// Adds blocks to the conversation.
    pub fn push(&mut self, role: Role, blocks: Vec<Block>) {
        match self.messages.last_mut() {
            _ if blocks.is_empty() => (),
            Some(last) if last.role == role => Arc::make_mut(last).content.extend(blocks),
            _ => self.messages.push(Arc::new(Message { role, content: blocks })),
        }
    }

    /// The next request for the model's turn.
    pub fn request(&self, env: &Environment, model: &Arc<str>) -> Request {
        let mut request = Request::new(model, env.settings.max_tokens);
        request.system = env.settings.system_prompt.clone();
        request.tools = tool_list(env);
        request.extra = env.settings.request_extra.clone();
        request.messages = self.messages.clone();
        request
    }

    /// The request for a summary of what can be summarised: without tools, without thinking (which is bound to the conversation with its tools), and with no
    /// more of each result than its beginning.
    pub fn summary_request(&self, env: &Environment, model: &Arc<str>) -> Request {
        let mut asked = Self::default();
        for message in &self.messages[..self.summary_end()] {
            asked.push(message.role, message.content.iter().filter(|block| !block.is_thinking()).map(shortened).collect());
        }
        asked.push(Role::User, vec![Block::text(SUMMARY_PROMPT)]);
        Request { tools: None, messages: asked.messages, ..self.request(env, model) }
    }

    /// Whether there is an answer that a summary could stand for.
    pub fn can_shrink(&self) -> bool {
        self.messages[..self.summary_end()].iter().any(|message| message.role == Role::Assistant)
    }

    /// The conversation with the summary in the place of what it was made of.
    pub fn shrunk(&self, summary: &str) -> Self {
        let mut shrunk = Self { messages: Vec::new(), ..self.clone() };
        shrunk.push(Role::User, vec![Block::text(&format!("{SUMMARY_HEAD}\n\n{summary}"))]);
        for message in &self.messages[self.summary_end()..] {
            shrunk.push(message.role, message.content.clone());
        }
        shrunk.prompt_end = shrunk.messages.len();
        shrunk
    }

    /// Removes all thinking: another model does not take it.
    pub fn strip_thinking(&mut self) {
        for message in core::mem::take(&mut self.messages) {
            let said: Vec<Block> = message.content.iter().filter(|block| !block.is_thinking()).cloned().collect();
            self.push(message.role, said);
        }
    }

    /// How many messages a summary would stand for. The user's last message stays in the user's words until it is answered.
    fn summary_end(&self) -> usize {
        let is_open_prompt = |last: &&Arc<Message>| last.role == Role::User && !last.content.iter().any(is_result);
        self.messages.len() - usize::from(self.messages.last().as_ref().is_some_and(is_open_prompt))
    }
}

/// About how many tokens a request has.
pub fn size(request: &Request) -> u64 {
    tokens::request(request)
}

/// Whether a block is the result of a tool.
pub fn is_result(block: &Block) -> bool {
    matches!(block.kind(), BlockKind::ToolResult { .. })
}

fn tool_list(env: &Environment) -> Option<Json> {
    let tools: Vec<&str> = env.tools.iter().map(|tool| tool.json.as_str()).collect();
    (!tools.is_empty()).then(|| Json::trusted(format!("[{}]", tools.join(","))))
}

fn shortened(block: &Block) -> Block {
    match (block.kind(), block.result_text()) {
        (BlockKind::ToolResult { tool_use_id, is_error }, Some(text)) if text.chars().count() > SUMMARY_RESULT_CHARACTERS => {
            let begins: String = text.chars().take(SUMMARY_RESULT_CHARACTERS).collect();
            Block::tool_result(tool_use_id, &Json::from_value(&begins), *is_error)
        }
        _ => block.clone(),
    }
}
