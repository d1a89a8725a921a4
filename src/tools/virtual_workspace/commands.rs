//! Commands of a shell over files in memory (B-5): lists of a few programs, with `>`, `>>`, `&&`, `||` and `;`.
//!
//! A command is read whole before any of it runs. If there is something in it that is not interpreted here, nothing has happened.

use reenact_engine::contract::{ProgressKind, ToolOutcome};
use reenact_engine::time::Micros;
use reenact_shell::{CommandEnd, Operator, Redirection, SimpleCommand, lexemes, simple_commands};
use reenact_wire::prelude::*;

use super::program_end::{ProgramEnd, system_text};
use super::programs::Program;
use super::{VirtualWorkspace, parent};
use crate::shell_run::{CallStep, ShellRun};
use crate::workspace::{FileProblem, Workspace, normal_path};

/// The exit code of a command whose file cannot be opened.
const REDIRECTION_FAILED: i32 = 2;

/// A run whose time is over has this position.
const TIMED_OUT: usize = usize::MAX;

/// A program with what joins it to the one before.
struct PlannedCommand {
    joint: Joint,
    program: Program,
    /// The file that gets its output, and whether it is added to.
    file: Option<(String, bool)>,
    /// Its line, from 1: errors of the shell name it.
    line: usize,
}

/// When a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Joint {
    Always,
    /// Behind `&&`.
    AfterSuccess,
    /// Behind `||`.
    AfterFailure,
}

/// Goes on with a run until it sleeps, says something, or is over.
pub(super) fn step(workspace: &mut VirtualWorkspace, run: &mut ShellRun) -> CallStep {
    if run.position == TIMED_OUT {
        return CallStep::Done(run.timed_out());
    }
    let plan = match plan(&run.command) {
        Ok(plan) => plan,
        Err(problem) => {
            let text = format!("{problem}: the workspace in memory does not interpret this; give the command a result in the scenario");
            return CallStep::Done(ToolOutcome::error(&text));
        }
    };
    while let Some(command) = plan.get(run.position) {
        let is_due = match command.joint {
            Joint::Always => true,
            Joint::AfterSuccess => run.code == 0,
            Joint::AfterFailure => run.code != 0,
        };
        if !is_due {
            run.position += 1;
            continue;
        }
        if let Program::Sleep(span) = &command.program {
            return sleep(run, *span);
        }
        run.position += 1;
        if run_one(workspace, run, command) {
            break;
        }
    }
    CallStep::Done(run.outcome())
}

/// Sleeps, up to the timeout. What was printed before is told first.
fn sleep(run: &mut ShellRun, span: Micros) -> CallStep {
    if let Some(text) = run.untold_output() {
        return CallStep::Progress { text: text.into(), kind: ProgressKind::Stdout };
    }
    let left = Micros(run.timeout.0.saturating_sub(run.taken.0));
    let span = if span > left {
        run.position = TIMED_OUT;
        left
    } else {
        run.position += 1;
        run.code = 0;
        span
    };
    run.taken = Micros(run.taken.0 + span.0);
    CallStep::Sleep(span)
}

/// Runs one program. The answer is whether the whole run ends with it.
fn run_one(workspace: &mut VirtualWorkspace, run: &mut ShellRun, command: &PlannedCommand) -> bool {
    let file = command.file.as_ref().map(|(path, is_added)| (path, normal_path(workspace.working_directory(), path), *is_added));
    if let Some((shown, path, is_added)) = &file
        && let Err(problem) = if shown.ends_with('/') { Err(FileProblem::IsFolder) } else { open(workspace, path, *is_added) }
    {
        let problem = match problem {
            FileProblem::Missing | FileProblem::NotFolder => String::from("Directory nonexistent"),
            problem => system_text(&problem),
        };
        let line = command.line;
        run.print_error(&format!("sh: {line}: cannot create {shown}: {problem}\n"));
        run.code = REDIRECTION_FAILED;
        return false;
    }
    let ProgramEnd { output, errors, code } = command.program.run(workspace);
    if command.program != Program::Exit(None) {
        run.code = code;
    }
    run.print_error(&errors);
    match &file {
        None => {
            run.print(&output);
        }
        Some((_, path, _)) => {
            let mut content = workspace.file(path).map_or_else(|_| Vec::new(), |file| file.content.to_vec());
            content.extend_from_slice(output.as_bytes());
            // It was open, so it can be written.
            if !output.is_empty() {
                workspace.put(path, &content);
            }
        }
    }
    matches!(command.program, Program::Exit(_))
}

