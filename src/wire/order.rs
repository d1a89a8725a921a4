//! The order rules of a stream: one table that names every violation and says what it costs (N-4).
//!
//! The official clients disagree about most of these. The rule for choosing: where any of them loses or invents content, it is an error
//! here; where all of them give the whole answer, it is at most noted. [`TABLE`] is the only place that decides, and `order.md` beside
//! this file is [`markdown`] of it.

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::prelude::*;

/// A departure of a stream from the API's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum OrderViolation {
    /// An event of a `type` that is not known, or data without one under a name that is not the API's.
    UnknownEvent,
    /// Data that is not an event, without a name, where events have names or after the end.
    NamelessData,
    /// A ping before `message_start` or after `message_stop`.
    PingOutsideMessage,
    /// An event other than ping and error before `message_start`.
    EventBeforeMessageStart,
    /// A further `message_start`.
    SecondMessageStart,
    /// Data that is not JSON or lacks what its `type` requires.
    MalformedEvent,
    /// `content_block_start` with an index that was used before.
    BlockIndexReused,
    /// `content_block_start` with an index that leaves one out.
    BlockIndexSkipped,
    /// A block begins while another is open.
    BlocksInterleaved,
    /// Content after the first `message_delta`.
    ContentAfterMessageDelta,
    /// A delta for a block that never started.
    DeltaForUnknownBlock,
    /// A delta for a block that has stopped.
    DeltaAfterBlockStop,
    /// A delta that does not belong to its block's type.
    DeltaKindMismatch,
    /// A delta of a `type` that is not known.
    UnknownDelta,
    /// A delta that adds nothing, for a block that takes no such delta or has stopped.
    EmptyDelta,
    /// `content_block_stop` for a block that never started.
    StopForUnknownBlock,
    /// A further `content_block_stop` for the same block.
    SecondBlockStop,
    /// `message_stop` finds a tool use open and the stop reason says that the answer was cut off.
    ToolUseCutOff,
    /// `message_stop` finds another block open, or a tool use without a reason for it.
    BlockNeverStopped,
    /// `message_stop` without a `message_delta` before it.
    NoMessageDelta,
    /// A further `message_stop`.
    SecondMessageStop,
    /// A `message_delta` after `message_stop`.
    MessageDeltaAfterMessageStop,
    /// Another event after `message_stop`.
    EventAfterMessageStop,
    /// An event after `error`, or after a violation that is an error.
    EventAfterFailure,
    /// The stream ends, cleanly, without `message_stop`.
    EndWithoutMessageStop,
}

/// The treatment of a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ViolationVerdict {
    /// Nothing.
    Accept,
    /// The answer stands, the violation is reported beside it.
    Note,
    /// The answer is refused.
    Error,
}

words! {
    /// N-4: how much disorder an answer survives. The official clients differ, so both are in use.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum StreamOrderPolicy default Strict {
        /// As the table of N-4 says.
        Strict = "strict",
        /// Four violations are noted in place of refused: a second `message_start` and what follows `message_stop` are passed over, a block that never
        /// stops is lost, and an answer with its stop reason is whole without `message_stop`.
        Lenient = "lenient",
    }
}

