//! The parts of a conversation that are compared (M-3).
//!
//! Conversations are compared block by block, not message by message, because a client may add to a message that it has sent (text typed after a
//! result), and without what may differ between equal requests ([`VolatileMember`]): a cache breakpoint that moves changes no conversation.

use serde_json::Value;

use reenact_wire::compare::VolatileMember;
use reenact_wire::json::push_string;
use reenact_wire::prelude::*;
use reenact_wire::raw_json::{RawObject, elements};

/// How much of a text's beginning and end is compared, in characters that are no white space.
const COMPARED: usize = 12;

/// A conversation as it is compared: a digest for each content block with its role, and one for what surrounds it.
#[derive(Clone, Debug)]
pub struct ConversationDigest {
    pub(super) blocks: Arc<[BlockDigest]>,
    /// How many messages the blocks are in.
    messages: usize,
    /// System prompt and tools.
    pub(super) setting: DigestBits,
    /// `None` when none are offered.
    pub(super) tools: Option<DigestBits>,
    pub(super) terms: RequestTerms,
}

impl PartialEq for ConversationDigest {
    fn eq(&self, other: &Self) -> bool {
        (&self.blocks, self.setting, self.tools) == (&other.blocks, other.setting, other.tools)
    }
}

/// One content block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct BlockDigest {
    pub(super) digest: DigestBits,
    /// The gist of an answer, by which it is found again when it comes back with changes; `None` for anything else.
    pub(super) gist: Option<BlockGist>,
}

/// How much two conversations have in common: the more, the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConversationLikeness {
    /// In one of the two tools are offered, in the other none.
    Different,
    /// Tools are offered in both, or in none.
    Kind,
    /// The same tools are offered, and not none.
    Tools,
    /// The same system prompt and tools.
    Setting,
    /// The same tools, and the same last message.
    Words,
    /// It is the same.
    Equal,
}

pub(super) type DigestBits = [u8; 16];

/// The gist of one block of an answer: two words, of which one is enough to find it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockGist([u64; 2]);

/// The members of a request beside conversation, system prompt and tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RequestTerms {
    pub(super) model: DigestBits,
    pub(super) max_tokens: u64,
    pub(super) others: DigestBits,
}

impl ConversationDigest {
    /// Of a request body; `None` when it has no `messages`.
    pub fn from_body(body: &str) -> Option<Self> {
        let request = RawObject::parse(body).ok()?;
        let messages = elements(request.get("messages")?).ok()?;
        let volatile = VolatileMember::default();
        let blocks = messages.iter().flat_map(|message| message_digests(&volatile, message)).collect();
        let [system, tools] = ["system", "tools"].map(|name| normalised(&volatile, name, request.get(name).unwrap_or("null")));
        let setting = digest(&format!("{system}\n{tools}"));
        let offers_tools = request.get("tools").and_then(|tools| elements(tools).ok()).is_some_and(|tools| !tools.is_empty());
        let (tools, terms) = (offers_tools.then(|| digest(&tools)), RequestTerms::from_request(&request));
        Some(Self { blocks, messages: messages.len(), setting, tools, terms })
    }

    /// How many content blocks it has.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Whether it has no messages.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// How much it has in common with `other`.
    pub fn likeness(&self, other: &Self) -> ConversationLikeness {
        let has_same_tools = self.tools == other.tools;
        match other {
            other if self == other => ConversationLikeness::Equal,
            other if has_same_tools && self.blocks.last() == other.blocks.last() => ConversationLikeness::Words,
            other if self.setting == other.setting => ConversationLikeness::Setting,
            _ if has_same_tools && self.tools.is_some() => ConversationLikeness::Tools,
            other if self.tools.is_some() == other.tools.is_some() => ConversationLikeness::Kind,
            _ => ConversationLikeness::Different,
        }
    }

    /// With how many blocks both begin.
    pub fn shared(&self, other: &Self) -> usize {
        self.blocks.iter().zip(&*other.blocks).take_while(|(one, other)| one.digest == other.digest).count()
    }

    /// Whether it begins with all of `earlier`, or is it.
    pub fn begins_with(&self, earlier: &Self) -> bool {
        self.blocks.starts_with(&earlier.blocks)
    }

    /// Whether it has as many messages as `earlier`, for another model, which may not be able to read all of them.
    pub(super) fn is_for_another_model(&self, earlier: &Self) -> bool {
        self.messages == earlier.messages && self.terms.model != earlier.terms.model
    }
}

/// One entry for each block of a message.
pub(super) fn message_digests(volatile: &VolatileMember, message: &str) -> Vec<BlockDigest> {
    let wrapped = serde_json::from_str::<Value>(message).map(|message| {
        let mut request = serde_json::Map::new();
        request.insert(String::from("messages"), Value::Array(vec![message]));
        volatile.normalised(Value::Object(request))
    });
    // Text that is JSON and not Unicode (half of a pair in an escape) is compared as it stands.
    let Ok(request) = wrapped else { return vec![BlockDigest { digest: digest(message), gist: None }] };
    let message = &request["messages"][0];
    let role = message["role"].as_str().unwrap_or_default();
    let one = core::slice::from_ref(&message["content"]);
    let content = message["content"].as_array().map_or(one, Vec::as_slice);
    let said = |block: &Value| BlockDigest {
        digest: digest(&format!("{role}\n{}", canonical(block))),
        gist: (role == "assistant").then(|| BlockGist::from_block(block)),
    };
    content.iter().map(said).collect()
}

