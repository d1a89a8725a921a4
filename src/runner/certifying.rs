//! Certificates of explorations: they hold, and one that was tampered with or that lacks what the exploration forgot does not (E-3c).

use std::num::NonZeroUsize;
use std::path::Path;

use super::PanicCatcher;
use super::explore::Threads;
use reenact_engine::agent_loop::AgentLoop;
use reenact_engine::contract::{Effect, Effects, Engine, Environment, Input, KeySink, Time, TimerId};
use reenact_engine::key::StateKey;
use reenact_engine::time::Micros;
use reenact_explore::against::compare;
use reenact_explore::budget::ExploreBudget;
use reenact_explore::canary::{Canary, Saboteur};
use reenact_explore::certificate::{Certificate, CertificateClaim, CertifiedState};
use reenact_explore::certify::{CertifyPart, CertifyRefusal, CertifyReport, certify};
use reenact_explore::explorer::{ExploreOptions, ExplorePace, ExploreStep, ExploredGraph, FinishedExploration, explore_with};
use reenact_files::scenario::{LoadOptions, LoadedScenario, load_with};
use reenact_scenario::explore_settings::ExploreSettings;
use reenact_wire::prelude::*;

const SIDE_BY_SIDE: &str = "executor/tool-details.toml";

fn load(name: &str) -> LoadedScenario {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    load_with(&folder.join(name), &LoadOptions::default()).unwrap()
}

fn explored<E: Engine + Send>(loaded: &LoadedScenario, engine: &E, budget: ExploreBudget, options: ExploreOptions) -> FinishedExploration {
    let threads = Threads(NonZeroUsize::new(2).unwrap());
    let options = ExploreOptions { keeps_graph: true, ..options };
    explore_with(&loaded.setup, engine, budget, &PanicCatcher, &threads, (options, &mut |_| ExplorePace::Usual))
}

fn graph<E: Engine + Send>(loaded: &LoadedScenario, engine: &E, budget: ExploreBudget) -> ExploredGraph {
    explored(loaded, engine, budget, ExploreOptions::default()).graph.unwrap()
}

fn certificate(explored: &FinishedExploration) -> Certificate {
    Certificate::new(CertificateClaim::new(&explored.report, &ExploreSettings::default()), explored.graph.as_ref().unwrap())
}

fn check<E: Engine>(certificate: &Certificate, loaded: &LoadedScenario, engine: &E, part: CertifyPart) -> Result<CertifyReport, String> {
    let refused = |refusal: Option<CertifyRefusal>| refusal.unwrap().reason;
    certify(certificate, &loaded.setup, engine, &PanicCatcher, (part, &mut |_| true)).map_err(refused)
}

fn certified(name: &str, budget: ExploreBudget) -> (LoadedScenario, Certificate) {
    let loaded = load(name);
    let certificate = certificate(&explored(&loaded, &AgentLoop::default(), budget, ExploreOptions::default()));
    (loaded, certificate)
}

#[test]
fn e_3c_a_certificate_holds_as_a_whole_in_parts_and_by_sample() {
    for (name, budget) in [
        (SIDE_BY_SIDE, ExploreBudget::new(1, 0, 1)),
        ("query/read-one-file.toml", ExploreBudget::new(0, 1, 0)),
        ("world/planned-order.toml", ExploreBudget::new(1, 0, 1)),
    ] {
        let (loaded, certificate) = certified(name, budget);
        let read = Certificate::decode(&certificate.encode()).unwrap();
        assert_eq!(read, certificate);
        let engine = AgentLoop::default();
        let whole = check(&read, &loaded, &engine, CertifyPart::All).unwrap();
        assert_eq!((whole.checked, whole.transitions), (read.states.len(), read.claim.transitions), "{name}");
        let parts = (1..=3).map(|number| check(&read, &loaded, &engine, CertifyPart::Shard { number, of: 3 }).unwrap().checked);
        assert_eq!(parts.sum::<usize>(), whole.checked, "{name}: the parts are the whole");
        let sample = check(&read, &loaded, &engine, CertifyPart::Sample { per_million: 200_000, seed: 1 }).unwrap();
        assert!(sample.checked * 10 > whole.checked && sample.checked * 3 < whole.checked, "{name}: {sample:?} of {whole:?}");
    }
}

