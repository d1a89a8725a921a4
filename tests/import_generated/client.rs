//! A client that is made up at random, and what it asks and is answered: as a list of entries of a HAR file.

#[path = "stream.rs"]
mod stream;

use serde_json::{Map, Value, json};

use self::stream::streamed;

/// Random numbers that are the same on every machine (`splitmix64`).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    /// Whether something happens of which so many in a hundred do.
    fn hits(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[usize::try_from(self.below(choices.len() as u64)).unwrap()]
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Manner {
    Joined,
    Apart,
    ApartWithResults,
}

/// The change that the client makes to an answer before it sends it back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Client {
    Faithful,
    /// Now and then it sends something else, or results in another order.
    Changing,
    /// Now and then it sends what is not a request, and the API refuses it.
    Broken,
}

/// One conversation of a client.
struct Talk {
    manner: Manner,
    client: Client,
    /// All of the request but its messages.
    members: Map<String, Value>,
    messages: Vec<Value>,
    /// The tools that it may be offered.
    tools: Vec<Value>,
    container: Option<String>,
    /// Whether it sets cache breakpoints.
    is_cached: bool,
    /// Whether it asks for a whole answer after a stream that broke off.
    is_unstreamed_again: bool,
}

/// The recording, and what is known of it.
pub(super) struct Recording {
    dice: Dice,
    pub(super) entries: Vec<Value>,
    /// Numbers that make texts and ids differ.
    count: u64,
    /// Whether something was sent that is not a request.
    pub(super) is_broken: bool,
}

impl Recording {
    fn fresh(&mut self, word: &str) -> String {
        self.count += 1;
        format!("{word} {}", self.count)
    }

    fn text(&mut self, word: &str) -> Value {
        json!({ "type": "text", "text": self.fresh(word) })
    }

    /// The blocks of the API's own search.
    fn search(&mut self) -> Vec<Value> {
        let id = self.fresh("srvtoolu").replace(' ', "_");
        let found = json!({ "type": "web_search_result", "url": "https://x.example", "title": self.fresh("found"), "encrypted_content": "Eo8C", "page_age": null });
        let citation = json!({ "type": "web_search_result_location", "url": "https://x.example", "title": "x", "encrypted_index": "Eo8C", "cited_text": self.fresh("cited") });
        vec![
            json!({ "type": "server_tool_use", "id": id, "name": "web_search", "input": { "query": self.fresh("what") } }),
            json!({ "type": "web_search_tool_result", "tool_use_id": id, "content": [found] }),
            json!({ "type": "text", "text": self.fresh("it is said"), "citations": [citation] }),
        ]
    }

    fn image(&mut self) -> Value {
        json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": format!("iVBORw0KGgo{:04}", self.below(9_999)) } })
    }

    fn below(&mut self, end: u64) -> u64 {
        self.dice.below(end)
    }

    /// Sends a request and records what comes back.
    fn exchange(&mut self, body: &Value, status: u16, answer: &Value) {
        let is_stream = status == 200 && body["stream"] == json!(true);
        match is_stream {
            true => self.record("", body, status, ("text/event-stream", streamed(answer))),
            false => self.record("", body, status, ("application/json", answer.to_string())),
        }
    }

    fn record(&mut self, path: &str, body: &Value, status: u16, (kind, text): (&str, String)) {
        let url = format!("https://api.anthropic.com/v1/messages{path}");
        self.entries.push(json!({
            "request": { "method": "POST", "url": url, "headers": [], "postData": { "text": body.to_string() } },
            "response": { "status": status, "headers": [{ "name": "content-type", "value": kind }], "content": { "text": text } },
        }));
    }

    /// Clients look whether the service is there, and browsers whether they may ask.
    fn looks(&mut self) {
        let (method, path) = *self.dice.pick(&[("HEAD", "/"), ("OPTIONS", "/v1/messages"), ("GET", "/v1/messages")]);
        let status = *self.dice.pick(&[200, 204, 404, 405]);
        self.entries.push(json!({
            "request": { "method": method, "url": format!("https://api.anthropic.com{path}"), "headers": [] },
            "response": { "status": status, "headers": [], "content": {} },
        }));
    }

    /// A request to which nothing comes.
    fn unanswered(&mut self, body: &Value) {
        self.record("", body, 0, ("", String::new()));
    }

    /// An answer with this content.
    fn message(&mut self, model: &Value, content: &[Value], stop_reason: &str, container: Option<&str>) -> Value {
        let mut message = json!({
            "id": self.fresh("msg").replace(' ', "_"), "type": "message", "role": "assistant", "model": model, "content": content,
            "stop_reason": stop_reason, "stop_sequence": null, "usage": { "input_tokens": 3, "output_tokens": 4 },
        });
        if let Some(id) = container {
            message["container"] = json!({ "id": id, "expires_at": "2026-01-01T00:00:00Z" });
        }
        message
    }
}

