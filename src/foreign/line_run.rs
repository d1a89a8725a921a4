//! One run of a client in virtual time: its lines in, what the world says out (G-1, G-2).

use alloc::collections::BTreeMap;

use serde_json::{Value, json};

use super::client_deeds::ClientDeeds;
use super::client_rules::ClientRules;
use super::line_answer::LineAnswer;
use super::lines::{AskedLine, ClientDeed, DeedEnd, LineMoment, ToolLine};
use super::run_trace::RunTraceRecorder;
use super::scripted_acts::{ScriptedActs, text_of};
use super::session::{ArrivedRequest, ClientSession, SessionAnswer};
use super::verdict::SessionVerdict;
use super::verdict_json;
use super::world_events::{EventSource, WorldEvent, WorldEvents};
use super::{SessionTerms, answer_terms};
use reenact_engine::contract::{Input, ToolInput, ToolUse};
use reenact_engine::time::Time;
use reenact_explore::fingerprint::Fingerprint;
use reenact_oracle::{ORACLES, OracleNeeds, Violation, needs};
use reenact_scenario::interrupt::ReachedState;
use reenact_scenario::language::scenario_text;
use reenact_scenario::parse::TablePlaces;
use reenact_scenario::plan::Plan;
use reenact_scenario::types::Scenario;
use reenact_sim::{rules, statements};
use reenact_transcript::event::{EventKind, Transcript};
use reenact_transcript::json::digest;
use reenact_transcript::text::{DetailLevel, render};
use reenact_wire::block::Block;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::validate::endpoint::RequestHead;
use reenact_world::delivery::AnswerPart;
use reenact_world::endpoint::IncomingRequest;
use reenact_world::setup::RunSetup;

/// The rules that requests and answers alone can break.
const BY_WIRE: [&str; 3] = ["O-1", "O-6", "O-10"];

/// The same where nobody interfered: a client may take back what was cancelled or has failed, so that its next request does not begin with the one
/// before.
const BY_WIRE_UNDISTURBED: [&str; 4] = ["O-1", "O-6", "O-10", "O-21"];

/// Something is done to the client there.
const AT_BOUNDARY: &str = "at boundary";

/// The base URL of clients in virtual time, for advice about paths.
const BASE_URL: &str = "http://reenact";

/// A scenario that was opened.
#[derive(Clone, Debug)]
pub struct OpenedScenario {
    /// The scenario.
    pub setup: Arc<RunSetup>,
    /// The places of its statements; empty where nobody asks whether they come to pass (F-10).
    pub places: TablePlaces,
    /// The warnings for its user.
    pub warnings: Vec<String>,
}

/// A run.
#[derive(Clone, Debug)]
pub(super) struct LineRun {
    setup: Arc<RunSetup>,
    places: TablePlaces,
    session: ClientSession,
    events: WorldEvents,
    acts: ScriptedActs,
    deeds: ClientDeeds,
    rules: ClientRules,
    /// The rules that are not asked.
    without: Vec<&'static str>,
    /// How many answers there were.
    answers: u32,
    /// The number of each answer in the session, where it has one.
    numbers: BTreeMap<u32, u32>,
    /// How often each tool ran.
    tools: BTreeMap<Arc<str>, usize>,
    /// The next number of a prompt or of a message.
    said: u32,
    /// The trace, where an exploration wants it.
    trace: Option<RunTraceRecorder>,
}

