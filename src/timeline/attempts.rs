//! Which attempts are of one request, and which tool use belongs to which result.
//!
//! The recording says to which thread a request belongs (M-3). A further attempt holds the same conversation as the last request of its thread, which
//! was not answered with a whole message.

use alloc::collections::{BTreeMap, BTreeSet};

use reenact_wire::prelude::*;

use super::attempt_progress::{AttemptProgress, NamedTool};
use super::request_facts::{RequestFacts, RequestKeys};
use super::{CarriedResult, RecordedAttempt, RecordedCall, RecordedEnd, ToolFate, ToolInterval, ToolReturn, ToolRunInterval};

/// The attempts as calls, and their tool uses with their runs.
pub(crate) fn group(attempts: &[AttemptProgress], runs: &[NamedTool<ToolRunInterval>]) -> (Vec<RecordedCall>, Vec<ToolInterval>) {
    let mut grouping = AttemptGrouping::default();
    for attempt in attempts {
        grouping.add(attempt);
    }
    for run in runs {
        if let Some(known) = grouping.known_tools.get(&run.id).and_then(|uses| uses.0.last()) {
            grouping.tools[known.tool].runs.push(run.value);
        }
    }
    grouping.settle_fates();
    (grouping.calls, grouping.tools)
}

#[derive(Default)]
struct AttemptGrouping {
    calls: Vec<RecordedCall>,
    /// How many attempts there were.
    attempts: usize,
    tools: Vec<ToolInterval>,
    /// Of each thread the place of its last call, and its last request.
    last: BTreeMap<usize, (usize, RequestFacts)>,
    known_tools: BTreeMap<Arc<str>, UsesOfId>,
    /// The results for tool uses that are not recorded.
    strangers: BTreeSet<Arc<str>>,
}

/// The tool uses of one id: several threads, answers, and even blocks of one answer may have the same.
#[derive(Default)]
struct UsesOfId(Vec<RecordedToolUse>);

/// A tool use that results are looked up for.
struct RecordedToolUse {
    tool: usize,
    thread: usize,
    /// The attempt that it is in, by the count of attempts before.
    attempt: usize,
    /// The place of the message that held its result last.
    message: usize,
}

impl UsesOfId {
    /// The tool use that the result is for which is the `nth` of its id in a request of this thread, and whether the request has more of them
    /// than there are tool uses. The last answer of the thread counts, of any thread where this one has none.
    fn answered(&mut self, thread: usize, nth: usize) -> Option<(&mut RecordedToolUse, bool)> {
        let own = self.0.iter().rev().find(|known| known.thread == thread).or(self.0.last())?;
        let attempt = own.attempt;
        let places: Vec<usize> = (0..self.0.len()).filter(|place| self.0[*place].attempt == attempt).collect();
        let place = *places.get(nth).or(places.last())?;
        Some((&mut self.0[place], nth >= places.len()))
    }
}

impl AttemptGrouping {
    fn add(&mut self, attempt: &AttemptProgress) {
        self.attempts += 1;
        let known = self.last.get(&attempt.thread).filter(|(call, last)| {
            let was_answered = self.calls[*call].last().end == RecordedEnd::Answered;
            !was_answered && attempt.facts.asks_the_same(last)
        });
        let place = known.map_or(self.calls.len(), |(call, _)| *call);
        if place == self.calls.len() {
            self.calls.push(RecordedCall { number: place + 1, thread: attempt.thread, attempts: Vec::new() });
        }
        self.last.insert(attempt.thread, (place, attempt.facts.clone()));
        let results = self.results(attempt, place);
        let mut recorded = recorded(attempt, results);
        let label = self.calls[place].attempt_label(self.calls[place].attempts.len());
        self.tool_uses(attempt, &mut recorded, &label, place);
        self.calls[place].attempts.push(recorded);
    }

