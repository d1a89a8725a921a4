//! The report of a sweep, as `reenact drive --sweep … --json FILE` writes it.

use std::path::Path;

use serde::Deserialize;

/// The version of the form that is read here.
const VERSION: u32 = 1;

/// A sweep.
#[derive(Debug, Deserialize)]
pub(super) struct AgentReport {
    version: u32,
    pub(super) baseline: BaselineRun,
    pub(super) not_asked: Vec<String>,
    pub(super) rows: Vec<AgentRow>,
}

/// The run in which nothing was done.
#[derive(Debug, Deserialize)]
pub(super) struct BaselineRun {
    pub(super) failures: Vec<String>,
}

/// One action at one moment.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct AgentRow {
    /// As `--only` reads it.
    pub(super) moment: String,
    pub(super) kind: AgentMoment,
    /// As `--sweep` reads it.
    pub(super) action: String,
    pub(super) verdict: AgentVerdict,
    pub(super) problems: Vec<RowProblem>,
    pub(super) runs: Vec<RowRun>,
}

/// The kinds of moments, in the order of a run.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub(super) enum AgentMoment {
    Start,
    Answer,
    Marker,
    Tools,
    Done,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum AgentVerdict {
    Ok,
    Failed,
    Flaky,
    TooLate,
    NotAsked,
}

/// A problem of a row.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct RowProblem {
    pub(super) text: String,
    /// How many of its runs have it.
    pub(super) runs: usize,
}

/// A run of a row.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct RowRun {
    pub(super) is_too_late: bool,
}

impl AgentMoment {
    pub(super) const ALL: [Self; 5] = [Self::Start, Self::Answer, Self::Marker, Self::Tools, Self::Done];

    /// For people.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Start => "while it starts",
            Self::Answer => "inside an answer",
            Self::Marker => "when a command is seen to run",
            Self::Tools => "some time after an answer with a command",
            Self::Done => "after the last answer",
        }
    }
}

impl AgentReport {
    /// Reads a report.
    ///
    /// # Errors
    /// For people.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Self::parse(&text).map_err(|error| format!("{}: {error}", path.display()))
    }

    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let report: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if report.version != VERSION {
            return Err(format!("the report has version {}, and version {VERSION} is read here", report.version));
        }
        Ok(report)
    }

    pub(super) fn count(&self, verdict: AgentVerdict) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }
}

impl AgentRow {
    /// How many of its runs say something about the agent.
    pub(super) fn runs_in_time(&self) -> usize {
        self.runs.iter().filter(|run| !run.is_too_late).count()
    }
}
