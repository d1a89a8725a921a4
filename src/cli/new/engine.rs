//! An agent loop of your own: it asks the model once, and knows no tools.

use reenact::engine::contract::*;

/// The loop. It is a value: all that it knows is in it, and a copy of it goes on as it does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MyAgent;

impl Engine for MyAgent {
    fn step(&mut self, env: &Environment, _now: Time, input: &Input, effects: &mut Effects) {
        match input {
            Input::Prompt { prompt, content } => effects.push(Effect::Request {
                id: RequestId::first(*prompt),
                request: Request::new(&env.settings.model, 1_000).with_messages([Message::user(content.to_vec())]).into(),
            }),
            Input::Stream { id, event } if *event.payload() == EventPayload::MessageStop => {
                effects.push(Effect::Finished { prompt: id.prompt, terminal: Terminal::Completed });
            }
            // Tools, retries and interrupts come here. The scenarios of `conformance` say what is missing.
            _ => (),
        }
    }
}
