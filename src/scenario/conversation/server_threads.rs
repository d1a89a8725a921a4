//! Conversations that the API holds, so that a client sends only what is new (beta `message-threads-2026-08-12`).
//!
//! ```text
//! request 1   "thread":{"type":"create"}, system, tools, messages [u1]             -> msg_1: a1
//! request 2   "thread":{"type":"continue","previous_message_id":"msg_1"}, [u2]     -> msg_2: a2
//! whole 2     system, tools, messages [u1, a1, u2]
//! ```
//!
//! All else here compares, replays and judges whole conversations. So a request is made whole as it comes in, as the API does it: what a client
//! that sends everything would have sent, without the word `thread`.

use alloc::collections::BTreeMap;

use thiserror::Error;

use reenact_wire::answer::CompleteAnswer;
use reenact_wire::json::push_string;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::{RawObject, elements};

/// The members that a conversation is made with, and that its requests must not repeat.
const CREATE_ONLY: [&str; 2] = ["system", "tools"];

/// The conversations that are held, by the id of the message that each ends with.
#[derive(Clone, Debug, Default)]
pub(super) struct ServerThreads {
    conversations: BTreeMap<Arc<str>, JsonConversation>,
}

/// A conversation as JSON text. What it shares with earlier ones is there once.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonConversation {
    /// By [`CREATE_ONLY`].
    frame: [Option<Arc<str>>; 2],
    messages: Vec<Arc<str>>,
}

/// A request with everything that it stands for.
#[derive(Clone, Debug)]
pub struct CompleteRequest<'a> {
    /// Its body as a client that sends everything would have sent it.
    pub body: Cow<'a, str>,
    /// The conversation that is held when its answer is there; `None` when none is.
    pub conversation: Option<JsonConversation>,
}

/// Why a request cannot be made whole.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum IncompleteRequest {
    /// No such message, or not of a conversation that was to be held.
    #[error("no stored conversation ends with message `{id}`; send the whole history with `\"thread\":{{\"type\":\"create\"}}`")]
    Unknown {
        /// The message that the request continues from.
        id: String,
    },
    /// A member that is the conversation's.
    #[error("`{member}` cannot be sent when a thread is continued: the conversation keeps its first value")]
    Repeated {
        /// Its name.
        member: &'static str,
    },
    /// `thread` is not one of the two objects that it may be.
    #[error(
        "`thread` is neither {{\"type\":\"create\"}} nor {{\"type\":\"continue\",\"previous_message_id\":…}}, or the request has no `messages`"
    )]
    Malformed,
}

