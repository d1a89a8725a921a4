//! Everything that an engine can want done.

use serde::{Deserialize, Serialize};

use super::input::Catalogue;
use super::terminal::Terminal;
use super::{RequestId, TimerId, ToolRun};
use crate::emission::{Emission, Note};
use crate::hook::{HookInput, HookRun};
use crate::time::Time;
use reenact_wire::block::ToolUse;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::request::Request;

/// Everything that an engine can want done.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Send a request; answer with `Head`, then `Stream` or `Body`, then `End`.
    Request {
        /// Its name from now on.
        id: RequestId,
        /// The request.
        request: Arc<Request>,
    },
    /// The answer no longer matters; nothing more of it need come.
    CloseRequest {
        /// The id of the request.
        id: RequestId,
    },
    /// Run a tool; answer with `ToolProgress` as it comes and one `ToolEnded`.
    StartTool {
        /// Its name from now on.
        run: ToolRun,
        /// The tool use.
        tool_use: Arc<ToolUse>,
    },
    /// Stop a running tool; `ToolEnded` still comes when it has ended.
    StopTool {
        /// The run of the tool.
        run: ToolRun,
    },
    /// Get new credentials; answer with `AuthRefreshed`.
    RefreshAuth {
        /// For which request.
        id: RequestId,
        /// Whether the old ones are known to be revoked.
        forced: bool,
        /// The cloud provider whose credentials they are; `None` for the API's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider: Option<Arc<str>>,
    },
    /// Let a tool look at its input before it runs; answer with `ToolChecked` (T-22).
    CheckTool {
        /// Its name from now on.
        run: ToolRun,
        /// The tool use.
        tool_use: Arc<ToolUse>,
    },
    /// Run a hook; answer with `HookEnded` (T-23, T-26, Q-16, C-4).
    RunHook {
        /// Its name from now on.
        hook: HookRun,
        /// Its input.
        input: Arc<HookInput>,
    },
    /// Stop a hook: its answer no longer matters.
    StopHook {
        /// The run of the hook.
        hook: HookRun,
    },
    /// Ask a person whether a tool may run; answer with `PermissionAnswered` (T-24).
    AskPermission {
        /// The run of the tool.
        run: ToolRun,
        /// The tool use that needs the permission.
        tool_use: Arc<ToolUse>,
        /// The reason of the question.
        reason: Arc<str>,
        /// Rules that would make the question needless, as a person could choose them.
        suggestions: Vec<Arc<str>>,
    },
    /// The question is no longer asked.
    WithdrawPermission {
        /// The run that it is about.
        run: ToolRun,
    },
    /// Store a large result as a file; answer with `ResultStored` (T-27).
    StoreResult {
        /// The run whose result this is.
        run: ToolRun,
        /// The content: a JSON string or a JSON array of blocks.
        content: Json,
    },
    /// Look up skills or plugins; answer with `LookedUp` (S-4).
    LookUp {
        /// The catalogue: skills or plugins.
        what: Catalogue,
        /// For which prompt.
        #[serde(default)]
        prompt: u32,
    },
    /// Ask the user what a tool's server asks; answer with `ElicitationAnswered` (S-11).
    Elicit {
        /// The run of the tool.
        run: ToolRun,
        /// The question.
        message: Arc<str>,
    },
    /// Give a tool's server the answer to what it asked (S-11).
    AnswerElicitation {
        /// The run of the tool.
        run: ToolRun,
        /// The answer; `None` when it is declined.
        answer: Option<Arc<str>>,
    },
    /// Give `Timer` at the given time, or at once if that is past.
    SetTimer {
        /// Which timer and which setting of it.
        timer: TimerId,
        /// The time at which the timer rings.
        at: Time,
    },
    /// Something for consumers: messages, results, stream events.
    Emit(Emission),
    /// Something that only a transcript shows: transitions, tool states, defects.
    Note(Note),
    /// The prompt is answered. Nothing comes after this for the prompt.
    Finished {
        /// The number of the prompt.
        prompt: u32,
        /// The reason.
        terminal: Terminal,
    },
    /// The timer need not ring any more. One that rings all the same is ignored.
    CancelTimer {
        /// Which timer and which setting of it.
        timer: TimerId,
    },
    /// A tool use begins that agents of the engine's own work on (B-8): nothing is asked for by this, and what they want carries their address.
    StartAgent {
        /// The run of the tool.
        run: ToolRun,
        /// The tool use.
        tool_use: Arc<ToolUse>,
    },
    /// Withdraw the question of a tool's server: the tool is stopping, or has ended without the answer (S-11).
    WithdrawElicitation {
        /// The run that it is about.
        run: ToolRun,
    },
}
