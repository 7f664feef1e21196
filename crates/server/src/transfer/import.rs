//! `keywright import`: begins an import, or a bulk put into a table that exists, and follows it to its end;
//! `keywright import errors` prints what was not imported.

use std::path::Path;

use clap::{Args, Subcommand, ValueEnum};
use keywright_model::json::Json;

use crate::client::aws_settings::{Target, named_endpoint};
use crate::client::confirm::confirm;
use crate::client::endpoint::{Client, Credentials, Endpoint, OwnCall, block_on};
use crate::client::listing::counted;
use crate::client::progress::Spinner;
use crate::data::table;
use crate::http::import_errors::{PATH, request};
use crate::process::failure::Failure;
use crate::process::foreign::inline;
use crate::process::output;
use crate::transfer::bulk_put::{self, BulkPut};
use crate::transfer::follow::{Followed, follow, nothing_read};
use crate::transfer::named::arn_of;

const ERRORS: OwnCall = OwnCall { name: "ImportErrors", path: PATH };
/// The exit status of a command line that cannot be carried out.
const USAGE: u8 = 2;
/// The error of a table that exists already, or is being made.
const IN_USE: &str = "ResourceInUseException";
/// Errors that are shown of an import that failed.
const ERRORS_SHOWN: usize = 10;

/// Import objects of a bucket into a new table, or put them into one that exists
///
/// The server reads the objects from its object store (`serve --s3-endpoint`, `--s3-folder`). A new table is
/// there once the import has ended, also if some records are no items: then the command shows the first
/// errors and fails. With --existing it is a bulk put: records may have conditions, indexes and streams see
/// each item, and the server writes reports into a bucket.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[expect(clippy::doc_markdown, reason = "these are texts for a terminal")]
pub(crate) struct ImportArguments {
    #[command(subcommand)]
    command: Option<ImportCommand>,
    /// The new table, or with --existing one that exists
    #[arg(long, value_name = "NAME", required = true)]
    table: Option<String>,
    /// The objects: all whose names begin so, such as `s3://bucket/in/` or `s3://bucket/in/1.json`
    #[arg(long, value_name = "S3-URL", required = true)]
    from: Option<String>,
    /// What the objects hold
    #[arg(long, value_enum, default_value_t = FormatArgument::Json)]
    format: FormatArgument,
    /// How the objects are compressed [default: as the end of --from shows, else not]
    #[arg(long, value_enum)]
    compression: Option<CompressionArgument>,
    /// The sign between two fields of CSV [default: a comma]
    #[arg(long, value_name = "SIGN")]
    delimiter: Option<String>,
    /// The names of the fields of CSV, separated by commas [default: those in the first line of each object]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    header: Vec<String>,
    /// The partition key of the new table with its type, such as `pk:S`
    #[arg(long, value_name = "NAME:TYPE", value_parser = attribute)]
    key: Option<Attribute>,
    /// The sort key, such as `sk:N`
    #[arg(long, value_name = "NAME:TYPE", value_parser = attribute, requires = "key")]
    sort: Option<Attribute>,
    /// Take keys, global indexes and capacity of this table instead
    #[arg(long, value_name = "NAME", conflicts_with_all = ["key", "sort"])]
    like: Option<String>,
    /// Put the items into a table that exists, in bulk
    #[arg(long, conflicts_with_all = ["key", "sort", "like", "delimiter", "header"])]
    existing: bool,
    /// Where a bulk put writes its reports: `s3://bucket/prefix` [default: the bucket of --from]
    #[arg(long, value_name = "S3-URL", requires = "existing")]
    reports: Option<String>,
    /// Let a bulk put write at most so many write request units a second; 1024 or more
    #[arg(long, value_name = "UNITS", requires = "existing")]
    max_write_units: Option<u64>,
    /// The endpoint, such as `http://localhost:8000` [default: AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL,
    /// or that of the profile]
    #[arg(long, alias = "endpoint-url", value_name = "URL", global = true)]
    endpoint: Option<Endpoint>,
    #[command(flatten)]
    credentials: Credentials,
}

