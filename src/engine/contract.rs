//! The contract between an engine and whoever drives it (public, versioned).
//!
//! An engine is a value. The driver calls [`Engine::step`] with the current virtual time and one [`Input`]; the engine answers by
//! pushing [`Effect`]s into the sink that it is handed, and when `step` returns nothing is left queued inside. A recording of a
//! run is therefore a list of (time, input), and feeding it to the same engine gives the same effects, byte for byte.
//!
//! ```text
//!   driver ── (now, agent, input) ──> engine          prompt, answer bytes decoded, tool outcomes, timers
//!   driver <── (agent, effect) ────── engine          requests, tool starts, timers, messages, the end
//! ```
//!
//! A whole engine in twenty lines: it asks once, and ends with the answer. Tools, timers and failures are beyond it.
//!
//! ```
//! use reenact::engine::contract::*;
//!
//! #[derive(Clone, Debug, Default, PartialEq)]
//! struct AskOnce;
//!
//! impl Engine for AskOnce {
//!     fn step(&mut self, env: &Environment, _now: Time, input: &Input, effects: &mut Effects) {
//!         match input {
//!             Input::Prompt { prompt, content } => {
//!                 let question = Message::user(content.to_vec());
//!                 let request = Request::new(&env.settings.model, env.settings.max_tokens).with_messages([question]);
//!                 effects.push(Effect::Request { id: RequestId::first(*prompt), request: request.into() });
//!             }
//!             Input::Stream { id, event } if *event.payload() == Payload::MessageStop => {
//!                 effects.push(Effect::Finished { prompt: id.prompt, terminal: Terminal::Completed });
//!             }
//!             _ => (),
//!         }
//!     }
//! }
//!
//! let mut effects = Effects::default();
//! let hello = Input::Prompt { prompt: 1, content: [Block::text("hello")].into() };
//! AskOnce.step(&Environment::default(), Time::ZERO, &hello, &mut effects);
//! assert_eq!(effects.len(), 1);
//! ```

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::prelude::*;

pub use super::emission::{Emission, Note};
pub use super::settings::{Environment, Settings, ToolDefinition};
pub use super::time::{Micros, Time};
pub use crate::wire::block::{Block, BlockKind, Message, Role, ToolInput, ToolUse};
pub use crate::wire::event::{Delta, Event, Payload};
pub use crate::wire::http::Header;
pub use crate::wire::json::Json;
pub use crate::wire::request::Request;

/// The version of this contract; boundary logs carry it. New variants of [`Input`] and [`Effect`] do not change it, other changes do.
pub const CONTRACT_VERSION: u32 = 1;

/// An agent loop under test.
pub trait Engine: Clone + fmt::Debug + PartialEq {
    /// The only door in. Everything that the engine wants done because of `input` is in `effects` when this returns.
    ///
    /// The agent that `input` is addressed to is [`Effects::agent`], and effects go out under that address until it is changed
    /// with [`Effects::for_agent`]. An input that no longer matters (an abandoned request speaks, a tool run is long answered) is
    /// ignored by its number.
    fn step(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut Effects);
}

/// Who an input is for and an effect is from: the root agent, or a child named by the tool use that made it.
///
/// The simulated world talks to the root alone until it knows sub-agents: what a child asks for is answered to the root.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Agent(Option<Arc<str>>);

impl Agent {
    /// The agent that talks with the user.
    pub const ROOT: Self = Self(None);

    /// The child that a tool use made.
    pub fn child(tool_use_id: &str) -> Self {
        Self(Some(tool_use_id.into()))
    }

    /// Whether this is the agent that talks with the user.
    pub fn is_root(&self) -> bool {
        self.0.is_none()
    }

    /// The tool use that made this agent; `None` for the root.
    pub fn tool_use_id(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

/// One attempt at one request, named by its lineage: prompt, turn within it, attempt within that; each from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RequestId {
    /// Which prompt of the session.
    pub prompt: u32,
    /// Which request of the prompt.
    pub turn: u32,
    /// Which attempt at it.
    pub attempt: u32,
}

impl RequestId {
    /// The first attempt at the first request of a prompt.
    pub fn first(prompt: u32) -> Self {
        Self { prompt, turn: 1, attempt: 1 }
    }
}

/// `2` is request 2 of the first prompt, `2.3` its third attempt, `p2/1` the first request of the second prompt.
impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.prompt != 1 {
            write!(f, "p{}/", self.prompt)?;
        }
        write!(f, "{}", self.turn)?;
        if self.attempt != 1 {
            write!(f, ".{}", self.attempt)?;
        }
        Ok(())
    }
}