#[test]
fn e_3c_a_certificate_is_the_same_on_one_thread_and_on_many_and_small() {
    let loaded = load(SIDE_BY_SIDE);
    let bytes = [1, 3].map(|threads| {
        let threads = Threads(NonZeroUsize::new(threads).unwrap());
        let options = ExploreOptions { keeps_graph: true, ..ExploreOptions::default() };
        let explored = explore_with(
            &loaded.setup,
            &AgentLoop::default(),
            ExploreBudget::new(1, 0, 1),
            &PanicCatcher,
            &threads,
            (options, &mut |_| ExplorePace::Usual),
        );
        let certificate = certificate(&explored);
        (certificate.encode(), certificate.states.len())
    });
    assert_eq!(bytes[0], bytes[1]);
    assert!(bytes[0].0.len() <= 32 * bytes[0].1 + 3_000, "32 bytes a state and the claim");
}

/// A tampering, and a part of the words with which it is refused.
type Tampering = (&'static str, fn(&mut Certificate), &'static str);

/// A state without children in the tree.
fn leaf(certificate: &Certificate) -> usize {
    let is_parent = |place: usize| certificate.states.iter().any(|state| state.parent.is_some_and(|(parent, _)| parent == place as u64));
    (0..certificate.states.len()).rev().find(|place| !is_parent(*place)).unwrap()
}

/// Takes a state out; the places behind it move up.
fn take_out(certificate: &mut Certificate, place: usize) {
    certificate.states.remove(place);
    for (parent, _) in certificate.states.iter_mut().filter_map(|state| state.parent.as_mut()) {
        *parent -= u64::from(*parent > place as u64);
    }
}

const TAMPERINGS: &[Tampering] = &[
    ("a key is another one", |certificate| certificate.states[5].key.0 ^= 1, "the certificate lacks"),
    ("the first key is another one", |certificate| certificate.states[0].key.0 ^= 1 << 80, "has another key"),
    ("a digest is another one", |certificate| certificate.states[7].digest ^= 1 << 60, "have other effects, or lead elsewhere"),
    ("a last state is left out", |certificate| take_out(certificate, leaf(certificate)), "the certificate lacks"),
    ("an event is another one", |certificate| certificate.states[9].parent.as_mut().unwrap().1 += 1, ""),
    ("a parent is another one", |certificate| certificate.states[20].parent.as_mut().unwrap().0 -= 1, ""),
    ("a state has no parent", |certificate| certificate.states[4].parent = None, "has no parent before it"),
    ("the first state has a parent", |certificate| certificate.states[0].parent = Some((0, 0)), "has no parent before it"),
    ("a parent comes later", |certificate| certificate.states[3].parent = Some((9, 0)), "has no parent before it"),
    ("a parent is its own", |certificate| certificate.states[3].parent = Some((3, 0)), "has no parent before it"),
    (
        "a state is there twice",
        |certificate| {
            let copy = certificate.states[6];
            certificate.states.push(CertifiedState { parent: Some((6, 9)), ..copy });
        },
        "have one key",
    ),
    (
        "a state is invented",
        |certificate| {
            let copy = certificate.states[6];
            certificate.states.push(CertifiedState { key: StateKey(77), parent: Some((6, 90)), ..copy });
        },
        "has no decision 90",
    ),
    ("two states are exchanged", |certificate| certificate.states.swap(30, 31), ""),
    (
        "the digests of two states are exchanged",
        |certificate| {
            let [one, other] = [certificate.states[11].digest, certificate.states[40].digest];
            (certificate.states[11].digest, certificate.states[40].digest) = (other, one);
        },
        "have other effects, or lead elsewhere",
    ),
    ("the budget is larger", |certificate| certificate.claim.budget = "(2,0,1)".into(), "has another key"),
    ("the budget is smaller", |certificate| certificate.claim.budget = "(1,0,0)".into(), "has another key"),
    ("the budget is none", |certificate| certificate.claim.budget = "(1,0)".into(), "is not a budget"),
    ("a fault is unknown", |certificate| certificate.claim.faults.push("fire once".into()), "a fault that is unknown"),
    ("transitions are more", |certificate| certificate.claim.transitions += 1, "the claim names"),
    ("an oracle was asked more often", |certificate| certificate.claim.asked[3].1 += 1, "was asked"),
    ("all but the first state are left out", |certificate| certificate.states.truncate(1), "the certificate lacks"),
    ("all states are left out", |certificate| certificate.states.clear(), "has no state"),
];

