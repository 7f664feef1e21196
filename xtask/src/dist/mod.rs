//! `cargo xtask dist`: the packages that people install, made from one binary.
//!
//! It publishes nothing. Packages of one binary have equal bytes, because no file in them has a time of its
//! own.

mod binary;
mod container;
mod deb;
mod npm;
mod sbom;
mod tarball;
mod wheel;
mod zip;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::Compression;
use sha2::{Digest as _, Sha256};

use crate::tidy::workspace_root;
use binary::Binary;
use tarball::Entry;

/// Names of the packages, in the order in which they are made.
const PARTS: &[(&str, Make)] = &[
    ("archive", archive),
    ("deb", deb::make),
    ("docker", container::make),
    ("npm", npm::make),
    ("sbom", sbom::make),
    ("wheel", wheel::make),
];

/// Makes packages in the output folder and returns their paths.
type Make = fn(&Dist) -> Result<Vec<PathBuf>, String>;

/// Shells with completions, and where Debian's packages keep them.
const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "usr/share/bash-completion/completions/keywright"),
    ("fish", "usr/share/fish/vendor_completions.d/keywright.fish"),
    ("zsh", "usr/share/zsh/vendor-completions/_keywright"),
];

/// What every package is made of.
struct Dist {
    root: PathBuf,
    output: PathBuf,
    has_tikv: bool,
    binary: Binary,
    /// `version` and `repository` of the workspace.
    version: String,
    repository: String,
    compression: Compression,
}

impl Dist {
    /// The bytes of a file of the repository.
    fn source(&self, path: &str) -> Result<Vec<u8>, String> {
        fs::read(self.root.join(path)).map_err(|error| format!("cannot read {path}: {error}"))
    }

    /// A text of the repository with the version and the repository's address put in.
    fn text(&self, path: &str) -> Result<String, String> {
        let text = String::from_utf8(self.source(path)?).map_err(|error| format!("{path}: {error}"))?;
        Ok(text.replace("@VERSION@", &self.version).replace("@REPOSITORY@", &self.repository))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, String> {
        let path = self.output.join(name);
        fs::write(&path, bytes).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        Ok(path)
    }

    /// Licences and the list of changes, which every package carries.
    fn notices(&self) -> Result<Vec<Entry>, String> {
        let names = ["LICENSE-APACHE", "LICENSE-MIT", "CHANGELOG.md"];
        names.iter().map(|name| Ok(Entry::file(name, self.source(name)?))).collect()
    }

    /// The manual pages, sorted by name.
    fn manual(&self) -> Result<Vec<Entry>, String> {
        let folder = self.output.join("man");
        self.binary.run(&["man", "--folder", &folder.display().to_string()])?;
        let explain = |error: std::io::Error| format!("cannot read {}: {error}", folder.display());
        let mut pages = Vec::new();
        for entry in fs::read_dir(&folder).map_err(explain)? {
            let entry = entry.map_err(explain)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            pages.push(Entry::file(&name, fs::read(entry.path()).map_err(explain)?));
        }
        fs::remove_dir_all(&folder).map_err(explain)?;
        pages.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(pages)
    }

    fn completions(&self, shell: &str) -> Result<Vec<u8>, String> {
        self.binary.run(&["completions", shell])
    }
}

/// What `cargo xtask dist` was asked for.
struct Request {
    binary: Option<PathBuf>,
    output: Option<PathBuf>,
    is_fast: bool,
    /// Whether the binary has the store on TiKV.
    has_tikv: bool,
    parts: Vec<&'static (&'static str, Make)>,
}

impl Request {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut request =
            Self { binary: None, output: None, is_fast: false, has_tikv: false, parts: Vec::new() };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut path = || arguments.next().map(PathBuf::from).ok_or(format!("{argument} needs a path"));
            match argument.as_str() {
                "--binary" => request.binary = Some(path()?),
                "--output" => request.output = Some(path()?),
                "--fast" => request.is_fast = true,
                "--tikv" => request.has_tikv = true,
                name => {
                    let part = PARTS.iter().find(|(known, _)| *known == name);
                    let known = || PARTS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
                    request.parts.push(part.ok_or_else(|| {
                        format!(
                            "dist: `{name}` is not known: write --binary PATH, --output DIR, --fast, --tikv, {}",
                            known()
                        )
                    })?);
                }
            }
        }
        if request.has_tikv {
            if request.parts.iter().any(|(name, _)| *name != "archive") {
                return Err("dist: --tikv makes the archive alone".to_owned());
            }
            request.parts = PARTS.iter().filter(|(name, _)| *name == "archive").collect();
        } else if request.parts.is_empty() {
            request.parts = PARTS.iter().collect();
        }
        Ok(request)
    }
}

