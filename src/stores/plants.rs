//! Made-up sessions in every format, healthy or with one known defect: each plant is found at its place, and nothing else (V-9).
//!
//! ```text
//!   drawn turns ──> entries ──(plant)──> entries ──> text of a format, and the place of each entry ──> judgement
//! ```

use std::collections::BTreeMap;
use std::format;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::conversation::HistoryPlace;
use super::judgement::{SessionAge, judge};
use super::rules::ViolationKind;
use super::*;

/// An entry of a session, whatever its format is.
#[derive(Clone, Debug)]
enum PlantEntry {
    Prompt(String),
    Answer {
        text: String,
        calls: Vec<String>,
    },
    Result {
        call: String,
        text: String,
    },
    Compaction,
    /// A line that was cut.
    Torn,
}

/// A turn as it is drawn: a prompt, how many calls each answer has, and a final text.
type DrawnTurn = (String, Vec<u8>, String);

/// A planted defect: its kind, the entry that it is found at, and the call of that entry.
#[derive(Debug)]
struct Plant {
    kind: ViolationKind,
    entry: usize,
    call: Option<String>,
}

fn healthy(turns: &[DrawnTurn]) -> Vec<PlantEntry> {
    let mut entries = Vec::new();
    let mut next = 0;
    for (prompt, rounds, text) in turns {
        entries.push(PlantEntry::Prompt(format!("Ask {prompt}")));
        for count in rounds {
            let calls: Vec<String> = (0..*count).map(|number| format!("toolu_{}", next + usize::from(number))).collect();
            next += calls.len();
            entries.push(PlantEntry::Answer { text: format!("Look {text}"), calls: calls.clone() });
            entries.extend(calls.into_iter().rev().map(|call| PlantEntry::Result { call, text: format!("out {prompt}") }));
        }
        entries.push(PlantEntry::Answer { text: format!("Done {text}"), calls: Vec::new() });
    }
    entries
}

/// Puts a defect into a session at its last turn, so that the turns before stay healthy, and one healthy turn behind it.
fn plant(kind: ViolationKind, entries: &mut Vec<PlantEntry>) -> Plant {
    let call = String::from("toolu_planted");
    let prompt = |text: &str| PlantEntry::Prompt(text.into());
    let asks = |calls: &[&String]| PlantEntry::Answer { text: "Look.".into(), calls: calls.iter().map(|call| (*call).clone()).collect() };
    let says = || PlantEntry::Answer { text: "Yes.".into(), calls: Vec::new() };
    let result = || PlantEntry::Result { call: call.clone(), text: "one".into() };
    let begin = entries.len();
    let (more, at) = match kind {
        ViolationKind::DanglingCall => (vec![prompt("Go."), asks(&[&call])], 1),
        ViolationKind::LateResult => (vec![prompt("Go."), asks(&[&call]), prompt("Stop."), says(), result()], 1),
        ViolationKind::TextBeforeResult => (vec![prompt("Go."), asks(&[&call]), prompt("Stop."), result(), says()], 1),
        ViolationKind::DoubledResult => (vec![prompt("Go."), asks(&[&call]), result(), result(), says()], 1),
        ViolationKind::DoubledCall => (vec![prompt("Go."), asks(&[&call, &call]), result(), says()], 1),
        ViolationKind::ResultWithoutCall => (vec![prompt("Go."), says(), result(), says()], 2),
        ViolationKind::CutPair => (vec![prompt("Go."), asks(&[&call]), PlantEntry::Compaction, result(), says()], 3),
        ViolationKind::BlankText => (vec![prompt(" \n"), says()], 0),
        ViolationKind::UnreadPart => (vec![prompt("Go."), PlantEntry::Torn, says()], 1),
        other => panic!("no session is made with {other:?}"),
    };
    entries.extend(more);
    entries.extend([prompt("Go on."), says()]);
    let call = (!matches!(kind, ViolationKind::BlankText | ViolationKind::UnreadPart)).then_some(call);
    Plant { kind, entry: begin + at, call }
}

