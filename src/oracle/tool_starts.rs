//! How a tool may start. O-4: around exclusive tools, in the order of the model. O-22: after the word of the person who was asked about this very tool use.
//! O-25: with the input of one whole block of one answer, read strictly. O-26: as the hooks decide together: no start after a denial, none without a question where
//! one asks for it, and of changed inputs the one of the hook that is defined last, whichever ended last.

mod structured_outputs;

use structured_outputs::StructuredOutputOracle;

use super::running_tools::ToolClass;
use super::speech::ModelSpeech;
use super::{OracleFindings, OracleRules};
use reenact_engine::contract::{Effect, HookEvent, HookOutcome, HookRun, HookSubject, Input, Micros, PermissionAnswer, ToolRun};
use reenact_engine::key::Deadline;
use reenact_engine::permission::PermissionWord;
use reenact_wire::block::{ToolInput, ToolUse};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

pub(super) const ORDER: &str = "O-4";
pub(super) const CONSENT: &str = "O-22";
pub(super) const INPUT: &str = "O-25";
pub(super) const HOOKS: &str = "O-26";

/// The tool uses of the prompts of one agent that are not over.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct ToolStartOracle {
    started: Vec<(ToolRun, ToolClass)>,
    questions: Vec<(ToolRun, PersonWord)>,
    /// The hooks that run before a tool: each with its outcome, once it has one.
    hooks: Vec<AskedHook>,
    structured_outputs: StructuredOutputOracle,
}

/// A hook that was asked before a tool starts.
#[derive(Clone, Debug, Hash)]
struct AskedHook {
    about: ToolRun,
    hook: u32,
    /// When its time is up.
    until: Deadline,
    answer: HookAnswer,
}

#[derive(Clone, Debug, Hash)]
enum HookAnswer {
    NotYet,
    Given(Arc<HookOutcome>),
    /// It was stopped before its time was up.
    GivenUp,
}

/// The word of the person about a tool use.
#[derive(Clone, Debug, Hash)]
enum PersonWord {
    NotYet,
    /// The question was withdrawn.
    Withdrawn,
    Allowed(Option<Json>),
    Refused,
}

impl ToolStartOracle {
    pub(super) fn on_input(&mut self, input: &Input) {
        match input {
            Input::PermissionAnswered { run, answer } => {
                let open = |(asked, word): &&mut (ToolRun, PersonWord)| asked == run && !matches!(word, PersonWord::Withdrawn);
                if let Some((_, word)) = self.questions.iter_mut().find(open) {
                    *word = match &**answer {
                        PermissionAnswer::Allow { updated_input, .. } => PersonWord::Allowed(updated_input.clone()),
                        PermissionAnswer::Refuse { .. } | PermissionAnswer::RefuseAndAbort { .. } => PersonWord::Refused,
                    };
                }
            }
            Input::HookEnded { hook: HookRun { hook, subject: HookSubject::Tool(run) }, outcome } => {
                let is_open =
                    |asked: &&mut AskedHook| asked.about == *run && asked.hook == *hook && matches!(asked.answer, HookAnswer::NotYet);
                if let Some(asked) = self.hooks.iter_mut().find(is_open) {
                    asked.answer = HookAnswer::Given(outcome.clone());
                }
            }
            _ => (),
        }
    }

    /// `class` is that of the tool use that starts, `speech` what the model has said to this agent.
    pub(super) fn on_effect(
        &mut self,
        rules: &OracleRules,
        (class, speech): (Option<ToolClass>, Option<&ModelSpeech>),
        effect: &Effect,
        found: &mut OracleFindings<'_>,
    ) {
        let session = &rules.settings.session;
        let wants_structured_output = session.json_schema.is_some() && rules.tools.knows(structured_outputs::TOOL);
        self.structured_outputs.on_effect(wants_structured_output, effect, speech, found);
        match effect {
            Effect::StartTool { run, tool_use } | Effect::StartAgent { run, tool_use } => {
                self.check_order(*run, class.unwrap_or(ToolClass::Exclusive), found);
                self.check_consent(*run, found);
                self.check_input(rules, (*run, tool_use), speech, found);
            }
            Effect::AskPermission { run, .. } => self.questions.push((*run, PersonWord::NotYet)),
            Effect::WithdrawPermission { run } => {
                let of_run = self.questions.iter_mut().filter(|(asked, _)| asked == run);
                of_run.for_each(|(_, word)| *word = PersonWord::Withdrawn);
            }
            Effect::RunHook { hook: HookRun { hook, subject: HookSubject::Tool(run) }, input } if input.event == HookEvent::PreToolUse => {
                let timeout = rules.hooks.get(*hook as usize).map_or(Micros::ZERO, |hook| hook.timeout);
                self.hooks.push(AskedHook { about: *run, hook: *hook, until: Deadline(found.at + timeout), answer: HookAnswer::NotYet });
            }
            // Its answer no longer counts.
            Effect::StopHook { hook: HookRun { hook, subject: HookSubject::Tool(run) } } => {
                let is_it =
                    |asked: &&mut AskedHook| asked.about == *run && asked.hook == *hook && matches!(asked.answer, HookAnswer::NotYet);
                self.hooks.iter_mut().filter(is_it).for_each(|asked| asked.answer = HookAnswer::GivenUp);
            }
            Effect::Finished { prompt, .. } => {
                let is_over = |run: &ToolRun| run.request.prompt == *prompt;
                self.started.retain(|(run, _)| !is_over(run));
                self.questions.retain(|(run, _)| !is_over(run));
                self.hooks.retain(|asked| !is_over(&asked.about));
            }
            _ => (),
        }
    }

