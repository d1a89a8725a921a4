//! An agent begins with its own prompt and without the tools of the root (O-21, B-8).

use super::*;
use reenact_engine::settings::AgentTool;

/// How often O-21 complains about the first request of an agent with these messages and these tools.
fn begins(messages: &[(Role, &str)], tools: &str) -> usize {
    let mut environment = environment(|_| ());
    environment.tools[0].agent = Some(AgentTool::default());
    let mut request = Request::new("m", 1);
    request.messages = messages.iter().map(|(role, text)| Arc::new(Message { role: *role, content: vec![Block::text(text)] })).collect();
    request.tools = Some(Json::trusted(tools));
    let mut story = EventStory { oracles: Oracles::new(&environment), at: Time::ZERO };
    story.oracles.effect(Time::ZERO, &Agent::child("t0"), &Effect::Request { id: ASKED, request: Arc::new(request) });
    story.times_broken("O-21")
}

#[test]
fn o_21_and_b_8_an_agent_begins_with_its_own_prompt() {
    let prompt = (Role::User, "Look.");
    assert_eq!(begins(&[prompt], "[]"), 0);
    assert_eq!(begins(&[(Role::User, "Hi."), (Role::Assistant, "Hi!"), prompt], "[]"), 1);
}

#[test]
fn o_21_and_b_8_an_agent_is_offered_no_tool_of_the_root_alone() {
    let offers = |tools| begins(&[(Role::User, "Look.")], tools);
    assert_eq!(offers(r#"[{"name":"W"},{"name":"C"}]"#), 0);
    assert_eq!(offers(r#"[{"name":"W"},{"name":"R"}]"#), 1, "agents do the work of this one");
    assert_eq!(offers(r#"[{"name":"TodoWrite"}]"#), 1);
}
