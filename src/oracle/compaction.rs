//! O-12: a compaction makes the context smaller, and compactions do not go round in circles (C-4, C-5, C-8a).
//!
//! The size of a context is known from outside, and measured twice: by the estimate that the engine goes by (the last request that something came
//! of, and the content since), and as C-4 counts (the API's count with that answer, and the content since). The requests after a
//! compaction must hold less than the larger of the two; where the API counted, also less than the engine says that there was. That no compaction
//! parts a tool use from its result is O-1's: a request shows it. That none keeps half an answer is in `whole_answers`, and that old counts are forgotten in
//! `context_figures`. That what is taken out stays out is in `dead_messages`, and that what is marked is taken out in `marked_rounds`.
//!
//! A request for the next summary is not judged: only its outcome shows what it is.
//!
//! All content that may have joined the conversation counts: too much makes the oracle lenient, too little would blame an engine for what it
//! was told.

mod context_figures;
mod dead_messages;
mod marked_rounds;
mod whole_answers;

use context_figures::ContextFigureOracle;
use dead_messages::DeadMessageOracle;
use marked_rounds::MarkedRoundOracle;
use whole_answers::WholeAnswerOracle;

use super::frame_tokens::FrameTokens;
use super::request_kind::SentRequest;
use super::{OracleFindings, OracleRules};
use reenact_engine::contract::{Effect, Emission, HookOutcome, HookSubject, Input, Note, Terminal};
use reenact_engine::emission::CompactionLevel;
use reenact_engine::settings::{CompactionSettings, HostMessage, QueuedMessagePlace, RequestPlace};
use reenact_engine::texts::TextName;
use reenact_wire::prelude::*;
use reenact_wire::tokens;
use reenact_wire::usage::Usage;

pub(super) const ORACLE: &str = "O-12";

/// How many tokens an engine may put around a hook's text: the name of the hook, and its objection.
const AROUND_A_HOOK: u64 = 40;

/// A message that stands in the result of a tool has words around it.
fn words_around_queued_message(rules: &OracleRules) -> u64 {
    match rules.settings.queued_messages {
        QueuedMessagePlace::Beside => 0,
        QueuedMessagePlace::InResult => tokens::tokens_of_text(rules.settings.texts.template(TextName::QueuedMessage)),
    }
}

/// How many different requests may be made in a row of which nothing comes out: what was asked, the same with spans collapsed, the same
/// after a reactive compaction; each with a compaction before it, and that one, with all the further tries of a summarising call.
pub(super) fn silent_max(settings: &CompactionSettings) -> u32 {
    settings.summary_drops.saturating_add(1).saturating_mul(4).saturating_add(3)
}

/// How many compactions may follow each other before anything comes of a request: one before what was asked, one before the same with spans
/// collapsed, the reactive one, and one before what is asked after it.
const COMPACTIONS_MAX: u32 = 4;

/// The context as far as an observer can see it, in tokens.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct CompactionOracle {
    whole_answers: WholeAnswerOracle,
    figures: ContextFigureOracle,
    dead: DeadMessageOracle,
    marked: MarkedRoundOracle,
    /// The messages of the last request that something came of; `None` after a compaction and at the beginning.
    answered: Option<u64>,
    /// The most that the API counted since the last compaction: an answer that is not kept leaves the count of one before it.
    counted: u64,
    /// The most that the messages of a request have held since.
    asked: u64,
    /// System prompt and tools of the requests.
    frames: FrameTokens,
    /// The model's content since.
    answers: u64,
    /// All other content since.
    said: u64,
    /// Prompts that are not in the conversation yet.
    waiting: Vec<(u32, u64)>,
    /// The context before the compaction that was announced last, with the user's messages since, until something comes of a request.
    before: Option<ContextBefore>,
    /// The suspicion about a request that holds no less than that. It stands for an ordinary request; a request for the next summary also holds
    /// its instructions.
    suspect: Option<String>,
    /// The last request, attempts aside.
    last: Option<(u32, u32)>,
    /// How far the session was with what its host says (S-11).
    reached: RequestPlace,
    /// How many different requests in a row nothing came of.
    silent: u32,
    /// How many compactions followed each other, and nothing came of a request between them.
    in_a_row: u32,
}

