//! O-33: a tool use that was answered without having run has a reason of its own (T-12 to T-15, T-21 to T-24). After the failure of a shell tool nothing else
//! of the same answer starts, or without streaming execution of the same batch (T-13, T-20). The words of a tool that was told to stop are not its result, and
//! an aborted prompt does not end before it has ended or its grace is over (T-15a). Where refusals have notes,
//! tools of an answer that the model refuses are told to stop.
//!
//! Reasons are: an abort of the prompt, a discarded attempt, a hook, a check, a person or a rule that is against it, an unknown tool, an input that does not
//! fit, and a sibling that failed. Which of them the engine names is not looked at. Where rules of permissions or a limit on money decide inside of the engine,
//! and in sub-agents, which their parent may stop, the oracle is not asked.

use super::request_kind::{RequestKind, SentRequest};
use super::running_tools::ToolClass;
use super::{OracleFindings, OracleRules};
use reenact_engine::contract::{
    AnswerEnd, Effect, Emission, EventPayload, FailureCause, HookSubject, Input, Micros, Note, PermissionAnswer, RequestId, Settings,
    Terminal, ToolOutcome, ToolRun,
};
use reenact_engine::permission::PermissionWord;
use reenact_engine::settings::SiblingAbort;
use reenact_engine::time::Time;
use reenact_wire::block::{BlockKind, ToolUse};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

pub(super) const ORACLE: &str = "O-33";

/// A shorter text that a stopped tool returns may stand in a result by chance.
const RETURNED_CHARACTERS_MIN: usize = 12;

/// The tool uses of the root's prompts that are not over.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct UnrunToolOracle {
    uses: Vec<AskedUse>,
    /// The prompt is being aborted.
    is_aborted: bool,
    /// Answers that came whole: the others may be taken back yet.
    whole: Vec<RequestId>,
    /// The answer that comes, and how many of its blocks have begun and not ended.
    open_blocks: Option<(RequestId, u32)>,
    /// The shell tools that failed, once their results are out.
    failed: Vec<(ToolRun, ToolBatch)>,
    stopped: Vec<StoppedTool>,
    /// The tools of a refused answer that run, until they are told to stop; each with whether the answer is over.
    refused: Vec<(ToolRun, bool)>,
}

/// The tool uses of one answer that are siblings: without streaming execution consecutive safe ones, or a single one (T-20); otherwise all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct ToolBatch(u32);

/// A tool that was told to stop.
#[derive(Clone, Debug, Hash)]
struct StoppedTool {
    run: ToolRun,
    /// The end of its grace, or its own.
    until: Time,
    /// The text that it returned; empty until then.
    returned: Arc<str>,
}

#[derive(Clone, Debug, Hash)]
struct AskedUse {
    run: ToolRun,
    batch: ToolBatch,
    /// `None` for one that is not known, which parts no batch.
    class: Option<ToolClass>,
    is_started: bool,
    /// Another agent carries it out.
    is_agent: bool,
    /// It need not run: for a reason that is known, or because it was answered and judged.
    is_settled: bool,
    /// It was answered without having run.
    is_suspect: bool,
    /// A shell tool: its failure, if it is one that aborts its siblings.
    is_shell: bool,
    has_failed: bool,
    /// It has ended, or has its result.
    is_over: bool,
}

impl UnrunToolOracle {
    /// `returned` is the text of a tool that ends.
    pub(super) fn on_input(&mut self, rules: &OracleRules, input: &Input, returned: Option<&str>, found: &mut OracleFindings<'_>) {
        self.judge(found);
        for (run, _) in self.refused.extract_if(.., |(_, is_over)| *is_over) {
            found.add(ORACLE, format!("tool {run} of an answer that the model refused runs on, and was not told to stop"));
        }
        if let Input::End { id, .. } = input {
            self.refused.iter_mut().filter(|(run, _)| run.request == *id).for_each(|(_, is_over)| *is_over = true);
        }
        self.is_aborted |= matches!(input, Input::Interrupt { .. });
        match input {
            Input::Stream { id, event } => self.on_event(*id, event.payload()),
            Input::Body { id, .. } => self.whole.push(*id),
            Input::End { id, how } if *how != AnswerEnd::Complete => self.whole.retain(|whole| whole != id),
            Input::ToolEnded { run, outcome } => self.on_outcome(rules, (found.at, *run), (outcome, returned.unwrap_or_default())),
            Input::PermissionAnswered { run, answer } if !matches!(**answer, PermissionAnswer::Allow { updated_input: None, .. }) => {
                self.settle(*run);
            }
            Input::ToolChecked { run, check }
                if check.problem.is_some() || check.permission.is_some_and(|word| word != PermissionWord::Allow) =>
            {
                self.settle(*run);
            }
            Input::HookEnded { hook, outcome } => {
                self.is_aborted |= outcome.stop.is_some();
                let is_against = outcome.decision.is_some_and(|word| word != PermissionWord::Allow) || outcome.updated_input.is_some();
                if let (HookSubject::Tool(run), true) = (hook.subject, is_against) {
                    self.settle(run);
                }
            }
            _ => (),
        }
    }

