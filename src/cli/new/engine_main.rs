//! All commands of `reenact` around this loop: `cargo run -- run scenarios`.

fn main() -> std::process::ExitCode {
    reenact::cli::main_with(my_agent::MyAgent::default)
}
