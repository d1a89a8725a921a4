//! Two scenarios as one session: first the one, then the other. State that an engine keeps from one situation into the next shows in such a session and in
//! neither scenario alone.
//!
//! ```text
//!   PairForm::Prompts    prompts of the first │ prompts of the second
//!   PairForm::Turns      prompts of the first, the last one without its closing text ┴ turns of the second's first prompt │ its other prompts
//! ```
//!
//! The settings of the second win where it has some of its own. Times, counts and numbers that the second names are moved behind the first, as far as the
//! run of the first alone tells them.

use alloc::collections::BTreeMap;

use serde_json::Value;

use super::fault::{FaultPlace, NumberSpan};
use super::interrupt::{InterruptMoment, InterruptTrigger, ScriptedInterrupt};
use super::language::scenario_text;
use super::parse;
use super::plan::Plan;
use super::turn::{ScriptedPrompt, ScriptedTurn, TurnBlock};
use super::types::Scenario;
use reenact_engine::settings::Settings;
use reenact_engine::time::Micros;
use reenact_wire::block::{Block, BlockKind};
use reenact_wire::prelude::*;

/// The place where the second scenario begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PairForm {
    /// Behind the last prompt of the first.
    Prompts,
    /// In the last prompt of the first: behind its last tools, or in the place of its last text.
    Turns,
}

impl PairForm {
    /// Both forms.
    pub const ALL: [Self; 2] = [Self::Prompts, Self::Turns];
}

/// The run of a first scenario by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FirstRunFacts {
    /// The time of its end.
    pub end: Micros,
    /// How many stream events of each name came.
    pub stream_events: BTreeMap<Arc<str>, u32>,
    /// How many results of tools came out.
    pub results: u32,
    /// How many prompts ended.
    pub terminals: u32,
}

/// A scenario that can be either part of a pair.
#[derive(Clone, Debug)]
pub struct PairPart {
    scenario: Scenario,
    /// The same with ids of its own for tool uses and answers.
    renamed: Scenario,
    /// Its settings, all of them.
    settings: Value,
}

impl PairPart {
    /// `None` where a scenario depends on files, shows how a rule is broken, or does not come to an end by itself: such a run is no part of another one.
    pub fn new(scenario: &Scenario) -> Option<Self> {
        let has_files = scenario.tape.is_some()
            || scenario.prices.is_some()
            || scenario.windows.is_some()
            || scenario.workspace.as_ref().is_some_and(|files| files.dir.is_some());
        let expect = &scenario.expect;
        let is_hazard = !expect.breaks.is_empty() || expect.refusals.is_some();
        let has_own_end = expect.terminal.as_deref().is_some_and(|end| ["tape_exhausted", "stalled", "limit_reached"].contains(&end));
        if has_files
            || is_hazard
            || has_own_end
            || has_own_requests(scenario)
            || scenario.plan != Plan::default()
            || scenario.prompts.is_empty()
        {
            return None;
        }
        let text = scenario_text(scenario, &[]).replace("toolu_", "toolu_then_").replace("msg_", "msg_then_");
        let renamed = parse::scenario("second.toml", &text, &[]).ok()?.scenario;
        Some(Self { scenario: scenario.clone(), renamed, settings: serde_json::to_value(&scenario.settings).ok()? })
    }
}

/// Whether the host decides what requests hold: with the answers of another scenario the API would refuse them, and not for a fault of the engine.
fn has_own_requests(scenario: &Scenario) -> bool {
    let session = &scenario.settings.session;
    let has_extra = scenario.settings.request_extra.as_str().contains("thinking");
    let api = &scenario.api;
    has_extra
        || api.lenient
        || api.signatures.is_some()
        || session.thinking.is_some()
        || !session.changes.is_empty()
        || !session.host_messages.is_empty()
}

/// One session in which the first scenario happens, and then the second; `None` where their settings cannot stand beside each other.
pub fn joined(first: &PairPart, run: &FirstRunFacts, second: &PairPart, form: PairForm) -> Option<Scenario> {
    let parts = [&first.scenario, &second.scenario];
    // Which answers may be resumed depends on the model.
    let has_one_model = parts[0].settings.model == parts[1].settings.model && !parts.iter().any(|part| changes_model(part));
    if !has_one_model && parts.iter().any(|part| has_pause(part)) {
        return None;
    }
    let mut scenario = first.scenario.clone();
    scenario.settings = merged(&first.settings, &second.settings)?;
    let second = &second.renamed;
    let (prompts, turns) = join_prompts(&mut scenario.prompts, &second.prompts, run.end, form);
    for tool in &second.tools {
        scenario.tools.retain(|known| known.definition.name != tool.definition.name);
        scenario.tools.push(tool.clone());
    }
    scenario.hooks.extend(second.hooks.iter().cloned());
    scenario.permissions.extend(second.permissions.iter().cloned());
    scenario.sides.extend(second.sides.iter().cloned());
    scenario.results.extend(second.results.iter().map(|(id, outcome)| (id.clone(), outcome.clone())));
    for fault in &mut scenario.faults {
        fault.at.prompt = fault.at.prompt.or(Some(NumberSpan { first: 1, last: Some(prompts + u32::from(form == PairForm::Turns)) }));
    }
    scenario.faults.extend(second.faults.iter().cloned().map(|mut fault| {
        move_place(&mut fault.at, prompts, turns, run.end);
        fault
    }));
    scenario.interrupts.extend(second.interrupts.iter().cloned().map(|mut interrupt: ScriptedInterrupt| {
        move_moment(&mut interrupt.moment, prompts, run);
        interrupt
    }));
    take_others(&mut scenario, second);
    Some(scenario)
}

