//! From the parts of a case to its scenario: what of them its features take.

use alloc::collections::BTreeMap;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::feature::{CaseFeatures, Feature};
use super::history::{SessionPast, past};
use super::host::{Host, host};
use super::outcomes::{fitting, outcome};
use super::session::{budget, command_line, commands, limits, structured, surroundings, thinking};
use super::settings::{compaction, execution, pipeline, requests, retry};
use super::surroundings::{SurroundingParts, surroundings_of_runs};
use super::tools::{NAMES, STRUCTURED, is_wrong, tools, usual};
use super::turns::{is_literal, is_plain, prompt};
use super::values::model;
use super::workspace::workspace;
use super::{faults, fitting, interrupts, question_parts};
use reenact_engine::budget::{Date, NanoUsd};
use reenact_engine::permission::PermissionSettings;
use reenact_engine::random::Seed;
use reenact_engine::settings::{
    CompactionSettings, InterruptBehaviour, PipelineSettings, RetrySettings, SessionSettings, Settings, SlashCommand, ThinkingSetting,
};
use reenact_engine::time::Micros;
use reenact_scenario::fault::{AnswerSubstitute, FaultKind, FaultRule};
use reenact_scenario::interrupt::{InterruptKind, ScriptedInterrupt};
use reenact_scenario::known_tools::{KnownInterrupts, known_tool};
use reenact_scenario::replies::{ResultStore, ScriptedHook, ScriptedLookups, ScriptedPermission};
use reenact_scenario::script::{AnswerOrigin, TurnPlace, tool_uses};
use reenact_scenario::statement;
use reenact_scenario::types::{Scenario, ScriptedOutcome, ScriptedPrompt, ScriptedTool, ScriptedTurn, SimulatedApi, TurnBlock};
use reenact_scenario::workspace::WorkspaceScript;
use reenact_wire::block::{Block, Message};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// Everything that a case may be made of.
#[derive(Clone, Debug)]
pub(super) struct CaseParts {
    seed: u64,
    prompts: Vec<ScriptedPrompt>,
    command_lines: Vec<Option<Arc<str>>>,
    commands: Vec<SlashCommand>,
    tools: Vec<ScriptedTool>,
    /// The tools without a use.
    idle_tools: Vec<bool>,
    known_interrupts: KnownInterrupts,
    results: Vec<(usize, ScriptedOutcome)>,
    past: SessionPast,
    host: Host,
    model: Arc<str>,
    requests: Settings,
    execution: Settings,
    pipeline: PipelineSettings,
    retry: RetrySettings,
    compaction: CompactionSettings,
    session: SessionParts,
    asked: QuestionParts,
    faults: Vec<FaultRule>,
    interrupts: Vec<ScriptedInterrupt>,
    background: Vec<ScriptedInterrupt>,
    surroundings: SurroundingParts,
    workspace: WorkspaceScript,
}

#[derive(Clone, Debug)]
struct SessionParts {
    surroundings: SessionSettings,
    limits: SessionSettings,
    thinking: ThinkingSetting,
    budget: (NanoUsd, Date),
    structured: (Json, u32),
    fallback: Arc<str>,
    handles_elicitation: bool,
}

#[derive(Clone, Debug)]
struct QuestionParts {
    hooks: Vec<ScriptedHook>,
    permissions: PermissionSettings,
    people: Vec<ScriptedPermission>,
    store: ResultStore,
    lookups: ScriptedLookups,
    looks_up: (bool, bool),
}

