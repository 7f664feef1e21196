//! What the test programs share. Here: a real server process on a free port, stopped when dropped.

#![allow(dead_code, unreachable_pub, reason = "each test program uses a part of this")]

pub mod bounded;
pub mod client;
pub mod dice;
#[cfg(target_os = "linux")]
pub mod disk;
#[cfg(feature = "postgres")]
pub mod fleet;
pub mod folders;
#[cfg(target_os = "linux")]
pub mod history;
pub mod in_process;
#[cfg(target_os = "linux")]
pub mod key_streams;
pub mod ledger;
pub mod machine;
pub mod management;
pub mod naive;
#[cfg(feature = "postgres")]
#[path = "../../../store-postgres/tests/it/server.rs"]
pub mod postgres;
pub mod raw;
pub mod register;
#[cfg(feature = "postgres")]
pub mod shared_store;
pub mod signed;
pub mod signing;
pub mod small_disk;
pub mod snapshot;
pub mod stores;
#[cfg(target_os = "linux")]
pub mod strace;
#[cfg(feature = "tikv")]
#[path = "../../../store-tikv/tests/it/engine.rs"]
pub mod tikv;

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// Takes the settings of the AWS CLI from a command: tests must not find those of their user.
pub fn without_aws_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("AWS_")) {
        command.env_remove(name);
    }
    let none = Path::new(env!("CARGO_MANIFEST_DIR")).join("no-aws-settings");
    command.env("AWS_CONFIG_FILE", &none).env("AWS_SHARED_CREDENTIALS_FILE", &none);
}

/// Runs `keywright model` in a folder.
pub fn model_command(folder: &Path, arguments: &[&str]) -> Output {
    model_command_to(folder, arguments, Stdio::piped())
}

/// Like `model_command`, with this standard output.
pub fn model_command_to(folder: &Path, arguments: &[&str], output: Stdio) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keywright"));
    without_aws_settings(&mut command);
    let child = command
        .current_dir(folder)
        .arg("model")
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(Stdio::piped())
        .spawn();
    child.unwrap().wait_with_output().unwrap()
}

