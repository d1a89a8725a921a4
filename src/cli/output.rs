//! Writing to standard output and standard error. Only here it is decided what happens when the reader is gone.
//!
//! A reader that goes away (`| head`) costs the text that it would have read and nothing else: the command does all its work, writes all
//! its files, and ends with its own exit code. Output that is lost otherwise (a full disk) is reported once and makes the exit code 2.

use std::borrow::Cow;
use std::io::{ErrorKind, Write, stderr, stdout};
use std::panic::{self, AssertUnwindSafe};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

use anstyle::AnsiColor;

use super::CommandExit;
use super::program::in_this_program;

/// Whether output was lost.
static IS_LOST: AtomicBool = AtomicBool::new(false);

/// Whether only failures are told (`--quiet`).
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// All output from here on is of failures alone, or not.
pub(super) fn set_quiet(quiet: bool) {
    IS_QUIET.store(quiet, Ordering::Relaxed);
}

/// Whether only failures are told.
pub(super) fn is_quiet() -> bool {
    IS_QUIET.load(Ordering::Relaxed)
}

/// Writes text and a line end to standard output. Names of files and texts of others move no cursor: control characters are shown as their escapes.
pub(super) fn print_line(text: &str) {
    write_line(&visible(text));
}

/// The text in its lines, with escapes in place of all other control characters.
fn visible(text: &str) -> Cow<'_, str> {
    let is_layout = |c: char| c == '\n' || c == '\t';
    if text.chars().all(|c| is_layout(c) || !c.is_control()) {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    for c in text.chars() {
        if is_layout(c) {
            out.push(c);
        } else {
            out.extend(escaped(c));
        }
    }
    out.into()
}

fn write_line(text: &str) {
    match writeln!(stdout().lock(), "{}", text.strip_suffix('\n').unwrap_or(text)) {
        // Who does not read wants nothing more.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => (),
        Err(error) => {
            if !IS_LOST.swap(true, Ordering::Relaxed) {
                complain(&format!("cannot write the output: {error}"));
            }
        }
        Ok(()) => (),
    }
}

/// The same with colours, where they are wanted.
pub(super) fn print_styled(text: &str) {
    match anstream::AutoStream::choice(&stdout()) {
        anstream::ColorChoice::Never => print_line(&anstream::adapter::strip_str(text).to_string()),
        _ => write_line(text),
    }
}

/// Writes a line that begins with a verdict: `ok` is green, `FAILED` red. Where only failures are told, `ok` is not.
pub(super) fn print_verdict(line: &str) {
    if is_quiet() && line.starts_with("ok ") {
        return;
    }
    let line = &*visible(line);
    let styled =
        ["ok", "FAILED"].into_iter().zip([AnsiColor::Green.on_default(), AnsiColor::Red.on_default().bold()]).find_map(|(word, style)| {
            let rest = line.strip_prefix(word).filter(|rest| rest.starts_with(' '))?;
            Some(format!("{style}{word}{style:#}{rest}"))
        });
    print_styled(styled.as_deref().unwrap_or(line));
}

/// Writes a message to standard error, with the commands that it names as this program has them. If that fails there is nowhere left to say it, and the
/// exit code stands.
pub(super) fn complain(text: &str) {
    let _ = writeln!(stderr().lock(), "{}", visible(&in_this_program(text)).trim_end_matches('\n'));
}

/// Says on standard error how far a command is, unless only failures are told.
pub(super) fn tell_progress(text: &str) {
    if !is_quiet() {
        complain(text);
    }
}

/// A text of a file in one line: control characters as their escapes.
pub(super) fn one_line(text: &str) -> String {
    text.chars().flat_map(escaped).collect()
}

/// A control character as its escape, any other one as it is.
fn escaped(c: char) -> Vec<char> {
    if c.is_control() { c.escape_default().collect() } else { vec![c] }
}

/// The words of the last panic.
#[expect(clippy::disallowed_types, reason = "the hook of a panic has no owner to send messages to")]
static LAST_PANIC: std::sync::Mutex<String> = std::sync::Mutex::new(String::new());

/// Does work in which a panic of an engine is a finding: it is told with the command that shows it, and its own words would bury that. A panic that ends the
/// work is one of this program, and is told.
pub(super) fn without_panic_messages<R>(work: impl FnOnce() -> R) -> R {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(|panic| *LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner) = panic.to_string()));
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    panic::set_hook(usual);
    done.unwrap_or_else(|panic| {
        let words = LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner);
        complain(&format!("a defect of reenact itself, please report it: {words}"));
        panic::resume_unwind(panic)
    })
}

/// Says what is wrong with what the user gave; the exit code that tells it.
pub(super) fn wrong_input(problem: &str) -> CommandExit {
    complain(problem);
    CommandExit::WrongInput
}

/// The exit code of a command, worse where its output was lost.
pub(super) fn exit_with(exit: CommandExit) -> CommandExit {
    if IS_LOST.load(Ordering::Relaxed) { exit.max(CommandExit::WrongInput) } else { exit }
}