    fn check_order(&mut self, run: ToolRun, class: ToolClass, found: &mut OracleFindings<'_>) {
        let overtaken = |(other, of_other): &&(ToolRun, ToolClass)| {
            other.request == run.request && other.index > run.index && (*of_other == ToolClass::Exclusive || class == ToolClass::Exclusive)
        };
        if self.started.iter().any(|(other, _)| other.request == run.request) {
            found.ask(ORDER);
        }
        if let Some((other, _)) = self.started.iter().find(overtaken) {
            found.add(ORDER, format!("tool {other} was started before tool {run}, which the model asked for earlier"));
        }
        self.started.push((run, class));
    }

    fn check_consent(&self, run: ToolRun, found: &mut OracleFindings<'_>) {
        let question = self.questions.iter().find(|(asked, _)| *asked == run);
        question.iter().for_each(|_| found.ask(CONSENT));
        match question {
            Some((_, PersonWord::NotYet)) => {
                found.add(CONSENT, format!("tool {run} was started before the person who was asked about it had answered"));
            }
            Some((_, PersonWord::Refused)) => found.add(CONSENT, format!("tool {run} was started after the person had refused it")),
            _ => (),
        }
        if self.outcomes(run).next().is_some() {
            found.ask(HOOKS);
        }
        // A person in an earlier session may have answered (S-3).
        let must_ask = question.is_none() && run.request.turn > 0;
        let mut asking = self.outcomes(run).filter(|(_, outcome)| outcome.decision == Some(PermissionWord::Ask));
        if let Some((hook, _)) = asking.next().filter(|_| must_ask) {
            found.add(HOOKS, format!("tool {run} was started without a question, and hook {hook} asked for one"));
        }
        let has_time = |asked: &&AskedHook| {
            asked.about == run && matches!(asked.answer, HookAnswer::NotYet | HookAnswer::GivenUp) && found.at < *asked.until
        };
        if let Some(asked) = self.hooks.iter().find(has_time) {
            let (hook, until) = (asked.hook, *asked.until);
            found.add(HOOKS, format!("tool {run} was started without the answer of hook {hook}, which had time until {until}"));
        }
        if let Some((hook, _)) = self.outcomes(run).find(|(_, outcome)| outcome.decision == Some(PermissionWord::Deny)) {
            found.add(HOOKS, format!("tool {run} was started after hook {hook} had denied it"));
        }
    }

    /// The hooks that were asked about a tool use and have answered.
    fn outcomes(&self, run: ToolRun) -> impl Iterator<Item = (u32, &HookOutcome)> {
        self.hooks.iter().filter(move |asked| asked.about == run).filter_map(|asked| match &asked.answer {
            HookAnswer::Given(outcome) => Some((asked.hook, &**outcome)),
            HookAnswer::NotYet | HookAnswer::GivenUp => None,
        })
    }

    fn check_input(
        &self,
        rules: &OracleRules,
        (run, tool_use): (ToolRun, &ToolUse),
        speech: Option<&ModelSpeech>,
        found: &mut OracleFindings<'_>,
    ) {
        let by_person = self.questions.iter().find_map(|(asked, word)| match word {
            PersonWord::Allowed(updated) if *asked == run => updated.as_ref(),
            _ => None,
        });
        // The question of an earlier session is answered by the settings (S-3).
        let orphan = rules.settings.session.orphaned_permission.as_ref().filter(|_| run.request.turn == 0);
        let by_person = by_person.or(match orphan.map(|orphan| &orphan.answer) {
            Some(PermissionAnswer::Allow { updated_input, .. }) => updated_input.as_ref(),
            _ => None,
        });
        let by_hook = self.outcomes(run).filter_map(|(hook, outcome)| Some((hook, outcome.updated_input.as_ref()?)));
        found.ask(INPUT);
        let input = tool_use.input.as_str();
        match (by_person, by_hook.max_by_key(|(hook, _)| *hook)) {
            (Some(json), _) if !is_input(tool_use, json) => {
                found.add(INPUT, format!("tool {run} was started with another input than the person gave: {input}"));
            }
            (None, Some((hook, json))) if !is_input(tool_use, json) => {
                let text =
                    format!("tool {run} was started with another input than hook {hook} gave, the last one that changed it: {input}");
                found.add(HOOKS, text);
            }
            (None, None) => {
                let Some(said) = speech.and_then(|speech| speech.tool_use(run.request, run.index, &tool_use.id)) else { return };
                let is_allowed = |said: &ToolInput| *said == tool_use.input && (!is_unread(said) || !rules.settings.pipeline.check_inputs);
                if !said.is_whole {
                    found.add(INPUT, format!("tool {run} was started before its block was whole"));
                } else if !said.input().as_ref().is_some_and(is_allowed) {
                    found.add(INPUT, format!("tool {run} was started with another input than the model wrote: {input}"));
                }
            }
            _ => (),
        }
    }
}

fn is_unread(input: &ToolInput) -> bool {
    matches!(input, ToolInput::Invalid { .. })
}

fn is_input(tool_use: &ToolUse, json: &Json) -> bool {
    matches!(&tool_use.input, ToolInput::Valid(input) if input.to_value() == json.to_value())
}
