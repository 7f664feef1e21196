//! Long calls: on threads of their own, few at a time, with progress, and ended when nobody waits for them.
//!
//! One job of a tab runs at a time and two in the process. A newer call of a tab to the same endpoint ends
//! the older one. A job that is ended stops at its next sign of progress, by unwinding its thread: the models
//! that it runs are its own, so nothing is left half done.

use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::poll_immediate;
use keywright_model::json::Json;
use tokio::sync::{Notify, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore, mpsc, watch};

use super::refusal::{Kind, Refusal};
use super::reply::Lines;
use crate::environment;
use crate::idle_timeout::Activity;
use crate::limits::{
    JOB_WAIT_SECONDS_MAX, JOBS_MAX, LIGHT_BODY_BYTES_MAX, LIGHT_CALLS_MAX, PROGRESS_MS_MIN, STREAM_LINES_MAX,
    TABS_MAX,
};

/// Whether a job must end.
#[derive(Debug, Default)]
pub(super) struct Cancel {
    is_set: AtomicBool,
    changed: Notify,
}

impl Cancel {
    pub(super) fn set(&self) {
        self.is_set.store(true, Ordering::Relaxed);
        self.changed.notify_one();
    }

    async fn wait(&self) {
        while !self.is_set.load(Ordering::Relaxed) {
            self.changed.notified().await;
        }
    }
}

/// What ends a job's thread.
struct Stopped;

/// Takes the progress of a job.
pub(super) struct Reporter {
    lines: mpsc::Sender<Bytes>,
    cancel: Arc<Cancel>,
    stopping: watch::Receiver<bool>,
    /// When the last line was sent, and of what.
    last: Option<(Instant, String)>,
}

impl Reporter {
    /// Sends a line of progress if it is of something new or the last is old enough. Does not return if the
    /// job must end.
    pub(super) fn at(&mut self, what: &str, counted: Option<(usize, usize)>) {
        if self.cancel.is_set.load(Ordering::Relaxed) || *self.stopping.borrow() {
            resume_unwind(Box::new(Stopped));
        }
        let now = environment::instant();
        let is_old = |last: &Instant| now.duration_since(*last) >= Duration::from_millis(PROGRESS_MS_MIN);
        if self.last.as_ref().is_none_or(|(at, of)| of != what || is_old(at)) {
            self.last = Some((now, what.to_owned()));
            // A client that does not keep up misses a line.
            let _ = self.lines.try_send(progress(what, counted));
        }
    }
}

fn progress(what: &str, counted: Option<(usize, usize)>) -> Bytes {
    let mut own = Json::object([("what", Json::text(what))]);
    if let Some((done, of)) = counted {
        own.set("done", Json::number(done));
        own.set("of", Json::number(of));
    }
    line(&Json::object([("progress", own)]))
}

fn line(json: &Json) -> Bytes {
    Bytes::from(format!("{}\n", json.compact()))
}

/// The jobs of one tab.
#[derive(Debug, Default)]
struct Tab {
    turn: Arc<tokio::sync::Mutex<()>>,
    /// The last call of each endpoint.
    last: HashMap<&'static str, Arc<Cancel>>,
}

/// All jobs of the process.
#[derive(Debug)]
pub(super) struct Jobs {
    places: Arc<Semaphore>,
    light_places: Arc<Semaphore>,
    tabs: Mutex<HashMap<String, Tab>>,
    stopping: watch::Receiver<bool>,
}

/// What a running job holds.
type Places = (Option<OwnedMutexGuard<()>>, Option<OwnedSemaphorePermit>);

impl Jobs {
    pub(super) fn new(stopping: watch::Receiver<bool>) -> Self {
        let places = |count| Arc::new(Semaphore::new(count));
        let (places, light_places) = (places(JOBS_MAX), places(LIGHT_CALLS_MAX));
        Self { places, light_places, tabs: Mutex::default(), stopping }
    }

    /// Runs a light call with a body of this size, few at a time; one with a large body alone.
    pub(super) async fn run_light(
        &self,
        body_bytes: usize,
        work: impl FnOnce() -> Result<Json, Refusal> + Send + 'static,
    ) -> Result<Json, Refusal> {
        let count = if body_bytes > LIGHT_BODY_BYTES_MAX { LIGHT_CALLS_MAX } else { 1 };
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let taken = Arc::clone(&self.light_places).acquire_many_owned(count).await;
        let places = taken.map_err(|_closed| internal())?;
        let running = tokio::task::spawn_blocking(move || {
            // Until its thread is free, even if its client has left.
            let _places = places;
            work()
        });
        running.await.unwrap_or_else(|_panic| Err(internal()))
    }

