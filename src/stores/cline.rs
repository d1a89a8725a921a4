//! Sessions of cline: `~/.cline/data/sessions/<id>/<id>.messages.json`, with blocks like those of the Messages API.

use super::content;
use super::conversation::{StoreRemarks, StoredConversation, StoredMessage};
use super::document::StoreDocument;
use super::json_lines::shared;
use super::{StoreError, StoreFile};
use reenact_wire::block::Role;
use reenact_wire::prelude::*;

pub(super) fn read(file: &StoreFile<'_>) -> Result<Vec<StoredConversation>, StoreError> {
    let document = StoreDocument::read(file)?;
    let mut remarks = StoreRemarks::default();
    let Some(stored) = document.objects("messages", &mut remarks) else {
        return Err(StoreError::new(file, "it has no array `messages`: is it the `*.messages.json` of a session of cline?"));
    };
    let mut messages = Vec::new();
    for (place, message) in stored {
        let role = message.string("role").and_then(|role| Role::from_word(&role));
        match role {
            Some(role) => messages.push(StoredMessage::new(role, place, content::blocks(message.get("content")))),
            None => remarks.add_damage(place, "has no role that is known"),
        }
    }
    let session = shared(&document.object, "sessionId");
    Ok(vec![StoredConversation::of_file(file.name, session, (messages, 0), remarks)])
}
