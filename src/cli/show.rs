//! `reenact show FILE`: what a recording or a boundary log holds, as it happened (V-8).
//!
//! No engine runs. A recording of another program is read as `import` reads it, secrets replaced, and nothing is written.

use std::path::PathBuf;

use clap::ValueEnum;

use super::CommandExit;
use super::output::{complain, print_styled, wrong_input};
use super::program::quoted_path;
use super::record::{RedactionArguments, rules};
use super::report::{ShowReportDocument, print_document};
use super::terminal::columns;
use super::timeline_source::{is_tape, read_timeline};
use crate::engine::time::Micros;
use crate::prelude::*;
use crate::redact::RedactionRules;
use crate::redact::scan::scan;
use crate::review::show_text::{self, ShowLayout};
use crate::scenario::parse::duration;
use crate::timeline::{ReadingOptions, STALL_LIMIT};

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
    let rules = match rules(&arguments.redaction) {
        Ok(rules) => rules,
        Err(problem) => return wrong_input(&problem),
    };
    let options = ReadingOptions { stall_limit: arguments.stall.unwrap_or(STALL_LIMIT), keeps_contents: false };
    let timeline = match read_timeline(&arguments.file, options, &arguments.redaction) {
        Ok(timeline) => timeline,
        Err(problem) => return wrong_input(&problem.to_string()),
    };
    let unread = timeline.unread;
    let exit = if unread > 0 { CommandExit::Failed } else { CommandExit::Fine };
    match arguments.format {
        ShowFormat::Json => print_document(&ShowReportDocument::new(&arguments.file, &timeline, exit as u8)),
        ShowFormat::Text => {
            let window = (arguments.from.unwrap_or_default(), arguments.to);
            let layout = ShowLayout { columns: columns().max(COLUMNS_MIN), window };
            let name = arguments.file.file_name().unwrap_or_default().to_string_lossy();
            let shown = show_text::text(&name, &timeline, layout);
            print_styled(&shown);
            if is_tape(&arguments.file) {
                let wide = ShowLayout { columns: SECRET_COLUMNS, window };
                tell_secrets(arguments, &rules, &show_text::text(&name, &timeline, wide));
            }
        }
    }
    if unread > 0 {
        complain(&format!("{}: {} cannot be read, and what is shown is not all", arguments.file.display(), plural(unread as u64, "part")));
    }
    exit
}

/// Texts are searched for secrets as a terminal of so many columns would show them: one that is cut is not known as what it is.
const SECRET_COLUMNS: usize = 1_000;

/// A tape is shown as it is, secrets included. What is shown is searched, so that nobody passes it on unaware. Recordings of others are shown without
/// secrets.
fn tell_secrets(arguments: &ShowArguments, rules: &Arc<RedactionRules>, shown: &str) {
    let count = scan(shown.as_bytes(), rules).findings.len();
    if count > 0 {
        let (path, options) = (quoted_path(&arguments.file), arguments.redaction.options());
        let secrets = plural(count as u64, "secret");
        complain(&format!(
            "note: {secrets} in the texts of this tape as they are shown in a wide terminal; `reenact scan{options} {path}` tells where"
        ));
    }
}

/// `3s`, `1m30s`.
fn span(text: &str) -> Result<Micros, String> {
    duration(text).map_err(|problem| format!("{problem}, as in 3s or 1m30s"))
}