/// All parts, each independent of the others.
pub(super) fn parts() -> BoxedStrategy<CaseParts> {
    let said = (vec(prompt(), 1..4), vec(option::weighted(0.5, command_line()), 4), commands());
    let known_interrupts = select(vec![KnownInterrupts::Block, KnownInterrupts::ReadersCancel]);
    let of_tools = ((tools(), known_interrupts), vec(any::<bool>(), NAMES.len()), vec((0_usize..9, outcome_of_a_result()), 0..3));
    let settings = (model(), requests(), execution(), pipeline(), retry(), compaction());
    let happening = (
        vec(faults::fault(), 1..4),
        vec(interrupts::interrupt(), 1..4),
        vec(prop_oneof![interrupts::dead(), interrupts::collapse()], 1..4),
    );
    let outside = (surroundings_of_runs(), workspace());
    let all = (any::<u64>(), said, of_tools, (past(), host()), settings, session(), asked_parts(), happening, outside);
    all.prop_map(|(seed, said, of_tools, (past, host), settings, session, asked, happening, (surroundings, workspace))| {
        let (prompts, command_lines, commands) = said;
        let ((tools, known_interrupts), idle_tools, results) = of_tools;
        let (model, requests, execution, pipeline, retry, compaction) = settings;
        let (faults, interrupts, background) = happening;
        CaseParts {
            seed,
            prompts,
            command_lines,
            commands,
            tools,
            idle_tools,
            known_interrupts,
            results,
            past,
            host,
            model,
            requests,
            execution,
            pipeline,
            retry,
            compaction,
            session,
            asked,
            faults,
            interrupts,
            background,
            surroundings,
            workspace,
        }
    })
    .boxed()
}

fn session() -> BoxedStrategy<SessionParts> {
    let parts = (surroundings(), limits(), thinking(), budget(), structured(), model(), any::<bool>());
    parts
        .prop_map(|(surroundings, limits, thinking, budget, structured, fallback, handles_elicitation)| SessionParts {
            surroundings,
            limits,
            thinking,
            budget,
            structured,
            fallback,
            handles_elicitation,
        })
        .boxed()
}

fn asked_parts() -> BoxedStrategy<QuestionParts> {
    let people = (question_parts::permissions(), vec(question_parts::permission(), 0..3));
    let parts = (vec(question_parts::hook(), 1..4), people, question_parts::store(), question_parts::lookups(), any::<(bool, bool)>());
    parts
        .prop_map(|(hooks, (permissions, people), store, lookups, looks_up)| QuestionParts {
            hooks,
            permissions,
            people,
            store,
            lookups,
            looks_up,
        })
        .boxed()
}

/// The outcome of a `[[result]]`.
fn outcome_of_a_result() -> BoxedStrategy<ScriptedOutcome> {
    (outcome(), option::weighted(0.2, any::<bool>())).prop_map(|(outcome, safe)| ScriptedOutcome { safe, ..outcome }).boxed()
}

/// The scenario of these features.
pub(super) fn assemble(features: &CaseFeatures, mut parts: CaseParts) -> Scenario {
    let has = |feature: Feature| features.contains(&feature);
    let mut scenario = Scenario { seed: Seed(parts.seed), ..Scenario::default() };
    scenario.settings = settings(features, &parts);
    scenario.interrupts = happenings(features, &mut parts);
    scenario.faults = parts.faults.into_iter().filter(|fault| takes_fault(features, &fault.kind)).collect();
    scenario.prompts = prompts(features, parts.prompts, &parts.command_lines);
    if has(Feature::History) {
        scenario.history = parts.past.messages;
        scenario.settings.session.orphaned_permission = parts.past.orphaned;
    }
    if has(Feature::Host) {
        let session = &mut scenario.settings.session;
        (session.changes, session.host_messages) = (parts.host.changes, parts.host.messages);
        let messages = session.host_messages.iter_mut().filter(|message| !has(Feature::Content) && !is_plain(&message.message.content));
        messages.for_each(|message| message.message = Arc::new(Message { content: plain_words(), ..Message::clone(&message.message) }));
    }
    if has(Feature::Commands) {
        scenario.settings.session.commands = parts.commands;
    }
    let QuestionParts { hooks, permissions, people, store, lookups, looks_up } = parts.asked;
    if has(Feature::Hooks) {
        scenario.hooks = hooks;
    }
    if has(Feature::Permissions) {
        (scenario.settings.permissions, scenario.permissions) = (Some(permissions), people);
    }
    if has(Feature::Store) {
        scenario.store = store;
    }
    if has(Feature::Lookups) {
        let session = &mut scenario.settings.session;
        (session.look_up_skills, session.look_up_plugins) = looks_up;
        scenario.lookups = lookups;
    }
    let SurroundingParts { timing, chunking, auth, api, default_answer, explore } = parts.surroundings;
    if has(Feature::Timing) {
        (scenario.timing, scenario.auth, scenario.explore) = (timing, auth, explore);
    }
    if has(Feature::Chunking) {
        scenario.chunking = chunking;
    }
    if has(Feature::Window) {
        scenario.api = SimulatedApi { counts_max_tokens: api.counts_max_tokens.filter(|_| api.context_window.is_some()), ..api };
    }
    scenario.workspace = has(Feature::Workspace).then_some(parts.workspace);
    scenario.default_answer = default_answer.filter(|_| has(Feature::Interrupts));
    scenario.tools = tools_of(features, &scenario, (parts.tools, parts.known_interrupts), &parts.idle_tools);
    if has(Feature::Results) {
        scenario.results = results(features, &scenario, parts.results);
    }
    fitting::to_the_api(&mut scenario);
    fitting::to_an_end(features, &mut scenario);
    scenario
}

