//! The preparation of a client's folders: the files of its profile, a folder of files, and a shell command (K-7).

use tokio::sync::mpsc;

use super::environment::RunFolders;
use super::process::{self, RunSurroundings};
use super::profile::ProfileNames;
use super::{ClientExit, ClientHarness, ClientHarnessError, ClientTerminal};
use reenact_wire::prelude::*;

/// Prepares the folders of a run.
pub(super) async fn prepare(
    drive: &ClientHarness,
    folders: &RunFolders,
    base: &str,
    names: &ProfileNames,
) -> Result<(), ClientHarnessError> {
    drive.profile.iter().try_for_each(|profile| folders.put_files(profile, names)).map_err(ClientHarnessError::Folders)?;
    if let Some(from) = &drive.files {
        folders.copy_files(from).map_err(|problem| ClientHarnessError::Files { folder: from.display().to_string(), problem })?;
    }
    let Some(command) = &drive.setup else { return Ok(()) };
    let quiet = ClientHarness { input: None, keeps_input_open: false, ..drive.clone() };
    let words = ["sh", "-c", command].map(String::from);
    let (_, no_actions) = mpsc::unbounded_channel();
    let (no_signs, _) = mpsc::unbounded_channel();
    let (terminal, marker_url, marker_line) = (ClientTerminal::None, "", None);
    let surroundings = RunSurroundings { folders, base, names, marker_url, marker_line, terminal, signs: &no_signs };
    let output = process::run(&quiet, &words, &surroundings, no_actions).await?;
    if output.ended == ClientExit::Code(0) {
        return Ok(());
    }
    let said: Vec<&str> = output.lines.iter().map(String::as_str).chain(output.errors.lines()).collect();
    Err(ClientHarnessError::Setup { command: command.clone(), ended: output.ended, said: said.join("\n") })
}
