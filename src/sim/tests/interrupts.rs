//! The user cancels and interrupts, at a time or when something is seen (M-8), and what requests get that exist only because of it (M-3).

use super::*;
use reenact_engine::emission::Emission;

/// Times in whole milliseconds: head at 10, then an event every 10; Read takes 100, Build 1 s.
const SCENE: &str = r#"
tools = ["Read"]

[timing]
head = "10ms"
first_event = "10ms"
between_events = "10ms"

[[tool]]
name = "Build"
safe = true
latency = "1s"

[[prompt]]
text = "What do the files say?"

[[prompt.turn]]
text = "ok"
tool = [{ name = "Read", latency = "100ms" }, { name = "Build" }]

[[prompt.turn]]
text = "They say a."
"#;

fn scene(more: &str) -> RunReport<AgentLoop> {
    run_file(&format!("{SCENE}\n{more}"))
}

/// The inputs in order, a word each: `cancel`, `interrupt`, or what they are.
fn inputs(report: &RunReport<AgentLoop>) -> Vec<(u64, String)> {
    let word = |input: &Input| match input {
        Input::Cancel => String::from("cancel"),
        Input::Interrupt { prompt, .. } => format!("interrupt {prompt}"),
        Input::Prompt { prompt, .. } => format!("prompt {prompt}"),
        Input::Stream { event, .. } => event.name().to_string(),
        Input::ToolEnded { run, .. } => format!("ended {run}"),
        _ => String::from("other"),
    };
    let events = report.transcript.events.iter();
    events
        .filter_map(|event| if let EventKind::Input(input) = &event.what { Some((event.at.0 / 1_000, word(input))) } else { None })
        .collect()
}

/// When the user interferes, and the input before that.
fn interference(report: &RunReport<AgentLoop>) -> (u64, String, String) {
    let inputs = inputs(report);
    let at = inputs.iter().position(|(_, word)| word == "cancel" || word.starts_with("interrupt")).unwrap_or_else(|| {
        panic!("nobody interfered:\n{}", report.text(DetailLevel::Debug));
    });
    let after = inputs.get(at + 1).map(|(_, word)| word.clone()).unwrap_or_default();
    (inputs[at].0, inputs[at - 1].1.clone(), after)
}

fn cancelled(when: &str) -> (u64, String, String) {
    interference(&scene(&format!("[[interrupt]]\nkind = \"cancel\"\n{when}\n")))
}

#[test]
fn m_8_at_a_virtual_time() {
    assert_eq!(cancelled("at = \"12ms\"").0, 12);
}

#[test]
fn m_8_an_event_before_and_after_the_engine_has_seen_it() {
    let when = "when = { event = \"content_block_start\", nth = 2 }";
    assert_eq!(cancelled(when).1, "content_block_start");
    let before = cancelled(&format!("{when}\nside = \"before\""));
    assert_eq!((&*before.1, &*before.2), ("content_block_stop", "content_block_start"), "the event still comes: it was on its way");
    assert_eq!(cancelled(&format!("{when}\noffset = \"5ms\"")).0, cancelled(when).0 + 5);
}

#[test]
fn m_8_each_state_of_a_tool() {
    let when = |state: &str| cancelled(&format!("when = {{ tool = \"Read\", state = \"{state}\" }}"));
    let (queued, executing, completed, yielded) = (when("queued"), when("executing"), when("completed"), when("yielded"));
    assert_eq!(queued.1, "content_block_stop");
    assert_eq!(executing, queued, "it starts in the step in which it is queued");
    assert_eq!((completed.0, &*completed.1), (executing.0 + 100, "ended 1A"));
    assert!(yielded.0 >= completed.0);
    let before = cancelled("when = { tool = \"Read\", state = \"completed\" }\nside = \"before\"");
    assert_eq!((before.0, &*before.2), (completed.0, "ended 1A"));
    assert_eq!(when("executing").0 + 7, cancelled("when = { tool = \"Read\", state = \"executing\" }\noffset = \"7ms\"").0);
}

#[test]
fn m_8_requests_results_and_terminals() {
    assert_eq!(cancelled("when = { request = 1 }"), (0, "prompt 1".into(), String::new()), "nothing comes after it");
    let second = cancelled("when = { request = 2, prompt = 1 }");
    assert_eq!(second.1, "ended 1B");
    assert_eq!(cancelled("when = { result = 2 }"), second);
    assert_eq!(cancelled("when = { terminal = true }").1, "other", "the end of the stream ended the prompt");
}

#[test]
fn m_8_while_a_retry_waits() {
    let fault = "[[fault]]\nat = { request = 1, attempt = \"1..=2\" }\nstatus = 529\n";
    let report = scene(&format!("{fault}[[interrupt]]\nkind = \"cancel\"\nwhen = {{ retry = 2 }}\noffset = \"100ms\"\n"));
    assert_eq!(report.terminal(), "aborted_streaming", "{}", report.text(DetailLevel::Normal));
    let requests = report.transcript.events.iter().filter(|event| matches!(event.what, EventKind::Request { .. })).count();
    assert_eq!(requests, 2, "the third attempt is never made");
}