fn settings(features: &CaseFeatures, parts: &CaseParts) -> Settings {
    let has = |feature: Feature| features.contains(&feature);
    let mut settings = if has(Feature::Requests) { parts.requests.clone() } else { Settings::default() };
    if has(Feature::Models) {
        settings.model = parts.model.clone();
    }
    settings.stream = !has(Feature::Whole);
    settings.streaming_execution = !has(Feature::Batches);
    if has(Feature::Execution) {
        let own = &parts.execution;
        settings.emission_order = own.emission_order;
        settings.result_order = own.result_order;
        settings.result_delivery = own.result_delivery;
        settings.max_concurrent_tools = own.max_concurrent_tools;
        settings.max_batch_tools = own.max_batch_tools;
        settings.sibling_abort = own.sibling_abort;
        settings.batch_sibling_abort = own.batch_sibling_abort;
        settings.tool_grace = own.tool_grace;
        settings.abort_results = own.abort_results;
        settings.queued_block = own.queued_block;
        settings.discarded_tools = own.discarded_tools;
        settings.queued_messages = own.queued_messages;
        settings.texts = own.texts.clone();
    }
    if has(Feature::Pipeline) {
        settings.pipeline = parts.pipeline.clone();
    }
    if has(Feature::Retry) {
        settings.retry = parts.retry.clone();
    }
    if has(Feature::Compaction) {
        settings.compaction = parts.compaction.clone();
    }
    settings.session = session_settings(features, &parts.session);
    settings
}

fn session_settings(features: &CaseFeatures, parts: &SessionParts) -> SessionSettings {
    let has = |feature: Feature| features.contains(&feature);
    let mut session = if has(Feature::Session) { parts.surroundings.clone() } else { SessionSettings::default() };
    if has(Feature::Limits) {
        let SessionSettings { max_turns, token_budget, task_budget, .. } = parts.limits;
        (session.max_turns, session.token_budget, session.task_budget) = (max_turns, token_budget, task_budget);
    }
    if has(Feature::Budget) {
        let (sum, date) = parts.budget;
        (session.max_budget, session.date) = (Some(sum), date);
    }
    if has(Feature::Thinking) {
        session.thinking = Some(parts.thinking);
    }
    if has(Feature::Structured) {
        let (schema, most) = parts.structured.clone();
        (session.json_schema, session.max_structured_output_retries) = (Some(schema), most);
    }
    if has(Feature::Fallback) {
        session.fallback_model = Some(parts.fallback.clone());
    }
    session.elicitation_handler = has(Feature::Elicitation) && parts.handles_elicitation;
    session
}

/// Interrupts, then what comes from the background, in the order in which they are written.
fn happenings(features: &CaseFeatures, parts: &mut CaseParts) -> Vec<ScriptedInterrupt> {
    let mut all = Vec::new();
    if features.contains(&Feature::Interrupts) {
        all.append(&mut parts.interrupts);
    }
    if features.contains(&Feature::Background) {
        parts.background.sort_by_key(|interrupt| core::cmp::Reverse(interrupt.kind.section()));
        all.append(&mut parts.background);
    }
    for interrupt in &mut all {
        if let InterruptKind::Interrupt(content) = &mut interrupt.kind
            && !features.contains(&Feature::Content)
            && !is_plain(content)
        {
            *content = plain_words();
        }
        interrupt.turns = fitting_turns(features, core::mem::take(&mut interrupt.turns));
    }
    all
}