impl LineRun {
    /// A run that begins, and the reply to its first line.
    pub(super) fn new(opened: OpenedScenario, without: Vec<&'static str>, has_trace: bool) -> (Self, Value) {
        let OpenedScenario { setup, places, warnings } = opened;
        let answers = answer_terms(&setup);
        let terms = SessionTerms { answers, is_driven: true, notes_choices: true, ..SessionTerms::default() };
        let mut acts = ScriptedActs::default();
        let interrupts = acts.at_the_beginning(&setup);
        let Scenario { settings, prompts, title, .. } = &setup.scenario;
        let prompts = prompts.iter().map(|prompt| json!({ "at": prompt.at.map_or(0, |at| at.0), "text": text_of(&prompt.content) }));
        let follow_up = setup.scenario.plan.client_follow_up.iter().map(|text| json!({ "at": 0, "text": &**text }));
        let opened = json!({
            "protocol": super::lines::PROTOCOL,
            "title": title,
            "seed": setup.scenario.seed.0,
            "model": &*settings.model,
            "max_tokens": settings.max_tokens,
            "prompts": prompts.chain(follow_up).collect::<Vec<_>>(),
            "tools": setup.environment.tools.iter().map(|tool| tool.json.to_value()).collect::<Vec<_>>(),
            "interrupts": interrupts,
            "watches": ScriptedActs::watched_notes(&setup),
            "warnings": warnings,
        });
        let trace = has_trace.then(|| RunTraceRecorder::new(setup.scenario.explore.jitter));
        let run = Self {
            session: ClientSession::new(&setup, terms),
            setup,
            places,
            events: WorldEvents::default(),
            acts,
            deeds: ClientDeeds::default(),
            rules: ClientRules::default(),
            without,
            answers: 0,
            numbers: BTreeMap::new(),
            tools: BTreeMap::new(),
            said: 0,
            trace,
        };
        (run, opened)
    }

    /// The client has come so far.
    pub(super) fn advance(&mut self, moment: LineMoment) -> Result<(), String> {
        let delivered = self.events.deliver(moment.at, moment.seen)?;
        self.acts.on_delivered(&self.setup, &delivered);
        self.rules.on_delivered(&delivered);
        if let Some(trace) = &mut self.trace {
            trace.on_delivered(&delivered);
        }
        for WorldEvent { at, source, .. } in delivered {
            match source {
                EventSource::Answer { part: Some((number, part)), .. } => self.session.on_reached(number, part, at),
                EventSource::Answer { part: None, .. } => (),
                EventSource::Tool { id, is_error, content } => {
                    self.deeds.on_tool_end(&id);
                    self.rules.on_tool_end(&id, content);
                    let how = if is_error { DeedEnd::Error } else { DeedEnd::Ok };
                    self.say(at, how.of_tool(), &id);
                }
            }
        }
        Ok(())
    }

