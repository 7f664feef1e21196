//! Calls on models: few at a time, with progress, and ended when nobody waits for them.
//!
//! One long call, a job, of a tab runs at a time and two in the process. A newer call of a tab to the same
//! endpoint ends the older one. It does not know how a call is executed (`workers`).

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::poll_immediate;
use keywright_model::json::Json;
use tokio::sync::{Notify, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore, mpsc, watch};

use super::refusal::{Kind, Refusal};
use super::reply::Lines;
use crate::idle_timeout::Activity;
use crate::limits::{
    JOB_WAIT_SECONDS_MAX, JOBS_MAX, LIGHT_BODY_BYTES_MAX, LIGHT_CALLS_MAX, LIGHT_MODEL_CALLS_MAX,
    STREAM_LINES_MAX, TABS_MAX,
};

/// Whether a job must end.
#[derive(Debug, Default)]
pub(super) struct Cancel {
    is_set: AtomicBool,
    changed: Notify,
}

impl Cancel {
    pub(super) fn set(&self) {
        self.is_set.store(true, Ordering::SeqCst);
        self.changed.notify_waiters();
    }

    pub(super) async fn wait(&self) {
        loop {
            // From here on it hears of a change.
            let changed = self.changed.notified();
            if self.is_set.load(Ordering::SeqCst) {
                return;
            }
            changed.await;
        }
    }
}

/// A line of progress.
pub(super) fn progress(what: &str, counted: Option<(usize, usize)>) -> Vec<u8> {
    let mut own = Json::object([("what", Json::text(what))]);
    if let Some((done, of)) = counted {
        own.set("done", Json::number(done));
        own.set("of", Json::number(of));
    }
    format!("{}\n", Json::object([("progress", own)]).compact()).into_bytes()
}

/// The jobs of one tab.
#[derive(Debug, Default)]
struct Tab {
    turn: Arc<tokio::sync::Mutex<()>>,
    /// The last call of each endpoint.
    last: HashMap<&'static str, Arc<Cancel>>,
}

/// All calls of the process.
#[derive(Debug)]
pub(super) struct Jobs {
    places: Arc<Semaphore>,
    /// For calls of this process, and for light calls on models.
    own_places: Arc<Semaphore>,
    light_places: Arc<Semaphore>,
    tabs: Mutex<HashMap<String, Tab>>,
    stopping: watch::Receiver<bool>,
}

/// What a running job holds.
type Places = (Option<OwnedMutexGuard<()>>, Option<OwnedSemaphorePermit>);

impl Jobs {
    pub(super) fn new(stopping: watch::Receiver<bool>) -> Self {
        let places = |count| Arc::new(Semaphore::new(count));
        Self {
            places: places(JOBS_MAX),
            own_places: places(LIGHT_CALLS_MAX),
            light_places: places(LIGHT_MODEL_CALLS_MAX),
            tabs: Mutex::default(),
            stopping,
        }
    }

