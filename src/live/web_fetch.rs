//! Pages for WebFetch (B-9): a GET with redirections on the same host alone, a limit of time and size, HTML as text, and no private addresses.
//!
//! ```text
//!   URL ──> host ──> its addresses ── all public? ──> that address ──> answer ──┬── text
//!    ^                                                                          └── moved: on the same host again, elsewhere told
//!    └──────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! The address that was judged is the one that is connected to: a name that leads elsewhere a moment later changes nothing.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, LOCATION, USER_AGENT};
use hyper::{Request, Response, StatusCode, Uri, body::Incoming};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::tls;
use reenact_tools::web_address::is_public;

/// How long a page may take.
const TIME_MAX: Duration = Duration::from_secs(30);

/// So many bytes of a page are read.
const BYTES_MAX: usize = 5 << 20;

/// So many redirections are followed.
const REDIRECTIONS_MAX: usize = 5;

/// The fetcher of pages.
#[derive(Clone, Debug, Default)]
pub struct WebFetch {
    /// Hosts whose addresses may be private: a server of the user's own.
    pub private_hosts: Vec<String>,
}

/// A page that is read, or another one in its place.
enum FetchedPage {
    Text(String),
    Moved(String),
}

impl WebFetch {
    /// The text of a page.
    ///
    /// # Errors
    /// The reason, for the model: the page cannot be had.
    pub async fn text(&self, url: &str) -> Result<String, String> {
        let fetching = tokio::time::timeout(TIME_MAX, self.follow(url)).await;
        fetching.unwrap_or_else(|_| Err(format!("{url} took longer than {} s", TIME_MAX.as_secs())))
    }

    async fn follow(&self, url: &str) -> Result<String, String> {
        let first = parsed(url)?;
        let mut at = first.clone();
        for _ in 0..=REDIRECTIONS_MAX {
            let target = match self.get(&at).await.map_err(|problem| format!("{at}: {problem}"))? {
                FetchedPage::Text(text) => return Ok(text),
                FetchedPage::Moved(location) => moved(&at, &location)?,
            };
            let has_same_host = target.host().zip(first.host()).is_some_and(|(one, other)| one.eq_ignore_ascii_case(other));
            if !has_same_host {
                return Err(format!("{at} has moved to another host: fetch {target} if you want it"));
            }
            at = target;
        }
        Err(format!("{url} moves more than {REDIRECTIONS_MAX} times"))
    }

    async fn get(&self, uri: &Uri) -> Result<FetchedPage, String> {
        let host = uri.host().unwrap_or_default();
        let is_secure = uri.scheme_str() == Some("https");
        let port = uri.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        let name = host.trim_start_matches('[').trim_end_matches(']');
        let addresses: Vec<SocketAddr> =
            tokio::net::lookup_host((name, port)).await.map_err(|error| format!("the host is not found: {error}"))?.collect();
        let is_allowed = self.private_hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(name));
        if let Some(private) = addresses.iter().find(|address| !is_allowed && !is_public(address.ip())) {
            return Err(format!("{} is an address of this machine or of a private network, and those are refused", private.ip()));
        }
        let stream = TcpStream::connect(&addresses[..]).await.map_err(|error| error.to_string())?;
        if !is_secure {
            return exchange(stream, uri).await;
        }
        let connector = tls::connector(None, &[b"http/1.1"]).map_err(|error| error.to_string())?;
        let server = name.to_owned().try_into().map_err(|_| format!("`{name}` is no name of a server"))?;
        exchange(connector.connect(server, stream).await.map_err(|error| error.to_string())?, uri).await
    }
}

/// The URL of a page.
fn parsed(url: &str) -> Result<Uri, String> {
    let uri: Uri = url.parse().map_err(|error| format!("`{url}` is no URL: {error}"))?;
    let has_login = uri.authority().is_some_and(|authority| authority.as_str().contains('@'));
    match uri.scheme_str() {
        _ if has_login => Err(String::from("a URL with a user name or a password is not fetched")),
        Some("http" | "https") if uri.host().is_some_and(|host| !host.is_empty()) => Ok(uri),
        _ => Err(format!("`{url}` is not a URL of http or https with a host")),
    }
}

