//! The form that a client gives the results of its tools, beside what they say: two results in other forms may say the same.

use std::borrow::Cow;

use reenact_tools::BuiltinTool;

/// The results of a tool, in a folder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientForm<'a> {
    pub(crate) tool: BuiltinTool,
    /// The folder that relative paths are meant from.
    pub(crate) folder: &'a str,
}

/// Words of clients for a command that printed nothing.
const NO_OUTPUT: [&str; 4] =
    ["(no output)", "(Bash completed with no output)", "Tool ran without output", "Tool ran without output or errors"];

/// Words of clients, and our own, for a search that found nothing.
const NOTHING_FOUND: [&str; 5] =
    ["No files found", "No matches found", "no file fits", "nothing was found", "No files found matching the pattern"];

/// The beginning of our own note behind the lines of a file that goes on.
const CUT: &str = "(cut: the file goes on;";

impl ClientForm<'_> {
    /// Whether a recorded text says what the text of today says.
    pub(crate) fn is_same(self, recorded: &str, today: &str) -> bool {
        let today = self.content(today);
        // A file may hold what looks like a reminder.
        self.content(recorded) == today || self.content(&without_reminders(recorded)) == today
    }

    /// The content of a text, line by line.
    fn content(self, text: &str) -> Vec<String> {
        let text = text.trim_end_matches('\n');
        match self.tool {
            BuiltinTool::Read => text.lines().filter(|line| !line.starts_with(CUT)).map(numbered).collect(),
            BuiltinTool::Glob | BuiltinTool::Grep => self.found(text),
            BuiltinTool::Bash => printed(text),
            _ => text.lines().map(str::to_owned).collect(),
        }
    }

    /// Paths and lines that were found, in one order and with whole paths.
    fn found(self, text: &str) -> Vec<String> {
        if NOTHING_FOUND.contains(&text) {
            return Vec::new();
        }
        let mut lines: Vec<String> = text.lines().filter(|line| !line.is_empty()).map(|line| self.whole_path(line)).collect();
        // A headline says how many there are: one that is wrong is a difference.
        let count =
            lines.first().and_then(|line| line.rsplit('/').next()?.strip_prefix("Found ")?.split(' ').next()?.parse::<usize>().ok());
        if count.is_some_and(|count| count + 1 == lines.len()) {
            lines.remove(0);
        }
        lines.sort();
        lines
    }

    fn whole_path(self, line: &str) -> String {
        let line = line.strip_prefix("./").unwrap_or(line);
        if line.starts_with('/') { line.to_owned() } else { format!("{}/{line}", self.folder) }
    }
}

/// `  12→text` and `12⇥text` are the same line.
fn numbered(line: &str) -> String {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let trimmed = line.trim_start_matches(' ');
    let rest = trimmed.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = &trimmed[..trimmed.len() - rest.len()];
    match rest.strip_prefix(['\t', '→']) {
        Some(text) if !number.is_empty() => format!("{number}\t{text}"),
        _ => line.to_owned(),
    }
}

/// The output of a command, with its exit code in one place.
fn printed(text: &str) -> Vec<String> {
    if NO_OUTPUT.contains(&text) {
        return Vec::new();
    }
    let mut lines: Vec<Cow<'_, str>> = text.lines().map(Cow::Borrowed).collect();
    let code = |line: &str| line.strip_prefix("Exit code ").or(line.strip_prefix("exit code ")).and_then(|code| code.parse::<i32>().ok());
    let first = lines.first().and_then(|line| code(line));
    let found = match first {
        Some(code) => {
            lines.remove(0);
            Some(code)
        }
        None => lines.last().and_then(|line| code(line)).inspect(|_| drop(lines.pop())),
    };
    lines.into_iter().map(Cow::into_owned).chain(found.map(|code| format!("exit code {code}"))).collect()
}

/// Without the reminders that a client puts behind a result for its model.
fn without_reminders(text: &str) -> Cow<'_, str> {
    const BEGIN: &str = "<system-reminder>";
    const END: &str = "</system-reminder>";
    let mut rest = text.trim_end();
    while rest.ends_with(END) {
        let Some(at) = rest.rfind(BEGIN).filter(|at| *at > 0) else { break };
        rest = rest[..at].trim_end();
    }
    if rest.len() == text.trim_end().len() { Cow::Borrowed(text) } else { Cow::Borrowed(rest) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(tool: BuiltinTool, recorded: &str, today: &str) -> bool {
        ClientForm { tool, folder: "/w" }.is_same(recorded, today)
    }

    #[test]
    fn b_1_the_form_of_a_client_is_no_difference() {
        let table = [
            (
                BuiltinTool::Read,
                "     1→fn a() {\n     2→    1\n     3→}\n\n<system-reminder>\nx\n</system-reminder>\n",
                "1\tfn a() {\n2\t    1\n3\t}",
            ),
            (BuiltinTool::Read, "1\ta", "1\ta\n(cut: the file goes on; read on with offset 2)"),
            (BuiltinTool::Read, "     1→a <system-reminder>x</system-reminder>", "1\ta <system-reminder>x</system-reminder>"),
            (BuiltinTool::Glob, "/w/a\n/w/b", "/w/b\n/w/a"),
            (BuiltinTool::Glob, "./a\nb/c", "/w/b/c\n/w/a"),
            (BuiltinTool::Glob, "No files found", "no file fits"),
            (BuiltinTool::Grep, "Found 2 files\n/w/a\n/w/b", "/w/b\n/w/a"),
            (BuiltinTool::Grep, "No matches found", "nothing was found"),
            (BuiltinTool::Bash, "Exit code 2\nls: no", "ls: no\nexit code 2"),
            (BuiltinTool::Bash, "(Bash completed with no output)", ""),
            (BuiltinTool::Bash, "a\n", "a"),
        ];
        for (tool, recorded, today) in table {
            assert!(same(tool, recorded, today), "{recorded:?} {today:?}");
        }
    }

    #[test]
    fn b_1_what_a_result_says_is_a_difference() {
        let table = [
            (BuiltinTool::Read, "7\tone\n9\ttwo", "1\tone\n2\ttwo"),
            (BuiltinTool::Read, "1\t 2\tx", "1\tx"),
            (BuiltinTool::Read, "12 apples", "13 apples"),
            (BuiltinTool::Read, "1\tT", "1\tT "),
            (BuiltinTool::Read, "1\ta <system-reminder>GOOD</system-reminder> b", "1\ta <system-reminder>evil</system-reminder> b"),
            (BuiltinTool::Grep, "Found 3 files\n/w/a\n/w/b", "/w/b\n/w/a"),
            (BuiltinTool::Grep, "No matches found", "/w/a"),
            (BuiltinTool::Bash, "one \ntwo", "one\ntwo"),
            (BuiltinTool::Bash, "Exit code 1\nno", "no\nexit code 2"),
            (BuiltinTool::Bash, "a", ""),
        ];
        for (tool, recorded, today) in table {
            assert!(!same(tool, recorded, today), "{recorded:?} {today:?}");
        }
    }
}
