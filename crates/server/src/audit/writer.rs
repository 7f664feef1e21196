//! The thread that writes the log, and the queue before it.
//!
//! Requests put their records into one bounded queue, so the log has their order. The thread writes what
//! waits as one group. Records that must be on disk before their answers leave share one sync.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{Mutex, mpsc, oneshot};

use super::backwards::length;
use super::file::{self, LogFile, is_empty, set_aside};
use super::form::Form;
use super::newest::{Newest, Wanted, newest};
use super::record;
use super::rotation::{closed_name, tidy_up};
use super::settings::{AuditSettings, DataEvents, Keep};
use crate::limits::{AUDIT_GROUP_MAX, AUDIT_QUEUE_MAX, AUDIT_RETRY_MS};
use crate::process::environment;
use crate::process::failure::Failure;

/// Ends the name of the file next to the log by which a full disk is noticed.
const PROBE: &str = ".probe";

/// When a record is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// It is on disk before the request is answered.
    BeforeAnswer,
    /// In the order of requests, and soon.
    InTurn,
}

/// Lines of one request.
struct Message {
    lines: Vec<u8>,
    records: u64,
    /// Who waits until the lines are on disk; it learns whether they are.
    done: Option<oneshot::Sender<bool>>,
}

/// What metrics say of the log.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    written: AtomicU64,
    missing: AtomicU64,
    is_failing: AtomicBool,
}

impl Figures {
    /// Records written, and records that could not be.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.written.load(Ordering::Relaxed), self.missing.load(Ordering::Relaxed))
    }

    /// Whether the last attempt to write failed.
    pub(crate) fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Acquire)
    }
}

/// Lines in the queue.
#[derive(Debug)]
pub(crate) struct Queued {
    outcome: Option<oneshot::Receiver<bool>>,
    is_in_order: bool,
}

impl Queued {
    /// Whether they were written, as far as their order says when.
    pub(crate) async fn written(self) -> bool {
        match self.outcome {
            Some(outcome) => outcome.await.unwrap_or(false),
            None => self.is_in_order,
        }
    }
}

/// The audit log of this process.
#[derive(Debug)]
pub(crate) struct Audit {
    queue: mpsc::Sender<Message>,
    figures: Arc<Figures>,
    data: DataEvents,
    is_required: bool,
    path: PathBuf,
    form: Form,
    /// One search at a time: each reads much.
    searching: Mutex<()>,
}

impl Audit {
    /// Opens the log and starts its thread. On a full disk an encrypted log cannot be begun; the server
    /// starts as with a plain one, which cannot be written.
    pub(crate) fn start(settings: AuditSettings, form: Form) -> Result<Self, Failure> {
        let figures = Arc::new(Figures::default());
        let (queue, messages) = mpsc::channel(AUDIT_QUEUE_MAX);
        let AuditSettings { file, place: _, data, keep, is_required, file_bytes_max } = settings;
        let path = file.clone();
        let mut log = Log {
            path: file,
            form: form.clone(),
            keep,
            file_bytes_max,
            open: None,
            tidying: None,
            unreported: 0,
            is_suspect: false,
        };
        match log.open() {
            Err(error) if form.keyring().is_some() && is_full(&error) => {
                tracing::error!("{}", log.sentence(&error));
                log.is_suspect = true;
                figures.is_failing.store(true, Ordering::Release);
            }
            opened => opened.map_err(|error| Failure::new(log.sentence(&error)))?,
        }
        if let Err(error) = log.probe() {
            tracing::error!("{}", log.sentence(&error));
            figures.is_failing.store(true, Ordering::Release);
        }
        log.tidy_up();
        let writer = Writer { log, figures: Arc::clone(&figures) };
        let runtime = Handle::current();
        std::thread::Builder::new()
            .name("audit-log".to_owned())
            .spawn(move || writer.run(messages, &runtime))
            .map_err(|error| Failure::new(format!("cannot start the thread of the audit log: {error}")))?;
        Ok(Self { queue, figures, data, is_required, path, form, searching: Mutex::new(()) })
    }

    /// The newest changes of a table that the log has.
    pub(crate) async fn newest(&self, wanted: &Wanted) -> io::Result<Newest> {
        let _turn = self.searching.lock().await;
        tokio::task::block_in_place(|| newest((&self.path, &self.form), wanted))
    }

