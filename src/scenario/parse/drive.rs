//! `[drive]` and `[[normalise]]`.

use super::reader::{TableReader, known_word};
use super::tree::TreeValueKind;
use crate::prelude::*;
use crate::scenario::drive::{DriveScript, KnownClient, NormaliseRule, SHIPPED_RULES, VaryingPlace};

/// Reads what a scenario says of a client that is driven.
pub(super) fn read(reader: &mut TableReader<'_, '_>) -> DriveScript {
    let normalise = reader.entries("normalise", "[[normalise]]", rule);
    let drive = reader.section("drive", "[drive]", drive).unwrap_or_default();
    DriveScript { normalise, ..drive }
}

fn drive(reader: &mut TableReader<'_, '_>) -> DriveScript {
    let (client, exit) = (reader.choice("client", &KnownClient::ALL), reader.get("exit"));
    DriveScript { client, exit, without: without(reader), normalise: Vec::new() }
}

fn without(reader: &mut TableReader<'_, '_>) -> Vec<Arc<str>> {
    let Some(member) = reader.member("without") else { return Vec::new() };
    match &member.value.kind {
        TreeValueKind::List(items) => {
            let names = SHIPPED_RULES.map(|(name, _)| name);
            items.iter().filter_map(|item| known_word(item, reader.report, "rule", &names)).map(Arc::from).collect()
        }
        TreeValueKind::StandIn => Vec::new(),
        _ => {
            reader.report.mismatch(&member.value, "an array of names");
            Vec::new()
        }
    }
}

/// `{ name = "build", member = "build_id" }` or `{ name = "build", after = "build ", until = "," }`.
fn rule(reader: &mut TableReader<'_, '_>) -> Option<NormaliseRule> {
    let name = reader.required("name");
    let (member, after): (Option<Arc<str>>, Option<Arc<str>>) = match reader.one_of(&["member", "after"]) {
        Some(_) => (reader.get("member"), reader.get("after")),
        None => {
            reader.lacks(&["member", "after"], "[[normalise]] does not say where".into(), Some("give `member` or `after`".into()));
            (None, None)
        }
    };
    let until: Option<Arc<str>> = reader.get("until");
    if let (None, Some(_), Some(misplaced)) = (&after, &until, reader.member("until")) {
        reader.report.value(misplaced.place, "`until` belongs to `after`, and there is none".into(), None);
    }
    let place = match (member, after) {
        (Some(member), _) => VaryingPlace::Member(member),
        (None, Some(after)) => VaryingPlace::Between { after, until },
        (None, None) => return None,
    };
    Some(NormaliseRule { name: name?, place })
}
