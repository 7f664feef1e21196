//! `keywright import --existing`: begins a bulk put into a table that exists, and follows it to its end.

use keywright_model::json::Json;

use crate::client::aws_settings::Target;
use crate::client::confirm::confirm;
use crate::client::endpoint::{Client, Credentials};
use crate::client::listing::counted;
use crate::client::progress::Spinner;
use crate::process::failure::Failure;
use crate::process::foreign::inline;
use crate::process::output;
use crate::transfer::follow::{Followed, follow, nothing_read};
use crate::transfer::place::Place;

/// Where the reports stand below their prefix, as the server names it.
const FOLDER: &str = "AWSDynamoDB/";

/// A bulk put as the command line asks for it.
#[derive(Debug)]
pub(super) struct BulkPut<'a> {
    pub(super) table: &'a str,
    pub(super) bucket: &'a str,
    pub(super) prefix: Option<&'a str>,
    pub(super) format: &'static str,
    pub(super) compression: &'static str,
    pub(super) reports: Place,
    pub(super) max_write_units: Option<u64>,
}

/// Where the reports go: to this URL, or else into the bucket of the objects.
pub(super) fn reports(url: Option<&str>, bucket: &str, prefix: Option<&str>) -> Result<Place, Failure> {
    match url {
        Some(url) => Place::parse(url).ok_or_else(|| {
            Failure::new(format!("--reports {}: write a place such as s3://bucket/prefix", inline(url)))
        }),
        None if FOLDER.starts_with(prefix.unwrap_or_default()) => Err(Failure::new(
            "the reports would be among the objects that --from names: say with --reports where they go",
        )
        .advising("such as --reports s3://bucket/reports")),
        None => Ok(Place { bucket: bucket.to_owned(), prefix: None }),
    }
}

/// The request, as every client of the API sends it.
fn request(put: &BulkPut<'_>) -> Json {
    let mut input = Json::object([("S3Bucket", Json::text(put.bucket))]);
    if let Some(prefix) = put.prefix {
        input.set("S3KeyPrefix", Json::text(prefix));
    }
    input.set("InputFormat", Json::text(put.format));
    input.set("InputCompressionType", Json::text(put.compression));
    let kinds = ["ERROR", "CONDITION_CHECK_FAILURE"].map(Json::text);
    let mut output = Json::object([("OutputType", Json::List(kinds.into()))]);
    output.set("S3Bucket", Json::text(&put.reports.bucket));
    if let Some(prefix) = &put.reports.prefix {
        output.set("S3KeyPrefix", Json::text(prefix));
    }
    let mut body = Json::object([
        ("TableName", Json::text(put.table)),
        ("InputS3Configuration", input),
        ("OutputS3Configuration", output),
    ]);
    if let Some(units) = put.max_write_units {
        body.set("MaxWriteRequestUnits", Json::number(units));
    }
    body
}

/// Runs the bulk put.
pub(super) async fn run(
    put: &BulkPut<'_>,
    target: &Target,
    credentials: &Credentials,
) -> Result<(), Failure> {
    confirm(target, &format!("this puts items into the table {}", put.table))?;
    let mut client = Client::connect(&target.endpoint, credentials).await?;
    let begun = client.ask("StartBulkPutItems", &request(put)).await?;
    let begun = Followed::BulkPut.described(&begun);
    let arn = begun.str_at("BulkOperationArn").ok_or("StartBulkPutItems: the answer has no ARN")?.to_owned();
    output::note(&format!("Bulk put {} has begun.", inline(&arn)));
    let spinner = Spinner::new();
    let ended = follow(&mut client, Followed::BulkPut, &arn, |operation| {
        spinner.show(&progress(put.table, operation));
    })
    .await;
    drop(spinner);
    let ended = ended?;
    let is_empty = number(&ended, "ProcessedItemCount") == 0 && number(&ended, "TotalInputBytes") == 0;
    if is_empty && Followed::BulkPut.status(&ended) == "COMPLETED" {
        output::note(&nothing_read(put.bucket, put.prefix));
    }
    finish(put.table, &arn, &ended)
}

fn number(operation: &Json, name: &str) -> u64 {
    operation.get(name).and_then(Json::as_u64).unwrap_or_default()
}

fn progress(table: &str, operation: &Json) -> String {
    let items = number(operation, "ProcessedItemCount");
    let (read, all) = (number(operation, "ProcessedInputBytes"), number(operation, "TotalInputBytes"));
    let percent = read.saturating_mul(100).checked_div(all);
    let share = percent.map(|percent| format!(", {percent} % of the objects")).unwrap_or_default();
    format!("putting into {table}: {}{share}", counted(items, "record"))
}

