//! The whole file: its own keys, and all of its sections (F-6).

use alloc::collections::BTreeMap;

use crate::client_profile::ClientProfile;
use crate::conversation::MAIN;
use crate::drive::{DriveScript, NormaliseRule, ToolMarkers};
use crate::explore_settings::ExploreSettings;
use crate::fault::FaultRule;
use crate::language::description::{ValueShape, WrittenForm};
use crate::language::forms::SeedNumber;
use crate::language::keys::{ConvertedTable, KeyForm, KeyPosition, keys};
use crate::language::sections::drive::DriveKeys;
use crate::language::sections::interrupt::{CollapseEntry, DeadEntry, InterruptEntry};
use crate::language::sections::outcome::ResultKeys;
use crate::language::sections::tool::{DeclaredTool, KnownToolsForm, KnownToolsKeys, plain_tool};
use crate::language::sections::{host, plan, prompt, session, workspace};
use crate::language::settings::EngineKeys;
use crate::language::tables::{Section, Sections};
use crate::language::toml::TomlValue;
use crate::network::NetworkScript;
use crate::parse::reader::TableReader;
use crate::parse::report::DiagnosticReport;
use crate::parse::tree::TreeValue;
use crate::plan::Plan;
use crate::replies::{ResultStore, ScriptedHook, ScriptedLookups, ScriptedPermission};
use crate::side::SideRule;
use crate::statement::tool_uses;
use crate::types::{
    AnswerTiming, Chunking, Expectations, RequestMatching, RunLimits, Scenario, ScriptedAuth, ScriptedOutcome, ScriptedPrompt,
    ScriptedTool, SimulatedApi, TapeSource, TurnBlock,
};
use crate::workspace::WorkspaceScript;
use reenact_engine::permission::PermissionSettings;
use reenact_engine::random::Seed;
use reenact_engine::settings::{HostMessage, RequestChange, SlashCommand};
use reenact_engine::texts::ModelTexts;
use reenact_wire::block::Message;
use reenact_wire::prelude::*;

