//! Lookups before a prompt's first request (S-4): skills and plugins, both at once.

use super::command::PromptDemand;
use super::memory::SessionMemory;
use crate::agent_effects::AgentEffects;
use crate::contract::{Catalogue, Effect, Input};
use crate::emission::SessionSurroundings;
use crate::key::KeylessValue;
use crate::settings::{Environment, SessionSettings};
use crate::time::Time;
use reenact_wire::prelude::*;

/// A prompt that waits for what is looked up.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(super) struct PendingPrompt {
    pub(super) prompt: u32,
    pub(super) since: KeylessValue<Time>,
    pub(super) asked: PromptDemand,
    /// The text of a prompt that is answered without the model (S-5).
    pub(super) local: Option<Arc<str>>,
    pub(super) found: LookupResults,
}

/// The results of the lookups so far; `None` for a running one.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(super) struct LookupResults {
    skills: Option<Arc<[Arc<str>]>>,
    plugins: Option<Arc<[Arc<str>]>>,
}

impl LookupResults {
    /// Has everything looked up that the settings ask for; the rest is empty.
    pub(super) fn look_up(settings: &SessionSettings, prompt: u32, effects: &mut AgentEffects) -> Self {
        let mut look_up = |is_wanted: bool, what| {
            if is_wanted {
                effects.push(Effect::LookUp { what, prompt });
            }
            (!is_wanted).then(|| Arc::from([]))
        };
        let skills = look_up(settings.look_up_skills, Catalogue::Skills);
        let plugins = look_up(settings.look_up_plugins, Catalogue::Plugins);
        Self { skills, plugins }
    }

    /// Takes what was found for this prompt; whether it was the last that was missing.
    pub(super) fn take(&mut self, prompt: u32, input: &Input) -> bool {
        let Input::LookedUp { what, prompt: of, names } = input else { return false };
        let place = match what {
            Catalogue::Skills => &mut self.skills,
            Catalogue::Plugins => &mut self.plugins,
        };
        if *of != prompt || place.is_some() {
            return false;
        }
        *place = Some(names.clone());
        self.is_all_in()
    }

    pub(super) fn is_all_in(&self) -> bool {
        self.skills.is_some() && self.plugins.is_some()
    }

    /// The content of the init message beside model and tools.
    pub(super) fn surroundings(&self, env: &Environment, memory: &SessionMemory) -> Box<SessionSurroundings> {
        let SessionSettings { mcp_servers, agents, .. } = &env.settings.session;
        let names = |found: &Option<Arc<[Arc<str>]>>| found.iter().flat_map(|names| names.iter().cloned()).collect();
        Box::new(SessionSurroundings {
            mcp_servers: mcp_servers.clone(),
            permission_mode: memory.permissions.mode().or(env.settings.permissions.as_ref().map(|permissions| permissions.mode)),
            skills: names(&self.skills),
            plugins: names(&self.plugins),
            agents: agents.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s_4_only_what_was_looked_up_for_this_prompt_counts_and_once() {
        let settings = SessionSettings { look_up_skills: true, look_up_plugins: true, ..SessionSettings::default() };
        let mut effects = AgentEffects::default();
        let mut found = LookupResults::look_up(&settings, 2, &mut effects);
        assert_eq!(effects.len(), 2, "both at once");
        let looked_up = |what, prompt| Input::LookedUp { what, prompt, names: ["a".into()].into() };
        assert!(!found.take(2, &looked_up(Catalogue::Skills, 1)) && found.skills.is_none(), "of an earlier prompt");
        assert!(!found.take(2, &looked_up(Catalogue::Skills, 2)) && !found.take(2, &looked_up(Catalogue::Skills, 2)));
        assert!(found.take(2, &looked_up(Catalogue::Plugins, 2)));
        assert!(!found.take(2, &looked_up(Catalogue::Plugins, 2)), "the prompt has begun");
        assert!(LookupResults::look_up(&SessionSettings::default(), 1, &mut effects).is_all_in(), "nothing is looked up by default");
    }
}
