//! The loop of one lane: makes a batch, sends it, and notes what became of it.

use std::time::Duration;

use keywright_engine::{TriggerLane, TriggerPosition, TriggerProgress, TriggerWindow};
use keywright_semantics::event_sources::target::Target;
use keywright_semantics::event_sources::view::{Counts, Failure};
use keywright_wire::events::{Condition, FailedBatch, Pattern, Payload, Window, failed_batch, lambda_event};
use tokio::sync::watch;
use tokio::time::Instant;

use super::batch::{Batch, NoBatch, Reader};
use super::outcome::{self, Verdict};
use super::send::{Answered, SendFault};
use super::{Tools, archive};
use crate::deliveries::Call;

/// The time until a batch that failed is sent again, which doubles up to the second.
const RETRY_MIN: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(30);
/// The time between two notes of records that were only passed over.
const PASSED_OVER: Duration = Duration::from_millis(500);
/// The time between two tries to note progress while the store does not answer, and how many there are.
const NOTE_AGAIN: Duration = Duration::from_millis(200);
const NOTES_MAX: u32 = 50;
/// A window is open a little longer than its time: a commit may be later than the time of its record.
const WINDOW_GRACE_MS: u64 = 1_000;
/// Bytes of a window's state (Lambda's quota). With more the window ends.
const STATE_BYTES_MAX: usize = 1024 * 1024;

/// Delivers until the shard ends, the mapping changes, or another process has the lane.
pub(super) async fn run(tools: &Tools, lane: TriggerLane, mut stopped: watch::Receiver<bool>) {
    let patterns: Result<Vec<Pattern>, String> =
        lane.settings.filters.iter().map(|pattern| Pattern::compile(pattern)).collect();
    let patterns = match patterns {
        Ok(patterns) => patterns,
        Err(reason) => {
            // Each was compiled when the mapping was made, perhaps by another release.
            tracing::error!("trigger {} has a filter that is no pattern: {reason}", name(&lane));
            // A dropped sender means stopping too.
            let _ = stopped.wait_for(|stopped| *stopped).await;
            return;
        }
    };
    let reader = Reader { tools, patterns, stopped, empty_looks: 0 };
    let mut work =
        Lane { tools, at: lane, reader, failures: 0, noted: Instant::now(), invocations: 0, answer: None };
    loop {
        // Its batch is given back before it pauses.
        let is_stopped = match work.turn().await {
            Ok(Next::AtOnce) => false,
            Ok(Next::Rest) => work.reader.rest().await,
            Ok(Next::BackOff) => work.back_off().await,
            Err(NoBatch::Fault) => work.reader.pause(NOTE_AGAIN).await,
            Ok(Next::Over) | Err(NoBatch::Over) => true,
        };
        if is_stopped {
            return;
        }
    }
}

/// A trigger as the log names it.
fn name(lane: &TriggerLane) -> String {
    let section = lane.section.as_ref().map(|section| format!(", section [[trigger]] {section:?}"));
    format!("{} of table {}{}", lane.uuid, lane.table, section.unwrap_or_default())
}

/// When the next batch follows.
enum Next {
    AtOnce,
    /// After a look that found nothing.
    Rest,
    /// After a failure.
    BackOff,
    /// Never: another task goes on, or none.
    Over,
}

/// A lane at work.
struct Lane<'t> {
    tools: &'t Tools,
    /// The lane, and how far it is.
    at: TriggerLane,
    reader: Reader<'t>,
    /// Failures in succession.
    failures: u32,
    /// When progress was noted last.
    noted: Instant,
    /// How often the batch was sent by this process.
    invocations: u64,
    /// What the target said last about the batch, without a body.
    answer: Option<Answered>,
}

