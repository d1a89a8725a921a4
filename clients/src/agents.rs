//! Headless agents, on request (`--with`): large programs, one of them proprietary, so they are installed for the occasion and no part of CI (K-7).
//!
//! Their tables are written from what these very versions were seen to do. What they do when they are interrupted is another command's matter
//! (`interrupts`).

use std::process::Output;

use super::case_world::{CaseWorld, RequestGap};
use super::cases::{AT_ONCE, ENDED, ERROR_EVENT, OVERLOADED_TWICE, RATE_LIMITED, RESET, RESET_BEFORE};
use super::install::{self, InstallProblem};
use super::judge::{JudgeRow, cell, row_of_a_problem, row_of_requests};
use super::run::{CaseStage, ClientObservation};

/// An agent, and how it is treated.
#[derive(Debug)]
pub(super) struct AgentClient {
    /// As `reenact drive --client` calls it.
    pub(super) name: &'static str,
    /// The package that npm installs.
    pub(super) pin: &'static str,
    /// Below the folder of its installation.
    program: &'static str,
    arguments: &'static [&'static str],
    cases: &'static [AgentCase],
    /// How often a scenario is played, each time with the same transcript.
    repeats: usize,
}

/// One thing that happens to an agent, and what it then does.
#[derive(Debug)]
struct AgentCase {
    name: &'static str,
    world: CaseWorld,
    gaps: &'static [RequestGap],
    /// The texts in its output.
    says: &'static [&'static str],
}

const TWO_READS_AND_A_COMMAND: &str = r#"
title = "Two reads and a shell command"
tools = ["Read", "Bash"]

[[prompt]]
text = "What does package.json say?"

[[prompt.turn]]
text = "Let me see."
tool = [
  { name = "Read", input = { file_path = "/etc/hostname" } },
  { name = "Read", input = { file_path = "/etc/hosts" } },
  { name = "Bash", input = { command = "sleep 0.2; echo done", description = "Waits" } },
]

[[prompt.turn]]
text = "That is what they say."
"#;

