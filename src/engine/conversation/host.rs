//! Messages that a session's host puts into a conversation (S-11).

use super::{Conversation, ConversationItem, ItemKind};
use crate::settings::{HostMessage, MessagePlace, NeighbourMerging};
use reenact_wire::block::{BlockKind, Message, Role};
use reenact_wire::prelude::*;
use reenact_wire::request::push_merged;

impl NeighbourMerging {
    /// Adds a message to those of a request (N-7).
    pub(crate) fn push(self, messages: &mut Vec<Arc<Message>>, message: Arc<Message>) {
        match self {
            Self::Joined => push_merged(messages, message),
            Self::ApartWithResults if message.role == Role::User => each_result(messages, message),
            Self::Apart | Self::ApartWithResults => messages.push(message),
        }
    }
}

/// Adds the results one by one, and what is beside them with the last.
fn each_result(messages: &mut Vec<Arc<Message>>, message: Arc<Message>) {
    let results = message.content.iter().take_while(|block| matches!(block.kind(), BlockKind::ToolResult { .. })).count();
    let (alone, last) = message.content.split_at(results.saturating_sub(1));
    messages.extend(alone.iter().map(|block| Arc::new(Message::user(vec![block.clone()]))));
    messages.push(if alone.is_empty() { message } else { Arc::new(Message::user(last.to_vec())) });
}

/// Where words of the user's go behind these: before system messages of this session without an answer, because the API takes none that
/// they follow. Messages from an earlier session stay where they were.
pub(crate) fn place_of_the_users(items: &[Arc<ConversationItem>]) -> usize {
    let gives_way = |item: &&Arc<ConversationItem>| item.message.role == Role::System && item.kind == ItemKind::Hidden;
    items.len() - items.iter().rev().take_while(gives_way).count()
}

impl Conversation {
    /// The last item is the user's, and goes where such words go.
    pub(super) fn put_before_unanswered(&mut self) {
        if let Some((_, before)) = self.items.split_last() {
            let place = place_of_the_users(before);
            self.items[place..].rotate_right(1);
        }
    }