/// The kinds that a format can hold.
fn kinds(format: StoreFormat) -> &'static [ViolationKind] {
    use ViolationKind::*;
    match format {
        StoreFormat::ClaudeCode => {
            &[DanglingCall, LateResult, TextBeforeResult, DoubledResult, DoubledCall, ResultWithoutCall, CutPair, BlankText, UnreadPart]
        }
        // It leaves blank texts out.
        StoreFormat::Pi => {
            &[DanglingCall, LateResult, TextBeforeResult, DoubledResult, DoubledCall, ResultWithoutCall, CutPair, UnreadPart]
        }
        StoreFormat::Cline => {
            &[DanglingCall, LateResult, TextBeforeResult, DoubledResult, DoubledCall, ResultWithoutCall, BlankText, UnreadPart]
        }
        StoreFormat::Gptme => &[DanglingCall, LateResult, TextBeforeResult, DoubledResult, ResultWithoutCall, BlankText, UnreadPart],
        StoreFormat::Codex => &[DanglingCall, DoubledResult, DoubledCall, ResultWithoutCall, CutPair, UnreadPart],
        // Their results stand in the answer itself.
        StoreFormat::Continue => &[DanglingCall, DoubledResult, BlankText, UnreadPart],
        StoreFormat::Opencode => &[DanglingCall, BlankText],
    }
}

/// The files of a session, and where each entry or each call of it stands.
#[derive(Default)]
struct Written {
    files: Vec<(String, String)>,
    lines: Vec<String>,
    entries: BTreeMap<usize, HistoryPlace>,
    calls: BTreeMap<String, HistoryPlace>,
}

impl Written {
    /// Adds a line of an entry. `start` is the line that the first one has.
    fn line(&mut self, entry: usize, start: usize, text: String) {
        let place = HistoryPlace::Line(self.lines.len() + start);
        self.entries.entry(entry).or_insert(place);
        self.lines.push(text);
    }

    fn call(&mut self, call: &str, start: usize) {
        self.calls.entry(call.into()).or_insert(HistoryPlace::Line(self.lines.len() + start));
    }

    /// Where a plant is found.
    fn place(&self, plant: &Plant) -> HistoryPlace {
        let is_of_call = !matches!(plant.kind, ViolationKind::ResultWithoutCall | ViolationKind::CutPair);
        let of_call = plant.call.as_ref().filter(|_| is_of_call).and_then(|call| self.calls.get(call));
        of_call.or_else(|| self.entries.get(&plant.entry)).cloned().expect("each plant has a place")
    }
}

const TORN: &str = "{\"type\":\"user\",\"mess";

fn claude(entries: &[PlantEntry]) -> Written {
    let mut out = Written::default();
    let mut parent = Value::Null;
    for (at, entry) in entries.iter().enumerate() {
        let mut add = |out: &mut Written, call: Option<&str>, mut line: Value| {
            let id = format!("u{}", out.lines.len());
            line["uuid"] = id.clone().into();
            line["sessionId"] = "s".into();
            if line["parentUuid"].is_null() && line["subtype"].is_null() {
                line["parentUuid"] = parent.clone();
            }
            parent = id.into();
            call.iter().for_each(|call| out.call(call, 1));
            out.line(at, 1, line.to_string());
        };
        let user = |content: Value| json!({ "type": "user", "message": { "role": "user", "content": content } });
        let part = |block: Value| json!({ "type": "assistant", "message": { "id": format!("msg_{at}"), "role": "assistant", "content": [block] } });
        match entry {
            PlantEntry::Prompt(text) => add(&mut out, None, user(json!(text))),
            PlantEntry::Answer { text, calls } => {
                add(&mut out, None, part(json!({ "type": "text", "text": text })));
                for call in calls {
                    add(
                        &mut out,
                        Some(call),
                        part(json!({ "type": "tool_use", "id": call, "name": "Bash", "input": { "command": text } })),
                    );
                }
            }
            PlantEntry::Result { call, text } => {
                add(&mut out, None, user(json!([{ "type": "tool_result", "tool_use_id": call, "content": text }])));
            }
            PlantEntry::Compaction => {
                let before = format!("u{}", out.lines.len() - 1);
                add(
                    &mut out,
                    None,
                    json!({ "type": "system", "subtype": "compact_boundary", "parentUuid": null, "logicalParentUuid": before }),
                );
                add(&mut out, None, user(json!("In short.")));
            }
            PlantEntry::Torn => out.line(at, 1, TORN.into()),
        }
    }
    out
}

