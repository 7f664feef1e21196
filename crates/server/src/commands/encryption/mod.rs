//! `keywright encryption`: makes keys, shows what is under which, changes them, and encrypts or decrypts a
//! data folder. What is done is `storage::encryption`'s.

mod convert;
mod data_keys;
mod show;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use keywright_archive::Access;
use keywright_encryption::{KeyFault, Keyring, MasterKey};

use crate::backup::place;
use crate::process::failure::Failure;
use crate::process::io_fault::cannot;
use crate::process::output;
use crate::settings::encryption::{FolderKeyArguments, NewKeyArguments};
use crate::settings::s3::S3Arguments;
use crate::storage::encryption::source::KeySource;
use crate::storage::encryption::{backup_keys, census, folder};
use crate::storage::private_file;

/// Encrypt a data folder, and change its keys.
///
/// The files of an encrypted folder are under data keys, which lie in its file KEYS, sealed under a master
/// key from outside. docs/guide/encryption.md shows all of it.
#[derive(Debug, Args)]
pub(crate) struct EncryptionArguments {
    #[command(subcommand)]
    command: Command,
}

/// The data folder if none is named.
const DEFAULT_DATA: &str = "keywright-data";

#[derive(Debug, Subcommand)]
enum Command {
    NewKey(NewKey),
    Status(Box<data_keys::StatusArguments>),
    RotateMaster(Box<RotateMaster>),
    RotateData(Box<data_keys::ChangeArguments>),
    Rewrite(Box<data_keys::ChangeArguments>),
    Enable(Box<convert::EnableArguments>),
    Disable(Box<convert::DisableArguments>),
}

