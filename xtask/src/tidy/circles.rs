//! No files import each other in a circle: a file can be read when those below it are known. A module and its own children may know each other.

use super::checkout::is_member;
use super::imports::{ImportGraph, ModulePath};
use super::{Checkout, TidyProblem};
use std::collections::{BTreeMap, BTreeSet};

/// Files that import each other in a circle.
#[derive(Debug, PartialEq)]
struct ImportCircle {
    files: BTreeSet<ModulePath>,
}

pub(crate) fn check(checkout: &Checkout) -> Vec<TidyProblem> {
    let graph = ImportGraph::read(checkout);
    let circles = circles(&graph);
    let problem = |circle: &ImportCircle| {
        let arrows = circle.arrows(&graph).join("; ");
        let first = circle.files.first().map(|module| path(module)).unwrap_or_default();
        let count = circle.files.len();
        let message = format!("{count} files import in a circle: move what they share to a file below them: {arrows}");
        TidyProblem { path: first, line: 1, message }
    };
    circles.iter().map(problem).collect()
}

/// `cargo xtask circles`: the circles and the imports between rooms, as tables.
pub(crate) fn print(checkout: &Checkout) {
    let graph = ImportGraph::read(checkout);
    let circles = circles(&graph);
    for circle in &circles {
        println!("{} files:", circle.files.len());
        circle.arrows(&graph).iter().for_each(|arrow| println!("  {arrow}"));
    }
    let files: BTreeSet<&ModulePath> = graph.edges.keys().flat_map(|(from, to)| [from, to]).collect();
    println!("{} files, {} arrows, {} circles", files.len(), graph.edges.len(), circles.len());
}

impl ImportCircle {
    /// Its arrows, each with the names that run along it.
    fn arrows(&self, graph: &ImportGraph) -> Vec<String> {
        let inside = graph.edges.iter().filter(|((from, to), _)| self.files.contains(from) && self.files.contains(to));
        let names = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(", ");
        inside.map(|((from, to), taken)| format!("{} -> {}: {}", path(from), path(to), names(taken))).collect()
    }
}

fn path(module: &[String]) -> String {
    match module {
        [member] if is_member(member) => format!("{member}/src/main.rs"),
        [member, inside @ ..] if is_member(member) => format!("{member}/src/{}.rs", inside.join("/")),
        [room] if super::rooms::is_crate(room) => format!("src/{room}/lib.rs"),
        _ => format!("src/{}.rs", module.join("/")),
    }
}

/// The circles that are more than a module with its own children.
fn circles(graph: &ImportGraph) -> Vec<ImportCircle> {
    let is_to_ancestor = |(from, to): &(ModulePath, ModulePath)| from.starts_with(to);
    let all: BTreeSet<(&ModulePath, &ModulePath)> = graph.edges.keys().map(|(from, to)| (from, to)).collect();
    let down: BTreeSet<(&ModulePath, &ModulePath)> =
        graph.edges.keys().filter(|edge| !is_to_ancestor(edge)).map(|(from, to)| (from, to)).collect();
    let is_family = |files: &BTreeSet<ModulePath>| files.iter().any(|parent| files.iter().all(|file| file.starts_with(parent)));
    let wide = components(&all).into_iter().filter(|files| !is_family(files));
    let mut found: Vec<BTreeSet<ModulePath>> = wide.collect();
    let within = components(&down).into_iter().filter(|files| !found.iter().any(|known| files.is_subset(known)));
    found.extend(within.collect::<Vec<_>>());
    found.into_iter().map(|files| ImportCircle { files }).collect()
}

