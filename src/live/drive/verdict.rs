//! The part of a verdict that the profile of a client makes possible: the exit code, and the texts of the output (K-9).
//!
//! Both are held against what the client was answered. The last answer of the main conversation says whether the prompt was answered or failed.
//! Texts of answers that came whole are owed, each once.

use super::member_path::{has_members, values_at};
use super::moment::ClientMoment;
use super::profile::{ClientProfile, FailedAttempts, OutputTextPlace, PrintedAnswers};
use super::run_history::RunExchange;
use super::{
    ActionOutcome, BoundaryAction, ChildSignal, ClientAction, ClientExit, ClientHarness, ClientLeaving, ClientOutput, ClientRun,
    ClientTerminal, TerminalKey,
};
use reenact_foreign::verdict::ServedEnd;
use reenact_scenario::types::Scenario;
use reenact_wire::prelude::*;

/// A shorter part of a text may be that of anything.
const PART_CHARACTERS_MIN: usize = 8;

/// The outcome of a run's main conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PromptOutcome {
    /// The last answer ends the conversation, or is the scenario's last.
    Answered,
    /// The last answer was a failure: an error, or not a whole answer.
    Failed,
    /// Neither can be said: the client left, or the model stopped for a reason that each client takes in its own way.
    Unclear,
}

/// The failures of a run's first command. `act` is what was done to it, `abort` the scenario's own interrupt.
pub(super) fn problems(
    harness: &ClientHarness,
    scenario: &Scenario,
    run: &ClientRun,
    exchanges: &[RunExchange],
    (act, abort): (Option<&BoundaryAction>, Option<&BoundaryAction>),
) -> Vec<String> {
    let is_late = act.is_some() && run.action != ActionOutcome::Done;
    let Some(profile) = harness.profile.as_deref().filter(|_| run.output.signalled_shell.is_none() && !is_late) else { return Vec::new() };
    let answers = answers(run, exchanges);
    let has_own_code = scenario.drive.exit.is_some() && act.is_none();
    let act = act.or(abort);
    let signal = signal(act);
    let outcome = outcome(scenario, run, &answers);
    let mut problems = Vec::new();
    if !has_own_code && owes_exit(run, act) {
        // Who runs the tools of its last answer is not done.
        let was_sent = |last: &&&RunExchange| act.is_none_or(|act| last.was_sent_before(act));
        let was_done = answers.last().filter(was_sent).is_some_and(|last| last.stop_reason.as_deref() != Some("tool_use"));
        // Ctrl-C at a prompt ends a client as a signal would.
        let has_pressed = matches!(act.map(|act| &act.what), Some(ClientAction::Keys(keys)) if keys.contains(&TerminalKey::Control('C')));
        let signals = [signal, has_pressed.then_some(ChildSignal::Interrupt)];
        let of_signal = |signal| exit_problem(profile, run, (outcome, was_done), (signal, scenario.drive.exit));
        let found: Option<Vec<String>> = signals[..1 + usize::from(has_pressed)].iter().map(|signal| of_signal(*signal)).collect();
        problems.extend(found.into_iter().flatten().take(1));
    }
    if let Some(place) = text_place(harness) {
        problems.extend(text_problems(place, run, &answers, (outcome, signal)));
    }
    problems
}

/// The questions to a run that need a profile.
pub(super) const QUESTIONS: [&str; 2] = ["the exit code", "the text of the output"];

/// The question that is never asked of a client at a terminal.
pub(super) const NEVER_ASKED_AT_TERMINALS: &str = "texts that are put back into the input line (O-24)";

/// The question about texts of an output that did not come whole.
pub(super) const PARTS_OF_OUTPUT: &str = "parts of answers that broke off, in the output";

