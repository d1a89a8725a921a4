//! The tables of a scenario file whose keys are not the fields of one type: the keys as they stand there, and how they become the type.

pub(crate) mod drive;
pub(crate) mod fault;
pub(crate) mod file;
pub(crate) mod hook;
pub(crate) mod host;
pub(crate) mod interrupt;
pub(crate) mod network;
pub(crate) mod outcome;
pub(crate) mod permission;
pub(crate) mod plan;
pub(crate) mod prompt;
pub(crate) mod reply;
pub(crate) mod run;
pub(crate) mod session;
pub(crate) mod texts;
pub(crate) mod tool;
pub(crate) mod workspace;