keys! {
    /// A scenario: a simulated session, and its expectations. It needs a `[[prompt]]` or a `tape`.
    pub(crate) struct ScenarioKeys {
        /// The outcome that it shows, in a sentence.
        title: Option<String> = None;
        /// The rules that it holds.
        rules: Vec<String> as Vec<RuleId> = Vec::new();
        /// The scenario file that this one extends, relative to it. Its keys count where this file does not have them (F-9). A chain has at most 32 files.
        extends: Option<String> as Option<EarlierText> = None, example("\"_base.toml\"");
        /// Keys, with dots, and arrays of values. Each combination is a run, at most 1,000 (F-9).
        matrix: Option<String> as Option<EarlierTable> = None, example("{ \"engine.emission_order\" = [\"eager\", \"arrival\"], seed = [1, 2, 3] }");
        /// The root of all draws.
        seed: Seed as SeedNumber = Scenario::default().seed;
        /// The tape with the answers, relative to the file.
        tape: Option<String> = None, example("\"session.tape.jsonl\"");
        /// The thread of the tape that is replayed (M-3).
        thread: Arc<str> = MAIN.into();
        /// How bodies are cut into network chunks (M-6).
        chunking: Chunking = Chunking::default();
        /// The answer to requests that exist only because of an interrupt (M-3). Without it the text is "All right".
        default_answer: Option<Arc<str>> = None;
        /// The engine.
        engine: EngineKeys as Section<EngineKeys> = EngineKeys::default();
        /// The texts that the engine sends to the model.
        texts: ModelTexts as Section<ModelTexts> = ModelTexts::default();
        /// How long answers take.
        timing: AnswerTiming as Section<AnswerTiming> = AnswerTiming::default();
        /// Where a run is stopped.
        limits: RunLimits as Section<RunLimits> = RunLimits::default();
        /// The decisions that explorations try.
        explore: ExploreSettings as Section<ExploreSettings> = ExploreSettings::default();
        /// How requests are held against the recorded ones.
        matching: RequestMatching as Section<RequestMatching> = RequestMatching::default();
        /// The way to new credentials.
        auth: ScriptedAuth as Section<ScriptedAuth> = ScriptedAuth::default();
        /// The limits and refusals of the simulated API.
        api: SimulatedApi as Section<SimulatedApi> = SimulatedApi::default();
        /// Known tools, by name.
        tools: KnownToolsKeys as KnownToolsForm = KnownToolsKeys::default(), example("[\"Read\", \"Bash\"]");
        /// Tools, with the outcomes of their runs.
        tool: Vec<DeclaredTool> as Sections<DeclaredTool> = Vec::new();
        /// Slash commands.
        command: Vec<SlashCommand> as Sections<SlashCommand> = Vec::new(), example("[{ name = \"review\", asks = \"Review $ARGUMENTS\" }]");
        /// Hooks. Their answers are put together in this order.
        hook: Vec<ScriptedHook> as Sections<ScriptedHook> = Vec::new();
        /// Rules on which tools may run. Without this section every tool runs that does not ask itself.
        permissions: Option<PermissionSettings> as Option<Section<PermissionSettings>> = None;
        /// The user's answers to questions about permissions.
        permission: Vec<ScriptedPermission> as Sections<ScriptedPermission> = Vec::new();
        /// Where large results are stored.
        files: ResultStore as Section<ResultStore> = ResultStore::default();
        /// Files in memory, for the built-in tools.
        workspace: Option<WorkspaceScript> as Option<Section<WorkspaceScript>> = None;
        /// The skills and plugins that the engine finds.
        session: ScriptedLookups as Section<ScriptedLookups> = ScriptedLookups::default();
        /// Changes of requests by the host.
        change: Vec<RequestChange> as Sections<RequestChange> = Vec::new(), example("[{ from = { prompt = 1, request = 2 }, unset = [\"tool_choice\"] }]");
        /// Messages of the host.
        message: Vec<HostMessage> as Sections<HostMessage> = Vec::new(), example("[{ at = { prompt = 1, request = 2 }, text = \"The file has changed.\" }]");
        /// Messages from before the first prompt.
        history: Vec<Arc<Message>> as Sections<Arc<Message>> = Vec::new(), example("[{ role = \"user\", text = \"Hello\" }]");
        /// The user's prompts, in order, with the answers.
        prompt: Vec<ScriptedPrompt> as Sections<ScriptedPrompt> = Vec::new(), example("[{ text = \"Hello\", turn = [{ text = \"Hello.\" }] }]");
        /// Failures between engine and model server.
        fault: Vec<FaultRule> as Sections<FaultRule> = Vec::new(), example("[{ at = { request = 1 }, status = 529 }]");
        /// Cancels and messages of the user while work goes on.
        interrupt: Vec<InterruptEntry> as Sections<InterruptEntry> = Vec::new(), example("[{ kind = \"cancel\", at = \"5s\" }]");
        /// Messages that are marked as dead.
        dead: Vec<DeadEntry> as Sections<DeadEntry> = Vec::new(), example("[{ names = [\"p1.r2.a1\"], at = \"5s\" }]");
        /// Summaries that were made in the background.
        collapse: Vec<CollapseEntry> as Sections<CollapseEntry> = Vec::new(), example("[{ from = \"p1\", to = \"p1.r1.a1\", summary = \"Looked.\", at = \"5s\" }]");
        /// Side requests of clients, e.g. for a title, and their answers. A simulated run makes none.
        side: Vec<SideRule> as Sections<SideRule> = Vec::new(), example("[{ contains = \"Write a title\", answer = \"A package\" }]");
        /// The outcomes of single tool uses, by id.
        result: Vec<ResultKeys> as Sections<ResultKeys> = Vec::new();
        /// The simulated network. A run without a network ignores it.
        network: Option<NetworkScript> as Option<Section<NetworkScript>> = None;
        /// The conditions at the end.
        expect: Expectations as Section<Expectations> = Expectations::default();
        /// Choices that are made already.
        plan: Plan as Section<Plan> = Plan::default();
        /// Facts about a real client.
        drive: DriveKeys as Section<DriveKeys> = DriveKeys::default();
        /// The profile of a client that has no shipped one.
        client: Option<ClientProfile> as Option<Section<ClientProfile>> = None;
        /// The parts of requests and output that vary between equal runs of a real client.
        normalise: Vec<NormaliseRule> as Sections<NormaliseRule> = Vec::new(), example("[{ name = \"build\", member = \"build_id\" }]");
    }
}

const SHORTEST: &str = "the shortest useful scenario is a [[prompt]] with `text` and a [[prompt.turn]] with `text`, or `tape = \"x.tape.jsonl\"` \
     and a [[prompt]]";

impl ConvertedTable for Scenario {
    type Keys = ScenarioKeys;

