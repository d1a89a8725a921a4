//! A step of a call, and the commands of a shell on their way (B-5).

use reenact_engine::contract::{FailureCause, ProgressKind, ToolOutcome};
use reenact_engine::time::Micros;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// The next step of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum CallStep {
    /// It works, for as long as this use of the tool takes. Then it is to be stepped again.
    Work,
    /// It waits for exactly so long. Then it is to be stepped again.
    Sleep(Micros),
    /// It says something. It is to be stepped again at once.
    Progress {
        /// The text.
        text: Arc<str>,
        /// Where it says it.
        kind: ProgressKind,
    },
    /// It is over.
    Done(ToolOutcome),
}

/// Commands on their way (B-5).
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct ShellRun {
    /// The commands, as the model wrote them.
    pub command: Arc<str>,
    /// How long they may take.
    pub timeout: Micros,
    /// How far a workspace is with them, in its own figures.
    pub position: usize,
    /// The time that they have taken: in memory only sleeping takes any.
    pub taken: Micros,
    /// The exit code of the last one.
    pub code: i32,
    /// The signal that has ended them, by its name.
    pub signal: Option<String>,
    /// Their output.
    pub output: String,
    /// Their output on the error stream.
    pub errors: String,
    /// How many bytes of the output were told as progress.
    told: usize,
}

/// So many bytes of the output are kept, and as many of the errors.
const OUTPUT_BYTES_MAX: usize = 1 << 20;

/// The text in place of the rest.
const OUTPUT_CUT: &str = "\n(cut: the rest of more than 1 MiB is left out)\n";

impl ShellRun {
    /// Commands that have not begun.
    pub fn new(command: &str, timeout: Micros) -> Self {
        Self {
            command: command.into(),
            timeout,
            position: 0,
            taken: Micros::ZERO,
            code: 0,
            signal: None,
            output: String::new(),
            errors: String::new(),
            told: 0,
        }
    }

    /// Adds to what was printed: as much of it as is kept.
    pub fn print(&mut self, text: &str) -> &str {
        push_within(&mut self.output, text)
    }

    /// Adds to what was printed as errors: as much of it as is kept.
    pub fn print_error(&mut self, text: &str) -> &str {
        push_within(&mut self.errors, text)
    }

    /// The output since this was asked last, if there is any.
    pub fn untold_output(&mut self) -> Option<String> {
        let text = self.output[self.told..].to_owned();
        self.told = self.output.len();
        (!text.is_empty()).then_some(text)
    }

    /// The result of commands that are over.
    pub fn outcome(&self) -> ToolOutcome {
        let mut text = self.output.trim_end_matches('\n').to_owned();
        let errors = self.errors.trim_end_matches('\n');
        let code = match &self.signal {
            Some(signal) => format!("ended by {signal}"),
            None if self.code == 0 => String::new(),
            None => format!("exit code {}", self.code),
        };
        for part in [errors, &code] {
            if !part.is_empty() && !text.is_empty() {
                text.push('\n');
            }
            text.push_str(part);
        }
        let structured = Some(self.facts());
        match (self.code, &self.signal) {
            (0, None) => ToolOutcome { structured, ..ToolOutcome::text(&text) },
            _ => ToolOutcome { structured, cause: Some(FailureCause::ExitCode), ..ToolOutcome::error(&text) },
        }
    }

    /// The result of commands whose time is over.
    pub fn timed_out(&self) -> ToolOutcome {
        let seconds = self.timeout.0 as f64 / 1e6;
        let text = format!("{}{}(ended after {seconds} s, which is its timeout)", self.output, self.errors);
        ToolOutcome { structured: Some(self.facts()), cause: Some(FailureCause::TimedOut), ..ToolOutcome::error(&text) }
    }

    /// Exit code, signal and duration.
    fn facts(&self) -> Json {
        let duration_ms = self.taken.0 / 1_000;
        let facts = match &self.signal {
            Some(signal) => serde_json::json!({ "signal": signal, "duration_ms": duration_ms }),
            None => serde_json::json!({ "exit_code": self.code, "duration_ms": duration_ms }),
        };
        Json::from_value(&facts)
    }
}

/// Adds a text as long as there is room for it, and says once that it is full. Returns what was added.
fn push_within<'a>(out: &'a mut String, text: &str) -> &'a str {
    let before = out.len();
    if before > OUTPUT_BYTES_MAX {
        return "";
    }
    let room = OUTPUT_BYTES_MAX - out.len();
    let end = if text.len() <= room { text.len() } else { (0..=room).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0) };
    out.push_str(&text[..end]);
    if end < text.len() {
        out.push_str(OUTPUT_CUT);
    }
    &out[before..]
}
