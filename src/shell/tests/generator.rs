//! Random commands, each made from its number.

use reenact_wire::prelude::*;

/// A generator of numbers that needs no crate: the same numbers everywhere.
pub(super) struct Numbers(u64);

impl Numbers {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `limit`.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }

    pub(super) fn one_of<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.below(items.len())]
    }
}

/// Pieces of words that every shell reads alike, outside of quotes.
const PLAIN: [&str; 22] =
    ["a", "b9", "-x", "--name=test", "=", "/", ".", ":", "ü", "%s", "@", "+", "^", "{", "}", "[a]", "*", "?", "!", "a#b", ",", "\r"];

/// Pieces between double quotes.
const QUOTED: [&str; 18] =
    ["a b", "\\$", "\\`", "\\\"", "\\\\", "\\n", "\\x", "'", "#", "\n", "\\\n", ";|&<>()", "$ ", "*", "~", "\t", "ä", "\\'"];

/// Variables; the values have blanks at all places.
pub(super) const VARIABLES: [(&str, &str); 6] =
    [("A", "one"), ("B", " two  three\t"), ("E", ""), ("L", "x\ny\n"), ("S_1", "-o \"q\" $A *"), ("HOME", "/h o/me")];

/// A command with the arguments of `print`, and what ends it.
pub(super) fn command(seed: u64) -> String {
    let mut numbers = Numbers::new(seed);
    let mut text = String::from("print");
    for _ in 0..numbers.below(5) {
        text.push_str(numbers.one_of(&[" ", "  ", "\t", " \\\n", "\\\n "]));
        word(&mut numbers, &mut text);
    }
    text.push_str(numbers.one_of(&["", "", " ", " # it's a \"comment", "\t#"]));
    text
}

fn word(numbers: &mut Numbers, text: &mut String) {
    if numbers.below(20) == 0 {
        return text.push_str(numbers.one_of(&["~", "~/x", "~/'a b'", "\\~", "'~'/", "a~", "a$"]));
    }
    for _ in 0..=numbers.below(4) {
        match numbers.below(7) {
            0 => {
                text.push('\'');
                text.push_str(numbers.one_of(&["", "a b", "$A", "\\", "\"", "`x`", "\n", "#;&|"]));
                text.push('\'');
            }
            1 => {
                text.push('"');
                for _ in 0..numbers.below(4) {
                    match numbers.below(3) {
                        0 => variable(numbers, text),
                        _ => text.push_str(numbers.one_of(&QUOTED)),
                    }
                }
                text.push('"');
            }
            2 => {
                text.push('\\');
                text.push_str(numbers.one_of(&[" ", "$", "'", "\"", "\\", "a", "#", ";", "ü", "*", "|", "\n"]));
            }
            3 => variable(numbers, text),
            4 => text.push_str(numbers.one_of(&["$/", "$.", "$%", "$,"])),
            _ => text.push_str(numbers.one_of(&PLAIN)),
        }
    }
    // What follows a dollar sign must not become its name.
    text.push_str(numbers.one_of(&["", "", "/", "."]));
}

fn variable(numbers: &mut Numbers, text: &mut String) {
    let name = numbers.one_of(&["A", "B", "E", "L", "S_1", "UNSET", "1"]);
    if numbers.below(2) == 0 {
        text.push_str("${");
        text.push_str(if name == "1" { "A" } else { name });
        text.push('}');
    } else {
        text.push('$');
        text.push_str(name);
        // A letter behind it would belong to the name.
        text.push_str(numbers.one_of(&["/", "-", "."]));
    }
}