    fn from_keys(keys: ScenarioKeys, reader: &mut TableReader<'_, '_>) -> Option<Self> {
        check_answers(reader, &keys);
        let tools = tools(reader, &keys);
        let results = results(reader, &keys.result);
        let ScenarioKeys { engine: EngineKeys { mut settings, prices, windows, preset: _ }, .. } = keys;
        settings.permissions = keys.permissions;
        settings.texts = keys.texts;
        settings.session.commands = keys.command;
        settings.session.changes = keys.change;
        settings.session.host_messages = keys.message;
        let dead = keys.dead.into_iter().map(|DeadEntry(dead)| dead);
        let collapses = keys.collapse.into_iter().map(|CollapseEntry(collapse)| collapse);
        let without = keys.drive.without.into_iter().map(Arc::from).collect();
        let scenario = Self {
            title: keys.title,
            rules: keys.rules,
            seed: keys.seed,
            settings,
            tools,
            hooks: keys.hook,
            permissions: keys.permission,
            store: keys.files,
            lookups: keys.session,
            history: keys.history,
            prompts: keys.prompt,
            faults: keys.fault,
            interrupts: keys.interrupt.into_iter().map(|InterruptEntry(interrupt)| interrupt).chain(dead).chain(collapses).collect(),
            default_answer: keys.default_answer,
            tape: keys.tape.map(|path| TapeSource { path, thread: keys.thread }),
            prices,
            windows,
            results,
            sides: keys.side,
            auth: keys.auth,
            api: keys.api,
            timing: keys.timing,
            chunking: keys.chunking,
            limits: keys.limits,
            explore: keys.explore,
            matching: keys.matching,
            expect: keys.expect,
            plan: keys.plan,
            drive: DriveScript {
                client: keys.drive.client,
                profile: keys.client.map(Arc::new),
                exit: keys.drive.exit,
                without,
                normalise: keys.normalise,
                may: keys.drive.may,
                markers: ToolMarkers { file: keys.drive.marker_file, line: keys.drive.marker_line },
            },
            network: keys.network,
            workspace: keys.workspace,
        };
        check(reader, &scenario);
        Some(scenario)
    }

    fn to_keys(&self) -> ScenarioKeys {
        let mut scenario = self.clone();
        let session = &mut scenario.settings.session;
        let (commands, changes, messages) =
            (core::mem::take(&mut session.commands), core::mem::take(&mut session.changes), core::mem::take(&mut session.host_messages));
        let permissions = scenario.settings.permissions.take();
        let texts = core::mem::take(&mut scenario.settings.texts);
        let of_kind = |section: &'static str| self.interrupts.iter().filter(move |interrupt| interrupt.kind.section() == section).cloned();
        let DriveScript { client, profile, exit, without, normalise, markers, may } = scenario.drive;
        let ToolMarkers { file: marker_file, line: marker_line } = markers;
        let without = without.iter().map(|name| String::from(&**name)).collect();
        ScenarioKeys {
            title: scenario.title,
            rules: scenario.rules,
            extends: None,
            matrix: None,
            seed: scenario.seed,
            thread: scenario.tape.as_ref().map_or_else(|| MAIN.into(), |tape| tape.thread.clone()),
            tape: scenario.tape.map(|tape| tape.path),
            chunking: scenario.chunking,
            default_answer: scenario.default_answer,
            engine: EngineKeys { preset: None, settings: scenario.settings, prices: scenario.prices, windows: scenario.windows },
            texts,
            timing: scenario.timing,
            limits: scenario.limits,
            explore: scenario.explore,
            matching: scenario.matching,
            auth: scenario.auth,
            api: scenario.api,
            tools: KnownToolsKeys::default(),
            tool: scenario.tools.into_iter().map(DeclaredTool::from).collect(),
            command: commands,
            hook: scenario.hooks,
            permissions,
            permission: scenario.permissions,
            files: scenario.store,
            workspace: scenario.workspace,
            session: scenario.lookups,
            change: changes,
            message: messages,
            history: scenario.history,
            prompt: scenario.prompts,
            fault: scenario.faults,
            interrupt: of_kind("interrupt").map(InterruptEntry).collect(),
            dead: of_kind("dead").map(DeadEntry).collect(),
            collapse: of_kind("collapse").map(CollapseEntry).collect(),
            result: scenario.results.into_iter().map(result_keys).collect(),
            side: scenario.sides,
            network: scenario.network,
            expect: scenario.expect,
            plan: scenario.plan,
            drive: DriveKeys { client, exit, without, may, marker_file, marker_line },
            client: profile.map(Arc::unwrap_or_clone),
            normalise,
        }
    }
}

