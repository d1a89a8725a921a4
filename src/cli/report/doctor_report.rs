//! The document of `doctor`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::super::doctor::{AgentPlace, FindingScenarios, place_text};
use super::{REPORT_VERSION, UnreadEntry, verdict_word};
use crate::prelude::*;
use crate::review::doctor::{Examination, ExaminedConversation};
use crate::stores::conversation::StoredBranch;
use crate::stores::judgement::{NextRefusal, SessionFinding};

/// Everything that a `doctor` has to say.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct DoctorReportDocument {
    reenact_doctor_report: u32,
    /// The places that it looked at.
    places: Vec<PlaceEntry>,
    /// The conversations, in the order of their files.
    sessions: Vec<SessionEntry>,
    /// The files that could not be judged.
    unjudged: Vec<UnreadEntry>,
    /// How many findings there are of each kind.
    counts: BTreeMap<&'static str, usize>,
    /// How many sessions have findings.
    broken: usize,
    findings: usize,
    /// How many sessions hold no message.
    without_messages: usize,
    /// How many files stand beside sessions and hold none.
    beside: usize,
    /// How many files of folders do not look like sessions by their names.
    others: usize,
    bytes: u64,
    exit: u8,
}

#[derive(Clone, Debug, Serialize)]
struct PlaceEntry {
    agent: Option<&'static str>,
    path: String,
    found: bool,
}

#[derive(Clone, Debug, Serialize)]
struct SessionEntry {
    path: String,
    format: &'static str,
    session: Option<String>,
    /// Where a conversation beside the session's own begins.
    side_chain: Option<String>,
    messages: usize,
    verdict: &'static str,
    findings: Vec<SessionFindingEntry>,
    refusal: Option<RefusalEntry>,
    remarks: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
struct SessionFindingEntry {
    kind: &'static str,
    rule: &'static str,
    places: Vec<String>,
    call: Option<String>,
    text: String,
    mechanism: &'static str,
    scenario: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
struct RefusalEntry {
    status: u16,
    message: String,
    place: Option<String>,
}

impl DoctorReportDocument {
    pub(in crate::cli) fn new(places: &[AgentPlace], examination: &Examination, scenarios: &FindingScenarios, exit: u8) -> Self {
        let place = |place: &AgentPlace| PlaceEntry { agent: place.agent, path: place.path.display().to_string(), found: place.is_there };
        let unjudged = examination.unjudged.iter();
        let counts = examination.counts();
        Self {
            reenact_doctor_report: REPORT_VERSION,
            places: places.iter().map(place).collect(),
            sessions: examination.conversations.iter().map(|session| SessionEntry::new(session, scenarios)).collect(),
            unjudged: unjudged.map(|file| UnreadEntry { path: file.path.display().to_string(), problem: file.problem.clone() }).collect(),
            broken: examination.broken().count(),
            findings: counts.values().sum(),
            counts: counts.into_iter().map(|(kind, count)| (kind.as_str(), count)).collect(),
            without_messages: examination.without_messages,
            beside: examination.beside,
            others: examination.others,
            bytes: examination.bytes,
            exit,
        }
    }
}

impl SessionEntry {
    fn new(session: &ExaminedConversation, scenarios: &FindingScenarios) -> Self {
        let ExaminedConversation { judgement, file, .. } = session;
        let finding = |finding: &SessionFinding| SessionFindingEntry {
            kind: finding.violation.kind.as_str(),
            rule: finding.violation.rule,
            places: finding.violation.places.iter().map(|place| place_text(file, place)).collect(),
            call: finding.violation.call.as_deref().map(String::from),
            text: finding.violation.text.clone(),
            mechanism: finding.mechanism,
            scenario: scenarios.file(finding).map(|path| path.display().to_string()),
        };
        let refusal = |refused: &NextRefusal| RefusalEntry {
            status: refused.refusal.status,
            message: refused.refusal.message.clone(),
            place: refused.place.as_ref().map(|place| place_text(file, place)),
        };
        Self {
            path: file.to_string(),
            format: session.format.as_str(),
            session: session.session.as_deref().map(String::from),
            side_chain: match &session.branch {
                StoredBranch::Main => None,
                StoredBranch::SideChain(place) => Some(place_text(file, place)),
            },
            messages: session.messages,
            verdict: verdict_word(judgement.findings.is_empty()),
            findings: judgement.findings.iter().map(finding).collect(),
            refusal: judgement.refusal.as_ref().map(refusal),
            remarks: judgement.open_calls.iter().chain(&judgement.remarks).chain(&session.remarks).cloned().collect(),
        }
    }
}
