//! What a TLS handshake has agreed on, in the names that `CloudTrail` has for it: versions as OpenSSL writes
//! them, and its names of cipher suites.

use tokio_rustls::rustls::{CipherSuite, ProtocolVersion, ServerConnection};

/// The version and the cipher suite of a connection with TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Secured {
    /// Such as `TLSv1.3`.
    pub version: &'static str,
    /// Such as `ECDHE-RSA-AES128-GCM-SHA256`.
    pub cipher_suite: &'static str,
}

/// What stands for a version or suite that the library did not have when this was written.
const UNKNOWN: &str = "unknown";

impl Secured {
    /// What a connection has agreed on, once its handshake is over.
    pub(crate) fn of(connection: &ServerConnection) -> Self {
        let suite = connection.negotiated_cipher_suite().map(|suite| suite.suite());
        Self {
            version: connection.protocol_version().map_or(UNKNOWN, version),
            cipher_suite: suite.map_or(UNKNOWN, cipher_suite),
        }
    }
}

const fn version(version: ProtocolVersion) -> &'static str {
    match version {
        ProtocolVersion::TLSv1_2 => "TLSv1.2",
        ProtocolVersion::TLSv1_3 => "TLSv1.3",
        _ => UNKNOWN,
    }
}

const fn cipher_suite(suite: CipherSuite) -> &'static str {
    match suite {
        CipherSuite::TLS13_AES_128_GCM_SHA256 => "TLS_AES_128_GCM_SHA256",
        CipherSuite::TLS13_AES_256_GCM_SHA384 => "TLS_AES_256_GCM_SHA384",
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => "TLS_CHACHA20_POLY1305_SHA256",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 => "ECDHE-ECDSA-AES128-GCM-SHA256",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 => "ECDHE-ECDSA-AES256-GCM-SHA384",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 => "ECDHE-ECDSA-CHACHA20-POLY1305",
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 => "ECDHE-RSA-AES128-GCM-SHA256",
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 => "ECDHE-RSA-AES256-GCM-SHA384",
        CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 => "ECDHE-RSA-CHACHA20-POLY1305",
        _ => UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use tokio_rustls::rustls::crypto::ring;

    use super::*;

    #[test]
    fn every_suite_of_the_library_has_a_name() {
        let provider = ring::default_provider();
        assert!(!provider.cipher_suites.is_empty());
        for suite in provider.cipher_suites {
            assert_ne!(cipher_suite(suite.suite()), UNKNOWN, "{suite:?}");
            assert_ne!(version(suite.version().version), UNKNOWN);
        }
    }
}
