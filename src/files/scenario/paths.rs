//! The paths of scenarios: a combination behind `@`, the name below `scenarios`, and the path of the snapshot.

use std::path::{Path, PathBuf};

/// Where the snapshot of a scenario is: `snapshots` beside the folder `scenarios` that it is in, under the same name; elsewhere in
/// a folder `snapshots` beside the file.
pub fn snapshot_path(path: &Path) -> PathBuf {
    let (root, _) = below_scenarios(split(path).0);
    root.join("snapshots").join(format!("{}.snap", name_of(path)))
}

/// The path of a scenario's file from the folder that holds its `snapshots`: `scenarios/executor/order.toml`.
pub fn path_beside_snapshots(path: &Path) -> PathBuf {
    let file = absolute(split(path).0);
    let (root, _) = below_scenarios(&file);
    file.strip_prefix(root).unwrap_or(&file).into()
}

/// The files that a snapshot could be of, be they there or not.
pub fn possible_owners(snapshot: &Path) -> Vec<PathBuf> {
    let parts: Vec<_> = snapshot.components().collect();
    let Some(at) = parts.iter().rposition(|part| part.as_os_str() == "snapshots") else { return Vec::new() };
    let root: PathBuf = parts[..at].iter().collect();
    let below = parts[at + 1..].iter().collect::<PathBuf>().with_extension("");
    let name = below.to_string_lossy();
    let file = name.split('@').next().unwrap_or_default();
    let mut owners = Vec::new();
    for folder in [root.join("scenarios"), root] {
        for end in ["", ".toml", ".tape.jsonl", ".jsonl"] {
            owners.extend([&*name, file].map(|name| folder.join(format!("{name}{end}"))));
        }
    }
    owners
}

/// Where the small scenarios go that show a defect of this one: `regressions` in the folder `scenarios` that it is in, elsewhere beside the file.
pub fn regressions_folder(path: &Path) -> PathBuf {
    let file = split(path).0;
    let components: Vec<_> = file.components().collect();
    let at = components[..components.len().saturating_sub(1)].iter().rposition(|component| component.as_os_str() == "scenarios");
    let folder = at.map_or_else(|| file.parent().unwrap_or(Path::new("")).into(), |at| components[..=at].iter().collect::<PathBuf>());
    folder.join("regressions")
}

/// `a/scenarios/executor/order.toml` is `executor/order`; elsewhere the file's own name. A combination stays behind it.
pub fn name_of(path: &Path) -> String {
    let (file, combination) = split(path);
    let (_, below) = below_scenarios(file);
    let text = below.to_string_lossy().replace('\\', "/");
    let text = text.trim_end_matches(".toml").trim_end_matches(".jsonl").trim_end_matches(".tape");
    combination.map_or_else(|| text.to_string(), |combination| format!("{text}@{combination}"))
}

/// The path without links and dots; as it is where the system does not say.
pub fn absolute(path: &Path) -> PathBuf {
    let (file, combination) = split(path);
    match (file.canonicalize(), combination) {
        (Ok(file), Some(combination)) => with_combination(&file, combination),
        (Ok(file), None) => file,
        (Err(_), _) => path.into(),
    }
}

/// `x.toml@seed=1` is the file `x.toml` and the combination `seed=1`. A file that has an `@` in its own name is not taken apart.
pub(super) fn split(path: &Path) -> (&Path, Option<&str>) {
    let whole = path.to_str().filter(|_| !path.exists());
    match whole
        .and_then(|whole| whole.rsplit_once(".toml@").map(|(before, combination)| (before.len() + ".toml".len(), combination, whole)))
    {
        Some((file_length, combination, whole)) => (Path::new(&whole[..file_length]), Some(combination)),
        None => (path, None),
    }
}

pub(super) fn with_combination(file: &Path, combination: &str) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push("@");
    path.push(combination);
    path.into()
}

/// The folder that holds `scenarios`, and the path below that; for a file elsewhere its own folder and its name. However the path is
/// written, the same file has the same place.
fn below_scenarios(path: &Path) -> (PathBuf, PathBuf) {
    let whole = absolute(path);
    let components: Vec<_> = whole.components().collect();
    let Some(at) = components.iter().rposition(|component| component.as_os_str() == "scenarios").filter(|at| at + 1 < components.len())
    else {
        return (path.parent().unwrap_or(Path::new("")).into(), path.file_name().map(PathBuf::from).unwrap_or_default());
    };
    (components[..at].iter().collect(), components[at + 1..].iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_concept_s_name_is_its_path_in_scenarios_and_snapshots() {
        let of = |path: &str| (name_of(Path::new(path)), snapshot_path(Path::new(path)).display().to_string());
        let pair = |name: &str, snapshot: &str| (name.to_string(), snapshot.to_string());
        assert_eq!(of("scenarios/executor/order.toml"), pair("executor/order", "snapshots/executor/order.snap"));
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().display();
        let here = of(&format!("{checkout}/scenarios/query/read-one-file.toml"));
        assert_eq!(here.0, "query/read-one-file");
        assert_eq!(of(&format!("{checkout}/scenarios/query/../query/read-one-file.toml")), here, "however it is written");
        assert_eq!(of("/x/scenarios/a/b/c.toml"), pair("a/b/c", "/x/snapshots/a/b/c.snap"));
        assert_eq!(of("mine/weather.toml"), pair("weather", "mine/snapshots/weather.snap"));
        assert_eq!(path_beside_snapshots(Path::new("/x/scenarios/a/b.toml@seed=1")), Path::new("scenarios/a/b.toml"));
        assert_eq!(path_beside_snapshots(Path::new("mine/weather.toml")), Path::new("weather.toml"));
        assert_eq!(of("w.tape.jsonl"), pair("w", "snapshots/w.snap"));
        assert_eq!(of("scenarios/query/none.toml@seed=1"), pair("query/none@seed=1", "snapshots/query/none@seed=1.snap"));
    }
}