fn takes_fault(features: &CaseFeatures, kind: &FaultKind) -> bool {
    let feature = match kind {
        FaultKind::Instead(AnswerSubstitute::Answer(_)) => Feature::Errors,
        FaultKind::Instead(AnswerSubstitute::Connection(_)) => Feature::Connections,
        FaultKind::Change(_) => Feature::Streams,
    };
    features.contains(&feature) && (features.contains(&Feature::Endless) || !fitting::is_endless(kind))
}

fn prompts(features: &CaseFeatures, mut prompts: Vec<ScriptedPrompt>, command_lines: &[Option<Arc<str>>]) -> Vec<ScriptedPrompt> {
    let has = |feature: Feature| features.contains(&feature);
    if !has(Feature::Prompts) && !has(Feature::Commands) {
        prompts.truncate(1);
    }
    let mut latest = Micros::ZERO;
    for (prompt, line) in prompts.iter_mut().zip(command_lines) {
        if !has(Feature::Content) && !is_plain(&prompt.content) {
            prompt.content = plain_words();
        }
        if let Some(line) = line.as_ref().filter(|_| has(Feature::Commands)) {
            prompt.content = vec![Block::text(line)];
        }
        // Prompts stand in the order of their times.
        prompt.at = prompt.at.filter(|_| has(Feature::Prompts)).map(|at| at.max(latest));
        latest = prompt.at.unwrap_or(latest);
        prompt.turns = fitting_turns(features, core::mem::take(&mut prompt.turns));
    }
    prompts
}

/// An odd text.
fn plain_words() -> Vec<Block> {
    vec![Block::text("look at it")]
}

/// The part of these answers that the features allow. An answer without any content left goes.
fn fitting_turns(features: &CaseFeatures, turns: Vec<ScriptedTurn>) -> Vec<ScriptedTurn> {
    turns.into_iter().filter_map(|turn| fitting_turn(features, turn)).collect()
}

fn fitting_turn(features: &CaseFeatures, turn: ScriptedTurn) -> Option<ScriptedTurn> {
    let has = |feature: Feature| features.contains(&feature);
    if is_literal(&turn) {
        return Some(turn).filter(|_| has(Feature::Literal));
    }
    let mut content: Vec<TurnBlock> = turn.content.into_iter().filter_map(|block| fitting_block(features, block)).collect();
    // A model thinks before it says or does something.
    content.sort_by_key(|block| !matches!(block, TurnBlock::Thinking(_)));
    let usage = has(Feature::Usage);
    let whole = ScriptedTurn {
        content,
        stop_reason: turn.stop_reason.filter(|_| has(Feature::StopReasons)),
        input_tokens: turn.input_tokens.filter(|_| usage),
        output_tokens: turn.output_tokens.filter(|_| usage),
        cleared_tokens: turn.cleared_tokens.filter(|_| usage),
        ..turn
    };
    // An answer that is nothing but thought cannot be sent back.
    whole.content.iter().any(|block| !matches!(block, TurnBlock::Thinking(_))).then_some(whole)
}

fn fitting_block(features: &CaseFeatures, block: TurnBlock) -> Option<TurnBlock> {
    let has = |feature: Feature| features.contains(&feature);
    match block {
        TurnBlock::Thinking(text) => has(Feature::Thinking).then_some(TurnBlock::Thinking(text)),
        TurnBlock::Text(text) => {
            let is_odd = text.chars().any(|character| !character.is_ascii_lowercase() && !matches!(character, ' ' | '.'));
            Some(TurnBlock::Text(text).clone()).filter(|_| has(Feature::Content) || !is_odd)
        }
        TurnBlock::Tool { name, input, id, outcome, safe, slip } => {
            let is_there = match &*name {
                super::tools::AGENT => has(Feature::Agents),
                STRUCTURED => has(Feature::Structured),
                _ => true,
            };
            let is_allowed = has(Feature::Tools) && is_there && (has(Feature::WrongUses) || !is_wrong(&name, &input));
            let outcome = outcome.and_then(|mut outcome| {
                for task in &mut outcome.agents.tasks {
                    *task = fitting_turns(features, core::mem::take(task));
                }
                fitting(features, *outcome).map(Box::new)
            });
            is_allowed.then(|| {
                let safe = safe.filter(|_| has(Feature::OddTools));
                TurnBlock::Tool { name, input, id: id.filter(|_| has(Feature::Ids)), outcome, safe, slip }
            })
        }
    }
}

