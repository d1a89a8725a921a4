//! Held against `sh` itself (W-3).

use reenact_wire::prelude::*;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

use super::generator::{Numbers, VARIABLES, command};
use crate::{Sentinel, ShellWord, danger, lexemes, only_reads, words};
use reenact_wire::json::Json;

/// Prints each of its arguments with a byte that ends it, and one that ends the command.
const PRINT: &str = "set -f\nprint() { for argument; do printf '%s\\002' \"$argument\"; done; printf '\\001'; }\n";

fn variables() -> BTreeMap<Arc<str>, Json> {
    VARIABLES.iter().map(|(name, value)| (Arc::from(*name), Json::from_value(value))).collect()
}

/// The output of `sh` for a script.
fn sh(script: &str) -> String {
    let mut child = Command::new("sh")
        .env_clear()
        .envs(VARIABLES)
        .args(["-s"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("sh starts");
    child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.stderr.is_empty(), "sh says: {}\nof\n{script}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn our_words(command: &str) -> Vec<String> {
    let variables = variables();
    let sentinel = Sentinel::new(7, command, &variables);
    let words = words(command, &variables, &sentinel).unwrap_or_else(|error| panic!("{error}: {command:?}"));
    words.into_iter().skip(1).map(|word| if let ShellWord::Text(text) = word { text } else { panic!("{word:?} of {command:?}") }).collect()
}

#[cfg(unix)]
#[test]
fn w_3_words_of_twenty_thousand_generated_commands_are_those_of_sh() {
    let mut count = 0;
    for batch in 0..100_u64 {
        let commands: Vec<String> = (0..200).map(|index| command(batch * 200 + index)).collect();
        let printed = sh(&format!("{PRINT}{}\n", commands.join("\n")));
        let of_sh: Vec<Vec<&str>> = printed.split_terminator('\u{1}').map(|line| line.split_terminator('\u{2}').collect()).collect();
        assert_eq!(of_sh.len(), commands.len(), "sh has run each command");
        for (command, expected) in commands.iter().zip(of_sh) {
            assert_eq!(our_words(command), expected, "{command:?}");
            count += expected.len();
        }
    }
    assert!(count > 20_000, "the commands have {count} words");
}

#[cfg(unix)]
#[test]
fn w_3_bodies_of_here_documents_are_those_of_sh() {
    let lines = ["a b", "$A", "${B}x", "\\$A", "\\\\", "\\n", "\"quoted\"", "it's", "\tindented", "", "E ", "'$A'", "back\\", "\\`"];
    for seed in 0..500 {
        let mut numbers = Numbers::new(seed);
        let head = numbers.one_of(&["<<E", "<<-E", "<<'E'", "<<\"E\"", "<<\\E", "<< E", "<<-'E'"]);
        let body: Vec<&str> = (0..numbers.below(5)).map(|_| numbers.one_of(&lines)).collect();
        let script = format!("cat {head}\n{}\nE\n", body.join("\n"));
        let ours = words(&script, &variables(), &Sentinel::new(7, &script, &variables())).unwrap();
        let Some(ShellWord::Input(text)) = ours.get(1) else { panic!("{ours:?} of {script:?}") };
        assert_eq!(*text, sh(&script), "{script:?}");
    }
}

#[test]
fn w_1_random_texts_are_read_or_refused_with_a_place() {
    let pieces = vec![
        "a", " ", "\n", "'", "\"", "\\", "$", "`", "(", ")", "{", "}", "<<", "<", ">", "&", "|", ";", "#", "$(", "${", "$((", "<<E\n",
        "\nE\n", "ü", "\0", "1>", "<(", "=",
    ];
    let (mut read, mut refused) = (0, 0);
    for seed in 0..20_000 {
        let mut numbers = Numbers::new(seed);
        let text: String = (0..numbers.below(24)).map(|_| numbers.one_of(&pieces)).collect();
        match lexemes(&text) {
            Ok(_) => read += 1,
            Err(error) => {
                assert!(error.at <= text.len(), "{error} of {text:?}");
                refused += 1;
            }
        }
        let danger = danger(&text);
        assert!(danger.is_none() || !only_reads(&text), "{text:?} only reads, and {danger:?}");
    }
    assert!(read > 2_000 && refused > 2_000, "{read} were read, {refused} refused");
}