    /// Takes a message of the host's, under a name of its own; nothing when it has no content, because the API refuses that.
    pub(crate) fn take_host_message(&mut self, name: &str, HostMessage { place, message, .. }: &HostMessage) {
        if message.content.is_empty() {
            return;
        }
        if *place == MessagePlace::Instead {
            // A request holds results and the messages that came while tools ran as one.
            while let [.., before, last] = &self.items[..]
                && (before.kind, last.kind, message.role) == (ItemKind::Results, ItemKind::Prompt, Role::User)
            {
                self.items.pop();
            }
            if let Some(last) = self.items.iter().rposition(|item| item.message.role == message.role) {
                self.replace_message(last, Message::clone(message));
            }
            return;
        }
        let last = self.items.len().checked_sub(1);
        if let (MessagePlace::Beside, Some(last)) = (place, last.filter(|last| self.items[*last].message.role == message.role)) {
            let mut joined = Message::clone(&self.items[last].message);
            joined.content.extend(message.content.iter().cloned());
            return self.replace_message(last, joined);
        }
        let behind = if message.role == Role::User { place_of_the_users(&self.items) } else { self.items.len() };
        let at = if *place == MessagePlace::Before { behind.saturating_sub(1) } else { behind };
        self.push(ConversationItem {
            name: name.into(),
            kind: ItemKind::Hidden,
            message: message.clone(),
            usage: None,
            lacks_thinking: false,
        });
        // Nothing that the API has counted is behind it: what was said last is newer than any answer.
        self.items[at..].rotate_right(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::RequestId;
    use crate::settings::RequestPlace;
    use reenact_wire::block::Block;

    #[test]
    fn s_11_a_message_of_the_host_goes_where_it_says() {
        let mut conversation = Conversation::default();
        conversation.push_user("p1", ItemKind::Prompt, vec![Block::text("hi")]);
        let mut say = |name: &str, role, place, text: &str| {
            let message = Arc::new(Message { role, content: vec![Block::text(text)] });
            conversation.take_host_message(name, &HostMessage { at: RequestPlace::START, place, message });
        };
        say("b", Role::System, MessagePlace::Before, "before");
        say("x", Role::User, MessagePlace::Beside, "beside");
        say("a", Role::Assistant, MessagePlace::After, "after");
        say("y", Role::User, MessagePlace::Beside, "alone");
        let shown: Vec<_> = conversation
            .messages(NeighbourMerging::Apart)
            .iter()
            .map(|message| format!("{} {}", message.role.as_str(), message.content.len()))
            .collect();
        assert_eq!(shown, ["system 1", "user 2", "assistant 1", "user 1"]);
    }

    #[test]
    fn s_11_what_the_user_says_goes_before_system_messages_that_nobody_answered() {
        let mut conversation = Conversation::default();
        let system = |text| Arc::new(Message { role: Role::System, content: vec![Block::text(text)] });
        let host = |message| HostMessage { at: RequestPlace::START, place: MessagePlace::After, message };
        conversation.push_user("p1", ItemKind::Prompt, vec![Block::text("hi")]);
        conversation.take_host_message("host1", &host(system("be brief")));
        conversation.take_host_message("host2", &host(system("and kind")));
        conversation.push_user("p2", ItemKind::Prompt, vec![Block::text("well?")]);
        conversation.take_host_message("host3", &host(Arc::new(Message::user(vec![Block::text("a document")]))));
        let names = |conversation: &Conversation| conversation.items().iter().map(|item| item.name.to_string()).collect::<Vec<_>>();
        assert_eq!(names(&conversation), ["p1", "p2", "host3", "host1", "host2"]);
        conversation.push_answer(crate::contract::RequestId::first(2), vec![Block::text("yes")], None);
        conversation.push_user("p3", ItemKind::Prompt, vec![Block::text("thanks")]);
        assert_eq!(names(&conversation).last().map(String::as_str), Some("p3"), "an answered one stays");
    }

    #[test]
    fn s_11_a_message_before_the_last_one_leaves_system_messages_behind_the_users() {
        let mut conversation = Conversation::default();
        conversation.push_user("p1", ItemKind::Prompt, vec![Block::text("hi")]);
        let mut say =
            |name: &str, place, message| conversation.take_host_message(name, &HostMessage { at: RequestPlace::START, place, message });
        say("brief", MessagePlace::After, Arc::new(Message { role: Role::System, content: vec![Block::text("be brief")] }));
        say("document", MessagePlace::Before, Arc::new(Message::user(vec![Block::text("a document")])));
        let names: Vec<&str> = conversation.items().iter().map(|item| &*item.name).collect();
        assert_eq!(names, ["document", "p1", "brief"]);
    }

    #[test]
    fn s_11_a_message_of_the_host_takes_the_place_of_the_last_one_in_its_role() {
        let mut conversation = Conversation::default();
        conversation.push_user("p1", ItemKind::Prompt, vec![Block::text("hi")]);
        let instead = |conversation: &mut Conversation, role, text: &str| {
            let message = Arc::new(Message { role, content: vec![Block::text(text)] });
            conversation.take_host_message("host1", &HostMessage { at: RequestPlace::START, place: MessagePlace::Instead, message });
        };
        instead(&mut conversation, Role::Assistant, "of nothing");
        assert_eq!(conversation.items().len(), 1);
        conversation.push_answer(RequestId::first(1), vec![Block::text("yes")], None);
        conversation.push_user("p2", ItemKind::Prompt, vec![Block::text("and?")]);
        instead(&mut conversation, Role::Assistant, "no");
        instead(&mut conversation, Role::User, "or?");
        let said = |item: &Arc<ConversationItem>| item.message.content[0].json().to_value()["text"].as_str().unwrap().to_owned();
        assert_eq!(conversation.items().iter().map(said).collect::<Vec<_>>(), ["hi", "no", "or?"]);
    }

    #[test]
    fn n_7_neighbours_are_joined_or_stay_apart() {
        let message = Arc::new(Message::user(vec![Block::text("a")]));
        let of = |neighbours: NeighbourMerging| {
            let mut messages = Vec::new();
            (0..2).for_each(|_| neighbours.push(&mut messages, message.clone()));
            messages.len()
        };
        assert_eq!((of(NeighbourMerging::Joined), of(NeighbourMerging::Apart)), (1, 2));
    }
}
