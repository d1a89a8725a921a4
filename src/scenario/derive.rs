//! From a recording to scenarios that replay it (K-4): one for each thread of conversation.
//!
//! The user's messages and the tools' results stand in the follow-up requests, so they are read from there: the addition of a request to the one
//! before it is the echo of an answer, results of tools, or a new prompt. Answers stay on the tape, failed attempts too. What a scenario cannot say
//! is in [`DerivedScenario::notes`].

mod answers;
mod changes;
mod end;
mod settings;
mod steps;

use alloc::collections::BTreeMap;

use self::end::ThreadEnd;
use super::conversation::{MAIN, OTHER};
use super::recording::{Recording, WholeTape};
use super::tape::{Exchange, Tape, TapeHeader};
use super::types::{Scenario, ScriptedPrompt, TapeSource};
use reenact_wire::block::{Block, BlockKind, ToolUse};
use reenact_wire::container::container_id;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;
use reenact_wire::request::Request;
use reenact_wire::usage::Usage;

/// The prompt of a recording that holds answers only.
pub const NOT_RECORDED: &str = "(not recorded)";

/// How long a title may be, in characters.
const TITLE_MAX: usize = 72;

/// A scenario that follows from a tape.
#[derive(Clone, Debug, PartialEq)]
pub struct DerivedScenario {
    /// The thread of the tape that it replays.
    pub thread: Arc<str>,
    /// The scenario.
    pub scenario: Scenario,
    /// Where it comes from and what it leaves out, a sentence each.
    pub notes: Vec<String>,
}

/// The scenarios of a tape, `main` first, then in the order in which their threads begin. `tape_file` is the tape's file as the scenarios will name
/// it.
///
/// Exchanges with other endpoints (`count_tokens`, `models`) have no scenario.
pub fn scenarios(tape: &Tape, tape_file: &str) -> Vec<DerivedScenario> {
    let recording = WholeTape::new(tape);
    threads(&recording).iter().map(|thread| scenario(&recording, thread, tape_file)).collect()
}

/// A thread of a recording that has a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadExchanges {
    /// Its name.
    pub name: Arc<str>,
    /// The places of its exchanges in the recording, in order.
    pub exchanges: Vec<usize>,
}

/// The threads that have a scenario, in the order of [`scenarios`].
pub fn threads(recording: &dyn Recording) -> Vec<ThreadExchanges> {
    let mut threads: Vec<ThreadExchanges> = Vec::new();
    let mut known: BTreeMap<Arc<str>, usize> = BTreeMap::new();
    for (index, exchange) in (0..recording.count()).map(|index| (index, recording.outline(index))) {
        if !is_conversation(exchange) {
            continue;
        }
        let place = *known.entry(exchange.thread.clone()).or_insert(threads.len());
        if place == threads.len() {
            threads.push(ThreadExchanges { name: exchange.thread.clone(), exchanges: Vec::new() });
        }
        threads[place].exchanges.push(index);
    }
    threads.sort_by_key(|thread| *thread.name != *MAIN);
    threads
}

fn is_conversation(exchange: &Exchange) -> bool {
    exchange.asks_for_message() && &*exchange.thread != OTHER
}

/// An exchange with its request as it was understood.
struct UnderstoodExchange<'a> {
    /// Maybe without its bodies.
    exchange: &'a Exchange,
    request: Request,
    /// The whole answer; `None` where none came.
    answered: Option<RecordedAnswer>,
}

/// A whole answer.
struct RecordedAnswer {
    blocks: Vec<Block>,
    stop_reason: Option<Arc<str>>,
    usage: Usage,
    /// The container that it names.
    container: Option<Arc<str>>,
}

impl UnderstoodExchange<'_> {
    /// The tool uses that the client had to answer.
    fn tool_uses(&self) -> impl Iterator<Item = &ToolUse> {
        self.answered.iter().flat_map(|answered| &answered.blocks).filter_map(Block::as_tool_use)
    }

    fn ended_with(&self, reasons: &[&str]) -> bool {
        let reason = self.answered.as_ref().and_then(|answered| answered.stop_reason.as_deref());
        reason.is_some_and(|reason| reasons.contains(&reason)) && self.tool_uses().next().is_none()
    }

    /// Whether the answer ended because it must not be longer.
    fn is_at_output_limit(&self) -> bool {
        self.ended_with(&["max_tokens", "model_context_window_exceeded"])
    }

    /// Whether the server paused.
    fn is_paused(&self) -> bool {
        self.ended_with(&["pause_turn", "compaction"])
    }
}

impl RecordedAnswer {
    fn from_exchange(exchange: &Exchange) -> Option<Self> {
        let replied = exchange.answer.complete_answer()?;
        let mut container = None;
        answers::each_object(&exchange.answer, &mut |text| container = container_id(text).or(container.take()));
        Some(Self { blocks: replied.blocks, stop_reason: replied.stop_reason, usage: replied.usage, container })
    }
}

