//! The npm packages: `keywright` with the command and the helper, and `@keywright/PLATFORM` with the binary.
//!
//! npm installs the platform's package alone, because the others name another `os` or `cpu`.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::Dist;
use super::tarball::{self, Entry};

const SOURCES: &str = "packaging/npm";
/// Platforms with a package of their own: those that the release workflow builds for.
const PLATFORMS: &[&str] = &["darwin-arm64", "linux-arm64", "linux-x64", "win32-x64"];

pub(super) fn make(dist: &Dist) -> Result<Vec<PathBuf>, String> {
    Ok(vec![main_package(dist)?, platform_package(dist)?])
}

fn main_package(dist: &Dist) -> Result<PathBuf, String> {
    let mut package: Value = serde_json::from_str(&dist.text(&format!("{SOURCES}/package.json"))?)
        .map_err(|error| error.to_string())?;
    let binaries = PLATFORMS.iter().map(|platform| (format!("@keywright/{platform}"), json!(dist.version)));
    if let Some(members) = package.as_object_mut() {
        members.insert("optionalDependencies".to_owned(), Value::Object(binaries.collect()));
    }
    let mut entries = vec![Entry::file("package.json", format!("{package:#}\n").into_bytes())];
    for name in ["README.md", "binary.js", "index.d.ts", "index.js"] {
        entries.push(Entry::file(name, dist.text(&format!("{SOURCES}/{name}"))?.into_bytes()));
    }
    let command = dist.text(&format!("{SOURCES}/bin/keywright.js"))?;
    entries.push(Entry::program("bin/keywright.js", command.into_bytes()));
    pack(dist, &format!("keywright-{}.tgz", dist.version), entries)
}

fn platform_package(dist: &Dist) -> Result<PathBuf, String> {
    let (os, cpu) = dist.binary.platform()?.npm;
    let name = format!("@keywright/{os}-{cpu}");
    let package = json!({
        "name": name,
        "version": dist.version,
        "description": format!("The keywright binary for {os} on {cpu}"),
        "license": "Apache-2.0 OR MIT",
        "repository": {"type": "git", "url": format!("git+{}.git", dist.repository)},
        "os": [os],
        "cpu": [cpu],
        "preferUnplugged": true,
    });
    let entries = vec![
        Entry::file("package.json", format!("{package:#}\n").into_bytes()),
        Entry::program(dist.binary.file_name(), dist.binary.bytes.clone()),
    ];
    pack(dist, &format!("keywright-{os}-{cpu}-{}.tgz", dist.version), entries)
}

fn pack(dist: &Dist, name: &str, mut entries: Vec<Entry>) -> Result<PathBuf, String> {
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        entries.push(Entry::file(licence, dist.source(licence)?));
    }
    let entries: Vec<Entry> = entries.into_iter().map(|entry| entry.below("package")).collect();
    dist.write(name, &tarball::compressed(&entries, dist.compression)?)
}
