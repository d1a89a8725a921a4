//! A client sweep: does the same to a client at every moment of a scenario, in runs of their own, and judges each (K-9).

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use super::moment::{ClientMoment, last_answer};
use super::process_facts::computed_by_the_ended;
use super::profile::{ClientProfile, ClientSignal};
use super::{
    ActionOutcome, BoundaryAction, CallResult, ChildSignal, ClientAction, ClientExit, ClientHarness, ClientHarnessError, ClientLeaving,
    ClientRun, drive, verdict,
};
use crate::serve::gate::{AnswerBoundary, AnswerPart};
use reenact_stores::rules::quoted;
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;

/// The plan of a client sweep: actions, moments and times.
#[derive(Clone, Debug)]
pub struct ClientSweep {
    /// The actions at each moment, in runs of their own.
    pub what: Vec<ClientAction>,
    /// The moments; all that the run shows in which nothing is done, when this is empty.
    pub only: Vec<ClientMoment>,
    /// How often each row is run.
    pub repeat: usize,
    /// How long the answer stands still before: the client has read all that was sent.
    pub lead: Duration,
    /// How long the answer stands still after.
    pub wait: Duration,
    /// How many clients run at once.
    pub jobs: usize,
}

/// The outcome of a client sweep.
#[derive(Clone, Debug)]
pub struct ClientSweepReport {
    /// The run in which nothing was done.
    pub usual: ClientRun,
    /// One row for each moment and action, in their order, as far as they were done.
    pub rows: Vec<ClientSweepRow>,
    /// How many runs there were to do.
    pub planned: usize,
    /// The profile of the client.
    pub(super) profile: Option<Arc<ClientProfile>>,
}

/// One action at one moment.
#[derive(Clone, Debug)]
pub struct ClientSweepRow {
    /// When the client was interfered with.
    pub moment: ClientMoment,
    /// The action.
    pub action: ClientAction,
    /// The event that would have come next.
    pub event: Option<Arc<str>>,
    /// Its runs: one, or as many as were wanted.
    pub runs: Vec<ClientSweepRun>,
}

/// One run of a row.
#[derive(Clone, Debug)]
pub struct ClientSweepRun {
    /// The run, or the reason why it could not be had.
    pub run: Result<ClientRun, String>,
    /// Its problems; empty when nothing is wrong.
    pub problems: Vec<String>,
}

/// The common verdict of the runs of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowVerdict {
    /// Nothing is wrong.
    Fine,
    /// Something is wrong with each run.
    Failed,
    /// The runs differ.
    Flaky {
        /// With how many something is wrong.
        failed: usize,
        /// Of how many.
        runs: usize,
    },
    /// The action came too late in each run: the row says nothing about the client.
    TooLate,
    /// The signal reached this shell in each run, and not the client: the row says nothing about it.
    Unasked {
        /// Its name.
        shell: &'static str,
    },
}

/// How many clients may run at once, where each keeps so many of the cores busy. Clients wait most of the time. But those that compute would slow
/// each other down, and what is found then is not found again in a run alone.
#[must_use]
pub fn clients_at_once(cores: usize, cores_busy: Option<f64>) -> usize {
    const PER_CORE_MAX: usize = 2;
    /// The part of the machine that clients keep busy together.
    const BUSY_MAX: f64 = 0.75;
    let most = cores * PER_CORE_MAX;
    let Some(busy) = cores_busy.filter(|busy| *busy > 0.0) else { return most.max(1) };
    let fitting = (1..=most).rev().find(|clients| *clients as f64 * busy <= cores as f64 * BUSY_MAX);
    fitting.unwrap_or(1)
}

/// Runs the client once to learn the moments, then for each of them and each action.
///
/// # Errors
/// When the client cannot be started at all.
pub async fn client_sweep(
    setup: &Arc<RunSetup>,
    client: &ClientHarness,
    sweep: &ClientSweep,
    stop: impl Future<Output = ()>,
) -> Result<ClientSweepReport, ClientHarnessError> {
    let usual = usual_run(setup, client).await?;
    Ok(client_sweep_after(setup, client, usual, sweep, stop).await)
}

