//! Upstreams with TLS, HTTP/1.1 and HTTP/2 (K-1).

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use reenact::scenario::tape::ResponseEnd;
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::harness::*;

/// A certificate for 127.0.0.1, its key, and the certificate of the authority that signed it, as PEM.
fn certificates() -> (CertificateDer<'static>, PrivateKeyDer<'static>, String) {
    let mut authority = rcgen::CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = rcgen::CertifiedIssuer::self_signed(authority, rcgen::KeyPair::generate().unwrap()).unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    let own = rcgen::CertificateParams::new(vec![String::from("127.0.0.1")]).unwrap().signed_by(&key, &authority).unwrap();
    let signed: &rcgen::Certificate = authority.as_ref();
    (own.der().clone(), PrivateKeyDer::Pkcs8(key.serialize_der().into()), signed.pem())
}

/// A certificate that signs itself, as people make one for a server of their own.
fn self_made(names: &[&str], is_ca: rcgen::IsCa) -> (CertificateDer<'static>, PrivateKeyDer<'static>, String) {
    let mut params = rcgen::CertificateParams::new(names.iter().map(|name| String::from(*name)).collect::<Vec<_>>()).unwrap();
    params.is_ca = is_ca;
    let key = rcgen::KeyPair::generate().unwrap();
    let own = params.self_signed(&key).unwrap();
    (own.der().clone(), PrivateKeyDer::Pkcs8(key.serialize_der().into()), own.pem())
}

/// Answers every request with a message, over the protocols named; tells the version of each request.
fn secure_upstream(protocols: &'static [&'static str], told: mpsc::Sender<(Version, String)>) -> (u16, String) {
    secure_upstream_with(certificates(), protocols, told)
}

fn secure_upstream_with(
    (certificate, key, authority): (CertificateDer<'static>, PrivateKeyDer<'static>, String),
    protocols: &'static [&'static str],
    told: mpsc::Sender<(Version, String)>,
) -> (u16, String) {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let mut config = config.with_single_cert(vec![certificate], key).unwrap();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    let (tell_port, port) = mpsc::channel();
    in_background(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
            tell_port.send(listener.local_addr().unwrap().port()).unwrap();
            let acceptor = TlsAcceptor::from(Arc::new(config));
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                // Who does not trust the certificate hangs up.
                let Ok(stream) = acceptor.accept(stream).await else { continue };
                let told = told.clone();
                let service = service_fn(move |request: Request<Incoming>| {
                    let host = request.uri().authority().map(ToString::to_string);
                    let host = host.or_else(|| Some(request.headers().get("host")?.to_str().ok()?.to_owned()));
                    told.send((request.version(), host.unwrap_or_default())).unwrap();
                    let body = Frames(message("Hello.").into_iter());
                    async { Ok::<_, Infallible>(Response::builder().header("content-type", "text/event-stream").body(body).unwrap()) }
                });
                tokio::task::spawn(async move {
                    // A client that hangs up is no failure of this test.
                    let _ = auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
    });
    (port.recv_timeout(PATIENCE).unwrap(), authority)
}

#[test]
fn k_1_upstream_is_asked_over_tls_in_the_version_that_it_speaks() {
    for (protocols, version) in [(&["h2", "http/1.1"][..], Version::HTTP_2), (&["http/1.1"], Version::HTTP_11), (&[], Version::HTTP_11)] {
        let (told, seen) = mpsc::channel();
        let (port, authority) = secure_upstream(protocols, told);
        let folder = tempfile::tempdir().unwrap();
        let ca = folder.path().join("ca.pem");
        std::fs::write(&ca, &authority).unwrap();
        let recorder = Recorder::start_with(&format!("https://127.0.0.1:{port}"), &["--ca", ca.to_str().unwrap()], &[]);
        let mut talk = Talk::open(recorder.port);
        for _ in 0..2 {
            talk.ask("POST", "/v1/messages", "", prompt("hi").as_bytes());
            let got = talk.answer().unwrap();
            assert!(got.whole && got.body() == message("Hello.").concat().as_bytes(), "{got:?}");
            assert_eq!(seen.recv_timeout(PATIENCE).unwrap(), (version, format!("127.0.0.1:{port}")));
        }
        let (_, said, tape) = recorder.stop();
        assert_eq!(tape.exchanges.len(), 2, "{said}");
        let lengths: Vec<_> = tape.exchanges[1].answer.chunks.iter().map(|chunk| chunk.bytes.len()).collect();
        assert_eq!(lengths, message("Hello.").iter().map(String::len).collect::<Vec<_>>(), "{version:?}");
        assert_eq!(tape.exchanges[1].answer.end, ResponseEnd::Complete);
    }
}

#[test]
fn k_1_a_certificate_that_is_not_trusted_is_said() {
    let (told, _seen) = mpsc::channel();
    let (port, _) = secure_upstream(&[], told);
    let (_, _, other) = certificates();
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("other.pem");
    std::fs::write(&ca, other).unwrap();
    let recorder = Recorder::start_with(&format!("https://127.0.0.1:{port}"), &["--ca", ca.to_str().unwrap()], &[]);
    assert!(ask(recorder.port, "POST", "/v1/messages", "", b"{}").is_none());
    let (_, said, tape) = recorder.stop();
    assert!(said.contains("a certificate that is not trusted") && said.contains("--ca FILE"), "{said}");
    assert_eq!(tape.exchanges[0].answer.status, 0);
}

#[test]
fn k_1_a_certificate_that_somebody_made_for_a_server_is_trusted_when_it_is_named() {
    let authority = || rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    for (what, certificate, is_trusted) in [
        ("no authority", self_made(&["127.0.0.1"], rcgen::IsCa::NoCa), true),
        ("says that it is not an authority", self_made(&["127.0.0.1"], rcgen::IsCa::ExplicitNoCa), true),
        ("an authority, as openssl makes it", self_made(&["127.0.0.1"], authority()), true),
        ("without a name", self_made(&[], authority()), true),
        ("for another name", self_made(&["other.example"], authority()), false),
    ] {
        let (told, _seen) = mpsc::channel();
        let (port, pem) = secure_upstream_with(certificate, &[], told);
        let folder = tempfile::tempdir().unwrap();
        let ca = folder.path().join("own.pem");
        std::fs::write(&ca, &pem).unwrap();
        let recorder = Recorder::start_with(&format!("https://127.0.0.1:{port}"), &["--ca", ca.to_str().unwrap()], &[]);
        let got = ask(recorder.port, "POST", "/v1/messages", "", prompt("hi").as_bytes());
        let (_, said, _) = recorder.stop();
        assert_eq!(got.is_some_and(|got| got.whole), is_trusted, "{what}: {said}");
        // Who is not named is not trusted: another certificate of the same kind.
        let (_, _, other) = self_made(&["127.0.0.1"], authority());
        std::fs::write(&ca, &other).unwrap();
        let recorder = Recorder::start_with(&format!("https://127.0.0.1:{port}"), &["--ca", ca.to_str().unwrap()], &[]);
        assert!(ask(recorder.port, "POST", "/v1/messages", "", b"{}").is_none(), "{what}");
    }
}

/// Events that are there at once, a frame each.
struct Frames(std::vec::IntoIter<String>);

impl Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.next().map(|event| Ok(Frame::data(Bytes::from(event)))))
    }
}
