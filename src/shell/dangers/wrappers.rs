//! Programs that start another one: where it stands among their arguments.

use reenact_wire::prelude::*;

use super::{Danger, shown};
use crate::lexeme::{CommandWord, WordPart};

/// Commands that a program starts.
#[derive(Debug)]
pub(super) enum WrappedCommand<'a> {
    /// Nothing that its arguments name.
    None,
    /// The command that these words are.
    Words(&'a [&'a CommandWord]),
    /// Commands as texts for a shell.
    Texts(Vec<String>),
    /// Commands that begin at several places: `find -exec a ; -exec b`.
    Several(Vec<&'a [&'a CommandWord]>),
}

/// How a wrapper's own arguments end and the command begins.
struct Wrapper {
    name: &'static str,
    /// Short options that take the next word, if no value is joined to them.
    valued: &'static str,
    /// Long options that take the next word, without their dashes.
    valued_long: &'static [&'static str],
    /// Words before the command that are no options: the time of `timeout`.
    operands: usize,
    /// Whether its words are joined and read by a shell.
    is_joined: bool,
}

const fn wrapper(name: &'static str, valued: &'static str, operands: usize) -> Wrapper {
    Wrapper { name, valued, valued_long: &[], operands, is_joined: false }
}

const fn joined(name: &'static str, valued: &'static str, operands: usize) -> Wrapper {
    Wrapper { name, valued, valued_long: &[], operands, is_joined: true }
}

const WRAPPERS: &[Wrapper] = &[
    Wrapper { valued_long: &["unset", "chdir", "argv0"], ..wrapper("env", "uCa", 0) },
    Wrapper {
        valued_long: &["user", "group", "host", "prompt", "chdir", "chroot", "close-from", "type", "role"],
        ..wrapper("sudo", "ughpCrtTUDRac", 0)
    },
    wrapper("doas", "uCa", 0),
    Wrapper { valued_long: &["adjustment"], ..wrapper("nice", "n", 0) },
    Wrapper { valued_long: &["class", "classdata"], ..wrapper("ionice", "cn", 0) },
    Wrapper { valued_long: &["format", "output"], ..wrapper("time", "of", 0) },
    Wrapper { valued_long: &["kill-after", "signal"], ..wrapper("timeout", "ks", 1) },
    wrapper("gtimeout", "ks", 1),
    wrapper("nohup", "", 0),
    wrapper("setsid", "", 0),
    wrapper("stdbuf", "ioe", 0),
    Wrapper { valued_long: &["max-args", "max-procs", "delimiter", "arg-file", "max-chars"], ..wrapper("xargs", "InPLdEsaR", 0) },
    wrapper("exec", "a", 0),
    wrapper("builtin", "", 0),
    wrapper("command", "", 0),
    wrapper("busybox", "", 0),
    wrapper("toybox", "", 0),
    wrapper("chroot", "", 1),
    wrapper("taskset", "", 1),
    wrapper("chrt", "TPD", 1),
    wrapper("strace", "eopsEuabSXI", 0),
    wrapper("ltrace", "eopsuanASl", 0),
    wrapper("unshare", "", 0),
    Wrapper { valued_long: &["target", "setuid", "setgid"], ..wrapper("nsenter", "tSG", 0) },
    wrapper("flock", "wE", 1),
    wrapper("caffeinate", "tw", 0),
    wrapper("runuser", "ugGsc", 0),
    wrapper("setarch", "", 1),
    wrapper("linux32", "", 0),
    wrapper("linux64", "", 0),
    wrapper("prlimit", "", 0),
    wrapper("fakeroot", "", 0),
    wrapper("unbuffer", "", 0),
    wrapper("valgrind", "", 0),
    joined("hyperfine", "", 0),
    wrapper("parallel", "jSNILn", 0),
    wrapper("entr", "", 0),
    joined("eval", "", 0),
    joined("watch", "n", 0),
    joined("ssh", "BbcDEeFIiJLlmOopQRSWw", 1),
];

/// Shells: `-c` and a text, a file, or what they read.
const SHELLS: [&str; 16] =
    ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "mksh", "rbash", "csh", "tcsh", "yash", "pwsh", "nu", "xonsh", "elvish"];

