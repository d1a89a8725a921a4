//! Nothing that came is lost (O-24).

use super::*;
use reenact_engine::contract::StagedSummary;
use reenact_engine::emission::ResultMessage;

impl EventStory {
    fn submits(self, prompt: u32, text: &str) -> Self {
        self.input(Input::Interrupt { prompt, content: [Block::text(text)].into() })
    }

    fn takes_in(self, prompt: u32) -> Self {
        self.effect(Effect::Emit(Emission::QueuedCommand { prompt, content: [].into() }))
    }

    fn sends_user_text(self, turn: u32, text: &str) -> Self {
        self.request(turn, &[(Role::User, &[Block::text(text)])])
    }

    fn lost(&self) -> usize {
        self.times_broken("O-24")
    }
}

#[test]
fn o_24_what_the_user_said_is_in_a_request_before_its_prompt_ends_well() {
    let said = || EventStory::new().submits(2, "say \"no\"").takes_in(2);
    assert_eq!(said().sends_user_text(2, "The user says: say \"no\"").terminal().lost(), 0);
    assert_eq!(said().sends_user_text(2, "Go on.").terminal().lost(), 1, "no request has it");
    let aborted = Effect::Finished { prompt: 1, terminal: Terminal::AbortedTools };
    assert_eq!(said().effect(aborted).lost(), 0, "who aborts knows that it was not answered");
    let second = || EventStory::new().submits(2, "b").terminal();
    assert_eq!(second().effect(Effect::Finished { prompt: 2, terminal: Terminal::Completed }).lost(), 1);
    assert_eq!(EventStory::new().submits(2, "/clear").takes_in(2).terminal().lost(), 0, "a command is for the engine");
}

#[test]
fn o_24_what_a_tool_returned_is_in_its_result() {
    let returned =
        |text: &str| EventStory::new().asks("R", 0).input(Input::ToolEnded { run: run(0), outcome: Arc::new(ToolOutcome::text(text)) });
    assert_eq!(returned("six lines").result_says("six lines").lost(), 0);
    assert_eq!(returned("six lines").result_says("six lines, says a hook").lost(), 0);
    assert_eq!(returned("six lines").result_says("no lines").lost(), 1);
    let stopped = EventStory::new().asks("R", 0).effect(Effect::StopTool { run: run(0) });
    let returns = Input::ToolEnded { run: run(0), outcome: Arc::new(ToolOutcome::text("late")) };
    assert_eq!(stopped.input(returns).result_says("stopped").lost(), 0);
}

#[test]
fn o_24_what_an_agent_said_is_in_the_result_of_its_tool_use() {
    let said = |words: &str, told: &str| {
        let result = accounts::result_of(1, words);
        let mut story = EventStory::new().says(use_block("R", 0));
        story.oracles.effect(story.at, &Agent::child("t0"), &Effect::Emit(Emission::Result(Box::new(result))));
        story.result_says(told).lost()
    };
    assert_eq!(said("All is well.", "The agent says: All is well."), 0);
    assert_eq!(said("All is well.", "done"), 1);
    assert_eq!(said("", "done"), 0, "it said nothing");
}

#[test]
fn o_24_the_words_of_an_earlier_session_are_in_the_first_request() {
    let story_after = |before: &[Input], texts: &[&str]| {
        let mut environment = environment(|_| ());
        environment.history =
            vec![Arc::new(Message::user(vec![Block::text("a \"b\"")])), Arc::new(Message::assistant(vec![Block::text("c")]))];
        let story = EventStory { oracles: Oracles::new(&environment), at: Time::ZERO };
        let blocks: Vec<Block> = texts.iter().map(|text| Block::text(text)).collect();
        before.iter().cloned().fold(story, EventStory::input).request(1, &[(Role::User, &blocks)])
    };
    let story = |texts: &[&str]| story_after(&[], texts);
    assert_eq!(story(&["a \"b\"", "c", "hi"]).lost(), 0);
    assert_eq!(story(&["a \"b\"", "hi"]).lost(), 1);
    assert_eq!(story(&["hi"]).request(2, &[]).lost(), 2, "the first request is asked, and no other");
    let staged = Input::CollapseStaged(Arc::new(StagedSummary { from: "h1".into(), to: "h2".into(), summary: "s".into() }));
    let dead = Input::MarkedDead { names: ["h1".into()].into() };
    for before in [staged, dead] {
        assert_eq!(story_after(&[before], &["hi"]).lost(), 0, "a span of it may be replaced");
    }
}

