//! The tools that scenarios may name without describing them: what requests say of them, and how they usually behave.
//!
//! The world draws a tool's latency from its range here when a scenario gives no figure.
//!
//! While a known tool runs, a submitted message waits for it (T-17). A scenario can have it otherwise: with `interrupts = "readers-cancel"` in
//! `[tools]` the tools that only look stop for a message, because they can be asked again, and so does a shell command, for which people most often
//! wait in vain. What writes goes on, because half of its work may be worse than all of it. A sub-agent goes on, because its whole conversation would
//! be lost.

use super::latency::Latency;
use reenact_engine::settings::InterruptBehaviour;
use reenact_engine::settings::ToolDefinition;
use reenact_engine::time::Micros;
use reenact_tools::BuiltinTool;
use reenact_wire::json::{Json, push_string};
use reenact_wire::prelude::*;

/// A tool that is known by its name.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownTool {
    /// The tool: it knows its name, its class, and what kind of work it does.
    pub tool: BuiltinTool,
    /// Whether it stops for a submitted message under [`KnownInterrupts::ReadersCancel`].
    pub stops_for_messages: bool,
    /// How long it usually takes.
    pub latency: Latency,
    /// A line about the tool.
    pub description: &'static str,
    /// The JSON Schema of its input, as one line of JSON.
    pub schema: &'static str,
}

words! {
    /// The effect of a submitted message on running known tools (T-17).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum KnownInterrupts default Block {
        /// All of them continue, and the message waits for them.
        Block = "block",
        /// Tools that only read stop, and shell commands.
        ReadersCancel = "readers-cancel",
    }
}

/// All of them.
pub static KNOWN_TOOLS: [KnownTool; 11] = [
    KnownTool {
        tool: BuiltinTool::Read,
        stops_for_messages: true,
        latency: uniform(10, 50),
        description: "Reads a file.",
        schema: r#"{"type":"object","properties":{"file_path":{"type":"string"},"offset":{"type":"integer"},"limit":{"type":"integer"}},"required":["file_path"]}"#,
    },
    KnownTool {
        tool: BuiltinTool::Edit,
        stops_for_messages: false,
        latency: uniform(20, 100),
        description: "Replaces a text in a file.",
        schema: r#"{"type":"object","properties":{"file_path":{"type":"string"},"old_string":{"type":"string"},"new_string":{"type":"string"},"replace_all":{"type":"boolean"}},"required":["file_path","old_string","new_string"]}"#,
    },
    KnownTool {
        tool: BuiltinTool::MultiEdit,
        stops_for_messages: false,
        latency: uniform(50, 500),
        description: "Replaces several texts in a file, all or none.",
        schema: r#"{"type":"object","properties":{"file_path":{"type":"string"},"edits":{"type":"array","items":{"type":"object","properties":{"old_string":{"type":"string"},"new_string":{"type":"string"},"replace_all":{"type":"boolean"}},"required":["old_string","new_string"]}}},"required":["file_path","edits"]}"#,
    },
    KnownTool {
        tool: BuiltinTool::Write,
        stops_for_messages: false,
        latency: uniform(10, 50),
        description: "Writes a file, replacing what it held.",
        schema: r#"{"type":"object","properties":{"file_path":{"type":"string"},"content":{"type":"string"}},"required":["file_path","content"]}"#,
    },
    KnownTool {
        tool: BuiltinTool::Bash,
        stops_for_messages: true,
        latency: Latency::LogUniform(Micros::from_millis(50), Micros::from_secs(30)),
        description: "Runs a shell command.",
        schema: r#"{"type":"object","properties":{"command":{"type":"string"},"timeout":{"type":"integer"},"description":{"type":"string"}},"required":["command"]}"#,
    },
    KnownTool {
        tool: BuiltinTool::BashOutput,
        stops_for_messages: false,
        latency: uniform(5, 20),
        description: "Reads the output of a command in the background.",
        schema: r#"{"type":"object","properties":{"bash_id":{"type":"string"},"kill":{"type":"boolean"}},"required":["bash_id"]}"#,
    },
    KnownTool {
        tool: BuiltinTool::Grep,
        stops_for_messages: true,
        latency: uniform(100, 500),
        description: "Searches files for a regular expression.",
        schema: r#"{"type":"object","properties":{"pattern":{"type":"string"},"path":{"type":"string"},"glob":{"type":"string"}},"required":["pattern"]}"#,
    },
    KnownTool {
        tool: BuiltinTool::Glob,
        stops_for_messages: true,
        latency: uniform(50, 200),
        description: "Lists the files whose paths fit a pattern.",
        schema: r#"{"type":"object","properties":{"pattern":{"type":"string"},"path":{"type":"string"}},"required":["pattern"]}"#,
    },
    KnownTool {
        tool: BuiltinTool::Agent,
        stops_for_messages: false,
        latency: uniform(2_000, 20_000),
        description: "Gives a task to a sub-agent and returns its answer.",
        schema: r#"{"type":"object","properties":{"description":{"type":"string"},"prompt":{"type":"string"},"parallel_tasks":{"type":"integer"},"model":{"type":"string"}},"required":["description","prompt"]}"#,
    },
    KnownTool {
        tool: BuiltinTool::WebFetch,
        stops_for_messages: true,
        latency: uniform(500, 3_000),
        description: "Fetches a page and answers a question about it.",
        schema: r#"{"type":"object","properties":{"url":{"type":"string"},"prompt":{"type":"string"}},"required":["url","prompt"]}"#,
    },
    KnownTool {
        tool: BuiltinTool::TodoWrite,
        stops_for_messages: false,
        latency: uniform(1, 10),
        description: "Keeps a list of what is to be done.",
        schema: r#"{"type":"object","properties":{"todos":{"type":"array","items":{"type":"object","properties":{"content":{"type":"string"},"status":{"type":"string"}},"required":["content","status"]}}},"required":["todos"]}"#,
    },
];

