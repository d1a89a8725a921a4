//! Files by a pattern: `*` stands for any text without a slash, as in `/w/sessions/*/*.jsonl`.

use std::fs;
use std::path::{Path, PathBuf};

use reenact_wire::prelude::*;

/// The files that a pattern names, the oldest first. Folders that cannot be read have none.
pub(super) fn files(pattern: &str) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from(if pattern.starts_with('/') { "/" } else { "." })];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        found = found.iter().flat_map(|folder| entries(folder, part)).collect();
    }
    found.retain(|path| path.is_file());
    let age = |path: &PathBuf| (fs::metadata(path).and_then(|file| file.modified()).ok(), path.clone());
    found.sort_by_key(age);
    found
}

/// The text that the last `*` of a pattern stands for in a path.
pub(super) fn last_star(pattern: &str, path: &Path) -> Option<String> {
    let path = path.display().to_string();
    let parts = pattern.split('/').zip(path.split('/'));
    parts.filter(|(part, _)| part.contains('*')).last().and_then(|(part, name)| star(part, name)).map(Into::into)
}

fn entries(folder: &Path, part: &str) -> Vec<PathBuf> {
    if !part.contains('*') {
        return vec![folder.join(part)];
    }
    let names = fs::read_dir(folder).into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| star(part, name).is_some()).map(|name| folder.join(name)).collect()
}

/// The text of a name that the last `*` of a part stands for; `None` where the name does not fit.
fn star<'n>(part: &str, name: &'n str) -> Option<&'n str> {
    let (before, end) = part.rsplit_once('*')?;
    let rest = name.strip_suffix(end)?;
    match before.rsplit_once('*') {
        None => rest.strip_prefix(before),
        // As much as possible is left to the earlier ones.
        Some((_, between)) if !between.is_empty() => {
            let at = rest.rfind(between)?;
            star(&before[..before.len() - between.len()], &rest[..at])?;
            Some(&rest[at + between.len()..])
        }
        Some(_) => star(before, rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_9_a_star_stands_for_text_without_a_slash() {
        for (part, name, expected) in [
            ("*.jsonl", "a.b.jsonl", Some("a.b")),
            ("*", "", Some("")),
            ("*_*.jsonl", "2026-11-22T16_0a-b.jsonl", Some("0a-b")),
            ("a*b*c", "axxbyyc", Some("yy")),
            ("a*b*c", "axxyyc", None),
            ("*.json", "a.jsonl", None),
            ("s-*.json", "t-1.json", None),
        ] {
            assert_eq!(star(part, name), expected, "{part} {name}");
        }
        assert_eq!(last_star("/h/*/x/*.jsonl", Path::new("/h/a/x/7.jsonl")), Some("7".into()));
        assert_eq!(last_star("/h/*/x.jsonl", Path::new("/h/a/x.jsonl")), Some("a".into()));
    }

    #[test]
    fn k_9_files_of_a_pattern_are_found_the_newest_last() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        for (path, age) in [("s/1/b.jsonl", 20), ("s/2/a.jsonl", 10), ("s/2/c.txt", 5), ("s/d.jsonl", 1)] {
            fs::create_dir_all(home.join(path).parent().unwrap()).unwrap();
            fs::write(home.join(path), "x").unwrap();
            let file = fs::File::options().append(true).open(home.join(path)).unwrap();
            file.set_modified(file.metadata().unwrap().modified().unwrap() - core::time::Duration::from_secs(age)).unwrap();
        }
        let found = files(&format!("{}/s/*/*.jsonl", home.display()));
        assert_eq!(found, [home.join("s/1/b.jsonl"), home.join("s/2/a.jsonl")]);
        assert_eq!(files(&format!("{}/none/*", home.display())), Vec::<PathBuf>::new());
    }
}
