//! The settings that oracles hold an engine to, from the environment that the engine is given.

use super::nothing_lost;
use super::running_tools::ToolFacts;
use reenact_engine::budget::PriceTable;
use reenact_engine::contract::{Environment, Settings};
use reenact_engine::hook::HookDefinition;
use reenact_engine::settings::{ContextWindow, NeighbourMerging, QueuedMessagePlace};
use reenact_engine::texts::TextName;
use reenact_engine::time::Micros;
use reenact_engine::tokenizer::Tokenizer;
use reenact_engine::windows::WindowTable;
use reenact_wire::block::{Block, BlockKind, Message, Role};
use reenact_wire::prelude::*;

/// The parts of an environment that the oracles need.
#[derive(Debug)]
pub(super) struct OracleRules {
    pub(super) settings: Settings,
    pub(super) tools: ToolFacts,
    pub(super) tokenizer: Tokenizer,
    pub(super) windows: Arc<WindowTable>,
    pub(super) prices: Arc<PriceTable>,
    /// The tokens that an earlier session left to the root.
    pub(super) history_tokens: u64,
    /// The messages of an earlier session.
    pub(super) history: Vec<Arc<Message>>,
    /// The messages of an earlier session, and those of the host in the model's place.
    pub(super) given_messages: Vec<Arc<Message>>,
    /// Whether some waits are given, and not for the engine to compute (F-11).
    pub(super) has_given_waits: bool,
    /// Hooks may hold the end of a tool back, and each is asked about what it is for.
    pub(super) hooks: Vec<HookDefinition>,
    /// Whether results of tools may be cut so short that next to nothing is left of them (T-27).
    pub(super) cuts_results: bool,
    /// How much later than asked for a timer may go off.
    pub(super) lateness: Micros,
    /// Whether the scenario is about requests that the API does not take.
    pub(super) expects_refusals: bool,
}

/// The rules are the same in all states of a scenario: no part of a key (E-3).
impl core::hash::Hash for OracleRules {
    fn hash<H: core::hash::Hasher>(&self, _: &mut H) {}
}

impl OracleRules {
    pub(super) fn from_environment(environment: &Environment) -> Self {
        let settings = &environment.settings;
        let of_host = settings.session.host_messages.iter().map(|host| &host.message);
        Self {
            settings: settings.clone(),
            tools: ToolFacts::from_environment(environment),
            tokenizer: environment.tokenizer.clone(),
            windows: environment.windows.clone(),
            prices: environment.prices.clone(),
            history_tokens: environment.history.iter().map(|message| environment.tokenizer.blocks(&message.content)).sum(),
            history: environment.history.clone(),
            given_messages: environment.history.iter().chain(of_host).cloned().collect(),
            has_given_waits: !environment.backoff.is_empty(),
            hooks: environment.hooks.clone(),
            cuts_results: result_limits(environment).any(|limit| limit < nothing_lost::RESULT_LIMIT_MIN),
            lateness: Micros::ZERO,
            expects_refusals: false,
        }
    }

    /// How many tools may run at once.
    pub(super) fn tools_at_once_max(&self) -> Option<u32> {
        let batch = (!self.settings.streaming_execution).then_some(self.settings.max_batch_tools);
        [self.settings.max_concurrent_tools, batch].into_iter().flatten().min().map(|cap| cap.max(1))
    }

    /// The window of a model less the room for an answer (C-4); `None` where it is not known, or plays no part.
    pub(super) fn effective_window(&self, model: &str) -> Option<u64> {
        let settings = &self.settings.compaction;
        let window = match settings.context_window {
            ContextWindow::Tokens(tokens) => tokens,
            ContextWindow::Auto => self.windows.tokens(model)?,
            ContextWindow::None => return None,
        };
        Some(window.saturating_sub(settings.output_cap.unwrap_or(u64::MAX).min(settings.output_reserve)))
    }

    /// Whether no host puts other messages in the place of the engine's, or changes what it asks.
    pub(super) fn keeps_own_words(&self) -> bool {
        self.settings.session.host_messages.is_empty() && self.settings.session.changes.is_empty()
    }

    /// Whether a message of the user that waited stands in or beside results, which then stay as they are.
    pub(super) fn keeps_results_with_messages(&self) -> bool {
        self.settings.queued_messages == QueuedMessagePlace::InResult || self.settings.neighbours == NeighbourMerging::Apart
    }

    /// Whether rules of permissions or a limit on money decide inside of the engine which tools run.
    pub(super) fn decide_inside(&self) -> bool {
        self.settings.permissions.is_some() || self.settings.session.max_budget.is_some()
    }

    /// Whether the text for the model has a refusal's reason (T-31).
    pub(super) fn tell_refusals(&self) -> bool {
        self.settings.texts.template(TextName::UserRefusedBecause).contains("{reason}")
    }

    /// Whether the API may refuse a request by this rule because of the place that a host gave to a message of its own.
    pub(super) fn is_of_host(&self, rule: &str) -> bool {
        rule == "system_place" && self.settings.session.host_messages.iter().any(|host| host.message.role == Role::System)
    }

    /// Whether a block of the model in a request was given to the engine, and said by no model in this run.
    pub(super) fn is_given(&self, block: &Block) -> bool {
        let is_reply = matches!((block.kind(), &self.settings.session.orphan_reply), (BlockKind::Text(text), Some(reply)) if text == reply);
        is_reply || self.given_messages.iter().any(|message| message.content.contains(block))
    }
}

/// How many characters of a result the model gets, by each tool.
fn result_limits(environment: &Environment) -> impl Iterator<Item = u64> + '_ {
    let usual = environment.settings.pipeline.result_limit;
    environment.tools.iter().map(move |tool| tool.result_limit.unwrap_or(usual))
}
