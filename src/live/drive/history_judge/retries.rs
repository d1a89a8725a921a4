//! A request that is sent again has what the one before it had: the answer to that one failed for no fault of the request (O-24).

use super::super::run_history::RunExchange;
use reenact_stores::conversation::StoredMessage;
use reenact_stores::rules::{ReceivedContent, ReceivedKind, losses, result_ids, result_texts};
use reenact_wire::prelude::*;

/// The requests that were sent again, each with the one before.
pub(super) fn retries<'e>(exchanges: &[&'e RunExchange]) -> Vec<(&'e RunExchange, &'e RunExchange)> {
    exchanges.windows(2).filter(|pair| pair[0].is_to_be_retried()).map(|pair| (pair[0], pair[1])).collect()
}

/// The prompts and results that a request lacks and the failed one before it had.
pub(super) fn problems(failed: &RunExchange, again: &RunExchange, prompts: &[String]) -> Vec<String> {
    let had = |content: &ReceivedContent| losses(core::slice::from_ref(content), &[&failed.messages]).is_empty();
    let of = |kind| ReceivedContent { kind, origin: format!("of {}", failed.name()) };
    let prompts = prompts.iter().map(|text| of(ReceivedKind::Prompt((&**text).into()))).filter(had);
    let received: Vec<ReceivedContent> =
        prompts.chain(result_ids(&failed.messages).map(|id| of(ReceivedKind::Result(id.clone())))).collect();
    let name = again.name();
    let lost = losses(&received, &[&again.messages]).into_iter().map(|violation| violation.text);
    let lost = lost.map(|text| text.split_once(" is lost: ").map_or(text.clone(), |(what, _)| what.to_owned()));
    let lost = lost.map(|what| format!("O-24: {what} is missing in {name}, which asks the same again"));
    lost.chain(emptied(&failed.messages, &again.messages).map(|id| {
        format!("O-24: the result of tool call {id} has a text in {}, and none in {name}, which asks the same again", failed.name())
    }))
    .collect()
}

/// The calls whose results lost their text.
fn emptied(before: &[StoredMessage], after: &[StoredMessage]) -> impl Iterator<Item = Arc<str>> {
    let is_blank = |text: &str| text.trim().is_empty();
    let full: Vec<Arc<str>> = result_texts(before).filter(|(_, text, _)| !is_blank(text)).map(|(id, ..)| id.clone()).collect();
    let after: Vec<Arc<str>> = result_texts(after).filter(|(_, text, _)| is_blank(text)).map(|(id, ..)| id.clone()).collect();
    full.into_iter().filter(move |id| after.contains(id))
}