fn pi(entries: &[PlantEntry]) -> Written {
    let mut out =
        Written { lines: vec![json!({ "type": "session", "version": 3, "id": "s", "cwd": "/w" }).to_string()], ..Written::default() };
    let mut parent = Value::Null;
    for (at, entry) in entries.iter().enumerate() {
        let id = format!("e{at}");
        let mut value = match entry {
            PlantEntry::Prompt(text) => json!({ "message": { "role": "user", "content": [{ "type": "text", "text": text }] } }),
            PlantEntry::Answer { text, calls } => {
                let calls_of =
                    calls.iter().map(|call| json!({ "type": "toolCall", "id": call, "name": "bash", "arguments": { "command": text } }));
                let content: Vec<Value> = [json!({ "type": "text", "text": text })].into_iter().chain(calls_of).collect();
                calls.iter().for_each(|call| out.call(call, 1));
                json!({ "message": { "role": "assistant", "content": content, "stopReason": "stop" } })
            }
            PlantEntry::Result { call, text } => {
                json!({ "message": { "role": "toolResult", "toolCallId": call, "content": [{ "type": "text", "text": text }] } })
            }
            PlantEntry::Compaction => json!({ "type": "compaction", "summary": "In short.", "firstKeptEntryId": format!("e{}", at + 1) }),
            PlantEntry::Torn => {
                out.line(at, 1, TORN.into());
                continue;
            }
        };
        if value["type"].is_null() {
            value["type"] = "message".into();
        }
        value["id"] = id.clone().into();
        value["parentId"] = core::mem::replace(&mut parent, id.into());
        out.line(at, 1, value.to_string());
    }
    out
}

fn codex(entries: &[PlantEntry]) -> Written {
    let mut out = Written { lines: vec![json!({ "type": "session_meta", "payload": { "id": "s" } }).to_string()], ..Written::default() };
    for (at, entry) in entries.iter().enumerate() {
        let item = |payload: Value| json!({ "type": "response_item", "payload": payload }).to_string();
        let said =
            |role: &str, text: &str| item(json!({ "type": "message", "role": role, "content": [{ "type": "input_text", "text": text }] }));
        match entry {
            PlantEntry::Prompt(text) => out.line(at, 1, said("user", text)),
            PlantEntry::Answer { text, calls } => {
                out.line(at, 1, said("assistant", text));
                for call in calls {
                    out.call(call, 1);
                    out.line(at, 1, item(json!({ "type": "function_call", "name": "shell", "arguments": json!({ "a": text }).to_string(), "call_id": call })));
                }
            }
            PlantEntry::Result { call, text } => {
                out.line(at, 1, item(json!({ "type": "function_call_output", "call_id": call, "output": text })))
            }
            PlantEntry::Compaction => out.line(at, 1, json!({ "type": "compacted", "payload": { "message": "In short." } }).to_string()),
            PlantEntry::Torn => out.line(at, 1, TORN.into()),
        }
    }
    out
}

fn gptme(entries: &[PlantEntry]) -> Written {
    let mut out = Written { lines: vec![json!({ "role": "system", "content": "You are" }).to_string()], ..Written::default() };
    for (at, entry) in entries.iter().enumerate() {
        let line = match entry {
            PlantEntry::Prompt(text) => json!({ "role": "user", "content": text }),
            PlantEntry::Answer { text, calls } => {
                calls.iter().for_each(|call| out.call(call, 1));
                let calls: String = calls.iter().map(|call| format!("\n@shell({call}): {}", json!({ "command": text }))).collect();
                json!({ "role": "assistant", "content": format!("{text}\n{calls}") })
            }
            PlantEntry::Result { call, text } => json!({ "role": "system", "content": text, "call_id": call }),
            PlantEntry::Compaction => continue,
            PlantEntry::Torn => {
                out.line(at, 1, TORN.into());
                continue;
            }
        };
        out.line(at, 1, line.to_string());
    }
    out
}

