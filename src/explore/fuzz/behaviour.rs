//! The behaviours that a case shows: the guidance of a search by chance (E-4).
//!
//! ```text
//!   input tool_ended, behind answer_event ──> request, emit.user      one behaviour
//! ```
//!
//! A behaviour is a step across the engine's boundary: the kind of its input, the kind of the one before, and the kinds of its effects. So it is the same
//! question for any engine, and a new order of two inputs is new although both were seen.

use alloc::collections::BTreeMap;
use core::fmt;

use super::super::coverage::effect_kind::EffectKind;
use super::super::input_kind::InputKind;
use reenact_engine::contract::{Effect, Input};
use reenact_wire::prelude::*;

/// One step, by the kinds of all that crossed the boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FuzzBehaviour {
    before: Option<InputKind>,
    input: InputKind,
    /// A bit for each kind of effect, in the order of [`EffectKind::ALL`].
    effects: u64,
}

const _: () = assert!(EffectKind::ALL.len() <= 64, "a behaviour has a bit for each kind of effect");

/// `tool_ended behind answer_event: emit.user, request`.
impl fmt::Display for FuzzBehaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = EffectKind::ALL.iter().enumerate().filter(|(bit, _)| self.effects >> bit & 1 == 1);
        let kinds: Vec<&str> = kinds.map(|(_, kind)| kind.as_str()).collect();
        write!(f, "{}", self.input.as_str())?;
        if let Some(before) = self.before {
            write!(f, " behind {}", before.as_str())?;
        }
        write!(f, ": {}", if kinds.is_empty() { "nothing".into() } else { kinds.join(", ") })
    }
}

/// Collects the behaviours of a run as it happens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct BehaviourWatch {
    /// Each behaviour, and the number of the decision that showed it first.
    seen: BTreeMap<FuzzBehaviour, u64>,
    step: Option<FuzzBehaviour>,
    /// Whether the step is among those that were seen.
    is_counted: bool,
    decisions: u64,
}

impl BehaviourWatch {
    /// Begins the next decision.
    pub(in super::super) fn begin_decision(&mut self) {
        self.end_step();
        self.decisions += 1;
    }

    pub(in super::super) fn input(&mut self, input: &Input) {
        self.end_step();
        let before = self.step.map(|step| step.input);
        self.is_counted = false;
        self.step = Some(FuzzBehaviour { before, input: InputKind::from(input), effects: 0 });
    }

    pub(in super::super) fn effect(&mut self, effect: &Effect) {
        if let (Some(step), Some(kind)) = (&mut self.step, EffectKind::of_effect(effect)) {
            step.effects |= 1 << kind as u64;
        }
    }

    /// All of them, with the number of the decision that showed each first; the first has number 0.
    pub(super) fn finish(mut self) -> BTreeMap<FuzzBehaviour, u64> {
        self.end_step();
        self.seen
    }

    /// The step stays: the next one follows it.
    fn end_step(&mut self) {
        if let Some(step) = self.step
            && !core::mem::replace(&mut self.is_counted, true)
        {
            self.seen.entry(step).or_insert(self.decisions.saturating_sub(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_engine::contract::ToolRun;
    use reenact_engine::contract::{RequestId, Terminal};

    #[test]
    fn e_4_a_behaviour_is_a_step_with_the_input_before() {
        let mut watch = BehaviourWatch::default();
        watch.begin_decision();
        watch.input(&Input::Prompt { prompt: 1, content: [].into() });
        watch.begin_decision();
        watch.input(&Input::Cancel);
        watch.effect(&Effect::StopTool { run: ToolRun { request: RequestId::first(1), index: 0 } });
        watch.effect(&Effect::Finished { prompt: 1, terminal: Terminal::Completed });
        watch.begin_decision();
        watch.input(&Input::Cancel);
        let seen: Vec<(String, u64)> = watch.finish().into_iter().map(|(seen, at)| (seen.to_string(), at)).collect();
        let expected = [("prompt: nothing", 0), ("cancel behind cancel: nothing", 2), ("cancel behind prompt: stop_tool, finished", 1)];
        assert_eq!(seen.len(), expected.len());
        for (text, at) in expected {
            assert!(seen.contains(&(text.into(), at)), "{text} is not in {seen:?}");
        }
    }
}
