//! Each shipped scenario as a test of its own, by name: `cargo test --test each_scenario executor/abort` (V-1).

use std::path::Path;
use std::process::ExitCode;

use reenact::engine::agent_loop::AgentLoop;

fn main() -> ExitCode {
    reenact::review::harness::main(Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios"), AgentLoop::default)
}