/// Says how a bulk put has ended; one with errors, and one that did not complete, is a failure.
fn finish(table: &str, arn: &str, operation: &Json) -> Result<(), Failure> {
    let errors = number(operation, "FailedItemCount");
    let processed = number(operation, "ProcessedItemCount");
    let faults = counted(errors, "error");
    output::note(&format!("{table}: {} read, {faults}", counted(processed, "record")));
    let summary = summary(arn, operation);
    match Followed::BulkPut.status(operation) {
        "COMPLETED" => {
            output::say(&summary);
            Ok(())
        }
        "COMPLETED_WITH_ERRORS" => {
            output::say(&summary);
            Err(Failure::new(format!("some records or objects were not put into {table}: {faults}")).advising(
                "the reports next to this manifest name each, in data/error; the table has the other records",
            ))
        }
        status => {
            let part = |name: &str| inline(operation.str_at(name).unwrap_or_default()).into_owned();
            let (code, message) = (part("FailureCode"), part("FailureMessage"));
            let ended = if status == "CANCELLED" { "was cancelled" } else { "has failed" };
            Err(Failure::new(format!("the bulk put into {table} {ended}: {code}: {message}"))
                .advising(format!(
                    "what it has put stays in the table; `keywright import errors {arn}` says where its reports are"
                )))
        }
    }
}

/// Where the manifest of the reports is.
fn summary(arn: &str, operation: &Json) -> String {
    let place = operation.get("OutputS3Configuration").unwrap_or(&Json::Null);
    let bucket = place.str_at("S3Bucket").unwrap_or_default();
    let prefix = place.str_at("S3KeyPrefix").unwrap_or_default().trim_end_matches('/');
    let slash = if prefix.is_empty() { "" } else { "/" };
    let id = arn.rsplit('/').next().unwrap_or_default();
    inline(&format!("s3://{bucket}/{prefix}{slash}{FOLDER}{id}/manifest-summary.json")).into_owned()
}

/// Whether an ARN is that of a bulk put.
pub(super) fn is_named_by(arn: &str) -> bool {
    arn.contains("/bulk-operation/")
}

/// Says where the reports of a bulk put are.
pub(super) async fn print_reports(client: &mut Client, arn: &str) -> Result<(), Failure> {
    let (operation, question) = Followed::BulkPut.question(arn);
    let answer = client.ask_again(operation, &question).await?;
    let described = Followed::BulkPut.described(&answer);
    if Followed::BulkPut.is_at_work(&described) {
        output::note("The bulk put is at work: it writes its reports when it ends.");
        return Ok(());
    }
    let errors = number(&described, "FailedItemCount");
    output::note(&format!(
        "{}. The reports are next to this manifest: data/error, and data/condition-check-failure \
         with the items whose condition did not hold.",
        counted(errors, "error")
    ));
    output::say(&summary(arn, &described));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_go_where_a_second_bulk_put_does_not_read_them() {
        let place = |url, prefix| {
            reports(url, "b", prefix)
                .map(|place| (place.bucket, place.prefix))
                .map_err(|fault| fault.to_string())
        };
        assert_eq!(place(None, Some("in/")), Ok(("b".to_owned(), None)));
        assert_eq!(place(Some("s3://c/p/"), None), Ok(("c".to_owned(), Some("p".to_owned()))));
        for prefix in [None, Some("AWS"), Some("AWSDynamoDB/")] {
            assert!(place(None, prefix).is_err_and(|fault| fault.contains("--reports")), "{prefix:?}");
        }
        assert!(place(Some("folder"), Some("in/")).is_err_and(|fault| fault.contains("s3://bucket/prefix")));
    }

    #[test]
    fn the_manifest_is_below_the_prefix_as_it_was_given() {
        let arn = "arn:aws:dynamodb:us-east-1:1:table/T/bulk-operation/01791504762511-2779fadd";
        assert!(is_named_by(arn) && !is_named_by("arn:aws:dynamodb:us-east-1:1:table/T/import/1-2"));
        let of = |output: &str| {
            let operation = format!(r#"{{"OutputS3Configuration": {output}}}"#);
            summary(arn, &Json::parse(&operation).expect("JSON"))
        };
        let end = "AWSDynamoDB/01791504762511-2779fadd/manifest-summary.json";
        assert_eq!(of(r#"{"S3Bucket": "b"}"#), format!("s3://b/{end}"));
        assert_eq!(of(r#"{"S3Bucket": "b", "S3KeyPrefix": "r/"}"#), format!("s3://b/r/{end}"));
    }

    #[test]
    fn progress_has_the_share_of_the_bytes_once_their_sum_is_known() {
        let shown = |operation: &str| progress("T", &Json::parse(operation).expect("JSON"));
        assert_eq!(shown(r#"{"ProcessedItemCount": 5}"#), "putting into T: 5 records");
        assert_eq!(
            shown(r#"{"ProcessedItemCount": 5, "ProcessedInputBytes": 30, "TotalInputBytes": 40}"#),
            "putting into T: 5 records, 75 % of the objects"
        );
    }
}
