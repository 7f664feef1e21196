//! The pages' files. Released binaries hold them linked and shrunk, as `cargo xtask pages` makes them in
//! `pages/dist`. Debug builds serve the sources from disk, so that a reload shows an edit.
//!
//! It knows no requests: `service` decides what is served under which path.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "pages/"]
#[exclude = "vendor/build/*"]
#[exclude = "*.md"]
// A release holds `dist`, which is made of these.
#[cfg_attr(
    not(debug_assertions),
    exclude = "views/*",
    exclude = "app.*",
    exclude = "frame.css",
    exclude = "vendor/lit-html/*"
)]
struct Files;

/// A file and its media type.
pub(super) struct Asset {
    pub(super) bytes: Cow<'static, [u8]>,
    pub(super) media_type: &'static str,
    /// The same compressed with Brotli, where that was made with the file.
    pub(super) brotli: Option<Cow<'static, [u8]>>,
    hash: u64,
}

/// What is made of the files when they are first asked for.
#[derive(Debug, Default)]
pub(super) struct Assets {
    /// Compressed files by their hashes, as small as gzip can.
    packed: Mutex<HashMap<u64, Bytes>>,
}

impl Assets {
    /// Versions of files that are kept compressed.
    const FILES_MAX: usize = 500;

    /// The file compressed with gzip; none if it does not shrink.
    pub(super) fn packed(&self, asset: &Asset) -> Option<Bytes> {
        let mut packed = self.packed.lock().unwrap_or_else(PoisonError::into_inner);
        if packed.len() >= Self::FILES_MAX {
            packed.clear();
        }
        let bytes = packed.entry(asset.hash).or_insert_with(|| compressed(&asset.bytes));
        (bytes.len() < asset.bytes.len()).then(|| bytes.clone())
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

fn compressed(bytes: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    Bytes::from(written.expect("a vector takes every byte"))
}

/// The page of every route: `{{build}}` in it is the build's name, `{{folder}}` that of its files.
const INDEX: &str = "index.html";
const BUILD: &str = "{{build}}";
const FOLDER: &str = "{{folder}}";
/// The linked and shrunk files.
const LINKED: &str = "dist/";
/// Makes a debug build serve the page of a release: the tests of the pages run what users run.
const AS_RELEASED: &str = "KEYWRIGHT_STUDIO_DIST";
const ICON: &str = "favicon.svg";
/// What the vendored files are made of. Not for browsers.
const SOURCES: &str = "vendor/build/";
/// What the name of a file compressed with Brotli ends with. They are made with the linked files and the
/// large ones of others, as that takes seconds.
const BROTLI: &str = ".br";

/// The name of this build: it changes with any file of the pages and with the program's commit. Debug builds
/// have one name, and their files may change under it.
pub(super) fn build(release: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    if cfg!(debug_assertions) {
        return format!("{version}-debug");
    }
    let mut sum = crc32fast::Hasher::new();
    sum.update(release.as_bytes());
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
    let brotli = Files::get(&format!("{path}{BROTLI}")).map(|file| file.data);
    Files::get(path).map(|file| Asset { hash: hash(&file.data), bytes: file.data, media_type, brotli })
}

pub(super) fn icon() -> Option<Asset> {
    file(ICON)
}

/// The page of this build.
pub(super) fn page(build: &str) -> Option<String> {
    let file = Files::get(INDEX)?;
    let is_source = cfg!(debug_assertions) && std::env::var_os(AS_RELEASED).is_none();
    let folder = if is_source { "" } else { LINKED };
    std::str::from_utf8(&file.data).ok().map(|text| text.replace(BUILD, build).replace(FOLDER, folder))
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
        assert!(file("dist/app.js").is_some());
        assert!(file("vendor/uplot/uplot.js").is_some());
        assert!(file("vendor/codemirror/codemirror.js").is_some_and(|file| file.brotli.is_some()));
        for path in [
            "",
            "/",
            "../Cargo.toml",
            "vendor/../../Cargo.toml",
            "vendor/build/entry.js",
            "vendor/codemirror/codemirror.js.br",
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
