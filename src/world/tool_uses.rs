//! Which tool uses an answer asks for.

use super::setup::Prepared;
use crate::prelude::*;
use crate::wire::assembler::{Assembler, Step};
use crate::wire::block::Block;
use crate::wire::event::Event;
use crate::wire::sse::Framer;
use crate::wire::whole::whole_message;

/// The ids of the tool uses that are complete in an answer, in order.
pub(crate) fn asked_for(answer: &Prepared) -> Vec<Arc<str>> {
    let id = |block: &Block| block.as_tool_use().map(|tool_use| tool_use.id.clone());
    if !answer.is_stream {
        let body: Vec<u8> = answer.pieces.iter().flat_map(|piece| piece.iter().copied()).collect();
        let whole = whole_message(&String::from_utf8_lossy(&body));
        return whole.map_or_else(|_| Vec::new(), |whole| whole.blocks.iter().filter_map(id).collect());
    }
    let (mut framer, mut assembler, mut notes) = (Framer::new(), Assembler::new(), Vec::new());
    let mut ids = Vec::new();
    let mut sink = |frame: crate::wire::sse::Frame<'_>| {
        if let Step::Block { block, .. } = assembler.on_event(&Event::decode(frame.event, frame.data), &mut notes) {
            ids.extend(id(&block));
        }
    };
    for piece in answer.pieces.iter() {
        if framer.feed(piece, &mut sink).is_err() {
            break; // the run will say so when it gets there
        }
    }
    ids
}
