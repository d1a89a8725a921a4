//! The built-in tools of a coding agent (B-1 to B-10): their contract, what they decide, and a workspace in memory.
//!
//! ```text
//!   BuiltinTool ──> definition, check (values, P-4, P-2), BuiltinCall
//!   BuiltinCall ── step ──> Workspace (files)        Work · Sleep · Progress · one Done
//!                        ├── VirtualWorkspace     in memory, deterministic
//!                        └── a directory          in a room that opens files
//! ```
//!
//! A tool is a value. It has no files of its own: what it reads and writes stands behind the trait [`Workspace`], so it does the same in memory and in a
//! directory. Its call is a small machine. Its driver decides how much time passes between two steps.
//!
//! Its rules are in `docs/rules/tools.md` (B-1 to B-12, P-1 to P-5).

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod builtin;
pub mod call;
mod change;
mod check;
mod file_kind;
mod files;
pub mod inputs;
pub mod instructions;
pub mod line_text;
pub mod outcome;
pub mod read_state;
pub mod sandbox;
pub mod search;
pub mod shell_run;
mod site;
pub mod todo;
mod tool_texts;
pub mod virtual_workspace;
pub mod web_address;
pub mod workspace;

pub use builtin::BuiltinTool;
pub use site::ToolSite;
pub use tool_texts::ToolTexts;
pub use workspace::Workspace;

#[cfg(test)]
mod tests;
