//! `reenact import RECORDING`.

use std::path::{Path, PathBuf};

use super::CommandExit;
use super::output::{complain, print_line, wrong_input};
use super::program::program_name;
use super::record::{RedactionArguments, rules};
use crate::files::atomic::ExistingFile;
use crate::import::{ImportOptions, ImportedFiles, ImportedRecording, import_file, write};
use crate::prelude::*;
use crate::redact::{counts_text, explained_text};
use crate::scenario::tape::Provenance;

#[derive(Debug, clap::Args)]
pub(super) struct ImportArguments {
    /// A claude-trace log, a cassette (vcrpy, go-vcr, Ruby VCR, httpmock, opencode, Anthropic SDK), a HAR file, an httprr trace, requests with their
    /// responses as JSON, a raw event stream, one JSON event a line, or the message of an answer; also compressed (gzip, zstd)
    recording: PathBuf,
    /// Where to write: NAME.tape.jsonl and NAME.toml; beside the recording under its own name when not given
    #[arg(long, value_name = "NAME")]
    out: Option<PathBuf>,
    /// Replace files that are there; what was edited in them is lost. Scenarios of further threads that an earlier import wrote are removed
    #[arg(long)]
    force: bool,
    /// The recording was made by hand and is not real traffic
    #[arg(long)]
    written_by_hand: bool,
    #[command(flatten)]
    redaction: RedactionArguments,
    /// Say what was replaced, and why
    #[arg(long)]
    explain: bool,
    /// Keep bodies byte for byte, with the secrets in them
    #[arg(long, conflicts_with_all = ["redact", "keep"])]
    keep_bodies: bool,
}

pub(super) fn run(arguments: &ImportArguments) -> CommandExit {
    let provenance = if arguments.written_by_hand { Provenance::Written } else { Provenance::Recorded };
    let rules = match rules(&arguments.redaction) {
        Ok(rules) => rules,
        Err(problem) => return wrong_input(&problem),
    };
    let imported = match import_file(&arguments.recording, &ImportOptions { provenance, rules, keep_bodies: arguments.keep_bodies }) {
        Ok(imported) => imported,
        Err(error) => return wrong_input(&error.to_string()),
    };
    if arguments.keep_bodies {
        complain("warning: the tape keeps bodies as they are, with the secrets in them; `reenact scan` finds those that it knows");
    }
    let stem = stem_of(&arguments.recording, arguments.out.as_deref());
    let existing = if arguments.force { ExistingFile::IsReplaced } else { ExistingFile::IsAnError };
    match write(&imported, &stem, existing) {
        Ok(written) => {
            imported.unreadable().iter().for_each(|what| complain(&format!("warning: {what}")));
            imported.left_out.iter().for_each(|what| complain(&format!("warning: left out: {what}")));
            if arguments.explain {
                complain(&explained_text(&imported.explained));
            }
            print_line(&summary(&imported, &written));
            CommandExit::Fine
        }
        Err(error) => wrong_input(&error.to_string()),
    }
}

/// `a/weather.vcrpy.yaml` is written as `a/weather.vcrpy.tape.jsonl`, packed or not; into a folder under its own name; and an ending that the
/// files will have anyway is not doubled.
fn stem_of(recording: &Path, out: Option<&Path>) -> PathBuf {
    let is_packed = recording.extension().is_some_and(|extension| ["gz", "zst"].iter().any(|packed| extension == *packed));
    let unpacked = if is_packed { recording.with_extension("") } else { recording.to_path_buf() };
    let own = unpacked.with_extension("");
    let Some(out) = out else { return own };
    let text = out.to_string_lossy();
    if out.is_dir() || text.ends_with('/') {
        return out.join(own.file_name().unwrap_or_default());
    }
    let bare = text.strip_suffix(".tape.jsonl").or_else(|| text.strip_suffix(".toml"));
    bare.map_or_else(|| out.into(), PathBuf::from)
}

fn summary(imported: &ImportedRecording, written: &ImportedFiles) -> String {
    let (format, exchanges, threads) = (imported.format.name(), imported.exchanges.len() as u64, written.scenarios.len() as u64);
    let mut text = format!("read {format}: {}, {}", plural(exchanges, "exchange"), plural(threads, "thread"));
    match imported.others() {
        0 => text.push('\n'),
        others => text.push_str(&format!(
            "; {} {} not a request for a message\n",
            plural(others as u64, "exchange"),
            if others == 1 { "is" } else { "are" }
        )),
    }
    // What was left out is said apart.
    let lost: Vec<&str> = imported.header.lost.iter().filter(|lost| !imported.left_out.contains(lost)).map(String::as_str).collect();
    if !lost.is_empty() {
        text.push_str(&format!("not on the tape: {}\n", lost.join(", ")));
    }
    if let Some(secrets) = counts_text(&imported.redacted) {
        text.push_str(&format!("{secrets}\n"));
    }
    imported.unsearched.iter().for_each(|sentence| text.push_str(&format!("{sentence}\n")));
    text.push_str(&format!("wrote {}\n", written.tape.display()));
    for scenario in &written.scenarios {
        text.push_str(&format!("wrote {}\n", scenario.display()));
    }
    for scenario in &written.removed {
        text.push_str(&format!("removed {}, which an earlier import wrote\n", scenario.display()));
    }
    for (number, problem) in &written.problems {
        let name = written.scenarios.get(*number).and_then(|path| path.file_name()).unwrap_or_default();
        text.push_str(&format!("{}: {problem}\n", name.to_string_lossy()));
    }
    if let Some(first) = written.scenarios.first() {
        let path = first.display().to_string();
        let quote = if path.contains(char::is_whitespace) { "'" } else { "" };
        text.push_str(&format!("replay it with: {} run {quote}{path}{quote}\n", program_name()));
    }
    text
}
