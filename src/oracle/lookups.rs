//! O-24, of what is looked up for a prompt (S-4): it begins once all of it is in, and its first message names what was found for it.

use super::OracleFindings;
use super::nothing_lost::ORACLE;
use reenact_engine::contract::{Catalogue, Effect, Emission, Input};
use reenact_engine::emission::SessionSurroundings;
use reenact_wire::prelude::*;

/// The lookups of prompts that have not begun: each with its names, once they are in.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct LookupOracle(Vec<SessionLookup>);

#[derive(Clone, Debug, Hash)]
struct SessionLookup {
    prompt: u32,
    what: Catalogue,
    names: Option<Arc<[Arc<str>]>>,
}

impl LookupOracle {
    pub(super) fn on_input(&mut self, input: &Input) {
        let Input::LookedUp { what, prompt, names } = input else { return };
        let asked = self.0.iter_mut().find(|asked| asked.prompt == *prompt && asked.what == *what);
        if let Some(asked) = asked {
            asked.names.get_or_insert_with(|| names.clone());
        }
    }

    pub(super) fn on_effect(&mut self, effect: &Effect, found: &mut OracleFindings<'_>) {
        match effect {
            Effect::LookUp { what, prompt } => self.0.push(SessionLookup { prompt: *prompt, what: *what, names: None }),
            Effect::Emit(Emission::Init { prompt, surroundings, .. }) => self.on_begin(*prompt, surroundings, found),
            Effect::Finished { prompt, .. } => self.0.retain(|asked| asked.prompt != *prompt),
            _ => (),
        }
    }

    fn on_begin(&mut self, begun: u32, surroundings: &SessionSurroundings, found: &mut OracleFindings<'_>) {
        for SessionLookup { prompt, what, names } in self.0.extract_if(.., |asked| asked.prompt == begun) {
            found.ask(ORACLE);
            let said = match what {
                Catalogue::Skills => &surroundings.skills,
                Catalogue::Plugins => &surroundings.plugins,
            };
            match names {
                None => found.add(ORACLE, format!("prompt {prompt} begins, and its {} are not looked up yet", what.as_str())),
                Some(names) if names[..] != said[..] => {
                    found.add(ORACLE, format!("prompt {prompt} begins with other {} than were looked up for it", what.as_str()));
                }
                Some(_) => (),
            }
        }
    }
}