    fn on_event(&mut self, id: RequestId, event: &EventPayload<'_>) {
        let known = self.open_blocks.filter(|(of, _)| *of == id);
        let (_, open) = self.open_blocks.insert(known.unwrap_or((id, 0)));
        match event {
            EventPayload::BlockStart { .. } => *open += 1,
            EventPayload::BlockStop { .. } => *open = open.saturating_sub(1),
            // An answer with a block that has no end is not whole.
            EventPayload::MessageStop if *open == 0 => self.whole.push(id),
            // An answer can be lost behind its last event.
            EventPayload::Error { .. } => self.whole.retain(|whole| *whole != id),
            _ => (),
        }
    }

    /// The conversation goes on: what was asked for before it has its results.
    pub(super) fn on_request(&mut self, sent: SentRequest<'_>) {
        if sent.kind == RequestKind::Ordinary {
            let is_of_now = |id: RequestId| (id.prompt, id.turn) == (sent.id.prompt, sent.id.turn);
            self.uses.retain(|asked| asked.is_suspect || is_of_now(asked.run.request));
            self.whole.retain(|id| is_of_now(*id) || self.uses.iter().any(|asked| asked.run.request == *id));
        }
    }

    /// Somebody ends the prompt, in whatever agent of the tree.
    pub(super) fn on_cancel(&mut self) {
        self.is_aborted = true;
    }

    /// `told` is the text of a result.
    pub(super) fn on_effect(&mut self, rules: &OracleRules, (effect, told): (&Effect, &str), found: &mut OracleFindings<'_>) {
        match effect {
            Effect::Emit(Emission::Init { .. }) => self.is_aborted = false,
            Effect::Emit(Emission::Assistant(message)) => {
                if let Some(tool_use) = message.block.as_tool_use() {
                    self.on_tool_use(rules, message.id, tool_use);
                }
            }
            Effect::StartTool { run, .. } => self.on_start(rules, *run, false, found),
            Effect::StartAgent { run, .. } => self.on_start(rules, *run, true, found),
            Effect::StopTool { run } => {
                self.refused.retain(|(refused, _)| refused != run);
                let is_agent = self.uses.iter().any(|asked| asked.run == *run && asked.is_agent);
                let grace = if is_agent { Micros::ZERO } else { rules.settings.tool_grace };
                self.stopped.push(StoppedTool { run: *run, until: found.at + grace, returned: "".into() });
            }
            Effect::Emit(Emission::User(message)) => {
                let is_error = matches!(message.block.kind(), BlockKind::ToolResult { is_error: true, .. });
                self.on_agent_result(rules, message.run, is_error);
                self.on_result(rules, message.run, told, found);
            }
            // The model took its words back.
            Effect::Emit(Emission::Answered { id, stop_reason, .. }) if stop_reason.as_deref() == Some("refusal") => {
                let refused = self.uses.extract_if(.., |asked| asked.run.request == *id);
                let is_left = |asked: &AskedUse| rules.settings.refusal_notes && asked.is_started && !asked.is_over;
                let running = refused.filter(is_left).map(|asked| (asked.run, false));
                self.refused.extend(running.filter(|(run, _)| !self.stopped.iter().any(|stopped| stopped.run == *run)));
                if !self.refused.is_empty() {
                    found.ask(ORACLE);
                }
            }
            Effect::Note(Note::Discarded { id, .. } | Note::LeftRunning { id, .. }) | Effect::Emit(Emission::ModelFallback { id, .. }) => {
                self.uses.retain(|asked| asked.run.request != *id);
            }
            Effect::Finished { prompt, terminal } => {
                self.judge(found);
                if matches!(terminal, Terminal::AbortedStreaming | Terminal::AbortedTools) {
                    self.check_graces(*prompt, found);
                }
                self.uses.retain(|asked| asked.run.request.prompt != *prompt);
                self.whole.retain(|id| id.prompt != *prompt);
                self.failed.retain(|(run, _)| run.request.prompt != *prompt);
                self.stopped.retain(|stopped| stopped.run.request.prompt != *prompt);
                self.is_aborted = false;
            }
            _ => (),
        }
    }

