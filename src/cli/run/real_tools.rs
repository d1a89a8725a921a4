//! `--tools DIR` at level live: the built-in tools work for real in a folder that is named, and the user at the terminal is asked (P-1).

use std::io::{IsTerminal as _, Write as _, stderr, stdin};
use std::path::Path;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::super::output::complain;
use super::super::watcher;
use crate::engine::contract::PermissionAnswer;
use crate::files::scenario::{LoadedScenario, ScenarioVariants};
use crate::live::driver::{PermissionRequest, RealTools};
use crate::live::web_fetch::WebFetch;
use crate::prelude::*;
use crate::scenario::types::Scenario;
use crate::scenario::workspace::WorkspaceScript;
use crate::tool_host::{CommandPlacement, ToolHost, ToolHostOptions};

/// So much of an input is shown with a question.
const SHOWN_CHARACTERS: usize = 600;

/// The scenario with the tools as they are for real: their definitions, their folder, and permissions by default.
pub(super) fn with_real_tools(scenario: &LoadedScenario, folder: &Path) -> Result<LoadedScenario, String> {
    if scenario.setup.scenario.workspace.is_some() {
        return Err(format!("{}: it has a [workspace] of its own; leave out --tools", scenario.path.display()));
    }
    let root = std::fs::canonicalize(folder).map_err(|error| format!("--tools {}: {error}", folder.display()))?;
    let root = root.to_str().filter(|_| root.is_dir()).ok_or_else(|| format!("--tools {}: this is not a folder", folder.display()))?;
    let mut changed = scenario.setup.scenario.clone();
    changed.settings.session.cwd = root.into();
    changed.settings.permissions.get_or_insert_default();
    changed.workspace = Some(WorkspaceScript::default());
    let variants = ScenarioVariants::new(scenario).map_err(|error| error.to_string())?;
    let setup = variants.ready(changed).ok_or_else(|| format!("{}: it cannot have real tools", scenario.path.display()))?;
    Ok(LoadedScenario { setup, ..scenario.clone() })
}

/// The real tools of a run. It is to be called in a runtime. The task that asks people is one of `tasks`.
pub(super) fn tools(scenario: &Scenario, private_hosts: &[String], tasks: &mut JoinSet<()>) -> Result<RealTools, String> {
    let permissions = scenario.settings.permissions.clone().unwrap_or_default();
    let folder = Path::new(&*scenario.settings.session.cwd);
    let options = ToolHostOptions {
        directory: folder.to_owned(),
        directories: permissions.directories.clone(),
        watcher: watcher()?,
        placement: CommandPlacement::ByCommand,
    };
    let host = ToolHost::open(options).map_err(|error| format!("--tools {}: {error}", folder.display()))?;
    let asker = scenario.permissions.is_empty().then(|| asker(tasks));
    let web = WebFetch { private_hosts: private_hosts.to_vec() };
    Ok(RealTools { host, asker, web, rules: permissions.rules })
}

/// Where questions go: to the terminal, one after the other; without a terminal everything that is asked about is refused.
fn asker(tasks: &mut JoinSet<()>) -> mpsc::UnboundedSender<PermissionRequest> {
    let (sender, questions) = mpsc::unbounded_channel();
    if stdin().is_terminal() {
        tasks.spawn(ask_each(questions));
    } else {
        complain("note: the input is no terminal, so nobody can be asked: what needs a question is refused");
        tasks.spawn(refuse_each(questions));
    }
    sender
}

async fn refuse_each(mut questions: mpsc::UnboundedReceiver<PermissionRequest>) {
    while let Some(question) = questions.recv().await {
        complain(&format!("refused: {}: {}", shown(&question), question.reason));
        let reason = "nobody is there who could be asked".into();
        let _ = question.reply.send(PermissionAnswer::Refuse { reason });
    }
}

async fn ask_each(mut questions: mpsc::UnboundedReceiver<PermissionRequest>) {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(mut question) = questions.recv().await {
        let about = shown(&question);
        let rule = question.suggestions.first();
        let more = rule.map(|rule| format!(", a to allow {rule} from now on")).unwrap_or_default();
        let _ = write!(stderr(), "{about}\n  {}\n  y to allow it once{more}, anything else to refuse: ", question.reason);
        let answer = tokio::select! {
            biased;
            line = lines.next_line() => line.ok().flatten().unwrap_or_else(|| {
                complain("");
                String::new()
            }),
            () = question.reply.closed() => {
                complain("\nthe question is withdrawn; press Enter");
                let _ = lines.next_line().await;
                continue;
            }
        };
        let rules = rule.cloned().into_iter().collect();
        let answer = match answer.trim() {
            "y" | "yes" => PermissionAnswer::Allow { updated_input: None, rules: Vec::new() },
            "a" => PermissionAnswer::Allow { updated_input: None, rules },
            other => PermissionAnswer::Refuse { reason: Arc::from(if other.is_empty() { "the user said no" } else { other }) },
        };
        let _ = question.reply.send(answer);
    }
}

/// `Bash {"command":"make"}`
fn shown(question: &PermissionRequest) -> String {
    let input = question.tool_use.input.as_str();
    let mut shown: String = input.chars().take(SHOWN_CHARACTERS).collect();
    if shown.len() < input.len() {
        shown.push_str(&format!("… ({} characters)", input.chars().count()));
    }
    format!("{} {shown}", question.tool_use.name)
}
