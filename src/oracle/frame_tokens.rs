//! About how many tokens come with the messages of requests. System prompt and tools are mostly those of the request before, and few runs need their size: it is
//! counted where it is asked for.

use core::hash::{Hash, Hasher};

use reenact_wire::json::Json;
use reenact_wire::request::Request;
use reenact_wire::tokens;

/// The largest frame of the requests so far.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct FrameTokens {
    last: SentFrame,
    /// The most tokens of those before it.
    most_before: u64,
}

#[derive(Clone, Debug, Default)]
struct SentFrame {
    system: Option<Json>,
    tools: Option<Json>,
}

/// Its size is what matters later.
impl Hash for SentFrame {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let length = |json: &Option<Json>| json.as_ref().map(|json| json.as_str().len());
        (length(&self.system), length(&self.tools)).hash(state);
    }
}

impl FrameTokens {
    /// A request goes out.
    pub(super) fn see(&mut self, request: &Request) {
        if (&self.last.system, &self.last.tools) != (&request.system, &request.tools) {
            self.most_before = self.most();
            self.last = SentFrame { system: request.system.clone(), tools: request.tools.clone() };
        }
    }

    /// The tokens of the largest frame.
    pub(super) fn most(&self) -> u64 {
        tokens::frame_of(self.last.system.as_ref(), self.last.tools.as_ref()).max(self.most_before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o_12_the_largest_frame_counts() {
        let with = |system: &str, tools: Option<&str>| {
            let (system, tools) = (Some(Json::from_value(system)), tools.map(Json::trusted));
            Request { system, tools, ..Request::new("m", 1) }
        };
        let requests = [with("twelve chars", None), with("twelve chars", Some("[]")), with("so many more than that", None), with("", None)];
        let mut frames = FrameTokens::default();
        let most = requests.each_ref().map(|request| {
            frames.see(request);
            frames.most()
        });
        let [one, two, three, _] = requests.each_ref().map(tokens::frame);
        assert_eq!(most, [one, two, three, three]);
    }
}
