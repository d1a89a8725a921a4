//! Every kind of fault (M-4) over the wire: what a client sees of it.

use std::time::Duration;

use super::client::{End, Seen, body, in_some_try, post, served, setup};
use reenact::foreign::verdict::SessionVerdict;
use reenact::live::serve::{AnswerPace, ServeOptions};

const PATIENCE: Duration = Duration::from_millis(700);

/// The first attempt as a client sees it under this fault, and the verdict.
fn hit_by(fault: &str) -> (Seen, SessionVerdict) {
    let scenario = format!(
        "tools = [\"Read\"]

[[fault]]
at = {{ attempt = 1 }}
{fault}

[[prompt]]
text = \"Hello?\"

[[prompt.turn]]
text = \"Grüße.\"
tool = [{{ name = \"Read\", input = {{ file_path = \"/w/a\" }} }}]

[[prompt.turn]]
text = \"Done.\"
"
    );
    served(&setup(&scenario), ServeOptions { pace: AnswerPace::None, ..ServeOptions::default() }, |address| async move {
        post(address, &body(&[("user", "Hello?")]), PATIENCE).await
    })
}

fn events(seen: &Seen) -> Vec<String> {
    let body = seen.body();
    body.lines().filter_map(|line| line.strip_prefix("event: ")).map(|name| name.replace("content_block_", "")).collect()
}

/// How the whole answer begins.
const WHOLE: [&str; 5] = ["message_start", "start", "ping", "delta", "stop"];

#[test]
fn m_4_answers_in_the_answers_place() {
    for (fault, status, headers, text) in [
        ("status = 529", 529, vec![], "overloaded_error"),
        ("status = 429\nretry_after = \"2s\"", 429, vec![("retry-after", "2")], "rate_limit_error"),
        ("status = 429\nretry_after = \"300ms\"", 429, vec![("retry-after", "1"), ("retry-after-ms", "300")], "rate_limit_error"),
        ("status = 429\nrate_limits = true", 429, vec![("anthropic-ratelimit-requests-limit", "50")], "rate_limit_error"),
        ("error = \"prompt_too_long\"", 400, vec![], "prompt is too long"),
        ("status = 413", 413, vec![], "request_too_large"),
        ("status = 401", 401, vec![], "authentication_error"),
        ("error = \"revoked\"", 403, vec![], "revoked"),
        ("status = 404", 404, vec![], "not_found_error"),
        ("status = 408", 408, vec![], ""),
        ("status = 500\nheaders = { x-should-retry = \"false\" }", 500, vec![("x-should-retry", "false")], "api_error"),
        ("status = 502", 502, vec![], ""),
        ("status = 503\nhtml = true", 503, vec![("content-type", "text/html")], "<html"),
        ("status = 504", 504, vec![], ""),
        ("html = true", 200, vec![("content-type", "text/html")], "<html"),
        ("status = 418\nbody = \"no coffee\"", 418, vec![], "no coffee"),
    ] {
        let (seen, verdict) = hit_by(fault);
        assert_eq!((seen.status(), seen.end), (status, End::Whole), "{fault}: {}", seen.text());
        for (name, value) in headers {
            assert_eq!(seen.header(name).as_deref(), Some(value), "{fault}: {}", seen.text());
        }
        assert!(seen.body().to_lowercase().contains(text), "{fault}: {}", seen.text());
        assert!(seen.header("content-length").is_some(), "{fault}: a whole body says its length");
        assert!(verdict.is_fine(), "{fault}: {verdict}");
    }
}

#[test]
fn m_4_connections_that_come_to_nothing_break_or_hang_and_the_verdict_says_what_could_not_be_carried() {
    for (fault, end, remark) in [
        ("connect = \"reset\"", End::Broken, None),
        ("connect = \"refused\"", End::Broken, Some("a refused connection")),
        ("connect = \"dns\"", End::Broken, Some("an unknown host name")),
        ("connect = \"tls\"", End::Broken, Some("a failed TLS handshake")),
        ("connect = \"broken_pipe\"", End::Broken, Some("while the request is sent")),
        ("connect = \"timeout\"", End::Left, Some("not made in time")),
    ] {
        let (seen, verdict) = hit_by(fault);
        assert_eq!((seen.end, seen.bytes().len()), (end, 0), "{fault}: {}", seen.text());
        let remarks = verdict.remarks.iter().filter(|remark| remark.contains("the scenario wants")).collect::<Vec<_>>();
        assert_eq!(remarks.len(), usize::from(remark.is_some()), "{fault}: {verdict}");
        assert!(remark.is_none_or(|remark| verdict.to_string().contains(remark)), "{fault}: {verdict}");
    }
}

#[test]
fn m_4_a_stream_that_ends_early_breaks_closes_or_ends_well() {
    for (how, end) in [("reset", End::Broken), ("truncate", End::Closed), ("close", End::Whole)] {
        let (seen, _) = hit_by(&format!("cut = {{ after_events = 3, how = \"{how}\" }}"));
        assert_eq!((seen.status(), seen.end), (200, end), "{how}: {}", seen.text());
        assert_eq!(events(&seen), WHOLE[..3], "{how}");
        let is_apart = in_some_try(|| {
            let (seen, _) = hit_by(&format!("cut = {{ after_events = 3, how = \"{how}\" }}"));
            let last_data = seen.reads.iter().rev().find(|(_, bytes)| bytes.len() > 5).unwrap().0;
            seen.ended - last_data >= Duration::from_millis(15)
        });
        assert!(is_apart, "{how}: the end comes by itself");
    }
    let (seen, _) = hit_by("cut = { after_events = 0, how = \"reset\" }");
    assert_eq!((seen.status(), seen.end, seen.chunks().len()), (200, End::Broken, 0), "{}", seen.text());
}

#[test]
fn m_4_a_stream_can_be_cut_inside_an_event_and_inside_a_character() {
    let (seen, _) = hit_by("duplicate = \"message_stop\"");
    let text = seen.chunks().concat();
    let inside = text.windows(2).position(|pair| pair == "ü".as_bytes()).unwrap() + 1;
    for (how, end) in [("reset", End::Broken), ("truncate", End::Closed), ("close", End::Whole)] {
        let (seen, _) = hit_by(&format!("cut = {{ after_bytes = {inside}, how = \"{how}\" }}"));
        assert_eq!((seen.end, seen.chunks().concat()), (end, text[..inside].to_vec()), "{how}");
        assert!(String::from_utf8(seen.chunks().concat()).is_err(), "the cut is inside a character");
    }
}

#[test]
fn m_4_a_stream_stalls_for_a_time_or_for_ever() {
    let mut times = Vec::new();
    let stands_still = in_some_try(|| {
        let (seen, verdict) = hit_by("stall = { after_events = 4, time = \"300ms\" }");
        assert_eq!((seen.end, events(&seen).last().map(String::as_str)), (End::Whole, Some("message_stop")));
        assert!(verdict.is_fine(), "{verdict}");
        times = seen.reads.iter().map(|read| read.0).collect();
        times.windows(2).any(|pair| pair[1] - pair[0] >= Duration::from_millis(250))
    });
    assert!(stands_still, "{times:?}");
    let (seen, verdict) = hit_by("stall = { after_events = 4, time = \"forever\" }");
    assert_eq!((seen.end, events(&seen)), (End::Left, WHOLE[..4].iter().map(ToString::to_string).collect()));
    assert!(verdict.to_string().contains("the client left after 4 pieces") || verdict.to_string().contains("still open"), "{verdict}");
}

#[test]
fn m_4_events_that_should_not_be_there_or_are_missing() {
    let data_of = |seen: &Seen, name: &str| seen.body().split("\n\n").filter(|event| event.starts_with(&format!("event: {name}"))).count();
    let (seen, _) = hit_by("error_event = \"overloaded_error\"\nafter_events = 2");
    assert_eq!((events(&seen), seen.end), (["message_start", "start", "error"].map(String::from).to_vec(), End::Whole));
    let (seen, _) = hit_by("malformed_event = true");
    assert!(seen.end == End::Whole && seen.body().starts_with("event: content_block_delta\ndata: {"), "{}", seen.body());
    let (seen, _) = hit_by("unknown_event = true");
    assert_eq!((data_of(&seen, "weather_report"), seen.end), (1, End::Whole));
    let (seen, _) = hit_by("duplicate = \"block_start\"");
    assert_eq!((data_of(&seen, "content_block_start"), seen.end), (3, End::Whole));
    let (seen, _) = hit_by("missing = \"message_stop\"");
    assert_eq!((data_of(&seen, "message_stop"), seen.end), (0, End::Whole));
    let (seen, _) = hit_by("truncate_tool_input = true");
    assert!(seen.end == End::Whole && data_of(&seen, "message_stop") == 1);
}

#[test]
fn m_4_bodies_that_are_empty_or_called_something_else_or_come_in_drops() {
    let (seen, _) = hit_by("empty_body = true");
    assert_eq!((seen.status(), seen.end, seen.chunks().len()), (200, End::Whole, 0));
    let (seen, _) = hit_by("content_type = \"text/html\"");
    assert_eq!((seen.header("content-type").as_deref(), seen.end), (Some("text/html"), End::Whole));
    assert!(seen.body().contains("message_start"));
    let (seen, _) = hit_by("drip = 4000");
    let length = seen.chunks().concat().len();
    assert_eq!(seen.end, End::Whole);
    assert!(seen.chunks().iter().all(|chunk| chunk.len() <= 400), "a tenth of a second at a time");
    let least = Duration::from_millis(length as u64 * 1_000 / 4_000 - 20);
    assert!(seen.ended >= least, "{length} bytes came in {:?}", seen.ended);
}
