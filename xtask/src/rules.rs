//! `cargo xtask rules`: where each rule of `docs/rules` stands, what holds it, and which have nothing.
//!
//! A rule is held by what fails when it is broken: a test named for it, a scenario that lists it, an oracle that carries its id, or a check
//! that its page names under its heading. A comment that mentions a rule holds nothing. The table cannot know whether a holder is any good;
//! it only makes sure that the claim stands in a place where it can be looked up.

mod holders;
pub(crate) mod ids;
pub(crate) mod pages;

use crate::tidy::Checkout;
use holders::{RuleHolder, RuleHolders};
use pages::ListedRule;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;

/// The rules of the engine: each must be held by something. The rest is listed and counted.
const MUST_BE_HELD: &[char] = &['S', 'Q', 'T', 'R', 'C'];

/// The part of the rules to print.
#[derive(Clone, Copy)]
enum RulesView<'a> {
    Everything,
    Missing,
    Rule(&'a str),
}

pub(crate) fn main(options: &[&str]) -> ExitCode {
    let show = match options {
        [] => RulesView::Everything,
        ["--missing"] => RulesView::Missing,
        ["--rule", id] => RulesView::Rule(id),
        _ => return crate::usage(&format!("`rules` does not know `{}`", options.join(" "))),
    };
    let checkout = match Checkout::read(&crate::root()) {
        Ok(checkout) => checkout,
        Err(error) => {
            eprintln!("xtask rules: {error}");
            return ExitCode::FAILURE;
        }
    };
    let report = RulesReport::from_checkout(&checkout);
    match show {
        RulesView::Everything => print!("{}", report.table(|_| true)),
        RulesView::Missing => print!("{}", report.table(|holders| holders.is_empty())),
        RulesView::Rule(id) => match report.in_full(id) {
            Some(text) => print!("{text}"),
            None => return crate::usage(&format!("there is no rule `{id}` in {}", pages::FOLDER)),
        },
    }
    if matches!(show, RulesView::Rule(_)) {
        return ExitCode::SUCCESS;
    }
    let problems = report.problems();
    problems.iter().for_each(|problem| println!("xtask rules: {problem}"));
    if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The rules of a checkout, each with what holds it.
struct RulesReport {
    rules: Vec<ListedRule>,
    holders: BTreeMap<String, Vec<RuleHolder>>,
}

impl RulesReport {
    fn from_checkout(checkout: &Checkout) -> RulesReport {
        let rules = pages::read_all(checkout);
        let mut holders = RuleHolders::from_checkout(checkout);
        for rule in &rules {
            rule.checks.iter().for_each(|check| holders.add_check(&rule.id, check));
        }
        RulesReport { rules, holders: holders.by_rule }
    }

    fn held_by(&self, rule: &ListedRule) -> &[RuleHolder] {
        self.holders.get(&ids::canonical(&rule.id)).map_or(&[], Vec::as_slice)
    }

    /// The problems: rules that must be held and are not.
    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let missing = self.missing();
        if !missing.is_empty() {
            problems.push(format!("{} rules of the engine are held by nothing: {}", missing.len(), missing.join(", ")));
        }
        problems
    }

    /// The rules that must be held and are not.
    fn missing(&self) -> Vec<&str> {
        let must = self.rules.iter().filter(|rule| rule.id.starts_with(MUST_BE_HELD));
        must.filter(|rule| self.held_by(rule).is_empty()).map(|rule| rule.id.as_str()).collect()
    }

    /// One line a rule under a heading for each page, of those whose holders are `wanted`.
    fn table(&self, wanted: impl Fn(&[RuleHolder]) -> bool) -> String {
        let mut text = String::new();
        for page in pages::PAGES {
            let path = pages::path(page);
            let rules: Vec<&ListedRule> = self.rules.iter().filter(|rule| rule.path == path).collect();
            let held = rules.iter().filter(|rule| !self.held_by(rule).is_empty()).count();
            let shown: Vec<&ListedRule> = rules.iter().copied().filter(|rule| wanted(self.held_by(rule))).collect();
            if shown.is_empty() {
                continue;
            }
            let _ = writeln!(text, "{page}: {held} of {} held", rules.len());
            for rule in shown {
                let _ = writeln!(text, "  {:<5} {:<46} {:<32} {}", rule.id, rule.name, rule.place(), summary(self.held_by(rule)));
            }
            text.push('\n');
        }
        text
    }

    /// The text of one rule, and everything that holds it, each with its place.
    fn in_full(&self, id: &str) -> Option<String> {
        let rule = self.rules.iter().find(|rule| ids::canonical(&rule.id) == ids::canonical(id))?;
        let mut text = format!("{} {}\n{}\n\n{}\n\n", rule.id, rule.name, rule.place(), rule.text);
        let _ = writeln!(text, "held by: {}", summary(self.held_by(rule)));
        for holder in self.held_by(rule) {
            let _ = writeln!(text, "  {holder}");
        }
        Some(text)
    }
}

