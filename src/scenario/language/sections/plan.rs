//! `[plan]`: choices that are made already (F-11).

use core::marker::PhantomData;

use crate::boundary::{BoundarySide, InjectionKind, RunBoundary};
use crate::fault::FaultRule;
use crate::language::description::ValueShape;
use crate::language::forms::word_forms;
use crate::language::forms::{ChunkSize, SeedNumber};
use crate::language::keys::{ConvertedTable, KeyForm, KeyPosition, keys};
use crate::language::sections::interrupt::refuse_content;
use crate::language::sections::prompt::{Content, ContentKeys};
use crate::language::tables::{Flat, Section, Sections};
use crate::language::toml::{TomlTable, TomlValue};
use crate::parse::reader::TableReader;
use crate::parse::report::DiagnosticReport;
use crate::parse::tree::{TreeValue, TreeValueKind};
use crate::plan::{
    AnswerTimes, ClientInterrupt, LateCompletion, NamedChoices, Plan, PlannedDeviation, PlannedInterrupt, PlannedInterruptKind,
    StreamShape, WaitKind,
};
use crate::single_fault::{FaultReach, SingleFault, SingleFaultKind};
use reenact_engine::random::Seed;
use reenact_engine::time::Micros;
use reenact_wire::block::{Block, BlockKind};
use reenact_wire::prelude::*;

word_forms!(FaultReach, SingleFaultKind);

keys! {
    /// A file with a plan and nothing else.
    pub(crate) struct PlanFileKeys {
        /// The plan.
        plan: Plan as Section<Plan> = Plan::EMPTY, required;
    }
}

keys! {
    /// `[plan]`: the choices of one run, each by its name (F-11). All other choices are drawn from the seed.
    pub(crate) struct PlanKeys {
        /// The seed that the choices were drawn from. Transcripts name it; nothing is drawn from it.
        drawn_from: Option<Seed> as Option<SeedNumber> = None;
        /// Interrupts at boundaries of the run.
        interrupt: Vec<InterruptOfPlan> as Sections<InterruptOfPlan> = Vec::new(), example("[{ event = 12, kind = \"cancel\" }]");
        /// The prompt that a client in virtual time gets after all others.
        follow_up: Option<Arc<str>> = None, example("\"Go on.\"");
        /// Arrivals that come out of the order of the usual times.
        deviation: Vec<PlannedDeviation> as Sections<PlannedDeviation> = Vec::new(), example("[{ event = 12, arrival = \"tool 1A ends\", at = \"1.2s\" }]");
        /// Tool runs that come to their own ends although they were told to stop.
        late: Vec<LateCompletion> as Sections<LateCompletion> = Vec::new(), example("[{ event = 12, tool = \"1A\" }]");
        /// Faults of single requests.
        fault: Vec<SingleFault> as Sections<SingleFault> = Vec::new(), example("[{ request = \"2\", kind = \"overloaded\" }]");
        /// Whether a `[[fault]]` with a probability hits, by request and fault: `1.2 529 overloaded_error`.
        faults: NamedChoices<bool> as Choices<bool, FaultNames> = NamedChoices::new(), example("{ \"1.2 529 overloaded_error\" = true }");
        /// When answers arrive, by request.
        answers: NamedChoices<AnswerTimes> as Choices<Section<AnswerTimes>, RequestNames> = NamedChoices::new(), example("{ \"2.3\" = { head = \"1s\" } }");
        /// How the streams of scripted answers are cut into events and padded, by message id.
        streams: NamedChoices<StreamShape> as Choices<Section<StreamShape>, MessageNames> = NamedChoices::new(), example("{ \"msg_p1t2\" = { pieces = [5] } }");
        /// The sizes of the network chunks of a piece of an answer, by request and piece: `1 piece 0`.
        chunks: NamedChoices<Vec<u32>> as Choices<Vec<ChunkSize>, PieceNames> = NamedChoices::new(), unit("bytes"), example("{ \"1 piece 0\" = [10, 20] }");
        /// The ids that errors carry, by request.
        request_ids: NamedChoices<Arc<str>> as Choices<Arc<str>, RequestNames> = NamedChoices::new(), example("{ \"2\" = \"req_1\" }");
        /// How long errors of the model server take, by request.
        errors: NamedChoices<Micros> as Choices<Micros, RequestNames> = NamedChoices::new(), example("{ \"2\" = \"1s\" }");
        /// How long tools take, by tool use.
        tools: NamedChoices<Micros> as Choices<Micros, AnyNames> = NamedChoices::new(), example("{ \"toolu_1\" = \"1s\" }");
        /// How long hooks take, by the hook's number from 0 and its subject.
        hooks: NamedChoices<Micros> as Choices<Micros, AnyNames> = NamedChoices::new(), example("{ \"0 stop 1\" = \"1s\" }");
        /// How long the user takes to answer about a permission, by tool use.
        permissions: NamedChoices<Micros> as Choices<Micros, AnyNames> = NamedChoices::new(), example("{ \"toolu_1\" = \"1s\" }");
        /// How long a tool's own check takes, by tool use.
        checks: NamedChoices<Micros> as Choices<Micros, AnyNames> = NamedChoices::new(), example("{ \"toolu_1\" = \"1s\" }");
        /// How long storing takes, by the result's name.
        stores: NamedChoices<Micros> as Choices<Micros, AnyNames> = NamedChoices::new(), example("{ \"toolu_1\" = \"1s\" }");
        /// How long it takes to find skills and plugins, by kind and prompt.
        lookups: NamedChoices<Micros> as Choices<Micros, AnyNames> = NamedChoices::new(), example("{ \"skills 1\" = \"1s\" }");
        /// How long new credentials take, by request.
        auth: NamedChoices<Micros> as Choices<Micros, RequestNames> = NamedChoices::new(), example("{ \"2\" = \"1s\" }");
        /// How long the user takes to answer a tool's server, by tool use.
        elicitations: NamedChoices<Micros> as Choices<Micros, AnyNames> = NamedChoices::new(), example("{ \"toolu_1\" = \"1s\" }");
        /// How long the engine waits after a failed attempt when the server names no time, by the failed request.
        backoff: NamedChoices<Micros> as Choices<Micros, RequestNames> = NamedChoices::new(), example("{ \"2.1\" = \"500ms\" }");
    }
}

