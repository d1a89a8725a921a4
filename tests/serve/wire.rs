//! The replay server over loopback, as a client that reads raw TCP sees it (K-6).

use std::time::Duration;

use super::client::{End, Seen, body, exchange, post, request, served, setup};
use reenact::live::serve::{Options, Pace, Packets};
use tokio::net::TcpStream;

const PATIENCE: Duration = Duration::from_secs(20);

const TWO_TURNS: &str = r#"
[timing]
head = "40ms"
first_event = "10ms"
between_events = "30ms"

[[prompt]]
text = "Hello?"

[[prompt.turn]]
text = "Hello."

[[prompt.turn]]
text = "Once more."
"#;

fn at_once() -> Options {
    Options { pace: Pace::None, ..Options::default() }
}

#[test]
fn k_6_each_piece_is_written_by_itself_at_its_time_and_the_end_apart() {
    let (seen, verdict) =
        served(&setup(TWO_TURNS), Options::default(), |address| async move { post(address, &body(&[("user", "Hello?")]), PATIENCE).await });
    assert_eq!((seen.end, seen.status()), (End::Whole, 200), "{}", seen.text());
    let chunks = seen.chunks();
    // The head, each event and the end: one read each, in that order.
    assert_eq!(seen.reads.len(), 1 + chunks.len() + 1, "{:#?}", seen.reads);
    assert!(chunks.iter().all(|chunk| chunk.starts_with(b"event: ") && chunk.ends_with(b"\n\n")));
    assert_eq!(seen.reads.last().unwrap().1, b"0\r\n\r\n");
    assert!(seen.reads[0].0 >= Duration::from_millis(39), "the head came after {:?}", seen.reads[0].0);
    for (number, (at, _)) in (0..).zip(&seen.reads[1..=chunks.len()]) {
        assert!(*at >= Duration::from_millis(40 + 10 + 30 * number - 1), "piece {number} came after {at:?}");
    }
    assert!(verdict.is_fine(), "{verdict}");
    assert_eq!(verdict.asked[0].pieces, chunks.len(), "{verdict}");
}

#[test]
fn k_6_at_once_is_still_one_packet_a_piece_unless_asked_otherwise() {
    let ask = |options| {
        served(&setup(TWO_TURNS), options, |address| async move { post(address, &body(&[("user", "Hello?")]), PATIENCE).await }).0
    };
    let (apart, together) = (ask(at_once()), ask(Options { packets: Packets::Together, ..at_once() }));
    assert_eq!(apart.body(), together.body());
    assert_eq!(apart.reads.last().unwrap().1, b"0\r\n\r\n", "the end comes by itself");
    assert!(together.reads.last().unwrap().1.len() > 5, "the end comes with the last event");
    assert!(together.reads.len() <= 3, "{:?}", together.reads);
}

#[test]
fn k_6_more_requests_than_answers_are_told_not_to_come_back() {
    let (seen, verdict) = served(&setup(TWO_TURNS), at_once(), |address| async move {
        let mut seen = Vec::new();
        for extra in ["", "Go on.", "And then?"] {
            let messages = [("user", "Hello?"), ("assistant", "Hello."), ("user", "More."), ("assistant", "Once more."), ("user", extra)];
            let count = match extra {
                "" => 1,
                "Go on." => 3,
                _ => 5,
            };
            seen.push(post(address, &body(&messages[..count]), PATIENCE).await);
        }
        seen
    });
    assert_eq!(seen.iter().map(Seen::status).collect::<Vec<_>>(), [200, 200, 403], "{}", seen[2].text());
    assert_eq!(seen[2].header("x-should-retry").as_deref(), Some("false"));
    assert!(seen[2].body().contains("tape_exhausted"));
    assert_eq!(verdict.end.as_str(), "tape_exhausted");
    assert!(verdict.failures.iter().any(|failure| failure.contains("tape_exhausted")), "{verdict}");
}

#[test]
fn k_6_other_requests_are_answered_and_wrong_ones_named() {
    let (seen, verdict) = served(&setup(TWO_TURNS), at_once(), |address| async move {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let mut seen = Vec::new();
        let counted = body(&[("user", "Hello?")]);
        for (method, path, body) in [
            ("POST", "/v1/messages/count_tokens?beta=true", counted.as_str()),
            ("GET", "/v1/models", ""),
            ("HEAD", "/", ""),
            ("POST", "/v1/complete", "{}"),
            ("POST", "/v1/messages", "this is no JSON"),
        ] {
            if method == "HEAD" {
                continue; // its answer has a length and no body
            }
            let (answer, again) = exchange(stream, &request(method, path, body), PATIENCE).await;
            stream = again;
            seen.push(answer);
        }
        seen
    });
    let statuses: Vec<u16> = seen.iter().map(Seen::status).collect();
    assert_eq!(statuses, [200, 200, 404, 400], "{verdict}");
    assert!(seen[0].body().contains("input_tokens") && seen[1].body().contains("\"data\""));
    assert_eq!(verdict.failures.iter().filter(|failure| failure.contains("was answered with")).count(), 2, "{verdict}");
    assert!(verdict.asked.iter().all(|asked| asked.connection == 1), "one connection was enough");
}
