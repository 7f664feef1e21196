//! What imports and bulk puts share: the objects that they read, how far they are read, and the errors in
//! them.
//!
//! The objects are listed once, into a row each. Their records come in the order of the objects, so a number
//! of an object and one of records say how far they are read.

use std::sync::Arc;

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_semantics::request::FileRecord;
use keywright_semantics::request::create_table::validate_definitions;
use keywright_semantics::request::parts::InputCompressionType;
use keywright_store::Store;
use serde::{Deserialize, Serialize};

use super::object_job::{ObjectJob, ObjectSource, ObjectWork};
use super::row::{self, BulkPut, Cursor, Import, Job, Reading, Work};
use super::transfer::name_of;
use crate::state::Engine;
use crate::support::fault;
use crate::transfers::row::{Asked, find};

/// Errors that are kept of one job.
pub(crate) const ERRORS_KEPT_MAX: u32 = 1_000;
/// Bytes of an error's text that are kept.
const ERROR_BYTES_MAX: usize = 1_024;

/// One piece of what is read from objects.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The number of the object in the list.
    pub object: u32,
    /// The object's key.
    pub key: Arc<str>,
    /// How many records of the object come before.
    pub record: u64,
    /// What was read.
    pub read: Read,
}

/// What was read.
#[derive(Clone, Debug)]
pub enum Read {
    /// An item, and the condition under which it is put. Its keys are not checked.
    Record(Box<FileRecord>),
    /// A record that is no valid item, for this reason.
    Invalid(String),
    /// The end of an object: nothing after it is read, and the next piece is of the next one.
    End {
        /// The size of the object.
        bytes: u64,
        /// Why its rest is not read.
        broken: Option<Broken>,
    },
}

/// Why the rest of an object is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The next record does not parse, for this reason.
    Record(String),
    /// The object itself cannot be read further, for this reason.
    Object(String),
}

/// An error of a job that reads objects. Its fields are stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceError {
    /// The object's key.
    pub key: String,
    /// How many records of the object come before; absent: it is about the object.
    pub record: Option<u64>,
    /// What is wrong.
    pub text: String,
}

/// What a piece did, once it is known whether its item fits the table.
#[derive(Clone, Debug, Default)]
pub(super) struct Effect {
    pub processed: u64,
    pub written: u64,
    pub bytes: u64,
    pub error: Option<SourceError>,
    /// Where the next piece stands.
    pub next: (u32, u64),
}

impl Piece {
    /// What the piece does; `refused` says why its item is not written.
    pub(super) fn effect(&self, refused: Option<String>) -> Effect {
        let error = |record: Option<u64>, text: &str| SourceError {
            key: self.key.to_string(),
            record,
            text: cut(text).to_owned(),
        };
        let after_record = (self.object, self.record + 1);
        match (&self.read, refused) {
            (Read::Record(_), None) => {
                Effect { processed: 1, written: 1, next: after_record, ..Effect::default() }
            }
            (Read::Record(_), Some(text)) => Effect {
                processed: 1,
                error: Some(error(Some(self.record), &text)),
                next: after_record,
                ..Effect::default()
            },
            (Read::Invalid(text), _) => Effect {
                processed: 1,
                error: Some(error(Some(self.record), text)),
                next: after_record,
                ..Effect::default()
            },
            (Read::End { bytes, broken }, _) => Effect {
                // A record that does not parse was read.
                processed: u64::from(matches!(broken, Some(Broken::Record(_)))),
                written: 0,
                bytes: *bytes,
                error: broken.as_ref().map(|broken| match broken {
                    Broken::Record(text) => error(Some(self.record), text),
                    Broken::Object(text) => error(None, text),
                }),
                next: (self.object + 1, 0),
            },
        }
    }
}

/// The start of a text, not longer than an error may be.
pub(super) fn cut(text: &str) -> &str {
    let end = text.floor_char_boundary(ERROR_BYTES_MAX);
    text.get(..end).unwrap_or(text)
}

/// How far a job's objects are read after some pieces, and the rows of their errors.
pub(super) fn advanced(id: &str, reading: Reading, effects: &[Effect]) -> (Reading, Vec<(Bytes, Bytes)>) {
    let mut after = reading;
    for effect in effects {
        after.counts.processed += effect.processed;
        after.counts.written += effect.written;
        after.counts.bytes += effect.bytes;
        after.counts.failed += u64::from(effect.error.is_some());
    }
    let room = usize::try_from(ERRORS_KEPT_MAX.saturating_sub(reading.errors_kept)).unwrap_or(0);
    let errors: Vec<&SourceError> =
        effects.iter().filter_map(|effect| effect.error.as_ref()).take(room).collect();
    if errors.is_empty() {
        return (after, Vec::new());
    }
    after.errors_kept += u32::try_from(errors.len()).unwrap_or(0);
    let row = postcard::to_allocvec(&errors).expect("errors of owned values encode into a vector");
    (after, vec![(row::error_key(id, reading.errors_kept), row.into())])
}

/// How far the objects of a job are read, if it reads any.
pub(crate) const fn reading(job: &Job) -> Option<Reading> {
    match &job.work {
        Work::Import(import) => Some(import.reading),
        Work::BulkPut(bulk_put) => Some(bulk_put.reading),
        Work::Restore(_)
        | Work::Seal(_)
        | Work::DeleteObjects(_)
        | Work::Rollback(_)
        | Work::Verify(_)
        | Work::Export(_) => None,
    }
}

/// The same job with this much read.
fn with_reading(job: Job, reading: Reading) -> Job {
    let work = match &job.work {
        Work::Import(_) => Work::Import(Import { reading }),
        Work::BulkPut(bulk_put) => Work::BulkPut(BulkPut { reading, ..*bulk_put }),
        _ => job.work.clone(),
    };
    Job { work, ..job }
}