/// Every violation, what is done about it and why, in the order in which a stream can show them.
pub const TABLE: &[(OrderViolation, ViolationVerdict, &str)] = &[
    (
        OrderViolation::UnknownEvent,
        ViolationVerdict::Accept,
        "The API announces that event types may be added. The event stays in the record, and no block depends on it. Gateways end \
         streams with `data: [DONE]` under a name of theirs: SDKs of before October 2026 drop it by its name, later ones fail because \
         it is not JSON, and the answer is complete all the same.",
    ),
    (
        OrderViolation::NamelessData,
        ViolationVerdict::Accept,
        "Both SDKs pass over everything that has no name. Where events have no names at all it may have carried content, and is malformed.",
    ),
    (OrderViolation::PingOutsideMessage, ViolationVerdict::Accept, "A ping may come anywhere and says nothing; both SDKs drop it."),
    (
        OrderViolation::EventBeforeMessageStart,
        ViolationVerdict::Error,
        "The beginning is missing, and with it id, model and input tokens. The Python SDK fails; the TypeScript SDK drops such \
         events.",
    ),
    (
        OrderViolation::SecondMessageStart,
        ViolationVerdict::Error,
        "The Python SDK passes over it and then writes the second answer's deltas into the first one's blocks; the TypeScript SDK \
         fails.",
    ),
    (
        OrderViolation::MalformedEvent,
        ViolationVerdict::Error,
        "It may have carried content. Both SDKs fail on it, but for three kinds: a block's start without a number, which they never \
         read; a tool use without id or name, which can neither be run nor be answered; a stop reason that is no text, which \
         leaves the next step open.",
    ),
    (
        OrderViolation::BlockIndexReused,
        ViolationVerdict::Error,
        "Both SDKs append a block but write its deltas into the older one: content in the wrong place. A block without deltas would \
         come whole there; whether any come is not known when it begins.",
    ),
    (
        OrderViolation::BlockIndexSkipped,
        ViolationVerdict::Error,
        "A whole block was lost on the way. Both SDKs number blocks by their order of arrival, so deltas find none or the wrong one. \
         A block without deltas would come whole there, but nobody knows what was lost.",
    ),
    (
        OrderViolation::BlocksInterleaved,
        ViolationVerdict::Note,
        "Every event carries its index, so no content is lost. Noted because the API was never seen to do it, and because the \
         TypeScript SDK hands over the newest block whichever one stops.",
    ),
    (
        OrderViolation::ContentAfterMessageDelta,
        ViolationVerdict::Note,
        "The documented order has all blocks before it, but both SDKs take the content, and nothing is lost.",
    ),
    (OrderViolation::DeltaForUnknownBlock, ViolationVerdict::Error, "There is nothing to add it to; both SDKs fail."),
    (
        OrderViolation::DeltaAfterBlockStop,
        ViolationVerdict::Error,
        "Both SDKs change a block that was already handed over as complete; a tool may be running with its input. Only a client that \
         waits for the whole answer gets it whole.",
    ),
    (OrderViolation::DeltaKindMismatch, ViolationVerdict::Error, "Both SDKs drop it in silence, and its content with it."),
    (
        OrderViolation::UnknownDelta,
        ViolationVerdict::Note,
        "The API may add delta types, and both SDKs pass over them. Noted because the block that is sent back cannot contain it.",
    ),
    (OrderViolation::EmptyDelta, ViolationVerdict::Accept, "There is nothing in it to lose; both SDKs pass over it."),
    (
        OrderViolation::StopForUnknownBlock,
        ViolationVerdict::Error,
        "The block that it completes was lost on the way. The Python SDK fails; the TypeScript SDK hands over another block.",
    ),
    (
        OrderViolation::SecondBlockStop,
        ViolationVerdict::Note,
        "Both SDKs have the whole answer. Noted because the TypeScript SDK's `contentBlock` event comes twice; here a block is handed \
         over once.",
    ),
    (
        OrderViolation::ToolUseCutOff,
        ViolationVerdict::Note,
        "The API itself leaves out the stop when max_tokens falls into a tool use. Both SDKs then show an input that the model did \
         not finish; here the block is closed as incomplete, neither run nor sent back, so nothing is invented.",
    ),
    (
        OrderViolation::BlockNeverStopped,
        ViolationVerdict::Error,
        "The API stops every other block, so something was lost on the way, and it may not be the stop alone. Claude Code loses the block \
         and asks again; both SDKs take what is there for the whole, a tool's half input too.",
    ),
    (
        OrderViolation::NoMessageDelta,
        ViolationVerdict::Note,
        "Every client gives the whole content, without a stop reason and with the first token counts. Nothing is missing, and nothing \
         noted, where `message_start` brought the whole answer with its stop reason.",
    ),
    (
        OrderViolation::SecondMessageStop,
        ViolationVerdict::Note,
        "Both SDKs have the whole answer. Noted because the TypeScript SDK lists it twice; here it ends once.",
    ),
    (
        OrderViolation::MessageDeltaAfterMessageStop,
        ViolationVerdict::Note,
        "Both SDKs have the whole content and take the token counts. Noted because the Python SDK takes its stop reason, too; the \
         TypeScript SDK and this one keep the one that `message_stop` found.",
    ),
    (
        OrderViolation::EventAfterMessageStop,
        ViolationVerdict::Error,
        "The Python SDK adds a delta or a block to an answer that was complete; the TypeScript SDK and Claude Code pass over it.",
    ),
    (OrderViolation::EventAfterFailure, ViolationVerdict::Accept, "The stream has failed already and is read no further, as in the SDKs."),
    (
        OrderViolation::EndWithoutMessageStop,
        ViolationVerdict::Error,
        "The Python SDK and Claude Code take a part of an answer for the whole; the TypeScript SDK fails.",
    ),
];

