//! Reading and writing: the first room with the world outside. It opens files for the other rooms; `live` and `cli` open some of their own, and no
//! pure room opens any.
//!
//! The pure rooms decide what a file means; here it is only read and written, whole or not at all.
//!
//! Its rules: `docs/rules/files.md` (F).

extern crate alloc;

pub mod atomic;
pub mod compression;
#[doc(hidden)]
pub mod content_folder;
#[doc(hidden)]
pub mod file_set;
#[doc(hidden)]
pub mod open;
pub mod plan;
pub mod recording;
pub mod scenario;
pub mod schema;
pub mod session_files;
pub mod shell_word;
pub mod snapshot;
pub mod tape;
#[doc(hidden)]
pub mod text;
