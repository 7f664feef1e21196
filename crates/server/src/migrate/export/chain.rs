//! The exports of a migration: their manifests, checked by their sums, each beginning no later than the one
//! before it ends.

use keywright_wire::files::{
    Checksum, DataFile, DataFormat, ManifestFault, SUM_EXTENSIONS, Span, Summary, sum_key,
};

use super::place::Place;
use crate::process::failure::Failure;
use crate::process::timestamp;

/// One export.
pub(super) struct Export {
    pub(super) id: String,
    pub(super) summary: Summary,
    pub(super) files: Vec<DataFile>,
}

/// Reads the manifests of these exports, the full one first, and checks that they follow each other.
pub(super) async fn read(place: &Place, ids: &[String], table: &str) -> Result<Vec<Export>, Failure> {
    let mut exports: Vec<Export> = Vec::new();
    for id in ids {
        let export = export(place, id).await?;
        check(exports.last(), &export, table)?;
        exports.push(export);
    }
    Ok(exports)
}

async fn export(place: &Place, id: &str) -> Result<Export, Failure> {
    let summary_key = place.key(id, "manifest-summary.json");
    let bytes = manifest(place, &summary_key).await?;
    let fault = |key: &str, fault: ManifestFault| Failure::new(format!("{}: {fault}", place.shown(key)));
    let summary = Summary::read(&bytes).map_err(|own| fault(&summary_key, own))?;
    let files_key = place.key_named(&summary.files_key);
    let bytes = manifest(place, &files_key).await?;
    let files = DataFile::read_lines(&bytes).map_err(|own| fault(&files_key, own))?;
    let listed: u64 = files.iter().map(|file| file.item_count).sum();
    if listed != summary.item_count {
        return Err(Failure::new(format!(
            "the export {id} has {} items, and the files of its list have {listed}: it was changed after it was \
             made",
            summary.item_count
        )));
    }
    if summary.format == DataFormat::Ion && matches!(summary.span, Span::Incremental { .. }) {
        return Err(Failure::new(format!(
            "the export {id} has changes as Ion, which this command does not read"
        ))
        .advising("export them again with the format DYNAMODB_JSON"));
    }
    Ok(Export { id: id.to_owned(), summary, files })
}

/// A manifest, checked by its sum.
async fn manifest(place: &Place, key: &str) -> Result<Vec<u8>, Failure> {
    let shown = place.shown(key);
    let bytes = place.read(key).await?;
    let bytes = bytes.ok_or_else(|| {
        Failure::new(format!("there is no {shown}")).advising(
            "an export is complete once it has its manifests: correct the place, or wait until it is COMPLETED",
        )
    })?;
    for extension in SUM_EXTENSIONS {
        let sum_key = sum_key(key, extension);
        let Some(sum) = place.read(&sum_key).await? else { continue };
        if Checksum::read(&sum) == Some(Checksum::of(&bytes)) {
            return Ok(bytes);
        }
        return Err(Failure::new(format!(
            "{shown} does not have the sum that {} says: it was changed after it was written",
            place.shown(&sum_key)
        )));
    }
    Err(Failure::new(format!("{shown} has no sum next to it, in a file that ends with .md5"))
        .advising("copy the whole folder of the export"))
}

/// Checks an export against the one before it.
fn check(before: Option<&Export>, export: &Export, table: &str) -> Result<(), Failure> {
    let Export { id, summary, .. } = export;
    if summary.table_arn.rsplit('/').next() != Some(table) {
        return Err(Failure::new(format!("the export {id} is of {}, not of {table}", summary.table_arn)));
    }
    let Some(before) = before else {
        return match summary.span {
            Span::Full { .. } => Ok(()),
            Span::Incremental { .. } => Err(Failure::new(format!(
                "the export {id} is an increment: name the full export first, then its increments"
            ))),
        };
    };
    if before.summary.table_id != summary.table_id {
        return Err(Failure::new(format!(
            "the exports {} and {id} are of two tables of one name: it was deleted and created again",
            before.id
        )));
    }
    let reached_ms = end_ms(before.summary.span);
    match summary.span {
        Span::Full { .. } => {
            Err(Failure::new(format!("the export {id} is a full one: only the first of a migration is")))
        }
        Span::Incremental { from_ms, .. } if from_ms > reached_ms => Err(Failure::new(format!(
            "the exports {} and {id} leave a gap: the first ends at {}, the second begins at {}",
            before.id,
            timestamp::of(reached_ms),
            timestamp::of(from_ms)
        ))
        .advising("name the increment between them too, or export it")),
        Span::Incremental { to_ms, .. } if to_ms < reached_ms => Err(Failure::new(format!(
            "the export {id} ends at {}, before {} does at {}: name increments in the order of their time",
            timestamp::of(to_ms),
            before.id,
            timestamp::of(reached_ms)
        ))),
        Span::Incremental { .. } => Ok(()),
    }
}

/// The moment that a table has after an export.
pub(super) const fn end_ms(span: Span) -> u64 {
    match span {
        Span::Full { at_ms } => at_ms,
        Span::Incremental { to_ms, .. } => to_ms,
    }
}
