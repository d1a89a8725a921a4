//! The threads of a whole recording: where several requests continue from the same one, only one of them is in its thread (M-3).
//!
//! Its answers are looked at, too: a request that does not continue from what was answered begins a thread of its own, and so does the same request
//! after a success.

use super::answer_fate::AnswerFate;
use super::{CompleteRequest, KnownRequest, RequestRelation, RequestSource, ThreadId, ThreadLineage, ThreadPlacement};
use crate::tape::Exchange;
use reenact_wire::prelude::*;

/// Gives each exchange its thread and its parent, in the order given.
pub fn assign(exchanges: &mut [Exchange]) {
    let mut threads = ThreadAssignment::default();
    for exchange in exchanges.iter() {
        threads.push(exchange);
    }
    for (exchange, place) in exchanges.iter_mut().zip(threads.finish()) {
        (exchange.thread, exchange.parent) = place;
    }
}

/// The same for exchanges that are given one by one: of each it keeps digests.
#[derive(Debug, Default)]
pub struct ThreadAssignment {
    lineage: ThreadLineage,
    placements: Vec<ThreadPlacement>,
}

impl ThreadAssignment {
    /// Takes the next exchange; the body of its request with what the API held for it, where that is another one.
    pub fn push(&mut self, exchange: &Exchange) -> Option<Vec<u8>> {
        let request = self.lineage.recorded_request((&exchange.method, &exchange.path), &exchange.body);
        let placement = self.lineage.place(exchange.id, request.as_ref(), RequestSource::Recording);
        self.placements.push(placement);
        if placement.relation == RequestRelation::Apart {
            return None;
        }
        let replied = exchange.answer.complete_answer();
        self.lineage.on_replied(|attempt| AnswerFate::from_answer(&exchange.answer, replied.as_ref(), attempt));
        let request = request?;
        if let (Some(conversation), Some(replied)) = (request.conversation, &replied) {
            self.lineage.hold(conversation, replied);
        }
        match request.body {
            Cow::Borrowed(_) => None,
            Cow::Owned(body) => Some(body.into_bytes()),
        }
    }

    /// Thread and parent of each, in the order given.
    pub fn finish(self) -> Vec<(Arc<str>, Option<u32>)> {
        let mut threads = threads(&self.lineage.requests).into_iter();
        let place = |placement: &ThreadPlacement| {
            let thread = match placement.relation {
                RequestRelation::Apart => None,
                _ => threads.next(),
            };
            (thread.unwrap_or(placement.thread).name(), placement.relation.parent())
        };
        self.placements.iter().map(place).collect()
    }
}

/// The request body of each exchange, in the order given, with what the API held for it: the same for clients that send only what is new as for
/// those that send everything. Where the recording does not hold what a request continues from, it stays as it is.
pub fn whole_bodies(exchanges: &[Exchange]) -> Vec<Cow<'_, [u8]>> {
    let mut lineage = ThreadLineage::default();
    let mut bodies = Vec::with_capacity(exchanges.len());
    for exchange in exchanges {
        let request = lineage.recorded_request((&exchange.method, &exchange.path), &exchange.body);
        bodies.push(match request {
            Some(CompleteRequest { body: Cow::Owned(body), conversation }) => {
                if let (Some(conversation), Some(replied)) = (conversation, exchange.answer.complete_answer()) {
                    lineage.hold(conversation, &replied);
                }
                Cow::from(body.into_bytes())
            }
            _ => Cow::from(&*exchange.body),
        });
    }
    bodies
}

/// The thread of each request.
///
/// A thread continues with the request that most continues from, where several do: first of those with the same system prompt and tools. `main` is
/// the first that offers tools and continues, or else the thread nearest to that: a title or a check of the quota is not what a recording was made
/// for.
fn threads(requests: &[KnownRequest]) -> Vec<ThreadId> {
    let heirs = heirs(requests);
    let mut places: Vec<usize> = Vec::with_capacity(requests.len());
    // Of each thread, whether it offers tools and whether it continues.
    let mut weights: Vec<(bool, bool)> = Vec::new();
    for (index, request) in requests.iter().enumerate() {
        places.push(match request.parent.filter(|parent| heirs[*parent] == Some(index)) {
            Some(parent) => {
                weights[places[parent]].1 = true;
                places[parent]
            }
            None => {
                weights.push((request.conversation.tools.is_some(), false));
                weights.len() - 1
            }
        });
    }
    let main = weights.iter().enumerate().max_by_key(|(index, weight)| (**weight, core::cmp::Reverse(*index))).map(|(index, _)| index);
    let mut others = (2..).map(ThreadId);
    let number = |index| if Some(index) == main { ThreadId::MAIN } else { others.next().unwrap_or(ThreadId::OTHER) };
    let threads: Vec<ThreadId> = (0..weights.len()).map(number).collect();
    places.into_iter().map(|place| threads[place]).collect()
}

