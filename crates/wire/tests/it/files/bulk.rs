//! Records, reports and manifests of bulk puts, and the error log of imports.

use keywright_semantics::value::Item;
use keywright_wire::files::bulk::{
    Report, ReportSummary, push_condition_failure, push_error, push_report_file,
};
use keywright_wire::files::{
    Checksum, Contents, DataFile, ExportFolder, Format, ItemPointer, Outcome, Records, push_import_error,
};

const JSON: &str = concat!(
    r##"{"Item":{"pk":{"S":"1"},"n":{"N":"2"}},"ConditionExpression":"attribute_not_exists(#p) OR n < :n","##,
    r##""ExpressionAttributeNames":{"#p":"pk"},"ExpressionAttributeValues":{":n":{"N":"2"}}}"##,
    "\n",
    r#"{"Item":{"pk":{"S":"2"}}}"#,
    "\n",
    r#"{"Item":{"pk":{"S":"3"}},"ConditionExpression":"attribute_not_exists("}"#,
    "\n",
    r##"{"Item":{"pk":{"S":"4"}},"ExpressionAttributeNames":{"#p":"pk"}}"##,
    "\n",
    r#"{"Item":{"pk":{"S":"5"}},"ConditionExpression":5}"#,
    "\n",
);

const ION: &str = concat!(
    r##"$ion_1_0 {Item:{pk:"1",n:2.},ConditionExpression:"attribute_not_exists(#p) OR n < :n","##,
    r##"ExpressionAttributeNames:{'#p':"pk"},ExpressionAttributeValues:{':n':2.}}"##,
    "\n",
    r#"$ion_1_0 {Item:{pk:"2"}}"#,
    "\n",
    r#"{Item:{pk:"3"},ConditionExpression:"attribute_not_exists("}"#,
    "\n",
    r##"{Item:{pk:"4"},ExpressionAttributeNames:{'#p':"pk"}}"##,
    "\n",
    r#"{Item:{pk:"5"},ConditionExpression:5}"#,
    "\n",
);

fn records(format: &Format, contents: Contents, text: &str) -> Vec<Outcome> {
    let mut reader = Records::new(format, contents);
    reader.feed(text.as_bytes());
    reader.finish();
    std::iter::from_fn(|| reader.next_record()).map(|record| record.outcome).collect()
}