/// One run of one tool, named by its lineage: the answer that asked for it, and which of that answer's tool uses it is (from 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ToolRun {
    /// The request whose answer holds the tool use.
    pub request: RequestId,
    /// The position among that answer's tool uses.
    pub index: u32,
}

/// `1A` is the first tool use in the answer to request 1, `1.2C` the third of its second attempt.
impl fmt::Display for ToolRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.request, Letters(self.index))
    }
}

/// 0 is `A`, 25 is `Z`, 26 is `AA`.
struct Letters(u32);

impl fmt::Display for Letters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 >= 26 {
            Letters(self.0 / 26 - 1).fmt(f)?;
        }
        let letter = u8::try_from(self.0 % 26).unwrap_or(0) + b'A';
        write!(f, "{}", char::from(letter))
    }
}

/// A timer: which one, and which setting of it. A stale generation is ignored by the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TimerId {
    /// Which timer.
    pub id: u32,
    /// Which setting of it.
    pub generation: u32,
}

/// Everything that can happen to an engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Input {
    /// The user submits a prompt.
    Prompt {
        /// Which one, from 1.
        prompt: u32,
        /// What it says.
        content: Arc<[Block]>,
    },
    /// The head of an answer is in.
    Head {
        /// Which request it answers.
        id: RequestId,
        /// HTTP status.
        status: u16,
        /// Headers as received.
        headers: Arc<[Header]>,
    },
    /// One event of a streamed answer.
    Stream {
        /// Which request it answers.
        id: RequestId,
        /// The event.
        event: Arc<Event>,
    },
    /// The whole body of an answer that is not an event stream (an error, or an answer that was not asked for as a stream).
    Body {
        /// Which request it answers.
        id: RequestId,
        /// The body as text; bytes that are not UTF-8 are replaced.
        body: Arc<str>,
    },
    /// An answer ended, well or not.
    End {
        /// Which request it answered.
        id: RequestId,
        /// How.
        how: AnswerEnd,
    },
    /// A running tool reports progress.
    ToolProgress {
        /// Which run.
        run: ToolRun,
        /// What it says.
        text: Arc<str>,
    },
    /// A tool run is over.
    ToolEnded {
        /// Which run.
        run: ToolRun,
        /// What it gave.
        outcome: Arc<ToolOutcome>,
    },
    /// A timer is due.
    Timer(TimerId),
    /// The user aborts (ESC, Ctrl+C, shutdown): everything ends (Q-22, `cancel`).
    Cancel,
    /// The user submits a message while work goes on (Q-22, `interrupt`). When nothing goes on it is a prompt like any other.
    Interrupt {
        /// Its number, should it become a prompt of its own.
        prompt: u32,
        /// What it says.
        content: Arc<[Block]>,
    },
    /// New credentials are there, or not to be had.
    AuthRefreshed {
        /// For which request.
        id: RequestId,
        /// Whether there are any.
        ok: bool,
    },
}

/// How an answer ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AnswerEnd {
    /// The body is whole, as far as HTTP can tell.
    Complete,
    /// The connection was cut.
    Reset,
    /// The connection was cut while the request was being sent.
    BrokenPipe,
    /// Nobody listens there.
    ConnectRefused,
    /// The host's name is not known.
    Dns,
    /// No secure connection could be made.
    Tls,
    /// No connection could be made in time.
    ConnectTimeout,
    /// Nothing came any more until the connection timed out.
    Timeout,
    /// The event stream could not be framed (an event over the size limit).
    Framing(Arc<str>),
}

/// What a tool run gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolOutcome {
    /// The result's content: a JSON string or a JSON array of blocks.
    pub content: Json,
    /// Whether it is an error.
    #[serde(default)]
    pub is_error: bool,
    /// A change of the tools' context that comes with it (T-11).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_change: Option<Arc<str>>,
    /// Why the run aborted itself, if it did: the whole query is aborted for the same reason (T-14).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abort: Option<Arc<str>>,
}

impl ToolOutcome {
    /// An outcome with this text.
    pub fn text(text: &str) -> Self {
        Self { content: Json::of(text), is_error: false, context_change: None, abort: None }
    }

    /// An error with this text.
    pub fn error(text: &str) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }
}

