//! `cargo xtask mutants --oracles`: breaks the engine in some thousand ways, one at a time, and asks the oracles alone, over the shipped scenarios.
//!
//! All mutants are compiled at once, into a copy of the checkout: each place asks for its number whether it is the one that is broken. So the whole takes
//! minutes. The engine's own assertions and snapshots are out of play, as in an engine of somebody else. It is no step of CI.
//!
//! ```text
//!   fate        meaning
//!   found       an oracle complains, or the engine panics or hangs
//!   unseen      some transcript is another one, and no oracle complains
//!   equal       a scenario comes to the place, and every transcript stays as it was
//!   unreached   no scenario comes to the place
//! ```

mod instrument;
mod trial;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use instrument::{Mutant, PlaceInSource, RUN_TIME};
use trial::{MutantFate, try_all};

/// The parts of the engine that decide something: files of `src/engine`, and the folders of their names.
const PARTS: [&str; 14] = [
    "agent_effects",
    "agent_loop",
    "agents",
    "budget",
    "call",
    "compaction",
    "conversation",
    "emission",
    "executor",
    "hook",
    "permission",
    "query",
    "retry",
    "session",
];

/// A place that does not compile when it is changed is left as it was. After so many builds what is left must compile.
const BUILDS_MAX: usize = 8;

pub(crate) fn main(options: &[&str]) -> ExitCode {
    let part = match options {
        [] => None,
        ["--part", part] => Some(*part),
        _ => return crate::usage(&format!("`mutants --oracles` does not know `{}`", options.join(" "))),
    };
    match run(part) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("xtask mutants: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run(part: Option<&str>) -> Result<(), String> {
    let folder = crate::root().join("target/oracle-mutants");
    let copy = folder.join("checkout");
    copy_checkout(&crate::root(), &copy)?;
    let mutants = build(&folder, &copy, part)?;
    println!("{} mutants of {} places", mutants.len(), mutants.iter().map(|mutant| &mutant.place).collect::<BTreeSet<_>>().len());
    let program = folder.join("target/release").join(format!("reenact-fuzz{}", std::env::consts::EXE_SUFFIX));
    let fates = try_all(&program, &copy, &mutants)?;
    let page = folder.join("unseen.txt");
    std::fs::write(&page, unseen(&mutants, &fates)).map_err(|error| format!("{}: {error}", page.display()))?;
    println!("{}\nwhat no oracle sees: {}", summary(&fates), page.display());
    Ok(())
}

/// Copies what git knows and what is new. A file that is there already with the same content is not touched, so that cargo does not compile it again.
fn copy_checkout(root: &Path, copy: &Path) -> Result<(), String> {
    let listed = Command::new("git").args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root).output();
    let listed = listed.map_err(|error| format!("git could not be started: {error}"))?;
    for name in String::from_utf8_lossy(&listed.stdout).split('\0').filter(|name| !name.is_empty()) {
        let Ok(content) = std::fs::read(root.join(name)) else { continue }; // deleted, or a folder
        write_changed(&copy.join(name), &content)?;
    }
    Ok(())
}

fn write_changed(path: &Path, content: &[u8]) -> Result<(), String> {
    if std::fs::read(path).is_ok_and(|known| known == content) {
        return Ok(());
    }
    let folder = path.parent().ok_or("a file lies in no folder")?;
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(path, content));
    written.map_err(|error| format!("{}: {error}", path.display()))
}

