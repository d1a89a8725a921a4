//! Rules that need the requests of a client and its notes.

use serde_json::{Value, json};

use super::{IDS, ScriptedClient, TWO, failures};
use reenact_wire::prelude::*;

#[test]
fn o_24_what_the_user_says_and_what_a_tool_gives_is_in_a_request() {
    let mut client = ScriptedClient::new(TWO);
    client.note(&json!({ "kind": "prompt", "prompt": 1, "text": "What do both files say?" }));
    client.say("user", &"Something else.".into());
    client.first_turn();
    let tools: Vec<Value> = IDS.iter().map(|id| client.tool(id)).collect();
    client.at = tools[0]["ends_at"].as_u64().unwrap();
    client.seen += 2;
    let result = |id: &&str| json!({ "type": "tool_result", "tool_use_id": id, "content": [{ "type": "text", "text": "hullo" }] });
    client.say("user", &IDS.iter().map(result).collect());
    let answer = client.request();
    client.read(&answer);
    client.note(&json!({ "kind": "terminal", "prompt": 1, "how": "ok" }));
    assert_eq!(
        failures(&client.end()),
        [
            "O-24: request 2 has another result of tool use toolu_p1t1n1 than the tool gave",
            "O-24: request 2 has another result of tool use toolu_p1t1n2 than the tool gave",
            "O-24: prompt 1 was answered, and its text is in no request",
        ]
    );
}

#[test]
fn o_24_a_message_is_in_a_later_request() {
    let mut client = ScriptedClient::new(TWO);
    client.prompt();
    client.first_turn();
    client.note(&json!({ "kind": "message", "text": "Be quick." }));
    let told =
        |client: &mut ScriptedClient| failures(&client.end()).into_iter().filter(|failure| failure.starts_with("O-24")).collect::<Vec<_>>();
    assert_eq!(told(&mut client), [""; 0], "no request came after it");
    client.open(&json!({}));
    client.prompt();
    client.first_turn();
    client.note(&json!({ "kind": "message", "text": "Be quick." }));
    client.request();
    assert_eq!(told(&mut client), ["O-24: the message \"Be quick.\" is in no later request"]);
}

#[test]
fn o_11_after_a_cancel_the_cancelled_prompt_sends_nothing() {
    let mut client = ScriptedClient::new(TWO);
    let told = |client: &mut ScriptedClient, ends_first: bool, prompts_again: bool| {
        client.open(&json!({}));
        client.prompt();
        client.first_turn();
        client.note(&json!({ "kind": "cancel" }));
        if ends_first {
            client.note(&json!({ "kind": "terminal", "prompt": 1, "how": "stopped" }));
        }
        if prompts_again {
            client.note(&json!({ "kind": "prompt", "prompt": 2, "text": "Go on." }));
        }
        client.at += 1000;
        client.say("user", &"Go on.".into());
        client.request();
        failures(&client.end()).into_iter().filter(|failure| failure.starts_with("O-11")).count()
    };
    assert_eq!(told(&mut client, false, false), 1);
    assert_eq!(told(&mut client, true, false), 0);
    assert_eq!(told(&mut client, false, true), 0, "it may be the new prompt's");
}

#[test]
fn o_27_no_connection_outlives_its_prompt() {
    let mut client = ScriptedClient::new(TWO);
    client.prompt();
    let answer = client.request();
    client.seen = 3;
    client.at = answer["pieces"][1][0].as_u64().unwrap();
    client.note(&json!({ "kind": "terminal", "prompt": 1, "how": "stopped" }));
    client.seen = 1 + answer["pieces"].as_array().unwrap().len() as u64;
    client.at = answer["end"]["at"].as_u64().unwrap();
    assert!(failures(&client.end()).contains(&"O-27: prompt 1 has ended, and the client still reads answer 1".into()));
}

#[test]
fn f_10_a_fault_that_hits_nothing_is_a_failure() {
    let mut client = ScriptedClient::new(&format!("{TWO}[[fault]]\nat = {{ request = 7 }}\nstatus = 529\n"));
    let told = failures(&client.whole_run());
    assert!(told.len() == 1 && told[0].contains("hit nothing"), "{told:?}");
}

#[test]
fn g_2_a_client_that_asks_nothing_is_not_fine() {
    let mut client = ScriptedClient::new(TWO);
    client.note(&json!({ "kind": "prompt", "prompt": 1, "text": "What do both files say?" }));
    client.note(&json!({ "kind": "terminal", "prompt": 1, "how": "ok" }));
    let verdict = client.end();
    assert_eq!(verdict["is_fine"], false);
    assert!(failures(&verdict).iter().any(|failure| failure.starts_with("no request for a message came")));
}

#[test]
fn o_21_a_client_that_shortens_its_history_leaves_that_rule_out() {
    let mut client = ScriptedClient::new(TWO);
    let run = |client: &mut ScriptedClient, members: &Value| {
        let opened = client.open(members);
        client.prompt();
        client.first_turn();
        client.messages.clear();
        client.say("user", &"In short: What do both files say?".into());
        client.request();
        (opened, client.end())
    };
    let broken = |verdict: &Value| failures(verdict).iter().any(|failure| failure.starts_with("O-21"));
    assert!(broken(&run(&mut client, &json!({})).1));
    let (_, verdict) = run(&mut client, &json!({ "without": ["O-21"] }));
    assert!(!broken(&verdict), "{verdict}");
    assert_eq!(verdict["rules"]["not_asked"]["the client's word: `without` leaves it out"], json!(["O-21"]));
    let opened = client.open(&json!({ "without": ["O-99"] }));
    assert!(opened["error"].as_str().unwrap().contains("O-99"), "{opened}");
}

#[test]
fn o_11_a_cancelled_prompt_comes_to_its_end() {
    let mut client = ScriptedClient::new(TWO);
    client.prompt();
    client.first_turn();
    client.note(&json!({ "kind": "cancel" }));
    client.at += 3_000_000_000;
    client.note(&json!({ "kind": "terminal", "prompt": 1, "how": "stopped" }));
    assert!(failures(&client.end()).iter().any(|failure| failure.starts_with("O-11: prompt 1 ends ")));
}

#[test]
fn m_4_a_connection_that_is_silent_for_ever_has_no_end() {
    let mut client = ScriptedClient::new(&format!("{TWO}[[fault]]\nat = {{ request = 1 }}\nconnect = \"timeout\"\n"));
    client.prompt();
    let answer = client.request();
    assert_eq!((&answer["head"], &answer["end"]), (&Value::Null, &Value::Null));
    let mut client = ScriptedClient::new(&format!("{TWO}[[fault]]\nat = {{ request = 1 }}\nconnect = \"reset\"\n"));
    client.prompt();
    assert_eq!(client.request()["end"]["how"], "reset");
}