const fn uniform(low_ms: u64, high_ms: u64) -> Latency {
    Latency::Uniform(Micros::from_millis(low_ms), Micros::from_millis(high_ms))
}

/// The tool of this name.
pub fn known_tool(name: &str) -> Option<&'static KnownTool> {
    KNOWN_TOOLS.iter().find(|known| known.name() == name)
}

impl KnownTool {
    /// Its name.
    pub fn name(&self) -> &'static str {
        self.tool.as_str()
    }

    /// The definition as the engine and its requests have it.
    pub fn definition(&self) -> ToolDefinition {
        let mut json = String::from("{\"name\":");
        push_string(&mut json, self.name());
        json.push_str(",\"description\":");
        push_string(&mut json, self.description);
        json.push_str(",\"input_schema\":");
        json.push_str(self.schema);
        json.push('}');
        self.describe(self.name(), Json::trusted(json))
    }

    /// The effect of a submitted message on the tool while it runs.
    pub fn interrupt(&self, interrupts: KnownInterrupts) -> InterruptBehaviour {
        match interrupts {
            KnownInterrupts::ReadersCancel if self.stops_for_messages => InterruptBehaviour::Cancel,
            KnownInterrupts::ReadersCancel | KnownInterrupts::Block => InterruptBehaviour::Block,
        }
    }

    /// A definition that behaves like this tool and says something of its own about itself.
    pub fn describe(&self, name: &str, json: Json) -> ToolDefinition {
        ToolDefinition {
            shell: self.tool.is_shell(),
            interrupt: Some(self.interrupt(KnownInterrupts::default())),
            reads_only: self.tool.reads_only(),
            edits: self.tool.edits(),
            ..ToolDefinition::new(name, self.tool.safety(), json)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_engine::settings::ToolSafety;

    #[test]
    fn t_3_every_known_tool_has_a_valid_definition() {
        for tool in &KNOWN_TOOLS {
            let value = Json::parse(tool.definition().json.as_str()).unwrap().to_value();
            assert_eq!(value["name"], tool.name());
            let properties = &value["input_schema"]["properties"];
            for required in value["input_schema"]["required"].as_array().unwrap() {
                assert!(properties.get(required.as_str().unwrap()).is_some(), "{} {required}", tool.name());
            }
        }
        assert_eq!(known_tool("Bash").map(|known| known.tool.safety()), Some(ToolSafety::ByCommand));
        assert_eq!(known_tool("read"), None, "names are exact");
    }

    #[test]
    fn t_17_known_tools_block_messages_unless_readers_stop_for_them() {
        let stops = |interrupts| {
            let stopping = KNOWN_TOOLS.iter().filter(move |tool| tool.interrupt(interrupts) == InterruptBehaviour::Cancel);
            stopping.map(|tool| tool.name()).collect::<Vec<_>>()
        };
        assert_eq!(stops(KnownInterrupts::Block), [] as [&str; 0]);
        assert_eq!(stops(KnownInterrupts::ReadersCancel), ["Read", "Bash", "Grep", "Glob", "WebFetch"]);
        assert!(KNOWN_TOOLS.iter().all(|tool| tool.definition().interrupt == Some(InterruptBehaviour::Block)));
    }
}