    /// The results that this request is the first to carry, or carries once more.
    fn results(&mut self, attempt: &AttemptProgress, place: usize) -> Vec<CarriedResult> {
        let is_first_attempt = self.calls[place].attempts.is_empty();
        let (thread, request) = (attempt.thread, place + 1);
        let mut carried = Vec::new();
        let mut in_this: BTreeMap<&str, usize> = BTreeMap::new();
        for sent in &attempt.facts.results {
            let nth = *in_this.entry(&sent.id).and_modify(|count| *count += 1).or_insert(0);
            let Some((known, is_one_more)) = self.known_tools.get_mut(&sent.id).and_then(|uses| uses.answered(thread, nth)) else {
                if self.strangers.insert(sent.id.clone()) {
                    carried.push(CarriedResult { id: sent.id.clone(), tool: None, is_error: sent.is_error });
                }
                continue;
            };
            let tool = &mut self.tools[known.tool];
            // What an earlier request carried at the same place is history that is sent again.
            let is_doubled = is_one_more || (tool.thread == thread && sent.message > known.message);
            if tool.returns.is_empty() || (is_first_attempt && is_doubled) {
                tool.returns.push(ToolReturn { request, at: attempt.at, is_error: sent.is_error });
                carried.push(CarriedResult { id: sent.id.clone(), tool: Some(known.tool), is_error: sent.is_error });
            }
            known.message = sent.message;
        }
        carried
    }

    /// The tool uses of an answer.
    fn tool_uses(&mut self, attempt: &AttemptProgress, recorded: &mut RecordedAttempt, label: &str, place: usize) {
        let uses = attempt.answer.blocks.iter().enumerate().filter_map(|(index, block)| Some((index, block.tool_use.clone()?)));
        for (nth, (index, (id, name))) in uses.enumerate() {
            let block = &mut recorded.blocks[index];
            block.tool = Some(self.tools.len());
            let known = RecordedToolUse { tool: self.tools.len(), thread: attempt.thread, attempt: self.attempts, message: 0 };
            self.known_tools.entry(id.clone()).or_default().0.push(known);
            self.tools.push(ToolInterval {
                label: format!("{label}{}", letters(nth)),
                id,
                name,
                input: block.beginning.clone(),
                thread: attempt.thread,
                request: place + 1,
                at: block.end_at.or(attempt.end_at),
                runs: Vec::new(),
                returns: Vec::new(),
                fate: if block.is_complete { ToolFate::Open } else { ToolFate::Dropped },
            });
        }
    }

    fn settle_fates(&mut self) {
        for (place, tool) in self.tools.iter_mut().enumerate() {
            let call = &self.calls[tool.request - 1];
            let is_over = self.last.get(&tool.thread).is_some_and(|(last, _)| last + 1 > tool.request);
            let was_lost = |attempt: &RecordedAttempt| !matches!(attempt.end, RecordedEnd::Answered | RecordedEnd::Open);
            let is_lost = call.attempts.iter().any(|attempt| was_lost(attempt) && has_tool(attempt, place));
            tool.fate = match tool.returns.first() {
                Some(first) if first.is_error => ToolFate::Error,
                Some(_) => ToolFate::Returned,
                None if is_lost => ToolFate::Dropped,
                None if tool.fate == ToolFate::Open && is_over => ToolFate::Missing,
                None => tool.fate,
            };
        }
    }
}

fn has_tool(attempt: &RecordedAttempt, tool: usize) -> bool {
    attempt.blocks.iter().any(|block| block.tool == Some(tool))
}

fn recorded(attempt: &AttemptProgress, results: Vec<CarriedResult>) -> RecordedAttempt {
    let answer = &attempt.answer;
    RecordedAttempt {
        exchange: attempt.exchange.clone(),
        at: attempt.at,
        head_at: attempt.head_at,
        first_at: attempt.first_at,
        end_at: attempt.end_at,
        status: attempt.status,
        end: attempt.end,
        problem: attempt.problem.clone(),
        retry_after: attempt.retry_after,
        model: if answer.model.is_empty() { attempt.facts.model.clone() } else { answer.model.clone() },
        messages: attempt.facts.messages,
        results,
        usage: answer.usage,
        stop_reason: answer.stop_reason.clone(),
        blocks: answer.blocks.iter().map(|block| block.interval.clone()).collect(),
        stalls: answer.stalls.clone(),
        contents: attempt.contents.clone(),
        keys: RequestKeys { parent: attempt.parent.clone(), ..attempt.facts.keys.clone() },
    }
}

/// 0 is `A`, 25 is `Z`, 26 is `AA`.
fn letters(number: usize) -> String {
    let letter = char::from(b'A' + u8::try_from(number % 26).unwrap_or(0));
    if number < 26 { letter.into() } else { letters(number / 26 - 1) + &String::from(letter) }
}
