//! The Debian package: binary, manual pages, completions and the systemd unit.

use std::collections::BTreeSet;
use std::path::PathBuf;

use flate2::Compression;

use super::tarball::{self, Entry};
use super::{COMPLETIONS, Dist};

const UNIT: &str = "packaging/systemd/keywright.service";
const KIB: usize = 1024;

pub(super) fn make(dist: &Dist) -> Result<Vec<PathBuf>, String> {
    let Some(architecture) = dist.binary.platform()?.deb else { return Ok(Vec::new()) };
    let files = files(dist)?;
    let control = control(dist, architecture, &files);
    let control = tarball::compressed(&[Entry::file("./control", control.into_bytes())], dist.compression)?;
    let data = tarball::compressed(&with_folders(files), dist.compression)?;
    let mut package = b"!<arch>\n".to_vec();
    for (name, bytes) in
        [("debian-binary", b"2.0\n".as_slice()), ("control.tar.gz", &control), ("data.tar.gz", &data)]
    {
        // The member's header of `ar`: name, time, owner, group, mode, size.
        let header = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, "100644", bytes.len());
        package.extend(header.bytes());
        package.extend(bytes);
        if bytes.len() % 2 == 1 {
            package.push(b'\n');
        }
    }
    Ok(vec![dist.write(&format!("keywright_{}_{architecture}.deb", dist.version), &package)?])
}

/// The systemd unit.
pub(super) fn unit(dist: &Dist) -> Result<Vec<u8>, String> {
    dist.source(UNIT)
}

fn files(dist: &Dist) -> Result<Vec<Entry>, String> {
    let mut files = vec![Entry::program("usr/bin/keywright", dist.binary.bytes.clone())];
    for page in dist.manual()? {
        let bytes = tarball::gzip(&page.bytes, Compression::best())?;
        files.push(Entry::file(&format!("usr/share/man/man1/{}.gz", page.path), bytes));
    }
    for (shell, path) in COMPLETIONS {
        files.push(Entry::file(path, dist.completions(shell)?));
    }
    files.push(Entry::file("usr/share/doc/keywright/copyright", copyright(dist)?));
    let changes = tarball::gzip(&dist.source("CHANGELOG.md")?, Compression::best())?;
    files.push(Entry::file("usr/share/doc/keywright/changelog.gz", changes));
    // Installed and not enabled: the package starts no server by itself.
    files.push(Entry::file("usr/lib/systemd/system/keywright.service", unit(dist)?));
    Ok(files)
}

/// Debian's machine-readable form; the licences follow.
fn copyright(dist: &Dist) -> Result<Vec<u8>, String> {
    let mut text = format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
         Upstream-Name: keywright\nSource: {}\n\nFiles: *\nCopyright: the authors of Keywright\n\
         License: Apache-2.0 or MIT\n\n",
        dist.repository
    );
    for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
        text.push_str(&dist.text(name)?);
        text.push('\n');
    }
    Ok(text.into_bytes())
}

fn control(dist: &Dist, architecture: &str, files: &[Entry]) -> String {
    let kib: usize = files.iter().map(|file| file.bytes.len().div_ceil(KIB)).sum();
    let depends = if dist.binary.is_static { "" } else { "Depends: libc6, libgcc-s1\n" };
    let (version, repository) = (&dist.version, &dist.repository);
    format!(
        "Package: keywright\nVersion: {version}\nArchitecture: {architecture}\n\
         Maintainer: the authors of Keywright <{repository}>\nInstalled-Size: {kib}\n{depends}\
         Section: database\nPriority: optional\nHomepage: {repository}\n\
         Description: DynamoDB-compatible database in one binary\n \
         It serves the DynamoDB API from a folder or from memory, and has a workbench\n \
         that designs, proves and prices data models.\n"
    )
}

/// The files with all their folders, each before what it holds, under `./` as dpkg wants them.
fn with_folders(files: Vec<Entry>) -> Vec<Entry> {
    let mut folders = BTreeSet::new();
    for file in &files {
        folders.extend(file.path.match_indices('/').map(|(at, _)| file.path.split_at(at).0.to_owned()));
    }
    let folders = folders.iter().map(|folder| Entry::folder(folder));
    folders.chain(files).map(|entry| entry.below(".")).collect()
}
