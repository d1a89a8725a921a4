//! Scenarios that an earlier import of the same name wrote, and this one does not: it has fewer threads (K-12).

use std::path::{Path, PathBuf};

use serde::Deserialize;

use reenact_files::{file_set, text};

/// The keys of a scenario that matter here.
#[derive(Deserialize)]
struct TapeOfScenario {
    tape: String,
}

/// Whether an import of this name may write this file.
pub(super) fn is_scenario_of(name: &str, file: &str) -> bool {
    file.strip_prefix(name).is_some_and(|rest| rest == ".toml" || thread_number(rest, ".thread-").is_some())
}

/// The files `STEM.thread-N.toml` that replay `tape` and are none of `scenarios`, in order. A file that only has such a name is somebody else's.
pub(super) fn beyond(scenarios: &[PathBuf], stem: &Path, tape: &str) -> Vec<PathBuf> {
    let start = format!("{}.thread-", stem.file_name().unwrap_or_default().to_string_lossy());
    let mut found: Vec<(u32, PathBuf)> = file_set::names_beside(stem)
        .into_iter()
        .filter_map(|name| Some((thread_number(name.to_str()?, &start)?, stem.with_file_name(name))))
        .filter(|(_, path)| !scenarios.contains(path) && replays(path, tape))
        .collect();
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}

/// As an import writes it: from 2, without zeros before it.
fn thread_number(file: &str, start: &str) -> Option<u32> {
    let digits = file.strip_prefix(start)?.strip_suffix(".toml")?;
    digits.parse().ok().filter(|number: &u32| *number > 1 && number.to_string() == digits)
}

fn replays(path: &Path, tape: &str) -> bool {
    text::read(path).is_ok_and(|text| toml::from_str::<TapeOfScenario>(&text).is_ok_and(|scenario| scenario.tape == tape))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_12_scenarios_of_an_earlier_import_are_known_by_their_name_and_their_tape() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let own = "# A comment.\ntitle = \"x\"\ntape = \"x.tape.jsonl\"\n\n[[prompt]]\ntext = \"a\"\n";
        for name in ["x.thread-2.toml", "x.thread-3.toml", "x.thread-10.toml", "x.thread-03.toml", "x.thread-1.toml", "x.thread-4.toml.old"]
        {
            std::fs::write(at(name), own).unwrap();
        }
        for name in ["x.thread-+5.toml", "x.thread-5b.toml", "xx.thread-3.toml", "x.toml", "x.mine.toml"] {
            std::fs::write(at(name), own).unwrap();
        }
        std::fs::write(at("x.thread-6.toml"), own.replace("x.tape", "y.tape")).unwrap();
        std::fs::write(at("x.thread-7.toml"), "# tape = \"x.tape.jsonl\"\n[a]\ntape = \"x.tape.jsonl\"\n").unwrap();
        std::fs::write(at("x.thread-8.toml"), "tape = \"x.tape.jsonl\"\n[[[").unwrap();
        std::fs::create_dir(at("x.thread-9.toml")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(at("x.thread-3.toml"), at("x.thread-11.toml")).unwrap();
        let found = beyond(&[at("x.toml"), at("x.thread-2.toml")], &at("x"), "x.tape.jsonl");
        assert_eq!(found, [at("x.thread-3.toml"), at("x.thread-10.toml")]);
    }
}
