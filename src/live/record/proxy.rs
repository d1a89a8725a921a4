//! The proxy itself: connections in, requests on, answers back. It decides nothing but what HTTP asks of a proxy.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http_body_util::{Either, Full};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, Version};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::client_connection::{ClientConnection, ClientStream};
use super::exchange::{ExchangeInput, ProxiedRequestHead};
use super::link::TapeWriterLink;
use super::request_body::ProxiedRequestBody;
use super::response_body::{ProxiedResponseBody, UpstreamSlot};
use super::upstream::{RecorderUpstream, UpstreamFailure};
use super::{ClientCommand, ProxyOutcome, RecordError, RecordOptions};
use crate::access::{AccessDecision, AccessGuard, RefusedRequests, discard, exposure_note, local_url, mark_for_origin};
use crate::head_watch::ExchangeUnderWay;
use crate::network::{MachineNetwork, Network as _};
use crate::no_proxy::inherited_variables;
use crate::signals::{StopSignal, StopSignals};
use reenact_children::{ChildCommand, ChildExit, ChildSession, ChildSignal, SignalTarget, WatchedChild};
use reenact_wire::http::HttpHeader;

/// The headers that belong to one connection and not to the message (RFC 9110, 7.6.1).
const HOP_BY_HOP: [&str; 7] = ["connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"];

/// How much of a burst leaves at once, and how long the head of a request may be.
const SERVER_BUFFER_BYTES: usize = 64 << 10;

/// After a connection that could not be let in.
const ACCEPT_AGAIN: Duration = Duration::from_millis(20);

/// How long the tape writer gets for answers that are under way when everything stops.
const LAST_WORDS: Duration = Duration::from_millis(50);

/// The body of a response: the server's, or the recorder's own.
type RecorderBody = Either<ProxiedResponseBody, Full<Bytes>>;

/// Opens the port.
pub(super) async fn listen(address: SocketAddr) -> Result<TcpListener, RecordError> {
    MachineNetwork.bind(address).await.map_err(|source| RecordError::Listen { address, source })
}

/// Passes traffic on until the client ends, or until Ctrl-C.
pub(super) async fn serve(
    listener: TcpListener,
    upstream: RecorderUpstream,
    link: TapeWriterLink,
    options: &RecordOptions,
) -> Result<ProxyOutcome, RecordError> {
    let address = MachineNetwork::address(&listener).map_err(RecordError::System)?;
    let mut client = match &options.client {
        Some(client) => Some(start(client, address).await?),
        None => None,
    };
    let base = local_url(address);
    (options.notice)(&format!("recording {base} (to {}) in {}", options.upstream, options.out.display()));
    let consequence = format!("can send requests to {} through this recorder, and they are recorded", options.upstream);
    if let Some(note) = exposure_note(address, &consequence) {
        (options.notice)(&note);
    }
    if client.is_none() {
        (options.notice)(&format!("point the client there: ANTHROPIC_BASE_URL={base}; Ctrl-C ends the recording"));
    }
    let access = Arc::new(AccessGuard::new(options.access.clone(), address.ip()));
    let (refuse, mut reasons) = mpsc::unbounded_channel::<String>();
    let mut refused = RefusedRequests::default();
    let mut connections: JoinSet<()> = JoinSet::new();
    let mut signals = StopSignals::listen().map_err(RecordError::System)?;
    let status = loop {
        tokio::select! {
            biased;
            status = ended(&mut client) => break Some(status.map_err(RecordError::Watcher)?),
            signal = signals.next() => {
                match &mut client {
                    Some(client) if signal == StopSignal::Interrupt => pass_interrupt(client),
                    Some(_) | None => break None,
                }
            }
            Some(reason) = reasons.recv() => note_refusal(&mut refused, &reason, options.notice),
            Some(ended) = connections.join_next() => {
                if ended.is_err_and(|error| error.is_panic()) {
                    (options.notice)("a connection's task panicked: this is a defect of the program; recording continues");
                }
            }
            accepted = MachineNetwork::accept(&listener) => match accepted {
                Ok((stream, _)) => {
                    let door = ProxyAccess { guard: access.clone(), refuse: refuse.clone() };
                    connections.spawn(connection(stream, door, upstream.clone(), link.clone()));
                }
                // A client that gave up before it was let in, or too many of them: the next try may do.
                Err(_) => tokio::time::sleep(ACCEPT_AGAIN).await,
            },
        }
    };
    if let (Some(client), Some(_)) = (&mut client, status) {
        let left = client.left().await.map_err(RecordError::Watcher)?;
        left.notice().iter().for_each(|notice| (options.notice)(notice));
    }
    link.shared.is_stopping.store(true, Ordering::Relaxed);
    if status.is_some() {
        // A client may end before the last bytes of its answers are through.
        let _ = tokio::time::timeout(LAST_WORDS, async { while connections.join_next().await.is_some() {} }).await;
    }
    connections.shutdown().await;
    while let Ok(reason) = reasons.try_recv() {
        note_refusal(&mut refused, &reason, options.notice);
    }
    Ok(ProxyOutcome { client: status, refused })
}

/// The rules by which a connection turns requests away.
#[derive(Clone, Debug)]
struct ProxyAccess {
    guard: Arc<AccessGuard>,
    /// Gets the reason of each refusal.
    refuse: mpsc::UnboundedSender<String>,
}

fn note_refusal(refused: &mut RefusedRequests, reason: &str, notice: fn(&str)) {
    if refused.count(reason) {
        notice(&format!("turned a request away: {reason}"));
    }
}

