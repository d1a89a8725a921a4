//! The list of what is to be done (B-10).

use serde::Deserialize;

use reenact_engine::contract::ToolOutcome;
use reenact_wire::prelude::*;

/// How far an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not begun.
    Pending,
    /// Being done.
    InProgress,
    /// Done.
    Completed,
}

/// Something that is to be done.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
pub struct TodoItem {
    /// Its text.
    pub content: Arc<str>,
    /// How far it is.
    pub status: TodoStatus,
}

/// A session's list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TodoList(pub Arc<[TodoItem]>);

/// The input of TodoWrite: the whole list.
#[derive(Clone, Debug, Deserialize, PartialEq, Hash)]
pub(crate) struct TodoInput {
    todos: Vec<TodoItem>,
}

impl TodoInput {
    /// The mistake in the list.
    pub(crate) fn problem(&self) -> Option<String> {
        let busy = self.todos.iter().filter(|item| item.status == TodoStatus::InProgress).count();
        if let Some(index) = self.todos.iter().position(|item| item.content.trim().is_empty()) {
            return Some(format!("item {} has no text", index + 1));
        }
        (busy > 1).then(|| format!("{busy} items are in progress; at most one may be"))
    }

    /// Puts the list in place of the one before.
    pub(crate) fn write(&self, list: &mut TodoList) -> Result<ToolOutcome, String> {
        if let Some(problem) = self.problem() {
            return Err(problem);
        }
        list.0 = self.todos.clone().into();
        let of = |status| self.todos.iter().filter(|item| item.status == status).count();
        let counts = [(TodoStatus::Completed, "done"), (TodoStatus::InProgress, "in progress"), (TodoStatus::Pending, "to do")];
        let counts: Vec<String> = counts.into_iter().map(|(status, word)| format!("{} {word}", of(status))).collect();
        Ok(ToolOutcome::text(&format!("the list has {}: {}", plural(self.todos.len() as u64, "item"), counts.join(", "))))
    }
}
