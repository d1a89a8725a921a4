//! A tool use is answered without having run only for a reason (O-33).

use super::*;
use reenact_engine::contract::{HookOutcome, PermissionAnswer};
use reenact_engine::emission::Note;
use reenact_engine::permission::PermissionWord;
use reenact_engine::settings::SiblingAbort;

const WHOLE: &str = r#"{"type":"message_stop"}"#;

impl EventStory {
    /// The answer is whole, and the first tool use has its result.
    fn whole_result(self) -> Self {
        self.hears(ASKED, &[WHOLE]).result(0)
    }

    /// How often O-33 has complained when the next thing happens.
    fn unrun(self) -> usize {
        self.input(Input::Prompt { prompt: 2, content: [].into() }).times_broken("O-33")
    }
}

#[test]
fn o_33_a_result_without_a_run_needs_a_reason() {
    let asked = || EventStory::new().says(use_block("R", 0));
    assert_eq!(asked().whole_result().unrun(), 1);
    assert_eq!(EventStory::new().asks("R", 0).ends(0).whole_result().unrun(), 0, "it ran");
    assert_eq!(asked().result(0).unrun(), 0, "the answer may be taken back yet");
    assert_eq!(asked().input(Input::Cancel).whole_result().unrun(), 0);
    assert_eq!(EventStory::new().says(use_block("X", 0)).whole_result().unrun(), 0, "there is no such tool");
    let unread = ToolUse { input: ToolInput::read("{"), ..tool_use("R", 0) };
    let block = Block::assembled(BlockKind::ToolUse(unread), Json::trusted("{}"));
    assert_eq!(EventStory::new().says(block).whole_result().unrun(), 0, "nobody can read its input");
    let refusal = PermissionAnswer::Refuse { reason: "no".into() };
    assert_eq!(asked().input(Input::PermissionAnswered { run: run(0), answer: refusal.into() }).whole_result().unrun(), 0);
    let allowed = PermissionAnswer::Allow { updated_input: None, rules: Vec::new() };
    assert_eq!(asked().input(Input::PermissionAnswered { run: run(0), answer: allowed.into() }).whole_result().unrun(), 1);
    let denial = HookOutcome { decision: Some(PermissionWord::Deny), ..HookOutcome::default() };
    let hook = HookRun { hook: 0, subject: HookSubject::Tool(run(0)) };
    assert_eq!(asked().input(Input::HookEnded { hook, outcome: denial.into() }).whole_result().unrun(), 0);
    let discarded = Effect::Note(Note::Discarded { id: ASKED, running: Vec::new() });
    assert_eq!(asked().whole_result().effect(discarded).unrun(), 0, "within the same step");
}

#[test]
fn o_33_after_the_failure_of_a_shell_tool_nothing_else_of_the_answer_starts() {
    let story = |is_shell: bool, is_error: bool| {
        let mut environment = environment(|_| ());
        environment.tools[0].shell = is_shell;
        let story = EventStory { oracles: Oracles::new(&environment), at: Time::ZERO }.asks("R", 0).says(use_block("R", 1));
        let outcome = if is_error { ToolOutcome::error("x") } else { ToolOutcome::text("x") };
        let story = story.input(Input::ToolEnded { run: run(0), outcome: outcome.into() }).result(0);
        story.effect(Effect::StartTool { run: run(1), tool_use: tool_use("R", 1).into() }).times_broken("O-33")
    };
    assert_eq!(story(true, true), 1);
    assert_eq!(story(true, false), 0);
    assert_eq!(story(false, true), 0);
}

#[test]
fn o_33_a_sibling_that_failed_is_a_reason_although_the_next_request_goes_out_in_the_same_step() {
    let unrun = |is_error: bool| {
        let mut environment = environment(|_| ());
        environment.tools[0].shell = true;
        let story = EventStory { oracles: Oracles::new(&environment), at: Time::ZERO }.says(use_block("R", 0)).asks("R", 1);
        let outcome = if is_error { ToolOutcome::error("x") } else { ToolOutcome::text("x") };
        let ended = story.hears(ASKED, &[WHOLE]).input(Input::ToolEnded { run: run(1), outcome: outcome.into() });
        ended.result(0).result(1).request(2, &[]).unrun()
    };
    assert_eq!(unrun(true), 0);
    assert_eq!(unrun(false), 1);
}

