//! The wheel in a new virtual environment: the command, the module, the pytest plugin.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::built::{package, printed, text};

const SUITE: &str = include_str!("suite.py");

/// A virtual environment with the wheel and nothing else. boto3 and pytest come from the clients' one.
pub(crate) struct Environment {
    folder: tempfile::TempDir,
    others: String,
}

impl Environment {
    pub(crate) fn new() -> Self {
        let clients =
            std::env::var_os("KEYWRIGHT_CLIENTS").expect("`cargo xtask test` sets the clients' folder");
        let theirs = PathBuf::from(clients).join("python/bin/python");
        assert!(theirs.exists(), "{} is not installed: run `cargo xtask test`", theirs.display());
        let folder = tempfile::tempdir().unwrap();
        printed(Command::new(&theirs).args(["-m", "venv", "--without-pip"]).arg(folder.path()));
        let python = folder.path().join("bin/python");
        printed(
            Command::new(&theirs)
                .args(["-m", "pip", "--python"])
                .arg(python)
                .args(["install", "--quiet", "--no-index", "--no-deps"])
                .arg(package("keywright-", ".whl")),
        );
        let ask = "import sysconfig; print(sysconfig.get_path('purelib'))";
        let others = printed(Command::new(&theirs).args(["-c", ask])).trim().to_owned();
        Self { folder, others }
    }

    pub(crate) fn bin(&self) -> PathBuf {
        self.folder.path().join("bin")
    }

    /// A program of the environment, with the others' packages importable.
    pub(crate) fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.bin().join(name));
        self.prepare(&mut command);
        command
    }

    pub(crate) fn prepare(&self, command: &mut Command) {
        command.env("PYTHONPATH", &self.others).env("PYTHONDONTWRITEBYTECODE", "1");
    }

    fn pytest(&self, folder: &Path, arguments: &[&str]) -> String {
        std::fs::write(folder.join("test_suite.py"), SUITE).unwrap();
        let mut pytest = self.program("python");
        pytest.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]).args(arguments).current_dir(folder);
        let output = pytest.output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        text(&output)
    }
}

/// The endpoints and accounts that the suite wrote to its log.
fn places(folder: &Path) -> (usize, usize) {
    let log = std::fs::read_to_string(folder.join("places.log")).unwrap();
    let count = |index: usize| {
        let values: std::collections::BTreeSet<&str> =
            log.lines().filter_map(|line| line.split(' ').nth(index)).collect();
        values.len()
    };
    (count(0), count(1))
}

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn the_wheel_gives_the_command_and_a_module_that_starts_servers() {
    let environment = Environment::new();
    let version = format!("keywright {}", env!("CARGO_PKG_VERSION"));
    assert_eq!(printed(environment.program("keywright").arg("-V")).trim(), version);
    assert_eq!(printed(environment.program("python").args(["-m", "keywright", "-V"])).trim(), version);
    printed(environment.program("python").args(["-c", include_str!("module.py")]));
}

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn the_pytest_plugin_starts_one_server_for_all_tests() {
    let (environment, folder) = (Environment::new(), tempfile::tempdir().unwrap());
    environment.pytest(folder.path(), &[]);
    assert_eq!(places(folder.path()), (1, 1));
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
}

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn workers_of_pytest_share_a_server_and_have_accounts_of_their_own() {
    let (environment, folder) = (Environment::new(), tempfile::tempdir().unwrap());
    environment.pytest(folder.path(), &["-n", "2"]);
    assert_eq!(places(folder.path()), (1, 2));
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
}

/// The endpoints of the suite that still accept connections.
fn left_behind(folder: &Path) -> Vec<String> {
    let log = std::fs::read_to_string(folder.join("places.log")).unwrap();
    let endpoints = log.lines().filter_map(|line| line.split(' ').next()?.strip_prefix("http://"));
    endpoints.filter(|address| std::net::TcpStream::connect(address).is_ok()).map(str::to_owned).collect()
}
