//! `[plan]`: choices that are made already (F-11).

use super::prompts;
use super::reader::{TableReader, entry};
use super::report::DiagnosticReport;
use super::tree::{TreeValue, TreeValueKind};
use super::values::{FromValue, SeedNumber};
use crate::engine::random::Seed;
use crate::prelude::*;
use crate::scenario::fault::FaultRule;
use crate::scenario::interrupt::{InterruptKind, TriggerSide};
use crate::scenario::plan::{AnswerTimes, NamedChoices, Plan, PlannedInterrupt, StreamShape, WaitKind};

/// What the names in a table look like.
#[derive(Clone, Copy)]
enum ChoiceNames {
    /// `2`, `2.3`, `p2/1`, `toolu_7/1`.
    Requests,
    /// A request's name and a fault's.
    Faults,
    /// A request's name and the number of a piece.
    Pieces,
    /// A message id.
    Messages,
    /// Whatever ids there are.
    Free,
}

/// Reads the plan.
pub(super) fn plan(reader: &mut TableReader<'_, '_>, rules: &[FaultRule]) -> Plan {
    let mut plan = Plan { drawn_from: reader.get("drawn_from").map(|SeedNumber(seed)| Seed(seed)), ..Plan::default() };
    for interrupt in reader.entries("interrupt", "[[plan.interrupt]]", interrupt).into_iter().rev() {
        plan.add_interrupt(interrupt);
    }
    plan.faults = named(reader, "faults", ChoiceNames::Faults);
    check_faults(reader, &plan, rules);
    plan.answers = named(reader, "answers", ChoiceNames::Requests);
    plan.streams = named(reader, "streams", ChoiceNames::Messages);
    plan.chunks = named(reader, "chunks", ChoiceNames::Pieces).into_iter().map(|(name, ChunkSizes(sizes))| (name, sizes)).collect();
    plan.request_ids = named(reader, "request_ids", ChoiceNames::Requests);
    for (key, of, _) in WaitKind::ALL {
        let names = if matches!(of, WaitKind::Error | WaitKind::Auth) { ChoiceNames::Requests } else { ChoiceNames::Free };
        let latencies = named(reader, key, names);
        if !latencies.is_empty() {
            plan.latencies.insert(of, latencies);
        }
    }
    plan.backoff = named(reader, "backoff", ChoiceNames::Requests);
    plan
}

fn interrupt(reader: &mut TableReader<'_, '_>) -> Option<PlannedInterrupt> {
    for key in ["event", "kind"] {
        if reader.member(key).is_none() {
            reader.lacks(&[key], format!("[[plan.interrupt]] needs `{key}`"), None);
        }
    }
    let event = reader.get_above_zero("event", "events are counted from 1");
    let side = reader.choice("side", &[("before", TriggerSide::Before), ("after", TriggerSide::After)]).unwrap_or_default();
    let kind = match reader.choice("kind", &[("cancel", true), ("interrupt", false)]) {
        Some(false) => Some(InterruptKind::Interrupt(prompts::content(reader))),
        cancels => {
            for key in ["text", "content_json"] {
                if let (Some(_), Some(member)) = (cancels, reader.member(key)) {
                    let message = format!("who cancels says nothing: remove `{key}`, or make it kind = \"interrupt\"");
                    reader.report.value(member.place, message, None);
                }
            }
            cancels.map(|_| InterruptKind::Cancel)
        }
    };
    Some(PlannedInterrupt { event: event?.into(), side, kind: kind? })
}

/// What hits anyway, or does not exist, is no choice.
fn check_faults(reader: &mut TableReader<'_, '_>, plan: &Plan, rules: &[FaultRule]) {
    let probable: Vec<String> = rules.iter().filter(|rule| rule.at.probability.is_some()).map(|rule| rule.kind.to_string()).collect();
    let is_known = |fault: &str| probable.iter().any(|known| *fault == **known || fault.starts_with(&format!("{known} (")));
    let Some(TreeValueKind::Table(table)) = reader.member("faults").map(|member| &member.value.kind) else { return };
    for name in plan.faults.keys() {
        let Some((_, fault)) = name.split_once(' ').filter(|(_, fault)| !is_known(fault)) else { continue };
        let place = table.get(name).map_or(reader.place, |member| member.place);
        let list = probable.iter().map(|known| format!("`{known}`")).collect::<Vec<_>>().join(", ");
        let help = if probable.is_empty() { String::from("no [[fault]] has a `probability`") } else { format!("known here: {list}") };
        reader.report.value(place, format!("no [[fault]] with a `probability` is called `{fault}`"), Some(help));
    }
}

