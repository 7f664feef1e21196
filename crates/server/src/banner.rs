//! What the binary says to the person at the terminal. Data goes to standard output, talk to standard error.

use std::io::{ErrorKind, Write as _};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::config::Storage;
use crate::log;

/// Whether data of a command did not get to where it was to go.
static LOST: AtomicBool = AtomicBool::new(false);

/// Prints data. A reader that has seen enough, as `head` has, is no fault; any other failure is told once and remembered
/// for the command's status.
pub(crate) fn say(line: &str) {
    if !print(line) {
        LOST.store(true, Ordering::Relaxed);
    }
}

/// Prints what a server says of itself. A thread of its own does it, because a pipe that nobody reads would
/// keep the server from serving; nothing waits for the outcome.
pub(crate) fn announce(text: String) {
    let _without_banner = std::thread::Builder::new().name("banner".to_owned()).spawn(move || print(&text));
}

/// Whether all data of the command was written.
pub(crate) fn all_said() -> bool {
    !LOST.load(Ordering::Relaxed)
}

/// Whether the line was written, or nobody wanted it any more.
fn print(line: &str) -> bool {
    let mut output = std::io::stdout().lock();
    match writeln!(output, "{line}").and_then(|()| output.flush()) {
        Ok(()) => true,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => true,
        Err(error) => {
            if all_said() {
                complain(&format!("cannot write to standard output: {error}"));
            }
            false
        }
    }
}

/// Talks to the person at the terminal, if anybody is there.
pub(crate) fn note(line: &str) {
    log::line(&format!("{line}\n"));
}

/// Reports a fault to the person at the terminal, if anybody is there.
pub(crate) fn complain(fault: &str) {
    log::line(&format!("keywright: {fault}\n"));
}

/// The lines printed once the server listens.
pub(crate) fn serving(address: SocketAddr, secure: bool, storage: &Storage, signed: bool) -> String {
    let scheme = if secure { "https" } else { "http" };
    let endpoint = format!("{scheme}://{}", shown(address));
    let data = match storage {
        Storage::Memory => "in memory; nothing survives this process".to_owned(),
        Storage::Folder { path, .. } => {
            std::path::absolute(path).unwrap_or_else(|_| path.clone()).display().to_string()
        }
    };
    let signatures = if signed { "verified" } else { "any well-formed one is accepted" };
    let variables = if signed { "" } else { "AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local " };
    format!(
        "Keywright {version} serves DynamoDB\n  endpoint    {endpoint}\n  data        {data}\n  signatures  {signatures}\n\n\
         Try:  {variables}aws dynamodb list-tables --region us-east-1 --endpoint-url {endpoint}\n",
        version = env!("CARGO_PKG_VERSION")
    )
}

/// The address a client on this machine can use.
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
        let text = serving("127.0.0.1:8000".parse().unwrap(), false, &Storage::Memory, false);
        assert!(text.contains("http://127.0.0.1:8000"));
        assert!(text.contains("in memory"));
        assert!(
            text.contains("aws dynamodb list-tables --region us-east-1 --endpoint-url http://127.0.0.1:8000")
        );
    }
}
