//! Each scenario is a test: `cargo test`.

fn main() -> std::process::ExitCode {
    reenact::review::harness::main("scenarios", my_agent::MyAgent::default)
}
