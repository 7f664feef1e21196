//! Installs the official clients of other languages that tests drive into `target/clients`.
//!
//! It does not know which tests use them.

use std::path::Path;
use std::process::Command;

use crate::cargo::cargo;

/// A virtual environment with boto3 and the AWS CLI, rebuilt when the list of packages changes.
pub(super) fn python(clients: &Path, scripts: &Path) -> Result<(), String> {
    let folder = clients.join("python");
    let requirements = scripts.join("requirements.txt");
    let libraries = scripts.join("libraries.txt");
    let wanted = format!("{}{}", read(&requirements)?, read(&libraries)?);
    let receipt = folder.join("installed.txt");
    if std::fs::read_to_string(&receipt).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    quietly(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    let pip = |arguments: &[&str], list: &Path| {
        let mut install = Command::new(folder.join("bin/python"));
        quietly(install.args(["-m", "pip", "install", "--quiet"]).args(arguments).arg("-r").arg(list))
    };
    pip(&[], &requirements)?;
    // Libraries that demand older clients than those under test; their own needs are in the list.
    pip(&["--no-deps"], &libraries)?;
    write(&receipt, &wanted)
}

/// The JavaScript SDK, installed again when its version changes.
pub(super) fn javascript(clients: &Path, scripts: &Path) -> Result<(), String> {
    npm(&clients.join("javascript"), scripts)
}

/// The packages of a `package.json`, installed again when it changes.
fn npm(folder: &Path, scripts: &Path) -> Result<(), String> {
    let wanted = read(&scripts.join("package.json"))?;
    let receipt = folder.join("installed.txt");
    if std::fs::read_to_string(&receipt).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    std::fs::create_dir_all(folder)
        .map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    write(&folder.join("package.json"), &wanted)?;
    let mut install = Command::new("npm");
    quietly(install.args(["install", "--no-package-lock", "--no-audit", "--no-fund"]).current_dir(folder))?;
    write(&receipt, &wanted)
}

/// Libraries on top of the SDKs for Python and JavaScript, each installed again when its list changes.
pub(super) fn ecosystem(clients: &Path, scripts: &Path) -> Result<(), String> {
    let (folder, scripts) = (clients.join("ecosystem"), scripts.join("ecosystem"));
    npm(&folder.join("javascript"), &scripts)?;
    environment(&folder.join("python"), &scripts.join("requirements.txt"))
}

/// A small S3-compatible store.
pub(super) fn rclone(clients: &Path, scripts: &Path) -> Result<(), String> {
    environment(&clients.join("rclone"), &scripts.with_file_name("support/stores/rclone.txt"))
}

/// A database of analysts, in a library.
pub(super) fn duckdb(clients: &Path, scripts: &Path) -> Result<(), String> {
    environment(&clients.join("duckdb"), &scripts.with_file_name("transfers/readers/duckdb.txt"))
}

/// Many services in one process and in memory, which check no secret.
pub(super) fn moto(clients: &Path, scripts: &Path) -> Result<(), String> {
    environment(&clients.join("moto"), &scripts.with_file_name("support/stores/moto.txt"))
}

/// A large one.
pub(super) fn seaweedfs(clients: &Path, scripts: &Path) -> Result<(), String> {
    environment(&clients.join("seaweedfs"), &scripts.with_file_name("support/stores/seaweedfs.txt"))
}

/// Another one, over a file, which is compiled.
pub(super) fn dynoxide(clients: &Path, scripts: &Path) -> Result<(), String> {
    let folder = clients.join("dynoxide");
    let wanted = read(&scripts.with_file_name("migrate/foreign/dynoxide.txt"))?;
    let receipt = folder.join("installed.txt");
    if std::fs::read_to_string(&receipt).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    let mut install = cargo();
    install.args(["install", "--quiet", "--locked", "--force", "--debug", "--root"]).arg(&folder);
    install.args(wanted.split_whitespace()).current_dir(clients);
    quietly(&mut install)?;
    write(&receipt, &wanted)
}

/// Kinesis alone.
pub(super) fn kinesalite(clients: &Path, scripts: &Path) -> Result<(), String> {
    quietly(Command::new("node").arg("--version"))?;
    npm(&clients.join("kinesalite"), &scripts.with_file_name("destinations/kinesis"))
}

/// A virtual environment with the packages of a list, made again when the list changes.
fn environment(folder: &Path, requirements: &Path) -> Result<(), String> {
    let wanted = read(requirements)?;
    let receipt = folder.join("installed.txt");
    if std::fs::read_to_string(&receipt).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    quietly(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder))?;
    let mut install = Command::new(folder.join("bin/python"));
    quietly(install.args(["-m", "pip", "install", "--quiet", "-r"]).arg(requirements))?;
    write(&receipt, &wanted)
}

/// The packages of a checkout of the public conformance suite, as its own list names them.
pub(super) fn conformance(suite: &Path) -> Result<(), String> {
    if !suite.join("package-lock.json").is_file() {
        return Err(format!("{} holds no package-lock.json", suite.display()));
    }
    if suite.join("node_modules/vitest").is_dir() {
        return Ok(());
    }
    let mut install = Command::new("npm");
    quietly(install.args(["ci", "--no-audit", "--no-fund"]).current_dir(suite))
}

/// What drives the studio's pages in Chromium, with or without its windows, which must be here already.
pub(super) fn studio(clients: &Path, scripts: &Path) -> Result<(), String> {
    let version = |browser| quietly(Command::new(browser).arg("--version"));
    version("chromium-headless-shell").or_else(|_| version("chromium"))?;
    studio_packages(clients, &scripts.with_file_name("studio"))
}

