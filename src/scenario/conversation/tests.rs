//! Small stories of requests, and what each is taken for.

use super::*;
use crate::tape::{BodyChunk, Exchange, Provenance, RecordedResponse, ResponseEnd};

/// A request for a message with this body, answered with this status and message.
pub(super) fn answered_exchange(id: u32, body: String, (status, message): (u16, String)) -> Exchange {
    Exchange {
        id,
        thread: "".into(),
        parent: None,
        provenance: Provenance::Recorded,
        at: None,
        method: "POST".into(),
        path: "/v1/messages".into(),
        headers: Arc::new([]),
        body: body.into_bytes().into(),
        answer: RecordedResponse {
            status,
            headers: Arc::new([]),
            head_at: None,
            chunks: [BodyChunk { at: None, bytes: message.into_bytes().into() }].into(),
            end: ResponseEnd::Complete,
            end_at: None,
        },
    }
}

/// A request of a story: `u:` and `a:` with text; what stands before `|` is the system prompt.
fn body(request: &str) -> String {
    let (system, messages) = request.split_once('|').unwrap_or(("", request));
    let message = |word: &str| {
        let (role, text) = word.split_once(':').unwrap();
        let role = if role == "u" { "user" } else { "assistant" };
        format!(r#"{{"role":"{role}","content":"{text}"}}"#)
    };
    let messages: Vec<String> = messages.split_whitespace().map(message).collect();
    format!(r#"{{"system":"{system}","messages":[{}]}}"#, messages.join(","))
}

fn place(lineage: &mut ThreadLineage, id: u32, body: &str, source: RequestSource<'_>) -> ThreadPlacement {
    lineage.place(id, Some(&CompleteRequest::as_it_is(body)), source)
}

/// Places requests of a recording.
fn threads(requests: &[&str]) -> Vec<String> {
    let mut lineage = ThreadLineage::default();
    let shown = |(request, id): (&&str, u32)| {
        let ThreadPlacement { thread, relation } = place(&mut lineage, id, &body(request), RequestSource::Recording);
        format!("{} {relation:?}", thread.name())
    };
    requests.iter().zip(1..).map(shown).collect()
}

#[test]
fn m_3_a_request_belongs_to_the_conversation_it_extends() {
    assert_eq!(
        threads(&["u:hi", "u:sub", "u:hi a:yes u:more", "u:sub a:ok u:result", "u:hi a:yes u:more", "u:hi a:yes u:more a:x u:y"]),
        [
            "main Beginning",
            "thread-2 Beginning",
            "main Continuation(1)",
            "thread-2 Continuation(2)",
            "main Repetition(3)",
            "main Continuation(5)"
        ]
    );
}

#[test]
fn m_3_an_edited_history_is_a_new_thread_and_a_branch_is_not() {
    assert_eq!(
        threads(&["u:hi", "u:hi a:yes u:more", "u:hi a:no u:more", "u:summary a:yes"]),
        ["main Beginning", "main Continuation(1)", "main Fork(1)", "thread-2 Beginning"]
    );
}

#[test]
fn m_3_the_same_messages_put_differently_are_a_side_call() {
    assert_eq!(
        threads(&["agent|u:hi", "title|u:hi", "agent|u:hi a:yes u:more", "title|u:hi"]),
        ["main Beginning", "thread-2 Beginning", "main Continuation(1)", "thread-2 Repetition(2)"]
    );
}

#[test]
fn m_3_what_may_differ_makes_no_new_thread() {
    let mut lineage = ThreadLineage::default();
    let first = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}]}"#;
    let second = r#"{"messages":[{"content":"a","role":"user"},{"role":"assistant","content":[{"n":1.0}]}],"stream":true}"#;
    let third =
        r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"n":1}]},{"role":"user","content":"\ud83d"}]}"#;
    for (body, id) in [first, second, third, third].into_iter().zip(1..) {
        let placement = place(&mut lineage, id, body, RequestSource::Recording);
        assert_eq!((placement.thread, placement.relation.parent()), (ThreadId::MAIN, id.checked_sub(1).filter(|parent| *parent > 0)));
    }
}

