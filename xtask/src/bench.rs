//! `cargo xtask bench`: how fast we are beside others, as ratios that must hold.
//!
//! An absolute time says more about the machine than about the program, so each bar is a ratio of two ways that are measured in turns
//! within one run. What it is measured against (and our own library) are dependencies that nothing else of xtask needs, so they are
//! behind the feature `bench`, and the command starts itself again with it.

#[cfg(feature = "bench")]
mod bare;
#[cfg(feature = "bench")]
mod bars;
#[cfg(feature = "bench")]
mod body;
#[cfg(feature = "bench")]
mod client;
#[cfg(feature = "bench")]
mod decode;
#[cfg(feature = "bench")]
mod foreign;
#[cfg(feature = "bench")]
mod framing;
#[cfg(feature = "bench")]
mod level;
#[cfg(feature = "bench")]
mod network;
#[cfg(feature = "bench")]
mod outcome;
#[cfg(feature = "bench")]
mod peers;
#[cfg(feature = "bench")]
mod record;
#[cfg(feature = "bench")]
mod redact;
#[cfg(feature = "bench")]
mod rounds;
#[cfg(feature = "bench")]
mod run;
#[cfg(feature = "bench")]
mod serve;
#[cfg(feature = "bench")]
mod session;
#[cfg(feature = "bench")]
mod start;
#[cfg(feature = "bench")]
mod sweep;
#[cfg(feature = "bench")]
mod typed_parser;
#[cfg(feature = "bench")]
mod upstream;
#[cfg(feature = "bench")]
mod ways;

#[cfg(feature = "bench")]
pub(crate) use bars::main;

/// Starts the same command again, optimised and with what it measures against.
#[cfg(not(feature = "bench"))]
pub(crate) fn main(options: &[&str]) -> std::process::ExitCode {
    crate::feature::start_with("bench", &["--profile", "dist"], &[&["bench"], options].concat())
}
