//! How tools take being stopped, how attempts are repeated, how credentials are renewed.

use super::*;
use crate::types::{RefreshOutcome, ScriptedAuth, StopDeafness, ToolEnding, ToolStopping};
use reenact_engine::settings::{InterruptBehaviour, RetrySettings, SiblingAbort};

fn with(more: &str) -> String {
    format!("{SHORT}{more}")
}

fn outcome(keys: &str) -> ScriptedOutcome {
    read(&with(&format!("[[tool]]\nname = \"Build\"\n{keys}\n"))).tools[0].outcome.clone().unwrap()
}

#[test]
fn r_1_retry_figures_and_how_tools_run() {
    let text = "[engine]\nstreaming_execution = false\nmax_batch_tools = 2\nsibling_abort = false\ntool_grace = \"1s\"\n\
        [engine.retry]\nmax_retries = 2\nbase_delay = \"10ms\"\nmax_delay = \"1m\"\njitter_percent = 0\nmax_retry_after = \"1h\"\n";
    let settings = read(&with(text)).settings;
    assert!(!settings.streaming_execution && settings.sibling_abort == SiblingAbort::Off);
    assert_eq!((settings.max_batch_tools, settings.tool_grace), (2, Micros::from_secs(1)));
    let retry = RetrySettings {
        max_retries: 2,
        base_delay: Micros::from_millis(10),
        max_delay: Micros::from_secs(60),
        jitter_percent: 0,
        max_retry_after: Micros::from_secs(3_600),
        ..RetrySettings::default()
    };
    assert_eq!(settings.retry, retry);
    assert_eq!(messages(&with("[engine]\nmax_batch_tools = 0\n")), ["a batch has room for at least 1 tool"]);
    assert_eq!(messages(&with("[engine.retry]\nretries = 0\n")).len(), 1);
}

#[test]
fn t_17_what_an_interrupt_does_to_a_tool() {
    let text = format!(
        "tools = [\"Read\", \"Write\", \"Bash\"]\n{SHORT}[[tool]]\nname = \"Own\"\n[[tool]]\nname = \"Build\"\nshell = true\ninterrupt = \"cancel\"\n[[tool]]\nname = \"Grep\"\ninterrupt = \"unknown\"\n"
    );
    let tools = read(&text).tools;
    let of = |at: usize| (tools[at].definition.shell, tools[at].definition.interrupt);
    assert_eq!(of(0), (false, Some(InterruptBehaviour::Block)));
    assert_eq!(of(1), (false, Some(InterruptBehaviour::Block)));
    assert_eq!(of(2), (true, Some(InterruptBehaviour::Block)));
    assert_eq!(of(3), (false, None));
    assert_eq!(of(4), (true, Some(InterruptBehaviour::Cancel)));
    assert_eq!(of(5), (false, None));
}

#[test]
fn m_7_how_a_tool_ends_and_stops() {
    assert_eq!(outcome("hangs = true").ending, ToolEnding::Hangs);
    assert_eq!(outcome("returns_twice = true").ending, ToolEnding::ReturnsTwice);
    assert_eq!(outcome("panics = true").ending, ToolEnding::Panics("explicit panic".into()));
    assert_eq!(outcome("panics = \"out of bounds\"").ending, ToolEnding::Panics("out of bounds".into()));
    assert_eq!(outcome("aborts = \"refused\"").aborts.as_deref(), Some("refused"));
    let stopping = ToolStopping { ignores: StopDeafness::For(Micros::from_secs(2)), takes: Micros::from_millis(50) };
    assert_eq!(outcome("ignores_stop = \"2s\"\nstop_takes = \"50ms\"").stopping, stopping);
    assert_eq!(outcome("ignores_stop = true").stopping.ignores, StopDeafness::Forever);
}

#[test]
fn m_7_what_hangs_or_panics_has_no_result() {
    let tool = |keys: &str| messages(&with(&format!("[[tool]]\nname = \"Build\"\n{keys}\n")));
    assert_eq!(tool("hangs = true\nresult = \"x\""), ["`hangs` and `result` cannot both be given; keep one of them"]);
    assert_eq!(tool("hangs = true\npanics = true"), ["`hangs` and `panics` cannot both be given; keep one of them"]);
    assert_eq!(tool("hangs = false"), ["`hangs` can only be true; leave it out otherwise"]);
    assert_eq!(tool("ignores_stop = 2"), ["expected a duration, found an integer without a unit"]);
    assert_eq!(tool("hang = true"), ["unknown key `hang` in [[tool]]; did you mean `hangs`?"]);
}

