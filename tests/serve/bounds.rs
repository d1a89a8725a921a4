//! The bounds of a server: memory for bodies that do not end, and connections whose heads do not (K-12).

use std::time::Duration;

use super::client::{End, HEAD, Seen, body, exchange, post, request, served, setup};
use reenact::live::serve::{AnswerPace, ServeOptions, ServerBounds};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::sleep;

const PATIENCE: Duration = Duration::from_secs(30);

const HELLO: &str = "[[prompt]]\ntext = \"Hello?\"\n\n[[prompt.turn]]\ntext = \"Hello.\"\n";

fn bounded(bounds: ServerBounds) -> ServeOptions {
    ServeOptions { pace: AnswerPace::None, bounds, ..ServeOptions::default() }
}

fn head(length: usize) -> String {
    format!("POST /v1/messages HTTP/1.1\r\nhost: localhost\r\n{HEAD}content-type: application/json\r\ncontent-length: {length}\r\n\r\n")
}

#[test]
fn k_12_open_bodies_beyond_the_bound_are_refused_and_their_room_comes_back() {
    const SENT: usize = 4 << 20;
    const CLIENTS: usize = 20;
    let bounds = ServerBounds { open_bytes_max: 5 * SENT, ..ServerBounds::default() };
    let ((refused, after), verdict) = served(&setup(HELLO), bounded(bounds), |address| async move {
        let mut open = Vec::new();
        for _ in 0..CLIENTS {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(head(SENT + 1).as_bytes()).await.unwrap();
            stream.write_all(&vec![b' '; SENT]).await.unwrap();
            open.push(stream);
        }
        // All of them are in: only their last bytes are missing.
        sleep(Duration::from_millis(500)).await;
        let mut statuses = Vec::new();
        for stream in open {
            statuses.push(exchange(stream, " ", PATIENCE).await.0.status());
        }
        let refused = statuses.iter().filter(|status| **status == 529).count();
        assert!(statuses.iter().all(|status| [400, 529].contains(status)), "{statuses:?}");
        (refused, post(address, &body(&[("user", "Hello?")]), PATIENCE).await)
    });
    assert!((CLIENTS - 5..CLIENTS).contains(&refused), "{refused} of {CLIENTS} are refused where there is room for 5");
    assert_eq!((after.end, after.status()), (End::Whole, 200), "{}", after.text());
    let problem = "the bodies of open requests took more than 20 MiB together";
    assert!(verdict.failures.iter().any(|failure| failure.contains(problem)), "{verdict}");
}

#[test]
fn k_12_a_connection_whose_head_never_ends_is_closed_and_idle_and_slow_ones_are_not() {
    let bounds = ServerBounds { head_wait_max: Duration::from_millis(300), ..ServerBounds::default() };
    let (seen, verdict) = served(&setup(HELLO), bounded(bounds), |address| async move {
        let connect = || async move { TcpStream::connect(address).await.unwrap() };
        let mut slow = connect().await;
        let text = body(&[("user", "Hello?")]);
        slow.write_all(head(text.len()).as_bytes()).await.unwrap();
        let (_, idle) = exchange(connect().await, request("GET", "/v1/models", ""), PATIENCE).await;
        let endless: Vec<Seen> =
            vec![exchange(connect().await, "GET / HTTP/1.1\r\nx-a", PATIENCE).await.0, exchange(connect().await, "G", PATIENCE).await.0];
        sleep(Duration::from_millis(600)).await;
        (endless, exchange(slow, &text, PATIENCE).await.0, exchange(idle, request("GET", "/v1/models", ""), PATIENCE).await.0)
    });
    let (endless, slow, idle) = seen;
    for seen in endless {
        assert!(seen.end != End::Left && seen.reads.is_empty(), "it is closed without an answer: {:?} {}", seen.end, seen.text());
    }
    assert_eq!((slow.end, slow.status()), (End::Whole, 200), "a slow body: {}", slow.text());
    assert_eq!((idle.end, idle.status()), (End::Whole, 200), "it waited for its next request: {}", idle.text());
    let told = verdict.failures.iter().filter(|failure| failure.contains("the head of its request did not end within 300ms"));
    assert_eq!(told.count(), 2, "{verdict}");
}

#[test]
#[cfg(target_os = "linux")]
fn k_12_the_memory_of_a_server_has_a_bound() {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::process::{Command, Stdio};

    const SENT: usize = 30 << 20;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("hello.toml"), HELLO).unwrap();
    let mut server = Command::new(env!("CARGO_BIN_EXE_reenact"));
    let mut server = server.args(["serve", "hello.toml"]).current_dir(folder.path()).stdout(Stdio::piped()).spawn().unwrap();
    let base = BufReader::new(server.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    let (address, piece) = (base.strip_prefix("http://").unwrap(), vec![b' '; SENT]);
    let clients: Vec<std::net::TcpStream> = (0..16)
        .map(|_| {
            let mut stream = std::net::TcpStream::connect(address).unwrap();
            stream.write_all(head(SENT + 1).as_bytes()).unwrap();
            stream.write_all(&piece).unwrap();
            stream
        })
        .collect();
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    drop(clients);
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok()).unwrap();
    // 256 MiB of bodies, and what the program takes by itself.
    assert!(peak < 320 << 10, "480 MiB of open bodies take {} MiB", peak >> 10);
}
