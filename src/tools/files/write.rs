//! Write: the whole content of a file (B-4).

use serde::Deserialize;

use reenact_wire::prelude::*;

/// The input of Write.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct WriteInput {
    pub(crate) file_path: String,
    pub(crate) content: String,
}