/// The questions that a profile asks of a run, each with whether it is asked.
pub(super) fn questions(
    harness: &ClientHarness,
    scenario: &Scenario,
    run: &ClientRun,
    exchanges: &[RunExchange],
    act: Option<&BoundaryAction>,
) -> [(bool, &'static str); 2] {
    let outcome = outcome(scenario, run, &answers(run, exchanges));
    let has_codes = |profile: &ClientProfile| match (signal(act), outcome) {
        (Some(signal), _) => codes_after(profile, signal).is_some_and(|codes| !codes.is_empty()),
        (None, PromptOutcome::Answered) => !profile.exit.ok.is_empty(),
        (None, PromptOutcome::Failed) => !profile.exit.failed.is_empty(),
        (None, PromptOutcome::Unclear) => false,
    };
    let is_judged = owes_exit(run, act) && harness.profile.as_deref().is_some_and(has_codes);
    // Of who was sent away the code says nothing.
    let has_own_code = scenario.drive.exit.is_some() && run.output.leaving == ClientLeaving::OnItsOwn;
    let is_exit_asked = has_own_code || is_judged;
    [(is_exit_asked, QUESTIONS[0]), (text_place(harness).is_some(), QUESTIONS[1])]
}

/// The place of the texts. A terminal breaks lines wherever they end, so that no text can be found there.
fn text_place(harness: &ClientHarness) -> Option<&OutputTextPlace> {
    harness.profile.as_deref().filter(|_| harness.terminal == ClientTerminal::None)?.output.text.as_ref()
}

/// The codes that a profile has for the end after a signal; `None` for a signal after which none is judged.
pub(super) fn codes_after(profile: &ClientProfile, signal: ChildSignal) -> Option<&[u32]> {
    match signal {
        ChildSignal::Interrupt => Some(&profile.exit.sigint),
        ChildSignal::Terminate => Some(&profile.exit.sigterm),
        ChildSignal::HangUp | ChildSignal::Kill => None,
    }
}

/// The answers of the main conversation that the first command got.
fn answers<'e>(run: &ClientRun, exchanges: &'e [RunExchange]) -> Vec<&'e RunExchange> {
    let of_first = |exchange: &&RunExchange| (1..=run.first_answers).contains(&(exchange.number as usize));
    exchanges.iter().filter(of_first).filter(|exchange| exchange.is_of_root()).collect()
}

/// The texts of an answer, with single blanks.
fn texts(answer: &RunExchange) -> impl Iterator<Item = String> {
    answer.texts().map(|text| joined_words(text))
}

fn outcome(scenario: &Scenario, run: &ClientRun, answers: &[&RunExchange]) -> PromptOutcome {
    let Some(last) = answers.last() else { return PromptOutcome::Unclear };
    // Turns that nobody need ask for do not count. What is unused at the end says nothing of the first command: a second one may have used it.
    let owed = scenario.prompts.iter().flat_map(|prompt| &prompt.turns).filter(|turn| !turn.may).count();
    let got = answers.iter().filter(|answer| answer.is_complete).count();
    let is_scripted_end = last.how == ServedEnd::Complete && got >= owed && (owed > 0 || run.verdict.unused.is_empty());
    match (last.status, last.is_complete, last.stop_reason.as_deref()) {
        (Some(200), true, Some("end_turn" | "stop_sequence")) => PromptOutcome::Answered,
        (Some(200), true, Some("tool_use")) if is_scripted_end => PromptOutcome::Answered,
        (Some(200), true, _) => PromptOutcome::Unclear,
        (Some(200), false, _) => match last.how {
            ServedEnd::Complete | ServedEnd::Reset | ServedEnd::ClosedAtGate | ServedEnd::ResetAtGate | ServedEnd::ServerGone => {
                PromptOutcome::Failed
            }
            // Many clients close the connection when they have read the error.
            ServedEnd::ClientLeft | ServedEnd::LeftAtEnd if last.has_error => PromptOutcome::Failed,
            _ => PromptOutcome::Unclear,
        },
        (Some(_), ..) => PromptOutcome::Failed,
        (None, ..) => match last.how {
            ServedEnd::Reset | ServedEnd::ClosedAtGate | ServedEnd::ResetAtGate => PromptOutcome::Failed,
            _ => PromptOutcome::Unclear,
        },
    }
}

/// Whether a profile's exit codes count: not for a client that was sent away or that had no time to listen for signals.
fn owes_exit(run: &ClientRun, act: Option<&BoundaryAction>) -> bool {
    let is_starting = act.is_some_and(|act| matches!(act.at, ClientMoment::Start(_)));
    !is_starting && run.output.leaving == ClientLeaving::OnItsOwn
}

/// The signal that a client got.
fn signal(act: Option<&BoundaryAction>) -> Option<ChildSignal> {
    match act?.what {
        ClientAction::Signal(signal, _) => Some(signal),
        _ => None,
    }
}