/// Changes the engine in the copy until it compiles; the mutants that are in it.
fn build(folder: &Path, copy: &Path, part: Option<&str>) -> Result<Vec<Mutant>, String> {
    let engine = crate::root().join("src/engine");
    let mut unfit: BTreeSet<PlaceInSource> = BTreeSet::new();
    for round in 0..BUILDS_MAX {
        let mutants = write_mutants(&engine, &copy.join("src/engine"), &unfit, part)?;
        let mut cargo = Command::new("cargo");
        cargo.args(["build", "--quiet", "--release", "--package", "reenact-fuzz", "--message-format", "short"]).current_dir(copy);
        cargo.env("RUSTFLAGS", "--cfg reenact_foreign --cfg reenact_mutants --cap-lints allow");
        let output = cargo
            .env("CARGO_TARGET_DIR", folder.join("target"))
            .output()
            .map_err(|error| format!("cargo could not be started: {error}"))?;
        if output.status.success() {
            return Ok(mutants);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let places: Vec<PlaceInSource> = said.lines().filter_map(place_of_error).collect();
        let known = unfit.len();
        // An error may be told a few lines beside its cause.
        let around = if round == 0 { 0 } else { 3 };
        for PlaceInSource { file, line } in places {
            unfit.extend((line.saturating_sub(around)..=line + around).map(|line| PlaceInSource { file: file.clone(), line }));
        }
        if unfit.len() == known {
            return Err(format!("the changed engine does not compile:\n{said}"));
        }
    }
    Err(format!("the changed engine does not compile after {BUILDS_MAX} builds"))
}

/// `src/engine/query.rs:12:34: error[E0308]: …`.
fn place_of_error(line: &str) -> Option<PlaceInSource> {
    let (place, _) = line.split_once(": error")?;
    let mut parts = place.strip_prefix("src/engine/")?.splitn(3, ':');
    Some(PlaceInSource { file: parts.next()?.into(), line: parts.next()?.parse().ok()? })
}

fn write_mutants(engine: &Path, copy: &Path, unfit: &BTreeSet<PlaceInSource>, part: Option<&str>) -> Result<Vec<Mutant>, String> {
    let mut mutants = Vec::new();
    for path in sources(engine) {
        let file = path.strip_prefix(engine).map_err(|error| error.to_string())?.to_string_lossy().replace('\\', "/");
        let first = file.split('/').next().unwrap_or_default().trim_end_matches(".rs");
        if !PARTS.contains(&first) {
            continue;
        }
        if part.is_some_and(|part| !file.starts_with(part)) {
            continue;
        }
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        write_changed(&copy.join(&file), instrument::instrument(&file, &text, unfit, &mut mutants).as_bytes())?;
    }
    let library = std::fs::read_to_string(engine.join("lib.rs")).map_err(|error| error.to_string())?;
    write_changed(&copy.join("lib.rs"), format!("{library}\n{RUN_TIME}").as_bytes())?;
    Ok(mutants)
}

/// The files of the engine without its tests and its tables of states.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let name = path.file_stem().unwrap_or_default();
            match path.is_dir() {
                _ if name == "tests" || name == "diagram" => (),
                true => folders.push(path),
                false if path.extension().is_some_and(|extension| extension == "rs") => found.push(path),
                false => (),
            }
        }
    }
    found.sort();
    found
}

/// One line for each mutant that changes a transcript and is found by no oracle.
fn unseen(mutants: &[Mutant], fates: &[MutantFate]) -> String {
    let of = |mutant: &Mutant| fates.iter().find(|fate| fate.number == mutant.number);
    let lines = mutants.iter().filter_map(|mutant| {
        let fate = of(mutant).filter(|fate| fate.word == "unseen")?;
        let Mutant { number, place: PlaceInSource { file, line }, change, text } = mutant;
        Some(format!("{number} {file}:{line} {change}: {text} ({})\n", fate.what))
    });
    lines.collect()
}

fn summary(fates: &[MutantFate]) -> String {
    let count = |word: &str| fates.iter().filter(|fate| fate.word == word).count();
    let (found, unseen, equal, unreached) = (count("found"), count("unseen"), count("equal"), count("unreached"));
    let percent = (100 * found).checked_div(found + unseen).unwrap_or(0);
    format!("{found} found, {unseen} unseen, {equal} equal, {unreached} unreached: {percent} % of those that change a transcript are found")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_its_place() {
        let place = place_of_error("src/engine/query/turn.rs:41:9: error[E0308]: mismatched types: expected `bool`");
        assert_eq!(place, Some(PlaceInSource { file: "query/turn.rs".into(), line: 41 }));
        assert_eq!(place_of_error("src/oracle/lib.rs:1:1: error: no"), None);
        assert_eq!(place_of_error("src/engine/query.rs:1:1: warning: unused"), None);
    }

    #[test]
    fn each_part_of_the_engine_is_there() {
        let engine = crate::root().join("src/engine");
        for part in PARTS {
            assert!(engine.join(format!("{part}.rs")).exists(), "{part}");
        }
    }
}
