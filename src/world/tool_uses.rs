//! What an answer is made of: its blocks, and the tool uses among them.

use super::setup::Prepared;
use crate::prelude::*;
use crate::wire::block::Block;
use crate::wire::reply::Reply;

/// The ids of the tool uses that are complete in an answer, in order.
pub(crate) fn asked_for(answer: &Prepared) -> Vec<Arc<str>> {
    let blocks = blocks(answer.is_stream, &answer.pieces);
    blocks.iter().filter_map(|block| block.as_tool_use().map(|tool_use| tool_use.id.clone())).collect()
}

/// What a body brings.
pub(crate) fn reply(is_stream: bool, pieces: &[Arc<[u8]>]) -> Reply {
    let mut reply = Reply::new(is_stream);
    pieces.iter().for_each(|piece| reply.feed(piece));
    reply
}

/// The blocks that are complete in a body, in order.
pub(crate) fn blocks(is_stream: bool, pieces: &[Arc<[u8]>]) -> Vec<Block> {
    reply(is_stream, pieces).into_blocks()
}
