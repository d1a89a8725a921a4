//! How rule ids are written: `Q-13` in scenarios and comments, `q_13_…` in the names of tests, `D2` without a dash.

use crate::tidy::SourceFile;
use crate::tidy::lexer;

/// `Q-13` and `q_13` and `Q13` are one: letter, number, suffix.
pub(crate) fn canonical(id: &str) -> String {
    id.chars().filter(|c| c.is_ascii_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect()
}

/// Every rule id that the file names, with its line.
pub(crate) fn in_file(file: &SourceFile) -> Vec<(String, usize)> {
    if file.path.ends_with(".rs") {
        let layers = file.layers();
        let mut ids = in_function_names(&layers.code);
        for (index, text) in layers.comments.lines().enumerate() {
            ids.extend(in_brackets(text).into_iter().map(|id| (id, index + 1)));
        }
        ids
    } else if file.path.ends_with(".md") {
        in_page(file)
    } else if file.path.starts_with("scenarios/") && file.path.ends_with(".toml") {
        in_scenario(file)
    } else {
        Vec::new()
    }
}

/// `q_13_drains_first` -> `Q-13`; `t_4_and_t_5_admission` -> `T-4`, `T-5`. A name without words after its ids names no rule.
pub(crate) fn in_name(name: &str) -> Vec<String> {
    let mut ids = Vec::new();
    let mut rest = name;
    while let Some((id, behind)) = leading_id(rest) {
        ids.push(id);
        match behind.strip_prefix("and_") {
            Some(more) => rest = more,
            None => break,
        }
    }
    ids
}

/// The quoted entries of the scenario's own `rules = […]`, which may run over several lines. Sections come after it, and one may have a key
/// of this name, too.
pub(crate) fn in_scenario(file: &SourceFile) -> Vec<(String, usize)> {
    let mut ids = Vec::new();
    let mut is_inside = false;
    for (index, text) in file.text.lines().enumerate() {
        if text.starts_with('[') {
            break;
        }
        let is_start = text.strip_prefix("rules").is_some_and(|rest| rest.trim_start().starts_with('='));
        is_inside |= is_start;
        if is_inside {
            ids.extend(text.split('"').skip(1).step_by(2).map(|id| (id.to_string(), index + 1)));
            is_inside = !text.contains(']');
        }
    }
    ids
}

fn in_function_names(code: &str) -> Vec<(String, usize)> {
    let tokens = lexer::tokens(code);
    let names = tokens.windows(2).filter(|pair| pair[0].text == "fn").map(|pair| &pair[1]);
    names.flat_map(|name| in_name(&name.text).into_iter().map(|id| (id, name.line))).collect()
}

/// `q_13_drains_first` -> `Q-13`, `drains_first`.
fn leading_id(name: &str) -> Option<(String, &str)> {
    let (letter, rest) = name.split_once('_')?;
    let (number, behind) = rest.split_once('_')?;
    let digits = number.strip_suffix(|c: char| c.is_ascii_lowercase()).unwrap_or(number);
    let is_id = letter.len() == 1 && letter.chars().all(|c| c.is_ascii_lowercase()) && is_number(digits);
    is_id.then(|| (format!("{}-{number}", letter.to_ascii_uppercase()), behind))
}

/// In a page of documentation, every word that looks like an id is one.
fn in_page(file: &SourceFile) -> Vec<(String, usize)> {
    let lines = file.text.lines().enumerate();
    lines.flat_map(|(index, text)| in_words(text).into_iter().map(move |id| (id, index + 1))).collect()
}

/// The ids inside round brackets: `(N-3)`, `(Q-13, D2)`.
fn in_brackets(text: &str) -> Vec<String> {
    text.split('(').skip(1).filter_map(|rest| rest.split_once(')')).flat_map(|(inside, _)| in_words(inside)).collect()
}

/// The ids among the words. `D2` without a dash counts for D alone, the only letter written so.
fn in_words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'));
    words.filter(|word| is_id(word)).map(str::to_string).collect()
}

/// Whether the word is written as an id: `Q-13`, `T-15a`, `D2`.
pub(crate) fn is_id(word: &str) -> bool {
    let Some(first) = word.chars().next().filter(char::is_ascii_uppercase) else { return false };
    let rest = &word[1..];
    let Some(number) = rest.strip_prefix('-').or((first == 'D').then_some(rest)) else { return false };
    is_number(number.strip_suffix(|c: char| c.is_ascii_lowercase()).unwrap_or(number))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_carry_several_ids() {
        assert_eq!(in_name("q_13_drains_first"), ["Q-13"]);
        assert_eq!(in_name("t_4_and_t_5_admission_table"), ["T-4", "T-5"]);
        assert_eq!(in_name("t_15a_and_others"), ["T-15a"]);
        assert_eq!(in_name("u8_to_str"), [""; 0]);
        assert_eq!(in_name("q_13"), [""; 0]);
    }
}
