//! Tokens by model: each attempt that reported any counts once.

use reenact_wire::prelude::*;
use reenact_wire::usage::Usage;

use super::{ModelTokens, SessionTimeline};

/// The sums, in the order in which the models come.
pub(crate) fn tokens(timeline: &SessionTimeline) -> Vec<ModelTokens> {
    let mut models: Vec<ModelTokens> = Vec::new();
    for (_, attempt) in timeline.attempts().filter(|(_, attempt)| attempt.usage != Usage::default()) {
        let known = models.iter().position(|model| model.model == attempt.model);
        let place = known.unwrap_or_else(|| {
            models.push(ModelTokens { model: attempt.model.clone(), answers: 0, usage: Usage::default() });
            models.len() - 1
        });
        models[place].answers += 1;
        models[place].usage.add(&attempt.usage);
    }
    models
}
