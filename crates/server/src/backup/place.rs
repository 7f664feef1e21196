//! The place of backups that a command names, and what is wrong with it in words.

use clap::Args;
use keywright_archive::{Access, Address, Fault, Listing, Place};
use keywright_objects::S3Settings;

use crate::process::failure::Failure;
use crate::process::runtime::block_on;
use crate::settings::encryption::FolderKeyArguments;
use crate::settings::s3::S3Arguments;
pub(super) use crate::storage::copies::sentence;
use crate::storage::encryption::backup_keys::{BackupKey, PlaceFault, unlock};

/// The exit status if a place could not be read.
pub(super) const UNREAD: u8 = 2;

/// Where the backups are.
#[derive(Debug, Args)]
pub(super) struct PlaceArguments {
    /// The place of the backups: a folder, or `s3://BUCKET/PREFIX`
    #[arg(value_name = "FROM")]
    pub(super) from: String,
    #[command(flatten)]
    s3: S3Arguments,
    #[command(flatten)]
    pub(super) key: FolderKeyArguments,
}

impl PlaceArguments {
    /// Opens the place, which must be there, with its key if it is encrypted.
    pub(super) fn open(&self) -> Result<Place, Failure> {
        let place = open(&self.from, &self.s3, Access::Read).map_err(|fault| fault.with_status(UNREAD))?;
        let files = block_on(async { place.key_files().await.map_err(|fault| failure(&fault)) })?;
        if files.is_empty() {
            return Ok(place);
        }
        let key = self.key.source()?.map(|source| BackupKey::new(source, None));
        let keys = unlock(&place, &files, key.as_ref()).map_err(|fault| fault.with_status(UNREAD))?;
        Ok(place.encrypted(keys))
    }
}

/// Opens a place without its keys.
pub(crate) fn open(place: &str, s3: &S3Arguments, access: Access) -> Result<Place, Failure> {
    let address = Address::parse(place).map_err(|fault| Failure::new(fault.to_string()))?;
    let s3 = match address {
        Address::Folder(_) => S3Settings::default(),
        Address::S3 { .. } => s3.settings()?,
    };
    Place::open(&address, &s3, access).map_err(|fault| Failure::new(sentence(&fault)))
}

/// All backups of a place.
pub(super) async fn list(place: &Place) -> Result<Listing, Failure> {
    keywright_archive::list(place).await.map_err(|fault| failure(&fault))
}

/// The place has no backup with this id.
pub(super) fn unknown(id: &str, from: &str) -> Failure {
    Failure::new(format!("there is no backup {id} in {from}"))
        .advising(format!("keywright backup list {from} shows those that are there"))
        .with_status(UNREAD)
}

/// A fault of the place itself.
pub(super) fn failure(fault: &Fault) -> Failure {
    Failure::new(sentence(fault)).with_status(UNREAD)
}

/// A place that is not opened.
pub(crate) fn unopened(fault: PlaceFault) -> Failure {
    match fault {
        PlaceFault::Archive(fault) => Failure::new(sentence(&fault)),
        PlaceFault::Refused(failure) => failure,
    }
}
