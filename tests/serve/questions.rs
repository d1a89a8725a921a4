//! A verdict says what it rests on: what of the scenario was asked of the client, what could not be, and what was hidden (F-10, K-6, K-10).

use std::time::Duration;

use reenact::foreign::verdict::SessionVerdict;
use reenact::live::serve::{AnswerPace, ServeOptions};
use serde_json::{Value, json};

use super::client::{End, Seen, post, served, setup};

const TWO_TURNS: &str = "tools = [\"Read\"]\n[[prompt]]\ntext = \"Hello?\"\n[[prompt.turn]]\ntext = \"Let me see.\"\n\
     tool = [{ name = \"Read\", input = { file_path = \"/a\" }, id = \"toolu_a\" }, { name = \"Read\", input = { file_path = \"/b\" }, id = \"toolu_b\" }]\n\
     [[prompt.turn]]\ntext = \"Done.\"\n";

const PATIENCE: Duration = Duration::from_millis(600);

/// The answers to these conversations, one request each, and the verdict.
fn asked(scenario: &str, conversations: &[Value], stream: bool) -> (Vec<Seen>, SessionVerdict) {
    let bodies: Vec<String> = conversations
        .iter()
        .map(|messages| {
            let tool = json!({ "name": "Read", "description": "reads", "input_schema": { "type": "object" } });
            json!({ "model": "claude-sonnet-4-5", "max_tokens": 1000, "stream": stream, "messages": messages, "tools": [tool] }).to_string()
        })
        .collect();
    served(&setup(scenario), ServeOptions { pace: AnswerPace::None, ..ServeOptions::default() }, |address| async move {
        let mut seen = Vec::new();
        for body in &bodies {
            seen.push(post(address, body, PATIENCE).await);
        }
        seen
    })
}

fn hello() -> Value {
    json!([{ "role": "user", "content": "Hello?" }])
}

/// The second request: the results in these messages, by their ids.
fn with_results(messages: &[&[&str]]) -> Value {
    let tool_use = |id: &str, path: &str| json!({ "type": "tool_use", "id": id, "name": "Read", "input": { "file_path": path } });
    let content = json!([{ "type": "text", "text": "Let me see." }, tool_use("toolu_a", "/a"), tool_use("toolu_b", "/b")]);
    let mut all = vec![json!({ "role": "user", "content": "Hello?" }), json!({ "role": "assistant", "content": content })];
    for ids in messages {
        let results: Vec<Value> = ids.iter().map(|id| json!({ "type": "tool_result", "tool_use_id": id, "content": "x" })).collect();
        all.push(json!({ "role": "user", "content": results }));
    }
    all.into()
}

fn verdict_on(scenario: &str) -> SessionVerdict {
    asked(scenario, &[hello(), with_results(&[&["toolu_a", "toolu_b"]])], true).1
}

#[test]
fn f_10_what_cannot_be_asked_of_a_client_fails_unless_it_may() {
    let expect = "\n[expect]\nrequests = 2\nterminal = \"completed\"\norder = [\"request 1\", \"request 2\"]\n";
    let failed = verdict_on(&format!("{TWO_TURNS}{expect}"));
    assert_eq!(failed.failures.len(), 1, "{failed}");
    assert!(failed.failures[0].starts_with("`terminal`, `order` in [expect] cannot be asked of a client"), "{failed}");
    for may in [format!("{expect}\n[drive]\nmay = true\n"), format!("{expect}may = true\n")] {
        let verdict = verdict_on(&format!("{TWO_TURNS}{may}"));
        assert!(verdict.is_fine(), "{verdict}");
        assert!(verdict.to_string().contains("not asked: `terminal` in [expect], `order` in [expect]"), "it is named: {verdict}");
    }
}

#[test]
fn f_10_what_is_said_of_the_inside_of_a_client_fails_unless_it_may() {
    let interrupt = "\n[[interrupt]]\nkind = \"cancel\"\nat = \"5s\"\n";
    let hook = "\n[[hook]]\nname = \"careful\"\nevent = \"pre_tool_use\"\ndecision = \"allow\"\n";
    let permission = "\n[[permission]]\nnever_answers = true\n";
    let history = "\n[[history]]\nrole = \"user\"\ntext = \"before\"\n[[history]]\nrole = \"assistant\"\ntext = \"yes\"\n";
    for (section, name) in [(interrupt, "[[interrupt]]"), (hook, "[[hook]]"), (permission, "[[permission]]"), (history, "[[history]]")] {
        let scenario = format!("{section}\n");
        let verdict = verdict_on(&TWO_TURNS.replacen("[[prompt]]", &format!("{scenario}[[prompt]]"), 1));
        let told = verdict.failures.iter().filter(|failure| failure.starts_with(&format!("{name} of the scenario is nothing"))).count();
        assert_eq!((told, verdict.failures.len()), (1, 1), "{name}: {verdict}");
        let left_out = verdict_on(&(TWO_TURNS.replacen("[[prompt]]", &format!("{scenario}[[prompt]]"), 1) + "\n[drive]\nmay = true\n"));
        assert!(left_out.is_fine() && left_out.questions.unasked.contains(&String::from(name)), "{left_out}");
    }
    let own = verdict_on(&TWO_TURNS.replacen("[[prompt]]", &format!("{interrupt}may = true\n\n[[prompt]]"), 1));
    assert!(own.is_fine(), "{own}");
}

