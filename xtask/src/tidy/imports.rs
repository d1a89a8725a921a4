//! The imports between the files of a crate, without those of tests: which file uses a name that another one defines.
//!
//! Paths are read as text. A name that a module hands on (`pub use`) belongs to the file that defines it.

use super::checkout::{Checkout, SourceFile, is_member};
use super::lexer::{self, Token};
use std::collections::{BTreeMap, BTreeSet};

/// The names that lead to a module or an item: `["engine", "contract", "Effect"]`. The first name is that of the crate, where it is not the library:
/// `["xtask", "tidy", "lexer"]`.
pub(crate) type ModulePath = Vec<String>;

/// Which file takes which names from which, by the files' modules.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ImportGraph {
    /// From a module to a module, with the names.
    pub(crate) edges: BTreeMap<(ModulePath, ModulePath), BTreeSet<String>>,
}

/// A module of `src` that is a file.
struct FileModule {
    /// Its code without tests.
    tokens: Vec<Token>,
    /// The names that it hands on, each with the place where it is from. A glob has the name `*`.
    exports: Vec<(String, ModulePath)>,
    /// All names that it takes; those that it hands on with a mark.
    paths: Vec<(ModulePath, bool)>,
}

/// All files of `src` as modules.
struct ModuleTree(BTreeMap<ModulePath, FileModule>);

impl ImportGraph {
    /// Reads the imports of a checkout.
    pub(crate) fn read(checkout: &Checkout) -> Self {
        let tree = ModuleTree::read(checkout);
        let mut graph = Self::default();
        for (module, file) in &tree.0 {
            for (path, is_handed_on) in &file.paths {
                let Some((target, name)) = tree.definer(path, 0).filter(|(target, _)| target != module) else { continue };
                // Who only hands a name on does not use it.
                let uses = file.tokens.iter().filter(|token| token.text == name).count();
                if !is_handed_on || uses > 1 {
                    graph.edges.entry((module.clone(), target)).or_default().insert(name);
                }
            }
        }
        graph
    }
}

impl ModuleTree {
    fn read(checkout: &Checkout) -> Self {
        let of_member = |file: &SourceFile| {
            let name = file.member()?;
            Some([vec![name.to_string()], below(file, &format!("{name}/src/"), "main")?].concat())
        };
        let files = checkout.rust_files().filter_map(|file| Some((module_path(file).or_else(|| of_member(file))?, file)));
        let mut read: BTreeMap<ModulePath, (Vec<Token>, Vec<String>)> =
            files.map(|(module, file)| (module, lexer::without_tests(&lexer::tokens(&file.layers().code)))).collect();
        let tests: Vec<ModulePath> =
            read.iter().flat_map(|(module, (_, tests))| tests.iter().map(|name| [module.clone(), vec![name.clone()]].concat())).collect();
        read.retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));
        let modules: BTreeSet<ModulePath> = read.keys().cloned().collect();
        Self(read.into_iter().map(|(module, (tokens, _))| (module.clone(), FileModule::read(&module, tokens, &modules))).collect())
    }

    /// The file that defines what a path leads to, and the name that it has there. `None` for what is not of this crate.
    fn definer(&self, path: &[String], depth: usize) -> Option<(ModulePath, String)> {
        // Names that are handed on in a circle lead nowhere.
        const DEPTH_MAX: usize = 8;
        let at = (0..=path.len()).rev().find(|&length| self.0.contains_key(&path[..length]))?;
        let module = path[..at].to_vec();
        let Some(name) = path.get(at) else { return Some((module.clone(), module.last()?.clone())) };
        // The roots of the library and of the programs hand names on, or have no module.
        let is_bare_root = at == usize::from(module.first().is_some_and(|first| is_member(first)));
        if depth > DEPTH_MAX || is_bare_root {
            return None;
        }
        let file = &self.0[&module];
        if !file.defines(name) {
            for (exported, from) in &file.exports {
                let rest = if exported == "*" { &path[at..] } else { &path[at + 1..] };
                if exported == name || exported == "*" {
                    let found = self.definer(&[from.as_slice(), rest].concat(), depth + 1);
                    if let Some((target, _)) = &found
                        && (exported == name || self.0[target].defines(name))
                    {
                        return found;
                    }
                }
            }
        }
        Some((module, name.clone()))
    }
}

