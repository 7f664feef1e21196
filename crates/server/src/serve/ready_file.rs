//! The file of `--ready-file`: it says where the server listens, from the moment it accepts requests until it
//! stops.
//!
//! Test suites start the server with `--port 0` and wait for this file.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::process::failure::Failure;
use crate::process::io_fault::cannot;
use crate::storage::private_file;

/// What the server listens on.
#[derive(Clone, Debug)]
pub(crate) struct Listening {
    pub(crate) api: SocketAddr,
    /// The address of the studio's first page.
    pub(crate) studio: Option<String>,
    /// The address below which metrics and health are.
    pub(crate) management: Option<String>,
}

/// The file while the server runs; dropping it removes it.
#[derive(Debug)]
pub(crate) struct ReadyFile {
    path: PathBuf,
    text: String,
}

impl ReadyFile {
    /// Removes the file that a killed server left, so that nobody takes it for this one's.
    pub(crate) fn clear(path: &Path) -> Result<(), Failure> {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Failure::new(format!("--ready-file: {}", cannot("remove the old file", path, &error))))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Writes the file: a reader finds all of it or no file.
    pub(crate) fn write(path: &Path, endpoint: &str, listening: &Listening) -> Result<Self, Failure> {
        let address = listening.api;
        let content = json!({
            "endpoint": endpoint,
            "host": address.ip().to_string(),
            "port": address.port(),
            "studio": listening.studio,
            "management": listening.management,
            "pid": std::process::id(),
            "version": env!("CARGO_PKG_VERSION"),
        });
        let text = format!("{content:#}\n");
        private_file::replace(path, &text)
            .map_err(|error| Failure::new(format!("--ready-file: {}", cannot("write", path, &error))))?;
        Ok(Self { path: path.to_owned(), text })
    }
}

impl Drop for ReadyFile {
    fn drop(&mut self) {
        // Another server may have been started with the same file meanwhile.
        if std::fs::read_to_string(&self.path).is_ok_and(|text| text == self.text) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
