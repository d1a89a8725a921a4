//! O-22: a tool starts unasked, a person is asked, and a tool is refused as the permissions say (P-1, P-2, T-24, T-11).
//!
//! The environment states rules and mode. A session learns more: from the answers of the person, from commands, and from exclusive tools that change the
//! context. All agents of a tree share that. What was learnt counts from the effect on that shows it: the init message of a command's prompt, the
//! result of a tool. Between the end of such a tool and its result an engine may know the change or not, so nothing is said of what depends on it.
//!
//! A rule is held against the input at the time of the decision. A question shows it; where nobody was asked, the start does. A refusal shows none: it is that of
//! the model, unless a hook has changed it.

use super::permission_verdict::{SaidOfUse, verdict};
use super::running_tools::ToolClass;
use super::tool_starts::CONSENT;
use super::{OracleFindings, OracleRules};
use reenact_engine::contract::{Agent, Effect, Emission, FailureCause, HookRun, HookSubject, Input, Note, PermissionAnswer, ToolRun};
use reenact_engine::permission::{PermissionMode, PermissionRule, PermissionWord, RuleSource, ToolCheck, rule};
use reenact_engine::settings::OrphanedPermission;
use reenact_wire::block::{Block, BlockKind, ToolUse};
use reenact_wire::prelude::*;

/// The knowledge of a tree of agents about permissions.
#[derive(Clone, Debug, Hash, Default)]
pub(super) struct PermissionRuleOracle {
    /// The rules that were learnt.
    learnt: Vec<PermissionRule>,
    /// Rules that may have been learnt: those of an earlier session, and of commands where a host's messages may stand in their place.
    perhaps_learnt: Vec<PermissionRule>,
    mode: ModeKnowledge,
    /// The tool uses that are not over.
    uses: Vec<JudgedUse>,
    /// The rules of commands that were given and have not begun, by their prompts.
    commands: Vec<(u32, Vec<Arc<str>>)>,
}

/// The mode in force.
#[derive(Clone, Copy, Debug, Hash, Default, PartialEq, Eq)]
enum ModeKnowledge {
    /// That of the settings.
    #[default]
    OfSettings,
    /// A tool has changed it.
    Changed(PermissionMode),
    /// A tool has changed it, and it is not known whether the engine knows yet.
    Unknown,
}

/// A tool use, and the words about it.
#[derive(Clone, Debug, Hash)]
struct JudgedUse {
    agent: Agent,
    run: ToolRun,
    /// The strictest word of the hooks before it.
    hooks: Option<PermissionWord>,
    /// The hooks that were told to stop: their words come too late.
    stopped_hooks: Vec<u32>,
    /// The tool's own check.
    check: Option<ToolCheck>,
    /// As the model asked for it; `None` after a hook has changed the input.
    asked: Option<Arc<ToolUse>>,
    question: PersonQuestion,
    /// The context change of an exclusive tool that has ended.
    change: Option<Arc<str>>,
    /// Whether its context change counts: it was started, is exclusive, and was not told to stop.
    may_change: bool,
}

/// The question to a person about a tool use.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
enum PersonQuestion {
    NotAsked,
    Open,
    /// Answered, or withdrawn.
    Over,
    /// Answered with another input.
    InputChanged,
}

impl PermissionRuleOracle {
    pub(super) fn on_input(&mut self, rules: &OracleRules, agent: &Agent, input: &Input) {
        match input {
            Input::Prompt { prompt, content } | Input::Interrupt { prompt, content } => {
                let allows = command_rules(rules, content);
                if !allows.is_empty() {
                    self.commands.push((*prompt, allows.to_vec()));
                }
            }
            Input::ToolChecked { run, check } => {
                self.entry(agent, *run).check = Some(ToolCheck::clone(check));
            }
            Input::HookEnded { hook, outcome } => {
                if let HookSubject::Tool(run) = hook.subject {
                    let of_use = self.entry(agent, run);
                    if of_use.stopped_hooks.contains(&hook.hook) {
                        return;
                    }
                    of_use.hooks = of_use.hooks.max(outcome.decision);
                    if outcome.updated_input.is_some() {
                        of_use.asked = None;
                    }
                }
            }
            Input::PermissionAnswered { run, answer } => self.on_answer(agent, *run, answer),
            Input::ToolEnded { run, outcome } => {
                if let (Some(change), Some(of_use)) = (&outcome.context_change, self.find(agent, *run).filter(|of_use| of_use.may_change)) {
                    of_use.change = Some(change.clone());
                    if mode_of(change).is_some() {
                        self.mode = ModeKnowledge::Unknown;
                    }
                }
            }
            _ => (),
        }
    }

