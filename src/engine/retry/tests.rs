//! The policy's cases, one table test for each rule.

use super::*;
use crate::settings::OverloadPolicy;

fn failure(status: Option<u16>, kind: &str, message: &str) -> AttemptFailure {
    AttemptFailure { status, ..AttemptFailure::new(kind, message) }
}

fn of_all(failure: &AttemptFailure, call: CallKind, history: CallHistory, settings: &RetrySettings) -> RetryDecision {
    decide(&FailedAttempt { failure, id: RequestId::first(1), now: Time::ZERO, call, history, settings, seed: Seed(1), given: None })
}

fn decide_on(failure: &AttemptFailure, history: CallHistory) -> RetryDecision {
    of_all(failure, CallKind::default(), history, &RetrySettings::default())
}

fn of_call(failure: &AttemptFailure, call: CallKind) -> RetryDecision {
    of_all(failure, call, CallHistory::default(), &RetrySettings::default())
}

fn retried(decision: &RetryDecision) -> bool {
    matches!(decision, RetryDecision::After { .. })
}

#[test]
fn r_3_the_table() {
    let streamed = CallKind { streamed: true, ..CallKind::default() };
    for kind in ["connection_refused", "dns", "tls", "connect_timeout", "connection_reset", "broken_pipe", "overloaded_error"] {
        assert!(retried(&of_call(&failure(None, kind, ""), streamed)), "{kind}");
    }
    for status in [408, 409, 429, 500, 502, 503, 504, 529] {
        assert!(retried(&of_call(&failure(Some(status), "x", ""), streamed)), "{status}");
    }
    for status in [400, 402, 403, 405, 422] {
        assert_eq!(of_call(&failure(Some(status), "x", "no"), streamed), RetryDecision::GiveUp(None), "{status}");
    }
    assert_eq!(of_call(&failure(Some(401), "x", ""), streamed), RetryDecision::RefreshAuth { forced: false, provider: None });
    assert_eq!(
        of_call(&failure(Some(403), "x", "OAuth token has been revoked"), streamed),
        RetryDecision::RefreshAuth { forced: true, provider: None }
    );
    assert_eq!(of_call(&failure(Some(404), "x", ""), streamed), RetryDecision::WithoutStreaming);
    assert_eq!(decide_on(&failure(Some(404), "x", ""), CallHistory::default()), RetryDecision::GiveUp(None));
    assert_eq!(of_call(&failure(None, "invalid_request_error", ""), streamed), RetryDecision::GiveUp(None), "an error event of that kind");
}

#[test]
fn r_3_background_work_does_not_add_to_an_overload() {
    let background = CallKind { urgency: CallUrgency::Background, streamed: true, ..CallKind::default() };
    for failure in [failure(Some(529), "overloaded_error", ""), failure(None, "overloaded_error", "")] {
        assert!(matches!(of_call(&failure, background), RetryDecision::GiveUp(Some(_))), "{failure:?}");
    }
    assert!(retried(&of_call(&failure(Some(500), "api_error", ""), background)), "other errors are tried again");
}

#[test]
fn r_3_the_server_s_word_decides_before_the_table_but_not_about_length() {
    let word = |status, word| AttemptFailure { should_retry: Some(word), ..failure(Some(status), "x", "") };
    assert!(retried(&decide_on(&word(400, true), CallHistory::default())));
    assert_eq!(decide_on(&word(529, false), CallHistory::default()), RetryDecision::GiveUp(None));
    let too_long = AttemptFailure { should_retry: Some(true), too_long: true, ..failure(Some(400), "x", "prompt is too long") };
    assert_eq!(decide_on(&too_long, CallHistory::default()), RetryDecision::PromptTooLong);
}

#[test]
fn r_6_too_long_and_too_large_go_up() {
    let image = "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum";
    assert_eq!(
        decide_on(&failure(Some(413), "request_too_large", "Request exceeds the maximum size"), CallHistory::default()),
        RetryDecision::PromptTooLong
    );
    assert_eq!(decide_on(&failure(Some(400), "x", image), CallHistory::default()), RetryDecision::Media);
    let other = "max_tokens: must be positive, maximum 5. See our documentation.";
    assert_eq!(
        decide_on(&failure(Some(400), "x", other), CallHistory::default()),
        RetryDecision::GiveUp(None),
        "documentation is no document"
    );
}

