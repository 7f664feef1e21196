//! Manifests of exports: byte for byte as the service writes them.

use keywright_wire::files::{
    Checksum, DataFile, DataFormat, ExportFolder, ManifestFault, Part, SUM_EXTENSIONS, Span, Summary, View,
    data_file_name, sum_key,
};

const FULL: &str = r#"{"version":"2020-06-30","exportArn":"arn:aws:dynamodb:us-east-1:123456789012:table/t/export/01768385930622-9ab1c2d3","startTime":"2026-01-14T10:18:50.622Z","endTime":"2026-01-14T10:24:01.005Z","tableArn":"arn:aws:dynamodb:us-east-1:123456789012:table/t","tableId":"8d0b0e4f-0a1c-4a5e-9f0d-111213141516","exportTime":"2026-01-14T10:18:50.622Z","s3Bucket":"b","s3Prefix":null,"s3SseAlgorithm":"AES256","s3SseKmsKeyId":null,"manifestFilesS3Key":"AWSDynamoDB/01768385930622-9ab1c2d3/manifest-files.json","billedSizeBytes":0,"itemCount":3,"outputFormat":"DYNAMODB_JSON"}"#;
const INCREMENTAL: &str = r#"{"version":"2023-08-01","exportArn":"arn:aws:dynamodb:us-east-1:123456789012:table/t/export/01768387635000-0f1e2d3c","startTime":"2026-01-14T10:47:15.000Z","endTime":"2026-01-14T10:53:01.005Z","tableArn":"arn:aws:dynamodb:us-east-1:123456789012:table/t","tableId":"8d0b0e4f-0a1c-4a5e-9f0d-111213141516","exportFromTime":"2026-01-14T10:18:50.000Z","exportToTime":"2026-01-14T10:47:15.000Z","s3Bucket":"b","s3Prefix":"p/q","s3SseAlgorithm":"KMS","s3SseKmsKeyId":"k","manifestFilesS3Key":"p/q/AWSDynamoDB/01768387635000-0f1e2d3c/manifest-files.json","billedSizeBytes":10000000,"itemCount":1,"outputFormat":"ION","outputView":"NEW_AND_OLD_IMAGES","exportType":"INCREMENTAL_EXPORT"}"#;
const FILES: &str = concat!(
    r#"{"itemCount":3,"md5Checksum":"CY9rzUYh03PK3k6DJie09g==","etag":"9b8e2c4d-1","dataFileS3Key":"AWSDynamoDB/01768385930622-9ab1c2d3/data/kq3m7zr2x5bn6yd4jw7hsc2fta.json.gz"}"#,
    "\n",
    r#"{"itemCount":0,"md5Checksum":"1B2M2Y8AsgTpgAmY7PhCfg==","etag":"d41d8cd9","dataFileS3Key":"AWSDynamoDB/01768385930622-9ab1c2d3/data/aaaaaaaaaaaaaaaaaaaaaaaaaa.json.gz"}"#,
    "\n"
);

#[test]
fn summaries_read_and_write_the_same_bytes() {
    for text in [FULL, INCREMENTAL] {
        let summary = Summary::read(text.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(summary.write()).unwrap(), text);
    }
    assert_eq!(
        Summary::read(INCREMENTAL.as_bytes()).unwrap().span,
        Span::Incremental {
            from_ms: 1_768_385_930_000,
            to_ms: 1_768_387_635_000,
            view: View::NewAndOldImages
        }
    );
}

#[test]
fn a_summary_with_spaces_and_further_members_is_read() {
    let spaced = FULL.replace(',', " ,\n  ").replace("{\"version\"", "{\n\"new\": [1], \"version\"");
    assert_eq!(Summary::read(spaced.as_bytes()), Summary::read(FULL.as_bytes()));
    let renamed = INCREMENTAL.replace("NEW_AND_OLD_IMAGES", "NEW_IMAGES");
    assert!(matches!(
        Summary::read(renamed.as_bytes()).unwrap().span,
        Span::Incremental { view: View::NewImage, .. }
    ));
}

