//! The files of TLS: what they hold, and the acceptor that they make.
//!
//! Errors name the file and what was expected in it.

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::danger::ClientCertVerifier;
use tokio_rustls::rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use tokio_rustls::rustls::{Error, RootCertStore, ServerConfig};

use crate::connection::certificate::{Validity, validity};
use crate::process::failure::Failure;
use crate::process::io_fault::failed;
use crate::settings::tls::{ClientAuth, ClientCertificates, TlsFiles};

/// Markers of encrypted keys in PEM files: PKCS #8 (RFC 7468), and the older form of OpenSSL (RFC 1421).
const ENCRYPTED: [&str; 2] = ["-----BEGIN ENCRYPTED PRIVATE KEY-----", "Proc-Type: 4,ENCRYPTED"];

/// The bytes of all files, which are compared to see whether one has changed.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Contents {
    certificate: Vec<u8>,
    key: Vec<u8>,
    client_ca: Option<Vec<u8>>,
}

impl Contents {
    pub(super) fn read(files: &TlsFiles) -> Result<Self, Failure> {
        let read = |what, path: &Path| std::fs::read(path).map_err(failed(what, path));
        let clients = files.clients.as_ref();
        Ok(Self {
            certificate: read("read a certificate chain from", &files.certificate)?,
            key: read("read a private key from", &files.key)?,
            client_ca: clients
                .map(|clients| read("read certificate authorities from", &clients.ca))
                .transpose()?,
        })
    }
}

/// What new handshakes are made with.
pub(super) struct Identity {
    pub(super) acceptor: TlsAcceptor,
    /// Of the whole chain.
    pub(super) validity: Validity,
}

impl Identity {
    /// Of the contents of these files.
    pub(super) fn of(files: &TlsFiles, contents: &Contents) -> Result<Self, Failure> {
        let name = files.certificate.display();
        let chain = certificates(&files.certificate, "a certificate chain", &contents.certificate)?;
        let validity = validity(chain.iter().map(AsRef::as_ref))
            .ok_or_else(|| Failure::new(format!("{name} holds a certificate that cannot be read")))?;
        let key = private_key(&files.key, &contents.key)?;
        let builder = ServerConfig::builder();
        let builder = match (&files.clients, &contents.client_ca) {
            (Some(clients), Some(pem)) => builder.with_client_cert_verifier(verifier(clients, pem)?),
            (None, _) | (_, None) => builder.with_no_client_auth(),
        };
        let mut config = builder.with_single_cert(chain, key).map_err(|error| match error {
            Error::InconsistentKeys(_) => Failure::new(format!(
                "the certificate in {name} and the key in {} do not belong together",
                files.key.display()
            )),
            error => Failure::new(format!("cannot use the certificate in {name}: {error}")),
        })?;
        if files.clients.is_some() {
            // A handshake that goes on from an earlier one would not look at the certificate again, which may
            // have expired since.
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        }
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)), validity })
    }
}

/// What is wrong with the mode of the key's file. It is no fault: containers are given secrets that all users
/// in them can read.
#[cfg(unix)]
pub(super) fn exposed_key(files: &TlsFiles) -> Option<String> {
    use std::os::unix::fs::PermissionsExt as _;
    const OTHERS: u32 = 0o004;
    let mode = std::fs::metadata(&files.key).ok()?.permissions().mode() & 0o7777;
    let name = files.key.display();
    (mode & OTHERS != 0).then(|| {
        format!(
            "every user of this machine can read the private key in {name}, whose mode is {mode:04o}: run \
            `chmod 600 {}`",
            keywright_model::shell::word(&files.key.to_string_lossy())
        )
    })
}

/// Windows has no modes.
#[cfg(not(unix))]
pub(super) fn exposed_key(_files: &TlsFiles) -> Option<String> {
    None
}

/// The certificates in a file, at least one.
fn certificates(path: &Path, what: &str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Failure> {
    let name = path.display();
    let found = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| Failure::new(format!("cannot read {what} from {name}: {error}")))?;
    if found.is_empty() {
        return Err(Failure::new(format!("{name} holds no certificate in PEM form")));
    }
    Ok(found)
}

/// Verifies the certificates of clients.
fn verifier(clients: &ClientCertificates, pem: &[u8]) -> Result<Arc<dyn ClientCertVerifier>, Failure> {
    let name = clients.ca.display();
    let mut roots = RootCertStore::empty();
    for certificate in certificates(&clients.ca, "certificate authorities", pem)? {
        roots.add(certificate).map_err(|error| {
            Failure::new(format!("{name} holds a certificate that cannot be read: {error}"))
        })?;
    }
    let builder = WebPkiClientVerifier::builder(Arc::new(roots));
    let builder = match clients.auth {
        ClientAuth::Required => builder,
        ClientAuth::Optional => builder.allow_unauthenticated(),
    };
    builder.build().map_err(|error| Failure::new(format!("cannot use the authorities in {name}: {error}")))
}

fn private_key(path: &Path, pem: &[u8]) -> Result<PrivateKeyDer<'static>, Failure> {
    let name = path.display();
    let text = String::from_utf8_lossy(pem);
    if ENCRYPTED.iter().any(|mark| text.contains(mark)) {
        return Err(Failure::new(format!(
            "the private key in {name} is encrypted, and Keywright cannot ask for a passphrase: decrypt it with \
             `openssl pkey -in {} -out FILE`, let only its owner read FILE (`chmod 600 FILE`), and pass --tls-key FILE",
            keywright_model::shell::word(&path.to_string_lossy())
        )));
    }
    PrivateKeyDer::from_pem_slice(pem)
        .map_err(|error| Failure::new(format!("cannot read a private key from {name}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encrypted_key_is_reported_as_such() {
        let path = Path::new("key.pem");
        for pem in [
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIFHDBO\n-----END ENCRYPTED PRIVATE KEY-----\n",
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,9F\n\nMIIF\n\
             -----END RSA PRIVATE KEY-----\n",
        ] {
            let fault = private_key(path, pem.as_bytes()).unwrap_err().to_string();
            assert!(fault.contains("key.pem") && fault.contains("openssl pkey -in"), "{fault}");
        }
        let fault = private_key(path, b"-----BEGIN NOTHING-----\n").unwrap_err().to_string();
        assert!(fault.contains("key.pem") && !fault.contains("openssl"), "{fault}");
    }
}