    /// The answer to a request.
    pub(super) fn request(&mut self, line: AskedLine) -> Value {
        let AskedLine { moment, method, path, headers, body, connection } = line;
        let header = |name: &str| headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value);
        let incoming = IncomingRequest {
            method,
            base: BASE_URL.into(),
            head: RequestHead::read(&path, |name| header(name).cloned()),
            path,
            named: None,
            body: body.into_bytes(),
        };
        let retry_count = header("x-stainless-retry-count");
        let arrived = ArrivedRequest { incoming: &incoming, connection, after_action: None, retry_count };
        let mut is_faulted = false;
        let answer = self.session.answer(moment.at, arrived, &mut |_, what| is_faulted |= is_fault(what));
        if is_faulted {
            self.deeds.on_fault();
        }
        self.answers += 1;
        let (answer, asked) = match answer {
            SessionAnswer::Planned(planned) => {
                self.rules.on_request(moment.at, &self.deeds, &planned.agent.key(planned.id), &planned.request);
                self.numbers.insert(self.answers, planned.number);
                let asked = (planned.agent.clone(), planned.id);
                let chunking = self.setup.scenario.chunking.clone();
                let number = self.answers;
                let answer = self.session.with_choices(|choices| LineAnswer::planned(number, &planned, moment.at, &chunking, choices));
                (answer, Some(asked))
            }
            SessionAnswer::Whole { head, body, request } => {
                if let Some(request) = request {
                    self.rules.on_request(moment.at, &self.deeds, "without an answer", &request);
                }
                (LineAnswer::whole(self.answers, head, body, moment.at), None)
            }
        };
        if let Some(trace) = &mut self.trace {
            trace.on_answer(moment.at, &answer, is_faulted);
        }
        self.events.add(answer.events());
        let asked = asked.as_ref().map(|(agent, id)| (agent, *id));
        let acts = self.acts.on_request(&self.setup, moment.at, asked, &self.events);
        let mut reply = answer.to_json();
        reply["acts"] = acts.into();
        reply
    }

    /// The client closes the connection of an answer.
    pub(super) fn close(&mut self, at: Time, answer: u32) -> Result<(), String> {
        if answer == 0 || answer > self.answers {
            return Err(format!("there is no answer {answer}: this run has {}", plural(self.answers.into(), "answer")));
        }
        self.events.remove(|source| matches!(source, EventSource::Answer { answer: of, .. } if *of == answer));
        if let Some(number) = self.numbers.get(&answer) {
            self.session.on_reached(*number, AnswerPart::Left, at);
        }
        if let Some(trace) = &mut self.trace {
            trace.on_closed(at, answer);
        }
        Ok(())
    }

    /// The run of a scripted tool.
    pub(super) fn tool(&mut self, line: ToolLine) -> Value {
        let ToolLine { moment: LineMoment { at, .. }, id, name, input } = line;
        let nth = self.tools.entry(name.clone()).or_default();
        *nth += 1;
        let tool_use = ToolUse { id: id.clone(), name: name.clone(), input: ToolInput::Valid(Json::from_value(&input)) };
        let run = self.session.tool_run(&tool_use, *nth - 1);
        self.deeds.on_tool_start(at, &id, &name);
        self.say(at, "tool starts", &format!("{id} {name}"));
        let ends_at = run.takes.map(|takes| at + takes);
        let event_name = format!("tool {id} end");
        let is_error = run.outcome.is_error;
        if let Some(trace) = &mut self.trace {
            trace.on_tool(at, &id, ends_at.map(|ends_at| (event_name.clone().into(), ends_at)), run.slack);
        }
        if let Some(ends_at) = ends_at {
            let source = EventSource::Tool { id, is_error, content: run.outcome.content.to_value() };
            self.events.add([WorldEvent { at: ends_at, source, name: event_name.clone().into(), stream_events: Vec::new() }]);
        }
        let mut acts = self.acts.on_tool(&self.setup, at, &name, ReachedState::Executing, None);
        if let Some(ends_at) = ends_at {
            acts.extend(self.acts.on_tool(&self.setup, at, &name, ReachedState::Completed, Some((&event_name, ends_at))));
        }
        json!({
            "is_scripted": run.is_scripted,
            "ends_at": ends_at.map(|at| at.0),
            "content": run.outcome.content.to_value(),
            "is_error": is_error,
            "progress": run.progress.iter().map(|(after, text)| json!([(at + *after).0, &**text])).collect::<Vec<_>>(),
            "acts": acts,
        })
    }

    /// The client notes a deed: the acts that follow from it.
    pub(super) fn note(&mut self, at: Time, deed: &ClientDeed) -> Vec<Value> {
        let running = if let ClientDeed::ToolEnd { id, .. } = deed { self.deeds.running_name(id).cloned() } else { None };
        self.deeds.on_deed(at, deed);
        self.rules.on_deed(at, deed, &self.deeds, &self.events);
        match deed {
            ClientDeed::Prompt { text, .. } => {
                self.said += 1;
                // The scenario has no answers for further prompts.
                if self.deeds.prompts.len() > self.setup.scenario.prompts.len() {
                    self.session.on_disturbed();
                }
                self.session.on_input(at, &Input::Prompt { prompt: self.said, content: vec![Block::text(text)].into() });
            }
            ClientDeed::Cancel => {
                self.acts.on_done(&self.setup, true);
                self.session.on_disturbed();
                self.session.on_input(at, &Input::Cancel);
            }
            ClientDeed::Message { text } => {
                self.said += 1;
                self.acts.on_done(&self.setup, false);
                self.session.on_disturbed();
                self.session.on_input(at, &Input::Interrupt { prompt: self.said, content: vec![Block::text(text)].into() });
            }
            ClientDeed::ToolStart { id, name } => {
                self.say(at, "tool starts", &format!("{id} {name}"));
                return self.acts.on_tool(&self.setup, at, name, ReachedState::Executing, None);
            }
            ClientDeed::ToolEnd { id, how } => {
                self.events.remove(|source| matches!(source, EventSource::Tool { id: of, .. } if of == id));
                self.say(at, how.of_tool(), id);
                if let Some(trace) = &mut self.trace {
                    trace.on_tool_stopped(at, id);
                }
                if let Some(name) = running {
                    return self.acts.on_tool(&self.setup, at, &name, ReachedState::Completed, None);
                }
            }
            ClientDeed::Terminal { prompt, how, text } => {
                self.say(at, how.of_prompt(), &if text.is_empty() { prompt.to_string() } else { format!("{prompt}: {text}") });
                return self.acts.on_terminal(&self.setup, at);
            }
            ClientDeed::Boundary { boundary } => self.say(at, AT_BOUNDARY, boundary),
            ClientDeed::Deadlock { text } => self.say(at, "deadlock", text),
            ClientDeed::Livelock { text } => self.say(at, "livelock", text),
            ClientDeed::LeftTask { text } => self.say(at, "left task", text),
            ClientDeed::OpenConnection { answer } => self.say(at, "left open", &format!("the connection of answer {answer}")),
        }
        Vec::new()
    }

    /// The verdict on the run.
    pub(super) fn end(self, at: Time, has_transcript: bool) -> Value {
        let Self { setup, places, session, acts, deeds, rules, without, trace, .. } = self;
        let choices = session.choices().cloned().unwrap_or_default();
        let missed_faults = session.missed_faults();
        let is_wanted = |rule: &&str| !without.contains(rule);
        let by_wire: Vec<&str> = wire_rules(&deeds).iter().copied().filter(is_wanted).collect();
        let is_asked = |rule: &&str| by_wire.contains(rule) || deeds.is_asked(rule) || rules.is_asked(rule, &deeds);
        let asked: Vec<&str> = ORACLES.iter().map(|(rule, _)| *rule).filter(is_asked).filter(is_wanted).collect();
        let mut verdict = session.into_verdict_by(at, &by_wire);
        verdict.passed.extend(acts.passed());
        let missed: Vec<String> = deeds.missed(&setup.scenario.plan).into_iter().chain(missed_faults).collect();
        // With a fault of the plan, or an act that is none of the scenario's, the moments of its interrupts need not come.
        let is_other_run = setup.scenario.plan.has_injections() || deeds.acts_count > acts.done_count();
        let missed_acts = if is_other_run { Vec::new() } else { acts.missed(&setup) };
        verdict.failures.extend(missed_acts.into_iter().chain(missed.iter().cloned()));
        if !deeds.is_disturbed {
            let unpassed = verdict.unpassed(&setup, &places);
            verdict.failures.extend(unpassed);
        }
        // After a fault or an act of the user other choices are made than in the run that the plan is from.
        if !deeds.is_disturbed && setup.scenario.plan.single_faults.is_empty() {
            verdict.failures.extend(setup.scenario.plan.not_chosen_in(&choices).iter().map(|name| statements::plan_failure(name)));
        }
        // What the API refuses is a broken rule already.
        let SessionVerdict { violations, failures, .. } = &mut verdict;
        failures.retain(|failure| !violations.iter().any(|violation| violation.text == *failure));
        let unexpected = unexpected_errors(&setup, &deeds);
        let faulted_prompts = deeds.faulted_prompts();
        let by_notes = deeds.into_violations(at).into_iter().chain(rules.into_violations(at));
        let is_found = |found: &Violation| is_wanted(&found.oracle) && !rules::shows(&setup.scenario.expect, found.oracle);
        let by_notes: Vec<Violation> = by_notes.filter(is_found).collect();
        verdict.failures.extend(by_notes.iter().map(super::judge::words).chain(unexpected));
        verdict.violations.extend(by_notes);
        let mut reply = reply(&setup, &verdict, (&asked, &without), choices, has_transcript);
        reply["faulted_prompts"] = faulted_prompts.into();
        if let Some(trace) = trace {
            let digest = digest(&without_boundaries(&verdict.transcript));
            reply["trace"] = serde_json::to_value(trace.into_trace(missed, digest)).unwrap_or_default();
        }
        reply
    }

    fn say(&mut self, at: Time, did: &str, text: &str) {
        self.session.on_note(at, &EventKind::Client { did: did.into(), text: text.into() });
    }
}

