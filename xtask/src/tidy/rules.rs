//! Rule ids point somewhere: each that a test's name, a scenario, a comment or a page of documentation mentions is a rule of `docs/rules`.
//!
//! `fn q_13_drains_first` names Q-13, `fn t_15a_grace` T-15a, `fn d_3_keyed` D3; scenarios say `rules = ["Q-13"]`; comments put the id in
//! round brackets at the end of what it explains; pages write it anywhere. The pages of rules are checked too: ids are unique, a letter
//! belongs to one page, anchors are the ids in lower case, names short, and what a page says that holds a rule exists.

use super::{Checkout, TidyProblem};
use crate::rules::ids;
use crate::rules::pages::{self, FOLDER, ListedRule, PAGES};
use std::collections::BTreeMap;

const BENCHES: &str = "bench/src/bars.rs";
const CONTENTS: &str = "README";
const NAME_WORDS_MIN: usize = 3;
const NAME_WORDS_MAX: usize = 6;

pub(crate) fn check(checkout: &Checkout) -> Vec<TidyProblem> {
    let rules = pages::read_all(checkout);
    let mut problems = check_pages(checkout);
    problems.extend(check_rules(&rules, checkout));
    problems.extend(check_rooms(checkout));
    let known: Vec<String> = rules.iter().map(|rule| ids::canonical(&rule.id)).collect();
    for file in &checkout.files {
        for (id, line) in ids::in_file(file) {
            if !known.contains(&ids::canonical(&id)) {
                problems.push(file.problem(line, format!("there is no rule {id}: correct the id, or add the rule to a page of {FOLDER}")));
            }
        }
    }
    problems
}

/// The pages are those of the table, and the page of contents leads to each.
fn check_pages(checkout: &Checkout) -> Vec<TidyProblem> {
    let missing =
        |path: String| TidyProblem { path, line: 1, message: "is missing: every rule id is checked against the pages".to_string() };
    let mut problems = Vec::new();
    for page in PAGES.iter().chain([&CONTENTS]).filter(|page| checkout.file(&pages::path(page)).is_none()) {
        problems.push(missing(pages::path(page)));
    }
    for file in &checkout.files {
        let Some(page) = file.path.strip_prefix(FOLDER).map(|name| name.trim_end_matches(".md")) else { continue };
        if page != CONTENTS && !PAGES.contains(&page) {
            problems.push(file.problem(1, "is not in the table of xtask/src/rules/pages.rs: add its name"));
        }
    }
    if let Some(contents) = checkout.file(&pages::path(CONTENTS)) {
        for page in PAGES.iter().filter(|page| !contents.text.contains(&format!("({page}.md)"))) {
            problems.push(contents.problem(1, format!("does not lead to {page}.md: add a line to its table")));
        }
    }
    problems
}

/// The mistakes in the headings of the rules.
fn check_rules(rules: &[ListedRule], checkout: &Checkout) -> Vec<TidyProblem> {
    let mut problems = Vec::new();
    let mut places: BTreeMap<String, String> = BTreeMap::new();
    let mut pages_by_letter: BTreeMap<char, &str> = BTreeMap::new();
    for rule in rules {
        let id = &rule.id;
        let mut problem = |message: String| problems.push(TidyProblem { path: rule.path.clone(), line: rule.line, message });
        if !ids::is_id(id) {
            problem(format!("`{id}` is not a rule id: a heading of this level is `### <a id=\"q-13\"></a>Q-13 a name of some words`"));
            continue;
        }
        if let Some(earlier) = places.insert(ids::canonical(id), rule.place()) {
            problem(format!("{id} is already at {earlier}"));
        }
        let letter = id.chars().next().unwrap_or_default();
        let page = *pages_by_letter.entry(letter).or_insert(&rule.path);
        if page != rule.path {
            problem(format!("the rules {letter} are in {page}: move {id} there"));
        }
        if rule.anchor != id.to_lowercase() {
            problem(format!("{id} has the anchor `{}`: write `{}`", rule.anchor, id.to_lowercase()));
        }
        if !(NAME_WORDS_MIN..=NAME_WORDS_MAX).contains(&rule.name.split(' ').count()) {
            problem(format!("{id} needs a name of {NAME_WORDS_MIN} to {NAME_WORDS_MAX} words"));
        }
        if rule.text.is_empty() {
            problem(format!("{id} has no text: write the requirement"));
        }
        for check in rule.checks.iter().filter(|check| !is_check(check, checkout)) {
            problem(format!("there is no check `{check}`: see the commands' `--list`"));
        }
    }
    problems
}