fn exit_problem(
    profile: &ClientProfile,
    run: &ClientRun,
    (outcome, was_done): (PromptOutcome, bool),
    (signal, wanted_by_scenario): (Option<ChildSignal>, Option<u32>),
) -> Option<String> {
    let code = match run.output.ended {
        ClientExit::Code(code) => u32::try_from(code).ok()?,
        ClientExit::Signal(number) => 128 + u32::try_from(number).ok()?,
        ClientExit::TimedOut => return None,
    };
    let (wanted, why) = match (signal, outcome) {
        (Some(signal), _) => (codes_after(profile, signal)?, format!("after {}", signal.name())),
        (None, PromptOutcome::Answered) => (&profile.exit.ok[..], String::from("the prompt was answered")),
        (None, PromptOutcome::Failed) => (&profile.exit.failed[..], String::from("the API failed for good")),
        (None, PromptOutcome::Unclear) => return None,
    };
    // A signal may come when the client is done already. Who goes on working after it was not.
    let is_done_before = was_done
        && signal.is_some()
        && match outcome {
            _ if wanted_by_scenario == Some(code) => true,
            PromptOutcome::Answered => profile.exit.ok.contains(&code),
            PromptOutcome::Failed => profile.exit.failed.contains(&code),
            PromptOutcome::Unclear => false,
        };
    if wanted.is_empty() || wanted.contains(&code) || is_done_before {
        return None;
    }
    let wanted = wanted.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ");
    Some(format!("the exit code is {code}, and the profile has {wanted} ({why})"))
}

fn text_problems(
    place: &OutputTextPlace,
    run: &ClientRun,
    answers: &[&RunExchange],
    (outcome, signal): (PromptOutcome, Option<ChildSignal>),
) -> Vec<String> {
    let printed = printed(place, &run.output);
    let whole: Vec<&RunExchange> = answers.iter().copied().filter(|answer| answer.is_complete).collect();
    let is_answered = outcome == PromptOutcome::Answered;
    let times =
        |of: &[&RunExchange], text: &str| of.iter().flat_map(|answer| texts(answer)).map(|other| count(&other, text)).sum::<usize>();
    // What is owed: a client that is interrupted may keep to itself what it has not worked on yet.
    let owed: Vec<&RunExchange> = match (place.of, signal) {
        (PrintedAnswers::All, None) => whole.clone(),
        (PrintedAnswers::All, Some(ChildSignal::Interrupt | ChildSignal::Terminate)) => {
            answers[..answers.len().saturating_sub(1)].iter().copied().filter(|answer| answer.is_complete).collect()
        }
        (PrintedAnswers::Last, None) if is_answered => whole.last().copied().into_iter().collect(),
        _ => Vec::new(),
    };
    let mut all: Vec<String> = answers.iter().flat_map(|answer| texts(answer)).collect();
    all.sort_unstable();
    all.dedup();
    let mut problems = Vec::new();
    for text in &all {
        let got = count(&printed, text);
        // An attempt that failed may have been shown before the answer that took its place. What an interruption broke off came as well.
        let is_shown = |answer: &RunExchange| !answer.is_to_be_retried() || place.failed_attempts == Some(FailedAttempts::Shown);
        let broken = answers.iter().filter(|answer| !answer.is_complete && is_shown(answer));
        let came =
            times(&whole, text) + broken.flat_map(|answer| answer.said()).map(|said| count(&joined_words(said), text)).sum::<usize>();
        let most = came.max(1);
        if got < times(&owed, text) {
            problems.push(format!("the output lacks a text of the model: {}", shown(text)));
        } else if got > most {
            problems.push(format!("the output has a text of the model {got} times, and it came {most} times: {}", shown(text)));
        }
    }
    problems.extend(part_problems(place, &printed, answers));
    problems
}

/// A text that came in part in an attempt that failed, and whole in a later answer.
struct RetriedText {
    part: String,
    whole: String,
}

