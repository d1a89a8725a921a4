//! O-27: nothing is left open. At a terminal each request was ended or closed, each started tool has ended or was stopped, each hook, question
//! and elicitation is answered or taken back. When no prompt is open in the whole tree, no timer is set. And nothing is taken back that is not open.

use super::{OracleFindings, OracleRules};
use reenact_engine::contract::{Effect, EventPayload, HookRun, HookSubject, Input, Note, RequestId, TimerId, ToolRun};
use reenact_engine::time::Time;
use reenact_wire::prelude::*;

pub(super) const ORACLE: &str = "O-27";

/// The work that one agent has begun and not ended.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct LeftoverOracle {
    open: Vec<UnfinishedWork>,
    /// Complete answers whose end is still to come: they may be closed, and need not be.
    said: Vec<RequestId>,
    /// Requests of open prompts that ended by themselves.
    ended: Vec<RequestId>,
    /// Each with its time: a name may be used again, and the ring of an older setting is none of the new one.
    timers: Vec<(TimerId, Time)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum UnfinishedWork {
    Request(RequestId),
    Tool(ToolRun),
    Hook(HookRun),
    Permission(ToolRun),
    Elicitation(ToolRun),
}

impl LeftoverOracle {
    pub(super) fn on_input(&mut self, at: Time, input: &Input) {
        match input {
            Input::Stream { id, event } if *event.payload() == EventPayload::MessageStop => {
                let was_open = self.end(UnfinishedWork::Request(*id));
                self.said.extend(was_open.then_some(*id));
            }
            Input::End { id, .. } => {
                self.said.retain(|said| said != id);
                self.ended.push(*id);
                self.end(UnfinishedWork::Request(*id));
            }
            Input::ToolEnded { run, .. } => drop(self.end(UnfinishedWork::Tool(*run))),
            Input::HookEnded { hook, .. } => drop(self.end(UnfinishedWork::Hook(*hook))),
            Input::PermissionAnswered { run, .. } => drop(self.end(UnfinishedWork::Permission(*run))),
            Input::ElicitationAnswered { run, .. } => drop(self.end(UnfinishedWork::Elicitation(*run))),
            Input::Timer(timer) => drop(self.unset(*timer, at)),
            _ => (),
        }
    }

    pub(super) fn on_request(&mut self, id: RequestId) {
        self.open.push(UnfinishedWork::Request(id));
    }

    pub(super) fn on_effect(&mut self, rules: &OracleRules, effect: &Effect, found: &mut OracleFindings<'_>) {
        match effect {
            Effect::StartTool { run, .. } => self.open.push(UnfinishedWork::Tool(*run)),
            Effect::RunHook { hook, .. } => self.open.push(UnfinishedWork::Hook(*hook)),
            Effect::AskPermission { run, .. } => self.open.push(UnfinishedWork::Permission(*run)),
            Effect::Elicit { run, .. } => self.open.push(UnfinishedWork::Elicitation(*run)),
            Effect::CloseRequest { id } if self.said.contains(id) => self.said.retain(|said| said != id),
            Effect::CloseRequest { id } => self.take_back(UnfinishedWork::Request(*id), found),
            Effect::StopHook { hook } => self.take_back(UnfinishedWork::Hook(*hook), found),
            Effect::WithdrawPermission { run } => self.take_back(UnfinishedWork::Permission(*run), found),
            Effect::WithdrawElicitation { run } => self.take_back(UnfinishedWork::Elicitation(*run), found),
            // Who works for a tool use inside the engine is stopped by the same word, and was not started here.
            Effect::StopTool { run } => drop(self.end(UnfinishedWork::Tool(*run))),
            Effect::Note(Note::LeftRunning { runs, .. }) if rules.tools.are_left_running() => {
                self.open.retain(|begun| !matches!(begun, UnfinishedWork::Tool(run) if runs.contains(run)));
            }
            Effect::SetTimer { timer, at } => self.timers.push((*timer, *at)),
            Effect::CancelTimer { timer } if !self.unset(*timer, Time(u64::MAX)) => {
                found.add(ORACLE, format!("timer {}.{} was cancelled, and it is not set", timer.id, timer.generation));
            }
            Effect::Finished { prompt, .. } => self.on_terminal(*prompt, found),
            _ => (),
        }
    }

    /// No prompt is open in the whole tree.
    pub(super) fn expect_no_timer(&mut self, found: &mut OracleFindings<'_>) {
        for (timer, _) in core::mem::take(&mut self.timers) {
            found.add(ORACLE, format!("timer {}.{} is still set when all is over", timer.id, timer.generation));
        }
    }

    fn on_terminal(&mut self, prompt: u32, found: &mut OracleFindings<'_>) {
        found.ask(ORACLE);
        self.ended.retain(|ended| ended.prompt != prompt);
        for left in self.open.extract_if(.., |begun| begun.prompt() == prompt) {
            let what = match left {
                UnfinishedWork::Request(id) => format!("request {id} is neither ended nor closed"),
                UnfinishedWork::Tool(run) => format!("tool {run} has neither ended nor been stopped"),
                UnfinishedWork::Hook(hook) => format!("hook {} is neither answered nor stopped", hook.hook),
                UnfinishedWork::Permission(run) => format!("the question about tool {run} is neither answered nor withdrawn"),
                UnfinishedWork::Elicitation(run) => format!("the question of tool {run} to the user is neither answered nor withdrawn"),
            };
            found.add(ORACLE, format!("prompt {prompt} has its terminal, and {what}"));
        }
    }

    fn take_back(&mut self, begun: UnfinishedWork, found: &mut OracleFindings<'_>) {
        if !self.end(begun) {
            let what = match begun {
                UnfinishedWork::Request(id) if self.ended.contains(&id) => {
                    return found.add(ORACLE, format!("the engine closed request {id}, which had ended already"));
                }
                UnfinishedWork::Request(id) => format!("request {id} was closed"),
                UnfinishedWork::Tool(run) => format!("tool {run} was stopped"),
                UnfinishedWork::Hook(hook) => format!("hook {} was stopped", hook.hook),
                UnfinishedWork::Permission(run) => format!("the question about tool {run} was withdrawn"),
                UnfinishedWork::Elicitation(run) => format!("the question of tool {run} to the user was withdrawn"),
            };
            found.add(ORACLE, format!("{what}, and it is not open"));
        }
    }

    /// Whether it was open.
    fn end(&mut self, begun: UnfinishedWork) -> bool {
        let at = self.open.iter().position(|open| *open == begun);
        at.map(|at| self.open.remove(at)).is_some()
    }

    /// Whether it was set, for this time at the latest.
    fn unset(&mut self, timer: TimerId, latest: Time) -> bool {
        let at = self.timers.iter().position(|(set, at)| *set == timer && *at <= latest);
        at.map(|at| self.timers.remove(at)).is_some()
    }
}

impl UnfinishedWork {
    fn prompt(self) -> u32 {
        match self {
            Self::Request(id) => id.prompt,
            Self::Tool(run) | Self::Permission(run) | Self::Elicitation(run) => run.request.prompt,
            Self::Hook(hook) => match hook.subject {
                HookSubject::Tool(run) => run.request.prompt,
                HookSubject::Stop(id) | HookSubject::Compaction(id) => id.prompt,
            },
        }
    }
}
