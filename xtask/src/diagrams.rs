//! `cargo xtask diagrams`: the drawings in ARCHITECTURE.md. State diagrams come from the tables beside the machines, the graph of the rooms from their
//! manifests.
//!
//! A table is a constant of type `Diagram` somewhere in `src/engine`; that it is true is held there (`src/engine/diagram.rs`). Here it is read
//! as text and drawn between two marks; `cargo xtask tidy` says when what stands there is not what would be drawn.

use crate::room_graph;
use crate::tidy::lexer;
use crate::tidy::{Checkout, SourceFile, TidyProblem};
use std::fmt::Write as _;
use std::process::ExitCode;

const PAGE: &str = "ARCHITECTURE.md";
/// The marks around what is drawn.
const STATES: PageMarks =
    PageMarks { from: "<!-- diagrams: from here on written by `cargo xtask diagrams` -->\n", to: "<!-- diagrams: to here -->\n" };
const ROOMS: PageMarks =
    PageMarks { from: "<!-- rooms: from here on written by `cargo xtask diagrams` -->\n", to: "<!-- rooms: to here -->\n" };

/// Two lines of the page.
struct PageMarks {
    from: &'static str,
    to: &'static str,
}

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
    let mut text = page.text.clone();
    for (marks, drawing) in [(&ROOMS, room_graph::drawn(&checkout)), (&STATES, drawn(&diagrams))] {
        let (before, _, after) = marks.parts(&text).ok_or(format!("{PAGE} lacks the lines {}and {}", marks.from, marks.to))?;
        text = format!("{before}{drawing}{after}");
    }
    std::fs::write(crate::root().join(PAGE), text).map_err(|error| format!("{PAGE} cannot be written: {error}"))?;
    Ok(diagrams.len())
}

/// Whether the page shows what the tables and the manifests say.
pub(crate) fn check(checkout: &Checkout) -> Vec<TidyProblem> {
    let diagrams = read(checkout);
    let Some(page) = checkout.file(PAGE).filter(|_| !diagrams.is_empty()) else { return Vec::new() };
    let drawings = [
        (&STATES, drawn(&diagrams), "the state diagrams are not those of the tables in src/engine"),
        (&ROOMS, room_graph::drawn(checkout), "the graph of the rooms is not that of their manifests"),
    ];
    let problems = drawings.into_iter().filter_map(|(marks, drawing, problem)| match marks.parts(&page.text) {
        None => Some(page.problem(1, format!("lacks the place for a drawing: the lines {} and {}", marks.from.trim(), marks.to.trim()))),
        Some((_, shown, _)) if shown == drawing => None,
        Some((before, ..)) => Some(page.problem(page.line_at(before.len()), format!("{problem}: cargo xtask diagrams"))),
    });
    problems.collect()
}

impl PageMarks {
    /// The page up to the drawing, the drawing, and the page from there on.
    fn parts<'a>(&self, page: &'a str) -> Option<(&'a str, &'a str, &'a str)> {
        let start = page.find(self.from)? + self.from.len();
        let end = start + page[start..].find(self.to)?;
        Some((&page[..start], &page[start..end], &page[end..]))
    }
}

/// Every table of the engine, in the order of the files.
fn read(checkout: &Checkout) -> Vec<DiagramTable> {
    let files = checkout.rust_files().filter(|file| file.path.starts_with("src/engine/"));
    files.filter_map(in_file).collect()
}

/// `const DIAGRAM: Diagram<…> = Diagram { machine: "…", edges: &[(None, Cause, State), (Some(State), Kind(Path::Cause), State), … ] };`: of each edge
/// the names that its three parts end with.
fn in_file(file: &SourceFile) -> Option<DiagramTable> {
    let tokens = lexer::tokens(&file.layers().code);
    let words = ["=", "Diagram", "{"];
    let constant = tokens.windows(2).position(|window| window[0].text == "const" && window[1].text == "DIAGRAM")?;
    let is_start = |window: &[lexer::Token]| window.iter().zip(words).all(|(token, word)| token.text == word);
    let start = constant + tokens[constant..].windows(words.len()).position(is_start)?;
    let end = lexer::behind_closing(&tokens, start + words.len() - 1);
    let machine = file.text.lines().skip(tokens[start].line - 1).find_map(|line| line.split("machine: \"").nth(1)?.split('"').next())?;
    let open = start + tokens[start..end].iter().position(|token| token.text == "[")?;
    Some(DiagramTable { machine: machine.to_string(), path: file.path.clone(), edges: edges(&tokens[open + 1..end]) })
}

fn edges(tokens: &[lexer::Token]) -> Vec<[String; 3]> {
    let (mut edges, mut parts, mut depth) = (Vec::new(), vec![String::new()], 0);
    for token in tokens {
        match (&*token.text, depth) {
            ("(", _) => depth += 1,
            (",", 1) => parts.push(String::new()),
            (")", 1) => {
                depth = 0;
                let edge: Vec<String> =
                    std::mem::replace(&mut parts, vec![String::new()]).into_iter().filter(|part| !part.is_empty()).collect();
                let [from, by, to] = &edge[..] else { continue };
                edges.push([if from == "None" { String::new() } else { from.clone() }, snake_case(by), to.clone()]);
            }
            (")", _) => depth -= 1,
            ("]", 0) => break,
            (word, 1..) if word.starts_with(char::is_alphabetic) => *parts.last_mut().expect("it begins with one") = word.to_string(),
            _ => (),
        }
    }
    edges
}

/// The word that transcripts have for it: `NextTurn` is `next_turn`.
fn snake_case(name: &str) -> String {
    let words = name.char_indices().map(|(at, letter)| {
        let before = if at > 0 && letter.is_uppercase() { "_" } else { "" };
        format!("{before}{}", letter.to_ascii_lowercase())
    });
    words.collect()
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

    const TABLE: &str = "use super::Diagram;\n// const DIAGRAM: Diagram = Diagram { machine: \"no\" };\npub(crate) const DIAGRAM: Diagram<Phase, Cause> = Diagram {\n    machine: \"door\",\n    edges: &[(None, Building, Shut), (Some(Shut), Push, Open),\n        (\n            Some(Shut), By(Foot::BackKick),\n            Open,\n        ),\n    ],\n};\nconst OTHER: &str = \"x\";\n";
    const DRAWN: &str = "\n#### A door (`src/engine/door.rs`)\n\n```mermaid\nstateDiagram-v2\n    [*] --> Shut: building\n    Shut --> Open: push, back_kick\n    Open --> [*]\n```\n\n";

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
        let rooms = "\n```mermaid\ngraph BT\n```\n\n";
        let page = |shown: &str| format!("# A\n\n{}{shown}{}\nmore\n{}{rooms}{}", STATES.from, STATES.to, ROOMS.from, ROOMS.to);
        assert_eq!(problems(&page(DRAWN)), [""; 0]);
        let stale = problems(&page(&DRAWN.replace("kick", "kiss")));
        assert!(stale[0].starts_with("4: the state diagrams are not those"), "{stale:?}");
        assert!(problems("# A\n")[0].contains("lacks the place"));
    }
}
