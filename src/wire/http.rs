//! The little of HTTP that answers are made of.

use serde::{Deserialize, Serialize};

use crate::prelude::*;

/// One header as received. Names compare without case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The name.
    pub name: Arc<str>,
    /// The value.
    pub value: Arc<str>,
}

impl Header {
    /// A header.
    pub fn new(name: &str, value: &str) -> Self {
        Self { name: name.into(), value: value.into() }
    }
}

/// The value of the first header called `name`.
pub fn find<'a>(headers: &'a [Header], name: &str) -> Option<&'a str> {
    headers.iter().find(|header| header.name.eq_ignore_ascii_case(name)).map(|header| &*header.value)
}
