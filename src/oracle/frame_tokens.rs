//! About how many tokens come with the messages of a request. System prompt and tools are mostly those of the request before, and are counted once.

use core::hash::{Hash, Hasher};

use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use reenact_wire::request::Request;
use reenact_wire::tokens;

/// The frame that was counted last.
#[derive(Clone, Debug, Default)]
pub(super) struct FrameTokens(Option<Arc<CountedFrame>>);

#[derive(Debug)]
struct CountedFrame {
    system: Option<Json>,
    tools: Option<Json>,
    tokens: u64,
}

/// The same is counted without it: no part of a state's key (E-3).
impl Hash for FrameTokens {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl FrameTokens {
    /// The tokens of the frame of a request.
    pub(super) fn count(&mut self, request: &Request) -> u64 {
        let is_known = |frame: &&Arc<CountedFrame>| (&frame.system, &frame.tools) == (&request.system, &request.tools);
        if let Some(frame) = self.0.as_ref().filter(is_known) {
            return frame.tokens;
        }
        let tokens = tokens::frame(request);
        self.0 = Some(Arc::new(CountedFrame { system: request.system.clone(), tools: request.tools.clone(), tokens }));
        tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o_12_another_frame_is_counted_anew() {
        let with = |system: &str, tools: Option<&str>| {
            let (system, tools) = (Some(Json::from_value(system)), tools.map(Json::trusted));
            Request { system, tools, ..Request::new("m", 1) }
        };
        let mut frames = FrameTokens::default();
        for request in
            [with("twelve chars", None), with("twelve chars", None), with("twelve chars", Some("[]")), with("more than that", None)]
        {
            assert_eq!(frames.count(&request), tokens::frame(&request), "{:?}", request.system);
        }
    }
}