/// The rules that the requests of a run are asked.
fn wire_rules(deeds: &ClientDeeds) -> &'static [&'static str] {
    if deeds.is_disturbed || deeds.has_failed_by_fault() { &BY_WIRE } else { &BY_WIRE_UNDISTURBED }
}

/// Prompts that fail although nothing of the world failed them.
fn unexpected_errors(setup: &RunSetup, deeds: &ClientDeeds) -> Vec<String> {
    if deeds.is_disturbed || setup.scenario.expect.terminal.is_some() {
        return Vec::new();
    }
    let failed = deeds.prompts.iter().filter(|(prompt, _)| !deeds.is_faulted(**prompt)).filter_map(|(prompt, ended)| match ended {
        Some((DeedEnd::Error, text)) => Some(format!("prompt {prompt} fails: {text}")),
        _ => None,
    });
    failed.collect()
}

fn is_fault(what: &EventKind) -> bool {
    matches!(what, EventKind::Fault { .. })
}

/// The transcript without the names of the places at which something was done: at places next to each other it may be the same.
fn without_boundaries(transcript: &Transcript) -> Transcript {
    let is_boundary = |what: &EventKind| matches!(what, EventKind::Client { did, .. } if **did == *AT_BOUNDARY);
    let events = transcript.events.iter().filter(|event| !is_boundary(&event.what)).cloned().collect();
    Transcript { header: transcript.header.clone(), events }
}

