//! O-24: nothing that came is lost. What the user submitted is in a request before its prompt ends well, the reason of a refusal is in the result of its tool use,
//! and so is what a tool returned that nobody stopped. What waits to become a prompt begins in the order in which it came.

use super::command_prompts::is_command;
use super::{OracleFindings, OracleRules};
use reenact_engine::contract::{Effect, Emission, Input, Note, PermissionAnswer, Terminal, ToolRun};
use reenact_engine::emission::{ResultMessage, UserMessage};
use reenact_engine::texts::TextName;
use reenact_wire::block::{Block, BlockKind, Message, Role};
use reenact_wire::json::push_string;
use reenact_wire::prelude::*;
use reenact_wire::raw_json;

pub(super) const ORACLE: &str = "O-24";

/// So many characters of what a tool returned must be in its result.
const RETURNED_CHARACTERS: usize = 40;

/// A shorter result may have lost its beginning to the note that it was cut.
pub(super) const RESULT_LIMIT_MIN: u64 = 200;

/// The contents that came and are in no request or result yet.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct LossOracle {
    submitted: Vec<SubmittedBlock>,
    for_results: Vec<(ToolRun, Arc<str>, &'static str)>,
    /// The questions about tool uses, each with the id of the tool use, and whether it was refused.
    questions: Vec<(ToolRun, Arc<str>, bool)>,
    /// The agents that ended, by the ids of their tool uses.
    said_by_agents: Vec<AgentWords>,
    /// The tool uses that agents were started for. What is said under an id that two of them have may be said for either.
    agent_runs: Vec<(ToolRun, Arc<str>)>,
    /// Tools that were told to stop: nobody waits for what they return.
    stopped: Vec<ToolRun>,
    /// The submissions that have not begun as prompts, in the order in which they came.
    waiting: Vec<(u32, SubmissionKind)>,
    /// The prompt that began last.
    begun: u32,
}

/// The last words of the agents of a tool use.
#[derive(Clone, Debug, Hash)]
struct AgentWords {
    tool_use_id: Arc<str>,
    /// The words of the last one that ended well, if it said any.
    words: Arc<str>,
    /// Whether one of them was broken off.
    is_aborted: bool,
}

/// How a text was submitted. A message that interrupts may overtake what waits already when the prompt that it interrupts begins.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
enum SubmissionKind {
    Prompt,
    Interrupt {
        /// The prompt that had begun last.
        during: u32,
    },
}

/// A text of the user, an image, or a document.
#[derive(Clone, Debug, Hash)]
struct SubmittedBlock {
    prompt: u32,
    block: Block,
    /// It became part of a prompt that was open.
    is_taken_in: bool,
}

impl LossOracle {
    pub(super) fn on_input(&mut self, rules: &OracleRules, input: &Input) {
        match input {
            Input::Prompt { prompt, .. } => self.waiting.push((*prompt, SubmissionKind::Prompt)),
            Input::Interrupt { prompt, .. } => self.waiting.push((*prompt, SubmissionKind::Interrupt { during: self.begun })),
            _ => (),
        }
        match input {
            // A host may put its own messages in the place of the user's.
            Input::Prompt { .. } | Input::Interrupt { .. } if !rules.settings.session.host_messages.is_empty() => (),
            Input::Prompt { prompt, content } | Input::Interrupt { prompt, content } => {
                let blocks = content.iter().filter(|block| !matches!(block.kind(), BlockKind::Text(text) if is_command(text)));
                self.submitted.extend(blocks.map(|block| SubmittedBlock { prompt: *prompt, block: block.clone(), is_taken_in: false }));
            }
            Input::PermissionAnswered { run, answer } => {
                let is_refusal = !matches!(**answer, PermissionAnswer::Allow { .. });
                self.questions.iter_mut().filter(|(asked, ..)| asked == run).for_each(|(.., is_refused)| *is_refused = is_refusal);
                if let (PermissionAnswer::Refuse { reason }, true) = (&**answer, rules.tell_refusals() && !rules.cuts_results) {
                    self.for_results.push((*run, reason.clone(), "the reason of the person who refused it"));
                }
            }
            Input::ToolEnded { run, outcome } if outcome.abort.is_none() && !self.stopped.contains(run) && !rules.cuts_results => {
                let returned = raw_json::string(outcome.content.as_str()).unwrap_or_default();
                let begins = beginning(returned.trim(), RETURNED_CHARACTERS);
                self.for_results.push((*run, begins.into(), "what the tool returned"));
            }
            _ => (),
        }
    }

