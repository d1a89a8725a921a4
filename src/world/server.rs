//! The model server: which answer a request gets (M-3), and where it differs from the recorded request.
//!
//! Answers are given in the order recorded. A request that differs still gets the next one, and the transcript says where it
//! differs; `strict` makes that a failure of the run.

use super::setup::{Prepared, Setup};
use crate::prelude::*;
use crate::scenario::script::Origin;
use crate::wire::compare::{Difference, differences};
use crate::wire::request::Request;

/// Which answers were given.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Server {
    given: Vec<bool>,
}

/// What a request gets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Served {
    /// Which of [`Setup::answers`].
    pub(crate) answer: usize,
    /// Where the request differs from the recorded one.
    pub(crate) differences: Vec<Difference>,
}

impl Server {
    /// The next answer for a request of these origins, the first first; `None` when there is none left for any.
    pub(crate) fn serve(&mut self, setup: &Setup, origins: &[Origin], request: &Request) -> Option<Served> {
        self.given.resize(setup.answers.len(), false);
        // What was recorded is for those who spoke when it was recorded.
        let belongs = |answer: &Prepared, origin: Origin| answer.origin.map_or(matches!(origin, Origin::Prompt(_)), |of| of == origin);
        let next = |origin: Origin| (0..).zip(&setup.answers).find(|(index, answer)| !self.given[*index] && belongs(answer, origin));
        let (index, answer) = origins.iter().find_map(|origin| next(*origin))?;
        self.given[index] = true;
        let differences = answer.request.as_ref().map_or_else(Vec::new, |recorded| {
            let sent = serde_json::from_str(&request.to_json()).unwrap_or_default();
            differences(recorded, &setup.scenario.matching.volatile.normalised(sent))
        });
        Some(Served { answer: index, differences })
    }

    /// The names of the answers that nobody asked for.
    pub(crate) fn unused(&self, setup: &Setup) -> Vec<Arc<str>> {
        let unused = |index: &usize| !self.given.get(*index).copied().unwrap_or(false);
        (0..setup.answers.len()).filter(unused).map(|index| setup.answers[index].name.clone()).collect()
    }
}
