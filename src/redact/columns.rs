//! Values in the columns of a table whose head names a secret (K-2).
//!
//! ```text
//! user,password,role       id | name | password       | user | token |       NAME   TOKEN   AGE
//! bob,…,admin             ----+------+----------      |------|-------|       bob    …       3d
//!                           1 | bob  | …              | bob  | …     |
//! ```
//!
//! A head is a line of names alone. Where bars part its fields, a line of dashes stands below it. Blanks part fields where there are two or more.

use std::ops::Range;

use super::assignments::{NamedValue, has_telling_word};
use super::name_bytes::skip;
use super::names::{TellingName, ValuePlace, is_secret_value, is_words, telling};

/// The longest head.
const HEAD_BYTES_MAX: usize = 1 << 10;

/// The longest name of a column.
const NAME_BYTES_MAX: usize = 64;

/// From how many letters on a word is a password in a column of such.
const WORD_BYTES_MIN: usize = 6;

/// The signs that part the fields of a line.
const SIGNS: [u8; 4] = *b"|\t;,";

/// A table whose head was read.
struct Table {
    sign: u8,
    /// How many fields a line has.
    width: usize,
    /// The columns that have secrets: their places and their names.
    columns: Vec<(usize, Range<usize>, TellingName)>,
    is_ruled: bool,
}

/// A field without the blanks, quotes and marks around it.
struct Field {
    range: Range<usize>,
    is_quoted: bool,
}

/// Every such value of a text, in order.
pub(super) fn find(text: &[u8]) -> Vec<NamedValue> {
    let (mut found, mut table, mut start) = (Vec::new(), None::<Table>, 0);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let range = start..start + line.len() - line.iter().rev().take_while(|byte| b"\r\n".contains(byte)).count();
        start += line.len();
        if is_rule(&text[range.clone()]) {
            if let Some(table) = &mut table {
                table.is_ruled = true;
            }
            continue;
        }
        table = table.filter(|table| table.sign != b'|' || table.is_ruled);
        let row = table.as_ref().map(|table| (table, fields(text, range.clone(), table.sign)));
        match row.filter(|(table, row)| row.len() == table.width) {
            Some((table, row)) => found.extend(values(text, table, &row)),
            None => table = head(text, range),
        }
    }
    found
}

/// The secrets in a line of a table.
fn values(text: &[u8], table: &Table, row: &[Field]) -> Vec<NamedValue> {
    let is_secret = |tells: TellingName, field: &Field| {
        let value = &text[field.range.clone()];
        let has_digit = value.iter().any(u8::is_ascii_digit);
        let is_number = tells < TellingName::Password && value.iter().all(|byte| byte.is_ascii_digit() || b".,%".contains(byte));
        let is_text = field.is_quoted && (tells == TellingName::Password || !is_words(value));
        // In a table of Markdown a word may say something about a password.
        let is_password = tells == TellingName::Password && (has_digit || table.sign != b'|' && value.len() >= WORD_BYTES_MIN);
        let is_one = !value.iter().any(u8::is_ascii_whitespace) && (!is_words(value) || is_password);
        is_secret_value(tells, value, ValuePlace::Quoted) && (is_text || is_one) && !is_number
    };
    let of_column = |(at, name, tells): &(usize, Range<usize>, TellingName)| {
        let value = row.get(*at).filter(|field| is_secret(*tells, field))?.range.clone();
        Some(NamedValue { name: name.clone(), value })
    };
    table.columns.iter().filter_map(of_column).collect()
}

/// The table whose head is this line, where one of its names tells.
fn head(text: &[u8], line: Range<usize>) -> Option<Table> {
    let bytes = &text[line.clone()];
    if bytes.len() > HEAD_BYTES_MAX || bytes.iter().any(|byte| b"(){}=<>&$#?!".contains(byte)) || !has_telling_word(bytes) {
        return None;
    }
    let sign = SIGNS.into_iter().find(|sign| bytes.contains(sign)).unwrap_or(b' ');
    let names = fields(text, line, sign);
    let is_name = |(at, field): (usize, &Field)| {
        let name = &text[field.range.clone()];
        // A blank behind a comma is one of prose.
        let is_apart = at == 0 || matches!(sign, b'|' | b' ') || field.is_quoted || text[field.range.start - 1] != b' ';
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-. ".contains(byte);
        (1..=NAME_BYTES_MAX).contains(&name.len()) && name.iter().all(is_part) && name[0].is_ascii_alphabetic() && is_apart
    };
    (names.len() >= 2 && names.iter().enumerate().all(is_name)).then_some(())?;
    let telling = |(at, field): (usize, &Field)| {
        let name = &text[field.range.clone()];
        Some((at, field.range.clone(), telling(name).filter(|_| name.split(|byte| *byte == b' ').count() <= 3)?))
    };
    let columns: Vec<_> = names.iter().enumerate().filter_map(telling).collect();
    (!columns.is_empty()).then_some(Table { sign, width: names.len(), columns, is_ruled: false })
}

