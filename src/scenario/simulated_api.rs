//! `[api]`: the limits and refusals of the simulated API beside the general ones (M-2).

use crate::language::keys::keys;
use crate::parse::reader::TableReader;
use reenact_engine::time::Micros;
use reenact_wire::models::SignaturePolicy;
use reenact_wire::prelude::*;

keys! {
    /// The limits and refusals of the simulated API beside the general ones (M-2, N-6).
    #[derive(Eq)]
    pub struct SimulatedApi check check_api {
        /// The context window. The API refuses a longer prompt. By default every prompt fits.
        context_window: Option<u64> = None, unit("tokens"), example("200000");
        /// Whether scripted answers without `input_tokens` carry an estimate. With a window they always do.
        count_tokens: bool = false;
        /// Whether `max_tokens` must fit into the window beside the prompt. By default as the model has it (before 4.5: yes).
        counts_max_tokens: Option<bool> = None;
        /// Models that exist beside `claude-*` and those that the scenario names. A client that asks another one gets 404.
        models: Vec<Arc<str>> = Vec::new(), example("[\"local-7b\"]");
        /// Whether refusals of the API are remarks only, and the requests are taken.
        lenient: bool = false;
        /// The treatment of thinking that is not in its place. By default as the model has it.
        signatures: Option<SignaturePolicy> = None;
        /// For how long an answer that the client has closed still comes in: what was on its way already. A closed connection may have its events in a queue of the client.
        lingers: Micros = Micros::ZERO, example("\"10s\"");
    }
}

impl SimulatedApi {
    /// Whether answers say how many tokens their requests had.
    pub fn tells_tokens(&self) -> bool {
        self.count_tokens || self.context_window.is_some()
    }
}

/// A limit says nothing about a window that is not there.
fn check_api(api: &SimulatedApi, reader: &mut TableReader<'_, '_>) {
    if let (None, Some(_)) = (api.context_window, api.counts_max_tokens) {
        reader.key_problem("counts_max_tokens", "`counts_max_tokens` needs a `context_window`: add one, or remove this key".into());
    }
}
