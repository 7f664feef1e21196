//! Output of the binary: data to standard output, messages to standard error.

use std::borrow::Cow;
use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use super::io_fault::Explained;
use super::{foreign, log};
use crate::settings::config::Storage;

/// Whether some of the command's data could not be written.
static LOST: AtomicBool = AtomicBool::new(false);

/// Prints data. A reader that has closed the pipe, as `head` does, is not an error. Any other failure is
/// reported once and makes the command fail.
pub(crate) fn say(line: &str) {
    if !print(line) {
        LOST.store(true, Ordering::Relaxed);
    }
}

/// Prints the server's banner. A thread of its own does it, because a pipe that nobody reads would block the
/// server. Nothing waits for the outcome.
pub(crate) fn announce(text: String) {
    let _without_banner = std::thread::Builder::new().name("banner".to_owned()).spawn(move || print(&text));
}

/// Whether all of the command's data was written.
pub(crate) fn all_written() -> bool {
    !LOST.load(Ordering::Relaxed)
}

/// Whether the line was written, or its reader has closed the pipe.
fn print(line: &str) -> bool {
    let mut output = std::io::stdout().lock();
    // Data stays as it is, but nothing in it commands a terminal.
    let line = if output.is_terminal() { foreign::lines(line) } else { Cow::Borrowed(line) };
    match writeln!(output, "{line}").and_then(|()| output.flush()) {
        Ok(()) => true,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => true,
        Err(error) => {
            if all_written() {
                complain(&format!("cannot write to standard output: {}", Explained(&error)));
            }
            false
        }
    }
}

/// Writes a message to standard error.
pub(crate) fn note(line: &str) {
    log::line(&format!("{line}\n"));
}

/// Reports an error on standard error.
pub(crate) fn complain(fault: &str) {
    log::line(&format!("keywright: {fault}\n"));
}

/// The studio, as the banner reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StudioLine {
    pub(crate) address: SocketAddr,
    /// The port that was wanted; another one is served if it was taken.
    pub(crate) wanted: u16,
}

/// The addresses printed once the server listens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Addresses {
    pub(crate) api: SocketAddr,
    pub(crate) secure: bool,
    pub(crate) studio: Option<StudioLine>,
    pub(crate) management: Option<SocketAddr>,
}

/// The lines printed once the server listens.
pub(crate) fn serving(addresses: Addresses, storage: &Storage, signed: bool) -> String {
    let Addresses { api, secure, studio, management } = addresses;
    let endpoint = endpoint(api, secure);
    let studio = match studio {
        Some(StudioLine { address, wanted }) => {
            let taken = if wanted == 0 || wanted == address.port() {
                String::new()
            } else {
                format!(" (port {wanted} is taken)")
            };
            format!("{}{taken}", self::endpoint(address, secure))
        }
        None => "off".to_owned(),
    };
    let data = match storage {
        Storage::Memory => "in memory; lost when this process ends".to_owned(),
        Storage::Folder { path, .. } => {
            std::path::absolute(path).unwrap_or_else(|_| path.clone()).display().to_string()
        }
        Storage::Postgres { url, .. } | Storage::Tikv { url } => url.clone(),
    };
    let management = match management {
        Some(address) => format!("http://{}/metrics, /health/ready", shown(address)),
        None => "off".to_owned(),
    };
    let signatures = if signed { "verified" } else { "any well-formed one is accepted" };
    let variables = if signed { "" } else { "AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local " };
    format!(
        "Keywright {version} serves DynamoDB\n  endpoint    {endpoint}\n  studio      {studio}\n  data        {data}\n  signatures  {signatures}\n  management  {management}\n\n\
         Try:  {variables}aws dynamodb list-tables --region us-east-1 --endpoint-url {endpoint}\n",
        version = env!("CARGO_PKG_VERSION")
    )
}

/// The URL that a client on this machine can use.
pub(crate) fn endpoint(address: SocketAddr, secure: bool) -> String {
    let scheme = if secure { "https" } else { "http" };
    format!("{scheme}://{}", shown(address))
}

/// The address that a client on this machine can use.
fn shown(address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        return format!("localhost:{}", address.port());
    }
    address.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_banner_says_endpoint_folder_and_a_line_to_copy() {
        let addresses = Addresses {
            api: "127.0.0.1:8000".parse().unwrap(),
            secure: false,
            studio: Some(StudioLine { address: "127.0.0.1:40123".parse().unwrap(), wanted: 8100 }),
            management: Some("127.0.0.1:8200".parse().unwrap()),
        };
        let text = serving(addresses, &Storage::Memory, false);
        assert!(text.contains("studio      http://127.0.0.1:40123 (port 8100 is taken)"), "{text}");
        assert!(text.contains("http://127.0.0.1:8000") && text.contains("http://127.0.0.1:8200/metrics"));
        assert!(
            text.contains("aws dynamodb list-tables --region us-east-1 --endpoint-url http://127.0.0.1:8000")
        );
    }
}
