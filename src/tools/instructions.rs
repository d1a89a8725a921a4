//! The section of a system prompt about a set of tools (P-5). The same set gives the same text.

use reenact_wire::prelude::*;

use crate::builtin::BuiltinTool;

/// Guidance for all tools.
const GUIDANCE: [&str; 6] = [
    "Make independent calls in one message; they run beside each other where that is safe.",
    "Read a file before you write it.",
    "Prefer the tool that is made for a task to a command of the shell.",
    "Safety first: change nothing that you were not asked to change, and do not guess at destructive commands.",
    "Say what you are doing when it takes long.",
    "When a tool gives an error, read it and change what it names; do not repeat the same call.",
];

/// The section for these tools, in the order of [`BuiltinTool::ALL`].
pub fn instructions(tools: &[BuiltinTool]) -> String {
    let mut text = String::from("# Tools\n");
    for tool in BuiltinTool::ALL.into_iter().filter(|tool| tools.contains(tool)) {
        let texts = tool.texts();
        text.push_str(&format!("\n## {}\n\n{} {}\n\nInput: {}\n", tool.as_str(), texts.description, texts.prompt, texts.schema()));
        for note in texts.notes {
            text.push_str(&format!("- {note}\n"));
        }
    }
    text.push_str("\n# How to use them\n\n");
    text.extend(GUIDANCE.map(|line| format!("- {line}\n")));
    text
}
