//! `keywright export`: begins an export and follows it to its end.

use clap::{Args, ValueEnum};
use keywright_model::item_json::write_item;
use keywright_model::json::Json;
use keywright_semantics::value::Item;

use crate::client::aws_settings::Target;
use crate::client::confirm::confirm;
use crate::client::endpoint::{Refusal, block_on};
use crate::client::endpoint_arguments::EndpointArguments;
use crate::client::key_argument::{self, Names};
use crate::client::progress::Spinner;
use crate::client::time_argument::TimeArgument;
use crate::data::table;
use crate::process::failure::Failure;
use crate::process::foreign::inline;
use crate::process::{output, timestamp};
use crate::transfer::follow::{Followed, follow};
use crate::transfer::place::Place;

const EXPORT: &str = "ExportTableToPointInTime";
/// In the service's words about a window that is too short.
const TOO_SHORT: &str = "export period to time is less than";

/// Export a table as of a time, or what changed in it, to a bucket
///
/// Writes a folder as AWS does: data files compressed with gzip, and manifests with their sums. The server
/// writes the objects (`serve --s3-endpoint`, `--s3-folder`). The table needs point-in-time recovery; what is
/// written meanwhile is not slowed and not in the export.
#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// The table
    #[arg(long, value_name = "NAME")]
    table: String,
    /// The bucket and what precedes the names of the objects: `s3://bucket/prefix`
    #[arg(long, value_name = "S3-URL", required_unless_present = "bucket", conflicts_with = "bucket")]
    to: Option<String>,
    /// The bucket alone
    #[arg(long, value_name = "NAME")]
    bucket: Option<String>,
    /// The table as of this time: `2026-10-06T23:16:32Z`, or so long ago: `-10m` [default: now]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, conflicts_with = "from")]
    at: Option<TimeArgument>,
    /// Only what changed from this time on
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    from: Option<TimeArgument>,
    /// Only what changed before this time [default: now]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, requires = "from")]
    to_time: Option<TimeArgument>,
    /// The images of a changed item
    #[arg(long, value_enum, requires = "from")]
    view: Option<ViewArgument>,
    /// The form of the data files
    #[arg(long, value_enum, default_value_t = FormatArgument::Json)]
    format: FormatArgument,
    /// Only the items that match this filter expression; of changes, the latest image counts
    #[arg(long, value_name = "EXPRESSION")]
    filter: Option<String>,
    /// Only items of one partition, such as `pk = :pk AND sk > :sk`
    #[arg(long, value_name = "EXPRESSION")]
    key_condition: Option<String>,
    /// Only these attributes, separated by commas
    #[arg(long, value_name = "EXPRESSION")]
    projection: Option<String>,
    /// The values of the expressions, such as `{":low": 5}` or `{":low": {"N": "5"}}`
    #[arg(long, value_name = "JSON", value_parser = key_argument::key)]
    values: Option<Item>,
    /// The names of the expressions, such as `{"#s": "status"}`
    #[arg(long, value_name = "JSON", value_parser = key_argument::names)]
    names: Option<Names>,
    #[command(flatten)]
    endpoint: EndpointArguments,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormatArgument {
    /// DynamoDB JSON, an item in each line
    Json,
    /// Amazon Ion as text, an item in each line
    Ion,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ViewArgument {
    /// The item at the end of the window
    New,
    /// Also the item at its beginning
    NewAndOld,
}

fn place(arguments: &ExportArguments) -> Result<Place, Failure> {
    if let Some(bucket) = &arguments.bucket {
        return Ok(Place { bucket: bucket.clone(), prefix: None });
    }
    let url = arguments.to.as_deref().unwrap_or_default();
    Place::parse(url)
        .ok_or_else(|| Failure::new(format!("--to {url}: write a place such as s3://bucket/prefix")))
}

/// Runs the command. An error is a message for the person at the terminal.
pub(crate) fn run(arguments: &ExportArguments) -> Result<(), Failure> {
    let place = place(arguments)?;
    let target = arguments.endpoint.target()?;
    block_on(export(arguments, &target, &place))
}

async fn export(arguments: &ExportArguments, target: &Target, place: &Place) -> Result<(), Failure> {
    let mut client = arguments.endpoint.connect(target).await?;
    let description = table::describe(&mut client, &arguments.table).await?;
    let arn = description.at(&["Table", "TableArn"]).and_then(Json::as_str);
    let arn = arn.ok_or("DescribeTable: the answer has no TableArn")?.to_owned();
    confirm(target, &format!("this writes objects into the bucket {}", place.bucket))?;
    let begun = client.ask(EXPORT, &request(arguments, place, &arn)).await.map_err(hinted)?;
    let export_arn = begun.at(&["ExportDescription", "ExportArn"]).and_then(Json::as_str);
    let export_arn = export_arn.ok_or("ExportTableToPointInTime: the answer has no ExportArn")?.to_owned();
    output::note(&format!("Export {} has begun.", inline(&export_arn)));
    let spinner = Spinner::new();
    spinner.show(&format!("exporting {}", arguments.table));
    let ended = follow(&mut client, Followed::Export, &export_arn, |_| ()).await;
    drop(spinner);
    end(&ended?, place)
}

/// The request, as every client of the API sends it.
fn request(arguments: &ExportArguments, place: &Place, arn: &str) -> Json {
    let mut body = Json::object([("TableArn", Json::text(arn)), ("S3Bucket", Json::text(&place.bucket))]);
    if let Some(prefix) = &place.prefix {
        body.set("S3Prefix", Json::text(prefix));
    }
    if matches!(arguments.format, FormatArgument::Ion) {
        body.set("ExportFormat", Json::text("ION"));
    }
    if let Some(at) = arguments.at {
        body.set("ExportTime", seconds(at));
    }
    if let Some(from) = arguments.from {
        let mut window = Json::object([("ExportFromTime", seconds(from))]);
        if let Some(to) = arguments.to_time {
            window.set("ExportToTime", seconds(to));
        }
        if let Some(view) = arguments.view {
            window.set(
                "ExportViewType",
                Json::text(match view {
                    ViewArgument::New => "NEW_IMAGE",
                    ViewArgument::NewAndOld => "NEW_AND_OLD_IMAGES",
                }),
            );
        }
        body.set("ExportType", Json::text("INCREMENTAL_EXPORT"));
        body.set("IncrementalExportSpecification", window);
    }
    let filter = filter(arguments);
    if !filter.members().is_empty() {
        body.set("FilterSpecification", filter);
    }
    body
}

fn filter(arguments: &ExportArguments) -> Json {
    let mut filter = Json::object([]);
    for (name, text) in [
        ("FilterExpression", &arguments.filter),
        ("KeyConditionExpression", &arguments.key_condition),
        ("ProjectionExpression", &arguments.projection),
    ] {
        if let Some(text) = text {
            filter.set(name, Json::text(text));
        }
    }
    if let Some(values) = &arguments.values {
        filter.set("ExpressionAttributeValues", write_item(values, &[]));
    }
    if let Some(Names(names)) = &arguments.names {
        let names = names.iter().map(|(placeholder, name)| (placeholder.as_str(), Json::text(name)));
        filter.set("ExpressionAttributeNames", Json::object(names));
    }
    filter
}

/// A time as requests have it: seconds with a fraction.
fn seconds(TimeArgument(ms): TimeArgument) -> Json {
    Json::number(format_args!("{}.{:03}", ms / 1000, ms % 1000))
}

/// A refusal, with what helps if the window is too short.
fn hinted(refusal: Refusal) -> Failure {
    let is_short = refusal.text.contains(TOO_SHORT);
    let failure = Failure::from(refusal);
    if is_short {
        failure.advising("`keywright serve --export-min-window-ms MS` allows shorter windows")
    } else {
        failure
    }
}

/// The time as of which an export is: the next window begins there.
fn as_of_ms(export: &Json) -> Option<u64> {
    let window = export.at(&["IncrementalExportSpecification", "ExportToTime"]);
    let Json::Number(seconds) = window.or_else(|| export.get("ExportTime"))? else { return None };
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    let fraction: String = fraction.chars().chain("000".chars()).take(3).collect();
    whole.parse::<u64>().ok()?.checked_mul(1000)?.checked_add(fraction.parse().ok()?)
}

/// Says how an export has ended.
fn end(export: &Json, place: &Place) -> Result<(), Failure> {
    let text = |name: &str| inline(export.str_at(name).unwrap_or_default()).into_owned();
    if export.str_at("ExportStatus") != Some("COMPLETED") {
        let (code, message) = (text("FailureCode"), text("FailureMessage"));
        return Err(Failure::new(format!("the export has failed: {message} ({code})")));
    }
    let items = export.get("ItemCount").and_then(Json::as_u64).unwrap_or_default();
    output::note(&format!("{items} {} exported.", if items == 1 { "item" } else { "items" }));
    if let Some(ms) = as_of_ms(export) {
        output::note(&format!("What changes after it: --from {}", timestamp::of(ms)));
    }
    output::say(&format!("s3://{}/{}", place.bucket, text("ExportManifest")));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_with_their_milliseconds() {
        assert_eq!(seconds(TimeArgument(1_791_504_762_051)).compact(), "1791504762.051");
    }

    #[test]
    fn the_next_window_begins_where_the_export_ended() {
        let of = |export: &str| as_of_ms(&Json::parse(export).expect("JSON"));
        assert_eq!(of(r#"{"ExportTime": 1791504762.051}"#), Some(1_791_504_762_051));
        assert_eq!(of(r#"{"ExportTime": 1791504762}"#), Some(1_791_504_762_000));
        let increment = r#"{"IncrementalExportSpecification": {"ExportFromTime": 1.0, "ExportToTime": 2.5}}"#;
        assert_eq!(of(increment), Some(2_500));
        assert_eq!(of("{}"), None);
    }
}
