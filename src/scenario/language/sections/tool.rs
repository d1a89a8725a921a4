//! `tools` and `[[tool]]`: which tools there are, as the engine knows them, and what their runs do (M-7).

use crate::known_tools::{KNOWN_TOOLS, KnownInterrupts, KnownTool, known_tool};
use crate::language::description::{TableDescription, ValueShape};
use crate::language::forms::{JsonObjectText, ModelName, TrueMark, WordList, WordOf, WordOrUnknown, word_forms};
use crate::language::keys::{ConvertedTable, KeyForm, KeyPosition, keys};
use crate::language::tables::{Flat, Inline, Inlines, Section};
use crate::language::toml::TomlValue;
use crate::latency::Latency;
use crate::parse::reader::TableReader;
use crate::parse::report::DiagnosticReport;
use crate::parse::tree::{TreeValue, TreeValueKind};
use crate::types::{ScriptedOutcome, ScriptedTool};
use reenact_engine::settings::{AgentTool, InterruptBehaviour, ObservableField, ToolDefinition, ToolSafety};
use reenact_wire::json::{Json, push_string};
use reenact_wire::prelude::*;

word_forms!(InterruptBehaviour, KnownInterrupts);

/// The tools that need no description.
pub(crate) struct KnownToolNames;

impl WordList for KnownToolNames {
    const NOUN: &'static str = "tool";

    fn words() -> Vec<&'static str> {
        KNOWN_TOOLS.iter().map(KnownTool::name).collect()
    }
}

keys! {
    /// `[tools]`: known tools, and how all of them take a submitted message. `tools = ["Read", "Bash"]` is the short form.
    pub(crate) struct KnownToolsKeys {
        /// The names of the tools.
        names: Vec<String> as KnownToolList = Vec::new(), example("[\"Read\", \"Bash\"]");
        /// The effect of a submitted message on running known tools (T-17). `[[tool]]` entries of known tools have it as well.
        interrupts: KnownInterrupts = KnownInterrupts::default();
    }
}

/// An array of names, or a table.
pub(crate) struct KnownToolsForm;

impl KeyForm for KnownToolsForm {
    type Value = KnownToolsKeys;

    fn shape() -> ValueShape {
        ValueShape::Either(vec![KnownToolList::shape(), ValueShape::Section(TableDescription::new::<KnownToolsKeys>())])
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<KnownToolsKeys> {
        match value.kind {
            TreeValueKind::Table(_) => Section::<KnownToolsKeys>::read(value, at, report),
            _ => KnownToolList::read(value, at, report).map(|names| KnownToolsKeys { names, ..KnownToolsKeys::default() }),
        }
    }

    fn write(value: &KnownToolsKeys) -> TomlValue {
        match value.interrupts {
            KnownInterrupts::Block => KnownToolList::write(&value.names),
            KnownInterrupts::ReadersCancel => Section::<KnownToolsKeys>::write(value),
        }
    }
}

/// An array of the names of known tools.
struct KnownToolList;

impl KeyForm for KnownToolList {
    type Value = Vec<String>;

