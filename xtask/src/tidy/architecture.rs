//! ARCHITECTURE.md tells the truth: its code map lists the rooms there are, and each invariant names the check that holds it.
//!
//! A room's entry in the code map is a heading such as ``### `engine` ``; one that is planned says so: ``### `live` (to come)``.
//! An invariant is a paragraph that begins `Architecture invariant:` and holds a tag: `[tidy: rooms]` or, for a step of
//! `cargo xtask ci`, `[ci: no-std]`.

use super::checkout::SourceFile;
use super::{Checkout, TidyProblem, is_known};

const PAGE: &str = "ARCHITECTURE.md";
const INVARIANT: &str = "Architecture invariant:";
const PLANNED: &str = "(to come)";

pub(crate) fn check(checkout: &Checkout) -> Vec<TidyProblem> {
    let Some(page) = checkout.file(PAGE) else {
        return vec![TidyProblem { path: PAGE.to_string(), line: 1, message: "is missing: it is the newcomer's map".to_string() }];
    };
    let mut problems = check_map(page, &checkout.rooms());
    problems.extend(check_invariants(page));
    problems
}

/// Each room has a heading, and each heading a room.
fn check_map(page: &SourceFile, rooms: &[&str]) -> Vec<TidyProblem> {
    let mut problems = Vec::new();
    let headings: Vec<(usize, &str, bool)> = page.text.lines().enumerate().filter_map(|(index, text)| heading(index + 1, text)).collect();
    for room in rooms.iter().filter(|room| !headings.iter().any(|(_, name, _)| name == *room)) {
        problems.push(page.problem(1, format!("the code map lacks the room `{room}`: add a heading \"### `{room}`\" and its contents")));
    }
    for &(line, name, is_planned) in &headings {
        match (rooms.contains(&name), is_planned) {
            (true, true) => problems.push(page.problem(line, format!("the room `{name}` has come: take `{PLANNED}` from its heading"))),
            (false, false) => problems.push(page.problem(line, format!("there is no room `{name}` in src: remove its heading"))),
            _ => (),
        }
    }
    problems
}

/// ``### `engine` (to come)`` -> its line, `engine`, whether it is planned.
fn heading(line: usize, text: &str) -> Option<(usize, &str, bool)> {
    let (name, rest) = text.strip_prefix("### `")?.split_once('`')?;
    Some((line, name, rest.contains(PLANNED)))
}

fn check_invariants(page: &SourceFile) -> Vec<TidyProblem> {
    let mut problems = Vec::new();
    let mut count = 0;
    for (offset, _) in page.text.match_indices(INVARIANT) {
        count += 1;
        let rest = &page.text[offset + INVARIANT.len()..];
        let end = [rest.find("\n\n"), rest.find(INVARIANT)].into_iter().flatten().min().unwrap_or(rest.len());
        let line = page.line_at(offset);
        let tags = tags(&rest[..end]);
        if tags.is_empty() {
            problems.push(page.problem(line, "the invariant names no check: add `[tidy: …]` or `[ci: …]`"));
        }
        for (kind, name) in tags.into_iter().filter(|(kind, name)| !is_known(kind, name)) {
            problems.push(page.problem(line, format!("there is no check `{kind}: {name}`: see `cargo xtask {kind} --list`")));
        }
    }
    if count == 0 {
        problems.push(page.problem(1, "states no invariant: the page exists for them"));
    }
    problems
}

/// `[tidy: rooms, purity] [ci: no-std]` -> (tidy, rooms), (tidy, purity), (ci, no-std).
fn tags(text: &str) -> Vec<(&str, &str)> {
    let inside = text.split('[').skip(1).filter_map(|rest| rest.split_once(']')).map(|(inside, _)| inside);
    let pairs = inside.filter_map(|inside| inside.split_once(": ")).filter(|(kind, _)| ["tidy", "ci"].contains(kind));
    pairs.flat_map(|(kind, names)| names.split(", ").map(move |name| (kind, name.trim()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(page: &str) -> Vec<String> {
        let checkout = Checkout::from_files(&[(PAGE, page), ("src/wire.rs", ""), ("src/engine/a.rs", "")]);
        check(&checkout).into_iter().map(|problem| problem.message).collect()
    }

    #[test]
    fn a_true_page_passes() {
        let page = "### `wire`\n### `engine`\n### `live` (to come)\nArchitecture invariant: a\nb [tidy: rooms, purity] [ci: no-std].\n";
        assert_eq!(messages(page), [""; 0]);
    }

    #[test]
    fn the_map_must_agree_with_the_rooms() {
        let invariant = "Architecture invariant: a [tidy: rooms]\n";
        assert!(messages(&format!("### `wire`\n{invariant}"))[0].contains("lacks the room `engine`"));
        assert!(messages(&format!("### `wire`\n### `engine`\n### `attic`\n{invariant}"))[0].contains("no room `attic`"));
        assert!(messages(&format!("### `wire`\n### `engine` (to come)\n{invariant}"))[0].contains("has come"));
    }

    #[test]
    fn an_invariant_must_name_a_check_that_exists() {
        let map = "### `wire`\n### `engine`\n";
        assert!(messages(&format!("{map}Architecture invariant: a.\n\n[tidy: rooms]"))[0].contains("names no check"));
        assert!(messages(&format!("{map}Architecture invariant: a [tidy: luck]."))[0].contains("no check `tidy: luck`"));
        assert!(messages(&format!("{map}Architecture invariant: a [ci: hope]."))[0].contains("no check `ci: hope`"));
        assert!(messages(map)[0].contains("no invariant"));
        assert!(check(&Checkout::from_files(&[]))[0].message.contains("missing"));
    }
}
