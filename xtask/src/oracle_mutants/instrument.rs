//! The mutants of a file: its text with a question at each place that can be broken. Lines keep their numbers.
//!
//! ```text
//!   if a && b {               each part counts as true, or as false
//!   x if guard => …           the same
//!   .filter(|x| f(x))         the same, of any, all, find, retain and others
//!   fn is_it(…) -> bool { f } the same
//!   self.count += 1;          the statement is left out
//! ```
//!
//! It reads lines as rustfmt writes them and knows no grammar. A place that does not compile when it is changed is given up.

use std::collections::BTreeSet;

/// A line of a file of the engine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PlaceInSource {
    pub(super) file: String,
    /// From 1.
    pub(super) line: usize,
}

/// One way to break the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mutant {
    pub(super) number: usize,
    pub(super) place: PlaceInSource,
    /// `true`, `false` or `left out`.
    pub(super) change: &'static str,
    /// The text that is changed.
    pub(super) text: String,
}

/// The code behind the questions. The number of a condition that counts as false is one more than of the same that counts as true. The number of all ones
/// is a look: it marks the places where a mutant would change something.
pub(super) const RUN_TIME: &str = r#"
#[allow(missing_docs)]
pub mod mutant {
    use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
    pub const LOOK: u32 = u32::MAX;
    pub static ACTIVE: AtomicU32 = AtomicU32::new(0);
    pub static MARKS: [AtomicBool; 8192] = [const { AtomicBool::new(false) }; 8192];
    #[inline(always)]
    pub fn condition(number: u32, value: bool) -> bool {
        match ACTIVE.load(Relaxed) {
            0 => value,
            LOOK => {
                MARKS[(number + u32::from(value)) as usize].store(true, Relaxed);
                value
            }
            active => active == number || active != number + 1 && value,
        }
    }
    #[inline(always)]
    pub fn keeps(number: u32) -> bool {
        match ACTIVE.load(Relaxed) {
            0 => true,
            LOOK => {
                MARKS[number as usize].store(true, Relaxed);
                true
            }
            active => active != number,
        }
    }
}
"#;

/// Methods that take a condition.
const CONDITIONS: [&str; 11] =
    ["filter", "any", "all", "is_some_and", "is_none_or", "retain", "position", "rposition", "find", "take_while", "skip_while"];

/// Lines that begin so are no statement that can be left out.
const NO_STATEMENTS: [&str; 20] = [
    "let ",
    "return",
    "use ",
    "assert",
    "debug_assert",
    "pub ",
    "break",
    "continue",
    "const ",
    "static ",
    "invariant",
    "type ",
    "mod ",
    "impl ",
    "fn ",
    "match ",
    "#",
    "//",
    "\"",
    "..",
];

/// The text with questions. Mutants are numbered on from those that are there; places that are unfit stay as they are.
pub(super) fn instrument(file: &str, text: &str, unfit: &BTreeSet<PlaceInSource>, mutants: &mut Vec<Mutant>) -> String {
    let mut lines: Vec<String> = Vec::new();
    let (mut before, mut is_test) = ("", false);
    let all: Vec<&str> = text.lines().collect();
    for (index, line) in all.iter().enumerate() {
        is_test |= line.starts_with("#[cfg(test)]") || line.starts_with("mod tests");
        let place = PlaceInSource { file: file.into(), line: index + 1 };
        let is_comment = line.trim_start().starts_with("//");
        let mut places = Places { place: &place, mutants };
        let after = all.get(index + 1).copied().unwrap_or_default();
        let changed = if is_test || is_comment || unfit.contains(&place) { None } else { places.changed(before, line, after) };
        lines.push(changed.unwrap_or_else(|| String::from(*line)));
        if !is_comment {
            before = line;
        }
    }
    lines.join("\n") + "\n"
}

/// The mutants of one line.
struct Places<'a> {
    place: &'a PlaceInSource,
    mutants: &'a mut Vec<Mutant>,
}

impl Places<'_> {
    /// The line with its questions; `None` where there is nothing to ask.
    fn changed(&mut self, before: &str, line: &str, after: &str) -> Option<String> {
        let code = line.trim_start();
        let indent = &line[..line.len() - code.len()];
        for head in ["if ", "} else if "] {
            if let Some(condition) = code.strip_prefix(head).and_then(|rest| rest.strip_suffix(" {")).filter(|text| !text.contains("let "))
            {
                return Some(format!("{indent}{head}{} {{", self.conditions(condition)));
            }
        }
        if let Some((head, condition, tail)) = guard(line) {
            return Some(format!("{head}{}{tail}", self.conditions(condition)));
        }
        if is_statement(before, code) {
            return Some(format!("{indent}if crate::mutant::keeps({}) {{ {code} }}", self.number("left out", code)));
        }
        if before.ends_with("-> bool {") && after.trim() == "}" && !code.ends_with(';') {
            return Some(format!("{indent}{}", self.conditions(code)));
        }
        self.closure(line)
    }

    /// The first condition that a method of this line takes.
    fn closure(&mut self, line: &str) -> Option<String> {
        let begins = |name: &&str| line.find(&format!(".{name}(|")).map(|at| at + name.len() + 2);
        let at = CONDITIONS.iter().filter_map(begins).min()?;
        let body = at + 1 + line[at + 1..].find("| ")? + 2;
        let end = body + closing(&line[body..])?;
        let condition = line[body..end].trim_end_matches(',');
        if condition.is_empty() || condition.starts_with('{') {
            return None;
        }
        Some(format!("{}{}{}", &line[..body], self.question(condition), &line[body + condition.len()..]))
    }

    /// A question for each part of a condition.
    fn conditions(&mut self, condition: &str) -> String {
        let parts = parts(condition);
        if parts.len() == 1 {
            return self.question(condition);
        }
        let ask = |(operator, part): (&str, &str)| format!("{operator}{}", self.question(part));
        parts.into_iter().map(ask).collect()
    }

    fn question(&mut self, condition: &str) -> String {
        let number = self.number("true", condition);
        self.number("false", condition);
        format!("crate::mutant::condition({number}, {condition})")
    }

    fn number(&mut self, change: &'static str, text: &str) -> usize {
        let number = self.mutants.last().map_or(1, |last| last.number + 1);
        self.mutants.push(Mutant { number, place: self.place.clone(), change, text: text.into() });
        number
    }
}

