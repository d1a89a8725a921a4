//! `reenact show FILE`: what a recording or a boundary log holds, as it happened (V-8).
//!
//! No engine runs. A recording of another program is read as `import` reads it, secrets replaced, and nothing is written.

use std::path::PathBuf;

use clap::ValueEnum;

use super::CommandExit;
use super::output::{complain, print_styled, wrong_input};
use super::program::quoted;
use super::record::{RedactionArguments, rules};
use super::report::{ShowReportDocument, print_document};
use super::terminal::columns;
use super::timeline_source::read_timeline;
use crate::engine::time::Micros;
use crate::prelude::*;
use crate::redact::scan::scan;
use crate::review::show_text::{self, ShowLayout};
use crate::scenario::parse::duration;
use crate::timeline::{ReadingOptions, RemarkKind, STALL_LIMIT};

#[derive(Debug, clap::Args)]
pub(super) struct ShowArguments {
    /// A tape, also one that is still being written; any recording that `import` reads; or a boundary log
    file: PathBuf,
    /// A stream that is silent for longer stalls, and a thread that is silent for longer has a gap
    #[arg(long, value_name = "DURATION", value_parser = span)]
    stall: Option<Micros>,
    /// Show only what goes on after this time from the start
    #[arg(long, value_name = "TIME", value_parser = span)]
    from: Option<Micros>,
    /// Show only what goes on before this time
    #[arg(long, value_name = "TIME", value_parser = span)]
    to: Option<Micros>,
    #[command(flatten)]
    redaction: RedactionArguments,
    /// In which form; `json` is one document of the whole recording
    #[arg(long, value_enum, default_value = "text", conflicts_with_all = ["from", "to"])]
    format: ShowFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ShowFormat {
    Text,
    Json,
}

/// So narrow a terminal is not served.
const COLUMNS_MIN: usize = 60;

pub(super) fn run(arguments: &ShowArguments) -> CommandExit {
    if arguments.from.zip(arguments.to).is_some_and(|(from, to)| from >= to) {
        return wrong_input("--from must be before --to");
    }
    let options = ReadingOptions { stall_limit: arguments.stall.unwrap_or(STALL_LIMIT), keeps_contents: false };
    let timeline = match read_timeline(&arguments.file, options, &arguments.redaction) {
        Ok(timeline) => timeline,
        Err(problem) => return wrong_input(&problem.to_string()),
    };
    let unread = timeline.remarks.iter().filter(|remark| remark.kind == RemarkKind::Unread).count();
    let exit = if unread > 0 { CommandExit::Failed } else { CommandExit::Fine };
    match arguments.format {
        ShowFormat::Json => print_document(&ShowReportDocument::new(&arguments.file, &timeline, exit as u8)),
        ShowFormat::Text => {
            let window = (arguments.from.unwrap_or_default(), arguments.to);
            let layout = ShowLayout { columns: columns().max(COLUMNS_MIN), window };
            let name = arguments.file.file_name().unwrap_or_default().to_string_lossy();
            let shown = show_text::text(&name, &timeline, layout);
            print_styled(&shown);
            tell_secrets(arguments, &shown);
        }
    }
    if unread > 0 {
        complain(&format!("{}: {} cannot be read, and what is shown is not all", arguments.file.display(), plural(unread as u64, "part")));
    }
    exit
}

/// A tape is shown as it is, secrets included. What is shown is searched, so that nobody passes it on unaware.
fn tell_secrets(arguments: &ShowArguments, shown: &str) {
    let Ok(rules) = rules(&arguments.redaction) else { return };
    let count = scan(shown.as_bytes(), &rules).findings.len();
    if count > 0 {
        let path = quoted(&arguments.file.to_string_lossy());
        complain(&format!("note: {} in what is shown; `reenact scan {path}` tells where in the file", plural(count as u64, "secret")));
    }
}

/// `3s`, `1m30s`.
fn span(text: &str) -> Result<Micros, String> {
    duration(text).map_err(|problem| format!("{problem}, as in 3s or 1m30s"))
}
