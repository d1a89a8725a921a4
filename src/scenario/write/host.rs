//! `[[change]]` and `[[message]]` as TOML.

use super::{TomlLines, content};
use crate::engine::settings::{HostMessage, MessagePlace, RequestChange, RequestPlace, SessionSettings};
use crate::prelude::*;
use crate::wire::block::Role;

/// What the host does, in the order of the places.
pub(super) fn entries(out: &mut TomlLines, session: &SessionSettings) {
    session.changes.iter().for_each(|change| change_entry(out, change));
    session.host_messages.iter().for_each(|message| message_entry(out, message));
}

fn change_entry(out: &mut TomlLines, RequestChange { from, set, unset, tools }: &RequestChange) {
    out.table("[[change]]");
    out.raw("from", place(*from));
    if set.as_str() != "{}" {
        out.text("set", set.as_str());
    }
    out.texts("unset", unset);
    match tools {
        Some(tools) if tools.is_empty() => out.raw("tools", "[]"),
        Some(tools) => out.texts("tools", tools),
        None => (),
    }
}

fn message_entry(out: &mut TomlLines, HostMessage { at, place: goes, message }: &HostMessage) {
    out.table("[[message]]");
    out.raw("at", place(*at));
    if message.role != Role::User {
        out.text("role", message.role.as_str());
    }
    match goes {
        MessagePlace::Before => out.text("place", "before"),
        MessagePlace::Beside => out.text("place", "beside"),
        MessagePlace::Instead => out.text("place", "instead"),
        MessagePlace::After => (),
    }
    content(out, &message.content);
}

fn place(RequestPlace { prompt, request }: RequestPlace) -> String {
    format!("{{ prompt = {prompt}, request = {request} }}")
}
