//! Standard error: log lines, panics, and messages for the person at the terminal.
//!
//! Invariant: standard error that cannot be written (closed, full, or not read) neither ends nor delays a
//! request. A server hands its lines to one thread through a bounded queue; lines that find it full are
//! dropped and counted. Commands have no such thread: they write directly and ignore failures.
//!
//! It does not know the content of the lines, but that some of it is foreign: no control character but a line
//! break reaches standard error.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, ErrorKind, Write};
use std::panic::PanicHookInfo;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::fmt::format::debug_fn;

use super::{foreign, timestamp};

/// Length of the queue. With `LINE_BYTES_MAX` its lines take at most 8 MiB.
const LINES_MAX: usize = 1024;
/// Longer lines are truncated.
const LINE_BYTES_MAX: usize = 8 * 1024;
/// Number and length of the waits for an empty queue at the end of the process: a second in all.
const FINISH_TRIES: u32 = 200;
const FINISH_RETRY: Duration = Duration::from_millis(5);
/// Delay before a write to a non-blocking descriptor is tried again.
const WRITE_RETRY: Duration = Duration::from_millis(10);

/// The field of an event that is written without its name.
const MESSAGE: &str = "message";

/// Set while a server runs.
static QUEUE: OnceLock<Queue> = OnceLock::new();

/// The form of the lines.
static FORMAT: OnceLock<LogFormat> = OnceLock::new();

/// The least level of messages that are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[expect(missing_docs, reason = "a text would be one of the command line")]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl LogLevel {
    const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

/// The form of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// The settings of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSettings {
    /// `None` for what `RUST_LOG` says, or warnings and errors.
    pub level: Option<LogLevel>,
    /// The format of the lines.
    pub format: LogFormat,
}

/// The form that was chosen at the start.
pub fn format() -> LogFormat {
    FORMAT.get().copied().unwrap_or(LogFormat::Text)
}

