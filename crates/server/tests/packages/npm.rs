//! The npm packages in a new folder: the command and the helper.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::built::{package, printed};

/// Installs both packages from their files; the network is not asked for those of other platforms.
pub(crate) fn install(folder: &Path) {
    std::fs::write(folder.join("package.json"), "{\"private\": true, \"type\": \"module\"}").unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let main = package(&format!("keywright-{version}"), ".tgz");
    let binary = platform_package(version);
    printed(
        Command::new("npm")
            .args(["install", "--offline", "--omit=optional", "--no-audit", "--no-fund", "--no-package-lock"])
            .args([main, binary])
            .current_dir(folder),
    );
}

fn platform_package(version: &str) -> PathBuf {
    let platform = printed(Command::new("node").args(["-p", "`${process.platform}-${process.arch}`"]));
    package(&format!("keywright-{}-{version}", platform.trim()), ".tgz")
}

/// The folder of the JavaScript SDK that `cargo xtask test` installed.
pub(crate) fn sdk() -> PathBuf {
    let clients = std::env::var_os("KEYWRIGHT_CLIENTS").expect("`cargo xtask test` sets the clients' folder");
    let found = PathBuf::from(clients).join("javascript/node_modules/@aws-sdk");
    assert!(found.exists(), "{} is not installed: run `cargo xtask test`", found.display());
    found
}

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn packages_for_the_javascript_sdk_give_the_command_and_a_helper_that_starts_servers() {
    let folder = tempfile::tempdir().unwrap();
    install(folder.path());
    let said = printed(Command::new("npx").args(["--offline", "keywright", "-V"]).current_dir(folder.path()));
    assert_eq!(said.trim(), format!("keywright {}", env!("CARGO_PKG_VERSION")));
    let mut npx = Command::new("npx");
    npx.args(["--offline", "keywright", "model", "check", "none.yaml"]).current_dir(folder.path());
    let failed = npx.output().unwrap();
    assert_eq!(failed.status.code(), Some(1));
    std::os::unix::fs::symlink(sdk(), folder.path().join("node_modules/@aws-sdk")).unwrap();
    std::fs::write(folder.path().join("helper.mjs"), include_str!("helper.mjs")).unwrap();
    let endpoint = printed(Command::new("node").arg("helper.mjs").current_dir(folder.path()));
    // The process ended without stopping its last server, which must not outlive it.
    let address = endpoint.trim().trim_start_matches("http://").to_owned();
    assert!(
        address.starts_with("127.0.0.1:") && std::net::TcpStream::connect(address).is_err(),
        "{endpoint}"
    );
}