    /// `asked` is the run of a tool use that the model asks for, and `class` that of the tool use that starts.
    pub(super) fn on_effect(
        &mut self,
        rules: &OracleRules,
        (agent, asked, class): (&Agent, Option<ToolRun>, Option<ToolClass>),
        effect: &Effect,
        found: &mut OracleFindings<'_>,
    ) {
        match effect {
            Effect::Emit(Emission::Assistant(message)) if rules.settings.permissions.is_some() => {
                if let (Some(run), Some(tool_use)) = (asked, message.block.as_tool_use()) {
                    self.entry(agent, run).asked = Some(Arc::new(tool_use.clone()));
                }
            }
            Effect::Note(Note::ToolFailed { run, cause: FailureCause::Refused }) => self.judge_refusal(rules, (agent, *run), found),
            Effect::AskPermission { run, tool_use, .. } => {
                self.entry(agent, *run).question = PersonQuestion::Open;
                self.judge_question(rules, (agent, *run), tool_use, found);
            }
            Effect::StopHook { hook: HookRun { hook, subject: HookSubject::Tool(run) } } => {
                self.entry(agent, *run).stopped_hooks.push(*hook)
            }
            Effect::WithdrawPermission { run } => self.entry(agent, *run).question = PersonQuestion::Over,
            Effect::StartTool { run, tool_use } | Effect::StartAgent { run, tool_use } => {
                self.entry(agent, *run).may_change = class == Some(ToolClass::Exclusive);
                self.judge_start(rules, (agent, *run), tool_use, found);
            }
            Effect::StopTool { run } => {
                if let Some(of_use) = self.find(agent, *run) {
                    of_use.may_change = false;
                    of_use.change = None;
                }
            }
            Effect::Emit(Emission::User(message)) => self.on_result(agent, message.run),
            Effect::Emit(Emission::Init { prompt, .. }) if agent.is_root() => {
                self.learn_from_earlier_session(rules);
                let is_certain = rules.settings.session.host_messages.is_empty();
                let learnt = if is_certain { &mut self.learnt } else { &mut self.perhaps_learnt };
                for (_, allows) in self.commands.extract_if(.., |(of, _)| of == prompt) {
                    allows.iter().for_each(|about| learn(learnt, PermissionWord::Allow, about));
                }
            }
            Effect::Note(Note::Discarded { id, .. } | Note::LeftRunning { id, .. }) => {
                self.uses.retain(|of_use| of_use.agent != *agent || of_use.run.request != *id);
            }
            Effect::Finished { prompt, .. } => {
                self.uses.retain(|of_use| of_use.agent != *agent || of_use.run.request.prompt != *prompt);
                if agent.is_root() {
                    self.commands.retain(|(of, _)| of != prompt);
                }
            }
            _ => (),
        }
    }

    /// The rules that a person gave with the answer to a question of an earlier session, if the tool use is still open (S-3).
    fn learn_from_earlier_session(&mut self, rules: &OracleRules) {
        if let Some(OrphanedPermission { answer: PermissionAnswer::Allow { rules, .. }, .. }) = &rules.settings.session.orphaned_permission
        {
            rules.iter().for_each(|about| learn(&mut self.perhaps_learnt, PermissionWord::Allow, about));
        }
    }

