//! The replay server over loopback, as a client that reads raw TCP sees it (K-6).

use std::time::Duration;

use super::client::{End, Seen, body, exchange, in_some_try, post, request, served, setup};
use reenact::engine::contract::{Agent, RequestId};
use reenact::live::serve::{AnswerPace, NAME_HEADER, PacketGrouping, ServeOptions, name};
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

fn at_once() -> ServeOptions {
    ServeOptions { pace: AnswerPace::None, ..ServeOptions::default() }
}

#[test]
fn k_6_each_piece_is_written_by_itself_at_its_time_and_the_end_apart() {
    let ask =
        || {
            served(&setup(TWO_TURNS), ServeOptions::default(), |address| async move {
                post(address, &body(&[("user", "Hello?")]), PATIENCE).await
            })
        };
    let (mut seen, mut verdict) = ask();
    // The head, each event and the end: one read each, in that order.
    let each_by_itself = in_some_try(|| {
        (seen, verdict) = ask();
        seen.reads.len() == 1 + seen.chunks().len() + 1
    });
    assert!(each_by_itself, "{:#?}", seen.reads);
    assert_eq!((seen.end, seen.status()), (End::Whole, 200), "{}", seen.text());
    let chunks = seen.chunks();
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
    let (apart, together) = (ask(at_once()), ask(ServeOptions { packets: PacketGrouping::Together, ..at_once() }));
    assert_eq!(apart.body(), together.body());
    assert!(in_some_try(|| ask(at_once()).reads.last().unwrap().1 == b"0\r\n\r\n"), "the end comes by itself");
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
    assert_eq!(seen.iter().map(Seen::status).collect::<Vec<_>>(), [200, 200, 400], "{}", seen[2].text());
    assert_eq!(seen[2].header("x-should-retry").as_deref(), Some("false"));
    assert!(seen[2].body().contains("tape_exhausted"));
    assert_eq!(verdict.end.as_str(), "tape_exhausted");
    assert!(verdict.failures.iter().any(|failure| failure.contains("tape_exhausted")), "{verdict}");
}

#[test]
fn k_6_who_comes_back_sooner_than_asked_is_named() {
    let limited = format!("{TWO_TURNS}\n[[fault]]\nat = {{ attempt = 1, request = 1 }}\nstatus = 429\nretry_after = \"400ms\"\n");
    for (pause_ms, is_fine) in [(0, false), (200, false), (420, true)] {
        let (_, verdict) = served(&setup(&limited), at_once(), |address| async move {
            assert_eq!(post(address, &body(&[("user", "Hello?")]), PATIENCE).await.status(), 429);
            tokio::time::sleep(Duration::from_millis(pause_ms)).await;
            assert_eq!(post(address, &body(&[("user", "Hello?")]), PATIENCE).await.status(), 200);
        });
        assert_eq!(verdict.is_fine(), is_fine, "after {pause_ms} ms: {verdict}");
        assert!(is_fine || verdict.failures[0].contains("request 1.2 came"), "{verdict}");
        assert_eq!(verdict.asked.len(), 2, "attempts are counted: {verdict}");
    }
}

#[test]
fn k_6_requests_that_the_api_refuses_and_pairs_that_are_broken_are_named() {
    let lonely = serde_json::json!({ "model": "claude-sonnet-4-5", "max_tokens": 9, "stream": true, "messages": [
        { "role": "user", "content": "Hello?" },
        { "role": "assistant", "content": [{ "type": "tool_use", "id": "toolu_1", "name": "Read", "input": {} }] },
        { "role": "user", "content": "And?" },
    ] });
    let (seen, verdict) = served(&setup(TWO_TURNS), at_once(), |address| async move { post(address, &lonely.to_string(), PATIENCE).await });
    assert_eq!(seen.status(), 400, "{}", seen.text());
    assert!(seen.body().contains("tool_use"), "{}", seen.body());
    for part in ["O-1: ", "the API refuses request 1"] {
        assert!(verdict.failures.iter().any(|failure| failure.contains(part)), "{part}: {verdict}");
    }
}

