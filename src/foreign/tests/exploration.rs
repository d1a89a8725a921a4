//! Runs of an exploration: faults of the plan, further prompts, traces.

use serde_json::{Value, json};

use super::{IDS, ScriptedClient, TWO, failures};
use reenact_wire::prelude::*;

/// With a choice that the run does not come to.
const OVERLOADED: &str =
    "[plan]\nfollow_up = \"Go on.\"\n[[plan.fault]]\nrequest = \"1\"\nkind = \"overloaded\"\n[plan.tools]\ntoolu_9 = \"1s\"\n";

/// A client that gives up at an error, and is prompted once more.
fn client_that_gives_up(how: &str) -> (ScriptedClient, Value) {
    let mut client = ScriptedClient::new(TWO);
    let opened = client.open(&json!({ "plan": OVERLOADED, "trace": true }));
    assert_eq!(opened["prompts"][1], json!({ "at": 0, "text": "Go on." }));
    client.prompt();
    let answer = client.request();
    assert_eq!(answer["head"]["status"], 529);
    client.read(&answer);
    client.note(&json!({ "kind": "terminal", "prompt": 1, "how": how, "text": "OverloadedError" }));
    client.note(&json!({ "kind": "prompt", "prompt": 2, "text": "Go on." }));
    client.say("user", &"Go on.".into());
    let answer = client.request();
    assert_eq!(answer["head"]["status"], 200, "the scenario has no answer for it, and gets one");
    client.read(&answer);
    (client, answer)
}

#[test]
fn g_2_a_fault_excuses_the_prompt_that_it_hits_and_no_other() {
    let (mut client, _) = client_that_gives_up("error");
    client.note(&json!({ "kind": "terminal", "prompt": 2, "how": "ok" }));
    let verdict = client.end();
    assert_eq!((failures(&verdict), &verdict["faulted_prompts"]), (vec![], &json!([1])), "the scenario's answers need not come");
    let (mut client, _) = client_that_gives_up("error");
    client.note(&json!({ "kind": "terminal", "prompt": 2, "how": "error", "text": "TypeError" }));
    assert_eq!(failures(&client.end()), ["prompt 2 fails: TypeError"]);
}

#[test]
fn o_21_a_failed_prompt_may_be_taken_back_and_another_may_not() {
    let rules = |how: &str| {
        let (mut client, _) = client_that_gives_up(how);
        client.note(&json!({ "kind": "terminal", "prompt": 2, "how": "ok" }));
        client.end()["rules"]["asked"].as_array().unwrap().contains(&"O-21".into())
    };
    assert_eq!((rules("error"), rules("ok")), (false, true));
}

#[test]
fn e_8_a_fault_or_a_name_of_the_plan_that_does_not_come_fails() {
    for (plan, missed) in [
        ("[[plan.fault]]\nrequest = \"9\"\nkind = \"reset\"\n", "the plan's fault did not happen: reset instead of answer 9"),
        ("[plan.tools]\ntoolu_x = \"1s\"\n", "the plan's tools, toolu_x did not come: correct the name in [plan], or take it out"),
    ] {
        let mut client = ScriptedClient::new(TWO);
        client.open(&json!({ "plan": plan }));
        assert_eq!(failures(&client.whole_run()), [missed]);
    }
    let mut silent = ScriptedClient::new(TWO);
    silent.open(&json!({ "plan": "[[plan.fault]]\nrequest = \"1\"\nkind = \"reset\"\n" }));
    assert!(failures(&silent.end()).contains(&"the plan's fault did not happen: reset instead of answer 1".into()), "nothing was asked");
}

#[test]
fn o_19_a_client_without_an_end_is_told_as_that() {
    let mut client = ScriptedClient::new(TWO);
    client.prompt();
    client.note(&json!({ "kind": "livelock", "text": "it asks again" }));
    let verdict = client.end();
    assert!(failures(&verdict).contains(&"O-19: the client does not come to an end: it asks again".into()));
    assert!(verdict["transcript"].as_str().unwrap().contains("livelock"));
}

