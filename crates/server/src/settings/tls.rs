//! The settings of TLS: certificate, key, and who vouches for clients.
//!
//! It opens no file.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::process::failure::Failure;

/// Whether clients must have a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClientAuth {
    /// Without one there is no handshake.
    Required,
    /// One that is sent is verified; a client may have none.
    Optional,
}

/// TLS of the API's and the studio's port.
#[derive(Clone, Debug, Default, Args)]
#[expect(clippy::struct_field_names, reason = "the names are those of the flags")]
pub(crate) struct TlsArguments {
    /// Serve TLS with this certificate chain (PEM). Changed files are served without a restart
    #[arg(long, value_name = "FILE", env = "KEYWRIGHT_TLS_CERTIFICATE")]
    pub(crate) tls_certificate: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", env = "KEYWRIGHT_TLS_KEY")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Ask clients for a certificate of these authorities (PEM), in addition to signatures
    #[arg(long, value_name = "FILE", env = "KEYWRIGHT_TLS_CLIENT_CA")]
    pub(crate) tls_client_ca: Option<PathBuf>,
    /// Whether a client must have a certificate [default: required]
    #[arg(long, value_name = "WHETHER", env = "KEYWRIGHT_TLS_CLIENT_AUTH")]
    pub(crate) tls_client_auth: Option<ClientAuth>,
}

/// Certificate chain and key, both PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TlsFiles {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
    /// `None` if clients are not asked for certificates.
    pub(crate) clients: Option<ClientCertificates>,
}

/// Whose certificates clients have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientCertificates {
    /// A PEM file of authorities.
    pub(crate) ca: PathBuf,
    pub(crate) auth: ClientAuth,
}

/// A flag or variable comes before the file.
pub(crate) fn merge(arguments: TlsArguments, file: TlsArguments) -> Result<Option<TlsFiles>, Failure> {
    let ca = arguments.tls_client_ca.or(file.tls_client_ca);
    let auth = arguments.tls_client_auth.or(file.tls_client_auth);
    let clients = match (ca, auth) {
        (Some(ca), auth) => Some(ClientCertificates { ca, auth: auth.unwrap_or(ClientAuth::Required) }),
        (None, Some(_)) => {
            return Err(Failure::new(
                "--tls-client-auth needs --tls-client-ca FILE, the authorities of the clients' certificates",
            ));
        }
        (None, None) => None,
    };
    let pair = (arguments.tls_certificate.or(file.tls_certificate), arguments.tls_key.or(file.tls_key));
    match pair {
        (Some(certificate), Some(key)) => Ok(Some(TlsFiles { certificate, key, clients })),
        (Some(_), None) => Err(Failure::new("--tls-certificate needs --tls-key FILE")),
        (None, Some(_)) => Err(Failure::new("--tls-key needs --tls-certificate FILE")),
        (None, None) if clients.is_some() => {
            Err(Failure::new("--tls-client-ca needs --tls-certificate FILE and --tls-key FILE"))
        }
        (None, None) => Ok(None),
    }
}

/// The word of the file.
pub(crate) fn auth_in_file(word: Option<&str>) -> Result<Option<ClientAuth>, Failure> {
    let known = |word: &str| {
        ClientAuth::from_str(word, false).map_err(|_| {
            Failure::new(format!(
                "tls-client-auth = {word:?} is not known: write \"required\" or \"optional\""
            ))
        })
    };
    word.map(known).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_need_another_one_say_which() {
        let path = |given: bool| given.then(|| PathBuf::from("f.pem"));
        let merged = |certificate, key, ca, auth| {
            let arguments = TlsArguments {
                tls_certificate: path(certificate),
                tls_key: path(key),
                tls_client_ca: path(ca),
                tls_client_auth: auth,
            };
            merge(arguments, TlsArguments::default()).map_err(String::from)
        };
        for (given, expected) in [
            ((true, false, false, None), "--tls-certificate needs --tls-key FILE"),
            ((false, true, false, None), "--tls-key needs --tls-certificate FILE"),
            ((false, false, true, None), "--tls-client-ca needs --tls-certificate FILE and --tls-key FILE"),
            (
                (true, true, false, Some(ClientAuth::Optional)),
                "--tls-client-auth needs --tls-client-ca FILE, the authorities of the clients' certificates",
            ),
        ] {
            let (certificate, key, ca, auth) = given;
            assert_eq!(merged(certificate, key, ca, auth).unwrap_err(), expected);
        }
        assert_eq!(merged(false, false, false, None), Ok(None));
        assert_eq!(merged(true, true, false, None).unwrap().unwrap().clients, None);
        for (auth, expected) in
            [(None, ClientAuth::Required), (Some(ClientAuth::Optional), ClientAuth::Optional)]
        {
            let clients = merged(true, true, true, auth).unwrap().unwrap().clients.unwrap();
            assert_eq!(clients.auth, expected);
        }
        assert_eq!(auth_in_file(Some("optional")).ok(), Some(Some(ClientAuth::Optional)));
        let fault = auth_in_file(Some("always")).unwrap_err().to_string();
        assert!(fault.contains("required") && fault.contains("optional"), "{fault}");
    }
}
