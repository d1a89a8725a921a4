//! Writing to standard output and standard error.
//!
//! A reader that goes away (`| head`) ends the program quietly; that is how pipes end.

use std::io::{ErrorKind, Write, stderr, stdout};
use std::process::exit;

/// Writes text and a line end to standard output.
pub(super) fn say(text: &str) {
    finish(writeln!(stdout().lock(), "{}", text.strip_suffix('\n').unwrap_or(text)));
}

/// Writes a message to standard error.
pub(super) fn complain(text: &str) {
    finish(writeln!(stderr().lock(), "{}", text.trim_end_matches('\n')));
}

fn finish(result: std::io::Result<()>) {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => exit(0),
        Err(error) => {
            // If this fails too, there is nowhere left to say it.
            let _ = writeln!(stderr().lock(), "cannot write the output: {error}");
            exit(2)
        }
        Ok(()) => (),
    }
}
