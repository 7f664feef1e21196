//! Objects in buckets: batches of an archive, and reports about records that were passed over.
//!
//! An archive's object is named after its shard and its first record, and a batch that was begun is made
//! again as it was. So what is written again, also by another process, is the same object with the same
//! bytes.

use std::io::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use flate2::Compression;
use flate2::GzBuilder;
use keywright_engine::TriggerLane;
use keywright_objects::ObjectFault;

use super::Tools;
use super::batch::Line;
use crate::process::timestamp;

/// The same everywhere, so that equal records are equal bytes.
const LEVEL: u32 = 6;

/// Writes a batch as an object of JSON lines.
pub(super) async fn put(
    tools: &Tools,
    (bucket, prefix): (&str, &str),
    lane: &TriggerLane,
    lines: &[Line],
) -> Result<(), String> {
    let Some(first) = lines.first() else { return Ok(()) };
    let name = format!(
        "{}{}/{}/{}-{}.json.gz",
        folder(prefix),
        lane.table,
        day(first.created_ms),
        lane.shard_id,
        first.sequence
    );
    let mut text = Vec::with_capacity(lines.iter().map(|line| line.json.len() + 1).sum());
    for line in lines {
        text.extend_from_slice(&line.json);
        text.push(b'\n');
    }
    let packed = tokio::task::spawn_blocking(move || gzip(&text)).await;
    let packed = packed.expect("packing does not panic");
    put_object(tools, bucket, &name, packed).await
}

/// Writes a report about records that were passed over.
pub(super) async fn put_report(
    tools: &Tools,
    (bucket, prefix): (&str, &str),
    (lane, first): (&TriggerLane, &Line),
    report: Vec<u8>,
) -> Result<(), String> {
    let now_ms = tools.now_ms();
    let name = format!(
        "{}aws/lambda/{}/{}/{}/{}-{}",
        folder(prefix),
        lane.uuid,
        lane.shard_id,
        day(now_ms),
        second(now_ms),
        first.sequence
    );
    put_object(tools, bucket, &name, report).await
}

async fn put_object(tools: &Tools, bucket: &str, name: &str, content: Vec<u8>) -> Result<(), String> {
    let shown = |fault: ObjectFault| fault.to_string();
    if let Some(folder) = tools.targets.buckets.folder(bucket) {
        let (database, bytes) = (Arc::clone(&tools.database), content.len());
        let refusal = tokio::task::spawn_blocking(move || database.refuses_copy(&folder, bytes)).await;
        if let Some(reason) = refusal.expect("a look at a disk does not panic") {
            return Err(reason);
        }
    }
    let bucket = tools.targets.buckets.open(bucket).map_err(shown)?;
    // A process that was killed may have been writing it.
    bucket.remove_unfinished_of(name).map_err(shown)?;
    bucket.put(name, Bytes::from(content)).await.map(|_| ()).map_err(shown)
}

fn folder(prefix: &str) -> String {
    if prefix.is_empty() { String::new() } else { format!("{prefix}/") }
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut packer = GzBuilder::new().mtime(0).write(Vec::new(), Compression::new(LEVEL));
    packer.write_all(text).expect("writing to a vector does not fail");
    packer.finish().expect("writing to a vector does not fail")
}

/// The day of a time as folders: `2026/01/14`.
fn day(ms: u64) -> String {
    timestamp::of(ms).get(..10).unwrap_or_default().replace('-', "/")
}

/// The time to the second in a name: `2026-01-14T10.18.50`.
fn second(ms: u64) -> String {
    timestamp::of(ms).get(..19).unwrap_or_default().replace(':', ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_lines_are_equal_bytes_and_dates_are_those_of_the_calendar() {
        assert_eq!(gzip(b"{}\n"), gzip(b"{}\n"));
        for (ms, expected) in [
            (0, ("1970/01/01", "1970-01-01T00.00.00")),
            (951_782_400_000, ("2000/02/29", "2000-02-29T00.00.00")),
            (1_735_603_199_999, ("2024/12/30", "2024-12-30T23.59.59")),
        ] {
            assert_eq!((day(ms).as_str(), second(ms).as_str()), expected, "{ms}");
        }
    }
}
