//! The `reenact` program: everything it does is in the library's `cli` room.

use std::process::ExitCode;

/// Explorations and sweeps copy runs and drop them on several threads. With the allocator of the C library two threads do little more than one.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    reenact::cli::main()
}
