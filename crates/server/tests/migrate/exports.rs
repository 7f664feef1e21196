//! Exports of the service: a full one, then increments.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use keywright_model::item_json::read_item;
use keywright_model::json::Json;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::value::Item;
use keywright_wire::files::{Checksum, DataFile, DataFormat, ExportFolder, Span, Summary, View};

use crate::command::{fails, said, spawn, succeeds};
use crate::endpoint::{ask, described, items};
use crate::support::Server;
use crate::support::dice::{Dice, wanted};

const DAY_MS: u64 = 86_400_000;
pub(crate) const BEGUN_MS: u64 = 1_768_000_000_000;

/// A folder of exports of the table `Orders`, as the service writes them below a prefix.
pub(crate) struct Exports {
    pub(crate) folder: tempfile::TempDir,
}

/// An export's lines, in files.
struct Written {
    id: &'static str,
    span: Span,
    format: DataFormat,
    files: Vec<Vec<String>>,
}

impl Exports {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn place(&self) -> PathBuf {
        self.folder.path().join("copied/AWSDynamoDB")
    }

    fn from(&self, ids: &str) -> String {
        format!("aws://Orders?export={}/{ids}", self.place().display())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place().join(name)
    }

    /// A full export of these items.
    pub(crate) fn full(&self, id: &'static str, format: DataFormat, files: &[Vec<String>]) {
        self.write(&Written { id, span: Span::Full { at_ms: BEGUN_MS }, format, files: files.to_vec() });
    }

    /// An increment from the end of one day to the end of another one.
    pub(crate) fn increment(&self, id: &'static str, days: (u64, u64), lines: &[&str]) {
        let at_ms = |day: u64| BEGUN_MS + day * DAY_MS;
        let span =
            Span::Incremental { from_ms: at_ms(days.0), to_ms: at_ms(days.1), view: View::NewAndOldImages };
        let files = vec![lines.iter().map(|line| (*line).to_owned()).collect()];
        self.write(&Written { id, span, format: DataFormat::Json, files });
    }

    /// The place on AWS was another one than the folder is.
    fn write(&self, export: &Written) {
        let folder = ExportFolder::new(Some("some/prefix"), export.id);
        let here = |key: &str| self.path(key.strip_prefix("some/prefix/AWSDynamoDB/").unwrap());
        let (mut list, mut count) = (Vec::new(), 0);
        for (number, lines) in export.files.iter().enumerate() {
            let key = folder.data_key(export.span, export.format, &format!("{}file{number}", export.id));
            let content = gzip(&lines.iter().flat_map(|line| encoded(line, export)).collect::<Vec<u8>>());
            let item_count = u64::try_from(lines.len()).unwrap();
            count += item_count;
            put(&here(&key), &content);
            let checksum = Checksum::of(&content);
            DataFile { item_count, checksum, etag: "x-1".to_owned(), key }.push_line(&mut list);
        }
        let summary = Summary {
            export_arn: format!("arn:aws:dynamodb:us-east-1:123456789012:table/Orders/export/{}", export.id),
            start_time_ms: BEGUN_MS,
            end_time_ms: BEGUN_MS,
            table_arn: "arn:aws:dynamodb:us-east-1:123456789012:table/Orders".to_owned(),
            table_id: "an-id".to_owned(),
            span: export.span,
            bucket: "far".to_owned(),
            prefix: Some("some/prefix".to_owned()),
            sse_algorithm: None,
            sse_kms_key_id: None,
            files_key: folder.files_key(),
            billed_size_bytes: 0,
            item_count: count,
            format: export.format,
        };
        for (key, content) in [(folder.files_key(), list), (folder.summary_key(), summary.write())] {
            put(&here(&key), &content);
            put(&here(&key.replace(".json", ".md5")), Checksum::of(&content).base64().as_bytes());
        }
    }
}

