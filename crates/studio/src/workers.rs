//! The processes that execute calls on models (`worker`): started when one is needed, kept for the next call,
//! ended with their client, after a time without use and with the program that started them.

use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::StatusCode;
use keywright_connection::request_head::RequestHead;
use keywright_model::json::Json;
use keywright_process::io_fault::Explained;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::cancel::Cancel;
use super::frames::{CHANGES, ERROR, HEAD_BYTES_MAX, Head, Kind, OK};
use super::jobs::Pace;
use super::portions::Answers;
use super::refusal::{self, Refusal, cancelled, internal};
use super::{Access, Api, Call, Called, Visit, tables};
use crate::limits::{
    MODEL_ANSWER_BYTES_MAX, MODEL_ASKED_BYTES_MAX, MODEL_PROCESS_BYTES_MAX, MODEL_PROCESS_IDLE_SECONDS_MAX,
    MODEL_PROCESSES_MAX,
};

/// What a call came to, as the client gets it.
#[derive(Debug)]
pub enum Ended {
    /// The result.
    Done(Bytes),
    /// Why there is none.
    Refused(StatusCode, Bytes),
}

/// A call on models, without its body.
#[derive(Clone)]
pub struct ModelCall {
    /// The name of the endpoint or tool.
    pub name: &'static str,
    /// Which processes are best for it.
    pub pace: Pace,
    /// Whose tables it may ask for; none if it may not.
    pub tables: Option<Asked>,
    /// The folder of models whose files it may read, if it is not that of all calls. A process serves calls
    /// of one folder alone.
    pub folder: Option<PathBuf>,
    /// How long it may take.
    pub time: Duration,
    /// How long it may go on after it was cancelled.
    pub grace: Duration,
    /// The memory of its answer.
    pub answers: Answers,
}

/// The database as one caller sees it.
#[derive(Clone)]
pub struct Asked {
    /// The database.
    pub api: Arc<dyn Api>,
    /// Whether it may be changed.
    pub access: Access,
    /// Who asks.
    pub visit: Visit,
}

/// Why there is no result.
enum Lost {
    /// The process has ended, or does not speak as it should.
    Process,
    Refused(Refusal),
}

impl From<io::Error> for Lost {
    fn from(_: io::Error) -> Self {
        Self::Process
    }
}

struct Process {
    child: Child,
    /// What it has last executed: the next call of the kind may find what it needs there.
    pace: Pace,
    folder: Option<PathBuf>,
    _counted: Counted,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// What has come of the next message's first line.
    line: Vec<u8>,
    /// Ends it, unless it is used before.
    end: Option<AbortHandle>,
}

/// One process more until this is dropped.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(all: &Arc<AtomicUsize>) -> Self {
        all.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(all))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Processes without a call, the last used at the end: what it knows of a model is of use to the next call.
type Idle = Arc<Mutex<Vec<Process>>>;

/// The processes of this program. How many calls there are at a time is their callers' matter.
pub struct Workers {
    /// What a process is started as.
    what: &'static str,
    /// The folder of calls that name none.
    folder: Option<PathBuf>,
    idle: Idle,
    all: Arc<AtomicUsize>,
}

impl Workers {
    /// Processes for the studio's calls.
    pub(super) fn of_studio() -> Self {
        Self::new(super::worker::STUDIO, None)
    }

    /// Processes for the tools of `keywright mcp`.
    pub fn of_tools(folder: PathBuf) -> Self {
        Self::new(super::worker::TOOLS, Some(folder))
    }

    fn new(what: &'static str, folder: Option<PathBuf>) -> Self {
        Self { what, folder, idle: Idle::default(), all: Arc::default() }
    }

