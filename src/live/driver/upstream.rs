//! Where a live driver's requests go.

use hyper::Uri;
use hyper::http::uri::Scheme;
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;

use crate::prelude::*;

/// A Messages API.
#[derive(Clone)]
pub struct Upstream {
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
        /// What the parser says.
        problem: String,
    },
    /// It is neither `http` nor `https`.
    #[error("`{0}` has neither http:// nor https:// before the host: write it like http://127.0.0.1:8080")]
    Scheme(String),
}

impl Upstream {
    /// Reads a base URL; `tls` is used when it is an `https` one.
    ///
    /// # Errors
    /// When it is not a URL with a host, or of another scheme.
    pub fn read(url: &str, api_key: &str, tls: &TlsConnector) -> Result<Self, UpstreamError> {
        let problem = |problem: String| UpstreamError::Url { url: url.into(), problem };
        let uri: Uri = url.parse().map_err(|error: hyper::http::uri::InvalidUri| problem(error.to_string()))?;
        let is_secure = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return Err(UpstreamError::Scheme(url.into())),
        };
        let host = uri.host().ok_or_else(|| problem("it has no host".into()))?.trim_matches(['[', ']']).to_string();
        let tls = match is_secure {
            true => Some((tls.clone(), ServerName::try_from(host.clone()).map_err(|error| problem(error.to_string()))?)),
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

impl core::fmt::Debug for Upstream {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // The key is not for anyone's eyes.
        f.debug_struct("Upstream").field("host", &self.host).field("port", &self.port).field("prefix", &self.prefix).finish_non_exhaustive()
    }
}
