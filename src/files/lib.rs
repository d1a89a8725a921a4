//! Reading and writing: the first room with the world outside. It opens files for the other rooms; `live` and `cli` open some of their own, and no
//! pure room opens any.
//!
//! The pure rooms decide what a file means; here it is only read and written, whole or not at all.
//!
//! Its rules: `docs/rules/files.md` (F), `docs/rules/record.md` (importers K-5, secrets K-2).

extern crate alloc;

pub mod atomic;
pub mod compression;
mod file_set;
pub mod import;
#[doc(hidden)]
pub mod open;
pub mod plan;
pub mod redact;
pub mod scenario;
pub mod schema;
pub mod snapshot;
pub mod tape;
#[doc(hidden)]
pub mod text;
