//! A certificate: what an exploration claims, in a form that another program checks (E-3c).
//!
//! ```text
//!   {"reenact_certificate":1, …, "root":"…"}      the claim: one line of JSON
//!   key 16 │ parent 5 │ event 3 │ digest 8        for each state 32 bytes, in the order in which the states were reached
//! ```
//!
//! A state's place is its number in this order. Its parent comes before it, so the states are a tree. The event is the number of the decision that leads from the
//! parent to it. The digest is of all decisions at the state, of their effects, and of the places that they lead to.

use alloc::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::budget::ExploreBudget;
use super::explorer::{ExploreReport, ExploredGraph, fault_list};
use reenact_engine::contract::KeySink;
use reenact_engine::key::StateKey;
use reenact_engine::time::Time;
use reenact_oracle::ORACLES;
use reenact_scenario::explore_settings::ExploreSettings;
use reenact_scenario::types::Scenario;
use reenact_sim::rules;
use reenact_wire::prelude::*;

/// How each certificate begins.
pub const MARK: &str = "{\"reenact_certificate\"";

/// The version of the format.
pub const VERSION: u32 = 2;

/// The version of the keys of world, oracles and budget. It rises when other states become equal.
pub const KEY_VERSION: u32 = 1;

/// The version of the oracles. It rises when one of them sees more or less than before.
pub const ORACLES_VERSION: u32 = 2;

/// When arrivals may come, in words.
pub fn windows(settings: &ExploreSettings) -> String {
    let jitter: String = settings.jitter.in_words().iter().map(|limit| format!("; {limit}")).collect();
    format!(
        "an arrival that comes first comes as early as it can: in the range of its latency where the scenario has one, else between half and twice its usual \
         span, and within a millisecond where that is nothing; timers at their time{jitter}"
    )
}

/// The parts of which explorations of a scenario claim nothing, in sentences: what it leaves out, and the rules of which it says that they are broken.
pub fn unclaimed(scenario: &Scenario) -> Vec<String> {
    scenario.explore.in_words().into_iter().chain(unclaimed_rules(scenario)).collect()
}

/// The rules of which a scenario says that they are broken, in a sentence.
pub fn unclaimed_rules(scenario: &Scenario) -> Option<String> {
    let shown: Vec<&str> = ORACLES.iter().map(|(oracle, _)| *oracle).filter(|oracle| rules::shows(&scenario.expect, oracle)).collect();
    let text = || format!("[expect] says that these rules are broken, so nothing is claimed of them: {}", shown.join(", "));
    (!shown.is_empty()).then(text)
}

/// So many bytes a state has.
const STATE_SIZE: usize = 32;

/// The parent of the first state.
const NO_PARENT: u64 = (1 << 40) - 1;

/// The claim of an exploration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertificateClaim {
    /// The version of the format.
    pub reenact_certificate: u32,
    /// The version of the program.
    pub program: String,
    /// The digest of the program's file. It is not compared: another build of the same engine has another one.
    pub binary: String,
    /// The file of the scenario, as it was named.
    pub path: String,
    /// The keys of the scenario that were set.
    pub set: Vec<(String, String)>,
    /// The digest of the scenario with all that it extends and all files that it names.
    pub scenario: String,
    /// Deviations, faults and inputs of a run.
    pub budget: String,
    /// The faults of a request.
    pub faults: Vec<String>,
    /// When arrivals may come.
    pub windows: String,
    /// The version of the keys.
    pub key_version: u32,
    /// The version of the oracles.
    pub oracles_version: u32,
    /// How often each oracle was asked. One that was not asked is not claimed.
    pub asked: Vec<(String, u64)>,
    /// How many states there are.
    pub states: u64,
    /// How many decisions were made.
    pub transitions: u64,
    /// The chance that two different states have one key: at most two to the power of this.
    pub collision_log2: i32,
    /// The digest of everything above and of all states.
    pub root: String,
}

/// A state of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertifiedState {
    /// Its key.
    pub key: StateKey,
    /// The place of its parent, and the number of the decision; `None` for the first state.
    pub parent: Option<(u64, u32)>,
    /// The digest of what follows it.
    pub digest: u64,
}