/// Wrappers whose options nobody keeps apart: a dangerous program anywhere in their words counts.
const LOOSE: [&str; 21] = [
    "setpriv",
    "numactl",
    "pkexec",
    "run0",
    "runcon",
    "systemd-run",
    "systemd-inhibit",
    "systemd-cat",
    "dbus-run-session",
    "bwrap",
    "firejail",
    "proot",
    "torsocks",
    "proxychains4",
    "eatmydata",
    "xvfb-run",
    "cpulimit",
    "gosu",
    "su-exec",
    "ssh-agent",
    "sshpass",
];

/// Programs that start another one behind one of these words.
const LOOSE_BEHIND: [(&str, &[&str]); 5] = [
    ("docker", &["exec", "run"]),
    ("podman", &["exec", "run"]),
    ("kubectl", &["exec"]),
    ("adb", &["shell"]),
    ("perf", &["stat", "record", "trace"]),
];

/// Programs that start a shell where no command is named.
const SHELL_STARTERS: [&str; 8] = ["chroot", "unshare", "nsenter", "setarch", "linux32", "linux64", "fakeroot", "ssh"];

/// Programs whose arguments are evaluated once more, if a substitution lies in them.
const EVALUATORS: [&str; 6] = ["let", "declare", "typeset", "local", "unset", "read"];

/// The command that the program `name` starts with these arguments.
pub(super) fn wrapped<'a>(name: &str, arguments: &'a [&'a CommandWord]) -> Result<WrappedCommand<'a>, Danger> {
    let as_text = match name {
        "su" | "runuser" | "script" | "flock" | "sg" => option_text(arguments, 'c'),
        "mapfile" | "readarray" | "compgen" | "complete" => option_text(arguments, 'C'),
        "env" => split_string(arguments),
        "trap" => trap_action(arguments),
        _ if is_shell(name) => option_text(arguments, 'c'),
        _ => None,
    };
    if let Some(text) = as_text {
        return Ok(WrappedCommand::Texts(vec![text?]));
    }
    let unknown = || Err(Danger::UnknownCommands(name.to_owned()));
    let has = |options: &[&str]| arguments.iter().any(|word| is_one_of(word, options));
    match name {
        _ if is_shell(name) => of_shell(name, arguments),
        "su" | "sg" | "newgrp" | "at" | "batch" | "fc" => unknown(),
        "crontab" if !has(&["-l"]) => unknown(),
        "sudo" | "doas" if operands(arguments) == 0 && has(&["-s", "-i", "--shell", "--login"]) => unknown(),
        "." | "source" if arguments.first().is_none_or(|word| reads_elsewhere(word)) => unknown(),
        "make" | "awk" | "gawk" | "sed" if arguments.windows(2).any(|pair| is_one_of(pair[0], &["-f"]) && is_one_of(pair[1], &["-"])) => {
            unknown()
        }
        _ if EVALUATORS.contains(&name)
            && arguments.iter().any(|word| word.literal().is_some_and(|text| text.contains("$(") || text.contains('`'))) =>
        {
            Err(Danger::NotUnderstood(format!("a substitution that {name} makes")))
        }
        // `command -v rm` asks where it is.
        "command" if arguments.first().is_some_and(|word| is_one_of(word, &["-v", "-V"])) => Ok(WrappedCommand::None),
        "find" => Ok(WrappedCommand::Several(behind(arguments, &["-exec", "-execdir", "-ok", "-okdir"]))),
        "fd" | "fdfind" => Ok(WrappedCommand::Several(behind(arguments, &["-x", "-X", "--exec", "--exec-batch"]))),
        "parallel"
            if arguments.iter().all(|word| word.literal().is_some_and(|text| text.starts_with('-')))
                || arguments.first().is_some_and(|word| is_one_of(word, &[":::"])) =>
        {
            unknown()
        }
        "alias" => Ok(WrappedCommand::Texts(arguments.iter().map(|word| alias(word)).collect::<Result<Vec<_>, _>>()?)),
        // A name for a program under which nobody would look for it.
        "ln" | "cp" | "mv" | "install" | "hash" => {
            let dangerous = arguments.iter().filter_map(|word| word.literal()).find(|text| is_program_file(text));
            dangerous.map_or(Ok(WrappedCommand::None), |text| Err(Danger::Program(text)))
        }
        _ if LOOSE.contains(&name) => loose(arguments),
        _ => match WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
            Some(wrapper) => wrapper.command(arguments),
            None => behind_a_word(name, arguments),
        },
    }
}

