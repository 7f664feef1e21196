//! What certificates say: how long they are valid, and whom they name.
//!
//! It does not know whether a certificate is trusted (`handshake` and its settings).

use x509_cert::Certificate;
use x509_cert::der::Decode as _;
use x509_cert::time::Time;

/// When a certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// Its first moment, in milliseconds since 1970.
    pub from_ms: u64,
    /// Its last moment.
    pub until_ms: u64,
}

/// The validity of a whole chain, given as DER: the time in which each of its certificates is valid. `None`
/// if one of them cannot be read, or there is none.
pub fn validity<'c>(chain: impl IntoIterator<Item = &'c [u8]>) -> Option<Validity> {
    let mut whole: Option<Validity> = None;
    for der in chain {
        let dates = Certificate::from_der(der).ok()?.tbs_certificate.validity;
        let (from_ms, until_ms) = (ms(dates.not_before), ms(dates.not_after));
        let before = whole.unwrap_or(Validity { from_ms, until_ms });
        whole =
            Some(Validity { from_ms: before.from_ms.max(from_ms), until_ms: before.until_ms.min(until_ms) });
    }
    whole
}

fn ms(time: Time) -> u64 {
    u64::try_from(time.to_unix_duration().as_millis()).unwrap_or(u64::MAX)
}

/// The subject of a certificate (DER) as text after RFC 4514: the last part first, such as
/// `CN=worker-7,OU=Jobs,O=Acme`. `None` if it names nobody.
pub fn subject(der: &[u8]) -> Option<String> {
    let certificate = Certificate::from_der(der).ok()?;
    Some(certificate.tbs_certificate.subject.to_string()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

    use super::*;

    fn made(change: impl FnOnce(&mut CertificateParams)) -> Vec<u8> {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name = DistinguishedName::new();
        change(&mut params);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    #[test]
    fn a_subject_is_written_backwards_with_its_special_characters_escaped() {
        for (parts, expected) in [
            (vec![], None),
            (vec![(DnType::CommonName, "worker-7")], Some("CN=worker-7")),
            (
                vec![
                    (DnType::CountryName, "DE"),
                    (DnType::OrganizationName, "Acme, Inc."),
                    (DnType::OrganizationalUnitName, "a+b=\"c\""),
                    (DnType::CommonName, "#jobs; <ü> \\ "),
                ],
                Some("CN=\\#jobs\\; \\<ü\\> \\\\\\ ,OU=a\\+b=\\\"c\\\",O=Acme\\, Inc.,C=DE"),
            ),
            (vec![(DnType::CommonName, "a\nO=Acme")], Some("CN=a\\0aO=Acme")),
            (
                vec![(DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 99_999, 1]), "Doe")],
                Some("1.3.6.1.4.1.99999.1=#0c03446f65"),
            ),
        ] {
            let der = made(|params| {
                for (kind, value) in &parts {
                    params.distinguished_name.push(kind.clone(), *value);
                }
            });
            assert_eq!(subject(&der).as_deref(), expected, "{parts:?}");
        }
        assert_eq!(subject(b"no certificate"), None);
    }

    #[test]
    fn a_chain_is_valid_while_each_of_its_certificates_is() {
        let of = |from: i32, until: i32| {
            made(|params| {
                params.not_before = rcgen::date_time_ymd(from, 1, 1);
                params.not_after = rcgen::date_time_ymd(until, 1, 1);
            })
        };
        let (long, short) = (of(2000, 2040), of(2010, 2020));
        let both = validity([long.as_slice(), short.as_slice()]).unwrap();
        assert_eq!(both, validity([short.as_slice()]).unwrap());
        assert_eq!(both, Validity { from_ms: 1_262_304_000_000, until_ms: 1_577_836_800_000 });
        assert_eq!(validity([long.as_slice(), b"no certificate"]), None);
        assert_eq!(validity(std::iter::empty()), None);
    }
}