#[test]
fn o_33_the_words_of_a_stopped_tool_are_not_its_result() {
    let stopped = || EventStory::new().asks("R", 0).input(Input::Cancel).effect(Effect::StopTool { run: run(0) });
    let returns = |text: &str| Input::ToolEnded { run: run(0), outcome: ToolOutcome::text(text).into() };
    let text = "12 files were removed";
    assert_eq!(stopped().input(returns(text)).result_says(text).times_broken("O-33"), 1);
    assert_eq!(stopped().input(returns(text)).result_says("Stopped by the user.").times_broken("O-33"), 0);
    assert_eq!(stopped().input(returns("ok")).result_says("It is not ok.").times_broken("O-33"), 0, "by chance");
    assert_eq!(EventStory::new().asks("R", 0).input(returns(text)).result_says(text).times_broken("O-33"), 0);
}

#[test]
fn o_33_without_streaming_execution_the_siblings_are_those_of_a_batch() {
    let unrun = |between: &[&str]| {
        let mut environment = environment(|settings| {
            settings.streaming_execution = false;
            settings.batch_sibling_abort = SiblingAbort::Failed;
        });
        environment.tools[0].shell = true;
        let story = EventStory { oracles: Oracles::new(&environment), at: Time::ZERO }.says(use_block("R", 0));
        let all = (1..).zip(between).fold(story, |story, (index, name)| story.says(use_block(name, index)));
        let last = u32::try_from(between.len()).unwrap_or_default();
        let story = all.hears(ASKED, &[WHOLE]).effect(Effect::StartTool { run: run(0), tool_use: tool_use("R", 0).into() });
        let failed = story.input(Input::ToolEnded { run: run(0), outcome: ToolOutcome::error("x").into() }).result(0);
        failed.result(last).unrun()
    };
    assert_eq!(unrun(&["R"]), 0);
    assert_eq!(unrun(&["W"]), 1, "an exclusive one is a batch of its own");
    assert_eq!(unrun(&["W", "R"]), 1, "it parts the others");
    assert_eq!(unrun(&["X", "R"]), 0, "one that nobody knows parts nothing");
}

#[test]
fn o_33_an_aborted_prompt_ends_when_its_tools_have_ended_or_their_grace_is_over() {
    let stopped = |grace_ms| {
        let story = EventStory::with(|settings| settings.tool_grace = Micros::from_millis(grace_ms));
        story.asks("R", 0).effect(Effect::StopTool { run: run(0) })
    };
    let ends = |story: EventStory| story.result(0).ends_with(Terminal::AbortedTools).times_broken("O-33");
    assert_eq!(ends(stopped(5)), 1);
    assert_eq!(ends(stopped(0)), 0);
    assert_eq!(ends(stopped(5).ends(0)), 0);
    let discarded = Effect::Note(Note::Discarded { id: ASKED, running: Vec::new() });
    assert_eq!(ends(stopped(5).effect(discarded)), 0, "nobody waits for the tools of a discarded attempt");
}

#[test]
fn o_33_a_tool_of_a_refused_answer_is_told_to_stop() {
    let refused = |notes: bool| {
        let answered = Emission::Answered { uuid: None, id: ASKED, stop_reason: Some("refusal".into()), usage: Default::default() };
        let end = Input::End { id: ASKED, how: AnswerEnd::Complete };
        EventStory::with(|settings| settings.refusal_notes = notes).asks("R", 0).effect(Effect::Emit(answered)).input(end)
    };
    assert_eq!((refused(true).unrun(), refused(false).unrun()), (1, 0));
    assert_eq!(refused(true).effect(Effect::StopTool { run: run(0) }).unrun(), 0);
}

#[test]
fn o_33_an_agent_fails_its_siblings_where_exit_codes_do() {
    let started_after = |counts: bool| {
        let mut environment = environment(|settings| {
            settings.sibling_abort = SiblingAbort::Failed;
            settings.pipeline.exit_code_aborts = counts;
        });
        environment.tools[0].shell = true;
        let asked = EventStory { oracles: Oracles::new(&environment), at: Time::ZERO }.says(use_block("R", 0)).says(use_block("R", 1));
        let agent = asked.effect(Effect::StartAgent { run: run(0), tool_use: tool_use("R", 0).into() });
        let failed = agent.effect(result_effect(run(0), Block::tool_result("t0", &Json::from_value("The agent failed."), true)));
        failed.effect(Effect::StartTool { run: run(1), tool_use: tool_use("R", 1).into() }).times_broken("O-33")
    };
    assert_eq!(started_after(true), 1);
    assert_eq!(started_after(false), 0);
}
