//! `keywright copy`: a whole installation from one store into another.
//!
//! It opens both stores and reports; what is copied and how it is verified is the engine's (`Copy`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use keywright_engine::{Copied, Copy};
use keywright_store_local::LocalOptions;

use crate::client::confirm;
use crate::process::failure::Failure;
use crate::process::{environment, output};
use crate::settings::encryption::{FolderKeyArguments, to_key_file};
use crate::storage::any_store::AnyStore;
#[cfg(feature = "postgres")]
use crate::storage::backend::Postgres;
#[cfg(feature = "tikv")]
use crate::storage::backend::Tikv;
use crate::storage::backend::{Backend, Folder};
use crate::storage::encryption::folder::{Form, encrypted as encrypted_folder};
use crate::storage::encryption::source::KeySource;
use crate::storage::private_file;
use crate::storage::store_url::{Password, StoreOption, StoreUrl};

/// Longer than the time between two signs of life of a server.
const SIGN_OF_LIFE: Duration = Duration::from_secs(2);
/// The time between two lines of progress.
const REPORT: Duration = Duration::from_secs(2);

const FROM: StoreOption = StoreOption { flag: "--from", password_variable: "KEYWRIGHT_FROM_PASSWORD" };
const TO: StoreOption = StoreOption { flag: "--to", password_variable: "KEYWRIGHT_TO_PASSWORD" };

/// Copy all data into another store, and verify the copy.
///
/// Stop all servers of the source first. The target must be empty. A copy that was interrupted goes on with
/// the same command, and no server opens it before it is verified.
#[derive(Debug, Args)]
#[expect(clippy::doc_markdown, reason = "these are texts for a terminal")]
pub(crate) struct CopyArguments {
    /// Copy this store: embedded:DIR, postgres://USER@HOST:PORT/DATABASE?schema=NAME or tikv://PD:PORT/PREFIX
    #[arg(long, value_name = "STORE")]
    from: String,
    /// Into this one, which must be empty or an unfinished copy of --from
    #[arg(long, value_name = "STORE")]
    to: String,
    /// Read the password of --from from the first line of this file; KEYWRIGHT_FROM_PASSWORD can hold it too
    #[arg(long, value_name = "FILE")]
    from_password_file: Option<PathBuf>,
    /// Read the password of --to from the first line of this file; KEYWRIGHT_TO_PASSWORD can hold it too
    #[arg(long, value_name = "FILE")]
    to_password_file: Option<PathBuf>,
    /// The key of --to is in this file [default: the same key as that of --from]
    #[arg(long, value_name = "FILE")]
    to_key_file: Option<PathBuf>,
    /// Do not encrypt the copy of an encrypted folder
    #[arg(long, conflicts_with = "to_key_file")]
    plain: bool,
    #[command(flatten)]
    key: FolderKeyArguments,
}

/// One of the stores, as the command line names it.
struct Side {
    option: StoreOption,
    url: StoreUrl,
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "only PostgreSQL has one"))]
    password: Option<Password>,
}

impl Side {
    fn read(option: StoreOption, text: &str, password_file: Option<&Path>) -> Result<Self, Failure> {
        let url = StoreUrl::parse(option, text)?;
        let password = Password::find(option, password_file)?;
        Ok(Self { option, url, password })
    }

    fn backend(self, key: Option<KeySource>) -> Result<Backend, Failure> {
        match self.url {
            StoreUrl::Folder(path) => {
                let path = path.canonicalize().unwrap_or(path);
                Ok(Backend::Folder(Box::new(Folder::new(path, LocalOptions::default(), key))))
            }
            #[cfg(feature = "postgres")]
            StoreUrl::Postgres(url) => {
                Ok(Backend::Postgres(Box::new(Postgres::new(self.option, &url, self.password.as_ref())?)))
            }
            #[cfg(feature = "tikv")]
            StoreUrl::Tikv(url) => Ok(Backend::Tikv(Tikv::new(&url)?)),
            other => Err(cannot(self.option, &other).into()),
        }
    }
}

