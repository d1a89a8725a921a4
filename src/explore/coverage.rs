//! The coverage of runs: pairs of an input and an effect of the same step, terminals, faults, transitions and pipeline steps (E-7).
//!
//! All of it crosses the engine's boundary, so it is the same question for any engine. Transitions and pipeline steps are notes, which an engine may leave
//! out.

pub mod effect_kind;
pub mod fault_kind;

use alloc::collections::BTreeMap;

use effect_kind::EffectKind;
use fault_kind::FaultKindName;

use super::input_kind::InputKind;
use reenact_engine::contract::{Agent, Effect, Input, Note, Terminal, Time};
use reenact_engine::emission::{PipelineStep, Transition};
use reenact_oracle::ORACLES;
use reenact_sim::rules;
use reenact_transcript::event::{EventKind, Transcript};
use reenact_transcript::watch::TranscriptWatch;
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;

/// The steps of the pipeline, which has no list of them.
const STEPS: [PipelineStep; 9] = [
    PipelineStep::Validate,
    PipelineStep::Check,
    PipelineStep::PreHooks,
    PipelineStep::Permission,
    PipelineStep::Ask,
    PipelineStep::Call,
    PipelineStep::PostHooks,
    PipelineStep::Map,
    PipelineStep::Store,
];

words! {
    /// The classes of what can be reached.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum CoverageClass {
        /// Kinds of inputs that the engine got.
        Input = "input",
        /// Kinds of effects that it wanted.
        Effect = "effect",
        /// An effect in the step of an input: `tool_ended/request`.
        Pair = "pair",
        /// Ends of prompts.
        Terminal = "terminal",
        /// Kinds of faults that hit.
        Fault = "fault",
        /// Reasons why the query loop continued, as the engine notes them.
        Transition = "transition",
        /// Steps of tool pipelines, as the engine notes them.
        Step = "step",
        /// Oracles that were asked.
        Oracle = "oracle",
    }
}

/// How often each thing was reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunCoverage {
    /// How many runs were counted.
    pub runs: u64,
    inputs: BTreeMap<InputKind, u64>,
    pairs: BTreeMap<(InputKind, EffectKind), u64>,
    /// Everything that is rare.
    names: BTreeMap<(CoverageClass, String), u64>,
}

impl RunCoverage {
    /// Adds what other runs reached.
    pub fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        other.inputs.iter().for_each(|(kind, count)| *self.inputs.entry(*kind).or_default() += count);
        other.pairs.iter().for_each(|(pair, count)| *self.pairs.entry(*pair).or_default() += count);
        other.names.iter().for_each(|(name, count)| *self.names.entry(name.clone()).or_default() += count);
    }

    /// Adds how often oracles were asked.
    pub fn add_asked(&mut self, asked: impl IntoIterator<Item = (&'static str, u64)>) {
        for (oracle, count) in asked.into_iter().filter(|(_, count)| *count > 0) {
            *self.names.entry((CoverageClass::Oracle, oracle.into())).or_default() += count;
        }
    }

    /// The coverage of one run that is over, from its transcript.
    pub fn of_transcript(setup: &RunSetup, transcript: &Transcript) -> Self {
        let mut watch = CoverageWatch::new(setup);
        for event in transcript.events.iter() {
            match &event.what {
                EventKind::Input(input) => watch.input(event.at, &event.agent, input),
                EventKind::Effect(effect) => watch.effect(event.at, &event.agent, effect),
                EventKind::Request { .. } => watch.count_effect(EffectKind::Request),
                note => watch.note(event.at, &event.agent, note),
            }
        }
        let mut coverage = watch.into_coverage();
        coverage.add_asked(rules::asked_in(setup, transcript));
        coverage
    }

    /// The names of a class that were reached, with how often.
    pub fn reached(&self, class: CoverageClass) -> BTreeMap<String, u64> {
        let mut reached = BTreeMap::new();
        let mut add = |name: String, count: u64| *reached.entry(name).or_default() += count;
        match class {
            CoverageClass::Input => self.inputs.iter().for_each(|(kind, count)| add(kind.as_str().into(), *count)),
            CoverageClass::Effect => self.pairs.iter().for_each(|((_, effect), count)| add(effect.as_str().into(), *count)),
            CoverageClass::Pair => self.pairs.iter().for_each(|((input, effect), count)| add(pair_name(*input, *effect), *count)),
            _ => self.names.iter().filter(|((of, _), _)| *of == class).for_each(|((_, name), count)| add(name.clone(), *count)),
        }
        reached
    }

    /// The known names of a class that were not reached. Of pairs nobody knows which are possible.
    pub fn unreached(&self, class: CoverageClass) -> Vec<String> {
        let reached = self.reached(class);
        class.known_names().into_iter().filter(|name| !reached.contains_key(name)).collect()
    }

    fn count(&mut self, class: CoverageClass, name: &str) {
        *self.names.entry((class, name.into())).or_default() += 1;
    }
}

