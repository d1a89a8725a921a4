//! The program `museum`: all commands of `reenact` around the honest mini-loop, or around an exhibit.
//!
//! ```sh
//! cargo run -p reenact-museum -- dropped-call run museum/scenarios/dropped-call-trigger.toml
//! ```
//!
//! The exhibit is the first argument, or the value of the variable `MUSEUM_EXHIBIT`. Without either it is the honest loop.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use reenact_museum::exhibits::{CARDS, MuseumLoop};

/// Names the exhibit. The commands of `reenact` read the arguments of the program themselves, so the first one is taken out by starting the program again.
const EXHIBIT: &str = "MUSEUM_EXHIBIT";

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    let program = arguments.next();
    if let (Some(program), Some(name)) = (program, arguments.next())
        && name.to_str().and_then(MuseumLoop::find).is_some()
    {
        let file = std::env::current_exe().unwrap_or(program.clone().into());
        let error = Command::new(file).arg0(program).args(arguments).env(EXHIBIT, name).exec();
        eprintln!("the program could not be started again: {error}");
        return ExitCode::from(2);
    }
    let name = named_exhibit();
    let Some(exhibit) = MuseumLoop::find(&name) else {
        let names: Vec<&str> = CARDS.iter().map(|card| card.name).collect();
        eprintln!("there is no exhibit `{name}`: {EXHIBIT} is `honest` or one of {}", names.join(", "));
        return ExitCode::from(2);
    };
    reenact::cli::set_first_arguments(vec![name]);
    reenact::cli::main_with(move || exhibit.clone())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the variable is documented at the top of this file, and there is no other way past the commands of `reenact`"
)]
fn named_exhibit() -> String {
    std::env::var(EXHIBIT).unwrap_or_else(|_| String::from("honest"))
}
