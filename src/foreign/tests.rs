//! Clients in virtual time, line by line.

mod exploration;
mod rules;

use serde_json::{Value, json};
use std::vec::Vec;

use crate::line_host::{LineHost, OpenedScenario};
use crate::lines::OpenLine;
use reenact_engine::random::Seed;
use reenact_scenario::parse;
use reenact_wire::prelude::*;
use reenact_world::setup::RunSetup;

const TWO: &str = r#"
[[prompt]]
text = "What do both files say?"
[[prompt.turn]]
text = "I look."
tool = [{ name = "Read", input = { file_path = "a" } }, { name = "Read", input = { file_path = "b" } }]
[[prompt.turn]]
text = "Hello, twice."
[[tool]]
name = "Read"
safe = true
latency = "40ms"
result = "hello"
"#;

/// A client that is written for one scenario.
struct ScriptedClient {
    host: LineHost,
    scenario: String,
    run: u64,
    at: u64,
    seen: u64,
    messages: Vec<Value>,
}

impl ScriptedClient {
    fn new(scenario: &str) -> Self {
        let host = LineHost::default();
        let mut client = Self { host, scenario: scenario.into(), run: 0, at: 0, seen: 0, messages: Vec::new() };
        client.open(&json!({}));
        client
    }

    /// Opens a run with further members; returns the reply.
    fn open(&mut self, members: &Value) -> Value {
        let mut line = json!({ "op": "open", "protocol": 1, "scenario": "x.toml" });
        line.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let opened = self.line(&line);
        (self.run, self.at, self.seen) = (opened["run"].as_u64().unwrap_or_default(), 0, 0);
        self.messages.clear();
        opened
    }

    fn raw(&mut self, text: &str) -> Option<Value> {
        let scenario = self.scenario.clone();
        self.host.line(text, &mut |line: &OpenLine| {
            let seed: Vec<(String, String)> = line.seed.iter().map(|seed| ("seed".into(), format!("\"{seed}\""))).collect();
            let file = parse::scenario("x.toml", &scenario, &seed).map_err(|error| error.to_string())?;
            let (mut parsed, places) = (file.scenario, file.places);
            if let Some(text) = &line.plan {
                parsed.plan = parse::plan("plan", text).map_err(|error| error.to_string())?;
            }
            let setup = RunSetup::new(parsed, None).map_err(|error| error.to_string())?;
            Ok(OpenedScenario { setup: Arc::new(setup), places, warnings: Vec::new() })
        })
    }

    fn line(&mut self, line: &Value) -> Value {
        self.raw(&line.to_string()).expect("a reply")
    }

    /// The members that each line of a run has.
    fn with_moment(&self, op: &str, members: &Value) -> Value {
        let mut line = json!({ "op": op, "run": self.run, "at": self.at, "seen": self.seen });
        line.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        line
    }

    fn note(&mut self, members: &Value) {
        let line = self.with_moment("note", members);
        assert_eq!(self.raw(&line.to_string()), None);
    }

    fn request(&mut self) -> Value {
        let tool = json!({ "name": "Read", "description": "Reads.", "input_schema": { "type": "object" } });
        let body = json!({ "model": "claude-sonnet-4-5", "max_tokens": 9, "stream": true, "tools": [tool], "messages": self.messages });
        let headers = json!([["X-Api-Key", "k"], ["anthropic-version", "2023-06-01"]]);
        let line = json!({ "method": "POST", "path": "/v1/messages", "headers": headers, "body": body.to_string() });
        let line = self.with_moment("request", &line);
        self.line(&line)
    }

    /// Goes to the end of an answer.
    fn read(&mut self, answer: &Value) {
        self.seen += 2 + answer["pieces"].as_array().unwrap().len() as u64;
        self.at = answer["end"]["at"].as_u64().unwrap();
    }

    fn say(&mut self, role: &str, content: &Value) {
        self.messages.push(json!({ "role": role, "content": content }));
    }

    fn prompt(&mut self) {
        let text = "What do both files say?";
        self.note(&json!({ "kind": "prompt", "prompt": 1, "text": text }));
        self.say("user", &text.into());
    }

    fn end(&mut self) -> Value {
        let line = self.with_moment("end", &json!({ "transcript": true }));
        self.line(&line)
    }

    /// The model's first answer, and the results of its tools.
    fn first_turn(&mut self) {
        let answer = self.request();
        self.read(&answer);
        self.say("assistant", &json!([{ "type": "text", "text": "I look." }, call("toolu_1", "a"), call("toolu_2", "b")]));
    }