/// Starts the server's log.
pub fn start(settings: LogSettings) {
    let _already_chosen = FORMAT.set(settings.format);
    // Without a thread, lines are written directly.
    if let Ok(queue) = Queue::start(io::stderr()) {
        let _already_started = QUEUE.set(queue);
    }
    // The default hook writes directly and would block the panicking thread on the reader.
    std::panic::set_hook(Box::new(|panic| line(&describe(panic))));
    let filter = match settings.level {
        Some(level) => EnvFilter::new(level.name()),
        None => EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn")),
    };
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(io::IsTerminal::is_terminal(&io::stderr()))
        // Otherwise a failed write is reported by a macro that panics.
        .log_internal_errors(false)
        .with_writer(|| LogWriter);
    match settings.format {
        LogFormat::Text => {
            let fields = debug_fn(|writer, field, value| {
                let text = format!("{value:?}");
                let shown = foreign::inline(&text);
                if field.name() == MESSAGE {
                    write!(writer, "{shown}")
                } else {
                    write!(writer, "{field}={shown}")
                }
            });
            log.fmt_fields(fields.delimited(" ")).init();
        }
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
}

/// Writes a text that ends with a line feed, or drops it.
pub fn line(text: &str) {
    put(&foreign::lines(text));
}

/// The same for text without foreign control characters.
fn put(text: &str) {
    match QUEUE.get() {
        Some(queue) => queue.push(text.as_bytes()),
        None => {
            let _unwritable = write_all(&mut io::stderr().lock(), text.as_bytes());
        }
    }
}

/// Waits until all lines are written, but not for a blocked reader.
pub fn finish() {
    if let Some(queue) = QUEUE.get() {
        queue.finish();
    }
}

/// The text of the default hook, on one line: the message of a panic can have foreign text.
fn describe(panic: &PanicHookInfo<'_>) -> String {
    let thread = std::thread::current();
    let place = panic.location().map_or_else(String::new, |place| format!(" at {place}"));
    let message = foreign::inline(panic.payload_as_str().unwrap_or("no message"));
    let mut text = format!("thread '{}' panicked{place}: {message}\n", thread.name().unwrap_or("<unnamed>"));
    let backtrace = Backtrace::capture();
    if backtrace.status() == BacktraceStatus::Captured {
        text.push_str(&backtrace.to_string());
    }
    match format() {
        LogFormat::Text => text,
        LogFormat::Json => {
            let line = serde_json::json!({"timestamp": timestamp::now(), "level": "ERROR", "message": text});
            format!("{line}\n")
        }
    }
}

/// The writer for `tracing`, which writes one line at a time.
struct LogWriter;

impl Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        match format() {
            // The fields are escaped; what is left are the colours of a terminal.
            LogFormat::Text => put(&text),
            LogFormat::Json => line(&text),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Counters that the thread and its callers share.
#[derive(Debug, Default)]
struct Counts {
    /// Lines queued and not yet written or dropped.
    pending: AtomicUsize,
    /// Lines dropped since the last report.
    lost: AtomicU64,
}

/// The queue of lines to the writing thread.
#[derive(Debug)]
struct Queue {
    lines: SyncSender<Vec<u8>>,
    counts: Arc<Counts>,
}

impl Queue {
    fn start(output: impl Write + Send + 'static) -> io::Result<Self> {
        let (lines, incoming) = sync_channel(LINES_MAX);
        let counts = Arc::new(Counts::default());
        let shared = Arc::clone(&counts);
        // Never joined, because a write can block for ever.
        std::thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || write_lines(&incoming, output, &shared))?;
        Ok(Self { lines, counts })
    }

    fn push(&self, line: &[u8]) {
        let mut bytes = line.get(..LINE_BYTES_MAX).unwrap_or(line).to_vec();
        if bytes.len() < line.len() {
            bytes.push(b'\n');
        }
        self.counts.pending.fetch_add(1, Ordering::AcqRel);
        if self.lines.try_send(bytes).is_err() {
            self.counts.pending.fetch_sub(1, Ordering::AcqRel);
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn finish(&self) {
        for _ in 0..FINISH_TRIES {
            if self.counts.pending.load(Ordering::Acquire) == 0 {
                return;
            }
            std::thread::sleep(FINISH_RETRY);
        }
    }
}

/// The writing thread. After a failure it tries the next line all the same: a full disk may have room again.
fn write_lines(incoming: &Receiver<Vec<u8>>, mut output: impl Write, counts: &Counts) {
    let mut reported = 0;
    for line in incoming {
        if write_all(&mut output, &line).is_err() {
            counts.lost.fetch_add(1, Ordering::Relaxed);
        } else {
            let lost = counts.lost.load(Ordering::Relaxed);
            let notice = format!(
                "keywright: {} log lines were lost because standard error could not be written\n",
                lost - reported
            );
            if lost > reported && write_all(&mut output, notice.as_bytes()).is_ok() {
                reported = lost;
            }
        }
        counts.pending.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Like `Write::write_all`, but it waits where the descriptor is non-blocking: a parent process may have made
/// it so, and half a line is worse than a late one.
fn write_all(output: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        match output.write(rest) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(WRITE_RETRY),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// A writer that fails on demand and otherwise keeps what is written.
    #[derive(Clone, Default)]
    struct Output(Arc<Mutex<(bool, Vec<u8>)>>);

    impl Output {
        fn fails(&self, fails: bool) {
            self.0.lock().unwrap().0 = fails;
        }

        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().1.clone()).unwrap()
        }
    }

    impl Write for Output {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut state = self.0.lock().unwrap();
            if state.0 {
                return Err(ErrorKind::StorageFull.into());
            }
            let length = bytes.len().min(7);
            state.1.extend_from_slice(&bytes[..length]);
            Ok(length)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_are_written_again_after_failures_and_dropped_ones_are_counted() {
        let output = Output::default();
        let queue = Queue::start(output.clone()).unwrap();
        output.fails(true);
        for _ in 0..3 {
            queue.push(b"lost\n");
        }
        queue.finish();
        output.fails(false);
        queue.push(b"written in pieces\n");
        queue.push(b"the last\n");
        queue.finish();
        assert_eq!(
            output.text(),
            "written in pieces\nkeywright: 3 log lines were lost because standard error could not be written\nthe last\n"
        );
    }

    #[test]
    fn a_blocked_reader_costs_lines_and_no_time() {
        let output = Output::default();
        let queue = Queue::start(output.clone()).unwrap();
        let asleep = output.0.lock().unwrap();
        for _ in 0..3 * LINES_MAX {
            queue.push(b"line\n");
        }
        let lost = queue.counts.lost.load(Ordering::Relaxed);
        assert!(lost >= u64::try_from(2 * LINES_MAX - 1).unwrap(), "{lost}");
        drop(asleep);
        queue.finish();
        assert!(output.text().starts_with("line\n"));
    }

    #[test]
    fn a_long_line_is_cut() {
        let output = Output::default();
        let queue = Queue::start(output.clone()).unwrap();
        queue.push(&vec![b'x'; 3 * LINE_BYTES_MAX]);
        queue.finish();
        assert_eq!(output.text().len(), LINE_BYTES_MAX + 1);
    }
}
