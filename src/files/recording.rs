//! Recordings of other programs: their format, and their values one by one (K-5).
//!
//! People name what they have. A message about a file that is no tape and no scenario says what the file is instead, and `import` makes a tape of it.
//! Both read it here, so they agree.

#[doc(hidden)]
pub mod base64_text;
#[doc(hidden)]
pub mod entries;
#[doc(hidden)]
pub mod format;
#[doc(hidden)]
pub mod json;
#[doc(hidden)]
pub mod node;
#[doc(hidden)]
pub mod source;
#[doc(hidden)]
pub mod yaml;

use std::io;
use std::ops::ControlFlow;

use self::entries::{EntrySink, FileEntry};
pub use self::format::RecordingFormat;
use self::format::{ValueKind, kind};
use self::node::DataNode;
use self::source::{FileSyntax, RecordingSource, SourceError};

/// The name of this recording's format for users, whether it can be imported or not; `None` for unknown formats. No more is read than it takes.
pub fn format_name(reader: impl io::Read) -> Option<&'static str> {
    match RecordingSource::open(reader) {
        Ok(source) => FormatProbe::name(source),
        Err(SourceError::Foreign(foreign)) => Some(foreign.what),
        Err(_) => None,
    }
}

/// Finds out what a file is, and reads no further.
#[derive(Default)]
struct FormatProbe(Option<&'static str>);

impl FormatProbe {
    /// The name for users of the recording, or of the other thing, that a file is.
    fn name(source: RecordingSource<'_>) -> Option<&'static str> {
        let mut probe = Self::default();
        match source.syntax {
            FileSyntax::Sse => return Some(RecordingFormat::Sse.name()),
            FileSyntax::Httprr => return Some(RecordingFormat::Httprr.name()),
            // A file that breaks off later is what its beginning is.
            FileSyntax::Json => drop(json::read(source, &mut probe)),
            FileSyntax::Yaml => drop(yaml::read(source, &mut probe)),
        }
        probe.0
    }
}

impl EntrySink for FormatProbe {
    fn list(&mut self, name: &str) {
        if !name.is_empty() {
            self.0 = Some(RecordingFormat::from_list(name).name());
        }
    }

    fn entry(&mut self, entry: FileEntry<'_>) -> ControlFlow<()> {
        self.0 = match kind(entry.list, &entry.node) {
            ValueKind::Recording(format) => Some(format.name()),
            ValueKind::NotYet(name) | ValueKind::OtherApi(name) => Some(name),
            ValueKind::Foreign(foreign) => Some(foreign.what),
            ValueKind::Tape | ValueKind::Unknown => self.0,
        };
        ControlFlow::Break(())
    }

    fn member(&mut self, _: &str, _: DataNode) {}

    fn broken(&mut self, _: String, _: String) -> ControlFlow<()> {
        ControlFlow::Break(())
    }

    fn cut(&mut self) {}
}
