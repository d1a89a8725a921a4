//! The built-in tools: their names, their definitions, and what is known of them beforehand.

use reenact_engine::settings::{InterruptBehaviour, ToolDefinition, ToolSafety};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

use crate::tool_texts::{TOOL_TEXTS, ToolTexts};

words! {
    /// A built-in tool.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum BuiltinTool {
        /// Reads a file (B-1).
        Read = "Read",
        /// Replaces a text in a file (B-2).
        Edit = "Edit",
        /// Replaces several texts in a file, all or none (B-3).
        MultiEdit = "MultiEdit",
        /// Writes a whole file (B-4).
        Write = "Write",
        /// Runs commands of a shell (B-5).
        Bash = "Bash",
        /// Reads the output of commands in the background, and ends them (B-5).
        BashOutput = "BashOutput",
        /// Searches files for a regular expression (B-6).
        Grep = "Grep",
        /// Lists files by their paths (B-7).
        Glob = "Glob",
        /// Gives a task to agents of its own (B-8).
        Agent = "Agent",
        /// Fetches a page (B-9).
        WebFetch = "WebFetch",
        /// Keeps a list of what is to be done (B-10).
        TodoWrite = "TodoWrite",
    }
}

impl BuiltinTool {
    /// The tool of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.as_str() == name)
    }

    /// The texts about it, for the model.
    pub fn texts(self) -> &'static ToolTexts {
        &TOOL_TEXTS[self as usize]
    }

    /// The definition as the engine and its requests have it.
    pub fn definition(self) -> ToolDefinition {
        let texts = self.texts();
        let json = serde_json::json!({ "name": self.as_str(), "description": texts.description, "input_schema": texts.schema() });
        ToolDefinition {
            shell: self.is_shell(),
            interrupt: Some(InterruptBehaviour::Block),
            checks: self.checks(),
            reads_only: self.reads_only(),
            edits: self.edits(),
            ..ToolDefinition::new(self.as_str(), self.safety(), Json::from_value(&json))
        }
    }

    /// Whether uses of it may run beside others (T-3).
    pub fn safety(self) -> ToolSafety {
        match self {
            Self::Read | Self::Grep | Self::Glob | Self::WebFetch | Self::Agent => ToolSafety::Always,
            Self::Bash => ToolSafety::ByCommand,
            Self::Edit | Self::MultiEdit | Self::Write | Self::BashOutput | Self::TodoWrite => ToolSafety::Never,
        }
    }

    /// Whether all it ever does is read (P-1). A sub-agent has tools of its own, which may write.
    pub fn reads_only(self) -> bool {
        self.safety() == ToolSafety::Always && self != Self::Agent
    }

    /// Whether it edits the file that its input names (P-1).
    pub fn edits(self) -> bool {
        matches!(self, Self::Edit | Self::MultiEdit | Self::Write)
    }

    /// Whether it runs shell commands (T-13).
    pub fn is_shell(self) -> bool {
        self == Self::Bash
    }

    /// Whether it looks at its input before it runs (T-22): at paths and commands.
    fn checks(self) -> bool {
        self.edits() || self.is_shell() || matches!(self, Self::Read | Self::Grep | Self::Glob)
    }
}