/// Of each request the one that its thread continues with.
fn heirs(requests: &[KnownRequest]) -> Vec<Option<usize>> {
    // How many continue from it, itself counted.
    let mut sizes = vec![1; requests.len()];
    for (index, request) in requests.iter().enumerate().rev() {
        if let Some(parent) = request.parent {
            sizes[parent] += sizes[index];
        }
    }
    let mut heirs: Vec<Option<usize>> = vec![None; requests.len()];
    for (child, request) in requests.iter().enumerate() {
        let Some(parent) = request.parent else { continue };
        let rank = |child: usize| (requests[child].conversation.setting == requests[parent].conversation.setting, sizes[child]);
        if heirs[parent].is_none_or(|heir| rank(child) > rank(heir)) {
            heirs[parent] = Some(child);
        }
    }
    heirs
}

#[cfg(test)]
mod tests {
    use super::super::tests::answered_exchange;
    use super::*;

    /// One exchange: the tools offered, the messages as `u:` and `a:` with text, and what was answered (`429` and the like: a failure).
    fn exchange(id: u32, (tools, messages, answer): (&str, &str, &str)) -> Exchange {
        let message = |word: &str| {
            let (role, text) = word.split_once(':').unwrap();
            let role = if role == "u" { "user" } else { "assistant" };
            format!(r#"{{"role":"{role}","content":[{{"type":"text","text":"{text}"}}]}}"#)
        };
        let messages: Vec<String> = messages.split_whitespace().map(message).collect();
        let tools: Vec<String> = tools.split_whitespace().map(|name| format!(r#"{{"name":"{name}"}}"#)).collect();
        let status = answer.parse().unwrap_or(200);
        let content = format!(r#"{{"type":"message","content":[{{"type":"text","text":"{answer}"}}],"stop_reason":"end_turn"}}"#);
        let body = format!(r#"{{"model":"m","max_tokens":9,"tools":[{}],"messages":[{}]}}"#, tools.join(","), messages.join(","));
        answered_exchange(id, body, (status, content))
    }

    fn threads(exchanges: &[(&str, &str, &str)]) -> String {
        let mut exchanges: Vec<Exchange> = (1..).zip(exchanges).map(|(id, of)| exchange(id, *of)).collect();
        assign(&mut exchanges);
        let names: Vec<&str> =
            exchanges.iter().map(|exchange| exchange.thread.strip_prefix("thread-").unwrap_or(&exchange.thread)).collect();
        names.join(" ")
    }

    #[test]
    fn m_3_the_same_after_a_success_is_another_question_and_after_a_failure_another_attempt() {
        assert_eq!(threads(&[("", "u:hi", "yes"), ("", "u:hi", "yes")]), "main 2");
        assert_eq!(threads(&[("", "u:hi", "429"), ("", "u:hi", "429"), ("", "u:hi", "yes"), ("", "u:hi", "no")]), "main main main 2");
        assert_eq!(threads(&[("", "u:hi", "404"), ("", "u:hi", "404")]), "main 2", "which nobody asks again");
    }

    #[test]
    fn m_3_a_request_goes_on_from_the_answer_that_it_sends_back() {
        // Both conversations begin with the same word; only one of them was answered like this.
        assert_eq!(threads(&[("", "u:hi", "a_title"), ("A", "u:hi", "yes"), ("A", "u:hi a:yes u:more", "end")]), "2 main main");
        assert_eq!(threads(&[("", "u:hi", "a_title"), ("", "u:hi a:yes u:summarise", "end")]), "main 2");
        assert_eq!(
            threads(&[("", "u:hi", "yes_indeed_it_is"), ("", "u:hi a:yes_indeed_it_is! u:more", "end")]),
            "main main",
            "changed, and still known"
        );
        assert_eq!(threads(&[("", "u:hi", "yes"), ("", "u:hi u:more", "end")]), "main 2", "the answer is left out");
    }

    #[test]
    fn m_3_of_equal_requests_each_is_continued_once() {
        let asked = [("", "u:hi", "yes"), ("", "u:hi", "yes"), ("", "u:hi a:yes u:more", "end"), ("", "u:hi a:yes u:else", "end")];
        assert_eq!(threads(&asked), "main 2 2 main");
    }

    #[test]
    fn m_3_of_several_that_go_on_from_one_the_longest_is_the_thread() {
        let asked = [
            ("A", "u:hi", "yes"),
            ("A", "u:hi a:yes u:suggest", "try_this"),
            ("A", "u:hi a:yes u:more", "fine"),
            ("A", "u:hi a:yes u:more a:fine u:and", "end"),
        ];
        assert_eq!(threads(&asked), "main 2 main main");
    }

    #[test]
    fn m_3_main_offers_tools_and_goes_on() {
        let asked = [("", "u:title", "a"), ("A", "u:once", "b"), ("A", "u:hi", "c"), ("A", "u:hi a:c u:more", "d")];
        assert_eq!(threads(&asked), "2 3 main main");
    }
}
