//! The terminal: its colours and its width.

use std::io::{IsTerminal as _, stdout};

use super::output::is_quiet;
use indicatif::{ProgressBar, ProgressStyle};
use terminal_size::{Height, Width};

/// Whether the output has colours.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct ColourArgument {
    /// Colours: `auto` where a terminal shows them and NO_COLOR is not set
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value = "auto")]
    color: clap::ColorChoice,
}

/// Where nobody says how wide the terminal is.
const COLUMNS: usize = 120;

/// Where nobody says how high it is.
const ROWS: usize = 50;

impl ColourArgument {
    /// All output from here on has colours or not.
    pub(super) fn apply(self) {
        match self.color {
            clap::ColorChoice::Auto => anstream::ColorChoice::Auto,
            clap::ColorChoice::Always => anstream::ColorChoice::AlwaysAnsi,
            clap::ColorChoice::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}

/// A bar on standard error that counts to `count`, where that is a terminal.
pub(super) fn progress_bar(count: usize) -> ProgressBar {
    let bar = if is_quiet() { ProgressBar::hidden() } else { ProgressBar::new(count as u64) };
    // The template is ours, and right.
    ProgressStyle::with_template("{wide_bar} {pos}/{len}").map_or_else(|_| bar.clone(), |style| bar.clone().with_style(style))
}

/// How many columns the terminal has; in a pipe the variable `COLUMNS` may say how many are wanted.
#[expect(clippy::disallowed_methods, reason = "the usual way to tell a program in a pipe the width of the page")]
pub(super) fn columns() -> usize {
    let wanted = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0);
    size().map(|(Width(columns), _)| columns.into()).or_else(wanted).unwrap_or(COLUMNS)
}

/// How many rows the terminal has.
pub(super) fn rows() -> usize {
    size().map_or(ROWS, |(_, Height(rows))| rows.into())
}

fn size() -> Option<(Width, Height)> {
    stdout().is_terminal().then(terminal_size::terminal_size).flatten()
}