#[test]
fn k_6_a_client_that_says_whose_its_request_is_is_believed() {
    let name = name(&Agent::child("toolu_1"), RequestId { prompt: 1, turn: 2, attempt: 3 });
    let named =
        request("POST", "/v1/messages", &body(&[("user", "Hello?")])).replace("host: ", &format!("{NAME_HEADER}: {name}\r\nhost: "));
    let (_, verdict) = served(&setup(TWO_TURNS), at_once(), |address| async move {
        exchange(TcpStream::connect(address).await.unwrap(), &named, PATIENCE).await.0
    });
    let asked = verdict.asked[0].message.as_ref().unwrap();
    assert_eq!((asked.agent.clone(), asked.id), (Agent::child("toolu_1"), RequestId { prompt: 1, turn: 2, attempt: 3 }));
}

#[test]
fn k_6_times_are_scaled() {
    let ask = |pace| {
        let options = ServeOptions { pace, ..ServeOptions::default() };
        served(&setup(TWO_TURNS), options, |address| async move { post(address, &body(&[("user", "Hello?")]), PATIENCE).await }).0.ended
    };
    let (recorded, double) = (ask(AnswerPace::Recorded), ask(AnswerPace::Scaled(300)));
    assert!(double > recorded + recorded / 2 && double >= Duration::from_millis(3 * (40 + 10 + 6 * 30) - 1), "{recorded:?} and {double:?}");
}

#[test]
fn k_6_a_client_that_leaves_is_noted_and_its_connection_given_up() {
    let slow = TWO_TURNS.replace("30ms", "300ms");
    let (_, verdict) = served(&setup(&slow), ServeOptions::default(), |address| async move {
        let seen = post(address, &body(&[("user", "Hello?")]), Duration::from_millis(100)).await;
        assert_eq!(seen.end, End::Left);
        tokio::time::sleep(Duration::from_millis(100)).await;
        let again = post(address, &body(&[("user", "Hello?")]), PATIENCE).await;
        assert_eq!((again.status(), again.end), (200, End::Whole), "{}", again.text());
    });
    assert!(verdict.asked[0].to_string().contains("the client left after"), "{verdict}");
    assert_eq!(verdict.asked[1].message.as_ref().unwrap().id.attempt, 2, "it is asked again: {verdict}");
}

/// A client as most are: it knows a body that lacks its end from one that is whole.
#[test]
fn m_4_a_hyper_client_sees_a_truncated_body_as_an_error_and_a_clean_end_as_none() {
    use http_body_util::{BodyExt, Full};
    for (how, is_error) in [("truncate", true), ("reset", true), ("close", false)] {
        let cut = format!("{TWO_TURNS}\n[[fault]]\ncut = {{ after_events = 3, how = \"{how}\" }}\n");
        let (result, _) = served(&setup(&cut), at_once(), |address| async move {
            let stream = TcpStream::connect(address).await.unwrap();
            let (mut sender, connection) = hyper::client::conn::http1::handshake(hyper_util::rt::TokioIo::new(stream)).await.unwrap();
            let connection = tokio::spawn(connection);
            let request = hyper::Request::post("/v1/messages")
                .header("host", "localhost")
                .header("x-api-key", "made-up")
                .header("anthropic-version", "2023-06-01");
            let request = request.body(Full::new(hyper::body::Bytes::from(body(&[("user", "Hello?")])))).unwrap();
            let answer = sender.send_request(request).await.unwrap();
            let result = answer.into_body().collect().await.map(|whole| whole.to_bytes().len());
            drop((sender, connection));
            result
        });
        assert_eq!(result.is_err(), is_error, "{how}: {result:?}");
    }
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

#[test]
fn k_6_a_request_that_is_too_large_is_in_the_verdict() {
    let (seen, verdict) = served(&setup(TWO_TURNS), at_once(), |address| async move {
        let huge = body(&[("user", &"x".repeat(100 << 20))]);
        post(address, &huge, PATIENCE).await
    });
    assert_eq!((seen.status(), seen.end), (413, End::Whole), "the connection is there for the answer");
    assert_eq!(seen.body(), r#"{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#);
    assert!(verdict.failures.iter().any(|failure| failure.contains("answered with 413")), "{verdict}");
}
