//! Does the same to a client at every boundary of a scenario, one run each, and tells what came of it as a table (K-9).

use core::fmt;
use std::time::Duration;

use tokio::task::JoinSet;

use super::{BoundaryAction, ClientAction, ClientExit, ClientHarness, ClientHarnessError, ClientRun, drive};
use crate::live::serve::gate::AnswerBoundary;
use crate::prelude::*;
use crate::world::setup::RunSetup;

/// A sweep over a client.
#[derive(Clone, Debug)]
pub struct ClientSweep {
    /// What is done at each boundary.
    pub what: ClientAction,
    /// How long the answer stands still before: the client has read all that was sent.
    pub lead: Duration,
    /// How long the answer stands still after.
    pub wait: Duration,
    /// How many clients run at once.
    pub jobs: usize,
}

/// What came of a sweep.
#[derive(Clone, Debug)]
pub struct ClientSweepReport {
    /// The run in which nothing was done.
    pub usual: ClientRun,
    /// One run for each boundary, in their order.
    pub rows: Vec<ClientSweepRow>,
}

/// One run.
#[derive(Clone, Debug)]
pub struct ClientSweepRow {
    /// Where it was interfered with.
    pub boundary: AnswerBoundary,
    /// The event that would have come next.
    pub event: Option<Arc<str>>,
    /// What came of it, or why it was not to be had.
    pub run: Result<ClientRun, String>,
    /// What is wrong with it; empty when nothing is.
    pub problems: Vec<String>,
}

/// Runs the client once to learn the boundaries, then once for each.
///
/// # Errors
/// When the client cannot be started at all.
pub async fn sweep(setup: &Arc<RunSetup>, client: &ClientHarness, sweep: &ClientSweep) -> Result<ClientSweepReport, ClientHarnessError> {
    let once = ClientHarness { again: None, ..client.clone() };
    let usual = drive(setup, &once, None).await?;
    let mut rows: Vec<Option<ClientSweepRow>> = usual.boundaries.iter().map(|_| None).collect();
    let mut running = JoinSet::new();
    let mut left = usual.boundaries.iter().cloned().enumerate();
    loop {
        while running.len() < sweep.jobs.max(1)
            && let Some((place, (boundary, event))) = left.next()
        {
            let (setup, client) = (setup.clone(), client.clone());
            let act = BoundaryAction { at: boundary.clone(), what: sweep.what.clone(), lead: sweep.lead, wait: sweep.wait };
            running.spawn(async move { (place, boundary, event, drive(&setup, &client, Some(&act)).await) });
        }
        let Some(ended) = running.join_next().await else { break };
        match ended {
            Ok((place, boundary, event, run)) => {
                let run = run.map_err(|error| error.to_string());
                let problems = problems(&usual, &run);
                rows[place] = Some(ClientSweepRow { boundary, event, run, problems });
            }
            // A panic of ours must not pass for a run that went well.
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => (),
        }
    }
    Ok(ClientSweepReport { usual, rows: rows.into_iter().flatten().collect() })
}

fn problems(usual: &ClientRun, run: &Result<ClientRun, String>) -> Vec<String> {
    let driven = match run {
        Ok(driven) => driven,
        Err(error) => return vec![error.clone()],
    };
    let mut problems = driven.failures.clone();
    if !driven.has_acted {
        problems.push(String::from("the boundary was not reached: the client's requests differ from run to run"));
    }
    // Who is killed prints nothing more, and owes nothing.
    let (wanted, got) = (usual.output.results(), driven.output.results());
    if wanted != got && driven.output.ended != ClientExit::Signal(9) {
        problems.push(format!("{got} result lines, usually {wanted}"));
    }
    if wanted > 0
        && let Some(again) = driven.again.as_ref().filter(|again| again.results() != wanted)
    {
        problems.push(format!("the second command ended with {}, and {} result lines", again.ended, again.results()));
    }
    problems
}

impl ClientSweepReport {
    /// Whether there were runs, and nothing is wrong with any of them.
    pub fn is_fine(&self) -> bool {
        self.usual.failures.is_empty() && !self.rows.is_empty() && self.rows.iter().all(|row| row.problems.is_empty())
    }
}

/// The table, boundary by outcome, and below it what is wrong.
impl fmt::Display for ClientSweepReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = ["boundary", "before", "ended", "results", "requests", "left", "again", "verdict"].map(String::from);
        let usual = line(String::from("-"), String::from("(nothing done)"), &self.usual, self.usual.failures.is_empty());
        let rows = self.rows.iter().map(|row| {
            let event = row.event.as_deref().unwrap_or(if row.boundary.to_string().ends_with("head") { "head" } else { "end" });
            match &row.run {
                Ok(driven) => line(row.boundary.to_string(), event.into(), driven, row.problems.is_empty()),
                Err(_) => {
                    let mut cells: [String; 8] = Default::default();
                    (cells[0], cells[1], cells[7]) = (row.boundary.to_string(), event.into(), String::from("FAILED"));
                    cells
                }
            }
        });
        let lines: Vec<[String; 8]> = [header, usual].into_iter().chain(rows).collect();
        let widths: Vec<usize> = (0..8).map(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0)).collect();
        for line in &lines {
            let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect::<Vec<_>>();
            writeln!(f, "{}", cells.join("  ").trim_end())?;
        }
        for row in &self.rows {
            for problem in &row.problems {
                writeln!(f, "{}: {problem}", row.boundary)?;
            }
        }
        let failed = self.rows.iter().filter(|row| !row.problems.is_empty()).count();
        match self.rows.len() {
            0 => f.write_str("no boundary, so nothing was tried: FAILED"),
            1 => write!(f, "1 boundary, {failed} failed"),
            count => write!(f, "{count} boundaries, {failed} failed"),
        }
    }
}

fn line(boundary: String, event: String, driven: &ClientRun, is_fine: bool) -> [String; 8] {
    let left = if driven.output.left_behind.is_empty() { String::from("-") } else { driven.output.left_behind.len().to_string() };
    let again = driven.again.as_ref().map_or(String::from("-"), |again| format!("{}, {} results", again.ended, again.results()));
    let requests = driven.verdict.asked.iter().filter(|asked| asked.message.is_some()).count().to_string();
    let verdict = if is_fine { "ok" } else { "FAILED" };
    [boundary, event, driven.output.ended.to_string(), driven.output.results().to_string(), requests, left, again, verdict.into()]
}
