//! The folders of a client that is started here with the environment of this process: those of its starter (K-10).

use std::path::PathBuf;

use reenact_scenario::tape::ClientFolder;
use reenact_wire::prelude::*;

/// Each folder with what it is to the client.
#[expect(
    clippy::disallowed_methods,
    reason = "their names must be recognised in requests, so that they can be replaced with those of another folder"
)]
pub(super) fn inherited() -> impl Iterator<Item = (ClientFolder, PathBuf)> {
    let home = std::env::var_os("HOME").map(|home| (ClientFolder::Home, home.into()));
    let work = std::env::current_dir().ok().map(|work| (ClientFolder::Work, work));
    home.into_iter().chain([(ClientFolder::Tmp, std::env::temp_dir())]).chain(work)
}

/// The same, each with the name that it is shown by, for [`RunSetup::for_client`](reenact_world::setup::RunSetup::for_client).
pub fn named() -> Vec<(String, &'static str)> {
    inherited().map(|(folder, path)| (path.display().to_string(), folder.as_str())).collect()
}
