//! Where the master key comes from: a file, a variable, a command, or a key management service that keeps it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keywright_encryption::{KeyFile, MasterKey, Sealer, WrappedMaster};
use keywright_engine::RowSeal;

use super::command;
use crate::kms::{self, Client};
use crate::process::failure::Failure;
use crate::process::runtime;
use crate::storage::private_file;

/// What a master key is bound to at a key management service.
const CONTEXT: (&str, &str) = ("keywright", "data folder");
/// The purpose of the key that seals rows.
const ROWS: &str = "keywright 2026-11-28 seal of rows in a shared store";
const FORM: &str = "write 32 bytes in base64, as `keywright encryption new-key` prints them";

/// Whether something is encrypted under a key already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyAge {
    InUse,
    New,
}

/// Where the master key comes from.
#[derive(Clone, Debug)]
pub(crate) enum KeySource {
    Given(GivenKey),
    /// The master key lies in the folder, encrypted by the service.
    Service {
        settings: kms::Settings,
        key_id: String,
    },
}

/// A source that gives the master key itself. `flag` and `name` are the setting, for messages.
#[derive(Clone, Debug)]
pub(crate) enum GivenKey {
    File { flag: &'static str, path: PathBuf },
    Variable { name: &'static str, key: MasterKey },
    Command { flag: &'static str, command: String },
}

impl GivenKey {
    /// The key of a variable. The message does not repeat it.
    pub(crate) fn of_variable(name: &'static str, text: &str) -> Result<Self, Failure> {
        let key = MasterKey::parse(text)
            .ok_or_else(|| Failure::new(format!("{name} holds no key")).advising(FORM))?;
        Ok(Self::Variable { name, key })
    }

    fn shown(&self) -> String {
        match self {
            Self::File { flag, path } => format!("{flag} {}", path.display()),
            Self::Variable { name, .. } => (*name).to_owned(),
            Self::Command { flag, .. } => (*flag).to_owned(),
        }
    }

    fn key(&self, age: KeyAge) -> Result<MasterKey, Failure> {
        match self {
            Self::File { flag, path } => read(flag, path, age),
            Self::Variable { key, .. } => Ok(key.clone()),
            Self::Command { flag, command } => {
                let printed = wait(command::output(flag, command))?;
                MasterKey::parse(&printed).ok_or_else(|| {
                    Failure::new(format!("the command of {flag} prints no key")).advising(FORM)
                })
            }
        }
    }
}

impl KeySource {
    /// The source as a banner and messages name it.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Given(given) => given.shown(),
            Self::Service { key_id, .. } => format!("--kms-key-id {key_id}"),
        }
    }

    /// What tells the master key from others; `None` if a service keeps it, for each folder and place another
    /// one, and if it cannot be had now. May take long.
    pub(crate) fn fingerprint(&self) -> Option<String> {
        let Self::Given(given) = self else { return None };
        given.key(KeyAge::InUse).ok().map(|key| key.fingerprint())
    }

    /// What seals rows with secrets in a shared store; `None` for a source that needs a folder. May take
    /// long.
    pub(crate) fn row_seal(&self) -> Result<Option<Arc<dyn RowSeal>>, Failure> {
        let Self::Given(given) = self else { return Ok(None) };
        Ok(Some(Arc::new(SealedRows(Sealer::new(&given.key(KeyAge::New)?, ROWS)))))
    }

    /// The key under which the keys of a folder are sealed, as far as the source knows. May take long.
    pub(crate) fn master(&self, keys: &KeyFile) -> Result<MasterKey, Failure> {
        let (settings, key_id) = match self {
            Self::Given(given) => return given.key(KeyAge::InUse),
            Self::Service { settings, key_id } => (settings, key_id),
        };
        let Some(WrappedMaster { key, blob }) = keys.wrapped() else {
            return Err(Failure::new(format!(
                "the keys of the folder are not kept by a key management service, so {key_id} does not open them"
            ))
            .advising("pass --encryption-key-file FILE, or --encryption-key-command, as when they were made"));
        };
        let blob = STANDARD.decode(blob).map_err(|_| {
            Failure::new("KEYS is damaged: what the key management service needs is not base64")
        })?;
        let opened = wait(async {
            let client = Client::new(settings.clone())?;
            client.decrypt(key, &blob, &context()).await.map_err(|fault| refused(key, &fault))
        })?;
        let bytes: [u8; MasterKey::BYTES] = opened.try_into().map_err(|_| {
            Failure::new(format!("the key management service gives a key of another length for {key}"))
        })?;
        Ok(MasterKey::new(bytes))
    }

    /// A key under which keys can be sealed anew, and what a service needs to give it back. May take long.
    pub(crate) fn new_master(&self) -> Result<(MasterKey, Option<WrappedMaster>), Failure> {
        let (settings, key_id) = match self {
            Self::Given(given) => return Ok((given.key(KeyAge::New)?, None)),
            Self::Service { settings, key_id } => (settings, key_id),
        };
        let made = wait(async {
            let client = Client::new(settings.clone())?;
            client.generate_data_key(key_id, &context()).await.map_err(|fault| refused(key_id, &fault))
        })?;
        let wrapped = WrappedMaster { key: made.key_arn, blob: STANDARD.encode(&made.sealed) };
        Ok((MasterKey::new(made.plaintext), Some(wrapped)))
    }
}

/// Rows that are sealed under a key that all servers over the store have.
#[derive(Debug)]
struct SealedRows(Sealer);

impl RowSeal for SealedRows {
    fn seal(&self, key: &[u8], row: &[u8]) -> Vec<u8> {
        self.0.seal(key, row)
    }

    fn open(&self, key: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        self.0.open(key, sealed)
    }
}

fn read(flag: &str, path: &Path, age: KeyAge) -> Result<MasterKey, Failure> {
    let shown = path.display();
    let advice = match age {
        KeyAge::InUse => {
            "put the file back: a new key does not open what is encrypted under this one".to_owned()
        }
        KeyAge::New => {
            format!("make a key with `keywright encryption new-key --file {shown}`, once, and keep it")
        }
    };
    match private_file::read(path) {
        Ok(Some(text)) => MasterKey::parse(&text)
            .ok_or_else(|| Failure::new(format!("{flag} {shown} holds no key")).advising(FORM)),
        Ok(None) => Err(Failure::new(format!("{flag} {shown}: there is no such file")).advising(advice)),
        Err(reason) => Err(Failure::new(format!("{flag} {shown} cannot be used: {reason}"))),
    }
}

fn refused(key: &str, fault: &kms::Fault) -> Failure {
    Failure::new(format!("the master key cannot be had from the key {key}: {fault}"))
}

fn context() -> kms::Context {
    kms::Context::from([(CONTEXT.0.to_owned(), CONTEXT.1.to_owned())])
}

/// Waits within a server and within a command.
fn wait<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    match tokio::runtime::Handle::try_current() {
        Ok(handle) => tokio::task::block_in_place(|| handle.block_on(work)),
        Err(_none) => runtime::block_on(work),
    }
}