/// The place that a page has moved to, as its `location` says.
fn moved(from: &Uri, location: &str) -> Result<Uri, String> {
    let location = location.split('#').next().unwrap_or_default();
    let scheme = from.scheme_str().unwrap_or("https");
    let authority = from.authority().map_or("", |authority| authority.as_str());
    let folder = from.path().rsplit_once('/').map_or("", |(folder, _)| folder);
    let whole = match location {
        _ if location.contains("://") => location.to_owned(),
        _ if location.starts_with("//") => format!("{scheme}:{location}"),
        _ if location.starts_with('/') => format!("{scheme}://{authority}{location}"),
        _ if location.starts_with('?') => format!("{scheme}://{authority}{}{location}", from.path()),
        _ => format!("{scheme}://{authority}{folder}/{location}"),
    };
    parsed(&whole)
}

async fn exchange<S>(stream: S, uri: &Uri) -> Result<FetchedPage, String>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
    // It moves the bytes, and ends with this.
    let mut tasks = JoinSet::new();
    tasks.spawn(async { drop(connection.await) });
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let request = Request::get(path)
        .header(HOST, uri.authority().map_or("", |authority| authority.as_str()))
        .header(USER_AGENT, concat!("reenact/", env!("CARGO_PKG_VERSION")))
        .header(ACCEPT, "text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.1")
        .body(Empty::<Bytes>::new())
        .map_err(|error| error.to_string())?;
    page(sender.send_request(request).await.map_err(|error| error.to_string())?).await
}

async fn page(response: Response<Incoming>) -> Result<FetchedPage, String> {
    let header = |name| response.headers().get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let status = response.status();
    if let Some(location) = header(LOCATION).filter(|_| status.is_redirection()) {
        return Ok(FetchedPage::Moved(location));
    }
    if status != StatusCode::OK {
        return Err(format!("the server answers {status}"));
    }
    let content_type = header(CONTENT_TYPE).unwrap_or_default().to_ascii_lowercase();
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_owned();
    let is_text =
        kind.starts_with("text/") || kind.is_empty() || ["json", "xml", "javascript", "yaml"].iter().any(|part| kind.ends_with(part));
    if !is_text {
        return Err(format!("it is {kind}, which is no text"));
    }
    let (body, is_cut) = limited(response.into_body()).await?;
    let text = String::from_utf8_lossy(&body);
    let text = if kind.contains("html") { nanohtml2text::html2text(&text) } else { text.into_owned() };
    let cut = if is_cut { format!("\n(cut: the page has more than {} MiB)", BYTES_MAX >> 20) } else { String::new() };
    Ok(FetchedPage::Text(format!("{}{cut}", text.trim())))
}

