//! Which records make the next batch of a lane.
//!
//! A batch is full at its number of records, at six megabytes, at the end of a window, or when much was read
//! for it. A batch that was begun is made again as it was: of the records up to the one that the lane's
//! progress names. Only if memory is short, one for a function or a host is cut, and its rest comes next.

use std::time::Duration;

use keywright_engine::{TriggerLane, TriggerPosition, TriggerRecord};
use keywright_semantics::event_sources::target::Target;
use keywright_wire::events::{Pattern, lambda_record};
use tokio::sync::watch;
use tokio::time::Instant;

use super::Tools;
use super::memory::Share;

/// Bytes of a batch's records (Lambda: the payload of an invocation).
pub(super) const BATCH_BYTES_MAX: usize = 6 * 1024 * 1024;
/// What an event has in addition to its records, at most.
const AROUND_BYTES: usize = 16 * 1024;
/// Records and bytes of one page of a shard.
const PAGE_RECORDS: usize = 1_000;
const PAGE_BYTES: usize = 1024 * 1024;
const SMALL_PAGE_BYTES: usize = 64 * 1024;
/// Pages that are read for one batch. Most of their records may be passed over.
const PAGES_MAX: u32 = 64;
/// The time between two looks at a shard: while records come, and later.
const SOON: Duration = Duration::from_millis(50);
const LATER: Duration = Duration::from_millis(250);
/// Empty looks after which the next ones come later.
const EMPTY_LOOKS: u32 = 40;

/// A record of a batch.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) position: TriggerPosition,
    /// The last record before it that was passed over or belongs to the batch too.
    pub(super) before: Option<TriggerPosition>,
    /// Records of the batch before it that no filter matches.
    pub(super) filtered: u64,
    pub(super) sequence: String,
    pub(super) created_ms: u64,
    pub(super) json: Vec<u8>,
}

/// The next records of a lane.
#[expect(clippy::struct_excessive_bools, reason = "each says another thing of the same batch")]
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) lines: Vec<Line>,
    /// The last record of which nothing is left to do once the batch is done.
    pub(super) end: Option<TriggerPosition>,
    /// Records up to there that no filter matches.
    pub(super) filtered: u64,
    /// Whether its records are too old to be delivered.
    pub(super) is_too_old: bool,
    /// Whether the shard has no more records.
    pub(super) is_at_end: bool,
    /// The last of the records that were trimmed before they were read.
    pub(super) lost_to: Option<TriggerPosition>,
    /// Whether it ends because much was read for it.
    pub(super) is_cut: bool,
    /// Whether it ends because a later window begins.
    pub(super) ends_window: bool,
    bytes: usize,
}

/// Why there is no batch.
pub(super) enum NoBatch {
    /// The stream or the shard is gone, or the lane is to stop.
    Over,
    /// The store does not answer.
    Fault,
}

/// How records are chosen.
pub(super) struct Reader<'t> {
    pub(super) tools: &'t Tools,
    pub(super) patterns: Vec<Pattern>,
    pub(super) stopped: watch::Receiver<bool>,
    pub(super) empty_looks: u32,
}

/// Whether a record goes on in the batch.
enum Fit {
    Taken,
    Full,
}