#[test]
fn k_6_a_verdict_says_what_was_asked() {
    let verdict = verdict_on(&format!("{TWO_TURNS}\n[expect]\nmodels = [\"claude-sonnet-4-5\"]\n"));
    let text = verdict.to_string();
    assert!(verdict.is_fine(), "{text}");
    let asked = "asked: requests that the API takes, an answer for each request, pairs of tool uses and results (O-1), waits after retry-after, the models\n";
    assert!(text.contains(asked) && text.ends_with("all as expected"), "{text}");
}

#[test]
fn m_3_a_request_without_an_answer_fails_also_after_a_fault() {
    let scenario = format!("{TWO_TURNS}\n[[fault]]\nat = {{ request = 1, attempt = 1 }}\ncut = {{ after_events = 4, how = \"close\" }}\n");
    let more = |text: &str| json!([{ "role": "user", "content": "Hello?" }, { "role": "assistant", "content": "a" }, { "role": "user", "content": text }]);
    let conversations: Vec<Value> = [hello(), more("one"), more("two"), more("three"), more("four")].into();
    let (seen, verdict) = asked(&scenario, &conversations, true);
    assert!(seen.last().unwrap().body().contains("tape_exhausted"), "{}", seen.last().unwrap().text());
    assert!(verdict.failures.iter().any(|failure| failure.starts_with("tape_exhausted")), "{verdict}");
}

#[test]
fn m_4_an_answer_that_is_not_streamed_stalls_and_is_cut_in_its_middle() {
    let whole = asked(TWO_TURNS, &[hello()], false).0.remove(0).body();
    assert!(serde_json::from_str::<Value>(&whole).is_ok(), "{whole}");
    for (fault, end, holds_half) in [
        ("stall = { after_events = 3, time = \"forever\" }", End::Left, true),
        ("stall = { after_events = 0, time = \"forever\" }", End::Left, false),
        ("stall = { after_events = 3, time = \"200ms\" }", End::Whole, false),
        ("cut = { after_events = 3, how = \"close\" }", End::Whole, true),
        ("cut = { after_events = 3, how = \"truncate\" }", End::Closed, true),
        ("cut = { after_events = 3, how = \"reset\" }", End::Broken, true),
    ] {
        let scenario = format!("{TWO_TURNS}\n[[fault]]\nat = {{ attempt = 1 }}\n{fault}\n");
        let (mut seen, verdict) = asked(&scenario, &[hello()], false);
        let seen = seen.remove(0);
        assert_eq!((seen.status(), seen.end), (200, end), "{fault}: {}", seen.text());
        let wanted = match (end, holds_half) {
            (_, true) => whole.len() / 2,
            (End::Left, false) => 0,
            _ => whole.len(),
        };
        assert_eq!(seen.body().len(), wanted, "{fault}: {}", seen.text());
        assert!(verdict.is_fine() || end == End::Left, "{fault}: {verdict}");
        let shown = verdict.asked[0].answer.as_deref().unwrap();
        assert!(!shown.contains("nothing to change"), "{fault}: {shown}");
    }
}

#[test]
fn o_1_results_in_two_messages_in_a_row_are_one_turn_for_the_api() {
    let apart = asked(TWO_TURNS, &[hello(), with_results(&[&["toolu_a"], &["toolu_b"]])], true).1;
    assert!(apart.is_fine() && apart.remarks.is_empty(), "{apart}");
    let one = asked(TWO_TURNS, &[hello(), with_results(&[&["toolu_a"]])], true).1;
    assert!(one.failures.iter().any(|failure| failure.contains("without `tool_result` blocks")), "{one}");
}

#[test]
fn o_1_another_order_of_results_is_told_and_no_failure() {
    let verdict = asked(TWO_TURNS, &[hello(), with_results(&[&["toolu_b", "toolu_a"]])], true).1;
    let told = "request 2 has its results in another order than their tool uses: ";
    assert!(verdict.is_fine() && verdict.remarks.iter().any(|remark| remark.contains(told)), "{verdict}");
}

#[test]
fn f_10_each_key_of_a_scenario_is_decided_for_clients() {
    let read = |path: &str| std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let (page, schema) = (read("docs/clients.md"), read("scenarios/scenario.schema.json"));
    let table: String = page.lines().filter(|line| line.starts_with("| `")).collect();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let keys: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    assert!(keys.len() > 30, "{keys:?}");
    let missing: Vec<_> = keys.into_iter().filter(|key| !table.contains(&format!("`{key}`"))).collect();
    assert!(missing.is_empty(), "say in docs/clients.md what becomes of them with a client: {missing:?}");
}
