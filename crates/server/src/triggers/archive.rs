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
    let (year, month, day) = date(first.created_ms);
    let name = format!(
        "{}{}/{year:04}/{month:02}/{day:02}/{}-{}.json.gz",
        folder(prefix),
        lane.table,
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
    let (year, month, day) = date(now_ms);
    let seconds = now_ms / 1_000 % 86_400;
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let name = format!(
        "{}aws/lambda/{}/{}/{year:04}/{month:02}/{day:02}/\
         {year:04}-{month:02}-{day:02}T{hour:02}.{minute:02}.{second:02}-{}",
        folder(prefix),
        lane.uuid,
        lane.shard_id,
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

/// Year, month and day of a time.
fn date(ms: u64) -> (i64, i64, i64) {
    // Howard Hinnant's algorithm: days of the Gregorian calendar from years that begin in March.
    let days = i64::try_from(ms / 86_400_000).unwrap_or_default() + 719_468;
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + days.div_euclid(146_097) * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_lines_are_equal_bytes_and_dates_are_those_of_the_calendar() {
        assert_eq!(gzip(b"{}\n"), gzip(b"{}\n"));
        for (ms, expected) in [
            (0, (1970, 1, 1)),
            (951_782_400_000, (2000, 2, 29)),
            (1_735_603_199_999, (2024, 12, 30)),
            (1_791_547_200_000, (2026, 10, 9)),
        ] {
            assert_eq!(date(ms), expected, "{ms}");
        }
    }
}
