//! `keywright encryption status`, `rotate-data` and `rewrite`: of a folder, or of a running server.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use keywright_model::json::Json;
use keywright_store_local::LocalOptions;

use super::show;
use crate::client::endpoint::{Client, OwnCall, block_on};
use crate::client::endpoint_arguments::EndpointArguments;
use crate::http::encryption::{Answered, PATH, Wish, request};
use crate::process::failure::Failure;
use crate::process::output;
use crate::settings::encryption::FolderKeyArguments;
use crate::storage::backend::{Backend, Folder};
use crate::storage::encryption::census::Census;
use crate::storage::encryption::folder;
use crate::storage::encryption::rotation::{Progress, Rotation};
use crate::storage::encryption::source::KeySource;

const CALL: OwnCall = OwnCall { name: "Encryption", path: PATH };
/// The pause between two steps of writing files anew, which merges do meanwhile.
const STEP_EVERY: Duration = Duration::from_millis(250);
/// Steps between two lines of progress.
const REPORT_EVERY: u32 = 8;

/// Show the data keys, what is under each, and what is not encrypted
///
/// With --data it reads a folder and needs no key; a server may use the folder meanwhile. If a key is given,
/// it is checked. With --endpoint it asks a running server.
#[derive(Debug, Args)]
pub(super) struct StatusArguments {
    /// The data folder
    #[arg(long, value_name = "DIR", conflicts_with = "endpoint")]
    data: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    endpoint: EndpointArguments,
    #[command(flatten)]
    key: FolderKeyArguments,
}

/// Give files new data keys: `rotate-data` makes one, which new files take; `rewrite` writes all files anew
/// that have another one, and removes the others
///
/// With --data, of a stopped server's folder; with --endpoint, of a running server, which asks its source of
/// keys again. A command that was interrupted goes on when it is run again.
#[derive(Debug, Args)]
pub(super) struct ChangeArguments {
    /// The data folder of a server that is stopped
    #[arg(long, value_name = "DIR", conflicts_with = "endpoint")]
    data: Option<PathBuf>,
    #[command(flatten)]
    endpoint: EndpointArguments,
    #[command(flatten)]
    key: FolderKeyArguments,
}

pub(super) fn status(arguments: &StatusArguments) -> Result<(), Failure> {
    let census = if let Some(data) = &arguments.data {
        of_folder(data, arguments.key.source()?.as_ref())?
    } else {
        at_endpoint(&arguments.endpoint, Wish::Status)?.census
    };
    if arguments.json {
        output::say(&show::json(&census)?);
        return Ok(());
    }
    for line in show::lines(&census) {
        output::say(&line);
    }
    Ok(())
}

fn of_folder(data: &Path, source: Option<&KeySource>) -> Result<Census, Failure> {
    if !matches!(folder::Form::of(data)?, folder::Form::Plain | folder::Form::Encrypted) {
        return Err(Failure::new(format!("{} holds no database", data.display()))
            .advising("write --data FOLDER, or --endpoint URL of a running server"));
    }
    let census = Census::take(data)?;
    if let Some(source) = source
        && census.encrypted
    {
        folder::open(data, source)?;
    }
    Ok(census)
}

pub(super) fn rotate(arguments: &ChangeArguments) -> Result<(), Failure> {
    if let Some(data) = &arguments.data {
        with_folder(data, arguments, Rotation::add_key)?;
    } else {
        at_endpoint(&arguments.endpoint, Wish::RotateData)?;
    }
    output::say(
        "a new data key is made, and files that are written from now on are under it; older files keep theirs until \
         they are merged, or until `keywright encryption rewrite` writes them anew",
    );
    Ok(())
}

pub(super) fn rewrite(arguments: &ChangeArguments) -> Result<(), Failure> {
    if let Some(data) = &arguments.data {
        with_folder(data, arguments, rewrite_folder)?;
    } else {
        let target = arguments.endpoint.target()?;
        block_on(async { rewrite_at(&mut arguments.endpoint.connect(&target).await?).await })?;
    }
    output::say("everything is under the newest data key, and there is no other one");
    Ok(())
}

fn rewrite_folder(rotation: &Rotation) -> Result<(), Failure> {
    let mut steps = 0;
    loop {
        let Progress { is_done, census } = rotation.rewrite()?;
        if is_done {
            return Ok(());
        }
        report(&mut steps, &census);
        std::thread::sleep(STEP_EVERY);
    }
}

async fn rewrite_at(client: &mut Client) -> Result<(), Failure> {
    let mut steps = 0;
    loop {
        let Answered { is_done, census } = ask(client, Wish::Rewrite).await?;
        if is_done {
            return Ok(());
        }
        report(&mut steps, &census);
        tokio::time::sleep(STEP_EVERY).await;
    }
}

fn report(steps: &mut u32, census: &Census) {
    *steps += 1;
    if steps.is_multiple_of(REPORT_EVERY) {
        output::note(&format!("{} bytes are left", census.outdated_bytes()));
    }
}

fn at_endpoint(endpoint: &EndpointArguments, wish: Wish) -> Result<Answered, Failure> {
    let target = endpoint.target()?;
    block_on(async {
        let mut client = endpoint.connect(&target).await?;
        ask(&mut client, wish).await
    })
}

async fn ask(client: &mut Client, wish: Wish) -> Result<Answered, Failure> {
    let unreadable =
        |_| Failure::new("Encryption: the answer cannot be read").advising("use the same release");
    let body = String::from_utf8(request(wish)).unwrap_or_default();
    let body = Json::parse(&body).unwrap_or(Json::Null);
    let answer = client.call(CALL, &body).await?;
    serde_json::from_str(&answer.compact()).map_err(unreadable)
}

/// Opens the store of an encrypted folder that nobody uses, and closes it again.
fn with_folder(
    data: &Path,
    arguments: &ChangeArguments,
    work: impl FnOnce(&Rotation) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if folder::Form::of(data)? != folder::Form::Encrypted {
        return Err(Failure::new(format!("{} is not encrypted", data.display()))
            .advising("run `keywright encryption enable --data DIR` first"));
    }
    let source = arguments.key.required()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start the runtime: {error}")))?;
    let _within = runtime.enter();
    let path = data.canonicalize().unwrap_or_else(|_| data.to_owned());
    let opened = Backend::Folder(Box::new(Folder::new(path, LocalOptions::default(), Some(source))));
    opened.folder().map_or(Ok(()), Folder::unlock)?;
    let store = opened.open().map_err(|fault| {
        fault.advising("with a server that runs over it, pass --endpoint URL instead of --data")
    })?;
    let folder = opened.folder().and_then(Folder::encrypted);
    let (Some(folder), Some(local)) = (folder, store.local().cloned()) else {
        return Err(Failure::new(format!("{} is not encrypted", data.display())));
    };
    let done = work(&Rotation { folder, store: local, is_remote: false });
    store.close();
    done
}
