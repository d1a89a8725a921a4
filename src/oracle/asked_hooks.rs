//! O-26: hooks are asked at all. Each hook that the environment has for a tool runs before the tool starts (T-23). After a call that went well the hooks for that
//! run before its result comes out, after a call that failed those for failures (T-26). None is asked about a tool that it is not for.
//!
//! Only tools that ran count. Nothing is said of what follows an abort, nor, where money is limited, of what follows a call: both end tool uses
//! without their hooks. The end of a tool that is carried out by agents is not seen.

use super::tool_starts::HOOKS;
use super::{OracleFindings, OracleRules};
use reenact_engine::contract::{Effect, Emission, HookEvent, HookRun, HookSubject, Input, Note, ToolRun};
use reenact_engine::hook::{HookDefinition, HookInput};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// The tool uses of one agent that are not over.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct AskedHookOracle {
    /// The hooks that ran, each with its position among those of the environment.
    ran: Vec<(ToolRun, HookEvent, u32)>,
    /// The tools that started.
    calls: Vec<ToolCall>,
}

#[derive(Clone, Debug, Hash)]
struct ToolCall {
    run: ToolRun,
    tool: Arc<str>,
    /// The hooks that are due, once the call is over.
    due: Option<HookEvent>,
}

impl AskedHookOracle {
    pub(super) fn on_input(&mut self, rules: &OracleRules, input: &Input) {
        match input {
            Input::ToolEnded { run, outcome } if rules.settings.session.max_budget.is_none() => {
                // T-25: a call that returns nothing has failed.
                let has_failed = outcome.is_error || outcome.content == Json::default();
                if let Some(call) = self.calls.iter_mut().find(|call| call.run == *run) {
                    call.due = Some(if has_failed { HookEvent::PostToolFailure } else { HookEvent::PostToolUse });
                }
            }
            Input::Interrupt { .. } => self.on_abort(),
            _ => (),
        }
    }

    /// Nothing has to follow the calls that were made.
    pub(super) fn on_abort(&mut self) {
        self.calls.clear();
    }

    pub(super) fn on_effect(&mut self, rules: &OracleRules, effect: &Effect, found: &mut OracleFindings<'_>) {
        if rules.hooks.is_empty() {
            return;
        }
        match effect {
            Effect::RunHook { hook: HookRun { hook, subject: HookSubject::Tool(run) }, input } => {
                expect_meant(rules, (*run, *hook), input, found);
                self.ran.push((*run, input.event, *hook));
            }
            Effect::StartTool { run, tool_use } | Effect::StartAgent { run, tool_use } => {
                // The question of an earlier session may have been answered there (S-3).
                if run.request.turn > 0 {
                    self.expect_asked(rules, (*run, &tool_use.name), HookEvent::PreToolUse, found);
                }
                if matches!(effect, Effect::StartTool { .. }) {
                    self.calls.push(ToolCall { run: *run, tool: tool_use.name.clone(), due: None });
                }
            }
            Effect::StopTool { run } => self.calls.retain(|call| call.run != *run || call.due.is_some()),
            Effect::Emit(Emission::User(message)) => {
                let Some(at) = self.calls.iter().position(|call| call.run == message.run) else { return };
                if let ToolCall { run, tool, due: Some(event) } = self.calls.swap_remove(at) {
                    self.expect_asked(rules, (run, &tool), event, found);
                }
                self.ran.retain(|(run, ..)| *run != message.run);
            }
            Effect::Note(Note::Discarded { id, .. } | Note::LeftRunning { id, .. }) | Effect::Emit(Emission::ModelFallback { id, .. }) => {
                self.calls.retain(|call| call.run.request != *id);
            }
            Effect::Finished { prompt, .. } => {
                self.ran.retain(|(run, ..)| run.request.prompt != *prompt);
                self.calls.retain(|call| call.run.request.prompt != *prompt);
            }
            _ => (),
        }
    }

    fn expect_asked(&self, rules: &OracleRules, (run, tool): (ToolRun, &str), event: HookEvent, found: &mut OracleFindings<'_>) {
        let place = if event == HookEvent::PreToolUse { "was started" } else { "has its result" };
        for (number, _) in (0..).zip(&rules.hooks).filter(|(_, hook)| hook.event == event && is_for(hook, tool)) {
            found.ask(HOOKS);
            if !self.ran.contains(&(run, event, number)) {
                found.add(HOOKS, format!("tool {run} {place}, and hook {number} ({}) for {tool} was not asked", event.as_str()));
            }
        }
    }
}

/// A hook is asked about the tools that it is for.
fn expect_meant(rules: &OracleRules, (run, hook): (ToolRun, u32), input: &HookInput, found: &mut OracleFindings<'_>) {
    let (Some(definition), Some(tool)) = (rules.hooks.get(hook as usize), &input.tool) else { return };
    found.ask(HOOKS);
    if definition.event != input.event || !is_for(definition, tool) {
        found.add(HOOKS, format!("hook {hook} ({}) was asked about tool {run}, and it is not for {tool}", input.event.as_str()));
    }
}

/// Whether a hook is for this tool.
fn is_for(hook: &HookDefinition, tool: &str) -> bool {
    hook.matcher.as_ref().is_none_or(|matcher| matcher.split('|').map(str::trim).any(|name| name == "*" || name == tool))
}