    fn tool(&mut self, id: &str) -> Value {
        let line = self.with_moment("tool", &json!({ "id": id, "name": "Read", "input": {} }));
        self.line(&line)
    }

    /// The whole run, as it should be.
    fn whole_run(&mut self) -> Value {
        self.scenario_run();
        self.end()
    }

    /// The same without its end.
    fn scenario_run(&mut self) {
        self.prompt();
        self.first_turn();
        let tools: Vec<Value> = IDS.iter().map(|id| self.tool(id)).collect();
        self.at = tools[0]["ends_at"].as_u64().unwrap();
        self.seen += 2;
        let result = |id: &&str| json!({ "type": "tool_result", "tool_use_id": id, "content": tools[0]["content"] });
        self.say("user", &IDS.iter().map(result).collect());
        let answer = self.request();
        self.read(&answer);
        self.note(&json!({ "kind": "terminal", "prompt": 1, "how": "ok" }));
    }
}

/// The ids that the scenario's answers have.
const IDS: [&str; 2] = ["toolu_p1t1n1", "toolu_p1t1n2"];

fn call(id: &str, file: &str) -> Value {
    let id = if id == "toolu_1" { IDS[0] } else { IDS[1] };
    json!({ "type": "tool_use", "id": id, "name": "Read", "input": { "file_path": file } })
}

fn failures(verdict: &Value) -> Vec<String> {
    verdict["failures"].as_array().unwrap().iter().map(|failure| failure.as_str().unwrap().to_string()).collect()
}

#[test]
fn g_1_a_run_goes_over_the_lines_and_is_fine() {
    let mut client = ScriptedClient::new(TWO);
    let verdict = client.whole_run();
    assert_eq!(failures(&verdict), [""; 0]);
    assert_eq!(verdict["is_fine"], true);
    let transcript = verdict["transcript"].as_str().unwrap();
    for line in ["prompt 1 ", "tool starts ", "tool ends ", "request 2 ", "prompt ends ", "idle "] {
        assert!(transcript.contains(line), "{line:?} is not in:\n{transcript}");
    }
}

#[test]
fn g_2_the_choices_of_a_run_make_it_again_under_another_seed() {
    let mut client = ScriptedClient::new(TWO);
    let known = client.whole_run();
    client.open(&json!({ "seed": 9 }));
    let drawn = client.whole_run();
    assert_ne!(drawn["digest"], known["digest"]);
    client.open(&json!({ "seed": 9, "plan": known["plan"] }));
    let planned = client.whole_run();
    assert_eq!(planned["transcript"], known["transcript"]);
    assert_eq!(planned["digest"], known["digest"]);
}

#[test]
fn g_2_a_tool_use_without_a_result_breaks_o_1_and_is_told_once() {
    let mut client = ScriptedClient::new(TWO);
    client.prompt();
    client.first_turn();
    client.say("user", &"Go on.".into());
    let answer = client.request();
    assert_eq!(answer["head"]["status"], 400);
    client.read(&answer);
    let verdict = client.end();
    assert_eq!(verdict["violations"][0]["rule"], "O-1");
    assert!(verdict["violations"][0]["group"].as_str().unwrap().starts_with("O-1: the API refuses request #"));
    let of_pairs = failures(&verdict).into_iter().filter(|failure| failure.contains("tool_result")).count();
    assert_eq!(of_pairs, 1, "{:?}", failures(&verdict));
}

#[test]
fn g_2_rules_without_their_notes_are_said_not_to_be_asked() {
    let mut client = ScriptedClient::new(TWO);
    client.say("user", &"What do both files say?".into());
    client.first_turn();
    let verdict = client.end();
    let asked: Vec<&str> = verdict["rules"]["asked"].as_array().unwrap().iter().map(|rule| rule.as_str().unwrap()).collect();
    assert_eq!(asked, ["O-1", "O-6", "O-10", "O-21"]);
    assert_eq!(verdict["rules"]["not_asked"]["notes of `tool_start`"], json!(["O-17"]));
    assert_eq!(verdict["rules"]["not_asked"]["notes of `prompt` and `terminal`"], json!(["O-8"]));
}

