//! Does the same to a client at every moment of a scenario, one run each, and tells what came of it as a table (K-9).

use core::fmt;
use std::time::Duration;

use tokio::task::JoinSet;

use super::moment::ClientMoment;
use super::profile::ClientProfile;
use super::{ActionOutcome, BoundaryAction, ClientAction, ClientExit, ClientHarness, ClientHarnessError, ClientRun, drive, verdict};
use crate::prelude::*;
use crate::world::setup::RunSetup;

/// A sweep over a client.
#[derive(Clone, Debug)]
pub struct ClientSweep {
    /// The actions at each moment, each in a run of its own.
    pub what: Vec<ClientAction>,
    /// The moments; all that the run shows in which nothing is done, when this is empty.
    pub only: Vec<ClientMoment>,
    /// How long the answer stands still before: the client has read all that was sent.
    pub lead: Duration,
    /// How long the answer stands still after.
    pub wait: Duration,
    /// How many clients run at once.
    pub jobs: usize,
}

/// The rows of a sweep.
#[derive(Clone, Debug)]
pub struct ClientSweepReport {
    /// The run in which nothing was done.
    pub usual: ClientRun,
    /// One run for each moment and action, in their order, as far as they were done.
    pub rows: Vec<ClientSweepRow>,
    /// How many there were to do.
    pub planned: usize,
    /// Whether a second command is run, and judged.
    has_again: bool,
    /// The profile of the client.
    profile: Option<Arc<ClientProfile>>,
}

/// One run.
#[derive(Clone, Debug)]
pub struct ClientSweepRow {
    /// When it was interfered with.
    pub moment: ClientMoment,
    /// The action.
    pub action: ClientAction,
    /// The event that would have come next.
    pub event: Option<Arc<str>>,
    /// The run, or the reason why it was not made.
    pub run: Result<ClientRun, String>,
    /// The failures of the row; empty when all is well.
    pub problems: Vec<String>,
}

/// Runs the client once to learn the moments, then once for each of them and each action. When `stop` resolves, no further run begins, and the report
/// has the rows that are done. When the client fails although nothing is done to it, no row is tried.
///
/// # Errors
/// When the client cannot be started at all.
pub async fn sweep(
    setup: &Arc<RunSetup>,
    client: &ClientHarness,
    sweep: &ClientSweep,
    stop: impl Future<Output = ()>,
) -> Result<ClientSweepReport, ClientHarnessError> {
    let mut stop = core::pin::pin!(stop);
    let once = ClientHarness { again: None, ..client.clone() };
    let mut usual = drive(setup, &once, None).await?;
    if setup.scenario.drive.exit.is_none() && !matches!(usual.output.ended, ClientExit::Code(0) | ClientExit::TimedOut) {
        usual.failures.push(format!("the client ended with {}; if that is right, write `exit` in [drive]", usual.output.ended));
    }
    let planned = if usual.failures.is_empty() { planned(&usual, sweep) } else { Vec::new() };
    let mut rows: Vec<Option<ClientSweepRow>> = planned.iter().map(|_| None).collect();
    let mut running = JoinSet::new();
    let mut left = planned.iter().cloned().enumerate();
    loop {
        while running.len() < sweep.jobs.max(1)
            && let Some((place, (moment, event, action))) = left.next()
        {
            let (setup, client) = (setup.clone(), client.clone());
            let act = BoundaryAction { at: moment.clone(), what: action.clone(), lead: sweep.lead, wait: sweep.wait };
            running.spawn(async move { (place, moment, event, action, drive(&setup, &client, Some(&act)).await) });
        }
        let ended = tokio::select! {
            biased;
            () = &mut stop => None,
            ended = running.join_next() => ended,
        };
        match ended {
            Some(Ok((place, moment, event, action, run))) => {
                let run = run.map_err(|error| error.to_string());
                let problems = problems(&usual, &run);
                rows[place] = Some(ClientSweepRow { moment, action, event, run, problems });
            }
            // A panic of ours must not pass for a run that went well.
            Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Some(Err(_)) => (),
            None => break,
        }
    }
    let has_again = client.again.is_some();
    Ok(ClientSweepReport {
        usual,
        rows: rows.into_iter().flatten().collect(),
        planned: planned.len(),
        has_again,
        profile: client.profile.clone(),
    })
}

