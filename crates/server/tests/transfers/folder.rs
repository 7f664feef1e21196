//! A reader of export folders that knows only what is published of them: it shares no code with the server.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use serde_json::Value;

/// One data file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DataFile {
    /// The bytes of the object.
    pub(crate) content: Vec<u8>,
    pub(crate) lines: Vec<String>,
}

/// An export whose sums, counts and names are right.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    pub(crate) summary: Value,
    pub(crate) files: Vec<DataFile>,
}

/// Reads the export of this id in a bucket that is a folder.
pub(crate) fn read(bucket: &Path, prefix: &str, id: &str) -> Folder {
    let root = bucket.join(prefix).join("AWSDynamoDB");
    let own = root.join(id);
    let bytes =
        |path: &Path| std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(bytes(&own.join("_started")), b"");
    let manifest = |name: &str| {
        let content = bytes(&own.join(format!("{name}.json")));
        let sum = String::from_utf8(bytes(&own.join(format!("{name}.md5")))).unwrap();
        assert_eq!((sum.len(), &sum), (24, &md5_base64(&content)), "{name}");
        String::from_utf8(content).unwrap()
    };
    let text = manifest("manifest-summary");
    assert!(!text.contains('\n') && !text.contains(": "), "it is compact and has no end of line: {text}");
    let summary: Value = serde_json::from_str(&text).unwrap();
    let key = |path: &str| -> String {
        if prefix.is_empty() { path.to_owned() } else { format!("{}/{path}", prefix.trim_end_matches('/')) }
    };
    assert_eq!(
        summary["manifestFilesS3Key"],
        Value::from(key(&format!("AWSDynamoDB/{id}/manifest-files.json")))
    );
    assert!(summary["exportArn"].as_str().unwrap().ends_with(&format!("/export/{id}")));
    let is_increment = summary["version"] == "2023-08-01";
    assert_eq!(is_increment, summary["exportType"] == "INCREMENTAL_EXPORT");
    assert!(is_increment || summary["version"] == "2020-06-30");
    let ending = if summary["outputFormat"] == "ION" { ".ion.gz" } else { ".json.gz" };
    let files = manifest("manifest-files");
    assert!(files.ends_with('\n'), "the list of files ends with a line end");
    let mut found = Vec::new();
    let mut items = 0;
    for line in files.lines() {
        let file: Value = serde_json::from_str(line).unwrap();
        let of_file = file["dataFileS3Key"].as_str().unwrap();
        let data =
            if is_increment { key("AWSDynamoDB/data/") } else { key(&format!("AWSDynamoDB/{id}/data/")) };
        let name = of_file.strip_prefix(&data).and_then(|name| name.strip_suffix(ending)).unwrap();
        assert!(
            name.len() == 26 && name.bytes().all(|byte| b"abcdefghijklmnopqrstuvwxyz234567".contains(&byte)),
            "{name}"
        );
        let content = bytes(&bucket.join(of_file));
        assert_eq!(file["md5Checksum"], Value::from(md5_base64(&content)));
        assert!(!file["etag"].as_str().unwrap().is_empty());
        assert_eq!(content[4..8], [0; 4], "the time in the file is zero");
        let mut text = String::new();
        GzDecoder::new(&content[..]).read_to_string(&mut text).unwrap();
        assert!(!text.is_empty() || content.len() == 20, "an empty file has 20 bytes");
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        assert_eq!(file["itemCount"], Value::from(lines.len()));
        items += lines.len();
        found.push(DataFile { content, lines });
    }
    assert_eq!(summary["itemCount"], Value::from(items));
    Folder { summary, files: found }
}

impl Folder {
    fn lines(&self) -> impl Iterator<Item = Value> {
        self.files.iter().flat_map(|file| &file.lines).map(|line| serde_json::from_str(line).unwrap())
    }

    /// The items of a full export by their keys. The items of a partition are in the order of their sort
    /// keys.
    pub(crate) fn items(&self) -> BTreeMap<String, Value> {
        let mut found = BTreeMap::new();
        let mut last: BTreeMap<String, String> = BTreeMap::new();
        for line in self.lines() {
            let item = line["Item"].clone();
            assert_eq!(line.as_object().unwrap().len(), 1, "a line has an item alone");
            let (partition, sort) = (item["pk"].to_string(), item["sk"].to_string());
            let before = last.insert(partition, sort.clone());
            assert!(before.is_none_or(|before| before < sort), "sort keys ascend");
            assert!(found.insert(crate::table::key_of(&item), item).is_none(), "each item is there once");
        }
        found
    }

    /// The changes of an increment: old and new image by key. Lines of a file are in the order of time.
    pub(crate) fn changes(&self) -> BTreeMap<String, (Option<Value>, Option<Value>)> {
        let mut found = BTreeMap::new();
        for file in &self.files {
            let mut last = 0;
            for line in &file.lines {
                let line: Value = serde_json::from_str(line).unwrap();
                let time: u64 =
                    line["Metadata"]["WriteTimestampMicros"]["N"].as_str().unwrap().parse().unwrap();
                assert!(time >= last, "lines are in the order of time");
                last = time;
                let image = |name: &str| line.get(name).cloned();
                let images = (image("OldImage"), image("NewImage"));
                assert_eq!(line["Keys"].as_object().unwrap().len(), 2);
                assert!(found.insert(crate::table::key_of(&line["Keys"]), images).is_none());
            }
        }
        found
    }

    /// The bytes of its data files in the order in which they are listed.
    pub(crate) fn contents(&self) -> Vec<&[u8]> {
        self.files.iter().map(|file| file.content.as_slice()).collect()
    }
}

/// All files below a folder, relative to it.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path.strip_prefix(folder).unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

pub(crate) fn md5_base64(content: &[u8]) -> String {
    use base64::Engine as _;
    use md5::Digest as _;
    base64::engine::general_purpose::STANDARD.encode(md5::Md5::digest(content))
}
