//! Side requests of clients: titles, topic checks, probes of a quota. A scenario is not about them, so rules answer them (M-3).

use crate::language::keys::keys;
use crate::parse::reader::TableReader;
use reenact_wire::block::{BlockKind, Role};
use reenact_wire::prelude::*;
use reenact_wire::request::Request;

keys! {
    /// A kind of side request, and its answer. All given conditions must hold. Such a request uses up no answer of the scenario. The first rule that fits counts.
    #[derive(Eq)]
    pub struct SideRule check check_side {
        /// The model that is asked.
        model: Option<Arc<str>> = None, example("\"claude-haiku-4-5\"");
        /// A text in the system prompt, or in the first message.
        contains: Option<Arc<str>> = None, example("\"Write a title\""), not_blank("a blank stands everywhere: name a text of the side request");
        /// The `max_tokens` of the request.
        max_tokens: Option<u64> = None, unit("tokens"), example("1");
        /// The text of the answer. It is cut where `max_tokens` ends it.
        answer: Option<Arc<str>> = None, required, example("\"A package\"");
        /// Whether it is no matter of note if no such request comes.
        may: bool = false;
    }
}

/// A rule without a condition would answer everything.
fn check_side(side: &SideRule, reader: &mut TableReader<'_, '_>) {
    const CONDITIONS: [&str; 3] = ["contains", "model", "max_tokens"];
    if let SideRule { model: None, contains: None, max_tokens: None, .. } = side
        && !reader.has_any(&CONDITIONS)
    {
        let message = format!("{} answers every request: say which", reader.title());
        reader.lacks(&CONDITIONS, message, Some("give `contains`, `model` or `max_tokens`".into()));
    }
}

impl SideRule {
    /// Whether a request is of this kind.
    pub fn matches(&self, request: &Request) -> bool {
        let of_model = self.model.as_ref().is_none_or(|model| *model == request.model);
        let of_length = self.max_tokens.is_none_or(|most| most == request.max_tokens);
        of_model && of_length && self.contains.as_ref().is_none_or(|text| says(request, text))
    }
}

/// Whether a text is in the system prompt or in the first message.
fn says(request: &Request, text: &str) -> bool {
    // In JSON some characters are written in another way.
    let in_system =
        request.system.as_ref().and_then(|system| serde_json::from_str(system.as_str()).ok()).is_some_and(|system| holds(&system, text));
    let first = request.messages.iter().find(|message| message.role == Role::User);
    let mut blocks = first.iter().flat_map(|message| &message.content);
    in_system || blocks.any(|block| matches!(block.kind(), BlockKind::Text(said) if said.contains(text)))
}

fn holds(value: &serde_json::Value, text: &str) -> bool {
    match value {
        serde_json::Value::String(said) => said.contains(text),
        serde_json::Value::Array(items) => items.iter().any(|item| holds(item, text)),
        serde_json::Value::Object(members) => members.get("text").is_some_and(|member| holds(member, text)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_wire::block::{Block, Message};
    use reenact_wire::json::Json;

    #[test]
    fn m_3_the_conditions_of_a_side_request_must_all_hold() {
        let said = |text: &str| Message { role: Role::User, content: vec![Block::text(text)] };
        let answered = Message { role: Role::Assistant, content: vec![Block::text("x")] };
        let mut request = Request::new("claude-haiku-4-5", 1).with_messages([said("Say \"hi\""), answered, said("later")]);
        request.system = Some(Json::trusted(r#"[{"type":"text","text":"Write a \"title\""}]"#));
        let rule = |model: Option<&str>, contains: Option<&str>, max_tokens| {
            let rule = SideRule { model: model.map(Arc::from), contains: contains.map(Arc::from), max_tokens, answer: None, may: false };
            rule.matches(&request)
        };
        assert!(rule(Some("claude-haiku-4-5"), None, None) && !rule(Some("claude-haiku"), None, None));
        assert!(rule(None, Some("a \"title\""), None) && rule(None, Some("Say \"hi\""), None), "as it reads, not as JSON writes it");
        assert!(!rule(None, Some("later"), None), "only the first message counts");
        assert!(rule(None, None, Some(1)) && !rule(None, None, Some(2)));
        assert!(rule(Some("claude-haiku-4-5"), Some("title"), Some(1)) && !rule(Some("claude-haiku-4-5"), Some("topic"), Some(1)));
    }
}
