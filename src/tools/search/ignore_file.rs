//! The files that a `.gitignore` names.

use reenact_wire::prelude::*;
use regex::Regex;

use super::glob_pattern::expression;

/// The lines of one `.gitignore`.
#[derive(Clone, Debug)]
pub(crate) struct IgnoreFile {
    /// Its folder, with a slash at the end.
    folder: String,
    lines: Vec<IgnoreLine>,
}

#[derive(Clone, Debug)]
struct IgnoreLine {
    compiled: Regex,
    is_taken_back: bool,
    is_for_folders: bool,
    /// Whether it is held against the name alone.
    is_for_name: bool,
}

impl IgnoreFile {
    /// Reads the text of the file in this folder. A line that cannot be read says nothing.
    pub(crate) fn new(folder: &str, text: &str) -> Self {
        let folder = if folder.ends_with('/') { folder.to_owned() } else { format!("{folder}/") };
        Self { folder, lines: text.lines().filter_map(IgnoreLine::new).collect() }
    }

    /// Whether it says of this path that it is ignored, or that it is not; the last line that fits decides.
    pub(crate) fn verdict(&self, path: &str, is_folder: bool) -> Option<bool> {
        let below = path.strip_prefix(&self.folder)?;
        let name = below.rsplit('/').next().unwrap_or_default();
        let fits =
            |line: &&IgnoreLine| (is_folder || !line.is_for_folders) && line.compiled.is_match(if line.is_for_name { name } else { below });
        self.lines.iter().rev().find(fits).map(|line| !line.is_taken_back)
    }
}

impl IgnoreLine {
    fn new(line: &str) -> Option<Self> {
        let mut line = line.strip_suffix('\r').unwrap_or(line);
        while let Some(shorter) = line.strip_suffix(' ').filter(|shorter| !shorter.ends_with('\\')) {
            line = shorter;
        }
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        let is_taken_back = line.starts_with('!');
        let line = line.strip_prefix('!').unwrap_or(line);
        let is_for_folders = line.ends_with('/');
        let line = line.strip_suffix('/').unwrap_or(line);
        let is_for_name = !line.contains('/');
        let line = line.strip_prefix('/').unwrap_or(line);
        let compiled = Regex::new(&expression(line, false).ok()?).ok()?;
        (!line.is_empty()).then_some(Self { compiled, is_taken_back, is_for_folders, is_for_name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b_6_lines_of_a_gitignore() {
        let file = IgnoreFile::new("/w", "# no line\n*.log\n!keep.log\nbuild/\n/top\nsrc/*.tmp\n\\#odd\ntrail  \nx\\ \n**/deep\n");
        let table = [
            ("/w/a.log", false, Some(true)),
            ("/w/b/a.log", false, Some(true)),
            ("/w/keep.log", false, Some(false)),
            ("/w/build", true, Some(true)),
            ("/w/build", false, None),
            ("/w/a/build", true, Some(true)),
            ("/w/top", false, Some(true)),
            ("/w/a/top", false, None),
            ("/w/src/a.tmp", false, Some(true)),
            ("/w/a/src/a.tmp", false, None),
            ("/w/#odd", false, Some(true)),
            ("/w/trail", false, Some(true)),
            ("/w/x ", false, Some(true)),
            ("/w/a/b/deep", false, Some(true)),
            ("/v/a.log", false, None),
        ];
        for (path, is_folder, expected) in table {
            assert_eq!(file.verdict(path, is_folder), expected, "{path}");
        }
    }
}
