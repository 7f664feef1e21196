//! The address of a store: PD's addresses, the prefix of its rows, and the files for TLS.

use std::path::PathBuf;
use std::time::Duration;

/// The prefix if none is named.
const PREFIX: &str = "keywright";
const PREFIX_BYTES_MAX: usize = 64;
/// How long old versions of rows are kept.
const RETENTION: Duration = Duration::from_mins(10);

/// The address and settings of a store.
#[derive(Clone, Debug)]
pub struct TikvOptions {
    /// `HOST:PORT` of each PD.
    pub(crate) pds: Vec<String>,
    pub(crate) prefix: String,
    pub(crate) tls: Option<Tls>,
    pub(crate) retention: Duration,
    /// This machine's clock, in milliseconds since 1970: the store is not opened if it is far from PD's.
    pub now_ms: Option<fn() -> u64>,
}

/// The files with which TiKV and this client know each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tls {
    pub(crate) ca: PathBuf,
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

/// What is wrong with a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionsError(String);

impl std::fmt::Display for OptionsError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for OptionsError {}

impl TikvOptions {
    /// Reads `tikv://PD1:PORT,PD2:PORT/PREFIX?ca=FILE&cert=FILE&key=FILE`.
    pub fn parse(url: &str) -> Result<Self, OptionsError> {
        let wrong = |what: &str| {
            OptionsError(format!(
                "the address of TiKV cannot be read: {what}; write tikv://PD1:2379,PD2:2379/PREFIX"
            ))
        };
        let rest = url.strip_prefix("tikv://").ok_or_else(|| wrong("it does not begin with tikv://"))?;
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (pds, prefix) = place.split_once('/').unwrap_or((place, ""));
        let pds: Vec<String> = pds.split(',').map(str::to_owned).collect();
        if !pds.iter().all(|pd| is_address(pd)) {
            return Err(wrong("each PD needs HOST:PORT"));
        }
        let prefix = if prefix.is_empty() { PREFIX } else { prefix };
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
        if !prefix.bytes().all(is_plain) || prefix.len() > PREFIX_BYTES_MAX {
            return Err(OptionsError(format!(
                "`{prefix}` cannot be the prefix: write lower-case letters, digits, `-` and `_`, \
                 at most {PREFIX_BYTES_MAX}"
            )));
        }
        let (mut ca, mut certificate, mut key) = (None, None, None);
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, file) = parameter.split_once('=').unwrap_or((parameter, ""));
            let place = match name {
                "ca" => &mut ca,
                "cert" => &mut certificate,
                "key" => &mut key,
                _ => return Err(wrong(&format!("the parameter {name} is not known"))),
            };
            *place = Some(PathBuf::from(file));
        }
        let tls = match (ca, certificate, key) {
            (None, None, None) => None,
            (Some(ca), Some(certificate), Some(key)) => Some(Tls { ca, certificate, key }),
            _ => return Err(wrong("ca, cert and key go together")),
        };
        Ok(Self { pds, prefix: prefix.to_owned(), tls, retention: RETENTION, now_ms: None })
    }

    /// Keeps old versions of rows for another time than ten minutes. Views and transactions live half as
    /// long. All processes over one cluster must keep them equally long.
    #[must_use]
    pub fn keeping(self, retention: Duration) -> Self {
        Self { retention, ..self }
    }
}

fn is_address(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(host, port)| {
        !host.is_empty() && !host.contains('@') && port.parse::<u16>().is_ok_and(|port| port > 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read() {
        let read = TikvOptions::parse("tikv://a:2379,b:2380/shop?ca=ca.pem&cert=c.pem&key=k.pem");
        let read = read.expect("it is a URL");
        assert_eq!(read.pds, ["a:2379", "b:2380"]);
        assert_eq!(read.prefix, "shop");
        assert!(read.tls.is_some());
        for plain in ["tikv://a:2379", "tikv://a:2379/"] {
            assert_eq!(TikvOptions::parse(plain).expect("it is a URL").prefix, "keywright");
        }
    }

    #[test]
    fn what_cannot_be_an_address_or_a_prefix_is_refused() {
        let long = format!("tikv://a:1/{}", "a".repeat(65));
        for url in [
            "postgres://a:1/b",
            "tikv://",
            "tikv:///shop",
            "tikv://a/shop",
            "tikv://a:b/shop",
            "tikv://a:1,/shop",
            "tikv://me@a:1/shop",
            "tikv://a:1/Shop",
            "tikv://a:1/shop/part",
            "tikv://a:1/shop?ca=x",
            "tikv://a:1/shop?password=x",
            &long,
        ] {
            assert!(TikvOptions::parse(url).is_err(), "{url}");
        }
    }
}