/// Whether a line parts the head of a table from its rows.
fn is_rule(line: &[u8]) -> bool {
    line.iter().filter(|byte| **byte == b'-').count() >= 3 && line.iter().all(|byte| b"-+|: =".contains(byte))
}

/// The fields of a line. Bars at both ends part none.
fn fields(text: &[u8], line: Range<usize>, sign: u8) -> Vec<Field> {
    let (mut fields, mut start) = (Vec::new(), line.start);
    if sign == b' ' {
        start += skip(text, start, line.len(), b" ") - start;
    }
    while start <= line.end {
        let end = field_end(text, start..line.end, sign);
        fields.push(field(text, start..end));
        start = end + 1;
        if sign == b' ' {
            start = skip(text, start, line.len(), b" ");
        }
    }
    let is_empty = |field: Option<&Field>| field.is_some_and(|field| field.range.is_empty());
    if sign == b'|' && is_empty(fields.last()) {
        fields.pop();
    }
    if sign == b'|' && is_empty(fields.first()) {
        fields.remove(0);
    }
    fields
}

/// Where the field ends that begins here: a sign between its quotes is a part of it.
fn field_end(text: &[u8], rest: Range<usize>, sign: u8) -> usize {
    if sign == b' ' {
        return memchr::memmem::find(&text[rest.clone()], b"  ").map_or(rest.end, |end| rest.start + end);
    }
    let quoted = text[rest.clone()].strip_prefix(b"\"").and_then(|inner| memchr::memchr(b'"', inner)).map(|end| rest.start + end + 2);
    let after = quoted.filter(|end| *end == rest.end || text[*end] == sign).unwrap_or(rest.start);
    memchr::memchr(sign, &text[after..rest.end]).map_or(rest.end, |end| after + end)
}

fn field(text: &[u8], range: Range<usize>) -> Field {
    let outer = &text[range.clone()];
    let is_mark = |byte: &u8| b" \t\r`*".contains(byte);
    let start = range.start + outer.iter().take_while(|byte| is_mark(byte)).count();
    let end = (range.end - outer.iter().rev().take_while(|byte| is_mark(byte)).count()).max(start);
    let is_quoted = end - start >= 2 && matches!(text[start], b'"' | b'\'') && text[end - 1] == text[start];
    Field { range: if is_quoted { start + 1..end - 1 } else { start..end }, is_quoted }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<&str> {
        find(text.as_bytes()).into_iter().map(|found| &text[found.value]).collect()
    }

    #[test]
    fn k_2_values_below_a_name_are_found_in_tables_of_every_form() {
        let (one, two) = ("tT7kQm2ZpL9x", "Zk7Qw9Xb2Lp4");
        for text in [
            format!("user,password,role\nbob,{one},admin\nann,{two},x\n\nx,{two},y\n"),
            format!("\"user\",\"api key\"\r\n\"bob\",\"{one}\"\r\n\"a,nn\",\"{two}\"\r\n"),
            format!("a b\nuser;API_TOKEN\nbob;{one}\nann;{two}\n"),
            format!("user\tsecret_key\tx\nbob\t{one}\t1\nann\t{two}\t\n"),
            format!(" id | name | password \n----+------+-------\n  1 | bob  | {one}\n  2 |      | {two}\n(2 rows)\n"),
            format!("+----+-------+\n| id | token |\n+----+-------+\n|  1 | {one} |\n|  2 | {two} |\n+----+-------+\n"),
            format!("| user | Password |\n|:--|--:|\n| bob | `{one}` |\n| ann | **{two}** |\n"),
        ] {
            assert_eq!(shown(&text), [one, two], "{text}");
        }
        assert_eq!(shown("user,password\nbob,\"three words here\"\n"), ["three words here"]);
    }

    #[test]
    fn k_2_tables_about_secrets_and_lists_of_words_hold_none() {
        for text in [
            "| Name | Password |\n|---|---|\n| bob | required |\n| ann | The password of the user |\n",
            "token,count\nhello,12345678\nworld,99999999\n",
            "user, password, role = read(x1)\nname, tT7kQm2ZpL9x, y\n",
            "f(user,password,role)\nbob,tT7kQm2ZpL9x,admin\n",
            "a | the password\nb | tT7kQm2ZpL9x\n",
            "model,prompt_tokens,total_tokens\nm,4512345678,x123456789012\n",
        ] {
            assert_eq!(shown(text), [""; 0], "{text}");
        }
    }
}