#[derive(Debug, Subcommand)]
enum ImportCommand {
    /// Print the errors of an import, one JSON line each, or where the reports of a bulk put are.
    Errors(ErrorsArguments),
}

#[derive(Debug, Args)]
#[expect(clippy::doc_markdown, reason = "these are texts for a terminal")]
struct ErrorsArguments {
    /// The ARN of the import or bulk put, or its id as `keywright jobs` shows it
    arn: String,
    /// The endpoint, such as `http://localhost:8000` [default: AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL,
    /// or that of the profile]
    #[arg(long, alias = "endpoint-url", value_name = "URL")]
    endpoint: Option<Endpoint>,
    #[command(flatten)]
    credentials: Credentials,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormatArgument {
    /// DynamoDB JSON, an item in each line
    Json,
    /// Amazon Ion
    Ion,
    Csv,
}

impl FormatArgument {
    const fn name(self) -> &'static str {
        match self {
            Self::Json => "DYNAMODB_JSON",
            Self::Ion => "ION",
            Self::Csv => "CSV",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CompressionArgument {
    Gzip,
    Zstd,
    None,
}

impl CompressionArgument {
    const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "GZIP",
            Self::Zstd => "ZSTD",
            Self::None => "NONE",
        }
    }

    /// As the end of a name shows.
    fn of(name: &str) -> Self {
        match Path::new(name).extension().and_then(|end| end.to_str()) {
            Some("gz") => Self::Gzip,
            Some("zst") => Self::Zstd,
            _ => Self::None,
        }
    }
}

/// A key attribute with its type.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Attribute {
    name: String,
    kind: String,
}

fn attribute(text: &str) -> Result<Attribute, String> {
    let form = || "write the attribute's name, a colon and its type, S, N or B: pk:S".to_owned();
    let (name, kind) = text.rsplit_once(':').ok_or_else(form)?;
    if name.is_empty() || !matches!(kind, "S" | "N" | "B") {
        return Err(form());
    }
    Ok(Attribute { name: name.to_owned(), kind: kind.to_owned() })
}

/// Runs the command. An error is a message for the person at the terminal.
pub(crate) fn run(arguments: &ImportArguments) -> Result<(), Failure> {
    if let Some(ImportCommand::Errors(errors)) = &arguments.command {
        return print_errors(errors);
    }
    let (Some(table), Some(from)) = (&arguments.table, &arguments.from) else {
        return Err("name the table with --table, and the objects with --from".into());
    };
    if arguments.key.is_none() && arguments.like.is_none() && !arguments.existing {
        return Err(Failure::new(format!("the keys of the new table {table} are not given"))
            .advising(
                "pass --key pk:S (and --sort sk:N), --like TABLE for those of another table, or --existing",
            )
            .with_status(USAGE));
    }
    let place = place(from, table)?;
    let bulk_put = if arguments.existing { Some(bulk_put(arguments, (table, place))?) } else { None };
    let target = named_endpoint(arguments.endpoint.as_ref())?;
    match bulk_put {
        Some(bulk_put) => block_on(bulk_put::run(&bulk_put, &target, &arguments.credentials)),
        None => block_on(import(arguments, &target, (table, place))),
    }
}

fn bulk_put<'a>(
    arguments: &'a ImportArguments,
    (table, (bucket, prefix)): (&'a str, (&'a str, Option<&'a str>)),
) -> Result<BulkPut<'a>, Failure> {
    if matches!(arguments.format, FormatArgument::Csv) {
        let advice = format!("load CSV of this machine with `keywright data load FILE --table {table}`");
        return Err(Failure::new("a bulk put reads JSON and Ion, and no CSV").advising(advice));
    }
    Ok(BulkPut {
        table,
        bucket,
        prefix,
        format: arguments.format.name(),
        compression: compression(arguments, prefix).name(),
        reports: bulk_put::reports(arguments.reports.as_deref(), bucket, prefix)?,
        max_write_units: arguments.max_write_units,
    })
}

