//! Words as `sh` has them, values through a command line, readers and dangers.

use reenact_wire::prelude::*;

mod command_texts;
mod dangers;
mod generator;
mod readers;
mod same_as_sh;
mod tokens;
mod values;

/// The parts of a word as short texts: `'x'` quoted, `x` not, `$x`, `(n)` a substitution of n tokens, `<x>` what is known only when it runs.
fn parts(word: &crate::CommandWord) -> Vec<String> {
    use crate::WordPart::{Expansion, Substitution, Text, Variable};
    let of = |part: &crate::WordPart| match part {
        Text { text, is_quoted: true } => format!("'{text}'"),
        Text { text, is_quoted: false } => text.clone(),
        Variable { name, is_quoted: true } => format!("'${name}'"),
        Variable { name, is_quoted: false } => format!("${name}"),
        Substitution { lexemes, .. } => format!("({})", lexemes.len()),
        Expansion(text) => format!("<{text}>"),
    };
    word.parts.iter().map(of).collect()
}
