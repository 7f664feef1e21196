//! Output of the binary: data to standard output, messages to standard error.

use std::borrow::Cow;
use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use super::io_fault::Explained;
use super::{foreign, log};

/// Whether some of the command's data could not be written.
static LOST: AtomicBool = AtomicBool::new(false);

/// Prints data. A reader that has closed the pipe, as `head` does, is not an error. Any other failure is
/// reported once and makes the command fail.
pub fn say(line: &str) {
    if !print(line) {
        LOST.store(true, Ordering::Relaxed);
    }
}

/// Prints the server's banner. A thread of its own does it, because a pipe that nobody reads would block the
/// server. Nothing waits for the outcome.
pub fn announce(text: String) {
    let _without_banner = std::thread::Builder::new().name("banner".to_owned()).spawn(move || print(&text));
}

/// Whether all of the command's data was written.
pub fn all_written() -> bool {
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
pub fn note(line: &str) {
    log::line(&format!("{line}\n"));
}

/// Reports an error on standard error.
pub fn complain(fault: &str) {
    log::line(&format!("keywright: {fault}\n"));
}
