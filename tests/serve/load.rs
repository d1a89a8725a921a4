//! Many streams at once, and clients that do not read (K-8).

use std::time::Duration;

use super::client::{End, body, exchange, request, served_all, setup};
use reenact::foreign::TranscriptExtent;
use reenact::live::serve::{AnswerPace, ServeOptions};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

const CLIENTS: usize = 1_000;
const PATIENCE: Duration = Duration::from_secs(60);

/// Forty events at two a tenth of a second, and the last of them large.
fn long_stream(text: &str) -> String {
    format!(
        "[timing]\nhead = \"20ms\"\nfirst_event = \"50ms\"\nbetween_events = \"50ms\"\n\n[[prompt]]\ntext = \"Hello?\"\n\n[[prompt.turn]]\ncontent = [{}]\n",
        (0..12).map(|number| format!("{{ text = \"{number} {text}\" }}")).collect::<Vec<_>>().join(", ")
    )
}

#[test]
fn k_8_a_thousand_streams_at_once_each_whole_and_in_time() {
    let options = ServeOptions { keeps: TranscriptExtent::Outlines, ..ServeOptions::default() };
    let (seen, verdicts) = served_all(&setup(&long_stream("words")), options, |address| async move {
        let mut slow = Vec::new();
        for number in 0..8 {
            let socket = TcpSocket::new_v4().unwrap();
            socket.set_recv_buffer_size(4_096).unwrap();
            let mut stream = socket.connect(address).await.unwrap();
            stream
                .write_all(request("POST", &format!("/slow{number}/v1/messages"), &body(&[("user", "Hello?")])).as_bytes())
                .await
                .unwrap();
            slow.push(stream); // and never reads
        }
        let mut clients = JoinSet::new();
        for number in 0..CLIENTS {
            clients.spawn(async move {
                let stream = TcpStream::connect(address).await.unwrap();
                let path = format!("/client{number}/v1/messages");
                exchange(stream, &request("POST", &path, &body(&[("user", "Hello?")])), PATIENCE).await.0
            });
        }
        let seen = clients.join_all().await;
        drop(slow);
        seen
    });
    let first = seen[0].body();
    assert!(first.ends_with("\"message_stop\"}\n\n") || first.contains("message_stop"), "{first}");
    let whole = seen.iter().filter(|seen| seen.end == End::Whole && seen.body() == first).count();
    assert_eq!(whole, CLIENTS, "every client gets the whole stream");
    let mut ended: Vec<Duration> = seen.iter().map(|seen| seen.ended).collect();
    ended.sort();
    println!("ended: median {:?}, last {:?}", ended[CLIENTS / 2], ended[CLIENTS - 1]);
    assert_eq!(verdicts.len(), CLIENTS + 8);
    assert!(verdicts.iter().all(|(_, verdict)| verdict.is_fine()));
}

#[test]
fn k_8_a_client_that_does_not_read_holds_up_nobody_and_is_not_buffered_for() {
    // More than sockets hold: the server has to wait for this client.
    let event = format!("event: ping\ndata: {{\"type\":\"ping\",\"pad\":\"{}\"}}\n\n", "x".repeat(250_000));
    let stream = event.repeat(40);
    let scenario = format!(
        "[[prompt]]\ntext = \"Hello?\"\n\n[[prompt.turn]]\nbody = '''\n{stream}event: message_stop\ndata: {{\"type\":\"message_stop\"}}\n\n'''\n"
    );
    let (seen, verdicts) =
        served_all(&setup(&scenario), ServeOptions { pace: AnswerPace::None, ..ServeOptions::default() }, |address| async move {
            let socket = TcpSocket::new_v4().unwrap();
            socket.set_recv_buffer_size(4_096).unwrap();
            let mut slow = socket.connect(address).await.unwrap();
            slow.write_all(request("POST", "/slow/v1/messages", &body(&[("user", "Hello?")])).as_bytes()).await.unwrap();
            tokio::time::sleep(Duration::from_millis(200)).await;
            let quick = TcpStream::connect(address).await.unwrap();
            let (seen, _) = exchange(quick, &request("POST", "/quick/v1/messages", &body(&[("user", "Hello?")])), PATIENCE).await;
            drop(slow);
            tokio::time::sleep(Duration::from_millis(200)).await;
            seen
        });
    assert_eq!(seen.end, End::Whole);
    let of = |name: &str| &verdicts.iter().find(|(known, _)| &**known == name).unwrap().1.asked[0];
    assert_eq!(of("quick").how.as_str(), "complete");
    assert_eq!(of("slow").how.as_str(), "the client left", "{}", of("slow"));
    assert!(of("slow").pieces < of("quick").pieces, "{} and {}", of("slow"), of("quick"));
}
