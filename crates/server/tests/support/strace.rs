//! Runs a program under `strace` and parses the recording: one call after the other, with the lines at which
//! each began and ended.
//!
//! The order of the lines keeps causality: a thread continues after a call only when the call's end has been
//! written, and a call's beginning is written before the kernel acts on it. This module does not know what
//! the calls mean.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

/// All calls that change files, folders or descriptors, or that use sockets. Calls that `disk` cannot
/// interpret are recorded too, so that they are noticed.
const CALLS: &str = "open,openat,openat2,creat,close,dup,dup2,dup3,fcntl,lseek,read,readv,\
    write,writev,pwrite64,pwritev,pwritev2,ftruncate,truncate,fallocate,\
    rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat,\
    fsync,fdatasync,sync,syncfs,sync_file_range,msync,mmap,copy_file_range,sendfile,splice,io_uring_setup,\
    accept4,recvfrom,sendto,sendmsg";

/// Whether processes can be traced here. If not, it prints which tests are skipped directly to standard
/// error, because the harness hides the output of passing tests.
pub fn is_allowed(tests: &str) -> bool {
    let mut tried = Command::new("strace");
    tried.args(["-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "true"]);
    tried.stdout(Stdio::null()).stderr(Stdio::null());
    let allowed = tried.status().is_ok_and(|status| status.success());
    if !allowed {
        let notice = format!("{tests}: skipped, because strace is not installed or may not trace here\n");
        std::io::stderr().write_all(notice.as_bytes()).unwrap();
    }
    allowed
}

/// `strace` that writes to this file; the program and its arguments are appended.
pub fn recorder(trace: &Path) -> Command {
    let mut strace = Command::new("strace");
    strace.args(["-f", "--seccomp-bpf", "-qq", "-xx", "-s", "100000000", "-e", "signal=none"]);
    strace.args(["-e", "raw=read,readv", "-e", &format!("trace={CALLS}"), "-o"]).arg(trace);
    strace
}

/// `strace` that writes to this file what is connected to, or sent to without a connection.
pub fn watcher(trace: &Path) -> Command {
    let mut strace = Command::new("strace");
    strace.args(["-f", "--seccomp-bpf", "-qq", "-xx", "-e", "signal=none"]);
    strace.args(["-e", "trace=connect,sendto,sendmsg,sendmmsg", "-o"]).arg(trace);
    strace
}

/// `strace` that makes calls of this name on this file fail with this error, from each thread's `first`-th
/// call on.
pub fn saboteur(call: &str, file: &Path, error: &str, first: u64) -> Command {
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-o", "/dev/null", "-P"]).arg(file);
    strace.args([
        "-e",
        &format!("trace={call}"),
        "-e",
        &format!("inject={call}:error={error}:when={first}+"),
    ]);
    strace
}

/// One argument of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A string or buffer; the concatenated strings of a list or structure.
    Bytes(Vec<u8>),
    /// Anything else, verbatim.
    Word(String),
}

impl Argument {
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Word(_) => &[],
        }
    }

    pub fn word(&self) -> &str {
        match self {
            Self::Bytes(_) => "",
            Self::Word(word) => word,
        }
    }

    /// Decimal or hexadecimal.
    pub fn number(&self) -> Option<i64> {
        let word = self.word();
        match word.strip_prefix("0x") {
            Some(hexadecimal) => i64::from_str_radix(hexadecimal, 16).ok(),
            None => word.parse().ok(),
        }
    }
}

/// One call of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub name: String,
    pub arguments: Vec<Argument>,
    /// Line at which it began.
    pub begun: usize,
    /// Line at which it ended, the same if nothing came in between; `None` if the process ended during the
    /// call.
    pub ended: Option<usize>,
    /// Negative if it failed.
    pub result: Option<i64>,
}

impl Call {
    pub fn succeeded(&self) -> bool {
        self.result.is_some_and(|result| result >= 0)
    }

    /// The numeric argument at this position.
    pub fn number(&self, place: usize) -> Option<i64> {
        self.arguments.get(place).and_then(Argument::number)
    }
}

/// Which end of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Begun,
    Ended,
}

/// A whole recording.
#[derive(Debug, Default)]
pub struct Trace {
    pub calls: Vec<Call>,
    /// Beginnings and ends in order, by the call's index in `calls`.
    pub ends: Vec<(End, usize)>,
    pub lines: usize,
}

impl Trace {
    pub fn read(file: &Path) -> Self {
        Self::parse(&std::fs::read_to_string(file).unwrap())
    }