fn compression(arguments: &ImportArguments, prefix: Option<&str>) -> CompressionArgument {
    arguments.compression.unwrap_or_else(|| CompressionArgument::of(prefix.unwrap_or_default()))
}

/// A bucket and a prefix of keys.
fn place<'f>(from: &'f str, table: &str) -> Result<(&'f str, Option<&'f str>), Failure> {
    let Some(rest) = from.strip_prefix("s3://") else {
        let file = inline(from);
        return Err(Failure::new(format!(
            "--from {file} is not in a bucket: an import is done by the server, which reads its object store \
             only (s3://bucket/prefix)"
        ))
        .advising(format!(
            "load a file of this machine with `keywright data load {file} --table {table}`, or serve a folder of \
             buckets with --s3-folder"
        )));
    };
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    if bucket.is_empty() {
        return Err("--from names no bucket: write s3://bucket/prefix".into());
    }
    Ok((bucket, (!prefix.is_empty()).then_some(prefix)))
}

async fn import(
    arguments: &ImportArguments,
    target: &Target,
    (table, (bucket, prefix)): (&str, (&str, Option<&str>)),
) -> Result<(), Failure> {
    confirm(target, &format!("this makes the table {table}"))?;
    let mut client = Client::connect(&target.endpoint, &arguments.credentials).await?;
    let creation = creation(arguments, &mut client, table).await?;
    let mut source = Json::object([("S3Bucket", Json::text(bucket))]);
    if let Some(prefix) = prefix {
        source.set("S3KeyPrefix", Json::text(prefix));
    }
    let mut body = Json::object([
        ("S3BucketSource", source),
        ("InputFormat", Json::text(arguments.format.name())),
        ("InputCompressionType", Json::text(compression(arguments, prefix).name())),
        ("TableCreationParameters", creation),
    ]);
    if arguments.delimiter.is_some() || !arguments.header.is_empty() {
        let mut csv = Json::Object(Vec::new());
        if let Some(delimiter) = &arguments.delimiter {
            csv.set("Delimiter", Json::text(delimiter));
        }
        if !arguments.header.is_empty() {
            csv.set("HeaderList", Json::List(arguments.header.iter().map(Json::text).collect()));
        }
        body.set("InputFormatOptions", Json::object([("Csv", csv)]));
    }
    let begun = client.ask("ImportTable", &body).await.map_err(|refusal| {
        let is_in_use = refusal.kind == IN_USE;
        let failure = Failure::from(refusal);
        if !is_in_use {
            return failure;
        }
        failure.advising(format!(
            "an import makes its table: delete {table} first (`aws dynamodb delete-table --table-name {table}`), \
             also one that a failed import has left, or put the items into it with --existing"
        ))
    })?;
    let arn = begun.get("ImportTableDescription").and_then(|import| import.str_at("ImportArn"));
    let arn = arn.ok_or("ImportTable: the answer has no import")?.to_owned();
    output::note(&format!("Import {} has begun.", inline(&arn)));
    let spinner = Spinner::new();
    let ended = follow(&mut client, Followed::Import, &arn, |import| {
        let items = number(import, "ImportedItemCount");
        spinner.show(&format!("importing {table}: {items} items"));
    })
    .await;
    drop(spinner);
    let ended = ended?;
    let is_empty = number(&ended, "ProcessedItemCount") == 0 && number(&ended, "ProcessedSizeBytes") == 0;
    if is_empty && Followed::Import.status(&ended) == "COMPLETED" {
        output::note(&nothing_read(bucket, prefix));
    }
    finish(&mut client, table, &arn, &ended).await
}