const ANSWERS: [&str; 2] = [r#""terminal_reason":"completed""#, r#""result":"It is a package named demo.""#];
const TRIES_AGAIN: [&str; 3] =
    [r#""subtype":"api_retry""#, r#""terminal_reason":"completed""#, r#""result":"It is a package named demo.""#];

const REPEATED: &str = "two reads and a shell command";

/// Its own retries: 0.5 s, then 1 s, more by up to a quarter.
const CLAUDE_CODE: AgentClient = AgentClient {
    name: "claude-code",
    pin: "@anthropic-ai/claude-code@2.1.329",
    program: "node_modules/.bin/claude",
    arguments: &[
        "-p",
        "What does package.json say?",
        "--output-format",
        "stream-json",
        "--verbose",
        "--model",
        "claude-sonnet-4-5",
        "--allowedTools",
        "Read",
        "Bash",
    ],
    cases: &[
        AgentCase {
            name: "529 twice",
            world: CaseWorld::Faults(OVERLOADED_TWICE),
            gaps: &[RequestGap::between(500, 625), RequestGap::between(1_000, 1_250)],
            says: &TRIES_AGAIN,
        },
        AgentCase {
            name: "429, retry-after 2",
            world: CaseWorld::Faults(RATE_LIMITED),
            gaps: &[RequestGap::between(2_000, 2_200)],
            says: &TRIES_AGAIN,
        },
        AgentCase {
            name: "413",
            world: CaseWorld::Faults("status = 413"),
            gaps: &[],
            says: &["Request too large", r#""terminal_reason":"image_error""#],
        },
        AgentCase {
            name: "400, prompt too long",
            world: CaseWorld::Faults("error = \"prompt_too_long\""),
            gaps: &[],
            says: &["Prompt is too long", r#""terminal_reason":"prompt_too_long""#],
        },
        AgentCase {
            name: "400, input and output too long",
            world: CaseWorld::Faults("at = { attempt = 1 }\nerror = \"context_overflow\""),
            gaps: &[AT_ONCE],
            says: &ANSWERS,
        },
        AgentCase { name: "an error event after a delta", world: CaseWorld::Faults(ERROR_EVENT), gaps: &[AT_ONCE], says: &ANSWERS },
        AgentCase {
            name: "reset before any byte",
            world: CaseWorld::Faults(RESET_BEFORE),
            gaps: &[RequestGap::between(500, 625)],
            says: &TRIES_AGAIN,
        },
        AgentCase {
            name: "reset in the stream",
            world: CaseWorld::Faults(RESET),
            gaps: &[RequestGap::between(500, 625)],
            says: &TRIES_AGAIN,
        },
        AgentCase {
            name: "a clean end without message_stop",
            world: CaseWorld::Faults(ENDED),
            gaps: &[RequestGap::between(500, 625)],
            says: &TRIES_AGAIN,
        },
    ],
    repeats: 5,
};

/// Two seconds, then four, more by up to a quarter.
const OPENCODE: AgentClient = AgentClient {
    name: "opencode",
    pin: "opencode-ai@1.18.33",
    program: "node_modules/.bin/opencode",
    arguments: &["run", "--format", "json", "-m", "anthropic/claude-sonnet-4-5", "--auto", "--title", "t", "What does package.json say?"],
    cases: &[
        AgentCase {
            name: "529 twice",
            world: CaseWorld::Faults(OVERLOADED_TWICE),
            gaps: &[RequestGap::between(2_000, 2_500), RequestGap::between(4_000, 5_000)],
            says: &["It is a package named demo.", r#""reason":"stop""#],
        },
        AgentCase {
            name: "an error event",
            world: CaseWorld::Faults(ERROR_EVENT),
            gaps: &[RequestGap::between(2_000, 2_500)],
            says: &["It is a package named demo."],
        },
    ],
    repeats: 2,
};

const AGENTS: [&AgentClient; 2] = [&CLAUDE_CODE, &OPENCODE];

/// The agent of this name.
pub(super) fn named(name: &str) -> Option<&'static AgentClient> {
    AGENTS.into_iter().find(|agent| agent.name == name)
}

/// The cases of each agent with its behaviour, as a table in Markdown.
pub(super) fn table() -> String {
    let of_agent = |agent: &AgentClient| {
        let row = |case: &AgentCase| format!("| {} | {} |\n", case.name, cell(case.gaps, &case.says.join(", ")));
        let rows: String = agent.cases.iter().map(row).collect();
        format!("**{}**, `{}`\n\n| case | requests and output |\n| --- | --- |\n{rows}", agent.name, agent.pin)
    };
    AGENTS.map(of_agent).join("\n")
}

/// How agents are called, for people.
pub(super) fn names() -> String {
    AGENTS.map(|agent| agent.name).join(" or ")
}

impl AgentClient {
    /// Drives it through all there is for it, one after the other: it has much to load, and its times count.
    pub(super) fn drive(&self, stage: &CaseStage) -> Result<Vec<JudgeRow>, InstallProblem> {
        let program = install::agent(self.name, self.pin, self.program)?;
        let mut rows = Vec::new();
        let mut push = |name, row: Result<JudgeRow, InstallProblem>| {
            rows.push(row.unwrap_or_else(|problem| row_of_a_problem(name, self.name, problem)))
        };
        for case in self.cases {
            push(case.name, self.row(stage, &program, case));
        }
        push(REPEATED, self.repeated(stage, &program));
        Ok(rows)
    }

    fn row(&self, stage: &CaseStage, program: &str, case: &AgentCase) -> Result<JudgeRow, InstallProblem> {
        let scenario = stage.scenario(case.name, self.name, &case.world)?;
        let output = stage.output(stage.driving(&scenario, self.name, &[]).arg(program).args(self.arguments))?;
        let mut seen = ClientObservation::read(&output);
        let is_said = |words: &&&str| seen.said.iter().any(|line| line.starts_with("output ") && line.contains(**words));
        let (said, unsaid): (Vec<&str>, Vec<&str>) = case.says.iter().partition(is_said);
        seen.outcome = said.join(", ");
        let mut row = row_of_requests(case.name, self.name, case.gaps, &case.says.join(", "), seen);
        row.problems.extend(unsaid.iter().map(|words| format!("its output has no {words}")));
        Ok(row)
    }

    /// Two requests and three tools, several times over.
    fn repeated(&self, stage: &CaseStage, program: &str) -> Result<JudgeRow, InstallProblem> {
        let scenario = stage.scenario("repeated", self.name, &CaseWorld::Text(TWO_READS_AND_A_COMMAND))?;
        let mut seen = ClientObservation::default();
        let mut transcripts = Vec::new();
        for _ in 0..self.repeats {
            let output = stage.output(stage.driving(&scenario, self.name, &[]).arg(program).args(self.arguments))?;
            transcripts.push(transcript(&output));
            seen = ClientObservation::read(&output);
        }
        let expected = format!("{} times the same transcript", self.repeats);
        let same = transcripts.iter().filter(|transcript| **transcript == transcripts[0]).count();
        seen.outcome = format!("{same} times the same transcript");
        let mut row = row_of_requests(REPEATED, self.name, &[AT_ONCE], &expected, seen);
        row.said = Vec::new();
        for other in transcripts.iter().filter(|transcript| **transcript != transcripts[0]) {
            row.problems.push("not all transcripts are the same".to_string());
            let pairs = transcripts[0].iter().zip(other).filter(|(one, other)| one != other);
            row.said.extend(pairs.flat_map(|(one, other)| [format!("first     {one}"), format!("other     {other}")]));
        }
        Ok(row)
    }
}

/// The part of `drive`'s output that does not depend on the clock: all but the verdict.
fn transcript(output: &Output) -> Vec<String> {
    String::from_utf8_lossy(&output.stdout).lines().filter(|line| !line.contains("  ->  ")).map(str::to_string).collect()
}