impl Reader<'_> {
    /// The next batch, perhaps without records. It waits for records while a batching window is open.
    pub(super) async fn next(&mut self, lane: &TriggerLane) -> Result<(Batch, Share), NoBatch> {
        let settings = &lane.settings;
        let mut batch = Batch { end: lane.progress.after, ..Batch::default() };
        let mut share = Share::default();
        let mut read = lane.progress.after;
        let (mut deadline, mut pages) = (None, 0);
        let is_again = lane.progress.until.is_some();
        let is_as_begun = is_as_begun(lane);
        loop {
            let engine = self.tools.engine().ok_or(NoBatch::Fault)?;
            let page_bytes = if is_as_begun || share.has_room(&self.tools.memory, batch.bytes + PAGE_BYTES) {
                PAGE_BYTES
            } else {
                SMALL_PAGE_BYTES
            };
            let page = engine.trigger_records(lane, read, (PAGE_RECORDS, page_bytes)).await;
            drop(engine);
            let page = page.map_err(|_logged| NoBatch::Fault)?.ok_or(NoBatch::Over)?;
            batch.lost_to = batch.lost_to.max(page.lost_to);
            let is_empty = page.last.is_none();
            let mut is_full = false;
            for record in &page.records {
                if lane.progress.until.is_some_and(|until| record.position > until) {
                    is_full = true;
                    break;
                }
                if matches!(self.offer(lane, &mut batch, &mut share, record), Fit::Full) {
                    is_full = true;
                    break;
                }
                tokio::task::consume_budget().await;
            }
            if is_full {
                break;
            }
            read = page.last.or(read);
            batch.end = match lane.progress.until {
                Some(until) => read.map(|read| read.min(until)).max(batch.end),
                None => read,
            };
            if page.is_at_end {
                batch.is_at_end = true;
                break;
            }
            if lane.progress.until.is_some_and(|until| read >= Some(until)) {
                break;
            }
            if !is_empty {
                self.empty_looks = 0;
                pages += 1;
                if pages < PAGES_MAX || is_as_begun {
                    continue;
                }
                batch.is_cut = true;
                break;
            }
            // Nothing more is there now.
            let window = Duration::from_secs(u64::from(settings.batching_window_s));
            if batch.lines.is_empty() || is_again || window.is_zero() {
                break;
            }
            let until = *deadline.get_or_insert_with(|| Instant::now() + window);
            if Instant::now() >= until || self.pause(SOON.min(until - Instant::now())).await {
                break;
            }
        }
        if batch.lines.is_empty() {
            self.empty_looks = self.empty_looks.saturating_add(1);
        }
        Ok((batch, share))
    }

    /// Adds a record to a batch, or passes it over.
    fn offer(&self, lane: &TriggerLane, batch: &mut Batch, share: &mut Share, read: &TriggerRecord) -> Fit {
        let settings = &lane.settings;
        let is_as_begun = is_as_begun(lane);
        let created_ms = read.record.created.0;
        let json = lambda_record(&read.record, &lane.stream_arn);
        if !self.patterns.is_empty() && !self.patterns.iter().any(|pattern| pattern.matches(&json)) {
            batch.filtered += 1;
            batch.end = Some(read.position);
            return Fit::Taken;
        }
        let age_ms = self.tools.now_ms().saturating_sub(created_ms);
        let is_too_old =
            !is_as_begun && settings.record_age_s_max.is_some_and(|most| age_ms > u64::from(most) * 1_000);
        let bytes = batch.bytes + json.len() + 1;
        let has_room = batch.lines.is_empty()
            || (batch.lines.len() < usize::try_from(settings.batch_size).unwrap_or(usize::MAX)
                && bytes + AROUND_BYTES <= BATCH_BYTES_MAX
                && (is_as_begun || share.has_room(&self.tools.memory, bytes)));
        if !batch.lines.is_empty() && is_too_old != batch.is_too_old {
            return Fit::Full;
        }
        if !is_too_old && crosses_window(lane, batch, created_ms) {
            batch.ends_window = true;
            return Fit::Full;
        }
        if !has_room {
            return Fit::Full;
        }
        batch.is_too_old = is_too_old;
        batch.bytes = bytes;
        batch.lines.push(Line {
            position: read.position,
            before: batch.end,
            filtered: batch.filtered,
            sequence: read.record.sequence_number.to_string(),
            created_ms,
            json,
        });
        batch.end = Some(read.position);
        Fit::Taken
    }

    /// Waits; true if the lane is to stop.
    pub(super) async fn pause(&mut self, time: Duration) -> bool {
        // A dropped sender means stopping too.
        tokio::time::timeout(time, self.stopped.wait_for(|stopped| *stopped)).await.is_ok()
    }

    /// Waits until the next look at a shard without records.
    pub(super) async fn rest(&mut self) -> bool {
        let time = if self.empty_looks < EMPTY_LOOKS { SOON } else { LATER };
        self.pause(time).await
    }
}

/// Whether the next batch must have all records that it had before: an object that was begun keeps them.
const fn is_as_begun(lane: &TriggerLane) -> bool {
    lane.progress.until.is_some() && matches!(lane.settings.target, Target::Bucket { .. })
}

/// The first moment of the window of a time.
pub(super) const fn window_start(created_ms: u64, window_s: u32) -> u64 {
    #[expect(clippy::as_conversions, reason = "widening; `From` is not const")]
    let length_ms = window_s as u64 * 1_000;
    created_ms - created_ms % length_ms
}

/// Whether a record belongs to a later window than the batch. One that is late belongs to the open window.
fn crosses_window(lane: &TriggerLane, batch: &Batch, created_ms: u64) -> bool {
    let window_s = lane.settings.tumbling_window_s;
    if window_s == 0 {
        return false;
    }
    let open = lane.progress.window.as_ref().map(|window| window.start_ms);
    let first = batch.lines.first().map(|line| window_start(line.created_ms, window_s));
    let current = open.or(first);
    current.is_some_and(|current| window_start(created_ms, window_s) > current)
}