    fn on_answer(&mut self, agent: &Agent, run: ToolRun, answer: &PermissionAnswer) {
        let Some(of_use) = self.find(agent, run).filter(|of_use| of_use.question == PersonQuestion::Open) else { return };
        of_use.question = PersonQuestion::Over;
        if let PermissionAnswer::Allow { updated_input, rules } = answer {
            if updated_input.is_some() {
                of_use.question = PersonQuestion::InputChanged;
            }
            rules.iter().for_each(|about| learn(&mut self.learnt, PermissionWord::Allow, about));
        }
    }

    /// The result is out: what the tool has changed is known by now.
    fn on_result(&mut self, agent: &Agent, run: ToolRun) {
        let Some(at) = self.uses.iter().position(|of_use| of_use.run == run && of_use.agent == *agent) else { return };
        let Some(change) = self.uses.remove(at).change else { return };
        if let Some(mode) = mode_of(&change) {
            let is_another_open = self.uses.iter().any(|of_use| of_use.change.as_deref().and_then(mode_of).is_some());
            self.mode = if is_another_open { ModeKnowledge::Unknown } else { ModeKnowledge::Changed(mode) };
        } else if let Some((word, about)) = change.split_once(' ')
            && let Some(word) = PermissionWord::from_word(word)
            && rule::problem(about).is_none()
        {
            learn(&mut self.learnt, word, about);
        }
    }

    fn judge_start(&self, rules: &OracleRules, (agent, run): (&Agent, ToolRun), tool_use: &ToolUse, found: &mut OracleFindings<'_>) {
        let Some(of_use) = self.judged(agent, run) else { return };
        found.ask(CONSENT);
        let is_asked = of_use.question != PersonQuestion::NotAsked;
        let mode = self.mode(rules).filter(|_| !is_asked || self.mode == ModeKnowledge::OfSettings);
        let denies = |check: &&ToolCheck| check.permission == Some(PermissionWord::Deny);
        if of_use.question == PersonQuestion::InputChanged {
            // No rule is held against what the person wrote.
            let is_path_denied = of_use.check.as_ref().is_some_and(|check| check.is_about_path && denies(&check));
            if is_path_denied || mode == Some(Some(PermissionMode::Plan)) && !rules.tools.reads_only(&tool_use.name) {
                found.add(CONSENT, format!("tool {run} was started, and it is denied"));
            }
            return;
        }
        // What was learnt since the question does not count for its answer.
        let learnt = if is_asked { &[][..] } else { &self.learnt };
        // What hooks are against is O-26's to see.
        let hooks = of_use.hooks.filter(|word| *word == PermissionWord::Allow);
        let mut said = SaidOfUse { hooks, perhaps_learnt: &self.perhaps_learnt, ..of_use.said(mode.flatten(), learnt) };
        if mode.is_none() || self.is_a_change_open() {
            // What is not known may allow what nothing forbids.
            said.mode = said.mode.filter(|mode| *mode == PermissionMode::Plan).or(Some(PermissionMode::Bypass));
            said.check = said.check.filter(denies);
        }
        match verdict(rules, tool_use, said) {
            PermissionWord::Deny => found.add(CONSENT, format!("tool {run} was started, and it is denied")),
            PermissionWord::Ask if !is_asked => {
                found.add(CONSENT, format!("tool {run} was started without a question, and nothing allows it"));
            }
            _ => (),
        }
    }

    fn judge_question(&self, rules: &OracleRules, (agent, run): (&Agent, ToolRun), tool_use: &ToolUse, found: &mut OracleFindings<'_>) {
        // Without rules an engine may have reasons of its own to ask.
        let Some(of_use) = self.judged(agent, run).filter(|_| self.are_there_rules(rules) && !self.is_a_change_open()) else { return };
        let Some(mode) = self.mode(rules) else { return };
        found.ask(CONSENT);
        match verdict(rules, tool_use, of_use.said(mode, &self.learnt)) {
            PermissionWord::Deny => found.add(CONSENT, format!("a person was asked about tool {run}, and it is denied")),
            PermissionWord::Allow => found.add(CONSENT, format!("a person was asked about tool {run}, and it is allowed")),
            PermissionWord::Ask => (),
        }
    }