#[test]
fn o_24_the_reason_of_a_refusal_is_in_the_result() {
    let refused = || {
        let answer = Arc::new(PermissionAnswer::Refuse { reason: "not on Fridays".into() });
        EventStory::new().says(use_block("R", 0)).input(Input::PermissionAnswered { run: run(0), answer })
    };
    assert_eq!(refused().result_says("The user refused: not on Fridays").lost(), 0);
    assert_eq!(refused().result_says("The user refused.").lost(), 1);
}

#[test]
fn o_24_what_waits_begins_in_the_order_in_which_it_came() {
    let begins = |prompt| Effect::Emit(Emission::Init { prompt, model: "m".into(), tools: Vec::new(), surroundings: Default::default() });
    let prompt = |prompt| Input::Prompt { prompt, content: [].into() };
    let waiting = || EventStory::new().effect(begins(1)).input(prompt(2)).input(prompt(3)).terminal();
    assert_eq!(waiting().effect(begins(2)).effect(begins(3)).lost(), 0);
    assert_eq!(waiting().effect(begins(3)).lost(), 1);
    let messages = || EventStory::new().effect(begins(1)).submits(2, "a").submits(3, "b");
    assert_eq!(messages().terminal().effect(begins(3)).lost(), 1);
    assert_eq!(messages().takes_in(2).terminal().effect(begins(3)).lost(), 1, "the first was lost, which is another matter");
    let later = EventStory::new().effect(begins(1)).submits(2, "a").submits(3, "b").terminal().effect(begins(2)).submits(4, "c").terminal();
    assert_eq!(later.effect(begins(4)).lost(), 0, "it came to the second prompt, and the other one to the first");
    let mixed = EventStory::new().effect(begins(1)).input(prompt(2)).submits(3, "b").terminal();
    assert_eq!(mixed.effect(begins(3)).lost(), 0, "a message may overtake a prompt");
}