    /// T-15a: a prompt that is aborted waits for the tools that were told to stop.
    fn check_graces(&self, prompt: u32, found: &mut OracleFindings<'_>) {
        let is_of_now = |run: ToolRun| run.request.prompt == prompt && self.uses.iter().any(|asked| asked.run == run);
        for StoppedTool { run, until, .. } in self.stopped.iter().filter(|stopped| is_of_now(stopped.run)) {
            if found.at >= *until {
                continue;
            }
            found.add(
                ORACLE,
                format!("prompt {prompt} ended while tool {run} was stopping, and its grace (`settings.tool_grace`) lasts until {until}"),
            );
        }
    }

    fn on_tool_use(&mut self, rules: &OracleRules, request: RequestId, tool_use: &ToolUse) {
        let of_answer = || self.uses.iter().filter(|asked| asked.run.request == request);
        let run = ToolRun { request, index: u32::try_from(of_answer().count()).unwrap_or(u32::MAX) };
        let class = rules.tools.knows(&tool_use.name).then(|| rules.tools.class(tool_use));
        let before = of_answer().rfind(|asked| asked.class.is_some());
        let is_parted = |before: &AskedUse| class.is_some() && [before.class, class].contains(&Some(ToolClass::Exclusive));
        let batch = match before {
            Some(before) if !rules.settings.streaming_execution && is_parted(before) => ToolBatch(before.batch.0 + 1),
            Some(before) => before.batch,
            None => ToolBatch::default(),
        };
        let may_run = rules.tools.takes(tool_use) && !rules.decide_inside();
        self.uses.push(AskedUse {
            run,
            batch,
            class,
            is_started: false,
            is_agent: false,
            is_settled: !may_run,
            is_suspect: false,
            is_shell: rules.tools.is_shell(&tool_use.name),
            has_failed: false,
            is_over: false,
        });
    }

    /// A tool ended by itself.
    fn on_outcome(&mut self, rules: &OracleRules, (at, run): (Time, ToolRun), (outcome, returned): (&ToolOutcome, &str)) {
        self.uses.iter_mut().filter(|asked| asked.run == run).for_each(|asked| asked.is_over = true);
        self.refused.retain(|(refused, _)| *refused != run);
        if let Some(stopped) = self.stopped.iter_mut().find(|stopped| stopped.run == run) {
            stopped.returned = returned.trim().into();
            stopped.until = stopped.until.min(at);
        } else if let Some(asked) = self.uses.iter_mut().find(|asked| asked.run == run) {
            asked.has_failed = asked.is_shell && SiblingFailures::from_settings(&rules.settings).holds(outcome);
        }
    }

    /// The result of an agent is made inside of the engine. Its failure is that of a shell tool without a cause, where the agent is one.
    fn on_agent_result(&mut self, rules: &OracleRules, run: ToolRun, is_error: bool) {
        let counts = is_error && SiblingFailures::from_settings(&rules.settings).exit_code_counts;
        let of_shell = self.uses.iter_mut().filter(|asked| asked.run == run && asked.is_agent && asked.is_shell);
        of_shell.for_each(|asked| asked.has_failed |= counts);
    }