/// The guard of an arm, with what is before and behind it.
fn guard(line: &str) -> Option<(&str, &str, &str)> {
    let arrow = line.find(" =>")?;
    let at = line[..arrow].find(" if ")? + 4;
    let condition = &line[at..arrow];
    (!condition.contains("let ")).then_some((&line[..at], condition, &line[arrow..]))
}

/// Whether the line is a whole statement that can be left out.
fn is_statement(before: &str, code: &str) -> bool {
    let is_whole = before.trim_end().ends_with([';', '{', '}']) && code.ends_with(';') && closing(code).is_none();
    let begins = code.starts_with(|c: char| c.is_ascii_lowercase() || matches!(c, '*' | '&' | '('));
    let is_macro = code.split(['(', ' ']).next().is_some_and(|first| first.ends_with('!'));
    is_whole && begins && !is_macro && !NO_STATEMENTS.iter().any(|word| code.starts_with(word))
}

/// Where the bracket is closed in which the text begins.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => return Some(at),
            ')' | ']' | '}' => depth -= 1,
            _ => (),
        }
    }
    None
}

/// The parts of a condition that `&&` and `||` join outside of all brackets, each with the operator before it. One that has a closure outside of brackets is
/// one part.
fn parts(condition: &str) -> Vec<(&str, &str)> {
    let (mut parts, mut operator, mut from, mut depth) = (Vec::new(), "", 0, 0_usize);
    for (at, c) in condition.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            '&' | '|' if depth == 0 && at >= from => {
                for next in [" && ", " || "] {
                    if at > 0 && condition[at - 1..].starts_with(next) {
                        parts.push((operator, &condition[from..at - 1]));
                        (operator, from) = (next, at + 3);
                    }
                }
            }
            _ => (),
        }
    }
    parts.push((operator, &condition[from..]));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(text: &str) -> (String, Vec<Mutant>) {
        let mut mutants = Vec::new();
        let text = instrument("a.rs", text, &BTreeSet::new(), &mut mutants);
        (text, mutants)
    }

    #[test]
    fn each_part_of_a_condition_is_asked_about() {
        let (text, mutants) = changed("    if a && f(b && c) || !d {\n");
        let ask = |number: usize, condition: &str| format!("crate::mutant::condition({number}, {condition})");
        assert_eq!(text, format!("    if {} && {} || {} {{\n", ask(1, "a"), ask(3, "f(b && c)"), ask(5, "!d")));
        assert_eq!(mutants.iter().map(|mutant| (mutant.number, mutant.change)).collect::<Vec<_>>()[..2], [(1, "true"), (2, "false")]);
    }

    #[test]
    fn statements_guards_closures_and_answers_are_asked_about() {
        let count = |text: &str| changed(text).1.len();
        assert_eq!(changed("{\n    self.a += 1;\n").0, "{\n    if crate::mutant::keeps(1) { self.a += 1; }\n");
        assert_eq!(count("{\n    let a = 1;\n    return a;\n"), 0);
        assert_eq!(count("    f(\n        a.b();\n"), 0, "it is a part of another one");
        assert!(changed("    A if b(c) => d,\n").0.contains("A if crate::mutant::condition(1, b(c)) => d,"));
        assert_eq!(changed("    a.filter(|b| c(b)).d()\n").0, "    a.filter(|b| crate::mutant::condition(1, c(b))).d()\n");
        assert_eq!(count("fn is_it() -> bool {\n    a || b\n}\n"), 4);
        assert_eq!(count("#[cfg(test)]\nmod tests {\n    if a {\n"), 0);
    }

    #[test]
    fn a_place_that_does_not_fit_stays_as_it_is() {
        let unfit = BTreeSet::from([PlaceInSource { file: "a.rs".into(), line: 1 }]);
        let mut mutants = Vec::new();
        assert_eq!(instrument("a.rs", "if a {\nif b {\n", &unfit, &mut mutants), "if a {\nif crate::mutant::condition(1, b) {\n");
    }
}