/// `3 tests, 1 scenario`; a dash when there is nothing.
fn summary(holders: &[RuleHolder]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for kind in holders.iter().map(RuleHolder::kind) {
        match counts.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += 1,
            None => counts.push((kind, 1)),
        }
    }
    let words: Vec<String> = counts.iter().map(|(kind, count)| format!("{count} {kind}{}", if *count == 1 { "" } else { "s" })).collect();
    if words.is_empty() { String::from("-") } else { words.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUERY: &str = "\
### <a id=\"q-1\"></a>Q-1 every end is named\n\nEnds have names.\n
### <a id=\"t-4\"></a>T-4 admission of an entry\n\nOne at a time.\n
### <a id=\"d2\"></a>D2 nothing unordered gets out\n\nHeld by `tidy: purity`.\n\nNo map.\n
### <a id=\"t-31\"></a>T-31 texts for the model\n\nA table.\n";

    fn report(files: &[(&str, &str)]) -> RulesReport {
        let mut all = vec![("docs/rules/query.md", QUERY)];
        all.extend_from_slice(files);
        RulesReport::from_checkout(&Checkout::from_files(&all))
    }

    #[test]
    fn a_rule_of_the_engine_that_nothing_holds_is_missing() {
        let report = report(&[("src/engine/query.rs", "//! Ends have names (Q-1).\n/// Also here (Q-1).\nfn q_1_helper() {}")]);
        assert_eq!(report.missing(), ["Q-1", "T-4", "T-31"]);
        assert_eq!(report.problems(), ["3 rules of the engine are held by nothing: Q-1, T-4, T-31"]);
        assert!(report.table(|_| true).starts_with("query: 1 of 4 held\n  Q-1   every end is named "));
        assert!(report.table(|_| true).contains(" docs/rules/query.md#q-1          -\n"));
    }

    #[test]
    fn tests_scenarios_and_checks_hold() {
        let report = report(&[
            ("scenarios/query/a.toml", "rules = [\"Q-1\"]\n"),
            ("tests/a.rs", "#[test]\nfn q_1_and_t_4_all() {}\n#[test]\nfn t_4_and_t_31_more() {}"),
        ]);
        assert_eq!(report.missing(), [""; 0]);
        assert_eq!(
            report.in_full("q1").expect("is listed"),
            "Q-1 every end is named\ndocs/rules/query.md#q-1\n\nEnds have names.\n\nheld by: 1 scenario, 1 test\n  \
             scenario scenarios/query/a.toml\n  test tests/a.rs:2 q_1_and_t_4_all\n"
        );
        assert!(report.in_full("D-2").expect("is listed").contains("  check [tidy: purity]\n"));
        assert_eq!(report.problems(), [""; 0]);
        assert!(!report.table(<[RuleHolder]>::is_empty).contains("Q-1"), "it is held");
        assert!(report.in_full("Q-99").is_none());
    }

    #[test]
    fn the_pages_of_this_checkout_are_read() {
        let checkout = Checkout::read(&crate::root()).expect("the checkout is readable");
        let report = RulesReport::from_checkout(&checkout);
        assert!(report.rules.len() > 200, "the pages were read");
        assert!(report.rules.iter().all(|rule| !rule.text.is_empty()));
    }
}
