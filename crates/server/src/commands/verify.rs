//! `keywright verify`: reads the data folder of a stopped server whole, and names what is damaged.
//!
//! What is read and how damage is found is the store's; which tables the keys belong to is the engine's.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use keywright_engine::KeyMap;
use keywright_store_local::{Files, OpenFault, Verified, verify};
use serde_json::json;

use crate::audit::{self, Checked, Form};
use crate::model::format::{Format, one_of};
use crate::process::failure::Failure;
use crate::process::io_fault::cannot;
use crate::process::{environment, output};
use crate::settings::encryption::FolderKeyArguments;
use crate::storage::damage_report;
use crate::storage::encryption::{census, folder};

/// The exit status if something is damaged.
const DAMAGED: u8 = 1;
/// The exit status if the folder could not be verified.
const UNREAD: u8 = 2;
/// The time between two lines of progress.
const REPORT: Duration = Duration::from_secs(2);
const MIB: u64 = 1024 * 1024;
/// What a damaged file is that is not the store's.
const OTHER: &str = "file next to the database";
const LOST: &str = "no row of a table is in it; what it holds may be lost";

/// Read the data folder of a stopped server whole, and name what is damaged.
///
/// It reads tables, their list, the journal and the small files next to them, compares everything with its
/// checksums, and changes nothing. Exit status: 0 if everything is whole, 1 if something is damaged, 2 if the
/// folder could not be verified, for example because a server uses it. Files of an audit log in the folder
/// are read too. Model files and other files there have no checksums; of encrypted ones the headers are read.
#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// The data folder
    #[arg(long, value_name = "DIR", env = "KEYWRIGHT_DATA", default_value = "keywright-data")]
    data: PathBuf,
    /// Format of the report
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = one_of(&[Format::Text, Format::Json]))]
    format: Format,
    #[command(flatten)]
    key: FolderKeyArguments,
}

pub(crate) fn run(arguments: &VerifyArguments) -> Result<ExitCode, Failure> {
    if !arguments.data.is_dir() {
        let folder = arguments.data.display();
        return Err(Failure::new(format!("cannot verify {folder}: there is no such folder"))
            .advising("write --data FOLDER")
            .with_status(UNREAD));
    }
    let files = files(arguments).map_err(|fault| fault.with_status(UNREAD))?;
    let mut next = environment::instant() + REPORT;
    let mut progress = |bytes: u64| {
        let now = environment::instant();
        if now >= next {
            output::note(&format!("read {} MiB", bytes / MIB));
            next = now + REPORT;
        }
    };
    let verified = match verify(&arguments.data, &files, &KeyMap::wanted(), &mut progress) {
        Ok(verified) => verified,
        Err(fault) => {
            let reason = match fault {
                OpenFault::NotAStore { .. } => {
                    "it holds no database of Keywright: write --data FOLDER".to_owned()
                }
                fault => fault.to_string(),
            };
            let sentence = format!("cannot verify {}: {reason}", arguments.data.display());
            return Err(Failure::new(sentence).with_status(UNREAD));
        }
    };
    let map = KeyMap::of_rows(verified.rows.values());
    let (verified, others) =
        others(arguments, &files, verified).map_err(|fault| fault.with_status(UNREAD))?;
    match arguments.format {
        Format::Json => output::say(&json(&map, &verified, &others)),
        _ => text(arguments, &map, &verified, &others),
    }
    let is_whole = verified.damaged.is_empty() && others.is_empty();
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::from(DAMAGED) })
}

/// A damaged file that is not the store's.
struct DamagedOther {
    file: PathBuf,
    detail: String,
}

/// Reads the files besides the store: those of an audit log whole, of others that are encrypted the headers.
fn others(
    arguments: &VerifyArguments,
    files: &Files,
    mut verified: Verified,
) -> Result<(Verified, Vec<DamagedOther>), Failure> {
    let form = match files {
        Files::Plain => Form::Plain,
        Files::Encrypted(keyring) => Form::Encrypted(keyring.clone()),
    };
    let mut damaged = Vec::new();
    for census::Found { path, bytes } in census::others(&arguments.data) {
        match audit::check(&path, &form).map_err(|error| cannot("read", &path, &error))? {
            Checked::Other => continue,
            Checked::Whole => {}
            Checked::Torn => verified.notes.push(format!(
                "{}: its last line is torn, as after a crash; readers leave it out",
                path.display()
            )),
            Checked::Damaged(detail) => damaged.push(DamagedOther { file: path, detail }),
        }
        verified.files += 1;
        verified.bytes += bytes;
    }
    Ok((verified, damaged))
}

/// How the folder lies on disk. Nothing is made in it.
fn files(arguments: &VerifyArguments) -> Result<Files, Failure> {
    let source = arguments.key.source()?;
    match folder::Form::of(&arguments.data)? {
        folder::Form::New => Ok(Files::Plain),
        _ => folder::files(&arguments.data, source.as_ref()),
    }
}

fn text(arguments: &VerifyArguments, map: &KeyMap, verified: &Verified, others: &[DamagedOther]) {
    for damage in &verified.damaged {
        output::say(&damage_report::text(map, damage));
    }
    for DamagedOther { file, detail } in others {
        output::say(&format!("{}, {OTHER}: {detail}\n  {LOST}", file.display()));
    }
    for note in &verified.notes {
        output::say(&format!("note: {note}"));
    }
    let Verified { damaged, files, bytes, .. } = verified;
    let read = format!("{files} files with {bytes} bytes of {} were read", arguments.data.display());
    match damaged.len() + others.len() {
        0 => output::say(&format!("{read}: everything is whole")),
        count => output::say(&format!(
            "{read}: {count} damaged {}. Keep this folder as it is, and restore a copy: \
             docs/guide/operations.md, \"When files are damaged\"",
            if count == 1 { "place" } else { "places" }
        )),
    }
}

fn json(map: &KeyMap, verified: &Verified, others: &[DamagedOther]) -> String {
    let other = |DamagedOther { file, detail }: &DamagedOther| {
        json!({
            "file": file.display().to_string(),
            "part": OTHER,
            "offset": null,
            "bytes": null,
            "detail": detail,
            "consequence": LOST,
            "affected": [],
        })
    };
    let of_store = verified.damaged.iter().map(|damage| damage_report::json(map, damage));
    let damaged: Vec<_> = of_store.chain(others.iter().map(other)).collect();
    json!({
        "sound": damaged.is_empty(),
        "damaged": damaged,
        "notes": verified.notes,
        "files": verified.files,
        "bytes": verified.bytes,
    })
    .to_string()
}
