//! What an answer is made of: its blocks, and the tool uses among them.

use super::setup::Prepared;
use crate::prelude::*;
use crate::wire::assembler::{Assembler, Step};
use crate::wire::block::Block;
use crate::wire::event::Event;
use crate::wire::sse::Framer;
use crate::wire::whole::whole_message;

/// The ids of the tool uses that are complete in an answer, in order.
pub(crate) fn asked_for(answer: &Prepared) -> Vec<Arc<str>> {
    let blocks = blocks(answer.is_stream, &answer.pieces);
    blocks.iter().filter_map(|block| block.as_tool_use().map(|tool_use| tool_use.id.clone())).collect()
}

/// The blocks that are complete in a body, in order.
pub(crate) fn blocks(is_stream: bool, pieces: &[Arc<[u8]>]) -> Vec<Block> {
    if !is_stream {
        let body: Vec<u8> = pieces.iter().flat_map(|piece| piece.iter().copied()).collect();
        return whole_message(&String::from_utf8_lossy(&body)).map_or_else(|_| Vec::new(), |whole| whole.blocks);
    }
    let (mut framer, mut assembler, mut notes) = (Framer::new(), Assembler::new(), Vec::new());
    let mut blocks = Vec::new();
    let mut sink = |frame: crate::wire::sse::Frame<'_>| {
        if let Step::Block { block, .. } = assembler.on_event(&Event::decode(frame.event, frame.data), &mut notes) {
            blocks.push(block);
        }
    };
    for piece in pieces {
        if framer.feed(piece, &mut sink).is_err() {
            break; // the run will say so when it gets there
        }
    }
    blocks
}