/// A table of choices by name.
fn named<T: FromValue>(reader: &mut TableReader<'_, '_>, key: &'static str, names: ChoiceNames) -> NamedChoices<T> {
    let Some(member) = reader.member(key) else { return NamedChoices::new() };
    let TreeValueKind::Table(table) = &member.value.kind else {
        if !matches!(member.value.kind, TreeValueKind::StandIn) {
            reader.report.mismatch(&member.value, "a table");
        }
        return NamedChoices::new();
    };
    let mut choices = NamedChoices::new();
    for member in &table.members {
        if !names.hold(&member.key) {
            let (what, help) = names.words();
            reader.report.value(member.place, format!("`{}` in [plan.{key}] names no {what}", member.key), Some(help.into()));
        }
        choices.extend(T::from_value(&member.value, reader.report).map(|value| (member.key.as_str().into(), value)));
    }
    choices
}

impl ChoiceNames {
    fn hold(self, name: &str) -> bool {
        match self {
            Self::Requests => is_request(name),
            Self::Faults => name.split_once(' ').is_some_and(|(request, fault)| is_request(request) && !fault.is_empty()),
            Self::Pieces => name.rsplit_once(" piece ").is_some_and(|(request, piece)| is_request(request) && is_number(piece)),
            Self::Messages => name.starts_with("msg_"),
            Self::Free => true,
        }
    }

    /// What is named, and what such a name looks like.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Requests => ("request", REQUESTS_HELP),
            Self::Faults => ("fault at a request", "write the request and the fault as transcripts do: \"1.2 529 overloaded_error\""),
            Self::Pieces => ("piece of an answer", "write the request and the piece, which is counted from 0: \"1 piece 0\""),
            Self::Messages => ("message", "write its id as transcripts do: \"msg_p1t2\" is the second turn of the first prompt"),
            Self::Free => ("thing", ""),
        }
    }
}

const REQUESTS_HELP: &str = "write it as transcripts do: \"2\", \"2.3\" for its third attempt, \"p2/1\" for the second prompt, \"toolu_7/1\" for \
     the agent of a tool use";

/// A turn, maybe with an attempt; before a slash whose it is.
fn is_request(name: &str) -> bool {
    let own = name.rsplit_once('/').map_or(name, |(_, own)| own);
    let (turn, attempt) = own.split_once('.').unwrap_or((own, "1"));
    is_number(turn) && is_number(attempt) && !name.starts_with('/')
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.len() < 10 && text.bytes().all(|byte| byte.is_ascii_digit())
}

impl FromValue for AnswerTimes {
    fn from_value(value: &TreeValue, report: &mut DiagnosticReport) -> Option<Self> {
        entry(value, report, "an entry of [plan.answers]", |reader| Self {
            head: reader.get("head"),
            gaps: reader.get("gaps").unwrap_or_default(),
            end: reader.get("end"),
        })
    }
}

impl FromValue for StreamShape {
    fn from_value(value: &TreeValue, report: &mut DiagnosticReport) -> Option<Self> {
        entry(value, report, "an entry of [plan.streams]", |reader| Self {
            pieces: reader.get("pieces").map(|ChunkSizes(sizes)| sizes).unwrap_or_default(),
            padding: reader.get("padding").unwrap_or_default(),
        })
    }
}

/// Numbers of bytes, none of them 0.
struct ChunkSizes(Vec<u32>);

impl FromValue for ChunkSizes {
    fn from_value(value: &TreeValue, report: &mut DiagnosticReport) -> Option<Self> {
        let sizes = Vec::from_value(value, report)?;
        if sizes.contains(&0) {
            report.value(value.place, "each part has at least 1 byte".into(), None);
        }
        Some(Self(sizes))
    }
}
