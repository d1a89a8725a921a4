//! The live driver over TLS: a server that can prove who it is, and two that cannot.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use reenact::live::network::LOOPBACK;
use reenact::transcript::text::DetailLevel;
use rustls::pki_types::PrivateKeyDer;
use tempfile::TempDir;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::loopback::{driven, in_runtime, served};
use super::setup;

const HELLO: &str =
    "[engine.retry]\nmax_retries = 1\nbase_delay = \"10ms\"\n[[prompt]]\ntext = \"Hello?\"\n[[prompt.turn]]\ntext = \"Hello.\"\n";

/// An authority of our own: a file with its certificate, and a server's side for a name.
fn authority(name: &str) -> (TempDir, PathBuf, TlsAcceptor) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new([name.to_string()]).unwrap().signed_by(&key, &issuer).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ca.pem");
    std::fs::write(&path, issuer.pem()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = builder.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], key).unwrap();
    (folder, path, TlsAcceptor::from(Arc::new(config)))
}

/// A door in front of a server that speaks TLS.
async fn door(acceptor: TlsAcceptor, behind: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind(LOOPBACK).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut secure) = acceptor.accept(stream).await else { return };
                let mut plain = TcpStream::connect(behind).await.unwrap();
                let _ = copy_bidirectional(&mut secure, &mut plain).await;
            });
        }
    });
    address
}

#[test]
fn m_11_a_server_is_checked_against_the_certificates_that_were_given() {
    let setup = setup(HELLO);
    let (_folder, ca, acceptor) = authority("localhost");
    let (_other_folder, other_ca, _) = authority("localhost");
    let (reports, _) = in_runtime(served(&setup, |address| {
        let setup = setup.clone();
        async move {
            let port = door(acceptor, address).await.port();
            let good = driven(&setup, &format!("https://localhost:{port}"), Some(&ca)).await;
            let unknown = driven(&setup, &format!("https://localhost:{port}"), Some(&other_ca)).await;
            let misnamed = driven(&setup, &format!("https://127.0.0.1:{port}"), Some(&ca)).await;
            (good, unknown, misnamed)
        }
    }));
    let (good, unknown, misnamed) = reports;
    assert_eq!(good.terminal(), "completed", "{}", good.text(DetailLevel::Debug));
    for report in [unknown, misnamed] {
        let text = report.text(DetailLevel::Normal);
        assert_eq!(report.terminal(), "model_error", "{text}");
        assert!(text.contains("tls"), "{text}");
    }
}
