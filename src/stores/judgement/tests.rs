//! Judgements of short sessions: the mechanism, the answer of the API, and the findings that no pair shows.

use std::format;

use super::super::StoreFile;
use super::*;

/// A session of cline, a message a line from line 2 on.
fn judged(messages: &[&str]) -> ConversationJudgement {
    judged_as(StoreFormat::Cline, &format!("{{\"messages\":[\n{}\n]}}", messages.join(",\n")))
}

fn judged_as(format: StoreFormat, text: &str) -> ConversationJudgement {
    let conversations = format.read(&[StoreFile { name: "session", bytes: text.as_bytes() }]).unwrap();
    judge(&conversations[0], format, SessionAge::Settled)
}

/// The kind and the mechanism of the one finding.
fn only(judgement: &ConversationJudgement) -> (ViolationKind, &'static str) {
    let [finding] = &judgement.findings[..] else { panic!("{judgement:#?}") };
    (finding.violation.kind, finding.mechanism)
}

const GO: &str = r#"{"role":"user","content":"Go."}"#;
const CALL: &str = r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"bash","input":{}}]}"#;
const CALLS: &str = r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"bash","input":{}},{"type":"tool_use","id":"b","name":"read","input":{}}]}"#;
const RESULT: &str = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"one"}]}"#;
const YES: &str = r#"{"role":"assistant","content":"Yes."}"#;

#[test]
fn v_9_the_api_answers_in_its_own_words_and_names_the_message() {
    let judgement = judged(&[GO, CALL, GO, YES]);
    let refused = judgement.refusal.clone().unwrap();
    assert_eq!((refused.refusal.status, refused.place), (400, Some(HistoryPlace::Line(3))));
    assert!(
        refused.refusal.message.starts_with("messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a.")
    );
    assert_eq!(judged(&[GO, CALL, RESULT, YES]), ConversationJudgement::default());
    let of_codex = r#"{"type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{}","call_id":"c1"}}"#;
    let judgement = judged_as(StoreFormat::Codex, of_codex);
    assert_eq!((judgement.findings.len(), judgement.refusal), (1, None), "its API is another one");
}

#[test]
fn v_9_blocks_under_the_wrong_role_are_one_finding_each() {
    let result_of_answer =
        r#"{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"q","content":"1"}]}"#;
    for wrong in [result_of_answer, r#"{"role":"user","content":[{"type":"tool_use","id":"a","name":"bash","input":{}}]}"#] {
        let judgement = judged(&[GO, wrong, YES]);
        assert_eq!(only(&judgement).0, ViolationKind::MisplacedBlock, "{wrong}");
        assert!(judgement.refusal.unwrap().refusal.message.contains("blocks can only be in"), "{wrong}");
    }
}

#[test]
fn v_9_another_refusal_of_the_api_is_a_finding_of_its_own() {
    let judgement = judged(&[GO, &CALL.replace("\"a\"", "\"a b\""), &RESULT.replace("\"a\"", "\"a b\""), YES]);
    assert_eq!(only(&judgement).0, ViolationKind::Refused);
    assert_eq!(judgement.findings[0].violation.places, [HistoryPlace::Line(3)]);
}