/// The definition of the new table.
async fn creation(arguments: &ImportArguments, client: &mut Client, table: &str) -> Result<Json, Failure> {
    let Some(like) = &arguments.like else {
        let key = arguments.key.iter().map(|key| (key, "HASH"));
        let key: Vec<(&Attribute, &str)> =
            key.chain(arguments.sort.iter().map(|sort| (sort, "RANGE"))).collect();
        let definition = |(key, _): &(&Attribute, &str)| {
            Json::object([("AttributeName", Json::text(&key.name)), ("AttributeType", Json::text(&key.kind))])
        };
        let element = |(key, role): &(&Attribute, &str)| {
            Json::object([("AttributeName", Json::text(&key.name)), ("KeyType", Json::text(*role))])
        };
        return Ok(Json::object([
            ("TableName", Json::text(table)),
            ("AttributeDefinitions", Json::List(key.iter().map(definition).collect())),
            ("KeySchema", Json::List(key.iter().map(element).collect())),
            ("BillingMode", Json::text("PAY_PER_REQUEST")),
        ]));
    };
    let found = table::describe(client, like).await?;
    Ok(like_table(found.get("Table").unwrap_or(&found), table))
}

/// The definition of a table like another one. An import makes no local indexes.
fn like_table(found: &Json, table: &str) -> Json {
    let mode = found.get("BillingModeSummary").and_then(|summary| summary.str_at("BillingMode"));
    let is_provisioned = mode.is_none_or(|mode| mode == "PROVISIONED");
    let units = |of: &Json| {
        let units = of.get("ProvisionedThroughput")?;
        let unit = |name: &str| Some((name.to_owned(), units.get(name)?.clone()));
        Some(Json::Object(vec![unit("ReadCapacityUnits")?, unit("WriteCapacityUnits")?]))
    };
    let member = |of: &Json, name: &str| of.get(name).cloned();
    let mut names: Vec<String> = key_names(found).map(str::to_owned).collect();
    let mut indexes = Vec::new();
    for index in found.get("GlobalSecondaryIndexes").map(Json::elements).unwrap_or_default() {
        names.extend(key_names(index).map(str::to_owned));
        let mut copy = Json::Object(Vec::new());
        for name in ["IndexName", "KeySchema", "Projection"] {
            if let Some(value) = member(index, name) {
                copy.set(name, value);
            }
        }
        if let Some(units) = units(index).filter(|_| is_provisioned) {
            copy.set("ProvisionedThroughput", units);
        }
        indexes.push(copy);
    }
    let definitions = found.get("AttributeDefinitions").map(Json::elements).unwrap_or_default();
    let is_used =
        |one: &&Json| one.str_at("AttributeName").is_some_and(|one| names.iter().any(|name| name == one));
    let mut creation = Json::object([
        ("TableName", Json::text(table)),
        ("AttributeDefinitions", Json::List(definitions.iter().filter(is_used).cloned().collect())),
        ("BillingMode", Json::text(if is_provisioned { "PROVISIONED" } else { "PAY_PER_REQUEST" })),
    ]);
    if let Some(key) = member(found, "KeySchema") {
        creation.set("KeySchema", key);
    }
    if let Some(units) = units(found).filter(|_| is_provisioned) {
        creation.set("ProvisionedThroughput", units);
    }
    if !indexes.is_empty() {
        creation.set("GlobalSecondaryIndexes", Json::List(indexes));
    }
    creation
}

fn key_names(of: &Json) -> impl Iterator<Item = &str> {
    let key = of.get("KeySchema").map(Json::elements).unwrap_or_default();
    key.iter().filter_map(|element| element.str_at("AttributeName"))
}

fn number(import: &Json, name: &str) -> u64 {
    import.get(name).and_then(Json::as_u64).unwrap_or_default()
}

/// Says how an import has ended; one that failed is a failure.
async fn finish(client: &mut Client, table: &str, arn: &str, import: &Json) -> Result<(), Failure> {
    let (processed, imported) = (number(import, "ProcessedItemCount"), number(import, "ImportedItemCount"));
    let errors = number(import, "ErrorCount");
    let (records, faults) = (counted(processed, "record"), counted(errors, "error"));
    let counts = format!("{table}: {records} read, {imported} imported, {faults}");
    if import.str_at("ImportStatus") == Some("COMPLETED") {
        output::note(&counts);
        return Ok(());
    }
    let part = |name: &str| inline(import.str_at(name).unwrap_or_default()).into_owned();
    let reason = format!("{}: {}", part("FailureCode"), part("FailureMessage"));
    if errors == 0 {
        return Err(Failure::new(format!("the import into {table} has failed: {reason}")));
    }
    output::note(&counts);
    let lines = lines(client, arn).await?;
    lines.iter().take(ERRORS_SHOWN).for_each(|line| output::note(&inline(line)));
    Err(Failure::new(format!("some records or objects were not imported into {table}: {faults}")).advising(
        format!("`keywright import errors {arn}` shows the errors; the table has the other records"),
    ))
}

