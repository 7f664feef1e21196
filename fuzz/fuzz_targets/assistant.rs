//! Any arguments of the tools of `keywright mcp` on models: nothing panics, and nothing outside of the folder
//! is read.
//!
//! The first byte chooses the tool, the second a form of the arguments; the rest is their JSON, a model's
//! text, or a path.

#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use keywright::fuzz::tool;
use libfuzzer_sys::{Corpus, fuzz_target};
use serde_json::json;

const SECRET: &str = "a secret outside of the folder";

struct Place {
    _all: tempfile::TempDir,
    folder: PathBuf,
}

static PLACE: LazyLock<Place> = LazyLock::new(|| {
    let all = tempfile::tempdir().expect("a temporary folder");
    let folder = fs::canonicalize(all.path()).expect("it is there").join("models");
    fs::create_dir(&folder).expect("a folder");
    fs::write(all.path().join("secret"), SECRET).expect("a file");
    fs::write(folder.join("m.yaml"), "format: 1\nmodel: m\n").expect("a file");
    Place { _all: all, folder }
});

fuzz_target!(|data: &[u8]| -> Corpus {
    let [choice, form, rest @ ..] = data else { return Corpus::Reject };
    let text = String::from_utf8_lossy(rest);
    let arguments = match form % 4 {
        0 => rest.to_vec(),
        1 => json!({ "text": text }).to_string().into_bytes(),
        2 => json!({ "model": text }).to_string().into_bytes(),
        _ => json!({ "model": "m.yaml", "prices": text }).to_string().into_bytes(),
    };
    let (Ok(answer) | Err(answer)) = tool(&PLACE.folder, *choice, &arguments);
    // Answers repeat parts of what was asked.
    assert!(text.contains(SECRET) || !answer.contains(SECRET), "{answer}");
    Corpus::Keep
});