#[test]
fn records_have_items_and_conditions_in_either_format() {
    for (format, text) in [(Format::JsonLines, JSON), (Format::Ion, ION)] {
        let outcomes = records(&format, Contents::ConditionalPuts, text);
        let [Outcome::Put(first), Outcome::Put(second), rest @ ..] = outcomes.as_slice() else {
            panic!("{outcomes:?}")
        };
        assert_eq!(first.item.len(), 2);
        assert!(first.condition.is_some());
        assert!(second.condition.is_none());
        let messages: Vec<&str> = rest
            .iter()
            .map(|outcome| match outcome {
                Outcome::Invalid(message) => message.as_str(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert!(messages[0].starts_with("Invalid ConditionExpression: Syntax error; "), "{messages:?}");
        assert_eq!(messages[1], "ExpressionAttributeNames can only be specified when using expressions");
        let wrong_type = [
            "NUMBER_VALUE cannot be converted to String",
            "The record has a value of the Ion type number where a string must stand",
        ];
        assert!(wrong_type.iter().any(|text| messages[2].starts_with(text)), "{messages:?}");
    }
}

#[test]
fn an_import_looks_at_the_items_alone() {
    for (format, text) in [(Format::JsonLines, JSON), (Format::Ion, ION)] {
        let outcomes = records(&format, Contents::Items, text);
        assert_eq!(outcomes.len(), 5);
        for outcome in outcomes {
            assert!(matches!(&outcome, Outcome::Put(put) if put.condition.is_none()), "{outcome:?}");
        }
    }
}

fn item(names: &[&str]) -> Item {
    names.iter().map(|name| ((*name).to_owned(), "1".into())).collect()
}

const POINTER: ItemPointer<'_> = ItemPointer { bucket: "b", key: "in/1.json", item_index: Some(6) };

#[test]
fn the_error_log_of_an_import_is_as_the_service_writes_it() {
    let mut out = Vec::new();
    let arn = "arn:aws:dynamodb:us-east-1:123456789012:table/t/import/01658528578619-c4d4e311";
    let message = "One or more parameter values were invalid: Missing the key pk in the item".to_owned();
    push_import_error(&mut out, &POINTER, arn, &[message]);
    push_import_error(&mut out, &ItemPointer { item_index: None, ..POINTER }, "a", &["\"1\"".to_owned()]);
    assert_eq!(
        String::from_utf8(out).unwrap(),
        concat!(
            r#"{"itemS3Pointer":{"bucket":"b","key":"in/1.json","itemIndex":6},"#,
            r#""importArn":"arn:aws:dynamodb:us-east-1:123456789012:table/t/import/01658528578619-c4d4e311","#,
            r#""errorMessages":["One or more parameter values were invalid: Missing the key pk in the item"]}"#,
            "\n",
            r#"{"itemS3Pointer":{"bucket":"b","key":"in/1.json"},"importArn":"a","errorMessages":["\"1\""]}"#,
            "\n"
        )
    );
}

#[test]
fn reports_have_the_attempted_and_the_existing_item() {
    let mut out = Vec::new();
    let messages = ["The conditional request failed".to_owned()];
    push_error(&mut out, &POINTER, &messages, None);
    push_error(&mut out, &POINTER, &messages, Some(&item(&["a"])));
    push_condition_failure(&mut out, &POINTER, &messages, &item(&["a"]), None);
    push_condition_failure(&mut out, &POINTER, &messages, &item(&["a"]), Some(&item(&["b"])));
    let start = concat!(
        r#"{"itemS3Pointer":{"bucket":"b","key":"in/1.json","itemIndex":6},"#,
        r#""errorMessages":["The conditional request failed"]"#
    );
    let (attempted, existing) = (r#","Item":{"a":{"S":"1"}}"#, r#","ExistingItem":{"b":{"S":"1"}}"#);
    assert_eq!(
        String::from_utf8(out).unwrap(),
        format!("{start}}}\n{start}{attempted}}}\n{start}{attempted}}}\n{start}{attempted}{existing}}}\n")
    );
}

#[test]
fn the_manifest_of_reports_counts_and_lists_their_files() {
    let folder = ExportFolder::new(Some("out"), "1-a");
    let summary = ReportSummary {
        bulk_operation_arn: "arn:aws:dynamodb:us-east-1:123456789012:table/t/bulk-operation/1-a".to_owned(),
        start_time_ms: 1_768_385_930_622,
        end_time_ms: 1_768_385_931_000,
        table_arn: "arn:aws:dynamodb:us-east-1:123456789012:table/t".to_owned(),
        table_id: "id".to_owned(),
        bucket: "b".to_owned(),
        prefix: Some("out".to_owned()),
        files_key: folder.files_key(),
        processed_item_count: 10,
        failed_item_count: 2,
        condition_check_failure_count: 1,
    };
    assert_eq!(
        String::from_utf8(summary.write()).unwrap(),
        concat!(
            r#"{"version":"2026-11-27","#,
            r#""bulkOperationArn":"arn:aws:dynamodb:us-east-1:123456789012:table/t/bulk-operation/1-a","#,
            r#""startTime":"2026-01-14T10:18:50.622Z","endTime":"2026-01-14T10:18:51.000Z","#,
            r#""tableArn":"arn:aws:dynamodb:us-east-1:123456789012:table/t","tableId":"id","s3Bucket":"b","#,
            r#""s3Prefix":"out","manifestFilesS3Key":"out/AWSDynamoDB/1-a/manifest-files.json","#,
            r#""processedItemCount":10,"failedItemCount":2,"conditionCheckFailureCount":1}"#
        )
    );
    let mut out = Vec::new();
    for report in Report::ALL {
        let key = report.data_key(&folder.summary_key(), "name");
        let file = DataFile { item_count: 1, checksum: Checksum::of(b"test"), etag: "e".to_owned(), key };
        push_report_file(&mut out, report, &file);
    }
    let counts = r#""itemCount":1,"md5Checksum":"CY9rzUYh03PK3k6DJie09g==","etag":"e""#;
    let folder = "out/AWSDynamoDB/1-a/data";
    assert_eq!(
        String::from_utf8(out).unwrap(),
        format!(
            "{{\"outputType\":\"ERROR\",{counts},\"dataFileS3Key\":\"{folder}/error/name.json.gz\"}}\n\
             {{\"outputType\":\"CONDITION_CHECK_FAILURE\",{counts},\"dataFileS3Key\":\"{folder}/condition-check-failure/name.json.gz\"}}\n"
        )
    );
}
