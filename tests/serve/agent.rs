//! An agent in as few lines as it takes, for tests of the judge: this test program, started again. `AGENT_DEFECT` switches one defect on.
//!
//! It asks over HTTP, runs shell commands, keeps its session in the form of cline's, and obeys SIGINT and SIGTERM: it stops its command, answers the
//! open calls, stores all, and ends with 130 or 143.

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};

/// All defects, each with the words by which a sweep tells it.
pub(super) const DEFECTS: [(&str, &str); 20] = [
    ("no-result", "O-1: "),
    ("doubled-result", "O-2: "),
    (
        "text-before-result",
        "O-1: in the stored session, the result of tool call toolu_look of message 1 stands at message 2, behind what is said at message 2",
    ),
    ("never-saved", "K-9: no file is where the profile has the sessions, {home}/agent/*.messages.json; <home>/agent/ holds nothing"),
    ("saved-at-the-end", "O-24: the user's message “Please look around here.” of request 1 is lost"),
    ("asks-on", "O-11: the client asks on after SIGINT"),
    ("ends-well", "the exit code is 0, and the profile has 130"),
    ("stop-untold", "O-20: tool call toolu_look was stopped by SIGINT, and its result in request"),
    ("resumed-prompt-not-saved", "O-24: the user's message “Go on.” of request"),
    ("forks", "K-9: the resumed run stores a session that begins anew"),
    ("resumed-ends-badly", "K-9: the resumed run got answer"),
    ("runs-again", "K-9: the resumed run runs the command of tool call toolu_look again, unasked"),
    ("part-twice", "O-28: request"),
    ("half-call", "O-28: tool call toolu_look broke off before it was whole"),
    ("prompt-lost", "O-24: the user's message"),
    ("answer-lost", "O-24: the text"),
    ("denies-the-start", "O-20: "),
    ("runs-on", "K-9: the command of tool call"),
    ("leaves-a-child", "K-9: the client left processes behind"),
    ("prints-twice", "the output has a text of the model 2 times"),
];

/// The name of the test that is started as the agent.
pub(super) const TEST: &str = "agent::is_started_by_other_tests";

#[expect(clippy::disallowed_methods, reason = "the agent is told by its environment what to do")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[test]
fn is_started_by_other_tests() {
    if let Some(defect) = variable("AGENT_DEFECT") {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        std::process::exit(runtime.block_on(run(defect)));
    }
}

struct Agent {
    defect: String,
    file: PathBuf,
    messages: Vec<Value>,
    /// The process group of the command that runs.
    command: Option<i32>,
    /// The blocks that have come of the answer that is under way.
    part: Vec<Value>,
    is_resumed: bool,
}

async fn run(defect: String) -> i32 {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt()).unwrap(), signal(SignalKind::terminate()).unwrap());
    let (session, folder) = (variable("AGENT_SESSION").unwrap_or_default(), PathBuf::from(variable("HOME").unwrap()).join("agent"));
    let is_resumed = !session.is_empty();
    std::fs::create_dir_all(&folder).unwrap();
    let session = if is_resumed { session } else { String::from("s1") };
    let file = folder.join(format!("{session}.messages.json"));
    let mut agent = Agent { defect, file, messages: Vec::new(), command: None, part: Vec::new(), is_resumed };
    if let Some(stored) = std::fs::read(&agent.file).ok().filter(|_| is_resumed) {
        agent.messages = serde_json::from_slice::<Value>(&stored).unwrap()["messages"].as_array().unwrap().clone();
    }
    if is_resumed && agent.is("forks") {
        agent.file = folder.join("s2.messages.json");
    }
    if is_resumed && agent.is("runs-again") {
        agent.run_command("touch started.txt").await;
    }
    agent.answer_open_calls("The session ended before this call's result was recorded.");
    agent.say_as_user(vec![json!({ "type": "text", "text": variable("AGENT_PROMPT").unwrap() })]);
    if !agent.is("prompt-lost") {
        agent.save();
    }
    let is_deaf = agent.is("asks-on");
    let code = tokio::select! {
        done = agent.work() => done,
        _ = interrupt.recv(), if !is_deaf => 130,
        _ = terminate.recv() => 143,
    };
    if code >= 130 {
        agent.stop().await;
    }
    let code = match &*agent.defect {
        "ends-well" if code >= 130 => 0,
        "resumed-ends-badly" if is_resumed => 3,
        _ => code,
    };
    println!("{}", json!({ "type": "result", "is_error": code != 0 }));
    code
}

