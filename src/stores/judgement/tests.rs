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

/// The first two lines of a session of pi.
const PI_SESSION: &str = r#"{"type":"session","version":3,"id":"s"}"#;
const PI_PROMPT: &str = r#"{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":"Go."}}"#;

/// A further line of it: a message that goes on from the line before it.
fn pi_line(number: u32, message: &str) -> String {
    format!(r#"{{"type":"message","id":"{number}","parentId":"{}","message":{message}}}"#, number - 1)
}

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
        PI_SESSION,
        PI_PROMPT,
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
    let lines = [
        PI_SESSION.into(),
        PI_PROMPT.into(),
        pi_line(2, r#"{"role":"assistant","content":[{"type":"toolCall","id":"call_1|fc_1","name":"bash","arguments":{}}]}"#),
        pi_line(3, r#"{"role":"toolResult","toolCallId":"call_1|fc_1","content":[{"type":"text","text":"one"}]}"#),
        pi_line(4, r#"{"role":"assistant","content":[{"type":"text","text":"Yes."}]}"#),
    ];
    assert_eq!(judged_as(StoreFormat::Pi, &lines.join("\n")).findings, []);
    let dangling = judged_as(StoreFormat::Pi, &[&lines[..3], &[pi_line(3, r#"{"role":"user","content":"?"}"#)]].concat().join("\n"));
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
    assert_eq!((&alone.findings[..], &alone.refusal), (&[][..], &None));
    assert_eq!(
        alone.remarks,
        ["1 blank text, which the agent leaves out when it asks"],
        "an answer that says nothing else is left out whole"
    );
}

#[test]
fn v_9_pi_leaves_out_all_that_is_blank() {
    let lines = [
        PI_SESSION.into(),
        PI_PROMPT.into(),
        pi_line(
            2,
            r#"{"role":"assistant","content":[{"type":"toolCall","id":"t","name":"bash","arguments":{}},{"type":"text","text":""}]}"#,
        ),
        pi_line(3, r#"{"role":"toolResult","toolCallId":"t","content":[{"type":"text","text":"one"}]}"#),
        pi_line(4, r#"{"role":"assistant","content":[{"type":"text","text":"\n\n"}],"stopReason":"stop"}"#),
        pi_line(5, r#"{"role":"user","content":" "}"#),
        pi_line(6, r#"{"role":"assistant","content":[{"type":"text","text":"Yes."}]}"#),
    ];
    let judgement = judged_as(StoreFormat::Pi, &lines.join("\n"));
    assert_eq!((&judgement.findings[..], &judgement.refusal), (&[][..], &None));
    assert_eq!(judgement.remarks, ["3 blank texts, which the agent leaves out when it asks"]);
    // An answer that is left out does not come between a call and its result.
    let between = [&lines[..3], &[pi_line(3, r#"{"role":"assistant","content":[{"type":"text","text":" "}]}"#)]].concat().join("\n");
    let asked = pi_line(4, r#"{"role":"user","content":" "}"#);
    let blank = pi_line(5, r#"{"role":"assistant","content":[{"type":"text","text":" "}]}"#);
    let told = pi_line(6, r#"{"role":"toolResult","toolCallId":"t","content":[{"type":"text","text":"one"}]}"#);
    assert_eq!(judged_as(StoreFormat::Pi, &[between, asked, blank, told].join("\n")).findings, []);
}

/// A line of Claude Code: `answer` is the id of the answer that a block is of.
fn claude(uuid: &str, parent: &str, answer: Option<&str>, content: &str) -> String {
    let (kind, id) = answer.map_or(("user", String::new()), |answer| ("assistant", format!(r#""id":"{answer}","#)));
    format!(
        r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":"{parent}","version":"2.1.329","message":{{{id}"role":"{kind}","content":{content}}}}}"#
    )
}

fn calls(id: &str) -> String {
    format!(r#"[{{"type":"tool_use","id":"{id}","name":"Bash","input":{{}}}}]"#)
}

fn result(id: &str) -> String {
    format!(r#"[{{"type":"tool_result","tool_use_id":"{id}","content":"one"}}]"#)
}

const LOOK: &str = r#"[{"type":"text","text":"I look."}]"#;

#[test]
fn v_9_a_call_that_its_agent_left_is_a_note() {
    let begin = [
        claude("1", "", None, r#""Go.""#),
        claude("2", "1", Some("m"), LOOK),
        claude("3", "2", Some("m"), &calls("a")),
        claude("4", "3", None, &result("a")),
        claude("5", "3", Some("m"), &calls("b")),
    ];
    let judged_with = |more: &[String]| judged_as(StoreFormat::ClaudeCode, &[&begin[..], more].concat().join("\n"));
    let notes = |parent: &str| {
        let text = [&begin[..], &[claude("6", parent, None, r#""Go on.""#)]].concat().join("\n");
        let found = StoreFormat::ClaudeCode.read(&[StoreFile { name: "session", bytes: text.as_bytes() }]).unwrap();
        found[0].remarks.iter().map(Cow::into_owned).collect::<Vec<_>>()
    };
    // From the text, and from the result of the other call.
    for parent in ["2", "4"] {
        let judgement = judged_with(&[claude("6", parent, None, r#""Go on.""#), claude("7", "6", Some("n"), LOOK)]);
        assert_eq!((&judgement.findings[..], &judgement.refusal), (&[][..], &None), "{parent}");
        let left = "tool call b of line 5 has no result and is not sent: line 6 goes on behind another part of the same answer";
        assert!(notes(parent).iter().any(|note| note == left), "{:?}", notes(parent));
    }
    // On the path, and where nothing else was said, it dangles.
    let on_path = judged_with(&[claude("6", "5", None, r#""Go on.""#)]);
    assert_eq!(on_path.findings[0].violation.places[0], HistoryPlace::Line(5), "{on_path:#?}");
    assert_eq!(notes("5"), [""; 0]);
    let at_end = judged_as(StoreFormat::ClaudeCode, &[&begin[..3], &begin[4..], &begin[3..4]].concat().join("\n"));
    assert_eq!(at_end.findings[0].violation.call.as_deref(), Some("b"), "{at_end:#?}");
    // A call with a result is sent, wherever it stands.
    let answered = judged_with(&[claude("6", "5", None, &result("b")), claude("7", "2", None, r#""Go on.""#)]);
    assert_eq!((&answered.findings[..], &answered.refusal), (&[][..], &None));
}

#[test]
fn v_9_an_empty_text_is_a_finding_where_its_agent_sends_it() {
    let judged_by = |versions: [&str; 2], text: &str, error: Option<&str>| {
        let lines = [
            claude("1", "", None, r#""Go.""#),
            claude("2", "1", Some("m"), &format!(r#"[{{"type":"text","text":"{text}"}}]"#)),
            claude("3", "2", Some("m"), &calls("a")),
            claude("4", "3", None, &result("a")),
        ];
        let mut text = lines.join("\n").replace("2.1.329", versions[0]);
        let error = error.map(|error| claude("5", "4", Some("n"), &format!(r#"[{{"type":"text","text":"{error}"}}]"#)));
        let error = error.map(|error| error.replace(r#""version""#, r#""isApiErrorMessage":true,"version""#));
        error.iter().for_each(|error| text += &format!("\n{}", error.replace("2.1.329", versions[0])));
        judged_as(StoreFormat::ClaudeCode, &(text + "\n" + &claude("6", "4", None, r#""Go on.""#).replace("2.1.329", versions[1])))
    };
    const REFUSED: &str = "API Error: 400 messages: text content blocks must be non-empty";
    for (versions, error, evidence) in [
        (["2.1.197"; 2], None, "Claude Code 2.1.197 is known to send it back"),
        (["2.1.329", "2.1.197"], None, "Claude Code 2.1.197 is known to send it back"),
        (["2.1.400"; 2], Some(REFUSED), "the error of line 5 says that it was sent"),
    ] {
        let judgement = judged_by(versions, "", error);
        let (kind, mechanism) = only(&judgement);
        assert_eq!((kind, &judgement.findings[0].violation.places[..]), (ViolationKind::BlankText, &[HistoryPlace::Line(2)][..]));
        assert!(judgement.findings[0].violation.text.ends_with(evidence) && mechanism.contains("no words"), "{judgement:#?}");
        assert!(judgement.findings[0].is_empty_text && judgement.refusal.unwrap().refusal.message.contains("must be non-empty"));
    }
    // Where the model has answered since, the error is settled.
    let settled = [
        claude("1", "", None, r#""Go.""#),
        claude("2", "1", Some("m"), r#"[{"type":"text","text":""},{"type":"text","text":"Yes."}]"#),
        claude("3", "2", Some("n"), &format!(r#"[{{"type":"text","text":"{}"}}]"#, REFUSED))
            .replace(r#""version""#, r#""isApiErrorMessage":true,"version""#),
        claude("4", "2", None, r#""Go on.""#),
        claude("5", "4", Some("o"), LOOK),
    ];
    assert_eq!(only(&judged_as(StoreFormat::ClaudeCode, &settled[..4].join("\n"))).0, ViolationKind::BlankText);
    assert_eq!(judged_as(StoreFormat::ClaudeCode, &settled.join("\n")).findings, []);
    // What an older version was told, another error, a version that nobody knows.
    for (versions, error) in [
        (["2.1.329"; 2], None),
        (["2.1.197", "2.1.329"], Some(REFUSED)),
        (["2.1.329"; 2], Some("API Error: 529 Overloaded")),
        (["2.2.0"; 2], None),
        (["future"; 2], None),
    ] {
        let judgement = judged_by(versions, "", error);
        assert_eq!((&judgement.findings[..], &judgement.refusal), (&[][..], &None), "{versions:?}");
        assert!(judgement.remarks.iter().any(|remark| remark.contains("before 2.1.329 sends it back")), "{judgement:#?}");
    }
    // All versions leave a blank text out.
    let blank = judged_by(["2.1.197"; 2], r"\n\n", None);
    assert_eq!((&blank.findings[..], blank.remarks.len()), (&[][..], 1));
}

#[test]
fn v_9_an_answer_without_words_is_left_out_whatever_wrote_it() {
    for content in
        [r#"[{"type":"text","text":""}]"#, "[]", r#"[{"type":"thinking","thinking":"Hm.","signature":"s"},{"type":"text","text":""}]"#]
    {
        let lines = [
            claude("1", "", None, r#""Go.""#),
            claude("2", "1", Some("m"), content),
            claude("3", "2", None, r#""Go on.""#),
            claude("4", "3", Some("n"), LOOK),
        ];
        let judgement = judged_as(StoreFormat::ClaudeCode, &lines.join("\n").replace("2.1.329", "2.1.197"));
        assert_eq!((&judgement.findings[..], &judgement.refusal), (&[][..], &None), "{content}");
    }
}

#[test]
fn v_9_a_lost_beginning_has_its_own_cause() {
    let judgement = judged_as(StoreFormat::ClaudeCode, &claude("2", "lost", None, r#""Go on.""#));
    let (kind, mechanism) = only(&judgement);
    assert!(kind == ViolationKind::UnreadPart && mechanism.contains("moved or deleted"), "{mechanism}");
}
