//! The binary that all packages carry: builds it, and reads what the packages must know of it.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::output_of;
use crate::cargo::cargo;

/// The type of the program header that names the dynamic linker.
const PT_INTERP: u32 = 3;
const PROFILE: &str = "packaged";

/// The binary and what it says of itself.
pub(super) struct Binary {
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
    /// Such as `x86_64-unknown-linux-gnu`.
    pub(super) target: String,
    /// Whether it needs no library of the system: it runs on every Linux.
    pub(super) is_static: bool,
    version: String,
    commit: String,
    features: String,
}

/// Names of one platform in the worlds of the packages.
pub(super) struct Platform {
    /// The tag of wheels.
    pub(super) wheel: &'static str,
    /// `os` and `cpu` of npm packages.
    pub(super) npm: (&'static str, &'static str),
    /// Debian's architecture.
    pub(super) deb: Option<&'static str>,
}

impl Binary {
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let bytes =
            std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let said = output_of(Command::new(path).arg("--version"))?;
        let said = String::from_utf8_lossy(&said).into_owned();
        let value = |name: &str| {
            let line = said.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            let missing = || format!("{} --version does not say its {name}", path.display());
            line.map(|value| value.trim().to_owned()).ok_or_else(missing)
        };
        Ok(Self {
            path: path.to_owned(),
            is_static: is_static(&bytes),
            target: value("target")?,
            version: value("keywright")?,
            commit: value("commit")?,
            features: value("features")?,
            bytes,
        })
    }

    pub(super) fn check_version(&self, workspace: &str) -> Result<(), String> {
        if self.version == workspace {
            return Ok(());
        }
        let path = self.path.display();
        Err(format!("{path} is version {} and the workspace {workspace}: build it again", self.version))
    }

    /// Whether it has the store on TiKV.
    pub(super) fn has_tikv(&self) -> bool {
        self.features.split(' ').any(|feature| feature == "tikv")
    }

    pub(super) fn run(&self, arguments: &[&str]) -> Result<Vec<u8>, String> {
        output_of(Command::new(&self.path).args(arguments))
    }

    pub(super) fn file_name(&self) -> &'static str {
        if self.target.contains("windows") { "keywright.exe" } else { "keywright" }
    }

    pub(super) fn described(&self) -> String {
        let linked = if self.is_static { "static" } else { "needs libraries of the system" };
        let (bytes, target, commit) = (self.bytes.len(), &self.target, &self.commit);
        format!("{bytes:>11}  {} ({target}, {linked}, commit {commit})", self.path.display())
    }

    pub(super) fn platform(&self) -> Result<Platform, String> {
        let (wheel, npm, deb) = match (self.target.as_str(), self.is_static) {
            ("x86_64-unknown-linux-gnu" | "x86_64-unknown-linux-musl", true) => {
                ("manylinux_2_17_x86_64.musllinux_1_1_x86_64", ("linux", "x64"), Some("amd64"))
            }
            ("x86_64-unknown-linux-gnu", false) => ("linux_x86_64", ("linux", "x64"), Some("amd64")),
            ("aarch64-unknown-linux-gnu" | "aarch64-unknown-linux-musl", true) => {
                ("manylinux_2_17_aarch64.musllinux_1_1_aarch64", ("linux", "arm64"), Some("arm64"))
            }
            ("aarch64-unknown-linux-gnu", false) => ("linux_aarch64", ("linux", "arm64"), Some("arm64")),
            ("aarch64-apple-darwin", _) => ("macosx_11_0_arm64", ("darwin", "arm64"), None),
            ("x86_64-apple-darwin", _) => ("macosx_10_12_x86_64", ("darwin", "x64"), None),
            ("x86_64-pc-windows-msvc", _) => ("win_amd64", ("win32", "x64"), None),
            (other, _) => return Err(format!("there are no names of packages for {other}")),
        };
        Ok(Platform { wheel, npm, deb })
    }
}

