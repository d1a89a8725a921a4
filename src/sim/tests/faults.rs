//! Each fault through a whole run of the reference engine: what the engine gets, and which answer comes afterwards (M-4).

use super::*;
use reenact_engine::contract::AnswerEnd;

const SCENE: &str = r#"
tools = ["Read"]

[timing]
head = "10ms"
first_event = "10ms"
between_events = "10ms"

[[prompt]]
text = "What does the file say?"

[[prompt.turn]]
text = "I look."
tool = [{ name = "Read", input = { file_path = "/w/a" }, result = "a", latency = "1ms" }]

[[prompt.turn]]
text = "It says a."
"#;

fn with(fault: &str) -> RunReport<AgentLoop> {
    run_file(&format!("{SCENE}\n[limits]\ntime = \"10m\"\n[[fault]]\nat = {{ request = 1, attempt = 1 }}\n{fault}\n"))
}

/// How the first attempt ended: status, number of events, end.
fn first_attempt(report: &RunReport<AgentLoop>) -> (Option<u16>, usize, Option<AnswerEnd>) {
    let mut seen = (None, 0, None);
    let first = reenact_engine::contract::RequestId::first(1);
    for event in report.transcript.events.iter() {
        match &event.what {
            EventKind::Input(Input::Head { id, status, .. }) if *id == first => seen.0 = Some(*status),
            EventKind::Input(Input::Stream { id, .. }) if *id == first => seen.1 += 1,
            EventKind::Input(Input::End { id, how }) if *id == first => seen.2 = Some(how.clone()),
            _ => (),
        }
    }
    seen
}

fn fault_line(report: &RunReport<AgentLoop>) -> String {
    let text = report.text(DetailLevel::Normal);
    let line = text.lines().find(|line| line.contains(" fault ")).unwrap_or_else(|| panic!("no fault:\n{text}"));
    line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
}

#[test]
fn m_4_a_status_takes_the_place_of_the_answer_which_comes_next_time() {
    let report = with("status = 529");
    assert_eq!(fault_line(&report), "fault 529 overloaded_error");
    assert_eq!(first_attempt(&report).0, Some(529));
    assert_eq!(report.terminal(), "completed", "{}", report.text(DetailLevel::Normal));
    assert_eq!(report.failures, [] as [&str; 0]);
}

#[test]
fn m_4_connections_that_come_to_nothing() {
    for (word, end) in [
        ("refused", AnswerEnd::ConnectRefused),
        ("dns", AnswerEnd::Dns),
        ("tls", AnswerEnd::Tls),
        ("timeout", AnswerEnd::ConnectTimeout),
        ("reset", AnswerEnd::Reset),
        ("broken_pipe", AnswerEnd::BrokenPipe),
    ] {
        let report = with(&format!("connect = \"{word}\""));
        assert_eq!(first_attempt(&report), (None, 0, Some(end)), "{word}");
        assert_eq!(report.terminal(), "completed", "{word}: {}", report.text(DetailLevel::Normal));
    }
}

#[test]
fn m_4_a_cut_answer_is_given_again_under_fresh_ids() {
    let report = with("cut = { after_events = 3, how = \"reset\" }");
    assert_eq!(first_attempt(&report), (Some(200), 3, Some(AnswerEnd::Reset)));
    let text = report.text(DetailLevel::Debug);
    assert!(text.contains("turn 1.1 (written)") && text.contains("toolu_p1t1n1_2"), "{text}");
    assert_eq!(report.terminal(), "completed", "{text}");
    assert!(text.contains("ok a"), "the tool use under its fresh id still has its scripted result: {text}");
}

