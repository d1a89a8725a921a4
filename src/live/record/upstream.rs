//! The connection to the real API: HTTP/1.1 or HTTP/2, TLS where the address says so.
//!
//! Each connection of the client has one of its own upstream, kept from request to request as the client keeps its. It is driven by the answer that
//! is passed on through it (`UpstreamLane::drive`) and not by a task beside: what one packet brought is passed on at once and together, without a
//! switch between tasks for each event.

use std::future::poll_fn;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1, http2};
use hyper::header::{HOST, HeaderValue};
use hyper::{Request, Response, Uri, Version};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;

use super::body::{ProxiedRequestBody, is_reset};
use crate::files::open;
use crate::live::network::{MachineNetwork, Network as _};

/// How long the rest of a request is waited for that has nowhere to go.
const ASKING_WAIT_MAX: Duration = Duration::from_secs(5);

/// Where requests go.
#[derive(Clone)]
pub(super) struct RecorderUpstream {
    base: Uri,
    host: String,
    port: u16,
    /// What stands before each request's path.
    prefix: String,
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
    pub(super) fn new(base: &Uri, ca: Option<&Path>) -> Result<Self, String> {
        let unusable = || format!("--upstream {base}: not an address: write it as https://HOST or http://HOST:PORT");
        let (Some(scheme @ ("http" | "https")), Some(host)) = (base.scheme_str(), base.host()) else { return Err(unusable()) };
        let is_secure = scheme == "https";
        // IPv6 addresses stand in brackets in an address and without them elsewhere.
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let tls = match is_secure {
            true => {
                let name = ServerName::try_from(host.clone()).map_err(|_| unusable())?;
                Some((TlsConnector::from(Arc::new(tls_config(ca)?)), name))
            }
            false => None,
        };
        let port = base.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        Ok(Self { base: base.clone(), host, port, prefix: base.path().trim_end_matches('/').to_owned(), tls })
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
        let path = format!("{}{path}", self.prefix);
        let wrong = |problem: &str| format!("the path {path} cannot be passed on: {problem}");
        let authority = self.base.authority().map_or("", |authority| authority.as_str());
        let authority = authority.rsplit('@').next().unwrap_or(authority);
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
        let unreachable = |error: &dyn std::fmt::Display| {
            format!("cannot connect to {}:{} ({error}): check --upstream, and whether it is up", self.host, self.port)
        };
        let stream = MachineNetwork.connect(&self.host, self.port).await.map_err(|error| unreachable(&error))?;
        let (wire, is_two): (Box<dyn ByteStream>, bool) = match &self.tls {
            None => (Box::new(stream), false),
            Some((connector, name)) => {
                let stream = connector.connect(name.clone(), stream).await.map_err(|error| match error.to_string() {
                    text if text.contains("certificate") => format!(
                        "{} shows a certificate that is not trusted ({text}): name the authority that signed it with --ca FILE",
                        self.host
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
        UpstreamFailure { problem: format!("{} gave no answer ({text})", self.host), is_reset }
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

fn tls_config(ca: Option<&Path>) -> Result<ClientConfig, String> {
    let roots = match ca {
        Some(path) => roots_of(path)?,
        None => roots_of_the_system()?,
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let mut config = config.map_err(|error| format!("TLS cannot be set up: {error}"))?.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// All roots that there are take a quarter of a MiB.
const CA_BYTES_MAX: u64 = 16 << 20;

fn roots_of(path: &Path) -> Result<RootCertStore, String> {
    let wrong = |problem: &str| format!("--ca {}: {problem}", path.display());
    let bytes = open::read(path, CA_BYTES_MAX).map_err(|error| wrong(&format!("cannot be read ({error})")))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&bytes) {
        let certificate = certificate.map_err(|error| wrong(&format!("not a PEM file ({error})")))?;
        roots.add(certificate).map_err(|error| wrong(&format!("a certificate in it is of no use ({error})")))?;
    }
    match roots.is_empty() {
        true => Err(wrong("there is no certificate in it: it must be in PEM form")),
        false => Ok(roots),
    }
}

fn roots_of_the_system() -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    match roots.is_empty() {
        true => Err(String::from("this system has no root certificates: name those to trust with --ca FILE")),
        false => Ok(roots),
    }
}
