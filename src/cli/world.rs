//! `reenact world`: the simulated API for clients in other languages, line by line over standard input and output (G-1).

use std::fs;
use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::CommandExit;
use super::output::{complain, wrong_input};
use super::selection::ReachArguments;
use crate::files::scenario::{LoadOptions, LoadedScenario, load_with};
use crate::foreign::line_host::{LineHost, OpenedScenario};
use crate::foreign::lines::OpenLine;

#[derive(Debug, clap::Args)]
pub(super) struct WorldArguments {
    #[command(flatten)]
    reach: ReachArguments,
}

/// A request has at most 32 MiB, and its line writes some of its characters as several.
const LINE_BYTES_MAX: u64 = 256 << 20;

/// How many scenarios are kept ready: a sweep opens one and the same thousands of times.
const KEPT_MAX: usize = 64;

pub(super) fn run(arguments: &WorldArguments) -> CommandExit {
    let input = io::stdin();
    if input.is_terminal() {
        return wrong_input(
            "`reenact world` speaks JSON lines with a program: the Python and TypeScript packages start it themselves, and docs/world.md \
             describes the lines",
        );
    }
    match talk(arguments, BufReader::with_capacity(1 << 16, input.lock())) {
        Ok(exit) => exit,
        // Who reads the replies has left.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => CommandExit::Fine,
        Err(error) => wrong_input(&format!("standard input or output is broken: {error}")),
    }
}

fn talk(arguments: &WorldArguments, mut input: impl io::BufRead) -> io::Result<CommandExit> {
    let mut output = io::stdout().lock();
    let mut scenarios = ReadyScenarios { reach: arguments.reach.clone(), ready: Vec::new() };
    let mut host = LineHost::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(CommandExit::Fine);
        }
        if line.last() != Some(&b'\n') && read as u64 == LINE_BYTES_MAX {
            complain(&format!("a line has more than {} MiB: no request is so long", LINE_BYTES_MAX >> 20));
            return Ok(CommandExit::WrongInput);
        }
        let text = String::from_utf8_lossy(&line);
        if text.trim().is_empty() {
            continue;
        }
        if let Some(reply) = host.line(&text, &mut |opened| scenarios.open(opened)) {
            // Written whole: the client wakes up once.
            let mut text = serde_json::to_vec(&reply)?;
            text.push(b'\n');
            output.write_all(&text)?;
            output.flush()?;
        }
    }
}

/// The scenarios that were opened, as long as their files stay as they are.
struct ReadyScenarios {
    reach: ReachArguments,
    ready: Vec<ReadyScenario>,
}

struct ReadyScenario {
    /// The line that opened it.
    line: OpenLine,
    loaded: LoadedScenario,
    /// Its files, each with the time of its last change.
    files: Vec<(PathBuf, Option<SystemTime>)>,
}

impl ReadyScenarios {
    fn open(&mut self, line: &OpenLine) -> Result<OpenedScenario, String> {
        // A search opens thousands of plans, and hardly one of them twice.
        if line.plan.is_some() {
            return Ok(self.load(line)?.opened());
        }
        let known = self.ready.iter().position(|ready| ready.line == *line && ready.is_current());
        let position = match known {
            Some(position) => position,
            None => {
                let ready = self.load(line)?;
                self.ready.retain(|ready| ready.line != *line);
                if self.ready.len() >= KEPT_MAX {
                    self.ready.remove(0);
                }
                self.ready.push(ready);
                self.ready.len() - 1
            }
        };
        Ok(self.ready[position].opened())
    }

    fn load(&self, line: &OpenLine) -> Result<ReadyScenario, String> {
        let mut overrides: Vec<(String, String)> = line.set.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        overrides.extend(line.seed.map(|seed| (String::from("seed"), format!("\"{seed}\""))));
        let options = LoadOptions { overrides, reach: self.reach.reach(), plan: line.plan.clone() };
        let loaded =
            load_with(line.scenario.as_ref(), &options).and_then(LoadedScenario::for_clients).map_err(|error| error.to_string())?;
        let named = [&loaded.tape_file, &loaded.prices_file, &loaded.windows_file].into_iter().flatten().cloned();
        let bases = loaded.places.bases().map(PathBuf::from);
        let files = std::iter::once(loaded.file.clone()).chain(named).chain(bases);
        let files = files.map(|path| (path.clone(), changed_at(&path))).collect();
        Ok(ReadyScenario { line: line.clone(), loaded, files })
    }
}

impl ReadyScenario {
    fn opened(&self) -> OpenedScenario {
        let LoadedScenario { setup, places, warnings, .. } = &self.loaded;
        OpenedScenario {
            setup: setup.clone(),
            places: places.clone(),
            warnings: warnings.iter().map(|warning| warning.text.clone()).collect(),
        }
    }

    fn is_current(&self) -> bool {
        self.files.iter().all(|(path, changed)| changed_at(path) == *changed)
    }
}

fn changed_at(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|data| data.modified()).ok()
}
