//! TLS from two PEM files.

use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::config::TlsFiles;

/// Reads the files; a fault names the file and what was looked for in it.
pub(crate) fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, String> {
    let certificate_fault =
        |error| format!("cannot read a certificate chain from {}: {error}", files.certificate.display());
    let chain = CertificateDer::pem_file_iter(&files.certificate)
        .map_err(certificate_fault)?
        .collect::<Result<Vec<_>, _>>()
        .map_err(certificate_fault)?;
    if chain.is_empty() {
        return Err(format!("{} holds no certificate in PEM form", files.certificate.display()));
    }
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|error| format!("cannot read a private key from {}: {error}", files.key.display()))?;
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| format!("the certificate and the key do not go together: {error}"))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