#[test]
fn r_1_delays_double_up_to_the_cap_and_jitter_adds_at_most_a_quarter() {
    let at = |retries| match decide_on(&failure(Some(529), "x", ""), CallHistory { retries, ..CallHistory::default() }) {
        RetryDecision::After { delay, .. } => delay.0,
        other => panic!("{other:?}"),
    };
    for (retries, base) in [(0, 500_000), (1, 1_000_000), (5, 16_000_000), (6, 32_000_000), (9, 32_000_000)] {
        assert!((base..=base * 5 / 4).contains(&at(retries)), "{retries}: {}", at(retries));
    }
    let last = CallHistory { retries: 10, ..CallHistory::default() };
    assert_eq!(decide_on(&failure(Some(529), "x", ""), last), RetryDecision::GiveUp(None), "ten retries are enough");
}

#[test]
fn r_1_jitter_is_keyed_by_the_attempt() {
    let of = |attempt, seed| {
        let id = RequestId { attempt, ..RequestId::first(1) };
        let (failure, settings) = (failure(Some(529), "x", ""), RetrySettings::default());
        let (call, history) = (CallKind::default(), CallHistory::default());
        decide(&FailedAttempt { failure: &failure, id, now: Time::ZERO, call, history, settings: &settings, seed: Seed(seed), given: None })
    };
    assert_eq!(of(1, 1), of(1, 1));
    assert_ne!(of(1, 1), of(2, 1));
    assert_ne!(of(1, 1), of(1, 2));
}

#[test]
fn r_2_retry_after_wins_over_the_computed_delay_and_its_cap() {
    let asked = |seconds| AttemptFailure { retry_after: Some(Micros::from_secs(seconds)), ..failure(Some(429), "x", "") };
    let after = |delay| RetryDecision::After { delay: Micros::from_secs(delay), new_client: false, counted: true };
    assert_eq!(decide_on(&asked(75), CallHistory::default()), after(75));
    assert_eq!(decide_on(&asked(1), CallHistory { retries: 9, ..CallHistory::default() }), after(1));
    assert_eq!(decide_on(&asked(6 * 3_600), CallHistory::default()), after(6 * 3_600));
    let RetryDecision::GiveUp(Some(reason)) = decide_on(&asked(6 * 3_600 + 1), CallHistory::default()) else { panic!("over six hours") };
    assert!(reason.contains("21601"), "it names the time: {reason}");
}

#[test]
fn r_5_auth_is_renewed_once_in_a_row_and_by_force_once() {
    let again = CallHistory { just_refreshed: true, ..CallHistory::default() };
    assert!(matches!(decide_on(&failure(Some(401), "x", ""), again), RetryDecision::GiveUp(Some(_))));
    let forced = CallHistory { forced_refresh: true, ..CallHistory::default() };
    assert_eq!(decide_on(&failure(Some(403), "x", "revoked"), forced), RetryDecision::GiveUp(None));
}

#[test]
fn a_cut_connection_is_not_used_again() {
    let client = |kind| match decide_on(&failure(None, kind, ""), CallHistory::default()) {
        RetryDecision::After { new_client, .. } => new_client,
        other => panic!("{other:?}"),
    };
    assert!(client("connection_reset") && client("broken_pipe"));
    assert!(!client("connect_timeout"));
}

fn with(settings: RetrySettings) -> impl Fn(&AttemptFailure, CallKind, CallHistory) -> RetryDecision {
    move |failure, call, history| of_all(failure, call, history, &settings)
}