/// A context before a compaction, counted both ways, in tokens.
#[derive(Clone, Copy, Debug, Hash)]
struct ContextBefore {
    /// Estimated, of the messages alone: a summarising request has no tools, and what comes with the messages is none of the compaction's.
    messages: u64,
    /// Counted by the API, of all.
    counted: u64,
}

impl CompactionOracle {
    pub(super) fn on_input(&mut self, rules: &OracleRules, input: &Input) {
        self.dead.on_input(input);
        self.marked.on_input(input);
        match input {
            Input::Prompt { prompt, content } | Input::Interrupt { prompt, content } => {
                self.waiting.push((*prompt, rules.tokenizer.blocks(content)));
            }
            // What hooks of a compaction say is part of what it makes.
            Input::HookEnded { hook, outcome } if !matches!(hook.subject, HookSubject::Compaction(_)) => {
                self.people_say(hook_tokens(outcome))
            }
            _ => (),
        }
    }

    /// `history` is what an earlier session left to this agent.
    pub(super) fn on_request(&mut self, rules: &OracleRules, sent: SentRequest<'_>, history: u64, found: &mut OracleFindings<'_>) {
        self.whole_answers.on_request(rules, sent, found);
        self.dead.on_request(rules, sent, found);
        self.marked.on_request(rules, sent, found);
        let SentRequest { id, request, .. } = sent;
        if self.last.is_none() {
            self.said += history;
        }
        self.take_in(id.prompt);
        self.take_in_host(rules, RequestPlace { prompt: id.prompt, request: id.turn });
        self.frames.see(request);
        let messages = request.messages.iter().map(|message| rules.tokenizer.blocks(&message.content)).sum::<u64>();
        self.asked = self.asked.max(messages);
        // A host may take tools out of the frame between the engine's word and the request.
        if rules.settings.session.changes.is_empty() {
            self.figures.on_request(id, || self.frames.most() + messages, found);
        }
        if let Some(before) = self.before {
            found.ask(ORACLE);
            let (before, tokens) = (before.counted.max(self.frames.most() + before.messages), tokens::frame(request) + messages);
            if tokens >= before {
                self.before = None;
                self.suspect =
                    Some(format!("request {id} has about {tokens} tokens after a compaction, and there were {before} before it"));
            }
        }
        if self.last != Some((id.prompt, id.turn)) {
            self.last = Some((id.prompt, id.turn));
            self.silent += 1;
            if self.silent == silent_max(&rules.settings.compaction) + 1 {
                found.add(ORACLE, format!("request {id} is number {} in a row, and the requests before it had no effect", self.silent));
            }
        }
    }

    pub(super) fn on_effect(&mut self, rules: &OracleRules, effect: &Effect, found: &mut OracleFindings<'_>) {
        self.whole_answers.on_effect(effect);
        self.figures.on_effect(effect);
        self.dead.on_effect(rules, effect);
        self.marked.on_effect(effect, found);
        let emission = match effect {
            Effect::Finished { prompt, terminal } => {
                // What was broken off may have asked for a summary.
                let is_broken_off = matches!(terminal, Terminal::AbortedStreaming | Terminal::AbortedTools | Terminal::MaxBudget);
                self.suspect.take_if(|_| is_broken_off);
                self.was_ordinary(found);
                // A prompt that made no request is in the conversation all the same.
                return self.take_in(*prompt);
            }
            Effect::Note(Note::Compaction { level: CompactionLevel::Auto | CompactionLevel::Reactive, .. }) => {
                self.suspect = None; // this is what came of it
                return;
            }
            Effect::Emit(emission) => emission,
            _ => return,
        };
        match emission {
            Emission::CompactBoundary { tokens_before, tokens_after, .. } => {
                found.ask(ORACLE);
                self.check_boundary(*tokens_before, *tokens_after, found);
                let before = self.context_before(*tokens_before);
                self.suspect = None;
                self.before = Some(before);
                // What is kept was never said again, and another compaction may come before any request shows it.
                let kept = before.messages.max(before.counted).min(*tokens_after);
                (self.answered, self.counted, self.asked, self.answers, self.said) = (None, 0, 0, 0, kept);
            }
            Emission::Assistant(message) => {
                (self.silent, self.in_a_row) = (0, 0);
                self.was_ordinary(found);
                if message.error.is_none() {
                    self.on_answered(None);
                    self.answers += rules.tokenizer.blocks(core::slice::from_ref(&message.block));
                }
            }
            Emission::Answered { usage, .. } => {
                (self.silent, self.in_a_row) = (0, 0);
                self.was_ordinary(found);
                self.on_answered(Some(usage));
            }
            Emission::User(message) => self.said += rules.tokenizer.blocks(core::slice::from_ref(&message.block)),
            Emission::Hidden { text, .. } | Emission::HookContext { text, .. } => self.said += tokens::tokens_of_text(text),
            Emission::QueuedCommand { prompt, .. } => {
                self.take_in(*prompt);
                self.people_say(words_around_queued_message(rules));
            }
            Emission::Interrupted { text, .. } => self.people_say(tokens::tokens_of_text(text)),
            Emission::Result(_) => (self.silent, self.in_a_row) = (0, 0),
            _ => (),
        }
    }