fn put(path: &Path, content: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// A line of a file: of a full export the item in its format, otherwise as it is.
fn encoded(line: &str, export: &Written) -> Vec<u8> {
    let mut out = Vec::new();
    match export.span {
        Span::Full { .. } if line.starts_with('{') => {
            export.format.push_item(&mut out, &EncodedItem::encode(&item(line)));
        }
        _ => out.extend_from_slice(format!("{line}\n").as_bytes()),
    }
    out
}

fn item(text: &str) -> Item {
    read_item(&Json::parse(text).unwrap()).unwrap().item
}

pub(crate) fn order(pk: &str, sk: u64, round: u64) -> String {
    format!(
        r#"{{"pk":{{"S":"{pk}"}},"sk":{{"N":"{sk}"}},"round":{{"N":"{round}"}},"b":{{"B":"AP8="}},"ns":{{"NS":["1","2.5"]}}}}"#
    )
}

fn change(pk: &str, sk: u64, image: Option<&str>) -> String {
    let image = image.map_or_else(String::new, |image| format!(r#","NewImage":{image}"#));
    format!(
        r#"{{"Metadata":{{"WriteTimestampMicros":{{"N":"1"}}}},"Keys":{{"pk":{{"S":"{pk}"}},"sk":{{"N":"{sk}"}}}},"OldImage":{{}}{image}}}"#
    )
}

const KEY: [&str; 4] = ["--key", "pk:S", "--sort", "sk:N"];

#[test]
fn a_full_export_and_increments_give_the_table_of_their_last_moment() {
    let (server, exports, folder) = (Server::in_memory(), Exports::new(), tempfile::tempdir().unwrap());
    let own = |range: std::ops::Range<u64>| range.map(|sk| order("a", sk, 1)).collect::<Vec<_>>();
    for (full, format, name) in [("0full", DataFormat::Json, "Json"), ("0ion", DataFormat::Ion, "Ion")] {
        exports.full(full, format, &[own(0..40), own(40..75), Vec::new()]);
        let (changed, new) = (order("a", 1, 2), order("b", 1, 2));
        let first = [change("a", 0, None), change("a", 1, Some(&changed)), change("b", 1, Some(&new))];
        exports.increment("1", (0, 1), &first.iter().map(String::as_str).collect::<Vec<_>>());
        // It begins before the first one ends: what both have is its state.
        let (later, back) = (order("b", 1, 3), order("a", 0, 3));
        let second = [change("b", 1, Some(&later)), change("a", 0, Some(&back)), change("a", 2, None)];
        exports.increment("2", (0, 2), &second.iter().map(String::as_str).collect::<Vec<_>>());
        let from = exports.from(&format!("{full},1,2"));
        let arguments = ["--from", &from, "--as", name, "--endpoint", &server.endpoint];
        let shown = succeeds(folder.path(), &[&arguments[..], &KEY, &["--dry-run"]].concat());
        assert!(shown.contains("lines 75, files 3"), "{shown}");
        succeeds(folder.path(), &[&arguments[..], &KEY].concat());
        let mut expected: Vec<Item> = own(3..75).iter().map(|line| item(line)).collect();
        expected.extend([item(&back), item(&changed), item(&later)]);
        let mut found: Vec<Item> = items(&server.endpoint, name).into_values().collect();
        for items in [&mut expected, &mut found] {
            items.sort_by_key(|item| format!("{item:?}"));
        }
        assert_eq!(found, expected, "{name}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "no state stays");
}

#[test]
fn the_table_of_exports_is_created_like_a_described_one_or_is_there_and_empty() {
    let (server, exports, folder) = (Server::in_memory(), Exports::new(), tempfile::tempdir().unwrap());
    exports.full("0full", DataFormat::Json, &[vec![order("a", 1, 1)]]);
    let from = exports.from("0full");
    let to = |name: &'static str| ["--from", &from, "--endpoint", &server.endpoint, "--as", name];
    fails(folder.path(), &to("Orders"), &["does not say the key", "--key", "--like"]);
    crate::endpoint::create_table(&server.endpoint, "Empty", None);
    succeeds(folder.path(), &to("Empty"));
    assert_eq!(items(&server.endpoint, "Empty").len(), 1);
    fails(folder.path(), &to("Empty"), &["is not empty"]);
    fails(folder.path(), &[&to("Empty")[..], &KEY].concat(), &["has a table Empty already"]);
    let description = ask(&server.endpoint, "DescribeTable", r#"{"TableName":"Empty"}"#);
    std::fs::write(folder.path().join("like.json"), description.compact()).unwrap();
    succeeds(folder.path(), &[&to("Like")[..], &["--like", "like.json"]].concat());
    assert_eq!(described(&server.endpoint, "Like", "GlobalSecondaryIndexes").elements().len(), 1);
    assert_eq!(items(&server.endpoint, "Like").len(), 1);
    std::fs::write(folder.path().join("like.json"), "[]").unwrap();
    let names = ["describes 0 tables", "describe-table"];
    fails(folder.path(), &[&to("More")[..], &["--like", "like.json"]].concat(), &names);
}

#[test]
fn exports_with_a_gap_in_another_order_or_changed_since_are_refused_before_a_table_is_made() {
    let (server, folder) = (Server::in_memory(), tempfile::tempdir().unwrap());
    let refused = |ids: &str, change: &dyn Fn(&Exports), names: &[&str]| {
        let exports = Exports::new();
        exports.full("0full", DataFormat::Json, &[vec![order("a", 1, 1)]]);
        exports.increment("1", (0, 1), &[]);
        exports.increment("2", (1, 2), &[]);
        exports.increment("3", (2, 3), &[]);
        change(&exports);
        let from = exports.from(ids);
        fails(folder.path(), &[&["--from", &from, "--endpoint", &server.endpoint][..], &KEY].concat(), names);
    };
    let as_written = |_: &Exports| {};
    refused("0full,2", &as_written, &["leave a gap", "0full and 2"]);
    refused("0full,1,3", &as_written, &["leave a gap", "1 and 3"]);
    refused("0full,1,2,1", &as_written, &["in the order of their time"]);
    refused("1,2", &as_written, &["is an increment: name the full export first"]);
    refused("0full,0full", &as_written, &["only the first of a migration"]);
    refused("0full,9", &as_written, &["manifest-summary.json", "COMPLETED"]);
    let append = |name: &'static str| {
        move |exports: &Exports| {
            let path = exports.path(name);
            let content = [std::fs::read(&path).unwrap(), b" ".to_vec()].concat();
            std::fs::write(path, content).unwrap();
        }
    };
    refused("0full", &append("0full/manifest-summary.json"), &["manifest-summary.md5", "was changed after"]);
    refused("0full", &append("0full/manifest-files.json"), &["manifest-files.md5", "was changed after"]);
    let without_sum =
        |exports: &Exports| std::fs::remove_file(exports.path("0full/manifest-files.md5")).unwrap();
    refused("0full", &without_sum, &["has no sum next to it"]);
    let by_the_guide = |exports: &Exports| {
        let sum = exports.path("0full/manifest-files.md5");
        std::fs::rename(&sum, sum.with_extension("checksum")).unwrap();
        std::fs::write(exports.path("0full/manifest-summary.md5"), "AAAA").unwrap();
    };
    refused("0full", &by_the_guide, &["manifest-summary.md5"]);
    assert_eq!(ask(&server.endpoint, "ListTables", "{}").get("TableNames").unwrap().elements().len(), 0);
}

#[test]
fn a_data_file_that_is_damaged_or_has_a_bad_line_is_named() {
    let (server, folder) = (Server::in_memory(), tempfile::tempdir().unwrap());
    let refused = |name: &str, lines: &[String], change: &dyn Fn(&Path), names: &[&str]| {
        let exports = Exports::new();
        exports.full("0full", DataFormat::Json, &[lines.to_vec()]);
        change(&exports.path("0full/data/0fullfile0.json.gz"));
        let from = exports.from("0full");
        let arguments = ["--from", &from, "--endpoint", &server.endpoint, "--as", name];
        fails(folder.path(), &[&arguments[..], &KEY].concat(), &[&["0fullfile0.json.gz"], names].concat());
    };
    let good = [order("a", 1, 1), order("a", 2, 1)];
    let as_written = |_: &Path| {};
    refused("Sum", &good, &|path| put(path, &gzip(b"{}\n")), &["does not have the sum"]);
    refused("Other", &good, &|path| put(path, &gzip(b"")), &["does not have the sum"]);
    refused("Cut", &good, &|path| put(path, &std::fs::read(path).unwrap()[..20]), &["does not have the sum"]);
    refused("Gzip", &good, &|path| put(path, b"no gzip at all"), &["no gzip file"]);
    refused("Gone", &good, &|path| std::fs::remove_file(path).unwrap(), &[]);
    refused("Line", &[good[0].clone(), "no item".to_owned()], &as_written, &["line 2"]);
    let other_key = r#"{"other":{"S":"a"}}"#.to_owned();
    refused("Key", &[good[0].clone(), other_key], &as_written, &["line 2", "lacks the key"]);
}

#[test]
fn a_migration_of_exports_that_is_killed_goes_on_and_ends_equal() {
    let (server, exports, folder) = (Server::in_memory(), Exports::new(), tempfile::tempdir().unwrap());
    let files: Vec<Vec<String>> =
        (0..12).map(|file| (0..300).map(|sk| order(&format!("f{file}"), sk, 1)).collect()).collect();
    exports.full("0full", DataFormat::Json, &files);
    let lines: Vec<String> = (0..300).map(|sk| change("f0", sk, None)).collect();
    exports.increment("1", (0, 1), &lines.iter().map(String::as_str).collect::<Vec<_>>());
    let from = exports.from("0full,1");
    let arguments = [&["--from", &from, "--endpoint", &server.endpoint][..], &KEY].concat();
    let mut dice = Dice::new(wanted("KEYWRIGHT_SEED", 1));
    let mut ended = None;
    for _ in 0..3 {
        let mut child = spawn(folder.path(), &arguments);
        std::thread::sleep(std::time::Duration::from_millis(100 + dice.roll(500)));
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        if output.status.success() {
            ended = Some(said(&output));
            break;
        }
    }
    let said = ended.unwrap_or_else(|| succeeds(folder.path(), &arguments));
    assert!(said.contains("is complete"), "{said}");
    let found = items(&server.endpoint, "Orders");
    assert_eq!(found.len(), 11 * 300);
    assert!(!found.values().any(|item| format!("{item:?}").contains("f0\"")));
}

/// A Keywright with the table `Orders`, whose bucket `far` is a folder.
struct Source {
    server: Server,
    /// The folder of its buckets.
    buckets: String,
    _folder: tempfile::TempDir,
}

impl Source {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (data, buckets) = (folder.path().join("data"), folder.path().join("buckets"));
        std::fs::create_dir_all(buckets.join("far")).unwrap();
        let (data, buckets) = (data.to_str().unwrap(), buckets.to_str().unwrap().to_owned());
        let server = Server::start(&["--data", data, "--s3-folder", &buckets, "--export-min-window-ms", "0"]);
        crate::endpoint::create_table(&server.endpoint, "Orders", None);
        let recovery = r#"{"TableName":"Orders","PointInTimeRecoverySpecification":{"PointInTimeRecoveryEnabled":true}}"#;
        ask(&server.endpoint, "UpdateContinuousBackups", recovery);
        Self { server, buckets, _folder: folder }
    }

    fn put(&self, pk: &str, sk: u64) {
        let item = order(pk, sk, 1);
        ask(&self.server.endpoint, "PutItem", &format!(r#"{{"TableName":"Orders","Item":{item}}}"#));
    }

    fn delete(&self, pk: &str, sk: u64) {
        let key = format!(r#"{{"pk":{{"S":"{pk}"}},"sk":{{"N":"{sk}"}}}}"#);
        ask(&self.server.endpoint, "DeleteItem", &format!(r#"{{"TableName":"Orders","Key":{key}}}"#));
    }

    /// The id of a complete export, and the second of its time if it is a full one.
    fn export(&self, more: &str) -> (String, Option<u64>) {
        let arn = described(&self.server.endpoint, "Orders", "TableArn");
        let request = format!(r#"{{"TableArn":{},"S3Bucket":"far","S3Prefix":"p"{more}}}"#, arn.compact());
        let begun = ask(&self.server.endpoint, "ExportTableToPointInTime", &request);
        let own = begun.at(&["ExportDescription", "ExportArn"]).unwrap().clone();
        let describe = Json::object([("ExportArn", own.clone())]).compact();
        let ended = loop {
            let found = ask(&self.server.endpoint, "DescribeExport", &describe);
            match found.at(&["ExportDescription", "ExportStatus"]).and_then(Json::as_str) {
                Some("COMPLETED") => break found,
                Some("IN_PROGRESS") => std::thread::sleep(std::time::Duration::from_millis(50)),
                other => panic!("{other:?}: {}", found.compact()),
            }
        };
        let time = ended.at(&["ExportDescription", "ExportTime"]);
        let second = time.map(|time| time.compact().split('.').next().unwrap().parse().unwrap());
        (own.as_str().unwrap().rsplit('/').next().unwrap().to_owned(), second)
    }

    /// A full export, a change and a delete, and an increment that has them, with these members: both ids.
    fn chain(&self, format: &str) -> [String; 2] {
        (0..30).for_each(|sk| self.put("a", sk));
        std::thread::sleep(std::time::Duration::from_millis(1100));
        let (full, from) = self.export(format);
        self.put("b", 1);
        self.delete("a", 7);
        std::thread::sleep(std::time::Duration::from_millis(1100));
        let window = format!(
            r#","ExportType":"INCREMENTAL_EXPORT","IncrementalExportSpecification":{{"ExportFromTime":{}}}"#,
            from.unwrap()
        );
        [full, self.export(&format!("{format}{window}")).0]
    }

    fn from(&self, ids: &str) -> String {
        format!("aws://Orders?export={}/far/p/AWSDynamoDB/{ids}", self.buckets)
    }
}

#[test]
fn exports_of_another_keywright_are_read() {
    let (source, folder, target) = (Source::start(), tempfile::tempdir().unwrap(), Server::in_memory());
    let from = source.from(&source.chain("").join(","));
    let arguments = ["--from", &from, "--endpoint", &target.endpoint];
    succeeds(folder.path(), &[&arguments[..], &KEY].concat());
    crate::endpoint::assert_equal((&source.server.endpoint, "Orders"), (&target.endpoint, "Orders"));
    assert_eq!(items(&target.endpoint, "Orders").len(), 30);
}

#[test]
fn a_full_export_as_ion_is_read_and_an_increment_as_ion_is_refused_before_a_table_is_made() {
    let (source, folder, target) = (Source::start(), tempfile::tempdir().unwrap(), Server::in_memory());
    let [full, increment] = source.chain(r#","ExportFormat":"ION""#);
    let from = source.from(&format!("{full},{increment}"));
    let arguments = ["--from", &from, "--endpoint", &target.endpoint];
    let names = [&increment, "changes as Ion", "DYNAMODB_JSON"];
    fails(folder.path(), &[&arguments[..], &KEY].concat(), &names);
    assert_eq!(ask(&target.endpoint, "ListTables", "{}").get("TableNames").unwrap().elements().len(), 0);
    // An increment in the other format goes on from it.
    let (json, _) = source.export(&window_of(&source, &increment));
    let from = source.from(&format!("{full},{json}"));
    succeeds(folder.path(), &[&["--from", &from, "--endpoint", &target.endpoint][..], &KEY].concat());
    crate::endpoint::assert_equal((&source.server.endpoint, "Orders"), (&target.endpoint, "Orders"));
}

/// The members of an increment in JSON with the window of another one.
fn window_of(source: &Source, id: &str) -> String {
    let summary = Path::new(&source.buckets).join(format!("far/p/AWSDynamoDB/{id}/manifest-summary.json"));
    let summary = Summary::read(&std::fs::read(summary).unwrap()).unwrap();
    let Span::Incremental { from_ms, to_ms, .. } = summary.span else { panic!("it is no increment") };
    format!(
        r#","ExportType":"INCREMENTAL_EXPORT","IncrementalExportSpecification":{{"ExportFromTime":{},"ExportToTime":{}}}"#,
        from_ms / 1000,
        to_ms / 1000
    )
}
