//! Where the store is: a `postgres://` URL, to which `schema` is our own addition.

use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::tls::{Parameters, Tls};

const SCHEMA: &str = "keywright";
/// PostgreSQL cuts longer names.
const SCHEMA_BYTES_MAX: usize = 63;
/// Views and transactions at a time.
const CONNECTIONS_MAX: usize = 50;
const SWEEP_AFTER: Duration = Duration::from_secs(30);

/// The address and settings of a store.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    pub(crate) config: Config,
    pub(crate) schema: String,
    pub(crate) tls: Tls,
    /// Views and transactions that may be open at a time.
    pub connections_max: usize,
    /// How long a removed row stays at least before it is swept: a writer that meets the sweep conflicts, and
    /// keys that were just removed are often written again.
    pub sweep_after: Duration,
    /// This machine's clock, in milliseconds since 1970: the store is not opened if it is far from the
    /// server's. `None` compares nothing.
    pub now_ms: Option<fn() -> u64>,
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

impl PostgresOptions {
    /// Reads `postgres://USER@HOST:PORT/DATABASE?schema=NAME`; other parameters are libpq's. Files that it
    /// names are read.
    pub fn parse(url: &str) -> Result<Self, OptionsError> {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let mut schema = SCHEMA.to_owned();
        let mut tls = Parameters::default();
        let mut rest: Vec<&str> = Vec::new();
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            if name == "schema" {
                schema = checked_schema(value)?;
            } else if !tls.take(name, &percent_decode_str(value).decode_utf8_lossy()) {
                rest.push(parameter);
            }
        }
        let url = if rest.is_empty() { base.to_owned() } else { format!("{base}?{}", rest.join("&")) };
        let mut config: Config = url.parse().map_err(|error| {
            OptionsError(format!(
                "the address of PostgreSQL cannot be read: {}; write postgres://USER@HOST:PORT/DATABASE",
                caused(&error)
            ))
        })?;
        if config.get_application_name().is_none() {
            config.application_name("keywright");
        }
        if config.get_hosts().is_empty() {
            // The server's certificate is compared with it.
            for address in config.get_hostaddrs().to_vec() {
                config.host(address.to_string());
            }
        }
        let tls = tls.read().map_err(OptionsError)?;
        // Nobody else reads a socket of this machine: PostgreSQL offers no TLS there.
        let tls = if config.get_hosts().iter().all(is_socket) { Tls::disabled() } else { tls };
        Ok(Self {
            config,
            schema,
            tls,
            connections_max: CONNECTIONS_MAX,
            sweep_after: SWEEP_AFTER,
            now_ms: None,
        })
    }

    /// The same server with this password.
    #[must_use]
    pub fn with_password(mut self, password: &str) -> Self {
        self.config.password(password);
        self
    }
}

fn is_socket(host: &Host) -> bool {
    !matches!(host, Host::Tcp(_))
}

/// The error with its cause.
fn caused(error: &tokio_postgres::Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// Only names that need no quotes: they stand in statements as they are.
fn checked_schema(name: &str) -> Result<String, OptionsError> {
    let is_plain =
        name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
            && name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase())
            && name.len() <= SCHEMA_BYTES_MAX;
    let reserved = name.starts_with("pg_") || name == "information_schema";
    if is_plain && !reserved {
        return Ok(name.to_owned());
    }
    Err(OptionsError(format!(
        "`{name}` cannot be the schema: write lower-case letters, digits and `_`, a letter first, \
         at most {SCHEMA_BYTES_MAX}, not beginning with pg_"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls::Mode;

    #[test]
    fn the_schema_is_taken_out_of_the_url() {
        let read = PostgresOptions::parse("postgres://me@db:5433/shop?schema=orders&connect_timeout=3");
        let read = read.expect("it is a URL");
        assert_eq!(read.schema, "orders");
        assert_eq!(read.config.get_ports(), [5433]);
        assert_eq!(read.config.get_dbname(), Some("shop"));
        let plain = PostgresOptions::parse("postgres://me@db/shop").expect("it is a URL");
        assert_eq!(plain.schema, "keywright");
    }

    #[test]
    fn tls_is_for_the_network_and_its_parameters_are_taken_out_of_the_url() {
        let mode = |url: &str| PostgresOptions::parse(url).map(|options| options.tls.mode);
        assert_eq!(mode("postgres://me@db/shop?sslmode=require&schema=orders"), Ok(Mode::Require));
        assert_eq!(mode("postgres://me@db/shop"), Ok(Mode::Prefer));
        assert_eq!(mode("postgres://me@%2Frun%2Fpostgresql/shop?sslmode=require"), Ok(Mode::Disable));
        let spaces = mode("postgres://me@db/shop?sslrootcert=%2Fno%20where").expect_err("no such file");
        assert!(spaces.to_string().contains("sslrootcert=/no where"), "{spaces}");
        let unknown = mode("postgres://me@db/shop?sslcrl=file").expect_err("it is not known");
        assert!(unknown.to_string().contains("sslcrl"), "{unknown}");
    }

    #[test]
    fn what_cannot_be_a_schema_or_an_address_is_refused() {
        for name in ["", "a b", "A", "1a", "pg_catalog", "a;drop", "\u{e9}", &"a".repeat(64)] {
            let url = format!("postgres://me@db/shop?schema={name}");
            assert!(PostgresOptions::parse(&url).is_err(), "{name}");
        }
        assert!(PostgresOptions::parse("postgres://me@db:x/shop").is_err());
        assert!(PostgresOptions::parse("postgres://me@db/shop?nonsense=1").is_err());
    }
}
