//! `reenact record -- COMMAND…`.

use std::ffi::OsString;
use std::io::{Write as _, stderr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use super::CommandExit;
use super::access::AccessArguments;
use super::output::complain;
use super::program::{quoted, quoted_path};
use crate::children::{ChildExit, ChildSession};
use crate::files::atomic::ExistingFile;
use crate::files::text;
use crate::live::base_url::BaseUrl;
use crate::live::record::{ClientCommand, RecordOptions, run as record};
use crate::redact::{RedactionOptions, RedactionRules, RulesError, explained_text};

#[derive(Debug, clap::Args)]
pub(super) struct RecordArguments {
    /// The API that gets the requests
    #[arg(long, value_name = "URL", default_value = "https://api.anthropic.com")]
    upstream: String,
    /// The tape to write, `NAME.tape.jsonl`; an existing file is not overwritten
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Replace an existing tape
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    access: AccessArguments,
    /// Trust these certificates (PEM) in place of the system's
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Let the end of each answer wait until it is on the disk
    #[arg(long)]
    durable: bool,
    #[command(flatten)]
    redaction: RedactionArguments,
    /// Say what was replaced, and why
    #[arg(long)]
    explain: bool,
    /// The environment variable that gives the command the recorder's address
    #[arg(long, value_name = "NAME", default_value = "ANTHROPIC_BASE_URL")]
    base_url_var: String,
    /// A client to start; recording ends when it ends, with its exit code
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Which secrets are replaced.
#[derive(Debug, Default, clap::Args)]
pub(super) struct RedactionArguments {
    /// Further rules for secrets: TOML with [[rule]], name and pattern; `personal` for mail addresses, home folders and host names
    #[arg(long, value_name = "FILE")]
    redact: Vec<PathBuf>,
    /// Do not replace what this rule finds
    #[arg(long, value_name = "RULE")]
    keep: Vec<String>,
}

impl RedactionArguments {
    /// They as options of a command.
    pub(super) fn options(&self) -> String {
        let files = self.redact.iter().map(|path| format!(" --redact {}", quoted_path(path)));
        files.chain(self.keep.iter().map(|rule| format!(" --keep {}", quoted(rule)))).collect()
    }
}

pub(super) fn run(arguments: &RecordArguments) -> ExitCode {
    if arguments.out.extension().is_none_or(|extension| extension != "jsonl") {
        complain(&format!("--out {}: call it NAME.tape.jsonl; other commands recognise a tape by this ending", arguments.out.display()));
        return ExitCode::from(CommandExit::WrongInput as u8);
    }
    let rules = match rules(&arguments.redaction) {
        Ok(rules) => rules,
        Err(problem) => {
            complain(&problem);
            return ExitCode::from(CommandExit::WrongInput as u8);
        }
    };
    let upstream = BaseUrl::read(&arguments.upstream).map_err(|error| format!("--upstream: {error}"));
    let (upstream, listen) = match upstream.and_then(|upstream| Ok((upstream, arguments.access.address()?))) {
        Ok(both) => both,
        Err(problem) => {
            complain(&problem);
            return ExitCode::from(CommandExit::WrongInput as u8);
        }
    };
    let watcher = match super::watcher() {
        Ok(watcher) => watcher,
        Err(problem) => {
            complain(&problem);
            return ExitCode::from(CommandExit::WrongInput as u8);
        }
    };
    let client = ClientCommand {
        command: arguments.command.clone(),
        watcher,
        session: ChildSession::from_terminal(),
        base_url_variable: arguments.base_url_var.clone(),
    };
    let options = RecordOptions {
        upstream,
        listen,
        access: arguments.access.rules(),
        out: arguments.out.clone(),
        existing: if arguments.force { ExistingFile::IsReplaced } else { ExistingFile::IsAnError },
        ca: arguments.ca.clone(),
        durable: arguments.durable,
        rules,
        client: (!client.command.is_empty()).then_some(client),
        notice: print_notice,
    };
    let recorded = match record(options) {
        Ok(recorded) => recorded,
        Err(error) => {
            complain(&error.to_string());
            return ExitCode::from(CommandExit::WrongInput as u8);
        }
    };
    if arguments.explain {
        complain(&explained_text(&recorded.summary.explained));
    }
    complain(&format!("{} in {}", recorded.summary.text(), arguments.out.display()));
    // A tape without an exchange is nothing that anybody wanted.
    let fallen_short =
        if recorded.summary.is_whole() && recorded.summary.counts.exchanges > 0 { CommandExit::Fine } else { CommandExit::Failed };
    match recorded.client.map(ChildExit::shell_code) {
        None | Some(0) => ExitCode::from(fallen_short as u8),
        Some(code) => ExitCode::from(code),
    }
}

/// A notice for the user. Without a reader the traffic still continues.
fn print_notice(text: &str) {
    let _ = writeln!(stderr().lock(), "{text}");
}

/// The shipped rules and those of files.
pub(super) fn rules(arguments: &RedactionArguments) -> Result<Arc<RedactionRules>, String> {
    let (personal, files): (Vec<_>, Vec<_>) = arguments.redact.iter().partition(|path| path.as_os_str() == "personal");
    let mut texts = Vec::new();
    for path in &files {
        texts.push(text::read(path).map_err(|error| format!("--redact {}: {error}", path.display()))?);
    }
    let names: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    let options = RedactionOptions { files: texts, keep: arguments.keep.clone(), personal: !personal.is_empty() };
    RedactionRules::with_options(&options).map_err(|error| match error {
        RulesError::Unknown { .. } => error.to_string(),
        _ => format!("--redact {}: {error}", names.join(", ")),
    })
}