/// One connection of the client.
async fn connection(stream: TcpStream, access: ProxyAccess, upstream: RecorderUpstream, link: TapeWriterLink) {
    let (slot, client) = (UpstreamSlot::default(), ClientConnection::new());
    let (stream, watched, notice) = (ClientStream::new(stream, &client), client.clone(), link.notice);
    let service = service_fn(move |request| admit(request, access.clone(), upstream.clone(), slot.clone(), client.clone(), link.clone()));
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(None).auto_date_header(false).preserve_header_case(true);
    // Events are small: they are copied together, and what one packet brought leaves in one.
    server.writev(false).max_buf_size(SERVER_BUFFER_BYTES);
    // Whatever ends a connection is in the books of its exchange.
    tokio::select! {
        biased;
        _ = server.serve_connection(TokioIo::new(stream), service) => (),
        () = watched.head.overdue() => notice(&format!("a connection was closed: {}", watched.head.problem())),
    }
}

/// Passes on a request of those who may ask, and turns others away.
async fn admit(
    request: Request<Incoming>,
    access: ProxyAccess,
    upstream: RecorderUpstream,
    slot: UpstreamSlot,
    client: Arc<ClientConnection>,
    link: TapeWriterLink,
) -> Result<Response<RecorderBody>, String> {
    let under_way = client.head.begin_exchange();
    let (head, body) = request.into_parts();
    match access.guard.decide(&head) {
        AccessDecision::Granted { origin } => {
            let mut response = answer(Request::from_parts(head, body), under_way, upstream, slot, client, link).await?;
            if let Some(origin) = origin {
                mark_for_origin(&origin, response.headers_mut());
            }
            Ok(response.map(Either::Left))
        }
        AccessDecision::Preflight(headers) => {
            let mut response = Response::new(Either::Right(Full::default()));
            (*response.status_mut(), *response.headers_mut()) = (StatusCode::NO_CONTENT, headers);
            Ok(response)
        }
        AccessDecision::Refused(refusal) => {
            let mut response = Response::new(Either::Right(Full::from(refusal.body())));
            *response.status_mut() = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::FORBIDDEN);
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response.headers_mut().insert("x-should-retry", HeaderValue::from_static("false"));
            let _ = access.refuse.send(refusal.reason);
            discard(body).await;
            Ok(response)
        }
    }
}

/// One request. An error closes the client's connection without an answer, because there was none.
async fn answer(
    request: Request<Incoming>,
    under_way: ExchangeUnderWay,
    upstream: RecorderUpstream,
    slot: UpstreamSlot,
    client: Arc<ClientConnection>,
    link: TapeWriterLink,
) -> Result<Response<ProxiedResponseBody>, String> {
    let (mut head, body) = request.into_parts();
    let mut exchange = link.begin(ProxiedRequestHead {
        method: head.method.to_string(),
        path: head.uri.path_and_query().map_or_else(|| head.uri.to_string(), ToString::to_string),
        headers: listed(&head.headers),
    });
    let body = ProxiedRequestBody::new(body, link.clone(), exchange.id);
    without_hops(&mut head.headers);
    let lane = slot.try_lock().ok().and_then(|mut slot| slot.take());
    let (response, lane) = match upstream.ask(lane, Request::from_parts(head, body)).await {
        Ok(answered) => answered,
        Err(UpstreamFailure { problem, is_reset }) => {
            (link.notice)(&format!("request {}: {problem}", exchange.id));
            exchange.end(ExchangeInput::UpstreamFailure).await;
            if is_reset {
                client.break_on_close();
            }
            return Err(problem);
        }
    };
    let (mut head, body) = response.into_parts();
    exchange.tell(ExchangeInput::ResponseHead { status: head.status.as_u16(), headers: listed(&head.headers) });
    without_hops(&mut head.headers);
    head.version = Version::HTTP_11;
    if body.is_end_stream() {
        exchange.end(ExchangeInput::ResponseEnd).await;
    }
    Ok(Response::from_parts(head, ProxiedResponseBody::new(body, (Some(lane), slot), (exchange, under_way), client)))
}

/// Headers as they came, in their order.
fn listed(headers: &HeaderMap) -> Vec<HttpHeader> {
    headers.iter().map(|(name, value)| HttpHeader::new(name.as_str(), &String::from_utf8_lossy(value.as_bytes()))).collect()
}

/// Takes off what was meant for this connection alone.
fn without_hops(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
}

async fn start(client: &ClientCommand, address: SocketAddr) -> Result<WatchedChild, RecordError> {
    let mut command = ChildCommand::new(client.command.clone());
    let proxies = inherited_variables(&address.ip().to_string()).map(|(name, value)| (name.to_string(), value));
    command.variables = proxies.into_iter().chain([(client.base_url_variable.clone(), local_url(address))]).collect();
    command.session = client.session;
    Ok(command.start(&client.watcher).await?)
}

/// A client decides when an interrupt ends it. At the terminal of this process it has got the interrupt already.
fn pass_interrupt(client: &mut WatchedChild) {
    if client.session() == ChildSession::Own {
        client.signal(ChildSignal::Interrupt, SignalTarget::Group);
    }
}

/// Resolves when the client ends; never without one.
async fn ended(client: &mut Option<WatchedChild>) -> std::io::Result<ChildExit> {
    match client {
        Some(client) => client.exited().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_1_headers_of_the_connection_are_not_passed_on() {
        let mut headers = HeaderMap::new();
        for (name, value) in [("connection", "close, X-Mine"), ("x-mine", "1"), ("te", "trailers"), ("x-theirs", "2")] {
            headers.append(HeaderName::from_static(name), value.parse().unwrap());
        }
        without_hops(&mut headers);
        assert_eq!(listed(&headers), [HttpHeader::new("x-theirs", "2")]);
    }
}
