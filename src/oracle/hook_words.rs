//! O-26 beyond the start of tools: a stop hook that objects is heard before the prompt ends well, a hook that ends the turn ends it, and
//! a hook that is against a compaction prevents it (C-4). A stop hook is told whether one has objected before.
//! That hooks are asked about tools is in `asked_hooks`, and that each has its own time in `hook_times`.

use super::asked_hooks::AskedHookOracle;
use super::hook_times::HookTimeOracle;
use super::request_kind::{RequestKind, SentRequest};
use super::tool_starts::HOOKS;
use super::{OracleFindings, OracleRules};
use reenact_engine::contract::{
    Effect, Emission, HookEvent, HookInput, HookOutcome, HookRun, HookSubject, Input, Note, RequestId, Terminal,
};
use reenact_engine::permission::PermissionWord;
use reenact_wire::prelude::*;

/// The hooks of the prompt of one agent that is open: each with its outcome, once it has one that counts.
#[derive(Clone, Debug, Hash, Default)]
pub(super) struct HookWordOracle {
    hooks: Vec<(HookRun, Option<Arc<HookOutcome>>)>,
    asked: AskedHookOracle,
    times: HookTimeOracle,
    /// The answer to whose end a stop hook objected first.
    objected: Option<RequestId>,
}

impl HookWordOracle {
    pub(super) fn on_input(&mut self, rules: &OracleRules, input: &Input, found: &mut OracleFindings<'_>) {
        self.asked.on_input(rules, input);
        self.times.on_input(rules, input, found);
        if let Input::HookEnded { hook, outcome } = input
            && let Some((_, known)) = self.hooks.iter_mut().find(|(run, known)| run == hook && known.is_none())
        {
            *known = Some(outcome.clone());
            if let (HookSubject::Stop(answer), true) = (hook.subject, objects(outcome)) {
                self.objected.get_or_insert(answer);
            }
        }
    }

    /// Somebody ends the prompt, in whatever agent of the tree.
    pub(super) fn on_abort(&mut self) {
        self.asked.on_abort();
    }

    pub(super) fn on_request(&mut self, sent: SentRequest<'_>, found: &mut OracleFindings<'_>) {
        let SentRequest { id, kind, .. } = sent;
        if self.hooks.is_empty() || kind == RequestKind::ToolSummary {
            return;
        }
        // The turn is over once something is asked that is not the same answer again.
        let is_before = |run: &HookRun| match run.subject {
            HookSubject::Tool(run) => run.request.turn < id.turn,
            HookSubject::Stop(_) => true,
            HookSubject::Compaction(_) => kind == RequestKind::Summary,
        };
        for (run, outcome) in self.hooks.extract_if(.., |(run, _)| is_before(run)) {
            let Some(outcome) = outcome else { continue };
            found.ask(HOOKS);
            let is_of_compaction = matches!(run.subject, HookSubject::Compaction(_));
            if is_of_compaction && (objects(&outcome) || outcome.stop.is_some()) {
                found.add(HOOKS, format!("request {id} asks for a summary, and hook {} had prevented it", run.hook));
            } else if !is_of_compaction && outcome.stop.is_some() {
                found.add(HOOKS, format!("request {id} was made after hook {} had ended the turn", run.hook));
            }
        }
    }

    pub(super) fn on_effect(&mut self, rules: &OracleRules, effect: &Effect, found: &mut OracleFindings<'_>) {
        self.asked.on_effect(rules, effect, found);
        self.times.on_effect(rules, effect, found);
        match effect {
            Effect::RunHook { hook, input } => {
                self.check_flag(*hook, input, found);
                if input.event == HookEvent::PreCompact {
                    // The hooks of an earlier compaction have no word about this one.
                    let is_earlier = |run: &HookRun| matches!(run.subject, HookSubject::Compaction(_)) && run.subject != hook.subject;
                    self.hooks.retain(|(run, _)| !is_earlier(run));
                }
                if input.event != HookEvent::PostCompact {
                    self.hooks.push((*hook, None));
                }
            }
            // Its answer no longer counts.
            Effect::StopHook { hook } => self.hooks.retain(|(run, outcome)| run != hook || outcome.is_some()),
            Effect::Note(Note::Discarded { id, .. } | Note::LeftRunning { id, .. }) | Effect::Emit(Emission::ModelFallback { id, .. }) => {
                self.hooks.retain(|(run, _)| !matches!(run.subject, HookSubject::Tool(run) if run.request == *id));
            }
            Effect::Finished { terminal, .. } => {
                let hooks = core::mem::take(&mut self.hooks);
                self.objected = None;
                if *terminal == Terminal::Completed {
                    let of_stop = hooks.iter().filter(|(run, _)| matches!(run.subject, HookSubject::Stop(_)));
                    of_stop.filter_map(|(run, outcome)| Some((run, outcome.as_ref()?))).for_each(|(run, outcome)| {
                        found.ask(HOOKS);
                        if objects(outcome) || outcome.stop.is_some() {
                            found.add(HOOKS, format!("the prompt ended well, and stop hook {} had objected or ended the turn", run.hook));
                        }
                    });
                }
            }
            _ => (),
        }
    }

    /// A stop hook is told whether one has objected to the end of an earlier answer of the prompt.
    fn check_flag(&self, hook: HookRun, input: &HookInput, found: &mut OracleFindings<'_>) {
        let HookSubject::Stop(answer) = hook.subject else { return };
        found.ask(HOOKS);
        let has_objected = self.objected.is_some_and(|earlier| earlier != answer);
        if input.stop_hook_active != has_objected {
            let flag = if input.stop_hook_active { "is told that" } else { "is not told that" };
            let truth = if has_objected { "one has" } else { "none has" };
            found.add(HOOKS, format!("stop hook {} {flag} a stop hook has objected before in the prompt, and {truth}", hook.hook));
        }
    }
}

fn objects(outcome: &HookOutcome) -> bool {
    outcome.decision == Some(PermissionWord::Deny)
}