/// Compiler flags everywhere. The profile cannot say this: cargo takes another value for a package that the
/// profile overrides.
const FLAGS: &str = "-C strip=symbols";
/// More on Linux: a static program, which asks the kernel for random bytes. Otherwise it would look for a
/// library's function, which a static program does not find, and then for `/dev/random`.
const LINUX_FLAGS: &str = "-C target-feature=+crt-static --cfg getrandom_backend=\"linux_getrandom\"";

/// What released binaries have and a build without features leaves out, to build faster.
pub(super) const FEATURES: &str = "keywright-server/postgres,keywright-server/sqlite";
/// More in the archive `keywright-tikv`. It adds 7 MB, which all others need not carry.
const TIKV: &str = "keywright-server/tikv";

/// Builds the binary of the `packaged` profile for this machine, with the store on TiKV or without; on Linux
/// a static one.
pub(super) fn build(root: &Path, has_tikv: bool) -> Result<PathBuf, String> {
    let target = host()?;
    let mut cargo = cargo();
    cargo.current_dir(root).args(["build", "--profile", PROFILE, "--target", &target]);
    cargo.args(["--package", "keywright-server", "--bin", "keywright", "--features", FEATURES]);
    if has_tikv {
        cargo.args(["--features", TIKV]);
    }
    let more = if target.contains("linux") { LINUX_FLAGS } else { "" };
    cargo.env("RUSTFLAGS", format!("{FLAGS} {more}"));
    if let Some(commit) = commit(root) {
        cargo.env("KEYWRIGHT_COMMIT", commit);
    }
    let status = cargo.status().map_err(|error| format!("cannot run cargo: {error}"))?;
    if !status.success() {
        return Err("the binary does not build".to_owned());
    }
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let name = if target.contains("windows") { "keywright.exe" } else { "keywright" };
    Ok(folder.join(target).join(PROFILE).join(name))
}

/// The target that this compiler builds for by default.
fn host() -> Result<String, String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let said = output_of(Command::new(rustc).arg("-vV"))?;
    let said = String::from_utf8_lossy(&said).into_owned();
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "rustc -vV does not say its host".to_owned())
}

/// The commit, marked if files differ from it; nothing without git, and then the build looks for itself.
fn commit(root: &Path) -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = output_of(Command::new("git").current_dir(root).args(arguments)).ok()?;
        Some(String::from_utf8_lossy(&output).trim().to_owned())
    };
    let commit = git(&["rev-parse", "HEAD"])?;
    let is_clean = git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    Some(if is_clean { commit } else { format!("{commit}-modified") })
}

/// Whether an ELF file of 64 bits names no dynamic linker. Files of other formats count as not static.
fn is_static(bytes: &[u8]) -> bool {
    let number = |at: usize, length: usize| {
        let found = bytes.get(at..at.checked_add(length)?)?;
        Some(found.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte)))
    };
    let is_elf_64 = bytes.starts_with(b"\x7fELF\x02\x01");
    let headers = || {
        let (first, size, count) = (number(0x20, 8)?, number(0x36, 2)?, number(0x38, 2)?);
        (0..count)
            .map(|index| number(usize::try_from(first + index * size).ok()?, 4))
            .collect::<Option<Vec<_>>>()
    };
    is_elf_64 && headers().is_some_and(|kinds| !kinds.contains(&u64::from(PT_INTERP)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu", not(target_feature = "crt-static")))]
    fn a_program_that_names_a_dynamic_linker_is_not_static() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(!is_static(&own));
        // The same file without that header: its type becomes 0, an unused header.
        let mut other = own.clone();
        let first = usize::try_from(u64::from_le_bytes(own[0x20..0x28].try_into().unwrap())).unwrap();
        for index in 0..usize::from(own[0x38]) {
            let at = first + index * usize::from(own[0x36]);
            if own[at] == 3 {
                other[at] = 0;
            }
        }
        assert!(is_static(&other));
        assert!(!is_static(b"MZ"));
    }
}
