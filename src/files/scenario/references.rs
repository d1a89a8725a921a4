//! The files that a scenario names: what it extends, its tape, its tables. A scenario may come from anybody, so it reads only files of its own project.

use std::path::{Path, PathBuf};

use super::LoadError;
use super::paths::absolute;
use crate::text;
use reenact_engine::data_file::DataFileError;
use reenact_scenario::parse::{self, Diagnostic, SourceText};
use reenact_wire::prelude::*;

/// Which files a scenario may name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileReach {
    /// Those below the nearest folder above the scenario that has `.git`; without one, those below the scenario's own folder. Links are followed first.
    #[default]
    Project,
    /// Any.
    Anywhere,
}

/// The folder that a scenario's files must be in.
#[derive(Clone, Debug)]
pub(super) struct ReferenceBounds {
    /// Without links; `None` for all folders.
    root: Option<PathBuf>,
}

impl ReferenceBounds {
    pub(super) fn new(file: &Path, reach: FileReach) -> Self {
        let own = || {
            let file = file.canonicalize().unwrap_or_else(|_| file.into());
            let folder = file.parent().unwrap_or(Path::new("")).to_path_buf();
            folder.ancestors().find(|above| above.join(".git").exists()).map_or(folder.clone(), Path::to_path_buf)
        };
        Self { root: (reach == FileReach::Project).then(own) }
    }

    /// Whether the scenario may name this file by this key. A file that is not there is told by those who read it.
    pub(super) fn check(&self, key: &str, file: &Path) -> Result<(), String> {
        let (Some(root), Ok(target)) = (&self.root, file.canonicalize()) else { return Ok(()) };
        if target.starts_with(root) {
            return Ok(());
        }
        Err(format!(
            "`{key}` leads to {}, which is outside of {}: a scenario names files below the nearest folder with `.git`, otherwise below its own \
             folder; move the file there, or add --allow-outside if you trust the scenario",
            target.display(),
            root.display()
        ))
    }
}

/// The files that extend each other, from the one that was named downwards.
pub(super) struct ExtendsChain<'b> {
    bounds: &'b ReferenceBounds,
    files: Vec<PathBuf>,
}

impl<'b> ExtendsChain<'b> {
    pub(super) fn new(file: &Path, bounds: &'b ReferenceBounds) -> Self {
        Self { bounds, files: vec![file.into()] }
    }

    /// The file that the last one extends; paths are relative to the file that says them.
    pub(super) fn next(&mut self, path: &str) -> Result<SourceText, String> {
        let last = self.files.last().map_or(Path::new(""), PathBuf::as_path);
        let file = last.parent().unwrap_or(Path::new("")).join(path);
        let circle = self.files.iter().position(|other| absolute(other) == absolute(&file));
        if let Some(at) = circle {
            let names: Vec<String> = self.files[at..].iter().chain([&file]).map(|file| file.display().to_string()).collect();
            return Err(format!("these scenarios extend each other in a circle: {}", names.join(" -> ")));
        }
        if !file.is_file() {
            return Err(format!("there is no file {} to extend; the path is relative to the file with `extends`", file.display()));
        }
        self.bounds.check("extends", &file)?;
        let text = text::read(&file).map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
        if !has_lines_to_show(&file, &text) {
            return Err(format!("{} is not a part of a scenario; `extends` names a scenario file, NAME.toml", file.display()));
        }
        self.files.push(file.clone());
        Ok(SourceText { name: file.display().to_string(), text })
    }
}

/// Whether messages may repeat lines of this file: it is called a scenario, and has keys of one. Any other file may hold secrets.
pub(super) fn has_lines_to_show(file: &Path, text: &str) -> bool {
    let is_toml = file.extension().is_some_and(|extension| extension == "toml");
    is_toml && (parse::is_scenario(text) || parse::is_scenario_part(text))
}

/// A table that the scenario names, read; its path is relative to the file that says it.
pub(super) struct NamedTable<'s> {
    pub(super) key: &'static str,
    pub(super) path: Option<&'s String>,
    pub(super) said_in: Option<&'s str>,
}

impl NamedTable<'_> {
    /// Where it is.
    pub(super) fn file(&self, scenario: &Path) -> Option<PathBuf> {
        Some(self.said_in.map_or(scenario, Path::new).parent().unwrap_or(Path::new("")).join(self.path?))
    }

    /// Reads it from its file.
    pub(super) fn read<T>(
        &self,
        path: &Path,
        bounds: &ReferenceBounds,
        read: fn(&str) -> Result<T, DataFileError>,
        diagnostic: impl FnOnce(&str) -> Option<Diagnostic>,
    ) -> Result<T, LoadError> {
        let text = || text::read(path).map_err(|error| format!("cannot be read: {error}; the path is relative to the file that names it"));
        let table = bounds.check(self.key, path).and_then(|()| text()).and_then(|text| read(&text).map_err(|error| error.to_string()));
        table.map_err(|problem| {
            let message = format!("{} table {}: {problem}", self.key.trim_end_matches('s'), path.display());
            diagnostic(&message).map_or(LoadError::Read { path: path.into(), problem }, |found| LoadError::Diagnostic(Box::new(found)))
        })
    }
}