fn cline(entries: &[PlantEntry]) -> Written {
    let mut out = Written::default();
    for (at, entry) in entries.iter().enumerate() {
        let (role, content) = match entry {
            PlantEntry::Prompt(text) => ("user", vec![json!({ "type": "text", "text": text })]),
            PlantEntry::Answer { text, calls } => {
                calls.iter().for_each(|call| out.call(call, 2));
                let calls = calls.iter().map(|call| json!({ "type": "tool_use", "id": call, "name": "run", "input": { "a": text } }));
                ("assistant", [json!({ "type": "text", "text": text })].into_iter().chain(calls).collect())
            }
            PlantEntry::Result { call, text } => ("user", vec![json!({ "type": "tool_result", "tool_use_id": call, "content": text })]),
            PlantEntry::Compaction => continue,
            PlantEntry::Torn => ("none", Vec::new()),
        };
        out.line(at, 2, json!({ "role": role, "content": content }).to_string());
    }
    out.lines = vec![format!("{{\"sessionId\":\"s\",\"messages\":[\n{}\n]}}", out.lines.join(",\n"))];
    out
}

fn continue_cli(entries: &[PlantEntry]) -> Written {
    let mut out = Written::default();
    for (at, entry) in entries.iter().enumerate() {
        let item = match entry {
            PlantEntry::Prompt(text) => json!({ "message": { "role": "user", "content": text } }),
            PlantEntry::Answer { text, calls } => {
                calls.iter().for_each(|call| out.call(call, 2));
                let arguments = json!({ "a": text }).to_string();
                let of_call =
                    |call: &String| json!({ "id": call, "type": "function", "function": { "name": "Read", "arguments": arguments } });
                let results = entries[at + 1..].iter().map_while(|entry| match entry {
                    PlantEntry::Result { call, text } => {
                        Some(json!({ "toolCallId": call, "status": "done", "output": [{ "content": text }] }))
                    }
                    _ => None,
                });
                let states: Vec<Value> = results.collect();
                json!({ "message": { "role": "assistant", "content": text, "toolCalls": calls.iter().map(of_call).collect::<Vec<_>>() }, "toolCallStates": states })
            }
            PlantEntry::Result { .. } | PlantEntry::Compaction => continue,
            PlantEntry::Torn => json!({ "message": { "role": "none" } }),
        };
        out.line(at, 2, item.to_string());
    }
    out.lines = vec![format!("{{\"sessionId\":\"s\",\"history\":[\n{}\n]}}", out.lines.join(",\n"))];
    out
}

fn opencode(entries: &[PlantEntry]) -> Written {
    let mut out = Written::default();
    for (at, entry) in entries.iter().enumerate() {
        let message = format!("msg_{at:04}");
        let role = match entry {
            PlantEntry::Prompt(_) => "user",
            PlantEntry::Answer { .. } => "assistant",
            _ => continue,
        };
        let head = json!({ "id": message, "sessionID": "s", "role": role, "time": { "created": at } });
        out.files.push((format!("storage/message/s/{message}.json"), head.to_string()));
        let mut part = |number: usize, call: Option<&String>, mut value: Value| {
            let id = format!("prt_{at:04}_{number:02}");
            let name = format!("storage/part/{message}/{id}.json");
            for (key, text) in [("id", &id), ("sessionID", &String::from("s")), ("messageID", &message)] {
                value[key] = text.clone().into();
            }
            let place = HistoryPlace::File((&*name).into());
            out.entries.entry(at).or_insert(place.clone());
            call.iter().for_each(|call| _ = out.calls.insert((*call).clone(), place.clone()));
            out.files.push((name, value.to_string()));
        };
        match entry {
            PlantEntry::Prompt(text) => part(0, None, json!({ "type": "text", "text": text })),
            PlantEntry::Answer { text, calls } => {
                part(0, None, json!({ "type": "text", "text": text }));
                for (number, call) in (1..).zip(calls) {
                    let output = entries.iter().find_map(|entry| match entry {
                        PlantEntry::Result { call: of, text } if of == call => Some(text),
                        _ => None,
                    });
                    let state = match output {
                        Some(output) => json!({ "status": "completed", "input": { "a": text }, "output": output }),
                        None => json!({ "status": "running", "input": {} }),
                    };
                    part(number, Some(call), json!({ "type": "tool", "callID": call, "tool": "bash", "state": state }));
                }
            }
            _ => (),
        }
    }
    out
}

