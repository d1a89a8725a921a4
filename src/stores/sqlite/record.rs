//! Records: the values of a row. And the columns that they stand for, from the statement that made the table.

use reenact_wire::prelude::*;

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SqliteValue<'r> {
    /// A text.
    Text(&'r str),
    /// A whole number.
    Integer(i64),
    /// Nothing, a fraction, bytes, or a text that is not UTF-8.
    Other,
}

impl<'r> SqliteValue<'r> {
    pub(super) fn text(self) -> Option<&'r str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Integer(_) | Self::Other => None,
        }
    }
}

/// Takes a number of one to nine bytes off the front.
pub(super) fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for place in 1..=9 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if place == 9 {
            return Some(number << 8 | u64::from(*byte));
        }
        number = number << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some(number)
}

/// The values of a record, as far as it goes.
pub(super) fn values(record: &[u8]) -> Vec<SqliteValue<'_>> {
    let mut rest = record;
    let split = varint(&mut rest).and_then(|length| record.split_at_checked(usize::try_from(length).ok()?));
    let Some((header, mut body)) = split else { return Vec::new() };
    let mut types = header.get(record.len() - rest.len()..).unwrap_or_default();
    let mut values = Vec::new();
    while let Some(kind) = varint(&mut types) {
        let length = match kind {
            0 | 8..=11 => 0,
            1..=4 => kind,
            5 => 6,
            6 | 7 => 8,
            _ => (kind - 12) / 2,
        };
        let Some((bytes, after)) = usize::try_from(length).ok().and_then(|length| body.split_at_checked(length)) else { break };
        body = after;
        values.push(match kind {
            1..=6 => SqliteValue::Integer(integer(bytes)),
            8 | 9 => SqliteValue::Integer((kind - 8).cast_signed()),
            13.. if kind % 2 == 1 => core::str::from_utf8(bytes).map_or(SqliteValue::Other, SqliteValue::Text),
            _ => SqliteValue::Other,
        });
    }
    values
}

/// A number of one to eight bytes, the greatest first.
fn integer(bytes: &[u8]) -> i64 {
    let sign = if bytes.first().is_some_and(|first| first & 0x80 != 0) { -1 } else { 0 };
    bytes.iter().fold(sign, |number, byte| number << 8 | i64::from(*byte))
}

/// The first words of definitions that make no column.
const CONSTRAINTS: [&str; 5] = ["constraint", "primary", "unique", "check", "foreign"];

/// The names of the columns in `CREATE TABLE x (…)`.
pub(super) fn column_names(statement: &str) -> Vec<String> {
    let Some((_, definitions)) = statement.split_once('(') else { return Vec::new() };
    let (mut names, mut depth, mut quote, mut start) = (Vec::new(), 1_usize, None, 0);
    for (at, character) in definitions.char_indices() {
        match (quote, character) {
            (Some(end), _) if character == end => quote = None,
            (Some(_), _) => (),
            (None, '"' | '\'' | '`') => quote = Some(character),
            (None, '[') => quote = Some(']'),
            (None, '(') => depth += 1,
            (None, ')') => depth -= 1,
            _ => (),
        }
        if quote.is_none() && (depth == 0 || (depth == 1 && character == ',')) {
            names.extend(column_name(&definitions[start..at]));
            start = at + character.len_utf8();
        }
        if depth == 0 {
            break;
        }
    }
    names
}

fn column_name(definition: &str) -> Option<String> {
    let definition = definition.trim_start();
    let quoted = |end: char| Some(definition[1..].split_once(end)?.0.to_owned());
    match definition.chars().next()? {
        quote @ ('"' | '\'' | '`') => quoted(quote),
        '[' => quoted(']'),
        _ => {
            let name = definition.split(|character: char| character.is_whitespace() || character == '(').next()?;
            (!CONSTRAINTS.iter().any(|word| name.eq_ignore_ascii_case(word))).then(|| name.to_owned())
        }
    }
}
