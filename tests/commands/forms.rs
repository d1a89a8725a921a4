//! Transcripts in the forms of others: what a headless client prints, and a timeline for viewers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ::reenact::engine::agent_loop::AgentLoop;
use ::reenact::files::scenario::{find, load_all};
use ::reenact::sim::Run;
use ::reenact::transcript::event::Transcript;
use ::reenact::transcript::stream_json::to_stream_json;
use ::reenact::transcript::trace::to_trace;
use serde_json::Value;

use super::{HELLO, folder, reenact};

/// The transcripts of all shipped scenarios, by their names.
fn shipped() -> impl Iterator<Item = (String, Transcript)> {
    let (files, problems) = find(&[Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios")]);
    assert_eq!(problems.len(), 0);
    let loaded = files.into_iter().flat_map(|file| load_all(&file, &[]).unwrap());
    loaded.map(|scenario| (scenario.name, Run::new(scenario.setup, AgentLoop::default()).without_oracles().to_end().transcript))
}

#[test]
fn x_6_a_viewer_can_lay_out_each_shipped_run() {
    let mut count = 0;
    for (name, transcript) in shipped() {
        let document: Value = serde_json::from_str(&to_trace(&transcript)).unwrap();
        let end = transcript.events.last().unwrap().at.0;
        let (mut named, mut lanes) = (BTreeSet::new(), BTreeMap::<(u64, u64), Vec<(u64, u64)>>::new());
        for event in document["traceEvents"].as_array().unwrap() {
            let number = |member: &str| event[member].as_u64().unwrap_or_else(|| panic!("{name}: {member} of {event}"));
            let lane = (number("pid"), number("tid"));
            assert!(event["name"].is_string(), "{name}: {event}");
            match event["ph"].as_str().unwrap() {
                "M" => drop(named.insert(lane)),
                "i" => {
                    assert!(number("ts") <= end && ["t", "p", "g"].contains(&event["s"].as_str().unwrap()), "{name}: {event}");
                    assert!(named.contains(&lane), "{name}: {event}");
                }
                "X" => {
                    assert!(named.contains(&lane), "{name}: {event}");
                    lanes.entry(lane).or_default().push((number("ts"), number("ts") + number("dur")));
                }
                other => panic!("{name}: {other}"),
            }
        }
        // Spans of a lane lie one inside of the other, or one after the other: viewers cannot show anything else.
        for (lane, mut spans) in lanes {
            spans.sort_unstable_by_key(|(from, to)| (*from, u64::MAX - to));
            let mut outer: Vec<u64> = Vec::new();
            for (from, to) in spans {
                outer.retain(|end| *end > from);
                assert!(outer.last().is_none_or(|end| to <= *end), "{name}: lane {lane:?} has crossing spans at {from}");
                outer.push(to);
            }
        }
        count += 1;
    }
    assert!(count > 500, "{count}");
}

#[test]
fn x_5_each_line_is_a_message_of_a_known_type_and_each_result_answers_a_call() {
    for (name, transcript) in shipped() {
        let (mut called, mut names) = (BTreeSet::new(), BTreeSet::new());
        for line in to_stream_json(&transcript).lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            assert_eq!(line["session_id"], "reenact", "{name}: {line}");
            let kind = line["type"].as_str().unwrap();
            assert!(["assistant", "result", "stream_event", "system", "user"].contains(&kind), "{name}: {line}");
            if let Some(uuid) = line["uuid"].as_str().filter(|_| kind == "assistant") {
                assert!(names.insert((line["parent_tool_use_id"].clone().to_string(), uuid.to_owned())), "{name}: {uuid} comes twice");
            }
            for block in line["message"]["content"].as_array().into_iter().flatten() {
                match block["type"].as_str() {
                    Some("tool_use") => drop(called.insert(block["id"].to_string())),
                    Some("tool_result") if kind == "user" && line["isReplay"].is_null() => {
                        let is_earlier = !transcript.kinds().any(|_| called.contains(&block["tool_use_id"].to_string()));
                        assert!(!is_earlier || name.contains("resumed") || name.contains("orphan"), "{name}: {line}");
                    }
                    _ => (),
                }
            }
        }
    }
}

#[test]
fn x_5_and_x_6_are_forms_of_run() {
    let folder = folder(&[("a.toml", HELLO), ("b.toml", HELLO)]);
    let (lines, _, code) = reenact(folder.path(), &["run", "a.toml", "--format", "stream-json"]);
    assert_eq!(code, Some(0));
    let kinds: Vec<String> =
        lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kinds, ["system", "assistant", "result"]);
    let (trace, _, code) = reenact(folder.path(), &["run", "a.toml", "--format", "trace"]);
    assert_eq!(code, Some(0));
    assert!(serde_json::from_str::<Value>(&trace).unwrap()["traceEvents"].is_array());
    let (_, said, code) = reenact(folder.path(), &["run", "a.toml", "b.toml", "--format", "trace"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("--format trace takes one scenario"), "{said}");
}
