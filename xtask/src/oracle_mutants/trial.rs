//! The trial of mutants: processes that try some of them each, one after the other, and the outcome of each.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use super::instrument::Mutant;

/// A mutant that takes longer hangs: all scenarios together take a second.
const HANGS_AFTER: Duration = Duration::from_secs(20);

/// The outcome of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MutantFate {
    pub(super) number: usize,
    /// `found`, `unseen`, `equal` or `unreached`.
    pub(super) word: String,
    /// The finding, or a scenario with another transcript.
    pub(super) what: String,
}

/// Tries all mutants, with a process for each core.
pub(super) fn try_all(program: &Path, checkout: &Path, mutants: &[Mutant]) -> Result<Vec<MutantFate>, String> {
    let cores = crate::cores();
    let numbers = |core: usize| -> Vec<usize> { mutants.iter().skip(core).step_by(cores).map(|mutant| mutant.number).collect() };
    let tried: Vec<Result<Vec<MutantFate>, String>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|core| scope.spawn(move || try_some(program, checkout, numbers(core)))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap_or_else(|_| Err("a worker panicked".into()))).collect()
    });
    Ok(tried.into_iter().collect::<Result<Vec<_>, _>>()?.concat())
}

/// Tries these, with a new process after each that ends or hangs the old one.
fn try_some(program: &Path, checkout: &Path, mut numbers: Vec<usize>) -> Result<Vec<MutantFate>, String> {
    let mut fates = Vec::new();
    while !numbers.is_empty() {
        let (mut child, lines) = start(program, checkout, &numbers)?;
        let mut now = None;
        let end = loop {
            match lines.recv_timeout(HANGS_AFTER) {
                Ok(line) => match line.strip_prefix("tries ") {
                    Some(number) => now = number.parse::<usize>().ok(),
                    None => {
                        let fate = read_fate(&line).ok_or_else(|| format!("the program of the mutants says: {line}"))?;
                        numbers.retain(|number| *number != fate.number);
                        fates.push(fate);
                        now = None;
                    }
                },
                Err(RecvTimeoutError::Timeout) => break "hangs",
                Err(RecvTimeoutError::Disconnected) => break "ends the program",
            }
        };
        drop(child.kill().and_then(|()| child.wait()));
        match now {
            Some(number) => {
                numbers.retain(|other| *other != number);
                fates.push(MutantFate { number, word: "found".into(), what: end.into() });
            }
            None if numbers.is_empty() => (),
            None => return Err(format!("the program of the mutants {end} without having begun; {} are left", numbers.len())),
        }
    }
    Ok(fates)
}

#[expect(clippy::disallowed_methods, reason = "the thread ends with the output of the process, which is killed when it hangs")]
fn start(program: &Path, checkout: &Path, numbers: &[usize]) -> Result<(Child, Receiver<String>), String> {
    let words: Vec<String> = numbers.iter().map(usize::to_string).collect();
    let mut command = Command::new(program);
    command.arg("mutants").arg(words.join(",")).current_dir(checkout).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| format!("{}: {error}", program.display()))?;
    let output = child.stdout.take().ok_or("a process without output")?;
    let (sender, lines) = channel();
    std::thread::spawn(move || BufReader::new(output).lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    Ok((child, lines))
}

/// `12 unseen compaction/auto`.
fn read_fate(line: &str) -> Option<MutantFate> {
    let mut words = line.splitn(3, ' ');
    Some(MutantFate { number: words.next()?.parse().ok()?, word: words.next()?.into(), what: words.next().unwrap_or_default().into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_fate() {
        let fate = |word: &str, what: &str| Some(MutantFate { number: 12, word: word.into(), what: what.into() });
        assert_eq!(read_fate("12 unseen compaction/auto"), fate("unseen", "compaction/auto"));
        assert_eq!(read_fate("12 equal"), fate("equal", ""));
        assert_eq!(read_fate("tries 12"), None);
    }
}
