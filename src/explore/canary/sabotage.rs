//! The sabotage of each canary.

use core::sync::atomic::Ordering;

use super::{CanaryTrick, Saboteur};
use reenact_engine::contract::{
    Block, Effect, Effects, Emission, Environment, HookEvent, HookOutcome, Input, Json, Message, Micros, Note, PermissionAnswer, Request,
    RequestId, Role, Time, TimerId, ToolRun,
};
use reenact_engine::emission::AssistantMessage;
use reenact_engine::permission::{PermissionMode, PermissionSettings};
use reenact_engine::settings::{InterruptBehaviour, ToolSafety};
use reenact_engine::texts::TextName;
use reenact_wire::block::{BlockKind, ToolInput, joined_text};
use reenact_wire::event::StreamEvent;
use reenact_wire::prelude::*;

/// A timer that no engine has.
const SPINNING: TimerId = TimerId { id: 1_000, generation: 1 };

/// A limit on the size of results that a short one passes.
const TIGHT_LIMIT: u64 = 10;

/// How long a timer is set again for.
const LONG_SLEEP: Micros = Micros::from_secs(3_600);

impl<E> Saboteur<E> {
    /// Looks at more of an input than its value.
    pub(super) fn feel(&self, input: &Input, effects: &mut Effects) {
        if self.canary.trick == CanaryTrick::TellFreshEvents
            && let Input::Stream { id, event } = input
            && Arc::strong_count(event) <= 2
        // this input, and the transcript
        {
            effects.push(Effect::Note(Note::Defect { id: *id, name: "canary".into(), text: "fresh".into() }));
        }
    }

    /// Whether the engine does not get to know of an input.
    pub(super) fn swallows(&mut self, input: &Input) -> bool {
        match self.canary.trick {
            CanaryTrick::DropCancel => *input == Input::Cancel,
            CanaryTrick::SleepOn => self.is_done && matches!(input, Input::Timer(_)),
            CanaryTrick::Spin => *input == Input::Timer(SPINNING),
            CanaryTrick::SwapMessages if matches!(input, Input::Interrupt { .. }) && !self.is_done && self.waiting.is_none() => {
                self.waiting = Some(input.clone());
                true
            }
            _ => false,
        }
    }