    /// Executes a call, with its lines of progress. If this is dropped its process ends.
    pub async fn execute(
        &self,
        call: &ModelCall,
        body: Bytes,
        lines: Option<&mpsc::Sender<Bytes>>,
        cancel: &Cancel,
    ) -> Result<Ended, Refusal> {
        let mut process = self.process(call.pace, call.folder.as_ref().or(self.folder.as_ref()))?;
        match converse(&mut process, call, body, lines, cancel).await {
            Ok(ended) => {
                self.keep(process);
                Ok(ended)
            }
            Err(Lost::Refused(refusal)) => Err(refusal),
            Err(Lost::Process) => Err(ended_early()),
        }
    }

    fn process(&self, pace: Pace, folder: Option<&PathBuf>) -> Result<Process, Refusal> {
        while let Some(mut process) = self.idle_of(pace, folder) {
            if let Some(end) = process.end.take() {
                end.abort();
            }
            if matches!(process.child.try_wait(), Ok(None)) {
                process.pace = pace;
                return Ok(process);
            }
        }
        self.start(pace, folder).map_err(|error| {
            tracing::error!("cannot start a process for calls on models: {}", Explained(&error));
            internal()
        })
    }

    /// The process of this kind and folder that was used last. Without one, an idle one of another kind ends
    /// if there are as many as there may be.
    fn idle_of(&self, pace: Pace, folder: Option<&PathBuf>) -> Option<Process> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let is_light = |pace: Pace| pace == Pace::Light;
        let is_wanted =
            |process: &Process| is_light(process.pace) == is_light(pace) && process.folder.as_ref() == folder;
        let found = idle.iter().rposition(is_wanted);
        if found.is_none() && self.all.load(Ordering::SeqCst) >= MODEL_PROCESSES_MAX && !idle.is_empty() {
            drop(idle.remove(0));
        }
        found.map(|position| idle.remove(position))
    }

    fn start(&self, pace: Pace, folder: Option<&PathBuf>) -> io::Result<Process> {
        let mut command = Command::new(program()?);
        command.arg(self.what).args(folder);
        // It needs no variable, and must not have those with secrets. A signal from the terminal is for the
        // server, which ends its processes in order.
        command.env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        // The allocator would reserve more at once than the process may have.
        command.env("MIMALLOC_ARENA_RESERVE", "0");
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn()?;
        let streams = child.stdin.take().zip(child.stdout.take());
        let (input, output) = streams.ok_or(io::ErrorKind::BrokenPipe)?;
        let counted = Counted::new(&self.all);
        let output = BufReader::new(output);
        let folder = folder.cloned();
        Ok(Process { child, pace, folder, _counted: counted, input, output, line: Vec::new(), end: None })
    }

    /// Keeps a process for the next call, for a while.
    fn keep(&self, mut process: Process) {
        let (idle, id) = (Arc::clone(&self.idle), process.child.id());
        let end = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(MODEL_PROCESS_IDLE_SECONDS_MAX)).await;
            idle.lock().unwrap_or_else(PoisonError::into_inner).retain(|process| process.child.id() != id);
        });
        process.end = Some(end.abort_handle());
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(process);
    }
}

async fn converse(
    process: &mut Process,
    call: &ModelCall,
    body: Bytes,
    lines: Option<&mpsc::Sender<Bytes>>,
    cancel: &Cancel,
) -> Result<Ended, Lost> {
    process.send(Kind::Call, call.name, &body).await?;
    drop(body);
    let mut until = Instant::now() + call.time;
    let mut is_cancelled = false;
    loop {
        let head = tokio::select! {
            head = process.head() => head?,
            () = cancel.wait(), if !is_cancelled => {
                is_cancelled = true;
                until = Instant::now() + call.grace;
                process.send(Kind::Cancel, "", b"").await?;
                continue;
            }
            () = tokio::time::sleep_until(until) => {
                return Err(Lost::Refused(if is_cancelled { cancelled() } else { too_long(call.time) }));
            }
        };
        match head.kind {
            Kind::Progress => {
                let line = process.body(head.bytes, HEAD_BYTES_MAX * 4).await?;
                if let Some(lines) = lines {
                    // A client that does not keep up misses a line.
                    let _ = lines.try_send(Bytes::from(line));
                }
            }
            Kind::Ask => {
                let request = process.body(head.bytes, MODEL_ASKED_BYTES_MAX).await?;
                let asked = call.tables.as_ref().ok_or(Lost::Process)?;
                let (name, answer) = asked.ask(&head.name, request).await.ok_or(Lost::Process)?;
                process.send(Kind::Answer, name, &answer).await?;
            }
            Kind::Done => return Ok(Ended::Done(answer(process, call, head.bytes).await?)),
            Kind::Refused => {
                let status = StatusCode::from_bytes(head.name.as_bytes()).map_err(|_| Lost::Process)?;
                return Ok(Ended::Refused(status, answer(process, call, head.bytes).await?));
            }
            Kind::Call | Kind::Cancel | Kind::Answer => return Err(Lost::Process),
        }
    }
}

