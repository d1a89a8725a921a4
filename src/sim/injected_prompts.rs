//! Prompts that exist only because of an injection (E-1): what the scenario cannot answer, the run answers itself.
//!
//! An injected message may be taken into the prompt that is worked on, or become a prompt of its own. In that case its requests are
//! answered in full at the instant at which they are made, always with the same text, and the world never hears of them: no
//! answer of the scenario is used up, and no draw moves.

use core::hash::{Hash, Hasher};

use reenact_engine::contract::{Agent, AnswerEnd, Effect, Emission, Input, Request, RequestId};
use reenact_scenario::plan::{Plan, StreamShape};
use reenact_scenario::script::{self, AnswerOrigin, ScriptedBody, StreamStyle, TurnPlace};
use reenact_scenario::types::{ScriptedTurn, TurnBlock};
use reenact_wire::event::StreamEvent;
use reenact_wire::http::HttpHeader;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::sse::SseFramer;
use reenact_world::setup::RunSetup;

/// The answer to such a prompt.
const TEXT: &str = "Understood.";

/// The injected prompts of one run.
#[derive(Clone, Debug, Default)]
pub(super) struct InjectedPrompts {
    /// How many there were.
    prompts: u32,
    /// How many are neither ended nor taken in.
    open: u32,
    /// The number of the first one, and its answer; `None` before the first.
    first: Option<(u32, Arc<InjectedAnswer>)>,
}

/// Each such prompt has the same answer.
impl Hash for InjectedPrompts {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.prompts, self.open, self.first.as_ref().map(|(number, _)| number)).hash(state);
    }
}

/// One answer in both of its forms.
#[derive(Debug)]
struct InjectedAnswer {
    /// The model that answers, unless another one is asked.
    model: Arc<str>,
    stream_headers: Arc<[HttpHeader]>,
    events: Vec<Arc<StreamEvent>>,
    body_headers: Arc<[HttpHeader]>,
    body: Arc<str>,
    /// The choices for its stream, by its message id.
    shape: Option<(Arc<str>, StreamShape)>,
}

impl InjectedPrompts {
    /// The number that the next injected prompt has.
    pub(super) fn next_prompt(&self, setup: &RunSetup) -> u32 {
        let numbers = setup.scenario.prompts.len() + setup.scenario.interrupts.len();
        u32::try_from(numbers).unwrap_or(u32::MAX).saturating_add(self.prompts + 1)
    }

    /// Gets the answer ready, so that copies of the run share it.
    pub(super) fn prepare(&mut self, setup: &RunSetup) {
        if self.first.is_none() {
            self.first = Some((self.next_prompt(setup), Arc::new(InjectedAnswer::from_setup(setup))));
        }
    }

    /// Takes note of what is injected.
    pub(super) fn add(&mut self, setup: &RunSetup, input: &Input) {
        if matches!(input, Input::Prompt { .. } | Input::Interrupt { .. }) {
            self.prepare(setup);
            self.prompts += 1;
            self.open += 1;
        }
    }

    /// Adds what was chosen here.
    pub(super) fn note_choices(&self, plan: &mut Plan) {
        plan.streams.extend(self.first.iter().filter_map(|(_, answer)| answer.shape.clone()));
    }

    /// Whether each of them was answered or taken in.
    pub(super) fn is_done(&self) -> bool {
        self.open == 0
    }

    /// Carries out an effect that concerns an injected prompt alone; `false` for all others. An answer comes after all that is due.
    pub(super) fn carry_out(&mut self, effect: &Effect, due: &mut Vec<(Agent, Input)>) -> bool {
        let Some((first, answer)) = &self.first else { return false };
        match effect {
            Effect::Request { id, request } if id.prompt >= *first => answer.give(*id, request, due),
            Effect::Finished { prompt, .. } | Effect::Emit(Emission::QueuedCommand { prompt, .. }) if prompt >= first => {
                self.open = self.open.saturating_sub(1);
            }
            _ => return false,
        }
        true
    }
}

impl InjectedAnswer {
    fn from_setup(setup: &RunSetup) -> Self {
        let turn = ScriptedTurn { content: vec![TurnBlock::Text(TEXT.into())], ..ScriptedTurn::default() };
        // No turn of a scenario has this place, so that its draws are its own.
        let place = TurnPlace { origin: AnswerOrigin::Prompt(u32::MAX), turn: 1 };
        let look = StreamStyle { seed: setup.scenario.seed, plan: &setup.scenario.plan };
        let body = |stream| script::body(&turn, place, &setup.scenario.settings.model, look, stream);
        let ScriptedBody { bytes, shape } = body(true);
        let mut events = Vec::new();
        let mut framer = SseFramer::default();
        let framed = framer.feed(&bytes, &mut |frame| events.push(Arc::new(StreamEvent::decode(frame.event, frame.data))));
        debug_assert!(framed.is_ok(), "a scripted answer is below the size limit of events");
        Self {
            model: setup.scenario.settings.model.clone(),
            stream_headers: [HttpHeader::new("content-type", "text/event-stream; charset=utf-8")].into(),
            events,
            body_headers: [HttpHeader::new("content-type", "application/json")].into(),
            body: String::from_utf8_lossy(&body(false).bytes).into(),
            shape: shape.map(|shape| (place.message_id().into(), shape)),
        }
    }

    /// `due` has the last one first.
    fn give(&self, id: RequestId, request: &Request, due: &mut Vec<(Agent, Input)>) {
        let mut inputs = vec![Input::End { id, how: AnswerEnd::Complete }];
        let headers = if request.stream {
            let events = self.events.iter().rev().map(|event| match self.named_for_another(event.data(), request) {
                Some(data) => Arc::new(StreamEvent::decode(event.name(), &data)),
                None => event.clone(),
            });
            inputs.extend(events.map(|event| Input::Stream { id, event }));
            &self.stream_headers
        } else {
            let body = self.named_for_another(&self.body, request).map_or_else(|| self.body.clone(), Arc::from);
            inputs.push(Input::Body { id, body });
            &self.body_headers
        };
        inputs.push(Input::Head { id, status: 200, headers: headers.clone() });
        due.splice(0..0, inputs.into_iter().map(|input| (Agent::ROOT, input)));
    }

    /// The answer's text with the name of another model, if a request asks that one: it answers in its own name, and at its own price (S-10).
    fn named_for_another(&self, text: &str, request: &Request) -> Option<String> {
        if self.model == request.model {
            return None;
        }
        let name = |model: &str| format!("\"model\":{}", Json::from_value(model));
        let own = name(&self.model);
        text.contains(&own).then(|| text.replace(&own, &name(&request.model)))
    }
}
