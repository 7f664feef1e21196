//! `keywright backup list`: the backups of a place, with their chain and state.

use clap::Args;
use keywright_archive::{Listed, ListedSet, Listing, SetState, State, Summary};
use serde_json::{Value, json};

use super::place::{self, PlaceArguments, sentence};
use crate::process::failure::Failure;
use crate::process::runtime::block_on;
use crate::process::{output, timestamp};

/// List the backups of a folder or bucket
///
/// It reads manifests and the lengths of chunks, also of what increments build on, and no content:
/// `keywright backup verify` does.
#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    #[command(flatten)]
    place: PlaceArguments,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &ListArguments) -> Result<(), Failure> {
    let place = arguments.place.open()?;
    let listing = block_on(place::list(&place))?;
    if arguments.json {
        output::say(&as_json(&listing).to_string());
        return Ok(());
    }
    if listing.backups.is_empty() && listing.sets.is_empty() {
        output::say(&format!("there are no backups in {place}"));
    }
    for line in columns(&listing.backups.iter().map(cells).collect::<Vec<_>>()) {
        output::say(&line);
    }
    for set in &listing.sets {
        output::say(&set_line(set));
    }
    Ok(())
}

const COLUMNS: usize = 7;

/// Account and region, table, id, time, what it builds on, size, state.
fn cells(listed: &Listed) -> [String; COLUMNS] {
    let path = &listed.path;
    let [created, kind, size] = match listed.state.summary() {
        None => ["-", "-", "-"].map(str::to_owned),
        Some(summary) => [
            timestamp::of(summary.parts.created_ms),
            summary.parent().map_or_else(|| "full".to_owned(), |parent| format!("on {}", parent.id)),
            format!("{} rows, {} bytes", summary.rows, summary.bytes),
        ],
    };
    let state = match &listed.state {
        State::Complete(_) => "complete".to_owned(),
        State::Incomplete { objects, bytes } => {
            format!("incomplete: {objects} objects with {bytes} bytes, and no manifest")
        }
        State::Unreadable(fault) | State::Damaged(_, fault) => format!("damaged: {}", sentence(fault)),
    };
    [path.scope().to_string(), path.table().to_owned(), path.id().to_owned(), created, kind, size, state]
}

/// Rows with their cells below each other; the last cell may have any length.
fn columns(rows: &[[String; COLUMNS]]) -> Vec<String> {
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..COLUMNS - 1).map(width).chain([0]).collect();
    let line = |row: &[String; COLUMNS]| {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}", width = *width)).collect();
        cells.join("  ")
    };
    rows.iter().map(line).collect()
}

fn set_line(set: &ListedSet) -> String {
    let state = match &set.state {
        SetState::Complete(manifest) => match manifest.tables.len() {
            1 => "complete: one table".to_owned(),
            tables => format!("complete: {tables} tables as of one moment"),
        },
        SetState::Incomplete => "incomplete: other tables may be missing".to_owned(),
        SetState::Damaged(fault) => format!("damaged: {}", sentence(fault)),
    };
    format!("set {}/{}  {state}", set.scope, set.id)
}

fn as_json(listing: &Listing) -> Value {
    json!({
        "backups": listing.backups.iter().map(backup_json).collect::<Vec<_>>(),
        "sets": listing.sets.iter().map(set_json).collect::<Vec<_>>(),
    })
}

fn backup_json(listed: &Listed) -> Value {
    let path = &listed.path;
    let (state, error) = match &listed.state {
        State::Complete(_) => ("complete", None),
        State::Incomplete { .. } => ("incomplete", None),
        State::Unreadable(fault) | State::Damaged(_, fault) => ("damaged", Some(sentence(fault))),
    };
    let mut shown = json!({
        "account": path.scope().account(),
        "region": path.scope().region(),
        "table": path.table(),
        "id": path.id(),
        "state": state,
        "error": error,
    });
    if let (Some(summary), Some(members)) = (listed.state.summary(), shown.as_object_mut()) {
        members.extend(summary_json(summary).as_object().cloned().unwrap_or_default());
    }
    shown
}

fn summary_json(summary: &Summary) -> Value {
    json!({
        "created": timestamp::of(summary.parts.created_ms),
        // A text: the numbers of most readers of JSON are too small.
        "stamp": summary.parts.stamp.to_string(),
        "parent": summary.parent().map(|parent| parent.id.as_str()),
        "tableId": summary.parts.table_id,
        "settings": summary.parts.described,
        "rows": summary.rows,
        "bytes": summary.bytes,
        "chunks": summary.chunks,
    })
}

fn set_json(set: &ListedSet) -> Value {
    let (state, tables, error) = match &set.state {
        SetState::Complete(manifest) => {
            let tables: Vec<&str> = manifest.tables.iter().map(|member| member.table.as_str()).collect();
            ("complete", Some(tables), None)
        }
        SetState::Incomplete => ("incomplete", None, None),
        SetState::Damaged(fault) => ("damaged", None, Some(sentence(fault))),
    };
    json!({
        "account": set.scope.account(),
        "region": set.scope.region(),
        "id": set.id,
        "state": state,
        "tables": tables,
        "error": error,
    })
}
