//! The little of HTTP that answers are made of.

use serde::{Deserialize, Serialize};

use crate::prelude::*;

/// One header as received. Names compare without case.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct HttpHeader {
    /// The name.
    pub name: Arc<str>,
    /// The value.
    pub value: Arc<str>,
}

impl HttpHeader {
    /// A header.
    pub fn new(name: &str, value: &str) -> Self {
        Self { name: name.into(), value: value.into() }
    }
}

/// Whether headers speak of a stream of events; `None` when they do not say what they come with.
pub fn is_event_stream(headers: &[HttpHeader]) -> Option<bool> {
    find(headers, "content-type").map(|kind| kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream"))
}

/// The value of the first header called `name`.
pub fn find<'a>(headers: &'a [HttpHeader], name: &str) -> Option<&'a str> {
    headers.iter().find(|header| header.name.eq_ignore_ascii_case(name)).map(|header| &*header.value)
}

/// Whether a header belongs to the connection and not to its messages: the writer of the connection writes these.
pub fn is_of_connection(name: &str) -> bool {
    const OF_CONNECTION: [&str; 8] =
        ["connection", "content-encoding", "content-length", "keep-alive", "proxy-connection", "trailer", "transfer-encoding", "upgrade"];
    OF_CONNECTION.iter().any(|known| name.eq_ignore_ascii_case(known))
}
