//! Texts that are nearly policy documents, ARNs or files of users: none panics, and what is read is the same
//! after it was written. A short form of the fuzz targets `policies` and `access_files`, without coverage.

use fastrand::Rng;
use keywright_access::arn::Arn;
use keywright_access::check::check;
use keywright_access::document::{Document, PolicyKind, canonical, rename_principals};
use keywright_access::file::{self, AccessFile};
use keywright_access::lint::{Known, lint};
use serde_json::{Value as Json, json};

const DECISIONS: &str = include_str!("../decisions.json");
const CASES: u64 = 10_000;
const KINDS: [PolicyKind; 4] =
    [PolicyKind::Identity, PolicyKind::Table, PolicyKind::Stream, PolicyKind::Trust];
/// What texts are cut by and filled with.
const PIECES: [&str; 12] =
    ["\"", "{", "}", "[", "]", ":", ",", "${aws:username}", "*", "\\u0000", "é", "ForAnyValue:"];

/// All documents of the decisions' policies, and a file of users around each.
fn texts() -> Vec<String> {
    let decisions: Json = serde_json::from_str(DECISIONS).unwrap();
    let policies = decisions["policies"].as_object().unwrap().values();
    let documents = policies.map(|policy| policy["document"].clone());
    documents
        .flat_map(|document| {
            let users = json!({
                "policies": {"p": {"document": document}}, "groups": {"g": {"attached": ["p"]}},
                "users": {"ann": {"groups": ["g"], "boundary": "p", "tags": {"a": "b"},
                    "keys": [{"id": "AKIAANN0000000000001", "secret_variable": "S"}]}},
            });
            [document.to_string(), users.to_string()]
        })
        .collect()
}

/// The text with some pieces cut out, repeated or put in.
fn mutated(rng: &mut Rng, text: &str) -> String {
    let mut symbols: Vec<char> = text.chars().collect();
    for _ in 0..rng.usize(1..=2) {
        let at = rng.usize(..=symbols.len());
        let end = (at + rng.usize(..20)).min(symbols.len());
        let piece: Vec<char> = match rng.u8(..3) {
            0 => Vec::new(),
            1 => symbols[at..end].repeat(2),
            _ => PIECES[rng.usize(..PIECES.len())].chars().collect(),
        };
        symbols.splice(at..end, piece);
    }
    symbols.into_iter().collect()
}

#[test]
fn texts_that_are_nearly_documents_or_files_are_read_or_refused_without_harm() {
    let texts = texts();
    let (mut read, mut refused) = (0, 0);
    for seed in 0..CASES {
        let mut rng = Rng::with_seed(seed);
        let original = &texts[rng.usize(..texts.len())];
        let text = mutated(&mut rng, original);
        let _ = check(&text, Known::default());
        let _ = file::check(&text, |_| false, |_| None);
        let _ = rename_principals(&text, |name| Arn::parse(name).map(|arn| arn.to_string()));
        for kind in KINDS {
            match Document::parse(&text, kind) {
                Ok(document) => {
                    lint(&document, Known::default());
                    let form = canonical(&text).unwrap();
                    assert_eq!(canonical(&form).as_ref(), Some(&form), "seed {seed}: {text}");
                    read += 1;
                }
                Err(_) => refused += 1,
            }
        }
        if let Ok(file) = AccessFile::parse(&text) {
            assert_eq!(AccessFile::parse(&file.text()).as_ref(), Ok(&file), "seed {seed}: {text}");
        }
    }
    assert!(read > 400 && refused > 4_000, "{read} read, {refused} refused");
}
