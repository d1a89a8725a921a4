//! One request over HTTP, and what comes of it as inputs: the head, events or a whole body, the end (N-1, R-4).

use std::io::{self, ErrorKind};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::Sender;
use tokio::time::timeout;

use super::upstream::ApiAddress;
use crate::clock::TimeScale;
use crate::network::Network;
use crate::serve::{NAME_HEADER, name};
use reenact_engine::contract::{Agent, AnswerEnd, Input, RequestId};
use reenact_engine::time::Micros;
use reenact_foreign::END_HEADER;
use reenact_wire::event::StreamEvent;
use reenact_wire::http::{HttpHeader, find, is_event_stream};
use reenact_wire::prelude::*;
use reenact_wire::request::Request;
use reenact_wire::sse::SseFramer;
use reenact_wire::validate::endpoint::needed_betas;

/// How long a connection may take to come about.
const CONNECT_TIME_MAX: Micros = Micros::from_secs(30);

/// How long nothing may come: what the official SDKs wait for an answer.
const SILENCE_MAX: Micros = Micros::from_secs(600);

/// A request with its target.
pub(super) struct RequestToSend<N> {
    pub(super) network: N,
    pub(super) upstream: Arc<ApiAddress>,
    pub(super) scale: TimeScale,
    pub(super) agent: Agent,
    pub(super) id: RequestId,
    pub(super) request: Arc<Request>,
}

/// Something came of a request.
#[derive(Debug)]
pub(super) struct ExchangeEvent {
    pub(super) agent: Agent,
    pub(super) id: RequestId,
    pub(super) what: ExchangeEventKind,
}

/// A part of a response.
#[derive(Debug)]
pub(super) enum ExchangeEventKind {
    /// A part of the answer, or its end.
    Input(Input),
    /// A replay server has no answer left (M-3).
    Exhausted,
}

/// Where what comes is told.
struct ExchangeEventSender {
    agent: Agent,
    id: RequestId,
    scale: TimeScale,
    sender: Sender<ExchangeEvent>,
}

/// The listener is gone, so the end has no receiver.
struct ListenerLoss;

impl ExchangeEventSender {
    async fn send_input(&self, input: Input) -> Result<(), ListenerLoss> {
        self.send_event(ExchangeEventKind::Input(input)).await
    }

    async fn send_event(&self, what: ExchangeEventKind) -> Result<(), ListenerLoss> {
        self.sender.send(ExchangeEvent { agent: self.agent.clone(), id: self.id, what }).await.map_err(|_| ListenerLoss)
    }
}

/// Makes a request and tells what comes of it.
pub(super) async fn exchange<N: Network>(wanted: RequestToSend<N>, sender: Sender<ExchangeEvent>) {
    let RequestToSend { network, upstream, scale, agent, id, request } = wanted;
    let teller = ExchangeEventSender { agent, id, scale, sender };
    let how = match connect(&network, &upstream, scale).await {
        Ok(ApiConnection::Plain(stream)) => talk(stream, &upstream, &request, &teller).await,
        Ok(ApiConnection::Secure(stream)) => talk(stream, &upstream, &request, &teller).await,
        Err(how) => Ok(how),
    };
    if let Ok(how) = how {
        // Nobody listens when the run is over.
        let _ = teller.send_input(Input::End { id, how }).await;
    }
}

enum ApiConnection<S> {
    Plain(S),
    Secure(Box<tokio_rustls::client::TlsStream<S>>),
}

async fn connect<N: Network>(network: &N, upstream: &ApiAddress, scale: TimeScale) -> Result<ApiConnection<N::Stream>, AnswerEnd> {
    let connecting = async {
        let stream = network.connect(&upstream.host, upstream.port).await.map_err(|error| connect_end(&error))?;
        let Some((tls, name)) = &upstream.tls else { return Ok(ApiConnection::Plain(stream)) };
        let secure = tls.connect(name.clone(), stream).await.map_err(|_| AnswerEnd::Tls)?;
        Ok(ApiConnection::Secure(Box::new(secure)))
    };
    timeout(scale.duration(CONNECT_TIME_MAX), connecting).await.unwrap_or(Err(AnswerEnd::ConnectTimeout))
}

fn connect_end(error: &io::Error) -> AnswerEnd {
    match error.kind() {
        ErrorKind::ConnectionRefused => AnswerEnd::ConnectRefused,
        ErrorKind::TimedOut | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => AnswerEnd::ConnectTimeout,
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::UnexpectedEof => AnswerEnd::Reset,
        // What a resolver says has no kind of its own.
        _ => AnswerEnd::Dns,
    }
}

