//! What lies in a folder, for people and as JSON.

use serde_json::json;

use crate::client::listing::counted;
use crate::process::failure::Failure;
use crate::process::timestamp;
use crate::storage::encryption::census::{BackupCount, Census, KeyCount, PlainCount};

pub(super) fn json(census: &Census) -> Result<String, Failure> {
    let key = |key: &KeyCount| json!({ "id": key.id, "made": key.made_ms, "current": key.is_current, "files": key.files, "bytes": key.bytes });
    let PlainCount { files, bytes, names } = &census.plain;
    let shown = json!({
        "encrypted": census.encrypted,
        "source": census.source,
        "kmsKey": census.kms_key,
        "keys": census.keys.iter().map(key).collect::<Vec<_>>(),
        "plain": { "files": files, "bytes": bytes, "names": names },
        "backups": { "files": census.backups.files, "bytes": census.backups.bytes },
        "tablesWithSse": census.tables_with_sse,
    });
    serde_json::to_string(&shown).map_err(|error| Failure::new(error.to_string()))
}

pub(super) fn lines(census: &Census) -> Vec<String> {
    let mut lines = vec![if census.encrypted { "encrypted" } else { "not encrypted" }.to_owned()];
    if let Some(source) = &census.source {
        lines.push(format!("the master key is that of {source}"));
    }
    if let Some(key) = &census.kms_key {
        lines.push(format!("the master key is kept by the key management service, under {key}"));
    }
    for KeyCount { id, made_ms, is_current, files, bytes } in &census.keys {
        let made = made_ms.map_or_else(|| "not in KEYS".to_owned(), |ms| format!("of {}", timestamp::of(ms)));
        let current = if *is_current { ", for new files" } else { "" };
        lines.push(format!("data key {id}  {made}{current}: {}", extent(*files, *bytes)));
    }
    let PlainCount { files, bytes, names } = &census.plain;
    if *files > 0 {
        lines.push(format!("not encrypted: {}", extent(*files, *bytes)));
        lines.extend(names.iter().map(|name| format!("    {name}")));
    }
    let BackupCount { files, bytes } = census.backups;
    if files > 0 {
        lines.push(format!("backups, under keys of their own: {}", extent(files, bytes)));
    }
    if let Some(tables) = census.tables_with_sse.filter(|tables| *tables > 0 && !census.encrypted) {
        lines.push(format!("{tables} tables ask for encryption by SSESpecification, and have none"));
    }
    lines
}

fn extent(files: usize, bytes: u64) -> String {
    format!("{}, {}", counted(u64::try_from(files).unwrap_or(u64::MAX), "file"), counted(bytes, "byte"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_census_shows_keys_what_is_under_them_and_what_is_not_encrypted() {
        let key = |id: &str, made_ms: Option<u64>, is_current: bool| KeyCount {
            id: id.to_owned(),
            made_ms,
            is_current,
            files: 2,
            bytes: 30,
        };
        let mut census = Census {
            encrypted: true,
            source: Some("--encryption-key-file k".to_owned()),
            keys: vec![key("a", Some(0), false), key("b", None, true)],
            plain: PlainCount { files: 1, bytes: 7, names: vec!["models/items.json".to_owned()] },
            backups: BackupCount { files: 4, bytes: 50 },
            tables_with_sse: Some(3),
            ..Census::default()
        };
        assert_eq!(
            lines(&census),
            [
                "encrypted",
                "the master key is that of --encryption-key-file k",
                "data key a  of 1970-01-01T00:00:00.000Z: 2 files, 30 bytes",
                "data key b  not in KEYS, for new files: 2 files, 30 bytes",
                "not encrypted: 1 file, 7 bytes",
                "    models/items.json",
                "backups, under keys of their own: 4 files, 50 bytes",
            ]
        );
        let json: serde_json::Value = serde_json::from_str(&json(&census).unwrap()).unwrap();
        assert_eq!(json["plain"], json!({"files": 1, "bytes": 7, "names": ["models/items.json"]}));
        census.encrypted = false;
        assert!(lines(&census).last().unwrap().starts_with("3 tables ask for encryption"));
    }
}
