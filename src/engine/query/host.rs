//! Actions of the session's host before a request (S-11): settings that hold from there on, messages of its own, and the container that it keeps
//! for the API's tools.

use super::Query;
use crate::engine::contract::{Input, RequestId};
use crate::engine::session::prompt::RequestFrame;
use crate::engine::settings::{Environment, RequestPlace};
use crate::prelude::*;
use crate::wire::container::container_id;
use crate::wire::request::Request;

impl Query {
    /// Before the request `id` is put together: the settings and messages of the host since the request before it.
    pub(super) fn heed_host(&mut self, env: &Environment, id: RequestId) {
        let (before, at) = (self.carried.reached, RequestPlace { prompt: id.prompt, request: id.turn });
        let is_due = |place: RequestPlace| before < place && place <= at;
        if let Some(frame) = self.changed_frame(env, id) {
            // Thinking stays where the host has left it, whatever the new model says to it.
            self.carried.signed_by = Some(frame.model().clone());
            self.frame = Arc::new(frame);
        }
        // What holds from a request on holds in later prompts too; what is said at one is not said in another prompt.
        let is_said = |place: RequestPlace| place.prompt == id.prompt && is_due(place);
        for (number, message) in (1..).zip(&env.settings.session.host_messages).filter(|(_, message)| is_said(message.at)) {
            self.carried.conversation.take_host_message(&format!("host{number}"), message);
        }
        // A prompt may come before an earlier one: no message is inserted twice.
        self.carried.reached = before.max(at);
    }

    /// The frame of the request `id`, where the host changes it there. The window that holds is that of the model that this
    /// request names (C-4).
    pub(super) fn changed_frame(&self, env: &Environment, id: RequestId) -> Option<RequestFrame> {
        let at = RequestPlace { prompt: id.prompt, request: id.turn };
        let is_due = |place: RequestPlace| self.carried.reached < place && place <= at;
        let due = env.settings.session.changes.iter().filter(|change| is_due(change.from));
        due.fold(None, |frame: Option<RequestFrame>, change| Some(frame.as_ref().unwrap_or(&self.frame).with_change(env, change)))
    }

    /// Takes note of the container that an answer names.
    pub(super) fn remember_container(&mut self, env: &Environment, input: &Input) {
        if !env.settings.session.keep_container {
            return;
        }
        let named = match input {
            Input::Stream { event, .. } => container_id(event.data()),
            Input::Body { body, .. } => container_id(body),
            _ => None,
        };
        self.carried.container = named.or(self.carried.container.take());
    }

    /// The request with the container that was named last, unless it names one itself.
    pub(super) fn with_container(&self, request: Request) -> Request {
        match &self.carried.container {
            Some(id) => request.with_container(id),
            None => request,
        }
    }
}
