//! Deterministic simulation and replay of LLM agent loops.
//!
//! Start with [`engine::contract`], which an engine under test implements, and [`runner::run_file`], which runs a scenario against it.
//! ARCHITECTURE.md explains the structure. `docs/rules` has the requirements, a page for each subject: an id such as Q-13 in these docs is a heading
//! there (`docs/rules/query.md#q-13`), and `cargo xtask rules --rule Q-13` prints it. `docs/glossary.md` explains the words.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

#[cfg(all(feature = "cli", unix))]
pub(crate) use reenact_wire::prelude;

/// The examples of the README and of these pages in `docs` are tests.
#[cfg(all(doctest, feature = "files"))]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../docs/engine.md")]
#[doc = include_str!("../docs/strategies.md")]
struct Readme;

#[cfg(all(feature = "live", not(unix)))]
compile_error!(
    "the features `live`, `network` and `cli` need Unix, because clients are started and watched there: build for Linux or macOS, or the library \
     with `--no-default-features --features files`"
);

#[cfg(all(feature = "live", unix))]
pub use reenact_children as children;
#[cfg(all(feature = "cli", unix))]
pub mod cli;
#[cfg(all(feature = "directory", unix))]
pub use reenact_directory as directory;
pub use reenact_engine as engine;
pub use reenact_explore as explore;
#[cfg(feature = "files")]
pub use reenact_files as files;
pub use reenact_foreign as foreign;
#[cfg(feature = "files")]
pub use reenact_import as import;
#[cfg(all(feature = "live", unix))]
pub use reenact_live as live;
pub use reenact_oracle as oracle;
#[cfg(feature = "files")]
pub use reenact_redact as redact;
#[cfg(feature = "files")]
pub use reenact_review as review;
#[cfg(feature = "files")]
pub use reenact_runner as runner;
pub use reenact_scenario as scenario;
pub use reenact_shell as shell;
pub use reenact_sim as sim;
pub use reenact_stores as stores;
#[cfg(feature = "proptest")]
pub use reenact_strategies as strategies;
pub use reenact_timeline as timeline;
#[cfg(all(feature = "live", unix))]
pub use reenact_tool_host as tool_host;
pub use reenact_tools as tools;
pub use reenact_transcript as transcript;
pub use reenact_wire as wire;
pub use reenact_world as world;
