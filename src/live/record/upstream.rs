//! The connection to the real API: HTTP/1.1 or HTTP/2, TLS where the address says so.
//!
//! Each connection of the client has one of its own upstream, kept from request to request as the client keeps its. It is driven by the answer that
//! is passed on through it (`UpstreamLane::drive`) and not by a task beside: what one packet brought is passed on at once and together, without a
//! switch between tasks for each event.

use std::future::poll_fn;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1, http2};
use hyper::header::{HOST, HeaderValue};
use hyper::{Request, Response, Uri, Version};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;

use super::request_body::ProxiedRequestBody;
use crate::base_url::BaseUrl;
use crate::network::{MachineNetwork, Network as _};
use crate::tls::connector;

/// How long the rest of a request is waited for that has nowhere to go.
const ASKING_WAIT_MAX: Duration = Duration::from_secs(5);

/// Where requests go.
#[derive(Clone)]
pub(super) struct RecorderUpstream {
    base: BaseUrl,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

/// Why there is not an answer.
#[derive(Debug)]
pub(super) struct UpstreamFailure {
    /// A sentence.
    pub(super) problem: String,
    /// Whether upstream broke the connection.
    pub(super) is_reset: bool,
}

impl From<String> for UpstreamFailure {
    fn from(problem: String) -> Self {
        Self { problem, is_reset: false }
    }
}

/// One connection.
pub(super) struct UpstreamLane {
    sender: RequestSender,
    /// Reads and writes when it is polled; resolves when the connection has ended.
    connection: UpstreamConnection,
    has_ended: bool,
}

enum RequestSender {
    One(http1::SendRequest<ProxiedRequestBody>),
    Two(http2::SendRequest<ProxiedRequestBody>),
}

type UpstreamConnection = Pin<Box<dyn Future<Output = Result<(), hyper::Error>> + Send>>;

/// Bytes both ways.
trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

impl RecorderUpstream {
    /// Of an address such as `https://api.example/prefix`.
    pub(super) fn new(base: &BaseUrl, ca: Option<&Path>) -> Result<Self, String> {
        let tls = match base.is_secure() {
            true => {
                let name = ServerName::try_from(base.host().to_owned());
                let name = name.map_err(|error| format!("--upstream {base}: {error}; write it as https://HOST"))?;
                Some((connector(ca, &[b"h2", b"http/1.1"]).map_err(|error| error.to_string())?, name))
            }
            false => None,
        };
        Ok(Self { base: base.clone(), tls })
    }

    /// Sends a request on, over `lane` if it still stands; gives the answer when its head is there, and the connection that it comes over.
    pub(super) async fn ask(
        &self,
        lane: Option<UpstreamLane>,
        mut request: Request<ProxiedRequestBody>,
    ) -> Result<(Response<Incoming>, UpstreamLane), UpstreamFailure> {
        let path = request.uri().path_and_query().map_or_else(|| String::from("/"), ToString::to_string);
        if let Some(mut lane) = lane {
            // What upstream did to it meanwhile shows now.
            poll_fn(|context| {
                lane.drive(context);
                Poll::Ready(())
            })
            .await;
            if !lane.has_ended {
                self.readdress(&mut request, &path, &lane)?;
                match lane.ask(request).await {
                    Ok(response) => return Ok((response, lane)),
                    // It was closed before anything of the request was sent: it can be asked anew.
                    Err((_, Some(unsent))) => request = *unsent,
                    Err((error, None)) => return Err(self.explain(&error)),
                }
            }
        }
        let mut lane = match self.connect().await {
            Ok(lane) => lane,
            Err(problem) => {
                // What was asked belongs on the tape, whether or not there is anybody to ask (K-11).
                let mut body = request.into_body();
                let _ = tokio::time::timeout(ASKING_WAIT_MAX, async { while let Some(Ok(_)) = body.frame().await {} }).await;
                return Err(problem.into());
            }
        };
        self.readdress(&mut request, &path, &lane)?;
        match lane.ask(request).await {
            Ok(response) => Ok((response, lane)),
            Err((error, _)) => Err(self.explain(&error)),
        }
    }

    /// Makes the request one to upstream: HTTP/1.1 names the host in a header, HTTP/2 in the address.
    fn readdress(&self, request: &mut Request<ProxiedRequestBody>, path: &str, lane: &UpstreamLane) -> Result<(), String> {
        let path = format!("{}{path}", self.base.prefix());
        let wrong = |problem: &str| format!("the path {path} cannot be passed on: {problem}");
        let authority = self.base.authority();
        let (address, version) = match &lane.sender {
            RequestSender::One(_) => (path.parse::<Uri>(), Version::HTTP_11),
            RequestSender::Two(_) => (format!("https://{authority}{path}").parse(), Version::HTTP_2),
        };
        *request.uri_mut() = address.map_err(|error| wrong(&error.to_string()))?;
        *request.version_mut() = version;
        request.headers_mut().remove(HOST);
        if version == Version::HTTP_11 {
            request.headers_mut().insert(HOST, HeaderValue::from_str(authority).map_err(|error| wrong(&error.to_string()))?);
        }
        Ok(())
    }

