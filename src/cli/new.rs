//! `reenact new TEMPLATE [PATH]`: files to begin with.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::CommandExit;
use super::conformance::CONFORMANCE;
use super::output::{print_line, wrong_input};
use super::program::{program_name, quoted_path};
use crate::files::atomic;
use crate::prelude::*;

#[derive(Debug, clap::Args)]
pub(super) struct NewArguments {
    /// The kind of files
    #[arg(value_enum)]
    template: NewTemplate,
    /// Where: a file for a scenario, a folder for the others; when not given, `scenarios/first.toml`, `scenarios/conformance` or `my-agent`
    path: Option<PathBuf>,
    /// Replace files that are there
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum NewTemplate {
    /// A scenario with a tool, a fault and expectations, each line explained
    Scenario,
    /// The scenarios that any agent loop should pass
    Conformance,
    /// A Rust program with an engine of your own: all commands around it, and a test for each scenario
    Engine,
}

const SCENARIO: &str = include_str!("new/scenario.toml");

/// The files of a program with an engine of its own, by their paths in its folder.
const ENGINE: [(&str, &str); 5] = [
    ("Cargo.toml", include_str!("new/engine_manifest.toml")),
    ("src/lib.rs", include_str!("new/engine.rs")),
    ("src/main.rs", include_str!("new/engine_main.rs")),
    ("tests/scenarios.rs", include_str!("new/engine_tests.rs")),
    ("scenarios/first.toml", include_str!("new/engine_scenario.toml")),
];

/// The folder and the package of an engine, as its files have it.
const USUAL_PACKAGE: &str = "my-agent";

/// In a manifest it stands for the place of this library.
const LIBRARY: &str = "\"{library}\"";

/// The place of this library: the sources that this program was built from, or the published crate where they are gone.
fn library() -> String {
    let folder = env!("CARGO_MANIFEST_DIR");
    if Path::new(folder).is_dir() { format!("path = {folder:?}") } else { format!("version = {:?}", env!("CARGO_PKG_VERSION")) }
}

pub(super) fn run(arguments: &NewArguments) -> CommandExit {
    let path = arguments.path.clone().unwrap_or_else(|| PathBuf::from(arguments.template.usual_path()));
    if let Some(problem) = arguments.template.problem(&path) {
        return wrong_input(&problem);
    }
    let files = arguments.template.files(&path);
    let taken: Vec<String> = files.iter().filter(|(path, _)| path.exists()).map(|(path, _)| path.display().to_string()).collect();
    if !taken.is_empty() && !arguments.force {
        let (is, it) = if taken.len() == 1 { ("is", "it") } else { ("are", "them") };
        return wrong_input(&format!(
            "{} {is} there already, and nothing was written: name another place, or replace {it} with --force",
            taken.join(", ")
        ));
    }
    for (path, text) in &files {
        if let Err(error) = atomic::write(path, text.as_bytes()) {
            return wrong_input(&format!("cannot write {}: {error}", path.display()));
        }
        print_line(&format!("wrote {}", path.display()));
    }
    print_line(&arguments.template.next_step(&path));
    CommandExit::Fine
}

impl NewTemplate {
    fn usual_path(self) -> &'static str {
        match self {
            Self::Scenario => "scenarios/first.toml",
            Self::Conformance => "scenarios/conformance",
            Self::Engine => USUAL_PACKAGE,
        }
    }

    /// The problem with a path for it.
    fn problem(self, path: &Path) -> Option<String> {
        let shown = path.display();
        match self {
            Self::Scenario if path.is_dir() => {
                Some(format!("{shown}: this is a folder: name a file in it, as in {}", path.join("first.toml").display()))
            }
            Self::Scenario if path.extension().is_none_or(|extension| extension != "toml") => {
                Some(format!("{shown}: the name of a scenario ends with `.toml`"))
            }
            Self::Conformance | Self::Engine if path.exists() && !path.is_dir() => {
                Some(format!("{shown}: there is a file of this name: name a folder"))
            }
            _ => None,
        }
    }

    fn files(self, path: &Path) -> Vec<(PathBuf, String)> {
        match self {
            Self::Scenario => vec![(path.to_path_buf(), SCENARIO.into())],
            Self::Conformance => CONFORMANCE.iter().map(|scenario| (scenario.path_in(path), scenario.text.into())).collect(),
            Self::Engine => {
                let package = package_name(path);
                let crate_name = package.replace('-', "_");
                let written = |text: &str| {
                    text.replace(LIBRARY, &library())
                        .replace(USUAL_PACKAGE, &package)
                        .replace(&USUAL_PACKAGE.replace('-', "_"), &crate_name)
                };
                ENGINE.iter().map(|(name, text)| (path.join(name), written(text))).collect()
            }
        }
    }

    fn next_step(self, path: &Path) -> String {
        let (program, shown) = (program_name(), quoted_path(path));
        match self {
            Self::Scenario => format!("run it with: {program} run {shown}"),
            Self::Conformance => format!("try a loop with: {program} run {shown}; {program} sweep {shown}"),
            Self::Engine => format!("run it with: cd {shown}; cargo run -- run scenarios; cargo run -- new conformance; cargo run -- test"),
        }
    }
}

/// The name of the package in this folder: that of the folder, or the usual one where Cargo would refuse it.
fn package_name(folder: &Path) -> String {
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
    let folder = absolute.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let name = folder.replace(|character: char| !(character.is_ascii_alphanumeric() || character == '_'), "-");
    let name = name.trim_matches('-');
    let is_usable =
        name.starts_with(|first: char| first.is_ascii_alphabetic()) && !REFUSED_PACKAGES.split(' ').any(|refused| refused == name);
    if is_usable { name.to_owned() } else { USUAL_PACKAGE.to_owned() }
}

/// Words of Rust, and packages that there are already.
const REFUSED_PACKAGES: &str = "abstract alloc as async await become box break build const continue core crate deps do dyn else enum examples extern false \
    final fn for gen if impl in incremental let loop macro match mod move mut override priv proc-macro proc_macro pub reenact \
    ref return self static std struct super test trait true try type typeof unsafe unsized use virtual where while yield";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v_1_a_package_has_the_name_of_its_folder_where_that_can_be() {
        let names = ["my-agent", "work/Loop 2", "a/b/", "my_loop", "..my.loop", "2048", "fn", "test", "reenact", "é"];
        let packages = ["my-agent", "loop-2", "b", "my_loop", "my-loop", "my-agent", "my-agent", "my-agent", "my-agent", "my-agent"];
        assert_eq!(names.map(|name| package_name(Path::new(name))), packages);
    }
}