/// Adds a key to a credentials file. Returns its id and its secret, parsed from the command's output.
pub fn add_key(file: &Path, more: &[&str]) -> (String, String) {
    let added = Command::new(env!("CARGO_BIN_EXE_keywright"))
        .args(["credentials", "--file", file.to_str().unwrap(), "add"])
        .args(more)
        .output()
        .unwrap();
    let said = String::from_utf8(added.stdout).unwrap();
    let variable = |name: &str| {
        let line =
            said.lines().find_map(|line| line.strip_prefix("export ")?.strip_prefix(name)?.strip_prefix('='));
        line.unwrap().to_owned()
    };
    (variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"))
}

fn errors_of(ended: &Output) -> String {
    String::from_utf8_lossy(&ended.stderr).into_owned()
}

/// A running `keywright`.
pub struct Server {
    process: Child,
    pub endpoint: String,
    /// The banner.
    pub banner: String,
    /// The other servers over the same store, and what spreads requests over all of them.
    #[cfg(feature = "postgres")]
    fleet: Option<(Vec<Server>, fleet::Balancer)>,
}

impl Server {
    /// Starts the server with these arguments on a free port and waits until it listens.
    pub fn start(arguments: &[&str]) -> Self {
        Self::try_start(arguments).unwrap_or_else(|fault| panic!("the server did not start: {fault}"))
    }

    pub fn in_memory() -> Self {
        Self::start(&["--in-memory"])
    }

    /// On a store that other servers may use.
    pub fn on_store(url: &str) -> Self {
        Self::start(&["--store", url])
    }

    pub fn on(folder: &Path) -> Self {
        Self::start(&["--data", folder.to_str().unwrap()])
    }

    /// On a folder, with a small write buffer, so that tables are written and merged all the time.
    pub fn with_small_buffer(folder: &Path) -> Self {
        Self::start(&["--data", folder.to_str().unwrap(), "--write-buffer-kib", "96"])
    }

    /// Like `start`, but returns the server's standard error if it ends instead of listening.
    pub fn try_start(arguments: &[&str]) -> Result<Self, String> {
        Self::start_or_end(arguments).map_err(|ended| errors_of(&ended))
    }

    /// Like `start`, but returns how the server ended if it does so instead of listening.
    pub fn start_or_end(arguments: &[&str]) -> Result<Self, Output> {
        Self::start_up_to(usize::MAX, arguments)
    }

    /// Like `start`, and one server even where several stand behind each endpoint.
    pub fn start_one(arguments: &[&str]) -> Self {
        Self::start_up_to(1, arguments)
            .unwrap_or_else(|ended| panic!("the server did not start: {}", errors_of(&ended)))
    }

    #[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "there is one without a store"))]
    fn start_up_to(servers_max: usize, arguments: &[&str]) -> Result<Self, Output> {
        #[cfg(feature = "postgres")]
        if let Some(count) = fleet::wanted(arguments)
            && let Some(url) = shared_store::url_or_say(&fleet::schema())
        {
            return Self::start_fleet(count.min(servers_max), &url, arguments);
        }
        Self::run(Command::new(env!("CARGO_BIN_EXE_keywright")), arguments)
    }

    /// Starts so many servers over one store; each request to their endpoint goes to the next of them.
    #[cfg(feature = "postgres")]
    fn start_fleet(count: usize, url: &str, arguments: &[&str]) -> Result<Self, Output> {
        let others = arguments.iter().filter(|argument| **argument != "--in-memory");
        let arguments: Vec<&str> = ["--store", url].iter().chain(others).copied().collect();
        let start = || Self::run(Command::new(env!("CARGO_BIN_EXE_keywright")), &arguments);
        let mut servers = (0..count).map(|_| start()).collect::<Result<Vec<Self>, Output>>()?;
        let balancer =
            fleet::Balancer::start(servers.iter().map(|server| server.address().to_owned()).collect());
        let mut first = servers.swap_remove(0);
        first.endpoint = format!("http://{}", balancer.address);
        first.fleet = Some((servers, balancer));
        Ok(first)
    }

    /// Starts the server on this folder with a limit on file sizes: writing past it fails as on a full disk.
    #[cfg(unix)]
    pub fn on_full_disk(folder: &Path, file_kib_max: u64) -> Result<Self, String> {
        let mut shell = Command::new("bash");
        let script = format!("trap '' XFSZ; ulimit -f {file_kib_max}; exec \"$0\" \"$@\"");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_keywright")]);
        Self::run(shell, &["--data", folder.to_str().unwrap()]).map_err(|ended| errors_of(&ended))
    }

    /// Starts the server by another program, to whose arguments the server's command is appended.
    pub fn under(mut runner: Command, arguments: &[&str]) -> Result<Self, String> {
        runner.arg(env!("CARGO_BIN_EXE_keywright"));
        Self::run(runner, arguments).map_err(|ended| errors_of(&ended))
    }

    fn run(mut program: Command, arguments: &[&str]) -> Result<Self, Output> {
        let names_port = arguments.iter().any(|argument| argument.starts_with("--management-port"));
        let management: &[&str] = if names_port { &[] } else { &["--management-port", "0"] };
        let names_studio = arguments.iter().any(|argument| argument.starts_with("--studio"));
        let studio: &[&str] = if names_studio { &[] } else { &["--studio-port", "off"] };
        let port: &[&str] = if arguments.contains(&"--port") { &[] } else { &["--port", "0"] };
        let mut process = program
            .arg("serve")
            .args(port)
            .args(management)
            .args(studio)
            .args(arguments)
            .current_dir(std::env::temp_dir())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut banner = String::new();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let endpoint = lines.by_ref().map_while(Result::ok).find_map(|line| {
            banner.push_str(&line);
            banner.push('\n');
            line.trim().strip_prefix("endpoint").map(|endpoint| endpoint.trim().to_owned())
        });
        let Some(endpoint) = endpoint else {
            return Err(process.wait_with_output().unwrap());
        };
        // Reads the rest of the banner. The pipe stays open, so that the server never writes to a closed one.
        for line in lines.by_ref().map_while(Result::ok) {
            banner.push_str(&line);
            banner.push('\n');
            if line.starts_with("Try:") {
                break;
            }
        }
        std::thread::Builder::new().spawn(move || lines.for_each(drop)).unwrap();
        Ok(Self {
            process,
            endpoint,
            banner,
            #[cfg(feature = "postgres")]
            fleet: None,
        })
    }

    /// The processes behind the endpoint.
    pub fn ids(&self) -> Vec<u32> {
        let mut ids = vec![self.id()];
        #[cfg(feature = "postgres")]
        ids.extend(self.fleet.iter().flat_map(|(others, _)| others.iter().map(Self::id)));
        ids
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// `host:port`.
    pub fn address(&self) -> &str {
        self.endpoint.split("//").nth(1).unwrap()
    }

    /// `host:port` of metrics and health.
    pub fn management(&self) -> &str {
        let line = self.banner.lines().find_map(|line| line.trim().strip_prefix("management"));
        line.unwrap().trim().strip_prefix("http://").unwrap().split('/').next().unwrap()
    }

    /// Everything that the server has written to standard error once it has ended.
    pub fn stop_and_read_log(mut self) -> String {
        let mut log = self.process.stderr.take().unwrap();
        assert!(self.stop());
        let mut text = String::new();
        std::io::Read::read_to_string(&mut log, &mut text).unwrap();
        text
    }

    /// Resident memory of the process, in MiB.
    #[cfg(target_os = "linux")]
    pub fn resident_mib(&self) -> u64 {
        self.memory_mib("VmRSS:")
    }

    /// The part of its resident memory that no file has, in MiB.
    #[cfg(target_os = "linux")]
    pub fn anonymous_mib(&self) -> u64 {
        self.memory_mib("RssAnon:")
    }

    /// The most that its resident memory ever was, in MiB.
    #[cfg(target_os = "linux")]
    pub fn peak_mib(&self) -> u64 {
        self.memory_mib("VmHWM:")
    }

    /// Begins anew to measure `peak_mib`.
    #[cfg(target_os = "linux")]
    pub fn forget_peak(&self) {
        std::fs::write(format!("/proc/{}/clear_refs", self.id()), "5").unwrap();
    }

    #[cfg(target_os = "linux")]
    fn memory_mib(&self, field: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
    }

    /// Kills the process without warning.
    pub fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Sends a signal to the server under a runner, and waits for the runner.
    #[cfg(unix)]
    pub fn end_under(mut self, signal: &str) {
        let id = self.id();
        let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
        let sent = Command::new("kill").arg(format!("-{signal}")).args(children.split_whitespace()).status();
        assert!(sent.unwrap().success());
        self.process.wait().unwrap();
    }

    /// Stops the process and returns whether it exited cleanly.
    pub fn stop(mut self) -> bool {
        let signalled = Command::new("kill").arg(self.id().to_string()).status().unwrap();
        assert!(signalled.success());
        self.process.wait().unwrap().success()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Already ended after `kill` or `stop`.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
