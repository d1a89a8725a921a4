//! `reenact doctor [PATH…]`: what is broken in stored sessions of agents (V-9).

mod places;
mod scenarios;
mod text;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::SystemTime;

use clap::ValueEnum;

use super::CommandExit;
use super::output::{complain, print_styled, wrong_input};
use super::report::{DoctorReportDocument, print_document};
use super::terminal::columns;
use crate::prelude::*;
use crate::review::doctor::{Examination, ExamineOptions, examine};
use crate::runner::threads_available;
use crate::stores::StoreFormat;

pub(super) use places::AgentPlace;
pub(super) use scenarios::FindingScenarios;
pub(super) use text::place_text;

#[derive(Debug, clap::Args)]
pub(super) struct DoctorArguments {
    /// Files and folders of sessions; without one, the folders where the agents keep theirs
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The agent of all files: claude-code, pi, continue, cline, codex, gptme, opencode; without it, as each file tells
    #[arg(long, value_name = "NAME", value_parser = agent)]
    agent: Option<StoreFormat>,
    /// Write a scenario for each kind of finding into this folder
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Show the notes on each session, too, and all that was left out
    #[arg(short, long)]
    verbose: bool,
    /// How many threads read and judge; one for each core when not given
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// In which form; `json` is one document
    #[arg(long, value_enum, default_value = "text")]
    format: DoctorFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DoctorFormat {
    Text,
    Json,
}

fn agent(word: &str) -> Result<StoreFormat, String> {
    StoreFormat::from_word(word).ok_or_else(|| format!("known are {}", StoreFormat::ALL.map(StoreFormat::as_str).join(", ")))
}

pub(super) fn run(arguments: &DoctorArguments) -> CommandExit {
    let places = match places(arguments) {
        Ok(places) => places,
        Err(problem) => return wrong_input(&problem),
    };
    let examination = examine_places(&places, arguments);
    let mut scenarios = FindingScenarios::default();
    let unwritten = arguments.out.as_ref().and_then(|folder| scenarios.write(folder, &examination).err());
    let exit = if unwritten.is_some() { CommandExit::WrongInput } else { exit(&examination) };
    match arguments.format {
        DoctorFormat::Json => print_document(&DoctorReportDocument::new(&places, &examination, &scenarios, exit as u8)),
        DoctorFormat::Text => {
            let shown =
                text::DoctorText { places: &places, examination: &examination, scenarios: &scenarios, is_verbose: arguments.verbose };
            print_styled(&shown.text(columns()));
        }
    }
    unwritten.iter().for_each(|problem| complain(problem));
    if examination.conversations.is_empty() && examination.unjudged.is_empty() {
        complain("there is no session to judge: name a file or a folder of sessions");
    }
    exit
}

/// Where to look.
fn places(arguments: &DoctorArguments) -> Result<Vec<AgentPlace>, String> {
    if arguments.paths.is_empty() {
        places::usual(arguments.agent)
    } else {
        Ok(arguments.paths.iter().cloned().map(AgentPlace::named).collect())
    }
}

#[expect(clippy::disallowed_methods, reason = "an agent that wrote in the last minutes may still be running")]
fn examine_places(places: &[AgentPlace], arguments: &DoctorArguments) -> Examination {
    let threads = arguments.threads.unwrap_or_else(threads_available);
    // A usual place that is not there is no mistake; a path that somebody names is.
    let paths: Vec<PathBuf> =
        places.iter().filter(|place| place.agent.is_none() || place.is_there).map(|place| place.path.clone()).collect();
    examine(&paths, &ExamineOptions { format: arguments.agent, threads, now: SystemTime::now() })
}

/// Something broken is told, whatever else could not be judged. What was not judged is never fine, and neither is nothing at all.
fn exit(examination: &Examination) -> CommandExit {
    match () {
        () if examination.broken().next().is_some() => CommandExit::Failed,
        () if !examination.unjudged.is_empty() || examination.conversations.is_empty() => CommandExit::WrongInput,
        () => CommandExit::Fine,
    }
}
