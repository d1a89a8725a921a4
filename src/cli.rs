//! The command line: options in, text and exit codes out.
//!
//! | exit code | meaning |
//! | --- | --- |
//! | 0 | everything ran and is as expected |
//! | 1 | a run failed: an expectation, an oracle, a snapshot, a digest, a replay; a secret was found; a session is broken; a recording is not whole |
//! | 2 | the input or the command line is wrong; the message says where; or the output could not be written |
//! | 130 | a sweep was stopped with Ctrl-C; it says what was swept until then |
//!
//! A reader of the output that goes away (`| head`) changes no exit code.
//!
//! The commands' rules: `docs/rules/record.md` (K), `docs/rules/explore.md` (E), `docs/rules/review.md` (V).

mod access;
mod certify;
mod conformance;
mod coverage;
mod ctrl_c;
mod diff;
mod doctor;
mod drive;
mod explore;
mod fuzz;
mod import;
mod new;
mod output;
mod pairs;
mod preset;
mod program;
mod program_pages;
mod record;
mod replay;
mod report;
mod review;
mod run;
mod scan;
mod seeds;
mod selection;
mod serve;
mod show;
mod shrink;
mod sweep;
mod terminal;
mod test;
mod timeline_source;
mod tools;
mod world;

pub use program::set_first_arguments;

use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::children::WatcherProgram;
use crate::engine::agent_loop::AgentLoop;
use crate::engine::contract::Engine;

/// Re-enacts agent sessions: recorded streams, virtual time, transcripts kept as snapshots.
#[derive(Debug, Parser)]
#[command(
    name = "reenact",
    version,
    after_help = "Exit codes: 0 as expected, 1 something failed or was found, 2 wrong input or usage, 130 stopped with Ctrl-C."
)]
struct ProgramArguments {
    #[command(flatten)]
    colour: terminal::ColourArgument,
    /// Print what failed and the last line: no line that says `ok`, no transcript of a run that is fine, no progress
    #[arg(short, long, global = true)]
    quiet: bool,
    #[command(subcommand)]
    command: ProgramCommand,
}

#[derive(Debug, Subcommand)]
enum ProgramCommand {
    /// Write files to begin with: a scenario, an engine of your own, the scenarios that any loop should pass
    New(new::NewArguments),
    /// Run scenarios on the virtual clock and show what happened
    Run(run::RunArguments),
    /// Run scenarios, and compare each with its snapshot, its expectations and the oracles
    Test(test::TestArguments),
    /// Show the differences of two runs event by event: added, removed, changed, moved, at another time
    Diff(diff::DiffArguments),
    /// Look at pending snapshots one at a time, and accept or reject each
    Review(review::ReviewArguments),
    /// Interrupt scenarios before and after every event, and check all oracles on each run; `[expect]` is not asked for, `run` does that
    Sweep(sweep::SweepArguments),
    /// Run two scenarios at a time as one session, and check all oracles: what an engine keeps from one situation into the next
    Pairs(pairs::PairArguments),
    /// Try every order of arrivals, every fault and every input within a budget, and check all oracles on each step
    Explore(explore::ExploreArguments),
    /// Make random runs of scenarios from a seed, with other orders, faults and inputs, and check all oracles on each
    Fuzz(fuzz::FuzzArguments),
    /// Check the certificate of an exploration without searching: carry out every decision in each of its states
    Certify(certify::CertifyArguments),
    /// Make a run that breaks a rule smaller, keep it as a scenario, and say when it fails and when not
    Shrink(shrink::ShrinkArguments),
    /// Make a tape and scenarios from a recording in another format
    Import(import::ImportArguments),
    /// Pass a client's traffic on to the API, and keep it as a tape
    Record(record::RecordArguments),
    /// Look for secrets in tapes
    Scan(scan::ScanArguments),
    /// Judge the sessions that agents keep on disk: broken pairs of calls and results, blank texts, what the API would answer next
    Doctor(doctor::DoctorArguments),
    /// Print the JSON Schema of scenarios for editors, or the reference of all keys
    Schema(SchemaArguments),
    /// Print the settings of a real client that a scenario can take, or list the clients
    Preset(preset::PresetArguments),
    /// Be the simulated API for the Python and TypeScript packages, by JSON lines over standard input and output (docs/world.md)
    World(world::WorldArguments),
    /// Print the built-in tools, their schemas, or the section of a system prompt about them
    Tools(tools::ToolsArguments),
    /// Show what a tape, another recording or a boundary log holds: threads, requests, tools, gaps and tokens on one axis of time
    Show(show::ShowArguments),
    /// Print the completions of a shell: `reenact completions bash > FILE`
    Completions(program_pages::CompletionArguments),
    /// Write the manual pages of all commands into a folder
    Man(program_pages::ManArguments),
    /// Feed a boundary log to the engine and compare its effects, byte for byte
    Replay(replay::ReplayArguments),
    /// Serve a scenario over HTTP to any client, and judge its requests
    Serve(serve::ServeArguments),
    /// Run a client through a scenario, and compare its requests and its output
    Drive(drive::DriveArguments),
}