/// The texts of attempts that failed, where a later answer has taken their place. `None` for a text without one.
fn retried_texts(answers: &[&RunExchange]) -> Vec<Option<RetriedText>> {
    let failed = answers.iter().enumerate().filter(|(_, answer)| !answer.is_complete && answer.is_to_be_retried());
    let of_attempt = |(at, attempt): (usize, &&RunExchange)| {
        let later: Vec<String> = answers[at + 1..].iter().filter(|answer| answer.is_complete).flat_map(|answer| texts(answer)).collect();
        let retried = |part: String| {
            let whole = later.iter().find(|whole| whole.starts_with(&part))?.clone();
            Some(RetriedText { part, whole })
        };
        attempt.said().map(joined_words).map(retried).collect::<Vec<_>>()
    };
    failed.flat_map(of_attempt).collect()
}

/// Parts of attempts that failed, where they were printed although the client shows none, or more often than they came.
fn part_problems(place: &OutputTextPlace, printed: &str, answers: &[&RunExchange]) -> Vec<String> {
    let is_part = |text: &RetriedText| {
        let is_known = text.part.chars().nth(PART_CHARACTERS_MIN - 1).is_some();
        is_known && text.part != text.whole && printed.contains(&text.whole)
    };
    let mut texts_of_all: Vec<String> = answers.iter().filter(|answer| answer.is_complete).flat_map(|answer| texts(answer)).collect();
    texts_of_all.sort_by_key(|text| core::cmp::Reverse(text.len()));
    let apart = texts_of_all.iter().fold(printed.to_owned(), |printed, text| printed.replace(text, "\n"));
    let mut parts: Vec<String> = retried_texts(answers).into_iter().flatten().filter(is_part).map(|text| text.part).collect();
    parts.sort_unstable();
    parts.dedup();
    let came = |part: &str| {
        let of_attempt = |answer: &&&RunExchange| answer.said().any(|said| joined_words(said).contains(part));
        answers.iter().filter(|answer| !answer.is_complete).filter(of_attempt).count()
    };
    // A client that prints a growing text has its parts beside it at any time.
    let is_step = |line: &str, part: &str| {
        line.len() > part.len() && line.starts_with(part) && texts_of_all.iter().any(|text| text.starts_with(line))
    };
    let problem = |part: &String| {
        let (got, came) = (count(&apart, part), came(part));
        let grows = apart.lines().any(|line| is_step(line, part));
        let (times, came_times) = (plural(got as u64, "time"), plural(came as u64, "time"));
        match place.failed_attempts {
            Some(FailedAttempts::Hidden) if got > 0 => {
                Some(format!("the output has a part of an attempt that failed, beside the whole text: {}", shown(part)))
            }
            _ if got > came && !grows => {
                Some(format!("the output has a part of a text {times} beside the whole text, and it came {came_times}: {}", shown(part)))
            }
            _ => None,
        }
    };
    parts.iter().filter_map(problem).collect()
}

/// Whether parts of answers that broke off are judged in the output; `None` where no answer did.
pub(super) fn judges_parts(harness: &ClientHarness, run: &ClientRun, exchanges: &[RunExchange]) -> Option<bool> {
    exchanges.iter().find(|exchange| !exchange.is_complete && exchange.said().next().is_some())?;
    let Some(place) = text_place(harness).filter(|place| place.failed_attempts.is_some()) else { return Some(false) };
    let (answers, printed) = (answers(run, exchanges), printed(place, &run.output));
    let count = exchanges.iter().filter(|exchange| !exchange.is_complete).flat_map(|exchange| exchange.said()).count();
    let retried = retried_texts(&answers);
    Some(retried.len() == count && retried.iter().flatten().filter(|text| printed.contains(&text.whole)).count() == count)
}

/// The texts of the model in an output, with single blanks.
pub(super) fn printed(place: &OutputTextPlace, output: &ClientOutput) -> String {
    let Some(at) = &place.at else { return joined_words(&output.lines.join("\n")) };
    let lines: Vec<serde_json::Value> = output.json_lines().filter(|line| has_members(line, &place.lines)).collect();
    let texts = lines.iter().flat_map(|line| values_at(line, at)).filter_map(|value| value.as_str());
    texts.map(joined_words).collect::<Vec<_>>().join("\n")
}

fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

fn shown(text: &str) -> String {
    const SHOWN_MAX: usize = 60;
    match text.char_indices().nth(SHOWN_MAX) {
        None => format!("{text:?}"),
        Some((at, _)) => format!("{:?}…", &text[..at]),
    }
}