impl PlanKeys {
    /// The field of each kind of wait.
    fn wait(&mut self, kind: WaitKind) -> &mut NamedChoices<Micros> {
        match kind {
            WaitKind::Error => &mut self.errors,
            WaitKind::Tool => &mut self.tools,
            WaitKind::Hook => &mut self.hooks,
            WaitKind::Permission => &mut self.permissions,
            WaitKind::Check => &mut self.checks,
            WaitKind::Store => &mut self.stores,
            WaitKind::LookUp => &mut self.lookups,
            WaitKind::Auth => &mut self.auth,
            WaitKind::Elicitation => &mut self.elicitations,
        }
    }
}

impl Plan {
    /// Its injections where they are others than those of `written`, each list under its key and as a line of TOML. With these keys set, a run of a scenario
    /// that has the plan `written` is a run of this one.
    pub fn injections_as_toml(&self, written: &Self) -> Vec<(&'static str, String)> {
        let Self { interrupts, client_interrupts, deviations, late_completions, single_faults, .. } = self;
        let are_other_interrupts = (interrupts, client_interrupts) != (&written.interrupts, &written.client_interrupts);
        let lists = [
            ("interrupt", are_other_interrupts, Sections::<InterruptOfPlan>::write(&InterruptOfPlan::all(self))),
            ("deviation", *deviations != written.deviations, Sections::<PlannedDeviation>::write(deviations)),
            ("late", *late_completions != written.late_completions, Sections::<LateCompletion>::write(late_completions)),
            ("fault", *single_faults != written.single_faults, Sections::<SingleFault>::write(single_faults)),
        ];
        lists.into_iter().filter(|(_, is_other, _)| *is_other).map(|(key, _, list)| (key, list.inline())).collect()
    }
}

impl ConvertedTable for Plan {
    type Keys = PlanKeys;

    fn from_keys(mut keys: PlanKeys, _: &mut TableReader<'_, '_>) -> Option<Self> {
        let mut plan = Self { drawn_from: keys.drawn_from, client_follow_up: keys.follow_up.take(), ..Self::default() };
        for interrupt in core::mem::take(&mut keys.interrupt).into_iter().rev() {
            match interrupt {
                InterruptOfPlan::Run(interrupt) => plan.add_interrupt(interrupt),
                InterruptOfPlan::Client(interrupt) => plan.client_interrupts.insert(0, interrupt),
            }
        }
        for (_, kind, _) in WaitKind::ALL {
            let latencies = core::mem::take(keys.wait(kind));
            if !latencies.is_empty() {
                plan.latencies.insert(kind, latencies);
            }
        }
        let PlanKeys { deviation: deviations, late: late_completions, fault: single_faults, .. } = keys;
        let PlanKeys { faults, answers, streams, chunks, request_ids, backoff, .. } = keys;
        Some(Self { deviations, late_completions, single_faults, faults, answers, streams, chunks, request_ids, backoff, ..plan })
    }

