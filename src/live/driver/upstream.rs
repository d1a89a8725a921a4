//! Where a live driver's requests go.

use std::path::Path;

use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;

use crate::base_url::{BaseUrl, BaseUrlError};
use crate::tls::{TlsError, connector};
use reenact_wire::prelude::*;

/// A Messages API.
#[derive(Clone)]
pub struct ApiAddress {
    pub(super) host: String,
    pub(super) port: u16,
    /// The path before `/v1/messages`.
    pub(super) prefix: String,
    /// The key that requests carry.
    pub(super) api_key: String,
    /// The connector of secure connections, and the name that the server has to prove.
    pub(super) tls: Option<(TlsConnector, ServerName<'static>)>,
}

/// Why an address is none that requests can go to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UpstreamError {
    /// It is not a base URL.
    #[error(transparent)]
    Url(#[from] BaseUrlError),
    /// It has a host that no server can prove to be.
    #[error("`{url}`: {problem}; write it like https://api.example.com")]
    Host {
        /// The given URL.
        url: String,
        /// The error of the parser.
        problem: String,
    },
    /// There are no secure connections to it.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

impl ApiAddress {
    /// Reads a base URL. A server behind `https` is checked against the certificates in `ca`, or the system's.
    ///
    /// # Errors
    /// When it is not a URL with a host, or of another scheme, or when there are no certificates.
    pub fn read(url: &str, api_key: &str, ca: Option<&Path>) -> Result<Self, UpstreamError> {
        let base = BaseUrl::read(url)?;
        let host = base.host().to_string();
        let problem = |problem: String| UpstreamError::Host { url: url.into(), problem };
        let tls = match base.is_secure() {
            true => Some((connector(ca, &[b"http/1.1"])?, ServerName::try_from(host.clone()).map_err(|error| problem(error.to_string()))?)),
            false => None,
        };
        Ok(Self { host, port: base.port(), prefix: base.prefix().into(), api_key: api_key.into(), tls })
    }

    /// A host of a simulated network, without encryption.
    pub fn plain(host: &str, port: u16) -> Self {
        Self { host: host.into(), port, prefix: String::new(), api_key: "sk-ant-test-000".into(), tls: None }
    }

    /// The value of the `host` header.
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
