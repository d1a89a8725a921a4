//! The imports between the files of a crate, without those of tests: which file uses a name that another one defines.
//!
//! Paths are read as text. A name that a module hands on (`pub use`) belongs to the file that defines it.

use super::checkout::{Checkout, SourceFile};
use super::lexer::{self, Token};
use std::collections::{BTreeMap, BTreeSet};

/// The names that lead to a module or an item: `["engine", "contract", "Effect"]`. The first name is that of the crate, where it is not the library:
/// `["xtask", "tidy", "lexer"]`.
pub(crate) type ModulePath = Vec<String>;

/// The crate beside the library.
const XTASK: &str = "xtask";

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
        let of_xtask = |file: &SourceFile| Some([vec![XTASK.to_string()], below(file, "xtask/src/", "main")?].concat());
        let files = checkout.rust_files().filter_map(|file| Some((module_path(file).or_else(|| of_xtask(file))?, file)));
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
        if depth > DEPTH_MAX || at == root(&module) {
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
        let (mut exports, mut paths) = (Vec::new(), Vec::new());
        // Modules that the file calls by a name of their own.
        let mut named_modules: BTreeMap<String, ModulePath> = BTreeMap::new();
        let mut depth = 0;
        let mut inner_modules: Vec<(usize, String)> = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            let text = tokens[at].text.as_str();
            match text {
                "{" => {
                    depth += 1;
                    if at >= 2 && tokens[at - 2].text == "mod" {
                        inner_modules.push((depth, tokens[at - 1].text.clone()));
                    }
                }
                "}" => {
                    if inner_modules.last().is_some_and(|(end, _)| *end == depth) {
                        inner_modules.pop();
                    }
                    depth -= 1;
                }
                _ => (),
            }
            let is_use = text == "use";
            let begins = if is_use { at + 1 } else { at };
            let is_path = is_use || (tokens.get(at + 1).is_some_and(|next| next.text == "::") && !continues_a_path(&tokens, at));
            if !is_path {
                at += 1;
                continue;
            }
            let is_handed_on = is_use && at > 0 && (tokens[at - 1].text == "pub" || tokens[at - 1].text == ")");
            let (found, end) = paths_from(&tokens, begins);
            let here: Vec<String> = module.iter().cloned().chain(inner_modules.iter().map(|(_, name)| name.clone())).collect();
            for path in found {
                let words: Vec<String> = path.names.iter().map(|token| token.text.clone()).collect();
                let named = words.first().and_then(|first| named_modules.get(first)).filter(|_| !is_use);
                let named = named.map(|target| [target, &words[1..]].concat());
                let Some(full) = named.or_else(|| absolute(&words, &here, modules)) else { continue };
                let last = words.iter().rfind(|word| *word != "self");
                if is_use
                    && modules.contains(&full)
                    && let Some(name) = path.alias.as_ref().or(last)
                {
                    named_modules.insert(name.clone(), full.clone());
                }
                if is_handed_on && inner_modules.is_empty() {
                    let is_glob = words.last().is_some_and(|word| word == "*");
                    let name = path.alias.or(words.last().cloned()).unwrap_or_default();
                    exports.push((name, if is_glob { full[..full.len() - 1].to_vec() } else { full.clone() }));
                }
                // A module alone is not used before something of it is.
                if words.last().is_none_or(|word| word != "*") && !modules.contains(&full) {
                    paths.push((full, is_handed_on));
                }
            }
            at = end.max(at + 1);
        }
        Self { tokens, exports, paths }
    }

    /// Whether an item of this name stands in it.
    fn defines(&self, name: &str) -> bool {
        const ITEMS: [&str; 9] = ["struct", "enum", "trait", "fn", "const", "static", "type", "mod", "macro_rules"];
        self.tokens.windows(2).any(|pair| pair[1].text == name && ITEMS.contains(&pair[0].text.as_str()))
    }
}

/// A path as it is written, and the name that it gets.
pub(crate) struct WrittenPath {
    pub(crate) names: Vec<Token>,
    alias: Option<String>,
}

/// `src/engine/retry.rs` -> `[engine, retry]`; the crate's root is the empty path. `None` for what is no module of the library.
pub(crate) fn module_path(file: &SourceFile) -> Option<ModulePath> {
    below(file, "src/", "lib").filter(|module| module.first().is_none_or(|first| !["main", "prelude"].contains(&first.as_str())))
}

/// The module of a file in a folder; that of the file with the name `top` is the folder's own.
fn below(file: &SourceFile, folder: &str, top: &str) -> Option<ModulePath> {
    let inside = file.path.strip_prefix(folder)?.strip_suffix(".rs")?;
    Some(if inside == top { Vec::new() } else { inside.split('/').map(str::to_string).collect() })
}

/// How many names lead to the root of a module's crate.
fn root(module: &[String]) -> usize {
    usize::from(module.first().is_some_and(|first| first == XTASK))
}

/// Whether the token at `at` stands behind `::`, and so was seen with the path's beginning. `self::super::x` begins at `super`.
pub(crate) fn continues_a_path(tokens: &[Token], at: usize) -> bool {
    at >= 2 && tokens[at - 1].text == "::" && tokens[at - 2].text != "self"
}

/// All paths that begin at `at`, groups unfolded: `crate::{a::b, c}` gives `crate::a::b` and `crate::c`. Also where they end.
pub(crate) fn paths_from(tokens: &[Token], at: usize) -> (Vec<WrittenPath>, usize) {
    let nothing = || WrittenPath { names: Vec::new(), alias: None };
    let Some(first) = tokens.get(at) else { return (vec![nothing()], at) };
    if first.text == "{" {
        let mut paths = Vec::new();
        let mut next = at + 1;
        while tokens.get(next).is_some_and(|token| token.text != "}") {
            let (inner, end) = paths_from(tokens, next);
            paths.extend(inner);
            next =
                (end.max(next + 1)..tokens.len()).find(|&index| matches!(tokens[index].text.as_str(), "," | "}")).unwrap_or(tokens.len());
            next += usize::from(tokens.get(next).is_some_and(|token| token.text == ","));
        }
        return (paths, next + 1);
    }
    if tokens.get(at + 1).is_none_or(|token| token.text != "::") {
        let alias = tokens.get(at + 1).filter(|token| token.text == "as").and(tokens.get(at + 2)).map(|token| token.text.clone());
        return (vec![WrittenPath { names: vec![first.clone()], alias }], at + 1);
    }
    let (mut paths, end) = paths_from(tokens, at + 2);
    paths.iter_mut().for_each(|path| path.names.insert(0, first.clone()));
    (paths, end)
}

/// A path from the crate's root. `None` where it leads to another crate.
fn absolute(words: &[String], here: &[String], modules: &BTreeSet<ModulePath>) -> Option<ModulePath> {
    let first = words.first()?;
    let mut words = words.to_vec();
    // `use super::{self}` names the module itself.
    if words.len() > 1 && words.last().is_some_and(|word| word == "self") {
        words.pop();
    }
    match first.as_str() {
        "crate" => Some([&here[..root(here)], &words[1..]].concat()),
        "self" => Some([here, &words[1..]].concat()),
        "super" => {
            let ups = words.iter().take_while(|word| *word == "super").count();
            Some([here.get(..here.len().checked_sub(ups)?)?, &words[ups..]].concat())
        }
        _ => {
            let child = [here, &words[..1]].concat();
            modules.contains(&child).then(|| [here, words.as_slice()].concat())
        }
    }
}