    fn to_keys(&self) -> PlanKeys {
        let Self {
            drawn_from,
            interrupts: _,
            client_interrupts: _,
            client_follow_up: follow_up,
            deviations,
            late_completions,
            single_faults,
            faults,
            answers,
            streams,
            chunks,
            request_ids,
            latencies,
            backoff,
        } = self.clone();
        let keys = PlanKeys {
            drawn_from,
            interrupt: InterruptOfPlan::all(self),
            follow_up,
            deviation: deviations,
            late: late_completions,
            fault: single_faults,
            ..PlanKeys::default()
        };
        let mut keys = PlanKeys { faults, answers, streams, chunks, request_ids, backoff, ..keys };
        for (kind, latencies) in latencies {
            *keys.wait(kind) = latencies;
        }
        keys
    }
}

/// One `[[plan.interrupt]]`: of a simulated run, or of a client in virtual time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum InterruptOfPlan {
    Run(PlannedInterrupt),
    Client(ClientInterrupt),
}

impl InterruptOfPlan {
    fn all(plan: &Plan) -> Vec<Self> {
        let of_runs = plan.interrupts.iter().cloned().map(Self::Run);
        of_runs.chain(plan.client_interrupts.iter().cloned().map(Self::Client)).collect()
    }
}

keys! {
    /// `[[plan.interrupt]]`: an interrupt at a boundary of the run, by the number of an event, or of a client, by the name of a boundary.
    pub(crate) struct PlannedInterruptKeys {
        /// The number of the engine's input.
        event: Option<u32> = None, above_zero("events are counted from 1");
        /// On which side of it. Only with `event`.
        side: Option<BoundarySide> = None;
        /// The boundary of a client in virtual time, as its package names it. In place of `event`.
        boundary: Option<Arc<str>> = None, example("\"answer 1 piece 21 + 8\"");
        /// The injection.
        kind: Option<InjectionKind> = None, required;
        /// The message. Only with kind `interrupt`.
        content: ContentKeys as Flat<ContentKeys> = ContentKeys::default();
        /// The prompt that the client gets then. Only with `boundary`.
        then: Option<Arc<str>> = None, example("\"Go on.\"");
        /// Whether that prompt begins before the interrupted one has come to its end. Only with `then`.
        at_once: bool = false;
    }
}

impl ConvertedTable for InterruptOfPlan {
    type Keys = PlannedInterruptKeys;

    fn from_keys(keys: PlannedInterruptKeys, reader: &mut TableReader<'_, '_>) -> Option<Self> {
        let PlannedInterruptKeys { event, side, boundary, kind, content, then, at_once } = keys;
        if !reader.has_any(&["event", "boundary"]) {
            let message =
                "[[plan.interrupt]] needs `event`, the number of an input of a simulated run, or `boundary`, the place of a client";
            reader.lacks(&["event", "boundary"], String::from(message), None);
        }
        let word = kind?;
        let kind = match word {
            InjectionKind::Interrupt => PlannedInterruptKind::Interrupt(Content::from_keys(content, reader)?.0),
            InjectionKind::Cancel | InjectionKind::Heal => {
                refuse_content(reader, "text");
                if word == InjectionKind::Heal { PlannedInterruptKind::Heal } else { PlannedInterruptKind::Cancel }
            }
        };
        match (event, boundary) {
            (None, Some(boundary)) => {
                if side.is_some() {
                    reader.key_problem("side", String::from("`side` belongs to `event`: the name of a boundary says its place itself"));
                }
                if at_once && then.is_none() {
                    reader.key_problem(
                        "at_once",
                        String::from("`at_once` is about the prompt of `then`: write `then`, or leave `at_once` out"),
                    );
                }
                let message = match kind {
                    PlannedInterruptKind::Cancel => None,
                    PlannedInterruptKind::Interrupt(said) => Some(text_of(&said).or_else(|| {
                        reader.key_problem("kind", String::from("a client gets a message of text alone: write `text`"));
                        None
                    })?),
                    PlannedInterruptKind::Heal => {
                        reader.value_problem("kind", String::from("a client can be sent `cancel` or `interrupt`"));
                        return None;
                    }
                };
                Some(Self::Client(ClientInterrupt { boundary, message, then, at_once }))
            }
            (Some(event), None) => {
                for (key, is_set) in [("then", then.is_some()), ("at_once", at_once)] {
                    if is_set {
                        reader.key_problem(key, format!("`{key}` belongs to `boundary`, the place of a client"));
                    }
                }
                let boundary = RunBoundary { event: event.into(), side: side.unwrap_or_default() };
                Some(Self::Run(PlannedInterrupt { boundary, kind }))
            }
            (Some(_), Some(_)) => {
                reader.key_problem("boundary", String::from("an interrupt has one place: remove `event`, or `boundary`"));
                None
            }
            (None, None) => None,
        }
    }

