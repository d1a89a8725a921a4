//! The live driver against real servers, and on a simulated network (M-11).

mod loopback;
mod network;
mod program;
mod same;
mod tls;

use std::path::Path;
use std::sync::Arc;

use reenact::files::scenario::{LoadedScenario, find, load, load_all};
use reenact::world::setup::RunSetup;

/// A scenario from its text.
fn setup(text: &str) -> Arc<RunSetup> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scenario.toml");
    std::fs::write(&path, text).unwrap();
    load(&path, &[]).unwrap_or_else(|error| panic!("{error}")).setup
}

/// A scenario of the repository, with some keys set.
fn shipped(name: &str, set: &[(&str, &str)]) -> LoadedScenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("scenarios/{name}.toml"));
    let set: Vec<(String, String)> = set.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    load(&path, &set).unwrap_or_else(|error| panic!("{error}"))
}

/// All scenarios of a folder of the repository.
fn shipped_in(folder: &str) -> Vec<LoadedScenario> {
    let (paths, errors) = find(&[Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(folder)]);
    assert!(errors.is_empty(), "{errors:?}");
    paths.iter().flat_map(|path| load_all(path, &[]).unwrap_or_else(|error| panic!("{error}"))).collect()
}
