//! A scripted turn as the bytes that the API would have sent.
//!
//! Where a scenario says nothing, the stream looks like a real one: `ping` as the third event, an empty first `input_json_delta`,
//! 0 to 15 spaces before the last brace of a payload (M-3). Padding and cuts are drawn under the turn's own key, so that another
//! turn changes nothing here.

use core::fmt;

use super::plan::{Plan, StreamShape};
use super::types::{ScriptedTurn, TurnBlock};
use reenact_engine::random::{KeyedDraws, Seed};
use reenact_wire::block::ToolInput;
use reenact_wire::error::ErrorKind;
use reenact_wire::json::{Json, push_string};
use reenact_wire::prelude::*;

/// The owner of a scripted answer, each counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AnswerOrigin {
    /// The n-th `[[prompt]]`.
    Prompt(u32),
    /// The n-th `[[interrupt]]`.
    Interrupt(u32),
    /// None of them: the default answer within the session's n-th prompt (M-3).
    Nothing(u32),
    /// An agent that a scripted tool use makes (B-8).
    Agent(ScriptedTask),
    /// The n-th of the threads of a tape that are not the scenario's own (M-3).
    Thread(u32),
}

/// One of the agents of a scripted tool use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScriptedTask {
    /// Whether the tool use belongs to an `[[interrupt]]`, not to a `[[prompt]]`.
    pub is_interrupt: bool,
    /// Which of those.
    pub number: u32,
    /// Which turn of that.
    pub turn: u32,
    /// Which tool use of the turn.
    pub tool: u32,
    /// Which agent of the tool use; `None` for the one that puts the results together.
    pub task: Option<u32>,
}

/// `p1`, `i1`, `d1`, `r1`, `p1t1n1a2`: part of the ids of scripted answers.
impl fmt::Display for AnswerOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (letter, number) = match self {
            Self::Prompt(number) => ('p', number),
            Self::Interrupt(number) => ('i', number),
            Self::Nothing(number) => ('d', number),
            Self::Thread(number) => ('r', number),
            Self::Agent(ScriptedTask { is_interrupt, number, turn, tool, task }) => {
                let letter = if *is_interrupt { 'i' } else { 'p' };
                let which = task.map_or_else(|| String::from("s"), |task| format!("a{task}"));
                return write!(f, "{letter}{number}t{turn}n{tool}{which}");
            }
        };
        write!(f, "{letter}{number}")
    }
}

/// The ids of a scripted turn: derived from where it stands, so that one more turn elsewhere renames nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TurnPlace {
    /// The owner of the answer.
    pub origin: AnswerOrigin,
    /// Which turn of that, from 1.
    pub turn: u32,
}

impl TurnPlace {
    /// The API's message id.
    pub fn message_id(self) -> String {
        format!("msg_{}t{}", self.origin, self.turn)
    }

    /// The API's id of the n-th tool use, from 0, where the script gives none.
    pub fn tool_use_id(self, nth: usize) -> String {
        format!("toolu_{}t{}n{}", self.origin, self.turn, nth + 1)
    }
}

/// The tool uses of a turn with their ids, in order.
pub fn tool_uses<'a>(turn: &'a ScriptedTurn, place: TurnPlace) -> Vec<(Arc<str>, &'a TurnBlock)> {
    let tools = turn.content.iter().filter(|block| matches!(block, TurnBlock::Tool { .. }));
    let named = |(nth, block): (usize, &'a TurnBlock)| match block {
        TurnBlock::Tool { id: Some(id), .. } => (id.clone(), block),
        _ => (place.tool_use_id(nth).into(), block),
    };
    tools.enumerate().map(named).collect()
}

/// A scripted answer as bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptedBody {
    /// The request.
    pub bytes: Vec<u8>,
    /// The choices for its stream; `None` where nothing was chosen.
    pub shape: Option<StreamShape>,
}

