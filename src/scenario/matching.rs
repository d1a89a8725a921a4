//! `[matching]`: how requests are held against the recorded ones (M-3).

use crate::language::description::ValueShape;
use crate::language::forms::{Word, WordValue};
use crate::language::keys::{KeyForm, KeyPosition, keys};
use crate::language::toml::TomlValue;
use crate::parse::report::DiagnosticReport;
use crate::parse::tree::{TreeValue, TreeValueKind};
use reenact_wire::compare::{VolatileMember, VolatileRule};
use reenact_wire::prelude::*;

keys! {
    /// How requests are held against the recorded ones (M-3).
    #[derive(Eq)]
    pub struct RequestMatching {
        /// Whether a difference, or an answer without a request, is a failure.
        strict: bool = false;
        /// The differences between requests that do not count.
        volatile: VolatileMember as VolatileNames = VolatileMember::default();
    }
}

impl WordValue for VolatileRule {
    const NOUN: &'static str = "volatile field";

    fn words() -> Vec<(&'static str, Self, &'static str)> {
        Self::WORDS.to_vec()
    }
}

/// The names of what may differ.
pub(crate) struct VolatileNames;

impl KeyForm for VolatileNames {
    type Value = VolatileMember;

    fn shape() -> ValueShape {
        Vec::<Word<VolatileRule>>::shape()
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<VolatileMember> {
        if !matches!(value.kind, TreeValueKind::List(_) | TreeValueKind::StandIn) {
            report.mismatch(value, "an array of names");
            return None;
        }
        Vec::<Word<VolatileRule>>::read(value, at, report).map(VolatileMember::from_rules)
    }

    fn write(value: &VolatileMember) -> TomlValue {
        Vec::<Word<VolatileRule>>::write(&value.rules().to_vec())
    }
}