#[test]
fn o_24_an_image_of_the_user_is_in_a_request() {
    let image = || {
        Block::assembled(BlockKind::Other("image".into()), Json::trusted(r#"{"type":"image","source":{"type":"base64","data":"AAAA"}}"#))
    };
    let cached = Block::assembled(
        BlockKind::Other("image".into()),
        Json::trusted(r#"{"type":"image","source":{"type":"base64","data":"AAAA"},"cache_control":{"type":"ephemeral"}}"#),
    );
    let says = || EventStory::new().input(Input::Prompt { prompt: 1, content: [image()].into() });
    assert_eq!(says().request(1, &[(Role::User, &[Block::text("hi")])]).terminal().lost(), 1);
    assert_eq!(says().request(1, &[(Role::User, &[image()])]).terminal().lost(), 0);
    assert_eq!(says().request(1, &[(Role::User, &[cached])]).terminal().lost(), 0, "a breakpoint of the cache changes nothing");
}

#[test]
fn o_24_a_result_that_came_before_an_abort_is_kept() {
    let returned = Input::ToolEnded { run: run(0), outcome: Arc::new(ToolOutcome::text("six lines")) };
    let aborted = || EventStory::new().asks("R", 0).input(returned.clone()).input(Input::Cancel);
    assert_eq!(aborted().result_says("six lines").lost(), 0);
    assert_eq!(aborted().result_says("The user rejected this tool call.").lost(), 1, "its work was done");
}

#[test]
fn o_24_the_result_of_a_prompt_lists_refusals() {
    let asks = || Effect::AskPermission { run: run(0), tool_use: tool_use("R", 0).into(), reason: "".into(), suggestions: Vec::new() };
    let answered = |answer: PermissionAnswer| {
        let story = EventStory::new().effect(asks()).input(Input::PermissionAnswered { run: run(0), answer: answer.into() });
        story.effect(Effect::Emit(Emission::Result(Box::new(super::recoveries::result_with(1))))).lost()
    };
    assert_eq!(answered(PermissionAnswer::RefuseAndAbort { reason: "no".into() }), 1);
    assert_eq!(answered(PermissionAnswer::Allow { updated_input: None, rules: Vec::new() }), 0);
}

#[test]
fn o_24_a_summary_is_no_place_for_a_message() {
    let says = || EventStory::new().input(Input::Prompt { prompt: 1, content: [Block::text("Mind the tests")].into() });
    let asks = |story: EventStory, with: &str| story.request(1, &[(Role::User, &[Block::text("Mind the tests"), Block::text(with)])]);
    assert_eq!(asks(says(), "please").terminal().lost(), 0);
    assert_eq!(asks(says(), reenact_engine::texts::TextName::SummaryPrompt.ours()).terminal().lost(), 1, "it is in a summary alone");
}

#[test]
fn o_24_a_prompt_begins_with_what_was_looked_up_for_it() {
    use reenact_engine::contract::Catalogue;
    use reenact_engine::emission::SessionSurroundings;
    let begins = |skill: Option<&str>| {
        let surroundings = SessionSurroundings { skills: skill.into_iter().map(Arc::from).collect(), ..Default::default() };
        Effect::Emit(Emission::Init { prompt: 1, model: "m".into(), tools: Vec::new(), surroundings: surroundings.into() })
    };
    let asks = || EventStory::new().effect(Effect::LookUp { what: Catalogue::Skills, prompt: 1 });
    let found = |prompt| Input::LookedUp { what: Catalogue::Skills, prompt, names: ["pdf".into()].into() };
    assert_eq!(asks().input(found(1)).effect(begins(Some("pdf"))).lost(), 0);
    assert_eq!(asks().effect(begins(None)).lost(), 1, "they are not looked up yet");
    assert_eq!(asks().input(found(2)).effect(begins(Some("pdf"))).lost(), 1, "that was for another prompt");
    assert_eq!(asks().input(found(1)).effect(begins(None)).lost(), 1, "they are left out");
}

#[test]
fn o_24_and_b_8_one_agent_that_fails_beside_another_makes_no_error() {
    let results = |terminals: &[(Terminal, &str)], is_error: bool| {
        let mut story = EventStory::new().effect(Effect::StartAgent { run: run(0), tool_use: Arc::new(tool_use("Agent", 0)) });
        for (number, (terminal, text)) in terminals.iter().enumerate() {
            let result = ResultMessage { terminal: terminal.clone(), is_error: text.is_empty(), ..accounts::result_of(1, text) };
            let agent = Agent::child(&format!("t0.{number}"));
            story.oracles.effect(story.at, &agent, &Effect::Emit(Emission::Result(Box::new(result))));
        }
        let told: String = terminals.iter().map(|(_, text)| format!("{text}. ")).collect();
        story.effect(result_effect(run(0), Block::tool_result("t0", &Json::from_value(&told), is_error))).times_broken("O-24")
    };
    let (well, failed) = ((Terminal::Completed, "It is there"), (Terminal::ModelError, ""));
    assert_eq!(results(&[well.clone(), failed.clone()], false), 0);
    assert_eq!(results(&[well.clone(), failed.clone()], true), 1);
    assert_eq!(results(&[failed.clone(), failed], true), 0, "all failed");
    assert_eq!(results(&[well, (Terminal::AbortedStreaming, "")], true), 0, "one was broken off");
}
