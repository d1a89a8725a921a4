//! The part of a verdict that the profile of a client makes possible: the exit code, and the texts of the output (K-9).
//!
//! Both are held against what the client was answered. The last answer of the main conversation says whether the prompt was answered or failed.
//! Texts of answers that came whole are owed, each once.

use super::member_path::{has_members, values_at};
use super::moment::ClientMoment;
use super::profile::{ClientProfile, OutputPlaces, OutputTextPlace, PrintedAnswers};
use super::run_history::RunExchange;
use super::{
    ActionOutcome, BoundaryAction, ChildSignal, ClientAction, ClientExit, ClientHarness, ClientLeaving, ClientOutput, ClientRun,
    ClientTerminal, TerminalKey,
};
use crate::live::serve::verdict::ServedEnd;
use crate::prelude::*;
use crate::scenario::interrupt::{InterruptKind, ScriptedInterrupt};
use crate::scenario::types::Scenario;
use crate::stores::rules::joined_words;

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

/// The failures of a run's first command. `act` is what was done to it.
pub(super) fn problems(
    harness: &ClientHarness,
    scenario: &Scenario,
    run: &ClientRun,
    exchanges: &[RunExchange],
    act: Option<&BoundaryAction>,
) -> Vec<String> {
    let is_late = act.is_some() && run.action != ActionOutcome::Done;
    let Some(profile) = harness.profile.as_deref().filter(|_| run.output.signalled_shell.is_none() && !is_late) else { return Vec::new() };
    let answers = answers(run, exchanges);
    let signal = signal(scenario, act);
    let outcome = outcome(scenario, run, &answers);
    let mut problems = Vec::new();
    if owes_exit(scenario, run, act) {
        let was_done = answers.last().is_some_and(|last| act.is_none_or(|act| last.was_sent_before(act)));
        // Ctrl-C at a prompt ends a client as a signal would.
        let has_pressed = matches!(act.map(|act| &act.what), Some(ClientAction::Keys(keys)) if keys.contains(&TerminalKey::Control('C')));
        let signals = [signal, has_pressed.then_some(ChildSignal::Interrupt)];
        let of_signal = |signal| exit_problem(profile, run, (outcome, was_done), signal);
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

/// The question that is never asked of an output.
pub(super) const NEVER_ASKED_OF_OUTPUTS: &str = "parts of answers that broke off, in the output";

/// The questions that a profile asks of a run, each with whether it is asked.
pub(super) fn questions(
    harness: &ClientHarness,
    scenario: &Scenario,
    run: &ClientRun,
    exchanges: &[RunExchange],
) -> [(bool, &'static str); 2] {
    let outcome = outcome(scenario, run, &answers(run, exchanges));
    let has_codes = |profile: &ClientProfile| match outcome {
        PromptOutcome::Answered => !profile.exit.ok.is_empty(),
        PromptOutcome::Failed => !profile.exit.failed.is_empty(),
        PromptOutcome::Unclear => false,
    };
    let is_exit_asked = scenario.drive.exit.is_some() || harness.profile.as_deref().is_some_and(has_codes);
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

/// Whether a profile's exit codes count: not beside the code that the scenario wants, and not for a client that was sent away or that had no time to
/// listen for signals.
fn owes_exit(scenario: &Scenario, run: &ClientRun, act: Option<&BoundaryAction>) -> bool {
    let is_starting = act.is_some_and(|act| matches!(act.at, ClientMoment::Start(_)));
    let has_own = scenario.drive.exit.is_some() && act.is_none();
    !is_starting && !has_own && run.output.leaving == ClientLeaving::OnItsOwn
}

/// The signal that a client got: that of an action, or that of the scenario's interrupts.
fn signal(scenario: &Scenario, act: Option<&BoundaryAction>) -> Option<ChildSignal> {
    match act.map(|act| &act.what) {
        Some(ClientAction::Signal(signal, _)) => Some(*signal),
        Some(_) => None,
        None => {
            let is_signal = |interrupt: &ScriptedInterrupt| interrupt.kind == InterruptKind::Cancel;
            scenario.interrupts.iter().any(is_signal).then_some(ChildSignal::Interrupt)
        }
    }
}

fn exit_problem(
    profile: &ClientProfile,
    run: &ClientRun,
    (outcome, was_done): (PromptOutcome, bool),
    signal: Option<ChildSignal>,
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
        let broken = answers.iter().filter(|answer| !answer.is_complete && !answer.is_to_be_retried());
        let came =
            times(&whole, text) + broken.flat_map(|answer| answer.said()).map(|said| count(&joined_words(said), text)).sum::<usize>();
        let most = came.max(1);
        if got < times(&owed, text) {
            problems.push(format!("the output lacks a text of the model: {}", shown(text)));
        } else if got > most {
            problems.push(format!("the output has a text of the model {got} times, and it came {most} times: {}", shown(text)));
        }
    }
    problems
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

/// Whether a line of JSON is the result of a run.
pub(super) fn is_result(line: &serde_json::Value, places: Option<&OutputPlaces>) -> bool {
    match places.filter(|places| !places.result.is_empty()) {
        Some(places) => has_members(line, &places.result),
        None => line["type"] == "result",
    }
}
