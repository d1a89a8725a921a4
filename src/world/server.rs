//! The model server: which answer a request gets (M-3), and where it differs from the recorded request.
//!
//! Answers are given in the order recorded. A request that differs still gets the next one, and the transcript says where it
//! differs; `strict` makes that a failure of the run.

use super::setup::{Prepared, Setup};
use crate::engine::contract::RequestId;
use crate::prelude::*;
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
    /// The next answer; `None` when there is none left for this prompt.
    pub(crate) fn serve(&mut self, setup: &Setup, id: RequestId, request: &Request) -> Option<Served> {
        self.given.resize(setup.answers.len(), false);
        let fits = |(index, answer): &(usize, &Prepared)| !self.given[*index] && answer.prompt.is_none_or(|prompt| prompt == id.prompt);
        let (index, answer) = setup.answers.iter().enumerate().find(fits)?;
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
