//! The models that a prompt may begin with (O-31): the configured one, or the one that the user chose (S-5, Q-19).
//!
//! A model that took over has taken over for one prompt. A command of the user takes effect when its prompt is finished. Until then the prompts
//! that begin may have either model: an engine may read commands when they come, or in their turn.

use super::super::{OracleFindings, OracleRules};
use super::ORACLE;
use reenact_engine::contract::{Block, BlockKind, Effect, Emission, RequestId, Terminal};
use reenact_engine::settings::CommandAction;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;

/// The models of the root agent.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct BegunModels {
    /// The choice of the user that holds; `None` for the configured model.
    chosen: Option<Arc<str>>,
    /// Choices whose prompts are not finished.
    pending: Vec<(u32, Arc<str>)>,
    /// Choices of which it is not known whether they hold.
    doubtful: Vec<Arc<str>>,
    /// The prompt of the last request.
    prompt: u32,
    /// Whether a model other than the configured one was asked.
    has_other: bool,
}

impl BegunModels {
    pub(super) fn on_prompt(&mut self, rules: &OracleRules, prompt: u32, content: &[Block]) {
        if let Some(model) = chosen_model(rules, content) {
            self.pending.push((prompt, model));
        }
    }

    pub(super) fn on_request(&mut self, rules: &OracleRules, id: RequestId, model: &Arc<str>, found: &mut OracleFindings<'_>) {
        // What is sent to the model was no command.
        self.pending.retain(|(prompt, _)| *prompt != id.prompt);
        let begins = id.prompt != self.prompt;
        self.prompt = id.prompt;
        let expected = self.chosen.as_ref().unwrap_or(&rules.settings.model);
        if begins {
            if self.has_other || self.chosen.is_some() {
                found.ask(ORACLE);
            }
            let pending = self.pending.iter().map(|(_, model)| model);
            let is_known = pending.chain(&self.doubtful).chain([expected]).any(|known| known == model) || is_set(rules, model);
            if !is_known {
                found.add(ORACLE, format!("prompt {} begins with {model}, and the model of the session is {expected}", id.prompt));
            }
        }
        self.has_other |= model != expected;
    }

    pub(super) fn on_effect(&mut self, effect: &Effect) {
        match effect {
            // A message that became part of another prompt is no command.
            Effect::Emit(Emission::QueuedCommand { prompt, .. }) => self.pending.retain(|(pending, _)| pending != prompt),
            Effect::Finished { prompt, terminal } => {
                let ended = self.pending.extract_if(.., |(pending, _)| pending == prompt);
                for (_, model) in ended.collect::<Vec<_>>() {
                    if *terminal == Terminal::Completed {
                        self.chosen = Some(model);
                        self.doubtful.clear();
                    } else {
                        self.doubtful.push(model);
                    }
                }
            }
            _ => (),
        }
    }
}

/// The model that a prompt chooses, if it is a command that does.
fn chosen_model(rules: &OracleRules, content: &[Block]) -> Option<Arc<str>> {
    let [block] = content else { return None };
    let BlockKind::Text(text) = block.kind() else { return None };
    let line = text.trim().strip_prefix('/').filter(|_| rules.settings.session.slash_commands)?;
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match rules.settings.session.commands.iter().find(|command| &*command.name == name) {
        Some(command) => match &command.does {
            CommandAction::Switch(model) => Some(model.clone()),
            CommandAction::Answer(_) | CommandAction::Ask(_) => None,
        },
        None => (name == "model" && !rest.trim().is_empty()).then(|| rest.trim().into()),
    }
}

/// Whether the host sets this model from some request on (S-11).
fn is_set(rules: &OracleRules, model: &str) -> bool {
    rules.settings.session.changes.iter().any(|change| {
        let members = RawObject::parse(change.set.as_str()).ok();
        members.and_then(|members| members.string("model").map(|set| set == model)).unwrap_or_default()
    })
}