impl Agent {
    fn is(&self, defect: &str) -> bool {
        self.defect == defect
    }

    async fn work(&mut self) -> i32 {
        loop {
            let Some(content) = self.ask_again().await else { return 1 };
            if self.is("takes-its-time") {
                tokio::time::sleep(std::time::Duration::from_millis(200)).await;
            }
            for text in content.iter().filter_map(|block| block["text"].as_str()) {
                let times = if self.is("prints-twice") { 2 } else { 1 };
                (0..times).for_each(|_| println!("{}", json!({ "type": "assistant", "text": text })));
            }
            self.part.clear();
            self.messages.push(json!({ "role": "assistant", "content": content }));
            self.save();
            let calls: Vec<Value> = content.into_iter().filter(|block| block["type"] == "tool_use").collect();
            if calls.is_empty() {
                return 0;
            }
            let mut outputs = Vec::new();
            for call in &calls {
                outputs.push(self.run_command(call["input"]["command"].as_str().unwrap()).await);
            }
            match &*self.defect {
                "swaps-results" => outputs.reverse(),
                "shares-results" => outputs = vec![outputs.concat(); outputs.len()],
                _ => (),
            }
            for (call, output) in calls.iter().zip(outputs) {
                self.say_as_user(vec![json!({ "type": "tool_result", "tool_use_id": call["id"], "content": output })]);
                self.save();
            }
        }
    }

    /// The answer of one of three attempts.
    async fn ask_again(&mut self) -> Option<Vec<Value>> {
        let messages = self.messages.clone();
        for _ in 0..3 {
            if let Some(content) = self.ask().await {
                self.messages = messages;
                return Some(content);
            }
            let last = self.messages.last_mut().unwrap()["content"].as_array_mut().unwrap();
            match &*self.defect {
                "drops-a-result" => drop(last.pop()),
                "empties-results" => last.iter_mut().for_each(|result| result["content"] = json!("")),
                _ => (),
            }
        }
        None
    }

    async fn run_command(&mut self, command: &str) -> String {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let child = Command::from(shell).spawn().unwrap();
        self.command = child.id().map(|id| i32::try_from(id).unwrap());
        let output = child.wait_with_output().await.unwrap();
        self.command = None;
        format!("{}ended with {}", String::from_utf8_lossy(&output.stdout), output.status.code().unwrap_or(-1))
    }

