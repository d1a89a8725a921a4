//! The document of `show`: the timeline as it is, with times in microseconds from the start of the recording.

use std::path::Path;

use serde::Serialize;

use super::REPORT_VERSION;
use crate::timeline::SessionTimeline;

/// Everything that a `show` has to say.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct ShowReportDocument<'a> {
    reenact_show_report: u32,
    file: String,
    #[serde(flatten)]
    timeline: &'a SessionTimeline,
    /// The exit code.
    exit: u8,
}

impl<'a> ShowReportDocument<'a> {
    pub(in crate::cli) fn new(file: &Path, timeline: &'a SessionTimeline, exit: u8) -> Self {
        Self { reenact_show_report: REPORT_VERSION, file: file.display().to_string(), timeline, exit }
    }
}