/// The answer with its memory, for which it waits in the process.
async fn answer(process: &mut Process, call: &ModelCall, bytes: usize) -> Result<Bytes, Lost> {
    if bytes > MODEL_ANSWER_BYTES_MAX {
        return Err(Lost::Process);
    }
    let shares = call.answers.wait(bytes).await.map_err(Lost::Refused)?;
    Ok(shares.over(process.body(bytes, MODEL_ANSWER_BYTES_MAX).await?))
}

impl Asked {
    /// The database's answer, with its name.
    async fn ask(&self, operation: &str, body: Vec<u8>) -> Option<(&'static str, Bytes)> {
        let operation = tables::operation(operation)?;
        let (visit, body) = (self.visit.clone(), Bytes::from(body));
        let call = Call { operation, visit, body, access: self.access };
        match self.api.call(call, RequestHead::default()).await {
            Called::Changes => Some((CHANGES, Bytes::new())),
            Called::SignedOut(text) => {
                let kind = Json::text("UnrecognizedClientException");
                let error = Json::object([("__type", kind), ("message", Json::text(text))]);
                Some((ERROR, Bytes::from(error.compact())))
            }
            Called::Answered { response, .. } => {
                let name = if response.status().is_success() { OK } else { ERROR };
                let body = response.into_body().collect().await.ok()?;
                Some((name, body.to_bytes()))
            }
        }
    }
}

impl Process {
    async fn send(&mut self, kind: Kind, name: &str, body: &[u8]) -> io::Result<()> {
        let head = Head::new(kind, name, body).line();
        self.input.write_all(head.as_bytes()).await?;
        self.input.write_all(body).await?;
        self.input.flush().await
    }

    /// The next message's first line. What has come of it is kept if this is dropped.
    async fn head(&mut self) -> Result<Head, Lost> {
        let left = HEAD_BYTES_MAX.saturating_sub(self.line.len());
        let mut output = (&mut self.output).take(u64::try_from(left).unwrap_or(0));
        output.read_until(b'\n', &mut self.line).await?;
        let head = Head::read(&self.line).ok_or(Lost::Process)?;
        self.line.clear();
        Ok(head)
    }

    async fn body(&mut self, bytes: usize, bytes_max: usize) -> Result<Vec<u8>, Lost> {
        if bytes > bytes_max {
            return Err(Lost::Process);
        }
        let mut body = vec![0; bytes];
        self.output.read_exact(&mut body).await?;
        Ok(body)
    }
}

/// This program, also if its file has been replaced meanwhile.
fn program() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok(PathBuf::from("/proc/self/exe")) } else { std::env::current_exe() }
}

fn ended_early() -> Refusal {
    let text = format!(
        "the process for this call ended early, most likely because it takes more than the {} MiB of memory that \
         it may have: keywright model has no such limit",
        MODEL_PROCESS_BYTES_MAX >> 20
    );
    Refusal::new(refusal::Kind::TooLarge, text)
}

fn too_long(time: Duration) -> Refusal {
    let text = format!(
        "this takes longer than the {} s that it may take: keywright model has no such limit",
        time.as_secs()
    );
    Refusal::new(refusal::Kind::TooLarge, text)
}
