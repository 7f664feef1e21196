//! Where the store is: a `postgres://` URL, to which `schema` is our own addition. It can name several servers
//! of one database; which of them takes writes is found when a connection is made (`connection`).

use std::net::IpAddr;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::tls::{Parameters, Tls};

const SCHEMA: &str = "keywright";
const PORT: u16 = 5432;
/// PostgreSQL cuts longer names.
const SCHEMA_BYTES_MAX: usize = 63;
/// Views and transactions at a time.
const CONNECTIONS_MAX: usize = 50;
/// Connections for logs, in addition to those for views and transactions.
pub(crate) const LOG_CONNECTIONS_MAX: usize = 8;
const SWEEP_AFTER: Duration = Duration::from_secs(30);
/// A server whose machine lost its power closes no connection: these find it out, unless the address sets
/// others.
const CONNECT_WAIT: Duration = Duration::from_secs(5);
const UNACKNOWLEDGED_MAX: Duration = Duration::from_secs(10);
const KEEPALIVES_IDLE: Duration = Duration::from_secs(10);
const KEEPALIVES_INTERVAL: Duration = Duration::from_secs(3);
const KEEPALIVES_RETRIES: u32 = 3;

/// `target_session_attrs`: which of the address's servers is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Target {
    /// The first one that answers.
    Any,
    /// The first one that takes writes.
    #[default]
    Writes,
}

impl Target {
    fn parse(value: &str) -> Result<Self, OptionsError> {
        match value {
            "any" => Ok(Self::Any),
            "read-write" | "primary" => Ok(Self::Writes),
            _ => Err(OptionsError(format!(
                "target_session_attrs={value} cannot work, because Keywright writes: leave it out, or write \
                 read-write, primary or any"
            ))),
        }
    }
}

