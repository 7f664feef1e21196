//! The file `KEYS` of a folder: its data keys, each sealed under the master key. The keys of objects outside
//! of a folder lie next to them in the same form.
//!
//! It is text, so that people see which keys there are; it is replaced as a whole, and a lock next to it
//! keeps two who change it apart.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use zeroize::Zeroize as _;

use crate::bytes::{hex, of_hex, random};
use crate::cipher::FileCipher;
use crate::fault::{HeaderFault, KeyFault};
use crate::header::Header;
use crate::id::KeyId;
use crate::master::MasterKey;
use crate::seal::Sealer;

/// The name of the file.
pub const KEYS: &str = "KEYS";
const NEW: &str = "KEYS.new";
const LOCK: &str = "KEYS.lock";
const FORMAT: u32 = 1;
const SEALING: &str = "keywright 2026-11-28 seal of data keys";
/// What the check of the master key seals.
const CHECK: &[u8] = b"check";

/// A data key, without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataKey {
    /// Its name, in the headers of files.
    pub id: KeyId,
    /// When it was made, in milliseconds since 1970.
    pub made_ms: u64,
    /// Whether new files take it.
    pub is_current: bool,
}

/// A master key that a key service keeps: the service gives it back for these bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrappedMaster {
    /// The service's name of its key.
    pub key: String,
    /// The master key, encrypted by the service; in base64.
    pub blob: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Text {
    format: u32,
    /// Names the folder, so that keys of one folder cannot be put into another.
    folder: String,
    /// Sealed under the master key: tells a wrong one from a damaged file.
    check: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wrapped: Option<WrappedMaster>,
    current: String,
    keys: Vec<Sealed>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Sealed {
    id: String,
    made_ms: u64,
    /// The key's bytes, under the master key.
    key: String,
}

/// What every format has.
#[derive(Deserialize)]
struct Version {
    format: u32,
}

/// A data key.
#[derive(Clone)]
pub(crate) struct OpenKey {
    pub(crate) id: KeyId,
    pub(crate) made_ms: u64,
    pub(crate) bytes: [u8; 32],
}

impl Drop for OpenKey {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}

impl OpenKey {
    pub(crate) fn random(made_ms: u64) -> Self {
        Self { id: KeyId::random(), made_ms, bytes: random() }
    }

    /// A header and a cipher for something new under this key.
    pub(crate) fn begin(&self) -> (Header, FileCipher) {
        let header = Header::random(self.id);
        (header, header.cipher(&self.bytes))
    }
}

/// The cipher of what begins with a header, by the key that it names.
pub(crate) fn resume(keys: &[OpenKey], header: &[u8]) -> Result<FileCipher, HeaderFault> {
    let header = Header::decode(header)?;
    let key = keys.iter().find(|key| key.id == header.key);
    key.map(|key| header.cipher(&key.bytes)).ok_or(HeaderFault::UnknownKey(header.key))
}

/// The keys of a folder, opened. The newest one is for new files.
#[derive(Clone)]
pub(crate) struct OpenKeys {
    pub(crate) folder: [u8; 16],
    pub(crate) current: KeyId,
    pub(crate) keys: Vec<OpenKey>,
}

impl OpenKeys {
    /// One key, for a folder that has none.
    pub(crate) fn random(now_ms: u64) -> Self {
        let first = OpenKey::random(now_ms);
        Self { folder: random(), current: first.id, keys: vec![first] }
    }
}

/// The file of keys, read but not opened.
#[derive(Clone, Debug)]
pub struct KeyFile {
    file: PathBuf,
    text: Text,
}

impl KeyFile {
    /// Reads the file of a folder; `None` if there is none.
    pub fn read(folder: &Path) -> Result<Option<Self>, KeyFault> {
        let file = folder.join(KEYS);
        let bytes = match fs::read(&file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(KeyFault::Io { file, error }),
        };
        Self::parse(&file, &bytes).map(Some)
    }

    /// The file of these bytes. Its name is for messages.
    pub fn parse(file: &Path, bytes: &[u8]) -> Result<Self, KeyFault> {
        let malformed = |error: serde_json::Error| KeyFault::damaged(file, error.to_string());
        let version: Version = serde_json::from_slice(bytes).map_err(malformed)?;
        if version.format != FORMAT {
            return Err(KeyFault::Newer { file: file.to_owned(), format: version.format });
        }
        let text = serde_json::from_slice(bytes).map_err(malformed)?;
        Ok(Self { file: file.to_owned(), text })
    }

    /// Its name.
    pub fn name(&self) -> &Path {
        &self.file
    }

    /// What a key service needs to give the master key back, if one keeps it.
    pub fn wrapped(&self) -> Option<&WrappedMaster> {
        self.text.wrapped.as_ref()
    }

    /// The data keys without their bytes, oldest first, as the file names them.
    pub fn keys(&self) -> Vec<DataKey> {
        let of = |key: &Sealed| {
            let id = KeyId::parse(&key.id)?;
            Some(DataKey { id, made_ms: key.made_ms, is_current: key.id == self.text.current })
        };
        self.text.keys.iter().filter_map(of).collect()
    }

    /// The data keys.
    pub(crate) fn open(&self, master: &MasterKey) -> Result<OpenKeys, KeyFault> {
        let damaged = |detail: &str| KeyFault::damaged(&self.file, detail);
        let folder: [u8; 16] =
            of_hex(&self.text.folder).ok_or_else(|| damaged("it does not name its folder"))?;
        let seal = Sealer::new(master, SEALING);
        let check = STANDARD.decode(&self.text.check).map_err(|_| damaged("its check is not base64"))?;
        if seal.open(&place(&folder, CHECK), &check).is_none() {
            let opens = |key: &Sealed| {
                let sealed = STANDARD.decode(&key.key).ok()?;
                let mut opened = seal.open(&place(&folder, KeyId::parse(&key.id)?.bytes()), &sealed)?;
                opened.zeroize();
                Some(())
            };
            let is_right = self.text.keys.iter().any(|key| opens(key).is_some());
            return Err(if is_right {
                damaged("its check was changed")
            } else {
                KeyFault::WrongMaster { file: self.file.clone() }
            });
        }
        let keys = self.text.keys.iter().map(|key| {
            let id = KeyId::parse(&key.id).ok_or_else(|| damaged("the id of a key is malformed"))?;
            let sealed = STANDARD.decode(&key.key).ok();
            let mut opened = sealed.and_then(|sealed| seal.open(&place(&folder, id.bytes()), &sealed));
            let bytes = opened.as_deref().and_then(|bytes| bytes.try_into().ok());
            opened.zeroize();
            let bytes = bytes.ok_or_else(|| damaged(&format!("the data key {id} was changed")))?;
            Ok(OpenKey { id, made_ms: key.made_ms, bytes })
        });
        let keys: Vec<OpenKey> = keys.collect::<Result<_, KeyFault>>()?;
        let current = KeyId::parse(&self.text.current).filter(|id| keys.iter().any(|key| key.id == *id));
        let current = current.ok_or_else(|| damaged("the key for new files is not in it"))?;
        Ok(OpenKeys { folder, current, keys })
    }
}

/// What a sealed value is bound to: its folder and its own name.
fn place(folder: &[u8; 16], name: &[u8]) -> Vec<u8> {
    [folder.as_slice(), name].concat()
}

/// Writes the keys of a folder, durably and as a whole.
pub(crate) fn write(
    folder: &Path,
    keys: &OpenKeys,
    under: (&MasterKey, Option<WrappedMaster>),
) -> Result<(), KeyFault> {
    replace(folder, &text_of(keys, under))
}

/// The file of keys, sealed under a master key.
pub(crate) fn text_of(keys: &OpenKeys, (master, wrapped): (&MasterKey, Option<WrappedMaster>)) -> Vec<u8> {
    assert!(keys.keys.iter().any(|key| key.id == keys.current), "the key for new files is kept");
    let seal = Sealer::new(master, SEALING);
    let sealed = |name: &[u8], value: &[u8]| STANDARD.encode(seal.seal(&place(&keys.folder, name), value));
    let text = Text {
        format: FORMAT,
        folder: hex(&keys.folder),
        check: sealed(CHECK, &[]),
        wrapped,
        current: keys.current.to_string(),
        keys: keys
            .keys
            .iter()
            .map(|key| Sealed {
                id: key.id.to_string(),
                made_ms: key.made_ms,
                key: sealed(key.id.bytes(), &key.bytes),
            })
            .collect(),
    };
    let mut text = serde_json::to_vec_pretty(&text).expect("texts and numbers are JSON");
    text.push(b'\n');
    text
}

fn replace(folder: &Path, text: &[u8]) -> Result<(), KeyFault> {
    let new = folder.join(NEW);
    let mut file =
        private().write(true).create(true).truncate(true).open(&new).map_err(KeyFault::io(&new))?;
    file.write_all(text).and_then(|()| file.sync_all()).map_err(KeyFault::io(&new))?;
    fs::rename(&new, folder.join(KEYS)).map_err(KeyFault::io(&new))?;
    if cfg!(windows) {
        return Ok(());
    }
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(KeyFault::io(folder))
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Keeps others from changing the file until the lock is dropped.
pub(crate) fn lock(folder: &Path) -> Result<File, KeyFault> {
    let path = folder.join(LOCK);
    let lock = private().write(true).create(true).truncate(false).open(&path).map_err(KeyFault::io(&path))?;
    lock.lock().map_err(KeyFault::io(&path))?;
    Ok(lock)
}
