//! The environment of a driven client: its folders, and variables with the address of the server.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::profile::{ClientProfile, ProfileNames};
use super::{ClientHarness, ClientSurroundings};
use crate::base_url_variables::{DUMMY_KEY, known_variables};
use crate::network::LOOPBACK;
use crate::no_proxy;
use reenact_children::{FolderGuard, WatcherProgram};
use reenact_scenario::tape::ClientFolder;
use reenact_wire::prelude::*;

/// The folders of one run. They are removed with this, and when this process is killed.
#[derive(Debug)]
pub(super) struct RunFolders {
    root: FolderGuard,
}

impl RunFolders {
    pub(super) fn new(watcher: &WatcherProgram) -> io::Result<Self> {
        // From here on a failure removes what was made.
        let folders = Self { root: FolderGuard::new("reenact-drive", watcher)? };
        for folder in ["home", "tmp", "work"] {
            fs::create_dir(folders.root.path().join(folder))?;
        }
        Ok(folders)
    }

    /// Puts a profile's files in place.
    pub(super) fn put_files(&self, profile: &ClientProfile, names: &ProfileNames) -> io::Result<()> {
        for file in &profile.files {
            // A relative path is one below the working directory.
            let path = self.work().join(names.fill(&file.path));
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(path, names.fill(&file.text))?;
        }
        Ok(())
    }

    /// Copies a folder's files into the working directory.
    pub(super) fn copy_files(&self, from: &Path) -> io::Result<()> {
        copy_entries(from, &self.work())
    }

    /// The names that commands, variables and files may hold.
    pub(super) fn profile_names(&self, base: &str, prompt: &str) -> ProfileNames {
        let shown = |path: PathBuf| path.display().to_string();
        ProfileNames::default()
            .with("base", base)
            .with("base_url", base)
            .with("base_url_v1", format!("{base}/v1"))
            .with("home", shown(self.home()))
            .with("work", shown(self.work()))
            .with("tmp", shown(self.root.path().join("tmp")))
            .with("prompt", prompt)
            .with("session", "")
    }

    pub(super) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    pub(super) fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// Each folder with the name that it is shown by.
    pub(super) fn named(&self) -> Vec<(String, &'static str)> {
        let shown = |path: &Path| path.display().to_string();
        vec![
            (shown(&self.home()), ClientFolder::Home.as_str()),
            (shown(&self.root.path().join("tmp")), ClientFolder::Tmp.as_str()),
            (shown(&self.work()), ClientFolder::Work.as_str()),
            (shown(self.root.path()), "<run>"),
        ]
    }

    /// The variables that the client is started with; `PATH` and the like come from the calling process.
    pub(super) fn variables(&self, drive: &ClientHarness, base: &str, names: &ProfileNames) -> Vec<(String, String)> {
        let shown = |path: &Path| path.display().to_string();
        let tmp = shown(&self.root.path().join("tmp"));
        let mut variables = vec![("HOME", shown(&self.home())), ("TMPDIR", tmp), ("ANTHROPIC_API_KEY", DUMMY_KEY.into())];
        variables.extend(known_variables(base));
        if drive.surroundings == ClientSurroundings::Clean {
            variables.extend([("LANG", "C.UTF-8".into()), ("TZ", "UTC".into()), ("TERM", "dumb".into()), ("NO_COLOR", "1".into())]);
        }
        let own = variables.into_iter().map(|(name, value)| (name.to_string(), value));
        let of_profile = drive.profile.iter().flat_map(|profile| &profile.env).map(|(name, value)| (name.clone(), names.fill(value)));
        // Last, because it holds what the others say of proxies.
        let of_name = |name: &str| drive.variables.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let before = |name: &str| of_name(name).or_else(|| outer(name).filter(|_| drive.surroundings == ClientSurroundings::Inherited));
        let no_proxy = no_proxy::variables(&LOOPBACK.ip().to_string(), before).map(|(name, value)| (name.to_string(), value));
        let given = drive.variables.iter().map(|(name, value)| (name.clone(), names.fill(value)));
        own.chain(of_profile).chain(given).chain(no_proxy).collect()
    }
}

/// A text in which each folder has the name that it is shown by.
pub(super) fn with_folder_names(text: &str, folders: &[(String, &'static str)]) -> String {
    folders.iter().fold(text.to_owned(), |shown, (folder, name)| shown.replace(folder, name))
}

/// Copies what is in a folder. Links stay links.
fn copy_entries(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy_entries(&entry.path(), &target)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path())?, target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// A variable of the calling process.
#[expect(clippy::disallowed_methods, reason = "a client that has the environment of the calling process must not lose an entry of it")]
fn outer(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The variables of the calling process that every client gets.
#[expect(clippy::disallowed_methods, reason = "programs are found on the search path of the calling process")]
pub(super) fn inherited() -> Vec<(String, String)> {
    ["PATH", "SYSTEMROOT", "LD_LIBRARY_PATH"].into_iter().filter_map(|name| Some((name.to_string(), std::env::var(name).ok()?))).collect()
}
