//! Rule ids point somewhere: each that a test's name, a scenario or a comment mentions is in `xtask/rules.txt`.
//!
//! `fn q_13_drains_first` names Q-13, `fn t_15a_grace` T-15a, `fn d_3_keyed` D3; scenarios say `rules = ["Q-13"]`; comments put the id in
//! round brackets at the end of what it explains. The list itself is checked too: ids are unique, names short, and what a line says that
//! holds its rule exists.

use super::checkout::File;
use super::{Checkout, Problem};
use crate::rules::ids;
use crate::rules::list::{self, LIST};

const BENCHES: &str = "xtask/src/bench/bars.rs";
const NAME_WORDS_MIN: usize = 3;
const NAME_WORDS_MAX: usize = 6;

pub(crate) fn check(checkout: &Checkout) -> Vec<Problem> {
    let Some(list) = checkout.file(LIST) else {
        return vec![Problem { path: LIST.to_string(), line: 1, message: "is missing: every rule id is checked against it".to_string() }];
    };
    let (known, mut problems) = read_list(list, checkout);
    for file in &checkout.files {
        for (id, line) in ids::in_file(file) {
            if !known.contains(&ids::canonical(&id)) {
                problems.push(file.problem(line, format!("there is no rule {id}: correct the id, or add the rule to {LIST}")));
            }
        }
    }
    problems
}

/// The ids of the list in canonical form, and what is wrong with the list itself.
fn read_list(list: &File, checkout: &Checkout) -> (Vec<String>, Vec<Problem>) {
    let mut known = Vec::new();
    let mut problems = Vec::new();
    for rule in list::read(list) {
        let id = &rule.id;
        if known.contains(&ids::canonical(id)) {
            problems.push(list.problem(rule.line, format!("{id} is listed twice")));
        }
        if !(NAME_WORDS_MIN..=NAME_WORDS_MAX).contains(&rule.name.split(' ').count()) {
            problems.push(list.problem(rule.line, format!("{id} needs a name of {NAME_WORDS_MIN} to {NAME_WORDS_MAX} words")));
        }
        for check in rule.checks.iter().filter(|check| !is_check(check, checkout)) {
            problems.push(list.problem(rule.line, format!("there is no check `{check}`: see the commands' `--list`")));
        }
        known.push(ids::canonical(id));
    }
    (known, problems)
}

/// Whether `tidy: purity`, `ci: no-std` or `bench: run` exists. Benches are not built into this program, so their table is read as text.
fn is_check(check: &str, checkout: &Checkout) -> bool {
    match check.split_once(": ") {
        Some(("bench", name)) => checkout.file(BENCHES).is_some_and(|file| file.text.contains(&format!("name: \"{name}\""))),
        Some((kind, name)) => super::is_known(kind, name),
        None => false,
    }
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
        assert_eq!(problems("scenarios/a.toml", "[[permission]]\nrules = [\"Bash(git *)\"]\n"), []);
        assert_eq!(problems("scenarios/a.toml", "rules = [\n\"Q-13\"\n]\n\n[[permission]]\nrules = [\"Bash\"]\n"), []);
        assert_eq!(problems("src/wire.rs", "const A: &str = \"(Q-99)\";"), []);
    }

    #[test]
    fn a_bad_list_is_found() {
        let message = |text| check(&Checkout::of(&[(LIST, text)])).remove(0).message;
        assert!(message("Q-1 one two three\nQ-1 one two three\n").contains("twice"));
        assert!(message("Q-1 one two\n").contains("3 to 6 words"));
        assert!(message("Q-1 one two three [tidy: luck]\n").contains("no check `tidy: luck`"));
        assert!(message("Q-1 one two three [hope]\n").contains("no check `hope`"));
        assert!(message("Q-1 one two three [bench: run]\n").contains("no check `bench: run`"));
        assert!(check(&Checkout::of(&[])).remove(0).message.contains("missing"));
    }

    #[test]
    fn a_rule_may_name_the_checks_that_hold_it() {
        let files = [(LIST, "Q-1 one two three  [tidy: rules] [ci: no-std] [bench: run]\n"), (BENCHES, "Bench { name: \"run\" }")];
        assert_eq!(check(&Checkout::of(&files)), []);
    }
}