/// The first bytes of a body, and whether there were more.
async fn limited(mut body: Incoming) -> Result<(Vec<u8>, bool), String> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| format!("the page breaks off: {error}"))?;
        let Some(data) = frame.data_ref() else { continue };
        let room = BYTES_MAX - bytes.len();
        bytes.extend_from_slice(&data[..data.len().min(room)]);
        if data.len() > room {
            return Ok((bytes, true));
        }
    }
    Ok((bytes, false))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// A server that gives these answers, by their paths.
    async fn serve(answers: &'static [(&'static str, &'static str)]) -> (u16, JoinSet<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = vec![0; 4_096];
                let count = stream.read(&mut request).await.unwrap_or_default();
                let line = String::from_utf8_lossy(&request[..count]).lines().next().unwrap_or_default().to_owned();
                let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
                let answer = answers.iter().find(|(known, _)| *known == path).map_or("404 Not Found\r\n\r\n", |(_, answer)| answer);
                let _ = stream.write_all(format!("HTTP/1.1 {answer}").as_bytes()).await;
                if path == "/endless" {
                    let _ = stream.write_all(&vec![b'x'; BYTES_MAX + 10]).await;
                }
            }
        });
        (port, tasks)
    }

    const ANSWERS: &[(&str, &str)] = &[
        (
            "/page",
            "200 OK\r\ncontent-type: text/html; charset=utf-8\r\n\r\n<html><head><title>T</title><style>a{}</style></head><body><h1>Tides</h1><script>x()</script><p>high &amp; low</p></body></html>",
        ),
        ("/json", "200 OK\r\ncontent-type: application/json\r\n\r\n{\"a\":1}"),
        ("/image", "200 OK\r\ncontent-type: image/png\r\n\r\nxxxx"),
        ("/moved", "302 Found\r\nlocation: /json#part\r\n\r\n"),
        ("/a/relative", "301 Moved\r\nlocation: ../json\r\n\r\n"),
        ("/a/../json", "200 OK\r\ncontent-type: text/plain\r\n\r\nrelative"),
        ("/elsewhere", "307 Temporary Redirect\r\nlocation: http://example.com/x\r\n\r\n"),
        ("/inside", "302 Found\r\nlocation: http://localhost:1/secret\r\n\r\n"),
        ("/round", "302 Found\r\nlocation: /round\r\n\r\n"),
        ("/file", "302 Found\r\nlocation: file:///etc/passwd\r\n\r\n"),
        ("/endless", "200 OK\r\ncontent-type: text/plain\r\n\r\n"),
        ("/broken", "200 OK\r\ncontent-type: text/plain\r\ncontent-length: 50\r\n\r\nshort"),
    ];

    #[tokio::test]
    async fn b_9_a_page_is_text_and_follows_redirections_on_its_host_alone() {
        let (port, _server) = serve(ANSWERS).await;
        let fetch = WebFetch { private_hosts: vec![String::from("127.0.0.1")] };
        let of = async |path: &str| fetch.text(&format!("http://127.0.0.1:{port}{path}")).await;
        let page = of("/page").await.unwrap();
        assert!(page.contains("Tides") && page.contains("high & low") && !page.contains("x()") && !page.contains("a{}"), "{page}");
        assert_eq!(of("/json").await.unwrap(), "{\"a\":1}");
        assert_eq!(of("/moved").await.unwrap(), "{\"a\":1}");
        assert_eq!(of("/a/relative").await.unwrap(), "relative");
        let problems = [
            ("/image", "it is image/png, which is no text"),
            ("/nothing", "the server answers 404 Not Found"),
            ("/elsewhere", "has moved to another host: fetch http://example.com/x if you want it"),
            ("/inside", "has moved to another host"),
            ("/round", "moves more than 5 times"),
            ("/file", "is no URL"),
            ("/broken", "the page breaks off"),
        ];
        for (path, problem) in problems {
            let told = of(path).await.unwrap_err();
            assert!(told.contains(problem), "{path}: {told}");
        }
        let long = of("/endless").await.unwrap();
        assert!(long.len() < BYTES_MAX + 100 && long.ends_with("(cut: the page has more than 5 MiB)"), "{}", long.len());
    }

    #[tokio::test]
    async fn b_9_private_addresses_are_refused_however_they_are_written() {
        let (port, _server) = serve(ANSWERS).await;
        for host in [
            "127.0.0.1",
            "localhost",
            "[::1]",
            "127.1",
            "2130706433",
            "0x7f.0.0.1",
            "0.0.0.0",
            "[::ffff:127.0.0.1]",
            "169.254.169.254",
            "10.0.0.1",
        ] {
            let told = WebFetch::default().text(&format!("http://{host}:{port}/json")).await.unwrap_err();
            assert!(told.contains("those are refused") || told.contains("the host is not found"), "{host}: {told}");
        }
        for url in ["ftp://example.com", "file:///etc/passwd", "http://", "nothing", "http://user:secret@example.com/"] {
            let told = WebFetch::default().text(url).await.unwrap_err();
            assert!(told.contains("no URL") || told.contains("not a URL") || told.contains("user name"), "{url}: {told}");
            assert!(!told.contains("secret"), "{told}");
        }
    }
}