#[test]
fn m_8_a_tool_that_is_told_to_stop_is_stopped() {
    let report = scene("[[interrupt]]\nkind = \"cancel\"\nwhen = { tool = \"Build\", state = \"executing\" }\noffset = \"300ms\"\n");
    let ended: Vec<_> = inputs(&report).into_iter().filter(|(_, word)| word.starts_with("ended")).map(|(_, word)| word).collect();
    assert_eq!(ended, ["ended 1A", "ended 1B"], "{}", report.text(DetailLevel::Debug));
    assert_eq!(report.terminal(), "aborted_tools");
}

#[test]
fn m_3_a_prompt_that_exists_only_because_of_an_interrupt_gets_the_default_answer() {
    let interrupt = "[[interrupt]]\nkind = \"interrupt\"\ntext = \"Stop that.\"\nat = \"15ms\"\n";
    let report = scene(interrupt);
    let text = report.text(DetailLevel::Debug);
    assert!(text.contains("the default answer (synthetic)") && text.contains("All right."), "{text}");
    let terminals: Vec<_> = report.terminals.iter().map(|terminal| terminal.as_str()).collect();
    assert_eq!(terminals, ["aborted_streaming", "completed"], "{text}");
    let own = run_file(&format!("default_answer = \"Fine by me.\"\n{SCENE}\n{interrupt}"));
    assert!(own.text(DetailLevel::Normal).contains("Fine by me."));
    let scripted = scene(&format!("{interrupt}[[interrupt.turn]]\ntext = \"I stop.\"\n"));
    assert!(scripted.text(DetailLevel::Debug).contains("interrupt 1, turn 1 (written)"), "{}", scripted.text(DetailLevel::Debug));
}

#[test]
fn m_3_scripted_turns_stay_with_their_prompt_when_an_interrupt_takes_a_number() {
    let more = "[[prompt]]\ntext = \"And then?\"\n[[prompt.turn]]\ntext = \"Nothing.\"\n[[interrupt]]\nkind = \"interrupt\"\ntext = \"Wait.\"\nat = \"15ms\"\n\
        [expect]\nterminals = [\"aborted_streaming\", \"completed\", \"completed\"]\n";
    let report = scene(more);
    assert_eq!(report.failures, [] as [&str; 0], "{}", report.text(DetailLevel::Normal));
    let prompts: Vec<_> = inputs(&report).into_iter().map(|(_, word)| word).filter(|word| word.contains("pt ")).collect();
    assert_eq!(prompts, ["prompt 1", "interrupt 2", "prompt 3"]);
    assert!(report.text(DetailLevel::Debug).contains("turn 2.1 (written)"));
}

#[test]
fn m_3_without_any_injection_no_answer_left_stays_the_end_of_the_run() {
    let short = SCENE.replace("[[prompt.turn]]\ntext = \"They say a.\"\n", "");
    assert_eq!(run_file(&short).terminal(), "tape_exhausted");
}

#[test]
fn m_8_a_moment_that_never_comes_is_named() {
    let report = scene("[matching]\nstrict = true\n[[interrupt]]\nkind = \"cancel\"\nwhen = { retry = 1 }\n");
    assert!(report.text(DetailLevel::Normal).contains("interrupt 1"));
    assert_eq!(report.failures, ["the moment of interrupt 1 never came"]);
}

#[test]
fn m_8_an_interrupt_while_a_block_tool_runs_is_taken_in_and_has_no_terminal_of_its_own() {
    let block =
        "[[interrupt]]\nkind = \"interrupt\"\ntext = \"Also b.\"\nwhen = { tool = \"Build\", state = \"executing\" }\noffset = \"500ms\"\n";
    let report = scene(block);
    assert_eq!(report.terminals.len(), 1, "{}", report.text(DetailLevel::Normal));
    assert_eq!(report.terminal(), "completed");
}

#[test]
fn e_1_an_injected_prompt_is_answered_and_charged_by_the_model_that_is_asked() {
    for stream in [true, false] {
        let toml = format!("[engine]\nstream = {stream}\n[[prompt]]\ntext = \"/model claude-opus-4-6\"\n");
        let scenario = reenact_scenario::parse::scenario("x.toml", &toml, &[]).unwrap_or_else(|faults| panic!("{faults}")).scenario;
        let mut run = Run::new(Arc::new(RunSetup::new(scenario, None).unwrap()), AgentLoop::default());
        assert_eq!(run.advance(), None, "the switch of the model");
        run.inject(Input::Interrupt { prompt: run.next_prompt(), content: [Block::text("And now?")].into() });
        let report = run.to_end();
        let result = report.transcript.events.iter().rev().find_map(|event| match &event.what {
            EventKind::Effect(Effect::Emit(Emission::Result(result))) => Some(result.clone()),
            _ => None,
        });
        let models: Vec<_> = result.unwrap().cost_by_model.iter().map(|(model, _)| model.to_string()).collect();
        assert_eq!(models, ["claude-opus-4-6"], "streamed: {stream}");
    }
}