impl CoverageClass {
    /// The names that the contract, the scenario language and the oracles have; none for pairs.
    pub fn known_names(self) -> Vec<String> {
        fn owned<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<String> {
            words.into_iter().map(Into::into).collect()
        }
        match self {
            Self::Input => owned(InputKind::ALL.map(InputKind::as_str)),
            Self::Effect => owned(EffectKind::ALL.map(EffectKind::as_str)),
            Self::Pair => Vec::new(),
            Self::Terminal => owned(Terminal::WORDS),
            Self::Fault => owned(FaultKindName::ALL.map(FaultKindName::as_str)),
            Self::Transition => owned(Transition::ALL.map(Transition::as_str)),
            Self::Step => owned(STEPS.map(PipelineStep::as_str)),
            Self::Oracle => owned(ORACLES.iter().map(|(oracle, _)| *oracle)),
        }
    }

    /// Whether there can be something of this name. An engine may have terminals of its own.
    pub fn may_have(self, name: &str) -> bool {
        match self {
            Self::Terminal => !name.is_empty(),
            Self::Pair => name
                .split_once('/')
                .is_some_and(|(input, effect)| InputKind::from_word(input).is_some() && EffectKind::from_word(effect).is_some()),
            _ => self.known_names().iter().any(|known| known == name),
        }
    }
}

/// The name of an input with an effect in its step.
fn pair_name(input: InputKind, effect: EffectKind) -> String {
    format!("{}/{}", input.as_str(), effect.as_str())
}

/// Counts what a run reaches, as it happens.
#[derive(Clone, Debug)]
pub struct CoverageWatch {
    coverage: RunCoverage,
    /// The input of the step that is under way.
    step: Option<InputKind>,
    /// The faults of the scenario by their text in transcripts.
    faults: Arc<[(String, FaultKindName)]>,
}

impl CoverageWatch {
    /// For a run that has not begun, or that is counted from here on.
    pub fn new(setup: &RunSetup) -> Self {
        let faults = setup.scenario.faults.iter().map(|fault| (fault.kind.to_string(), FaultKindName::from(&fault.kind))).collect();
        Self { coverage: RunCoverage { runs: 1, ..RunCoverage::default() }, step: None, faults }
    }

    /// The counts.
    pub fn into_coverage(self) -> RunCoverage {
        self.coverage
    }

    fn count_effect(&mut self, effect: EffectKind) {
        if let Some(input) = self.step {
            *self.coverage.pairs.entry((input, effect)).or_default() += 1;
        }
    }
}

impl TranscriptWatch for CoverageWatch {
    fn input(&mut self, _at: Time, _agent: &Agent, input: &Input) {
        let kind = InputKind::from(input);
        self.step = Some(kind);
        *self.coverage.inputs.entry(kind).or_default() += 1;
    }

    fn effect(&mut self, _at: Time, _agent: &Agent, effect: &Effect) {
        match effect {
            Effect::Note(Note::Transition(transition)) => self.coverage.count(CoverageClass::Transition, transition.as_str()),
            Effect::Note(Note::Pipeline { step, .. }) => self.coverage.count(CoverageClass::Step, step.as_str()),
            Effect::Finished { terminal, .. } => self.coverage.count(CoverageClass::Terminal, terminal.as_str()),
            _ => (),
        }
        if let Some(kind) = EffectKind::of_effect(effect) {
            self.count_effect(kind);
        }
    }

