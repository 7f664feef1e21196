//! TLS to PostgreSQL: what the address says about it, and what of the server's certificate is checked.
//!
//! The parameters have libpq's names and meanings. Files are read once, when the address is parsed. It does
//! not know connections (`dial`).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// `sslrootcert=system`: the certificate authorities that this machine trusts.
const SYSTEM: &str = "system";
/// What PostgreSQL 17 wants to be asked for, and others pass over.
const PROTOCOL: &[u8] = b"postgresql";

/// `sslmode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Disable,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

const MODES: [(&str, Mode); 5] = [
    ("disable", Mode::Disable),
    ("prefer", Mode::Prefer),
    ("require", Mode::Require),
    ("verify-ca", Mode::VerifyCa),
    ("verify-full", Mode::VerifyFull),
];

/// The parameters of an address that are about TLS.
#[derive(Debug, Default)]
pub(crate) struct Parameters {
    mode: Option<String>,
    root: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
}

impl Parameters {
    /// Takes the parameter; returns whether it is about TLS.
    pub(crate) fn take(&mut self, name: &str, value: &str) -> bool {
        match name {
            "sslmode" => self.mode = Some(value.to_owned()),
            "sslrootcert" => self.root = Some(value.into()),
            "sslcert" => self.certificate = Some(value.into()),
            "sslkey" => self.key = Some(value.into()),
            _ => return false,
        }
        true
    }

    /// Reads the files, unless there will be no TLS.
    pub(crate) fn read(self) -> Result<Tls, String> {
        let mode = self.mode()?;
        if mode == Mode::Disable {
            return Ok(Tls::disabled());
        }
        let roots = match &self.root {
            Some(root) if root.as_os_str() == SYSTEM => Some(system_roots()?),
            Some(root) => Some(roots_of(root)?),
            None => None,
        };
        let client = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => Some(Identity::read(certificate, key)?),
            (None, None) => None,
            _ => return Err("sslcert and sslkey belong together: give both, or neither".to_owned()),
        };
        Ok(Tls { mode, config: configured(mode, roots, client)? })
    }

    /// The mode, as far as it fits the other parameters.
    fn mode(&self) -> Result<Mode, String> {
        let is_system = self.root.as_deref().is_some_and(|root| root.as_os_str() == SYSTEM);
        let Some(name) = &self.mode else {
            return Ok(if is_system { Mode::VerifyFull } else { Mode::Prefer });
        };
        let Some((_, mode)) = MODES.iter().find(|(known, _)| known == name) else {
            let known = MODES.map(|(known, _)| known).join(", ");
            return Err(format!("sslmode={name} is not known: write one of {known}"));
        };
        if matches!(mode, Mode::VerifyCa | Mode::VerifyFull) && self.root.is_none() {
            return Err(format!(
                "sslmode={name} needs to know whom to trust: add sslrootcert=FILE with the certificate of the \
                 server's authority (or sslrootcert=system with verify-full)"
            ));
        }
        // Anybody can get a certificate from a public authority: without its name it says nothing.
        if is_system && *mode != Mode::VerifyFull && *mode != Mode::Disable {
            return Err(format!(
                "sslmode={name} does not check the server's name, which sslrootcert=system needs: \
                 write sslmode=verify-full"
            ));
        }
        Ok(*mode)
    }
}

/// How connections are encrypted.
#[derive(Clone, Debug)]
pub(crate) struct Tls {
    pub(crate) mode: Mode,
    pub(crate) config: Arc<ClientConfig>,
}

impl Tls {
    pub(crate) fn disabled() -> Self {
        let config = configured(Mode::Disable, None, None).expect("nothing in it can be wrong");
        Self { mode: Mode::Disable, config }
    }
}

/// The client's certificate.
struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    fn read(certificate: &Path, key: &Path) -> Result<Self, String> {
        let chain = certificates("sslcert", certificate)?;
        let key = PrivateKeyDer::from_pem_file(key).map_err(|error| {
            format!(
                "cannot read a private key from sslkey={}: {error}; name a PEM file that is not encrypted",
                key.display()
            )
        })?;
        Ok(Self { chain, key })
    }
}

fn certificates(parameter: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let fault = |why: &str| {
        format!("cannot read {parameter}={}: {why}; name a file of PEM certificates", path.display())
    };
    let found: Vec<_> = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|error| fault(&error.to_string()))?;
    if found.is_empty() { Err(fault("it holds no certificate")) } else { Ok(found) }
}

