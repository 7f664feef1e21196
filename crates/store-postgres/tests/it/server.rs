//! A PostgreSQL server of our own, in a temporary folder, reached by a socket in it. The tests of `server`
//! use it too.

#![allow(dead_code, unreachable_pub, reason = "each test program uses a part of this")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The port in the name of a socket.
const PORT: u16 = 5432;

/// A running server. It is started once for all tests of the program, and stopped by a watcher that outlives
/// the program: statics are not dropped.
pub struct PostgresServer {
    folder: PathBuf,
    port: u16,
}

/// The server, or why there is none.
pub fn server() -> Result<&'static PostgresServer, &'static str> {
    static SERVER: OnceLock<Result<PostgresServer, String>> = OnceLock::new();
    SERVER
        .get_or_init(|| PostgresServer::start(PORT, &[], "-c listen_addresses="))
        .as_ref()
        .map_err(String::as_str)
}

/// The address of a schema of a running server; if there is none, says so.
pub fn url_or_say(schema: &str) -> Option<String> {
    match server() {
        Ok(server) => Some(server.url(schema)),
        Err(reason) => {
            eprintln!("PASSED OVER: {reason}");
            None
        }
    }
}

impl PostgresServer {
    /// Starts a server on this port, with these files in its data folder, and these settings.
    pub fn start(port: u16, files: &[(&str, &str)], settings: &str) -> Result<Self, String> {
        let server = Self::in_new_folder(port)?;
        let owner = ["-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8"];
        run(as_owner("initdb")?.args(["-D", path(&server.data())]).args(owner))?;
        for (name, content) in files {
            server.write(name, content)?;
        }
        server.begin(settings)?;
        Ok(server)
    }

    /// Starts a standby of this server on this port. The server does not wait for it.
    pub fn standby(&self, port: u16) -> Result<Self, String> {
        let standby = Self::in_new_folder(port)?;
        let primary = ["-h", path(&self.folder), "-p", &self.port.to_string(), "-U", "postgres"];
        let how = ["--write-recovery-conf", "--no-sync", "--checkpoint=fast"];
        run(as_owner("pg_basebackup")?.args(["-D", path(&standby.data())]).args(primary).args(how))?;
        standby.begin("-c listen_addresses=")?;
        Ok(standby)
    }

    fn in_new_folder(port: u16) -> Result<Self, String> {
        let folder =
            tempfile::Builder::new().prefix("keywright-pg-").tempdir().map_err(|error| error.to_string())?;
        let server = Self { folder: folder.keep(), port };
        if is_root() {
            run(Command::new("chown").args(["-R", "postgres", path(&server.folder)]))?;
        }
        Ok(server)
    }

    fn begin(&self, settings: &str) -> Result<(), String> {
        let settings = format!(
            "{settings} -p {} -c unix_socket_directories={} -c max_connections=300 -c fsync=off",
            self.port,
            path(&self.folder)
        );
        self.control(&["-o", &settings, "start"])?;
        watch(&self.data(), &self.folder)
    }

    /// Writes a file of its data folder, for itself alone.
    pub fn write(&self, name: &str, content: &str) -> Result<(), String> {
        let file = self.data().join(name);
        std::fs::write(&file, content).map_err(|error| error.to_string())?;
        if is_root() {
            run(Command::new("chown").args(["postgres", path(&file)]))?;
        }
        run(Command::new("chmod").args(["600", path(&file)]))
    }

    /// Starts it again, with the same settings.
    pub fn restart(&self) -> Result<(), String> {
        self.control(&["-m", "immediate", "restart"])
    }

    /// Ends it as a crash does.
    pub fn crash(&self) -> Result<(), String> {
        self.control(&["-m", "immediate", "stop"])
    }

    /// Makes a standby the primary.
    pub fn promote(&self) -> Result<(), String> {
        self.control(&["promote"])
    }

    fn control(&self, arguments: &[&str]) -> Result<(), String> {
        let log = self.folder.join("log");
        run(as_owner("pg_ctl")?.args(["-D", path(&self.data()), "-w", "-l", path(&log)]).args(arguments))
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Its socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.join(format!(".s.PGSQL.{}", self.port))
    }

    /// Runs a statement as the database's owner.
    pub fn execute(&self, statement: &str) {
        self.query(statement);
    }

    /// What a statement returns, as text.
    pub fn query(&self, statement: &str) -> String {
        let mut command = Command::new(programs().expect("the server runs").join("psql"));
        command.args(["-h", path(&self.folder), "-p", &self.port.to_string(), "-U", "postgres"]);
        command.args(["-v", "ON_ERROR_STOP=1", "-Atc", statement]).current_dir("/");
        let output = command.output().expect("psql runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// The number that a query returns; `None` if it fails.
    pub fn number(&self, query: &str) -> Option<u64> {
        let folder = self.folder.display().to_string();
        let mut command = Command::new(programs()?.join("psql"));
        let output = command.args(["-h", &folder, "-U", "postgres", "-Atc", query]).output().ok()?;
        String::from_utf8(output.stdout).ok()?.trim().parse().ok()
    }

    /// The address of a schema in the database that all tests share.
    pub fn url(&self, schema: &str) -> String {
        self.url_in("postgres", schema)
    }

    /// The address of a schema in a database.
    pub fn url_in(&self, database: &str, schema: &str) -> String {
        format!("postgres://postgres@{}/{database}?schema={schema}", self.host())
    }

    /// Its socket as a host of an address.
    pub fn host(&self) -> String {
        format!("{}:{}", self.folder.display().to_string().replace('/', "%2F"), self.port)
    }
}

/// The newest installed server's programs.
fn programs() -> Option<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .ok()?
        .flatten()
        .map(|entry| entry.path().join("bin"))
        .filter(|folder| folder.join("initdb").exists())
        .collect();
    found.sort();
    found.pop()
}

/// A program of the server, as a user who may run it: it refuses root.
fn as_owner(program: &str) -> Result<Command, String> {
    let programs = programs().ok_or("PostgreSQL is not installed (apt-get install postgresql)")?;
    if !is_root() {
        return Ok(Command::new(programs.join(program)));
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(programs.join(program));
    Ok(command)
}

/// Stops the server and removes its folder when this process has ended.
fn watch(data: &Path, folder: &Path) -> Result<(), String> {
    let script = "while kill -0 \"$1\" 2>/dev/null; do sleep 1; done; \
                  kill -INT \"$(head -1 \"$2/postmaster.pid\")\"; sleep 2; rm -rf \"$3\"";
    Command::new("setsid")
        .args(["bash", "-c", script, "watch", &std::process::id().to_string(), path(data), path(folder)])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map(|_watcher| ())
        .map_err(|error| error.to_string())
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn path(path: &Path) -> &str {
    path.to_str().expect("temporary folders have plain names")
}

fn run(command: &mut Command) -> Result<(), String> {
    // The server inherits the streams of `pg_ctl`: a pipe would stay open.
    let status =
        command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?}: {status}")),
        Err(error) => Err(format!("{command:?}: {error}")),
    }
}