/// The address and settings of a store.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// One for each server, in the order of the address.
    pub(crate) servers: Vec<Config>,
    pub(crate) target: Target,
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
    /// Reads `postgres://USER@HOST:PORT/DATABASE?schema=NAME`; other parameters are libpq's. Several hosts are
    /// separated by commas. Files that it names are read.
    pub fn parse(url: &str) -> Result<Self, OptionsError> {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let mut schema = SCHEMA.to_owned();
        let mut tls = Parameters::default();
        let mut target = Target::default();
        let mut rest: Vec<&str> = Vec::new();
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            if name == "schema" {
                schema = checked_schema(value)?;
            } else if name == "target_session_attrs" {
                target = Target::parse(&percent_decode_str(value).decode_utf8_lossy())?;
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
        let servers = servers(&config)?;
        let tls = tls.read().map_err(OptionsError)?;
        // Nobody else reads a socket of this machine: PostgreSQL offers no TLS there.
        let tls = if config.get_hosts().iter().all(is_socket) { Tls::disabled() } else { tls };
        Ok(Self {
            servers,
            target,
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
        for server in &mut self.servers {
            server.password(password);
        }
        self
    }

    /// Connections that a server of Keywright opens at most.
    pub(crate) fn connections_needed(&self) -> usize {
        self.connections_max.max(2) + LOG_CONNECTIONS_MAX
    }

    /// The database as a word of SQL.
    pub(crate) fn database(&self) -> String {
        let named = self.servers.first().and_then(|server| server.get_dbname().or(server.get_user()));
        named.map_or_else(|| "DATABASE".to_owned(), identifier)
    }

    /// The user as a word of SQL.
    pub(crate) fn user(&self) -> String {
        let named = self.servers.first().and_then(Config::get_user);
        named.map_or_else(|| "USER".to_owned(), identifier)
    }

    /// The port of a server of the address.
    pub(crate) fn port_of(server: &Config) -> u16 {
        server.get_ports().first().copied().unwrap_or(PORT)
    }

    /// The host and port of a server of the address.
    pub(crate) fn name_of(&self, server: usize) -> String {
        let Some(server) = self.servers.get(server) else { return String::new() };
        let port = Self::port_of(server);
        match server.get_hosts().first() {
            Some(Host::Tcp(host)) => format!("{host}:{port}"),
            #[cfg(unix)]
            Some(Host::Unix(folder)) => format!("{}:{port}", folder.display()),
            None => String::new(),
        }
    }
}

/// The settings of each server alone.
fn servers(all: &Config) -> Result<Vec<Config>, OptionsError> {
    let (hosts, addresses, ports) = (all.get_hosts(), all.get_hostaddrs(), all.get_ports());
    if hosts.is_empty() {
        return Err(OptionsError(
            "the address of PostgreSQL names no host: write postgres://USER@HOST:PORT/DATABASE".to_owned(),
        ));
    }
    if (ports.len() > 1 && ports.len() != hosts.len())
        || (!addresses.is_empty() && addresses.len() != hosts.len())
    {
        return Err(OptionsError(format!(
            "the address of PostgreSQL names {} hosts, {} ports and {} values of hostaddr: write one of each for \
             each host, as in postgres://USER@HOST1:PORT1,HOST2:PORT2/DATABASE",
            hosts.len(),
            ports.len(),
            addresses.len()
        )));
    }
    let port = |at: usize| ports.get(at).or(ports.first()).copied().unwrap_or(PORT);
    Ok(hosts.iter().enumerate().map(|(at, host)| one(all, host, addresses.get(at), port(at))).collect())
}

fn one(all: &Config, host: &Host, address: Option<&IpAddr>, port: u16) -> Config {
    let mut one = Config::new();
    match host {
        Host::Tcp(name) => one.host(name),
        #[cfg(unix)]
        Host::Unix(folder) => one.host_path(folder),
    };
    if let Some(address) = address {
        one.hostaddr(*address);
    }
    if let Some(user) = all.get_user() {
        one.user(user);
    }
    if let Some(password) = all.get_password() {
        one.password(password);
    }
    if let Some(database) = all.get_dbname() {
        one.dbname(database);
    }
    if let Some(options) = all.get_options() {
        one.options(options);
    }
    if let Some(name) = all.get_application_name() {
        one.application_name(name);
    }
    one.port(port)
        .ssl_negotiation(all.get_ssl_negotiation())
        .channel_binding(all.get_channel_binding())
        .connect_timeout(all.get_connect_timeout().copied().unwrap_or(CONNECT_WAIT))
        .tcp_user_timeout(all.get_tcp_user_timeout().copied().unwrap_or(UNACKNOWLEDGED_MAX))
        .keepalives(all.get_keepalives())
        // The library's own default is PostgreSQL's: two hours.
        .keepalives_idle(all.get_keepalives_idle().min(KEEPALIVES_IDLE))
        .keepalives_interval(all.get_keepalives_interval().unwrap_or(KEEPALIVES_INTERVAL))
        .keepalives_retries(all.get_keepalives_retries().unwrap_or(KEEPALIVES_RETRIES));
    one
}

/// A name as SQL has it: in quotes, unless it is plain.
fn identifier(name: &str) -> String {
    let is_plain = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase() || byte == b'_')
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if is_plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

pub(crate) fn is_socket(host: &Host) -> bool {
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
        let [server] = &*read.servers else { panic!("{:?}", read.servers) };
        assert_eq!(server.get_ports(), [5433]);
        assert_eq!(server.get_dbname(), Some("shop"));
        assert_eq!(server.get_connect_timeout(), Some(&Duration::from_secs(3)));
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
    fn several_servers_are_read_one_by_one() {
        let url = "postgres://me@one:1,two:2,%2Frun%2Fpostgresql:3/shop?target_session_attrs=read-write";
        let read = PostgresOptions::parse(url).expect("it is a URL").with_password("secret");
        let names: Vec<String> = (0..3).map(|server| read.name_of(server)).collect();
        assert_eq!(names, ["one:1", "two:2", "/run/postgresql:3"]);
        assert!(read.servers.iter().all(|server| server.get_password() == Some(b"secret".as_slice())));
        let target = |value: &str| {
            PostgresOptions::parse(&format!("postgres://me@one,two/shop{value}")).map(|read| read.target)
        };
        assert_eq!(target(""), Ok(Target::Writes));
        assert_eq!(target("?target_session_attrs=primary"), Ok(Target::Writes));
        assert_eq!(target("?target_session_attrs=any"), Ok(Target::Any));
        for refused in ["standby", "prefer-standby", "read-only", "", "Primary"] {
            let error = target(&format!("?target_session_attrs={refused}")).expect_err(refused);
            assert!(error.to_string().contains("write read-write, primary or any"), "{error}");
        }
        for odd in ["postgres://me@one,two/shop?port=1,2,3", "postgres://me@one,two/shop?hostaddr=::1"] {
            let error = PostgresOptions::parse(odd).expect_err(odd);
            assert!(error.to_string().contains("for each host"), "{error}");
        }
    }

    #[test]
    fn names_stand_in_statements_as_sql_has_them() {
        let named = |url: &str| {
            let read = PostgresOptions::parse(url).expect("it is a URL");
            (read.user(), read.database())
        };
        assert_eq!(named("postgres://me@db/shop"), ("me".to_owned(), "shop".to_owned()));
        assert_eq!(named("postgres://a-b@db"), ("\"a-b\"".to_owned(), "\"a-b\"".to_owned()));
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
