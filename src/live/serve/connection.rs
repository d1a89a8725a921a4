//! One connection: requests in, answers played, and the end of the connection as an answer wants it.

use core::future::poll_fn;

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderName, HeaderValue};
use hyper::http::request;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::AsyncWriteExt;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::gate::AnswerGates;
use super::message::{OwnerMessage, ReceivedRequest, ServerResponse, json_head};
use super::play::{AnswerPlayer, PlayedBody};
use super::request_body::{self, OpenBodiesRoom, ReceivedBody, RequestBodyError};
use super::scenario_choice::SCENARIO_HEADER;
use super::schedule::ConnectionCut;
use super::{CallerName, NAME_HEADER, PacketGrouping};
use crate::access::{AccessDecision, AccessGuard, discard, mark_for_origin};
use crate::head_watch::{HeadWatch, WatchedBody, WatchedStream};
use crate::network::Network;
use reenact_wire::http;
use reenact_wire::prelude::*;
use reenact_wire::validate::endpoint::RequestHead;
use reenact_world::endpoint::IncomingRequest;
use reenact_world::plan::ResponseHead;

/// The bytes that wait to be written to a client that does not read. The server does not even look at more.
const WRITE_BUFFER_BYTES: usize = 16 * 1024;

/// The parts of the server that each connection needs.
#[derive(Clone, Debug)]
pub(super) struct ConnectionContext {
    pub(super) tell: mpsc::UnboundedSender<OwnerMessage>,
    pub(super) packets: PacketGrouping,
    pub(super) gates: Option<AnswerGates>,
    pub(super) access: Arc<AccessGuard>,
    /// Room for the bodies of requests of all connections.
    pub(super) room: OpenBodiesRoom,
    /// The part of the next request that is read.
    pub(super) head: Arc<HeadWatch>,
    /// Which connection this is, from 1.
    pub(super) connection: u64,
}

type AnyBody = UnsyncBoxBody<Bytes, ConnectionCut>;

/// Answers what comes over one connection, until it is over.
pub(super) async fn serve<N: Network>(stream: N::Stream, context: ConnectionContext) {
    let (cuts, mut cut) = mpsc::unbounded_channel();
    let service = service_fn(|request| Box::pin(admit(request, context.clone(), cuts.clone())));
    let mut connection = http1::Builder::new()
        .auto_date_header(false)
        .header_read_timeout(None)
        .max_buf_size(WRITE_BUFFER_BYTES)
        .serve_connection(TokioIo::new(WatchedStream { stream, head: context.head.clone() }), service);
    // What goes wrong here is the client's leaving or a cut of ours, and both were told where they happened.
    let ended = tokio::select! {
        biased;
        ended = poll_fn(|context| connection.poll_without_shutdown(context)) => Some(ended),
        () = context.head.overdue() => None,
    };
    let mut stream = connection.into_parts().io.into_inner().stream;
    let Some(ended) = ended else {
        let problem = format!("it was closed: {}", context.head.problem());
        let _ = context.tell.send(OwnerMessage::Unreadable { connection: context.connection, problem });
        drop(stream.shutdown().await);
        return;
    };
    match (cut.try_recv(), ended) {
        (Ok(ConnectionCut::Reset), _) => N::break_on_close(&stream),
        (Ok(ConnectionCut::Close), _) | (Err(_), Ok(())) => drop(stream.shutdown().await),
        (Err(_), Err(error)) => {
            if error.is_parse() || error.is_parse_too_large() {
                let problem = format!("the connection sent something other than an HTTP request: {error}");
                let _ = context.tell.send(OwnerMessage::Unreadable { connection: context.connection, problem });
            }
            drop(stream.shutdown().await);
        }
    }
}