    fn shape() -> ValueShape {
        Vec::<WordOf<KnownToolNames>>::shape()
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<Vec<String>> {
        if !matches!(value.kind, TreeValueKind::List(_) | TreeValueKind::StandIn) {
            let names = if at.key == "tools" { "an array of names, or a table with `names`" } else { "an array of names" };
            report.mismatch(value, names);
            return None;
        }
        Vec::<WordOf<KnownToolNames>>::read(value, at, report)
    }

    fn write(names: &Vec<String>) -> TomlValue {
        Vec::<WordOf<KnownToolNames>>::write(names)
    }
}

/// A tool that is given by its name alone.
pub(crate) fn plain_tool(name: &str) -> Option<DeclaredTool> {
    let tool = ScriptedTool { definition: known_tool(name)?.definition(), latency: None, outcome: None };
    Some(DeclaredTool { tool, has_interrupt: false })
}

/// A tool, and whether the file gives its interrupt behaviour.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DeclaredTool {
    tool: ScriptedTool,
    has_interrupt: bool,
}

impl DeclaredTool {
    /// The tool, where the file has this for known tools.
    pub(crate) fn with_interrupts(self, interrupts: KnownInterrupts) -> ScriptedTool {
        let Self { mut tool, has_interrupt } = self;
        if let (false, Some(known)) = (has_interrupt, known_tool(&tool.definition.name)) {
            tool.definition.interrupt = Some(known.interrupt(interrupts));
        }
        tool
    }
}

impl From<ScriptedTool> for DeclaredTool {
    fn from(tool: ScriptedTool) -> Self {
        Self { tool, has_interrupt: true }
    }
}

keys! {
    /// `[[tool]]`: a tool, with the outcome of its runs. A key that is left out has the known tool's value.
    pub(crate) struct ToolKeys {
        /// The tool's name.
        name: Option<Arc<str>> = None, required, example("\"Deploy\"");
        /// The whole definition as requests carry it, as a JSON object with the same `name`. It replaces `description` and `input_schema`.
        definition: Option<Json> as Option<JsonObjectText> = None, example("'{\"name\":\"Deploy\",\"input_schema\":{\"type\":\"object\"}}'");
        /// The description for the model.
        description: Option<Arc<str>> = None;
        /// The JSON Schema of its input, as a JSON object.
        input_schema: Option<Json> as Option<JsonObjectText> = None;
        /// Which uses of it may run beside others (T-3): `true` for every use, `false` for none.
        safe: Option<ToolSafety> = None;
        /// Whether it runs shell commands: an error of it aborts its siblings (T-13).
        shell: Option<bool> = None;
        /// The effect of a submitted message on a run of the tool (T-17).
        interrupt: Option<Option<InterruptBehaviour>> as Option<WordOrUnknown<InterruptBehaviour>> = None;
        /// Fields that consumers see in its input, derived from a path, and that the API does not see.
        observable: Vec<ObservableField> as Inlines<ObservableField> = Vec::new(), example("[{ name = \"absolute_path\", from = \"path\" }]");
        /// Whether agents of the engine's own carry it out (B-8): `true`, or a table of settings.
        agent: Option<AgentTool> as Option<AgentForm> = None;
        /// Whether it looks at its input before it runs (T-22). By default only with one of the `check` keys.
        checks: Option<bool> = None;
        /// Whether all that it ever does is read (P-1, plan mode).
        reads_only: Option<bool> = None;
        /// Whether it edits the file that its `file_path` names (P-1, the mode that accepts edits).
        edits: Option<bool> = None;
        /// The size of its result over which the result is stored or cut (T-27, B-12). By default that of `[engine.pipeline]`.
        result_limit: Option<u64> = None, unit("characters");
        /// How long a run takes. By default a figure is drawn from the known tool's range.
        latency: Option<Latency> = None;
        /// The outcome of its runs.
        outcome: Option<ScriptedOutcome> as Flat<Option<ScriptedOutcome>> = None;
    }
}

impl ConvertedTable for DeclaredTool {
    type Keys = ToolKeys;

    fn from_keys(keys: ToolKeys, reader: &mut TableReader<'_, '_>) -> Option<Self> {
        let name = keys.name?;
        let (known, has_interrupt) = (known_tool(&name), keys.interrupt.is_some());
        if let Some(definition) = &keys.definition {
            check_name(reader, definition, &name);
        }
        let written = || definition(&name, keys.description.as_deref(), keys.input_schema.as_ref(), known);
        let json = keys.definition.unwrap_or_else(written);
        let mut definition = ToolDefinition::new(&name, keys.safe.or(known.map(|known| known.tool.safety())).unwrap_or_default(), json);
        definition.shell = keys.shell.unwrap_or(known.is_some_and(|known| known.tool.is_shell()));
        definition.interrupt = keys.interrupt.unwrap_or(known.map(|known| known.interrupt(KnownInterrupts::default())));
        definition.observable = keys.observable;
        definition.agent = keys.agent;
        // A tool whose check has findings has a check.
        definition.checks = keys.checks.unwrap_or(keys.outcome.as_ref().is_some_and(|outcome| outcome.check.is_some()));
        definition.reads_only = keys.reads_only.unwrap_or(known.is_some_and(|known| known.tool.reads_only()));
        definition.edits = keys.edits.unwrap_or(known.is_some_and(|known| known.tool.edits()));
        definition.result_limit = keys.result_limit;
        let tool = ScriptedTool { definition, latency: keys.latency, outcome: keys.outcome };
        Some(Self { tool, has_interrupt })
    }

