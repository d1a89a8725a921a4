//! Actions of the session's host before a request (S-11): settings that hold from there on, messages of its own, and the container that it keeps
//! for the API's tools.

use super::QueryScope;
use crate::contract::RequestId;
use crate::session::prompt::RequestFrame;
use crate::settings::RequestPlace;
use reenact_wire::prelude::*;

/// Before a request is put together: the settings and messages of the host since the request before it.
pub(super) fn heed(frame: &mut Arc<RequestFrame>, scope: &mut QueryScope<'_>, id: RequestId) {
    let (before, at) = (scope.memory.reached, RequestPlace { prompt: id.prompt, request: id.turn });
    if let Some(changed) = changed_frame(frame, scope, id) {
        // Thinking stays where the host has left it, whatever the new model says to it.
        scope.memory.signed_by = Some(changed.model().clone());
        *frame = Arc::new(changed);
    }
    // What holds from a request on holds in later prompts too; what is said at one is not said in another prompt.
    let is_said = |place: RequestPlace| place.prompt == id.prompt && before < place && place <= at;
    for (number, message) in (1..).zip(&scope.env.settings.session.host_messages).filter(|(_, message)| is_said(message.at)) {
        scope.memory.conversation.take_host_message(&format!("host{number}"), message);
    }
    // A prompt may come before an earlier one: no message is inserted twice.
    scope.memory.reached = before.max(at);
}

/// The frame of a request, where the host changes it there. The window that holds is that of the model that this request names (C-4).
pub(super) fn changed_frame(frame: &RequestFrame, scope: &QueryScope<'_>, id: RequestId) -> Option<RequestFrame> {
    let at = RequestPlace { prompt: id.prompt, request: id.turn };
    let is_due = |place: RequestPlace| scope.memory.reached < place && place <= at;
    let due = scope.env.settings.session.changes.iter().filter(|change| is_due(change.from));
    due.fold(None, |changed: Option<RequestFrame>, change| Some(changed.as_ref().unwrap_or(frame).with_change(scope.env, change)))
}