/// The run in which nothing is done to the client. It shows the moments.
///
/// # Errors
/// When the client cannot be started at all.
pub async fn usual_run(setup: &Arc<RunSetup>, client: &ClientHarness) -> Result<ClientRun, ClientHarnessError> {
    // A second prompt is that of the command that runs again.
    let owes_second = setup.scenario.prompts.get(1).is_some_and(|prompt| prompt.turns.first().is_none_or(|turn| !turn.may));
    let once = ClientHarness { again: client.again.clone().filter(|_| owes_second), ..client.clone() };
    let (began, computed) = (Instant::now(), computed_by_the_ended());
    let mut usual = drive(setup, &once, None).await?;
    let computed = computed_by_the_ended().zip(computed).map(|(after, before)| after.saturating_sub(before));
    usual.cores_busy = computed.map(|computed| computed.as_secs_f64() / began.elapsed().as_secs_f64());
    let is_its_own_end = usual.output.leaving == ClientLeaving::OnItsOwn;
    // A profile that has codes for this end has judged it.
    let is_judged =
        setup.scenario.drive.exit.is_some() || usual.verdict.questions.asked.iter().any(|asked| *asked == verdict::QUESTIONS[0]);
    if !is_judged && is_its_own_end && !matches!(usual.output.ended, ClientExit::Code(0) | ClientExit::TimedOut) {
        usual.failures.push(format!("the client ended with {}; if that is right, write `exit` in [drive]", usual.output.ended));
    }
    Ok(usual)
}

/// Each action at each moment of the usual run. When `stop` resolves, no further run begins, and the report has the rows that are done. When the
/// usual run failed, no row is tried.
pub async fn client_sweep_after(
    setup: &Arc<RunSetup>,
    client: &ClientHarness,
    usual: ClientRun,
    sweep: &ClientSweep,
    stop: impl Future<Output = ()>,
) -> ClientSweepReport {
    let mut stop = core::pin::pin!(stop);
    // Nothing is done to the command that runs again.
    let of_first = |boundary: &&AnswerBoundary| boundary.answer as usize <= usual.first_answers;
    let boundaries: Vec<AnswerBoundary> = usual.boundaries.iter().map(|(boundary, _)| boundary).filter(of_first).cloned().collect();
    let last_answer = last_answer(&boundaries).unwrap_or_default();
    let mut rows = if usual.failures.is_empty() { planned_rows(&usual, &boundaries, sweep) } else { Vec::new() };
    let usual_results: Arc<[CallResult]> = usual.judgement.results.clone().into();
    let mut running = JoinSet::new();
    // All rows once before any again: what is stopped has seen most.
    let mut left = (0..sweep.repeat.max(1)).flat_map(|_| 0..rows.len()).collect::<Vec<_>>().into_iter();
    let planned = left.len();
    loop {
        while running.len() < sweep.jobs.max(1)
            && let Some(place) = left.next()
        {
            let (setup, client) = (setup.clone(), client.clone());
            let (at, what) = (rows[place].moment.clone(), rows[place].action.clone());
            let (lead, wait, usual_results) = (sweep.lead, sweep.wait, usual_results.clone());
            let act = BoundaryAction { at, last_answer, what, lead, wait, usual_results };
            running.spawn(async move { (place, drive(&setup, &client, Some(&act)).await) });
        }
        let ended = tokio::select! {
            biased;
            () = &mut stop => None,
            ended = running.join_next() => ended,
        };
        match ended {
            Some(Ok((place, run))) => {
                let run = run.map_err(|error| error.to_string());
                let problems = problems(client.profile.as_deref(), &usual, &rows[place], &run);
                rows[place].runs.push(ClientSweepRun { run, problems });
            }
            // A panic of ours must not pass for a run that went well.
            Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Some(Err(_)) => (),
            None => break,
        }
    }
    rows.retain(|row| !row.runs.is_empty());
    ClientSweepReport { usual, rows, planned, profile: client.profile.clone() }
}

/// The rows of a client sweep: at each moment each action. Between answers there is no connection that could be closed.
fn planned_rows(usual: &ClientRun, boundaries: &[AnswerBoundary], sweep: &ClientSweep) -> Vec<ClientSweepRow> {
    let moments = if sweep.only.is_empty() { ClientMoment::of_run(boundaries, &usual.marked) } else { sweep.only.clone() };
    let event = |moment: &ClientMoment| match moment {
        ClientMoment::Answer(boundary) => usual.boundaries.iter().find(|(known, _)| known == boundary).and_then(|(_, event)| event.clone()),
        _ => None,
    };
    let with_action = |moment: ClientMoment| {
        let fits = |action: &&ClientAction| moment.is_in_answer() || action.is_on_process();
        let row = |action: &ClientAction| ClientSweepRow {
            event: event(&moment),
            moment: moment.clone(),
            action: action.clone(),
            runs: Vec::new(),
        };
        sweep.what.iter().filter(fits).map(row).collect::<Vec<_>>()
    };
    moments.into_iter().flat_map(with_action).collect()
}

