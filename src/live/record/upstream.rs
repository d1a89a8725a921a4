//! The connection to the real API: HTTP/1.1 or HTTP/2, TLS where the address says so.

use std::error::Error as _;
use std::path::Path;

use hyper::header::HOST;
use hyper::{Request, Response, Uri, Version};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

use super::body::Asking;

/// Where requests go.
#[derive(Clone)]
pub(super) struct Upstream {
    base: Uri,
    /// What stands before each request's path.
    prefix: String,
    client: Client<HttpsConnector<HttpConnector>, Asking>,
}

impl Upstream {
    /// Of an address such as `https://api.example/prefix`.
    pub(super) fn new(base: &Uri, ca: Option<&Path>) -> Result<Self, String> {
        if !matches!(base.scheme_str(), Some("http" | "https")) || base.authority().is_none() {
            return Err(format!("--upstream {base}: not an address: write it as https://HOST or http://HOST:PORT"));
        }
        let roots = match (base.scheme_str(), ca) {
            (_, Some(path)) => roots_of(path)?,
            (Some("https"), None) => roots_of_the_system()?,
            _ => RootCertStore::empty(),
        };
        let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.map_err(|error| format!("TLS cannot be set up: {error}"))?.with_root_certificates(roots).with_no_client_auth();
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        tcp.enforce_http(false);
        let connector = HttpsConnectorBuilder::new().with_tls_config(config).https_or_http().enable_all_versions().wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .http1_preserve_header_case(true)
            .build(connector);
        Ok(Self { base: base.clone(), prefix: base.path().trim_end_matches('/').to_owned(), client })
    }

    /// Sends a request on; gives its answer when the head is there.
    pub(super) async fn ask(&self, mut request: Request<Asking>) -> Result<Response<hyper::body::Incoming>, String> {
        let rest = request.uri().path_and_query().map_or("/", |rest| rest.as_str());
        let mut parts = self.base.clone().into_parts();
        let path = format!("{}{rest}", self.prefix);
        parts.path_and_query = Some(path.parse().map_err(|error| format!("the path {path} cannot be passed on: {error}"))?);
        *request.uri_mut() = Uri::from_parts(parts).map_err(|error| format!("the path {path} cannot be passed on: {error}"))?;
        *request.version_mut() = Version::HTTP_11;
        // The client writes it anew from the address.
        request.headers_mut().remove(HOST);
        self.client.request(request).await.map_err(|error| self.explain(&error))
    }

    /// What went wrong, and what to do about it.
    fn explain(&self, error: &hyper_util::client::legacy::Error) -> String {
        let host = self.base.authority().map_or_else(String::new, ToString::to_string);
        let mut causes = Vec::new();
        let mut next = error.source();
        while let Some(cause) = next {
            causes.push(cause.to_string());
            next = cause.source();
        }
        let last = causes.last().cloned().unwrap_or_else(|| error.to_string());
        if causes.iter().any(|cause| cause.contains("certificate")) {
            return format!("{host} shows a certificate that is not trusted ({last}): name the authority that signed it with --ca FILE");
        }
        if error.is_connect() {
            return format!("cannot connect to {host} ({last}): check --upstream, and whether it is up");
        }
        format!("{host} gave no answer ({last})")
    }
}

fn roots_of(path: &Path) -> Result<RootCertStore, String> {
    let wrong = |problem: &str| format!("--ca {}: {problem}", path.display());
    let bytes = std::fs::read(path).map_err(|error| wrong(&format!("cannot be read ({error})")))?;
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