    fn note(&mut self, _at: Time, _agent: &Agent, what: &EventKind) {
        if let EventKind::Fault { text, .. } = what
            && let Some((_, name)) = self.faults.iter().find(|(known, _)| **known == **text)
        {
            self.coverage.count(CoverageClass::Fault, name.as_str());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_engine::contract::{Emission, RequestId, ToolRun};
    use reenact_scenario::fault::{AnswerChange, FaultKind, FaultRule};
    use reenact_scenario::types::Scenario;

    fn watch() -> CoverageWatch {
        let fault = FaultRule { at: Default::default(), kind: FaultKind::Change(AnswerChange::EmptyBody), may: false };
        let scenario = Scenario { faults: vec![fault], ..Scenario::default() };
        CoverageWatch::new(&RunSetup::new(scenario, None).unwrap())
    }

    fn counts(reached: &BTreeMap<String, u64>) -> Vec<(&str, u64)> {
        reached.iter().map(|(name, count)| (name.as_str(), *count)).collect()
    }

    fn cancel(watch: &mut CoverageWatch) {
        let run = ToolRun { request: RequestId::first(1), index: 0 };
        watch.input(Time::ZERO, &Agent::ROOT, &Input::Cancel);
        watch.effect(Time::ZERO, &Agent::ROOT, &Effect::StopTool { run });
        watch.effect(Time::ZERO, &Agent::ROOT, &Effect::Emit(Emission::Warning { text: "w".into() }));
        watch.effect(Time::ZERO, &Agent::ROOT, &Effect::Note(Note::Transition(Transition::NextTurn)));
        watch.effect(Time::ZERO, &Agent::ROOT, &Effect::Finished { prompt: 1, terminal: Terminal::Other("mine".into()) });
    }

    #[test]
    fn e_7_an_effect_is_counted_with_the_input_of_its_step() {
        let mut watch = watch();
        cancel(&mut watch);
        watch.input(Time::ZERO, &Agent::ROOT, &Input::Prompt { prompt: 1, content: [].into() });
        let coverage = watch.into_coverage();
        assert_eq!(counts(&coverage.reached(CoverageClass::Input)), [("cancel", 1), ("prompt", 1)]);
        let pairs = [("cancel/emit.warning", 1), ("cancel/finished", 1), ("cancel/stop_tool", 1)];
        assert_eq!(counts(&coverage.reached(CoverageClass::Pair)), pairs);
        assert_eq!(counts(&coverage.reached(CoverageClass::Terminal)), [("mine", 1)]);
        assert_eq!(counts(&coverage.reached(CoverageClass::Transition)), [("next_turn", 1)]);
        let never = coverage.unreached(CoverageClass::Effect);
        assert!(never.contains(&"request".into()) && !never.contains(&"stop_tool".into()), "{never:?}");
    }

    #[test]
    fn e_7_a_fault_is_known_by_its_kind() {
        let mut watch = watch();
        for text in ["empty body", "something else"] {
            watch.note(Time::ZERO, &Agent::ROOT, &EventKind::Fault { id: RequestId::first(1), text: text.into() });
        }
        assert_eq!(counts(&watch.into_coverage().reached(CoverageClass::Fault)), [("empty_body", 1)]);
    }

    #[test]
    fn e_7_runs_are_added() {
        let (mut one, mut other) = (watch(), watch());
        cancel(&mut one);
        cancel(&mut other);
        let (mut one, other) = (one.into_coverage(), other.into_coverage());
        one.add(&other);
        one.add_asked([("O-3", 4), ("O-5", 0)]);
        assert_eq!(
            (one.runs, counts(&one.reached(CoverageClass::Effect))),
            (2, vec![("emit.warning", 2), ("finished", 2), ("stop_tool", 2)])
        );
        assert_eq!(counts(&one.reached(CoverageClass::Oracle)), [("O-3", 4)]);
        assert!(one.unreached(CoverageClass::Oracle).contains(&"O-5".into()));
    }

    #[test]
    fn e_7_names_that_can_never_be_reached_are_known() {
        assert!(CoverageClass::Pair.may_have("tool_ended/request") && !CoverageClass::Pair.may_have("request/tool_ended"));
        assert!(CoverageClass::Terminal.may_have("an_end_of_another_engine") && !CoverageClass::Step.may_have("vlaidate"));
    }
}
