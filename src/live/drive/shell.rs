//! A shell as the first process of a client: a signal to the process reaches it alone, and says nothing about the client (K-9).
//!
//! It is there for `sh -c …`, and for a script such as npm and pyenv put in the place of a program, until it becomes the client by `exec`.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use super::process_facts::RunningProcess;
use reenact_children::ChildSignal;
use reenact_wire::prelude::*;

/// Programs that run commands.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "busybox"];

/// A longer script is no stand-in for a program.
const SCRIPT_BYTES_MAX: u64 = 256 << 10;

/// The shell that would get a signal in place of the client. `words` are those of the command, for systems that tell nothing of their processes. A
/// script that has a trap for the signal takes it as a client does.
pub(super) fn before_client(words: &[String], process: u32, signal: ChildSignal) -> Option<&'static str> {
    let process = RunningProcess(process);
    let (program, words) = match process.program() {
        Some(program) => (program, process.words()),
        None if Path::new("/proc/self/exe").exists() => return None,
        None => {
            let shell = known(words.first()?)?;
            return matches!(script_of(&words[1..]), Some(Script::Words(_))).then_some(shell);
        }
    };
    let shell = known(&program)?;
    let name = words.first().and_then(|word| known(word)).unwrap_or(shell);
    let text = match script_of(words.get(1..).unwrap_or_default()) {
        Some(Script::Words(text)) => text.to_owned(),
        Some(Script::File(path)) => script_text(&process.path(path)),
        None => String::new(),
    };
    (!has_trap(&text, signal)).then_some(name)
}

/// A shell by the name or the path of its program.
fn known(program: &str) -> Option<&'static str> {
    let name = Path::new(program).file_name()?.to_str()?;
    SHELLS.into_iter().find(|shell| *shell == name.trim_start_matches('-'))
}

/// The commands of a shell.
#[derive(Debug, PartialEq, Eq)]
enum Script<'w> {
    /// These words: `-c`.
    Words(&'w str),
    /// The file at this path.
    File(&'w str),
}

/// The script among the arguments of a shell.
fn script_of(arguments: &[String]) -> Option<Script<'_>> {
    let options = arguments.iter().take_while(|word| word.starts_with(['-', '+'])).count();
    let is_short = |word: &&String| word.starts_with('-') && !word.starts_with("--");
    let has_words = arguments[..options].iter().filter(is_short).any(|word| word.contains('c'));
    let script = arguments.get(options)?;
    Some(if has_words { Script::Words(script) } else { Script::File(script) })
}

fn script_text(path: &Path) -> String {
    let mut text = Vec::new();
    // What cannot be read has no trap that could be seen.
    let _ = fs::File::open(path).and_then(|file| file.take(SCRIPT_BYTES_MAX).read_to_end(&mut text));
    String::from_utf8_lossy(&text).into_owned()
}

/// Whether a script has a trap for a signal.
fn has_trap(text: &str, signal: ChildSignal) -> bool {
    let (name, number) = match signal {
        ChildSignal::Interrupt => ("INT", "2"),
        ChildSignal::Terminate => ("TERM", "15"),
        ChildSignal::HangUp => ("HUP", "1"),
        ChildSignal::Kill => return false,
    };
    let is_signal = |word: &str| word.trim_start_matches("SIG") == name || word == number;
    let lines = text.lines().flat_map(|line| line.split(';')).filter(|line| !line.trim_start().starts_with('#'));
    let traps = lines.filter_map(|line| Some(line.split_once("trap ")?.1));
    traps.flat_map(|trap| trap.split(|letter: char| !letter.is_ascii_alphanumeric())).any(is_signal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| String::from(*word)).collect()
    }

    #[test]
    fn k_9_the_script_of_a_shell_is_found_among_its_words() {
        let script = |arguments: &[&str], wanted: Option<Script<'_>>| assert_eq!(script_of(&words(arguments)), wanted, "{arguments:?}");
        script(&["-c", "a; b"], Some(Script::Words("a; b")));
        script(&["-lc", "a"], Some(Script::Words("a")));
        script(&["--norc", "-e", "-c", "a"], Some(Script::Words("a")));
        script(&["agent.sh", "-c"], Some(Script::File("agent.sh")));
        script(&["-e", "agent.sh"], Some(Script::File("agent.sh")));
        script(&["-i"], None);
        assert_eq!([known("/usr/bin/bash"), known("-sh"), known("python3")], [Some("bash"), Some("sh"), None]);
    }

    #[test]
    fn k_9_a_script_with_a_trap_takes_a_signal_itself() {
        let has = |text: &str| [ChildSignal::Interrupt, ChildSignal::Terminate].map(|signal| has_trap(text, signal));
        assert_eq!(has("#!/bin/sh\npython3 agent.py \"$@\"\n"), [false, false]);
        assert_eq!(has("trap 'kill -INT $child' INT\n"), [true, false]);
        assert_eq!(has("a; trap stop SIGINT SIGTERM; b\n"), [true, true]);
        assert_eq!(has("trap 'exit 1' 2 15"), [true, true]);
        assert_eq!(has("trap 'rm -f x' EXIT\n# trap stop INT\necho TERM"), [false, false]);
        assert!(!has_trap("trap a KILL", ChildSignal::Kill));
    }
}
