//! Which commands run in a sandbox (P-3): a pure decision over the text of a command.

use reenact_shell::{command_texts, only_reads, started_programs};

/// The place of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandPlace {
    /// In a sandbox: it writes in the working directory alone, and reaches no network.
    Sandbox,
    /// Among all other processes.
    Outside,
}

/// Programs that reach the network.
const NETWORK: [&str; 18] = [
    "curl",
    "wget",
    "ssh",
    "scp",
    "sftp",
    "rsync",
    "ftp",
    "telnet",
    "nc",
    "ncat",
    "ping",
    "dig",
    "nslookup",
    "host",
    "traceroute",
    "gh",
    "aws",
    "gcloud",
];

/// Programs that write files, wherever it may be.
const WRITERS: [&str; 17] = [
    "cp", "mv", "rm", "mkdir", "rmdir", "touch", "tee", "dd", "ln", "chmod", "chown", "install", "truncate", "unzip", "tar", "patch", "sed",
];

/// Programs that build, or fetch what a build needs.
const BUILDERS: [&str; 25] = [
    "make", "cmake", "ninja", "cargo", "rustc", "go", "gcc", "cc", "g++", "clang", "npm", "npx", "pnpm", "yarn", "bun", "pip", "pip3",
    "uv", "poetry", "mvn", "gradle", "bazel", "docker", "apt", "brew",
];

/// Commands of git that write, or reach the network.
const GIT_READERS: [&str; 8] = ["log", "show", "diff", "status", "blame", "grep", "rev-parse", "ls-files"];

/// The place of a command of which nothing was said. What is not known is sandboxed.
pub fn command_place(command: &str) -> CommandPlace {
    if only_reads(command) {
        return CommandPlace::Sandbox;
    }
    let writes = command_texts(command).is_some_and(|texts| texts.iter().any(|text| text.writes));
    if writes || started_programs(command).texts.iter().any(|program| needs_outside(program)) {
        CommandPlace::Outside
    } else {
        CommandPlace::Sandbox
    }
}

/// Whether a program with its arguments needs the network, writes files, or builds.
fn needs_outside(text: &str) -> bool {
    let mut words = text.split(' ').skip_while(|word| word.contains('='));
    let program = words.next().and_then(|word| word.rsplit('/').next()).unwrap_or_default();
    let mut is_git_writer = || words.next().is_some_and(|command| !command.starts_with('-') && !GIT_READERS.contains(&command));
    NETWORK.contains(&program) || WRITERS.contains(&program) || BUILDERS.contains(&program) || (program == "git" && is_git_writer())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_3_the_place_of_a_command() {
        let table = [
            ("ls -la", CommandPlace::Sandbox),
            ("git log | head", CommandPlace::Sandbox),
            ("git -C a log", CommandPlace::Sandbox),
            ("python3 -c 'print(1)'", CommandPlace::Sandbox),
            ("./a-program", CommandPlace::Sandbox),
            ("'open", CommandPlace::Sandbox),
            ("curl https://example.com", CommandPlace::Outside),
            ("cat a | ssh b", CommandPlace::Outside),
            ("echo a > b", CommandPlace::Outside),
            ("echo a > /dev/null", CommandPlace::Sandbox),
            ("A=1 /usr/bin/make all", CommandPlace::Outside),
            ("cd a && cargo test", CommandPlace::Outside),
            ("nice cp a b", CommandPlace::Outside),
            ("git push", CommandPlace::Outside),
            ("sh -c 'npm i'", CommandPlace::Outside),
        ];
        for (command, place) in table {
            assert_eq!(command_place(command), place, "{command}");
        }
    }
}