fn problems(profile: Option<&ClientProfile>, usual: &ClientRun, row: &ClientSweepRow, run: &Result<ClientRun, String>) -> Vec<String> {
    let moment = &row.moment;
    let driven = match run {
        Ok(driven) => driven,
        Err(error) => return vec![error.clone()],
    };
    if driven.action == ActionOutcome::TooLate || driven.output.signalled_shell.is_some() {
        return Vec::new();
    }
    let mut problems = driven.failures.clone();
    if driven.action == ActionOutcome::NotDone {
        problems.push(never_came(usual, moment));
    }
    // A client that is killed prints nothing more, and owes nothing. Nor does one that starts, and had printed nothing, or ends before it can catch a
    // signal.
    let is_unready = driven.first_answers == 0 && matches!(driven.output.ended, ClientExit::Signal(_));
    let has_not_begun = matches!(moment, ClientMoment::Start(_)) && (driven.output.lines.is_empty() || is_unready);
    let owes_nothing = driven.output.ended == ClientExit::Signal(9) || has_not_begun;
    let (wanted, got) = (usual.output.results(), driven.output.results());
    // Of a client that prints none the number says nothing.
    let is_silent = owes_nothing || prints_no_result(profile, &row.action);
    if wanted > 0 && (got > wanted || (got < wanted && !is_silent)) {
        // A client that broke down says why on its standard error.
        let error =
            driven.output.last_error().filter(|_| got < wanted).map(|error| format!(", and its last error line is {}", quoted(error)));
        problems.push(format!("{got} result lines, usually {wanted}{}", error.unwrap_or_default()));
    }
    // Nor is there anything to resume of it.
    if wanted > 0
        && !has_not_begun
        && let Some(again) = driven.again.as_ref().filter(|again| again.results() != wanted)
    {
        problems.push(format!("the second command ended with {}, and {} result lines", again.ended, again.results()));
    }
    problems.into_iter().map(with_rule).collect()
}

/// Whether the profile says that the client prints no result after this signal.
pub(super) fn prints_no_result(profile: Option<&ClientProfile>, action: &ClientAction) -> bool {
    let signal = match action {
        ClientAction::Signal(ChildSignal::Interrupt, _) => ClientSignal::Interrupt,
        ClientAction::Signal(ChildSignal::Terminate, _) => ClientSignal::Terminate,
        ClientAction::Signal(ChildSignal::HangUp, _) => ClientSignal::HangUp,
        _ => return false,
    };
    profile.is_some_and(|profile| profile.output.no_result_after.contains(&signal))
}

/// Why a moment never came: the usual run does not have it, or this run differs from it.
fn never_came(usual: &ClientRun, moment: &ClientMoment) -> String {
    let (answers, is_there) = match moment {
        ClientMoment::Answer(boundary) => (boundary.answer, usual.boundaries.iter().any(|(known, _)| known == boundary)),
        ClientMoment::Marker { answer } => (*answer, usual.marked.contains(answer)),
        ClientMoment::Tools { answer, .. } => (*answer, usual.boundaries.iter().any(|(known, _)| known.answer == *answer)),
        ClientMoment::Start(_) | ClientMoment::Done(_) => (0, true),
    };
    let last = usual.boundaries.iter().map(|(boundary, _)| boundary.answer).max().unwrap_or_default();
    match moment {
        _ if is_there => String::from("the moment never came: the client's requests or the markers of its tools differ from run to run"),
        _ if answers > last => {
            format!("there is no such moment: the run in which nothing is done has {}", plural(u64::from(last), "answer"))
        }
        ClientMoment::Marker { answer } => {
            format!(
                "there is no such moment: no marker came after answer {answer} when nothing was done; see `marker_file` and `marker_line` of [drive]"
            )
        }
        _ => {
            let is_held = |boundary: &AnswerBoundary| boundary.answer == answers && boundary.before != AnswerPart::Left;
            let parts = usual.boundaries.iter().filter(|(boundary, _)| is_held(boundary)).count();
            format!("there is no such moment: answer {answers} has {parts} boundaries when nothing is done")
        }
    }
}

/// A problem that names its rule. Those that name none are about how a client is driven, or about what it sent.
fn with_rule(problem: String) -> String {
    let rule = problem.split_once(": ").map(|(rule, _)| rule);
    let is_rule = rule.and_then(|rule| rule.split_once('-')).is_some_and(|(letter, number)| {
        letter.len() == 1 && letter.chars().all(|letter| letter.is_ascii_uppercase()) && number.chars().all(|digit| digit.is_ascii_digit())
    });
    match is_rule {
        true => problem,
        false if problem.contains("the API refuses") => format!("O-10: {problem}"),
        false => format!("K-9: {problem}"),
    }
}

impl ClientSweepRun {
    /// Whether the action came too late: then the run says nothing about the client.
    pub fn is_too_late(&self) -> bool {
        self.run.as_ref().is_ok_and(|run| run.action == ActionOutcome::TooLate)
    }

