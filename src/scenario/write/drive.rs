//! `[drive]` and `[[normalise]]`.

use super::TomlLines;
use crate::scenario::drive::{DriveScript, KnownClient, NormaliseRule, VaryingPlace};

pub(super) fn drive_sections(out: &mut TomlLines, drive: &DriveScript) {
    let DriveScript { client, exit, without, normalise } = drive;
    if client.is_some() || exit.is_some() || !without.is_empty() {
        out.table("[drive]");
    }
    if let Some(client) = client {
        out.text("client", KnownClient::ALL.iter().find(|(_, known)| known == client).map_or("", |(word, _)| word));
    }
    if let Some(exit) = exit {
        out.raw("exit", exit);
    }
    out.texts("without", without);
    for NormaliseRule { name, place } in normalise {
        out.table("[[normalise]]");
        out.text("name", name);
        match place {
            VaryingPlace::Member(member) => out.text("member", member),
            VaryingPlace::Between { after, until } => {
                out.text("after", after);
                if let Some(until) = until {
                    out.text("until", until);
                }
            }
        }
    }
}
