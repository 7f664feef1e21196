//! What `keywright --version` says of the build: commit, target, features; and how the program is linked.
//!
//! The commit is read from the files of `.git`, without running git. A build from an archive sets
//! `KEYWRIGHT_COMMIT` or names none. Debug builds do not name it: every commit would compile them again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The first release of glibc that applies packed relocations.
const PACKED_SINCE: (u32, u32) = (2, 36);

/// Hexadecimal digits of a commit that are shown.
const COMMIT_DIGITS: usize = 12;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=KEYWRIGHT_COMMIT");
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let is_debug = variable("PROFILE").as_deref() == Some("debug");
    let commit = variable("KEYWRIGHT_COMMIT").or_else(|| if is_debug { None } else { commit() });
    let commit = match commit {
        Some(commit) => shortened(&commit),
        None if is_debug => "none, a debug build".to_owned(),
        None => "unknown".to_owned(),
    };
    let mut features: Vec<String> = std::env::vars()
        .filter_map(|(name, _)| Some(name.strip_prefix("CARGO_FEATURE_")?.to_lowercase().replace('_', "-")))
        .filter(|name| name != "default")
        .collect();
    features.sort();
    let features = if features.is_empty() { "none".to_owned() } else { features.join(" ") };
    println!("cargo::rustc-env=KEYWRIGHT_BUILD_COMMIT={commit}");
    println!("cargo::rustc-env=KEYWRIGHT_BUILD_FEATURES={features}");
    println!("cargo::rustc-env=KEYWRIGHT_BUILD_TARGET={}", variable("TARGET").unwrap_or_default());
    // The program has more than a hundred thousand addresses to relocate: 24 bytes each, all of them read
    // into memory at each start, or about a bit each.
    let is_native = variable("TARGET") == variable("HOST");
    let is_glibc = variable("CARGO_CFG_TARGET_OS").as_deref() == Some("linux")
        && variable("CARGO_CFG_TARGET_ENV").as_deref() == Some("gnu");
    if is_native && is_glibc && glibc().is_some_and(|version| version >= PACKED_SINCE) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this machine's glibc.
fn glibc() -> Option<(u32, u32)> {
    let said = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let said = String::from_utf8(said.stdout).ok()?;
    let (major, minor) = said.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}

/// The first digits of the id, with what follows it: `-modified`.
fn shortened(commit: &str) -> String {
    let digits = commit.bytes().take_while(u8::is_ascii_hexdigit).count();
    let (id, rest) = commit.split_at(digits);
    format!("{}{rest}", id.get(..COMMIT_DIGITS).unwrap_or(id))
}

/// The commit that is checked out.
fn commit() -> Option<String> {
    let root = Path::new(&std::env::var_os("CARGO_MANIFEST_DIR")?).join("../..");
    let folder = git_folder(&root.join(".git"))?;
    let head = watched(&folder.join("HEAD"))?;
    let Some(name) = head.strip_prefix("ref: ") else { return Some(head) };
    // A worktree has a HEAD of its own and shares the branches.
    let common = fs::read_to_string(folder.join("commondir"));
    let common = common.map_or_else(|_| folder.clone(), |path| folder.join(path.trim()));
    watched(&common.join(name)).or_else(|| {
        let packed = watched(&common.join("packed-refs"))?;
        let mut lines = packed.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(_, branch)| *branch == name).map(|(id, _)| id.to_owned())
    })
}

/// The folder that `.git` is, or that the file `.git` of a worktree names.
fn git_folder(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return Some(path.to_owned());
    }
    let text = fs::read_to_string(path).ok()?;
    Some(path.parent()?.join(text.trim().strip_prefix("gitdir: ")?))
}

/// The text of a file whose change makes cargo run this again.
fn watched(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    println!("cargo::rerun-if-changed={}", path.display());
    Some(text.trim().to_owned())
}
