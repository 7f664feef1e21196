//! The process that executes calls on models, one at a time: what `keywright` does when the studio, or
//! `keywright mcp`, starts it.
//!
//! Texts of models come from clients, and what a text makes can be much larger than the text. So such a call
//! has a process of its own, with a bound of memory and the lowest priority, which the studio can end at any
//! time. It has no data, no keys and no connection but its standard streams; requests to the database go
//! through the studio.

use std::any::Any;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::{self, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use keywright_model::json::Json;
use keywright_process::environment;

use super::endpoints::{self, ModelContext, Way};
use super::frames::{HEAD_BYTES_MAX, Head, Kind};
use super::jobs::progress;
use super::members;
use super::model_files::ModelFiles;
use super::refusal::{self, Refusal, cancelled, internal};
use super::runs::Runs;
use super::tables::Tables;
use crate::ModelsIn;
use crate::limits::{MODEL_ANSWER_BYTES_MAX, MODEL_PROCESS_BYTES_MAX, PROGRESS_MS_MIN};

/// The first argument of such a process; the second is the folder of models, if there is one.
pub(super) const STUDIO: &str = "studio-worker";
/// The same for the tools of `keywright mcp`; the second argument is their folder.
pub(super) const TOOLS: &str = "tools-worker";

/// Executes a tool on the models of a folder: its name and the JSON of its arguments become a text, or why
/// there is none.
pub type Tool = fn(&Path, &str, &[u8]) -> Result<String, String>;

/// What a call came to: the kind of the message, its name and its text.
type Said = (Kind, String, String);

/// The process's life, if these arguments of the program ask for it.
/// `tool` executes the tools of `keywright mcp`.
pub fn asked(mut arguments: impl Iterator<Item = OsString>, tool: Tool) -> Option<ExitCode> {
    let what = arguments.nth(1)?;
    let folder = arguments.next().map(PathBuf::from);
    match what.to_str()? {
        STUDIO => Some(run(|answered| {
            let context = ModelContext {
                models: ModelFiles::new(folder.map_or(ModelsIn::Memory, ModelsIn::Folder)),
                runs: Runs::default(),
                tables: Tables { answers: Some(answered) },
            };
            move |name: &str, body: &[u8], reporter: &mut Reporter| execute(&context, name, body, reporter)
        })),
        TOOLS => {
            let folder = folder?;
            Some(run(|_| move |name: &str, body: &[u8], _: &mut Reporter| tooled(tool, &folder, name, body)))
        }
        _ => None,
    }
}

/// `with` gets where the database's answers come and returns what executes calls.
fn run<E>(with: impl FnOnce(Receiver<(String, Vec<u8>)>) -> E) -> ExitCode
where
    E: Fn(&str, &[u8], &mut Reporter) -> Said,
{
    restrain();
    let (calls, to_do) = channel();
    let (answers, answered) = channel();
    let cancel = Arc::new(AtomicBool::new(false));
    let reader = {
        let cancel = Arc::clone(&cancel);
        std::thread::Builder::new().spawn(move || listen(&calls, &answers, &cancel))
    };
    if reader.is_err() {
        return ExitCode::FAILURE;
    }
    serve(&to_do, &with(answered), &cancel);
    ExitCode::SUCCESS
}

/// Bounds what it may take. A system without one of these bounds goes without it.
fn restrain() {
    #[cfg(unix)]
    {
        let bytes = MODEL_PROCESS_BYTES_MAX;
        let _unbounded = rlimit::setrlimit(rlimit::Resource::AS, bytes, bytes);
        let _dumped = rlimit::setrlimit(rlimit::Resource::CORE, 0, 0);
        let _preferred = rustix::process::nice(19);
    }
}

/// Takes messages until there are no more: the studio has ended or has no use for the process.
fn listen(calls: &Sender<(String, Vec<u8>)>, answers: &Sender<(String, Vec<u8>)>, cancel: &AtomicBool) {
    let mut input = BufReader::new(std::io::stdin());
    while let Some((head, body)) = next(&mut input) {
        match head.kind {
            Kind::Call => {
                cancel.store(false, Ordering::SeqCst);
                let _ended = calls.send((head.name, body));
            }
            Kind::Answer => {
                let _ended = answers.send((head.name, body));
            }
            Kind::Cancel => cancel.store(true, Ordering::SeqCst),
            Kind::Ask | Kind::Progress | Kind::Done | Kind::Refused => break,
        }
    }
    // Also out of the middle of a call.
    process::exit(0);
}

fn next(input: &mut BufReader<std::io::Stdin>) -> Option<(Head, Vec<u8>)> {
    let mut line = Vec::new();
    let bound = u64::try_from(HEAD_BYTES_MAX).unwrap_or(u64::MAX);
    input.by_ref().take(bound).read_until(b'\n', &mut line).ok()?;
    let head = Head::read(&line)?;
    let mut body = vec![0; head.bytes];
    input.read_exact(&mut body).ok()?;
    Some((head, body))
}

/// Writes a message. Without a studio that reads it there is nothing left to do.
pub(super) fn say(kind: Kind, name: &str, body: &[u8]) {
    let mut out = std::io::stdout().lock();
    let head = Head::new(kind, name, body).line();
    let written =
        out.write_all(head.as_bytes()).and_then(|()| out.write_all(body)).and_then(|()| out.flush());
    if written.is_err() {
        process::exit(1);
    }
}

fn serve<E>(to_do: &Receiver<(String, Vec<u8>)>, execute: &E, cancel: &Arc<AtomicBool>)
where
    E: Fn(&str, &[u8], &mut Reporter) -> Said,
{
    while let Ok((name, body)) = to_do.recv() {
        let mut reporter = Reporter { cancel: Arc::clone(cancel), last: None };
        let executed = catch_unwind(AssertUnwindSafe(|| execute(&name, &body, &mut reporter)));
        let (kind, name, text) = executed.unwrap_or_else(|panic| refused(&unwound(&*panic)));
        say(kind, &name, text.as_bytes());
    }
}

fn execute(context: &ModelContext, name: &str, body: &[u8], reporter: &mut Reporter) -> Said {
    match executed(context, name, body, reporter).and_then(bounded) {
        Ok(text) => (Kind::Done, String::new(), text),
        Err(refusal) => refused(&refusal),
    }
}

fn refused(refusal: &Refusal) -> Said {
    let text = format!("{}\n", refusal.json().compact());
    (Kind::Refused, refusal.kind.status().as_str().to_owned(), text)
}

/// Its refusal is a plain text: an assistant reads it.
fn tooled(tool: Tool, folder: &Path, name: &str, body: &[u8]) -> Said {
    match tool(folder, name, body).and_then(|text| bounded(text).map_err(|refusal| refusal.text)) {
        Ok(text) => (Kind::Done, String::new(), text),
        Err(text) => (Kind::Refused, refusal::Kind::Faults.status().as_str().to_owned(), text),
    }
}

fn executed(
    context: &ModelContext,
    name: &str,
    body: &[u8],
    reporter: &mut Reporter,
) -> Result<String, Refusal> {
    let endpoint = endpoints::find(name).ok_or_else(internal)?;
    let request = members::parse(body)?;
    match endpoint.way {
        Way::Light(run) => Ok(run(context, &request)?.compact()),
        Way::Heavy(run) => {
            let done = run(context, &request, reporter)?;
            Ok(format!("{}\n", Json::object([("done", done)]).compact()))
        }
        Way::Own(_) => Err(internal()),
    }
}

/// One of the calls that the studio's process executes itself.
#[cfg(feature = "fuzz")]
pub fn own_call(choice: usize) -> &'static str {
    endpoints::some(choice, |way| matches!(way, Way::Own(_))).map_or("", |endpoint| endpoint.name)
}