#[test]
fn g_2_a_trace_says_what_could_fail_and_what_could_come_first() {
    let mut client = ScriptedClient::new(&TWO.replace("latency = \"40ms\"", "latency = \"10ms..90ms\""));
    assert_eq!(client.open(&json!({}))["trace"], Value::Null);
    client.open(&json!({ "trace": true }));
    let trace = client.whole_run()["trace"].clone();
    assert_eq!(trace["requests"].as_array().unwrap().len(), 2);
    let first = &trace["requests"][0];
    assert_eq!((&first["name"], &first["is_faulted"], &first["left_at"]), (&json!("1"), &json!(false), &Value::Null));
    let pieces = trace["sources"][0]["arrivals"].as_array().unwrap();
    assert_eq!(first["events"].as_array().unwrap().len(), pieces.len() - 1, "the head and each event; the end of a body is none");
    assert!(pieces.windows(2).all(|pair| pair[0]["at"].as_u64() <= pair[1]["earliest"].as_u64()), "they keep their order: {trace}");
    assert!(pieces.iter().all(|arrival| arrival["came"].is_u64()));
    for (source, id) in [(1, IDS[0]), (2, IDS[1])] {
        let tool = &trace["sources"][source];
        let (from, end) = (tool["from"].as_u64().unwrap(), &tool["arrivals"][0]);
        assert_eq!((&tool["lever"]["tool"], &tool["came_before"]), (&json!(id), &json!(pieces.len())));
        assert_eq!((&end["earliest"], &end["latest"]), (&json!(from + 10_000), &json!(from + 90_000)), "the range of its latency");
    }
}

#[test]
fn g_2_a_trace_knows_what_was_left_and_what_a_fault_has_changed() {
    let mut client = ScriptedClient::new(TWO);
    client.open(&json!({ "trace": true, "plan": "[[plan.fault]]\nrequest = \"1\"\nkind = \"cut\"\nafter_event = 3\n" }));
    client.prompt();
    let answer = client.request();
    client.seen = 2;
    client.at = answer["pieces"][0][0].as_u64().unwrap();
    let closed = client.with_moment("closed", &json!({ "answer": 1 }));
    assert_eq!(client.raw(&closed.to_string()), None);
    client.tool(IDS[0]);
    client.note(&json!({ "kind": "tool_end", "id": IDS[0], "how": "stopped" }));
    let trace = client.end()["trace"].clone();
    let (request, answer, tool) = (&trace["requests"][0], &trace["sources"][0], &trace["sources"][1]);
    assert_eq!((&request["is_faulted"], &request["left_at"]), (&json!(true), &json!(client.at)));
    assert_eq!((&answer["lever"], &answer["left_at"]), (&Value::Null, &json!(client.at)), "its times are those of other pieces now");
    let came: Vec<bool> = answer["arrivals"].as_array().unwrap().iter().map(|arrival| arrival["came"].is_u64()).collect();
    assert_eq!(came, [true, true, false, false, false]);
    assert_eq!((&tool["left_at"], &tool["arrivals"][0]["came"]), (&json!(client.at), &Value::Null));
}

#[test]
fn g_2_the_digest_of_a_trace_is_the_same_at_boundaries_next_to_each_other() {
    let digests = ["start + 1", "start + 2"].map(|boundary| {
        let mut client = ScriptedClient::new(TWO);
        client.open(&json!({ "trace": true }));
        client.prompt();
        client.note(&json!({ "kind": "boundary", "boundary": boundary }));
        client.note(&json!({ "kind": "cancel" }));
        let verdict = client.end();
        (verdict["digest"].clone(), verdict["trace"]["digest"].clone())
    });
    assert_ne!(digests[0].0, digests[1].0);
    assert_eq!(digests[0].1, digests[1].1);
}