/// A claim with its states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The claim.
    pub claim: CertificateClaim,
    /// The states, in the order in which they were reached.
    pub states: Vec<CertifiedState>,
}

impl Certificate {
    /// Certifies what was explored. `claim` has everything that is not known from the states.
    pub fn new(claim: CertificateClaim, graph: &ExploredGraph) -> Self {
        let state = |place: usize| CertifiedState {
            key: graph.keys[place],
            parent: graph.parents[place],
            digest: digest(graph.transitions(place)),
        };
        let states: Vec<CertifiedState> = (0..graph.keys.len()).map(state).collect();
        Self { claim: CertificateClaim { transitions: graph.transition_count(), ..claim }, states }.with_root()
    }

    /// As the bytes of a file.
    pub fn encode(&self) -> Vec<u8> {
        // A claim of texts and figures has a JSON form.
        let mut bytes = serde_json::to_vec(&self.claim).unwrap_or_default();
        bytes.push(b'\n');
        self.encode_states(&mut bytes);
        bytes
    }

    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// When it is no certificate, is cut off, or was changed.
    pub fn decode(bytes: &[u8]) -> Result<Self, String> {
        let Some(end) = memchr::memchr(b'\n', bytes).filter(|_| bytes.starts_with(MARK.as_bytes())) else {
            return Err(String::from("this is no certificate: `reenact explore SCENARIO --certificate FILE` writes one"));
        };
        let claim: CertificateClaim =
            serde_json::from_slice(&bytes[..end]).map_err(|error| format!("the claim of the certificate cannot be read: {error}"))?;
        if claim.reenact_certificate != VERSION {
            return Err(format!("the certificate has the version {}, and this program reads {VERSION}", claim.reenact_certificate));
        }
        let states = &bytes[end + 1..];
        if !states.len().is_multiple_of(STATE_SIZE) || (states.len() / STATE_SIZE) as u64 != claim.states {
            return Err(format!(
                "the certificate names {} states and has {} bytes for them, which is {}: it was cut off or changed",
                claim.states,
                states.len(),
                plural((states.len() / STATE_SIZE) as u64, "state")
            ));
        }
        let states = states.chunks_exact(STATE_SIZE).map(decode_state).collect();
        let certificate = Self { claim, states };
        if collision_log2(certificate.claim.states) != certificate.claim.collision_log2 {
            return Err(String::from("the claim has another chance of a collision than its number of states gives"));
        }
        if certificate.root() != certificate.claim.root {
            return Err(String::from("the certificate was changed: its root is not that of its claim and its states"));
        }
        certificate.check_tree()?;
        Ok(certificate)
    }

    /// The same with the root and the figures that follow from its states. A forger does this, too.
    #[doc(hidden)]
    #[must_use]
    pub fn with_root(mut self) -> Self {
        self.claim.states = self.states.len() as u64;
        self.claim.collision_log2 = collision_log2(self.claim.states);
        self.claim.root = self.root();
        self
    }

    /// The digest of the claim without its root, and of all states.
    pub fn root(&self) -> String {
        let claim = CertificateClaim { root: String::new(), ..self.claim.clone() };
        let mut bytes = serde_json::to_vec(&claim).unwrap_or_default();
        self.encode_states(&mut bytes);
        blake3::hash(&bytes).to_hex().as_str().into()
    }

    fn encode_states(&self, bytes: &mut Vec<u8>) {
        for CertifiedState { key, parent, digest } in &self.states {
            let (parent, event) = parent.unwrap_or((NO_PARENT, 0));
            bytes.extend_from_slice(&key.0.to_be_bytes());
            bytes.extend_from_slice(&parent.to_be_bytes()[3..]);
            bytes.extend_from_slice(&event.to_be_bytes()[1..]);
            bytes.extend_from_slice(&digest.to_be_bytes());
        }
    }