fn overflow(input_tokens: u64, max_tokens: u64, limit: u64) -> AttemptFailure {
    let message = format!("input length and `max_tokens` exceed context limit: {input_tokens} + {max_tokens} > {limit}, decrease it");
    AttemptFailure::from_answer(400, &[], &format!(r#"{{"error":{{"type":"invalid_request_error","message":"{message}"}}}}"#))
}

#[test]
fn r_7_an_overflow_leaves_the_margin_and_respects_the_floor() {
    let table = [
        // input, max_tokens, thinking budget: the decision at a limit of 200,000
        (190_000, 20_000, None, RetryDecision::LowerMaxTokens(9_000)),
        (196_000, 20_000, None, RetryDecision::LowerMaxTokens(3_000)),
        (196_001, 20_000, None, RetryDecision::PromptTooLong),
        (190_000, 20_000, Some(8_999), RetryDecision::LowerMaxTokens(9_000)),
        (190_000, 20_000, Some(9_000), RetryDecision::PromptTooLong),
        (200_001, 20_000, None, RetryDecision::PromptTooLong),
        (188_000, 8_000, None, RetryDecision::PromptTooLong), // there was room for it already: the same again would be refused again
        (191_000, 8_000, None, RetryDecision::PromptTooLong),
        (191_001, 8_000, None, RetryDecision::LowerMaxTokens(7_999)),
        (100, 4_000, None, RetryDecision::PromptTooLong), // never raised, whatever the figures
    ];
    for (input, max_tokens, thinking_budget, expected) in table {
        let call = CallKind { max_tokens, thinking_budget, ..CallKind::default() };
        assert_eq!(of_call(&overflow(input, max_tokens, 200_000), call), expected, "{input} {thinking_budget:?}");
    }
}

#[test]
fn r_7_a_second_overflow_and_one_without_figures_count_as_too_long() {
    let call = CallKind { max_tokens: 20_000, ..CallKind::default() };
    let again = CallHistory { lowered: true, ..CallHistory::default() };
    assert_eq!(with(RetrySettings::default())(&overflow(190_000, 20_000, 200_000), call, again), RetryDecision::PromptTooLong);
    let vague = failure(Some(400), "invalid_request_error", "input length and `max_tokens` exceed context limit");
    assert_eq!(of_call(&vague, call), RetryDecision::PromptTooLong);
    let word = AttemptFailure { should_retry: Some(false), ..overflow(190_000, 20_000, 200_000) };
    assert_eq!(of_call(&word, call), RetryDecision::LowerMaxTokens(9_000), "the server's word is not about length (R-3)");
    let settings = RetrySettings { overflow_margin: 10, overflow_floor: 9_991, ..RetrySettings::default() };
    assert_eq!(with(settings)(&overflow(190_000, 20_000, 200_000), call, CallHistory::default()), RetryDecision::PromptTooLong);
}

#[test]
fn r_8_three_overloads_hand_over_or_give_up_by_setting() {
    let overload = failure(Some(529), "overloaded_error", "");
    let count = |overloads| CallHistory { overloads, ..CallHistory::default() };
    let alone = CallKind { streamed: true, ..CallKind::default() };
    let helped = CallKind { has_fallback: true, ..alone };
    let usual = with(RetrySettings::default());
    assert!(retried(&usual(&overload, helped, count(2))), "two are waited for");
    assert_eq!(usual(&overload, helped, count(3)), RetryDecision::Fallback);
    let RetryDecision::GiveUp(Some(reason)) = usual(&overload, alone, count(3)) else { panic!("it gives up") };
    assert!(reason.contains("the service is overloaded"), "{reason}");
    assert!(retried(&usual(&failure(Some(500), "api_error", ""), helped, count(3))), "it is about overloads alone");
    let patient = with(RetrySettings { on_overload: OverloadPolicy::GoOn, ..RetrySettings::default() });
    assert!(retried(&patient(&overload, alone, count(9))));
    assert_eq!(patient(&overload, helped, count(3)), RetryDecision::Fallback);
    let hasty = with(RetrySettings { overloads_to_fallback: 1, ..RetrySettings::default() });
    assert_eq!(hasty(&overload, helped, count(1)), RetryDecision::Fallback);
    let unattended = with(RetrySettings { unattended: true, ..RetrySettings::default() });
    assert!(retried(&unattended(&overload, alone, count(50))), "R-10: without another model it goes on for ever");
    assert_eq!(unattended(&overload, helped, count(3)), RetryDecision::Fallback);
}

#[test]
fn r_8_any_other_answer_resets_the_count_and_no_answer_does_not() {
    let overload = failure(Some(529), "x", "");
    assert_eq!(overload::counted(2, &overload, true), 3);
    assert_eq!(overload::counted(2, &failure(None, "overloaded_error", ""), true), 3);
    assert_eq!(overload::counted(2, &failure(Some(503), "overloaded_error", ""), true), 3, "the body says so");
    assert_eq!(overload::counted(2, &failure(Some(500), "api_error", ""), true), 0);
    assert_eq!(overload::counted(2, &failure(None, "connection_refused", ""), false), 2);
}

#[test]
fn r_9_a_short_wait_stays_fast_and_a_long_or_unknown_one_switches() {
    let fast = CallKind { fast: true, streamed: true, ..CallKind::default() };
    let asked =
        |status, seconds: Option<u64>| AttemptFailure { retry_after: seconds.map(Micros::from_secs), ..failure(Some(status), "x", "") };
    let switched = |minutes: u64| RetryDecision::StandardSpeed { cooldown: Some(Micros::from_secs(minutes * 60)) };
    for status in [429, 529] {
        let wait = RetryDecision::After { delay: Micros::from_secs(19), new_client: false, counted: true };
        assert_eq!(of_call(&asked(status, Some(19)), fast), wait);
        assert_eq!(of_call(&asked(status, Some(20)), fast), switched(10), "at least ten minutes");
        assert_eq!(of_call(&asked(status, Some(900)), fast), switched(15), "the server's own time, if that is longer");
        assert_eq!(of_call(&asked(status, None), fast), switched(30), "the server names none");
        assert_eq!(of_call(&asked(status, Some(7 * 3_600)), fast), switched(420), "what would be too long to wait for");
        assert!(retried(&of_call(&asked(status, None), CallKind { streamed: true, ..CallKind::default() })), "at standard speed it waits");
    }
    assert!(retried(&of_call(&failure(Some(500), "api_error", ""), fast)), "speed has no part in it");
}

#[test]
fn r_9_an_account_without_fast_answers_is_not_asked_for_them_again() {
    let fast = CallKind { fast: true, ..CallKind::default() };
    let off = RetryDecision::StandardSpeed { cooldown: None };
    for (status, message) in [
        (429, "Extra usage: overage not available for this account."),
        (429, "Overage is currently unavailable"),
        (400, "Fast mode is not enabled for your organization."),
        (403, "fast mode not enabled"),
    ] {
        assert_eq!(of_call(&failure(Some(status), "x", message), fast), off, "{message}");
        assert_ne!(of_call(&failure(Some(status), "x", message), CallKind::default()), off, "{message}: it was not asked for");
    }
    for message in ["The model is not available", "Fast mode is busy", "overage is charged"] {
        assert_ne!(of_call(&failure(Some(529), "overloaded_error", message), fast), off, "{message}: said of something else");
    }
    let word = AttemptFailure { should_retry: Some(false), ..failure(Some(429), "x", "overage not available") };
    assert_eq!(of_call(&word, fast), RetryDecision::GiveUp(None), "R-3: the server's word comes first");
}

#[test]
fn r_10_unattended_calls_have_no_limit_and_a_longest_wait() {
    let unattended = with(RetrySettings { unattended: true, ..RetrySettings::default() });
    let delay = |status, history| match unattended(&failure(Some(status), "x", ""), CallKind::default(), history) {
        RetryDecision::After { delay, counted, .. } => (delay, counted),
        other => panic!("{other:?}"),
    };
    let mut polls = unattended_mode::UnattendedRetries::default();
    let settings = RetrySettings::default();
    for made in 0..40 {
        let history = CallHistory { retries: 10, polls, ..CallHistory::default() };
        let (delay, counted) = delay(if made % 2 == 0 { 429 } else { 529 }, history);
        assert!(!counted && delay <= Micros::from_secs(300), "{made}: {delay}");
        let least = Micros::from_millis(500 << made.min(10)).min(Micros::from_secs(300));
        assert!(delay >= least, "{made}: {delay} is less than {least}");
        polls = polls.after_one_more(Time::ZERO, &settings);
    }
    let spent = CallHistory { retries: 10, ..CallHistory::default() };
    assert_eq!(
        unattended(&failure(Some(500), "x", ""), CallKind::default(), spent),
        RetryDecision::GiveUp(None),
        "other errors have their limit"
    );
}

#[test]
fn r_10_after_six_hours_delays_begin_anew() {
    let settings = RetrySettings { unattended: true, ..RetrySettings::default() };
    let polls = (0..20).fold(unattended_mode::UnattendedRetries::default(), |polls, _| polls.after_one_more(Time::ZERO, &settings));
    let at = |seconds| {
        let (failure, call) = (failure(Some(529), "x", ""), CallKind::default());
        let history = CallHistory { polls, ..CallHistory::default() };
        let now = Time::ZERO + Micros::from_secs(seconds);
        match decide(&FailedAttempt {
            failure: &failure,
            id: RequestId::first(1),
            now,
            call,
            history,
            settings: &settings,
            seed: Seed(1),
            given: None,
        }) {
            RetryDecision::After { delay, .. } => delay,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(at(6 * 3_600 - 1), Micros::from_secs(300));
    assert!(at(6 * 3_600) < Micros::from_secs(1), "{}", at(6 * 3_600));
}

#[test]
fn r_10_a_reset_time_takes_the_place_of_polling_and_the_server_s_wait_that_of_both() {
    let unattended = with(RetrySettings { unattended: true, ..RetrySettings::default() });
    let limited = |reset, after: Option<u64>| AttemptFailure {
        reset: Some(Micros::from_secs(reset)),
        retry_after: after.map(Micros::from_secs),
        ..failure(Some(429), "rate_limit_error", "")
    };
    let wait = |failure: &AttemptFailure| match unattended(failure, CallKind::default(), CallHistory::default()) {
        RetryDecision::After { delay, .. } => delay.0 / 1_000_000,
        other => panic!("{other:?}"),
    };
    assert_eq!(wait(&limited(1_000, None)), 1_000);
    assert_eq!(wait(&limited(1_000, Some(7))), 7);
    assert_eq!(wait(&limited(8 * 3_600, None)), 6 * 3_600, "it looks again after six hours");
    let attended = decide_on(&limited(1_000, None), CallHistory::default());
    assert!(matches!(attended, RetryDecision::After { delay, .. } if delay < Micros::from_secs(1)), "{attended:?}");
}

#[test]
fn r_11_a_stream_that_broke_after_it_brought_something_is_asked_for_whole() {
    let broken = CallKind { streamed: true, handed_up: true, ..CallKind::default() };
    let spent = CallHistory { retries: 10, ..CallHistory::default() };
    let usual = with(RetrySettings::default());
    for kind in ["incomplete_stream", "connection_reset", "stream_idle", "overloaded_error", "api_error"] {
        assert_eq!(usual(&failure(None, kind, ""), broken, CallHistory::default()), RetryDecision::WithoutStreaming, "{kind}");
        assert_eq!(usual(&failure(None, kind, ""), broken, spent), RetryDecision::WithoutStreaming, "{kind}: the last resort");
    }
    assert_eq!(usual(&failure(None, "invalid_request_error", ""), broken, CallHistory::default()), RetryDecision::GiveUp(None));
    // One that was asked for whole, and came as a stream all the same, is no stream that broke.
    let whole = CallKind { streamed: false, ..broken };
    assert!(retried(&usual(&failure(None, "incomplete_stream", ""), whole, CallHistory::default())));
    assert_eq!(usual(&failure(None, "incomplete_stream", ""), whole, spent), RetryDecision::GiveUp(None));
    let streaming = with(RetrySettings { nonstreaming_fallback: false, ..RetrySettings::default() });
    assert!(retried(&streaming(&failure(None, "incomplete_stream", ""), broken, CallHistory::default())));
    assert_eq!(streaming(&failure(None, "incomplete_stream", ""), broken, spent), RetryDecision::GiveUp(None), "it counts like any other");
    let not_found = failure(Some(404), "not_found_error", "");
    assert_eq!(
        streaming(&not_found, CallKind { streamed: true, ..CallKind::default() }, CallHistory::default()),
        RetryDecision::GiveUp(None)
    );
}

#[test]
fn r_11_by_setting_a_stream_that_broke_before_its_first_block_is_asked_for_whole_too() {
    let begun = CallKind { streamed: true, answered: true, ..CallKind::default() };
    let whole = with(RetrySettings { nonstreaming_without_block: true, ..RetrySettings::default() });
    for kind in ["incomplete_stream", "connection_reset", "overloaded_error"] {
        assert_eq!(whole(&failure(None, kind, ""), begun, CallHistory::default()), RetryDecision::WithoutStreaming, "{kind}");
    }
    assert!(
        retried(&with(RetrySettings::default())(&failure(None, "incomplete_stream", ""), begun, CallHistory::default())),
        "not by default"
    );
    assert!(
        retried(&whole(&failure(None, "connection_reset", ""), CallKind { answered: false, ..begun }, CallHistory::default())),
        "no stream began"
    );
    assert!(retried(&whole(&failure(Some(529), "overloaded_error", ""), begun, CallHistory::default())));
    let neither = RetrySettings { nonstreaming_without_block: true, nonstreaming_fallback: false, ..RetrySettings::default() };
    assert!(retried(&with(neither)(&failure(None, "incomplete_stream", ""), begun, CallHistory::default())));
}

#[test]
fn r_3_each_cloud_renews_its_own_credentials_once_in_a_row() {
    let of_cloud = |cloud, failure: &AttemptFailure, history| {
        of_all(failure, CallKind::default(), history, &RetrySettings { cloud: Some(cloud), ..RetrySettings::default() })
    };
    let table = [
        (CloudProvider::Bedrock, Some(403), "The security token included in the request is expired"),
        (CloudProvider::Bedrock, Some(403), "denied"),
        (CloudProvider::Bedrock, Some(400), "ExpiredTokenException: the token has expired"),
        (CloudProvider::Bedrock, None, "Could not load credentials from any providers"),
        (CloudProvider::Vertex, Some(401), "Request had invalid authentication"),
        (CloudProvider::Vertex, Some(400), "invalid_grant"),
        (CloudProvider::Vertex, None, "Could not load the default credentials"),
        (CloudProvider::Vertex, None, "Could not refresh access token"),
    ];
    for (cloud, status, message) in table {
        let failure = failure(status, "x", message);
        let renewed = RetryDecision::RefreshAuth { forced: false, provider: Some(cloud) };
        assert_eq!(of_cloud(cloud, &failure, CallHistory::default()), renewed, "{message}");
        let again = CallHistory { just_refreshed: true, ..CallHistory::default() };
        assert!(matches!(of_cloud(cloud, &failure, again), RetryDecision::GiveUp(Some(_))), "{message}");
        assert_ne!(decide_on(&failure, CallHistory::default()), renewed, "{message}: there is no cloud");
    }
    let own = RetryDecision::RefreshAuth { forced: false, provider: None };
    assert_eq!(of_cloud(CloudProvider::Bedrock, &failure(Some(401), "x", ""), CallHistory::default()), own);
    assert!(retried(&of_cloud(CloudProvider::Vertex, &failure(Some(503), "x", "credentials service unavailable"), CallHistory::default())));
}

#[test]
fn r_2_what_is_done_at_once_waits_when_the_server_asks_for_it() {
    let streamed = CallKind { streamed: true, max_tokens: 20_000, ..CallKind::default() };
    let long = Some(Micros::from_secs(6 * 3_600 + 1));
    for failure in [failure(Some(401), "x", ""), failure(Some(404), "x", ""), overflow(190_000, 20_000, 200_000)] {
        assert!(!matches!(of_call(&failure, streamed), RetryDecision::GiveUp(_)), "{failure:?}");
        let asked = AttemptFailure { retry_after: long, ..failure };
        assert!(matches!(of_call(&asked, streamed), RetryDecision::GiveUp(Some(reason)) if reason.contains("21601")), "{asked:?}");
    }
}

#[test]
fn f_11_a_given_wait_takes_the_place_of_a_computed_one_and_of_no_other() {
    let settings = RetrySettings::default();
    let given = Some(Micros::from_millis(1));
    let after = |failure: &AttemptFailure| {
        let (id, call, history) = (RequestId::first(1), CallKind::default(), CallHistory::default());
        match decide(&FailedAttempt { failure, id, now: Time::ZERO, call, history, settings: &settings, seed: Seed(1), given }) {
            RetryDecision::After { delay, .. } => delay,
            other => panic!("{other:?}"),
        }
    };
    let computed = failure(Some(500), "api_error", "");
    assert_eq!(after(&computed), Micros::from_millis(1));
    let asked = Micros::from_secs(3);
    assert_eq!(after(&AttemptFailure { retry_after: Some(asked), ..computed }), asked, "the server's word is no choice of the engine");
}