/// Everything that an engine can want done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Effect {
    /// Send a request; answer with `Head`, then `Stream` or `Body`, then `End`.
    Request {
        /// Its name from now on.
        id: RequestId,
        /// What is sent.
        request: Arc<Request>,
    },
    /// The answer no longer matters; nothing more of it need come.
    CloseRequest {
        /// Which.
        id: RequestId,
    },
    /// Run a tool; answer with `ToolProgress` as it comes and one `ToolEnded`.
    StartTool {
        /// Its name from now on.
        run: ToolRun,
        /// What the model asked for.
        tool_use: Arc<ToolUse>,
    },
    /// Tell a running tool to stop; `ToolEnded` still comes when it has.
    StopTool {
        /// Which run.
        run: ToolRun,
    },
    /// Get new credentials; answer with `AuthRefreshed`.
    RefreshAuth {
        /// For which request.
        id: RequestId,
        /// Whether the old ones are known to be revoked.
        forced: bool,
    },
    /// Give `Timer` at the given time, or at once if that is past.
    SetTimer {
        /// Which timer and which setting of it.
        timer: TimerId,
        /// When.
        at: Time,
    },
    /// Something for whoever uses the agent: messages, results, stream events.
    Emit(Emission),
    /// Something that only a transcript shows: transitions, tool states, defects.
    Note(Note),
    /// The prompt is answered. Nothing comes after this for the prompt (Q-3).
    Finished {
        /// Which prompt.
        prompt: u32,
        /// Why it ended.
        terminal: Terminal,
    },
}

/// Why a prompt ended (Q-2): exactly one each.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Terminal {
    /// The turn ended well, or every recovery from the output limit was used up.
    Completed,
    /// Too long a prompt, and no recovery helped.
    PromptTooLong,
    /// Too large media, and no recovery helped.
    ImageError,
    /// The API call gave up.
    ModelError,
    /// The user aborted while the model streamed or while a retry was waiting.
    AbortedStreaming,
    /// The user aborted while tools ran.
    AbortedTools,
    /// An end that only another engine knows.
    Other(Arc<str>),
}

impl Terminal {
    /// The word that transcripts and scenarios use.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Completed => "completed",
            Self::PromptTooLong => "prompt_too_long",
            Self::ImageError => "image_error",
            Self::ModelError => "model_error",
            Self::AbortedStreaming => "aborted_streaming",
            Self::AbortedTools => "aborted_tools",
            Self::Other(name) => name,
        }
    }
}

/// The sink that a step writes into; each effect carries the address of the agent that it came from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effects {
    agent: Agent,
    items: Vec<(Agent, Effect)>,
}

impl Effects {
    /// An empty sink for a step of `agent`.
    pub fn of(agent: Agent) -> Self {
        Self { agent, items: Vec::new() }
    }

    /// The agent that the input is for and that effects are pushed for.
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Adds an effect of the current agent.
    pub fn push(&mut self, effect: Effect) {
        self.items.push((self.agent.clone(), effect));
    }

    /// Runs `body` with effects going out under another agent's address: how a parent steps its child.
    pub fn for_agent<R>(&mut self, agent: Agent, body: impl FnOnce(&mut Self) -> R) -> R {
        let parent = core::mem::replace(&mut self.agent, agent);
        let result = body(self);
        self.agent = parent;
        result
    }

    /// Makes the sink ready for the next step, keeping its memory.
    pub fn reset(&mut self, agent: Agent) {
        self.agent = agent;
        self.items.clear();
    }

    /// How many effects there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether nothing is wanted.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The effects in the order of their causes.
    pub fn iter(&self) -> impl Iterator<Item = &(Agent, Effect)> {
        self.items.iter()
    }

    /// Takes the effects out, in the order of their causes, leaving the sink empty.
    pub fn drain(&mut self) -> impl Iterator<Item = (Agent, Effect)> + '_ {
        self.items.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x_1_names_come_from_lineage() {
        let request = RequestId { prompt: 1, turn: 2, attempt: 3 };
        assert_eq!(request.to_string(), "2.3");
        assert_eq!(ToolRun { request, index: 1 }.to_string(), "2.3B");
        assert_eq!(ToolRun { request: RequestId::first(2), index: 27 }.to_string(), "p2/1AB");
    }

    #[test]
    fn an_effect_carries_the_address_it_was_pushed_under() {
        let mut effects = Effects::default();
        let finished = |prompt| Effect::Finished { prompt, terminal: Terminal::Completed };
        effects.for_agent(Agent::child("toolu_1"), |effects| effects.push(finished(1)));
        effects.push(finished(2));
        let agents: Vec<_> = effects.iter().map(|(agent, _)| agent.clone()).collect();
        assert_eq!(agents, [Agent::child("toolu_1"), Agent::ROOT]);
    }
}
