//! Rule ids point somewhere: each that a test's name, a scenario or a comment mentions is in `xtask/rules.txt`.
//!
//! `fn q_13_drains_first` names Q-13, `fn t_15a_grace` T-15a, `fn d_3_keyed` D3; scenarios say `rules = ["Q-13"]`; comments put the id in
//! round brackets at the end of what it explains.

use super::checkout::File;
use super::lexer;
use super::{Checkout, Problem};

const LIST: &str = "xtask/rules.txt";
const NAME_WORDS_MIN: usize = 3;
const NAME_WORDS_MAX: usize = 6;

pub(crate) fn check(checkout: &Checkout) -> Vec<Problem> {
    let Some(list) = checkout.file(LIST) else {
        return vec![Problem { path: LIST.to_string(), line: 1, message: "is missing: every rule id is checked against it".to_string() }];
    };
    let (known, mut problems) = read_list(list);
    for file in &checkout.files {
        for (id, line) in ids_in(file) {
            if !known.contains(&canonical(&id)) {
                problems.push(file.problem(line, format!("there is no rule {id}: correct the id, or add the rule to {LIST}")));
            }
        }
    }
    problems
}

/// The ids of the list in canonical form, and what is wrong with the list itself.
fn read_list(list: &File) -> (Vec<String>, Vec<Problem>) {
    let mut known = Vec::new();
    let mut problems = Vec::new();
    for (index, text) in list.text.lines().enumerate().filter(|(_, text)| !text.is_empty() && !text.starts_with('#')) {
        let mut words = text.split_whitespace();
        let id = words.next().unwrap_or_default();
        if known.contains(&canonical(id)) {
            problems.push(list.problem(index + 1, format!("{id} is listed twice")));
        }
        if !(NAME_WORDS_MIN..=NAME_WORDS_MAX).contains(&words.count()) {
            problems.push(list.problem(index + 1, format!("{id} needs a name of {NAME_WORDS_MIN} to {NAME_WORDS_MAX} words")));
        }
        known.push(canonical(id));
    }
    (known, problems)
}

/// `Q-13` and `q_13` and `Q13` are one: letter, number, suffix.
fn canonical(id: &str) -> String {
    id.chars().filter(|c| c.is_ascii_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect()
}

/// Every rule id that the file names, with its line.
fn ids_in(file: &File) -> Vec<(String, usize)> {
    if file.path.ends_with(".rs") {
        let layers = file.layers();
        let mut ids = test_name_ids(&layers.code);
        for (index, text) in layers.comments.lines().enumerate() {
            ids.extend(bracketed_ids(text).into_iter().map(|id| (id, index + 1)));
        }
        ids
    } else if file.path.starts_with("scenarios/") && file.path.ends_with(".toml") {
        scenario_ids(file)
    } else {
        Vec::new()
    }
}

/// `fn q_13_drains_first` -> `Q-13`. A function's name is a letter, digits with an optional letter, and more words.
fn test_name_ids(code: &str) -> Vec<(String, usize)> {
    let tokens = lexer::tokens(code);
    let names = tokens.windows(2).filter(|pair| pair[0].text == "fn");
    names.filter_map(|pair| Some((test_name_id(&pair[1].text)?, pair[1].line))).collect()
}

fn test_name_id(name: &str) -> Option<String> {
    let (letter, rest) = name.split_once('_')?;
    let (number, _) = rest.split_once('_')?;
    let digits = number.strip_suffix(|c: char| c.is_ascii_lowercase()).unwrap_or(number);
    let is_id = letter.len() == 1 && letter.chars().all(|c| c.is_ascii_lowercase()) && is_number(digits);
    is_id.then(|| format!("{}-{number}", letter.to_ascii_uppercase()))
}

/// The ids inside round brackets: `(N-3)`, `(Q-13, D2)`. `D2` without a dash counts for D alone, the only letter written so.
fn bracketed_ids(text: &str) -> Vec<String> {
    let mut ids = Vec::new();
    for inside in text.split('(').skip(1).filter_map(|rest| rest.split_once(')')).map(|(inside, _)| inside) {
        let words = inside.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'));
        ids.extend(words.filter(|word| is_id(word)).map(str::to_string));
    }
    ids
}

fn is_id(word: &str) -> bool {
    let Some(first) = word.chars().next().filter(char::is_ascii_uppercase) else { return false };
    let rest = &word[1..];
    let Some(number) = rest.strip_prefix('-').or((first == 'D').then_some(rest)) else { return false };
    is_number(number.strip_suffix(|c: char| c.is_ascii_lowercase()).unwrap_or(number))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

/// The quoted entries of the scenario's `rules = […]`, which may run over several lines. In the tables behind it the word means other things.
fn scenario_ids(file: &File) -> Vec<(String, usize)> {
    let mut ids = Vec::new();
    let mut is_inside = false;
    for (index, text) in file.text.lines().enumerate() {
        let is_start = text.strip_prefix("rules").is_some_and(|rest| rest.trim_start().starts_with('='));
        if text.starts_with('[') && !is_inside {
            break;
        }
        is_inside |= is_start;
        if is_inside {
            ids.extend(text.split('"').skip(1).step_by(2).map(|id| (id.to_string(), index + 1)));
            is_inside = !text.contains(']');
        }
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = "# ids\nD2  one two three\nN-3  one two three\nQ-13  one two three\nT-15a  one two three\n";

    fn problems(path: &str, text: &str) -> Vec<(usize, String)> {
        check(&Checkout::of(&[(LIST, RULES), (path, text)])).into_iter().map(|problem| (problem.line, problem.message)).collect()
    }

    #[test]
    fn unknown_ids_are_found() {
        assert!(problems("tests/a.rs", "#[test]\nfn q_99_x() {}")[0].1.contains("no rule Q-99"));
        assert!(problems("src/wire.rs", "//! Kept (N-33).")[0].1.contains("no rule N-33"));
        assert!(problems("src/wire.rs", "/// Kept (see Q-13, D7).")[0].1.contains("no rule D7"));
        assert!(problems("scenarios/a.toml", "title = \"\"\nrules = [\n  \"Q-13\",\n  \"T-15\",\n]\n")[0].1.contains("no rule T-15"));
        assert_eq!(problems("tests/a.rs", "#[test]\nfn q_99_x() {}")[0].0, 2);
    }

    #[test]
    fn known_ids_and_other_words_pass() {
        assert_eq!(
            problems("tests/a.rs", "fn q_13_x() {} fn t_15a_y() {} fn d_2_z() {} fn a_test() {} fn x_y_z() {} fn u8_to_str() {}"),
            []
        );
        assert_eq!(problems("src/wire.rs", "/// Kept (N-3), (UTF-8, SHA-256, A-Z) and (T-15a, D2); Q-99 stands free."), []);
        assert_eq!(problems("scenarios/a.toml", "rules = [\"Q-13\"]\nother = [\"Q-99\"]\n"), []);
        assert_eq!(problems("scenarios/a.toml", "rules = [\n\"Q-13\"\n]\n\n[[permission]]\nrules = [\"Bash\"]\n"), []);
        assert_eq!(problems("src/wire.rs", "const A: &str = \"(Q-99)\";"), []);
    }

    #[test]
    fn a_bad_list_is_found() {
        let message = |text| check(&Checkout::of(&[(LIST, text)])).remove(0).message;
        assert!(message("Q-1 one two three\nQ-1 one two three\n").contains("twice"));
        assert!(message("Q-1 one two\n").contains("3 to 6 words"));
        assert!(check(&Checkout::of(&[])).remove(0).message.contains("missing"));
    }
}
