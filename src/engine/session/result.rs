//! The result message of a prompt (S-8): a pure function over how the query ended.

use crate::contract::Terminal;
use crate::emission::{ResultMessage, ResultSubtype};
use crate::query::{AnswerTail, LastMessage, ModelTotals, QueryOutcome};
use crate::settings::{ContextWindow, Environment, PausePolicy};
use crate::time::Micros;
use reenact_wire::prelude::*;
use reenact_wire::usage::Usage;

/// Puts the message together. A prompt went well when it ended without an error of its own.
pub(crate) fn message(env: &Environment, prompt: u32, duration: Micros, outcome: &QueryOutcome) -> ResultMessage {
    let totals = &outcome.totals;
    let by_model = totals.all_by_model();
    let mut usage = Usage::default();
    by_model.iter().for_each(|of| usage.add(&of.usage));
    let is_paused_well =
        env.settings.on_pause == PausePolicy::End && matches!(totals.stop_reason.as_deref(), Some("pause_turn" | "compaction"));
    let is_error =
        !outcome.errors.is_empty() || !(is_paused_well || went_well(totals.last, totals.stop_reason.as_deref(), &outcome.terminal));
    let errors =
        if is_error && outcome.errors.is_empty() { vec![broken_off(totals.stop_reason.as_deref())] } else { outcome.errors.clone() };
    ResultMessage {
        prompt,
        subtype: subtype(&outcome.terminal, is_error),
        is_error,
        terminal: outcome.terminal.clone(),
        duration,
        api_duration: *totals.api_time,
        turns: totals.turns,
        text: totals.text.clone(),
        stop_reason: totals.stop_reason.clone(),
        usage,
        usage_by_model: by_model.iter().map(|of| (of.model.clone(), of.usage)).collect(),
        errors,
        cost: totals.cost(),
        cost_by_model: by_model.iter().map(|of| (of.model.clone(), of.cost)).collect(),
        permission_denials: totals.denials.clone(),
        structured_output: totals.structured_output.clone(),
        warnings: warnings(env, &by_model),
    }
}

/// S-8: whether what was said last is how a prompt ends that went well. `end_turn` and what counts as that end an answer well.
fn went_well(last: LastMessage, stop_reason: Option<&str>, terminal: &Terminal) -> bool {
    match last {
        // A command that needs no answer.
        LastMessage::Absent => true,
        LastMessage::Answer(AnswerTail::Other) => false,
        LastMessage::Answer(AnswerTail::Empty | AnswerTail::Words) => {
            !matches!(stop_reason, Some("max_tokens" | "model_context_window_exceeded" | "pause_turn" | "compaction" | "refusal"))
        }
        // Only what a hook, a limit or the structured output ended has results at its end on purpose.
        LastMessage::Results => matches!(terminal, Terminal::HookStopped | Terminal::MaxTurns | Terminal::MaxBudget | Terminal::Completed),
    }
}

fn broken_off(stop_reason: Option<&str>) -> Arc<str> {
    format!("the prompt ended in the middle of an answer (stop reason: {})", stop_reason.unwrap_or("none")).into()
}

/// Warnings about models that the tables do not have.
fn warnings(env: &Environment, by_model: &[ModelTotals]) -> Vec<Arc<str>> {
    let is_auto = env.settings.compaction.context_window == ContextWindow::Auto;
    let without_window = by_model.iter().filter(|of| is_auto && env.windows.tokens(&of.model).is_none());
    let without_price = by_model.iter().filter(|of| !env.prices.has(&of.model));
    without_price.map(unpriced).chain(without_window.map(windowless)).collect()
}

/// C-4: nothing that depends on a window happens, and a word about it.
fn windowless(of: &ModelTotals) -> Arc<str> {
    format!("no context window is known for {}: its context was not watched", of.model).into()
}

/// S-10: a stated default, and a word about it.
fn unpriced(of: &ModelTotals) -> Arc<str> {
    format!("no price is known for {}: {} is estimated from a mid-sized model", of.model, of.cost).into()
}

/// A limit that was reached has a kind of its own (S-7, S-9, S-10).
fn subtype(terminal: &Terminal, is_error: bool) -> ResultSubtype {
    match terminal {
        Terminal::MaxTurns => ResultSubtype::ErrorMaxTurns,
        Terminal::MaxBudget => ResultSubtype::ErrorMaxBudgetUsd,
        Terminal::StructuredOutputRetries => ResultSubtype::ErrorMaxStructuredOutputRetries,
        _ if is_error => ResultSubtype::ErrorDuringExecution,
        _ => ResultSubtype::Success,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::NanoUsd;
    use crate::query::ResultTotals;

    fn outcome(errors: &[&str]) -> QueryOutcome {
        let usage = |tokens| Usage { output_tokens: Some(tokens), ..Usage::default() };
        let of = |model: &str, tokens| ModelTotals { model: model.into(), usage: usage(tokens), cost: NanoUsd(tokens) };
        QueryOutcome {
            terminal: Terminal::Completed,
            errors: errors.iter().map(|text| Arc::from(*text)).collect(),
            queued: Vec::new(),
            totals: ResultTotals { by_model: vec![of("a", 3), of("b", 4)], ..ResultTotals::default() },
        }
    }

    #[test]
    fn s_8_what_was_said_last_decides() {
        use AnswerTail::{Empty, Other, Words};
        use LastMessage::{Absent, Answer, Results};
        let completed = || Terminal::Completed;
        let table = [
            (Absent, None, completed(), true),
            (Answer(Words), Some("end_turn"), completed(), true),
            (Answer(Words), Some("stop_sequence"), completed(), true),
            (Answer(Words), None, completed(), true),
            (Answer(Words), Some("something_new"), completed(), true),
            (Answer(Empty), Some("end_turn"), completed(), true),
            (Answer(Other), Some("end_turn"), completed(), false),
            (Answer(Words), Some("max_tokens"), completed(), false),
            (Answer(Words), Some("pause_turn"), completed(), false),
            (Answer(Words), Some("refusal"), completed(), false),
            (Answer(Words), Some("end_turn"), Terminal::StopHookPrevented, true),
            (Results, Some("tool_use"), Terminal::HookStopped, true),
            (Results, Some("tool_use"), completed(), true),
            (Results, Some("tool_use"), Terminal::AbortedStreaming, false),
            (Results, Some("tool_use"), Terminal::ModelError, false),
        ];
        for (last, stop_reason, terminal, expected) in table {
            assert_eq!(went_well(last, stop_reason, &terminal), expected, "{last:?} {stop_reason:?} {terminal:?}");
            let totals = ResultTotals { last, stop_reason: stop_reason.map(Arc::from), ..ResultTotals::default() };
            let result = message(&Environment::default(), 1, Micros(5), &QueryOutcome { terminal, totals, ..outcome(&[]) });
            assert_eq!((result.is_error, result.errors.is_empty()), (!expected, expected), "an error says what is wrong");
        }
    }

    #[test]
    fn s_8_an_error_makes_the_result_an_error_whatever_the_terminal() {
        let good = message(&Environment::default(), 1, Micros(5), &outcome(&[]));
        assert_eq!((good.subtype, good.is_error, good.usage.output_tokens), (ResultSubtype::Success, false, Some(7)));
        let bad = message(&Environment::default(), 1, Micros(5), &outcome(&["output limit"]));
        assert_eq!((bad.subtype, bad.is_error), (ResultSubtype::ErrorDuringExecution, true));
        assert_eq!(bad.terminal, Terminal::Completed);
    }
}