    /// Runs a call of this process with a body of this size, few at a time; one with a large body alone.
    pub(super) async fn run_own<T: Send + 'static>(
        &self,
        body_bytes: usize,
        work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let count = if body_bytes > LIGHT_BODY_BYTES_MAX { LIGHT_CALLS_MAX } else { 1 };
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let taken = Arc::clone(&self.own_places).acquire_many_owned(count).await;
        let places = taken.map_err(|_closed| internal())?;
        let running = tokio::task::spawn_blocking(move || {
            // Until its thread is free, even if its client has left.
            let _places = places;
            work()
        });
        running.await.unwrap_or_else(|_panic| Err(internal()))
    }

    /// Runs a light call on models in its turn. A stop of the server ends it.
    pub(super) async fn run_light<T>(
        &self,
        work: impl Future<Output = Result<T, Refusal>>,
    ) -> Result<T, Refusal> {
        let mut stopping = self.stopping.clone();
        let run = async {
            let time = Duration::from_secs(JOB_WAIT_SECONDS_MAX);
            let place = tokio::time::timeout(time, self.light_places.acquire()).await;
            let _place = place.map_err(|_elapsed| waited())?.map_err(|_closed| internal())?;
            work.await
        };
        tokio::select! {
            _ = stopping.wait_for(|stops| *stops) => Err(cancelled()),
            outcome = run => outcome,
        }
    }

    /// Starts a job and returns its lines; the last is the job's result.
    pub(super) fn start<W>(
        &self,
        tab: Option<&str>,
        endpoint: &'static str,
        activity: Arc<Activity>,
        work: impl FnOnce(mpsc::Sender<Bytes>, Arc<Cancel>) -> W + Send + 'static,
    ) -> Lines
    where
        W: Future<Output = Result<Bytes, Refusal>> + Send + 'static,
    {
        let (sender, receiver) = mpsc::channel(STREAM_LINES_MAX);
        let cancel = Arc::new(Cancel::default());
        let turn = tab.map(|tab| self.enter(tab, endpoint, &cancel));
        let (places, ended, mut stopping) =
            (Arc::clone(&self.places), Arc::clone(&cancel), self.stopping.clone());
        tokio::spawn(async move {
            let run = async {
                let places = wait(turn, places, &sender).await?;
                let work = work(sender.clone(), Arc::clone(&ended));
                // It goes on until it has ended, though its client gets the last line before.
                let running = tokio::spawn(async move {
                    let _held = places;
                    work.await
                });
                running.await.unwrap_or_else(|_panic| Err(internal()))
            };
            let outcome = tokio::select! {
                () = ended.wait() => Err(cancelled()),
                _ = stopping.wait_for(|stops| *stops) => {
                    ended.set();
                    Err(cancelled())
                }
                outcome = run => outcome,
            };
            let last =
                outcome.unwrap_or_else(|refusal| Bytes::from(format!("{}\n", refusal.json().compact())));
            // Its client may have left.
            let _ = sender.send(last).await;
        });
        Lines { receiver, cancel, activity, has_begun: false }
    }

    /// Notes a tab's call, ends the one before it to the same endpoint, and returns the tab's turn.
    fn enter(&self, tab: &str, endpoint: &'static str, cancel: &Arc<Cancel>) -> Arc<tokio::sync::Mutex<()>> {
        let mut tabs = self.tabs.lock().unwrap_or_else(PoisonError::into_inner);
        if tabs.len() >= TABS_MAX {
            tabs.retain(|_, tab| Arc::strong_count(&tab.turn) > 1);
        }
        let tab = tabs.entry(tab.to_owned()).or_default();
        if let Some(older) = tab.last.insert(endpoint, Arc::clone(cancel)) {
            older.set();
        }
        Arc::clone(&tab.turn)
    }
}

/// Waits for the tab's turn and a place in the process.
async fn wait(
    turn: Option<Arc<tokio::sync::Mutex<()>>>,
    places: Arc<Semaphore>,
    lines: &mpsc::Sender<Bytes>,
) -> Result<Places, Refusal> {
    let mut waiting = std::pin::pin!(async {
        let turn = match turn {
            Some(turn) => Some(turn.lock_owned().await),
            None => None,
        };
        (turn, places.acquire_owned().await.ok())
    });
    if let Some(places) = poll_immediate(waiting.as_mut()).await {
        return Ok(places);
    }
    let _ = lines.try_send(Bytes::from(progress("waiting", None)));
    let time = Duration::from_secs(JOB_WAIT_SECONDS_MAX);
    tokio::time::timeout(time, waiting).await.map_err(|_elapsed| waited())
}

fn waited() -> Refusal {
    Refusal::new(Kind::Busy, "other long calls run: try again later")
}

pub(super) fn cancelled() -> Refusal {
    Refusal::new(Kind::Cancelled, "the call was cancelled")
}

