//! Readers on small stores written here, on samples of real ones where they are there, and on bytes that are made to hurt.

extern crate std;

use proptest::prelude::*;

use super::conversation::{HistoryPlace, StoredBranch, StoredMessage};
use super::rules::{HistoryEnd, results};
use super::*;

fn read(format: StoreFormat, text: &str) -> Vec<StoredConversation> {
    format.read(&[StoreFile { name: "session", bytes: text.as_bytes() }]).unwrap_or_else(|error| panic!("{error}"))
}

fn error(format: StoreFormat, text: &str) -> String {
    format.read(&[StoreFile { name: "session", bytes: text.as_bytes() }]).unwrap_err().to_string()
}

/// `user 4: text`, one a block.
fn shown(messages: &[StoredMessage]) -> Vec<String> {
    let of_message = |message: &StoredMessage| {
        let role = message.role.as_str();
        let blocks = message.blocks.iter().map(move |stored| match stored.block.kind() {
            reenact_wire::block::BlockKind::Text(text) => format!("{role} {}: {text}", stored.place),
            reenact_wire::block::BlockKind::ToolUse(call) => {
                format!("{role} {}: calls {} {} {}", stored.place, call.id, call.name, call.input.as_str())
            }
            reenact_wire::block::BlockKind::ToolResult { tool_use_id, is_error } => {
                let failed = if *is_error { " failed" } else { "" };
                format!("{role} {}: result of {tool_use_id}{failed}: {}", stored.place, stored.block.result_text().unwrap_or_default())
            }
            other => format!("{role} {}: {other:?}", stored.place),
        });
        blocks.collect::<Vec<_>>()
    };
    messages.iter().flat_map(of_message).collect()
}

fn remarks(conversation: &StoredConversation) -> String {
    conversation.remarks.iter().collect::<Vec<_>>().join("; ")
}

fn broken(conversation: &StoredConversation, format: StoreFormat) -> Vec<String> {
    results(conversation.context(), format.dialect(), HistoryEnd::Open).iter().map(ToString::to_string).collect()
}

/// Two calls in one answer, each with its result on a branch of its own; a side chain; a cut last line.
const CLAUDE: &str = include_str!("../../tests/stores/claude-code.store.jsonl");

#[test]
fn v_9_a_session_of_claude_code_is_a_tree_of_parts() {
    let found = read(StoreFormat::ClaudeCode, CLAUDE);
    assert_eq!(found.len(), 2);
    assert_eq!((found[0].session.as_deref(), &found[0].branch), (Some("s1"), &StoredBranch::Main));
    let wanted = [
        "user line 2: Go.",
        "assistant line 3: Both.",
        "assistant line 4: calls t1 Read {}",
        "assistant line 5: calls t2 Read {}",
        "user line 6: result of t2: two",
        "user line 7: result of t1 failed: one",
        "assistant line 10: Done.",
    ];
    assert_eq!(shown(&found[0].messages), wanted);
    assert_eq!(remarks(&found[0]), "line 11 is cut short; line 9 is an error that was shown, and no part of the conversation");
    assert_eq!(shown(&found[1].messages), ["user line 8: Look."]);
    assert!(matches!(found[1].branch, StoredBranch::SideChain(_)));
    assert_eq!(broken(&found[0], StoreFormat::ClaudeCode), [""; 0]);
}

#[test]
fn v_9_a_compacted_session_has_its_past_and_its_context() {
    let text = r#"{"type":"user","uuid":"u1","parentUuid":null,"message":{"role":"user","content":"Old."}}
{"type":"system","subtype":"compact_boundary","uuid":"b","parentUuid":null,"logicalParentUuid":"u1"}
{"type":"user","uuid":"u2","parentUuid":"b","isCompactSummary":true,"message":{"role":"user","content":"Summary."}}
{"type":"user","uuid":"u3","parentUuid":"u1","message":{"role":"user","content":"Elsewhere."}}
{"type":"user","uuid":"u4","parentUuid":"u2","message":{"role":"user","content":"New."}}"#;
    let found = read(StoreFormat::ClaudeCode, text);
    assert_eq!(shown(&found[0].messages), ["user line 1: Old.", "user line 3: Summary.", "user line 5: New."]);
    assert_eq!(shown(found[0].context()), ["user line 3: Summary.", "user line 5: New."]);
    assert_eq!(remarks(&found[0]), "1 line of messages on other branches");
}

