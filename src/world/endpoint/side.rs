//! The answers of `[[side]]`: to requests that a client makes beside its conversation (M-3).

use crate::pacing::AnswerTimesTable;
use crate::plan::ResponsePlan;
use crate::reissue;
use crate::setup::RunSetup;
use reenact_engine::time::Micros;
use reenact_scenario::script::{AnswerOrigin, TurnPlace};
use reenact_wire::prelude::*;
use reenact_wire::request::Request;
use reenact_wire::validate::{ValidationContext, refusal};

/// How often each rule answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SideAnswers {
    given: Vec<u32>,
}

impl SideAnswers {
    /// The first rule that fits, by its number from 1, and its answer; `None` where none does, and where the API would refuse the request.
    pub(super) fn answer(&mut self, setup: &RunSetup, request: &Request) -> Option<(usize, ResponsePlan)> {
        let (index, rule) = (0..).zip(&setup.scenario.sides).find(|(_, rule)| rule.matches(request))?;
        let is_taken = setup.scenario.api.lenient || refusal(request, &ValidationContext::default()).is_none();
        if !is_taken {
            return None;
        }
        self.given.resize(setup.scenario.sides.len(), 0);
        self.given[index] += 1;
        // Prompts count from 1, so that the ids of these messages are their own.
        let place = TurnPlace { origin: AnswerOrigin::Nothing(0), turn: self.given.iter().sum() };
        let prepared = setup.made_up(rule.answer.as_deref().unwrap_or_default(), request, place);
        let times = AnswerTimesTable { head: Micros::ZERO, pieces: vec![Micros::ZERO; prepared.pieces.len()], end: Micros::ZERO };
        let mut plan = ResponsePlan::new(&prepared, times);
        reissue::name_model(&mut plan, &setup.scenario.settings.model, &request.model);
        Some((index + 1, reissue::as_asked(plan, request)))
    }

    /// The rules that answered nothing and were to, by their numbers from 1.
    pub(super) fn unused(&self, setup: &RunSetup) -> Vec<usize> {
        let is_expected = |index: &usize| !setup.scenario.sides[*index].may;
        (0..setup.scenario.sides.len())
            .filter(is_expected)
            .filter(|index| self.given.get(*index).is_none_or(|given| *given == 0))
            .map(|index| index + 1)
            .collect()
    }
}