fn written(format: StoreFormat, entries: &[PlantEntry]) -> Written {
    let mut written = match format {
        StoreFormat::ClaudeCode => claude(entries),
        StoreFormat::Pi => pi(entries),
        StoreFormat::Continue => continue_cli(entries),
        StoreFormat::Cline => cline(entries),
        StoreFormat::Codex => codex(entries),
        StoreFormat::Gptme => gptme(entries),
        StoreFormat::Opencode => opencode(entries),
    };
    if written.files.is_empty() {
        written.files.push((String::from("session"), written.lines.join("\n") + "\n"));
    }
    written
}

/// The kind, the place and the call of each finding.
fn found(format: StoreFormat, written: &Written, age: SessionAge) -> Vec<(ViolationKind, HistoryPlace, Option<String>)> {
    let of = |files: &[(String, Vec<u8>)]| {
        let files: Vec<StoreFile<'_>> = files.iter().map(|(name, bytes)| StoreFile { name, bytes }).collect();
        let conversations = format.read(&files).unwrap_or_else(|error| panic!("{error}"));
        let judgements = conversations.iter().map(|conversation| judge(conversation, format, age));
        let findings = judgements.flat_map(|judgement| judgement.findings).map(|finding| finding.violation);
        findings.map(|one| (one.kind, one.places[0].clone(), one.call.map(|call| call.to_string()))).collect::<Vec<_>>()
    };
    let whole: Vec<(String, Vec<u8>)> = written.files.iter().map(|(name, text)| (name.clone(), text.clone().into_bytes())).collect();
    let found = of(&whole);
    if !format.has_calls_in_texts() {
        let short: Vec<(String, Vec<u8>)> = whole.iter().map(|(name, bytes)| (name.clone(), shortened(bytes).into_owned())).collect();
        assert_eq!(of(&short), found, "{}: shortened texts are judged alike", format.as_str());
    }
    found
}

/// Texts with what JSON escapes, some of them longer than what a doctor keeps of them.
fn drawn_turns() -> impl Strategy<Value = Vec<DrawnTurn>> {
    let text = || ("[a-z\"\\\\\n\u{e9}\u{1f680} ]{1,20}", 1..60_usize).prop_map(|(text, times)| text.repeat(times) + "x");
    prop::collection::vec((text(), prop::collection::vec(1..4_u8, 0..3), text()), 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn v_9_healthy_sessions_are_silent(turns in drawn_turns()) {
        for format in StoreFormat::ALL {
            let entries = healthy(&turns);
            prop_assert_eq!(found(format, &written(format, &entries), SessionAge::Settled), [], "{}", format.as_str());
        }
    }

    #[test]
    fn v_9_what_is_planted_is_found_and_nothing_else(turns in drawn_turns()) {
        for format in StoreFormat::ALL {
            for kind in kinds(format) {
                let mut entries = healthy(&turns);
                let plant = plant(*kind, &mut entries);
                let written = written(format, &entries);
                let wanted = (*kind, written.place(&plant), plant.call.clone());
                prop_assert_eq!(found(format, &written, SessionAge::Settled), [wanted], "{}", format.as_str());
            }
        }
    }

    #[test]
    fn v_9_an_open_end_is_a_finding_once_its_session_has_settled(turns in drawn_turns()) {
        for format in StoreFormat::ALL {
            let mut entries = healthy(&turns);
            entries.push(PlantEntry::Prompt("Go.".into()));
            entries.push(PlantEntry::Answer { text: "Look.".into(), calls: vec!["toolu_open".into()] });
            let written = written(format, &entries);
            let wanted = (ViolationKind::DanglingCall, written.calls["toolu_open"].clone(), Some("toolu_open".into()));
            prop_assert_eq!(found(format, &written, SessionAge::Settled), [wanted], "{}", format.as_str());
            prop_assert_eq!(found(format, &written, SessionAge::Recent), [], "{}", format.as_str());
        }
    }
}