pub(crate) fn run(arguments: &CopyArguments) -> Result<(), Failure> {
    private_file::restrict_umask();
    let from = Side::read(FROM, &arguments.from, arguments.from_password_file.as_deref())?;
    let to = Side::read(TO, &arguments.to, arguments.to_password_file.as_deref())?;
    if let (StoreUrl::Folder(one), StoreUrl::Folder(other)) = (&from.url, &to.url)
        && is_same_folder(one, other)
    {
        return Err(Failure::new("--from and --to are the same folder: name another one for the copy"));
    }
    if from.url == to.url {
        return Err(Failure::new("--from and --to are the same store: name another one for the copy"));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start the runtime: {error}")))?;
    if let StoreUrl::Folder(path) = &from.url
        && !path.join("FORMAT").is_file()
    {
        return Err(Failure::new(format!("--from embedded:{} holds no database", path.display())));
    }
    let (from_key, to_key) = keys(arguments, &from.url, &to.url)?;
    let (from, to) = (from.backend(from_key)?, to.backend(to_key)?);
    runtime.block_on(copy(&from, &to))
}

/// The keys of both stores. An encrypted folder becomes one that is not encrypted only if that is wanted.
fn keys(
    arguments: &CopyArguments,
    from: &StoreUrl,
    to: &StoreUrl,
) -> Result<(Option<KeySource>, Option<KeySource>), Failure> {
    let key = arguments.key.source()?;
    let encrypted = match from {
        StoreUrl::Folder(folder) if Form::of(folder)? == Form::Encrypted => Some(folder),
        _ => None,
    };
    if let (Some(folder), None) = (encrypted, &key) {
        return Err(encrypted_folder(folder));
    }
    let own = arguments.to_key_file.clone().map(to_key_file);
    let of_to = match to {
        StoreUrl::Folder(_) if arguments.plain => None,
        StoreUrl::Folder(_) => own.or_else(|| key.clone()),
        _ => None,
    };
    if encrypted.is_some() && of_to.is_none() && !arguments.plain {
        confirm::confirm_plain("the copy")?;
    }
    Ok((key.filter(|_| encrypted.is_some()), of_to))
}

/// Why a store of this kind cannot be copied.
fn cannot(option: StoreOption, url: &StoreUrl) -> String {
    let option = option.flag;
    match url {
        StoreUrl::Memory => format!("{option} memory: holds nothing that can be copied: name another store"),
        StoreUrl::Folder(path) => format!("{option} embedded:{} cannot be copied", path.display()),
        StoreUrl::Postgres(_) => format!("{option}: this keywright was built without PostgreSQL"),
        StoreUrl::Tikv(_) => format!("{option}: this keywright was built without TiKV"),
    }
}

fn is_same_folder(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

async fn copy(from: &Backend, to: &Backend) -> Result<(), Failure> {
    let source = tokio::task::block_in_place(|| from.open())?;
    let target = tokio::task::block_in_place(|| to.open())?;
    let outcome = carry(source.clone(), target.clone(), &from.place()).await;
    tokio::task::block_in_place(|| {
        source.close();
        target.close();
    });
    let sums = outcome?;
    for (name, copied) in &sums {
        let checksum = u128::from_be_bytes(copied.checksum);
        output::say(&format!("{name:<16} {:>12}  {checksum:032x}", copied.count));
    }
    output::say(&format!("{} is a verified copy of {}", to.place(), from.place()));
    Ok(())
}

async fn carry(
    from: AnyStore,
    to: AnyStore,
    source: &str,
) -> Result<BTreeMap<&'static str, Copied>, Failure> {
    let said = |fault: keywright_engine::CopyFault| format!("copy: {fault}");
    let mut copy = Copy::begin(from, to, source).await.map_err(said)?;
    if copy.has_signs_of_servers() {
        tokio::time::sleep(SIGN_OF_LIFE).await;
        copy.check_source_unused().await.map_err(said)?;
    }
    if copy.is_resumed() {
        output::note("going on with an unfinished copy");
    }
    copy.run(&mut progress("copied")).await.map_err(said)?;
    let sums = copy.verify(&mut progress("verified")).await.map_err(said)?;
    copy.check_source_unused().await.map_err(said)?;
    let delivering = copy.tables_with_destinations().await.map_err(said)?;
    if delivering > 0 {
        output::note(&format!(
            "Kinesis destinations of {delivering} tables begin anew: servers on the target send again what the copied \
             logs still hold"
        ));
    }
    let triggers = copy.triggers().await.map_err(said)?;
    if triggers > 0 {
        output::note(&format!(
            "{triggers} triggers begin anew: servers on the target pass on again what the copied logs still hold, and \
             archives get it in objects of other names"
        ));
    }
    copy.finish().await.map_err(said)?;
    Ok(sums)
}

/// Writes how many rows are done to standard error, now and then.
fn progress(what: &'static str) -> impl FnMut(u64) + Send {
    let mut next = environment::instant() + REPORT;
    move |rows| {
        let now = environment::instant();
        if now >= next {
            output::note(&format!("{what} {rows} rows"));
            next = now + REPORT;
        }
    }
}