    /// The shell that got the signal in place of the client: then, too, the run says nothing about the client.
    pub fn signalled_shell(&self) -> Option<&'static str> {
        self.run.as_ref().ok()?.output.signalled_shell
    }

    /// By what runs of a client are distinguished.
    fn outcome(&self) -> Option<(Option<ClientExit>, usize, bool)> {
        let output = self.run.as_ref().ok().map(|run| &run.output);
        (!self.is_too_late() && self.signalled_shell().is_none())
            .then(|| (output.map(|output| output.ended), output.map_or(0, super::ClientOutput::results), self.problems.is_empty()))
    }
}

impl ClientSweepRow {
    /// The common verdict of its runs. Those in which the action came too late say nothing.
    pub fn verdict(&self) -> RowVerdict {
        let outcomes: Vec<_> = self.runs.iter().filter_map(ClientSweepRun::outcome).collect();
        let failed = outcomes.iter().filter(|(_, _, is_fine)| !is_fine).count();
        match outcomes.first() {
            None => self
                .runs
                .iter()
                .find_map(ClientSweepRun::signalled_shell)
                .map_or(RowVerdict::TooLate, |shell| RowVerdict::Unasked { shell }),
            Some(first) if outcomes.iter().any(|outcome| outcome != first) => RowVerdict::Flaky { failed, runs: outcomes.len() },
            Some(_) if failed > 0 => RowVerdict::Failed,
            Some(_) => RowVerdict::Fine,
        }
    }

    /// Whether the client was acted on in one of its runs.
    pub(super) fn is_done(&self) -> bool {
        let is_done = |run: &&ClientSweepRun| run.run.as_ref().is_ok_and(|run| run.action == ActionOutcome::Done);
        self.runs.iter().filter(is_done).any(|run| run.signalled_shell().is_none())
    }

    /// How its runs end, each way once with their number: `2 times exit 0 and 1 result line`.
    pub(super) fn ends(&self) -> String {
        let mut found: Vec<(String, usize)> = Vec::new();
        for (ended, results, _) in self.runs.iter().filter_map(ClientSweepRun::outcome) {
            let ended = ended.map_or(String::from("no run"), |ended| ended.to_string());
            let end = format!("{ended} and {}", plural(results as u64, "result line"));
            match found.iter_mut().find(|(known, _)| *known == end) {
                Some((_, count)) => *count += 1,
                None => found.push((end, 1)),
            }
        }
        found.iter().map(|(end, count)| format!("{} {end}", plural(*count as u64, "time"))).collect::<Vec<_>>().join(", ")
    }

    /// Its problems, each once, with the number of its runs that have it.
    pub fn problems(&self) -> Vec<(&str, usize)> {
        let mut found: Vec<(&str, usize)> = Vec::new();
        for problem in self.runs.iter().flat_map(|run| &run.problems) {
            match found.iter_mut().find(|(known, _)| known == problem) {
                Some((_, count)) => *count += 1,
                None => found.push((problem, 1)),
            }
        }
        found
    }
}

impl ClientSweepReport {
    /// Whether all runs were made, the client was interfered with at least once in each way, and nothing is wrong with any of them.
    pub fn is_fine(&self) -> bool {
        let is_good = |row: &ClientSweepRow| matches!(row.verdict(), RowVerdict::Fine | RowVerdict::TooLate | RowVerdict::Unasked { .. });
        let is_asked = |action: &ClientAction| self.rows.iter().any(|row| row.action == *action && row.verdict() == RowVerdict::Fine);
        let is_complete = self.runs() == self.planned && !self.rows.is_empty();
        let all_asked = self.rows.iter().all(|row| is_asked(&row.action));
        self.usual.failures.is_empty() && is_complete && all_asked && self.rows.iter().all(is_good)
    }

    /// How many runs were made.
    pub fn runs(&self) -> usize {
        self.rows.iter().map(|row| row.runs.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_9_clients_that_compute_much_are_run_after_each_other() {
        let table = [
            (2, None, 4, "nothing is known"),
            (2, Some(0.2), 4, "clients wait most of the time"),
            (2, Some(0.5), 3, "three keep three quarters busy"),
            (2, Some(1.3), 1, "one alone is nearly too much"),
            (2, Some(9.0), 1, "one must run"),
            (8, Some(1.3), 4, "room for several"),
            (1, Some(0.0), 2, "nothing was measured"),
        ];
        for (cores, busy, expected, reason) in table {
            assert_eq!(clients_at_once(cores, busy), expected, "{cores} {busy:?}: {reason}");
        }
    }
}
