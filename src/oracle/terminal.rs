//! O-8: every prompt has exactly one terminal, and nothing of it comes after: no request, no tool start, no emission. A
//! message that was taken into another prompt has none.

use super::OracleFindings;
use super::running_tools::asked_about;
use reenact_engine::contract::{Agent, Effect, Emission, Input, RequestId};
use reenact_wire::prelude::*;

pub(super) const ORACLE: &str = "O-8";

/// Every prompt that was submitted, by number.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct TerminalOracle(Vec<(u32, PromptStanding)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum PromptStanding {
    Open,
    TakenIn,
    Ended,
}

impl TerminalOracle {
    pub(super) fn on_input(&mut self, input: &Input) {
        if let Input::Prompt { prompt, .. } | Input::Interrupt { prompt, .. } = input {
            self.0.push((*prompt, PromptStanding::Open));
        }
    }

    pub(super) fn on_request(&mut self, agent: &Agent, id: RequestId, found: &mut OracleFindings<'_>) {
        self.given_to(agent, id.prompt);
        self.expect_open(id.prompt, || format!("request {id} was sent"), found);
    }

    /// The prompt of a child comes from its parent, inside the engine: it is seen when the child begins.
    fn given_to(&mut self, agent: &Agent, prompt: u32) {
        if !agent.is_root() && self.standing(prompt).is_none() {
            self.0.push((prompt, PromptStanding::Open));
        }
    }

    pub(super) fn on_effect(&mut self, agent: &Agent, effect: &Effect, found: &mut OracleFindings<'_>) {
        if let Effect::LookUp { prompt, .. } | Effect::Emit(Emission::Init { prompt, .. } | Emission::UserPrompt { prompt, .. }) = effect {
            self.given_to(agent, *prompt);
        }
        match effect {
            Effect::StartTool { run, .. } => self.expect_open(run.request.prompt, || format!("tool {run} was started"), found),
            Effect::Emit(Emission::QueuedCommand { prompt, .. }) => self.close(*prompt, PromptStanding::TakenIn, found),
            Effect::Emit(emission) => self.on_emission(emission, found),
            Effect::Finished { prompt, .. } => self.close(*prompt, PromptStanding::Ended, found),
            effect => {
                if let Some(run) = asked_about(effect) {
                    self.expect_open(run.request.prompt, || format!("the user was asked about tool {run}"), found);
                }
            }
        }
    }

    pub(super) fn on_end(&self, found: &mut OracleFindings<'_>) {
        for (prompt, _) in self.0.iter().filter(|(_, standing)| *standing == PromptStanding::Open) {
            found.add(ORACLE, format!("prompt {prompt} has no terminal"));
        }
    }

    /// Whether a prompt has no terminal yet.
    pub(super) fn is_any_open(&self) -> bool {
        self.0.iter().any(|(_, standing)| *standing == PromptStanding::Open)
    }

    fn on_emission(&self, emission: &Emission, found: &mut OracleFindings<'_>) {
        let (prompt, what) = match emission {
            Emission::Init { prompt, .. } => (*prompt, "an init message"),
            Emission::StreamEvent { id, .. } => (id.prompt, "a stream event"),
            Emission::Assistant(message) => (message.id.prompt, "an assistant message"),
            Emission::User(message) => (message.run.request.prompt, "a result"),
            Emission::Progress { run, .. } => (run.request.prompt, "progress"),
            Emission::Interrupted { prompt, .. } => (*prompt, "an interruption message"),
            Emission::ApiRetry { id, .. } => (id.prompt, "a retry message"),
            Emission::Result(result) => (result.prompt, "a result message"),
            // What tools do is said of no prompt.
            _ => return self.expect_any_open(found),
        };
        self.expect_open(prompt, || format!("{what} came out"), found);
    }

    fn expect_any_open(&self, found: &mut OracleFindings<'_>) {
        if !self.is_any_open() {
            found.add(ORACLE, String::from("a message about tools came out, and no prompt is open"));
        }
    }

    fn expect_open(&self, prompt: u32, what: impl Fn() -> String, found: &mut OracleFindings<'_>) {
        match self.standing(prompt) {
            Some(PromptStanding::Open) => (),
            Some(PromptStanding::Ended) => found.add(ORACLE, format!("{} for prompt {prompt} after its terminal", what())),
            Some(PromptStanding::TakenIn) => found.add(ORACLE, format!("{} for prompt {prompt}, which was merged into another", what())),
            None => found.add(ORACLE, format!("{} for prompt {prompt}, which was never submitted", what())),
        }
    }

    fn close(&mut self, prompt: u32, standing: PromptStanding, found: &mut OracleFindings<'_>) {
        found.ask(ORACLE);
        let what = || String::from(if standing == PromptStanding::Ended { "a terminal was given" } else { "a queued message came out" });
        self.expect_open(prompt, what, found);
        if let Some((_, open)) = self.0.iter_mut().find(|(number, _)| *number == prompt) {
            *open = standing;
        }
    }

    fn standing(&self, prompt: u32) -> Option<PromptStanding> {
        self.0.iter().find(|(number, _)| *number == prompt).map(|(_, standing)| *standing)
    }
}
