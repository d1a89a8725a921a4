//! The list of rules: `Q-13  recovery from too long prompts`, and after the name what holds the rule beside tests and scenarios, as in
//! `[tidy: purity]`, `[ci: no-std]` or `[bench: run]`.

use crate::tidy::File;

pub(crate) const LIST: &str = "xtask/rules.txt";

/// One line of the list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rule {
    pub(crate) id: String,
    pub(crate) name: String,
    /// What the line says that holds the rule: `tidy: purity`.
    pub(crate) checks: Vec<String>,
    /// Where it stands in the list, 1-based.
    pub(crate) line: usize,
}

/// Rules that belong together, by the letters of their ids.
pub(crate) struct Group {
    pub(crate) title: &'static str,
    letters: &'static [char],
}

impl Group {
    pub(crate) const ALL: &[Group] = &[
        Group { title: "determinism", letters: &['D'] },
        Group { title: "wire", letters: &['N'] },
        Group { title: "session and query", letters: &['S', 'Q'] },
        Group { title: "executor and pipeline", letters: &['T'] },
        Group { title: "calls and retries", letters: &['R'] },
        Group { title: "compaction", letters: &['C'] },
        Group { title: "tools and permissions", letters: &['B', 'W', 'P'] },
        Group { title: "simulation", letters: &['M'] },
        Group { title: "files", letters: &['F'] },
        Group { title: "transcript", letters: &['X'] },
        Group { title: "recording", letters: &['K'] },
        Group { title: "exploring", letters: &['E', 'O'] },
        Group { title: "review", letters: &['V'] },
    ];

    pub(crate) fn has(&self, rule: &Rule) -> bool {
        rule.id.starts_with(self.letters)
    }
}

/// The rules of the list in their order.
pub(crate) fn read(list: &File) -> Vec<Rule> {
    let lines = list.text.lines().enumerate().filter(|(_, text)| !text.is_empty() && !text.starts_with('#'));
    lines.map(|(index, text)| rule(text, index + 1)).collect()
}

fn rule(text: &str, line: usize) -> Rule {
    let (words, tags) = text.split_once('[').unwrap_or((text, ""));
    let mut words = words.split_whitespace();
    let id = words.next().unwrap_or_default().to_string();
    let name = words.collect::<Vec<_>>().join(" ");
    let checks = tags.split(['[', ']']).map(str::trim).filter(|tag| !tag.is_empty()).map(str::to_string).collect();
    Rule { id, name, checks, line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_an_id_a_name_and_perhaps_checks() {
        let of = |checks: &[&str]| Rule {
            id: "D2".to_string(),
            name: "nothing unordered".to_string(),
            checks: checks.iter().map(|&check| check.to_string()).collect(),
            line: 7,
        };
        assert_eq!(rule("D2    nothing unordered", 7), of(&[]));
        assert_eq!(rule("D2    nothing unordered  [tidy: purity] [ci: no-std]", 7), of(&["tidy: purity", "ci: no-std"]));
    }
}