#[test]
fn g_2_what_a_client_says_of_itself_breaks_rules() {
    let mut client = ScriptedClient::new(TWO);
    client.prompt();
    client.first_turn();
    client.tool(IDS[0]);
    client.tool(IDS[0]);
    client.note(&json!({ "kind": "prompt", "prompt": 2, "text": "?" }));
    client.note(&json!({ "kind": "terminal", "prompt": 1, "how": "error", "text": "ValueError" }));
    client.note(&json!({ "kind": "deadlock", "text": "prompt in agent.py:3" }));
    client.note(&json!({ "kind": "left_task", "text": "worker" }));
    client.note(&json!({ "kind": "open_connection", "answer": 1 }));
    let told = failures(&client.end()).join("\n");
    for words in [
        "O-17: tool use toolu_p1t1n1 of Read is started a second time",
        "O-8: prompt 2 has no terminal at the end",
        "O-19: nothing is left to happen, and the client waits: prompt in agent.py:3",
        "O-27: at the end of the run a task still runs: worker",
        "O-27: at the end of the run the connection of answer 1 is open",
        "O-27: tool use toolu_p1t1n1 of Read still runs at the end of the run",
        "prompt 1 fails: ValueError",
    ] {
        assert!(told.contains(words), "{words:?} is not in:\n{told}");
    }
}

#[test]
fn g_1_what_a_client_closes_it_does_not_get() {
    let mut client = ScriptedClient::new(TWO);
    client.prompt();
    let answer = client.request();
    client.seen = 3;
    client.at = answer["pieces"][1][0].as_u64().unwrap();
    let closed = client.with_moment("closed", &json!({ "answer": 1 }));
    assert_eq!(client.raw(&closed.to_string()), None);
    client.at = answer["end"]["at"].as_u64().unwrap();
    let verdict = client.end();
    assert_eq!(verdict["requests"][0]["pieces"], 2);
    assert_eq!(verdict["requests"][0]["end"], "the client left");
    client.open(&json!({}));
    let closed = client.with_moment("closed", &json!({ "answer": 5 }));
    assert_eq!(client.raw(&closed.to_string()), None);
    let told = client.end();
    assert_eq!(told["error"], "there is no answer 5: this run has 0 answers", "the next reply tells it");
}

#[test]
fn g_1_wrong_lines_are_told_and_leave_the_run_as_it_is() {
    let mut client = ScriptedClient::new(TWO);
    for (line, words) in [
        (json!({ "op": "dance" }), "unknown variant `dance`"),
        (json!({ "op": "open", "protocol": 2, "scenario": "x" }), "speaks version 1"),
        (json!({ "op": "end", "run": 77, "at": 0 }), "no open run 77"),
        (json!({ "op": "end", "at": 0 }), "missing field `run`"),
        (json!({ "op": "tool", "run": 1, "at": 0, "seen": 4, "id": "t", "name": "Read" }), "only 0 are under way"),
        (json!({ "op": "note", "run": 1, "at": 0, "kind": "yawn" }), "unknown variant `yawn`"),
    ] {
        let told = client.line(&line);
        assert!(told["error"].as_str().unwrap().contains(words), "{told}");
    }
    assert!(client.raw("{").unwrap()["error"].as_str().unwrap().contains("EOF"));
    assert_eq!(client.whole_run()["is_fine"], true);
}

#[test]
fn m_8_an_interrupt_at_a_stream_event_is_told_with_the_answer_that_has_it() {
    let moment = "[[interrupt]]\nkind = \"cancel\"\nwhen = { event = \"content_block_stop\", nth = 2 }\n";
    let mut client = ScriptedClient::new(&format!("{TWO}{moment}"));
    client.prompt();
    let answer = client.request();
    let boundary = answer["acts"][0]["boundary"].as_str().unwrap().to_string();
    let nth: usize = boundary.trim_start_matches("answer 1 piece ").trim_end_matches(" + 0").parse().unwrap();
    assert!(answer["pieces"][nth - 1][1].as_str().unwrap().contains("content_block_stop"), "{boundary}");
    client.read(&answer);
    let missed = "[[interrupt]] 1 did not happen: its moment never came, or the client cannot do it";
    assert!(failures(&client.end()).contains(&missed.into()));
    client.open(&json!({}));
    client.prompt();
    let answer = client.request();
    client.seen = 1 + nth as u64;
    client.at = answer["pieces"][nth - 1][0].as_u64().unwrap();
    client.note(&json!({ "kind": "cancel" }));
    let verdict = client.end();
    assert_eq!(failures(&verdict), [""; 0]);
    assert!(verdict["transcript"].as_str().unwrap().contains("cancels"));
}

