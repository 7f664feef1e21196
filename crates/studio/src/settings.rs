//! What the server tells the studio at its start.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keywright_connection::hosts::AllowedHosts;
use keywright_connection::limits::Limits;

/// Where the studio keeps model files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelsIn {
    /// Until the process ends.
    Memory,
    /// In files of this folder. Where visitors sign in, each account has a folder of its own in it.
    Folder(PathBuf),
    /// In files of this folder, which all accounts share.
    Shared(PathBuf),
}

/// How model files of the data folder lie on disk. Files of a folder that all share are plain.
pub trait FileForm: Send + Sync {
    /// The bytes of a file with this text.
    fn encode(&self, text: &[u8]) -> Vec<u8>;

    /// The text of a file with these bytes.
    fn decode(&self, bytes: Vec<u8>) -> io::Result<Vec<u8>>;

    /// Held while a file is replaced.
    fn hold(&self) -> MutexGuard<'_, ()>;
}

/// Files as they are.
#[derive(Debug, Default)]
pub struct PlainFiles(Mutex<()>);

impl FileForm for PlainFiles {
    fn encode(&self, text: &[u8]) -> Vec<u8> {
        text.to_owned()
    }

    fn decode(&self, bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        Ok(bytes)
    }

    fn hold(&self) -> MutexGuard<'_, ()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The studio. Invariant: without credentials its address is loopback, unless `--allow-anonymous-network` is
/// set.
#[derive(Clone, Debug)]
pub struct StudioConfig {
    /// Where it is served; another port is chosen if this one is taken.
    pub address: SocketAddr,
    /// The names under which browsers may reach it.
    pub hosts: AllowedHosts,
    /// Whether it changes nothing.
    pub read_only: bool,
    /// Where its models are.
    pub models: ModelsIn,
}

/// Where the database keeps its data, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredIn {
    /// `memory`, `folder` or the kind of a shared store.
    pub kind: &'static str,
    /// The folder or the address.
    pub place: String,
}

/// What the studio says about the server, and gets from it.
#[derive(Clone)]
pub struct Surroundings {
    /// The URL of the API.
    pub endpoint: String,
    /// Whether the studio's port has TLS.
    pub secure: bool,
    /// Where the data is kept.
    pub storage: StoredIn,
    /// The limits of the server, some of which hold for the studio too.
    pub limits: Limits,
    /// Version and commit of the program: pages of another build are not served.
    pub version: &'static str,
    /// How model files of the data folder lie on disk.
    pub model_form: Arc<dyn FileForm>,
}