impl Talk {
    fn new(recording: &mut Recording, client: Client) -> Self {
        let manner = *recording.dice.pick(&[Manner::Joined, Manner::Apart, Manner::ApartWithResults]);
        let tool = |name: &str| json!({ "name": name, "description": name, "input_schema": { "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] } });
        let tools = ["Read", "Bash", "add", "look_up"].map(tool).to_vec();
        let mut members = Map::new();
        members.insert("model".into(), json!(recording.dice.pick(&["claude-sonnet-4-5", "claude-haiku-4-5"])));
        members.insert("max_tokens".into(), json!(recording.dice.pick(&[64, 1_024, 8_000, 16_000])));
        let mut talk = Self {
            manner,
            client,
            members,
            messages: Vec::new(),
            tools,
            container: None,
            is_cached: recording.dice.hits(40),
            is_unstreamed_again: recording.dice.hits(30),
        };
        (0..6).for_each(|_| talk.change(recording));
        // What was said in a session before.
        for _ in 0..recording.below(3) {
            let said = recording.text("earlier");
            talk.push("user", vec![said]);
            let answered = recording.text("answered earlier");
            talk.push("assistant", vec![answered]);
        }
        talk
    }

    /// Changes something of what is not said.
    fn change(&mut self, recording: &mut Recording) {
        let (name, value) = match recording.below(9) {
            0 => ("max_tokens", json!(recording.dice.pick(&[64, 1_024, 8_000, 16_000]))),
            1 => ("stream", json!(true)),
            2 => ("system", if recording.dice.hits(50) { json!(recording.fresh("system")) } else { json!([recording.text("system")]) }),
            3 => ("tools", json!(self.tools.iter().filter(|_| recording.dice.hits(60)).collect::<Vec<_>>())),
            4 => ("tool_choice", json!({ "type": recording.dice.pick(&["any", "auto"]) })),
            5 => ("thinking", json!({ "type": "enabled", "budget_tokens": 1_024 + recording.below(3) })),
            6 => ("output_config", json!({ "effort": recording.dice.pick(&["low", "high"]) })),
            7 => ("temperature", json!(0.5)),
            _ => ("model", json!(recording.dice.pick(&["claude-sonnet-4-5", "claude-haiku-4-5"]))),
        };
        let may_go = !["model", "max_tokens"].contains(&name);
        match may_go && recording.dice.hits(40) {
            true => self.members.remove(name),
            false => self.members.insert(name.into(), value),
        };
    }

    /// Adds a message in the client's manner.
    fn push(&mut self, role: &str, content: Vec<Value>) {
        if let Some(last) = self.messages.last_mut().filter(|last| self.manner == Manner::Joined && last["role"] == role) {
            let mut joined = last["content"].as_array().unwrap().clone();
            joined.extend(content);
            last["content"] = json!(joined);
            return;
        }
        self.messages.push(json!({ "role": role, "content": content }));
    }

    fn body(&self) -> Value {
        let mut body = Value::Object(self.members.clone());
        body["messages"] = json!(self.messages);
        // The breakpoint is always on what was said last.
        let last = body["messages"].as_array_mut().and_then(|messages| messages.last_mut()?["content"].as_array_mut()?.last_mut());
        if let Some(last) = last.filter(|_| self.is_cached) {
            last["cache_control"] = json!({ "type": "ephemeral" });
        }
        if let Some(id) = &self.container {
            body["container"] = json!(id);
        }
        body
    }

    /// The user says something, and the host maybe more.
    fn prompt(&mut self, recording: &mut Recording) {
        if recording.dice.hits(8) {
            let said = recording.text("before");
            self.push("system", vec![said]);
        }
        let mut said = vec![if recording.dice.hits(5) {
            json!({ "type": "text", "text": recording.fresh("/command") })
        } else {
            recording.text("prompt")
        }];
        if recording.dice.hits(15) {
            said.insert(0, recording.image());
        }
        self.push("user", said);
        if self.manner != Manner::Joined && recording.dice.hits(10) {
            let said = recording.text("once more");
            self.push("user", vec![said]);
        }
        if recording.dice.hits(8) {
            let said = recording.text("from now on");
            self.push("system", vec![said]);
        } else if recording.dice.hits(8) {
            self.push("assistant", vec![json!({ "type": "text", "text": recording.fresh("{") })]);
        }
    }

    /// Asks, and continues as clients do; whether there may be more.
    fn turn(&mut self, recording: &mut Recording) -> bool {
        if recording.dice.hits(25) {
            self.change(recording);
        }
        let mut body = self.body();
        self.attempts(recording, &body);
        match recording.below(27) {
            24 => recording.looks(),
            25 => recording.unanswered(&body),
            26 => return self.gives_up(recording, &body),
            0 => return self.fails(recording, &body),
            1 => self.same_again(recording, &body),
            2 => side_call(recording),
            3 => self.title(recording, &body),
            4 => recording.record("/count_tokens", &body, 200, ("application/json", json!({ "input_tokens": 99 }).to_string())),
            5 => {
                self.is_cut(recording, &body);
                if self.is_unstreamed_again && body["stream"] == json!(true) {
                    body.as_object_mut().unwrap().remove("stream");
                }
            }
            _ => (),
        }
        let thinking = json!({ "type": "thinking", "thinking": recording.fresh("hm"), "signature": recording.fresh("sig") });
        let thinks = recording.dice.hits(20).then_some(thinking);
        let text = recording.text("answer");
        // The API takes no words of the user's behind a system message: where one is last, an answer is kept.
        let is_kept = self.messages.last().is_some_and(|message| message["role"] == "system");
        match recording.below(16) {
            12 => {
                let found = recording.search();
                self.ends(recording, &body, &found, "end_turn");
            }
            13 => self.ends(recording, &body, &[text], "stop_sequence"),
            14 => {
                let hidden = json!({ "type": "redacted_thinking", "data": recording.fresh("EmwKAhgB") });
                self.ends(recording, &body, &[hidden, text], "end_turn");
            }
            15 if !is_kept => self.ends(recording, &body, &[text], "refusal"),
            0..=4 => self.uses_tools(recording, &body, thinks),
            5 => self.ends(recording, &body, &[text], "max_tokens"),
            6 => {
                self.ends(recording, &body, &[text], "pause_turn");
                return true;
            }
            7 if !is_kept => self.ends(recording, &body, &[], "end_turn"),
            _ => {
                let content: Vec<Value> = thinks.into_iter().chain([text]).collect();
                self.ends(recording, &body, &content, "end_turn");
            }
        }
        true
    }

    /// Attempts that fail before the one that does not.
    fn attempts(&mut self, recording: &mut Recording, body: &Value) {
        for _ in 0..if recording.dice.hits(10) { 1 + recording.below(2) } else { 0 } {
            let status = *recording.dice.pick(&[429, 500, 529]);
            recording.exchange(body, status, &json!({ "type": "error", "error": { "type": "api_error", "message": "no" } }));
        }
    }

    /// The API refuses for good; the user says something else, or that was all.
    fn fails(&mut self, recording: &mut Recording, body: &Value) -> bool {
        let error = json!({ "type": "error", "error": { "type": "invalid_request_error", "message": "no" } });
        recording.exchange(body, 400, &error);
        if recording.dice.hits(30) {
            recording.exchange(body, 400, &error);
        }
        let goes_on = self.messages.last().unwrap()["role"] == "user" && recording.dice.hits(50);
        if goes_on {
            self.prompt(recording);
        }
        goes_on
    }

    /// Another model is asked what the first words are about, with the same words.
    fn title(&mut self, recording: &mut Recording, body: &Value) {
        let asked = json!({
            "model": "claude-haiku-4-5", "max_tokens": 32, "system": "Say what it is about.", "messages": [body["messages"][0].clone()],
        });
        let title = recording.text("a title");
        let message = recording.message(&asked["model"], &[title], "end_turn", None);
        recording.exchange(&asked, 200, &message);
    }

    /// A streamed answer breaks off, and the client asks again, streamed or not.
    fn is_cut(&mut self, recording: &mut Recording, body: &Value) {
        if body["stream"] != json!(true) {
            return;
        }
        let text = recording.text("an answer that breaks");
        let message = recording.message(&body["model"], &[text], "end_turn", None);
        let whole = streamed(&message);
        let at = usize::try_from(recording.below(whole.len() as u64 / 2)).unwrap();
        let end = whole[at..].find("\n\n").map_or(at, |end| at + end + 2);
        recording.record("", body, 200, ("text/event-stream", whole[..end].to_owned()));
    }

    /// No whole answer comes, and the client leaves it at that.
    fn gives_up(&mut self, recording: &mut Recording, body: &Value) -> bool {
        match recording.below(3) {
            0 if body["stream"] == json!(true) => self.is_cut(recording, body),
            0 | 1 => recording.unanswered(body),
            _ => recording.exchange(body, 529, &json!({ "type": "error", "error": { "type": "overloaded_error", "message": "no" } })),
        }
        false
    }

    /// The same question after a success, as tests do that hold two ways of asking against each other.
    fn same_again(&mut self, recording: &mut Recording, body: &Value) {
        let text = recording.text("another answer");
        let message = recording.message(&body["model"], &[text], "end_turn", None);
        recording.exchange(body, 200, &message);
    }

    fn ends(&mut self, recording: &mut Recording, body: &Value, content: &[Value], stop_reason: &str) {
        let container = recording.dice.hits(10).then(|| recording.fresh("container").replace(' ', "_"));
        let message = recording.message(&body["model"], content, stop_reason, container.as_deref());
        recording.exchange(body, 200, &message);
        self.container = container.or(self.container.take());
        self.echo(recording, content);
        let says_nothing = stop_reason == "pause_turn" || (stop_reason == "max_tokens" && recording.dice.hits(30));
        if !says_nothing {
            self.prompt(recording);
        }
    }

    /// Sends back what was answered.
    fn echo(&mut self, recording: &mut Recording, content: &[Value]) {
        if content.is_empty() {
            return;
        }
        let mut content = content.to_vec();
        if self.client == Client::Changing && recording.dice.hits(30) {
            match recording.below(3) {
                0 => content.push(json!({ "type": "text", "text": recording.fresh("made up") })),
                1 => content.reverse(),
                _ => content[0]["extra"] = json!(true),
            }
        }
        self.push("assistant", content);
    }

    fn uses_tools(&mut self, recording: &mut Recording, body: &Value, thinks: Option<Value>) {
        let mut content: Vec<Value> = thinks.into_iter().collect();
        if recording.dice.hits(50) {
            content.push(recording.text("I'll look"));
        }
        let mut results = Vec::new();
        for _ in 0..1 + recording.below(3) {
            let id = recording.fresh("toolu").replace(' ', "_");
            let input = if recording.dice.hits(80) { json!({ "n": recording.below(9) }) } else { json!({ "wrong": true }) };
            let name = recording.dice.pick(&["Read", "Bash", "add", "look_up", "unheard_of"]);
            content.push(json!({ "type": "tool_use", "id": id, "name": name, "input": input }));
            let mut result = json!({ "type": "tool_result", "tool_use_id": id });
            match recording.below(5) {
                0 => (),
                1 => result["content"] = json!([recording.text("found"), recording.image()]),
                2 => result["content"] = json!(""),
                _ => result["content"] = json!(recording.fresh("found")),
            }
            if recording.dice.hits(30) {
                result["is_error"] = json!(recording.dice.hits(50));
            }
            results.push(result);
        }
        let message = recording.message(&body["model"], &content, "tool_use", None);
        recording.exchange(body, 200, &message);
        self.echo(recording, &content);
        let beside = match recording.below(10) {
            0 | 1 => Some(recording.image()),
            2 => Some(recording.text("<system-reminder> mind")),
            _ => None,
        };
        if self.client == Client::Changing && recording.dice.hits(30) {
            match recording.below(3) {
                0 => results.reverse(),
                1 if results.len() > 1 => drop(results.pop()),
                _ => results.push(results[0].clone()),
            }
        }
        match self.manner {
            Manner::ApartWithResults => {
                results.into_iter().for_each(|result| self.push("user", vec![result]));
                beside.into_iter().for_each(|image| self.messages.last_mut().unwrap()["content"].as_array_mut().unwrap().push(image));
            }
            Manner::Joined | Manner::Apart => self.push("user", results.into_iter().chain(beside).collect()),
        }
        if recording.dice.hits(5) {
            let said = recording.text("tools are new");
            self.push("system", vec![said]);
        }
    }
}

/// A title, say, by a conversation of its own.
fn side_call(recording: &mut Recording) {
    let body = json!({
        "model": "claude-haiku-4-5", "max_tokens": 32, "system": "Say what it is about.",
        "messages": [{ "role": "user", "content": recording.fresh("what is said") }],
    });
    let title = recording.text("a title");
    let message = recording.message(&body["model"], &[title], "end_turn", None);
    recording.exchange(&body, 200, &message);
}

/// A recording of one or several conversations at once.
pub(super) fn recording(seed: u64, client: Client) -> Recording {
    let mut recording = Recording { dice: Dice(seed), entries: Vec::new(), count: 0, is_broken: false };
    let mut talks: Vec<Talk> = (0..1 + recording.below(3)).map(|_| Talk::new(&mut recording, client)).collect();
    // Sub-agents are made alike, and work at the same time.
    if recording.dice.hits(20) {
        let like = talks[0].members.clone();
        talks.iter_mut().for_each(|talk| talk.members.clone_from(&like));
    }
    talks.iter_mut().for_each(|talk| talk.prompt(&mut recording));
    if client == Client::Broken && recording.dice.hits(50) {
        let body = json!({ "model": "m", "max_tokens": 9, "messages": [recording.fresh("no message")] });
        recording.exchange(&body, 400, &json!({ "type": "error", "error": { "type": "invalid_request_error", "message": "no" } }));
        recording.is_broken = true;
    }
    for _ in 0..2 + recording.below(10) {
        if talks.is_empty() {
            break;
        }
        let at = usize::try_from(recording.below(talks.len() as u64)).unwrap();
        if !talks[at].turn(&mut recording) {
            talks.remove(at);
        }
    }
    recording
}