/// Whether another model may come to answer.
fn changes_model(scenario: &Scenario) -> bool {
    let texts = scenario.prompts.iter().flat_map(|prompt| &prompt.content);
    let is_command = |block: &Block| matches!(block.kind(), BlockKind::Text(text) if text.trim_start().starts_with("/model"));
    scenario.settings.session.fallback_model.is_some() || texts.into_iter().any(is_command)
}

fn has_pause(scenario: &Scenario) -> bool {
    let turns = scenario.prompts.iter().flat_map(|prompt| &prompt.turns);
    turns.into_iter().any(|turn| turn.stop_reason.as_deref() == Some("pause_turn"))
}

/// Adds the prompts; how many prompts of the first come before those of the second, and how many turns before those of its first prompt.
fn join_prompts(prompts: &mut Vec<ScriptedPrompt>, second: &[ScriptedPrompt], end: Micros, form: PairForm) -> (u32, u32) {
    let moved = |prompt: &ScriptedPrompt| ScriptedPrompt { at: prompt.at.map(|at| at + end), ..prompt.clone() };
    let (mut before, mut turns) = (prompts.len(), 0);
    let mut rest = second;
    if let (PairForm::Turns, Some(last), [next, others @ ..]) = (form, prompts.last_mut(), second) {
        if last.turns.last().is_some_and(is_closing) {
            last.turns.pop();
        }
        turns = last.turns.len();
        last.turns.extend(next.turns.iter().cloned());
        (before, rest) = (before - 1, others);
    }
    prompts.extend(rest.iter().map(moved));
    (u32::try_from(before).unwrap_or(u32::MAX), u32::try_from(turns).unwrap_or(u32::MAX))
}

/// Whether nothing of a prompt follows on this turn.
fn is_closing(turn: &ScriptedTurn) -> bool {
    turn.status == 200
        && turn.body.is_none()
        && turn.stop_reason.is_none()
        && !turn.content.iter().any(|block| matches!(block, TurnBlock::Tool { .. }))
}

fn move_place(place: &mut FaultPlace, prompts: u32, turns: u32, end: Micros) {
    let behind = |span: NumberSpan, by: u32| NumberSpan {
        first: span.first.saturating_add(by),
        last: span.last.map(|last| last.saturating_add(by)),
    };
    let is_in_first_prompt = place.prompt.is_none_or(|span| span.contains(1));
    place.prompt = Some(behind(place.prompt.unwrap_or(NumberSpan { first: 1, last: None }), prompts));
    if is_in_first_prompt && turns > 0 {
        place.request = Some(behind(place.request.unwrap_or(NumberSpan { first: 1, last: None }), turns));
    }
    place.after = place.after.map(|after| after + end);
    place.before = place.before.map(|before| before + end);
}

fn move_moment(moment: &mut InterruptMoment, prompts: u32, run: &FirstRunFacts) {
    match moment {
        InterruptMoment::At(at) => *at = *at + run.end,
        InterruptMoment::When { anchor, .. } => match anchor {
            InterruptTrigger::Event { name, nth } => *nth += run.stream_events.get(name).copied().unwrap_or_default(),
            InterruptTrigger::Result { nth } => *nth += run.results,
            InterruptTrigger::Terminal { nth } => *nth += run.terminals,
            InterruptTrigger::Request { prompt, .. } => *prompt = Some(prompt.unwrap_or(1) + prompts),
            InterruptTrigger::Tool { .. } | InterruptTrigger::Retry { .. } => (),
        },
    }
}

/// The parts that only one of them can have: the second's, if it has any.
fn take_others(scenario: &mut Scenario, second: &Scenario) {
    let Scenario { store, lookups, auth, api, timing, chunking, limits, default_answer, workspace, .. } = Scenario::default();
    macro_rules! take {
        ($($default:ident)*) => { $(if second.$default != $default { scenario.$default = second.$default.clone(); })* };
    }
    take!(store lookups auth api timing chunking limits default_answer workspace);
    scenario.title = None;
    scenario.rules.clear();
    scenario.expect = super::expectations::Expectations::default();
    scenario.network = None;
}

/// The settings of the first, and those in which the second has other ones than the defaults.
fn merged(first: &Value, second: &Value) -> Option<Settings> {
    let mut merged = first.clone();
    overlay(&mut merged, second, &serde_json::to_value(Settings::default()).ok()?);
    serde_json::from_value(merged).ok()
}