    fn to_keys(&self) -> ToolKeys {
        let ScriptedTool { definition, latency, outcome } = self.tool.clone();
        let ToolDefinition { name, safe, json, observable, shell, interrupt, checks, reads_only, edits, result_limit, agent } = definition;
        let known = known_tool(&name);
        let finds = outcome.as_ref().is_some_and(|outcome| outcome.check.is_some());
        let unless = |value: bool, usual: bool| (value != usual).then_some(value);
        ToolKeys {
            definition: known.is_none_or(|known| known.definition().json != json).then_some(json),
            description: None,
            input_schema: None,
            safe: (safe != known.map(|known| known.tool.safety()).unwrap_or_default()).then_some(safe),
            shell: unless(shell, known.is_some_and(|known| known.tool.is_shell())),
            interrupt: (interrupt != known.map(|known| known.interrupt(KnownInterrupts::default()))).then_some(interrupt),
            observable,
            agent,
            checks: unless(checks, finds),
            reads_only: unless(reads_only, known.is_some_and(|known| known.tool.reads_only())),
            edits: unless(edits, known.is_some_and(|known| known.tool.edits())),
            result_limit,
            latency,
            outcome,
            name: Some(name),
        }
    }
}

/// A request would list one name while the model's tool uses have another.
fn check_name(reader: &mut TableReader<'_, '_>, definition: &Json, name: &str) {
    if definition.to_value().get("name").and_then(serde_json::Value::as_str) != Some(name) {
        reader.value_problem("definition", format!("the definition's own `name` is not \"{name}\"; make them the same"));
    }
}

/// Name, description and schema, in this order.
fn definition(name: &str, description: Option<&str>, schema: Option<&Json>, known: Option<&KnownTool>) -> Json {
    let mut json = String::from("{\"name\":");
    push_string(&mut json, name);
    if let Some(description) = description.or(known.map(|known| known.description)) {
        json.push_str(",\"description\":");
        push_string(&mut json, description);
    }
    json.push_str(",\"input_schema\":");
    json.push_str(schema.map(Json::as_str).or(known.map(|known| known.schema)).unwrap_or("{\"type\":\"object\"}"));
    json.push('}');
    Json::trusted(json)
}

keys! {
    /// A field that a tool derives from a path in its input: the path made absolute.
    pub(crate) struct ObservableKeys {
        /// The field that is added.
        name: Option<Arc<str>> = None, required;
        /// The field that it is derived from.
        from: Option<Arc<str>> = None, required;
        /// The folder that a relative path is relative to.
        base: Arc<str> = "/w".into();
    }
}

impl ConvertedTable for ObservableField {
    type Keys = ObservableKeys;

    fn from_keys(keys: ObservableKeys, _: &mut TableReader<'_, '_>) -> Option<Self> {
        Some(Self { name: keys.name?, from: keys.from?, base: keys.base })
    }

    fn to_keys(&self) -> ObservableKeys {
        let Self { name, from, base } = self.clone();
        ObservableKeys { name: Some(name), from: Some(from), base }
    }
}

keys! {
    /// How agents are made (B-8).
    pub(crate) struct AgentToolKeys {
        /// The model of agents that are given none, and of the synthesis of their results.
        fast_model: Arc<str> as ModelName = AgentTool::default().fast_model;
    }
}

impl ConvertedTable for AgentTool {
    type Keys = AgentToolKeys;

    fn from_keys(AgentToolKeys { fast_model }: AgentToolKeys, _: &mut TableReader<'_, '_>) -> Option<Self> {
        Some(Self { fast_model })
    }

    fn to_keys(&self) -> AgentToolKeys {
        AgentToolKeys { fast_model: self.fast_model.clone() }
    }
}

/// A [`ToolSafety`] that is written as a word.
struct WrittenSafety;

impl WordList for WrittenSafety {
    const NOUN: &'static str = "word";

    fn words() -> Vec<&'static str> {
        vec!["by_command", "unknown"]
    }
}

impl KeyForm for ToolSafety {
    type Value = Self;

    fn shape() -> ValueShape {
        let words = vec![
            ("by_command", "Each use with a shell command that only reads, such as `ls` or `git log | head`."),
            ("unknown", "The tool cannot say, so no use."),
        ];
        ValueShape::Either(vec![ValueShape::Boolean, ValueShape::Words(words)])
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<Self> {
        match value.kind {
            TreeValueKind::Text(_) => {
                let word = WordOf::<WrittenSafety>::read(value, at, report)?;
                Some(if word == "by_command" { Self::ByCommand } else { Self::Unknown })
            }
            TreeValueKind::Boolean(safe) => Some(Some(safe).into()),
            TreeValueKind::StandIn => None,
            _ => {
                report.mismatch(value, "true, false, \"by_command\" or \"unknown\"");
                None
            }
        }
    }

    fn write(value: &Self) -> TomlValue {
        match value {
            Self::Always => TomlValue::Inline("true".into()),
            Self::Never => TomlValue::Inline("false".into()),
            Self::ByCommand => TomlValue::text("by_command"),
            Self::Unknown => TomlValue::text("unknown"),
        }
    }
}

/// `agent = true`, or a table.
struct AgentForm;

impl KeyForm for AgentForm {
    type Value = AgentTool;

    fn shape() -> ValueShape {
        ValueShape::Either(vec![ValueShape::True, ValueShape::Table(TableDescription::new::<AgentTool>())])
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<AgentTool> {
        match value.kind {
            TreeValueKind::Boolean(_) => TrueMark::read(value, at, report).map(|_| AgentTool::default()),
            _ => Inline::<AgentTool>::read(value, at, report),
        }
    }

    fn write(value: &AgentTool) -> TomlValue {
        if *value == AgentTool::default() { TomlValue::Inline("true".into()) } else { Inline::<AgentTool>::write(value) }
    }
}