/// The place of the next record.
pub(super) fn place(cursor: &Cursor) -> (u32, u64) {
    let object = cursor.place.first_chunk().map_or(0, |number| u32::from_be_bytes(*number));
    (object, cursor.taken)
}

/// The cursor at this place.
pub(super) fn cursor_at((object, records): (u32, u64)) -> Cursor {
    Cursor { place: object.to_be_bytes().to_vec(), taken: records, is_at_end: false }
}

/// What a job asks of its caller; `None` if what was asked for is gone.
pub(super) async fn work_of<S: Store>(engine: &Engine<S>, job: &Job) -> Result<Option<ObjectWork>, Error> {
    let Some((name, reading)) = name_of(job).zip(reading(job)) else { return Ok(None) };
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let transfer = find(&view, &job.namespace(), &name).await?;
    let Some(transfer) = transfer else { return Ok(None) };
    let objects = reading.is_listed.then_some(reading.objects);
    let from = place(&job.cursor);
    let Asked::Import(import) = &transfer.asked else { return Ok(None) };
    let Some(parts) = import.parts(&transfer.token) else { return Ok(None) };
    let csv = parts.input_format_options.and_then(|options| options.csv).unwrap_or_default();
    let source = Box::new(ObjectSource {
        bucket: parts.s3_bucket_source.s3_bucket,
        prefix: parts.s3_bucket_source.s3_key_prefix,
        format: parts.input_format,
        compression: parts.input_compression_type.unwrap_or(InputCompressionType::None),
        delimiter: csv.delimiter,
        header: csv.header_list,
        definitions: validate_definitions(&parts.table_creation_parameters.attribute_definitions),
    });
    Ok(Some(ObjectWork::Import { arn: name.arn(&job.namespace()), source, objects, from }))
}

impl<S: Store> Engine<S> {
    /// Notes objects that are to be read: what the caller remembers of each, with its size. The first ones
    /// come with `from` 0, which begins the list anew; with the last ones the list is complete.
    pub async fn note_listed(
        &self,
        job: &ObjectJob,
        (from, objects): (u32, &[(Bytes, u64)]),
        is_complete: bool,
    ) -> Result<Option<ObjectJob>, Error> {
        let before = &job.job;
        let Some(reading) = reading(before).filter(|reading| !reading.is_listed) else { return Ok(None) };
        let start = if from == 0 { Reading::default() } else { reading };
        assert_eq!(start.objects, from, "objects are listed in their order");
        let after = Reading {
            objects: from + u32::try_from(objects.len()).unwrap_or(u32::MAX),
            objects_bytes: start.objects_bytes + objects.iter().map(|(_, bytes)| bytes).sum::<u64>(),
            is_listed: is_complete,
            ..start
        };
        let numbered = (from..).zip(objects);
        let rows: Vec<(Bytes, Bytes)> =
            numbered.map(|(number, (row, _))| (row::object_key(&before.id, number), row.clone())).collect();
        let after = with_reading(before.begun(self.env().now_ms()), after);
        if !self.replace(before, &after, &rows).await? {
            return Ok(None);
        }
        self.for_caller(after).await
    }

    /// What the caller remembers of some objects, from a number on.
    pub async fn listed_objects(&self, job: &ObjectJob, from: u32, most: usize) -> Result<Vec<Bytes>, Error> {
        let view = self.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        // A list that was begun anew may be shorter than the one before, whose last rows are still there.
        let left = reading(&job.job).map_or(0, |reading| reading.objects.saturating_sub(from));
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(most);
        row::objects_from(&view, &job.id, from, most).await
    }
}

/// The errors that are kept of a job, in their order.
pub(crate) async fn errors_of<S: Store>(engine: &Engine<S>, id: &str) -> Result<Vec<SourceError>, Error> {
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let mut errors = Vec::new();
    for row in row::error_rows(&view, id).await? {
        let some: Vec<SourceError> = postcard::from_bytes(&row.value).map_err(|_fault| fault::internal())?;
        errors.extend(some);
    }
    Ok(errors)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(read: Read) -> Piece {
        Piece { object: 3, key: "in/a".into(), record: 5, read }
    }

    #[test]
    fn a_record_that_does_not_parse_counts_as_read_and_ends_its_object() {
        let broken = |broken| piece(Read::End { bytes: 9, broken }).effect(None);
        let record = broken(Some(Broken::Record("not JSON".to_owned())));
        assert_eq!((record.processed, record.written, record.bytes, record.next), (1, 0, 9, (4, 0)));
        assert_eq!(record.error.map(|error| error.record), Some(Some(5)));
        let object = broken(Some(Broken::Object("not gzip".to_owned())));
        assert_eq!((object.processed, object.error.map(|error| error.record)), (0, Some(None)));
        assert!(broken(None).error.is_none());
    }

    #[test]
    fn errors_are_counted_all_and_kept_in_part() {
        let invalid = piece(Read::Invalid("é".repeat(ERROR_BYTES_MAX))).effect(None);
        assert!(invalid.error.as_ref().is_some_and(|error| error.text.len() <= ERROR_BYTES_MAX));
        let reading = Reading { errors_kept: ERRORS_KEPT_MAX - 1, ..Reading::default() };
        let (after, rows) = advanced("id", reading, &[invalid.clone(), invalid.clone()]);
        assert_eq!((after.counts.failed, after.errors_kept, rows.len()), (2, ERRORS_KEPT_MAX, 1));
        let (after, rows) = advanced("id", after, &[invalid]);
        assert_eq!((after.counts.failed, rows.len()), (3, 0));
    }
}