    fn to_keys(&self) -> PlannedInterruptKeys {
        let nothing = PlannedInterruptKeys::default();
        match self.clone() {
            Self::Run(PlannedInterrupt { boundary: RunBoundary { event, side }, kind }) => {
                let (kind, content) = match kind {
                    PlannedInterruptKind::Interrupt(content) => (InjectionKind::Interrupt, Content(content).to_keys()),
                    PlannedInterruptKind::Cancel => (InjectionKind::Cancel, ContentKeys::default()),
                    PlannedInterruptKind::Heal => (InjectionKind::Heal, ContentKeys::default()),
                };
                PlannedInterruptKeys { event: u32::try_from(event).ok(), side: Some(side), kind: Some(kind), content, ..nothing }
            }
            Self::Client(ClientInterrupt { boundary, message, then, at_once }) => {
                let (kind, content) = match message {
                    Some(text) => (InjectionKind::Interrupt, Content(vec![Block::text(&text)]).to_keys()),
                    None => (InjectionKind::Cancel, ContentKeys::default()),
                };
                PlannedInterruptKeys { boundary: Some(boundary), kind: Some(kind), content, then, at_once, ..nothing }
            }
        }
    }
}

/// The text of a message of text alone.
fn text_of(said: &[Block]) -> Option<Arc<str>> {
    let [block] = said else { return None };
    match block.kind() {
        BlockKind::Text(text) => Some(text.clone()),
        _ => None,
    }
}

keys! {
    /// `[[plan.fault]]`: a fault of one request.
    pub(crate) struct SingleFaultKeys {
        /// The request as transcripts name it: `2`, `2.3` for its third attempt, `p2/1` for the second prompt.
        request: Arc<str> = "".into(), required, example("\"2\"");
        /// The kind of fault.
        kind: Option<SingleFaultKind> = None, required;
        /// After which event of the answer, from 0 for its head. Only with kinds `cut`, `error_event`, `stall` and `close`.
        after_event: u32 = 0;
        /// Which further attempts of the same request it hits.
        reach: FaultReach = FaultReach::Once;
    }
}

impl ConvertedTable for SingleFault {
    type Keys = SingleFaultKeys;

    fn from_keys(keys: SingleFaultKeys, reader: &mut TableReader<'_, '_>) -> Option<Self> {
        let SingleFaultKeys { request, kind, after_event, reach } = keys;
        if !RequestNames::is_name(&request) && reader.member("request").is_some() {
            reader.value_problem("request", format!("`{request}` names no request: {}", RequestNames::HELP));
        }
        Some(Self { request, kind: kind?, after_event, reach })
    }

    fn to_keys(&self) -> SingleFaultKeys {
        let Self { request, kind, after_event, reach } = self.clone();
        SingleFaultKeys { request, kind: Some(kind), after_event, reach }
    }
}

/// A table of choices by name: the form of a choice, and what names look like.
pub(crate) struct Choices<F, N>(PhantomData<(F, N)>);

impl<F: KeyForm, N: ChoiceNames> KeyForm for Choices<F, N> {
    type Value = NamedChoices<F::Value>;

