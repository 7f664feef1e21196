//! `keywright backup verify`: reads backups whole, and names what is damaged.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use keywright_archive::{
    BackupPath, Chain, Damage, Fault, Listing, Place, SetState, State, Verified, verify, verify_set,
};
use serde_json::{Value, json};

use super::place::{self, PlaceArguments, sentence, unknown};
use crate::process::failure::Failure;
use crate::process::runtime::block_on;
use crate::process::{environment, output};

/// The exit status if something is damaged.
const DAMAGED: u8 = 1;
/// The time between two lines of progress.
const REPORT: Duration = Duration::from_secs(2);
const MIB: u64 = 1024 * 1024;

/// Read backups whole, and name what is damaged
///
/// It reads every chunk, compares it with its checksums, counts its rows and looks at their order, and checks
/// that what increments build on is there. It changes nothing. Exit status: 0 if everything is whole, 1 if
/// something is damaged, 2 if a backup could not be read.
#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    #[command(flatten)]
    place: PlaceArguments,
    /// Verify this backup, of all its tables, and what it builds on [default: all]
    id: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What was verified.
#[derive(Default)]
struct Report {
    backups: usize,
    verified: Verified,
    /// Backups without a manifest.
    incomplete: Vec<BackupPath>,
}

pub(crate) fn run(arguments: &VerifyArguments) -> Result<ExitCode, Failure> {
    let place = arguments.place.open()?;
    let report = block_on(report(&place, arguments))?;
    if arguments.json {
        output::say(&as_json(&report).to_string());
    } else {
        text(&report, &place);
    }
    let faults = &report.verified.faults;
    if faults.iter().any(|fault| !is_of_content(fault)) {
        return Ok(ExitCode::from(place::UNREAD));
    }
    // A backup without its manifest is being written, or of no use: it matters if it was asked for.
    let is_lacking = arguments.id.is_some() && !report.incomplete.is_empty();
    Ok(if faults.is_empty() && !is_lacking { ExitCode::SUCCESS } else { ExitCode::from(DAMAGED) })
}

/// Whether a fault is one of what is stored, and not of reaching it.
fn is_of_content(fault: &Fault) -> bool {
    !matches!(fault, Fault::Store(_))
}

async fn report(place: &Place, arguments: &VerifyArguments) -> Result<Report, Failure> {
    let listing = place::list(place).await?;
    let id = arguments.id.as_deref();
    let mut report = Report::default();
    let wanted = wanted(place, &listing, id, &mut report).await;
    if let Some(id) = id
        && wanted.is_empty()
        && report.incomplete.is_empty()
    {
        return Err(unknown(id, &arguments.place.from));
    }
    if listing.backups.is_empty() && listing.sets.is_empty() {
        // Nothing was verified: the place may be the wrong one.
        return Err(Failure::new(format!("there are no backups in {place}")).with_status(place::UNREAD));
    }
    let mut read = 0;
    let mut next = environment::instant() + REPORT;
    let mut progress = |bytes: u64| {
        read += bytes;
        let now = environment::instant();
        if now >= next {
            output::note(&format!("read {} MiB", read / MIB));
            next = now + REPORT;
        }
    };
    for path in &wanted {
        report.verified.add(verify(place, path, &mut progress).await);
    }
    report.backups = wanted.len();
    let sets = listing.sets.iter().filter(|set| id.is_none_or(|id| set.id == id));
    for set in sets.filter(|set| !matches!(set.state, SetState::Incomplete)) {
        report.verified.faults.extend(verify_set(place, &set.scope, &set.id).await.err());
    }
    Ok(report)
}

/// The backups to read: all, or those of an id and what they build on, each once.
async fn wanted(place: &Place, listing: &Listing, id: Option<&str>, report: &mut Report) -> Vec<BackupPath> {
    let mut wanted = Vec::new();
    for listed in listing.backups.iter().filter(|listed| id.is_none_or(|id| listed.path.id() == id)) {
        if matches!(listed.state, State::Incomplete { .. }) {
            report.incomplete.push(listed.path.clone());
            continue;
        }
        wanted.push(listed.path.clone());
        // If the chain cannot be read, the verification of the backup itself says so.
        if id.is_some()
            && let Ok(chain) = Chain::read(place, &listed.path).await
        {
            wanted.extend(chain.manifests().iter().map(|manifest| manifest.summary.path.clone()));
        }
    }
    wanted.sort_unstable();
    wanted.dedup();
    wanted
}

fn text(report: &Report, place: &Place) {
    let Verified { objects, bytes, rows, faults } = &report.verified;
    for fault in faults {
        output::say(&sentence(fault));
    }
    for path in &report.incomplete {
        output::say(&format!(
            "note: backup {path} has no manifest: it is being written, or its writer has stopped"
        ));
    }
    let (backups, were) = if report.backups == 1 { ("backup", "was") } else { ("backups", "were") };
    let read = format!(
        "{} {backups} of {place} {were} read, {objects} objects with {rows} rows and {bytes} bytes",
        report.backups
    );
    match faults.len() {
        0 => output::say(&format!("{read}: everything is whole")),
        count => {
            output::say(&format!("{read}: {count} damaged {}", if count == 1 { "place" } else { "places" }));
        }
    }
}

fn as_json(report: &Report) -> Value {
    let Verified { objects, bytes, rows, faults } = &report.verified;
    json!({
        "sound": faults.is_empty(),
        "damaged": faults.iter().map(fault_json).collect::<Vec<_>>(),
        "incomplete": report.incomplete.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "backups": report.backups,
        "objects": objects,
        "rows": rows,
        "bytes": bytes,
    })
}

fn fault_json(fault: &Fault) -> Value {
    let (object, spot) = match fault {
        Fault::Damaged(Damage { object, spot, .. }) => (Some(object.as_str()), *spot),
        Fault::Store(fault) => (Some(fault.object()), None),
        _ => (None, None),
    };
    json!({
        "object": object,
        "offset": spot.map(|spot| spot.offset),
        "block": spot.and_then(|spot| spot.block),
        "error": sentence(fault),
    })
}
