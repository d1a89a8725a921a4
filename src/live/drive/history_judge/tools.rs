//! The judgement of tool results: commands that were stopped, results that change places, and texts that are lost (O-20, O-24).

use super::super::moment::ClientMoment;
use super::super::run_history::RunExchange;
use super::super::{ChildSignal, ClientAction};
use super::results::{self, ToolStop};
use super::{RunJudge, RunJudgement, RunQuestion};
use reenact_wire::block::ToolUse;
use reenact_wire::prelude::*;

impl RunJudge<'_> {
    /// Results of tools in all that the client sends and keeps.
    pub(super) fn results(&self, judgement: &mut RunJudgement) {
        let (stopped, histories) = (self.stopped(), self.histories());
        if histories.is_empty() {
            return;
        }
        for answer in &self.first {
            let scripted = results::scripted(self.setup, answer);
            let stop = stopped.filter(|stop| stop.answer == answer.number && !scripted.is_empty());
            if scripted.len() > 1 {
                judgement.ask(RunQuestion::Pairs);
            }
            // Without a sign of it nobody knows that a command was stopped.
            if stop.is_some_and(|stop| stop.is_at_marker) {
                judgement.ask(RunQuestion::Stops);
            }
            for (name, history) in &histories {
                let mut found = if scripted.len() > 1 { results::mixed(name, history, &scripted) } else { Vec::new() };
                if let Some(stop) = stop {
                    found.extend(results::unmarked_stops(name, history, &scripted, stop));
                }
                // The others say the same of it.
                if !found.is_empty() {
                    judgement.add(found);
                    break;
                }
            }
        }
    }

    /// Results keep their texts, in all that the client sends and keeps.
    pub(super) fn result_texts(&self, judgement: &mut RunJudgement) {
        // Who was told that a request is too long may shorten it.
        let is_shortened = |exchange: &&RunExchange| exchange.status.is_some_and(|status| status >= 400) && !exchange.is_to_be_retried();
        let requests: Vec<&RunExchange> = self.first.iter().chain(&self.second).copied().filter(|exchange| exchange.is_of_root()).collect();
        if requests.iter().any(is_shortened) {
            return;
        }
        let calls = self.first.iter().flat_map(|exchange| exchange.calls()).flat_map(results::input_texts);
        let said =
            requests.iter().flat_map(|exchange| exchange.said()).chain(self.texts.first.iter().map(|text| &**text)).map(joined_words);
        let others: Vec<String> = calls.chain(said).collect();
        let scripted = self.first.iter().flat_map(|answer| results::scripted(self.setup, answer)).collect();
        let seen = results::seen_texts(scripted, &requests, &self.run.output, &others);
        // What a format cannot hold is nowhere in it.
        let kept = self.kept().into_iter().filter(|(_, history)| results::has_any(history, &seen));
        let compared = self.sent_last().into_iter().chain(kept);
        let compared = compared.filter_map(|(name, history)| results::lost_texts(&name, history, &seen));
        for lost in compared.chain(self.unprinted_texts()) {
            judgement.ask(RunQuestion::Texts);
            // The others say the same of it.
            if !lost.is_empty() {
                return judgement.add(lost);
            }
        }
    }

    /// The same of commands that print their text for certain. Who is interrupted may stop them.
    fn unprinted_texts(&self) -> Vec<Vec<String>> {
        let histories = self.histories();
        let of_answer = |answer: &&RunExchange| {
            let (calls, scripted) = (answer.calls().collect::<Vec<&ToolUse>>(), results::scripted(self.setup, answer));
            histories.iter().filter_map(|(name, history)| results::unprinted(name, history, &calls, &scripted)).collect::<Vec<_>>()
        };
        self.first.iter().filter(|_| self.act.is_none()).flat_map(of_answer).collect()
    }

    /// The answer whose tools ran when the client was told to stop, and how it was told.
    fn stopped(&self) -> Option<ToolStop<'_>> {
        let act = self.act?;
        let what = match &act.what {
            ClientAction::Signal(signal @ (ChildSignal::Interrupt | ChildSignal::Terminate), _) => signal.name(),
            ClientAction::Keys(_) => "a key",
            _ => return None,
        };
        let (answer, is_at_marker) = match act.at {
            ClientMoment::Marker { answer } => (answer, true),
            ClientMoment::Tools { answer, .. } => (answer, false),
            _ => return None,
        };
        Some(ToolStop { answer, what, is_at_marker, usual: &act.usual_results })
    }
}
