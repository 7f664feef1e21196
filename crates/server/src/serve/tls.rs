//! TLS from two PEM files.

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::process::failure::Failure;
use crate::process::io_fault::failed;
use crate::settings::config::TlsFiles;

/// Markers of encrypted keys in PEM files: PKCS #8 (RFC 7468), and the older form of OpenSSL (RFC 1421).
const ENCRYPTED: [&str; 2] = ["-----BEGIN ENCRYPTED PRIVATE KEY-----", "Proc-Type: 4,ENCRYPTED"];

/// Reads the files. Errors name the file and what was expected in it.
pub(crate) fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, Failure> {
    let certificate_fault =
        |error| format!("cannot read a certificate chain from {}: {error}", files.certificate.display());
    let pem = std::fs::read(&files.certificate)
        .map_err(failed("read a certificate chain from", &files.certificate))?;
    let chain =
        CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>().map_err(certificate_fault)?;
    if chain.is_empty() {
        return Err(Failure::new(format!(
            "{} holds no certificate in PEM form",
            files.certificate.display()
        )));
    }
    let key = private_key(&files.key)?;
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| Failure::new(format!("the certificate and the key do not match: {error}")))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, Failure> {
    let name = path.display();
    let pem = std::fs::read(path).map_err(failed("read a private key from", path))?;
    let text = String::from_utf8_lossy(&pem);
    if ENCRYPTED.iter().any(|mark| text.contains(mark)) {
        return Err(Failure::new(format!(
            "the private key in {name} is encrypted, and Keywright cannot ask for a passphrase: decrypt it with \
             `openssl pkey -in {} -out FILE`, let only its owner read FILE (`chmod 600 FILE`), and pass --tls-key FILE",
            keywright_model::shell::word(&path.to_string_lossy())
        )));
    }
    PrivateKeyDer::from_pem_slice(&pem)
        .map_err(|error| Failure::new(format!("cannot read a private key from {name}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encrypted_key_is_reported_as_such() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key.pem");
        for pem in [
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIFHDBO\n-----END ENCRYPTED PRIVATE KEY-----\n",
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,9F\n\nMIIF\n\
             -----END RSA PRIVATE KEY-----\n",
        ] {
            std::fs::write(&path, pem).unwrap();
            let fault = private_key(&path).unwrap_err().to_string();
            assert!(fault.contains("key.pem") && fault.contains("openssl pkey -in"), "{fault}");
        }
        std::fs::write(&path, "-----BEGIN NOTHING-----\n").unwrap();
        let fault = private_key(&path).unwrap_err().to_string();
        assert!(fault.contains("key.pem") && !fault.contains("openssl"), "{fault}");
    }
}
