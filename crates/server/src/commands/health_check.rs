//! `keywright health`: asks a running server whether it takes requests, for containers, whose image has no
//! shell and no other program.
//!
//! It knows the management port alone; what its answer means is `storage::health`'s.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde_json::Value;

use crate::process::failure::Failure;
use crate::process::io_fault::{Explained, failed};
use crate::process::output;
use crate::settings::arguments::{OwnPort, host};
use crate::settings::config::DEFAULT_MANAGEMENT_PORT;

/// Time for a connection, and for each part of the answer.
const TIMEOUT: Duration = Duration::from_secs(2);
/// A report is far shorter.
const ANSWER_BYTES_MAX: u64 = 64 * 1024;

/// Ask a running server whether it takes requests
///
/// Asks the management port of a server on this machine, and fails unless the server is ready. The settings
/// are those of `serve`, so that both find the same variables in a container.
#[derive(Debug, Args)]
pub(crate) struct HealthArguments {
    /// Port of metrics and health [default: 8200]
    #[arg(long, value_name = "PORT", env = "KEYWRIGHT_MANAGEMENT_PORT")]
    management_port: Option<OwnPort>,
    /// Its address [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS", env = "KEYWRIGHT_MANAGEMENT_HOST", value_parser = host)]
    management_host: Option<IpAddr>,
    /// Find both in the file that `serve --ready-file` writes
    #[arg(long, value_name = "FILE", env = "KEYWRIGHT_READY_FILE")]
    ready_file: Option<PathBuf>,
}

pub(crate) fn run(arguments: &HealthArguments) -> Result<(), Failure> {
    let address = match &arguments.ready_file {
        Some(file) => in_ready_file(file)?,
        None => address(arguments.management_host, arguments.management_port)?,
    };
    let (status, report) = ask(address)?;
    let text = |name: &str| report.get(name).and_then(Value::as_str);
    let state = text("state").ok_or_else(|| format!("{address} is no management port of a keywright"))?;
    let said: Vec<&str> = [Some(state), text("reason"), text("advice")].into_iter().flatten().collect();
    if status != 200 {
        return Err(Failure::new(format!("not ready: {}", said.join("; "))));
    }
    output::say(&said.join("; "));
    Ok(())
}

fn address(host: Option<IpAddr>, port: Option<OwnPort>) -> Result<SocketAddr, Failure> {
    let port = match port.unwrap_or(OwnPort::Port(DEFAULT_MANAGEMENT_PORT)) {
        OwnPort::Port(0) => {
            return Err(Failure::new(
                "the server picks its management port: name its --ready-file, which has the port",
            ));
        }
        OwnPort::Port(port) => port,
        OwnPort::Off => {
            return Err(Failure::new(
                "the management port is off, and health is asked there: give the server one",
            ));
        }
    };
    Ok(reachable(SocketAddr::new(host.unwrap_or(Ipv4Addr::LOCALHOST.into()), port)))
}

/// A server that listens on all addresses of the machine is reached on loopback.
const fn reachable(address: SocketAddr) -> SocketAddr {
    let host = match address.ip() {
        IpAddr::V4(host) if host.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(host) if host.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        host => host,
    };
    SocketAddr::new(host, address.port())
}

/// The address of the management port in a ready file.
fn in_ready_file(path: &Path) -> Result<SocketAddr, Failure> {
    let text = std::fs::read_to_string(path).map_err(failed("read the ready file", path))?;
    let written: Value = serde_json::from_str(&text).unwrap_or_default();
    let url = written.get("management").and_then(Value::as_str).and_then(|url| url.strip_prefix("http://"));
    url.and_then(|authority| authority.parse().ok().map(reachable)).ok_or_else(|| {
        let sentence = format!("{} names no management port", path.display());
        Failure::new(sentence).advising("give the server one")
    })
}

/// Status and body of the answer.
fn ask(address: SocketAddr) -> Result<(u16, Value), Failure> {
    let explain = |error: std::io::Error| format!("cannot ask {address}: {}", Explained(&error));
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT).map_err(explain)?;
    stream.set_read_timeout(Some(TIMEOUT)).map_err(explain)?;
    stream.set_write_timeout(Some(TIMEOUT)).map_err(explain)?;
    let request = format!("GET /health/ready HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).map_err(explain)?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer).map_err(explain)?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    Ok((status, serde_json::from_str(body).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_of_the_server_give_an_address_on_this_machine() {
        let of = |host: Option<&str>, port| {
            address(host.map(|host| host.parse().unwrap()), port).map(|address| address.to_string())
        };
        assert_eq!(of(None, None), Ok("127.0.0.1:8200".to_owned()));
        assert_eq!(of(Some("0.0.0.0"), Some(OwnPort::Port(9))), Ok("127.0.0.1:9".to_owned()));
        assert_eq!(of(Some("::"), None), Ok("[::1]:8200".to_owned()));
        assert_eq!(of(Some("10.0.0.7"), None), Ok("10.0.0.7:8200".to_owned()));
        assert!(of(None, Some(OwnPort::Off)).unwrap_err().to_string().contains("off"));
        assert!(of(None, Some(OwnPort::Port(0))).unwrap_err().to_string().contains("--ready-file"));
    }
}
