//! Commands of documents with a bound of time: one that never ends fails its test with a sentence, and does
//! not hold up all others.

use std::io::Read;
#[cfg(unix)]
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Longer than any command of a document takes, also on a machine that does much else.
pub const PATIENCE: Duration = Duration::from_mins(5);
/// The pause between two looks at a command.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// What a command has printed when it has ended; a sentence if it does not end in time. Then it is killed,
/// with all that it has started.
#[expect(clippy::disallowed_methods, reason = "how long a command takes is wall time")]
pub fn output(command: &mut Command, patience: Duration) -> Result<Output, String> {
    let end = Instant::now() + patience;
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (stdout, stderr) = (read(child.stdout.take().unwrap()), read(child.stderr.take().unwrap()));
    let left = || end.saturating_duration_since(Instant::now());
    let Some(status) = ended(&mut child, left) else {
        kill(&mut child);
        return Err(format!(
            "it has not ended within {patience:?}: a command that serves needs a `&`, and a loop an end"
        ));
    };
    let printed = |pipe: &Receiver<Vec<u8>>| pipe.recv_timeout(left()).ok();
    if let (Some(stdout), Some(stderr)) = (printed(&stdout), printed(&stderr)) {
        return Ok(Output { status, stdout, stderr });
    }
    kill(&mut child);
    Err(format!(
        "what it has started still prints after {patience:?}: send that to a file with `> FILE 2>&1 &`"
    ))
}

fn read(mut pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (send, printed) = channel();
    let read = move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).unwrap();
        // Nobody waits for it any more if the time is over.
        let _ = send.send(bytes);
    };
    std::thread::Builder::new().spawn(read).unwrap();
    printed
}

fn ended(child: &mut Child, left: impl Fn() -> Duration) -> Option<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        if left().is_zero() {
            return None;
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Kills a command and all that it has started.
fn kill(child: &mut Child) {
    let group = format!("-{}", child.id());
    // Some of them may have ended.
    let _ = Command::new("kill").args(["-KILL", "--", &group]).output();
    let _ = child.kill();
    child.wait().unwrap();
}
