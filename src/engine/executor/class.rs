//! Whether a tool use may run beside others: its tool says so of this input, or the scenario of this use (T-3). Pure functions.
//!
//! ```text
//!   invalid input, unknown tool ──> exclusive
//!   what is said of this use, by its id ──> as said
//!   the tool: always, never, cannot say, by its command ──> safe, exclusive, exclusive, safe if the command only reads
//! ```
//!
//! The class is decided once, with the input that the model wrote. A hook or a person who changes the input later does not change the class.
//! A command that is not understood is exclusive. To run it alone costs time; to run it beside others may cost work.

use alloc::collections::BTreeMap;

use super::admission::ConcurrencyClass;
use super::input::InputProblem;
use crate::contract::original_id;
use crate::settings::{Environment, ToolSafety};
use reenact_wire::block::{ToolInput, ToolUse};
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;

/// The class of a tool use as it arrives. An input that cannot be used is exclusive, whatever is said of it.
pub(super) fn class_of(env: &Environment, tool_use: &ToolUse, problem: Option<&InputProblem>) -> ConcurrencyClass {
    let is_safe = || env.tool(&tool_use.name).is_some_and(|tool| is_safe(tool.safe, &env.safe_uses, tool_use));
    if problem.is_none() && is_safe() { ConcurrencyClass::Safe } else { ConcurrencyClass::Exclusive }
}

/// Whether a use of a tool that says `safety` of itself may run beside others. `safe_uses` is what is said of single uses.
#[doc(hidden)]
pub fn is_safe(safety: ToolSafety, safe_uses: &BTreeMap<Arc<str>, bool>, tool_use: &ToolUse) -> bool {
    let ToolInput::Valid(input) = &tool_use.input else { return false };
    said_of(safe_uses, &tool_use.id).unwrap_or_else(|| match safety {
        ToolSafety::Always => true,
        ToolSafety::Never | ToolSafety::Unknown => false,
        ToolSafety::ByCommand => command(input.as_str()).is_some_and(|command| only_reads(&command)),
    })
}

/// The class that the scenario gives to a use, by its id. A reissued answer has ids that are made from the first ones (M-3).
fn said_of(safe_uses: &BTreeMap<Arc<str>, bool>, id: &str) -> Option<bool> {
    let said = |id: &str| safe_uses.get(id).copied();
    said(id).or_else(|| said(original_id(id)?))
}

/// The command of an input. Of two commands nobody knows which one the tool runs.
fn command(input: &str) -> Option<String> {
    let input = RawObject::parse(input).ok()?;
    let count = input.members().filter(|(name, _)| *name == "command").count();
    input.string("command").filter(|_| count == 1).map(Cow::into_owned)
}

/// Commands that write nothing, whatever their arguments are.
const READERS: [&str; 14] = ["ls", "cat", "head", "tail", "wc", "grep", "stat", "du", "df", "pwd", "echo", "true", "which", "sleep"];

/// The commands of `git` that write nothing, but for their options.
const GIT_READERS: [&str; 4] = ["status", "log", "diff", "show"];

/// Whether a shell command is known to read only (T-3).
pub(crate) fn only_reads(command: &str) -> bool {
    let Some(words) = words(command) else { return false };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match *words {
        [] => false,
        ["git", reader, ref arguments @ ..] => {
            GIT_READERS.contains(&reader) && arguments.iter().all(|word| is_harmless(word, &["output", "ext-diff"], 'o'))
        }
        ["file", ref arguments @ ..] => arguments.iter().all(|word| is_harmless(word, &["compile"], 'C')),
        [first, ..] => READERS.contains(&first),
    }
}

/// Whether an argument is none of these options, in full or shortened, and cannot become one: a file may be named like an option.
fn is_harmless(word: &str, long: &[&str], short: char) -> bool {
    if word.contains(['*', '?', '[']) {
        return false;
    }
    match word.strip_prefix("--") {
        Some(option) => {
            let name = option.split('=').next().unwrap_or_default();
            name.is_empty() || !long.iter().any(|long| long.starts_with(name) || name.starts_with(long))
        }
        None => !(word.starts_with('-') && word.contains(short)),
    }
}

/// The words of one plain command, without their quotes. `None` if a quote is open, or if there is anything in it that the shell acts on: what it
/// replaces, what leads elsewhere, what begins another command.
fn words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    for character in command.chars() {
        match (quote, character) {
            _ if is_for_the_shell(character) => return None,
            (Some(open), _) if character == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, ' ' | '\t') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// Some shells split words at other white space, too.
fn is_for_the_shell(character: char) -> bool {
    let is_odd_space = (character.is_whitespace() || character.is_control()) && !matches!(character, ' ' | '\t');
    is_odd_space || matches!(character, '$' | '`' | '\\' | '>' | '<' | '|' | '&' | ';' | '(' | ')' | '{' | '}')
}

#[cfg(test)]
mod tests;
