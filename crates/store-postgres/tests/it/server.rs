//! A PostgreSQL server of our own, in a temporary folder, reached by a socket in it. The tests of `server`
//! use it too.

#![allow(dead_code, unreachable_pub, reason = "each test program uses a part of this")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// A running server. It is started once for all tests of the program, and stopped by a watcher that outlives
/// the program: statics are not dropped.
pub struct PostgresServer {
    folder: PathBuf,
}

/// The server, or why there is none.
pub fn server() -> Result<&'static PostgresServer, &'static str> {
    static SERVER: OnceLock<Result<PostgresServer, String>> = OnceLock::new();
    SERVER.get_or_init(start).as_ref().map_err(String::as_str)
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
    /// Its socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.join(".s.PGSQL.5432")
    }

    /// Runs a statement as the database's owner.
    pub fn execute(&self, statement: &str) {
        let psql = programs().expect("the server runs").join("psql");
        let folder = self.folder.display().to_string();
        let mut command = Command::new(psql);
        command.args(["-h", &folder, "-U", "postgres", "-v", "ON_ERROR_STOP=1", "-c", statement]);
        run(&mut command).unwrap_or_else(|fault| panic!("{fault}"));
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
        let folder = self.folder.display().to_string().replace('/', "%2F");
        format!("postgres://postgres@{folder}/{database}?schema={schema}")
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

fn start() -> Result<PostgresServer, String> {
    let programs = programs().ok_or("PostgreSQL is not installed (apt-get install postgresql)")?;
    let folder =
        tempfile::Builder::new().prefix("keywright-pg-").tempdir().map_err(|error| error.to_string())?;
    let folder = folder.keep();
    let data = folder.join("data");
    let root = is_root();
    if root {
        run(Command::new("chown").args(["-R", "postgres", path(&folder)]))?;
    }
    let as_user = |program: &str| {
        if root {
            let mut command = Command::new("setpriv");
            command
                .args(["--reuid=postgres", "--regid=postgres", "--clear-groups"])
                .arg(programs.join(program));
            command
        } else {
            Command::new(programs.join(program))
        }
    };
    run(as_user("initdb").args([
        "-D",
        path(&data),
        "-U",
        "postgres",
        "-A",
        "trust",
        "--no-sync",
        "-E",
        "UTF8",
    ]))?;
    let settings = format!(
        "-c listen_addresses= -c unix_socket_directories={} -c max_connections=300 -c fsync=off",
        path(&folder)
    );
    run(as_user("pg_ctl").args([
        "-D",
        path(&data),
        "-w",
        "-l",
        path(&folder.join("log")),
        "-o",
        &settings,
        "start",
    ]))?;
    watch(&data, &folder)?;
    Ok(PostgresServer { folder })
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