    /// Another input than the real one.
    pub(super) fn garbles(&self, input: &Input) -> Option<Input> {
        match input {
            Input::Head { id, status, headers } if self.canary.trick == CanaryTrick::HideRetryAfter => {
                let headers = headers.iter().filter(|header| !header.name.starts_with("retry-after")).cloned().collect();
                Some(Input::Head { id: *id, status: *status, headers })
            }
            Input::Head { id, .. } if self.canary.trick == CanaryTrick::CancelLaterPrompts && id.prompt > 1 => Some(Input::Cancel),
            Input::PermissionAnswered { run, .. } if self.canary.trick == CanaryTrick::AllowWhatIsRefused => {
                let answer = PermissionAnswer::Allow { updated_input: None, rules: Vec::new() };
                Some(Input::PermissionAnswered { run: *run, answer: answer.into() })
            }
            Input::Stream { id, event } if self.canary.trick == CanaryTrick::HideRefusal && event.name() == "message_delta" => {
                let data = event.data().replace(r#""refusal""#, r#""end_turn""#);
                Some(Input::Stream { id: *id, event: StreamEvent::decode(event.name(), &data).into() })
            }
            Input::HookEnded { hook, outcome } if self.canary.trick == CanaryTrick::DropHookContext => {
                let outcome = HookOutcome { context: None, ..HookOutcome::clone(outcome) };
                Some(Input::HookEnded { hook: *hook, outcome: outcome.into() })
            }
            Input::HookEnded { hook, .. } if self.canary.trick == CanaryTrick::HideDenial => {
                Some(Input::HookEnded { hook: *hook, outcome: HookOutcome::default().into() })
            }
            _ => None,
        }
    }

    /// Another environment than the real one.
    pub(super) fn lies(&self, env: &Environment) -> Option<Environment> {
        let mut lies = match self.canary.trick {
            CanaryTrick::CallAllToolsSafe
            | CanaryTrick::HoldFirstStart
            | CanaryTrick::ForgetTheCap
            | CanaryTrick::ForgetTheTurnLimit
            | CanaryTrick::ForgetTheMoney
            | CanaryTrick::ForgetRecoveries
            | CanaryTrick::RecoverOnceMore
            | CanaryTrick::SummariseWithTools
            | CanaryTrick::ClearNewResults
            | CanaryTrick::ForgetFailures
            | CanaryTrick::GiveUpEarly
            | CanaryTrick::HurryRetries
            | CanaryTrick::HandOverEarly
            | CanaryTrick::ForgetTheRules
            | CanaryTrick::CallAllInterruptible
            | CanaryTrick::ForgetTheSizeLimit
            | CanaryTrick::TightenTheSizeLimit
            | CanaryTrick::ForgetTheHooks
            | CanaryTrick::SummariseNever
            | CanaryTrick::HurryTheWatchdog => env.clone(),
            _ => return None,
        };
        match self.canary.trick {
            CanaryTrick::ForgetTheCap => {
                lies.settings.max_concurrent_tools = None;
                lies.settings.max_batch_tools = u32::MAX;
            }
            CanaryTrick::ForgetTheTurnLimit => lies.settings.session.max_turns = None,
            CanaryTrick::ForgetTheMoney => lies.settings.session.max_budget = None,
            CanaryTrick::ForgetRecoveries => lies.settings.session.max_output_recoveries = 0,
            CanaryTrick::RecoverOnceMore => lies.settings.session.max_output_recoveries += 1,
            CanaryTrick::SummariseWithTools => lies.settings.compaction.summary_tools = true,
            CanaryTrick::ClearNewResults => lies.settings.compaction.keep_results = 0,
            CanaryTrick::ForgetFailures => lies.settings.compaction.max_failures = u32::MAX,
            CanaryTrick::GiveUpEarly => lies.settings.retry.max_retries = 1,
            CanaryTrick::HurryRetries => lies.settings.retry.base_delay = Micros::from_millis(1),
            CanaryTrick::HandOverEarly => lies.settings.retry.overloads_to_fallback = 1,
            CanaryTrick::HurryTheWatchdog => lies.settings.retry.stream_idle = Micros::from_millis(1),
            CanaryTrick::ForgetTheRules => {
                lies.settings.permissions = Some(PermissionSettings { mode: PermissionMode::Bypass, ..PermissionSettings::default() });
            }
            CanaryTrick::CallAllInterruptible => {
                lies.tools.iter_mut().for_each(|tool| tool.interrupt = Some(InterruptBehaviour::Cancel));
            }
            CanaryTrick::ForgetTheHooks => {
                lies.hooks
                    .retain(|hook| !matches!(hook.event, HookEvent::PreToolUse | HookEvent::PostToolUse | HookEvent::PostToolFailure));
            }
            CanaryTrick::SummariseNever => lies.settings.compaction.auto = false,
            CanaryTrick::TightenTheSizeLimit => lies.settings.pipeline.result_limit = TIGHT_LIMIT,
            CanaryTrick::ForgetTheSizeLimit => {
                lies.settings.pipeline.result_limit = u64::MAX;
                lies.tools.iter_mut().for_each(|tool| tool.result_limit = None);
            }
            _ => {
                lies.safe_uses.clear();
                lies.tools.iter_mut().for_each(|tool| tool.safe = ToolSafety::Always);
            }
        }
        Some(lies)
    }

    /// The tool that is not to run.
    pub(super) fn unrun(&self, effect: &Effect) -> Option<ToolRun> {
        match effect {
            Effect::StartTool { run, .. } if self.canary.trick == CanaryTrick::AnswerWithoutRun && !self.is_done => Some(*run),
            _ => None,
        }
    }

    /// The effects before the engine's own.
    pub(super) fn before(&mut self, now: Time, input: &Input, effects: &mut Effects) {
        match (self.canary.trick, input) {
            (CanaryTrick::SleepOn, Input::Head { status: 400.., .. }) => self.is_done = true,
            // The engine takes its timer back.
            (CanaryTrick::SleepOn, Input::Cancel | Input::Interrupt { .. }) => self.is_done = false,
            (CanaryTrick::Spin, Input::Head { .. } | Input::Timer(SPINNING)) => {
                effects.push(Effect::SetTimer { timer: SPINNING, at: now });
            }
            (CanaryTrick::SleepOn, Input::Timer(timer)) if self.is_done => {
                effects.push(Effect::SetTimer { timer: *timer, at: now + LONG_SLEEP });
            }
            _ => (),
        }
        if self.canary.trick == CanaryTrick::RepeatTooLong && matches!(input, Input::Head { status: 400 | 413, .. }) {
            self.is_done = true;
        }
        if let (CanaryTrick::KeepLateResult, Input::ToolEnded { run, outcome }) = (self.canary.trick, input) {
            self.ended = Some((*run, joined_text(outcome.content.as_str())));
        }
        if self.canary.trick == CanaryTrick::HoldFirstStart && matches!(input, Input::ToolEnded { .. }) {
            self.release(effects);
        }
        if *input != Input::Cancel {
            return;
        }
        match self.canary.trick {
            CanaryTrick::DropResultsAfterCancel | CanaryTrick::TellNeverRun => self.is_done = true,
            CanaryTrick::RequestAfterCancel => self.ask_again(effects),
            _ => (),
        }
    }

    /// Passes one effect on, or something else in its place.
    pub(super) fn pass(&mut self, effect: Effect, effects: &mut Effects) {
        match effect {
            Effect::Request { id, request } => self.pass_request(id, &request, effects),
            Effect::Emit(Emission::User(_)) => self.pass_result(effect, effects),
            Effect::Emit(Emission::Progress { .. }) if self.canary.trick == CanaryTrick::DelayProgress => self.held.push(effect),
            Effect::Emit(Emission::Result(_)) if self.canary.trick == CanaryTrick::ResultAfterTerminal => self.held.push(effect),
            Effect::Emit(Emission::Result(mut result)) if self.canary.trick == CanaryTrick::MiscountTokens => {
                result.usage.output_tokens = Some(result.usage.output_tokens.unwrap_or(0) + 1);
                effects.push(Effect::Emit(Emission::Result(result)));
            }
            Effect::Emit(Emission::ApiRetry { .. }) if self.canary.trick == CanaryTrick::DropRetryNotice => (),
            Effect::Emit(Emission::Tombstone { .. }) if self.canary.trick == CanaryTrick::DropTombstone && !self.is_done => {
                self.is_done = true
            }
            Effect::Emit(Emission::Interrupted { .. }) if self.canary.trick == CanaryTrick::CancelLaterPrompts => (),
            Effect::Emit(Emission::InProgress { .. }) if self.canary.trick == CanaryTrick::HideStarts => {
                effects.push(Effect::Emit(Emission::InProgress { tool_use_ids: Vec::new() }));
            }
            Effect::StartTool { .. } if self.canary.trick == CanaryTrick::HoldFirstStart && !self.is_done => {
                self.is_done = true;
                self.held.push(effect);
            }
            Effect::StartTool { .. } if self.canary.trick == CanaryTrick::AnswerWithoutRun && !self.is_done => (),
            Effect::StartTool { run, mut tool_use } if self.canary.trick == CanaryTrick::ChangeInput => {
                Arc::make_mut(&mut tool_use).input = ToolInput::Valid(Json::trusted(r#"{"changed":true}"#));
                effects.push(Effect::StartTool { run, tool_use });
            }
            Effect::Emit(Emission::StructuredOutput { .. }) if self.canary.trick == CanaryTrick::ChangeStructuredOutput => {
                effects.push(Effect::Emit(Emission::StructuredOutput { json: Json::trusted(r#"{"changed":true}"#) }));
            }
            Effect::StopTool { run } if self.canary.trick == CanaryTrick::ReportAfterStop => {
                effects.push(effect);
                let (tool_use_id, text) = ("canary".into(), "still at it".into());
                effects.push(Effect::Emit(Emission::Progress { run, tool_use_id, text, kind: None, details: None }));
            }
            Effect::Note(Note::Repeated { .. }) if self.canary.trick == CanaryTrick::DropRepetition => (),
            Effect::CancelTimer { .. } if self.canary.trick == CanaryTrick::KeepTimers => (),
            Effect::CloseRequest { .. } if self.canary.trick == CanaryTrick::KeepRequestsOpen => (),
            Effect::Note(Note::Transition(_)) if self.canary.trick == CanaryTrick::ErrorBeforeRecovery => {
                effects.push(Effect::Emit(Emission::Assistant(Arc::new(self.error()))));
                effects.push(effect);
            }
            Effect::Emit(Emission::CompactBoundary { .. })
                if matches!(self.canary.trick, CanaryTrick::GrowAfterCompaction | CanaryTrick::KeepTaskBudget) =>
            {
                self.is_done = true;
                effects.push(effect);
            }
            Effect::Finished { .. } => self.pass_terminal(effect, effects),
            other => effects.push(other),
        }
    }

    fn pass_request(&mut self, id: RequestId, request: &Arc<Request>, effects: &mut Effects) {
        self.release(effects);
        let mut request = request.clone();
        if self.canary.trick == CanaryTrick::KeepSignatures {
            if let Some((_, last)) = self.last_request.as_ref().filter(|(_, last)| last.model != request.model) {
                self.signed.clone_from(&last.messages);
            }
            let messages = &mut Arc::make_mut(&mut request).messages;
            let of_model = messages
                .iter_mut()
                .zip(&self.signed)
                .filter(|(sent, signed)| sent.role == Role::Assistant && signed.role == Role::Assistant);
            of_model.for_each(|(sent, signed)| sent.clone_from(signed));
        }
        if self.canary.trick == CanaryTrick::RepeatTooLong
            && core::mem::take(&mut self.is_done)
            && let Some((_, last)) = &self.last_request
        {
            request.clone_from(last);
        }
        if self.canary.trick == CanaryTrick::BeginWithAnotherModel && id.prompt > 1 {
            // Another price would be another oracle's to see.
            Arc::make_mut(&mut request).model = "claude-sonnet-4".into();
        }
        if self.canary.trick == CanaryTrick::KeepTaskBudget
            && core::mem::take(&mut self.is_done)
            && let Some((_, last)) = &self.last_request
        {
            Arc::make_mut(&mut request).extra.clone_from(&last.extra);
        }
        // A request for a summary may say nothing of the task budget.
        if self.canary.trick != CanaryTrick::KeepTaskBudget || request.extra.as_str().contains("task_budget") {
            self.last_request = Some((id, request.clone()));
        }
        if self.canary.trick == CanaryTrick::StampFirstMessage
            && let Some(first) = Arc::make_mut(&mut request).messages.first_mut()
        {
            Arc::make_mut(first).content.push(Block::text(&format!("This is request {id}.")));
        }
        if self.canary.trick == CanaryTrick::RewordAnswer {
            reword(&mut Arc::make_mut(&mut request).messages);
        }
        // Each request is spoilt at the same places: one that begins in another way than the one before would be another oracle's to see.
        let messages = &mut Arc::make_mut(&mut request).messages;
        let spoilt = match self.canary.trick {
            CanaryTrick::InventResultInRequest | CanaryTrick::SendEmptyText | CanaryTrick::GrowAfterCompaction => messages.len().min(1),
            _ => messages.len(),
        };
        for message in messages[..spoilt].iter_mut().filter(|message| message.role == Role::User) {
            self.spoil(&mut Arc::make_mut(message).content);
        }
        effects.push(Effect::Request { id, request });
    }

    /// Changes a message of the user in a request.
    fn spoil(&mut self, content: &mut Vec<Block>) {
        let is_result = |block: &Block| matches!(block.kind(), BlockKind::ToolResult { .. });
        match self.canary.trick {
            CanaryTrick::DropResultFromRequest => {
                if let Some(last) = content.iter().rposition(is_result) {
                    content.remove(last);
                    // A message without content would be another oracle's to see.
                    if content.is_empty() {
                        content.push(Block::text("…"));
                    }
                }
            }
            CanaryTrick::SwapResultsInRequest => {
                let results = content.iter().take_while(|block| is_result(block)).count();
                content[..results].reverse();
            }
            CanaryTrick::SendEmptyText => content.insert(0, Block::text("")),
            CanaryTrick::TextBeforeResults if content.first().is_some_and(is_result) => content.insert(0, Block::text("Here they are:")),
            CanaryTrick::InventResultInRequest => {
                content.insert(0, Block::tool_result("toolu_invented", &Json::from_value("nothing"), false))
            }
            CanaryTrick::ForgetInterruption => {
                let names = [TextName::Interrupted, TextName::InterruptedTools];
                content.retain(|block| !matches!(block.kind(), BlockKind::Text(text) if names.iter().any(|name| **text == *name.ours())));
            }
            CanaryTrick::GrowAfterCompaction if self.is_done => content.insert(0, Block::text(&"long ".repeat(1_000))),
            _ => (),
        }
    }

    fn pass_result(&mut self, result: Effect, effects: &mut Effects) {
        match self.canary.trick {
            CanaryTrick::DropResult if !self.is_done => self.is_done = true,
            CanaryTrick::DropResultsAfterCancel if self.is_done => (),
            CanaryTrick::TellNeverRun if self.is_done => effects.push(with_words(result, |own| format!("{own} The tool was not run."))),
            CanaryTrick::KeepLateResult => {
                let returned = self.ended.take().filter(|(run, _)| Some(*run) == run_of(&result));
                effects.push(match returned {
                    Some((_, text)) => with_words(result, |_| text),
                    None => result,
                });
            }
            CanaryTrick::ReplaceResult => effects.push(with_words(result, |_| "All is well.".into())),
            CanaryTrick::DoubleResult => {
                effects.push(result.clone());
                effects.push(result);
            }
            CanaryTrick::SwapResults if self.held.is_empty() => self.held.push(result),
            CanaryTrick::SwapResults | CanaryTrick::DelayProgress => {
                let run = run_of(&result);
                effects.push(result);
                let is_due = |held: &mut Effect| self.canary.trick == CanaryTrick::SwapResults || run_of(held) == run;
                self.held.extract_if(.., is_due).for_each(|held| effects.push(held));
            }
            _ => effects.push(result),
        }
    }

    fn pass_terminal(&mut self, terminal: Effect, effects: &mut Effects) {
        match self.canary.trick {
            CanaryTrick::DropTerminal => return,
            CanaryTrick::DoubleTerminal => effects.push(terminal.clone()),
            CanaryTrick::InventInterruption => {
                if let Effect::Finished { prompt, .. } = terminal {
                    effects.push(Effect::Emit(Emission::Interrupted { prompt, text: TextName::Interrupted.ours().into() }));
                }
            }
            CanaryTrick::CountAcrossCopies => {
                let count = self.shared.fetch_add(1, Ordering::Relaxed);
                let text = format!("terminal {count}").into();
                effects.push(Effect::Note(Note::Defect { id: RequestId::first(1), name: "canary".into(), text }));
            }
            CanaryTrick::SwapResults | CanaryTrick::DelayProgress => self.release(effects),
            _ => (),
        }
        effects.push(terminal);
        match self.canary.trick {
            CanaryTrick::ResultAfterTerminal => self.release(effects),
            CanaryTrick::RequestAfterTerminal => self.ask_again(effects),
            _ => (),
        }
        self.last_request = None; // what is over is not cancelled
    }

    /// An error that must not be emitted.
    fn error(&self) -> AssistantMessage {
        let id = self.last_request.as_ref().map_or(RequestId::first(1), |(id, _)| *id);
        let (uuid, error) = ("canary".into(), Some("max_output_tokens".into()));
        AssistantMessage { uuid, id, api_id: "".into(), model: "".into(), block: Block::text("at the limit"), error }
    }

    /// Lets go of all that is held back.
    fn release(&mut self, effects: &mut Effects) {
        self.held.drain(..).for_each(|held| effects.push(held));
    }

    fn ask_again(&self, effects: &mut Effects) {
        if let Some((id, request)) = &self.last_request {
            let id = RequestId { attempt: id.attempt + 1, ..*id };
            effects.push(Effect::Request { id, request: request.clone() });
            effects.push(Effect::CloseRequest { id }); // a request that is left open would be another oracle's to see
        }
    }
}

/// Adds a word to each text of the model.
fn reword(messages: &mut [Arc<Message>]) {
    for message in messages.iter_mut().filter(|message| message.role == Role::Assistant) {
        for block in &mut Arc::make_mut(message).content {
            if let BlockKind::Text(text) = block.kind() {
                *block = Block::text(&format!("{text} Well."));
            }
        }
    }
}

/// The same result with other words, made of its own.
fn with_words(result: Effect, words: impl FnOnce(&str) -> String) -> Effect {
    let Effect::Emit(Emission::User(mut message)) = result else { return result };
    let own = message.block.result_text().unwrap_or_default();
    let BlockKind::ToolResult { tool_use_id, .. } = message.block.kind().clone() else { return Effect::Emit(Emission::User(message)) };
    Arc::make_mut(&mut message).block = Block::tool_result(&tool_use_id, &Json::from_value(&words(&own)), true);
    Effect::Emit(Emission::User(message))
}

/// The run that a result or a word of progress is about.
fn run_of(effect: &Effect) -> Option<ToolRun> {
    match effect {
        Effect::Emit(Emission::User(message)) => Some(message.run),
        Effect::Emit(Emission::Progress { run, .. }) => Some(*run),
        _ => None,
    }
}