impl OrderViolation {
    /// Its stable name, as in transcripts and in `order.md`.
    pub fn name(self) -> &'static str {
        match self {
            Self::UnknownEvent => "unknown-event",
            Self::NamelessData => "nameless-data",
            Self::PingOutsideMessage => "ping-outside-message",
            Self::EventBeforeMessageStart => "event-before-message-start",
            Self::SecondMessageStart => "second-message-start",
            Self::MalformedEvent => "malformed-event",
            Self::BlockIndexReused => "block-index-reused",
            Self::BlockIndexSkipped => "block-index-skipped",
            Self::BlocksInterleaved => "blocks-interleaved",
            Self::ContentAfterMessageDelta => "content-after-message-delta",
            Self::DeltaForUnknownBlock => "delta-for-unknown-block",
            Self::DeltaAfterBlockStop => "delta-after-block-stop",
            Self::DeltaKindMismatch => "delta-kind-mismatch",
            Self::UnknownDelta => "unknown-delta",
            Self::EmptyDelta => "empty-delta",
            Self::StopForUnknownBlock => "stop-for-unknown-block",
            Self::SecondBlockStop => "second-block-stop",
            Self::ToolUseCutOff => "tool-use-cut-off",
            Self::BlockNeverStopped => "block-never-stopped",
            Self::NoMessageDelta => "no-message-delta",
            Self::SecondMessageStop => "second-message-stop",
            Self::MessageDeltaAfterMessageStop => "message-delta-after-message-stop",
            Self::EventAfterMessageStop => "event-after-message-stop",
            Self::EventAfterFailure => "event-after-failure",
            Self::EndWithoutMessageStop => "end-without-message-stop",
        }
    }

    /// The treatment of the violation, by [`TABLE`].
    pub fn verdict(self) -> ViolationVerdict {
        self.row().1
    }

    /// The treatment of the violation under a policy that may let more pass than the table.
    pub fn verdict_by(self, policy: StreamOrderPolicy) -> ViolationVerdict {
        match (policy, self) {
            (StreamOrderPolicy::Lenient, Self::SecondMessageStart | Self::EventAfterMessageStop | Self::BlockNeverStopped) => {
                ViolationVerdict::Note
            }
            _ => self.verdict(),
        }
    }

    /// Why, by [`TABLE`].
    pub fn reason(self) -> &'static str {
        self.row().2
    }

    fn row(self) -> &'static (Self, ViolationVerdict, &'static str) {
        TABLE.iter().find(|row| row.0 == self).expect("the table has a row for every violation, which a test checks")
    }
}

impl ViolationVerdict {
    /// The word in `order.md`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Note => "note",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for OrderViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// [`TABLE`] as a Markdown table.
pub fn markdown() -> String {
    let mut out = String::from("| violation | verdict | why |\n|---|---|---|\n");
    for (violation, verdict, reason) in TABLE {
        out.push_str(&format!("| `{violation}` | {} | {reason} |\n", verdict.as_str()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n_4_every_violation_has_one_row() {
        // The order of the enum is the order of the table, so the last one's number tells how many there are.
        assert_eq!(TABLE.len(), OrderViolation::EndWithoutMessageStop as usize + 1);
        for (place, (violation, verdict, reason)) in TABLE.iter().enumerate() {
            assert_eq!(*violation as usize, place, "{violation} stands elsewhere in the table than in the enum");
            assert_eq!((violation.verdict(), violation.reason()), (*verdict, *reason));
            assert_eq!(serde_json::to_value(violation).unwrap(), violation.name(), "written and shown alike");
        }
    }

    #[test]
    fn n_4_the_table_in_the_documents_is_fresh() {
        assert_eq!(
            include_str!("order.md"),
            markdown(),
            "order.md is stale: cargo test -p reenact --lib write_the_order_table -- --ignored"
        );
    }

    #[test]
    #[ignore = "writes src/wire/order.md anew"]
    fn write_the_order_table() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/order.md"), markdown()).unwrap();
    }
}