fn roots_of(path: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates("sslrootcert", path)? {
        roots.add(certificate).map_err(|error| {
            format!(
                "sslrootcert={} holds a certificate that cannot be used: {error}; name the file of the \
                 server's authority",
                path.display()
            )
        })?;
    }
    Ok(roots)
}

fn system_roots() -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err("this system has no root certificates: write sslrootcert=FILE".to_owned());
    }
    Ok(roots)
}

fn configured(
    mode: Mode,
    roots: Option<RootCertStore>,
    client: Option<Identity>,
) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Verifier { roots, checks_name: mode == Mode::VerifyFull, provider: Arc::clone(&provider) };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has the ciphers of these versions")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = match client {
        None => builder.with_no_client_auth(),
        Some(Identity { chain, key }) => builder
            .with_client_auth_cert(chain, key)
            .map_err(|error| format!("sslcert and sslkey cannot be used: {error}; give a matching pair"))?,
    };
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(Arc::new(config))
}

/// Checks what libpq checks: the chain if it knows authorities, the name under `verify-full`.
#[derive(Debug)]
struct Verifier {
    roots: Option<RootCertStore>,
    checks_name: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if let Some(roots) = &self.roots {
            let certificate = ParsedCertificate::try_from(end_entity)?;
            let algorithms = self.provider.signature_verification_algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&certificate, roots, intermediates, now, algorithms)?;
            if self.checks_name {
                verify_server_name(&certificate, server_name)?;
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// What is wrong with a handshake, and what to do.
pub(crate) fn explain(fault: &Error) -> String {
    match fault {
        Error::InvalidCertificate(fault) => explain_certificate(fault),
        Error::AlertReceived(alert) => format!(
            "PostgreSQL refused the TLS connection ({alert:?}): check that it trusts the authority of sslcert, \
             and that sslcert has not expired"
        ),
        other => format!(
            "no TLS connection to PostgreSQL: {other}; check the server's ssl settings (TLS 1.2 or newer is \
             needed), and that sslcert and sslkey are those that it expects"
        ),
    }
}

fn explain_certificate(fault: &CertificateError) -> String {
    match fault {
        // Another authority, or another one of the same name.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "PostgreSQL's certificate is not signed by an authority of sslrootcert: name the file with the \
             certificate of its authority"
                .to_owned()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "PostgreSQL's certificate has expired: renew it on the server".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "PostgreSQL's certificate is not valid yet: check the clocks of both machines".to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "PostgreSQL's certificate is for another host name: connect by a name that it lists (subjectAltName), \
             or write sslmode=verify-ca"
                .to_owned()
        }
        other => format!("PostgreSQL's certificate cannot be accepted: {other}; replace it on the server"),
    }
}

/// The TLS library's error among the causes of an error.
pub(crate) fn fault_in<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a Error> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        // An `io::Error` does not count what it wraps among its sources.
        let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        if let Some(fault) = wrapped.and_then(|wrapped| wrapped.downcast_ref()) {
            return Some(fault);
        }
        cause = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(parameters: &[(&str, &str)]) -> Result<Mode, String> {
        let mut taken = Parameters::default();
        for (name, value) in parameters {
            assert!(taken.take(name, value), "{name}");
        }
        taken.read().map(|tls| tls.mode)
    }

    #[test]
    fn modes_are_those_of_libpq() {
        assert_eq!(read(&[]), Ok(Mode::Prefer));
        for (name, mode) in [("disable", Mode::Disable), ("require", Mode::Require)] {
            assert_eq!(read(&[("sslmode", name)]), Ok(mode));
        }
        // Without TLS the files are not read.
        assert_eq!(read(&[("sslmode", "disable"), ("sslrootcert", "/nowhere")]), Ok(Mode::Disable));
        assert!(!Parameters::default().take("sslcrl", "file"));
    }

    #[test]
    fn parameters_that_do_not_fit_are_refused_with_advice() {
        for (parameters, advice) in [
            (
                &[("sslmode", "verify_full")][..],
                "write one of disable, prefer, require, verify-ca, verify-full",
            ),
            (&[("sslmode", "verify-ca")], "add sslrootcert=FILE"),
            (&[("sslmode", "require"), ("sslrootcert", "system")], "write sslmode=verify-full"),
            (&[("sslcert", "/nowhere")], "give both, or neither"),
            (&[("sslrootcert", "/nowhere/root.crt")], "cannot read sslrootcert=/nowhere/root.crt"),
        ] {
            let refused = read(parameters).unwrap_err();
            assert!(refused.contains(advice), "{refused}");
        }
    }
}
