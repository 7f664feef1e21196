//! The attacked server: a fresh process per attack, its folder, and what `/proc` says about it.

use std::fs;
use std::io::{BufRead as _, BufReader, Lines};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::clock::Timer;
use super::sign::Key;

/// Keeps the machine alive: a server that grows beyond is killed, which is a fault.
const KILL_MIB: u64 = 6 * 1024;
/// The account of the second key.
const OTHER_ACCOUNT: &str = "999999999999";
/// How often a waiting loop looks again.
const LOOK: Duration = Duration::from_millis(20);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    Memory,
    Folder,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Every well-formed signature is accepted.
    Open,
    /// Signatures are verified.
    Keys,
}

/// How an attack's server is started and judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) storage: Storage,
    pub(crate) access: Access,
    /// The limit of open descriptors it starts with (`ulimit -n`), the shell's own if None.
    pub(crate) descriptors: Option<u32>,
    /// Further arguments of `keywright serve`.
    pub(crate) arguments: &'static [&'static str],
    pub(crate) peak_mib_max: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memory {
    pub(crate) rss_mib: u64,
    pub(crate) peak_mib: u64,
    pub(crate) threads: u64,
}

pub(crate) struct Server {
    process: Mutex<Child>,
    folder: PathBuf,
    pub(crate) id: u32,
    pub(crate) address: SocketAddr,
    /// The studio's port.
    pub(crate) studio: SocketAddr,
    pub(crate) key: Option<Key>,
    /// A key of another account, where signatures are verified.
    pub(crate) other_key: Option<Key>,
}

impl Server {
    pub(crate) fn start(binary: &Path, setting: Setting) -> Result<Self, String> {
        let folder = new_folder()?;
        let (key, other_key) = match setting.access {
            Access::Open => (None, None),
            Access::Keys => {
                let other = add_key(binary, &folder, &["--account", OTHER_ACCOUNT])?;
                (Some(add_key(binary, &folder, &[])?), Some(other))
            }
        };
        let mut process = command(binary, &folder, setting)
            .spawn()
            .map_err(|error| format!("cannot run {}: {error}", binary.display()))?;
        let output = process.stdout.take().ok_or("the server has no standard output")?;
        let mut lines = BufReader::new(output).lines();
        let Some((address, studio)) = addresses_in_banner(&mut lines) else {
            // It ended, or is of no use.
            let _ = process.kill();
            let _ = process.wait();
            return Err(format!("the server did not start: {}", log_in(&folder)));
        };
        // The pipe is read on, so that the server never writes to a full or a closed one.
        let reader = thread::Builder::new().name("banner".to_owned()).spawn(move || lines.for_each(drop));
        reader.map_err(|error| format!("no thread: {error}"))?;
        Ok(Self { id: process.id(), process: Mutex::new(process), folder, address, studio, key, other_key })
    }

    fn process(&self) -> MutexGuard<'_, Child> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How it ended, if it did.
    pub(crate) fn ended(&self) -> Option<String> {
        self.process().try_wait().ok().flatten().map(|status| status.to_string())
    }

    /// The end of what it wrote to standard error.
    pub(crate) fn log(&self) -> String {
        log_in(&self.folder)
    }

    /// All that it wrote to standard error.
    pub(crate) fn whole_log(&self) -> String {
        whole_log_in(&self.folder)
    }

    pub(crate) fn kill(&self) {
        let mut process = self.process();
        // It may be gone already.
        let _ = process.kill();
        let _ = process.wait();
    }

    /// Kills it if it takes more memory than the machine can spare; returns whether it did.
    pub(crate) fn kill_if_too_large(&self, memory: Memory) -> bool {
        let too_large = memory.rss_mib > KILL_MIB;
        if too_large {
            self.kill();
        }
        too_large
    }

    /// Asks it to end and waits; the error says how it ended otherwise.
    pub(crate) fn stop(&self, wait_max: Duration) -> Result<Duration, String> {
        let timer = Timer::start();
        let signalled = Command::new("kill").arg(self.id.to_string()).stderr(Stdio::null()).status();
        if !signalled.is_ok_and(|status| status.success()) {
            return Err("SIGTERM could not be sent".to_owned());
        }
        while timer.elapsed() < wait_max {
            match self.process().try_wait() {
                Ok(Some(status)) if status.success() => return Ok(timer.elapsed()),
                Ok(Some(status)) => return Err(format!("SIGTERM ended it with {status}")),
                Ok(None) | Err(_) => thread::sleep(LOOK),
            }
        }
        self.kill();
        Err(format!("SIGTERM did not end it within {} s", wait_max.as_secs()))
    }