/// Opens a file for writing: it is empty then, or as it was.
fn open(workspace: &mut VirtualWorkspace, path: &str, is_added: bool) -> Result<(), FileProblem> {
    if workspace.is_folder(path) {
        return Err(FileProblem::IsFolder);
    }
    if !workspace.is_folder(parent(path)) {
        return Err(workspace.entry(parent(path)).map_or(FileProblem::Missing, |_| FileProblem::NotFolder));
    }
    workspace.check_writable(path)?;
    if !(is_added && workspace.file(path).is_ok()) {
        workspace.put(path, b"");
    }
    Ok(())
}

/// The programs of a command, in order.
fn plan(command: &str) -> Result<Vec<PlannedCommand>, String> {
    let lexemes = lexemes(command).map_err(|error| error.to_string())?;
    if let Some(lexeme) = lexemes.iter().find(|lexeme| matches!(lexeme.token, reenact_shell::ShellToken::Descriptor(_))) {
        return Err(format!("a numbered redirection at byte {}", lexeme.at));
    }
    let mut planned = Vec::new();
    let (mut joint, mut line) = (Joint::Always, 1);
    for simple in simple_commands(&lexemes) {
        let next = match simple.end {
            None | Some(CommandEnd::Newline | CommandEnd::Operator(Operator::Semicolon)) => Joint::Always,
            Some(CommandEnd::Operator(Operator::And)) => Joint::AfterSuccess,
            Some(CommandEnd::Operator(Operator::Or)) => Joint::AfterFailure,
            Some(CommandEnd::Operator(operator)) => return Err(format!("`{operator}`")),
        };
        if simple.is_empty() {
            // A list may go on in the next line; nothing else may be empty.
            let is_gap = simple.end.is_none_or(|end| end == CommandEnd::Newline);
            if !is_gap || (simple.end.is_none() && joint != Joint::Always) {
                return Err(String::from("a command that is not there"));
            }
        } else {
            planned.push(planned_command(&simple, joint, line)?);
            joint = next;
        }
        line += usize::from(simple.end == Some(CommandEnd::Newline));
    }
    Ok(planned)
}

fn planned_command(simple: &SimpleCommand<'_>, joint: Joint, line: usize) -> Result<PlannedCommand, String> {
    let mut file = None;
    for redirection in &simple.redirections {
        file = match redirection {
            Redirection::To(operator @ (Operator::Output | Operator::Append), Some(word)) => {
                let path = word.literal().filter(|_| !word.is_pattern()).ok_or("a file whose name is known only when it runs")?;
                Some((path, *operator == Operator::Append))
            }
            Redirection::To(operator, _) => return Err(format!("`{operator}`")),
            Redirection::HereDocument(_) => return Err(String::from("`<<`")),
        };
        if simple.redirections.len() > 1 {
            return Err(String::from("several redirections"));
        }
    }
    let words = simple.words.iter().map(|word| word.literal().filter(|_| !word.is_pattern())).collect::<Option<Vec<String>>>();
    let words = words.ok_or("a word that is known only when it runs")?;
    let program = Program::from_words(&words)?;
    if let Some((path, _)) = file.as_ref().filter(|(path, _)| program.sources().contains(path)) {
        return Err(format!("a program that reads `{path}` while it writes it"));
    }
    Ok(PlannedCommand { joint, program, file, line })
}