/// The sets of two or more that reach each other.
fn components(edges: &BTreeSet<(&ModulePath, &ModulePath)>) -> Vec<BTreeSet<ModulePath>> {
    let mut next: BTreeMap<&ModulePath, Vec<&ModulePath>> = BTreeMap::new();
    edges.iter().for_each(|(from, to)| next.entry(from).or_default().push(to));
    let reached = |start: &ModulePath| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![start]);
        while let Some(file) = open.pop() {
            open.extend(next.get(file).into_iter().flatten().copied().filter(|to| seen.insert((*to).clone())));
        }
        seen
    };
    let reach: BTreeMap<&ModulePath, BTreeSet<ModulePath>> = next.keys().map(|file| (*file, reached(file))).collect();
    let mut found: Vec<BTreeSet<ModulePath>> = Vec::new();
    for (file, reached) in &reach {
        if reached.contains(*file) && !found.iter().any(|known| known.contains(*file)) {
            found.push(reached.iter().filter(|other| reach.get(*other).is_some_and(|back| back.contains(*file))).cloned().collect());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(files: &[(&str, &str)]) -> Vec<String> {
        check(&Checkout::from_files(files)).into_iter().map(|problem| problem.message).collect()
    }

    #[test]
    fn files_that_know_each_other_are_found() {
        let found = problems(&[
            ("src/sim/lib.rs", "mod a; mod b;"),
            ("src/sim/a.rs", "use super::b::B; pub struct A;"),
            ("src/sim/b.rs", "use crate::a::A; pub struct B;"),
        ]);
        assert!(found.len() == 1 && found[0].starts_with("2 files") && found[0].contains("src/sim/a.rs -> src/sim/b.rs: B"), "{found:?}");
    }

    #[test]
    fn members_beside_the_library_are_looked_at() {
        let found = problems(&[
            ("bench/src/main.rs", "mod a; mod b;"),
            ("bench/src/a.rs", "use crate::b::B; pub struct A;"),
            ("bench/src/b.rs", "use super::a::A; pub struct B;"),
        ]);
        assert!(found.len() == 1 && found[0].contains("bench/src/a.rs -> bench/src/b.rs: B"), "{found:?}");
    }

    #[test]
    fn a_glob_takes_from_the_module() {
        let found = problems(&[
            ("src/sim/lib.rs", "mod a; mod b;"),
            ("src/sim/a.rs", "use super::b::*; pub struct A;"),
            ("src/sim/b.rs", "use self::super::a::A; pub struct B;"),
        ]);
        assert!(found.len() == 1 && found[0].contains("src/sim/a.rs -> src/sim/b.rs: b"), "{found:?}");
    }

    #[test]
    fn a_name_belongs_to_the_file_that_defines_it() {
        let facade = ("src/sim/lib.rs", "mod a; mod b; pub use a::A; pub(crate) use b::{B as C};");
        let a = ("src/sim/a.rs", "pub struct A; fn f(c: super::C) {}");
        assert_eq!(problems(&[facade, a, ("src/sim/b.rs", "pub struct B;")]), Vec::<String>::new());
        let circle = problems(&[facade, a, ("src/sim/b.rs", "pub struct B; use super::A;")]);
        assert!(circle.len() == 1 && circle[0].contains("src/sim/a.rs -> src/sim/b.rs: B"), "{circle:?}");
    }

    #[test]
    fn who_only_hands_a_name_on_does_not_use_it() {
        let engine = ("src/sim/lib.rs", "mod a; mod f;");
        let a = ("src/sim/a.rs", "use super::f::F; pub struct A;");
        assert_eq!(problems(&[engine, a, ("src/sim/f.rs", "pub use super::a::A; pub struct F;")]), Vec::<String>::new());
        let found = problems(&[engine, a, ("src/sim/f.rs", "pub use super::a::A; pub struct F(A);")]);
        assert!(found.len() == 1 && found[0].starts_with("2 files"), "{found:?}");
    }

    #[test]
    fn a_module_and_its_children_may_know_each_other() {
        let parent = ("src/sim/lib.rs", "mod a; mod b; pub struct E; fn f() { a::g(); b::h() }");
        let (a, b) = (("src/sim/a.rs", "use super::E; pub fn g() {}"), ("src/sim/b.rs", "use super::E; use super::a::g; pub fn h() {}"));
        assert_eq!(problems(&[parent, a, b]), Vec::<String>::new());
        // Two of them that know each other are a circle all the same.
        let found = problems(&[parent, ("src/sim/a.rs", "use super::b::h; pub fn g() {}"), b]);
        assert!(found.len() == 1 && found[0].starts_with("2 files"), "{found:?}");
        // And so is one that goes through a file outside.
        let found = problems(&[
            ("src/sim/lib.rs", "mod a; mod o;"),
            ("src/sim/a.rs", "mod c; use super::o::O; pub struct A; fn f() { c::x() }"),
            ("src/sim/a/c.rs", "use super::A; pub fn x() {}"),
            ("src/sim/o.rs", "use super::a::c::x; pub struct O;"),
        ]);
        assert!(found.len() == 1 && found[0].starts_with("3 files"), "{found:?}");
    }

    #[test]
    fn tests_may_know_everything() {
        assert_eq!(
            problems(&[
                ("src/sim/lib.rs", "mod a; mod b;"),
                ("src/sim/a.rs", "use super::b::B; pub struct A; #[cfg(test)] mod tests;"),
                ("src/sim/a/tests.rs", "use super::super::b::B;"),
                ("src/sim/b.rs", "pub struct B; #[cfg(test)] mod tests { use crate::a::A; }"),
            ]),
            Vec::<String>::new()
        );
    }
}