    /// Holds a compaction against the engine's own word, and counts those in a row.
    fn check_boundary(&mut self, before: u64, after: u64, found: &mut OracleFindings<'_>) {
        // An engine that does not count says 0.
        if before > 0 && after >= before {
            found.add(ORACLE, format!("a compaction of {before} tokens leaves {after}"));
        }
        self.in_a_row += 1;
        if self.in_a_row == COMPACTIONS_MAX + 1 {
            found.add(ORACLE, format!("compaction number {} in a row, and nothing came of a request between them", self.in_a_row));
        }
    }

    /// The request in question asked for no summary.
    fn was_ordinary(&mut self, found: &mut OracleFindings<'_>) {
        self.suspect.take().into_iter().for_each(|text| found.add(ORACLE, text));
    }

    /// The context before a compaction. `told` is the engine's word: it counts where the API's count has grown old.
    fn context_before(&self, told: u64) -> ContextBefore {
        let messages = self.answered.unwrap_or(self.asked) + self.answers + self.said;
        ContextBefore { messages, counted: told.min(self.counted + self.said) }
    }

    /// The last request is part of the conversation now.
    fn on_answered(&mut self, usage: Option<&Usage>) {
        self.before = None;
        if self.asked > 0 {
            (self.answered, self.asked, self.answers, self.said) = (Some(self.asked), 0, 0, 0);
        }
        if let Some(tokens) = usage.and_then(Usage::context_tokens) {
            self.counted = self.counted.max(tokens);
        }
    }

    /// The user's message is part of the conversation from here on.
    fn take_in(&mut self, prompt: u32) {
        let tokens = self.waiting.extract_if(.., |(waiting, _)| *waiting == prompt).map(|(_, tokens)| tokens).sum();
        self.people_say(tokens);
    }

    /// So is what the host puts in before a request.
    fn take_in_host(&mut self, rules: &OracleRules, at: RequestPlace) {
        let is_due = |message: &&HostMessage| self.reached < message.at && message.at <= at;
        let due = rules.settings.session.host_messages.iter().filter(is_due);
        let tokens = due.map(|message| rules.tokenizer.blocks(&message.message.content)).sum();
        self.reached = self.reached.max(at);
        self.people_say(tokens);
    }

    /// It may come between a compaction and the request after it, and is not the compaction's doing.
    fn people_say(&mut self, tokens: u64) {
        self.said += tokens;
        if let Some(before) = &mut self.before {
            before.messages += tokens;
            before.counted += tokens;
        }
    }
}

/// All texts of a hook that the model may get.
fn hook_tokens(outcome: &HookOutcome) -> u64 {
    let texts = [&outcome.reason, &outcome.context, &outcome.stop].into_iter().flatten();
    texts.map(|text| tokens::tokens_of_text(text) + AROUND_A_HOOK).sum()
}
