//! The processes that execute calls on models (`worker`): started when one is needed, kept for the next call,
//! ended with their client, after a time without use and with the server.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::StatusCode;
use keywright_engine::Caller;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::frames::{CHANGES, ERROR, HEAD_BYTES_MAX, Head, Kind, OK};
use super::jobs::{Cancel, cancelled, internal};
use super::refusal::{self, Refusal};
use super::{Access, Api, Call, Called, tables, worker};
use crate::budget::{Budget, Share};
use crate::limits::{
    ANSWER_FREE_BYTES, MODEL_ANSWER_BYTES_MAX, MODEL_ASKED_BYTES_MAX, MODEL_PROCESS_BYTES_MAX,
    MODEL_PROCESS_IDLE_SECONDS_MAX, STUDIO_ANSWERS_BYTES,
};
use crate::request_head::RequestHead;
use crate::response::{ResponsePrefs, held};

/// What a call came to, as the client gets it.
#[derive(Debug)]
pub(super) enum Ended {
    Done(Bytes),
    Refused(StatusCode, Bytes),
}

/// A call on models.
pub(super) struct ModelCall {
    pub(super) name: &'static str,
    pub(super) body: Bytes,
    /// Whose tables it may ask for.
    pub(super) caller: Caller,
    pub(super) time: Duration,
    /// How long it may go on after it was cancelled.
    pub(super) grace: Duration,
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
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// What has come of the next message's first line.
    line: Vec<u8>,
    /// Ends it, unless it is used before.
    end: Option<AbortHandle>,
}

/// Processes without a call, the last used at the end: what it knows of a model is of use to the next call.
type Idle = Arc<Mutex<Vec<Process>>>;

/// The processes for one kind of calls. How many there are at a time is their callers' matter.
pub(super) struct Workers {
    idle: Idle,
    folder: Option<PathBuf>,
    api: Arc<dyn Api>,
    access: Access,
    answers: Arc<Budget>,
}

impl Workers {
    pub(super) fn new(
        folder: Option<PathBuf>,
        api: Arc<dyn Api>,
        access: Access,
        answers: Arc<Budget>,
    ) -> Self {
        Self { idle: Idle::default(), folder, api, access, answers }
    }

    /// Executes a call, with its lines of progress. If this is dropped its process ends.
    pub(super) async fn execute(
        &self,
        call: &ModelCall,
        lines: Option<&mpsc::Sender<Bytes>>,
        cancel: &Cancel,
    ) -> Result<Ended, Refusal> {
        let mut process = self.process()?;
        match self.converse(&mut process, call, lines, cancel).await {
            Ok(ended) => {
                self.keep(process);
                Ok(ended)
            }
            Err(Lost::Refused(refusal)) => Err(refusal),
            Err(Lost::Process) => Err(ended_early()),
        }
    }

    fn process(&self) -> Result<Process, Refusal> {
        loop {
            let last = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some(mut process) = last else { break };
            if let Some(end) = process.end.take() {
                end.abort();
            }
            if matches!(process.child.try_wait(), Ok(None)) {
                return Ok(process);
            }
        }
        self.start().map_err(|error| {
            tracing::error!("cannot start a process for calls on models: {error}");
            internal()
        })
    }

    fn start(&self) -> io::Result<Process> {
        let mut command = Command::new(program()?);
        command.arg(worker::ARGUMENT).args(self.folder.as_ref().map(OsString::from));
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
        Ok(Process { child, input, output: BufReader::new(output), line: Vec::new(), end: None })
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

    async fn converse(
        &self,
        process: &mut Process,
        call: &ModelCall,
        lines: Option<&mpsc::Sender<Bytes>>,
        cancel: &Cancel,
    ) -> Result<Ended, Lost> {
        process.send(Kind::Call, call.name, &call.body).await?;
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
                    let (name, answer) = self.ask(&head.name, request, call).await.ok_or(Lost::Process)?;
                    process.send(Kind::Answer, name, &answer).await?;
                }
                Kind::Done => return Ok(Ended::Done(self.answer(process, head.bytes).await?)),
                Kind::Refused => {
                    let status = StatusCode::from_bytes(head.name.as_bytes()).map_err(|_| Lost::Process)?;
                    return Ok(Ended::Refused(status, self.answer(process, head.bytes).await?));
                }
                Kind::Call | Kind::Cancel | Kind::Answer => return Err(Lost::Process),
            }
        }
    }

    async fn answer(&self, process: &mut Process, bytes: usize) -> Result<Bytes, Lost> {
        let share = share(&self.answers, bytes).await.map_err(Lost::Refused)?;
        let answer = process.body(bytes, MODEL_ANSWER_BYTES_MAX).await?;
        Ok(held(answer, share))
    }

    /// The database's answer, with its name.
    async fn ask(&self, operation: &str, body: Vec<u8>, call: &ModelCall) -> Option<(&'static str, Bytes)> {
        let operation = tables::operation(operation)?;
        let (caller, body) = (call.caller.clone(), Bytes::from(body));
        let head = RequestHead::default();
        let call = Call { operation, caller, body, access: self.access };
        match self.api.call(call, ResponsePrefs::read(&head, false)).await {
            Called::Changes => Some((CHANGES, Bytes::new())),
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

/// The memory of an answer until the client has read it; a small one takes none.
pub(super) async fn share(answers: &Arc<Budget>, bytes: usize) -> Result<Option<Share>, Refusal> {
    if bytes <= ANSWER_FREE_BYTES {
        return Ok(None);
    }
    answers.acquire(bytes.min(STUDIO_ANSWERS_BYTES)).await.map(Some).map_err(|_exhausted| {
        Refusal::new(refusal::Kind::Busy, "there is no memory for the answer: try again")
    })
}

/// This program, also if its file has been replaced meanwhile.
fn program() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok(PathBuf::from("/proc/self/exe")) } else { std::env::current_exe() }
}

fn ended_early() -> Refusal {
    let text = format!(
        "the process for this call ended early, most likely because it takes more than the {} MiB of memory that \
         the studio gives a call: keywright model has no such limit",
        MODEL_PROCESS_BYTES_MAX >> 20
    );
    Refusal::new(refusal::Kind::TooLarge, text)
}

fn too_long(time: Duration) -> Refusal {
    let text = format!(
        "this takes longer than the {} s that the studio gives a call: keywright model has no such limit",
        time.as_secs()
    );
    Refusal::new(refusal::Kind::TooLarge, text)
}
