//! The beginning of a conversation that was looked at with the request before, so that a long session is not looked at anew with each request.
//!
//! ```text
//!   user   answer   results   answer   results
//!   └────── settled ───────┘  ▲ a turn of the model begins: nothing before it depends on what follows
//! ```

use super::super::block::{Message, Role};
use crate::prelude::*;

/// The messages before the last turn of the model in the last request that passed.
#[derive(Clone, Debug, Default, PartialEq)]
#[doc(hidden)]
pub struct SettledMessages(Arc<Vec<Arc<Message>>>);

/// The same is found without it: no part of a state's key (E-3).
impl core::hash::Hash for SettledMessages {
    fn hash<H: core::hash::Hasher>(&self, _: &mut H) {}
}

impl SettledMessages {
    /// Where the next request must be looked at from: 0, unless it begins with the settled messages and a turn of the model.
    #[doc(hidden)]
    pub fn start_in(&self, messages: &[Arc<Message>]) -> usize {
        let settled = self.0.len();
        let goes_on = messages.get(settled).is_some_and(|next| next.role == Role::Assistant)
            && self.0.iter().zip(messages).all(|(settled, message)| Arc::ptr_eq(settled, message) || settled == message);
        if goes_on { settled } else { 0 }
    }

    /// A request has passed, looked at from `start`. Returns the messages that are settled by it beside those before `start`.
    #[doc(hidden)]
    pub fn settle<'m>(&mut self, messages: &'m [Arc<Message>], start: usize) -> &'m [Arc<Message>] {
        let begins_turn = |at: &usize| messages[*at].role == Role::Assistant && *at > 0 && messages[at - 1].role != Role::Assistant;
        let end = (start..messages.len()).rev().find(begins_turn).unwrap_or(start);
        let settled = Arc::make_mut(&mut self.0);
        settled.truncate(start);
        settled.extend_from_slice(&messages[start..end]);
        &messages[start..end]
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::block::Block;
    use super::*;

    fn conversation(roles: &str) -> Vec<Arc<Message>> {
        let message = |role| {
            let content = vec![Block::text("x")];
            Arc::new(if role == 'a' { Message::assistant(content) } else { Message::user(content) })
        };
        roles.chars().map(message).collect()
    }

    #[test]
    fn n_6_messages_are_settled_up_to_the_last_turn_of_the_model() {
        for (first, settled, next, start) in
            [("u", 0, "uau", 0), ("ua", 1, "uau", 1), ("uauaa", 3, "uauaau", 3), ("uua", 2, "uaa", 0), ("au", 0, "au", 0)]
        {
            let mut known = SettledMessages::default();
            assert_eq!(known.settle(&conversation(first), 0).len(), settled, "{first}");
            assert_eq!(known.start_in(&conversation(next)), start, "{first} then {next}");
        }
    }
}
