//! A scenario with a whole plan as a file: beside what is written stand the files that it needs, wherever the new one is (F-11).

use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use super::scenario::LoadedScenario;
use super::{atomic, open};
use reenact_scenario::language::scenario_text;
use reenact_scenario::types::Scenario;
use reenact_wire::prelude::*;

/// How each such file begins.
const MARK: &str = "The run of scenario ";

/// Writes `scenario`, which was made from `loaded`; what that extends and which of its matrix it is stands in it already.
///
/// # Errors
/// Those of the file system.
pub fn write(path: &Path, loaded: &LoadedScenario, scenario: Scenario) -> io::Result<()> {
    let comments = [
        format!("{MARK}{} with all its choices.", loaded.name),
        String::from("The choices in [plan] hold under every seed. A choice that is removed is drawn again."),
    ];
    // A folder that is there has a place from which the other files are seen.
    fs::create_dir_all(path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")))?;
    atomic::write(path, scenario_file_text(path, loaded, scenario, &comments).as_bytes())
}

/// The text of any scenario that was made from `loaded`, as a file at `path` has it, with comments at its head.
pub fn scenario_file_text(path: &Path, loaded: &LoadedScenario, mut scenario: Scenario, comments: &[String]) -> String {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let (Some(tape), Some(file)) = (&mut scenario.tape, &loaded.tape_file) {
        tape.path = seen_from(folder, file);
    }
    for (path, file) in [(&mut scenario.prices, &loaded.prices_file), (&mut scenario.windows, &loaded.windows_file)] {
        if let (Some(path), Some(file)) = (path, file) {
            *path = seen_from(folder, file);
        }
    }
    let dir = scenario.workspace.as_mut().and_then(|workspace| workspace.dir.as_mut());
    if let (Some(path), Some(found)) = (dir, &loaded.workspace_folder) {
        *path = seen_from(folder, found);
    }
    scenario_text(&scenario, comments)
}

/// Whether a file was written here, and may be written anew.
pub fn is_ours(path: &Path) -> bool {
    open::is_ours(path, &format!("# {MARK}"))
}

/// A file's path as it is written in a file of `folder`.
fn seen_from(folder: &Path, file: &Path) -> String {
    let absolute = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.into());
    let (folder, file) = (absolute(folder), absolute(file));
    let (from, to): (Vec<Component<'_>>, Vec<Component<'_>>) = (folder.components().collect(), file.components().collect());
    let common = from.iter().zip(&to).take_while(|(from, to)| from == to).count();
    if common == 0 {
        return file.to_string_lossy().into_owned();
    }
    let up = from[common..].iter().map(|_| Component::ParentDir);
    let path: PathBuf = up.chain(to[common..].iter().copied()).collect();
    path.to_string_lossy().replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f_11_files_are_named_as_the_new_file_sees_them() {
        let of = |folder: &str, file: &str| seen_from(Path::new(folder), Path::new(file));
        assert_eq!(of("/no/a/b", "/no/a/b/x"), "x");
        assert_eq!(of("/no/a/b", "/no/a/c/x"), "../c/x");
        assert_eq!(of("/no/a/b", "/other/x"), "../../../other/x");
    }
}
