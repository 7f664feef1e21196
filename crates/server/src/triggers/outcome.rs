//! What an answer does to a lane's progress. Pure.

use keywright_engine::{TriggerLane, TriggerPosition, TriggerProgress, TriggerWindow};
use keywright_semantics::event_sources::settings::Settings;
use keywright_semantics::event_sources::view::{Counts, Failure};
use keywright_wire::events::{BatchAnswer, WindowAnswer, batch_answer, window_answer};

use super::batch::{Batch, window_start};

/// What an answer says about a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// All is done; the state of the window, if there are windows.
    Done(Option<String>),
    /// So many of the first records are done, at least one, and not all.
    DoneUpTo(usize),
    /// Nothing is done.
    Failed(String),
}

/// Reads an answer.
pub(super) fn judge(settings: &Settings, batch: &Batch, body: &[u8]) -> Verdict {
    let state = match (settings.tumbling_window_s, window_answer(body)) {
        (0, _) => None,
        (_, WindowAnswer::State(state)) => Some(state),
        (_, WindowAnswer::Missing) => return Verdict::Failed("the answer has no state".to_owned()),
    };
    if !settings.reports_failures {
        return Verdict::Done(state);
    }
    let failed = match batch_answer(body) {
        BatchAnswer::Done => return Verdict::Done(state),
        BatchAnswer::Unreadable => {
            return Verdict::Failed("the answer does not say which records failed".to_owned());
        }
        BatchAnswer::Failed(failed) => failed,
    };
    let place = |id: &String| batch.lines.iter().position(|line| line.sequence == *id);
    let places: Option<Vec<usize>> = failed.iter().map(place).collect();
    match places.and_then(|places| places.into_iter().min()) {
        None => Verdict::Failed("the answer names a record that is not in the batch".to_owned()),
        Some(0) => Verdict::Failed("the function reports the first record as failed".to_owned()),
        Some(first) => Verdict::DoneUpTo(first),
    }
}

/// Whether a batch has failed so often that it is passed over.
pub(super) fn is_exhausted(settings: &Settings, attempts: u32) -> bool {
    settings.retries_max.is_some_and(|most| attempts > most)
}

/// The window of a batch: the open one, or one that begins with its first record.
pub(super) fn window_of(lane: &TriggerLane, batch: &Batch) -> Option<TriggerWindow> {
    let window_s = lane.settings.tumbling_window_s;
    if window_s == 0 {
        return None;
    }
    let begun = || {
        let first = batch.lines.first()?;
        Some(TriggerWindow { start_ms: window_start(first.created_ms, window_s), state: "{}".to_owned() })
    };
    lane.progress.window.clone().or_else(begun)
}

fn counted(before: Counts, delivered: usize, filtered: u64) -> Counts {
    let delivered = u64::try_from(delivered).unwrap_or(u64::MAX);
    before.plus(Counts { delivered, filtered, ..Counts::default() })
}

/// The same failure, over.
pub(super) fn over(failure: Option<Failure>) -> Option<Failure> {
    failure.map(|failure| Failure { is_present: false, ..failure })
}

/// The progress after a batch whose records are all done or passed over. `window` is the one that is open
/// now.
pub(super) fn done(lane: &TriggerLane, batch: &Batch, window: Option<TriggerWindow>) -> TriggerProgress {
    let before = &lane.progress;
    TriggerProgress {
        after: batch.end,
        // Some of a batch that was begun may be left.
        until: before.until.filter(|until| Some(*until) > batch.end),
        attempts: 0,
        window,
        is_done: false,
        counts: counted(before.counts, batch.lines.len(), batch.filtered),
        failure: over(before.failure.clone()),
    }
}

/// The progress after no record was found. Nothing may be left of a batch that was begun.
pub(super) fn passed_over(lane: &TriggerLane, batch: &Batch) -> TriggerProgress {
    let window = lane.progress.window.clone();
    TriggerProgress {
        after: batch.end.max(lane.progress.until),
        until: None,
        is_done: batch.is_at_end,
        ..done(lane, batch, window)
    }
}

/// The progress after a batch was passed over.
pub(super) fn discarded(lane: &TriggerLane, batch: &Batch, text: String, now_ms: u64) -> TriggerProgress {
    let records = u64::try_from(batch.lines.len()).unwrap_or(u64::MAX);
    let counts = Counts { discarded: records, filtered: batch.filtered, ..Counts::default() };
    TriggerProgress {
        counts: lane.progress.counts.plus(counts),
        failure: Some(Failure { at_ms: now_ms, text, is_present: false }),
        ..done(lane, batch, lane.progress.window.clone())
    }
}

/// The progress after only the first records of a batch are done. The rest is sent again, and has failed
/// once.
pub(super) fn partly_done(lane: &TriggerLane, batch: &Batch, first: usize, now_ms: u64) -> TriggerProgress {
    assert!(first > 0 && first < batch.lines.len(), "a part of the batch is done");
    let before = &lane.progress;
    let rest = batch.lines.len() - first;
    let failed = batch.lines.get(first);
    let text = format!("the function reports {rest} of {} records as failed", batch.lines.len());
    TriggerProgress {
        after: failed.and_then(|line| line.before).max(before.after),
        until: batch.end,
        // The rest is halved before a try of it counts.
        attempts: u32::from(!lane.settings.bisects || rest == 1),
        window: before.window.clone(),
        is_done: false,
        counts: counted(before.counts, first, failed.map_or(0, |line| line.filtered))
            .plus(Counts { retries: 1, ..Counts::default() }),
        failure: Some(Failure { at_ms: now_ms, text, is_present: true }),
    }
}

/// The progress after a batch has failed as a whole: it is sent again, or its first half.
pub(super) fn failed(lane: &TriggerLane, batch: &Batch, text: String, now_ms: u64) -> TriggerProgress {
    let before = &lane.progress;
    let is_halved = lane.settings.bisects && batch.lines.len() > 1;
    let half = batch.lines.get(batch.lines.len().div_ceil(2).saturating_sub(1)).map(|line| line.position);
    let attempts = if is_halved { 0 } else { before.attempts.saturating_add(1) };
    let retries = u64::from(!is_exhausted(&lane.settings, attempts));
    TriggerProgress {
        until: if is_halved { half } else { batch.end },
        attempts,
        counts: before.counts.plus(Counts { retries, ..Counts::default() }),
        failure: Some(Failure { at_ms: now_ms, text, is_present: true }),
        ..before.clone()
    }
}

/// The progress after records up to this one were trimmed before they could be delivered.
pub(super) fn lost(lane: &TriggerLane, lost_to: TriggerPosition, failure: Failure) -> TriggerProgress {
    let before = &lane.progress;
    let until = before.until.filter(|until| *until > lost_to);
    TriggerProgress {
        after: before.after.max(Some(lost_to)),
        until,
        attempts: if until.is_some() { before.attempts } else { 0 },
        failure: Some(failure),
        ..before.clone()
    }
}

/// The progress after a target was not called: nothing but the reason is noted.
pub(super) fn unavailable(lane: &TriggerLane, text: String, now_ms: u64) -> TriggerProgress {
    let before = &lane.progress;
    let is_known = before.failure.as_ref().is_some_and(|known| known.is_present && known.text == text);
    if is_known {
        return before.clone();
    }
    TriggerProgress { failure: Some(Failure { at_ms: now_ms, text, is_present: true }), ..before.clone() }
}
