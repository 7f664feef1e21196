//! Calls on models: few at a time, in turns, with progress, and ended when nobody waits for them.
//!
//! Nobody knows beforehand how long a call takes. So each begins in a lane for short ones. One that is not
//! done after a moment goes on in the lane of long ones if that has a place, and otherwise ends and waits for
//! one to begin anew: no short call waits for a long one. A newer call of a tab to the same endpoint ends the
//! older one. It does not know how a call is executed (`workers`).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::poll_immediate;
use keywright_connection::idle_timeout::Activity;
use keywright_model::json::Json;
use tokio::sync::{mpsc, watch};

use super::cancel::Cancel;
use super::lanes::{Each, Lane, Place, Tab, Who};
use super::refusal::{Kind, Refusal, cancelled, internal};
use super::reply::Lines;
use crate::limits::{
    HEAVY_TURN_MS_MAX, JOB_WAIT_SECONDS_MAX, JOBS_MAX, LIGHT_BODY_BYTES_MAX, LIGHT_CALLS_MAX,
    LIGHT_TURN_MS_MAX, SHORT_MODEL_CALLS_MAX, STREAM_LINES_MAX, TABS_MAX,
};

/// A line of progress.
pub(super) fn progress(what: &str, counted: Option<(usize, usize)>) -> Vec<u8> {
    let mut own = Json::object([("what", Json::text(what))]);
    if let Some((done, of)) = counted {
        own.set("done", Json::number(done));
        own.set("of", Json::number(of));
    }
    format!("{}\n", Json::object([("progress", own)]).compact()).into_bytes()
}

/// How a call on models begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// With the short ones that are answered in one piece.
    Light,
    /// With the short ones that report progress.
    Heavy,
    /// With the long ones: what it has changed must not be begun anew.
    Changing,
}

/// What a call on models runs by.
pub(super) struct Run<'c> {
    pub(super) who: &'c Who,
    pub(super) pace: Pace,
    pub(super) cancel: &'c Cancel,
    /// Gets a line while the call waits for its turn.
    pub(super) lines: Option<&'c mpsc::Sender<Bytes>>,
}

