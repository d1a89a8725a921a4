//! The holders of a rule: tests, scenarios and oracles, read from the checkout's text; checks, named in the list of rules.

use super::ids;
use crate::tidy::lexer::{self, Token};
use crate::tidy::{Checkout, SourceFile};
use std::collections::BTreeMap;
use std::fmt;

/// Something that fails when a rule is broken.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RuleHolder {
    Test { path: String, line: usize, name: String },
    Scenario { path: String },
    Oracle { path: String },
    Check { name: String },
}

/// The holders of each rule, by its id in canonical form.
#[derive(Default)]
pub(crate) struct RuleHolders {
    pub(crate) by_rule: BTreeMap<String, Vec<RuleHolder>>,
}

impl RuleHolder {
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            RuleHolder::Test { .. } => "test",
            RuleHolder::Scenario { .. } => "scenario",
            RuleHolder::Oracle { .. } => "oracle",
            RuleHolder::Check { .. } => "check",
        }
    }
}

impl fmt::Display for RuleHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RuleHolder::Test { path, line, name } => write!(f, "test {path}:{line} {name}"),
            RuleHolder::Scenario { path } => write!(f, "scenario {path}"),
            RuleHolder::Oracle { path } => write!(f, "oracle {path}"),
            RuleHolder::Check { name } => write!(f, "check [{name}]"),
        }
    }
}

impl RuleHolders {
    pub(crate) fn from_checkout(checkout: &Checkout) -> RuleHolders {
        let mut holders = RuleHolders::default();
        for file in &checkout.files {
            if is_run_scenario(&file.path) {
                for (id, _) in ids::in_scenario(file) {
                    holders.add(&id, RuleHolder::Scenario { path: file.path.clone() });
                }
            }
            if file.path.ends_with(".rs") {
                holders.add_rust(file);
            }
        }
        holders
    }

    pub(crate) fn add_check(&mut self, id: &str, name: &str) {
        self.add(id, RuleHolder::Check { name: name.to_string() });
    }

    fn add(&mut self, id: &str, holder: RuleHolder) {
        let holders = self.by_rule.entry(ids::canonical(id)).or_default();
        if !holders.contains(&holder) {
            holders.push(holder);
        }
    }

    fn add_rust(&mut self, file: &SourceFile) {
        let tokens = lexer::tokens(&file.layers().code);
        for name in tests(&tokens) {
            for id in ids::in_name(&name.text) {
                self.add(&id, RuleHolder::Test { path: file.path.clone(), line: name.line, name: name.text.clone() });
            }
        }
        if file.path.starts_with("src/oracle/") {
            oracles(file, &tokens).iter().for_each(|id| self.add(id, RuleHolder::Oracle { path: file.path.clone() }));
        }
    }
}

/// A file whose name begins with `_` is a base for others and is not run by itself.
fn is_run_scenario(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    path.starts_with("scenarios/") && name.ends_with(".toml") && !name.starts_with('_')
}

/// The names of the functions that the test harness runs: those with an attribute `test` and none that is `ignore`.
fn tests(tokens: &[Token]) -> Vec<&Token> {
    let mut names = Vec::new();
    let mut attributes: Vec<&str> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at].text.as_str() {
            "#" if tokens.get(at + 1).is_some_and(|next| next.text == "[") => {
                let end = lexer::behind_closing(tokens, at + 1);
                attributes.push(attribute_name(&tokens[at + 2..end]));
                at = end;
                continue;
            }
            "fn" => {
                if attributes.contains(&"test") && !attributes.contains(&"ignore") {
                    names.extend(tokens.get(at + 1));
                }
                attributes.clear();
            }
            "{" | "}" | ";" => attributes.clear(),
            _ => (),
        }
        at += 1;
    }
    names
}

/// The last word of the attribute's path: `tokio::test(…)` is `test`; `cfg_attr(miri, ignore)` is what it may become.
fn attribute_name(inside: &[Token]) -> &str {
    if inside.first().is_some_and(|token| token.text == "cfg_attr") {
        return if inside.iter().any(|token| token.text == "ignore") { "ignore" } else { "cfg_attr" };
    }
    let path_end = inside.iter().position(|token| ["(", "=", "]"].contains(&token.text.as_str())).unwrap_or(inside.len());
    inside[..path_end].last().map_or("", |token| token.text.as_str())
}

/// The ids in `const ORACLE: &str = "O-14";`. The lexer blanks what strings say, so they are read from the line.
fn oracles(file: &SourceFile, tokens: &[Token]) -> Vec<String> {
    let places = tokens.windows(2).filter(|pair| pair[0].text == "const" && pair[1].text == "ORACLE");
    let lines = places.filter_map(|pair| file.text.lines().nth(pair[1].line - 1));
    lines.filter_map(|line| line.split('"').nth(1)).map(str::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(path: &str, text: &str) -> Vec<String> {
        RuleHolders::from_checkout(&Checkout::from_files(&[(path, text)])).by_rule.into_keys().collect()
    }

    #[test]
    fn only_what_runs_holds() {
        assert_eq!(held("src/a.rs", "#[test] fn q_1_x() {}"), ["q1"]);
        assert_eq!(held("src/a.rs", "#[tokio::test(flavor = \"x\")] async fn q_1_x() {}"), ["q1"]);
        assert_eq!(held("src/a.rs", "#[test] #[should_panic] fn q_1_x() {}"), ["q1"]);
        assert_eq!(held("src/a.rs", "proptest! { #[test] fn q_1_x(a in 0..3) {} }"), ["q1"]);
        assert_eq!(held("src/a.rs", "#[test] #[ignore] fn q_1_x() {}"), [""; 0]);
        assert_eq!(held("src/a.rs", "#[ignore = \"slow\"] #[test] fn q_1_x() {}"), [""; 0]);
        assert_eq!(held("src/a.rs", "#[test] #[cfg_attr(miri, ignore)] fn q_1_x() {}"), [""; 0]);
        assert_eq!(held("src/a.rs", "#[cfg(test)] mod tests { fn q_1_x() {} }"), [""; 0]);
        assert_eq!(held("src/a.rs", "#[test] const A: u8 = 1; fn q_1_x() {}"), [""; 0]);
        assert_eq!(held("src/a.rs", "// #[test] fn q_1_x() {}\n/// (Q-1)\nfn other() {}"), [""; 0]);
    }

    #[test]
    fn scenarios_hold_and_their_bases_do_not() {
        assert_eq!(held("scenarios/a/b.toml", "rules = [\n  \"Q-1\",\n  \"T-15a\",\n]\n"), ["q1", "t15a"]);
        assert_eq!(held("scenarios/a/_b.toml", "rules = [\"Q-1\"]\n"), [""; 0]);
        assert_eq!(held("snapshots/a/b.toml", "rules = [\"Q-1\"]\n"), [""; 0]);
    }

    #[test]
    fn oracles_carry_their_id() {
        assert_eq!(held("src/oracle/a.rs", "pub(super) const ORACLE: &str = \"O-14\";"), ["o14"]);
        assert_eq!(held("src/oracle/a.rs", "// const ORACLE: &str = \"O-14\";"), [""; 0]);
        assert_eq!(held("src/engine/a.rs", "const ORACLE: &str = \"O-14\";"), [""; 0]);
    }
}