    /// Whether its states are a tree, each with a key of its own.
    fn check_tree(&self) -> Result<(), String> {
        let mut keys = BTreeMap::new();
        let mut ways = BTreeSet::new();
        if self.states.is_empty() {
            return Err(String::from("the certificate has no state"));
        }
        for (place, state) in self.states.iter().enumerate() {
            if let Some(other) = keys.insert(state.key, place) {
                return Err(format!("the states {other} and {place} have one key"));
            }
            match state.parent {
                None if place == 0 => (),
                Some((parent, event)) if parent < place as u64 => {
                    if !ways.insert((parent, event)) {
                        return Err(format!("two states follow decision {event} of state {parent}"));
                    }
                }
                _ => return Err(format!("state {place} has no parent before it")),
            }
        }
        Ok(())
    }

    /// The budget of the claim.
    ///
    /// # Errors
    /// When it is not a budget.
    pub fn budget(&self) -> Result<ExploreBudget, String> {
        self.claim.budget.parse()
    }

    /// The rules that were never asked.
    pub fn unasked(&self) -> Vec<&str> {
        self.claim.asked.iter().filter(|(_, count)| *count == 0).map(|(oracle, _)| &**oracle).collect()
    }
}

impl CertificateClaim {
    /// The claim of a finished exploration by the facts that this room knows: nothing of the program, its file and the scenario's.
    pub fn new(report: &ExploreReport, settings: &ExploreSettings) -> Self {
        Self {
            reenact_certificate: VERSION,
            program: String::new(),
            binary: String::new(),
            path: String::new(),
            set: Vec::new(),
            scenario: String::new(),
            budget: report.budget.to_string(),
            faults: fault_list(settings),
            windows: windows(settings),
            key_version: KEY_VERSION,
            oracles_version: ORACLES_VERSION,
            asked: report.asked.by_oracle().map(|(oracle, count)| (oracle.into(), count)).collect(),
            states: 0,
            transitions: 0,
            collision_log2: 0,
            root: String::new(),
        }
    }

    /// The differences from claims of this program about a scenario with these settings, in words: such certificates cannot be compared.
    pub fn differences(&self, settings: &ExploreSettings) -> Vec<String> {
        let mut found = Vec::new();
        if self.key_version != KEY_VERSION {
            found.push(format!("its keys have the version {}, and this program's {KEY_VERSION}", self.key_version));
        }
        if self.oracles_version != ORACLES_VERSION {
            found.push(format!("its oracles have the version {}, and this program's {ORACLES_VERSION}", self.oracles_version));
        }
        if self.windows != windows(settings) {
            found.push(format!("its arrivals come otherwise: {}", self.windows));
        }
        if !self.asked.iter().map(|(oracle, _)| &**oracle).eq(ORACLES.iter().map(|(oracle, _)| *oracle)) {
            found.push(String::from("it names other oracles than this program has"));
        }
        found
    }
}

/// The digest of the decisions at a state: each with its effects and the place that it leads to.
pub(super) fn digest(transitions: impl Iterator<Item = (u64, Option<u64>)>) -> u64 {
    let mut sink = KeySink::new(Time::ZERO);
    for (hash, to) in transitions {
        core::hash::Hasher::write_u64(&mut sink, hash);
        core::hash::Hasher::write_u64(&mut sink, to.unwrap_or(NO_PARENT));
    }
    core::hash::Hasher::finish(&sink)
}

/// Two to the power of this is more than the chance that some two of so many states have one key.
fn collision_log2(states: u64) -> i32 {
    let bits = i32::try_from(u64::BITS - states.leading_zeros()).unwrap_or(64);
    2 * bits - 129
}

fn decode_state(bytes: &[u8]) -> CertifiedState {
    let number = |range: core::ops::Range<usize>| bytes[range].iter().fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    // Each range has fewer bytes than its type.
    let [parent, event, digest] = [16..21, 21..24, 24..32].map(|range| u64::try_from(number(range)).unwrap_or(u64::MAX));
    let event = u32::try_from(event).unwrap_or(u32::MAX);
    CertifiedState { key: StateKey(number(0..16)), parent: (parent != NO_PARENT).then_some((parent, event)), digest }
}