    pub(crate) fn memory(&self) -> Option<Memory> {
        let text = fs::read_to_string(format!("/proc/{}/status", self.id)).ok()?;
        Some(Memory {
            rss_mib: number(&text, "VmRSS")? / 1024,
            peak_mib: number(&text, "VmHWM")? / 1024,
            threads: number(&text, "Threads")?,
        })
    }

    /// Resident memory of each process that it has started, in MiB.
    pub(crate) fn children_mib(&self) -> Vec<u64> {
        let processes = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
        let texts = processes.filter_map(|process| fs::read_to_string(process.path().join("status")).ok());
        let own = texts.filter(|text| number(text, "PPid") == Some(u64::from(self.id)));
        own.filter_map(|text| Some(number(&text, "VmRSS")? / 1024)).collect()
    }

    /// Starts the peak anew, so that what the preparation took does not count. Not every system lets us.
    pub(crate) fn forget_peak(&self) {
        let _ = fs::write(format!("/proc/{}/clear_refs", self.id), "5");
    }

    pub(crate) fn descriptors(&self) -> Option<usize> {
        Some(fs::read_dir(format!("/proc/{}/fd", self.id)).ok()?.count())
    }

    /// Processor time so far (user and system), in hundredths of a second, which is what Linux counts in.
    pub(crate) fn cpu_ticks(&self) -> Option<u64> {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.id)).ok()?;
        // The program's name, in parentheses, may contain spaces.
        let (_, rest) = text.rsplit_once(')')?;
        let mut times = rest.split_whitespace().skip(11).map_while(|field| field.parse::<u64>().ok());
        Some(times.next()? + times.next()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        // A folder that stays is a nuisance in the temporary folder, no fault.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A number in a status of `/proc`.
fn number(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

fn new_folder() -> Result<PathBuf, String> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("keywright-attack-{}-{number}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    Ok(folder)
}

fn command(binary: &Path, folder: &Path, setting: Setting) -> Command {
    let mut command = match setting.descriptors {
        None => Command::new(binary),
        Some(limit) => {
            let mut shell = Command::new("bash");
            shell.args(["-c", &format!("ulimit -S -n {limit}; ulimit -H -n {limit}; exec \"$0\" \"$@\"")]);
            shell.arg(binary);
            shell
        }
    };
    command
        .args(["serve", "--port", "0", "--studio-port", "0"])
        .args(setting.arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    match setting.storage {
        Storage::Memory => command.arg("--in-memory"),
        Storage::Folder => command.arg("--data").arg(folder.join("data")),
    };
    if setting.access == Access::Keys {
        command.arg("--credentials").arg(folder.join("credentials.toml"));
    }
    match fs::File::create(folder.join("log")) {
        Ok(log) => command.stderr(log),
        Err(_) => command.stderr(Stdio::null()),
    };
    command
}

fn whole_log_in(folder: &Path) -> String {
    let log = fs::read(folder.join("log")).unwrap_or_default();
    String::from_utf8_lossy(&log).into_owned()
}

fn log_in(folder: &Path) -> String {
    let text = whole_log_in(folder);
    let lines: Vec<&str> = text.lines().collect();
    lines.get(lines.len().saturating_sub(3)..).unwrap_or_default().join(" | ")
}

/// The addresses of the API and of the studio.
fn addresses_in_banner(lines: &mut Lines<BufReader<ChildStdout>>) -> Option<(SocketAddr, SocketAddr)> {
    let (mut api, mut studio) = (None, None);
    for line in lines.map_while(Result::ok) {
        let address = |name: &str| -> Option<SocketAddr> {
            let url = line.trim().strip_prefix(name)?.trim().split("//").nth(1)?;
            url.split(' ').next()?.parse().ok()
        };
        api = api.or_else(|| address("endpoint"));
        studio = studio.or_else(|| address("studio"));
        if line.starts_with("Try:") {
            break;
        }
    }
    api.zip(studio)
}

fn add_key(binary: &Path, folder: &Path, more: &[&str]) -> Result<Key, String> {
    let output = Command::new(binary)
        .arg("credentials")
        .arg("--file")
        .arg(folder.join("credentials.toml"))
        .arg("add")
        .args(more)
        .output()
        .map_err(|error| format!("cannot run {}: {error}", binary.display()))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let variable = |name: &str| {
        let line =
            said.lines().find_map(|line| line.strip_prefix("export ")?.strip_prefix(name)?.strip_prefix('='));
        line.map(str::to_owned).ok_or_else(|| format!("`credentials add` prints no {name}: {said}"))
    };
    Ok(Key { id: variable("AWS_ACCESS_KEY_ID")?, secret: variable("AWS_SECRET_ACCESS_KEY")? })
}