/// The last call of each endpoint of each tab.
type LastCalls = HashMap<(Who, &'static str), Weak<Cancel>>;

/// All calls of the process.
#[derive(Debug)]
pub(super) struct Jobs {
    /// For calls of this process, and those with large bodies among them.
    own: Lane,
    large: Lane,
    /// For calls on models as they begin, and for those that take long.
    light: Lane,
    heavy: Lane,
    long: Lane,
    last: Mutex<LastCalls>,
    stopping: watch::Receiver<bool>,
}

impl Jobs {
    pub(super) fn new(stopping: watch::Receiver<bool>) -> Self {
        Self {
            own: Lane::new(LIGHT_CALLS_MAX, Each::Any),
            large: Lane::new(1, Each::Any),
            light: Lane::new(SHORT_MODEL_CALLS_MAX, Each::Any),
            heavy: Lane::new(SHORT_MODEL_CALLS_MAX, Each::Any),
            long: Lane::new(JOBS_MAX, Each::One),
            last: Mutex::default(),
            stopping,
        }
    }

    /// Runs a call of this process with a body of this size, few at a time, and only one with a large body.
    /// What it made takes memory, so the next one begins when `keep` has taken it.
    pub(super) async fn run_own<T: Send + 'static, K>(
        &self,
        who: &Who,
        body_bytes: usize,
        work: impl FnOnce() -> T + Send + 'static,
        keep: impl FnOnce(T) -> Result<K, Refusal>,
    ) -> Result<K, Refusal> {
        let large =
            if body_bytes > LIGHT_BODY_BYTES_MAX { Some(turn(&self.large, who).await?) } else { None };
        let places = (turn(&self.own, who).await?, large);
        let running = tokio::task::spawn_blocking(move || {
            // Until its thread is free, even if its client has left.
            let places = places;
            (work(), places)
        });
        let (made, _places) = running.await.map_err(|_panic| internal())?;
        keep(made)
    }

    /// Runs a light call on models. A stop of the server ends it.
    pub(super) async fn run_light<T>(
        &self,
        work: impl Future<Output = Result<T, Refusal>>,
    ) -> Result<T, Refusal> {
        let mut stopping = self.stopping.clone();
        tokio::select! {
            _ = stopping.wait_for(|stops| *stops) => Err(cancelled()),
            outcome = work => outcome,
        }
    }

    /// Executes a call on models in its turn. `execute` is called again with the same body if the call must
    /// begin anew; the body goes when that can no longer be.
    pub(super) async fn run<T, W>(
        &self,
        by: &Run<'_>,
        body: Bytes,
        execute: impl Fn(Bytes) -> W,
    ) -> Result<T, Refusal>
    where
        W: Future<Output = Result<T, Refusal>>,
    {
        let (lane, turn_ms) = match by.pace {
            Pace::Light => (&self.light, LIGHT_TURN_MS_MAX),
            Pace::Heavy => (&self.heavy, HEAVY_TURN_MS_MAX),
            Pace::Changing => {
                let _place = by.wait(&self.long).await?;
                return execute(body).await;
            }
        };
        let place = by.wait(lane).await?;
        {
            let mut running = std::pin::pin!(execute(body.clone()));
            tokio::select! {
                outcome = running.as_mut() => return outcome,
                () = tokio::time::sleep(Duration::from_millis(turn_ms)) => {}
            }
            if let Some(_long) = self.long.try_enter(by.who) {
                drop((place, body));
                return running.await;
            }
        }
        drop(place);
        let _long = by.wait(&self.long).await?;
        execute(body).await
    }

    /// Starts a job and returns its lines; the last is the job's result.
    pub(super) fn start<W>(
        &self,
        who: &Who,
        endpoint: &'static str,
        activity: Arc<Activity>,
        work: impl FnOnce(mpsc::Sender<Bytes>, Arc<Cancel>) -> W,
    ) -> Lines
    where
        W: Future<Output = Result<Bytes, Refusal>> + Send + 'static,
    {
        let (sender, receiver) = mpsc::channel(STREAM_LINES_MAX);
        let cancel = Arc::new(Cancel::default());
        self.end_older(who, endpoint, &cancel);
        let (ended, mut stopping) = (Arc::clone(&cancel), self.stopping.clone());
        let work = work(sender.clone(), Arc::clone(&ended));
        tokio::spawn(async move {
            // It goes on until it has ended, though its client gets the last line before.
            let running = tokio::spawn(work);
            let outcome = tokio::select! {
                () = ended.wait() => Err(cancelled()),
                _ = stopping.wait_for(|stops| *stops) => {
                    ended.set();
                    Err(cancelled())
                }
                outcome = running => outcome.unwrap_or_else(|_panic| Err(internal())),
            };
            let last =
                outcome.unwrap_or_else(|refusal| Bytes::from(format!("{}\n", refusal.json().compact())));
            // Its client may have left.
            let _ = sender.send(last).await;
        });
        Lines { receiver, cancel, activity, has_begun: false, counted: None }
    }

    /// Notes a tab's call and ends the one before it to the same endpoint.
    fn end_older(&self, who: &Who, endpoint: &'static str, cancel: &Arc<Cancel>) {
        if matches!(who.tab, Tab::Connection(_)) {
            return;
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.len() >= TABS_MAX {
            last.retain(|_, cancel| cancel.strong_count() > 0);
        }
        let older = last.insert((who.clone(), endpoint), Arc::downgrade(cancel));
        if let Some(older) = older.and_then(|older| older.upgrade()) {
            older.set();
        }
    }
}

impl Run<'_> {
    /// Waits for a turn, unless the call is cancelled before.
    async fn wait(&self, lane: &Lane) -> Result<Place, Refusal> {
        let mut waiting = std::pin::pin!(turn(lane, self.who));
        if let Some(place) = poll_immediate(waiting.as_mut()).await {
            return place;
        }
        if let Some(lines) = self.lines {
            let _ = lines.try_send(Bytes::from(progress("waiting", None)));
        }
        tokio::select! {
            () = self.cancel.wait() => Err(cancelled()),
            place = waiting => place,
        }
    }
}

async fn turn(lane: &Lane, who: &Who) -> Result<Place, Refusal> {
    let time = Duration::from_secs(JOB_WAIT_SECONDS_MAX);
    tokio::time::timeout(time, lane.enter(who)).await.unwrap_or_else(|_elapsed| Err(waited()))
}