    fn on_start(&mut self, rules: &OracleRules, run: ToolRun, is_agent: bool, found: &mut OracleFindings<'_>) {
        let Some(asked) = self.uses.iter_mut().find(|asked| asked.run == run) else { return };
        (asked.is_started, asked.is_agent) = (true, is_agent);
        if SiblingFailures::from_settings(&rules.settings).which != SiblingAbort::Failed {
            return;
        }
        let batch = asked.batch;
        if let Some((failed, _)) = self.failed.iter().find(|(failed, of)| failed.request == run.request && *of == batch) {
            found.ask(ORACLE);
            found.add(ORACLE, format!("tool {run} was started after the failure of tool {failed}, its sibling in the same answer"));
        }
    }

    fn on_result(&mut self, rules: &OracleRules, run: ToolRun, text: &str, found: &mut OracleFindings<'_>) {
        if let Some(stopped) = self.stopped.iter().find(|stopped| stopped.run == run) {
            let returned = &*stopped.returned;
            found.ask(ORACLE);
            let is_long = returned.chars().count() >= RETURNED_CHARACTERS_MIN;
            if is_long && text.contains(returned) || returned.len() > 1 && text.trim() == returned {
                found.add(ORACLE, format!("tool {run} was told to stop, and what it returned later is its result: {returned}"));
            }
        }
        let Some(asked) = self.uses.iter_mut().find(|asked| asked.run == run) else { return };
        asked.is_over = true;
        if !asked.is_started {
            found.ask(ORACLE);
        }
        let (batch, is_unrun_shell) = (asked.batch, asked.is_shell && !asked.is_started);
        if asked.has_failed || (is_unrun_shell && SiblingFailures::from_settings(&rules.settings).which == SiblingAbort::Any) {
            self.failed.push((run, batch));
        }
        let has_failed_sibling = self.failed.iter().any(|(failed, of)| failed.request == run.request && *of == batch);
        let has_reason = asked.is_started || asked.is_settled || self.is_aborted || has_failed_sibling;
        asked.is_suspect = !has_reason;
    }

    /// Whether the attempt was given up shows within the step.
    fn judge(&mut self, found: &mut OracleFindings<'_>) {
        let has_failed = |of: &AskedUse| {
            let in_use = self.uses.iter().filter(|asked| asked.has_failed).map(|asked| (asked.run, asked.batch));
            let is_sibling = |(run, batch): (ToolRun, ToolBatch)| run.request == of.run.request && batch == of.batch;
            // The next request may go out in the same step, and then a tool with its result is no longer in use.
            in_use.chain(self.failed.iter().copied()).any(is_sibling)
        };
        let unrun = |asked: &&AskedUse| asked.is_suspect && self.whole.contains(&asked.run.request) && !has_failed(asked);
        let unrun: Vec<ToolRun> = self.uses.iter().filter(unrun).map(|asked| asked.run).collect();
        for run in unrun {
            found.add(ORACLE, format!("tool {run} has a result and never ran, and nothing was against it"));
            self.settle(run);
        }
    }

    /// The tool use need not run.
    fn settle(&mut self, run: ToolRun) {
        for asked in self.uses.iter_mut().filter(|asked| asked.run == run) {
            (asked.is_settled, asked.is_suspect) = (true, false);
        }
    }
}

/// Which failures of a shell tool are those of its siblings (T-13, T-28).
#[derive(Clone, Copy, Debug, Hash)]
struct SiblingFailures {
    which: SiblingAbort,
    exit_code_counts: bool,
}

impl SiblingFailures {
    fn from_settings(settings: &Settings) -> Self {
        Self {
            which: if settings.streaming_execution { settings.sibling_abort } else { settings.batch_sibling_abort },
            exit_code_counts: settings.pipeline.exit_code_aborts,
        }
    }

    fn holds(self, outcome: &ToolOutcome) -> bool {
        // T-25: a call that returns nothing has failed, and its command need not have.
        if !outcome.is_error && outcome.content == Json::default() {
            return self.which == SiblingAbort::Any && outcome.abort.is_none();
        }
        let is_of_command = match outcome.cause {
            Some(FailureCause::NotStarted | FailureCause::TimedOut | FailureCause::Panicked) => true,
            Some(FailureCause::ExitCode) | None => self.exit_code_counts,
            _ => false,
        };
        let counts = match self.which {
            SiblingAbort::Off => false,
            SiblingAbort::Failed => is_of_command,
            SiblingAbort::Any => true,
        };
        outcome.is_error && outcome.abort.is_none() && counts
    }
}