fn reply(setup: &RunSetup, verdict: &SessionVerdict, (asked, without): (&[&str], &[&str]), choices: Plan, has_transcript: bool) -> Value {
    let plan = setup.scenario.plan.with_choices_of(choices, setup.scenario.shown_seed());
    let violation = |found: &Violation| {
        let group = Fingerprint::from(found);
        json!({ "rule": found.oracle, "text": found.text, "at": found.at.0, "group": group.to_string() })
    };
    let mut not_asked: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (rule, _) in ORACLES.iter().filter(|(rule, _)| !asked.contains(rule)) {
        let needs = match needs(rule) {
            _ if without.contains(rule) => String::from("the client's word: `without` leaves it out"),
            OracleNeeds::Notes(notes) => format!("notes of {notes}"),
            OracleNeeds::Wire => String::from("a run without interrupts and failed prompts"),
            OracleNeeds::Engine => String::from("the inputs and effects of an engine"),
        };
        not_asked.entry(needs).or_default().push(rule);
    }
    let mut reply = verdict_json::verdict(setup.scenario.title.as_deref().unwrap_or_default(), verdict);
    // Here nobody asks before the end.
    (reply["is_fine"], reply["failures"]) = (verdict.is_fine().into(), verdict.failures.as_slice().into());
    reply["violations"] = verdict.violations.iter().map(violation).collect();
    reply["rules"] = json!({ "asked": asked, "not_asked": not_asked });
    reply["digest"] = digest(&verdict.transcript).into();
    reply["plan"] = scenario_text(&Scenario { plan, ..Scenario::default() }, &[]).into();
    if has_transcript {
        reply["transcript"] = render(&verdict.transcript, DetailLevel::Normal).into();
    }
    reply
}
