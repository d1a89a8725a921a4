//! The result message of a prompt (S-8): a pure function over how the query ended.

use crate::engine::budget::PriceTable;
use crate::engine::contract::Terminal;
use crate::engine::emission::{ResultMessage, ResultSubtype};
use crate::engine::query::{OfModel, Outcome};
use crate::engine::time::Micros;
use crate::prelude::*;
use crate::wire::usage::Usage;

/// Puts the message together. A prompt went well when it ended without an error of its own.
pub(crate) fn message(prices: &PriceTable, prompt: u32, duration: Micros, outcome: &Outcome) -> ResultMessage {
    let totals = &outcome.totals;
    let mut usage = Usage::default();
    totals.by_model.iter().for_each(|of| usage.add(&of.usage));
    let is_error = !outcome.errors.is_empty();
    ResultMessage {
        prompt,
        subtype: subtype(&outcome.terminal, is_error),
        is_error,
        terminal: outcome.terminal.clone(),
        duration,
        api_duration: totals.api_time,
        turns: totals.turns,
        text: totals.text.clone(),
        stop_reason: totals.stop_reason.clone(),
        usage,
        usage_by_model: totals.by_model.iter().map(|of| (of.model.clone(), of.usage)).collect(),
        errors: outcome.errors.clone(),
        cost: totals.cost(),
        cost_by_model: totals.by_model.iter().map(|of| (of.model.clone(), of.cost)).collect(),
        permission_denials: totals.denials.clone(),
        structured_output: totals.structured_output.clone(),
        warnings: totals.by_model.iter().filter(|of| !prices.has(&of.model)).map(unpriced).collect(),
    }
}

/// S-10: a stated default, and a word about it.
fn unpriced(of: &OfModel) -> Arc<str> {
    format!("no price is known for {}: {} is reckoned at the prices of a mid-sized model", of.model, of.cost).into()
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
    use crate::engine::budget::NanoUsd;
    use crate::engine::query::Totals;

    fn outcome(errors: &[&str]) -> Outcome {
        let usage = |tokens| Usage { output_tokens: Some(tokens), ..Usage::default() };
        let of = |model: &str, tokens| OfModel { model: model.into(), usage: usage(tokens), cost: NanoUsd(tokens) };
        Outcome {
            terminal: Terminal::Completed,
            errors: errors.iter().map(|text| Arc::from(*text)).collect(),
            carried: crate::engine::query::Carried::default(),
            queued: Vec::new(),
            totals: Totals { by_model: vec![of("a", 3), of("b", 4)], ..Totals::default() },
        }
    }

    #[test]
    fn s_8_an_error_makes_the_result_an_error_whatever_the_terminal() {
        let good = message(&PriceTable::default(), 1, Micros(5), &outcome(&[]));
        assert_eq!((good.subtype, good.is_error, good.usage.output_tokens), (ResultSubtype::Success, false, Some(7)));
        let bad = message(&PriceTable::default(), 1, Micros(5), &outcome(&["output limit"]));
        assert_eq!((bad.subtype, bad.is_error), (ResultSubtype::ErrorDuringExecution, true));
        assert_eq!(bad.terminal, Terminal::Completed);
    }
}