fn result_keys((id, outcome): (Arc<str>, ScriptedOutcome)) -> ResultKeys {
    let (latency, safe, may) = (outcome.latency.clone(), outcome.safe, outcome.may);
    ResultKeys { tool_use: Some(id), outcome: Some(outcome), latency, safe, may }
}

/// Answers come from the turns or from a tape.
fn check_answers(reader: &mut TableReader<'_, '_>, keys: &ScenarioKeys) {
    if keys.client.is_some() && keys.drive.client.is_some() {
        reader.key_problem("client", "`client` in [drive] names a shipped profile already: keep one of the two".into());
    }
    if !reader.has_any(&["prompt", "tape"]) {
        let message = "a scenario needs at least one [[prompt]], or a `tape`".into();
        reader.lacks(&["prompt", "tape"], message, Some(SHORTEST.into()));
    }
    if reader.member("tape").is_none() && reader.member("thread").is_some() {
        reader.key_problem("thread", "`thread` names a thread of a `tape`: add a `tape`, or remove this key".into());
    }
    if reader.member("tape").is_some() {
        for (nth, _) in keys.prompt.iter().enumerate().filter(|(_, prompt)| !prompt.turns.is_empty()) {
            let place = reader.entry_key_place("prompt", nth, "turn");
            let message = "turns are not used when answers come from a `tape`; remove one of the two".into();
            reader.report.value(place, message, None);
        }
    }
}

/// All tools: first those that are given by their names alone. Of two with one name the second would never be used.
fn tools(reader: &mut TableReader<'_, '_>, keys: &ScenarioKeys) -> Vec<ScriptedTool> {
    let KnownToolsKeys { names, interrupts } = &keys.tools;
    let entries = names.iter().filter_map(|name| plain_tool(name)).chain(keys.tool.iter().cloned());
    let tools: Vec<ScriptedTool> = entries.map(|entry| entry.with_interrupts(*interrupts)).collect();
    for (nth, tool) in tools.iter().enumerate() {
        let name = &tool.definition.name;
        if tools[..nth].iter().any(|other| other.definition.name == *name) {
            let place = match nth.checked_sub(names.len()) {
                None => reader.entry_place("tools", nth),
                Some(nth) => reader.entry_member_place("tool", nth, "name"),
            };
            reader.report.value(place, format!("tool `{name}` is declared already; keep one of the two"), None);
        }
    }
    tools
}

/// The outcomes by their tool uses; of two for one tool use the second counts.
fn results(reader: &mut TableReader<'_, '_>, entries: &[ResultKeys]) -> BTreeMap<Arc<str>, ScriptedOutcome> {
    let mut results = BTreeMap::new();
    for (nth, ResultKeys { tool_use, outcome, latency, safe, may }) in entries.iter().enumerate() {
        let Some(id) = tool_use else { continue };
        let outcome = ScriptedOutcome { latency: latency.clone(), safe: *safe, may: *may, ..outcome.clone().unwrap_or_default() };
        if results.insert(id.clone(), outcome).is_some() {
            let place = reader.entry_member_place("result", nth, "tool_use");
            reader.report.value(place, format!("tool use `{id}` has a [[result]] already; keep one of them"), None);
        }
    }
    results
}

/// Holds the sections against each other.
fn check(reader: &mut TableReader<'_, '_>, scenario: &Scenario) {
    prompt::check_order(reader, &scenario.prompts);
    session::check_commands(reader, &scenario.settings.session.commands);
    host::check(reader, scenario);
    session::check_orphan(reader, scenario);
    check_results(reader, scenario);
    workspace::check(reader, scenario);
    check_safe_uses(reader, scenario);
    check_agents(reader, scenario);
    check_bound(reader, scenario);
    plan::check_faults(reader, &scenario.plan, &scenario.faults);
}

/// A tool use that gives its own outcome never uses a `[[result]]`.
fn check_results(reader: &mut TableReader<'_, '_>, scenario: &Scenario) {
    let has_outcome = |block: &TurnBlock| matches!(block, TurnBlock::Tool { outcome: Some(_), .. });
    let both =
        tool_uses(scenario).into_iter().filter(|tool_use| has_outcome(tool_use.block) && scenario.results.contains_key(&tool_use.id));
    for tool_use in both {
        let place = reader.entry_place_where("result", "tool_use", &tool_use.id);
        let message = format!("tool use `{}` has an outcome of its own, so this [[result]] is never used; keep one of them", tool_use.id);
        reader.report.value(place, message, None);
    }
}