#[test]
fn m_4_what_an_answer_can_suffer_without_losing_the_run() {
    let usual = run_file(SCENE);
    for fault in [
        "stall = { after_events = 2, time = \"30s\" }",
        "event = { after_events = 2, name = \"ping\", data = '{\"type\":\"ping\"}' }",
        "unknown_event = true\nafter_events = 2",
        "drip = 100",
        "error_event = \"overloaded_error\"",
        "error = \"rate_limit\"\nretry_after = \"2s\"\nrate_limits = true",
        "status = 502",
        "cut = { after_bytes = 333 }",
        "cut = { after_events = 0, how = \"close\" }",
    ] {
        let report = with(fault);
        assert!(!fault_line(&report).is_empty());
        assert_eq!(report.terminal(), "completed", "{fault}: {}", report.text(DetailLevel::Normal));
        assert_eq!(report.terminals, usual.terminals);
        assert!(report.text(DetailLevel::Normal).contains("It says a."), "{fault}");
    }
}

#[test]
fn m_4_every_other_fault_ends_the_run_with_a_terminal() {
    for fault in [
        "html = true",
        "status = 418",
        "error = \"prompt_too_long\"",
        "malformed_event = true\nafter_events = 2",
        "duplicate = \"block_start\"",
        "duplicate = \"block_stop\"",
        "missing = \"block_start\"",
        "missing = \"block_stop\"",
        "missing = \"message_stop\"",
        "empty_body = true",
        "content_type = \"text/html\"",
        "truncate_tool_input = true",
    ] {
        let report = with(fault);
        assert!(!fault_line(&report).contains("nothing to change"), "{fault}");
        assert!(report.end == RunEnd::Idle && report.terminals.len() == 1, "{fault}: {}", report.text(DetailLevel::Normal));
    }
}

#[test]
fn m_4_a_fault_that_finds_nothing_to_change_says_so() {
    let short = "[[prompt]]\ntext = \"hi\"\n[[prompt.turn]]\ntext = \"ho\"\n[[fault]]\ntruncate_tool_input = true\n";
    let report = run_file(short);
    assert_eq!(report.terminal(), "completed");
    assert_eq!(fault_line(&report), "fault truncated tool input: the answer has nothing to change like this");
}

#[test]
fn m_6_chunks_change_no_run_with_faults() {
    for fault in ["cut = { after_bytes = 333 }", "drip = 100", "duplicate = \"block_stop\""] {
        let digest = |chunking: &str| {
            json::digest(&run_file(&format!("chunking = {chunking}\n{SCENE}\n[[fault]]\nat = {{ attempt = 1 }}\n{fault}\n")).transcript)
        };
        assert_eq!(digest("\"bytes\""), digest("\"as_recorded\""), "{fault}");
    }
}

/// Four attempts fail, whatever the reason.
const OUTAGE: &str = r#"
[engine.retry]
max_retries = 3
jitter_percent = 0

[[prompt]]
text = "Hello?"

[[prompt.turn]]
status = 500
may = true

[[prompt.turn]]
text = "Hello."
may = true

[[fault]]
at = { attempt = "1..=2" }
status = 529
may = true

[[fault]]
at = { attempt = "3.." }
cut = { after_events = 2 }
may = true
"#;

#[test]
fn o_18_a_healed_run_gets_the_next_answer_that_is_whole() {
    let setup = Arc::new(RunSetup::new(read_file(OUTAGE), None).unwrap());
    let start = || Run::new(setup.clone(), AgentLoop::default());
    assert_eq!(start().to_end().terminal(), "model_error");
    for events in 0..12 {
        let mut run = start();
        while run.events() < events {
            assert_eq!(run.advance(), None);
        }
        let before = run.faults();
        run.heal();
        let healed = run.clone().finish();
        let report = run.to_end();
        assert_eq!((report.terminal(), report.violations.as_deref()), ("completed", Some(&[][..])), "{}", report.text(DetailLevel::Normal));
        assert!(healed.faults > before || before == 3, "the faults that did not come are counted");
        let shown = report.text(DetailLevel::Normal);
        assert!(shown.contains("Hello.") && shown.contains("no fault comes from here on"), "{shown}");
    }
}
