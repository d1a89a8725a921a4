//! `reenact diff OLD [NEW]`: what has changed from one run to another, event by event (V-2).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde::Serialize;

use super::CommandExit;
use super::output::{complain, print_styled, wrong_input};
use super::program::quoted_path;
use super::record::RedactionArguments;
use super::replay::LOG_BYTES_MAX;
use super::report::print_document;
use super::selection::{DetailArgument, ReachArguments, key_and_value};
use super::terminal::columns;
use super::timeline_source::{TimelineProblem, read_timeline};
use crate::engine::contract::Engine;
use crate::engine::log;
use crate::files::scenario::{LoadOptions, load_with, snapshot_path};
use crate::files::snapshot::Snapshot;
use crate::files::{open, text};
use crate::prelude::*;
use crate::review::diff_text::{self, DiffLayout};
use crate::review::recording_text;
use crate::sim::Run;
use crate::timeline::ReadingOptions;
use crate::transcript::diff::{KINDS, TranscriptChange, TranscriptDiff, TranscriptLine, compare};
use crate::transcript::text::render;
use crate::transcript::{json, record};

#[derive(Debug, clap::Args)]
pub(super) struct DiffArguments {
    /// The older one: a scenario, which is run; a snapshot; a transcript as text or JSON lines; a boundary log; a recording beside another
    old: PathBuf,
    /// The newer one. A scenario alone is compared with its snapshot, or with itself under other options
    new: Option<PathBuf>,
    #[command(flatten)]
    run: DiffRunArguments,
    /// Changes that are no differences
    #[arg(long, value_enum, value_delimiter = ',', value_name = "CHANGES")]
    ignore: Vec<IgnoredChange>,
    /// How much of a run is compared: `debug` is every stream event and state; texts hold what they hold
    #[arg(long, value_enum, default_value = "normal")]
    detail: DetailArgument,
    /// Show both beside each other
    #[arg(long)]
    side_by_side: bool,
    /// In which form; `json` is one document
    #[arg(long, value_enum, default_value = "text", conflicts_with = "side_by_side")]
    format: DiffFormat,
}

