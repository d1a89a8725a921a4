//! How long the reference engine waits before it asks again, held against what a scenario expects (R-1, R-2, K-6).

use super::*;
use crate::expect::delays::{DelayTolerance, failures};

/// Two overloads, of which the second comes inside a stream that continues for a second, and one answer.
fn scene(delays: &str) -> String {
    format!(
        "[engine.retry]\njitter_percent = 0\n\n[timing]\nhead = \"100ms\"\nfirst_event = \"10ms\"\nbetween_events = \"1s\"\n\n\
         [[prompt]]\ntext = \"Hello?\"\n\n[[prompt.turn]]\ntext = \"Hello.\"\n\n\
         [[fault]]\nat = {{ attempt = 1 }}\nstatus = 529\n\n\
         [[fault]]\nat = {{ attempt = 2 }}\nerror_event = \"overloaded_error\"\nafter_events = 1\n\n[expect]\ndelays = {delays}\n"
    )
}

fn failures_of(delays: &str) -> Vec<String> {
    run_file(&scene(delays)).failures
}

#[test]
fn k_6_virtual_delays_are_exact() {
    for fits in [r#"["500ms", "1s"]"#, r#"["500ms..750ms", "1s..1s"]"#, r#"["0s..1h", "999999us..1000001us"]"#] {
        assert_eq!(failures_of(fits), Vec::<String>::new(), "{fits}");
    }
    let first = "request 1.2 came 0.500s after the answer to 1 was over";
    assert_eq!(failures_of(r#"["500001us", "1s"]"#), [format!("{first}; expected 0.500001s")]);
    assert_eq!(failures_of(r#"["499999us", "1s"]"#), [format!("{first}; expected 0.499999s")]);
    assert_eq!(failures_of(r#"["501ms..1s", "1s"]"#), [format!("{first}; expected 0.501s..1.000s")]);
}

#[test]
fn k_6_every_further_attempt_has_a_delay_and_every_delay_an_attempt() {
    let third = "request 1.3 came 1.000s after the answer to 1.2 was over";
    assert_eq!(failures_of(r#"["500ms"]"#), [format!("{third}; `delays` expects no attempt there")]);
    assert_eq!(failures_of("[]").len(), 2);
    let more = failures_of(r#"["500ms", "1s", "2s..2500ms"]"#);
    assert_eq!(more, ["expected a further attempt after 2.000s..2.500s, and none came"]);
}

#[test]
fn k_6_an_answer_is_over_when_its_error_comes_whether_it_is_closed_or_not() {
    let mut report = run_file(&scene("[]"));
    let is_closed = |what: &EventKind| matches!(what, EventKind::Effect(Effect::CloseRequest { .. }));
    report.transcript.events = report.transcript.events.iter().filter(|event| !is_closed(&event.what)).cloned().collect();
    let zero = (Micros::ZERO, Micros::ZERO);
    let told = failures(&report.transcript, &[zero, zero], DelayTolerance::NONE);
    assert_eq!(told[1], "request 1.3 came 1.000s after the answer to 1.2 was over; expected 0.000s");
    let is_error = |what: &EventKind| matches!(what, EventKind::Input(Input::Stream { .. }));
    report.transcript.events = report.transcript.events.iter().filter(|event| !is_error(&event.what)).cloned().collect();
    let told = failures(&report.transcript, &[zero, (Micros(1), Micros(1))], DelayTolerance::NONE);
    assert_eq!(told[1], "request 1.3 came before the answer to 1.2 was over; expected 0.000001s");
}

#[test]
fn k_6_a_clock_that_goes_by_itself_is_given_some_tolerance() {
    let report = run_file(&scene(r#"["500ms", "1s"]"#));
    let judged = |first: u64, tick: u64| {
        let span = (Micros::from_millis(first), Micros::from_millis(first));
        let second = (Micros::from_secs(1), Micros::from_secs(1));
        failures(&report.transcript, &[span, second], DelayTolerance::from_clock(Micros::from_millis(tick)))
    };
    // 50 ms too soon and 250 ms and a tenth too late.
    for (wanted, is_fine) in [(551, false), (550, true), (228, true), (227, false)] {
        assert_eq!(judged(wanted, 0).is_empty(), is_fine, "{wanted} ms");
    }
    assert!(judged(560, 10).is_empty() && judged(220, 10).is_empty(), "who cannot tell a tick is not blamed for one");
    let text = "request 1.2 came 0.500s after the answer to 1 was over; expected 0.600s, and 0.550s..0.910s passes";
    assert_eq!(judged(600, 0), [text]);
}
