//! The rules as `docs/rules` has them: a page for each subject, a heading for each rule.
//!
//! ```text
//! ### <a id="d2"></a>D2 nothing unordered reaches an output      anchor, id, name
//!
//! Held by `tidy: purity`, `ci: no-std`.                     checks that hold it beside tests and scenarios; most have none
//!
//! No iteration over an unordered map …                           the rule, up to the next heading of this level or above
//! ```

use crate::tidy::{Checkout, SourceFile};

pub(crate) const FOLDER: &str = "docs/rules/";

/// The pages, in the order in which they are read and shown.
pub(crate) const PAGES: &[&str] = &[
    "determinism",
    "wire",
    "query",
    "executor",
    "retry",
    "compaction",
    "tools",
    "simulation",
    "files",
    "transcript",
    "record",
    "explore",
    "review",
    "museum",
    "foreign",
];

const HELD_BY: &str = "Held by `";

/// One rule of a page.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ListedRule {
    pub(crate) id: String,
    pub(crate) name: String,
    /// The anchor of its heading.
    pub(crate) anchor: String,
    /// The checks that hold it, as its page names them: `tidy: purity`.
    pub(crate) checks: Vec<String>,
    /// The text of the rule, without blank lines around it.
    pub(crate) text: String,
    pub(crate) path: String,
    /// Where its heading stands, 1-based.
    pub(crate) line: usize,
}

impl ListedRule {
    /// `docs/rules/query.md#q-13`.
    pub(crate) fn place(&self) -> String {
        format!("{}#{}", self.path, self.anchor)
    }
}

/// `docs/rules/query.md`.
pub(crate) fn path(page: &str) -> String {
    format!("{FOLDER}{page}.md")
}

/// The rules of all pages that there are, in their order.
pub(crate) fn read_all(checkout: &Checkout) -> Vec<ListedRule> {
    PAGES.iter().filter_map(|page| checkout.file(&path(page))).flat_map(read).collect()
}

/// The rules of one page. A heading that should be a rule's and is none becomes a rule without an id.
pub(crate) fn read(page: &SourceFile) -> Vec<ListedRule> {
    let mut rules: Vec<ListedRule> = Vec::new();
    let mut is_inside = false;
    for (index, line) in page.text.lines().enumerate() {
        if let Some(heading) = line.strip_prefix("### ") {
            rules.push(headed(heading, &page.path, index + 1));
            is_inside = true;
        } else if line.starts_with("# ") || line.starts_with("## ") {
            is_inside = false;
        } else if let (true, Some(rule)) = (is_inside, rules.last_mut()) {
            match line.strip_prefix(HELD_BY) {
                Some(checks) => rule.checks.extend(checks.split('`').step_by(2).filter(|check| *check != ".").map(str::to_string)),
                None => rule.text.extend([line, "\n"]),
            }
        }
    }
    rules.iter_mut().for_each(|rule| rule.text = rule.text.trim().to_string());
    rules
}

/// `<a id="q-13"></a>Q-13 recovery from too long prompts`.
fn headed(heading: &str, path: &str, line: usize) -> ListedRule {
    let (anchor, title) = heading.strip_prefix("<a id=\"").and_then(|rest| rest.split_once("\"></a>")).unwrap_or(("", heading));
    let (id, name) = title.split_once(' ').unwrap_or((title, ""));
    ListedRule {
        id: id.to_string(),
        name: name.to_string(),
        anchor: anchor.to_string(),
        checks: Vec::new(),
        text: String::new(),
        path: path.to_string(),
        line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# Query

An introduction.

### <a id=\"d2\"></a>D2 nothing unordered gets out

Held by `tidy: purity`, `ci: no-std`.

No map.

| a | b |

## More

Not of a rule.

### <a id=\"q-13\"></a>Q-13 one two three

Last.
";

    #[test]
    fn a_rule_has_its_place_its_checks_and_its_text() {
        let rules = read(&SourceFile { path: path("query"), text: PAGE.to_string() });
        let shown: Vec<_> = rules.iter().map(|rule| (rule.id.as_str(), rule.name.as_str(), rule.text.as_str(), rule.line)).collect();
        assert_eq!(shown, [("D2", "nothing unordered gets out", "No map.\n\n| a | b |", 5), ("Q-13", "one two three", "Last.", 17)]);
        assert_eq!(rules[0].checks, ["tidy: purity", "ci: no-std"]);
        assert_eq!(rules[1].checks, [""; 0]);
        assert_eq!(rules[1].place(), "docs/rules/query.md#q-13");
    }
}