/// The command of a program that starts one behind a word of its own: `docker exec`.
fn behind_a_word<'a>(name: &str, arguments: &'a [&'a CommandWord]) -> Result<WrappedCommand<'a>, Danger> {
    let starters = LOOSE_BEHIND.iter().find(|(known, _)| *known == name).map(|(_, starters)| *starters);
    match arguments {
        [first, rest @ ..] if starters.is_some_and(|starters| is_one_of(first, starters)) => loose(rest),
        _ => Ok(WrappedCommand::None),
    }
}

/// All places at which a command may begin: at a dangerous program, and at a shell.
fn loose<'a>(words: &'a [&'a CommandWord]) -> Result<WrappedCommand<'a>, Danger> {
    let is_one = |word: &CommandWord| {
        let name = super::program_name(word).unwrap_or_default();
        super::is_dangerous(&name) || is_shell(&name) || WRAPPERS.iter().any(|wrapper| wrapper.name == name)
    };
    Ok(WrappedCommand::Several(words.iter().enumerate().filter(|(_, word)| is_one(word)).map(|(index, _)| &words[index..]).collect()))
}

/// Whether a file's name stands for what is given to the command.
fn reads_elsewhere(word: &CommandWord) -> bool {
    let is_input = |name: &str| name == "-" || name.starts_with("/dev/") || name.starts_with("/proc/");
    word.literal().map_or_else(|| word.parts.iter().any(|part| matches!(part, WordPart::Substitution { .. })), |name| is_input(&name))
}

impl Wrapper {
    fn command<'a>(&self, arguments: &'a [&'a CommandWord]) -> Result<WrappedCommand<'a>, Danger> {
        let mut rest = arguments;
        let mut operands = self.operands;
        while let [first, behind @ ..] = rest {
            let Some(text) = first.literal() else {
                // Behind options stands the program, and nobody knows this one.
                return if operands == 0 && !self.is_joined { Ok(WrappedCommand::Words(rest)) } else { self.texts(rest) };
            };
            if text == "--" {
                rest = behind;
                if operands == 0 {
                    break;
                }
            } else if text == "-" {
                rest = behind;
            } else if let Some(long) = text.strip_prefix("--") {
                // Options may be shortened.
                rest = if self.valued_long.iter().any(|valued| valued.starts_with(long)) {
                    behind.get(1..).unwrap_or_default()
                } else {
                    behind
                };
            } else if let Some(letters) = text.strip_prefix('-') {
                // Of options in one word the last may take the next one.
                let valued = letters.find(|letter| self.valued.contains(letter));
                rest = if valued.is_some_and(|at| at + 1 == letters.len()) { behind.get(1..).unwrap_or_default() } else { behind };
            } else if matches!(self.name, "env" | "sudo") && super::is_assignment(first) {
                rest = behind;
            } else if operands > 0 {
                operands -= 1;
                rest = behind;
            } else {
                break;
            }
        }
        if rest.is_empty() && SHELL_STARTERS.contains(&self.name) {
            return Err(Danger::UnknownCommands(self.name.to_owned()));
        }
        if self.is_joined { self.texts(rest) } else { Ok(WrappedCommand::Words(rest)) }
    }

    /// The words as one text, if they are known.
    fn texts<'a>(&self, words: &[&CommandWord]) -> Result<WrappedCommand<'a>, Danger> {
        let texts =
            words.iter().map(|word| word.literal().ok_or_else(|| Danger::UnknownProgram(shown(word)))).collect::<Result<Vec<_>, _>>()?;
        Ok(WrappedCommand::Texts(vec![texts.join(" ")]))
    }
}

/// A shell without `-c`: a file is nothing that can be known here, and other commands come from elsewhere.
fn of_shell<'a>(name: &str, arguments: &[&CommandWord]) -> Result<WrappedCommand<'a>, Danger> {
    let only_tells = arguments.iter().any(|word| is_one_of(word, &["--version", "--help"]));
    let reads_input = operands(arguments) == 0 || arguments.iter().any(|word| is_one_of(word, &["-s"]));
    let is_unknown = arguments.iter().any(|word| word.literal().is_none() || reads_elsewhere(word));
    if (reads_input || is_unknown) && !only_tells { Err(Danger::UnknownCommands(name.to_owned())) } else { Ok(WrappedCommand::None) }
}

/// Whether the program is a shell.
pub(super) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

/// How many of the words are no options.
fn operands(words: &[&CommandWord]) -> usize {
    words.iter().filter(|word| !word.literal().is_some_and(|text| text.starts_with(['-', '+']) && text.len() > 1)).count()
}

fn is_one_of(word: &CommandWord, texts: &[&str]) -> bool {
    word.literal().is_some_and(|text| texts.contains(&text.as_str()))
}

/// The word behind a short option that may stand among others: `-lc text`. More options may stand between: `-c -e text`.
fn option_text(words: &[&CommandWord], letter: char) -> Option<Result<String, Danger>> {
    let has_letter = |text: String| text.strip_prefix('-').is_some_and(|letters| !letters.starts_with('-') && letters.contains(letter));
    let at = words.iter().position(|word| word.literal().is_some_and(has_letter))?;
    let is_option = |word: &&&CommandWord| word.literal().is_some_and(|text| text.starts_with(['-', '+']));
    Some(text_of(words[at + 1..].iter().find(|word| !is_option(word))))
}

/// The text that `env -S` cuts into words.
fn split_string(words: &[&CommandWord]) -> Option<Result<String, Danger>> {
    words.iter().enumerate().find_map(|(index, word)| {
        let option = word.literal()?;
        // In the text there may be options of `env` itself.
        let as_command = |text: Result<String, Danger>| text.map(|text| format!("env {}", text.replace("\\_", " ")));
        if let Some(value) = option.strip_prefix("--split-string") {
            return Some(as_command(value.strip_prefix('=').map_or_else(|| text_of(words.get(index + 1)), |value| Ok(value.to_owned()))));
        }
        let (_, value) = option.split_once('S').filter(|_| option.starts_with('-') && !option.starts_with("--"))?;
        Some(as_command(if value.is_empty() { text_of(words.get(index + 1)) } else { Ok(value.to_owned()) }))
    })
}

/// The answer to a signal; `-` and a signal alone take it back.
fn trap_action(words: &[&CommandWord]) -> Option<Result<String, Danger>> {
    let words = if words.first().is_some_and(|word| is_one_of(word, &["--"])) { &words[1..] } else { words };
    let [action, _, ..] = words else { return None };
    (!is_one_of(action, &["-", "-p", "-l"])).then(|| text_of(Some(action)))
}

/// The text of a word that a shell will read.
fn text_of(word: Option<&&CommandWord>) -> Result<String, Danger> {
    let Some(word) = word else { return Ok(String::new()) };
    word.literal().ok_or_else(|| Danger::NotUnderstood(format!("a command that is put together when it runs: {}", shown(word))))
}

/// The commands behind each of these options.
fn behind<'a>(words: &'a [&'a CommandWord], options: &[&str]) -> Vec<&'a [&'a CommandWord]> {
    words.iter().enumerate().filter(|(_, word)| is_one_of(word, options)).map(|(index, _)| &words[index + 1..]).collect()
}

/// The text behind the name of an alias.
fn alias(word: &CommandWord) -> Result<String, Danger> {
    let text = word.literal().ok_or_else(|| Danger::NotUnderstood(shown(word)))?;
    Ok(text.split_once('=').map_or_else(String::new, |(_, value)| value.to_owned()))
}

/// A dangerous program by its path.
fn is_program_file(text: &str) -> bool {
    text.rsplit_once('/').is_some_and(|(folder, name)| folder.ends_with("bin") && super::is_dangerous(&name.to_lowercase()))
}
