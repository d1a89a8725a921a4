//! The names that inputs and effects go by: agents, requests, tool runs, timers. Each is made of lineage, none is a running index.

use core::fmt;

use serde::{Deserialize, Serialize};

use reenact_wire::prelude::*;

/// The agent of an input or an effect: the root, or a child named by the tool use that made it.
///
/// Requests, tool runs and timers are named within their agent, so what answers an effect goes to the agent that it came from. A tool use that
/// makes several agents has a number for each behind its id (`toolu_1.2`).
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

    /// A request's name among those of all agents: what draws about it are keyed with (D3).
    pub fn key(&self, id: RequestId) -> String {
        self.0.as_ref().map_or_else(|| id.to_string(), |agent| format!("{agent}/{id}"))
    }

    /// The tool use that made this agent; `None` for the root.
    pub fn tool_use_id(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

/// Something that each agent has one of. Almost always there is the root alone, which costs no search.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct ByAgent<T> {
    root: T,
    children: Vec<(Agent, T)>,
}

impl<T: Default> ByAgent<T> {
    /// The values of the children.
    #[doc(hidden)]
    pub fn children_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.children.iter_mut().map(|(_, of_agent)| of_agent)
    }

    /// The value of this agent; `None` for a child that was never seen.
    pub fn get(&self, agent: &Agent) -> Option<&T> {
        if agent.is_root() {
            return Some(&self.root);
        }
        self.children.iter().find(|(known, _)| known == agent).map(|(_, of_agent)| of_agent)
    }

    /// The value of this agent. A new agent gets a default.
    pub fn entry(&mut self, agent: &Agent) -> &mut T {
        if agent.is_root() {
            return &mut self.root;
        }
        let known = self.children.iter().position(|(known, _)| known == agent);
        let at = known.unwrap_or_else(|| {
            self.children.push((agent.clone(), T::default()));
            self.children.len() - 1
        });
        &mut self.children[at].1
    }

    /// The values of all agents, the root's first, then in the order in which they were seen.
    pub fn all(&self) -> impl Iterator<Item = &T> {
        core::iter::once(&self.root).chain(self.children.iter().map(|(_, of_agent)| of_agent))
    }

    /// The same, to be changed.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut T> {
        core::iter::once(&mut self.root).chain(self.children.iter_mut().map(|(_, of_agent)| of_agent))
    }
}

/// One attempt at one request, named by its lineage: prompt, turn within it, attempt within that; each from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RequestId {
    /// The number of the prompt in the session.
    pub prompt: u32,
    /// The number of the request in the prompt.
    pub turn: u32,
    /// The number of the attempt at it.
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
        write!(f, "{}{}", self.request, LetterNumber(self.index))
    }
}

/// 0 is `A`, 25 is `Z`, 26 is `AA`.
struct LetterNumber(u32);

impl fmt::Display for LetterNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 >= 26 {
            LetterNumber(self.0 / 26 - 1).fmt(f)?;
        }
        let letter = u8::try_from(self.0 % 26).unwrap_or(0) + b'A';
        write!(f, "{}", char::from(letter))
    }
}

/// The id that this one was made from, if it is one that a driver made fresh for an answer that it gives again: `toolu_1` of `toolu_1_2` (M-3).
pub fn original_id(id: &str) -> Option<&str> {
    let (original, nth) = id.rsplit_once('_')?;
    nth.parse::<u32>().is_ok_and(|nth| nth > 1).then_some(original)
}

/// A timer: which one, and which setting of it. A stale generation is ignored by the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TimerId {
    /// The id of the timer.
    pub id: u32,
    /// The number of its setting.
    pub generation: u32,
}
