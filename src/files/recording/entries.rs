//! The exchanges of a file, one after another, so that a file of any size is read with the memory of its largest exchange (K-5).

use std::ops::ControlFlow;

use super::node::DataNode;

/// The lists that hold exchanges, as the recorders call them. `entries` stand in HAR's `log`.
pub const LISTS: [&str; 6] = ["interactions", "http_interactions", "entries", "exchanges", "recordings", "mappings"];

/// One value of a file that may be an exchange.
#[derive(Debug)]
pub struct FileEntry<'a> {
    /// The list that it stands in; empty for a value that stands alone.
    pub list: &'a str,
    /// Where, for people: `interactions[3]`, `document 2`.
    pub place: String,
    /// The value.
    pub node: DataNode,
    /// The value as JSON spells it; `None` where the file is not JSON.
    pub text: Option<&'a str>,
}

/// Where the parts of a file go as they are read.
pub trait EntrySink {
    /// A list of exchanges begins.
    fn list(&mut self, name: &str);

    /// The next value. `Break` when no further one is wanted.
    fn entry(&mut self, entry: FileEntry<'_>) -> ControlFlow<()>;

    /// A member beside the list of exchanges.
    fn member(&mut self, name: &str, value: DataNode);

    /// A line that is not JSON. `Break` when the rest is of no use without it.
    fn broken(&mut self, place: String, problem: String) -> ControlFlow<()>;

    /// The file ends in the middle of its last line.
    fn cut(&mut self);
}

/// The place of an entry in its list.
pub fn place(list: &str, index: usize) -> String {
    format!("{list}[{index}]")
}
