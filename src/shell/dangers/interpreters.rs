//! Programs that get their code as a text: whether it starts other programs, by words that do.

use reenact_wire::prelude::*;

use super::{Danger, GivenInput};
use crate::lexeme::CommandWord;

/// An interpreter of a language.
struct Interpreter {
    name: &'static str,
    /// The options behind which code stands. `awk` has it in a word of its own.
    options: &'static [&'static str],
    /// Parts of code that start a program.
    starters: &'static [&'static str],
}

const INTERPRETERS: [Interpreter; 8] = [
    Interpreter {
        name: "python",
        options: &["-c"],
        starters: &["system", "subprocess", "popen", "spawn", "execv", "execl", "__import__", "exec("],
    },
    Interpreter { name: "perl", options: &["-e", "-E"], starters: &["system", "exec", "qx", "`", "|", "fork"] },
    Interpreter { name: "ruby", options: &["-e"], starters: &["system", "exec", "spawn", "`", "%x", "popen"] },
    Interpreter { name: "node", options: &["-e", "--eval", "-p", "--print"], starters: &["child_process", "exec", "spawn"] },
    Interpreter { name: "php", options: &["-r"], starters: &["system", "exec", "passthru", "popen", "proc_open", "`"] },
    Interpreter { name: "lua", options: &["-e"], starters: &["execute", "popen"] },
    Interpreter { name: "osascript", options: &["-e"], starters: &["shell script"] },
    Interpreter { name: "awk", options: &[], starters: &["system", "getline", "|"] },
];

/// Whether code that is given to an interpreter starts a program, or cannot be seen.
pub(super) fn check(name: &str, arguments: &[&CommandWord], given: &GivenInput) -> Result<(), Danger> {
    let stem = name.trim_end_matches(|character: char| character.is_ascii_digit() || character == '.');
    let is_it = |known: &&Interpreter| known.name == stem || (known.name == "awk" && matches!(stem, "gawk" | "mawk" | "nawk"));
    let Some(interpreter) = INTERPRETERS.iter().find(is_it) else { return Ok(()) };
    let texts: Vec<Option<String>> = arguments.iter().map(|word| word.literal()).collect();
    if !interpreter.options.is_empty() && texts.iter().all(|text| text.as_deref() == Some("-")) {
        return match given {
            GivenInput::Text(code) => interpreter.check_code(code),
            // A terminal, a pipe or a file.
            GivenInput::Nothing | GivenInput::Unknown => Err(Danger::UnknownCommands(name.to_owned())),
        };
    }
    for (index, text) in texts.iter().enumerate() {
        let is_code = if interpreter.options.is_empty() {
            text.as_ref().is_none_or(|text| text.contains(['{', '(', '/']))
        } else {
            index.checked_sub(1).is_some_and(|before| texts[before].as_deref().is_some_and(|option| interpreter.options.contains(&option)))
        };
        match text {
            Some(code) if is_code => interpreter.check_code(code)?,
            None if is_code && !interpreter.options.is_empty() => return Err(Danger::NotUnderstood(format!("the code of {name}"))),
            _ => (),
        }
    }
    Ok(())
}

impl Interpreter {
    fn check_code(&self, code: &str) -> Result<(), Danger> {
        // A logical "or" is no pipe.
        let code = code.replace("||", "");
        match self.starters.iter().find(|starter| code.contains(**starter)) {
            Some(starter) => Err(Danger::NotUnderstood(format!("code of {} with {starter}", self.name))),
            None => Ok(()),
        }
    }
}