/// The tools that are used, and some that are not.
fn tools_of(
    features: &CaseFeatures,
    scenario: &Scenario,
    (tools, interrupts): (Vec<ScriptedTool>, KnownInterrupts),
    idle: &[bool],
) -> Vec<ScriptedTool> {
    let has = |feature: Feature| features.contains(&feature);
    let is_used = |name: &str| fitting::all_turns(scenario).any(|turn| uses(turn, name));
    let is_wanted = |name: &str, idle: bool| match name {
        STRUCTURED => has(Feature::Structured),
        _ => is_used(name) || was_used(scenario, name) || (idle && has(Feature::OddTools)),
    };
    let there = tools.into_iter().zip(idle).filter(|(tool, idle)| is_wanted(&tool.definition.name, **idle));
    let fit = |(mut tool, _): (ScriptedTool, &bool)| {
        if !has(Feature::OddTools) {
            tool = ScriptedTool { definition: usual(&tool.definition.name), latency: None, outcome: tool.outcome };
        }
        let known = known_tool(&tool.definition.name).filter(|_| has(Feature::Interrupts));
        if let Some(known) = known.filter(|_| tool.definition.interrupt == Some(InterruptBehaviour::Block)) {
            tool.definition.interrupt = Some(known.interrupt(interrupts));
        }
        tool.outcome = tool.outcome.and_then(|outcome| fitting(features, outcome));
        if tool.outcome.as_ref().is_some_and(|outcome| outcome.check.is_some()) {
            tool.definition.checks = true;
        }
        tool
    };
    there.map(fit).collect()
}

fn was_used(scenario: &Scenario, name: &str) -> bool {
    scenario
        .history
        .iter()
        .flat_map(|message| &message.content)
        .any(|block| block.as_tool_use().is_some_and(|tool_use| *tool_use.name == *name))
}

fn uses(turn: &ScriptedTurn, wanted: &str) -> bool {
    turn.content.iter().any(|block| match block {
        TurnBlock::Tool { name, outcome, .. } => {
            let of_agents = outcome.iter().flat_map(|outcome| outcome.agents.tasks.iter().flatten().chain(&outcome.agents.synthesis));
            **name == *wanted || of_agents.into_iter().any(|turn| uses(turn, wanted))
        }
        _ => false,
    })
}

/// Results for some of the tool uses that the answers to prompts ask for, and that say nothing themselves of what comes of them.
fn results(features: &CaseFeatures, scenario: &Scenario, drawn: Vec<(usize, ScriptedOutcome)>) -> BTreeMap<Arc<str>, ScriptedOutcome> {
    let turns = (1..).zip(&scenario.prompts).flat_map(|(number, prompt)| {
        let origin = AnswerOrigin::Prompt(number);
        (1..).zip(&prompt.turns).map(move |(turn, script)| (TurnPlace { origin, turn }, script))
    });
    let says_it = |block: &TurnBlock| matches!(block, TurnBlock::Tool { outcome: Some(_), .. } | TurnBlock::Tool { safe: Some(_), .. });
    let saying: Vec<Arc<str>> =
        statement::tool_uses(scenario).into_iter().filter(|tool_use| says_it(tool_use.block)).map(|tool_use| tool_use.id).collect();
    let all = turns.flat_map(|(place, script)| tool_uses(script, place)).map(|(id, _)| id);
    let ids: Vec<Arc<str>> = all.filter(|id| !saying.contains(id)).collect();
    let of = |(at, outcome): (usize, ScriptedOutcome)| {
        Some((ids.get(at)?.clone(), ScriptedOutcome { may: true, ..fitting(features, outcome)? }))
    };
    drawn.into_iter().filter_map(of).collect()
}