impl Lane<'_> {
    /// One batch.
    async fn turn(&mut self) -> Result<Next, NoBatch> {
        if *self.reader.stopped.borrow() {
            return Ok(Next::Over);
        }
        if let Err(text) = self.check_targets() {
            return self.wait_for_target(text).await;
        }
        // The share is held until the batch is done.
        let (batch, _share) = self.reader.next(&self.at).await?;
        if let Some(lost_to) = batch.lost_to {
            // The batch is made anew: it may have ended within what is lost.
            return self.note_lost(lost_to).await;
        }
        let oldest_ms = batch.lines.first().map(|line| line.created_ms);
        self.figure(oldest_ms);
        if batch.lines.is_empty() {
            return self.without_records(&batch).await;
        }
        if !self.is_unchanged().await? {
            return Ok(Next::Over);
        }
        if batch.is_too_old {
            return self.discard(&batch, Condition::RecordAgeExceeded).await;
        }
        if outcome::is_exhausted(&self.at.settings, self.at.progress.attempts) {
            return self.discard(&batch, Condition::RetryAttemptsExhausted).await;
        }
        self.deliver(&batch).await
    }

    /// Whether the mapping is still as this lane delivers it: nothing is begun for one that was disabled.
    async fn is_unchanged(&self) -> Result<bool, NoBatch> {
        let engine = self.tools.engine().ok_or(NoBatch::Fault)?;
        engine.is_trigger_unchanged(&self.at).await.map_err(|_logged| NoBatch::Fault)
    }

    /// The settings may be others than when the mapping was made.
    fn check_targets(&self) -> Result<(), String> {
        let settings = &self.at.settings;
        let targets = [Some(&settings.target), settings.on_failure.as_ref()];
        targets.into_iter().flatten().try_for_each(|target| self.tools.targets.check_kept(target))
    }

    fn figure(&self, oldest_ms: Option<u64>) {
        self.tools.figures.note(&self.at, oldest_ms, self.fails());
    }

    /// Whether the target fails, as it is noted.
    fn fails(&self) -> bool {
        self.at.progress.failure.as_ref().is_some_and(|failure| failure.is_present)
    }

    /// Notes how far the lane is. It goes on while the store is away for a moment, as the answer of the
    /// target would be lost.
    async fn note(&mut self, progress: TriggerProgress) -> Result<(), NoBatch> {
        let before = self.at.progress.counts;
        for _ in 0..NOTES_MAX {
            let noted = match self.tools.engine() {
                Some(engine) => engine.note_trigger(&self.at, progress.clone()).await.ok(),
                None => None,
            };
            match noted {
                Some(Some(lane)) => {
                    let after = lane.progress.counts;
                    let since = |of: fn(&Counts) -> u64| of(&after).saturating_sub(of(&before));
                    let done = Counts {
                        delivered: since(|counts| counts.delivered),
                        filtered: since(|counts| counts.filtered),
                        discarded: since(|counts| counts.discarded),
                        retries: since(|counts| counts.retries),
                    };
                    self.tools.figures.add(&lane, done);
                    self.at = lane;
                    self.noted = Instant::now();
                    self.tools.figures.note_failing(&self.at, self.fails());
                    return Ok(());
                }
                Some(None) => return Err(NoBatch::Over),
                None => {
                    if self.reader.pause(NOTE_AGAIN).await {
                        return Err(NoBatch::Over);
                    }
                }
            }
        }
        // What is stored may be either. A look at it decides.
        Err(NoBatch::Over)
    }

    /// Records up to this one were trimmed that were not delivered: the lane goes on after them.
    async fn note_lost(&mut self, lost_to: TriggerPosition) -> Result<Next, NoBatch> {
        let failure = Failure::lost(self.tools.now_ms());
        tracing::warn!("trigger {}: {}", name(&self.at), failure.text);
        self.note(outcome::lost(&self.at, lost_to, failure)).await?;
        Ok(Next::AtOnce)
    }

    /// Nothing is to be sent: ends windows, notes what was passed over, and rests.
    async fn without_records(&mut self, batch: &Batch) -> Result<Next, NoBatch> {
        if let Some(window) = self.at.progress.window.clone() {
            let length_ms = u64::from(self.at.settings.tumbling_window_s) * 1_000;
            let end_ms = window.start_ms.saturating_add(length_ms).saturating_add(WINDOW_GRACE_MS);
            if batch.is_at_end || batch.ends_window || self.tools.now_ms() >= end_ms {
                return self.end_window(&window).await;
            }
        }
        let has_moved = batch.end > self.at.progress.after || self.at.progress.until.is_some();
        let is_due = batch.is_cut || self.noted.elapsed() >= PASSED_OVER;
        if batch.is_at_end || (has_moved && is_due) {
            self.note(outcome::passed_over(&self.at, batch)).await?;
        }
        Ok(match (batch.is_at_end, batch.is_cut) {
            (true, _) => Next::Over,
            (false, true) => Next::AtOnce,
            (false, false) => Next::Rest,
        })
    }

    /// Sends a batch, and notes what the target says.
    async fn deliver(&mut self, batch: &Batch) -> Result<Next, NoBatch> {
        let window = outcome::window_of(&self.at, batch);
        let sent = match self.at.settings.target.clone() {
            Target::Bucket { bucket, prefix } => {
                if self.at.progress.until.is_none() {
                    // From now on the object has these records, also if another process writes it.
                    let begun = TriggerProgress { until: batch.end, ..self.at.progress.clone() };
                    self.note(begun).await?;
                }
                let put = archive::put(self.tools, (&bucket, &prefix), &self.at, &batch.lines).await;
                put.map(|()| Verdict::Done(None)).map_err(SendFault::Unavailable)
            }
            target => {
                let shown = window.as_ref().map(|window| self.shown(window, false));
                let records: Vec<&[u8]> = batch.lines.iter().map(|line| line.json.as_slice()).collect();
                let event = lambda_event(&records, shown.as_ref());
                self.invocations += 1;
                self.send(&target, event).await.map(|answered| {
                    let verdict = outcome::judge(&self.at.settings, batch, &answered.body);
                    self.answer = Some(answered.without_body());
                    verdict
                })
            }
        };
        match sent {
            Ok(Verdict::Done(state)) => self.taken(batch, window, state).await,
            Ok(Verdict::DoneUpTo(first)) => {
                self.failures = 0;
                let progress = outcome::partly_done(&self.at, batch, first, self.tools.now_ms());
                self.note(progress).await?;
                Ok(Next::BackOff)
            }
            Ok(Verdict::Failed(text)) => self.fail(batch, text).await,
            Err(SendFault::Failed { text, answered }) => {
                self.answer = answered.map(Answered::without_body);
                self.fail(batch, text).await
            }
            Err(SendFault::Unavailable(text)) => self.wait_for_target(text).await,
        }
    }

    /// All records of a batch are taken.
    async fn taken(
        &mut self,
        batch: &Batch,
        window: Option<TriggerWindow>,
        state: Option<String>,
    ) -> Result<Next, NoBatch> {
        let mut window = window.zip(state).map(|(window, state)| TriggerWindow { state, ..window });
        if let Some(large) = window.as_ref().filter(|window| window.state.len() > STATE_BYTES_MAX) {
            // It cannot be kept: the window ends here, or the batch is sent again.
            match self.send_end(large, true).await {
                Ok(()) => window = None,
                Err(SendFault::Failed { text, .. }) => return self.fail(batch, text).await,
                Err(SendFault::Unavailable(text)) => return self.wait_for_target(text).await,
            }
        }
        let progress = outcome::done(&self.at, batch, window);
        self.note(progress).await?;
        self.succeeded();
        Ok(Next::AtOnce)
    }

    fn succeeded(&mut self) {
        if self.failures > 0 {
            tracing::info!("trigger {} delivers again", name(&self.at));
        }
        (self.failures, self.invocations, self.answer) = (0, 0, None);
        self.figure(None);
    }

    /// The target has failed: the batch is sent again, in halves or after a pause.
    async fn fail(&mut self, batch: &Batch, text: String) -> Result<Next, NoBatch> {
        self.complain(&text);
        let progress = outcome::failed(&self.at, batch, text, self.tools.now_ms());
        let is_halved = progress.attempts == 0;
        let is_last = outcome::is_exhausted(&self.at.settings, progress.attempts);
        self.note(progress).await?;
        Ok(if is_halved || is_last { Next::AtOnce } else { Next::BackOff })
    }

    /// The target cannot be called. That counts as no try.
    async fn wait_for_target(&mut self, text: String) -> Result<Next, NoBatch> {
        self.complain(&text);
        let progress = outcome::unavailable(&self.at, text, self.tools.now_ms());
        self.note(progress).await?;
        Ok(Next::BackOff)
    }

    /// The log has the first of several failures.
    fn complain(&self, text: &str) {
        if self.failures == 0 {
            tracing::warn!("trigger {} fails and goes on trying: {text}", name(&self.at));
        }
    }

    /// Waits after a failure; true if the lane is to stop.
    async fn back_off(&mut self) -> bool {
        let pause = RETRY_MIN.saturating_mul(1 << self.failures.min(16)).min(RETRY_MAX);
        self.failures = self.failures.saturating_add(1);
        self.reader.pause(pause).await
    }

    /// Passes a batch over, once the report about it stands.
    async fn discard(&mut self, batch: &Batch, condition: Condition) -> Result<Next, NoBatch> {
        let why = match condition {
            Condition::RetryAttemptsExhausted => "failed in all tries",
            Condition::RecordAgeExceeded => "are too old",
        };
        if let Some(destination) = self.at.settings.on_failure.clone()
            && let Err(text) = self.report(&destination, batch, condition).await
        {
            return self
                .wait_for_target(format!("the report about records that {why} cannot be sent: {text}"))
                .await;
        }
        let text = format!("{} records {why} and were passed over", batch.lines.len());
        let text = match self.at.progress.failure.as_ref().filter(|failure| failure.is_present) {
            Some(failure) => format!("{text}: {}", failure.text),
            None => text,
        };
        tracing::warn!("trigger {}: {text}", name(&self.at));
        let progress = outcome::discarded(&self.at, batch, text, self.tools.now_ms());
        self.note(progress).await?;
        self.succeeded();
        Ok(Next::AtOnce)
    }

    async fn report(&self, destination: &Target, batch: &Batch, condition: Condition) -> Result<(), String> {
        let (Some(first), Some(last)) = (batch.lines.first(), batch.lines.last()) else { return Ok(()) };
        let lane = &self.at;
        let (account, region) = (lane.namespace.account.as_str(), lane.namespace.region.as_str());
        let function_arn = lane.settings.target.arn(region, account);
        let answer = self.answer.as_ref().map(|answer| (answer.status, answer.error.as_deref()));
        let request_id = self.answer.as_ref().and_then(|answer| answer.request_id.as_deref());
        let failed = FailedBatch {
            request_id: request_id.unwrap_or(&first.sequence),
            function_arn: &function_arn,
            condition,
            invocations: u64::from(lane.progress.attempts).max(self.invocations),
            answer,
            now_ms: self.tools.now_ms(),
            shard_id: &lane.shard_id,
            first: &first.sequence,
            last: &last.sequence,
            first_ms: first.created_ms,
            last_ms: last.created_ms,
            records: batch.lines.len(),
            stream_arn: &lane.stream_arn,
        };
        match destination {
            Target::Bucket { bucket, prefix } => {
                let records: Vec<&[u8]> = batch.lines.iter().map(|line| line.json.as_slice()).collect();
                let event = lambda_event(&records, None);
                let report = failed_batch(&failed, Payload::Event(&event));
                archive::put_report(self.tools, (bucket, prefix), (lane, first), report).await
            }
            target => {
                let report = failed_batch(&failed, Payload::Absent);
                self.send(target, report).await.map(|_| ()).map_err(|fault| match fault {
                    SendFault::Failed { text, .. } | SendFault::Unavailable(text) => text,
                })
            }
        }
    }

    async fn send(&self, target: &Target, body: Vec<u8>) -> Result<Answered, SendFault> {
        let call = Call { since_ms: self.tools.now_ms(), target: target.text() };
        self.tools.figures.note_call(&self.at, Some(call));
        let answered = match target {
            Target::Function(name) => {
                self.tools.sender.call(name, self.at.namespace.region.as_str(), body).await
            }
            Target::Http(url) => self.tools.sender.post(url, body).await,
            Target::Bucket { .. } => unreachable!("a bucket is not sent requests"),
        };
        self.tools.figures.note_call(&self.at, None);
        answered
    }

    /// A window as its events show it.
    fn shown<'w>(&'w self, window: &'w TriggerWindow, is_final: bool) -> Window<'w> {
        let length_ms = u64::from(self.at.settings.tumbling_window_s) * 1_000;
        Window {
            start_ms: window.start_ms,
            end_ms: window.start_ms.saturating_add(length_ms),
            state: &window.state,
            shard_id: &self.at.shard_id,
            stream_arn: &self.at.stream_arn,
            is_final,
            is_early: false,
        }
    }

    /// Sends the end of a window.
    async fn send_end(&self, window: &TriggerWindow, is_early: bool) -> Result<(), SendFault> {
        let shown = Window { is_early, ..self.shown(window, true) };
        let none: [&[u8]; 0] = [];
        let event = lambda_event(&none, Some(&shown));
        self.send(&self.at.settings.target, event).await.map(drop)
    }

    /// Ends the open window. Its state is passed over if that fails too often.
    async fn end_window(&mut self, window: &TriggerWindow) -> Result<Next, NoBatch> {
        if !self.is_unchanged().await? {
            return Ok(Next::Over);
        }
        let before = self.at.progress.clone();
        match self.send_end(window, false).await {
            Ok(()) => {
                let failure = outcome::over(before.failure.clone());
                self.note(TriggerProgress { window: None, attempts: 0, failure, ..before }).await?;
                self.succeeded();
                Ok(Next::AtOnce)
            }
            Err(SendFault::Unavailable(text)) => self.wait_for_target(text).await,
            Err(SendFault::Failed { text, .. }) => {
                self.complain(&text);
                let attempts = before.attempts.saturating_add(1);
                let is_over = outcome::is_exhausted(&self.at.settings, attempts);
                let failure = Some(Failure { at_ms: self.tools.now_ms(), text, is_present: !is_over });
                let (window, attempts) = if is_over { (None, 0) } else { (before.window.clone(), attempts) };
                self.note(TriggerProgress { window, attempts, failure, ..before }).await?;
                Ok(if is_over { Next::AtOnce } else { Next::BackOff })
            }
        }
    }
}
