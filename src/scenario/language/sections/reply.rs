//! Scripted replies: one whose keys stand in the table itself, or several under `answers` (M-7).

use core::marker::PhantomData;

use crate::language::description::KeyDescription;
use crate::language::forms::TrueMark;
use crate::language::keys::{FieldForm, KeyFacts, KeyTable, keys};
use crate::language::tables::Sections;
use crate::language::toml::TomlTable;
use crate::latency::Latency;
use crate::parse::reader::TableReader;
use crate::replies::ScriptedReply;
use reenact_wire::prelude::*;

/// The form of a field with replies whose content has the keys of `T`.
pub(crate) struct Replies<T>(PhantomData<T>);

/// The facts of [`Replies`]' own keys.
const NEVER_ANSWERS: KeyFacts = KeyFacts::new("never_answers", "No answer ever comes.");
const ANSWERS: KeyFacts = KeyFacts::new("answers", "Several answers, one for each time; the last one counts for all further times.");

impl<T: KeyTable + Clone> FieldForm for Replies<T> {
    type Value = Vec<ScriptedReply<T>>;

    fn describe_field(_: &KeyFacts, _: &Self::Value, keys: &mut Vec<KeyDescription>) {
        T::describe(keys);
        <TrueMark as FieldForm>::describe_field(&NEVER_ANSWERS, &false, keys);
        <Sections<Answer<T>> as FieldForm>::describe_field(&ANSWERS, &Vec::new(), keys);
    }

    fn field_names(_: &KeyFacts) -> Vec<&'static str> {
        own_keys::<T>().into_iter().chain([ANSWERS.name]).collect()
    }

    fn read_field(reader: &mut TableReader<'_, '_>, _: &KeyFacts) -> Option<Self::Value> {
        let own = own_keys::<T>();
        for key in &own {
            reader.one_of(&[ANSWERS.name, key]);
        }
        if reader.has_any(&own) {
            return Some(vec![ScriptedReply { latency: None, says: content(reader), may: false }]);
        }
        let answers = <Sections<Answer<T>> as FieldForm>::read_field(reader, &ANSWERS)?;
        Some(answers.into_iter().map(|Answer(reply)| reply).collect())
    }

    /// One reply without a latency of its own stands in its owner's table, unless nothing would stand there.
    fn write_field(replies: &Self::Value, _: &KeyFacts, out: &mut TomlTable) {
        if let [ScriptedReply { latency: None, says, may: false }] = &replies[..] {
            let mut own = TomlTable::default();
            write_content(says.as_ref(), &mut own);
            if !own.is_empty() {
                return out.append(own);
            }
        }
        let answers: Vec<Answer<T>> = replies.iter().cloned().map(Answer).collect();
        if !answers.is_empty() {
            <Sections<Answer<T>> as FieldForm>::write_field(&answers, &ANSWERS, out);
        }
    }
}

fn own_keys<T: KeyTable>() -> Vec<&'static str> {
    T::names().into_iter().chain([NEVER_ANSWERS.name]).collect()
}

/// The content; `None` with `never_answers`, beside which nothing else can stand.
fn content<T: KeyTable>(reader: &mut TableReader<'_, '_>) -> Option<T> {
    for key in T::names() {
        reader.one_of(&[NEVER_ANSWERS.name, key]);
    }
    let never = <TrueMark as FieldForm>::read_field(reader, &NEVER_ANSWERS).unwrap_or_default();
    let content = T::read(reader);
    if never { None } else { content }
}

fn write_content<T: KeyTable>(content: Option<&T>, out: &mut TomlTable) {
    match content {
        Some(content) => content.write(out),
        None => <TrueMark as FieldForm>::write_field(&true, &NEVER_ANSWERS, out),
    }
}

keys! {
    /// The common keys of all entries of `answers`.
    struct AnswerKeys {
        /// How long this answer takes. By default it takes the time of its owner.
        latency: Option<Latency> = None;
        /// This answer need not be asked for (F-10).
        may: bool = false;
    }
}

/// An entry of `answers`.
struct Answer<T>(ScriptedReply<T>);

impl<T: KeyTable> KeyTable for Answer<T> {
    const ABOUT: &'static str = "One of several answers.";

    fn name() -> String {
        format!("{}Answer", T::name())
    }

    fn describe(keys: &mut Vec<KeyDescription>) {
        AnswerKeys::describe(keys);
        T::describe(keys);
        <TrueMark as FieldForm>::describe_field(&NEVER_ANSWERS, &false, keys);
    }

    fn names() -> Vec<&'static str> {
        AnswerKeys::names().into_iter().chain(own_keys::<T>()).collect()
    }

    fn read(reader: &mut TableReader<'_, '_>) -> Option<Self> {
        let AnswerKeys { latency, may } = AnswerKeys::read(reader)?;
        Some(Self(ScriptedReply { latency, says: content(reader), may }))
    }

    fn write(&self, out: &mut TomlTable) {
        let Self(ScriptedReply { latency, says, may }) = self;
        AnswerKeys { latency: latency.clone(), may: *may }.write(out);
        write_content(says.as_ref(), out);
    }
}
