//! The threads of a whole recording: where several requests continue from the same one, only one of them is in its thread (M-3).

use super::answer_fate::AnswerFate;
use super::{ConversationDigest, DigestBits, LineageStep, MAIN, OTHER, ThreadLineage};
use crate::tape::Exchange;
use reenact_wire::prelude::*;

/// One exchange with a conversation.
#[derive(Debug)]
struct ForkNode {
    /// The position of the exchange, from 0.
    at: usize,
    /// Its number.
    id: u32,
    /// System prompt and tools.
    setting: DigestBits,
    offers_tools: bool,
    /// Which node it continues from.
    parent: Option<usize>,
    /// How many exchanges continue from it, itself counted.
    size: usize,
    /// The number of its thread.
    thread: usize,
}

/// The tree of requests, each after the one that it continues from.
#[derive(Debug, Default)]
pub(super) struct Forks {
    lineage: ThreadLineage,
    nodes: Vec<ForkNode>,
    /// The thread of each exchange, if it has no conversation.
    alone: Vec<&'static str>,
}

impl Forks {
    /// Takes the next exchange, with its conversation.
    pub(super) fn push(&mut self, exchange: &Exchange, conversation: Option<ConversationDigest>) {
        let at = self.alone.len();
        let is_message = exchange.asks_for_message();
        // Sources that keep answers only have one conversation, as far as anyone can tell.
        self.alone.push(if is_message && exchange.body.is_empty() { MAIN } else { OTHER });
        let Some(conversation) = conversation.filter(|_| is_message) else { return };
        let number = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        let placement = self.lineage.place(number, &conversation);
        self.lineage.replied(|attempt| AnswerFate::from_answer(&exchange.answer, attempt));
        let parent = placement.parent.filter(|_| placement.step != LineageStep::First).map(|parent| parent as usize);
        let (setting, offers_tools) = (conversation.setting, conversation.tools.is_some());
        self.nodes.push(ForkNode { at, id: exchange.id, setting, offers_tools, parent, size: 1, thread: 0 });
    }

    /// Thread and parent of each exchange.
    pub(super) fn finish(mut self) -> Vec<(Arc<str>, Option<u32>)> {
        let nodes = &mut self.nodes;
        for index in (0..nodes.len()).rev() {
            if let Some(parent) = nodes[index].parent {
                nodes[parent].size += nodes[index].size;
            }
        }
        let names = names(nodes);
        let mut places: Vec<(Arc<str>, Option<u32>)> = self.alone.iter().map(|name| (Arc::from(*name), None)).collect();
        for node in &self.nodes {
            places[node.at] = (names[node.thread].clone(), node.parent.map(|parent| self.nodes[parent].id));
        }
        places
    }
}

/// Numbers the threads; their names, by number.
///
/// A thread continues with the request that most continues from, where several do: first of those with the same system prompt and tools. `main` is
/// the first that offers tools and continues, or else the thread nearest to that: a title or a check of the quota is not what a recording was made
/// for.
fn names(nodes: &mut [ForkNode]) -> Vec<Arc<str>> {
    let mut heirs: Vec<Option<usize>> = vec![None; nodes.len()];
    let rank = |nodes: &[ForkNode], parent: usize, child: usize| (nodes[child].setting == nodes[parent].setting, nodes[child].size);
    for child in 0..nodes.len() {
        let Some(parent) = nodes[child].parent else { continue };
        if heirs[parent].is_none_or(|heir| rank(nodes, parent, child) > rank(nodes, parent, heir)) {
            heirs[parent] = Some(child);
        }
    }
    let mut weights: Vec<(bool, bool)> = Vec::new();
    for index in 0..nodes.len() {
        match nodes[index].parent.filter(|parent| heirs[*parent] == Some(index)) {
            Some(parent) => {
                nodes[index].thread = nodes[parent].thread;
                weights[nodes[index].thread].1 = true;
            }
            None => {
                nodes[index].thread = weights.len();
                weights.push((nodes[index].offers_tools, false));
            }
        }
    }
    let main = weights.iter().enumerate().max_by_key(|(index, weight)| (**weight, core::cmp::Reverse(*index))).map(|(index, _)| index);
    let mut others = (2..).map(|number| Arc::from(format!("thread-{number}")));
    (0..weights.len())
        .map(|index| if Some(index) == main { Arc::from(MAIN) } else { others.next().unwrap_or_else(|| OTHER.into()) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::assign;
    use super::*;
    use crate::tape::{BodyChunk, Provenance, RecordedResponse, ResponseEnd};

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
        Exchange {
            id,
            thread: "".into(),
            parent: None,
            provenance: Provenance::Recorded,
            at: None,
            method: "POST".into(),
            path: "/v1/messages".into(),
            headers: Arc::new([]),
            body: format!(r#"{{"model":"m","max_tokens":9,"tools":[{}],"messages":[{}]}}"#, tools.join(","), messages.join(","))
                .into_bytes()
                .into(),
            answer: RecordedResponse {
                status,
                headers: Arc::new([]),
                head_at: None,
                chunks: [BodyChunk { at: None, bytes: content.into_bytes().into() }].into(),
                end: ResponseEnd::Complete,
                end_at: None,
            },
        }
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