#[test]
fn v_9_what_is_no_message_is_a_part_that_cannot_be_read() {
    for wrong in ["7", r#"{"role":"none","content":"x"}"#] {
        let judgement = judged(&[GO, wrong, YES]);
        assert_eq!(
            (only(&judgement).0, &judgement.findings[0].violation.places[..]),
            (ViolationKind::UnreadPart, &[HistoryPlace::Line(3)][..]),
            "{wrong}"
        );
    }
    let of_continue = |status: &str| {
        let states = format!(r#"[{{"toolCallId":"t","status":"{status}"}}]"#);
        let answer = r#"{"role":"assistant","content":"","toolCalls":[{"id":"t","function":{"name":"Read","arguments":"{}"}}]}"#;
        let text = format!(
            r#"{{"history":[{{"message":{{"role":"user","content":"Go."}}}},{{"message":{answer},"toolCallStates":{states}}},{{"message":{{"role":"user","content":"?"}}}}]}}"#
        );
        judged_as(StoreFormat::Continue, &text).findings.len()
    };
    let thought = r#"{"history":[{"message":{"role":"user","content":"Go."}},{"message":{"role":"thinking","content":"Hm."}},{"message":{"role":"assistant","content":"Yes."}}]}"#;
    assert_eq!(judged_as(StoreFormat::Continue, thought), ConversationJudgement::default());
    assert_eq!((of_continue("canceled"), of_continue("calling")), (0, 1), "Continue tells the model of what was cancelled");
}

#[test]
fn v_9_the_mechanism_is_told_by_what_stands_around() {
    let interrupted = r#"{"role":"user","content":"[Request interrupted by user for tool use]"}"#;
    let stopped = RESULT.replace("one", "The user interrupted this command.");
    let cases: [(&[&str], &str); 12] = [
        (&[GO, CALL], "the agent was killed or closed while the tool ran"),
        (&[GO, CALL, GO, YES], "and the next prompt followed"),
        (&[GO, CALL, interrupted, YES], "the agent stored the interrupt without a result"),
        (&[GO, CALLS, RESULT, YES], "those that had ended have results"),
        (&[GO, CALL, RESULT, RESULT, YES], "stored the same result once more"),
        (&[GO, CALL, &stopped, RESULT, YES], "an interrupt made up a result"),
        (&[GO, CALL, RESULT, &RESULT.replace("one", "two"), YES], "was run twice for one call"),
        (&[RESULT, YES], "the beginning of the conversation was cut off"),
        (&[GO, YES, RESULT, YES], "taken out or never stored"),
        (&[GO, CALL, GO, YES, RESULT, YES], "the tool ran on after an interrupt"),
        (&[GO, r#"{"role":"assistant","content":" "}"#, GO, YES], "an answer was cut off before its first words"),
        (&[r#"{"role":"user","content":" "}"#, YES], "an empty prompt"),
    ];
    for (messages, part) in cases {
        let judgement = judged(messages);
        assert!(only(&judgement).1.contains(part), "{part}: {judgement:#?}");
    }
}

#[test]
fn v_9_a_call_whose_result_was_torn_is_told_so() {
    let lines = [
        r#"{"type":"session","version":3,"id":"s"}"#,
        r#"{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":"Go."}}"#,
        r#"{"type":"message","id":"2","parentId":"1","message":{"role":"assistant","content":[{"type":"toolCall","id":"t","name":"bash","arguments":{}}]}}"#,
        r#"{"type":"message","id":"3","parentId":"2","message":{"role":"toolRes"#,
        r#"{"type":"message","id":"4","parentId":"2","message":{"role":"user","content":"And?"}}"#,
    ];
    let judgement = judged_as(StoreFormat::Pi, &lines.join("\n"));
    let kinds: Vec<_> = judgement.findings.iter().map(|finding| finding.violation.kind).collect();
    assert_eq!(kinds, [ViolationKind::DanglingCall, ViolationKind::UnreadPart]);
    assert!(judgement.findings[0].mechanism.contains("a line behind the call is damaged"), "{judgement:#?}");
}

#[test]
fn v_9_ids_of_other_apis_break_nothing_where_the_agent_rewrites_them() {
    let line =
        |number: u32, message: &str| format!(r#"{{"type":"message","id":"{number}","parentId":"{}","message":{message}}}"#, number - 1);
    let lines = [
        String::from(r#"{"type":"session","version":3,"id":"s"}"#),
        String::from(r#"{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":"Go."}}"#),
        line(2, r#"{"role":"assistant","content":[{"type":"toolCall","id":"call_1|fc_1","name":"bash","arguments":{}}]}"#),
        line(3, r#"{"role":"toolResult","toolCallId":"call_1|fc_1","content":[{"type":"text","text":"one"}]}"#),
        line(4, r#"{"role":"assistant","content":[{"type":"text","text":"Yes."}]}"#),
    ];
    assert_eq!(judged_as(StoreFormat::Pi, &lines.join("\n")).findings, []);
    let dangling = judged_as(StoreFormat::Pi, &[&lines[..3], &[line(3, r#"{"role":"user","content":"?"}"#)]].concat().join("\n"));
    assert!(dangling.refusal.unwrap().refusal.message.contains("immediately after: call_1_fc_1"));
}

#[test]
fn v_9_what_an_agent_leaves_out_breaks_nothing() {
    let line = |uuid: &str, parent: &str, rest: &str| format!(r#"{{"uuid":"{uuid}","parentUuid":"{parent}","sessionId":"s",{rest}}}"#);
    let answer =
        |block: &str| format!(r#""type":"assistant","message":{{"id":"m{}","role":"assistant","content":[{block}]}}"#, block.len());
    let text = [
        line("1", "", r#""type":"user","message":{"role":"user","content":"Go."}"#),
        line("2", "1", &answer(r#"{"type":"thinking","thinking":"Hm.","signature":"s"}"#)),
        line("3", "2", r#""type":"user","message":{"role":"user","content":"Stop."}"#),
        line("4", "3", r#""type":"assistant","message":{"id":"n","role":"assistant","content":[{"type":"text","text":"\n\n"}]}"#),
        line("5", "4", r#""type":"assistant","message":{"id":"n","role":"assistant","content":[{"type":"text","text":"Yes."}]}"#),
    ];
    let judgement = judged_as(StoreFormat::ClaudeCode, &text.join("\n"));
    assert_eq!((judgement.findings.len(), judgement.remarks.len()), (0, 1), "{judgement:#?}");
    let alone = judged_as(
        StoreFormat::ClaudeCode,
        &[&text[..4], &[line("5", "4", r#""type":"user","message":{"role":"user","content":"?"}"#)]].concat().join("\n"),
    );
    assert_eq!(only(&alone).0, ViolationKind::BlankText, "the answer says nothing else");
}
