//! The `reenact` program: everything it does is in the library's `cli` room.

use std::process::ExitCode;

/// Explorations and sweeps copy runs all the time, and on several threads: half of their time would go into the usual allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    reenact::cli::main()
}
