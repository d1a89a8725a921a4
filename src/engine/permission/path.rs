//! Paths and working directories (P-4): pure functions over paths whose links are followed already.

use reenact_wire::prelude::*;

/// Files that no tool reads or writes, wherever the working directories lie.
const DENIED_FILES: [&str; 2] = ["/etc/passwd", "/etc/shadow"];

/// Folders of the system whose files are denied as well.
const DENIED_FOLDERS: [&[&str]; 2] = [&["system"], &["windows", "system32"]];

/// Names of private keys in a folder `.ssh` begin so. With `.pub` at the end it is a public one.
const KEY_PREFIX: &str = "id_";

/// Which paths may be used unasked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PathAccess {
    /// The working directory, and those that were added.
    pub directories: Vec<Arc<str>>,
    /// More files and folders that are denied.
    pub denied: Vec<Arc<str>>,
}

/// The decision about a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathAccessDecision {
    /// It lies inside.
    Inside,
    /// It lies outside: somebody must be asked.
    Outside,
    /// It is on the list of what is never read or written.
    Denied,
}

impl PathAccess {
    /// The decision about an absolute path behind all links. The list of what is denied wins.
    pub fn decision(&self, path: &str) -> PathAccessDecision {
        let parts = components(path);
        if is_denied(&parts) || self.denied.iter().any(|denied| is_same_or_below(&parts, &components(denied))) {
            return PathAccessDecision::Denied;
        }
        let is_inside = lies_inside(&parts, self.directories.iter().map(|directory| &**directory));
        if is_inside { PathAccessDecision::Inside } else { PathAccessDecision::Outside }
    }
}

/// Whether a path lies in one of the directories, compared by component.
pub(crate) fn lies_inside<'a>(parts: &[&str], mut directories: impl Iterator<Item = &'a str>) -> bool {
    directories.any(|directory| parts.starts_with(&components(directory)))
}

/// The components of a path, without `.`, and with `..` taken at its word: there are no links to follow here.
pub fn components(path: &str) -> Vec<&str> {
    let mut components = Vec::new();
    for component in path.split('/') {
        match component {
            "" | "." => (),
            ".." => drop(components.pop()),
            name => components.push(name),
        }
    }
    components
}

fn is_denied(parts: &[&str]) -> bool {
    let has_file = DENIED_FILES.iter().any(|file| is_same_or_below(parts, &components(file)));
    let drive = parts.first().is_some_and(|first| first.len() == 2 && first.ends_with(':'));
    let has_folder = DENIED_FOLDERS.iter().any(|folder| is_same_or_below(&parts[usize::from(drive)..], folder));
    let is_key = match parts {
        [.., folder, name] => {
            let name = plain_name(name);
            plain_name(folder) == ".ssh" && name.starts_with(KEY_PREFIX) && !name.ends_with(".pub")
        }
        _ => false,
    };
    has_file || has_folder || is_key
}

/// Whether a path is this one or lies in it. Some file systems do not tell cases apart, and some drop dots and blanks at the end of a name.
fn is_same_or_below(parts: &[&str], denied: &[&str]) -> bool {
    parts.len() >= denied.len() && parts.iter().zip(denied).all(|(part, denied)| plain_name(part) == plain_name(denied))
}

fn plain_name(name: &str) -> String {
    name.trim_end_matches(['.', ' ']).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_4_a_path_lies_inside_by_its_components() {
        let access = PathAccess { directories: vec!["/w".into(), "/more/a".into()], denied: vec!["/w/secret".into()] };
        let table = [
            ("/w", PathAccessDecision::Inside),
            ("/w/a/b", PathAccessDecision::Inside),
            ("/wide/a", PathAccessDecision::Outside),
            ("/w/../etc/hosts", PathAccessDecision::Outside),
            ("/more/a/b", PathAccessDecision::Inside),
            ("/more", PathAccessDecision::Outside),
            ("/w/secret", PathAccessDecision::Denied),
            ("/w/SECRET./x", PathAccessDecision::Denied),
            ("/w/secrets", PathAccessDecision::Inside),
            ("/etc/passwd", PathAccessDecision::Denied),
            ("/etc/passwd-", PathAccessDecision::Outside),
            ("/ETC/Shadow", PathAccessDecision::Denied),
            ("/h/u/.ssh/id_ed25519", PathAccessDecision::Denied),
            ("/w/.SSH/ID_RSA. ", PathAccessDecision::Denied),
            ("/h/u/.ssh/id_ed25519.pub", PathAccessDecision::Outside),
            ("/System/Library", PathAccessDecision::Denied),
            ("/c:/Windows/System32/drivers", PathAccessDecision::Denied),
            ("/w/System", PathAccessDecision::Inside),
        ];
        for (path, decision) in table {
            assert_eq!(access.decision(path), decision, "{path}");
        }
    }
}