const PI: &str = include_str!("../../tests/stores/pi.store.jsonl");

#[test]
fn v_9_a_session_of_pi_is_read_without_what_failed() {
    let result = r#"{"type":"message","id":"6","parentId":"5","message":{"role":"toolResult","toolCallId":"t1","content":[{"type":"text","text":"a"}],"isError":false}}"#;
    let found = read(StoreFormat::Pi, &format!("{PI}{result}\n"));
    let wanted = ["user line 3: Go.", r#"assistant line 6: calls t1 bash {"command":"ls"}"#, "user line 7: result of t1: a"];
    assert_eq!(shown(&found[0].messages), wanted);
    assert_eq!(broken(&found[0], StoreFormat::Pi), [""; 0]);
    let command = r#"{"type":"message","id":"5b","parentId":"5","message":{"role":"bashExecution","command":"ls","output":"a","excludeFromContext":true}}"#;
    let behind = result.replace(r#""parentId":"5""#, r#""parentId":"5b""#);
    let beside = read(StoreFormat::Pi, &format!("{PI}{command}\n{behind}\n"));
    assert_eq!(broken(&beside[0], StoreFormat::Pi), [""; 0], "the model is not shown this command");
    let shown_to_it = read(StoreFormat::Pi, &format!("{PI}{}\n{behind}\n", command.replace("true", "false")));
    assert_eq!(broken(&shown_to_it[0], StoreFormat::Pi).len(), 1, "a text before the result");
    let prompt = r#"{"type":"message","id":"6","parentId":"5","message":{"role":"user","content":"Go on."}}"#;
    let dangling = read(StoreFormat::Pi, &format!("{PI}{prompt}\n"));
    assert_eq!(
        broken(&dangling[0], StoreFormat::Pi),
        ["O-1: tool call t1 of line 6 has no result; the next user message stands at line 7"]
    );
    let compaction = r#"{"type":"compaction","id":"6","parentId":"5","summary":"Short.","firstKeptEntryId":"5"}"#;
    let compacted = read(StoreFormat::Pi, &format!("{PI}{compaction}\n"));
    assert_eq!(shown(compacted[0].context())[0], "user line 7: Short.");
    assert_eq!((compacted[0].messages.len(), compacted[0].context_from), (3, 1));
    assert!(error(StoreFormat::Pi, r#"{"type":"session","version":1,"id":"s"}"#).contains("open it once with pi"));
}

#[test]
fn v_9_a_line_that_was_cut_is_damage_where_others_stand_behind_it() {
    let lines: Vec<&str> = CLAUDE.lines().collect();
    let torn = format!("{}\n{}{}\n", lines[1], &lines[2][..30], lines[3]);
    let last = format!("{}\n{}", lines[1], &lines[2][..30]);
    assert!(read(StoreFormat::ClaudeCode, &last)[0].remarks.damages().is_empty());
    let behind = read(StoreFormat::ClaudeCode, &format!("{torn}{}\n", lines[1].replace("u1", "u2")));
    assert!(matches!(behind[0].remarks.damages(), [damage] if damage.to_string().starts_with("line 2 cannot be read: ")), "{}", behind[0]);
}

#[test]
fn v_9_sessions_of_continue_and_cline_have_lines() {
    let text = include_str!("../../tests/stores/continue.store.json");
    let found = read(StoreFormat::Continue, text);
    let wanted = [
        "user line 3: Go.",
        r#"assistant line 4: calls t1 Read {"a":1}"#,
        "assistant line 4: calls t2 Read {",
        "user line 4: result of t1: one",
        "user line 7: And?",
    ];
    assert_eq!(shown(&found[0].messages), wanted);
    assert_eq!(
        broken(&found[0], StoreFormat::Continue),
        ["O-1: tool call t2 of line 4 has no result; the next user message stands at line 7"]
    );
    let text = include_str!("../../tests/stores/cline.store.json");
    let found = read(StoreFormat::Cline, text);
    let wanted = ["user line 2: Go.", "assistant line 3: calls t1 Read {}", "user line 4: result of t1: one"];
    assert_eq!(shown(&found[0].messages), wanted);
    assert!(error(StoreFormat::Cline, "{}").contains("no array `messages`"));
    assert!(error(StoreFormat::Continue, "{\"history\":[").contains("line 1 column 12"));
}

#[test]
fn v_9_a_session_of_gptme_has_its_calls_in_its_texts() {
    let text = include_str!("../../tests/stores/gptme.store.jsonl");
    let found = read(StoreFormat::Gptme, text);
    let wanted = [
        "user line 2: Go.",
        "assistant line 3: I look.\n```\n@shell(no): {}\n```",
        r#"assistant line 3: calls t1 shell {"command": "a\nb"}"#,
        "assistant line 3: calls t2 read {}",
        "user line 4: Interrupted by user",
        "user line 5: result of t1: one",
        "user line 7: result of t2: two",
    ];
    assert_eq!(shown(&found[0].messages), wanted);
    let broken = broken(&found[0], StoreFormat::Gptme);
    assert!(broken.len() == 2 && broken[0].contains("stands at line 5, behind what is said at line 4"), "{broken:?}");
}

#[test]
fn v_9_a_rollout_of_codex_has_pairs_by_call_id() {
    let text = include_str!("../../tests/stores/codex.store.jsonl");
    let found = read(StoreFormat::Codex, text);
    let wanted =
        ["user line 2: Go.", "assistant line 3: calls c1 shell {}", "user line 4: result of c1: one", "user line 5: result of c1: two"];
    assert_eq!(shown(&found[0].messages), wanted);
    assert_eq!(broken(&found[0], StoreFormat::Codex), ["O-2: tool call c1 of line 3 has 2 results: line 4 and line 5"]);
}

#[test]
fn v_9_a_session_of_opencode_is_put_together_from_its_files() {
    let files = [
        ("m2.json", r#"{"id":"msg_2","sessionID":"s1","role":"assistant"}"#),
        ("m1.json", r#"{"id":"msg_1","sessionID":"s1","role":"user"}"#),
        ("p1.json", r#"{"id":"prt_1","sessionID":"s1","messageID":"msg_1","type":"text","text":"Go."}"#),
        (
            "p3.json",
            r#"{"id":"prt_3","sessionID":"s1","messageID":"msg_2","type":"tool","callID":"t2","tool":"bash","state":{"status":"running","input":{}}}"#,
        ),
        (
            "p2.json",
            r#"{"id":"prt_2","sessionID":"s1","messageID":"msg_2","type":"tool","callID":"t1","tool":"read","state":{"status":"completed","input":{},"output":"one"}}"#,
        ),
        ("cut.json", "{"),
    ];
    let files = files.map(|(name, text)| StoreFile { name, bytes: text.as_bytes() });
    let found = StoreFormat::Opencode.read(&files).unwrap();
    let wanted = [
        "user p1.json: Go.",
        "assistant p2.json: calls t1 read {}",
        "assistant p3.json: calls t2 bash {}",
        "user p2.json: result of t1: one",
    ];
    assert_eq!(shown(&found[0].messages), wanted);
    assert!(remarks(&found[0]).contains("cut.json cannot be read: it is no JSON object"));
}

#[test]
fn v_9_sessions_of_opencode_are_rows_of_a_database_and_its_log() {
    let files = [
        StoreFile { name: "opencode.db", bytes: include_bytes!("../../tests/stores/opencode.store.db") },
        StoreFile { name: "opencode.db-shm", bytes: &[0; 64] },
        StoreFile { name: "opencode.db-wal", bytes: include_bytes!("../../tests/stores/opencode.store.db-wal") },
    ];
    let found = StoreFormat::Opencode.read(&files).unwrap();
    assert_eq!(found.iter().map(|one| one.session.as_deref()).collect::<Vec<_>>(), [Some("ses_1"), Some("ses_2"), Some("ses_3")]);
    // A summary, the messages that were kept, and what came later.
    let wanted = [
        "user row 37 of part: What did we do so far?",
        "assistant row 38 of part: All of it.",
        "user row 34 of part: Prompt 11.",
        "assistant row 36 of part: Answer 11.",
        "user row 39 of part: Go on now.",
    ];
    assert_eq!(shown(found[0].context()), wanted);
    assert_eq!((found[0].messages.len(), remarks(&found[0])), (27, String::new()));
    let long = "a long line\n".repeat(100);
    let wanted = [
        "user row 40 of part: Look.",
        "assistant row 43 of part: I look.",
        r#"assistant row 44 of part: calls t1 bash {"command": "ls"}"#,
        "assistant row 45 of part: calls t2 bash {}",
        &format!("user row 44 of part: result of t1: {long}"),
        "assistant row 48 of part: calls t3 bash {}",
        "user row 48 of part: result of t3: half",
    ];
    assert_eq!(shown(&found[1].messages), wanted);
    assert_eq!(remarks(&found[1]), "row 30 of message is an answer that failed or was aborted, and is not sent");
    assert_eq!(
        broken(&found[1], StoreFormat::Opencode),
        ["O-1: tool call t2 of row 45 of part has no result, and row 44 of part has the result of another call"]
    );
    assert_eq!(found[2].branch, StoredBranch::SideChain(HistoryPlace::Row("message", 32)));
    assert_eq!(found[2].to_string().lines().next(), Some("opencode.db, session ses_3, side chain of row 32 of message"));
}

#[test]
fn v_9_what_is_no_session_is_refused_with_a_next_step() {
    for format in StoreFormat::ALL {
        let said = format.read(&[StoreFile { name: "a.txt", bytes: b"not a session\nof anything\n" }]).unwrap_err().to_string();
        assert!(said.starts_with("a.txt: ") && (said.contains("session") || said.contains("database")), "{}: {said}", format.as_str());
        if format != StoreFormat::Opencode {
            assert_eq!(format.read(&[StoreFile { name: "empty", bytes: b"\n" }]), Ok(vec![]), "{}", format.as_str());
        }
    }
    assert!(error(StoreFormat::ClaudeCode, "{\"role\":\"user\"}").contains("name another format"));
}

#[test]
fn k_12_parents_in_a_circle_and_ids_that_stand_twice_end() {
    let text = r#"{"type":"user","uuid":"a","parentUuid":"b","message":{"role":"user","content":"1"}}
{"type":"user","uuid":"b","parentUuid":"a","message":{"role":"user","content":"2"}}
{"type":"user","uuid":"b","parentUuid":"none","message":{"role":"user","content":"3"}}
{"type":"user","uuid":"c","parentUuid":"b","message":{"role":"user","content":"4"}}"#;
    let found = read(StoreFormat::ClaudeCode, text);
    assert_eq!(shown(&found[0].messages), ["user line 1: 1", "user line 2: 2", "user line 4: 4"]);
    let remarks = remarks(&found[0]);
    for part in
        ["line 3 has the id b of line 2 again", "parent that is not in the file: none", "round in a circle", "1 line of messages on other"]
    {
        assert!(remarks.contains(part), "{part}: {remarks}");
    }
}

#[test]
fn v_9_what_is_lost_before_a_line_is_a_damage() {
    let text = r#"{"type":"user","uuid":"a","parentUuid":null,"message":{"role":"user","content":"1"}}
{"type":"user","uuid":"d","parentUuid":"lost","message":{"role":"user","content":"2"}}"#;
    let found = read(StoreFormat::ClaudeCode, text);
    let damages = found[0].remarks.damages();
    assert_eq!(damages.len(), 1, "{damages:?}");
    let compacted = text.replace(
        r#""type":"user","uuid":"d","parentUuid""#,
        r#""type":"system","subtype":"compact_boundary","uuid":"d","logicalParentUuid""#,
    );
    assert_eq!(read(StoreFormat::ClaudeCode, &compacted)[0].remarks.damages().len(), 0, "what a compaction was made of may be elsewhere");
}

#[test]
fn v_9_a_session_that_goes_on_in_a_second_file_has_its_beginning() {
    let first = r#"{"type":"user","uuid":"a","parentUuid":null,"message":{"role":"user","content":"Go."}}
{"type":"assistant","uuid":"b","parentUuid":"a","message":{"id":"m","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]}}
{"type":"user","uuid":"c","parentUuid":"a","message":{"content":"Elsewhere."}}
{"type":"user","uuid":"s","isSidechain":true,"message":{"content":"Beside."}}"#;
    let second = r#"{"type":"summary","summary":"x","leafUuid":"b"}
{"type":"user","uuid":"d","parentUuid":"b","message":{"role":"user","content":"And?"}}"#;
    let format = StoreFormat::ClaudeCode;
    let file = StoreFile { name: "2.jsonl", bytes: second.as_bytes() };
    let alone = format.read(&[file]).unwrap();
    let damages = alone[0].remarks.damages();
    assert_eq!(damages.iter().map(|damage| damage.missing_parent.as_deref()).collect::<Vec<_>>(), [Some("b")]);
    let ids = |text: &str| format.line_links(text.as_bytes()).map(|(id, _)| id).collect::<Vec<_>>();
    assert_eq!((ids(first), ids(second)), (["a", "b", "c", "s"].map(String::from).to_vec(), [String::from("d")].to_vec()));
    assert_eq!(format.line_links(second.as_bytes()).map(|(_, parent)| parent).collect::<Vec<_>>(), [Some(String::from("b"))]);
    let found = format.read_with_beginnings(&file, &[StoreFile { name: "w/1.jsonl", bytes: first.as_bytes() }]).unwrap();
    assert_eq!(found.len(), 1, "the other file's conversations are its own");
    let wanted = ["user line 1 of 1.jsonl: Go.", "assistant line 2 of 1.jsonl: calls t1 Bash {}", "user line 2: And?"];
    assert_eq!(shown(&found[0].messages), wanted);
    assert!(remarks(&found[0]).starts_with("line 2 goes on from line 2 of 1.jsonl, which was read, too"), "{}", remarks(&found[0]));
    assert_eq!(found[0].remarks.iter().count(), 1);
    let dangling = "O-1: tool call t1 of line 2 of 1.jsonl has no result; the next user message stands at line 2";
    assert_eq!(broken(&found[0], format), [dangling]);
}

#[test]
fn v_9_codex_takes_turns_back_and_keeps_what_a_compaction_says() {
    let item = |payload: &str| format!(r#"{{"type":"response_item","payload":{payload}}}"#);
    let prompt = |text: &str| item(&format!(r#"{{"type":"message","role":"user","content":[{{"type":"input_text","text":"{text}"}}]}}"#));
    let call = item(r#"{"type":"function_call","name":"shell","arguments":"{}","call_id":"c1"}"#);
    let back = r#"{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}"#;
    let text = [prompt("a"), call.clone(), back.into(), prompt("b")].join("\n");
    assert_eq!(shown(&read(StoreFormat::Codex, &text)[0].messages), ["user line 4: b"]);
    let kept = format!(
        r#"{{"type":"compacted","payload":{{"message":"S","replacement_history":[{}]}}}}"#,
        r#"{"type":"function_call","name":"s","arguments":"{}","call_id":"c2"}"#
    );
    let found = read(StoreFormat::Codex, &[prompt("a"), call, kept].join("\n"));
    let context = found[0].context();
    assert_eq!((context.len(), context[0].blocks[0].block.as_tool_use().map(|call| &*call.id)), (1, Some("c2")));
}

#[test]
fn k_12_the_work_is_linear() {
    // Each of these would take minutes where the work is squared.
    let count = 40_000;
    let many = |line: &dyn Fn(usize) -> String| (0..count).map(|number| line(number) + "\n").collect::<String>();
    let chains = many(&|number| format!(r#"{{"type":"user","uuid":"{number}","isSidechain":true,"message":{{"content":"x"}}}}"#));
    assert_eq!(read(StoreFormat::ClaudeCode, &chains).len(), count);
    let one = many(&|number| {
        let before = number.saturating_sub(1);
        format!(r#"{{"type":"assistant","uuid":"{number}","parentUuid":"{before}","message":{{"id":"m","content":"x"}}}}"#)
    });
    assert_eq!(read(StoreFormat::ClaudeCode, &one)[0].messages[0].blocks.len(), count);
    let calls = many(&|number| format!(r#"{{"type":"function_call_output","call_id":"{number}","output":"x"}}"#));
    assert_eq!(broken(&read(StoreFormat::Codex, &calls)[0], StoreFormat::Codex).len(), count);
    let texts = format!(r#"{{"role":"assistant","content":"{}"}}"#, r#"@a(b): {\"x\": [\n"#.repeat(count));
    assert_eq!(read(StoreFormat::Gptme, &texts)[0].messages.len(), 1);
    let deep = format!(r#"{{"role":"assistant","content":"@a(b): {}"}}"#, r#"{\"x\":"#.repeat(count));
    assert_eq!(read(StoreFormat::Gptme, &deep)[0].messages.len(), 1);
    let nested = format!(r#"{{"messages":[{{"role":"user","content":{}}}]}}"#, "[".repeat(count) + &"]".repeat(count));
    assert_eq!(read(StoreFormat::Cline, &nested)[0].messages.len(), 1);
}

/// Lines of the formats, mixed, doubled and cut.
fn hostile() -> impl Strategy<Value = String> {
    let samples =
        [CLAUDE, PI, "{\"messages\":[{\"role\":\"user\"}]}", "{\"history\":[{}]}", "{\"role\":\"assistant\",\"content\":\"@a(b): {}\"}"];
    let lines: Vec<String> = samples.iter().flat_map(|sample| sample.lines()).map(String::from).collect();
    let line = (prop::sample::select(lines), any::<prop::sample::Index>(), 0..8_u8).prop_map(|(line, at, how)| match how {
        0 => line[..line.ceil_char_boundary(at.index(line.len()))].to_owned(),
        1 => line.replace('"', ""),
        2 => line.replace("parent", "uu"),
        _ => line,
    });
    prop::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn k_12_any_lines_are_read_or_refused(text in hostile()) {
        for format in StoreFormat::ALL {
            let file = StoreFile { name: "x", bytes: text.as_bytes() };
            if let Ok(found) = format.read(&[file]) {
                for conversation in found {
                    prop_assert!(conversation.context_from <= conversation.messages.len());
                    let _ = (results(&conversation.messages, format.dialect(), HistoryEnd::Closed), rules::validity(&conversation.messages));
                    let _ = conversation.to_string();
                }
            }
        }
    }
}

/// The samples beside the repository, and what is known of each: how many messages, and the rules that its context breaks.
const SAMPLES: [(&str, StoreFormat, usize, &[&str]); 9] = [
    ("claude-code/short.jsonl", StoreFormat::ClaudeCode, 5, &[]),
    ("claude-code/tool_heavy.jsonl", StoreFormat::ClaudeCode, 17, &[]),
    ("pi/interrupted-1.jsonl", StoreFormat::Pi, 4, &["O-1", "O-1", "O-1"]),
    ("pi/interrupted-2.jsonl", StoreFormat::Pi, 4, &["O-1", "O-1", "O-1"]),
    ("pi/resumed-after-lost-prompt.jsonl", StoreFormat::Pi, 2, &[]),
    ("pi/cut-and-retried.jsonl", StoreFormat::Pi, 2, &[]),
    ("pi/retried-529.jsonl", StoreFormat::Pi, 2, &[]),
    ("continue/session.json", StoreFormat::Continue, 4, &[]),
    ("cline/session.messages.json", StoreFormat::Cline, 2, &[]),
];

#[test]
fn v_9_samples_of_real_stores_are_read() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/stores");
    for (name, format, messages, rules) in SAMPLES {
        let Ok(bytes) = std::fs::read(folder.join(name)) else {
            std::eprintln!("SKIPPED: {name} is not in {}", folder.display());
            continue;
        };
        let found = format.read(&[StoreFile { name, bytes: &bytes }]).unwrap();
        let main = &found[0];
        assert_eq!(main.messages.len(), messages, "{main}");
        let broken = results(main.context(), format.dialect(), HistoryEnd::Open);
        assert_eq!(broken.iter().map(|violation| violation.rule).collect::<Vec<_>>(), rules, "{broken:#?}\n{main}");
        assert_eq!(rules::validity(main.context()), [], "{main}");
    }
}

#[test]
fn v_9_a_line_that_stands_twice_says_nothing_more() {
    let call = r#"{"type":"assistant","uuid":"b","parentUuid":"a","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]}}"#;
    let result = r#"{"type":"user","uuid":"c","parentUuid":"b","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"r"}]}}"#;
    let prompt = r#"{"type":"user","uuid":"a","message":{"role":"user","content":"hi"}}"#;
    let once = read(StoreFormat::ClaudeCode, &[prompt, call, result].join("\n"));
    let twice = read(StoreFormat::ClaudeCode, &[prompt, call, call, result, result].join("\n"));
    let blocks = |found: &[StoredConversation]| -> Vec<usize> { found[0].messages.iter().map(|message| message.blocks.len()).collect() };
    assert_eq!(blocks(&once), blocks(&twice));
}