/// Make a master key: 32 random bytes in base64
///
/// Without it nobody can read the data again, you neither: keep it where the data is not.
#[derive(Debug, Args)]
struct NewKey {
    /// Write the key into this file, which must not exist and gets mode 0600 [default: print it]
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Seal the keys of a folder, and of its backups, under another master key
///
/// It takes effect at once, and also next to a running server, which needs the new key at its next start.
/// The files stay as they are: with an old copy of KEYS and the old key they can still be read, until
/// `rotate-data` and `rewrite` give them other keys.
#[derive(Debug, Args)]
struct RotateMaster {
    /// The data folder [default: keywright-data; with --backups none, if keywright-data is not encrypted]
    #[arg(long, value_name = "DIR", env = "KEYWRIGHT_DATA")]
    data: Option<PathBuf>,
    /// Also seal the keys of the backups in this folder or `s3://BUCKET/PREFIX`. Can be repeated; those in the
    /// data folder always are. Where there is no data folder, the keys of these backups alone
    #[arg(long, value_name = "PLACE")]
    backups: Vec<String>,
    #[command(flatten)]
    s3: S3Arguments,
    #[command(flatten)]
    old: FolderKeyArguments,
    #[command(flatten)]
    new: NewKeyArguments,
}

/// Runs the command. An error is a message for the person at the terminal.
pub(crate) fn run(arguments: EncryptionArguments) -> Result<(), Failure> {
    private_file::restrict_umask();
    match arguments.command {
        Command::NewKey(arguments) => new_key(&arguments),
        Command::Status(arguments) => data_keys::status(&arguments),
        Command::RotateMaster(arguments) => rotate_master(&arguments),
        Command::RotateData(arguments) => data_keys::rotate(&arguments),
        Command::Rewrite(arguments) => data_keys::rewrite(&arguments),
        Command::Enable(arguments) => convert::enable(&arguments),
        Command::Disable(arguments) => convert::disable(&arguments),
    }
}

fn new_key(arguments: &NewKey) -> Result<(), Failure> {
    let text = MasterKey::random().text();
    let Some(file) = &arguments.file else {
        output::say(&text);
        return Ok(());
    };
    private_file::create(file, &format!("{text}\n"))
        .map_err(|error| cannot("write the key", file, &error))?;
    output::note(&format!("{} holds a new key: keep a copy of it where the data is not", file.display()));
    Ok(())
}

/// The data folder whose keys change; none if those of backups alone do.
fn folder_of(arguments: &RotateMaster) -> Result<Option<&Path>, Failure> {
    let default = Path::new(DEFAULT_DATA);
    let data = arguments.data.as_deref().unwrap_or(default);
    let shown = data.display();
    match folder::Form::of(data)? {
        folder::Form::Encrypted => Ok(Some(data)),
        _ if arguments.data.is_none() && !arguments.backups.is_empty() => Ok(None),
        folder::Form::New => Err(Failure::new(format!("there is no data folder {shown}"))
            .advising("pass --data DIR, or --backups PLACE for the keys of backups alone")),
        folder::Form::Plain => Err(Failure::new(format!("the data folder {shown} is not encrypted"))
            .advising("run `keywright encryption enable --data DIR` first, or name another folder")),
        folder::Form::Other => {
            Err(Failure::new(format!("{shown} holds no database")).advising("pass --data DIR"))
        }
    }
}

fn rotate_master(arguments: &RotateMaster) -> Result<(), Failure> {
    let source = arguments.old.required()?;
    let new_source = arguments.old.new_source(&arguments.new)?;
    match folder_of(arguments)? {
        Some(data) => rotate_folder(arguments, data, (&source, &new_source)),
        None => rotate_backups(arguments, (&source, &new_source)),
    }
}

/// Changes the keys of backups alone.
fn rotate_backups(
    arguments: &RotateMaster,
    (source, new_source): (&KeySource, &KeySource),
) -> Result<(), Failure> {
    if reseal_backups(arguments, None, (source, new_source))? == 0 {
        return Err(Failure::new(format!(
            "nothing was changed: the backups in {} are not encrypted, or their keys are sealed under {} already",
            arguments.backups.join(" and "),
            new_source.shown()
        )));
    }
    output::note(
        "no data folder was changed: a server whose folder is under the old key makes no new backups there until its \
         folder is under the new one (--data DIR)",
    );
    Ok(())
}

/// The backups come first: until the folder is done, the command can be run again.
fn rotate_folder(
    arguments: &RotateMaster,
    data: &Path,
    (source, new_source): (&KeySource, &KeySource),
) -> Result<(), Failure> {
    let (keys, master) = folder::opened(data, source)?;
    // A wrong key is found before a service makes a new one.
    let opened = Keyring::open(data, &master);
    let is_done = matches!(opened, Err(KeyFault::WrongMaster { .. }))
        && new_source.master(&keys).is_ok_and(|master| Keyring::open(data, &master).is_ok());
    if !is_done {
        opened.map_err(|fault| folder::explained(data, source, &fault))?;
    }
    let (next, wrapped) = new_source.new_master()?;
    if wrapped.is_none() && next.text() == master.text() {
        return Err(backup_keys::same_key(new_source));
    }
    let places = reseal_backups(arguments, Some(data), (source, new_source))?;
    if is_done && places == 0 {
        return Err(Failure::new(format!(
            "the keys of {} are sealed under {} already: nothing was changed",
            data.display(),
            new_source.shown()
        )));
    }
    if !is_done {
        Keyring::reseal(data, &master, (&next, wrapped))
            .map_err(|fault| folder::explained(data, source, &fault))?;
    }
    output::say(&format!(
        "the keys of {} are sealed under {}: start servers with it from now on, and keep the old key only \
         for old copies of the folder, and for backups elsewhere",
        data.display(),
        new_source.shown()
    ));
    Ok(())
}

/// Seals the keys of the places that are named and of those in the folder. Returns of how many places.
fn reseal_backups(
    arguments: &RotateMaster,
    data: Option<&Path>,
    (old, new): (&KeySource, &KeySource),
) -> Result<usize, Failure> {
    let within = data.map(census::encrypted_places).unwrap_or_default().into_iter();
    let within = within.map(|place| place.to_string_lossy().into_owned());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start the runtime: {error}")))?;
    runtime.block_on(async {
        let mut places = 0;
        for named in arguments.backups.iter().cloned().chain(within) {
            let place = place::open(&named, &arguments.s3, Access::Read)?;
            if backup_keys::reseal(&place, old, new).await.map_err(place::unopened)? > 0 {
                output::say(&format!("the keys of the backups in {place} are sealed under {}", new.shown()));
                places += 1;
            }
        }
        Ok(places)
    })
}
