//! `cargo xtask diagrams`: the state diagrams in ARCHITECTURE.md, drawn from the tables beside the machines.
//!
//! A table is a constant of type `Diagram` somewhere in `src/engine`; that it is true is held there (`src/engine/diagram.rs`). Here it is read
//! as text and drawn between two marks; `cargo xtask tidy` says when what stands there is not what would be drawn.

use crate::tidy::lexer;
use crate::tidy::{Checkout, SourceFile, TidyProblem};
use std::fmt::Write as _;
use std::process::ExitCode;

const PAGE: &str = "ARCHITECTURE.md";
const FROM: &str = "<!-- diagrams: from here on written by `cargo xtask diagrams` -->\n";
const TO: &str = "<!-- diagrams: to here -->\n";

/// One machine's table: what it is called, and its edges (from which state, by what, to which).
#[derive(Debug, PartialEq)]
struct DiagramTable {
    machine: String,
    path: String,
    edges: Vec<[String; 3]>,
}

pub(crate) fn main() -> ExitCode {
    match write() {
        Ok(count) => {
            println!("drew {count} diagrams in {PAGE}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("xtask diagrams: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn write() -> Result<usize, String> {
    let checkout = Checkout::read(&crate::root()).map_err(|error| error.to_string())?;
    let page = checkout.file(PAGE).ok_or(format!("there is no {PAGE}"))?;
    let diagrams = read(&checkout);
    let (before, _, after) = parts(&page.text).ok_or(format!("{PAGE} lacks the lines {FROM}and {TO}"))?;
    let text = format!("{before}{}{after}", drawn(&diagrams));
    std::fs::write(crate::root().join(PAGE), text).map_err(|error| format!("{PAGE} cannot be written: {error}"))?;
    Ok(diagrams.len())
}

/// Whether the page shows what the tables say.
pub(crate) fn check(checkout: &Checkout) -> Vec<TidyProblem> {
    let diagrams = read(checkout);
    let Some(page) = checkout.file(PAGE) else { return Vec::new() };
    match parts(&page.text) {
        None if diagrams.is_empty() => Vec::new(),
        None => vec![page.problem(1, format!("lacks the place for state diagrams: the lines {} and {}", FROM.trim(), TO.trim()))],
        Some((_, shown, _)) if shown == drawn(&diagrams) => Vec::new(),
        Some((before, ..)) => {
            let line = page.line_at(before.len());
            vec![page.problem(line, "the state diagrams are not those of the tables in src/engine: cargo xtask diagrams")]
        }
    }
}

/// The page up to the diagrams, the diagrams, and the page from there on.
fn parts(page: &str) -> Option<(&str, &str, &str)> {
    let start = page.find(FROM)? + FROM.len();
    let end = start + page[start..].find(TO)?;
    Some((&page[..start], &page[start..end], &page[end..]))
}

/// Every table of the engine, in the order of the files.
fn read(checkout: &Checkout) -> Vec<DiagramTable> {
    let files = checkout.rust_files().filter(|file| file.path.starts_with("src/engine/"));
    files.filter_map(in_file).collect()
}

/// `const DIAGRAM: Diagram = Diagram { machine: "…", edges: &[ ("…", "…", "…"), … ] };`, read as its texts in their order.
fn in_file(file: &SourceFile) -> Option<DiagramTable> {
    let tokens = lexer::tokens(&file.layers().code);
    let words = ["const", "DIAGRAM", ":", "Diagram", "=", "Diagram", "{"];
    let start = tokens.windows(words.len()).position(|window| window.iter().zip(words).all(|(token, word)| token.text == word))?;
    let end = lexer::behind_closing(&tokens, start + words.len() - 1);
    let lines = tokens[start].line..=tokens[end - 1].line;
    let text = file.text.lines().enumerate().filter(|(index, _)| lines.contains(&(index + 1))).map(|(_, text)| text);
    let mut texts = text.flat_map(|text| text.split('"').skip(1).step_by(2)).map(str::to_string);
    let machine = texts.next()?;
    let texts: Vec<String> = texts.collect();
    let edges = texts.chunks_exact(3).map(|edge| [edge[0].clone(), edge[1].clone(), edge[2].clone()]).collect();
    Some(DiagramTable { machine, path: file.path.clone(), edges })
}

fn drawn(diagrams: &[DiagramTable]) -> String {
    diagrams.iter().map(draw).chain(["\n".to_string()]).collect()
}

/// A heading and a diagram in Mermaid's words. What leads from one state to the same other is one arrow; a state without a way out is the end.
fn draw(diagram: &DiagramTable) -> String {
    let mut text = format!("\n#### A {} (`{}`)\n\n```mermaid\nstateDiagram-v2\n", diagram.machine, diagram.path);
    let mut arrows: Vec<(&str, &str, Vec<&str>)> = Vec::new();
    for [from, by, to] in &diagram.edges {
        match arrows.iter_mut().find(|(known_from, known_to, _)| known_from == from && known_to == to) {
            Some((.., causes)) => causes.push(by),
            None => arrows.push((from, to, vec![by])),
        }
    }
    let name = |state: &str| if state.is_empty() { "[*]".to_string() } else { state.to_string() };
    for (from, to, causes) in &arrows {
        let _ = writeln!(text, "    {} --> {}: {}", name(from), name(to), causes.join(", "));
    }
    let mut ends: Vec<&str> = arrows.iter().map(|(_, to, _)| *to).filter(|state| !arrows.iter().any(|(from, ..)| from == state)).collect();
    ends.sort_unstable();
    ends.dedup();
    ends.iter().for_each(|end| {
        let _ = writeln!(text, "    {end} --> [*]");
    });
    text + "```\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "use super::Diagram;\n// const DIAGRAM: Diagram = Diagram { machine: \"no\" };\npub(crate) const DIAGRAM: Diagram = Diagram {\n    machine: \"door\",\n    edges: &[(\"\", \"built\", \"Shut\"), (\"Shut\", \"pushed\", \"Open\"),\n        (\n            \"Shut\", \"kicked\",\n            \"Open\"),\n    ],\n};\nconst OTHER: &str = \"x\";\n";
    const DRAWN: &str = "\n#### A door (`src/engine/door.rs`)\n\n```mermaid\nstateDiagram-v2\n    [*] --> Shut: built\n    Shut --> Open: pushed, kicked\n    Open --> [*]\n```\n\n";

    fn problems(page: &str) -> Vec<String> {
        let checkout = Checkout::from_files(&[(PAGE, page), ("src/engine/door.rs", TABLE), ("src/sim/door.rs", TABLE)]);
        check(&checkout).into_iter().map(|problem| format!("{}: {}", problem.line, problem.message)).collect()
    }

    #[test]
    fn a_table_is_drawn() {
        let checkout = Checkout::from_files(&[("src/engine/door.rs", TABLE)]);
        assert_eq!(drawn(&read(&checkout)), DRAWN);
    }

    #[test]
    fn a_page_that_shows_something_else_is_found() {
        let page = |shown: &str| format!("# A\n\n{FROM}{shown}{TO}\nmore\n");
        assert_eq!(problems(&page(DRAWN)), [""; 0]);
        let stale = problems(&page(&DRAWN.replace("kicked", "kissed")));
        assert!(stale[0].starts_with("4: the state diagrams are not those"), "{stale:?}");
        assert!(problems("# A\n")[0].contains("lacks the place"));
    }
}