    fn shape() -> ValueShape {
        ValueShape::Map(Box::new(F::shape()))
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<NamedChoices<F::Value>> {
        let TreeValueKind::Table(table) = &value.kind else {
            if !matches!(value.kind, TreeValueKind::StandIn) {
                report.mismatch(value, "a table");
            }
            return None;
        };
        let title = format!("[plan.{}]", at.key);
        let mut choices = NamedChoices::new();
        for member in &table.members {
            if !N::is_name(&member.key) {
                let message = format!("`{}` in {title} names no {}", member.key, N::NOUN);
                report.value(member.place, message, Some(N::HELP.into()));
            }
            let choice = F::read(&member.value, KeyPosition { table: &title, key: &member.key }, report);
            choices.extend(choice.map(|choice| (member.key.as_str().into(), choice)));
        }
        Some(choices)
    }

    fn write(choices: &NamedChoices<F::Value>) -> TomlValue {
        let mut table = TomlTable::default();
        choices.iter().for_each(|(name, choice)| table.put_named(name, F::write(choice)));
        TomlValue::Section(table)
    }
}

/// The form of the names in a table of choices.
pub(crate) trait ChoiceNames {
    /// The named thing.
    const NOUN: &'static str = "thing";
    /// The form of such a name, for messages.
    const HELP: &'static str = "";

    /// Whether it is such a name.
    fn is_name(name: &str) -> bool;
}

/// Requests: `2`, `2.3`, `p2/1`, `toolu_7/1`.
pub(crate) struct RequestNames;

/// A request's name and a fault's.
pub(crate) struct FaultNames;

/// A request's name and the number of a piece.
pub(crate) struct PieceNames;

/// Message ids.
pub(crate) struct MessageNames;

/// All names.
pub(crate) struct AnyNames;

impl ChoiceNames for RequestNames {
    const NOUN: &'static str = "request";
    const HELP: &'static str = "write it as transcripts do: \"2\", \"2.3\" for its third attempt, \"p2/1\" for the second prompt, \"toolu_7/1\" for \
         the agent of a tool use";

    /// A turn, maybe with an attempt; before a slash whose it is.
    fn is_name(name: &str) -> bool {
        let own = name.rsplit_once('/').map_or(name, |(_, own)| own);
        let (turn, attempt) = own.split_once('.').unwrap_or((own, "1"));
        is_number(turn) && is_number(attempt) && !name.starts_with('/')
    }
}

impl ChoiceNames for FaultNames {
    const NOUN: &'static str = "fault at a request";
    const HELP: &'static str = "write the request and the fault as transcripts do: \"1.2 529 overloaded_error\"";

    fn is_name(name: &str) -> bool {
        name.split_once(' ').is_some_and(|(request, fault)| RequestNames::is_name(request) && !fault.is_empty())
    }
}

impl ChoiceNames for PieceNames {
    const NOUN: &'static str = "piece of an answer";
    const HELP: &'static str = "write the request and the piece, which is counted from 0: \"1 piece 0\"";

    fn is_name(name: &str) -> bool {
        name.rsplit_once(" piece ").is_some_and(|(request, piece)| RequestNames::is_name(request) && is_number(piece))
    }
}

impl ChoiceNames for MessageNames {
    const NOUN: &'static str = "message";
    const HELP: &'static str = "write its id as transcripts do: \"msg_p1t2\" is the second turn of the first prompt";

    fn is_name(name: &str) -> bool {
        name.starts_with("msg_")
    }
}

impl ChoiceNames for AnyNames {
    fn is_name(_: &str) -> bool {
        true
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.len() < 10 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A fault without a probability hits anyway, so that nothing is chosen about it; neither about one that does not exist.
pub(crate) fn check_faults(reader: &mut TableReader<'_, '_>, plan: &Plan, rules: &[FaultRule]) {
    let probable: Vec<String> = rules.iter().filter(|rule| rule.at.probability.is_some()).map(|rule| rule.kind.to_string()).collect();
    let is_known = |fault: &str| probable.iter().any(|known| *fault == **known || fault.starts_with(&format!("{known} (")));
    let Some(choices) = reader.member("plan").and_then(|member| member.value.member("faults")) else { return };
    for name in plan.faults.keys() {
        let Some((_, fault)) = name.split_once(' ').filter(|(_, fault)| !is_known(fault)) else { continue };
        let place = choices.value.member(name).map_or(choices.place, |member| member.place);
        let list = probable.iter().map(|known| format!("`{known}`")).collect::<Vec<_>>().join(", ");
        let help = if probable.is_empty() { String::from("no [[fault]] has a `probability`") } else { format!("known here: {list}") };
        reader.report.value(place, format!("no [[fault]] with a `probability` has the name `{fault}`"), Some(help));
    }
}