/// The lines of an import's log.
async fn lines(client: &mut Client, arn: &str) -> Result<Vec<String>, Failure> {
    let answer = client.call_again(ERRORS, &request(arn)).await?;
    let lines = answer.get("lines").map(Json::elements).unwrap_or_default();
    Ok(lines.iter().filter_map(Json::as_str).map(str::to_owned).collect())
}

fn print_errors(arguments: &ErrorsArguments) -> Result<(), Failure> {
    let target = named_endpoint(arguments.endpoint.as_ref())?;
    block_on(async {
        let mut client = Client::connect(&target.endpoint, &arguments.credentials).await?;
        let arn = arn_of(&mut client, &arguments.arn).await?;
        if bulk_put::is_named_by(&arn) {
            return bulk_put::print_reports(&mut client, &arn).await;
        }
        let answer = client.call_again(ERRORS, &request(&arn)).await?;
        let lines = answer.get("lines").map(Json::elements).unwrap_or_default();
        lines.iter().filter_map(Json::as_str).for_each(output::say);
        let count = number(&answer, "count");
        let shown = u64::try_from(lines.len()).unwrap_or(u64::MAX);
        if count > shown {
            output::note(&format!("These are the first {shown} of {count} errors."));
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_named_by_bucket_and_start_of_their_keys_and_files_are_refused_with_what_helps() {
        assert_eq!(place("s3://b", "T").ok(), Some(("b", None)));
        assert_eq!(place("s3://b/in/1.gz", "T").ok(), Some(("b", Some("in/1.gz"))));
        assert!(place("s3:///x", "T").is_err());
        let refused = place("items.json", "T").expect_err("a file is in no bucket").to_string();
        assert!(refused.contains("keywright data load items.json --table T"), "{refused}");
        assert_eq!(CompressionArgument::of("in/1.json.gz"), CompressionArgument::Gzip);
        assert_eq!(CompressionArgument::of("in/"), CompressionArgument::None);
    }

    #[test]
    fn a_key_is_a_name_and_a_type() {
        let key = attribute("a:b:N").expect("the last colon counts");
        assert_eq!((key.name.as_str(), key.kind.as_str()), ("a:b", "N"));
        for text in ["pk", "pk:X", ":S", "pk:"] {
            assert!(attribute(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_table_like_another_has_its_keys_indexes_and_units_and_no_other_definitions() {
        let found = r#"{"AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "l", "AttributeType": "S"}, {"AttributeName": "g", "AttributeType": "N"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "ProvisionedThroughput": {"ReadCapacityUnits": 3, "WriteCapacityUnits": 4, "NumberOfDecreasesToday": 0},
            "LocalSecondaryIndexes": [{"IndexName": "local"}],
            "GlobalSecondaryIndexes": [{"IndexName": "byG", "IndexStatus": "ACTIVE",
              "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"},
              "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 2}}]}"#;
        let creation = like_table(&Json::parse(found).expect("JSON"), "New");
        assert_eq!(
            creation.compact(),
            concat!(
                r#"{"TableName":"New","AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},"#,
                r#"{"AttributeName":"g","AttributeType":"N"}],"BillingMode":"PROVISIONED","#,
                r#""KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],"#,
                r#""ProvisionedThroughput":{"ReadCapacityUnits":3,"WriteCapacityUnits":4},"#,
                r#""GlobalSecondaryIndexes":[{"IndexName":"byG","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],"#,
                r#""Projection":{"ProjectionType":"ALL"},"#,
                r#""ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":2}}]}"#
            )
        );
    }
}
