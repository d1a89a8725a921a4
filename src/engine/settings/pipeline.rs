//! Figures of the pipeline that each tool use goes through (T-13, T-27, T-29).

use super::table::settings;
use crate::engine::time::Micros;

settings! {
    ($)
    /// Settings of the pipeline.
    #[derive(Eq)]
    pub struct PipelineSettings, keys pipeline_keys {
        /// Whether inputs are held against the schemas of their tools before anything else (T-21). Where what came of each use is known already, a
        /// client that did not look should not be replayed by one that does.
        check_inputs: bool = true;
        /// The size of a result, in characters, over which it is stored or cut where its tool names no other (T-27, B-12).
        result_limit: u64 = 100_000, unit("characters");
        /// How many characters of a stored result the model sees (T-27).
        result_preview: u64 = 2_000, unit("characters");
        /// Whether a shell command that ends with another exit code than 0 aborts its siblings, like one that cannot start or takes too long (T-13,
        /// T-28).
        exit_code_aborts: bool = true;
        /// From how long on the hooks of a point are worth a word (T-29).
        hooks_shown_from: Micros = Micros::from_millis(500);
        /// From how long on any other step is (T-29).
        slow_from: Micros = Micros::from_secs(2);
    }
}
