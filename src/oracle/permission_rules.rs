//! O-22: no tool starts against the rules of permissions, and nobody is asked without need (P-1, T-24, T-11).
//!
//! The environment states rules and mode. A session learns more: from the answers of the person, from commands, and from exclusive tools that change the
//! context. All agents of a tree share that. What was learnt counts from the effect on that shows it: the init message of a command's prompt, the
//! result of a tool. Between the end of such a tool and its result an engine may know the change or not, so nothing is said of what depends on it.
//!
//! A rule is held against the input at the time of the decision. A question shows it; where nobody was asked, the start does.

use super::running_tools::ToolClass;
use super::tool_starts::CONSENT;
use super::{OracleFindings, OracleRules};
use reenact_engine::contract::{Agent, Effect, Emission, HookSubject, Input, Note, PermissionAnswer, ToolRun};
use reenact_engine::permission::rule::{self, RuleTarget};
use reenact_engine::permission::{PermissionMode, PermissionRule, PermissionWord, RuleSource, command};
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
    /// The tool's own word.
    check: Option<PermissionWord>,
    /// That word, where it is about a path (P-4).
    path: Option<PermissionWord>,
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
                let of_use = self.entry(agent, *run);
                of_use.check = check.permission;
                of_use.path = check.permission.filter(|_| check.is_about_path);
            }
            Input::HookEnded { hook, outcome } => {
                if let HookSubject::Tool(run) = hook.subject {
                    let of_use = self.entry(agent, run);
                    of_use.hooks = of_use.hooks.max(outcome.decision);
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

    /// `class` is that of the tool use that starts.
    pub(super) fn on_effect(
        &mut self,
        rules: &OracleRules,
        (agent, class): (&Agent, Option<ToolClass>),
        effect: &Effect,
        found: &mut OracleFindings<'_>,
    ) {
        match effect {
            Effect::AskPermission { run, tool_use, .. } => {
                self.entry(agent, *run).question = PersonQuestion::Open;
                self.judge_question(rules, (agent, *run), tool_use, found);
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
        let Some(of_use) = self.judged(rules, agent, run) else { return };
        found.ask(CONSENT);
        let is_asked = of_use.question != PersonQuestion::NotAsked;
        // What was learnt since the question does not count for its answer.
        let learnt = if is_asked { &[][..] } else { &self.learnt };
        let word = if of_use.question == PersonQuestion::InputChanged { None } else { deciding(rules, learnt, tool_use) };
        match word {
            Some(PermissionWord::Deny) => found.add(CONSENT, format!("tool {run} was started, and a rule denies it")),
            Some(PermissionWord::Ask) if !is_asked => {
                found.add(CONSENT, format!("tool {run} was started without a question, and a rule asks for one"));
            }
            None if !is_asked && self.is_undecided(rules, of_use, tool_use) && !self.is_perhaps_allowed(rules, tool_use) => {
                found.add(CONSENT, format!("tool {run} was started without a question, and nothing allows it"));
            }
            _ => (),
        }
        if of_use.path == Some(PermissionWord::Deny) {
            found.add(CONSENT, format!("tool {run} was started, and its path is denied"));
        }
        let is_plan = self.mode(rules) == Some(PermissionMode::Plan) && (!is_asked || self.mode == ModeKnowledge::OfSettings);
        if is_plan && !rules.tools.reads_only(&tool_use.name) {
            found.add(CONSENT, format!("tool {run} was started in plan mode, and does not only read"));
        }
    }

    fn judge_question(&self, rules: &OracleRules, (agent, run): (&Agent, ToolRun), tool_use: &ToolUse, found: &mut OracleFindings<'_>) {
        let Some(of_use) = self.judged(rules, agent, run).filter(|_| !self.is_a_change_open()) else { return };
        found.ask(CONSENT);
        let is_wanted = of_use.hooks > Some(PermissionWord::Allow);
        let is_bypassed = self.mode(rules) == Some(PermissionMode::Bypass);
        match deciding(rules, &self.learnt, tool_use) {
            Some(PermissionWord::Deny) => found.add(CONSENT, format!("a person was asked about tool {run}, and a rule denies it")),
            Some(PermissionWord::Allow) if !is_wanted => {
                found.add(CONSENT, format!("a person was asked about tool {run}, and a rule allows it"));
            }
            None if !is_wanted && is_bypassed && of_use.path.is_none() => {
                found.add(CONSENT, format!("a person was asked about tool {run}, and the mode allows it"));
            }
            _ => (),
        }
    }

    /// The tool use, where there are rules at all. What an earlier session left open was answered there (S-3).
    fn judged(&self, rules: &OracleRules, agent: &Agent, run: ToolRun) -> Option<&JudgedUse> {
        let are_there_rules = rules.settings.permissions.is_some() || !self.learnt.is_empty() || self.mode != ModeKnowledge::OfSettings;
        let of_use = self.uses.iter().find(|of_use| of_use.run == run && of_use.agent == *agent);
        of_use.filter(|_| are_there_rules && run.request.turn > 0)
    }

    fn is_perhaps_allowed(&self, rules: &OracleRules, tool_use: &ToolUse) -> bool {
        let target = target(rules, tool_use);
        let is_for_it = |rule: &PermissionRule| target.fits(rule) || target.commands().iter().any(|command| target.allows(rule, command));
        self.perhaps_learnt.iter().any(is_for_it)
    }

    /// Whether nothing but a person can allow a tool use about which no rule has a word.
    fn is_undecided(&self, rules: &OracleRules, of_use: &JudgedUse, tool_use: &ToolUse) -> bool {
        let asks = match self.mode(rules) {
            Some(PermissionMode::Default) => true,
            Some(PermissionMode::AcceptEdits) => !rules.tools.edits(&tool_use.name),
            Some(PermissionMode::Plan | PermissionMode::Bypass) => of_use.path == Some(PermissionWord::Ask),
            None => false,
        };
        let may_print = || command::wants_sandbox(&tool_use.input.to_json()) && rules.tools.is_shell(&tool_use.name);
        asks && !self.is_a_change_open() && of_use.hooks.is_none() && of_use.check != Some(PermissionWord::Allow) && !may_print()
    }

    /// Whether a tool has ended that changes the context, and its result is not out.
    fn is_a_change_open(&self) -> bool {
        self.mode == ModeKnowledge::Unknown || self.uses.iter().any(|of_use| of_use.change.is_some())
    }

    /// The mode, where it is known and there is one.
    fn mode(&self, rules: &OracleRules) -> Option<PermissionMode> {
        match self.mode {
            ModeKnowledge::OfSettings => rules.settings.permissions.as_ref().map(|settings| settings.mode),
            ModeKnowledge::Changed(mode) => Some(mode),
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
            self.uses.push(JudgedUse { agent, run, hooks: None, check: None, path: None, question, change: None, may_change: false });
            self.uses.len() - 1
        });
        &mut self.uses[at]
    }
}

/// The word of the rule that counts: policy before all others, then the strictest word. A command of a shell is allowed if each of its parts is.
fn deciding(rules: &OracleRules, learnt: &[PermissionRule], tool_use: &ToolUse) -> Option<PermissionWord> {
    let target = target(rules, tool_use);
    let all = || rules.settings.permissions.iter().flat_map(|settings| &settings.rules).chain(learnt);
    let rank = |rule: &PermissionRule| (rule.source == RuleSource::Policy, rule.word);
    let whole = all().filter(|rule| target.fits(rule)).map(rank).max();
    let of_part = |command| all().filter(|rule| target.allows(rule, command)).map(rank).max();
    let parts: Option<Vec<_>> = target.commands().iter().map(of_part).collect();
    let doubts = all().filter(|rule| target.is_in_doubt(rule)).map(|rule| (rule.source == RuleSource::Policy, PermissionWord::Ask)).max();
    whole.max(parts.and_then(|parts| parts.into_iter().min())).max(doubts).map(|(_, word)| word)
}

fn target<'a>(rules: &OracleRules, tool_use: &'a ToolUse) -> RuleTarget<'a> {
    RuleTarget::new(&tool_use.name, rules.tools.is_shell(&tool_use.name), &tool_use.input.to_json())
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
