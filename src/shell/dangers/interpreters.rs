//! Programs that get their code in an argument: what of it is known is the names in it.

use reenact_wire::prelude::*;

use super::{DANGEROUS, Danger};
use crate::lexeme::CommandWord;

/// Interpreters, and the options behind which code stands. `awk` has it in a word of its own.
const INTERPRETERS: [(&str, &[&str]); 8] = [
    ("python", &["-c"]),
    ("perl", &["-e", "-E"]),
    ("ruby", &["-e"]),
    ("node", &["-e", "--eval", "-p", "--print"]),
    ("php", &["-r"]),
    ("lua", &["-e"]),
    ("osascript", &["-e"]),
    ("awk", &[]),
];

/// Whether code in an argument names a dangerous program as a whole word. `has_input`: the code comes from a text or a file that is given to it.
pub(super) fn check(name: &str, arguments: &[&CommandWord], has_input: bool) -> Result<(), Danger> {
    let stem = name.trim_start_matches(['g', 'm', 'n']).trim_end_matches(|character: char| character.is_ascii_digit() || character == '.');
    let is_it = |known: &str| known == stem || known == name;
    let Some((_, options)) = INTERPRETERS.iter().find(|(known, _)| is_it(known)) else { return Ok(()) };
    let texts: Vec<Option<String>> = arguments.iter().map(|word| word.literal()).collect();
    let is_alone = arguments.is_empty() || texts.iter().flatten().any(|text| text == "-");
    if has_input && is_alone && !options.is_empty() {
        return Err(Danger::UnknownCommands(name.to_owned()));
    }
    let is_code = |text: &Option<String>| text.as_ref().is_none_or(|text| text.contains(['{', '(']));
    let codes = texts.iter().enumerate().filter(|(index, text)| {
        (options.is_empty() && is_code(text))
            || index.checked_sub(1).is_some_and(|before| texts[before].as_deref().is_some_and(|text| options.contains(&text)))
    });
    for (_, code) in codes {
        let Some(code) = code else { return Err(Danger::NotUnderstood(format!("the code of {name}"))) };
        if let Some(dangerous) = DANGEROUS.iter().find(|dangerous| has_word(code, dangerous)) {
            return Err(Danger::Program((*dangerous).to_owned()));
        }
    }
    Ok(())
}

/// Whether the text has this word between characters that are no letters.
fn has_word(text: &str, word: &str) -> bool {
    text.split(|character: char| !character.is_alphanumeric() && !matches!(character, '_' | '-' | '.')).any(|found| found == word)
}
