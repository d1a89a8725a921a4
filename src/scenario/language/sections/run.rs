//! `chunking`, and the words of `[auth]` and of recordings: how a run goes.

use crate::language::description::ValueShape;
use crate::language::forms::{Word, WordValue, word_forms};
use crate::language::keys::{KeyForm, KeyPosition};
use crate::language::toml::TomlValue;
use crate::parse::report::DiagnosticReport;
use crate::parse::tree::{TreeValue, TreeValueKind};
use crate::tape::Provenance;
use crate::types::{Chunking, RefreshOutcome};
use reenact_wire::block::Role;
use reenact_wire::models::SignaturePolicy;
use reenact_wire::prelude::*;

word_forms!(RefreshOutcome, SignaturePolicy, Provenance, Role);

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