    async fn connect(&self) -> Result<UpstreamLane, String> {
        let (host, port) = (self.base.host(), self.base.port());
        let unreachable =
            |error: &dyn std::fmt::Display| format!("cannot connect to {host}:{port} ({error}): check --upstream, and whether it is up");
        let stream = MachineNetwork.connect(host, port).await.map_err(|error| unreachable(&error))?;
        let (wire, is_two): (Box<dyn ByteStream>, bool) = match &self.tls {
            None => (Box::new(stream), false),
            Some((connector, name)) => {
                let stream = connector.connect(name.clone(), stream).await.map_err(|error| match error.to_string() {
                    text if text.contains("certificate") => format!(
                        "{host} shows a certificate that is not trusted ({text}): name the authority that signed it, or itself, with --ca FILE"
                    ),
                    text => unreachable(&text),
                })?;
                let is_two = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                (Box::new(stream), is_two)
            }
        };
        let wire = TokioIo::new(wire);
        let (sender, connection): (RequestSender, UpstreamConnection) = match is_two {
            true => {
                let mut builder = http2::Builder::new(TokioExecutor::new());
                let (sender, connection) = builder.timer(TokioTimer::new()).handshake(wire).await.map_err(|error| unreachable(&error))?;
                (RequestSender::Two(sender), Box::pin(connection))
            }
            false => {
                let mut builder = http1::Builder::new();
                let (sender, connection) = builder.preserve_header_case(true).handshake(wire).await.map_err(|error| unreachable(&error))?;
                (RequestSender::One(sender), Box::pin(connection))
            }
        };
        Ok(UpstreamLane { sender, connection, has_ended: false })
    }

    fn explain(&self, error: &hyper::Error) -> UpstreamFailure {
        let is_reset = is_reset(error);
        let mut text = error.to_string();
        let mut next = std::error::Error::source(error);
        while let Some(cause) = next {
            text = cause.to_string();
            next = cause.source();
        }
        UpstreamFailure { problem: format!("{} gave no answer ({text})", self.base.host()), is_reset }
    }
}

impl UpstreamLane {
    /// Lets the connection read and write what it can.
    pub(super) fn drive(&mut self, context: &mut Context<'_>) {
        if !self.has_ended && self.connection.as_mut().poll(context).is_ready() {
            // Why it ended is told to the answer that was under way.
            self.has_ended = true;
        }
    }

    /// Whether it may serve a further request.
    pub(super) fn may_stay(&self) -> bool {
        !self.has_ended
            && match &self.sender {
                RequestSender::One(sender) => !sender.is_closed(),
                RequestSender::Two(sender) => !sender.is_closed(),
            }
    }

    /// Asks; gives the request back when nothing of it was sent.
    async fn ask(
        &mut self,
        request: Request<ProxiedRequestBody>,
    ) -> Result<Response<Incoming>, (hyper::Error, Option<Box<Request<ProxiedRequestBody>>>)> {
        // Until the last answer is read to its end the connection takes no request.
        let ready = poll_fn(|context| {
            self.drive(context);
            match &mut self.sender {
                RequestSender::One(sender) => sender.poll_ready(context),
                RequestSender::Two(sender) => sender.poll_ready(context),
            }
        });
        if let Err(error) = ready.await {
            return Err((error, Some(Box::new(request))));
        }
        let mut answer: Pin<Box<dyn Future<Output = Result<_, TrySendError<_>>> + Send>> = match &mut self.sender {
            RequestSender::One(sender) => Box::pin(sender.try_send_request(request)),
            RequestSender::Two(sender) => Box::pin(sender.try_send_request(request)),
        };
        let answered = poll_fn(|context| {
            self.drive(context);
            answer.as_mut().poll(context)
        });
        answered.await.map_err(|mut error| {
            let unsent = error.take_message().map(Box::new);
            (error.into_error(), unsent)
        })
    }
}

/// Whether the connection broke, which is not the same as an end too early.
pub(super) fn is_reset(error: &dyn std::error::Error) -> bool {
    let mut next = error.source();
    while let Some(cause) = next {
        if let Some(cause) = cause.downcast_ref::<std::io::Error>() {
            return cause.kind() == std::io::ErrorKind::ConnectionReset;
        }
        next = cause.source();
    }
    false
}
