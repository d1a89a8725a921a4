//! The errors of the TOML parser, in words that say what to do: where the first of two equal keys is, and what is wrong with quotes.

use core::ops::Range;

use super::{is_header, line_of, starts};
use reenact_wire::prelude::*;

/// Quotes that word processors put in place of straight ones.
const TYPOGRAPHIC: [char; 10] = ['“', '”', '„', '‟', '‘', '’', '‚', '‛', '«', '»'];

/// A message about a place, and what would be right where the message does not say it.
pub(in crate::parse) fn explained(text: &str, place: &Range<usize>, message: &str) -> (String, Option<String>) {
    if message == super::DUPLICATE {
        return duplicate(text, place);
    }
    let lines = starts(text.split('\n'));
    let line = text.split('\n').nth(line_of(&lines, place.start)).unwrap_or_default();
    if let Some(quote) = line.chars().find(|character| TYPOGRAPHIC.contains(character)) {
        let help = "write straight quotes: \"…\" or '…'";
        let at_quote = text.get(place.start..).is_some_and(|rest| rest.starts_with(TYPOGRAPHIC));
        let message = if at_quote { "a typographic quote opens no text in TOML".into() } else { before_expected(message).to_string() };
        return (message, Some(format!("`{quote}` is a typographic quote; {help}")));
    }
    match message.split_once(", expected ") {
        Some((message, "literal string")) => (message.into(), Some("put it in quotes".into())),
        Some((message, expected)) => (message.into(), Some(format!("expected {expected}"))),
        None => (message.into(), None),
    }
}

fn before_expected(message: &str) -> &str {
    message.split_once(", expected ").map_or(message, |(before, _)| before)
}

/// Names the first place of a table or a key that is there twice.
fn duplicate(text: &str, place: &Range<usize>) -> (String, Option<String>) {
    let lines: Vec<&str> = text.split('\n').collect();
    let starts = starts(lines.iter().copied());
    let at = line_of(&starts, place.start);
    let name = text.get(place.clone()).unwrap_or_default().trim();
    if is_header(lines[at]) {
        let table = table_name(lines[at]);
        let help = "put its keys there, or begin an entry of a list with [[…]]";
        return match first_header(&lines[..at], &table) {
            Some(first) => (format!("table `{table}` is there already, in line {}", first + 1), Some(help.into())),
            None => (format!("`{table}` is there already"), Some(help.into())),
        };
    }
    let section = lines[..at].iter().rposition(|line| is_header(line)).map_or(0, |header| header + 1);
    let key = lines[at].split('=').next().unwrap_or_default().trim();
    let is_it = |line: &&str| line.split_once('=').is_some_and(|(before, _)| before.trim() == key);
    let help = Some(String::from("one of the two has to go"));
    match lines[section..at].iter().position(is_it).filter(|_| key.ends_with(name)) {
        Some(first) => (format!("key `{key}` is there already, in line {}", section + first + 1), help),
        None => (format!("key `{name}` is there already"), help),
    }
}

/// The first header of a table that is still open at the end of the lines: a new entry of a list that it is in begins it anew.
fn first_header(lines: &[&str], table: &str) -> Option<usize> {
    let begins_anew = |line: &str| {
        let name = table_name(line);
        is_header(line) && line.trim_start().starts_with("[[") && table.strip_prefix(&*name).is_some_and(|rest| rest.starts_with('.'))
    };
    let from = lines.iter().rposition(|line| begins_anew(line)).map_or(0, |at| at + 1);
    let header = |line: &&str| is_header(line) && table_name(line) == table;
    let key =
        |line: &&str| line.split_once('=').is_some_and(|(key, _)| key.trim() == table || key.trim().starts_with(&format!("{table}.")));
    let found = lines[from..].iter().position(|line| header(line) || key(line));
    found.map(|at| from + at)
}

/// `engine.retry` of `[ engine.retry ]  # …`.
fn table_name(line: &str) -> String {
    let inner = line.trim_start().trim_start_matches('[');
    inner.split(']').next().unwrap_or_default().split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use super::super::recover;
    use super::*;

    fn explanations(text: &str) -> Vec<(String, Option<String>)> {
        recover(text).errors.iter().map(|(place, message)| explained(text, place, message)).collect()
    }

    fn first(text: &str) -> String {
        explanations(text).remove(0).0
    }

    #[test]
    fn f_7_the_first_of_two_is_named() {
        assert_eq!(first("[engine]\nmodel = 1\n[[prompt]]\n[engine]\n"), "table `engine` is there already, in line 1");
        assert_eq!(first("engine = { model = 1 }\nseed = 1\n[engine]\n"), "table `engine` is there already, in line 1");
        assert_eq!(first("[[a]]\n[a.b]\n[[a]]\n[a.b]\n[a.b]\n"), "table `a.b` is there already, in line 4");
        assert_eq!(first("a = 1\n[b]\nx = 1\na = 2\n# no\na = 3\n"), "key `a` is there already, in line 4");
        assert_eq!(first("a = { b = 1, b = 2 }\n"), "key `b` is there already");
    }

    #[test]
    fn f_7_typographic_quotes_are_called_so() {
        for text in ["a = “x”\n", "a = ‘x’\n", "a = \"x”\nb = 1\n", "“a” = 1\n"] {
            let (message, help) = explanations(text).remove(0);
            assert!(help.is_some_and(|help| help.contains("typographic quote; write straight quotes")), "{text}: {message}");
        }
        assert_eq!(explanations("a = \"“x”\"\n"), []);
        assert_eq!(first("a = x\n"), "string values must be quoted");
    }
}