    /// A tool use was not permitted, and nobody was asked about it.
    fn judge_refusal(&self, rules: &OracleRules, (agent, run): (&Agent, ToolRun), found: &mut OracleFindings<'_>) {
        let Some(of_use) = self.judged(agent, run).filter(|_| !self.is_a_change_open()) else { return };
        let (Some(mode), Some(asked)) = (self.mode(rules), &of_use.asked) else { return };
        if of_use.question != PersonQuestion::NotAsked {
            return;
        }
        found.ask(CONSENT);
        if verdict(rules, asked, of_use.said(mode, &self.learnt)) != PermissionWord::Deny {
            found.add(CONSENT, format!("tool {run} was refused, and nothing denies it"));
        }
    }

    fn are_there_rules(&self, rules: &OracleRules) -> bool {
        rules.settings.permissions.is_some() || !self.learnt.is_empty() || self.mode != ModeKnowledge::OfSettings
    }

    /// The tool use. What an earlier session left open was answered there (S-3).
    fn judged(&self, agent: &Agent, run: ToolRun) -> Option<&JudgedUse> {
        self.uses.iter().find(|of_use| of_use.run == run && of_use.agent == *agent).filter(|_| run.request.turn > 0)
    }

    /// Whether a tool has ended that changes the context, and its result is not out.
    fn is_a_change_open(&self) -> bool {
        self.mode == ModeKnowledge::Unknown || self.uses.iter().any(|of_use| of_use.change.is_some())
    }

    /// The mode, if there is one; `None` where that is not known.
    fn mode(&self, rules: &OracleRules) -> Option<Option<PermissionMode>> {
        match self.mode {
            ModeKnowledge::OfSettings => Some(rules.settings.permissions.as_ref().map(|settings| settings.mode)),
            ModeKnowledge::Changed(mode) => Some(Some(mode)),
            ModeKnowledge::Unknown => None,
        }
    }

    fn find(&mut self, agent: &Agent, run: ToolRun) -> Option<&mut JudgedUse> {
        self.uses.iter_mut().find(|of_use| of_use.run == run && of_use.agent == *agent)
    }

    fn entry(&mut self, agent: &Agent, run: ToolRun) -> &mut JudgedUse {
        let known = self.uses.iter().position(|of_use| of_use.run == run && of_use.agent == *agent);
        let at = known.unwrap_or_else(|| {
            let (question, agent) = (PersonQuestion::NotAsked, agent.clone());
            self.uses.push(JudgedUse {
                agent,
                run,
                hooks: None,
                stopped_hooks: Vec::new(),
                check: None,
                asked: None,
                question,
                change: None,
                may_change: false,
            });
            self.uses.len() - 1
        });
        &mut self.uses[at]
    }
}

impl JudgedUse {
    fn said<'a>(&'a self, mode: Option<PermissionMode>, learnt: &'a [PermissionRule]) -> SaidOfUse<'a> {
        SaidOfUse { hooks: self.hooks, check: self.check.as_ref(), mode, learnt, perhaps_learnt: &[] }
    }
}

fn learn(learnt: &mut Vec<PermissionRule>, word: PermissionWord, about: &str) {
    let rule = PermissionRule { word, about: about.into(), source: RuleSource::CommandLine };
    if !learnt.contains(&rule) {
        learnt.push(rule);
    }
}

/// The mode that a context change sets.
fn mode_of(change: &str) -> Option<PermissionMode> {
    PermissionMode::from_word(change.strip_prefix("mode ")?)
}

/// The rules that a prompt brings because it is a command of the settings (S-3).
fn command_rules<'r>(rules: &'r OracleRules, content: &[Block]) -> &'r [Arc<str>] {
    let session = &rules.settings.session;
    let [block] = content else { return &[] };
    let BlockKind::Text(text) = block.kind() else { return &[] };
    let name = text.trim().strip_prefix('/').and_then(|line| line.split(char::is_whitespace).next());
    let command = session.commands.iter().find(|command| Some(&*command.name) == name);
    command.filter(|_| session.slash_commands).map_or(&[], |command| &command.allows)
}
