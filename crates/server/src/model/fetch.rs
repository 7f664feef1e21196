//! Reads table descriptions, settings and a sample of items from a live endpoint.

use keywright_model::exchange::live::LiveTable;
use keywright_model::json::Json;

use super::progress::Bar;
use crate::banner;
use crate::endpoint::{Client, Credentials, Endpoint, block_on};

/// Items per request; the service returns at most 1 MB anyway.
const PAGE_ITEMS_MAX: u64 = 500;

/// Maximum number of tables of one import; nobody reads a larger model.
const FETCHED_TABLES_MAX: usize = 1000;

/// Describes and samples the named tables, or all.
pub(super) fn tables(
    endpoint: &Endpoint,
    credentials: &Credentials,
    names: &[String],
    sample: u64,
) -> Result<Vec<LiveTable>, String> {
    block_on(async {
        let mut client = Client::connect(endpoint, credentials).await?;
        let names = if names.is_empty() { list(&mut client).await? } else { names.to_vec() };
        let mut found = Vec::new();
        let bar = Bar::new();
        for name in &names {
            banner::note(&format!("{name}: reading its description and up to {sample} items"));
            found.push(table(&mut client, name, sample, &bar).await?);
        }
        Ok(found)
    })
}

/// The names of all tables.
async fn list(client: &mut Client) -> Result<Vec<String>, String> {
    let mut names: Vec<String> = Vec::new();
    let mut start = None;
    while names.len() < FETCHED_TABLES_MAX {
        let mut request = Json::Object(Vec::new());
        if let Some(start) = start.take() {
            request.set("ExclusiveStartTableName", start);
        }
        let answer = client.ask("ListTables", &request).await?;
        let found = answer.get("TableNames").map_or(&[][..], Json::elements);
        names.extend(found.iter().filter_map(Json::as_str).map(str::to_owned));
        start = answer.get("LastEvaluatedTableName").cloned();
        if start.is_none() {
            return Ok(names);
        }
    }
    Err(format!("{} has more than {FETCHED_TABLES_MAX} tables; name some with --table", client.endpoint))
}

async fn table(client: &mut Client, name: &str, sample: u64, bar: &Bar) -> Result<LiveTable, String> {
    let request = Json::object([("TableName", Json::text(name))]);
    let description = client.ask("DescribeTable", &request).await?;
    let mut unanswered = Vec::new();
    let mut answers = Vec::new();
    for operation in ["DescribeTimeToLive", "DescribeContinuousBackups"] {
        // Not every endpoint supports these settings. Without them they count as off, and a note says so.
        let answer = client.ask(operation, &request).await;
        answers.push(answer.map_err(|refusal| unanswered.push(refusal.text)).ok());
    }
    let mut answers = answers.into_iter();
    let (time_to_live, backups) = (answers.next().flatten(), answers.next().flatten());
    let mut other_settings = Vec::new();
    let arn = description.at(&["Table", "TableArn"]).cloned().unwrap_or(Json::Null);
    let by_arn = Json::object([("ResourceArn", arn)]);
    for (operation, request) in [
        ("ListTagsOfResource", &by_arn),
        ("GetResourcePolicy", &by_arn),
        ("DescribeKinesisStreamingDestination", &request),
        ("DescribeContributorInsights", &request),
    ] {
        match client.ask(operation, request).await {
            Ok(answer) => other_settings.push((operation.to_owned(), answer)),
            // Unsupported or absent settings count as absent. A setting that access control hides may
            // exist, so it is reported.
            Err(refusal) if refusal.kind == "AccessDeniedException" => unanswered.push(refusal.text),
            Err(_) => {}
        }
    }
    let items = sample_of(client, name, sample, bar).await?;
    Ok(LiveTable { description, time_to_live, backups, other_settings, unanswered, items })
}

/// The first items of a Scan.
async fn sample_of(client: &mut Client, name: &str, sample: u64, bar: &Bar) -> Result<Vec<Json>, String> {
    let mut items = Vec::new();
    let mut left = sample;
    let mut start = None;
    while left > 0 {
        let mut request = Json::object([
            ("TableName", Json::text(name)),
            ("Limit", Json::number(left.min(PAGE_ITEMS_MAX))),
        ]);
        if let Some(start) = start.take() {
            request.set("ExclusiveStartKey", start);
        }
        let answer = client.ask("Scan", &request).await?;
        let found = answer.get("Items").map_or(&[][..], Json::elements);
        left = left.saturating_sub(u64::try_from(found.len()).unwrap_or(u64::MAX));
        items.extend(found.iter().cloned());
        bar.at(&format!("sampling {name}"), sample - left, sample);
        start = answer.get("LastEvaluatedKey").cloned();
        if start.is_none() {
            break;
        }
    }
    Ok(items)
}