/// The choices for the form of streams: from a plan, or drawn where the plan has none.
#[derive(Clone, Copy, Debug)]
pub struct StreamStyle<'a> {
    /// The root of the draws.
    pub seed: Seed,
    /// The choices that are not drawn.
    pub plan: &'a Plan,
}

/// The body of a scripted answer: SSE when `stream`, one JSON message otherwise.
pub fn body(turn: &ScriptedTurn, place: TurnPlace, model: &str, look: StreamStyle<'_>, stream: bool) -> ScriptedBody {
    let without_choice = |bytes: Vec<u8>| ScriptedBody { bytes, shape: None };
    if let Some(body) = &turn.body {
        return without_choice(body.as_bytes().to_vec());
    }
    if turn.status != 200 {
        return without_choice(error_body(turn.status).into_bytes());
    }
    if stream { sse(turn, place, model, look) } else { without_choice(message_body(turn, place, model).into_bytes()) }
}

/// The API's body for a status, when the script has none.
fn error_body(status: u16) -> String {
    let kind = Json::from_value(ErrorKind::from_status(status).as_str());
    format!(r#"{{"type":"error","error":{{"type":{kind},"message":"(status {status})"}}}}"#)
}

/// The stop reason: as written, else what the content implies.
fn stop_reason(turn: &ScriptedTurn) -> &str {
    let implied = if turn.content.iter().any(|block| matches!(block, TurnBlock::Tool { .. })) { "tool_use" } else { "end_turn" };
    turn.stop_reason.as_deref().unwrap_or(implied)
}

/// Four characters a token, as the estimate of the engine has it.
fn output_tokens(turn: &ScriptedTurn) -> u64 {
    let length = |block: &TurnBlock| match block {
        TurnBlock::Text(text) | TurnBlock::Thinking(text) => text.len(),
        TurnBlock::Tool { name, input, .. } => name.len() + input.len(),
    };
    let characters: usize = turn.content.iter().map(length).sum();
    turn.output_tokens.unwrap_or(characters.div_ceil(4).max(1) as u64)
}

fn message_head(turn: &ScriptedTurn, place: TurnPlace, model: &str) -> String {
    let mut head = format!(r#""id":"{}","type":"message","role":"assistant","model":"#, place.message_id());
    push_string(&mut head, model);
    head.push_str(r#","usage":{"#);
    if let Some(tokens) = turn.input_tokens {
        head.push_str(&format!(r#""input_tokens":{tokens},"#));
    }
    head.push_str(r#""output_tokens":"#);
    head
}

struct StreamWriter<'a> {
    out: String,
    draws: KeyedDraws,
    /// The choices of the plan.
    given: Option<&'a StreamShape>,
    /// The choices so far.
    chosen: StreamShape,
    events: u32,
}

impl StreamWriter<'_> {
    fn event(&mut self, name: &str, members: &str) {
        let spaces = self.spaces();
        let padding = " ".repeat(spaces as usize);
        self.out.push_str(&format!("event: {name}\ndata: {{\"type\":\"{name}\"{members}{padding}}}\n\n"));
        self.events += 1;
        if self.events == 2 {
            self.out.push_str("event: ping\ndata: {\"type\": \"ping\"}\n\n");
        }
    }

    /// How many spaces stand before the next payload's last brace. A draw is made where the plan names a number, too: it moves no other.
    fn spaces(&mut self) -> u32 {
        let drawn = u32::try_from(self.draws.below(16)).unwrap_or(0);
        let given = self.given.and_then(|given| given.padding.get(self.chosen.padding.len()).copied());
        let spaces = given.unwrap_or(drawn);
        self.chosen.padding.push(spaces);
        spaces
    }

    /// How many bytes the next piece of text should have; it ends with the character that reaches them.
    fn bytes_wanted(&mut self) -> u32 {
        let drawn = 4 + u32::try_from(self.draws.below(32)).unwrap_or(0);
        let given = self.given.and_then(|given| given.pieces.get(self.chosen.pieces.len()).copied());
        given.unwrap_or(drawn).max(1)
    }

    fn delta(&mut self, index: usize, kind: &str, member: &str, text: &str) {
        let mut json = format!(r#","index":{index},"delta":{{"type":"{kind}","{member}":"#);
        push_string(&mut json, text);
        json.push('}');
        self.event("content_block_delta", &json);
    }

    /// Text in pieces of 4 to 35 characters, as answers come.
    fn pieces(&mut self, index: usize, kind: &str, member: &str, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let wanted = self.bytes_wanted() as usize;
            let cut = rest.char_indices().map(|(at, _)| at).find(|at| *at >= wanted).unwrap_or(rest.len());
            self.chosen.pieces.push(u32::try_from(cut).unwrap_or(u32::MAX));
            self.delta(index, kind, member, &rest[..cut]);
            rest = &rest[cut..];
        }
    }

    fn block(&mut self, index: usize, block: &TurnBlock, id: &str) {
        let start = |content: &str| format!(r#","index":{index},"content_block":{content}"#);
        match block {
            TurnBlock::Text(text) => {
                self.event("content_block_start", &start(r#"{"type":"text","text":""}"#));
                self.pieces(index, "text_delta", "text", text);
            }
            TurnBlock::Thinking(text) => {
                self.event("content_block_start", &start(r#"{"type":"thinking","thinking":"","signature":""}"#));
                self.pieces(index, "thinking_delta", "thinking", text);
                self.delta(index, "signature_delta", "signature", &signature(text));
            }
            TurnBlock::Tool { input, .. } => {
                self.event("content_block_start", &start(&tool_block(block, id, "{}")));
                self.delta(index, "input_json_delta", "partial_json", "");
                self.pieces(index, "input_json_delta", "partial_json", if &**input == "{}" { "" } else { input });
            }
        }
        self.event("content_block_stop", &format!(r#","index":{index}"#));
    }
}

fn sse(turn: &ScriptedTurn, place: TurnPlace, model: &str, look: StreamStyle<'_>) -> ScriptedBody {
    let id = place.message_id();
    let draws = look.seed.draws("scripted-stream", &id);
    let given = look.plan.streams.get(&*id);
    let mut writer = StreamWriter { out: String::new(), draws, given, chosen: StreamShape::default(), events: 0 };
    let head = message_head(turn, place, model);
    writer.event("message_start", &format!(r#","message":{{{head}1}},"content":[],"stop_reason":null,"stop_sequence":null}}"#));
    let mut ids = tool_uses(turn, place).into_iter().map(|(id, _)| id);
    for (index, block) in turn.content.iter().enumerate() {
        let id = if matches!(block, TurnBlock::Tool { .. }) { ids.next().unwrap_or_default() } else { Arc::default() };
        writer.block(index, block, &id);
    }
    let delta = format!(
        r#","delta":{{"stop_reason":{},"stop_sequence":null}},"usage":{{"output_tokens":{}}}{}"#,
        Json::from_value(stop_reason(turn)),
        output_tokens(turn),
        context_management(turn)
    );
    writer.event("message_delta", &delta);
    writer.event("message_stop", "");
    ScriptedBody { bytes: writer.out.into_bytes(), shape: Some(writer.chosen) }
}

fn message_body(turn: &ScriptedTurn, place: TurnPlace, model: &str) -> String {
    let mut ids = tool_uses(turn, place).into_iter().map(|(id, _)| id);
    let mut blocks = Vec::new();
    for block in &turn.content {
        blocks.push(match block {
            TurnBlock::Text(text) => format!(r#"{{"type":"text","text":{}}}"#, Json::from_value(&**text)),
            TurnBlock::Thinking(text) => {
                format!(
                    r#"{{"type":"thinking","thinking":{},"signature":{}}}"#,
                    Json::from_value(&**text),
                    Json::from_value(&signature(text))
                )
            }
            TurnBlock::Tool { input, .. } => tool_block(block, &ids.next().unwrap_or_default(), ToolInput::read(input).to_json().as_str()),
        });
    }
    let (head, reason) = (message_head(turn, place, model), Json::from_value(stop_reason(turn)));
    let (output_tokens, content, more) = (output_tokens(turn), blocks.join(","), context_management(turn));
    format!(r#"{{{head}{output_tokens}}},"content":[{content}],"stop_reason":{reason},"stop_sequence":null{more}}}"#)
}

/// The API's report on the edits that a request asked for (C-2).
fn context_management(turn: &ScriptedTurn) -> String {
    let edit = |tokens: u64| {
        let edit = format!(r#"{{"type":"clear_tool_uses_20250919","cleared_tool_uses":1,"cleared_input_tokens":{tokens}}}"#);
        format!(r#","context_management":{{"applied_edits":[{edit}]}}"#)
    };
    turn.cleared_tokens.map(edit).unwrap_or_default()
}

fn tool_block(block: &TurnBlock, id: &str, input: &str) -> String {
    let TurnBlock::Tool { name, .. } = block else { return String::from("{}") };
    format!(r#"{{"type":"tool_use","id":{},"name":{},"input":{input}}}"#, Json::from_value(id), Json::from_value(&**name))
}

/// A made-up signature that depends on what it signs.
fn signature(thinking: &str) -> String {
    let hash = blake3::hash(thinking.as_bytes()).to_hex();
    format!("Scripted{}==", &hash.as_str()[..32])
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_wire::assembler::{Assembler, AssemblerStep};
    use reenact_wire::event::StreamEvent;
    use reenact_wire::sse::SseFramer;

    fn turn() -> ScriptedTurn {
        let tool = TurnBlock::Tool {
            name: "Read".into(),
            input: r#"{"file_path":"/w/ä\"b"}"#.into(),
            id: None,
            outcome: None,
            safe: None,
            slip: None,
        };
        let content = vec![TurnBlock::Thinking("hm".into()), TurnBlock::Text("I'll read the file.\nThen 😀.".into()), tool];
        ScriptedTurn { content, ..ScriptedTurn::default() }
    }

    #[test]
    fn m_3_a_scripted_stream_is_one_that_the_assembler_takes_without_a_note() {
        let place = TurnPlace { origin: AnswerOrigin::Prompt(1), turn: 2 };
        let bytes = body(&turn(), place, "m", StreamStyle { seed: Seed(3), plan: &Plan::EMPTY }, true).bytes;
        let (mut events, mut notes, mut blocks) = (Vec::new(), Vec::new(), Vec::new());
        SseFramer::new().feed(&bytes, &mut |frame| events.push(StreamEvent::decode(frame.event, frame.data))).unwrap();
        let mut assembler = Assembler::new();
        for event in &events {
            if let AssemblerStep::Block { block, .. } = assembler.on_event(event, &mut notes) {
                blocks.push(block.json().to_string());
            }
        }
        assert_eq!(notes, []);
        assert_eq!(assembler.at_end_of_stream(), Ok(()));
        assert_eq!(events[2].name(), "ping", "real streams have it third");
        assert_eq!(assembler.stop_reason().map(|reason| &**reason), Some("tool_use"));
        assert_eq!(blocks[1], r#"{"type":"text","text":"I'll read the file.\nThen 😀."}"#);
        assert_eq!(blocks[2], r#"{"type":"tool_use","id":"toolu_p1t2n1","name":"Read","input":{"file_path":"/w/ä\"b"}}"#);
    }

    #[test]
    fn r_13_whole_and_streamed_answers_hold_the_same_blocks() {
        let place = TurnPlace { origin: AnswerOrigin::Prompt(1), turn: 1 };
        let whole: serde_json::Value =
            serde_json::from_slice(&body(&turn(), place, "m", StreamStyle { seed: Seed(3), plan: &Plan::EMPTY }, false).bytes).unwrap();
        assert_eq!(whole["content"][2]["id"], "toolu_p1t1n1");
        assert_eq!(whole["stop_reason"], "tool_use");
    }
}
