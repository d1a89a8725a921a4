//! Evidence beside a statement that did not come to pass: the related events that did happen.

use alloc::collections::BTreeSet;

use super::PlayedRun;
use reenact_engine::contract::{Catalogue, Effect, Input};
use reenact_engine::permission::rule;
use reenact_engine::settings::{HostMessage, MessagePlace};
use reenact_engine::time::Micros;
use reenact_engine::time::Time;
use reenact_scenario::fault::{FaultKind, FaultPlace, FaultRule};
use reenact_scenario::interrupt::{InterruptKind, InterruptMoment, InterruptTrigger, ScriptedInterrupt};
use reenact_scenario::parse::nearest::nearest;
use reenact_scenario::script::AnswerOrigin;
use reenact_scenario::statement::{ElicitationSource, Statement};
use reenact_transcript::event::EventKind;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// The events of all runs of a file together.
#[derive(Debug, Default)]
pub(super) struct RunsEvidence {
    requests: BTreeSet<String>,
    models: BTreeSet<Arc<str>>,
    agents: BTreeSet<Arc<str>>,
    /// The tools that were asked for.
    tools: BTreeSet<Arc<str>>,
    /// The questions to people, as rules are written.
    questions: BTreeSet<String>,
    /// The effects of faults.
    faults: BTreeSet<Arc<str>>,
    /// When the first prompt came, if one did.
    first_prompt: Option<Time>,
    /// When the last prompt ended.
    last_end: Time,
}

/// How many things a list shows.
const LISTED_MAX: usize = 8;

