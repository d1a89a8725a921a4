//! `docs/glossary.md` tells the truth: each word stands there once, with a meaning, and each place that it names is in `src`.
//!
//! A row is `| word | meaning | where | in code today | not used for it |`. A place is a path of modules below the crate's root, perhaps with an
//! item at its end: `world::server` or `world::World`. A dash stands for what is not built.

use super::checkout::SourceFile;
use super::lexer;
use super::{Checkout, TidyProblem};

const PAGE: &str = "docs/glossary.md";
const COLUMNS: usize = 5;
const NOT_BUILT: &str = "–";

pub(crate) fn check(checkout: &Checkout) -> Vec<TidyProblem> {
    let Some(page) = checkout.file(PAGE) else {
        return vec![TidyProblem {
            path: PAGE.to_string(),
            line: 1,
            message: "is missing: it explains the words of the project".to_string(),
        }];
    };
    let mut problems = Vec::new();
    let mut words: Vec<&str> = Vec::new();
    for (line, cells) in rows(page) {
        let [word, meaning, places, _, _] = cells.as_slice() else {
            problems
                .push(page.problem(line, format!("has {} columns and not {COLUMNS}: word, meaning, where, today, not used", cells.len())));
            continue;
        };
        if words.contains(word) {
            problems.push(page.problem(line, format!("`{word}` is explained twice: keep one meaning")));
        }
        words.push(word);
        if !meaning.ends_with('.') {
            problems.push(page.problem(line, format!("`{word}` needs a sentence as its meaning")));
        }
        let mut places = quoted(places).peekable();
        if places.peek().is_none() && cells[2] != NOT_BUILT {
            problems.push(page.problem(line, format!("`{word}` needs a place in the code, or `{NOT_BUILT}`")));
        }
        let gone = places.filter(|place| !is_there(checkout, place));
        problems.extend(gone.map(|place| page.problem(line, format!("`{place}` is not in src: correct where `{word}` lives"))));
    }
    problems
}

/// The rows of all tables without their heads, each with its line.
fn rows(page: &SourceFile) -> impl Iterator<Item = (usize, Vec<&str>)> {
    let lines = page.text.lines().enumerate().filter(|(_, line)| line.starts_with('|'));
    let rows = lines.map(|(index, line)| (index + 1, line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>()));
    rows.filter(|(_, cells)| cells[0] != "word" && !cells[0].starts_with('-'))
}

/// The texts in backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Whether `world::server` is a module, or `world::World` an item that the module declares or names.
fn is_there(checkout: &Checkout, place: &str) -> bool {
    let file = |path: &str, end: &str| checkout.file(&format!("src/{}{end}", path.replace("::", "/")));
    let module = |path: &str| file(path, ".rs").or_else(|| file(path, "/lib.rs"));
    let has = |file: &SourceFile, item: &str| lexer::tokens(&file.layers().code).iter().any(|token| token.text == item);
    module(place).is_some() || place.rsplit_once("::").is_some_and(|(path, item)| module(path).is_some_and(|file| has(file, item)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(row: &str) -> Vec<String> {
        let page =
            format!("# Words\n\n| word | meaning | where | in code today | not used for it |\n| --- | --- | --- | --- | --- |\n{row}\n");
        let files = [(PAGE, page.as_str()), ("src/world/lib.rs", "mod server;\npub struct World;\n"), ("src/world/server.rs", "// Gone\n")];
        check(&Checkout::from_files(&files)).into_iter().map(|problem| problem.message).collect()
    }

    #[test]
    fn a_row_with_places_passes() {
        assert_eq!(messages("| world | All. | `world::World`, `world::server` | | host |"), [""; 0]);
        assert_eq!(messages("| museum | All. | – | | |"), [""; 0]);
    }

    #[test]
    fn rows_that_lie_are_found() {
        assert!(messages("| world | All. | `world::Gone` | | |")[0].contains("`world::Gone` is not in src"));
        assert!(messages("| world | All. | `world::server::Gone` | | |")[0].contains("is not in src"));
        assert!(messages("| world | All. | | | |")[0].contains("needs a place"));
        assert!(messages("| world | all | `world` | | |")[0].contains("needs a sentence"));
        assert!(messages("| world | All. | `world` | |")[0].contains("has 4 columns"));
        assert!(messages("| world | All. | `world` | | |\n| world | Else. | `world` | | |")[0].contains("twice"));
        assert!(check(&Checkout::from_files(&[]))[0].message.contains("missing"));
    }
}