#[test]
fn g_1_lines_of_explorations_that_fit_nothing_are_refused_in_words() {
    let mut client = ScriptedClient::new(TWO);
    let begin = |budgets: Value| json!({ "op": "explore", "open": { "protocol": 1, "scenario": "x.toml" }, "budgets": budgets, "actions": ["cancel"], "then": "Go on." });
    for (line, words) in [
        (begin(json!([])), "names no budget"),
        (begin(json!(["1,1"])), "as in `1,0,1`"),
        (begin(json!(["0,0,0"])), "has no decision"),
        (begin(json!(["0,10,0"])), "at most 9 decisions"),
        (
            json!({ "op": "explore", "open": { "protocol": 2, "scenario": "x.toml" }, "budgets": ["1,0,0"], "actions": [], "then": "" }),
            "version 1",
        ),
        (json!({ "op": "next", "exploration": 7 }), "there is no open exploration 7"),
        (
            json!({ "op": "explore", "open": { "protocol": 1, "scenario": "x.toml" }, "budgets": ["1,0,0"], "actions": ["jump"], "then": "" }),
            "jump",
        ),
    ] {
        let reply = client.line(&line);
        assert!(reply["error"].as_str().unwrap().contains(words), "{reply}");
    }
    let number = client.line(&begin(json!(["1,0,0"])))["exploration"].clone();
    let tried = json!({ "op": "tried", "exploration": number, "number": 4, "trace": { "requests": [], "sources": [], "missed": [], "digest": "" } });
    assert_eq!(client.raw(&tried.to_string()), None);
    let next = json!({ "op": "next", "exploration": number, "count": 3 });
    assert!(client.line(&next)["error"].as_str().unwrap().contains("plan 4 of the exploration is not open"));
    let plain = client.line(&next);
    assert_eq!((&plain["plans"][0]["decisions"], &plain["plans"][1]), (&json!([]), &Value::Null));
}

#[test]
fn g_2_a_further_prompt_is_answered_although_the_scenario_is_used_up() {
    let mut client = ScriptedClient::new(TWO);
    client.open(&json!({ "plan": "[plan]\nfollow_up = \"Go on.\"\n" }));
    client.scenario_run();
    client.note(&json!({ "kind": "prompt", "prompt": 2, "text": "Go on." }));
    client.say("assistant", &"Hello, twice.".into());
    client.say("user", &"Go on.".into());
    let answer = client.request();
    assert_eq!(answer["head"]["status"], 200);
    client.read(&answer);
    client.note(&json!({ "kind": "terminal", "prompt": 2, "how": "ok" }));
    assert_eq!(failures(&client.end()), [""; 0]);
}

#[test]
fn m_8_another_act_than_the_scenarios_excuses_the_scenarios_interrupt() {
    let scenario = format!("{TWO}[[interrupt]]\nkind = \"cancel\"\nwhen = {{ tool = \"Read\", state = \"executing\" }}\n");
    let cancelled = |members: Value| {
        let mut client = ScriptedClient::new(&scenario);
        client.open(&members);
        client.prompt();
        let answer = client.request();
        client.at = answer["head"]["at"].as_u64().unwrap();
        client.seen = 1;
        if members != json!({}) {
            client.note(&json!({ "kind": "boundary", "boundary": "answer 1 head + 1" }));
        }
        client
    };
    let missed = "[[interrupt]] 1 did not happen: its moment never came, or the client cannot do it";
    assert!(failures(&cancelled(json!({})).end()).contains(&missed.into()));
    let mut swept = cancelled(json!({}));
    swept.note(&json!({ "kind": "cancel" }));
    assert_eq!(failures(&swept.end()), [""; 0], "an act that no plan has");
    let plan = "[[plan.interrupt]]\nboundary = \"answer 1 head + 1\"\nkind = \"cancel\"\n";
    let mut planned = cancelled(json!({ "plan": plan }));
    planned.note(&json!({ "kind": "cancel" }));
    assert_eq!(failures(&planned.end()), [""; 0]);
}

#[test]
fn k_6_a_new_prompt_is_no_early_attempt_of_the_last_one() {
    let early = |is_prompted: bool| {
        let mut client = ScriptedClient::new(TWO);
        client.open(&json!({ "plan": "[[plan.fault]]\nrequest = \"1\"\nkind = \"rate_limit\"\n" }));
        client.prompt();
        let answer = client.request();
        client.read(&answer);
        if is_prompted {
            client.note(&json!({ "kind": "terminal", "prompt": 1, "how": "error", "text": "RateLimitError" }));
            client.note(&json!({ "kind": "prompt", "prompt": 2, "text": "What do both files say?" }));
        }
        client.request();
        failures(&client.end()).iter().any(|failure| failure.contains("too early"))
    };
    assert_eq!([early(false), early(true)], [true, false]);
}