#[test]
fn a_summary_that_is_cut_or_of_another_version_is_refused() {
    let fault = |text: &str| Summary::read(text.as_bytes()).unwrap_err();
    assert_eq!(fault(&FULL[..FULL.len() - 1]), ManifestFault::NotJson);
    assert_eq!(fault("[]"), ManifestFault::NotJson);
    assert_eq!(
        fault(&FULL.replace("2020-06-30", "2027-01-01")),
        ManifestFault::Version("2027-01-01".to_owned())
    );
    assert_eq!(fault(&FULL.replace("exportTime", "other")), ManifestFault::Member("exportTime"));
    assert_eq!(fault(&FULL.replace("2026-01-14T10:24", "soon")), ManifestFault::Member("endTime"));
    assert_eq!(
        fault(&FULL.replace("\"itemCount\":3", "\"itemCount\":-3")),
        ManifestFault::Member("itemCount")
    );
    assert_eq!(fault(&FULL.replace("null", "5")), ManifestFault::Member("s3Prefix"));
}

#[test]
fn lists_of_files_read_and_write_the_same_bytes() {
    let files = DataFile::read_lines(FILES.as_bytes()).unwrap();
    let mut out = Vec::new();
    for file in &files {
        file.push_line(&mut out);
    }
    assert_eq!(String::from_utf8(out).unwrap(), FILES);
    assert_eq!(files[1].checksum, Checksum::of(b""));
    assert_eq!(DataFile::read_lines(b"\n"), Ok(Vec::new()));
    let cut = &FILES.as_bytes()[..FILES.len() - 5];
    assert_eq!(DataFile::read_lines(cut), Err(ManifestFault::NotJson));
    let bad_sum = FILES.replace("CY9rzUYh03PK3k6DJie09g==", "CY9r");
    assert_eq!(DataFile::read_lines(bad_sum.as_bytes()), Err(ManifestFault::Member("md5Checksum")));
}

#[test]
fn a_sum_is_24_characters_of_base64_and_is_read_with_a_line_end() {
    let sum = Checksum::of(b"test");
    assert_eq!(sum.base64(), "CY9rzUYh03PK3k6DJie09g==");
    assert_eq!(Checksum::read(b"CY9rzUYh03PK3k6DJie09g==\n"), Some(sum));
    assert_eq!(Checksum::read(b"098f6bcd4621d373cade4e832627b4f6"), None);
    let mut pieces = keywright_wire::files::Checksummer::default();
    pieces.update(b"te");
    pieces.update(b"st");
    assert_eq!(pieces.finish(), sum);
}

#[test]
fn objects_of_an_export_are_below_the_prefix_as_it_was_given() {
    let full = Span::Full { at_ms: 0 };
    let window = Span::Incremental { from_ms: 0, to_ms: 1, view: View::NewImage };
    for (prefix, root) in [(None, ""), (Some(""), ""), (Some("foo"), "foo/"), (Some("foo/"), "foo/")] {
        let folder = ExportFolder::new(prefix, "1-a");
        assert_eq!(folder.started_key(), format!("{root}AWSDynamoDB/1-a/_started"));
        assert_eq!(folder.files_key(), format!("{root}AWSDynamoDB/1-a/manifest-files.json"));
        let sums = SUM_EXTENSIONS.map(|extension| sum_key(&folder.summary_key(), extension));
        assert_eq!(
            sums,
            ["md5", "checksum"].map(|end| format!("{root}AWSDynamoDB/1-a/manifest-summary.{end}"))
        );
        assert_eq!(
            folder.data_key(full, DataFormat::Json, "x"),
            format!("{root}AWSDynamoDB/1-a/data/x.json.gz")
        );
        assert_eq!(folder.data_key(window, DataFormat::Ion, "x"), format!("{root}AWSDynamoDB/data/x.ion.gz"));
    }
}

#[test]
fn names_of_data_files_are_always_the_same_and_differ_by_job_part_and_number() {
    let name = data_file_name("01768385930622-9ab1c2d3", Part(0), 0);
    assert_eq!(name, data_file_name("01768385930622-9ab1c2d3", Part(0), 0));
    assert_eq!(name.len(), 26);
    assert!(name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'2'..=b'7')), "{name}");
    let others = [
        data_file_name("01768385930622-9ab1c2d4", Part(0), 0),
        data_file_name("01768385930622-9ab1c2d3", Part(1), 0),
        data_file_name("01768385930622-9ab1c2d3", Part(0), 1),
        data_file_name("01768385930622-9ab1c2d3", Part(1), 1),
    ];
    let distinct: std::collections::BTreeSet<&String> = others.iter().chain([&name]).collect();
    assert_eq!(distinct.len(), 5, "{distinct:?}");
}
