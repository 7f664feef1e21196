//! The pages' files: in the binary, or on disk in debug builds, so that a reload shows an edit.
//!
//! It knows no requests: `service` decides what is served under which path.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use rust_embed::RustEmbed;

use crate::about;

#[derive(RustEmbed)]
#[folder = "studio/"]
#[exclude = "vendor/build/*"]
#[exclude = "*.md"]
struct Files;

/// A file and its media type.
pub(super) struct Asset {
    pub(super) bytes: Cow<'static, [u8]>,
    pub(super) media_type: &'static str,
    hash: [u8; 32],
}

/// Compressed files by their hashes. Each is compressed once, as small as gzip can, when a browser first
/// asks.
#[derive(Debug, Default)]
pub(super) struct Packed(Mutex<HashMap<[u8; 32], Bytes>>);

impl Packed {
    /// Versions of files that are kept: debug builds see edits.
    const FILES_MAX: usize = 500;

    /// The file compressed; none if it does not shrink.
    pub(super) fn of(&self, asset: &Asset) -> Option<Bytes> {
        let mut packed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if packed.len() >= Self::FILES_MAX {
            packed.clear();
        }
        let bytes = packed.entry(asset.hash).or_insert_with(|| compressed(&asset.bytes));
        (bytes.len() < asset.bytes.len()).then(|| bytes.clone())
    }
}

fn compressed(bytes: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    Bytes::from(written.expect("a vector takes every byte"))
}

/// The page of every route. `{{build}}` in it stands for the build's name.
const INDEX: &str = "index.html";
const BUILD: &str = "{{build}}";
const ICON: &str = "favicon.svg";
/// What the vendored files are made of. Not for browsers.
const SOURCES: &str = "vendor/build/";

/// The name of this build: it changes with any file of the pages and with the program's commit. Debug builds
/// have one name, and their files may change under it.
pub(super) fn build() -> String {
    let version = env!("CARGO_PKG_VERSION");
    if cfg!(debug_assertions) {
        return format!("{version}-debug");
    }
    let mut sum = crc32fast::Hasher::new();
    sum.update(about::LONG_VERSION.as_bytes());
    let mut names: Vec<_> = Files::iter().collect();
    names.sort();
    for name in names {
        sum.update(name.as_bytes());
        sum.update(&Files::get(&name).map(|file| file.metadata.sha256_hash()).unwrap_or_default());
    }
    format!("{version}-{:08x}", sum.finalize())
}

/// The file under this path, if it is one that browsers get.
pub(super) fn file(path: &str) -> Option<Asset> {
    let is_plain = |part: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        !part.is_empty() && !part.starts_with('.') && part.bytes().all(plain)
    };
    if !path.split('/').all(is_plain) || path.starts_with(SOURCES) {
        return None;
    }
    let media_type = media_type(path)?;
    Files::get(path).map(|file| Asset { hash: file.metadata.sha256_hash(), bytes: file.data, media_type })
}

pub(super) fn icon() -> Option<Asset> {
    file(ICON)
}

/// The page of this build.
pub(super) fn page(build: &str) -> Option<String> {
    let file = Files::get(INDEX)?;
    std::str::from_utf8(&file.data).ok().map(|text| text.replace(BUILD, build))
}

/// Downloads are never HTML: only the page itself is.
fn media_type(path: &str) -> Option<&'static str> {
    Some(match path.rsplit('.').next()? {
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "json" => "application/json",
        "txt" => "text/plain; charset=utf-8",
        "woff2" => "font/woff2",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_pages_are_served() {
        assert!(file("vendor/lit-html/lit-html.js").is_some());
        for path in [
            "",
            "/",
            "../Cargo.toml",
            "vendor/../../Cargo.toml",
            "vendor/build/entry.js",
            ".git",
            "index.html",
            "vendor",
            "vendor/",
            "/etc/passwd",
            "a\\b.js",
        ] {
            assert!(file(path).is_none(), "{path}");
        }
    }
}
