//! Links between pages lead somewhere: the file is there, and so is the heading.
//!
//! Looks at `[text](path#heading)` in every page (`.md`) with a path inside the checkout; addresses of the net are not asked for.
//! A heading's anchor is its `<a id="…">` where it has one, else its words as GitHub writes them: lower case, with dashes.

use super::checkout::SourceFile;
use super::{Checkout, TidyProblem};

pub(crate) fn check(checkout: &Checkout) -> Vec<TidyProblem> {
    checkout.files.iter().filter(|file| file.path.ends_with(".md")).flat_map(|file| check_page(checkout, file)).collect()
}

fn check_page(checkout: &Checkout, page: &SourceFile) -> Vec<TidyProblem> {
    let mut problems = Vec::new();
    for (line, target) in links(&page.text) {
        let (path, heading) = target.split_once('#').unwrap_or((target, ""));
        let path = if path.is_empty() { page.path.clone() } else { resolved(&page.path, path) };
        if !checkout.files.iter().any(|file| file.path == path || file.path.starts_with(&format!("{path}/"))) {
            problems.push(page.problem(line, format!("the link `{target}` leads to no file: correct its path")));
        } else if !heading.is_empty() && !checkout.file(&path).is_some_and(|file| anchors(&file.text).any(|anchor| anchor == heading)) {
            problems.push(page.problem(line, format!("the link `{target}` leads to no heading of {path}: correct what follows `#`")));
        }
    }
    problems
}

/// The targets of links inside the checkout, each with its line. Code blocks have none.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut links = Vec::new();
    let mut is_code = false;
    for (index, line) in text.lines().enumerate() {
        is_code ^= line.trim_start().starts_with("```");
        if !is_code {
            let targets = line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
            links.extend(targets.filter(|target| !target.contains("://")).map(|target| (index + 1, target)));
        }
    }
    links
}

/// `docs/rules/README.md`, `../glossary.md` -> `docs/glossary.md`.
fn resolved(page: &str, target: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.trim_end_matches('/').split('/') {
        match part {
            "." => (),
            ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

fn anchors(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter(|line| line.starts_with('#')).map(|line| {
        let words = line.trim_start_matches('#').trim();
        match words.strip_prefix("<a id=\"").and_then(|rest| rest.split_once('"')) {
            Some((anchor, _)) => anchor.to_string(),
            None => words.to_lowercase().replace(' ', "-").replace(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_'), ""),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(link: &str) -> Vec<String> {
        let page = format!("Text.\n\nSee [here]({link}) and [there](https://example.com/x).\n");
        let files = [
            ("docs/rules/a.md", page.as_str()),
            ("docs/rules/query.md", "# The query: loop\n\n### <a id=\"q-13\"></a>Q-13 one two three\n"),
            ("docs/glossary.md", ""),
            ("src/engine.rs", ""),
        ];
        check(&Checkout::from_files(&files)).into_iter().map(|problem| format!("{}: {}", problem.line, problem.message)).collect()
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        for link in
            ["query.md", "query.md#q-13", "query.md#the-query-loop", "../glossary.md", "../../src/engine.rs", "../rules/", "./query.md"]
        {
            assert_eq!(messages(link), [""; 0], "{link}");
        }
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        assert!(messages("queries.md")[0].starts_with("3: the link `queries.md` leads to no file"));
        assert!(messages("../query.md")[0].contains("no file"));
        assert!(messages("query.md#q-14")[0].contains("leads to no heading of docs/rules/query.md"));
        assert!(messages("#here")[0].contains("leads to no heading of docs/rules/a.md"));
    }

    #[test]
    fn code_has_no_links() {
        assert_eq!(links("```\n[a](b)\n```\n[c](d)\n"), [(4, "d")]);
    }
}