/// Answers a request of those who may ask, and turns others away.
async fn admit(
    request: Request<Incoming>,
    context: ConnectionContext,
    cuts: mpsc::UnboundedSender<ConnectionCut>,
) -> Result<Response<AnyBody>, ConnectionCut> {
    let under_way = context.head.begin_exchange();
    let (head, body) = request.into_parts();
    match context.access.decide(&head) {
        AccessDecision::Granted { origin } => {
            let mut response = answer(head, body, context, cuts).await?;
            if let Some(origin) = origin {
                mark_for_origin(&origin, response.headers_mut());
            }
            Ok(response.map(|body| WatchedBody { body, _under_way: under_way }.boxed_unsync()))
        }
        AccessDecision::Preflight(headers) => {
            let mut response = Response::new(whole(Bytes::new()));
            (*response.status_mut(), *response.headers_mut()) = (StatusCode::NO_CONTENT, headers);
            Ok(response)
        }
        AccessDecision::Refused(refusal) => {
            let response = response(&json_head(refusal.status, &[("x-should-retry", "false")]), whole(refusal.body()));
            let _ = context.tell.send(OwnerMessage::Refused { reason: refusal.reason });
            discard(body).await;
            Ok(response)
        }
    }
}

async fn answer(
    head: request::Parts,
    body: Incoming,
    context: ConnectionContext,
    cuts: mpsc::UnboundedSender<ConnectionCut>,
) -> Result<Response<AnyBody>, ConnectionCut> {
    let method = head.method.to_string();
    let path = head.uri.path_and_query().map_or_else(|| head.uri.to_string(), ToString::to_string);
    let named = head.headers.get(NAME_HEADER).and_then(|value| serde_json::from_slice::<CallerName>(value.as_bytes()).ok());
    let ReceivedBody { bytes: body, room } = match request_body::read(&head.headers, body, &context.room).await {
        Ok(received) => received,
        Err(RequestBodyError::ClientLeft) => return Err(ConnectionCut::Close),
        Err(RequestBodyError::Refused { status, body, problem }) => {
            let problem = format!("{method} {path} was answered with {status}: {problem}");
            let _ = context.tell.send(OwnerMessage::Unreadable { connection: context.connection, problem });
            return Ok(response(&json_head(status, &[]), whole(body)));
        }
    };
    let from = Instant::now();
    let (reply, replied) = oneshot::channel();
    let incoming = IncomingRequest {
        method,
        base: format!("http://{}", text_of(&head.headers, "host").as_deref().unwrap_or("HOST:PORT")),
        head: RequestHead::read(&path, |name| text_of(&head.headers, name)),
        path,
        named: named.map(|name| (name.agent, name.id)),
        body,
    };
    let scenario = text_of(&head.headers, SCENARIO_HEADER);
    let retry_count = text_of(&head.headers, "x-stainless-retry-count");
    let arrived = ReceivedRequest { at: from, connection: context.connection, incoming, scenario, retry_count };
    // A server that is stopped drops what it is sent, and with it the way back.
    let _ = context.tell.send(OwnerMessage::Arrived { arrived, reply });
    let replied = replied.await;
    // Until here the body was in memory.
    drop(room);
    let answer = match replied {
        Ok(ServerResponse::Play(answer)) => answer,
        Ok(ServerResponse::Whole { head, body }) => return Ok(response(&head, whole(body))),
        Err(_) => return Err(ConnectionCut::Close),
    };
    let ConnectionContext { tell, packets, gates, .. } = context;
    let mut player = AnswerPlayer { answer, from, packets, gates, tell, next: 0, is_over: false };
    match player.head().await {
        Ok(head) => Ok(response(&head, PlayedBody::new(player, cuts).boxed_unsync())),
        Err(cut) => {
            let _ = cuts.send(cut);
            Err(cut)
        }
    }
}

fn whole(body: impl Into<Bytes>) -> AnyBody {
    Full::from(body.into()).map_err(|never| match never {}).boxed_unsync()
}

/// A recorded head may hold what no server of today would send: that is left out rather than refused.
fn response(head: &ResponseHead, body: AnyBody) -> Response<AnyBody> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(head.status).unwrap_or(StatusCode::OK);
    for header in head.headers.iter().filter(|header| !http::is_of_connection(&header.name)) {
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(header.name.as_bytes()), HeaderValue::from_bytes(header.value.as_bytes())) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

fn text_of(headers: &hyper::HeaderMap, name: &str) -> Option<Arc<str>> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(Into::into)
}
