//! The session of `run` over turmoil: the same bytes with the same pauses through a simulated TCP connection.
//!
//! The HTTP is written by hand and does only what is needed, so that turmoil is measured and no HTTP library.

use std::hint::black_box;
use std::time::Duration;

use reenact::engine::time::Micros;
use reenact::world::setup::PreparedAnswer;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use turmoil::net::{TcpListener, TcpStream};

use super::session::{self, RecordedSession};

type NetworkOutcome = Result<(), Box<dyn std::error::Error>>;

const PORT: u16 = 8_080;

/// One exchange of both requests; time moves in steps of `tick`.
pub(crate) fn exchange(session: &RecordedSession, tick: Duration) {
    let mut simulation = turmoil::Builder::new()
        .tick_duration(tick)
        .min_message_latency(Duration::ZERO)
        .max_message_latency(tick)
        .simulation_duration(Duration::from_secs(600))
        .rng_seed(1)
        .build();
    let answers = session.setup.answers.clone();
    simulation.host("server", move || serve(answers.clone()));
    let requests = session.requests.clone();
    let sizes: Vec<usize> = session.setup.answers.iter().map(|answer| answer.pieces.iter().map(|piece| piece.len()).sum()).collect();
    simulation.client("client", async move {
        for (request, size) in requests.iter().zip(sizes) {
            let got = ask(request).await?;
            assert!(got.ends_with(b"\n\n") && got.len() > size, "the answer is whole");
            tokio::time::sleep(duration(session::TOOL)).await;
        }
        Ok(())
    });
    simulation.run().expect("both requests are answered");
}

async fn ask(request: &str) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut connection = TcpStream::connect(("server", PORT)).await?;
    let head = format!("POST /v1/messages HTTP/1.1\r\nhost: server\r\ncontent-length: {}\r\n\r\n", request.len());
    connection.write_all(head.as_bytes()).await?;
    connection.write_all(request.as_bytes()).await?;
    let mut got = Vec::new();
    let mut buffer = [0; 4_096];
    loop {
        let read = connection.read(&mut buffer).await?;
        if read == 0 {
            return Ok(got);
        }
        got.extend_from_slice(black_box(&buffer[..read]));
    }
}

async fn serve(answers: Vec<PreparedAnswer>) -> NetworkOutcome {
    let listener = TcpListener::bind(("0.0.0.0", PORT)).await?;
    for answer in &answers {
        let (connection, _) = listener.accept().await?;
        let mut connection = BufReader::new(connection);
        black_box(read_request(&mut connection).await?);
        let known = &answer.known;
        let mut now = known.head.unwrap_or_default();
        tokio::time::sleep(duration(now)).await;
        connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n").await?;
        for (piece, at) in answer.pieces.iter().zip(&known.pieces) {
            let at = at.unwrap_or(now);
            tokio::time::sleep(duration(at - now)).await;
            now = at;
            connection.write_all(piece).await?;
        }
        tokio::time::sleep(duration(known.end.unwrap_or(now) - now)).await;
        connection.shutdown().await?;
    }
    Ok(())
}

async fn read_request(connection: &mut BufReader<TcpStream>) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        connection.read_line(&mut line).await?;
        match line.trim_end().split_once(": ") {
            Some(("content-length", value)) => length = value.parse()?,
            None if line.trim_end().is_empty() => break,
            _ => (),
        }
    }
    let mut body = vec![0; length];
    connection.read_exact(&mut body).await?;
    Ok(body)
}

fn duration(span: Micros) -> Duration {
    Duration::from_micros(span.0)
}
