//! The texts about each tool, for the model: a line, a prompt, notes, and the schema of its input (P-5).

use serde_json::Value;

/// The texts of a tool.
#[derive(Debug)]
pub struct ToolTexts {
    /// A line about the tool.
    pub description: &'static str,
    /// How to use it.
    pub prompt: &'static str,
    /// Notes about it, a line each.
    pub notes: &'static [&'static str],
    /// The JSON Schema of its input.
    schema: &'static str,
}

impl ToolTexts {
    /// The JSON Schema of its input.
    pub fn schema(&self) -> Value {
        serde_json::from_str(self.schema).unwrap_or_default()
    }
}

/// In the order of the variants of `BuiltinTool`.
pub(crate) static TOOL_TEXTS: [ToolTexts; 11] = [
    ToolTexts {
        description: "Reads a file.",
        prompt: "Give the absolute path. The first 2,000 lines come back, each with its number; ask for others with `offset` and `limit`. Images, PDF files and \
                 notebooks are read as well.",
        notes: &["A line is cut after 2,000 characters.", "A part that was read counts as read: the file can be edited then."],
        schema: r#"{"type":"object","properties":{"file_path":{"type":"string","description":"The absolute path of the file"},"offset":{"type":"integer","minimum":1,"description":"The first line, from 1"},"limit":{"type":"integer","minimum":1,"description":"How many lines"}},"required":["file_path"]}"#,
    },
    ToolTexts {
        description: "Replaces a text in a file.",
        prompt: "Read the file first. The old text must be there exactly once, with all blanks, or as often as `expected_replacements` says; with `replace_all` as \
                 often as it may be.",
        notes: &[
            "The number and the tab before a line are not part of the file.",
            "If the file has changed since it was read, nothing is written: read it again.",
        ],
        schema: r#"{"type":"object","properties":{"file_path":{"type":"string","description":"The absolute path of the file"},"old_string":{"type":"string","description":"The text to replace"},"new_string":{"type":"string","description":"The text in its place"},"replace_all":{"type":"boolean","description":"Whether each occurrence is replaced"},"expected_replacements":{"type":"integer","minimum":1,"description":"How often the old text is there; 1 if nothing is said"}},"required":["file_path","old_string","new_string"]}"#,
    },
    ToolTexts {
        description: "Replaces several texts in a file, all or none.",
        prompt: "Each edit sees the text as those before have left it. If one of them cannot be made, none is.",
        notes: &["Read the file first, as for Edit."],
        schema: r#"{"type":"object","properties":{"file_path":{"type":"string","description":"The absolute path of the file"},"edits":{"type":"array","minItems":1,"items":{"type":"object","properties":{"old_string":{"type":"string"},"new_string":{"type":"string"},"replace_all":{"type":"boolean"},"expected_replacements":{"type":"integer","minimum":1}},"required":["old_string","new_string"]}}},"required":["file_path","edits"]}"#,
    },
    ToolTexts {
        description: "Writes a whole file.",
        prompt: "A file that is there must have been read before. Folders are made as needed.",
        notes: &["To change a part of a file, use Edit."],
        schema: r#"{"type":"object","properties":{"file_path":{"type":"string","description":"The absolute path of the file"},"content":{"type":"string","description":"The whole content"}},"required":["file_path","content"]}"#,
    },
    ToolTexts {
        description: "Runs a shell command.",
        prompt: "The result has what the command printed, and its exit code if that is not 0. A command has 30 seconds unless `timeout` says more, up to 600,000 \
                 milliseconds.",
        notes: &[
            "At most 1 MiB of its output is kept.",
            "What it has started is ended with it.",
            "With `run_in_background` an id comes back at once; read the output with BashOutput.",
            "With `sandbox` it writes in the working directory alone, and does not reach the network.",
        ],
        schema: r#"{"type":"object","properties":{"command":{"type":"string","description":"The command"},"timeout":{"type":"integer","minimum":1,"maximum":600000,"description":"In milliseconds"},"description":{"type":"string","description":"What the command does, in a few words"},"sandbox":{"type":"boolean","description":"Whether it runs in a sandbox; decided by the command if nothing is said"},"shell_executable":{"type":"string","description":"The absolute path of another shell"},"run_in_background":{"type":"boolean","description":"Whether it goes on while other tools run"}},"required":["command"]}"#,
    },
    ToolTexts {
        description: "Reads the output of a command in the background.",
        prompt: "The output since the last call comes back, and whether the command still runs. `kill` ends it.",
        notes: &["All commands in the background end with the session."],
        schema: r#"{"type":"object","properties":{"bash_id":{"type":"string","description":"The id that Bash gave"},"kill":{"type":"boolean","description":"Whether the command is ended"}},"required":["bash_id"]}"#,
    },
    ToolTexts {
        description: "Searches files for a regular expression.",
        prompt: "`output_mode` is `files` (their paths), `content` (the lines, with `context` lines around them) or `count`. `glob` narrows the files.",
        notes: &[
            "Files that `.gitignore` names are left out, and `.git`, `node_modules`, media and archives.",
            "The newest files come first: 20 of them, with 10 lines each, unless `limit` and `matches` say otherwise.",
        ],
        schema: r#"{"type":"object","properties":{"pattern":{"type":"string","description":"The regular expression"},"path":{"type":"string","description":"A file or a folder; the working directory if nothing is said"},"glob":{"type":"string","description":"A pattern for names (*.rs) or paths (src/**/*.rs)"},"output_mode":{"type":"string","enum":["files","content","count"]},"context":{"type":"integer","minimum":0,"description":"Lines around a match"},"ignore_case":{"type":"boolean"},"multiline":{"type":"boolean","description":"Whether a match may go over several lines"},"limit":{"type":"integer","minimum":1,"description":"The most files"},"matches":{"type":"integer","minimum":1,"description":"The most matching lines of a file"}},"required":["pattern"]}"#,
    },
    ToolTexts {
        description: "Lists the files whose paths fit a pattern.",
        prompt: "The pattern is for the path below `path`: `*.rs` for files right in it, `**/*.rs` for those in folders as well. The newest files come first.",
        notes: &["At most 100 files are listed, unless `limit` says otherwise."],
        schema: r#"{"type":"object","properties":{"pattern":{"type":"string"},"path":{"type":"string","description":"A folder; the working directory if nothing is said"},"limit":{"type":"integer","minimum":1,"description":"The most files"}},"required":["pattern"]}"#,
    },
    ToolTexts {
        description: "Gives a task to a sub-agent and returns its answer.",
        prompt: "The agent sees nothing of this conversation but the prompt. With `parallel_tasks` several agents work on it, and their answers are merged.",
        notes: &["It has the same tools, but no agents and no list of its own."],
        schema: r#"{"type":"object","properties":{"description":{"type":"string","minLength":3,"maxLength":100,"description":"The task in a few words"},"prompt":{"type":"string","minLength":10,"description":"The whole task"},"parallel_tasks":{"type":"integer","minimum":1,"maximum":5},"model":{"type":"string"}},"required":["description","prompt"]}"#,
    },
    ToolTexts {
        description: "Fetches a page and answers a question about it.",
        prompt: "The page is turned into text, and `prompt` is asked about it.",
        notes: &["Redirections to another host are not followed.", "Addresses of this machine and of private networks are refused."],
        schema: r#"{"type":"object","properties":{"url":{"type":"string"},"prompt":{"type":"string"}},"required":["url","prompt"]}"#,
    },
    ToolTexts {
        description: "Keeps a list of what is to be done.",
        prompt: "Give the whole list each time. At most one item is in progress.",
        notes: &[],
        schema: r#"{"type":"object","properties":{"todos":{"type":"array","items":{"type":"object","properties":{"content":{"type":"string","minLength":1},"status":{"type":"string","enum":["pending","in_progress","completed"]}},"required":["content","status"]}}},"required":["todos"]}"#,
    },
];