/// The plan of a sweep: at each moment each action. Between answers there is no connection that could be closed.
fn planned(usual: &ClientRun, sweep: &ClientSweep) -> Vec<(ClientMoment, Option<Arc<str>>, ClientAction)> {
    let of_boundary = |(boundary, event): &(_, Option<Arc<str>>)| {
        ClientMoment::from_boundary(boundary).into_iter().map(|moment| (moment, event.clone())).collect::<Vec<_>>()
    };
    let seen: Vec<_> = usual.boundaries.iter().flat_map(of_boundary).collect();
    let moments: Vec<_> = if sweep.only.is_empty() {
        seen
    } else {
        let event =
            |moment: &ClientMoment| seen.iter().find(|(known, _)| known.boundary == moment.boundary).and_then(|(_, event)| event.clone());
        sweep.only.iter().map(|moment| (moment.clone(), event(moment))).collect()
    };
    let with_action = |(moment, event): (ClientMoment, Option<Arc<str>>)| {
        let fits = move |action: &&ClientAction| moment.after.is_none() || action.is_on_process();
        let moment = moment.clone();
        sweep.what.iter().filter(fits).map(move |action| (moment.clone(), event.clone(), action.clone())).collect::<Vec<_>>()
    };
    moments.into_iter().flat_map(with_action).collect()
}

fn problems(usual: &ClientRun, run: &Result<ClientRun, String>) -> Vec<String> {
    let driven = match run {
        Ok(driven) => driven,
        Err(error) => return vec![error.clone()],
    };
    if driven.action == ActionOutcome::TooLate || driven.output.signalled_shell.is_some() {
        return Vec::new();
    }
    let mut problems = driven.failures.clone();
    if driven.action == ActionOutcome::NotDone {
        problems.push(String::from("the boundary was not reached: the client's requests differ from run to run"));
    }
    // A client that is killed prints nothing more, and owes nothing.
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

impl ClientSweepRow {
    /// Whether the action came too late: then the row says nothing about the client.
    pub fn is_too_late(&self) -> bool {
        self.run.as_ref().is_ok_and(|run| run.action == ActionOutcome::TooLate)
    }

    /// The shell that got the signal in place of the client: then, too, the row says nothing about the client.
    pub fn signalled_shell(&self) -> Option<&'static str> {
        self.run.as_ref().ok()?.output.signalled_shell
    }

    fn is_asked(&self) -> bool {
        !self.is_too_late() && self.signalled_shell().is_none()
    }
}

impl ClientSweepReport {
    /// Whether all runs were made, the client was interfered with at least once in each way, and nothing is wrong with any of them.
    pub fn is_fine(&self) -> bool {
        let is_same = |row: &ClientSweepRow| self.rows.iter().any(|other| other.action == row.action && other.is_asked());
        let is_asked = !self.rows.is_empty() && self.rows.iter().all(is_same);
        self.usual.failures.is_empty() && is_asked && self.rows.len() == self.planned && self.rows.iter().all(|row| row.problems.is_empty())
    }

    /// The questions that each row answered, and those that it did not.
    fn questions(&self) -> [(&'static str, Vec<&'static str>); 2] {
        let (mut asked, mut unasked) = (vec!["requests that the API takes", "processes left behind", "an end in time"], Vec::new());
        for (is_asked, what) in verdict::questions(self.profile.as_deref(), &self.usual) {
            if is_asked { &mut asked } else { &mut unasked }.push(what);
        }
        unasked.push("the session on disk");
        if self.usual.output.results() > 0 { &mut asked } else { &mut unasked }.push("result lines");
        if self.has_again { &mut asked } else { &mut unasked }.push("the conversation when it is resumed (--again)");
        [("asked", asked), ("not asked", unasked)]
    }
}