/// What drives, checks and links the studio's pages.
fn studio_packages(clients: &Path, scripts: &Path) -> Result<(), String> {
    quietly(Command::new("node").arg("--version"))?;
    npm(&clients.join("studio"), scripts)
}

/// Links the studio's pages, in a few seconds, into the folder that released binaries serve.
pub(super) fn pages(root: &Path) -> Result<String, String> {
    let clients = root.join("target/clients");
    studio_packages(&clients, &root.join("crates/server/tests/studio"))?;
    let studio = root.join("crates/studio/pages");
    let mut link = Command::new("node");
    link.arg(studio.join("vendor/build/pages.mjs")).arg(studio.join("dist"));
    quietly(link.env("KEYWRIGHT_STUDIO_MODULES", clients.join("studio/node_modules")))?;
    Ok("crates/studio/pages/dist is made of the sources as they stand".to_owned())
}

/// The runner of the shared scenario with the Go SDK, built again when one of its files changes.
pub(super) fn go(clients: &Path, scripts: &Path) -> Result<(), String> {
    let (folder, sources) = (clients.join("go"), scripts.join("go"));
    let names = ["go.mod", "go.sum", "main.go"];
    let texts: Result<Vec<String>, String> = names.iter().map(|name| read(&sources.join(name))).collect();
    let wanted = texts?.concat();
    let receipt = folder.join("installed.txt");
    if std::fs::read_to_string(&receipt).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    let mut build = Command::new("go");
    quietly(build.current_dir(&sources).args(["build", "-o"]).arg(folder.join("run_scenario")).arg("."))?;
    write(&receipt, &wanted)
}

/// A function of Rust with the library of events, built again when one of its files changes.
pub(super) fn rust_function(clients: &Path, scripts: &Path) -> Result<(), String> {
    rust(&clients.join("rust_function"), &scripts.join("rust_function"), &["main.rs"])
}

/// The AWS Database Encryption SDK for Rust with its scenes, which takes minutes to compile.
pub(super) fn rust_encryption(clients: &Path, scripts: &Path) -> Result<(), String> {
    let sources = ["main.rs", "beacons.rs", "connection.rs", "items.rs"];
    rust(&clients.join("rust_encryption"), &scripts.join("encryption/rust"), &sources)
}

/// A package of its own, built again when one of its files changes.
fn rust(folder: &Path, package: &Path, sources: &[&str]) -> Result<(), String> {
    let names = ["Cargo.toml", "Cargo.lock"].iter().chain(sources);
    let texts: Result<Vec<String>, String> = names.map(|name| read(&package.join(name))).collect();
    let wanted = texts?.concat();
    let receipt = folder.join("installed.txt");
    if std::fs::read_to_string(&receipt).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    let mut build = cargo();
    build.current_dir(package).args(["build", "--quiet", "--locked", "--target-dir"]).arg(folder);
    quietly(&mut build)?;
    write(&receipt, &wanted)
}

/// The Java SDK and what it needs, copied again when its version changes.
pub(super) fn java(clients: &Path, scripts: &Path) -> Result<(), String> {
    let folder = clients.join("java");
    let pom = scripts.join("java/pom.xml");
    let wanted = read(&pom)?;
    let receipt = folder.join("installed.txt");
    if std::fs::read_to_string(&receipt).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    quietly(Command::new("java").arg("-version"))?;
    maven(&folder, &pom)?;
    write(&receipt, &wanted)
}

/// The AWS Database Encryption SDK for Java with its scenes, made again when one of their files changes.
pub(super) fn java_encryption(clients: &Path, scripts: &Path) -> Result<(), String> {
    let (folder, sources) = (clients.join("java_encryption"), scripts.join("encryption/java"));
    let classes = ["Main", "Beacons", "Connection", "Items", "Migration", "Tenants"];
    let paths = classes.map(|class| sources.join(format!("{class}.java")));
    let pom = sources.join("pom.xml");
    let texts: Result<Vec<String>, String> = paths.iter().chain([&pom]).map(|path| read(path)).collect();
    let wanted = texts?.concat();
    let receipt = folder.join("installed.txt");
    if std::fs::read_to_string(&receipt).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    maven(&folder, &pom)?;
    let mut compile = Command::new("javac");
    compile.arg("-classpath").arg(folder.join("lib/*")).arg("-d").arg(folder.join("classes"));
    quietly(compile.args(paths))?;
    write(&receipt, &wanted)
}

/// The libraries of a `pom.xml`, in `lib` of a folder that is emptied first.
fn maven(folder: &Path, pom: &Path) -> Result<(), String> {
    // Of an earlier version.
    let _ = std::fs::remove_dir_all(folder);
    let mut copy = Command::new("mvn");
    copy.args(["--quiet", "--batch-mode", "dependency:copy-dependencies", "--file"]).arg(pom);
    quietly(copy.arg(format!("-DoutputDirectory={}", folder.join("lib").display())))
}

/// The older client for Python that encrypts items.
pub(super) fn python_encryption(clients: &Path, scripts: &Path) -> Result<(), String> {
    environment(&clients.join("python_encryption"), &scripts.join("encryption/python/requirements.txt"))
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Runs a command; its output appears only when it fails.
fn quietly(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("cannot run {name}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    // Maven writes its errors to standard output.
    let said = [output.stdout, output.stderr].concat();
    Err(format!("{name} failed: {}", String::from_utf8_lossy(&said).trim()))
}