    /// Puts the lines of one request into the queue.
    pub(crate) async fn put(&self, lines: Vec<u8>, records: u64, order: Order) -> Queued {
        assert!(!lines.is_empty() && records > 0, "only records are written");
        let (done, outcome) = match order {
            Order::BeforeAnswer => {
                let (done, outcome) = oneshot::channel();
                (Some(done), Some(outcome))
            }
            Order::InTurn => (None, None),
        };
        let is_taken = self.queue.send(Message { lines, records, done }).await.is_ok();
        Queued { outcome, is_in_order: is_taken && !self.figures.is_failing() }
    }

    /// Puts the lines of one request into the queue if it has a place; else they count as missing.
    pub(crate) fn put_now(&self, lines: Vec<u8>, records: u64) {
        assert!(!lines.is_empty() && records > 0, "only records are written");
        if self.queue.try_send(Message { lines, records, done: None }).is_err() {
            self.figures.missing.fetch_add(records, Ordering::Relaxed);
        }
    }

    /// Writes all that waits, and gives the file the newest key of an encrypted folder.
    pub(crate) async fn finish(&self) {
        let (done, outcome) = oneshot::channel();
        let last = Message { lines: Vec::new(), records: 0, done: Some(done) };
        if self.queue.send(last).await.is_ok() {
            // The thread logs what it cannot write.
            let _is_written = outcome.await;
        }
    }

    /// Whether changes are refused, because they could not be recorded.
    pub(crate) fn refuses_changes(&self) -> bool {
        self.is_required && self.figures.is_failing()
    }

    pub(crate) const fn is_required(&self) -> bool {
        self.is_required
    }

    pub(crate) const fn data(&self) -> &DataEvents {
        &self.data
    }

    pub(crate) fn figures(&self) -> &Figures {
        &self.figures
    }
}

struct Writer {
    log: Log,
    figures: Arc<Figures>,
}

impl Writer {
    /// Writes until the server has gone.
    fn run(mut self, mut messages: mpsc::Receiver<Message>, runtime: &Handle) {
        let mut group = Vec::new();
        loop {
            let took = if self.figures.is_failing() {
                let wait = Duration::from_millis(AUDIT_RETRY_MS);
                let received = messages.recv_many(&mut group, AUDIT_GROUP_MAX);
                // No message in time: an attempt to write tells whether the log can be written again.
                runtime.block_on(async { tokio::time::timeout(wait, received).await }).ok()
            } else {
                Some(messages.blocking_recv_many(&mut group, AUDIT_GROUP_MAX))
            };
            if took == Some(0) {
                return;
            }
            self.write(&mut group);
        }
    }

    fn write(&mut self, group: &mut Vec<Message>) {
        let records = group.iter().map(|message| message.records).sum();
        let is_awaited = group.iter().any(|message| message.done.is_some());
        let is_written = match self.log.append(group, is_awaited) {
            Ok(()) => {
                self.figures.written.fetch_add(records, Ordering::Relaxed);
                if self.figures.is_failing.swap(false, Ordering::AcqRel) {
                    tracing::warn!("the audit log is written again");
                }
                true
            }
            Err(error) => {
                self.log.unreported += records;
                self.figures.missing.fetch_add(records, Ordering::Relaxed);
                if !self.figures.is_failing.swap(true, Ordering::AcqRel) {
                    tracing::error!("{}", self.log.sentence(&error));
                }
                false
            }
        };
        for done in group.drain(..).filter_map(|message| message.done) {
            // A client that has gone does not wait.
            let _gone = done.send(is_written);
        }
    }
}

/// The open file and its closed predecessors.
struct Log {
    path: PathBuf,
    form: Form,
    keep: Keep,
    file_bytes_max: u64,
    open: Option<LogFile>,
    /// Compresses closed files.
    tidying: Option<JoinHandle<()>>,
    /// Records that could not be written, of which the log does not say it yet.
    unreported: u64,
    /// Whether writing failed since the log was last opened. What of it is on disk is not known, so an
    /// encrypted file does not go on.
    is_suspect: bool,
}

