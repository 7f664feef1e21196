//! The Python wheel: the binary as a script, the module `keywright` and the pytest plugin.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};

use super::Dist;
use super::tarball::Entry;
use super::zip;

const MODULE: &str = "packaging/python/keywright";

pub(super) fn make(dist: &Dist) -> Result<Vec<PathBuf>, String> {
    let tag = dist.binary.platform()?.wheel;
    let version = &dist.version;
    let info = format!("keywright-{version}.dist-info");
    let mut entries = module(dist)?;
    let script = format!("keywright-{version}.data/scripts/{}", dist.binary.file_name());
    entries.push(Entry::program(&script, dist.binary.bytes.clone()));
    for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
        entries.push(Entry::file(&format!("{info}/licenses/{name}"), dist.source(name)?));
    }
    let points = "[pytest11]\nkeywright = keywright.pytest_plugin\n";
    for (name, text) in
        [("METADATA", metadata(dist)?), ("WHEEL", described(tag)), ("entry_points.txt", points.to_owned())]
    {
        entries.push(Entry::file(&format!("{info}/{name}"), text.into_bytes()));
    }
    let record = record(&entries, &format!("{info}/RECORD"));
    entries.push(Entry::file(&format!("{info}/RECORD"), record.into_bytes()));
    let bytes = zip::compressed(&entries, dist.compression)?;
    Ok(vec![dist.write(&format!("keywright-{version}-py3-none-{tag}.whl"), &bytes)?])
}

/// The files of the module, sorted by name.
fn module(dist: &Dist) -> Result<Vec<Entry>, String> {
    let explain = |error: std::io::Error| format!("cannot read {MODULE}: {error}");
    let mut names = Vec::new();
    for entry in fs::read_dir(dist.root.join(MODULE)).map_err(explain)? {
        let entry = entry.map_err(explain)?;
        // Not the folder in which Python keeps compiled modules.
        if entry.file_type().map_err(explain)?.is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    let read = |name: &String| {
        let text = dist.text(&format!("{MODULE}/{name}"))?;
        Ok(Entry::file(&format!("keywright/{name}"), text.into_bytes()))
    };
    names.iter().map(read).collect()
}

fn metadata(dist: &Dist) -> Result<String, String> {
    let readme = dist.text("packaging/python/README.md")?;
    let (version, repository) = (&dist.version, &dist.repository);
    Ok(format!(
        "Metadata-Version: 2.4\nName: keywright\nVersion: {version}\n\
         Summary: A DynamoDB-compatible database in one binary, with a workbench for data models and a pytest plugin\n\
         License-Expression: Apache-2.0 OR MIT\nLicense-File: LICENSE-APACHE\nLicense-File: LICENSE-MIT\n\
         Keywords: dynamodb,pytest,testing,database\nClassifier: Framework :: Pytest\n\
         Project-URL: Repository, {repository}\nRequires-Python: >=3.10\n\
         Description-Content-Type: text/markdown\n\n{readme}"
    ))
}

/// The file `WHEEL`: one line for each platform of the tag.
fn described(tag: &str) -> String {
    let mut text = "Wheel-Version: 1.0\nGenerator: cargo xtask dist\nRoot-Is-Purelib: false\n".to_owned();
    for platform in tag.split('.') {
        let _ = writeln!(text, "Tag: py3-none-{platform}");
    }
    text
}

/// The file `RECORD`: path, hash and size of every file but itself.
fn record(entries: &[Entry], own: &str) -> String {
    let mut text = String::new();
    for entry in entries {
        let hash = base64_url(&Sha256::digest(&entry.bytes));
        let _ = writeln!(text, "{},sha256={hash},{}", entry.path, entry.bytes.len());
    }
    format!("{text}{own},,\n")
}

/// Base64 with the alphabet for URLs, without padding.
fn base64_url(bytes: &[u8]) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits =
            (0..3).fold(0_usize, |bits, at| bits << 8 | usize::from(group.get(at).copied().unwrap_or(0)));
        for at in 0..=group.len() {
            let letter = ALPHABET.get(bits >> (18 - 6 * at) & 0x3f).copied().unwrap_or_default();
            text.push(char::from(letter));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_written_as_wheels_want_them() {
        assert_eq!(base64_url(b""), "");
        assert_eq!(base64_url(b"f"), "Zg");
        assert_eq!(base64_url(b"fo"), "Zm8");
        assert_eq!(base64_url(b"foo"), "Zm9v");
        assert_eq!(base64_url(&[0xfb, 0xff, 0xfe]), "-__-");
    }
}
