//! The policy's cases, one table test for each rule.

use super::*;

fn failure(status: Option<u16>, kind: &str, message: &str) -> Failure {
    Failure { status, ..Failure::of(kind, message) }
}

fn of_all(failure: &Failure, call: Call, history: History, settings: &RetrySettings) -> Decision {
    decide(&Case { failure, id: RequestId::first(1), now: Time::ZERO, call, history, settings, seed: Seed(1) })
}

fn of(failure: &Failure, history: History) -> Decision {
    of_all(failure, Call::default(), history, &RetrySettings::default())
}

fn of_call(failure: &Failure, call: Call) -> Decision {
    of_all(failure, call, History::default(), &RetrySettings::default())
}

fn retried(decision: &Decision) -> bool {
    matches!(decision, Decision::After { .. })
}

#[test]
fn r_3_the_table() {
    let streamed = Call { streamed: true, ..Call::default() };
    for kind in ["connection_refused", "dns", "tls", "connect_timeout", "connection_reset", "broken_pipe", "overloaded_error"] {
        assert!(retried(&of_call(&failure(None, kind, ""), streamed)), "{kind}");
    }
    for status in [408, 409, 429, 500, 502, 503, 504, 529] {
        assert!(retried(&of_call(&failure(Some(status), "x", ""), streamed)), "{status}");
    }
    for status in [400, 402, 403, 405, 422] {
        assert_eq!(of_call(&failure(Some(status), "x", "no"), streamed), Decision::GiveUp(None), "{status}");
    }
    assert_eq!(of_call(&failure(Some(401), "x", ""), streamed), Decision::RefreshAuth { forced: false, provider: None });
    assert_eq!(
        of_call(&failure(Some(403), "x", "OAuth token has been revoked"), streamed),
        Decision::RefreshAuth { forced: true, provider: None }
    );
    assert_eq!(of_call(&failure(Some(404), "x", ""), streamed), Decision::WithoutStreaming);
    assert_eq!(of(&failure(Some(404), "x", ""), History::default()), Decision::GiveUp(None));
    assert_eq!(of_call(&failure(None, "invalid_request_error", ""), streamed), Decision::GiveUp(None), "an error event of that kind");
}

#[test]
fn r_3_background_work_does_not_add_to_an_overload() {
    let background = Call { background: true, streamed: true, ..Call::default() };
    for failure in [failure(Some(529), "overloaded_error", ""), failure(None, "overloaded_error", "")] {
        assert!(matches!(of_call(&failure, background), Decision::GiveUp(Some(_))), "{failure:?}");
    }
    assert!(retried(&of_call(&failure(Some(500), "api_error", ""), background)), "other errors are tried again");
}

#[test]
fn r_3_the_server_s_word_decides_before_the_table_but_not_about_length() {
    let word = |status, word| Failure { should_retry: Some(word), ..failure(Some(status), "x", "") };
    assert!(retried(&of(&word(400, true), History::default())));
    assert_eq!(of(&word(529, false), History::default()), Decision::GiveUp(None));
    let too_long = Failure { should_retry: Some(true), too_long: true, ..failure(Some(400), "x", "prompt is too long") };
    assert_eq!(of(&too_long, History::default()), Decision::TooLong);
}

#[test]
fn r_6_too_long_and_too_large_go_up() {
    let image = "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum";
    assert_eq!(of(&failure(Some(413), "request_too_large", "Request exceeds the maximum size"), History::default()), Decision::TooLong);
    assert_eq!(of(&failure(Some(400), "x", image), History::default()), Decision::Media);
    let other = "max_tokens: must be positive, maximum 5. See our documentation.";
    assert_eq!(of(&failure(Some(400), "x", other), History::default()), Decision::GiveUp(None), "documentation is no document");
}

#[test]
fn r_1_delays_double_up_to_the_cap_and_jitter_adds_at_most_a_quarter() {
    let at = |retries| match of(&failure(Some(529), "x", ""), History { retries, ..History::default() }) {
        Decision::After { delay, .. } => delay.0,
        other => panic!("{other:?}"),
    };
    for (retries, base) in [(0, 500_000), (1, 1_000_000), (5, 16_000_000), (6, 32_000_000), (9, 32_000_000)] {
        assert!((base..=base * 5 / 4).contains(&at(retries)), "{retries}: {}", at(retries));
    }
    let last = History { retries: 10, ..History::default() };
    assert_eq!(of(&failure(Some(529), "x", ""), last), Decision::GiveUp(None), "ten retries are enough");
}

#[test]
fn r_1_jitter_is_keyed_by_the_attempt() {
    let of = |attempt, seed| {
        let id = RequestId { attempt, ..RequestId::first(1) };
        let (failure, settings) = (failure(Some(529), "x", ""), RetrySettings::default());
        let (call, history) = (Call::default(), History::default());
        decide(&Case { failure: &failure, id, now: Time::ZERO, call, history, settings: &settings, seed: Seed(seed) })
    };
    assert_eq!(of(1, 1), of(1, 1));
    assert_ne!(of(1, 1), of(2, 1));
    assert_ne!(of(1, 1), of(1, 2));
}

#[test]
fn r_2_retry_after_wins_over_the_computed_delay_and_its_cap() {
    let asked = |seconds| Failure { retry_after: Some(Micros::from_secs(seconds)), ..failure(Some(429), "x", "") };
    let after = |delay| Decision::After { delay: Micros::from_secs(delay), new_client: false, counted: true };
    assert_eq!(of(&asked(75), History::default()), after(75));
    assert_eq!(of(&asked(1), History { retries: 9, ..History::default() }), after(1));
    assert_eq!(of(&asked(6 * 3_600), History::default()), after(6 * 3_600));
    let Decision::GiveUp(Some(reason)) = of(&asked(6 * 3_600 + 1), History::default()) else { panic!("over six hours") };
    assert!(reason.contains("21601"), "it names the time: {reason}");
}

#[test]
fn r_5_auth_is_renewed_once_in_a_row_and_by_force_once() {
    let again = History { just_refreshed: true, ..History::default() };
    assert!(matches!(of(&failure(Some(401), "x", ""), again), Decision::GiveUp(Some(_))));
    let forced = History { forced_refresh: true, ..History::default() };
    assert_eq!(of(&failure(Some(403), "x", "revoked"), forced), Decision::GiveUp(None));
}

#[test]
fn a_cut_connection_is_not_used_again() {
    let client = |kind| match of(&failure(None, kind, ""), History::default()) {
        Decision::After { new_client, .. } => new_client,
        other => panic!("{other:?}"),
    };
    assert!(client("connection_reset") && client("broken_pipe"));
    assert!(!client("connect_timeout"));
}
