//! Where a live driver's requests go.

use std::path::{Path, PathBuf};

use hyper::Uri;
use hyper::http::uri::Scheme;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;

use crate::prelude::*;

/// A Messages API.
#[derive(Clone)]
pub struct ApiAddress {
    pub(super) host: String,
    pub(super) port: u16,
    /// What stands before `/v1/messages`.
    pub(super) prefix: String,
    /// The key that requests carry.
    pub(super) api_key: String,
    /// What makes connections secure, and the name that the server has to prove.
    pub(super) tls: Option<(TlsConnector, ServerName<'static>)>,
}

/// Why an address is none that requests can go to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UpstreamError {
    /// It is not a URL.
    #[error("`{url}` is not a base URL ({problem}): write it like https://api.example.com or http://127.0.0.1:8080")]
    Url {
        /// What was given.
        url: String,
        /// The error of the parser.
        problem: String,
    },
    /// It is neither `http` nor `https`.
    #[error("`{0}` has neither http:// nor https:// before the host: write it like http://127.0.0.1:8080")]
    Scheme(String),
    /// The certificates that it should be checked against cannot be used.
    #[error("{}: no certificates to check the server against: {problem}; give a PEM file of certificates", path.display())]
    Ca {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// This machine has no certificates, and none were given.
    #[error("this machine has no certificates to check {0} against: give some with --ca FILE")]
    NoRoots(String),
    /// Secure connections cannot be made at all.
    #[error("secure connections cannot be set up: {0}")]
    Setup(String),
}

impl ApiAddress {
    /// Reads a base URL. A server behind `https` is checked against the certificates in `ca`, or the system's.
    ///
    /// # Errors
    /// When it is not a URL with a host, or of another scheme, or when there are no certificates.
    pub fn read(url: &str, api_key: &str, ca: Option<&Path>) -> Result<Self, UpstreamError> {
        let problem = |problem: String| UpstreamError::Url { url: url.into(), problem };
        let uri: Uri = url.parse().map_err(|error: hyper::http::uri::InvalidUri| problem(error.to_string()))?;
        let is_secure = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return Err(UpstreamError::Scheme(url.into())),
        };
        let host = uri.host().ok_or_else(|| problem("it has no host".into()))?.trim_matches(['[', ']']).to_string();
        let tls = match is_secure {
            true => Some((connector(url, ca)?, ServerName::try_from(host.clone()).map_err(|error| problem(error.to_string()))?)),
            false => None,
        };
        let port = uri.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        Ok(Self { host, port, prefix: uri.path().trim_end_matches('/').into(), api_key: api_key.into(), tls })
    }

    /// A host of a simulated network, without encryption.
    pub fn plain(host: &str, port: u16) -> Self {
        Self { host: host.into(), port, prefix: String::new(), api_key: "sk-ant-test-000".into(), tls: None }
    }

    /// What the `host` header says.
    pub(super) fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match (self.port, &self.tls) {
            (80, None) | (443, Some(_)) => host,
            (port, _) => format!("{host}:{port}"),
        }
    }
}

impl core::fmt::Debug for ApiAddress {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // The key is not for anyone's eyes.
        f.debug_struct("Upstream").field("host", &self.host).field("port", &self.port).field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

fn connector(url: &str, ca: Option<&Path>) -> Result<TlsConnector, UpstreamError> {
    let mut roots = RootCertStore::empty();
    match ca {
        Some(path) => {
            let problem = |problem: String| UpstreamError::Ca { path: path.into(), problem };
            for certificate in CertificateDer::pem_file_iter(path).map_err(|error| problem(error.to_string()))? {
                let certificate = certificate.map_err(|error| problem(error.to_string()))?;
                roots.add(certificate).map_err(|error| problem(error.to_string()))?;
            }
            if roots.is_empty() {
                return Err(problem("it has no certificate".into()));
            }
        }
        None => {
            // What of the system's cannot be read is left out: the rest may do.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() {
                return Err(UpstreamError::NoRoots(url.into()));
            }
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| UpstreamError::Setup(error.to_string()))?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}