#[test]
fn m_3_what_holds_no_conversation_is_apart() {
    let mut lineage = ThreadLineage::default();
    let mut thread = |request: Option<&str>| {
        let request = request.map(CompleteRequest::as_it_is);
        let ThreadPlacement { thread, relation } = lineage.place(1, request.as_ref(), RequestSource::Recording);
        assert_eq!(relation, RequestRelation::Apart);
        thread.name()
    };
    assert_eq!([None, Some("{}"), Some("[]"), Some("")].map(&mut thread).join(" "), "other other other main");
    let recorded = |method, path, body| lineage.recorded_request((method, path), body).map(|request| request.body.into_owned());
    assert_eq!(recorded("POST", "/v1/messages", b"{}").as_deref(), Some("{}"));
    assert_eq!(
        [recorded("POST", "/v1/models", b"{}"), recorded("HEAD", "/v1/messages", b""), recorded("POST", "/v1/messages", b"\xff")],
        [None, None, None]
    );
}

#[test]
fn m_3_a_client_that_writes_its_history_anew_stays_in_its_thread() {
    let mut lineage = ThreadLineage::default();
    let mut ask = |id, request: &str, begins: bool| {
        let placement = place(&mut lineage, id, &body(request), RequestSource::Client(&mut || begins));
        format!("{} {:?}", placement.thread.name(), placement.relation)
    };
    assert_eq!(ask(1, "agent|u:hi", false), "main Beginning");
    assert_eq!(ask(2, "agent|u:summary", false), "main RewrittenHistory");
    assert_eq!(ask(3, "agent|u:summary a:yes u:more", true), "main Continuation(2)", "which is not asked about");
    assert_eq!(ask(4, "agent|u:sub", true), "thread-3 Beginning", "its number counts the history that was written anew");
    assert_eq!(ask(5, "title|u:hi", false), "thread-4 Beginning");
    assert_eq!(ask(6, "agent|u:other", false), "main RewrittenHistory", "the first of those that fit");
    let put_differently =
        body("agent|u:other").replace(r#""agent""#, r#"[{"type":"text","text":"agent","cache_control":{"type":"ephemeral"}}]"#);
    let placement = place(&mut lineage, 7, &put_differently.replace("other", "more"), RequestSource::Client(&mut || false));
    assert_eq!((placement.thread, placement.relation), (ThreadId::MAIN, RequestRelation::RewrittenHistory));
}

#[test]
fn m_3_what_failed_and_comes_again_is_a_further_attempt() {
    let mut lineage = ThreadLineage::default();
    let for_model = |model: &str, request: &str| body(request).replacen('{', &format!(r#"{{"model":"{model}","#), 1);
    let mut ask = |id, body: &str, fails: bool| {
        let placement = place(&mut lineage, id, body, RequestSource::Client(&mut || false));
        if fails {
            lineage.on_failed(placement.thread);
        }
        placement.relation
    };
    assert_eq!(ask(1, &for_model("m", "u:hi"), false), RequestRelation::Beginning);
    assert_eq!(ask(2, &for_model("m", "u:hi"), true), RequestRelation::Repetition(1), "it was answered");
    assert_eq!(ask(3, &for_model("m", "u:hi"), true), RequestRelation::FurtherAttempt(2));
    assert_eq!(ask(4, &for_model("n", "u:ho"), true), RequestRelation::FurtherAttempt(3), "as many messages for another model");
    assert_eq!(ask(5, &for_model("n", "u:hey"), false), RequestRelation::RewrittenHistory, "other words for the same");
}

#[test]
fn m_3_a_client_that_says_whose_its_request_is_is_believed() {
    let mut lineage = ThreadLineage::default();
    let (one, other) = (lineage.begin(), lineage.begin());
    let mut ask = |id, request: &str, source: RequestSource<'_>| place(&mut lineage, id, &body(request), source);
    ask(1, "u:hi", RequestSource::Statement(one));
    let same_words = ask(2, "u:hi a:yes u:more", RequestSource::Statement(other));
    assert_eq!((same_words.thread, same_words.relation), (other, RequestRelation::Continuation(1)));
    assert_eq!(ask(3, "u:hi a:yes u:more a:x u:y", RequestSource::Recording).thread, other, "so it is with what continues from it");
}
