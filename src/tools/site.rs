//! The surroundings of a session's tools.

use reenact_engine::permission::path::PathAccess;

use crate::read_state::ReadState;
use crate::todo::TodoList;

/// The surroundings of a session's tools.
#[derive(Debug)]
pub struct ToolSite<'a, W> {
    /// Its files.
    pub workspace: &'a mut W,
    /// The files that it has read. Agents share it with their parent (B-8).
    pub read: &'a mut ReadState,
    /// Its list of things to do.
    pub todos: &'a mut TodoList,
    /// Which paths need no question (P-4).
    pub access: &'a PathAccess,
}