    /// Starts a job and returns its lines.
    pub(super) fn start(
        &self,
        tab: Option<&str>,
        endpoint: &'static str,
        activity: Arc<Activity>,
        work: impl FnOnce(&mut Reporter) -> Result<Json, Refusal> + Send + 'static,
    ) -> Lines {
        let (sender, receiver) = mpsc::channel(STREAM_LINES_MAX);
        let cancel = Arc::new(Cancel::default());
        let turn = tab.map(|tab| self.enter(tab, endpoint, &cancel));
        let reporter = Reporter {
            lines: sender.clone(),
            cancel: Arc::clone(&cancel),
            stopping: self.stopping.clone(),
            last: None,
        };
        let (places, ended) = (Arc::clone(&self.places), Arc::clone(&cancel));
        tokio::spawn(async move {
            let run = async {
                let places = wait(turn, places, &sender).await?;
                run(work, reporter, places).await
            };
            let outcome = tokio::select! {
                () = ended.wait() => Err(cancelled()),
                outcome = run => outcome,
            };
            let last = match outcome {
                Ok(done) => Json::object([("done", done)]),
                Err(refusal) => refusal.json(),
            };
            // Its client may have left.
            let _ = sender.send(line(&last)).await;
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
    let _ = lines.try_send(progress("waiting", None));
    let time = Duration::from_secs(JOB_WAIT_SECONDS_MAX);
    tokio::time::timeout(time, waiting)
        .await
        .map_err(|_elapsed| Refusal::new(Kind::Busy, "other long calls run: try again later"))
}

/// Runs a job on a thread that may block. It holds its places until it has really ended.
async fn run(
    work: impl FnOnce(&mut Reporter) -> Result<Json, Refusal> + Send + 'static,
    mut reporter: Reporter,
    places: Places,
) -> Result<Json, Refusal> {
    let thread = tokio::task::spawn_blocking(move || {
        let _held = places;
        catch_unwind(AssertUnwindSafe(|| work(&mut reporter))).unwrap_or_else(|panic| Err(unwound(&*panic)))
    });
    thread.await.unwrap_or_else(|_| Err(internal()))
}

fn unwound(panic: &(dyn Any + Send)) -> Refusal {
    if panic.is::<Stopped>() { cancelled() } else { internal() }
}

fn cancelled() -> Refusal {
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

    /// A job that goes on until it is ended, and says when it began and ended.
    fn endless(begun: mpsc::Sender<&'static str>) -> impl FnOnce(&mut Reporter) -> Result<Json, Refusal> {
        struct Ends(mpsc::Sender<&'static str>);
        impl Drop for Ends {
            fn drop(&mut self) {
                // At the end of a test nobody may listen any more.
                let _unheard = self.0.try_send("ended");
            }
        }
        move |reporter| {
            begun.try_send("begun").unwrap();
            let _ends = Ends(begun);
            loop {
                reporter.at("working", Some((1, 2)));
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    fn jobs() -> (watch::Sender<bool>, Jobs) {
        let (stop, stopping) = watch::channel(false);
        (stop, Jobs::new(stopping))
    }

    #[tokio::test]
    async fn light_calls_run_few_at_a_time() {
        let jobs = Jobs::new(watch::channel(false).1);
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let calls = (0..3 * LIGHT_CALLS_MAX).map(|_| {
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            jobs.run_light(0, move || {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(20));
                running.fetch_sub(1, Ordering::SeqCst);
                Ok(Json::Null)
            })
        });
        let done = futures_util::future::join_all(calls).await;
        assert!(done.iter().all(Result::is_ok));
        assert_eq!(most.load(Ordering::SeqCst), LIGHT_CALLS_MAX);
    }

    #[tokio::test]
    async fn a_light_call_with_a_large_body_runs_alone() {
        let jobs = Jobs::new(watch::channel(false).1);
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let calls = [0, LIGHT_BODY_BYTES_MAX + 1, 0, LIGHT_BODY_BYTES_MAX + 1].map(|bytes| {
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            jobs.run_light(bytes, move || {
                let others = running.fetch_add(1, Ordering::SeqCst);
                if bytes > 0 {
                    most.fetch_max(others, Ordering::SeqCst);
                }
                std::thread::sleep(Duration::from_millis(20));
                running.fetch_sub(1, Ordering::SeqCst);
                Ok(Json::Null)
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
        let newer = jobs.start(Some("a"), "check", activity(), |_| Ok(Json::Null));
        assert!(last(older).await.contains("cancelled"));
        assert_eq!(last(newer).await, "{\"done\":null}\n");
        assert_eq!(events.recv().await, Some("ended"));
    }

    #[tokio::test]
    async fn two_jobs_run_at_a_time_and_the_third_waits() {
        let (_stop, jobs) = jobs();
        let (sender, mut events) = mpsc::channel(8);
        let running: Vec<Lines> =
            ["a", "b"].map(|tab| jobs.start(Some(tab), "check", activity(), endless(sender.clone()))).into();
        assert_eq!((events.recv().await, events.recv().await), (Some("begun"), Some("begun")));
        let mut third = jobs.start(Some("c"), "check", activity(), |_| Ok(Json::Bool(true)));
        let first = third.receiver.recv().await.unwrap();
        assert_eq!(first, "{\"progress\":{\"what\":\"waiting\"}}\n");
        drop(running);
        assert_eq!(last(third).await, "{\"done\":true}\n");
    }

    #[tokio::test]
    async fn a_job_that_panics_is_an_internal_error() {
        let (_stop, jobs) = jobs();
        let lines = jobs.start(None, "check", activity(), |_| panic!("a defect"));
        assert!(last(lines).await.contains("\"internal\""));
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