pub(crate) fn run(arguments: &[String]) -> Result<String, String> {
    let request = Request::parse(arguments)?;
    let root = workspace_root()?;
    let path = match &request.binary {
        Some(path) => path.clone(),
        None => binary::build(&root, request.has_tikv)?,
    };
    let output = request.output.unwrap_or_else(|| root.join("target/dist"));
    fs::create_dir_all(&output).map_err(|error| format!("cannot create {}: {error}", output.display()))?;
    let output = fs::canonicalize(&output).map_err(|error| format!("{}: {error}", output.display()))?;
    let compression = if request.is_fast { Compression::fast() } else { Compression::best() };
    let (version, repository) = (workspace_value(&root, "version")?, workspace_value(&root, "repository")?);
    let dist = Dist {
        binary: Binary::read(&path)?,
        root,
        output,
        has_tikv: request.has_tikv,
        version,
        repository,
        compression,
    };
    dist.binary.check_version(&dist.version)?;
    if request.has_tikv && !dist.binary.has_tikv() {
        return Err(format!("{} was built without the store on TiKV", path.display()));
    }
    let mut made = Vec::new();
    for (name, make) in request.parts {
        made.extend(make(&dist).map_err(|fault| format!("{name}: {fault}"))?);
    }
    let sums = write_sums(&dist, &made)?;
    made.push(sums);
    let mut lines = vec![dist.binary.described()];
    for path in made {
        let bytes = fs::metadata(&path).map_or(0, |metadata| metadata.len());
        lines.push(format!("{:>11}  {}", bytes, path.display()));
    }
    Ok(lines.join("\n"))
}

/// `keywright-0.1.0-x86_64-unknown-linux-gnu.tar.gz`: what a person without a package manager unpacks.
fn archive(dist: &Dist) -> Result<Vec<PathBuf>, String> {
    let program = if dist.has_tikv { "keywright-tikv" } else { "keywright" };
    let name = format!("{program}-{}-{}", dist.version, dist.binary.target);
    let mut entries = vec![Entry::program(dist.binary.file_name(), dist.binary.bytes.clone())];
    entries.push(Entry::file("README.md", dist.source("README.md")?));
    entries.extend(dist.notices()?);
    entries.extend(dist.manual()?.into_iter().map(|page| page.below("man/man1")));
    for (shell, installed) in COMPLETIONS {
        let file = installed.rsplit('/').next().unwrap_or(installed);
        entries.push(Entry::file(&format!("completions/{shell}/{file}"), dist.completions(shell)?));
    }
    entries.push(Entry::file("systemd/keywright.service", deb::unit(dist)?));
    entries.extend(container::entries(dist)?);
    let entries: Vec<Entry> = entries.into_iter().map(|entry| entry.below(&name)).collect();
    let bytes = tarball::compressed(&entries, dist.compression)?;
    Ok(vec![dist.write(&format!("{name}.tar.gz"), &bytes)?])
}

/// `SHA256SUMS`, as `sha256sum --check` reads it. Folders are left out.
fn write_sums(dist: &Dist, made: &[PathBuf]) -> Result<PathBuf, String> {
    let mut lines = String::new();
    for path in made.iter().filter(|path| path.is_file()) {
        let bytes = fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        for byte in Sha256::digest(&bytes) {
            let _ = write!(lines, "{byte:02x}");
        }
        let _ = writeln!(lines, "  {name}");
    }
    dist.write("SHA256SUMS", lines.as_bytes())
}

/// A value of `[workspace.package]`.
fn workspace_value(root: &Path, name: &str) -> Result<String, String> {
    let text = fs::read_to_string(root.join("Cargo.toml")).map_err(|error| format!("Cargo.toml: {error}"))?;
    let manifest: toml::Table = text.parse().map_err(|error| format!("Cargo.toml: {error}"))?;
    let value = manifest.get("workspace").and_then(|workspace| workspace.get("package")?.get(name)?.as_str());
    value.map(str::to_owned).ok_or_else(|| format!("Cargo.toml gives no {name} for the workspace"))
}

/// What a program printed; an error if it failed.
fn output_of(command: &mut Command) -> Result<Vec<u8>, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("cannot run {name}: {error}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(format!("{name} failed: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn all_parts_are_made_unless_some_are_named() {
        assert_eq!(Request::parse(&[]).unwrap().parts.len(), PARTS.len());
        let some = Request::parse(&words("--binary k --fast wheel npm")).unwrap();
        assert_eq!(some.parts.iter().map(|part| part.0).collect::<Vec<_>>(), ["wheel", "npm"]);
        assert!(some.is_fast && some.binary == Some("k".into()));
        assert!(Request::parse(&words("rpm")).err().unwrap().contains("wheel"));
        assert!(Request::parse(&words("--output")).is_err());
    }
}
