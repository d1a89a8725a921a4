//! One client through one case: `reenact drive` with the case's scenario, and what its output says was seen.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::case_world::{CaseWorld, RequestGap};
use super::install::{InstallProblem, folder, wrong};

/// Where cases are played: the program, and a folder for what is written meanwhile.
#[derive(Debug)]
pub(super) struct CaseStage {
    program: PathBuf,
    pub(super) folder: PathBuf,
}

/// A client that is to go through a case, and what it is expected to do.
#[derive(Debug)]
pub(super) struct CaseRun {
    pub(super) case: &'static str,
    pub(super) client: &'static str,
    pub(super) world: &'static CaseWorld,
    /// The client, with all its arguments.
    pub(super) command: Vec<String>,
    pub(super) gaps: &'static [RequestGap],
    /// The report that the client is to print.
    pub(super) outcome: &'static str,
    pub(super) remark: Option<&'static str>,
}

/// The observations of a client.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ClientObservation {
    /// When each request was in, in microseconds since the server began.
    pub(super) requests_us: Vec<u64>,
    /// The outcome that the client reports.
    pub(super) outcome: String,
    /// The failures by the server's verdict.
    pub(super) problems: Vec<String>,
    /// The other output of the client, to be shown when something is wrong: it also warns of old models.
    pub(super) said: Vec<String>,
}

impl CaseRun {
    /// Whether its case or its client has this in its name.
    pub(super) fn is_named(&self, part: &str) -> bool {
        self.case.contains(part) || self.client.contains(part)
    }
}

impl CaseStage {
    pub(super) fn new(program: PathBuf) -> Result<Self, InstallProblem> {
        let folder = folder().join("work");
        fs::create_dir_all(&folder).map_err(|error| wrong(&folder, &error))?;
        Ok(Self { program, folder })
    }

    /// Drives a client through a case.
    pub(super) fn drive(&self, run: &CaseRun) -> Result<ClientObservation, InstallProblem> {
        let scenario = self.scenario(run.case, run.client, run.world)?;
        let mut command = self.driving(&scenario, "sdk", &[]);
        self.output(command.args(&run.command)).map(|output| ClientObservation::read(&output))
    }

    /// `reenact drive`, to be followed by the client's command.
    pub(super) fn driving(&self, scenario: &Path, client: &str, options: &[&str]) -> Command {
        let mut command = self.reenact();
        command.arg("drive").arg(scenario).args(["--client", client, "--timing", "none", "--timeout", "60"]).args(options).arg("--");
        command
    }

    /// Where a case's scenario is.
    pub(super) fn scenario(&self, case: &str, client: &str, world: &CaseWorld) -> Result<PathBuf, InstallProblem> {
        let text = match world {
            CaseWorld::Shipped(path) => return Ok(crate::root().join(path)),
            CaseWorld::Faults(keys) => with_faults(case, keys),
            CaseWorld::Text(text) => text.to_string(),
        };
        // One file for each run, because they are written at the same time.
        let path = self.folder.join(format!("{}-{client}.toml", case.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-")));
        fs::write(&path, text).map_err(|error| wrong(&path, &error))?;
        Ok(path)
    }

    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    pub(super) fn output(&self, command: &mut Command) -> Result<Output, InstallProblem> {
        command.output().map_err(|error| wrong(&self.program, &error))
    }

    /// The program, with nothing of this process's environment but where programs are.
    #[expect(clippy::disallowed_methods, reason = "clients are found on the search path of the calling process")]
    pub(super) fn reenact(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path))).current_dir(&self.folder);
        command
    }
}

impl ClientObservation {
    /// From what `reenact drive` printed: the client's own lines begin with `output` or `errors`, those of the verdict with a time.
    pub(super) fn read(output: &Output) -> Self {
        let mut seen = Self::default();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            if let Some(outcome) = line.strip_prefix("output    outcome: ") {
                seen.outcome = outcome.into();
            } else if line.starts_with("output ") || line.starts_with("errors ") {
                seen.said.push(line.into());
            } else if line.starts_with("FAILED: ") {
                seen.problems.push(line.into());
            } else if let Some(at_us) = line.split_once("  ->  ").and_then(|(asked, _)| micros(asked.split_whitespace().next()?)) {
                seen.requests_us.push(at_us);
            }
        }
        if !output.status.success() {
            seen.problems.push(format!("reenact drive ended with {}", output.status));
            seen.said.extend(String::from_utf8_lossy(&output.stderr).lines().map(str::to_string));
        }
        seen
    }
}

/// A prompt and its answer, to which something is done.
fn with_faults(title: &str, keys: &str) -> String {
    format!(
        "title = \"{title}\"\nseed = 1\n\n[[fault]]\n{keys}\n\n[[prompt]]\ntext = \"What does package.json say?\"\n\n\
         [[prompt.turn]]\ntext = \"It is a package named demo.\"\nmay = true # for clients that give up\n"
    )
}

/// `1.744120s`, `2.000s`.
fn micros(text: &str) -> Option<u64> {
    let (seconds, rest) = text.strip_suffix('s')?.split_once('.')?;
    let rest = format!("{rest:0<6}");
    Some(seconds.parse::<u64>().ok()? * 1_000_000 + rest.parse::<u64>().ok().filter(|_| rest.len() == 6)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_7_what_a_driven_client_did_is_read_from_what_drive_prints() {
        let printed = "Overloaded\ndriven: sdk\n\nrequest   1: m, max 8, 0 messages as before, 1 more\nanswer    529: 529, complete\n\n\
            output    outcome: OverloadedError, 529\nerrors    Traceback\nended     exit 0\n  \
            1.248201s  1        m, 1 message  ->  529 overloaded_error: 529, complete after 1 piece and 0.001s\n      \
            1.750s  1.2      m, 1 message  ->  529 overloaded_error: 529, complete after 1 piece and 0.001s\nFAILED: O-1: no\n2 requests\n";
        let output = Output { status: std::process::ExitStatus::default(), stdout: printed.into(), stderr: Vec::new() };
        let seen = ClientObservation::read(&output);
        assert_eq!(seen.requests_us, [1_248_201, 1_750_000]);
        assert_eq!(seen.outcome, "OverloadedError, 529");
        assert_eq!((seen.problems, seen.said), (vec!["FAILED: O-1: no".to_string()], vec!["errors    Traceback".to_string()]));
        assert_eq!((micros("2.5s"), micros("2.s"), micros("x.1s"), micros("2.1234567s")), (Some(2_500_000), Some(2_000_000), None, None));
    }
}
