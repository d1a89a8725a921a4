//! The environment of a driven client: its folders, and variables with the address of the server.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{ClientHarness, ClientSurroundings};
use crate::children::{FolderGuard, WatcherProgram};
use crate::live::base_url_variables::{DUMMY_KEY, known_variables};
use crate::live::network::LOOPBACK;
use crate::live::no_proxy;
use crate::prelude::*;
use crate::scenario::drive::KnownClient;
use crate::scenario::tape::ClientFolder;

/// The folders of one run. They are removed with this, and when this process is killed.
#[derive(Debug)]
pub(super) struct RunFolders {
    root: FolderGuard,
}

impl RunFolders {
    pub(super) fn new(client: Option<KnownClient>, watcher: &WatcherProgram) -> io::Result<Self> {
        // From here on a failure removes what was made.
        let folders = Self { root: FolderGuard::new("reenact-drive", watcher)? };
        for folder in ["home", "tmp", "work"] {
            fs::create_dir(folders.root.path().join(folder))?;
        }
        if client == Some(KnownClient::Opencode) {
            fs::create_dir_all(folders.home().join(".config/opencode"))?;
        }
        Ok(folders)
    }

    /// Writes the base URL into the file from which a client reads it.
    pub(super) fn tell_base(&self, client: Option<KnownClient>, base: &str) -> io::Result<()> {
        if client != Some(KnownClient::Opencode) {
            return Ok(());
        }
        let options = serde_json::json!({ "baseURL": format!("{base}/v1"), "apiKey": DUMMY_KEY });
        let settings = serde_json::json!({ "autoupdate": false, "share": "disabled", "provider": { "anthropic": { "options": options } } });
        fs::write(self.home().join(".config/opencode/opencode.json"), settings.to_string())
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
    pub(super) fn variables(&self, drive: &ClientHarness, base: &str) -> Vec<(String, String)> {
        let shown = |path: &Path| path.display().to_string();
        let tmp = shown(&self.root.path().join("tmp"));
        let mut variables = vec![("HOME", shown(&self.home())), ("TMPDIR", tmp.clone()), ("ANTHROPIC_API_KEY", DUMMY_KEY.into())];
        variables.extend(known_variables(base));
        if drive.surroundings == ClientSurroundings::Clean {
            variables.extend([("LANG", "C.UTF-8".into()), ("TZ", "UTC".into()), ("TERM", "dumb".into()), ("NO_COLOR", "1".into())]);
        }
        match drive.client {
            Some(KnownClient::ClaudeCode) => variables.extend([
                ("CLAUDE_CODE_TMPDIR", tmp),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".into()),
                ("DISABLE_AUTOUPDATER", "1".into()),
                ("DISABLE_TELEMETRY", "1".into()),
            ]),
            Some(KnownClient::Opencode) => variables.extend([
                ("XDG_CONFIG_HOME", shown(&self.home().join(".config"))),
                ("OPENCODE_DISABLE_MODELS_FETCH", "1".into()),
                ("OPENCODE_DISABLE_AUTOUPDATE", "1".into()),
            ]),
            Some(KnownClient::Sdk) | None => (),
        }
        let own = variables.into_iter().map(|(name, value)| (name.to_string(), value));
        // Last, because it holds what the others say of proxies.
        let of_name = |name: &str| drive.variables.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let before = |name: &str| of_name(name).or_else(|| outer(name).filter(|_| drive.surroundings == ClientSurroundings::Inherited));
        let no_proxy = no_proxy::variables(&LOOPBACK.ip().to_string(), before).map(|(name, value)| (name.to_string(), value));
        let given = drive.variables.iter().map(|(name, value)| (name.clone(), value.replace("{base}", base)));
        own.chain(given).chain(no_proxy).collect()
    }
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