impl FileModule {
    fn read(module: &[String], tokens: Vec<Token>, modules: &BTreeSet<ModulePath>) -> Self {
        let mut file = Self { exports: Vec::new(), paths: Vec::new(), tokens: Vec::new() };
        // Modules that the file calls by a name of their own.
        let mut named_modules: BTreeMap<String, ModulePath> = BTreeMap::new();
        for path in written_paths(&tokens, module) {
            let words = path.words();
            let named = words.first().and_then(|first| named_modules.get(first)).filter(|_| path.kind == PathKind::Expression);
            let named = named.map(|target| [target, &words[1..]].concat());
            let child = || modules.contains(&[&path.here, &words[..1]].concat()).then(|| [&path.here, words.as_slice()].concat());
            let Some(full) = named.or_else(|| path.absolute()).or_else(child) else { continue };
            let Some(last) = words.iter().rfind(|word| *word != "self") else { continue };
            let (name, is_glob) = (path.alias.as_ref().unwrap_or(last).clone(), last == "*");
            // All names of a module come from the module.
            let target = if is_glob { full[..full.len() - 1].to_vec() } else { full };
            if path.kind == PathKind::HandedOn && path.here == module {
                file.exports.push((name.clone(), target.clone()));
            }
            // A module alone is not used before something of it is.
            match modules.contains(&target) && !is_glob {
                true if path.kind != PathKind::Expression => drop(named_modules.insert(name, target)),
                true => (),
                false => file.paths.push((target, path.kind == PathKind::HandedOn)),
            }
        }
        Self { tokens, ..file }
    }

    /// Whether an item of this name stands in it.
    fn defines(&self, name: &str) -> bool {
        const ITEMS: [&str; 9] = ["struct", "enum", "trait", "fn", "const", "static", "type", "mod", "macro_rules"];
        self.tokens.windows(2).any(|pair| pair[1].text == name && ITEMS.contains(&pair[0].text.as_str()))
    }
}

/// How a path stands in the code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PathKind {
    /// `use a::b`.
    Use,
    /// `pub use a::b`.
    HandedOn,
    /// `a::b()`.
    Expression,
}

/// A path as it is written.
pub(crate) struct WrittenPath {
    pub(crate) names: Vec<Token>,
    /// The name that it gets.
    alias: Option<String>,
    /// The module in which it is written.
    here: ModulePath,
    kind: PathKind,
}

impl WrittenPath {
    fn words(&self) -> Vec<String> {
        self.names.iter().map(|token| token.text.clone()).collect()
    }

    /// The same from the crate's root. `None` where it does not say where it begins.
    pub(crate) fn absolute(&self) -> Option<ModulePath> {
        let mut words = &self.words()[..];
        // `use super::{self}` names the module itself, and `self::super::x` begins at `super`.
        if let [front @ .., last] = words
            && last == "self"
            && !front.is_empty()
        {
            words = front;
        }
        if let [first, second, ..] = words
            && (first.as_str(), second.as_str()) == ("self", "super")
        {
            words = &words[1..];
        }
        match words.first()?.as_str() {
            "crate" => Some([&self.here[..root(&self.here)], &words[1..]].concat()),
            "self" => Some([&self.here, &words[1..]].concat()),
            "super" => {
                let ups = words.iter().take_while(|word| *word == "super").count();
                Some([self.here.get(..self.here.len().checked_sub(ups)?)?, &words[ups..]].concat())
            }
            _ => None,
        }
    }
}