#[test]
fn e_3c_a_certificate_that_was_tampered_with_is_refused() {
    let (loaded, certificate) = certified(SIDE_BY_SIDE, ExploreBudget::new(1, 0, 1));
    for (what, tamper, words) in TAMPERINGS {
        let mut tampered = certificate.clone();
        tamper(&mut tampered);
        // A forger also gives it the root that fits.
        let tampered = Certificate::decode(&tampered.with_root().encode());
        let refused = tampered.and_then(|tampered| check(&tampered, &loaded, &AgentLoop::default(), CertifyPart::All)).err();
        let refused = refused.unwrap_or_else(|| panic!("{what}: it is taken for a whole one"));
        assert!(refused.contains(words), "{what}: {refused}");
        println!("{what}: {refused}");
    }
}

#[test]
fn e_3c_a_fault_that_is_left_out_of_the_claim_is_missed() {
    let (loaded, mut certificate) = certified("query/read-one-file.toml", ExploreBudget::new(0, 1, 0));
    certificate.claim.faults.remove(2);
    let refused = check(&certificate.with_root(), &loaded, &AgentLoop::default(), CertifyPart::All).unwrap_err();
    assert!(
        refused.contains("does not lead to state") || refused.contains("other effects") || refused.contains("has no decision"),
        "{refused}"
    );
}

#[test]
fn e_3c_bytes_that_are_no_whole_certificate_are_refused() {
    let (_, certificate) = certified("session/hello.toml", ExploreBudget::new(0, 0, 1));
    let bytes = certificate.encode();
    let refused = |bytes: &[u8]| Certificate::decode(bytes).unwrap_err();
    assert!(refused(&bytes[..bytes.len() - 1]).contains("it was cut off or changed"));
    assert!(refused(&bytes[..bytes.len() - 32]).contains("it was cut off or changed"));
    assert!(refused(&[&bytes[..], &[0; 32]].concat()).contains("it was cut off or changed"));
    assert!(refused(b"").contains("this is no certificate"));
    let mut flipped = bytes.clone();
    *flipped.last_mut().unwrap() ^= 1;
    assert!(refused(&flipped).contains("the certificate was changed"));
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap();
    let later = text[..end].replacen("\"reenact_certificate\":2", "\"reenact_certificate\":9", 1);
    assert!(refused(&[later.as_bytes(), &bytes[end..]].concat()).contains("has the version 9"));
    let unknown = text[..end].replacen("{\"reenact_certificate\":2", "{\"reenact_certificate\":2,\"more\":1", 1);
    assert!(refused(&[unknown.as_bytes(), &bytes[end..]].concat()).contains("cannot be read"));
}

