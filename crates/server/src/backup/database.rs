//! The database that a backup is made of, or a restore goes into: a folder that no server uses, or a running
//! server. Both answer the same requests.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use keywright_engine::{Engine, EngineConfig};
use keywright_semantics::error::Error;
use keywright_store_local::LocalOptions;
use serde::de::DeserializeOwned;

use crate::client::endpoint::{Client, Credentials, Endpoint, OwnCall};
use crate::clock::{Clock, ClockSetting};
use crate::http::branches::Refusal;
use crate::http::frames::{self, Row};
use crate::http::{restores, sets};
use crate::process::failure::Failure;
use crate::storage::any_store::AnyStore;
use crate::storage::backend::{Backend, Folder};
use crate::storage::encryption::backup_keys::BackupForm;
use crate::storage::encryption::folder::{FORMAT, Form};
use crate::storage::encryption::source::KeySource;
use crate::storage::private_file;

const BACKUP: OwnCall = OwnCall { name: "Backup", path: sets::PATH };
const RESTORE: OwnCall = OwnCall { name: "Restore", path: restores::PATH };

/// A database that is open.
pub(super) enum Database {
    Folder { engine: Engine<AnyStore>, store: AnyStore },
    Endpoint(Box<Client>),
}

/// What a folder holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    Nothing,
    Database,
    OtherFiles,
}

/// What a folder holds; one that is not there holds nothing, and so does one whose database was being made
/// when its program was killed.
pub(super) fn holds(folder: &Path) -> Result<Holds, Failure> {
    let is_made = folder.join(FORMAT).is_file();
    Ok(match Form::of(folder)? {
        Form::Plain => Holds::Database,
        Form::Encrypted if is_made => Holds::Database,
        Form::New | Form::Encrypted => Holds::Nothing,
        Form::Other => Holds::OtherFiles,
    })
}

impl Database {
    /// Opens the database in a folder, which no server may use.
    pub(super) async fn folder(path: &Path, key: Option<KeySource>) -> Result<Self, Failure> {
        private_file::restrict_umask();
        let path: PathBuf = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let backend = Backend::Folder(Box::new(Folder::new(path.clone(), LocalOptions::default(), key)));
        tokio::task::block_in_place(|| backend.folder().map_or(Ok(()), Folder::unlock))?;
        let store = tokio::task::block_in_place(|| backend.open()).map_err(|fault| {
            fault.advising("with a server that runs over it, pass --endpoint URL instead")
        })?;
        let clock = Arc::new(Clock::new(ClockSetting::Machine));
        let engine = Engine::open(store.clone(), clock, EngineConfig::default()).await.map_err(|error| {
            Failure::new(format!("cannot open the database in {}: {error}", path.display()))
        })?;
        Ok(Self::Folder { engine, store })
    }

    /// Connects to a running server.
    pub(super) async fn endpoint(endpoint: &Endpoint, credentials: &Credentials) -> Result<Self, Failure> {
        Ok(Self::Endpoint(Box::new(Client::connect(endpoint, credentials).await?)))
    }

    /// Whether it has any table.
    pub(super) fn has_tables(&self) -> bool {
        match self {
            Self::Folder { engine, .. } => {
                !(engine.places(1).is_empty() && engine.unreachable_places(1).is_empty())
            }
            Self::Endpoint(_) => true,
        }
    }

    /// Whether it has a restore of this source that has not ended.
    pub(super) async fn has_restore_of(&self, source: &str) -> Result<bool, Failure> {
        match self {
            Self::Folder { engine, .. } => {
                let found = engine.unfinished_restore(None, source).await;
                Ok(found.map_err(|fault| refused(restores::refusal(fault)))?.is_some())
            }
            // It says so when the restore begins.
            Self::Endpoint(_) => Ok(true),
        }
    }

    /// The answer to a request about a set of tables, with the rows that follow it.
    pub(super) async fn ask<A: DeserializeOwned>(
        &mut self,
        request: &sets::Request,
    ) -> Result<(A, Vec<Row>), Failure> {
        let answer = match self {
            Self::Folder { engine, .. } => {
                // Who opened the folder knows its key.
                let answered = sets::answer(engine, (None, sets::AtRest::Plain), request).await;
                answered.map_err(|fault| refused(sets::refusal(fault)))?.into()
            }
            Self::Endpoint(client) => {
                let body = serde_json::to_vec(request).map_err(|error| Failure::new(error.to_string()))?;
                client.exchange_again(BACKUP, sets::HEADER_VALUE, &Bytes::from(body)).await?
            }
        };
        read(&answer)
    }

    /// The answer to a request about a restore, which these rows follow.
    pub(super) async fn restore<A: DeserializeOwned>(
        &mut self,
        request: &restores::Request,
        rows: Vec<Row>,
    ) -> Result<A, Failure> {
        let answer = match self {
            Self::Folder { engine, .. } => {
                // Whether the folder is encrypted was chosen before it was made.
                let chosen = (None, BackupForm::Encrypted);
                let answered = restores::answer(engine, chosen, request, rows).await;
                answered.map_err(|fault| refused(restores::refusal(fault)))?.into()
            }
            Self::Endpoint(client) => {
                let body = Bytes::from(frames::encode(request, &rows));
                client.exchange_again(RESTORE, restores::HEADER_VALUE, &body).await?
            }
        };
        read(&answer).map(|(answer, _)| answer)
    }

    /// Writes what is in memory only, and closes the folder.
    pub(super) async fn close(self) -> Result<(), Failure> {
        let Self::Folder { engine, store } = self else { return Ok(()) };
        let stopped = engine.shutdown().await;
        drop(engine);
        tokio::task::block_in_place(|| store.close());
        stopped.map_err(|error| Failure::new(format!("cannot close the database: {error}")))
    }
}

fn read<A: DeserializeOwned>(answer: &Bytes) -> Result<(A, Vec<Row>), Failure> {
    frames::decode(answer).map_err(|error| {
        Failure::new(format!("the answer of the server cannot be read: {error}"))
            .advising("use the same release of keywright for both")
    })
}

/// A refusal as the person at the terminal reads it.
fn refused(refusal: Result<Refusal, Error>) -> Failure {
    match refusal {
        Ok(refusal) => Failure::new(refusal.message),
        Err(error) => Failure::new(error.to_string()),
    }
}