fn overlay(into: &mut Value, from: &Value, default: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                let default = default.get(key).unwrap_or(&Value::Null);
                if value != default {
                    overlay(into.entry(key.clone()).or_insert(Value::Null), value, default);
                }
            }
        }
        (into, from) => *into = from.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::TurnBlock;

    fn part(text: &str) -> PairPart {
        let parsed = parse::scenario("part.toml", text, &[]).unwrap_or_else(|problems| panic!("{problems:?}"));
        PairPart::new(&parsed.scenario).unwrap()
    }

    const FIRST: &str = r#"
tools = ["Read"]
[engine]
max_turns = 7
[[prompt]]
text = "One."
[[prompt.turn]]
tool = [{ name = "Read", input = { file_path = "/a" }, id = "toolu_a" }]
[[prompt.turn]]
text = "Read."
[[fault]]
at = { request = 1 }
status = 529
"#;

    const SECOND: &str = r#"
tools = ["Read", "Grep"]
[engine]
model = "claude-haiku-4-5"
[[prompt]]
text = "Two."
[[prompt.turn]]
tool = [{ name = "Grep", input = { pattern = "a" }, id = "toolu_a" }]
[[prompt.turn]]
text = "Found."
[[prompt]]
text = "Three."
at = "2s"
[[prompt.turn]]
text = "Done."
[[fault]]
at = { prompt = 1, request = 2 }
status = 500
[[interrupt]]
kind = "cancel"
when = { event = "message_stop", nth = 2 }
"#;

    fn facts() -> FirstRunFacts {
        let stream_events = [("message_stop".into(), 3)].into();
        FirstRunFacts { end: Micros::from_secs(10), stream_events, ..FirstRunFacts::default() }
    }

    fn names(scenario: &Scenario) -> Vec<String> {
        scenario.prompts.iter().flat_map(|prompt| &prompt.content).map(|block| format!("{:?}", block.kind())).collect()
    }

    #[test]
    fn e_1_the_prompts_of_the_second_follow_those_of_the_first() {
        let both = joined(&part(FIRST), &facts(), &part(SECOND), PairForm::Prompts).unwrap();
        assert_eq!(both.prompts.len(), 3, "{:?}", names(&both));
        assert_eq!((&*both.settings.model, both.settings.session.max_turns), ("claude-haiku-4-5", Some(7)), "each has its settings");
        assert_eq!(both.tools.iter().map(|tool| &*tool.definition.name).collect::<Vec<_>>(), ["Read", "Grep"]);
        assert_eq!(both.prompts[2].at, Some(Micros::from_secs(12)), "times begin at the end of the first");
        let places: Vec<_> = both.faults.iter().map(|fault| (fault.at.prompt, fault.at.request)).collect();
        let one = |number| Some(NumberSpan { first: number, last: Some(number) });
        assert_eq!(places, [(one(1), one(1)), (one(2), one(2))]);
        let InterruptMoment::When { anchor, .. } = &both.interrupts[0].moment else { panic!("it is tied to an event") };
        assert_eq!(anchor.nth(), 5, "three were there before");
        let ids: Vec<_> = both.prompts.iter().flat_map(|prompt| &prompt.turns).flat_map(|turn| &turn.content).filter_map(id).collect();
        assert_eq!(ids, ["toolu_a", "toolu_then_a"], "no id stands twice");
    }

    fn id(block: &TurnBlock) -> Option<&str> {
        if let TurnBlock::Tool { id: Some(id), .. } = block { Some(id) } else { None }
    }

    #[test]
    fn e_1_the_turns_of_the_second_go_on_in_the_prompt_of_the_first() {
        let both = joined(&part(FIRST), &facts(), &part(SECOND), PairForm::Turns).unwrap();
        assert_eq!(both.prompts.iter().map(|prompt| prompt.turns.len()).collect::<Vec<_>>(), [3, 1], "the closing words are left out");
        let span = |first, last| Some(NumberSpan { first, last: Some(last) });
        assert_eq!((both.faults[1].at.prompt, both.faults[1].at.request), (span(1, 1), span(3, 3)), "behind the turns of the first");
        assert_eq!(both.faults[0].at.prompt, span(1, 1));
    }

    #[test]
    fn e_1_what_depends_on_more_than_the_scenario_is_no_part() {
        let is_part = |more: &str| {
            let text = format!("{more}\n[[prompt]]\ntext = \"Hi.\"\n[[prompt.turn]]\ntext = \"Well.\"\n");
            PairPart::new(&parse::scenario("part.toml", &text, &[]).unwrap_or_else(|problems| panic!("{problems:?}")).scenario).is_some()
        };
        assert!(is_part(""));
        assert!(!is_part("[expect]\nbreaks = [\"O-3\"]"), "a rule is broken on purpose");
        assert!(!is_part("[expect]\nterminal = \"stalled\""), "it does not end by itself");
        assert!(
            !is_part("[engine]\nrequest_extra = '{\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":2000}}'"),
            "the API would refuse other answers"
        );
        assert!(!is_part("[plan]\ndrawn_from = 7"), "its choices are made");
    }
}
