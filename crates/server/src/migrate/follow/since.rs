//! Whether a stream reaches back to a time, from which on a target is to follow it without a Scan.
//!
//! What is applied is the rest of each shard from that time on, whole and in its order. So an item ends as
//! its last record says, and one without a record has not changed since. Records from before the time do no
//! harm: they set an item back until the later ones come, which they do. So reading begins a little earlier
//! than the time, as the time of a record is approximate.

use super::shard_reader::{KEPT_MS, source_now_ms};
use super::shards::{self, Stream};
use crate::client::endpoint::Client;
use crate::process::failure::Failure;
use crate::process::timestamp;

/// Records that are so much older than the time are applied too; and so long before the stream forgets the
/// time, it is too late to begin.
const MARGIN_MS: u64 = 5 * 60 * 1000;

/// The time from which on records are applied to a target that has the items as of a time.
///
/// # Errors
///
/// If the stream does not have all records since then.
pub(crate) async fn from_ms(client: &mut Client, stream: &Stream, since_ms: u64) -> Result<u64, Failure> {
    let now_ms = source_now_ms(client).await;
    let created_ms = shards::created_ms(client, stream).await?;
    check(since_ms, now_ms, created_ms)?;
    Ok(since_ms.saturating_sub(MARGIN_MS))
}

fn check(since_ms: u64, now_ms: u64, created_ms: Option<u64>) -> Result<(), Failure> {
    let since = timestamp::of(since_ms);
    if since_ms > now_ms {
        return Err(Failure::new(format!(
            "--since {since} has not come yet: at the source it is {}",
            timestamp::of(now_ms)
        ))
        .advising("name the time that the items of the target are of"));
    }
    let advice = "fill the target from a later export, or leave --since out and pass --overwrite";
    if since_ms.saturating_add(KEPT_MS) <= now_ms.saturating_add(MARGIN_MS) {
        return Err(Failure::new(format!(
            "the stream does not reach back to {since}: it keeps changes for 24 hours"
        ))
        .advising(advice));
    }
    // A time in whole seconds is cut.
    let is_late = |created_ms: &u64| {
        let cut_ms = if created_ms.is_multiple_of(1000) { 999 } else { 0 };
        created_ms.saturating_add(cut_ms) > since_ms
    };
    if let Some(created_ms) = created_ms.filter(is_late) {
        return Err(Failure::new(format!(
            "the stream does not reach back to {since}: it was turned on at {}",
            timestamp::of(created_ms)
        ))
        .advising(advice));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_within_what_the_stream_keeps_and_after_its_beginning() {
        let now_ms = 1_790_000_000_000;
        let of = |ago_ms: u64, created_ms: Option<u64>| {
            check(now_ms - ago_ms, now_ms, created_ms).map_err(|fault| fault.to_string())
        };
        let hours = |hours: u64| hours * 60 * 60 * 1000;
        assert_eq!(of(hours(23), Some(now_ms - hours(24))), Ok(()));
        assert_eq!(of(0, None), Ok(()));
        for ago_ms in [hours(30), hours(24), hours(24) - MARGIN_MS] {
            assert!(of(ago_ms, None).unwrap_err().contains("keeps changes for 24 hours"), "{ago_ms}");
        }
        assert_eq!(of(hours(24) - MARGIN_MS - 1, None), Ok(()));
        let late = of(hours(3), Some(now_ms - hours(3) + 1)).unwrap_err();
        assert!(late.contains("it was turned on at 2026-"), "{late}");
        assert!(check(now_ms + 1, now_ms, None).unwrap_err().to_string().contains("has not come yet"));
    }
}
