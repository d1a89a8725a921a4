//! The client's side of TLS: whose certificates are trusted.
//!
//! A file of certificates (`--ca FILE`) may hold authorities, and the certificate of a server itself. People make the latter with one command. Such a
//! certificate is not an authority, or claims to be one, or has no name in it. The usual check refuses each of these. A server that shows a certificate
//! of the file, and has its key, is the one that was meant.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio_rustls::TlsConnector;

use reenact_files::open;
use reenact_wire::prelude::*;

/// All roots that there are take a quarter of a MiB.
const CA_BYTES_MAX: u64 = 16 << 20;

/// Why there are no secure connections.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The certificates that servers should be checked against cannot be used.
    #[error("--ca {}: {problem}; give a PEM file of certificates", path.display())]
    Ca {
        /// The file.
        path: PathBuf,
        /// The mistake in it.
        problem: String,
    },
    /// This machine has no certificates, and none were given.
    #[error("this system has no root certificates: name those to trust with --ca FILE")]
    NoRoots,
    /// Secure connections cannot be made at all.
    #[error("TLS cannot be set up: {0}")]
    Setup(String),
}

/// Makes connections that trust the certificates in `ca`, or the system's, and speak one of these protocols.
pub(super) fn connector(ca: Option<&Path>, protocols: &[&[u8]]) -> Result<TlsConnector, TlsError> {
    let setup = |error: &dyn core::fmt::Display| TlsError::Setup(error.to_string());
    let (roots, named) = match ca {
        Some(path) => from_file(path)?,
        None => (roots_of_the_system()?, Vec::new()),
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let usual = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build().map_err(|error| setup(&error))?;
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().map_err(|error| setup(&error))?;
    let verifier = Arc::new(NamedCertificates { usual, named });
    let mut config = builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// The authorities of a file, and all its certificates.
fn from_file(path: &Path) -> Result<(RootCertStore, Vec<CertificateDer<'static>>), TlsError> {
    let wrong = |problem: String| TlsError::Ca { path: path.into(), problem };
    let bytes = open::read(path, CA_BYTES_MAX).map_err(|error| wrong(format!("cannot be read ({error})")))?;
    let named: Result<Vec<CertificateDer<'static>>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let named = named.map_err(|error| wrong(format!("not a PEM file ({error})")))?;
    let mut roots = RootCertStore::empty();
    for certificate in &named {
        roots.add(certificate.clone()).map_err(|error| wrong(format!("a certificate in it is of no use ({error})")))?;
    }
    if roots.is_empty() { Err(wrong(String::from("there is no certificate in it"))) } else { Ok((roots, named)) }
}

fn roots_of_the_system() -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    // What of the system's cannot be read is left out: the rest may do.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() { Err(TlsError::NoRoots) } else { Ok(roots) }
}

/// The usual check. A certificate that it refuses still passes if it is itself one of those that were named.
#[derive(Debug)]
struct NamedCertificates {
    usual: Arc<WebPkiServerVerifier>,
    named: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for NamedCertificates {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.usual.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(error) if self.named.iter().any(|named| named == end_entity) && !is_out_of_date(&error) => {
                has_name_or_none(end_entity, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}

fn is_out_of_date(error: &Error) -> bool {
    use CertificateError::{Expired, ExpiredContext, NotValidYet, NotValidYetContext, Revoked};
    matches!(error, Error::InvalidCertificate(Expired | ExpiredContext { .. } | NotValidYet | NotValidYetContext { .. } | Revoked))
}

/// A certificate that has names is for these servers alone.
fn has_name_or_none(certificate: &CertificateDer<'_>, server_name: &ServerName<'_>) -> Result<(), Error> {
    match verify_server_name(&ParsedCertificate::try_from(certificate)?, server_name) {
        Err(Error::InvalidCertificate(CertificateError::NotValidForNameContext { presented, .. })) if presented.is_empty() => Ok(()),
        checked => checked,
    }
}
