//! Commands of a shell, read and never run (W-1 to W-3, B-5, P-2).
//!
//! ```text
//!   text ──> lexer ──> lexemes ──┬──> words      what a program would get, with variables and structured values
//!                                ├──> readers    whether the whole command only reads
//!                                └──> dangers    what of it must be asked about
//! ```
//!
//! The shell is that of POSIX (`sh`). What other shells add is read as far as it hides commands: `|&`, `<<<`, `<(…)`.
//! A command that is not understood is an error with its place; it is never taken for harmless.

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod command_text;
mod dangers;
mod lexeme;
mod lexer;
mod readers;
mod sentinel;
mod simple_command;
mod words;

pub use command_text::{CommandText, command_texts};
pub use dangers::{Danger, StartedPrograms, danger, started_programs};
pub use lexeme::{CommandWord, Lexeme, Operator, ShellToken, WordPart};
pub use lexer::{ShellError, ShellProblem, lexemes};
pub use readers::only_reads;
pub use sentinel::Sentinel;
pub use simple_command::{CommandEnd, Redirection, SimpleCommand, simple_commands};
pub use words::{ShellWord, words};

#[cfg(test)]
mod tests;