impl ServerThreads {
    /// A request with all that is held for it; one without `thread` is whole as it is.
    ///
    /// # Errors
    /// When it continues from what is not held, or is none that the API would take.
    pub(super) fn complete_request<'a>(&self, body: &'a str) -> Result<CompleteRequest<'a>, IncompleteRequest> {
        // Most clients know nothing of this, and a body may be large.
        let named = memchr::memmem::find(body.as_bytes(), b"\"thread\"").and_then(|_| RawObject::parse(body).ok());
        let Some((request, thread)) = named.and_then(|request| request.present("thread").map(|thread| (request, thread))) else {
            return Ok(CompleteRequest::as_it_is(body));
        };
        let thread = RawObject::parse(thread).map_err(|_| IncompleteRequest::Malformed)?;
        let new = request.get("messages").and_then(|messages| elements(messages).ok()).ok_or(IncompleteRequest::Malformed)?;
        let new = new.into_iter().map(Arc::from);
        let conversation = match (thread.string("type").as_deref(), thread.string("previous_message_id")) {
            (Some("create"), _) => {
                JsonConversation { frame: CREATE_ONLY.map(|member| request.get(member).map(Arc::from)), messages: new.collect() }
            }
            (Some("continue"), Some(id)) => {
                if let Some(member) = CREATE_ONLY.into_iter().find(|member| request.present(member).is_some()) {
                    return Err(IncompleteRequest::Repeated { member });
                }
                let mut conversation = self.conversations.get(&*id).ok_or_else(|| IncompleteRequest::Unknown { id: id.into() })?.clone();
                conversation.messages.extend(new);
                conversation
            }
            _ => return Err(IncompleteRequest::Malformed),
        };
        Ok(CompleteRequest { body: conversation.request(&request).into(), conversation: Some(conversation) })
    }

    /// Holds a conversation that was answered with a complete message.
    pub(super) fn hold(&mut self, mut conversation: JsonConversation, replied: &CompleteAnswer) {
        if !replied.blocks.is_empty() {
            let content: Vec<&str> = replied.blocks.iter().map(|block| block.json().as_str()).collect();
            conversation.messages.push(format!(r#"{{"role":"assistant","content":[{}]}}"#, content.join(",")).into());
        }
        self.conversations.insert(replied.id.clone(), conversation);
    }
}

impl<'a> CompleteRequest<'a> {
    /// A request that says everything, or of which nothing more is known.
    pub fn as_it_is(body: &'a str) -> Self {
        Self { body: body.into(), conversation: None }
    }
}

impl JsonConversation {
    /// A request with this conversation in place of its own; its other members stay byte for byte.
    fn request(&self, request: &RawObject<'_>) -> String {
        let frame = CREATE_ONLY.into_iter().zip(&self.frame);
        let frame = frame.filter_map(|(name, value)| Some((name, Cow::from(&**value.as_ref()?))));
        let messages = Cow::from(format!("[{}]", self.messages.join(",")));
        let is_own = |name: &str| name != "thread" && name != "messages" && !CREATE_ONLY.contains(&name);
        let others = request.members().filter(|(name, _)| is_own(name)).map(|(name, value)| (name, Cow::from(value)));
        let mut out = String::from("{");
        for (name, value) in others.chain(frame).chain([("messages", messages)]) {
            if out.len() > 1 {
                out.push(',');
            }
            push_string(&mut out, name);
            out.push(':');
            out.push_str(&value);
        }
        out.push('}');
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_wire::block::Block;
    use reenact_wire::usage::Usage;

    const CREATE: &str = r#"{"model":"m","tools":[{"name":"Read"}],"thread":{"type":"create"},"messages":[{"role":"user","content":"a"}]}"#;

    fn on_from(id: &str, messages: &str) -> String {
        format!(r#"{{"thread":{{"previous_message_id":"{id}","type":"continue"}},"messages":[{messages}],"model":"m","max_tokens":1.0}}"#)
    }

    fn after_one_answer() -> ServerThreads {
        let mut held = ServerThreads::default();
        let whole = held.complete_request(CREATE).unwrap();
        assert_eq!(whole.body, r#"{"model":"m","tools":[{"name":"Read"}],"messages":[{"role":"user","content":"a"}]}"#);
        held.hold(
            whole.conversation.unwrap(),
            &CompleteAnswer { id: "msg_1".into(), blocks: vec![Block::text("b")], stop_reason: None, usage: Usage::default() },
        );
        held
    }

    #[test]
    fn k_6_what_goes_on_is_made_whole() {
        let mut held = after_one_answer();
        let body = on_from("msg_1", r#"{"role":"user","content":"c"}"#);
        let whole = held.complete_request(&body).unwrap();
        let first =
            r#"{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"text","text":"b"}]},{"role":"user","content":"c"}"#;
        assert_eq!(whole.body, format!(r#"{{"model":"m","max_tokens":1.0,"tools":[{{"name":"Read"}}],"messages":[{first}]}}"#));
        // The same again, as after an error: nothing was held for it. Then on from its answer, and from the one before.
        assert_eq!(held.complete_request(&body).unwrap().body, whole.body);
        held.hold(
            whole.conversation.unwrap(),
            &CompleteAnswer { id: "msg_2".into(), blocks: Vec::new(), stop_reason: None, usage: Usage::default() },
        );
        assert!(
            held.complete_request(&on_from("msg_2", "")).unwrap().body.contains(&format!("[{first}]")),
            "a paused turn goes on from nothing new"
        );
        assert!(held.complete_request(&on_from("msg_1", "")).is_ok());
    }

    #[test]
    fn k_6_what_is_not_held_or_said_twice_is_refused() {
        let held = after_one_answer();
        assert_eq!(held.complete_request(&on_from("msg_9", "")).unwrap_err(), IncompleteRequest::Unknown { id: "msg_9".into() });
        let again = on_from("msg_1", "").replacen('{', r#"{"system":"s","#, 1);
        assert_eq!(held.complete_request(&again).unwrap_err(), IncompleteRequest::Repeated { member: "system" });
        for wrong in
            [r#"{"thread":"t","messages":[]}"#, r#"{"thread":{"type":"continue"},"messages":[]}"#, r#"{"thread":{"type":"create"}}"#]
        {
            assert_eq!(held.complete_request(wrong).unwrap_err(), IncompleteRequest::Malformed, "{wrong}");
        }
    }

    #[test]
    fn k_6_a_request_without_a_thread_is_whole_as_it_is() {
        let held = ServerThreads::default();
        for body in
            [r#"{"messages":[{"role":"user","content":"\"thread\""}]}"#, r#"{"thread":null,"messages":[]}"#, "no json", "\"thread\""]
        {
            let whole = held.complete_request(body).unwrap();
            assert!(matches!(whole.body, Cow::Borrowed(same) if same == body) && whole.conversation.is_none(), "{body}");
        }
    }
}