/// The steps that an explorer never tries, in words and as a test.
type ExplorerHole = (&'static str, fn(&ExploreStep) -> bool);

/// The checker finds each of them.
const HOLES: [ExplorerHole; 4] = [
    ("late ends of tools", |step| matches!(step, ExploreStep::LateCompletion(_))),
    ("deviations", |step| matches!(step, ExploreStep::Deviation(_))),
    ("the second of two deviations", |step| matches!(step, ExploreStep::Deviation(deviation) if deviation.index == 2)),
    (
        "messages before an arrival",
        |step| matches!(step, ExploreStep::Input(kind, side) if kind.as_str() == "interrupt" && side.as_str() == "before"),
    ),
];

#[test]
fn e_3c_a_hole_in_the_exploration_is_found() {
    let loaded = load(SIDE_BY_SIDE);
    let engine = AgentLoop::default();
    let whole = explored(&loaded, &engine, ExploreBudget::new(1, 0, 1), ExploreOptions::default());
    for (what, hole) in HOLES {
        let explored =
            explored(&loaded, &engine, ExploreBudget::new(1, 0, 1), ExploreOptions { hole: Some(hole), ..ExploreOptions::default() });
        assert!(explored.report.transitions < whole.report.transitions, "{what}: the hole is one");
        let refused = check(&certificate(&explored), &loaded, &engine, CertifyPart::All).expect_err(what);
        println!("{what}: {refused}");
    }
}

#[test]
fn e_3c_another_engine_does_not_get_the_certificate() {
    let (loaded, certificate) = certified("query/read-one-file.toml", ExploreBudget::new(0, 0, 1));
    let engine = Saboteur::new(AgentLoop::default(), Canary::named("drop-results-after-cancel").unwrap());
    assert!(check(&certificate, &loaded, &engine, CertifyPart::All).is_err());
}

/// The same loop with a state of another form.
#[derive(Clone, Debug, PartialEq, Default)]
struct OtherForm(AgentLoop);

impl Engine for OtherForm {
    fn step(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut Effects) {
        self.0.step(env, now, input, effects);
    }

    fn key(&self, now: Time, out: &mut KeySink) -> bool {
        out.bytes(b"another form");
        self.0.key(now, out)
    }
}

#[test]
fn e_3c_versions_are_compared_by_what_they_do() {
    let budget = ExploreBudget::new(1, 0, 1);
    let (loaded, older) = certified(SIDE_BY_SIDE, budget);
    let same = compare(&older, &graph(&loaded, &OtherForm::default(), budget));
    assert!(same.is_empty() && same.same == older.states.len(), "another form of the state changes nothing: {same:?}");
    assert_ne!(older.states[0].key, graph(&loaded, &OtherForm::default(), budget).keys[0], "its keys are others");
    let budget = ExploreBudget::new(0, 1, 0);
    let older = certified(SIDE_BY_SIDE, budget).1;
    let other = explored(&loaded, &HandsOverEarly::default(), budget, ExploreOptions::default());
    let difference = compare(&older, other.graph.as_ref().unwrap());
    assert!(!other.report.findings.is_empty() && !difference.changed.is_empty(), "what breaks a rule is compared, too: {difference:?}");
}

/// Of its policy one line is another one.
#[derive(Clone, Debug, PartialEq, Default)]
struct HandsOverEarly(AgentLoop);

impl Engine for HandsOverEarly {
    fn step(&mut self, env: &Environment, now: Time, input: &Input, effects: &mut Effects) {
        let mut env = env.clone();
        env.settings.retry.overloads_to_fallback = 2;
        self.0.step(&env, now, input, effects);
    }

    fn key(&self, now: Time, out: &mut KeySink) -> bool {
        self.0.key(now, out)
    }
}

/// It waits for a timer that it sets again, for ever.
#[derive(Clone, Debug, Default, PartialEq)]
struct EndlessTimer;

impl Engine for EndlessTimer {
    fn step(&mut self, _: &Environment, now: Time, input: &Input, effects: &mut Effects) {
        if matches!(input, Input::Prompt { .. } | Input::Timer(_)) {
            effects.push(Effect::SetTimer { timer: TimerId { id: 1, generation: 0 }, at: now + Micros::from_secs(1) });
        }
    }

    fn key(&self, _: Time, _: &mut KeySink) -> bool {
        true
    }
}

#[test]
fn o_18_a_run_without_an_end_is_found_and_no_certificate_hides_it() {
    let (loaded, budget) = (load("session/hello.toml"), ExploreBudget::new(1, 0, 0));
    let honest = explored(&loaded, &EndlessTimer, budget, ExploreOptions::default());
    let found: Vec<&str> = honest.report.findings.iter().map(|finding| finding.fingerprint.oracle).collect();
    assert_eq!(found, ["O-18"]);
    let refusal = check(&certificate(&honest), &loaded, &EndlessTimer, CertifyPart::All).unwrap_err();
    assert!(refusal.contains("comes back for ever (O-18)"), "{refusal}");
    let blind = explored(&loaded, &EndlessTimer, budget, ExploreOptions { is_blind_to_circles: true, ..ExploreOptions::default() });
    let refusal = check(&certificate(&blind), &loaded, &EndlessTimer, CertifyPart::All).unwrap_err();
    assert!(refusal.contains("comes back for ever (O-18)"), "{refusal}");
}