    pub fn parse(text: &str) -> Self {
        let mut trace = Self::default();
        // Unfinished calls by thread: the call's index and its arguments so far.
        let mut open: HashMap<&str, (usize, &str)> = HashMap::new();
        for (line, written) in text.lines().enumerate() {
            trace.lines = line + 1;
            let Some((thread, rest)) = written.split_once(' ') else { continue };
            let rest = rest.trim_start();
            if rest.starts_with("+++") || rest.starts_with("---") {
                continue;
            }
            if let Some(resumed) = rest.strip_prefix("<... ") {
                let (_, tail) = resumed.split_once("resumed>").unwrap();
                let (place, head) = open.remove(thread).unwrap();
                let (tail, result) = split_result(tail);
                let call = &mut trace.calls[place];
                call.arguments = arguments(&format!("{head}{tail}"));
                (call.ended, call.result) = (Some(line), result);
                trace.ends.push((End::Ended, place));
                continue;
            }
            let (name, written) = rest.split_once('(').unwrap();
            let place = trace.calls.len();
            trace.ends.push((End::Begun, place));
            let mut call =
                Call { name: name.to_owned(), arguments: Vec::new(), begun: line, ended: None, result: None };
            if let Some(head) = written.strip_suffix("<unfinished ...>") {
                open.insert(thread, (place, head));
            } else {
                let (written, result) = split_result(written);
                call.arguments = arguments(written);
                (call.ended, call.result) = (Some(line), result);
                trace.ends.push((End::Ended, place));
            }
            trace.calls.push(call);
        }
        // Those that the end of the process cut off.
        for (place, head) in open.into_values() {
            trace.calls[place].arguments = arguments(head);
        }
        trace
    }
}

/// The arguments and the result after them: `) = 18`, with more blanks if it is aligned. Strings contain no
/// parentheses, because every byte of them is written as a number.
fn split_result(written: &str) -> (&str, Option<i64>) {
    for (place, _) in written.match_indices(')') {
        let (arguments, rest) = written.split_at(place);
        if let Some(result) = rest[1..].trim_start().strip_prefix("= ") {
            let word = result.split_whitespace().next().unwrap_or_default();
            return (arguments, Argument::Word(word.to_owned()).number());
        }
    }
    (written, None)
}

/// Splits arguments at commas outside brackets and strings. Programs of tests are not optimised, and strings
/// are megabytes: what is between two quotes is found as a whole.
fn arguments(written: &str) -> Vec<Argument> {
    let mut found = Vec::new();
    let mut depth = 0_usize;
    let mut argument = Parts::default();
    for (number, part) in written.split('"').enumerate() {
        if number % 2 == 1 {
            argument.bytes.get_or_insert_default().extend(bytes(part));
            continue;
        }
        assert!(number == 0 || !part.starts_with("..."), "a string was cut short in the recording");
        let mut start = 0;
        for (place, byte) in part.bytes().enumerate() {
            match byte {
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth = depth.saturating_sub(1),
                b',' if depth == 0 => {
                    argument.word.push_str(&part[start..place]);
                    found.push(std::mem::take(&mut argument).whole());
                    start = place + 1;
                }
                _ => {}
            }
        }
        argument.word.push_str(&part[start..]);
    }
    if argument.bytes.is_some() || !argument.word.trim().is_empty() {
        found.push(argument.whole());
    }
    found
}

/// What an argument consists of: its strings, joined, and everything outside of them.
#[derive(Default)]
struct Parts {
    bytes: Option<Vec<u8>>,
    word: String,
}

impl Parts {
    fn whole(self) -> Argument {
        match self.bytes {
            Some(bytes) => Argument::Bytes(bytes),
            None => Argument::Word(self.word.trim().to_owned()),
        }
    }
}

/// The value of each hexadecimal digit by its byte. Other bytes have none.
static DIGITS: LazyLock<[u8; 256]> = LazyLock::new(|| {
    let mut digits = [u8::MAX; 256];
    for (value, digit) in (0..).zip(b"0123456789abcdef") {
        digits[usize::from(*digit)] = value;
    }
    digits
});

/// The bytes of a string, every byte written as `\x` and two digits. A string that the end of the process cut
/// off may end within one. A plain loop: without optimisation, each call in it would cost more than all of
/// it.
fn bytes(written: &str) -> Vec<u8> {
    let (written, digits): (&[u8], &[u8; 256]) = (written.as_bytes(), &DIGITS);
    let mut bytes = vec![0; written.len() / 4];
    let mut place = 0;
    while place < bytes.len() {
        let high = digits[usize::from(written[4 * place + 2])];
        let low = digits[usize::from(written[4 * place + 3])];
        assert!(high < 16 && low < 16, "a byte is written with two digits");
        bytes[place] = high << 4 | low;
        place += 1;
    }
    bytes
}
