//! The places where agents keep their sessions, by their own variables of the environment.

use std::env;
use std::path::{Path, PathBuf};

use crate::prelude::*;
use crate::stores::StoreFormat;

/// A place that is looked at.
#[derive(Clone, Debug)]
pub(in crate::cli) struct AgentPlace {
    /// The agent that uses it; `None` for a path that was named.
    pub(in crate::cli) agent: Option<&'static str>,
    /// The file or folder.
    pub(in crate::cli) path: PathBuf,
    /// Whether there is something.
    pub(in crate::cli) is_there: bool,
}

/// The name of an agent whose sessions are found and not read.
const CRUSH: &str = "crush";

/// A folder of an agent.
struct AgentFolder {
    agent: &'static str,
    /// The variable that names the folder, where the agent has one.
    variable: Option<&'static str>,
    /// Where it is without the variable, below the folder of the user or that of data.
    usual: UsualFolder,
    /// The files and folders in it that hold sessions.
    below: &'static [&'static str],
}

/// Where agents put their folders.
enum UsualFolder {
    /// Below the user's own.
    Home(&'static str),
    /// Below that of data: XDG_DATA_HOME, or `~/.local/share`.
    Data(&'static str),
    /// Below the working directory.
    Project(&'static str),
}

const FOLDERS: [AgentFolder; 9] = [
    AgentFolder {
        agent: StoreFormat::ClaudeCode.as_str(),
        variable: Some("CLAUDE_CONFIG_DIR"),
        usual: UsualFolder::Home(".claude"),
        below: &["projects"],
    },
    AgentFolder {
        agent: StoreFormat::Pi.as_str(),
        variable: Some("PI_CODING_AGENT_DIR"),
        usual: UsualFolder::Home(".pi/agent"),
        below: &["sessions"],
    },
    AgentFolder {
        agent: StoreFormat::Continue.as_str(),
        variable: Some("CONTINUE_GLOBAL_DIR"),
        usual: UsualFolder::Home(".continue"),
        below: &["sessions"],
    },
    AgentFolder { agent: StoreFormat::Cline.as_str(), variable: None, usual: UsualFolder::Home(".cline/data"), below: &["sessions"] },
    AgentFolder {
        agent: StoreFormat::Codex.as_str(),
        variable: Some("CODEX_HOME"),
        usual: UsualFolder::Home(".codex"),
        below: &["sessions"],
    },
    AgentFolder { agent: StoreFormat::Gptme.as_str(), variable: None, usual: UsualFolder::Data("gptme"), below: &["logs"] },
    AgentFolder {
        agent: StoreFormat::Opencode.as_str(),
        variable: None,
        usual: UsualFolder::Data("opencode"),
        below: &["opencode.db", "storage"],
    },
    AgentFolder { agent: CRUSH, variable: None, usual: UsualFolder::Data("crush"), below: &["crush.db"] },
    AgentFolder { agent: CRUSH, variable: None, usual: UsualFolder::Project(".crush"), below: &["crush.db"] },
];

impl AgentPlace {
    /// A path of the command line.
    pub(super) fn named(path: PathBuf) -> Self {
        let is_there = path.exists();
        Self { agent: None, path, is_there }
    }
}

/// The usual places of all agents, or of one.
///
/// # Errors
/// Where nobody knows the user's folder.
pub(super) fn usual(only: Option<StoreFormat>) -> Result<Vec<AgentPlace>, String> {
    let home = variable("HOME")
        .ok_or("the variable HOME is not set, so the folders of agents are not known: name files or folders of sessions")?;
    let data = variable("XDG_DATA_HOME").unwrap_or_else(|| home.join(".local/share"));
    let mut places = Vec::new();
    for AgentFolder { agent, variable: own, usual, below } in &FOLDERS {
        if only.is_some_and(|only| only.as_str() != *agent) {
            continue;
        }
        let folder = own.and_then(variable).unwrap_or_else(|| usual.below(&home, &data));
        let paths = below.iter().map(|below| folder.join(below));
        places.extend(paths.map(|path| AgentPlace { agent: Some(agent), is_there: path.exists(), path }));
    }
    Ok(places)
}

impl UsualFolder {
    fn below(&self, home: &Path, data: &Path) -> PathBuf {
        match self {
            Self::Home(folder) => home.join(folder),
            Self::Data(folder) => data.join(folder),
            Self::Project(folder) => PathBuf::from(folder),
        }
    }
}

/// A folder that a variable of the environment names.
#[expect(clippy::disallowed_methods, reason = "agents find their sessions by these variables, and docs/doctor.md names them")]
fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}
