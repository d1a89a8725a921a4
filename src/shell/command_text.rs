//! The simple commands of a text as they are written, for rules about commands (P-1).

use reenact_wire::prelude::*;

use crate::lexeme::{CommandWord, Lexeme, Operator, ShellToken, WordPart};
use crate::lexer::lexemes;

/// A simple command as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandText {
    /// Its text, without blanks at both ends.
    pub text: String,
    /// Whether it redirects output to a file, other than `/dev/null`; or opens a connection by a redirection.
    pub writes: bool,
}

/// All simple commands of a text in order, those in substitutions as well. `None` where that is not known: the text cannot be read, or has commands in
/// backticks.
///
/// `git log | head; a=$(date)` has `git log`, `head`, `a=$(date)` and `date`.
pub fn command_texts(command: &str) -> Option<Vec<CommandText>> {
    let mut texts = Vec::new();
    push_texts(command, &lexemes(command).ok()?, command.len(), &mut texts)?;
    Some(texts)
}

/// Adds the commands of some tokens. The last of them ends at `end`.
fn push_texts(command: &str, lexemes: &[Lexeme], end: usize, texts: &mut Vec<CommandText>) -> Option<()> {
    let mut first: Option<usize> = None;
    let mut writes = false;
    let mut redirection = None;
    for lexeme in lexemes {
        let ends = match &lexeme.token {
            ShellToken::Newline => true,
            ShellToken::Operator(operator) => !operator.is_redirection(),
            _ => false,
        };
        if ends {
            push_text(command, first.take(), lexeme.at, core::mem::take(&mut writes), texts);
            redirection = None;
            continue;
        }
        first.get_or_insert(lexeme.at);
        match &lexeme.token {
            ShellToken::Operator(operator) => redirection = Some(*operator),
            ShellToken::Word(word) => {
                writes |= redirection.take().is_some_and(|operator| writes_to(operator, word));
                push_substitutions(command, word, texts)?;
            }
            ShellToken::HereDocument(word) => push_substitutions(command, word, texts)?,
            ShellToken::Descriptor(_) | ShellToken::Newline => (),
        }
    }
    push_text(command, first, end, writes, texts);
    Some(())
}

fn push_text(command: &str, first: Option<usize>, end: usize, writes: bool, texts: &mut Vec<CommandText>) {
    if let Some(text) = first.and_then(|first| command.get(first..end)) {
        texts.push(CommandText { text: text.trim().to_owned(), writes });
    }
}

fn push_substitutions(command: &str, word: &CommandWord, texts: &mut Vec<CommandText>) -> Option<()> {
    for part in &word.parts {
        match part {
            WordPart::Substitution { lexemes, source, .. } => push_texts(command, lexemes, source.as_ref()?.end, texts)?,
            // There may be commands in it.
            WordPart::Expansion(text) if text.contains("$(") || text.contains('`') => return None,
            _ => (),
        }
    }
    Some(())
}

fn writes_to(operator: Operator, word: &CommandWord) -> bool {
    let target = word.literal();
    match operator {
        // Some shells open a connection there.
        Operator::Input => target.is_none_or(|target| target.starts_with("/dev/tcp/") || target.starts_with("/dev/udp/")),
        Operator::Output | Operator::Append | Operator::Overwrite | Operator::ReadWrite => target.as_deref() != Some("/dev/null"),
        // `2>&1` names an open file, and `>&file` a file.
        Operator::OutputTo => !target.is_some_and(|target| target == "-" || target.bytes().all(|byte| byte.is_ascii_digit())),
        _ => false,
    }
}
