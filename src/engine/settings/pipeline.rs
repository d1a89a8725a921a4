//! Figures of the pipeline that each tool use goes through (T-13, T-27, T-29).

use super::table::settings;
use crate::time::Micros;

settings! {
    ($)
    /// The pipeline of each tool use (T-13, T-27, T-29).
    #[derive(Eq)]
    pub struct PipelineSettings, keys pipeline_keys {
        /// Whether the input of a tool use must fit the tool's schema before anything else happens (T-21).
        check_inputs: bool = true;
        /// A longer result is stored or cut (T-27, B-12). A tool's own `result_limit` wins.
        result_limit: u64 = 100_000, unit("characters");
        /// How many characters of a stored result the model sees (T-27).
        result_preview: u64 = 2_000, unit("characters");
        /// Whether a shell command that ends with another exit code than 0 has failed (T-13, T-28).
        exit_code_aborts: bool = true;
        /// Hooks that take longer get a line in the report (T-29).
        hooks_shown_from: Micros = Micros::from_millis(500);
        /// Any other step that takes longer gets a line in the report (T-29).
        slow_from: Micros = Micros::from_secs(2);
    }
}