/// How scenarios are run before they are compared.
#[derive(Debug, clap::Args)]
struct DiffRunArguments {
    /// Run the older scenario with this seed
    #[arg(long, value_name = "N")]
    old_seed: Option<u64>,
    /// Run the newer scenario with this seed
    #[arg(long, value_name = "N")]
    new_seed: Option<u64>,
    /// Set a key of the older scenario
    #[arg(long = "old-set", value_name = "KEY=VALUE", value_parser = key_and_value)]
    old_set: Vec<(String, String)>,
    /// Set a key of the newer scenario
    #[arg(long = "new-set", value_name = "KEY=VALUE", value_parser = key_and_value)]
    new_set: Vec<(String, String)>,
    #[command(flatten)]
    reach: ReachArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum IgnoredChange {
    /// Other times
    Time,
    /// Another order
    Order,
    /// Other contents
    Text,
}

impl IgnoredChange {
    fn kind(self) -> &'static str {
        match self {
            Self::Time => "retimed",
            Self::Order => "moved",
            Self::Text => "changed",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DiffFormat {
    Text,
    Json,
}

pub(super) fn run<E: Engine>(arguments: &DiffArguments, new_engine: &impl Fn() -> E) -> CommandExit {
    let ComparedTexts { texts: [old, new], are_recordings } = match operands(arguments, new_engine) {
        Ok(texts) => texts,
        Err(problem) => return wrong_input(&problem),
    };
    let mut diff = compare(&old, &new);
    diff.changes.retain(|change| arguments.ignore.iter().all(|ignored| ignored.kind() != change.kind()));
    if arguments.run.old_seed != arguments.run.new_seed {
        // Another seed was asked for: that the heading names it is no difference.
        diff.changes.retain(|change| !matches!(change, TranscriptChange::Added(line) | TranscriptChange::Removed(line) if is_seed(line)));
    }
    match arguments.format {
        DiffFormat::Json => print_document(&DiffDocument::new(arguments, &diff)),
        DiffFormat::Text => {
            let layout = if arguments.side_by_side { DiffLayout::SideBySide(columns()) } else { DiffLayout::Unified };
            print_styled(&diff_text::text(&diff, layout));
        }
    }
    if diff.changes.is_empty() && are_recordings {
        complain("note: not compared: ids, signatures, the pieces in which answers came, and exchanges that ask for no message");
    } else if diff.changes.is_empty() && arguments.detail == DetailArgument::Normal {
        complain(
            "note: compared at the normal detail; `--detail debug` compares every stream event and state of runs, logs and JSON lines",
        );
    }
    if diff.changes.is_empty() { CommandExit::Fine } else { CommandExit::Failed }
}

/// The two sides of a comparison.
struct ComparedTexts {
    texts: [String; 2],
    /// Whether they are the lines of two recordings.
    are_recordings: bool,
}

fn operands<E: Engine>(arguments: &DiffArguments, new_engine: &impl Fn() -> E) -> Result<ComparedTexts, String> {
    let DiffArguments { old, new, run, .. } = arguments;
    let has_options = run.old_seed.is_some() || run.new_seed.is_some() || !run.old_set.is_empty() || !run.new_set.is_empty();
    let of_old = || operand(old, (run.old_seed, &run.old_set), arguments, new_engine);
    let of_new = |path: &Path| operand(path, (run.new_seed, &run.new_set), arguments, new_engine);
    if let Some(new) = new
        && !has_options
        && arguments.detail == DetailArgument::Normal
        && let Some(of_old) = recording_lines(old)
        && let Some(of_new) = recording_lines(new)
    {
        return Ok(ComparedTexts { texts: [of_old?, of_new?], are_recordings: true });
    }
    let texts = match new {
        Some(new) => Ok([of_old()?, of_new(new)?]),
        None if !is_scenario(old) => Err(format!("{}: compared with what? name a second file", old.display())),
        None if has_options => Ok([of_old()?, of_new(old)?]),
        None if arguments.detail != DetailArgument::Normal => {
            Err(String::from("--detail: a snapshot holds the normal detail: leave it out, or name two runs"))
        }
        // Against its snapshot a scenario is what is new.
        None => of_new(old).and_then(|run| Ok([snapshot_text(&snapshot_path(old))?, run])),
    };
    Ok(ComparedTexts { texts: texts?, are_recordings: false })
}

/// The line of the heading with the seed.
fn is_seed(line: &TranscriptLine<'_>) -> bool {
    line.actor.is_empty() && line.whole.strip_prefix("seed ").is_some_and(|seed| seed.parse::<u64>().is_ok())
}

/// A recording as lines; `None` of a file that is no recording. The marks of the other kinds are looked for first.
fn recording_lines(path: &Path) -> Option<Result<String, String>> {
    if is_toml(path) || [log::MARK, "---", json::MARK].iter().any(|mark| open::begins_with(path, mark)) {
        return None;
    }
    let options = ReadingOptions { keeps_contents: true, ..ReadingOptions::default() };
    let timeline = match read_timeline(path, options, &RedactionArguments::default()) {
        Ok(timeline) => timeline,
        Err(TimelineProblem::NoRecording(_)) => return None,
        Err(TimelineProblem::Unreadable(problem)) => return Some(Err(problem)),
    };
    if timeline.unread > 0 {
        let parts = plural(timeline.unread as u64, "part");
        return Some(Err(format!("{}: {parts} cannot be read: `reenact show {}` names them", path.display(), quoted_path(path))));
    }
    Some(Ok(recording_text::text(&timeline)))
}

fn is_toml(path: &Path) -> bool {
    let file = path.to_string_lossy();
    file.ends_with(".toml") || file.contains(".toml@")
}

fn is_scenario(path: &Path) -> bool {
    is_toml(path) || path.to_string_lossy().ends_with(".tape.jsonl")
}

/// The text that is compared. A scenario is run for it.
fn operand<E: Engine>(
    path: &Path,
    (seed, set): (Option<u64>, &[(String, String)]),
    arguments: &DiffArguments,
    new_engine: &impl Fn() -> E,
) -> Result<String, String> {
    let (name, detail) = (path.display(), arguments.detail.level());
    if is_scenario(path) {
        let seed = seed.map(|seed| (String::from("seed"), seed.to_string()));
        let overrides = set.iter().cloned().chain(seed).collect();
        let loaded = load_with(path, &LoadOptions { overrides, reach: arguments.run.reach.reach(), ..LoadOptions::default() })
            .map_err(|error| error.to_string())?;
        loaded.warnings.iter().for_each(|warning| complain(&warning.text));
        return Ok(Run::new(loaded.setup, new_engine()).without_oracles().to_end().text(detail));
    }
    if seed.is_some() || !set.is_empty() {
        return Err(format!("{name}: this is no scenario, so nothing of it can be set: leave out its --old-… or --new-… options"));
    }
    let is_log = open::begins_with(path, log::MARK);
    let whole = text::read_up_to(path, LOG_BYTES_MAX).map_err(|problem| format!("{name}: {problem}"))?;
    let transcript = match is_log {
        true => Some(record::log_transcript(&whole).map_err(|error| format!("{name}: {error}"))?),
        false if whole.starts_with('{') => Some(json::from_json_lines(&whole).map_err(|error| not_a_transcript(path, &error))?),
        false => None,
    };
    if let Some(transcript) = transcript {
        return Ok(render(&transcript, detail));
    }
    if whole.starts_with("---") { snapshot_contents(path, &whole) } else { Ok(whole) }
}

/// A recording has no run that another text could be compared with.
fn not_a_transcript(path: &Path, error: &json::ReadError) -> String {
    let name = path.display();
    match error {
        json::ReadError::NoHeader => {
            format!(
                "{name}: {error}; a recording is compared with another recording, without options; `reenact import` makes a tape of it, which is run"
            )
        }
        _ => format!("{name}: {error}"),
    }
}

fn snapshot_text(path: &Path) -> Result<String, String> {
    let name = path.display();
    let whole = text::read_up_to(path, LOG_BYTES_MAX)
        .map_err(|problem| format!("{name}: {problem}; the scenario has no snapshot: `reenact test SCENARIO --update` writes one"))?;
    snapshot_contents(path, &whole)
}

fn snapshot_contents(path: &Path, whole: &str) -> Result<String, String> {
    Snapshot::parse(whole).map(|snapshot| snapshot.contents().into()).map_err(|error| format!("{}: {error}", path.display()))
}

/// The document of `--format json`.
#[derive(Serialize)]
struct DiffDocument<'a> {
    reenact_diff: u32,
    old: String,
    new: String,
    /// How many events are the same.
    same: usize,
    /// How many changes there are of each kind.
    counts: BTreeMap<&'static str, usize>,
    changes: Vec<ChangeEntry<'a>>,
}

/// A change: the lines that it is about, as far as it has them.
#[derive(Serialize)]
struct ChangeEntry<'a> {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new: Option<&'a str>,
    /// Milliseconds; negative where it is earlier.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    events: Option<usize>,
}

impl<'a> DiffDocument<'a> {
    fn new(arguments: &DiffArguments, diff: &TranscriptDiff<'a>) -> Self {
        Self {
            reenact_diff: 1,
            old: arguments.old.display().to_string(),
            new: arguments.new.as_ref().unwrap_or(&arguments.old).display().to_string(),
            same: diff.same,
            counts: KINDS.into_iter().map(|kind| (kind, diff.count(kind))).collect(),
            changes: diff.changes.iter().map(ChangeEntry::new).collect(),
        }
    }
}

impl<'a> ChangeEntry<'a> {
    fn new(change: &TranscriptChange<'a>) -> Self {
        let entry = Self { kind: change.kind(), old: None, new: None, by: None, events: None };
        match change {
            TranscriptChange::Added(line) => Self { new: Some(line.whole), ..entry },
            TranscriptChange::Removed(line) => Self { old: Some(line.whole), ..entry },
            TranscriptChange::Changed { old, new } | TranscriptChange::Moved { old, new, .. } => {
                Self { old: Some(old.whole), new: Some(new.whole), ..entry }
            }
            TranscriptChange::Retimed { first, by, events, .. } => {
                Self { new: Some(first.whole), by: Some(*by), events: Some(*events), ..entry }
            }
        }
    }
}