pub(super) fn internal() -> Refusal {
    Refusal::new(Kind::Internal, "something went wrong in the server: its log says more")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    fn activity() -> Arc<Activity> {
        Arc::new(Activity::new())
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

    #[tokio::test]
    async fn own_calls_run_few_at_a_time() {
        let jobs = Jobs::new(watch::channel(false).1);
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let calls = (0..3 * LIGHT_CALLS_MAX).map(|_| {
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            jobs.run_own(0, move || {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(20));
                running.fetch_sub(1, Ordering::SeqCst);
                Ok(())
            })
        });
        let done = futures_util::future::join_all(calls).await;
        assert!(done.iter().all(Result::is_ok));
        assert_eq!(most.load(Ordering::SeqCst), LIGHT_CALLS_MAX);
    }

    #[tokio::test]
    async fn an_own_call_with_a_large_body_runs_alone() {
        let jobs = Jobs::new(watch::channel(false).1);
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let calls = [0, LIGHT_BODY_BYTES_MAX + 1, 0, LIGHT_BODY_BYTES_MAX + 1].map(|bytes| {
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            jobs.run_own(bytes, move || {
                let others = running.fetch_add(1, Ordering::SeqCst);
                if bytes > 0 {
                    most.fetch_max(others, Ordering::SeqCst);
                }
                std::thread::sleep(Duration::from_millis(20));
                running.fetch_sub(1, Ordering::SeqCst);
                Ok(())
            })
        });
        let done = futures_util::future::join_all(calls).await;
        assert!(done.iter().all(Result::is_ok));
        assert_eq!(most.load(Ordering::SeqCst), 0);
    }

    #[tokio::test]
    async fn a_job_ends_when_its_lines_are_dropped() {
        let (_stop, jobs) = jobs();
        let (sender, mut events) = mpsc::channel(4);
        let lines = jobs.start(None, "check", activity(), endless(sender));
        assert_eq!(events.recv().await, Some("begun"));
        drop(lines);
        assert_eq!(events.recv().await, Some("ended"));
    }

    #[tokio::test]
    async fn a_newer_call_of_the_tab_ends_the_older_one_and_then_runs() {
        let (_stop, jobs) = jobs();
        let (sender, mut events) = mpsc::channel(4);
        let older = jobs.start(Some("a"), "check", activity(), endless(sender));
        assert_eq!(events.recv().await, Some("begun"));
        let newer = jobs.start(Some("a"), "check", activity(), done("new\n"));
        assert!(last(older).await.contains("cancelled"));
        assert_eq!(last(newer).await, "new\n");
        assert_eq!(events.recv().await, Some("ended"));
    }

    #[tokio::test]
    async fn two_jobs_run_at_a_time_and_the_third_waits() {
        let (_stop, jobs) = jobs();
        let (sender, mut events) = mpsc::channel(8);
        let running: Vec<Lines> =
            ["a", "b"].map(|tab| jobs.start(Some(tab), "check", activity(), endless(sender.clone()))).into();
        assert_eq!((events.recv().await, events.recv().await), (Some("begun"), Some("begun")));
        let mut third = jobs.start(Some("c"), "check", activity(), done("third\n"));
        let first = third.receiver.recv().await.unwrap();
        assert_eq!(first, "{\"progress\":{\"what\":\"waiting\"}}\n");
        drop(running);
        assert_eq!(last(third).await, "third\n");
    }

    #[tokio::test]
    async fn a_job_that_panics_is_an_internal_error() {
        let (_stop, jobs) = jobs();
        let lines = jobs.start(None, "check", activity(), |_, _| async { panic!("a defect") });
        assert!(last(lines).await.contains("\"internal\""));
    }

    #[tokio::test]
    async fn a_stop_of_the_server_ends_light_calls_and_those_that_wait() {
        let (stop, jobs) = jobs();
        let calls = [
            jobs.run_light(std::future::pending::<Result<(), Refusal>>()),
            jobs.run_light(std::future::pending()),
        ];
        let mut calls = std::pin::pin!(futures_util::future::join_all(calls));
        assert!(poll_immediate(calls.as_mut()).await.is_none());
        stop.send_replace(true);
        assert_eq!(calls.await, [Err(cancelled()), Err(cancelled())]);
    }

    #[tokio::test]
    async fn a_stop_of_the_server_ends_jobs() {
        let (stop, jobs) = jobs();
        let (sender, mut events) = mpsc::channel(4);
        let lines = jobs.start(None, "check", activity(), endless(sender));
        assert_eq!(events.recv().await, Some("begun"));
        stop.send_replace(true);
        assert!(last(lines).await.contains("cancelled"));
    }
}
