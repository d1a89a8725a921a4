//! The `reenact` program: everything it does is in the library's `cli` room.

use std::process::ExitCode;

fn main() -> ExitCode {
    reenact::cli::main()
}