/// Each room says in its header on which page its rules are, and no header names a page that there is not.
fn check_rooms(checkout: &Checkout) -> Vec<TidyProblem> {
    let mut problems = Vec::new();
    for room in checkout.rooms() {
        let Some(file) = checkout.file(&format!("src/{room}.rs")) else { continue };
        let mut is_named = false;
        for (index, line) in file.text.lines().enumerate().take_while(|(_, line)| line.starts_with("//!")) {
            for page in line.split(FOLDER).skip(1).filter_map(|rest| rest.split_once(".md")).map(|(page, _)| page) {
                is_named = true;
                if !PAGES.contains(&page) {
                    problems.push(file.problem(index + 1, format!("there is no page {FOLDER}{page}.md: see its README.md")));
                }
            }
        }
        if !is_named {
            problems.push(file.problem(1, format!("the room's header does not name its rules: name a page of {FOLDER}")));
        }
    }
    problems
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

    const RULES: &[&str] = &["D2", "N-3", "Q-13", "T-15a"];

    fn heading(id: &str) -> String {
        format!("### <a id=\"{}\"></a>{id} one two three\n\nText.\n", id.to_lowercase())
    }

    /// A checkout with all pages, rules on the first of them, and these files, which may take a page's place.
    fn checkout(rules: &str, files: &[(&str, &str)]) -> Checkout {
        let contents: String = PAGES.iter().map(|page| format!("({page}.md)\n")).collect();
        let mut all: BTreeMap<String, String> = PAGES.iter().map(|page| (pages::path(page), String::new())).collect();
        all.insert(pages::path(CONTENTS), contents);
        all.insert(pages::path(PAGES[0]), rules.to_string());
        all.extend(files.iter().map(|&(path, text)| (path.to_string(), text.to_string())));
        Checkout::from_files(&all.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>())
    }

    fn problems(path: &str, text: &str) -> Vec<(usize, String)> {
        let rules: String = RULES.iter().map(|id| heading(id)).collect();
        check(&checkout(&rules, &[(path, text)])).into_iter().map(|problem| (problem.line, problem.message)).collect()
    }

    #[test]
    fn unknown_ids_are_found() {
        assert!(problems("tests/a.rs", "#[test]\nfn q_99_x() {}")[0].1.contains("no rule Q-99"));
        assert!(problems("src/wire/a.rs", "//! Kept (N-33).")[0].1.contains("no rule N-33"));
        assert!(problems("src/wire/a.rs", "/// Kept (see Q-13, D7).")[0].1.contains("no rule D7"));
        assert!(problems("scenarios/a.toml", "title = \"\"\nrules = [\n  \"Q-13\",\n  \"T-15\",\n]\n")[0].1.contains("no rule T-15"));
        assert!(problems("docs/a.md", "As Q-13 says,\nbut for T-15b's grace.\n")[0].1.contains("no rule T-15b"));
        assert_eq!(problems("tests/a.rs", "#[test]\nfn q_99_x() {}")[0].0, 2);
    }

    #[test]
    fn known_ids_and_other_words_pass() {
        assert_eq!(
            problems("tests/a.rs", "fn q_13_x() {} fn t_15a_y() {} fn d_2_z() {} fn a_test() {} fn x_y_z() {} fn u8_to_str() {}"),
            []
        );
        assert_eq!(problems("src/wire/a.rs", "/// Kept (N-3), (UTF-8, SHA-256, A-Z) and (T-15a, D2); Q-99 stands free."), []);
        assert_eq!(problems("scenarios/a.toml", "rules = [\"Q-13\"]\nother = [\"Q-99\"]\n"), []);
        assert_eq!(problems("scenarios/a.toml", "[[permission]]\nrules = [\"Bash(git *)\"]\n"), []);
        assert_eq!(problems("scenarios/a.toml", "rules = [\n\"Q-13\"\n]\n\n[[permission]]\nrules = [\"Bash\"]\n"), []);
        assert_eq!(problems("src/wire/a.rs", "const A: &str = \"(Q-99)\";"), []);
        assert_eq!(problems("docs/a.md", "Q-13's second point, N-3/D2, UTF-8 and SHA-256.\n"), []);
    }

    #[test]
    fn bad_headings_are_found() {
        let message = |text: &str| check(&checkout(text, &[])).remove(0).message;
        let named = |rest: &str| format!("### <a id=\"q-1\"></a>Q-1 {rest}\n");
        assert!(message(&heading("Q-1").repeat(2)).contains("Q-1 is already at docs/rules/determinism.md#q-1"));
        assert!(message("### Withholding\n\nText.\n").contains("`Withholding` is not a rule id"));
        assert!(message("### <a id=\"q1\"></a>Q-1 one two three\n\nText.\n").contains("has the anchor `q1`: write `q-1`"));
        assert!(message(&named("one two\n\nText.")).contains("3 to 6 words"));
        assert!(message(&named("one two three")).contains("has no text"));
        assert!(message(&named("one two three\n\nHeld by `tidy: luck`.\n\nText.")).contains("no check `tidy: luck`"));
        assert!(message(&named("one two three\n\nHeld by `hope`.\n\nText.")).contains("no check `hope`"));
        assert!(message(&named("one two three\n\nHeld by `bench: run`.\n\nText.")).contains("no check `bench: run`"));
        let second = check(&checkout(&heading("Q-1"), &[("docs/rules/wire.md", &heading("Q-2"))]));
        assert!(second[0].message.contains("the rules Q are in docs/rules/determinism.md: move Q-2 there"));
    }

    #[test]
    fn the_table_of_pages_is_true() {
        assert_eq!(check(&checkout("", &[])), []);
        assert!(check(&checkout("", &[("docs/rules/stray.md", "")]))[0].message.contains("is not in the table"));
        assert!(check(&checkout("", &[("docs/rules/README.md", "")]))[0].message.contains("does not lead to determinism.md"));
        assert_eq!(check(&Checkout::from_files(&[])).len(), PAGES.len() + 1);
    }

    #[test]
    fn a_room_names_its_page() {
        let room = |text: &str| check(&checkout("", &[("src/wire.rs", text)]));
        assert_eq!(room("//! A room.\n//!\n//! Its rules: `docs/rules/wire.md` (N).\n"), []);
        assert!(room("//! A room.\nuse a;\n//! `docs/rules/wire.md`\n")[0].message.contains("does not name its rules"));
        assert!(room("//! `docs/rules/wires.md`\n")[0].message.contains("no page docs/rules/wires.md"));
    }

    #[test]
    fn a_rule_may_name_the_checks_that_hold_it() {
        let rule = heading("Q-1") + "\nHeld by `tidy: rules`, `ci: no-std`, `bench: run`.\n";
        assert_eq!(check(&checkout(&rule, &[(BENCHES, "Bench { name: \"run\" }")])), []);
    }
}