/// Sends the request over a connection of its own and reads the answer; how it ended.
async fn talk<S>(stream: S, upstream: &ApiAddress, request: &Request, teller: &ExchangeEventSender) -> Result<AnswerEnd, ListenerLoss>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let Ok((mut sender, connection)) = http1::handshake(TokioIo::new(stream)).await else { return Ok(AnswerEnd::Reset) };
    let mut connection = core::pin::pin!(connection);
    let answering = async {
        let sent = sender.send_request(http_request(upstream, request, teller));
        let response = match timeout(teller.scale.duration(SILENCE_MAX), sent).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Ok(broken(&error)),
            Err(_) => return Ok(AnswerEnd::Timeout),
        };
        read(response, teller).await
    };
    let mut answering = core::pin::pin!(answering);
    // The connection moves the bytes; it may be done before the last of them are read.
    tokio::select! {
        biased;
        how = &mut answering => how,
        _ = &mut connection => answering.await,
    }
}

fn http_request(upstream: &ApiAddress, request: &Request, teller: &ExchangeEventSender) -> hyper::Request<Full<Bytes>> {
    let mut built = hyper::Request::new(Full::new(Bytes::from(request.to_json())));
    *built.method_mut() = hyper::Method::POST;
    // A prefix comes from a URL, so that it is one again.
    *built.uri_mut() = format!("{}/v1/messages", upstream.prefix).parse().unwrap_or_default();
    let accept = if request.stream { "text/event-stream" } else { "application/json" };
    let headers = [
        ("host", upstream.authority()),
        ("content-type", "application/json".into()),
        ("accept", accept.into()),
        ("anthropic-version", "2023-06-01".into()),
        ("x-api-key", upstream.api_key.clone()),
        ("user-agent", concat!("reenact/", env!("CARGO_PKG_VERSION")).into()),
        (NAME_HEADER, name(&teller.agent, teller.id)),
    ];
    // What the engine asks for beside the API's own members is a beta's.
    let betas = needed_betas(request).join(",");
    let headers = headers.into_iter().chain((!betas.is_empty()).then_some(("anthropic-beta", betas)));
    for (name, value) in headers {
        if let Ok(value) = hyper::header::HeaderValue::from_str(&value) {
            built.headers_mut().insert(name, value);
        }
    }
    built
}

async fn read(response: hyper::Response<Incoming>, teller: &ExchangeEventSender) -> Result<AnswerEnd, ListenerLoss> {
    let id = teller.id;
    let (head, mut body) = response.into_parts();
    let header = |(name, value): (&hyper::header::HeaderName, &hyper::header::HeaderValue)| {
        HttpHeader::new(name.as_str(), &String::from_utf8_lossy(value.as_bytes()))
    };
    let headers: Arc<[HttpHeader]> = head.headers.iter().map(header).collect();
    let is_stream = is_event_stream(&headers) == Some(true);
    if find(&headers, END_HEADER).is_some() {
        teller.send_event(ExchangeEventKind::Exhausted).await?;
        return Err(ListenerLoss);
    }
    teller.send_input(Input::Head { id, status: head.status.as_u16(), headers }).await?;
    let (mut framer, mut whole) = (SseFramer::new(), Vec::new());
    loop {
        let frame = match timeout(teller.scale.duration(SILENCE_MAX), body.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(Some(Err(error))) => return Ok(broken(&error)),
            Ok(None) => break,
            Err(_) => return Ok(AnswerEnd::Timeout),
        };
        let Some(data) = frame.data_ref() else { continue };
        if !is_stream {
            whole.extend_from_slice(data);
            continue;
        }
        let mut events = Vec::new();
        let fed =
            framer.feed(data, &mut |frame: reenact_wire::sse::SseFrame<'_>| events.push(StreamEvent::decode(frame.event, frame.data)));
        for event in events {
            teller.send_input(Input::Stream { id, event: Arc::new(event) }).await?;
        }
        if let Err(problem) = fed {
            return Ok(AnswerEnd::Framing(problem.to_string().into()));
        }
    }
    if !is_stream {
        teller.send_input(Input::Body { id, body: String::from_utf8_lossy(&whole).into() }).await?;
    }
    Ok(AnswerEnd::Complete)
}

/// How a connection broke: closed where HTTP has more to come, or cut.
fn broken(error: &hyper::Error) -> AnswerEnd {
    if error.is_canceled() || error.is_closed() {
        return AnswerEnd::BrokenPipe; // the request never left
    }
    let mut cause: Option<&(dyn core::error::Error + 'static)> = Some(error);
    let mut is_end = error.is_incomplete_message();
    while let Some(error) = cause {
        is_end |= error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::UnexpectedEof);
        cause = error.source();
    }
    if is_end { AnswerEnd::Truncated } else { AnswerEnd::Reset }
}