/// Executes one of the light calls, without a database.
#[cfg(feature = "fuzz")]
pub fn light_call(choice: usize, body: &[u8]) -> String {
    let Some(endpoint) = endpoints::some(choice, |way| matches!(way, Way::Light(_))) else {
        return String::new();
    };
    let context = ModelContext {
        models: ModelFiles::new(ModelsIn::Memory),
        runs: Runs::default(),
        tables: Tables { answers: None },
    };
    let mut reporter = Reporter { cancel: Arc::default(), last: None };
    execute(&context, endpoint.name, body, &mut reporter).2
}

fn bounded(text: String) -> Result<String, Refusal> {
    if text.len() > MODEL_ANSWER_BYTES_MAX {
        let text = format!(
            "the result has more than {MODEL_ANSWER_BYTES_MAX} bytes: keywright model has no such limit"
        );
        return Err(Refusal::new(refusal::Kind::TooLarge, text));
    }
    Ok(text)
}

/// What ends a call.
struct Stopped;

fn unwound(panic: &(dyn Any + Send)) -> Refusal {
    if panic.is::<Stopped>() { cancelled() } else { internal() }
}

/// Takes the progress of a call.
pub(super) struct Reporter {
    cancel: Arc<AtomicBool>,
    /// When the last line was sent, and of what.
    last: Option<(Instant, String)>,
}

impl Reporter {
    /// Sends a line of progress if it is of something new or the last is old enough. Does not return if the
    /// call must end.
    pub(super) fn at(&mut self, what: &str, counted: Option<(usize, usize)>) {
        if self.cancel.load(Ordering::SeqCst) {
            resume_unwind(Box::new(Stopped));
        }
        let now = environment::instant();
        let is_old = |last: &Instant| now.duration_since(*last) >= Duration::from_millis(PROGRESS_MS_MIN);
        if self.last.as_ref().is_none_or(|(at, of)| of != what || is_old(at)) {
            self.last = Some((now, what.to_owned()));
            say(Kind::Progress, "", &progress(what, counted));
        }
    }
}

/// The database's answer to a request of a call, with its name.
pub(super) fn ask(
    answers: &Receiver<(String, Vec<u8>)>,
    operation: &str,
    request: &Json,
) -> (String, Vec<u8>) {
    say(Kind::Ask, operation, request.compact().as_bytes());
    // Without an answer the studio has ended.
    answers.recv().unwrap_or_else(|_closed| process::exit(1))
}