    /// The work that is left when the user interrupts.
    async fn stop(&mut self) {
        let group = self.command.and_then(rustix::process::Pid::from_raw);
        match (group, &*self.defect) {
            // It waits for the command in place of ending it.
            (Some(group), "runs-on") => {
                while rustix::process::test_kill_process_group(group).is_ok() {
                    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                }
            }
            (Some(_), "leaves-a-child") | (None, _) => (),
            (Some(group), _) => _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL),
        }
        match &*self.defect {
            "no-result" => (),
            "answer-lost" => self.messages.retain(|message| message["role"] != "assistant"),
            "text-before-result" => {
                self.say_as_user(vec![json!({ "type": "text", "text": "[Interrupted]" })]);
                self.answer_open_calls("interrupted");
            }
            "stop-untold" => {
                let last = self.messages.last().unwrap()["content"].as_array().unwrap().clone();
                for call in last.iter().filter(|block| block["type"] == "tool_use") {
                    self.say_as_user(vec![json!({ "type": "tool_result", "tool_use_id": call["id"], "content": "ended" })]);
                }
            }
            "part-twice" => {
                let text = self.part.iter().find(|block| block["type"] == "text").map(|block| block["text"].clone());
                if let Some(text) = text.filter(|text| text.as_str().is_some_and(|text| !text.is_empty())) {
                    let block = json!({ "type": "text", "text": text });
                    self.messages.push(json!({ "role": "assistant", "content": [block.clone(), block] }));
                }
                self.answer_open_calls("interrupted");
            }
            "half-call" => {
                let call = self.part.iter().find(|block| block["type"] == "tool_use").cloned();
                self.messages.extend(call.map(|call| json!({ "role": "assistant", "content": [call] })));
                self.answer_open_calls("interrupted");
            }
            "denies-the-start" => self.answer_open_calls("The tool was not executed."),
            _ => self.answer_open_calls("interrupted"),
        }
        if !self.is("prompt-lost") || self.messages.len() > 1 {
            self.save();
        }
    }

    fn answer_open_calls(&mut self, text: &str) {
        let blocks = || self.messages.iter().flat_map(|message| message["content"].as_array().unwrap());
        let is_open = |call: &&Value| call["type"] == "tool_use" && !blocks().any(|block| block["tool_use_id"] == call["id"]);
        let result = |call: &Value| json!({ "type": "tool_result", "tool_use_id": call["id"], "content": text, "is_error": true });
        let mut results: Vec<Value> = blocks().filter(is_open).map(result).collect();
        if self.is("doubled-result") {
            results.extend(results.clone());
        }
        if !results.is_empty() && !self.is("no-result") {
            self.say_as_user(results);
        }
    }

    fn say_as_user(&mut self, blocks: Vec<Value>) {
        match self.messages.last_mut().filter(|last| last["role"] == "user") {
            Some(last) => last["content"].as_array_mut().unwrap().extend(blocks),
            None => self.messages.push(json!({ "role": "user", "content": blocks })),
        }
    }

    fn save(&self) {
        let is_over = self.messages.last().is_some_and(|last| last["role"] == "assistant" && !last.to_string().contains("tool_use"));
        if self.is("never-saved") || self.is("saved-at-the-end") && !is_over {
            return;
        }
        let mut messages = self.messages.clone();
        if self.is_resumed && self.is("resumed-prompt-not-saved") {
            messages.iter_mut().for_each(|message| message["content"].as_array_mut().unwrap().retain(|block| block["text"] != "Go on."));
            messages.retain(|message| message["content"] != json!([]));
        }
        if self.is_resumed && self.is("forks") {
            let from = messages.iter().rposition(|message| message["role"] == "user").unwrap();
            messages.drain(..from);
            messages[0]["content"].as_array_mut().unwrap().retain(|block| block["text"] == "Go on.");
        }
        let whole = json!({ "sessionId": self.file.file_stem().unwrap().to_str(), "messages": messages });
        let new = self.file.with_extension("new");
        std::fs::write(&new, whole.to_string()).unwrap();
        std::fs::rename(new, &self.file).unwrap();
    }

    /// The content of the next answer; `None` when it does not come whole.
    async fn ask(&mut self) -> Option<Vec<Value>> {
        let body = json!({
            "model": "claude-sonnet-4-5", "max_tokens": 1000, "stream": true, "messages": self.messages,
            "tools": [{ "name": "Bash", "description": "runs a command", "input_schema": { "type": "object" } }],
        })
        .to_string();
        let host = variable("ANTHROPIC_BASE_URL")?.strip_prefix("http://")?.to_owned();
        let mut stream = TcpStream::connect(&host).await.ok()?;
        let head = format!(
            "POST /v1/messages HTTP/1.1\r\nhost: {host}\r\nx-api-key: {}\r\nanthropic-version: 2023-06-01\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            variable("ANTHROPIC_API_KEY")?,
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).await.ok()?;
        let (mut lines, mut blocks, mut inputs) = (BufReader::new(stream).lines(), Vec::<Value>::new(), Vec::<String>::new());
        let mut is_whole = false;
        // Lines that are no data are heads, names of events, and sizes of chunks.
        while let Ok(Some(line)) = lines.next_line().await {
            let Some(event) = line.strip_prefix("data: ").and_then(|data| serde_json::from_str::<Value>(data).ok()) else { continue };
            match event["type"].as_str()? {
                "content_block_start" => {
                    blocks.push(event["content_block"].clone());
                    inputs.push(String::new());
                }
                "content_block_delta" => {
                    let part = event["delta"]["text"].as_str().or(event["delta"]["partial_json"].as_str()).unwrap_or_default();
                    inputs.last_mut()?.push_str(part);
                    self.part = blocks.clone();
                    if blocks.last()?["type"] == "text" {
                        self.part.last_mut()?["text"] = json!(inputs.last()?);
                    }
                }
                "error" if self.is("leaves-at-an-error") => return Some(self.part.clone()),
                "message_stop" => {
                    for (block, input) in blocks.iter_mut().zip(&inputs) {
                        match block["type"].as_str()? {
                            "tool_use" => block["input"] = serde_json::from_str(input).unwrap_or(json!({})),
                            _ => block["text"] = json!(input),
                        }
                    }
                    is_whole = true;
                }
                _ => (),
            }
        }
        is_whole.then_some(blocks)
    }
}
