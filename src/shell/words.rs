//! The words that a program would get (W-2).
//!
//! ```text
//!   lexemes ──> variables replaced ──> fields split ──> sentinels cut ──> ShellWord
//! ```
//!
//! Words are those of `sh` without files: a pattern stays as it is written.

use alloc::collections::BTreeMap;
use core::mem;

use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::raw_json;

use crate::lexeme::{CommandWord, Operator, ShellToken, WordPart};
use crate::lexer::{ShellError, ShellProblem, lexemes};
use crate::sentinel::{Sentinel, SentinelPiece};

/// A word of a command as its program gets it, or an operator between words.
#[derive(Clone, Debug, PartialEq)]
pub enum ShellWord {
    /// A text.
    Text(String),
    /// An object or an array that a variable holds.
    Value(Json),
    /// An operator, which the shell acts on.
    Operator(Operator),
    /// The text of a here-document.
    Input(String),
    /// The end of a line.
    Newline,
}

/// The words of a command, with the variables replaced by their values.
///
/// An unset variable is empty, `null` as well. A number or a truth value is its text. An object or an array comes out as a value of its own, apart from the
/// text around it; the `=` of an option before it is left out.
///
/// # Errors
/// What is not closed, and what is known only when the command runs: the output of a substitution, `$?`, `${x:-y}`.
pub fn words(command: &str, variables: &BTreeMap<Arc<str>, Json>, sentinel: &Sentinel) -> Result<Vec<ShellWord>, ShellError> {
    let mut expansion = WordExpansion { variables, sentinel, values: Vec::new() };
    let mut words = Vec::new();
    for lexeme in lexemes(command)? {
        match lexeme.token {
            ShellToken::Operator(operator) => words.push(ShellWord::Operator(operator)),
            ShellToken::Newline => words.push(ShellWord::Newline),
            ShellToken::Descriptor(number) => words.push(ShellWord::Text(number)),
            ShellToken::HereDocument(body) => words.push(ShellWord::Input(expansion.joined(&body, lexeme.at)?)),
            ShellToken::Word(word) => {
                let fields = expansion.fields(&word, lexeme.at)?;
                words.extend(fields.iter().flat_map(|field| expansion.decoded(field)));
            }
        }
    }
    Ok(words)
}

struct WordExpansion<'a> {
    variables: &'a BTreeMap<Arc<str>, Json>,
    sentinel: &'a Sentinel,
    /// Structured values, by the numbers in their sentinels.
    values: Vec<Json>,
}

impl WordExpansion<'_> {
    /// The value of a variable as text; a structured one as its sentinel.
    fn value(&mut self, name: &str) -> String {
        let Some(value) = self.variables.get(name) else { return String::new() };
        let text = value.as_str().trim();
        match text.as_bytes().first() {
            Some(b'{' | b'[') => {
                self.values.push(value.clone());
                self.sentinel.placeholder(self.values.len() - 1)
            }
            Some(b'"') => raw_json::string(text).map(Cow::into_owned).unwrap_or_default(),
            _ if text == "null" => String::new(),
            _ => text.to_owned(),
        }
    }

    /// A word's fields. The value of a variable outside of quotes is split at blanks; what is empty then is no field.
    fn fields(&mut self, word: &CommandWord, at: usize) -> Result<Vec<String>, ShellError> {
        let mut fields = Vec::new();
        // `None`: nothing has begun a field.
        let mut field: Option<String> = None;
        for (index, part) in word.parts.iter().enumerate() {
            match part {
                WordPart::Text { text, is_quoted } => {
                    let home = if index == 0 && !is_quoted { self.home(text, word.parts.len() == 1) } else { None };
                    field.get_or_insert_default().push_str(&home.unwrap_or_else(|| text.clone()));
                }
                WordPart::Variable { name, is_quoted: true } => field.get_or_insert_default().push_str(&self.value(name)),
                WordPart::Variable { name, is_quoted: false } => split(&self.value(name), &mut field, &mut fields),
                unknown => return Err(ShellProblem::Unknown(shown(unknown)).at(at)),
            }
        }
        fields.extend(field);
        Ok(fields)
    }

    /// A text that begins with the home folder, with its path in place of the tilde.
    fn home(&self, text: &str, is_whole: bool) -> Option<String> {
        let rest = text.strip_prefix('~')?;
        let is_home = rest.starts_with('/') || (rest.is_empty() && is_whole);
        let home = self.variables.get("HOME").filter(|_| is_home)?;
        Some(raw_json::string(home.as_str())?.into_owned() + rest)
    }

    /// A body in which nothing is split.
    fn joined(&mut self, word: &CommandWord, at: usize) -> Result<String, ShellError> {
        let mut text = String::new();
        for part in &word.parts {
            match part {
                WordPart::Text { text: part, .. } => text.push_str(part),
                WordPart::Variable { name, .. } => {
                    // A body is text for a program: a structured value is written out.
                    let value = self.variables.get(&**name).cloned();
                    text.push_str(&value.filter(is_structured).map_or_else(|| self.value(name), |value| value.to_string()));
                }
                unknown => return Err(ShellProblem::Unknown(shown(unknown)).at(at)),
            }
        }
        Ok(text)
    }

    /// The field with its values in place of their sentinels.
    fn decoded(&self, field: &str) -> Vec<ShellWord> {
        let pieces = self.sentinel.cut(field);
        let of = |(index, piece): (usize, &SentinelPiece<'_>)| match *piece {
            SentinelPiece::Value(number) => self.values.get(number).cloned().map(ShellWord::Value),
            SentinelPiece::Text(text) => {
                let is_option = text.starts_with('-') && matches!(pieces.get(index + 1), Some(SentinelPiece::Value(_)));
                Some(ShellWord::Text(text.strip_suffix('=').filter(|_| is_option).unwrap_or(text).to_owned()))
            }
        };
        pieces.iter().enumerate().filter_map(of).collect()
    }
}

fn is_structured(value: &Json) -> bool {
    value.as_str().trim().starts_with(['{', '['])
}

/// Splits a value at blanks. Its first field joins what stands before it, its last one what follows.
fn split(value: &str, field: &mut Option<String>, fields: &mut Vec<String>) {
    for (index, part) in value.split([' ', '\t', '\n']).enumerate() {
        if index > 0 {
            fields.extend(mem::take(field));
        }
        if !part.is_empty() {
            field.get_or_insert_default().push_str(part);
        }
    }
}

fn shown(part: &WordPart) -> String {
    match part {
        WordPart::Expansion(text) => text.clone(),
        _ => String::from("a substitution"),
    }
}