#[test]
fn m_7_new_credentials() {
    let auth = read(&with("[auth]\nrefresh = \"fails\"\nlatency = \"2s\"\n")).auth;
    assert_eq!(auth, ScriptedAuth { refresh: RefreshOutcome::Fails, latency: Latency::Fixed(Micros::from_secs(2)), may: false });
    assert_eq!(read(SHORT).auth.latency, Latency::Fixed(Micros::from_millis(100)));
}

#[test]
fn t_3_who_may_run_beside_others_is_said_of_a_tool_a_use_and_a_result() {
    let safety = |keys: &str| read(&with(&format!("[[tool]]\n{keys}\n"))).tools[0].definition.safe;
    assert_eq!(safety("name = \"Bash\""), ToolSafety::ByCommand);
    assert_eq!(safety("name = \"Bash\"\nsafe = \"unknown\""), ToolSafety::Unknown);
    assert_eq!(safety("name = \"Shell\""), ToolSafety::Unknown);
    assert_eq!(safety("name = \"Shell\"\nsafe = \"by_command\""), ToolSafety::ByCommand);
    assert_eq!(safety("name = \"Shell\"\nsafe = true"), ToolSafety::Always);
    let uses = "[[prompt]]\ntext = \"b\"\n[[prompt.turn]]\ntool = [{ name = \"A\", safe = true }, { name = \"A\" }, { name = \"A\", id = \"x\" }]\n\
        [[result]]\ntool_use = \"x\"\nsafe = false\n";
    let scenario = read(&with(uses));
    let expected = [("toolu_p2t1n1".into(), true), ("x".into(), false)];
    assert_eq!(scenario.safe_uses().into_iter().collect::<Vec<_>>(), expected);
    let TurnBlock::Tool { outcome, .. } = &scenario.prompts[1].turns[0].content[0] else { panic!("it is a tool use") };
    assert_eq!(*outcome, None, "who says this says nothing of what comes of the use");
}

#[test]
fn t_13_which_failures_abort_siblings_is_true_false_or_a_word() {
    let read = |value: &str| read(&with(&format!("[engine]\nsibling_abort = {value}\nbatch_sibling_abort = {value}\n"))).settings;
    for (value, expected) in [
        ("true", SiblingAbort::Failed),
        ("false", SiblingAbort::Off),
        ("\"failed\"", SiblingAbort::Failed),
        ("\"off\"", SiblingAbort::Off),
        ("\"any\"", SiblingAbort::Any),
    ] {
        let settings = read(value);
        assert_eq!((settings.sibling_abort, settings.batch_sibling_abort), (expected, expected), "{value}");
    }
}

#[test]
fn t_17_known_tools_block_messages_unless_the_scenario_has_readers_stop() {
    let behaviours = |text: &str| -> Vec<_> {
        let tools = read(&format!("{text}\n{SHORT}")).tools;
        tools.iter().map(|tool| (tool.definition.name.to_string(), tool.definition.interrupt)).collect()
    };
    let (block, cancel) = (Some(InterruptBehaviour::Block), Some(InterruptBehaviour::Cancel));
    let of = |read, write| [(String::from("Read"), read), (String::from("Write"), write)];
    assert_eq!(behaviours("tools = [\"Read\", \"Write\"]"), of(block, block));
    assert_eq!(behaviours("[tools]\nnames = [\"Read\", \"Write\"]"), of(block, block));
    assert_eq!(behaviours("tools = { names = [\"Read\", \"Write\"], interrupts = \"readers-cancel\" }"), of(cancel, block));
    let both = "[tools]\ninterrupts = \"readers-cancel\"\n[[tool]]\nname = \"Read\"\n[[tool]]\nname = \"Write\"\ninterrupt = \"cancel\"";
    assert_eq!(behaviours(both), of(cancel, cancel));
    assert_eq!(behaviours(&both.replace("name = \"Read\"", "name = \"Read\"\ninterrupt = \"block\"")), of(block, cancel));
}
