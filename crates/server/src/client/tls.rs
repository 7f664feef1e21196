//! TLS of the commands that are clients: whom they trust, and the certificate that they show.

use std::error::Error as StdError;
use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{AlertDescription, ClientConfig, Error, RootCertStore};

use crate::outgoing;
use crate::process::failure::Failure;
use crate::process::io_fault::failed;

/// Trusts the system's certificate authorities. With a certificate and its key, an endpoint that asks for one
/// gets it.
pub(super) fn connector(pair: Option<(&Path, &Path)>) -> Result<TlsConnector, Failure> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(Failure::new("this system has no root certificates, which an https endpoint needs"));
    }
    let builder = ClientConfig::builder().with_root_certificates(roots);
    let config = match pair {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let (chain, private) = (certificates(certificate)?, private_key(key)?);
            builder.with_client_auth_cert(chain, private).map_err(|error| match error {
                Error::InconsistentKeys(_) => Failure::new(format!(
                    "the certificate in {} and the key in {} do not belong together",
                    certificate.display(),
                    key.display()
                )),
                error => {
                    Failure::new(format!("cannot use the certificate in {}: {error}", certificate.display()))
                }
            })?
        }
    };
    Ok(TlsConnector::from(Arc::new(config)))
}

/// What to do about a handshake that failed for a reason which the person at the terminal can change.
pub(super) fn advice(error: &(dyn StdError + 'static)) -> Option<&'static str> {
    match outgoing::tls_fault(error)? {
        Error::AlertReceived(AlertDescription::CertificateRequired) => Some(
            "the endpoint asks for a certificate of the client: pass --client-certificate FILE and --client-key FILE",
        ),
        fault => outgoing::advice_on_trust(fault),
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Failure> {
    let pem = std::fs::read(path).map_err(failed("read a certificate from", path))?;
    let chain = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(|error| {
        Failure::new(format!("cannot read a certificate from {}: {error}", path.display()))
    })?;
    if chain.is_empty() {
        return Err(Failure::new(format!("{} holds no certificate in PEM form", path.display())));
    }
    Ok(chain)
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, Failure> {
    let pem = std::fs::read(path).map_err(failed("read a private key from", path))?;
    PrivateKeyDer::from_pem_slice(&pem).map_err(|error| {
        Failure::new(format!("cannot read a private key, not encrypted, from {}: {error}", path.display()))
    })
}