    /// An agent that a tool use made has ended: its last words are the result of the tool use, or a part of what is made of it (S-8).
    /// `agent` is named after its tool use; where that has several, a point and a word of its own follow.
    pub(super) fn on_agent_result(&mut self, agent: &str, result: &ResultMessage) {
        let tool_use_id = agent.split('.').next().unwrap_or(agent);
        let text = if result.is_error { "" } else { result.text.trim() };
        let words: Arc<str> = beginning(text, RETURNED_CHARACTERS).into();
        let is_aborted = matches!(result.terminal, Terminal::AbortedStreaming | Terminal::AbortedTools | Terminal::MaxBudget);
        match self.said_by_agents.iter_mut().find(|said| *said.tool_use_id == *tool_use_id) {
            Some(said) => {
                said.is_aborted |= is_aborted;
                if !words.is_empty() || said.words.is_empty() {
                    said.words = words;
                }
            }
            None => self.said_by_agents.push(AgentWords { tool_use_id: tool_use_id.into(), words, is_aborted }),
        }
    }

    pub(super) fn on_request(&mut self, messages: &[Arc<Message>], found: &mut OracleFindings<'_>) {
        if self.submitted.is_empty() {
            return;
        }
        // It may stand in a text of the engine, or in a result.
        let blocks = || messages.iter().filter(|message| message.role == Role::User).flat_map(|message| &message.content);
        found.ask(ORACLE);
        self.submitted.retain(|submitted| {
            let sign = sign(&submitted.block);
            !blocks().any(|block| block.json().as_str().contains(&*sign))
        });
    }

    /// `told` is the text of a result.
    pub(super) fn on_effect(&mut self, rules: &OracleRules, (effect, told): (&Effect, &str), found: &mut OracleFindings<'_>) {
        match effect {
            Effect::Emit(Emission::Init { prompt, .. }) => self.on_begin(*prompt, found),
            Effect::Emit(Emission::QueuedCommand { prompt, .. }) => {
                self.waiting.retain(|(waiting, _)| waiting != prompt);
                self.submitted
                    .iter_mut()
                    .filter(|submitted| submitted.prompt == *prompt)
                    .for_each(|submitted| submitted.is_taken_in = true);
            }
            Effect::Emit(Emission::User(message)) => {
                self.check_agent(rules, message, told, found);
                for (run, text, what) in self.for_results.extract_if(.., |(run, ..)| *run == message.run) {
                    found.ask(ORACLE);
                    // Where another model takes over, the work of the first one is thrown away, results and all.
                    let is_discarded = told == rules.settings.texts.template(TextName::Fallback);
                    if !told.contains(&*text) && !is_discarded {
                        found.add(ORACLE, format!("the result of tool {run} has nothing of {what}: {text}"));
                    }
                }
            }
            Effect::AskPermission { run, tool_use, .. } => self.questions.push((*run, tool_use.id.clone(), false)),
            Effect::WithdrawPermission { run } => self.questions.retain(|(asked, ..)| asked != run),
            Effect::Emit(Emission::Result(result)) => self.check_denials(result, found),
            // A refusal that does not hold is another oracle's to see.
            Effect::StartTool { run, .. } => {
                self.questions.retain(|(asked, ..)| asked != run);
                self.forget(|of| of == *run);
            }
            Effect::StartAgent { run, tool_use } => self.agent_runs.push((*run, tool_use.id.clone())),
            Effect::StopTool { run } => {
                self.stopped.push(*run);
                self.forget(|of| of == *run);
            }
            // The model gets its beginning, as far as the settings say.
            Effect::StoreResult { run, .. } => {
                let shown = usize::try_from(rules.settings.pipeline.result_preview).unwrap_or(usize::MAX);
                for (_, text, _) in self.for_results.iter_mut().filter(|(of, ..)| of == run) {
                    *text = beginning(text, shown).trim_end().into();
                }
            }
            Effect::Note(Note::Discarded { id, .. } | Note::LeftRunning { id, .. }) => self.forget(|run| run.request == *id),
            Effect::Finished { prompt, terminal } => self.on_terminal(*prompt, terminal, found),
            _ => (),
        }
    }