/// The scenario of one thread.
pub fn scenario(recording: &dyn Recording, thread: &ThreadExchanges, tape_file: &str) -> DerivedScenario {
    let ThreadExchanges { name: thread, exchanges: places } = thread;
    let mut notes = origin(recording.header(), places.len(), tape_file);
    let mut asked: Vec<UnderstoodExchange<'_>> = Vec::new();
    let (mut ends, mut failures) = (Vec::new(), 0);
    for index in places {
        let outline = recording.outline(*index);
        // One body at a time: they may be large.
        let answered = {
            let exchange = recording.exchange(*index);
            let answered = RecordedAnswer::from_exchange(&exchange);
            failures = if answered.is_some() { 0 } else { failures + 1 };
            ends.extend(answers::failure(outline.id, &exchange.answer).filter(|_| answered.is_none()));
            answered
        };
        let body = recording.whole_body(*index);
        if body.is_empty() {
            continue;
        }
        let id = outline.id;
        let request = core::str::from_utf8(&body).map_err(|error| error.to_string());
        match request.and_then(|body| Request::from_json(body).map_err(|error| error.to_string())) {
            Ok(mut request) => {
                if let Some(before) = asked.last() {
                    share(&mut request, &before.request);
                }
                if RawObject::parse(request.extra.as_str()).is_ok_and(|extra| extra.present("thread").is_some()) {
                    notes.push(format!("Exchange {id} continues from a message that is not in the recording."));
                }
                asked.push(UnderstoodExchange { exchange: outline, request, answered });
            }
            Err(error) => notes.push(format!("The request of exchange {id} was not understood ({error}).")),
        }
    }
    let mut scenario = Scenario { tape: Some(TapeSource { path: tape_file.into(), thread: thread.clone() }), ..Scenario::default() };
    if asked.is_empty() {
        answers::only(places.iter().map(|index| recording.exchange(*index)), &mut scenario, &mut notes);
    } else {
        settings::read(&asked, &mut scenario);
        let places = steps::follow(&asked, &mut scenario, &mut notes);
        changes::read(&asked, &places, &mut scenario);
    }
    notes.extend(ends);
    if let Some(place) = places.last().copied() {
        let last = recording.exchange(place);
        ThreadEnd { recording, tape_file, place, last: &last, asked: asked.last(), failures }.read(&mut scenario, &mut notes);
    }
    scenario.title = title(&scenario.prompts);
    scenario.matching.strict = true; // who imports a recording wants to know when requests drift from it
    DerivedScenario { thread: thread.clone(), scenario, notes }
}

/// Shares the parts of a request that are equal in the request before: else a long conversation would be held once for each request.
fn share(request: &mut Request, before: &Request) {
    fn share<T: Clone + PartialEq>(own: &mut T, before: &T) {
        if own == before {
            own.clone_from(before);
        }
    }
    share(&mut request.system, &before.system);
    share(&mut request.tools, &before.tools);
    share(&mut request.extra, &before.extra);
    request.messages.iter_mut().zip(&before.messages).for_each(|(own, before)| share(own, before));
}

fn origin(header: &TapeHeader, exchanges: usize, tape_file: &str) -> Vec<String> {
    let mut from = format!("Derived from {tape_file}, {}", plural(exchanges as u64, "exchange"));
    if let Some(format) = &header.imported_from {
        from.push_str(&format!(", imported from {format}"));
    }
    if let Some(when) = &header.recorded_at {
        from.push_str(&format!(", recorded {when}"));
    }
    from.push('.');
    let mut notes = vec![from];
    if !header.lost.is_empty() {
        notes.push(format!("Not in the recording: {}.", header.lost.join(", ")));
    }
    if !header.redactions.is_empty() {
        // Behind a comma the name of a header would look like what stands before a secret.
        notes.push(format!("Removed from it: {}.", header.redactions.join("; ")));
    }
    notes
}

/// The first line of the first prompt, of what the user said before what a client adds in tags.
fn title(prompts: &[ScriptedPrompt]) -> Option<String> {
    let first_line = |block: &'_ Block| match block.kind() {
        BlockKind::Text(text) => text.lines().map(str::trim).find(|line| !line.is_empty()).map(String::from),
        _ => None,
    };
    let lines: Vec<String> = prompts.iter().flat_map(|prompt| &prompt.content).filter_map(first_line).collect();
    let text = lines.iter().find(|line| !line.starts_with('<')).or(lines.first())?;
    if text == NOT_RECORDED {
        return Some(String::from("Recorded answers"));
    }
    match text.char_indices().nth(TITLE_MAX) {
        Some((end, _)) => Some(format!("{}…", text[..end].trim_end())),
        None => Some(text.clone()),
    }
}

impl DerivedScenario {
    /// The suffix of this scenario's file name, after the name of the first scenario's file: empty for `main`, `.thread-2` for another thread.
    pub fn suffix(&self) -> String {
        suffix(&self.thread)
    }
}

/// The same of a thread.
pub fn suffix(thread: &str) -> String {
    if thread == MAIN { String::new() } else { format!(".{thread}") }
}

#[cfg(test)]
mod tests;
