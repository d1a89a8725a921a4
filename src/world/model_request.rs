//! A request as the simulated model sees it.

use reenact_engine::contract::{Agent, RequestId};
use reenact_engine::time::Time;
use reenact_scenario::script::AnswerOrigin;
use reenact_wire::request::Request;
use reenact_wire::validate::Refusal;

/// A request at the server.
#[derive(Clone, Debug)]
pub(crate) struct ModelRequest<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) id: RequestId,
    pub(crate) request: &'a Request,
    pub(crate) now: Time,
    /// The owners of the scripted answers that it may get, the first first.
    pub(crate) origins: &'a [AnswerOrigin],
    /// Whether it gets the default answer when none is left: requests may exist because of an injection alone (M-3).
    pub(crate) gets_default: bool,
    /// The API's verdict on its head.
    pub(crate) of_head: Option<Refusal>,
    /// The API's verdict on members of its body that only clients send.
    pub(crate) of_body: Option<Refusal>,
}