/// An engine tells tool uses apart by their ids: those that share one cannot differ in whether they may run beside others (T-3).
fn check_safe_uses(reader: &mut TableReader<'_, '_>, scenario: &Scenario) {
    let classes = scenario.safe_uses();
    let others: Vec<Arc<str>> = scenario.said_safe().filter(|(id, safe)| classes.get(id) != Some(safe)).map(|(id, _)| id).collect();
    for id in others {
        let place = reader.entry_place_where("result", "tool_use", &id);
        let message =
            format!("`safe` is true for one tool use `{id}` and false for another; give both the same, or give one of them another `id`");
        reader.report.value(place, message, None);
    }
}

/// Answers for agents that nobody makes would never be used.
fn check_agents(reader: &mut TableReader<'_, '_>, scenario: &Scenario) {
    let makes_agents = |name: &str| scenario.tools.iter().any(|tool| *tool.definition.name == *name && tool.definition.agent.is_some());
    for (key, turns) in [
        ("prompt", scenario.prompts.iter().flat_map(|prompt| &prompt.turns).collect::<Vec<_>>()),
        ("interrupt", scenario.interrupts.iter().flat_map(|interrupt| &interrupt.turns).collect()),
    ] {
        let tools = turns.into_iter().flat_map(|turn| &turn.content).filter_map(|block| match block {
            TurnBlock::Tool { name, outcome: Some(outcome), .. } if !outcome.agents.tasks.is_empty() => Some(name),
            _ => None,
        });
        for name in tools.filter(|name| !makes_agents(name)) {
            let place = reader.member(key).map_or(reader.place, |member| member.place);
            let help = format!("write [[tool]] with name = \"{name}\" and agent = true");
            reader.report.value(place, format!("a use of tool `{name}` has answers for agents, and the tool makes none"), Some(help));
        }
    }
}

/// The id of a rule: `T-5`, `S-2a`, `S-10.2`, `D3`.
struct RuleId;

impl KeyForm for RuleId {
    type Value = String;

    fn shape() -> ValueShape {
        let form = WrittenForm { noun: "the id of a rule", help: "", example: "\"T-5\"" };
        ValueShape::Written(form, Box::new(ValueShape::Text))
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<String> {
        let text = String::read(value, at, report)?;
        if !is_rule(&text) {
            report.value(value.place, format!("`{text}` is not a rule id; write one such as T-5"), None);
        }
        Some(text)
    }

    fn write(value: &String) -> TomlValue {
        TomlValue::text(value)
    }
}

/// A letter, a dash, a number, and maybe a part of it. The determinism rules have no dash.
fn is_rule(text: &str) -> bool {
    let after_dash = || text.split_once('-').filter(|(letter, _)| letter.len() == 1).map(|(_, number)| number);
    let Some(number) = text.strip_prefix('D').filter(|number| !number.starts_with('-')).or_else(after_dash) else { return false };
    text.starts_with(|c: char| c.is_ascii_uppercase())
        && number.starts_with(|c: char| c.is_ascii_digit())
        && number.chars().all(|c| c.is_ascii_digit() || c.is_ascii_lowercase() || c == '.')
}

/// Forms of keys that are used up before the sections are read.
macro_rules! earlier_forms {
    ($($(#[doc = $about:literal])+ $Form:ident, $shape:expr;)+) => {
        $(
            $(#[doc = $about])+
            struct $Form;

            impl KeyForm for $Form {
                type Value = String;

                fn shape() -> ValueShape {
                    $shape
                }

                fn read(_: &TreeValue, _: KeyPosition<'_>, _: &mut DiagnosticReport) -> Option<String> {
                    None
                }

                fn write(_: &String) -> TomlValue {
                    TomlValue::Absent
                }
            }
        )+
    };
}

earlier_forms! {
    /// Text.
    EarlierText, ValueShape::Text;
    /// A table with any keys.
    EarlierTable, ValueShape::Map(Box::new(ValueShape::Anything));
}

/// A run is stopped at its limit, so that no later bound can be broken.
fn check_bound(reader: &mut TableReader<'_, '_>, scenario: &Scenario) {
    let limit = scenario.limits.time;
    if let Some(bound) = scenario.expect.ends_before.filter(|bound| *bound >= limit) {
        let message = format!("`ends_before` is {bound}, and a run is stopped at {limit} (`time` in [limits]), so this key checks nothing");
        reader.key_problem("expect", message);
    }
}