/// Every path in the code of a module's file, groups unfolded: `use crate::{a::b, c}` gives `crate::a::b` and `crate::c`.
pub(crate) fn written_paths(tokens: &[Token], module: &[String]) -> Vec<WrittenPath> {
    let mut found = Vec::new();
    // Modules written inside the file, each with the brace depth at which it ends.
    let mut inner_modules: Vec<(usize, String)> = Vec::new();
    let (mut depth, mut at) = (0, 0);
    while let Some(token) = tokens.get(at) {
        let is_use = token.text == "use";
        let is_expression = || tokens.get(at + 1).is_some_and(|next| next.text == "::") && !(at > 0 && tokens[at - 1].text == "::");
        if is_use || is_expression() {
            let is_handed_on = is_use && at > 0 && matches!(tokens[at - 1].text.as_str(), "pub" | ")");
            let kind = if is_handed_on { PathKind::HandedOn } else { PathKind::Use };
            let here = module.iter().chain(inner_modules.iter().map(|(_, name)| name)).cloned().collect::<ModulePath>();
            let (paths, end) = paths_from(tokens, at + usize::from(is_use));
            let kind = if is_use { kind } else { PathKind::Expression };
            found.extend(paths.into_iter().map(|(names, alias)| WrittenPath { names, alias, here: here.clone(), kind }));
            at = end.max(at + 1);
            continue;
        }
        match token.text.as_str() {
            "{" => {
                depth += 1;
                if at >= 2 && tokens[at - 2].text == "mod" {
                    inner_modules.push((depth, tokens[at - 1].text.clone()));
                }
            }
            "}" => {
                inner_modules.pop_if(|(end, _)| *end == depth);
                depth -= 1;
            }
            _ => (),
        }
        at += 1;
    }
    found
}

/// `src/engine/retry.rs` -> `[engine, retry]`; the crate's root is the empty path. `None` for what is no module of the library.
pub(crate) fn module_path(file: &SourceFile) -> Option<ModulePath> {
    let mut module = below(file, "src/", "lib")?;
    // A room that is a crate has its root in its folder.
    if module.len() == 2 && module[1] == "lib" {
        module.pop();
    }
    (module.first().is_none_or(|first| first != "main")).then_some(module)
}

/// The module of a file in a folder; that of the file with the name `top` is the folder's own.
fn below(file: &SourceFile, folder: &str, top: &str) -> Option<ModulePath> {
    let inside = file.path.strip_prefix(folder)?.strip_suffix(".rs")?;
    Some(if inside == top { Vec::new() } else { inside.split('/').map(str::to_string).collect() })
}

/// How many names lead to the root of a module's crate.
fn root(module: &[String]) -> usize {
    usize::from(module.first().is_some_and(|first| is_member(first) || super::rooms::is_crate(first)))
}

/// The names of a path, and its alias.
type AliasedNames = (Vec<Token>, Option<String>);

/// All paths that begin at `at`, and where they end.
fn paths_from(tokens: &[Token], at: usize) -> (Vec<AliasedNames>, usize) {
    let Some(first) = tokens.get(at) else { return (Vec::new(), at) };
    if first.text == "{" {
        let mut paths = Vec::new();
        let mut next = at + 1;
        while tokens.get(next).is_some_and(|token| token.text != "}") {
            let (inner, end) = paths_from(tokens, next);
            paths.extend(inner);
            // Over the comma, and over `as name`.
            next =
                (end.max(next + 1)..tokens.len()).find(|&index| matches!(tokens[index].text.as_str(), "," | "}")).unwrap_or(tokens.len());
            next += usize::from(tokens.get(next).is_some_and(|token| token.text == ","));
        }
        return (paths, next + 1);
    }
    if tokens.get(at + 1).is_none_or(|token| token.text != "::") {
        let alias = tokens.get(at + 1).filter(|token| token.text == "as").and(tokens.get(at + 2)).map(|token| token.text.clone());
        return (vec![(vec![first.clone()], alias)], at + 1);
    }
    let (mut paths, end) = paths_from(tokens, at + 2);
    paths.iter_mut().for_each(|(names, _)| names.insert(0, first.clone()));
    (paths, end)
}