#[test]
fn m_8_interrupts_of_tools_and_times_are_told() {
    let tools = "[[interrupt]]\nkind = \"interrupt\"\nwhen = { tool = \"Read\", state = \"completed\", nth = 2 }\ntext = \"Stop.\"\n";
    let mut client = ScriptedClient::new(&format!("{TWO}{tools}[[interrupt]]\nkind = \"cancel\"\nat = \"1s\"\n"));
    let opened = client.open(&json!({}));
    assert_eq!(opened["watches"], json!(["tools"]));
    assert_eq!(opened["interrupts"], json!([{ "kind": "cancel", "at": 1_000_000 }]));
    client.prompt();
    client.first_turn();
    assert_eq!(client.tool(IDS[0])["acts"], json!([]));
    let acts = client.tool(IDS[1])["acts"].clone();
    assert_eq!(acts, json!([{ "kind": "message", "text": "Stop.", "boundary": format!("tool {} end + 0", IDS[1]) }]));
}

#[test]
fn g_4_a_plan_names_a_boundary_and_what_follows() {
    let mut client = ScriptedClient::new(TWO);
    let plan = "[[plan.interrupt]]\nboundary = \"answer 1 piece 3 + 2\"\nkind = \"cancel\"\nthen = \"Go on.\"\nat_once = true\n";
    let opened = client.open(&json!({ "plan": plan }));
    let act = json!({ "kind": "cancel", "boundary": "answer 1 piece 3 + 2", "then": "Go on.", "at_once": true });
    assert_eq!(opened["interrupts"], json!([act]));
    let verdict = client.whole_run();
    let missed = "the plan's interrupt did not happen: the client came to no boundary answer 1 piece 3 + 2";
    assert_eq!(failures(&verdict), [missed]);
    let kept = verdict["plan"].as_str().unwrap().to_string();
    assert!(kept.contains("boundary = \"answer 1 piece 3 + 2\""), "{kept}");
    let faults = client.open(&json!({ "plan": "[plan.faults]\n\"1 529 overloaded_error\" = true\n" }));
    assert_eq!(faults["interrupts"], json!([]), "its names are those of another scenario");
    let wrong = client.open(&json!({ "plan": "[[plan.interrupt]]\nkind = \"cancel\"\n" }));
    assert!(wrong["error"].as_str().unwrap().contains("needs `event`"), "{wrong}");
}

#[test]
fn m_6_pieces_that_are_no_text_come_in_base64() {
    let scenario = TWO.replace("I look.", "čšž €").replace("[[prompt]]", "chunking = \"bytes\"\n[[prompt]]");
    let mut client = ScriptedClient::new(&scenario);
    client.prompt();
    let answer = client.request();
    let pieces = answer["pieces"].as_array().unwrap();
    assert!(pieces.iter().any(|piece| piece[1]["base64"].is_string()));
    assert!(pieces.iter().any(|piece| piece[1].is_string()));
    client.read(&answer);
    assert_eq!(client.end()["requests"][0]["end"], "complete", "all of them are delivered");
}

#[test]
fn g_1_whatever_lines_come_each_that_waits_gets_one_reply() {
    let mut client = ScriptedClient::new(TWO);
    let seeds = 200;
    for seed in 0..seeds {
        let mut draws = Seed(seed).draws("lines", "");
        client.open(&json!({}));
        client.say("user", &"Hello?".into());
        for _ in 0..30 {
            client.at += draws.below(700_000);
            client.seen = draws.below(2) * (client.seen + draws.below(4));
            let answer = draws.below(4);
            let id = IDS[usize::try_from(draws.below(2)).unwrap()];
            let how = ["ok", "error", "stopped"][usize::try_from(draws.below(3)).unwrap()];
            let (op, members) = match draws.below(12) {
                0 => ("closed", json!({ "answer": answer })),
                1 => ("tool", json!({ "id": id, "name": "Read" })),
                2 => ("note", json!({ "kind": "tool_end", "id": id, "how": how, "reply": draws.below(2) == 1 })),
                3 => ("note", json!({ "kind": "terminal", "prompt": answer, "how": how })),
                4 => ("note", json!({ "kind": "cancel", "reply": true })),
                5 => ("note", json!({ "kind": "message", "text": "Stop." })),
                6 => ("note", json!({ "kind": "prompt", "prompt": answer, "text": "Hello?" })),
                7 => ("request", json!({ "method": "GET", "path": "/v1/models" })),
                8 => ("request", json!({ "method": "POST", "path": "/v1/messages", "body": "?" })),
                _ => {
                    client.request();
                    continue;
                }
            };
            let line = client.with_moment(op, &members);
            let waits = matches!(op, "tool" | "request") || members["reply"] == true;
            assert_eq!(client.raw(&line.to_string()).is_some(), waits, "seed {seed}: {line}");
        }
        client.seen = 0;
        client.end();
    }
}
