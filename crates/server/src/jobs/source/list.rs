//! The objects of a source are listed once, and noted in rows of the job.

use bytes::Bytes;
use keywright_engine::{ObjectJob, ObjectSource, ObjectWork};
use keywright_objects::Bucket;
use keywright_semantics::limits::{BULK_PUT_OBJECT_BYTES_MAX, BULK_PUT_OBJECTS_MAX, IMPORT_OBJECTS_MAX};
use keywright_semantics::messages::bulk::OBJECT_TOO_LARGE;

use super::super::{Stop, Tools};
use super::{Listed, stop};

/// Objects of one page.
const PAGE_OBJECTS: usize = 500;

/// Lists the objects of a job, unless that is done. Returns the job as it is then, and how many there are.
/// Objects whose keys begin with `reports` are no input.
pub(in crate::jobs) async fn list(
    tools: &Tools,
    mut job: ObjectJob,
    (bucket, source): (&Bucket, &ObjectSource),
    reports: Option<&str>,
) -> Result<(ObjectJob, u32), Stop> {
    if let Some(objects) = job.work.listed() {
        return Ok((job, objects));
    }
    let prefix = source.prefix.as_deref().unwrap_or_default();
    let (mut count, mut after): (usize, Option<String>) = (0, None);
    loop {
        let mut page =
            bucket.list(prefix, after.as_deref(), PAGE_OBJECTS).await.map_err(|fault| stop(&fault))?;
        let is_last = page.len() < PAGE_OBJECTS;
        after = page.last().map(|object| object.key.clone());
        if let Some(reports) = reports {
            page.retain(|object| !object.key.starts_with(reports));
        }
        let from = u32::try_from(count).unwrap_or(u32::MAX);
        count += page.len();
        let is_bulk_put = matches!(job.work, ObjectWork::BulkPut(_));
        let most = if is_bulk_put { BULK_PUT_OBJECTS_MAX } else { IMPORT_OBJECTS_MAX };
        if count > most {
            return Err(too_many(source, most));
        }
        if let Some(large) = page.iter().find(|object| object.bytes > BULK_PUT_OBJECT_BYTES_MAX)
            && is_bulk_put
        {
            return Err(too_large(source, &large.key));
        }
        let rows: Vec<(Bytes, u64)> = page
            .into_iter()
            .map(|object| {
                let (bytes, etag) = (object.bytes, object.etag.as_str().to_owned());
                (Listed { key: object.key, bytes, etag }.to_bytes().into(), bytes)
            })
            .collect();
        let noted = tools.engine()?.note_listed(&job, (from, &rows), is_last).await?;
        job = noted.ok_or(Stop::Overtaken)?;
        if is_last {
            return Ok((job, u32::try_from(count).unwrap_or(u32::MAX)));
        }
    }
}

fn too_many(source: &ObjectSource, most: usize) -> Stop {
    let ObjectSource { bucket, prefix, .. } = source;
    let below = prefix.as_ref().map_or_else(String::new, |prefix| format!(" whose keys begin with {prefix}"));
    Stop::Failed {
        code: "TooManyObjects",
        message: format!(
            "bucket {bucket} has more than {most} objects{below}, and one job reads no more: name a longer \
             prefix, and take the rest by itself"
        ),
    }
}

fn too_large(source: &ObjectSource, key: &str) -> Stop {
    let bucket = &source.bucket;
    Stop::Failed {
        code: OBJECT_TOO_LARGE,
        message: format!(
            "object {key} of bucket {bucket} is larger than {BULK_PUT_OBJECT_BYTES_MAX} bytes, and a bulk put \
             reads no larger one: split it"
        ),
    }
}