impl Log {
    fn sentence(&self, error: &io::Error) -> String {
        let path = self.path.display();
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir());
        match folder {
            // It is not made: a disk that is not mounted would not be missed.
            Some(folder) => {
                let folder = folder.display();
                format!(
                    "cannot write the audit log {path}: there is no folder {folder}; make it or correct --audit-log"
                )
            }
            // Another server writes it, and the error says what to do.
            None if error.kind() == io::ErrorKind::WouldBlock => {
                format!("cannot write the audit log {path}: {error}")
            }
            None => {
                format!("cannot write the audit log {path}: {error}; free the disk or correct --audit-log")
            }
        }
    }

    /// Opens the file. One that cannot go on is closed, and another one begun.
    fn open(&mut self) -> io::Result<()> {
        let now_ms = environment::now().0;
        if self.is_suspect && self.form.keyring().is_some() && self.path.exists() {
            // On a full disk there is no room for a copy of it.
            if is_empty(&self.path, &self.form) {
                std::fs::remove_file(&self.path)?;
            } else {
                set_aside(&self.path, &closed_name(&self.path, now_ms))?;
            }
        }
        let open = || LogFile::open(&self.path, &self.form, now_ms);
        let file = if let Some(file) = open()? {
            file
        } else {
            set_aside(&self.path, &closed_name(&self.path, now_ms))?;
            open()?.ok_or_else(closed)?
        };
        self.open = Some(file);
        self.is_suspect = false;
        Ok(())
    }

    /// Writes a file next to the log and removes it: a full disk is noticed before there is a record.
    fn probe(&self) -> io::Result<()> {
        let mut path = self.path.as_os_str().to_owned();
        path.push(PROBE);
        let path = PathBuf::from(path);
        let written = file::write_probe(&path);
        // One that could not be written may be there, without contents.
        let removed = fs::remove_file(&path);
        written.and(removed)
    }

    /// Appends a group, and syncs it if someone waits. Of a group that fails, lines may be
    /// there that stand in a file that was closed meanwhile; all of it counts as missing.
    fn append(&mut self, group: &[Message], is_awaited: bool) -> io::Result<()> {
        let appended = self.append_whole(group, is_awaited);
        if appended.is_err() {
            // What the system has of this file is not known: the next attempt opens it again.
            self.open = None;
            self.is_suspect = true;
        } else {
            self.unreported = 0;
        }
        appended
    }

    fn append_whole(&mut self, group: &[Message], is_awaited: bool) -> io::Result<()> {
        let now_ms = environment::now().0;
        if group.is_empty() && self.unreported == 0 {
            self.probe()?;
        }
        if self.open.as_ref().is_none_or(|file| !file.is_at(&self.path)) {
            self.open = None;
            self.open()?;
        }
        let mut lines = Vec::new();
        if self.unreported > 0 {
            lines = record::missing(self.unreported, now_ms);
        }
        for message in group {
            self.make_room(&mut lines, message.lines.len(), now_ms)?;
            lines.extend_from_slice(&message.lines);
        }
        let file = self.open.as_mut().ok_or_else(closed)?;
        file.append(&lines)?;
        if is_awaited { file.sync() } else { Ok(()) }
    }

    /// Closes the file if it is of an earlier day, or would become too large with further bytes. One under an
    /// older key of the folder is begun anew under the newest.
    fn make_room(&mut self, lines: &mut Vec<u8>, more: usize, now_ms: u64) -> io::Result<()> {
        let file = self.open.as_mut().ok_or_else(closed)?;
        let bytes = file.bytes() + length(lines.len());
        let is_full = bytes > 0 && bytes + length(more) > self.file_bytes_max;
        let is_over = is_full || file.is_of_earlier_day(now_ms);
        if !is_over && !file.is_outdated(&self.form) {
            return Ok(());
        }
        file.append(lines)?;
        lines.clear();
        file.sync()?;
        self.open = None;
        if is_over {
            set_aside(&self.path, &closed_name(&self.path, now_ms))?;
        }
        self.open()?;
        if is_over {
            self.tidy_up();
        }
        Ok(())
    }

    /// Compresses closed files on a thread of its own. Files that are closed meanwhile follow with the next.
    fn tidy_up(&mut self) {
        if self.tidying.as_ref().is_some_and(|tidying| !tidying.is_finished()) {
            return;
        }
        let (path, form, keep) = (self.path.clone(), self.form.clone(), self.keep);
        let now_ms = environment::now().0;
        let work = move || {
            if let Err(error) = tidy_up(&path, &form, keep, now_ms) {
                tracing::warn!("cannot compress or remove closed files of the audit log: {error}");
            }
        };
        // Without a thread they stay as they are until the next file is closed.
        self.tidying = std::thread::Builder::new().name("audit-files".to_owned()).spawn(work).ok();
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn closed() -> io::Error {
    io::Error::other("the file is closed")
}
