//! The pages' files: in the binary, or on disk in debug builds, so that a reload shows an edit. Browsers get
//! the modules linked, in debug builds too, so that every test of the pages runs what users run.
//!
//! It knows no requests: `service` decides what is served under which path.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use rust_embed::RustEmbed;

use super::bundle;
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
    /// The same compressed with Brotli, where that was made with the file.
    pub(super) brotli: Option<Cow<'static, [u8]>>,
    hash: u64,
}

/// What is made of the files when it is first asked for.
#[derive(Debug, Default)]
pub(super) struct Assets {
    /// The linked files, and the hash of what they were made of: debug builds see edits.
    linked: Mutex<Option<(u64, Arc<bundle::Files>)>>,
    /// Compressed files by their hashes, as small as gzip can.
    packed: Mutex<HashMap<u64, Bytes>>,
}

impl Assets {
    /// Versions of files that are kept compressed.
    const FILES_MAX: usize = 500;

    /// The file under this path, if it is one that browsers get: linked, or as it is.
    pub(super) fn file(&self, path: &str) -> Option<Asset> {
        let linked = self.linked().get(path).map(|text| text.clone().into_bytes());
        let Some(bytes) = linked else { return plain(path) };
        let hash = hash(&bytes);
        Some(Asset { bytes: Cow::Owned(bytes), media_type: media_type(path)?, brotli: None, hash })
    }

    /// The file compressed with gzip; none if it does not shrink.
    pub(super) fn packed(&self, asset: &Asset) -> Option<Bytes> {
        let mut packed = self.packed.lock().unwrap_or_else(PoisonError::into_inner);
        if packed.len() >= Self::FILES_MAX {
            packed.clear();
        }
        let bytes = packed.entry(asset.hash).or_insert_with(|| compressed(&asset.bytes));
        (bytes.len() < asset.bytes.len()).then(|| bytes.clone())
    }

    fn linked(&self) -> Arc<bundle::Files> {
        let mut linked = self.linked.lock().unwrap_or_else(PoisonError::into_inner);
        let of = if cfg!(debug_assertions) { of_all_files() } else { 0 };
        if let Some((_, files)) = linked.as_ref().filter(|(own, _)| *own == of) {
            return Arc::clone(files);
        }
        let read =
            |name: &str| Files::get(name).and_then(|file| String::from_utf8(file.data.into_owned()).ok());
        // A test links the files of each build; an edit that cannot be linked says so where it is missed.
        let made = bundle::link(&read).unwrap_or_else(|fault| {
            let text = fault.replace(['"', '\\', '\n'], "'");
            bundle::Files::from([(ENTRY.to_owned(), format!("throw new Error(\"{text}\");\n"))])
        });
        let files = Arc::new(made);
        *linked = Some((of, Arc::clone(&files)));
        files
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

fn of_all_files() -> u64 {
    let mut names: Vec<_> = Files::iter().filter(|name| !name.starts_with(VENDORED)).collect();
    names.sort();
    let mut hasher = DefaultHasher::new();
    for name in names {
        Files::get(&name).map(|file| file.metadata.sha256_hash()).hash(&mut hasher);
    }
    hasher.finish()
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
/// Files of others. They change with their versions only.
const VENDORED: &str = "vendor/";
/// The script that the page loads.
const ENTRY: &str = "app.js";
/// What the name of a file compressed with Brotli ends with. `vendor/build/build.mjs` makes them with the
/// large files of others, as that takes seconds.
const BROTLI: &str = ".br";

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

/// The file under this path as it is, if it is one that browsers get.
fn plain(path: &str) -> Option<Asset> {
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
    plain(ICON)
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
        "json" | "map" => "application/json",
        "txt" => "text/plain; charset=utf-8",
        "woff2" => "font/woff2",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_this_build_can_be_linked() {
        let files = Assets::default().linked();
        assert!(files.len() > 10, "{:?}", files.get(ENTRY));
    }

    #[test]
    fn only_files_of_the_pages_are_served() {
        let assets = Assets::default();
        assert!(assets.file("vendor/lit-html/lit-html.js").is_some());
        assert!(assets.file("vendor/codemirror/codemirror.js").is_some_and(|file| file.brotli.is_some()));
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
            assert!(assets.file(path).is_none(), "{path}");
        }
    }
}