fn waited() -> Refusal {
    Refusal::new(Kind::Busy, "other calls run: try again later")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::join_all;

    use super::super::lanes::Account;
    use super::*;
    use keywright_connection::client::Address;

    fn activity() -> Arc<Activity> {
        Arc::new(Activity::new())
    }

    fn who(tab: &str) -> Who {
        let account = Account::Address(Address::of([127, 0, 0, 1].into()));
        Who { account, tab: Tab::Named { session: None, name: tab.to_owned() } }
    }

    async fn last(mut lines: Lines) -> String {
        let mut last = String::new();
        while let Some(line) = lines.receiver.recv().await {
            last = String::from_utf8(line.to_vec()).unwrap();
        }
        last
    }

    type Working = futures_util::future::BoxFuture<'static, Result<Bytes, Refusal>>;

    fn done(text: &'static str) -> impl FnOnce(mpsc::Sender<Bytes>, Arc<Cancel>) -> Working {
        move |_, _| Box::pin(async move { Ok(Bytes::from(text)) })
    }

    /// A job that goes on until it is ended, and says when it began and ended.
    fn endless(
        begun: mpsc::Sender<&'static str>,
    ) -> impl FnOnce(mpsc::Sender<Bytes>, Arc<Cancel>) -> Working {
        move |lines, cancel| {
            Box::pin(async move {
                begun.try_send("begun").unwrap();
                // A test may have ended, and with it who reads this.
                let _unread = lines.try_send(Bytes::from(progress("working", Some((1, 2)))));
                cancel.wait().await;
                let _unheard = begun.try_send("ended");
                Err(cancelled())
            })
        }
    }

    fn jobs() -> (watch::Sender<bool>, Jobs) {
        let (stop, stopping) = watch::channel(false);
        (stop, Jobs::new(stopping))
    }

    /// Runs a call for this tab.
    async fn run<W>(
        jobs: &Jobs,
        tab: &str,
        pace: Pace,
        execute: impl Fn(Bytes) -> W,
    ) -> Result<&'static str, Refusal>
    where
        W: Future<Output = Result<&'static str, Refusal>>,
    {
        let (who, cancel) = (who(tab), Cancel::default());
        let by = Run { who: &who, pace, cancel: &cancel, lines: None };
        jobs.run(&by, Bytes::from_static(b"body"), execute).await
    }

    async fn for_ever(_: Bytes) -> Result<&'static str, Refusal> {
        std::future::pending().await
    }

    #[tokio::test]
    async fn own_calls_run_few_at_a_time_and_one_with_a_large_body() {
        let (_stop, jobs) = jobs();
        for (bytes, most_at_a_time) in [(0, LIGHT_CALLS_MAX), (LIGHT_BODY_BYTES_MAX + 1, 1)] {
            let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let who = who("a");
            let calls = (0..3 * LIGHT_CALLS_MAX).map(|_| {
                let (running, most) = (Arc::clone(&running), Arc::clone(&most));
                let work = move || {
                    most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(20));
                    running.fetch_sub(1, Ordering::SeqCst);
                };
                jobs.run_own(&who, bytes, work, Ok)
            });
            assert!(join_all(calls).await.iter().all(Result::is_ok));
            assert_eq!(most.load(Ordering::SeqCst), most_at_a_time);
        }
    }

    #[tokio::test]
    async fn a_job_ends_when_its_lines_are_dropped() {
        let (_stop, jobs) = jobs();
        let (sender, mut events) = mpsc::channel(4);
        let lines = jobs.start(&who("a"), "check", activity(), endless(sender));
        assert_eq!(events.recv().await, Some("begun"));
        drop(lines);
        assert_eq!(events.recv().await, Some("ended"));
    }

    #[tokio::test]
    async fn a_newer_call_of_the_tab_ends_the_older_one_and_none_of_another_session() {
        let (_stop, jobs) = jobs();
        let (sender, mut events) = mpsc::channel(4);
        let older = jobs.start(&who("a"), "check", activity(), endless(sender));
        assert_eq!(events.recv().await, Some("begun"));
        let tab = Tab::Named { session: Some(7), name: "a".to_owned() };
        let other = Who { tab, ..who("a") };
        assert_eq!(last(jobs.start(&other, "check", activity(), done("other\n"))).await, "other\n");
        assert!(events.try_recv().is_err(), "it goes on");
        let newer = jobs.start(&who("a"), "check", activity(), done("new\n"));
        assert!(last(older).await.contains("cancelled"));
        assert_eq!(last(newer).await, "new\n");
        assert_eq!(events.recv().await, Some("ended"));
    }

    #[tokio::test]
    async fn short_calls_do_not_wait_for_long_ones() {
        let (_stop, jobs) = jobs();
        let mut long: Vec<_> =
            ["a", "b", "c"].map(|tab| Box::pin(run(&jobs, tab, Pace::Heavy, for_ever))).into();
        for call in &mut long {
            assert!(poll_immediate(call.as_mut()).await.is_none());
        }
        // Two go on in places of their own, the third waits for one. Each had its moment.
        let turns = Duration::from_millis(3 * HEAVY_TURN_MS_MAX + 1_000);
        let short = tokio::time::timeout(turns, run(&jobs, "d", Pace::Heavy, async |_| Ok("short")));
        tokio::select! {
            _ = join_all(long.iter_mut()) => panic!("they have no end"),
            outcome = short => assert_eq!(outcome, Ok(Ok("short"))),
        }
        assert!(jobs.long.try_enter(&who("d")).is_none());
        drop(long);
        assert!(jobs.long.try_enter(&who("d")).is_some(), "who leaves gives its place back");
    }

    #[tokio::test]
    async fn a_long_call_begins_anew_if_it_has_to_wait_and_gives_its_body_back_when_it_need_not() {
        let (_stop, jobs) = jobs();
        let others = ["a", "b"].map(|tab| jobs.long.try_enter(&who(tab)).unwrap());
        let attempts = AtomicUsize::new(0);
        let body = Bytes::from(vec![b'x'; 100]);
        let execute = |_: Bytes| {
            let is_first = attempts.fetch_add(1, Ordering::SeqCst) == 0;
            async move {
                if is_first {
                    std::future::pending::<()>().await;
                }
                tokio::task::yield_now().await;
                Ok("done")
            }
        };
        let (who, cancel) = (who("c"), Cancel::default());
        let by = Run { who: &who, pace: Pace::Heavy, cancel: &cancel, lines: None };
        let mut call = std::pin::pin!(jobs.run(&by, body.clone(), execute));
        let turn = Duration::from_millis(HEAVY_TURN_MS_MAX + 200);
        assert!(tokio::time::timeout(turn, call.as_mut()).await.is_err());
        assert!(!body.is_unique(), "it is needed again");
        drop(others);
        assert!(poll_immediate(call.as_mut()).await.is_none());
        assert_eq!(attempts.load(Ordering::SeqCst), 2);
        assert!(body.is_unique(), "the process has it");
        assert_eq!(call.await, Ok("done"));
    }

    #[tokio::test]
    async fn a_call_that_waits_ends_when_it_is_cancelled() {
        let (_stop, jobs) = jobs();
        let _others = ["a", "b"].map(|tab| jobs.long.try_enter(&who(tab)).unwrap());
        let (who, cancel) = (who("c"), Cancel::default());
        let (lines, mut said) = mpsc::channel(1);
        let by = Run { who: &who, pace: Pace::Changing, cancel: &cancel, lines: Some(&lines) };
        let mut call = std::pin::pin!(jobs.run(&by, Bytes::new(), for_ever));
        assert!(poll_immediate(call.as_mut()).await.is_none());
        assert_eq!(said.recv().await.unwrap(), "{\"progress\":{\"what\":\"waiting\"}}\n");
        cancel.set();
        assert_eq!(call.await, Err(cancelled()));
    }

    #[tokio::test]
    async fn a_job_that_panics_is_an_internal_error() {
        let (_stop, jobs) = jobs();
        let lines = jobs.start(&who("a"), "check", activity(), |_, _| async { panic!("a defect") });
        assert!(last(lines).await.contains("\"internal\""));
    }

    #[tokio::test]
    async fn a_stop_of_the_server_ends_light_calls_and_those_that_wait() {
        let (stop, jobs) = jobs();
        let calls = ["a", "b"].map(|tab| jobs.run_light(run(&jobs, tab, Pace::Light, for_ever)));
        let mut calls = std::pin::pin!(join_all(calls));
        assert!(poll_immediate(calls.as_mut()).await.is_none());
        stop.send_replace(true);
        assert_eq!(calls.await, [Err(cancelled()), Err(cancelled())]);
    }

    #[tokio::test]
    async fn a_stop_of_the_server_ends_jobs() {
        let (stop, jobs) = jobs();
        let (sender, mut events) = mpsc::channel(4);
        let lines = jobs.start(&who("a"), "check", activity(), endless(sender));
        assert_eq!(events.recv().await, Some("begun"));
        stop.send_replace(true);
        assert!(last(lines).await.contains("cancelled"));
    }
}
