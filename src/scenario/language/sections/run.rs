//! `chunking`, `[auth]`, `[api]`, `[[side]]`, `[matching]`: how a run goes.

use crate::prelude::*;
use crate::scenario::language::description::ValueShape;
use crate::scenario::language::forms::{Word, WordValue, word_forms};
use crate::scenario::language::keys::{KeyForm, KeyPosition};
use crate::scenario::language::toml::TomlValue;
use crate::scenario::parse::reader::TableReader;
use crate::scenario::parse::report::DiagnosticReport;
use crate::scenario::parse::tree::{TreeValue, TreeValueKind};
use crate::scenario::side::SideRule;
use crate::scenario::tape::Provenance;
use crate::scenario::types::{Chunking, RefreshOutcome, SimulatedApi};
use crate::wire::block::Role;
use crate::wire::compare::{VolatileMember, VolatileRule};
use crate::wire::models::SignaturePolicy;

word_forms!(RefreshOutcome, SignaturePolicy, Provenance, Role);

/// A limit says nothing about a window that is not there.
pub(crate) fn check_api(api: &SimulatedApi, reader: &mut TableReader<'_, '_>) {
    if let (None, Some(_)) = (api.context_window, api.counts_max_tokens) {
        reader.key_problem("counts_max_tokens", "`counts_max_tokens` needs a `context_window`: add one, or remove this key".into());
    }
}

/// A rule without a condition would answer everything.
pub(crate) fn check_side(side: &SideRule, reader: &mut TableReader<'_, '_>) {
    const CONDITIONS: [&str; 3] = ["contains", "model", "max_tokens"];
    if let SideRule { model: None, contains: None, max_tokens: None, .. } = side
        && !reader.has_any(&CONDITIONS)
    {
        let message = format!("{} answers every request: say which", reader.title());
        reader.lacks(&CONDITIONS, message, Some("give `contains`, `model` or `max_tokens`".into()));
    }
}

impl KeyForm for Chunking {
    type Value = Self;

    fn shape() -> ValueShape {
        let words = vec![
            ("as_recorded", "As recorded; one event each where the tape does not say."),
            ("bytes", "One byte each."),
            ("random", "At drawn places."),
        ];
        ValueShape::Either(vec![ValueShape::Words(words), ValueShape::Integer(1)])
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<Self> {
        if matches!(value.kind, TreeValueKind::Text(_)) {
            return Word::<ChunkingWord>::read(value, at, report).map(|ChunkingWord(chunking)| chunking);
        }
        if !matches!(value.kind, TreeValueKind::Integer(..) | TreeValueKind::StandIn) {
            report.mismatch(value, "\"as_recorded\", \"bytes\", \"random\", or the size of a chunk in bytes");
            return None;
        }
        let size = u32::read(value, at, report)?;
        if size == 0 {
            report.value(value.place, "a chunk has at least 1 byte".into(), None);
        }
        usize::try_from(size).ok().map(Self::Every)
    }

    fn write(value: &Self) -> TomlValue {
        match value {
            Self::Every(size) => TomlValue::Inline(size.to_string()),
            word => Word::<ChunkingWord>::write(&ChunkingWord(word.clone())),
        }
    }
}

/// A chunking that is written as a word.
#[derive(Clone, Debug, PartialEq)]
struct ChunkingWord(Chunking);

impl WordValue for ChunkingWord {
    fn words() -> Vec<(&'static str, Self, &'static str)> {
        [("as_recorded", Chunking::AsRecorded), ("bytes", Chunking::Bytes), ("random", Chunking::Random)]
            .map(|(word, chunking)| (word, Self(chunking), ""))
            .into()
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