    /// The last agent of a tool use that said anything speaks for all of them. The one that puts their results together may fail: then they stand alone (B-8).
    fn check_agent(&mut self, rules: &OracleRules, message: &UserMessage, told: &str, found: &mut OracleFindings<'_>) {
        let BlockKind::ToolResult { tool_use_id, is_error } = message.block.kind() else { return };
        for AgentWords { words, is_aborted, .. } in self.said_by_agents.extract_if(.., |said| said.tool_use_id == *tool_use_id) {
            let is_shared = self.agent_runs.iter().any(|(run, id)| *run != message.run && id == tool_use_id);
            let is_other = *is_error && is_shared;
            if words.is_empty() || is_other || rules.cuts_results || self.stopped.contains(&message.run) {
                continue;
            }
            found.ask(ORACLE);
            if *is_error && !is_aborted {
                found.add(ORACLE, format!("the result of tool {} is an error, and one of its agents ended well (B-8)", message.run));
            }
            // The texts of an engine may leave out what each of several agents said (T-31).
            let are_told = rules.settings.texts.template(TextName::AgentResult).contains("{text}");
            if are_told && !told.contains(&*words) {
                found.add(ORACLE, format!("the result of tool {} has nothing of what its agent said: {words}", message.run));
            }
        }
    }

    /// S-1: the result of a prompt lists what a person refused.
    fn check_denials(&mut self, result: &ResultMessage, found: &mut OracleFindings<'_>) {
        for (run, id, is_refused) in self.questions.extract_if(.., |(run, ..)| run.request.prompt == result.prompt) {
            if !is_refused {
                continue;
            }
            found.ask(ORACLE);
            if !result.permission_denials.iter().any(|denial| denial.tool_use_id == id) {
                found.add(ORACLE, format!("the result of prompt {} does not list that tool {run} was refused", result.prompt));
            }
        }
    }

    /// A prompt begins.
    fn on_begin(&mut self, prompt: u32, found: &mut OracleFindings<'_>) {
        self.begun = prompt;
        let Some(at) = self.waiting.iter().position(|(waiting, _)| *waiting == prompt) else { return };
        let (_, kind) = self.waiting.remove(at);
        if !self.waiting.is_empty() {
            found.ask(ORACLE);
        }
        if let Some((overtaken, _)) = self.waiting[..at].iter().find(|(_, of)| *of == kind) {
            found.add(ORACLE, format!("prompt {prompt} began before prompt {overtaken}, which had come earlier"));
        }
    }

    fn forget(&mut self, is_over: impl Fn(ToolRun) -> bool) {
        self.for_results.retain(|(run, ..)| !is_over(*run));
    }

    fn on_terminal(&mut self, prompt: u32, terminal: &Terminal, found: &mut OracleFindings<'_>) {
        self.forget(|run| run.request.prompt == prompt);
        self.waiting.retain(|(waiting, _)| *waiting != prompt);
        self.stopped.retain(|run| run.request.prompt != prompt);
        self.agent_runs.retain(|(run, _)| run.request.prompt != prompt);
        self.said_by_agents.clear();
        for lost in self.submitted.extract_if(.., |submitted| submitted.prompt == prompt || submitted.is_taken_in) {
            if *terminal == Terminal::Completed {
                found
                    .add(ORACLE, format!("prompt {prompt} ended well, and no request held what the user had said: {}", words(&lost.block)));
            }
        }
    }
}

/// So many characters of a text.
fn beginning(text: &str, characters: usize) -> &str {
    text.char_indices().nth(characters).map_or(text, |(end, _)| &text[..end])
}

/// A block for people to read.
fn words(block: &Block) -> &str {
    match block.kind() {
        BlockKind::Text(text) => text,
        _ => block.json().as_str(),
    }
}

/// The characters by which a block is found in a request. It may stand in a text of the engine, and may have gained members at its end.
fn sign(block: &Block) -> String {
    match block.kind() {
        BlockKind::Text(text) => escaped(text),
        _ => block.json().as_str().trim_end().trim_end_matches('}').into(),
    }
}

/// A text as it stands inside a JSON string.
pub(super) fn escaped(text: &str) -> String {
    let mut quoted = String::new();
    push_string(&mut quoted, text);
    quoted[1..quoted.len() - 1].into()
}