/// The table, moment by outcome, and below it what is wrong, and what was asked.
impl fmt::Display for ClientSweepReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = ["boundary", "action", "before", "ended", "results", "requests", "left", "again", "verdict"].map(String::from);
        let usual_verdict = if self.usual.failures.is_empty() { "ok" } else { "FAILED" };
        let usual = line(["-", "(nothing done)", ""].map(String::from), &self.usual, usual_verdict);
        let lines: Vec<[String; 9]> = [header, usual].into_iter().chain(self.rows.iter().map(row_line)).collect();
        let widths: Vec<usize> = (0..9).map(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0)).collect();
        for line in &lines {
            let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect::<Vec<_>>();
            writeln!(f, "{}", cells.join("  ").trim_end())?;
        }
        for row in &self.rows {
            for problem in &row.problems {
                writeln!(f, "{}, {}: {problem}", row.moment, row.action)?;
            }
        }
        if !self.usual.failures.is_empty() {
            for failure in &self.usual.failures {
                writeln!(f, "FAILED: {failure}")?;
            }
            return f.write_str("the client fails although nothing is done to it, so nothing was tried: FAILED");
        }
        for (name, what) in self.questions() {
            writeln!(f, "{name}: {}", what.join(", "))?;
        }
        self.summary(f)
    }
}

impl ClientSweepReport {
    fn summary(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failed = self.rows.iter().filter(|row| !row.problems.is_empty()).count();
        let too_late = self.rows.iter().filter(|row| row.is_too_late()).count();
        match self.planned {
            0 => return f.write_str("no boundary, so nothing was tried: FAILED"),
            1 => write!(f, "1 run, {failed} failed")?,
            count => write!(f, "{count} runs, {failed} failed")?,
        }
        if too_late > 0 {
            write!(f, ", {too_late} too late: the next request or the end of the client came first")?;
        }
        let shells: Vec<&str> = self.rows.iter().filter_map(ClientSweepRow::signalled_shell).collect();
        if let Some(shell) = shells.first() {
            write!(
                f,
                ", {} not asked: the signal reached the shell `{shell}` alone; put `exec` before the client, or name its program after `--`",
                shells.len()
            )?;
        }
        if self.rows.len() < self.planned {
            write!(f, ", {} not done: the sweep was stopped", self.planned - self.rows.len())?;
        }
        Ok(())
    }
}

fn row_line(row: &ClientSweepRow) -> [String; 9] {
    let boundary = row.moment.to_string();
    let event = row.event.as_deref().unwrap_or(if boundary.ends_with("head") { "head" } else { "end" });
    let before = if row.moment.after.is_some() { String::new() } else { event.into() };
    let verdict = match row.problems.is_empty() {
        true if row.is_too_late() => "too late",
        true if row.signalled_shell().is_some() => "not asked",
        true => "ok",
        false => "FAILED",
    };
    let first = [boundary, row.action.to_string(), before];
    match &row.run {
        Ok(driven) => line(first, driven, verdict),
        Err(_) => {
            let [boundary, action, before] = first;
            let mut cells: [String; 9] = Default::default();
            (cells[0], cells[1], cells[2], cells[8]) = (boundary, action, before, verdict.into());
            cells
        }
    }
}

fn line([boundary, action, before]: [String; 3], driven: &ClientRun, verdict: &str) -> [String; 9] {
    let left = if driven.output.left_behind.is_empty() { String::from("-") } else { driven.output.left_behind.len().to_string() };
    let again = driven.again.as_ref().map_or(String::from("-"), |again| format!("{}, {} results", again.ended, again.results()));
    let requests = driven.verdict.asked.iter().filter(|asked| asked.message.is_some()).count().to_string();
    let (ended, results) = (driven.output.ended.to_string(), driven.output.results().to_string());
    [boundary, action, before, ended, results, requests, left, again, verdict.into()]
}