impl RunsEvidence {
    pub(super) fn from_runs(runs: &[PlayedRun<'_>]) -> Self {
        let mut evidence = Self::default();
        for event in runs.iter().flat_map(|run| run.transcript.events.iter()) {
            evidence.agents.insert(event.agent.tool_use_id().unwrap_or("main").into());
            match &event.what {
                EventKind::Request { id, request } => {
                    evidence.requests.insert(event.agent.key(*id));
                    evidence.models.insert(request.model.clone());
                }
                EventKind::Input(Input::Prompt { .. }) => _ = evidence.first_prompt.get_or_insert(event.at),
                EventKind::Fault { text, .. } => _ = evidence.faults.insert(text.clone()),
                EventKind::Effect(effect) => evidence.see(event.at, effect),
                _ => (),
            }
        }
        evidence
    }

    fn see(&mut self, at: Time, effect: &Effect) {
        match effect {
            Effect::Emit(reenact_engine::emission::Emission::Assistant(message)) => {
                self.tools.extend(message.block.as_tool_use().map(|tool_use| tool_use.name.clone()));
            }
            Effect::AskPermission { tool_use, .. } => {
                let input = Json::trusted(tool_use.input.as_str());
                let argument = rule::argument(&input).map(|argument| format!("({argument})"));
                self.questions.insert(format!("{}{}", tool_use.name, argument.unwrap_or_default()));
            }
            Effect::Finished { .. } => self.last_end = self.last_end.max(at),
            _ => (),
        }
    }

    fn file_change(&self, run: &PlayedRun<'_>, index: usize) -> (String, String) {
        let changes = run.setup.scenario.workspace.iter().flat_map(|workspace| &workspace.change);
        let section = "workspace.change";
        match changes.skip(index).map(|change| &change.moment).next() {
            Some(InterruptMoment::At(at)) => {
                (format!("this [[{section}]] at {at} never came"), format!("the last prompt ended at {}", Micros(self.last_end.0)))
            }
            Some(InterruptMoment::When { anchor, .. }) => (format!("the moment of this [[{section}]] never came"), self.instead_of(anchor)),
            None => (format!("this [[{section}]] never came"), String::new()),
        }
    }

    /// The statement that did not come to pass, and the event in its place.
    pub(super) fn about(&self, run: &PlayedRun<'_>, statement: &Statement) -> (String, String) {
        let scenario = &run.setup.scenario;
        match statement {
            Statement::Fault(index) => {
                (format!("this [[fault]] ({}) hit nothing", scenario.faults[*index].kind), self.fault(&scenario.faults[*index]))
            }
            Statement::FaultChance(index) => self.chance(&scenario.faults[*index]),
            Statement::Interrupt(index) => self.interrupt(&scenario.interrupts[*index]),
            Statement::Hook(index) => {
                let definition = &scenario.hooks[*index].definition;
                let near = definition.matcher.iter().flat_map(|matcher| matcher.split('|')).find_map(|name| self.near_tool(name.trim()));
                let what = format!("hook `{}` never ran", definition.name);
                let point = definition.event.as_str();
                let instead = if definition.event.is_about_a_tool() {
                    format!("tools that were used: {}{}", list(&self.tools), did_you_mean(near))
                } else {
                    format!("no run came to the point `{point}`")
                };
                (what, instead)
            }
            Statement::HookAnswer(hook, nth) => {
                let ran = self.answers_given(run, *nth, |nth| Statement::HookAnswer(*hook, nth));
                let name = &scenario.hooks[*hook].definition.name;
                (format!("answer {} of hook `{name}` was never given", nth + 1), format!("the hook ran {}", times(ran)))
            }
            Statement::Permission(index) => {
                let about = scenario.permissions[*index].about.as_deref().map_or_else(String::new, |about| format!(" for `{about}`"));
                (format!("this [[permission]]{about} was never asked"), self.permission(run, *index))
            }
            Statement::PermissionAnswer(index, nth) => {
                let asked = self.answers_given(run, *nth, |nth| Statement::PermissionAnswer(*index, nth));
                (format!("answer {} of this [[permission]] was never given", nth + 1), format!("it was asked {}", times(asked)))
            }
            Statement::Auth => (
                String::from("no new credentials were requested"),
                String::from("an engine does so after a 401, and after a 403 that calls for it"),
            ),
            Statement::Elicitation(asker) => elicitation(run, asker),
            Statement::Check(asker) => (
                format!("the check of {} was never used", asker_name(run, asker)),
                String::from("a tool with `checks = true` checks each input first, and no tool use came that far"),
            ),
            Statement::LookUp(what) => lookup(*what),
            Statement::Store => (
                String::from("no result was stored, so [files] was not used"),
                String::from("a result is stored when it is longer than `result_limit` of [engine.pipeline] or of its tool"),
            ),
            Statement::Result(id) => (
                format!("tool use `{id}` was never carried out, so its [[result]] is not used"),
                String::from("the model asked for it, and it did not start"),
            ),
            Statement::Turn(place) => (turn(place.origin, place.turn), format!("requests: {}", list(&self.requests))),
            Statement::Exchange(_) => (String::from("a recorded answer was never asked for"), String::new()),
            Statement::FileChange(index) => self.file_change(run, *index),
            Statement::Change(_) => {
                (String::from("the request of this [[change]] was never made"), format!("requests: {}", list(&self.requests)))
            }
            Statement::HostMessage(index) => self.host_message(&scenario.settings.session.host_messages[*index]),
            Statement::NetworkEvent(_) => {
                (String::from("this [[network.event]] never began"), format!("the last prompt ended at {}", self.last_end))
            }
            Statement::NetworkEventChance(_) => {
                let what = String::from("this [[network.event]] could not begin: the earliest of its times came after the end");
                (what, format!("the last prompt ended at {}", self.last_end))
            }
        }
    }

    fn chance(&self, FaultRule { at, kind, .. }: &FaultRule) -> (String, String) {
        let what = match at.probability {
            Some(probability) if probability <= 0.0 => format!("this [[fault]] ({kind}) has a probability of 0, so it hits nothing"),
            _ => format!("this [[fault]] ({kind}) could not hit with any probability: no request came to its place"),
        };
        (what, self.place(at))
    }

    fn host_message(&self, message: &HostMessage) -> (String, String) {
        let what = match message.place {
            MessagePlace::Instead => "this [[message]] replaced no message of a request",
            _ => "the request of this [[message]] was never made",
        };
        (String::from(what), format!("requests: {}", list(&self.requests)))
    }

    fn fault(&self, rule: &FaultRule) -> String {
        if let FaultKind::Change(change) = &rule.kind {
            let word = change.to_string();
            if self.faults.iter().any(|text| text.starts_with(&*word)) {
                return String::from("its answer is shorter, or has no part that this fault changes");
            }
        }
        self.place(&rule.at)
    }

    fn place(&self, at: &FaultPlace) -> String {
        let model = at.model.as_deref().filter(|model| !self.models.contains(*model));
        let thread = at.thread.as_deref().filter(|thread| !self.agents.contains(*thread));
        match (model, thread) {
            (Some(model), _) => format!("models that got requests: {}{}", list(&self.models), did_you_mean(near(model, &self.models))),
            (None, Some(thread)) => format!("threads of the run: {}{}", list(&self.agents), did_you_mean(near(thread, &self.agents))),
            (None, None) => format!("requests: {}; the last prompt ended at {}", list(&self.requests), self.last_end),
        }
    }

    fn interrupt(&self, interrupt: &ScriptedInterrupt) -> (String, String) {
        let section = interrupt.kind.section();
        let word = match interrupt.kind {
            InterruptKind::Cancel => "cancel",
            InterruptKind::Interrupt(_) => "interrupt",
            InterruptKind::Dead(_) => "mark as dead",
            InterruptKind::Collapse(_) => "summarise",
        };
        match &interrupt.moment {
            InterruptMoment::At(at) if self.first_prompt.is_some_and(|first| Time::ZERO + *at <= first) => (
                format!("at {at} nothing was there to {word}"),
                String::from("the first prompt had not come: choose a later time, or `when`"),
            ),
            InterruptMoment::At(at) => (
                format!("at {at} nothing was left to {word}"),
                format!("the last prompt ended at {}: choose an earlier time, or `when`", self.last_end),
            ),
            InterruptMoment::When { anchor, .. } => {
                let instead = self.instead_of(anchor);
                let what = match interrupt.kind {
                    InterruptKind::Cancel => format!("the moment of this [[{section}]] never came, or all was cancelled before it"),
                    _ => format!("the moment of this [[{section}]] never came"),
                };
                (what, instead)
            }
        }
    }

    /// The sights in place of an event that was waited for.
    fn instead_of(&self, anchor: &InterruptTrigger) -> String {
        match anchor {
            InterruptTrigger::Tool { name, .. } => {
                format!("tools that were used: {}{}", list(&self.tools), did_you_mean(self.near_tool(name)))
            }
            InterruptTrigger::Request { .. } => format!("requests: {}", list(&self.requests)),
            _ => format!("it was not seen so often; the last prompt ended at {}", self.last_end),
        }
    }

    fn permission(&self, run: &PlayedRun<'_>, index: usize) -> String {
        if run.setup.scenario.settings.permissions.is_none() {
            return String::from("without [permissions] no permission is asked for");
        }
        let name = run.setup.scenario.permissions[index].about.as_deref().and_then(|about| about.split('(').next());
        let near = name.and_then(|name| self.near_tool(name));
        format!("permission was asked for: {}{}", list(&self.questions), did_you_mean(near))
    }

    /// The answer before this one is the last that was given.
    fn answers_given(&self, run: &PlayedRun<'_>, nth: usize, of: impl Fn(usize) -> Statement) -> usize {
        (1..=nth).rev().find(|nth| run.passed.holds(&of(*nth))).map_or(1, |last| last + 1)
    }

    fn near_tool(&self, name: &str) -> Option<&str> {
        near(name, &self.tools)
    }
}

fn elicitation(run: &PlayedRun<'_>, asker: &ElicitationSource) -> (String, String) {
    let whose = asker_name(run, asker);
    let handled = run.setup.scenario.settings.session.elicitation_handler;
    let instead =
        if handled { "its tool did not get that far" } else { "without `elicitation_handler = true` in [engine] the user is not asked" };
    (format!("the user was never asked the question of {whose}"), instead.into())
}

fn asker_name(run: &PlayedRun<'_>, asker: &ElicitationSource) -> String {
    match asker {
        ElicitationSource::Tool(index) => format!("tool `{}`", run.setup.scenario.tools[*index].definition.name),
        ElicitationSource::ToolUse(id) => format!("tool use `{id}`"),
    }
}

fn lookup(what: Option<Catalogue>) -> (String, String) {
    let (names, key) = match what {
        None => ("skills and plugins", "`look_up_skills = true` or `look_up_plugins = true`"),
        Some(Catalogue::Skills) => ("skills", "`look_up_skills = true`"),
        Some(Catalogue::Plugins) => ("plugins", "`look_up_plugins = true`"),
    };
    (format!("{names} were never looked up"), format!("an engine looks them up with {key} in [engine]"))
}

fn turn(origin: AnswerOrigin, turn: u32) -> String {
    let of = match origin {
        AnswerOrigin::Prompt(number) => format!("prompt {number}"),
        AnswerOrigin::Interrupt(number) => format!("[[interrupt]] {number}"),
        AnswerOrigin::Agent(_) => format!("agent {origin}"),
        AnswerOrigin::Nothing(_) | AnswerOrigin::Thread(_) => String::from("the session"),
    };
    format!("turn {turn} of {of} was never asked for")
}

fn near<'a>(word: &str, known: &'a BTreeSet<Arc<str>>) -> Option<&'a str> {
    nearest(word, known.iter().map(|known| &**known)).filter(|near| *near != word)
}

pub(super) fn did_you_mean(near: Option<&str>) -> String {
    near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

fn times(count: usize) -> String {
    plural(count as u64, "time")
}

fn list<T: AsRef<str>>(names: &BTreeSet<T>) -> String {
    if names.is_empty() {
        return String::from("none");
    }
    let mut shown: Vec<&str> = names.iter().take(LISTED_MAX).map(AsRef::as_ref).collect();
    if names.len() > LISTED_MAX {
        shown.push("…");
    }
    shown.join(", ")
}