fn normalised(volatile: &VolatileMember, name: &str, value: &str) -> String {
    let Ok(value) = serde_json::from_str::<Value>(value) else { return String::from(value) };
    let mut request = serde_json::Map::new();
    request.insert(String::from(name), value);
    canonical(&volatile.normalised(Value::Object(request)))
}

fn digest(text: &str) -> DigestBits {
    let mut first = [0; 16];
    first.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..16]);
    first
}

/// JSON text with sorted members and one way to write each number, so that equal values have equal text.
fn canonical(value: &Value) -> String {
    let mut out = String::new();
    push_canonical(&mut out, value);
    out
}

fn push_canonical(out: &mut String, value: &Value) {
    match value {
        Value::Object(members) => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort_unstable();
            for (position, name) in names.into_iter().enumerate() {
                out.push(if position == 0 { '{' } else { ',' });
                push_string(out, name);
                out.push(':');
                push_canonical(out, &members[name]);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                push_canonical(out, item);
                out.push(',');
            }
            out.push(']');
        }
        // `1` and `1.0` are the same number, as in `compare`.
        Value::Number(number) => out.push_str(&number.as_f64().map_or_else(|| number.to_string(), |float| float.to_string())),
        Value::String(text) => push_string(out, text),
        Value::Bool(_) | Value::Null => out.push_str(&value.to_string()),
    }
}

impl BlockGist {
    fn from_block(block: &Value) -> Self {
        let text = |member: &str| block.get(member).and_then(Value::as_str);
        if let Some(id) = text("id") {
            return Self([word(id); 2]);
        }
        let said = text("text").or(text("thinking")).unwrap_or_default();
        let letters: Vec<char> = said.chars().filter(|c| !c.is_whitespace()).collect();
        if letters.is_empty() {
            return Self([word(text("type").unwrap_or_default()); 2]);
        }
        let (head, tail) = (letters.iter().take(COMPARED), letters.iter().skip(letters.len().saturating_sub(COMPARED)));
        Self([word(&head.collect::<String>()), word(&tail.collect::<String>())])
    }

    pub(super) fn is_like(self, other: Self) -> bool {
        self.0.iter().any(|word| other.0.contains(word))
    }
}

fn word(text: &str) -> u64 {
    digest(text).iter().take(8).fold(0, |word, byte| word << 8 | u64::from(*byte))
}

impl RequestTerms {
    fn from_request(request: &RawObject<'_>) -> Self {
        const APART: [&str; 7] = ["model", "max_tokens", "messages", "metadata", "stream", "system", "tools"];
        let mut others: Vec<String> =
            request.members().filter(|(name, _)| !APART.contains(name)).map(|(name, value)| format!("{name}:{value}")).collect();
        others.sort_unstable();
        Self {
            model: digest(request.get("model").unwrap_or_default()),
            max_tokens: request.count("max_tokens").unwrap_or_default(),
            others: digest(&others.join("\n")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m_3_the_more_two_conversations_have_in_common_the_more_they_are_alike() {
        let asks = |system: &str, tools: &str, texts: &[&str]| {
            let blocks: Vec<String> = texts.iter().map(|text| format!(r#"{{"type":"text","text":"{text}"}}"#)).collect();
            let content = blocks.join(",");
            let tools = tools.split_whitespace().map(|name| format!(r#"{{"name":"{name}"}}"#)).collect::<Vec<_>>().join(",");
            ConversationDigest::from_body(&format!(
                r#"{{"system":"{system}","tools":[{tools}],"messages":[{{"role":"user","content":[{content}]}}]}}"#
            ))
            .unwrap()
        };
        let known = asks("s", "Read", &["Monday", "Look left."]);
        for (other, likeness) in [
            (asks("s", "Read", &["Monday", "Look left."]), ConversationLikeness::Equal),
            (asks("t", "Read", &["Tuesday", "Look left."]), ConversationLikeness::Words),
            (asks("s", "Read", &["Monday", "Look right."]), ConversationLikeness::Setting),
            (asks("t", "Read", &["Monday", "Look right."]), ConversationLikeness::Tools),
            (asks("s", "Bash", &["Monday", "Look left."]), ConversationLikeness::Kind),
            (asks("s", "", &["Monday", "Look left."]), ConversationLikeness::Different),
        ] {
            assert_eq!(known.likeness(&other), likeness);
        }
        assert_eq!(asks("s", "", &["a"]).likeness(&asks("t", "", &["b"])), ConversationLikeness::Kind, "no tools are no likeness in tools");
    }
}
