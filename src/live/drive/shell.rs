//! A shell as the first process of a client: a signal to the process reaches it alone, and says nothing about the client (K-9).

use std::fs;
use std::path::Path;

use crate::prelude::*;

/// Programs that run commands.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "fish", "ash"];

/// The shell that runs a client's command, where its words start one: `sh -c …`, `bash -lc …`.
pub(super) fn of_words(words: &[String]) -> Option<&'static str> {
    let program = Path::new(words.first()?).file_name()?.to_str()?;
    let shell = SHELLS.into_iter().find(|shell| *shell == program)?;
    let is_short = |word: &&String| word.starts_with('-') && !word.starts_with("--");
    words[1..].iter().take_while(|word| word.starts_with('-')).filter(is_short).any(|word| word.contains('c')).then_some(shell)
}

/// Whether a process that was started as a shell is one still. A shell with a single command, and one with `exec`, becomes the client. Where the system
/// does not tell, it is taken for one.
pub(super) fn is_shell_still(id: u32) -> bool {
    fs::read_to_string(format!("/proc/{id}/comm")).map_or(true, |name| SHELLS.contains(&name.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_9_a_shell_is_known_by_its_words() {
        let of = |words: &[&str]| of_words(&words.iter().map(|word| String::from(*word)).collect::<Vec<_>>());
        assert_eq!(of(&["sh", "-c", "a; b"]), Some("sh"));
        assert_eq!(of(&["/bin/bash", "-lc", "a"]), Some("bash"));
        assert_eq!(of(&["bash", "--norc", "-e", "-c", "a"]), Some("bash"));
        assert_eq!(of(&["bash", "agent.sh", "-c"]), None, "the script is the client");
        assert_eq!((of(&["python3", "-c", "a"]), of(&["bash"]), of(&[])), (None, None, None));
    }
}
