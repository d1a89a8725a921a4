//! `[drive]` and `[[normalise]]`: what is known of a real client (K-7, K-10).

use crate::drive::{KnownClient, NormaliseRule, SHIPPED_RULES, VaryingPlace};
use crate::language::forms::{WordList, WordOf, word_forms};
use crate::language::keys::{ConvertedTable, keys};
use crate::parse::reader::TableReader;
use reenact_wire::prelude::*;

word_forms!(KnownClient);

/// The names of the shipped rules.
pub(crate) struct ShippedRules;

impl WordList for ShippedRules {
    const NOUN: &'static str = "rule";

    fn words() -> Vec<&'static str> {
        SHIPPED_RULES.iter().map(|(name, _)| *name).collect()
    }
}

keys! {
    /// `[drive]`: facts about the client that `reenact drive` runs (K-7).
    pub(crate) struct DriveKeys {
        /// The client.
        client: Option<KnownClient> = None;
        /// The exit code that it must have.
        exit: Option<u32> = None;
        /// Shipped rules of normalisation that do not act.
        without: Vec<String> as Vec<WordOf<ShippedRules>> = Vec::new();
        /// Whether parts of the scenario that cannot be done to a client, or asked of it, may be left out (F-10). They are named all the same.
        may: bool = false;
        /// A tool runs when it makes or changes this file in the client's working folder (K-9).
        marker_file: Option<Arc<str>> = None, example("\"started\""), not_blank("a file has a name");
        /// A tool runs when the client prints a line that holds this text (K-9).
        marker_line: Option<Arc<str>> = None, example("\"started\""), not_blank("every line holds a blank text");
    }
}

keys! {
    /// `[[normalise]]`: a part that varies between equal runs, and is shown by the rule's name (K-10). Either `member` or `after` is needed.
    pub(crate) struct NormaliseKeys {
        /// The name that is shown in its place, in angle brackets.
        name: Option<Arc<str>> = None, required, example("\"build\"");
        /// The values of JSON members of this name vary.
        member: Option<Arc<str>> = None, example("\"build_id\"");
        /// The text after this varies.
        after: Option<Arc<str>> = None, example("\"build \""), not_blank("a blank stands everywhere: name what stands before the text");
        /// With `after`: the text varies up to this. By default up to the next blank.
        until: Option<Arc<str>> = None, example("\",\"");
    }
}

impl ConvertedTable for NormaliseRule {
    type Keys = NormaliseKeys;

    fn from_keys(keys: NormaliseKeys, reader: &mut TableReader<'_, '_>) -> Option<Self> {
        if reader.one_of(&["member", "after"]).is_none() {
            let message = format!("{} needs a place", reader.title());
            reader.lacks(&["member", "after"], message, Some("give `member` or `after`".into()));
        }
        let NormaliseKeys { name, member, after, until } = keys;
        if let (None, Some(_)) = (&after, &until) {
            reader.key_problem("until", "`until` needs `after`: add it, or remove this key".into());
        }
        let place = match (member, after) {
            (Some(member), _) => VaryingPlace::Member(member),
            (None, Some(after)) => VaryingPlace::Between { after, until },
            (None, None) => return None,
        };
        Some(Self { name: name?, place })
    }

    fn to_keys(&self) -> NormaliseKeys {
        let Self { name, place } = self.clone();
        let keys = NormaliseKeys { name: Some(name), ..NormaliseKeys::default() };
        match place {
            VaryingPlace::Member(member) => NormaliseKeys { member: Some(member), ..keys },
            VaryingPlace::Between { after, until } => NormaliseKeys { after: Some(after), until, ..keys },
        }
    }
}
