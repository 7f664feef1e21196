//! `keywright verify`: reads the data folder of a stopped server whole, and names what is damaged.
//!
//! What is read and how damage is found is the store's; which tables the keys belong to is the engine's.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use keywright_engine::KeyMap;
use keywright_store_local::{OpenFault, Verified, verify};
use serde_json::json;

use crate::model::format::{Format, one_of};
use crate::process::failure::Failure;
use crate::process::{environment, output};
use crate::storage::damage_report;

/// The exit status if something is damaged.
const DAMAGED: u8 = 1;
/// The exit status if the folder could not be verified.
const UNREAD: u8 = 2;
/// The time between two lines of progress.
const REPORT: Duration = Duration::from_secs(2);
const MIB: u64 = 1024 * 1024;

/// Read the data folder of a stopped server whole, and name what is damaged.
///
/// It reads tables, their list, the journal and the small files next to them, compares everything with its
/// checksums, and changes nothing. Exit status: 0 if everything is whole, 1 if something is damaged, 2 if the
/// folder could not be verified, for example because a server uses it. Model files and other files in the
/// folder have no checksums and are not read.
#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// The data folder
    #[arg(long, value_name = "DIR", env = "KEYWRIGHT_DATA", default_value = "keywright-data")]
    data: PathBuf,
    /// Format of the report
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = one_of(&[Format::Text, Format::Json]))]
    format: Format,
}

pub(crate) fn run(arguments: &VerifyArguments) -> Result<ExitCode, Failure> {
    if !arguments.data.is_dir() {
        let folder = arguments.data.display();
        return Err(Failure::new(format!("cannot verify {folder}: there is no such folder"))
            .advising("write --data FOLDER")
            .with_status(UNREAD));
    }
    let mut next = environment::instant() + REPORT;
    let mut progress = |bytes: u64| {
        let now = environment::instant();
        if now >= next {
            output::note(&format!("read {} MiB", bytes / MIB));
            next = now + REPORT;
        }
    };
    let verified = match verify(&arguments.data, &KeyMap::wanted(), &mut progress) {
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
    match arguments.format {
        Format::Json => output::say(&json(&map, &verified)),
        _ => text(arguments, &map, &verified),
    }
    Ok(if verified.damaged.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(DAMAGED) })
}

fn text(arguments: &VerifyArguments, map: &KeyMap, verified: &Verified) {
    for damage in &verified.damaged {
        output::say(&damage_report::text(map, damage));
    }
    for note in &verified.notes {
        output::say(&format!("note: {note}"));
    }
    let Verified { damaged, files, bytes, .. } = verified;
    let read = format!("{files} files with {bytes} bytes of {} were read", arguments.data.display());
    match damaged.len() {
        0 => output::say(&format!("{read}: everything is whole")),
        count => output::say(&format!(
            "{read}: {count} damaged {}. Keep this folder as it is, and restore a copy: \
             docs/guide/operations.md, \"When files are damaged\"",
            if count == 1 { "place" } else { "places" }
        )),
    }
}

fn json(map: &KeyMap, verified: &Verified) -> String {
    let damaged: Vec<_> = verified.damaged.iter().map(|damage| damage_report::json(map, damage)).collect();
    json!({
        "sound": damaged.is_empty(),
        "damaged": damaged,
        "notes": verified.notes,
        "files": verified.files,
        "bytes": verified.bytes,
    })
    .to_string()
}
