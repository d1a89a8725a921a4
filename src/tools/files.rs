//! Tools that read and write one file: Read, Edit, MultiEdit, Write (B-1 to B-4).

pub(crate) mod edit;
pub(crate) mod edited_text;
mod image_size;
pub(crate) mod notebook;
pub(crate) mod read;
pub(crate) mod write;