/// Arguments of `schema`.
#[derive(Debug, clap::Args)]
struct SchemaArguments {
    /// `json` is the schema, `markdown` the reference page
    #[arg(long, value_enum, default_value_t = SchemaFormat::Json)]
    format: SchemaFormat,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum SchemaFormat {
    Json,
    Markdown,
}

impl SchemaArguments {
    fn text(&self) -> String {
        match self.format {
            SchemaFormat::Json => crate::scenario::language::json_schema(),
            SchemaFormat::Markdown => crate::scenario::language::reference_page(),
        }
    }
}

/// The exit code of a search that Ctrl-C stops.
const STOPPED: u8 = 130;

/// So long a search is silent. After each word it is silent twice as long.
const SILENCE: Duration = Duration::from_secs(10);

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CommandExit {
    Fine = 0,
    Failed = 1,
    WrongInput = 2,
}

/// This program as the watcher of a command (K-13).
fn watcher() -> Result<WatcherProgram, String> {
    WatcherProgram::current()
        .map_err(|error| format!("cannot find the file of this program, which watches the command: {error}; start it by its full path"))
}

/// The whole program, with our own agent loop as the engine under test.
pub fn main() -> ExitCode {
    main_with(AgentLoop::default)
}

/// The whole program with another engine under test: the `main` of a program of your own.
///
/// ```no_run
/// # use reenact::engine::agent_loop::AgentLoop as MyEngine;
/// fn main() -> std::process::ExitCode {
///     reenact::cli::main_with(MyEngine::default)
/// }
/// ```
pub fn main_with<E, F>(new_engine: F) -> ExitCode
where
    E: Engine + Send + 'static,
    F: Fn() -> E + Sync,
{
    if let Some(exit) = crate::children::helper_main(std::env::args_os()) {
        return exit;
    }
    let ProgramArguments { colour, quiet, command } = ProgramArguments::parse();
    colour.apply();
    output::set_quiet(quiet);
    let exit = match command {
        ProgramCommand::New(arguments) => new::run(&arguments),
        ProgramCommand::Run(arguments) => run::run(&arguments, &new_engine),
        ProgramCommand::Test(arguments) => test::run(&arguments, &new_engine),
        ProgramCommand::Diff(arguments) => diff::run(&arguments, &new_engine),
        ProgramCommand::Review(arguments) => review::run(&arguments),
        ProgramCommand::Sweep(arguments) => sweep::run(&arguments, &new_engine),
        ProgramCommand::Pairs(arguments) => pairs::run(&arguments, &new_engine),
        ProgramCommand::Explore(arguments) => explore::run(&arguments, &new_engine),
        ProgramCommand::Fuzz(arguments) => fuzz::run(&arguments, &new_engine),
        ProgramCommand::Certify(arguments) => certify::run(&arguments, &new_engine),
        ProgramCommand::Shrink(arguments) => shrink::run(&arguments, &new_engine),
        ProgramCommand::Import(arguments) => import::run(&arguments),
        ProgramCommand::Record(arguments) => return record::run(&arguments),
        ProgramCommand::Scan(arguments) => scan::run(&arguments),
        ProgramCommand::Doctor(arguments) => doctor::run(&arguments),
        ProgramCommand::Schema(arguments) => {
            output::print_line(arguments.text().trim_end());
            CommandExit::Fine
        }
        ProgramCommand::Preset(arguments) => preset::run(&arguments),
        ProgramCommand::Tools(arguments) => tools::run(&arguments),
        ProgramCommand::World(arguments) => world::run(&arguments),
        ProgramCommand::Show(arguments) => show::run(&arguments),
        ProgramCommand::Completions(arguments) => program_pages::complete(&arguments, ProgramArguments::command()),
        ProgramCommand::Man(arguments) => program_pages::write_manual(&arguments, ProgramArguments::command()),
        ProgramCommand::Replay(arguments) => replay::run(&arguments, new_engine()),
        ProgramCommand::Serve(arguments) => serve::run(&arguments),
        ProgramCommand::Drive(arguments) => drive::run(&arguments),
    };
    ExitCode::from(output::exit_with(exit) as u8)
}
