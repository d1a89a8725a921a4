//! Words that must not be in any text, and pages that must keep their form: nothing of one machine, a change log with a place for what
//! is new, a README and pages of documentation whose commands exist.

use super::checkout::SourceFile;
use super::{Checkout, TidyProblem};

/// Banned everywhere. Written in pieces, so that this file does not contain them.
const BANNED: &[(&str, &str)] = &[
    (concat!("/wor", "k/"), "a path of one machine: use `/w/` in examples"),
    (concat!("/tmp", "/wt"), "a path of one machine: use a temporary folder"),
    (concat!("/ho", "me/"), "a path of one machine: use `/w/` in examples"),
    (concat!("static.", "crates.io"), "a registry's host: name the crate alone"),
    (concat!("index.", "crates.io"), "a registry's host: name the crate alone"),
    (concat!("pypi.", "org"), "a registry's host: name the package alone"),
    (concat!("registry.", "npmjs.org"), "a registry's host: name the package alone"),
];

const CHANGE_LOG: &str = "CHANGELOG.md";
const README: &str = "README.md";
const TEST_COMMAND: &str = "cargo xtask ci";

pub(crate) fn check(checkout: &Checkout) -> Vec<TidyProblem> {
    let mut problems: Vec<TidyProblem> = checkout.files.iter().flat_map(banned_words).collect();
    problems.extend(check_change_log(checkout));
    problems.extend(checkout.file(README).into_iter().flat_map(|readme| check_readme(checkout, readme)));
    let pages = checkout.files.iter().filter(|file| file.path.starts_with("docs/") && file.path.ends_with(".md"));
    problems.extend(pages.flat_map(|page| check_commands(checkout, page)));
    problems
}

fn banned_words(file: &SourceFile) -> Vec<TidyProblem> {
    let mut problems = Vec::new();
    for (index, text) in file.text.lines().enumerate() {
        let found = BANNED.iter().filter(|(word, _)| text.contains(word));
        problems.extend(found.map(|(word, why)| file.problem(index + 1, format!("`{word}` is {why}"))));
    }
    problems
}

fn check_change_log(checkout: &Checkout) -> Option<TidyProblem> {
    let problem = |message: &str| Some(TidyProblem { path: CHANGE_LOG.to_string(), line: 1, message: message.to_string() });
    match checkout.file(CHANGE_LOG) {
        None => problem("is missing: users read the changes there"),
        Some(log) if !log.text.lines().any(|line| line.trim() == "## [Unreleased]") => problem("lacks the heading `## [Unreleased]`"),
        Some(_) => None,
    }
}

/// Each command line in the README's code blocks names something that exists, and one of them is the test command.
fn check_readme(checkout: &Checkout, readme: &SourceFile) -> Vec<TidyProblem> {
    let mut problems = check_commands(checkout, readme);
    if !commands(&readme.text).iter().any(|(_, command)| *command == TEST_COMMAND) {
        problems.push(readme.problem(1, format!("no code block shows the test command `{TEST_COMMAND}`")));
    }
    problems
}

/// Each command line in a page's code blocks names something that exists.
fn check_commands(checkout: &Checkout, page: &SourceFile) -> Vec<TidyProblem> {
    let problem = |(line, command)| {
        let missing = missing_command(checkout, command)?;
        Some(page.problem(line, format!("`{command}`: there is no {missing}; correct the line")))
    };
    commands(&page.text).into_iter().filter_map(problem).collect()
}

/// The lines of code blocks, without a prompt sign and trailing comments, with their numbers.
fn commands(text: &str) -> Vec<(usize, &str)> {
    let mut commands = Vec::new();
    let mut is_code = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with("```") {
            is_code = !is_code;
        } else if is_code {
            let line = line.strip_prefix("$ ").unwrap_or(line);
            commands.push((index + 1, line.split(" #").next().unwrap_or(line).trim()));
        }
    }
    commands
}

/// The name that the command misspells, if it is one of our commands.
fn missing_command(checkout: &Checkout, command: &str) -> Option<String> {
    let words: Vec<&str> = command.split_whitespace().collect();
    match words.as_slice() {
        ["cargo", "xtask", name, ..] => {
            let main = checkout.file("xtask/src/main.rs")?;
            (!main.text.contains(&format!("[\"{name}\""))).then(|| format!("xtask command `{name}`"))
        }
        ["reenact", name, ..] | ["cargo", "run", "--", name, ..] if !name.starts_with('-') => {
            let variant: String = name.split('-').map(capitalised).collect();
            let cli = checkout.files.iter().filter(|file| file.room() == Some("cli"));
            let mut is_known = cli
                .into_iter()
                .flat_map(|file| file.text.lines())
                .map(str::trim_start)
                .map(|line| line.strip_prefix(&variant).is_some_and(|rest| rest.is_empty() || rest.starts_with([',', '(', ' ', '{'])));
            (!is_known.any(|known| known)).then(|| format!("command `{name}` in the cli room"))
        }
        _ => None,
    }
}

fn capitalised(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(chars).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: (&str, &str) = (CHANGE_LOG, "## [Unreleased]\n");

    fn messages(files: &[(&str, &str)]) -> Vec<String> {
        check(&Checkout::from_files(files)).into_iter().map(|problem| problem.message).collect()
    }

    #[test]
    fn each_banned_word_is_found() {
        for (word, _) in BANNED {
            let problems = check(&Checkout::from_files(&[LOG, ("docs.md", &format!("fine\nsee {word}x\n"))]));
            assert_eq!(problems.iter().map(|problem| problem.line).collect::<Vec<_>>(), [2], "{word}");
        }
    }

    #[test]
    fn the_change_log_keeps_a_place_for_what_is_new() {
        assert!(messages(&[])[0].contains("missing"));
        assert!(messages(&[(CHANGE_LOG, "## [0.1.0]\n")])[0].contains("Unreleased"));
        assert_eq!(messages(&[LOG]), [""; 0]);
    }

    #[test]
    fn the_readme_commands_exist() {
        let main = ("xtask/src/main.rs", "match words { [\"ci\", ..] => (), }");
        let cli = ("src/cli.rs", "enum Command {\n    /// Compares.\n    Test(Test),\n    NewScenario { path: String },\n}");
        let good =
            "```sh\n$ cargo xtask ci   # all of it\nreenact test scenarios\nreenact new-scenario a\nreenact --help\n```\nreenact prose\n";
        assert_eq!(messages(&[LOG, main, cli, (README, good)]), [""; 0]);
        assert!(messages(&[LOG, main, cli, (README, "```\ncargo xtask ci\ncargo xtask fly\n```\n")])[0].contains("xtask command `fly`"));
        assert!(messages(&[LOG, main, cli, (README, "```\ncargo xtask ci\nreenact fly\n```\n")])[0].contains("command `fly`"));
        assert!(messages(&[LOG, main, cli, (README, "```\ncargo test\n```\n")])[0].contains("test command"));
        assert!(messages(&[LOG, main, cli, ("docs/a.md", "```\nreenact fly\n```\n")])[0].contains("command `fly`"));
    }
}
