//! Reads table descriptions, settings and a sample of items from a live endpoint.

use keywright_exchange::live::LiveTable;
use keywright_model::json::Json;

use crate::client::endpoint::{Client, Credentials, Endpoint, Refusal, block_on};
use crate::client::paging::Pages;
use crate::client::progress::Bar;
use crate::data::table::explained;
use crate::process::failure::Failure;
use crate::process::foreign::inline;
use crate::process::output;

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
) -> Result<Vec<LiveTable>, Failure> {
    block_on(async {
        let mut client = Client::connect(endpoint, credentials).await?;
        let listed = if names.is_empty() { list(&mut client).await? } else { names.to_vec() };
        let mut found = Vec::new();
        let mut refused = None;
        let bar = Bar::new();
        for name in &listed {
            output::note(&format!("{}: reading its description and up to {sample} items", inline(name)));
            match table(&mut client, name, sample, &bar).await {
                Ok(table) => found.push(table),
                // A listed table can be hidden by access control, or be deleted in the meantime.
                Err(refusal) if names.is_empty() && !refusal.kind.is_empty() => {
                    let name = inline(name);
                    output::note(&format!("{name}: left out, since DescribeTable failed: {}", refusal.text));
                    refused = Some(refusal.text);
                }
                Err(refusal) => return Err(explained(&mut client, name, refusal).await.into()),
            }
        }
        match refused.filter(|_| found.is_empty()) {
            Some(refusal) => Err(Failure::new(refusal)),
            None => Ok(found),
        }
    })
}

/// The names of all tables.
async fn list(client: &mut Client) -> Result<Vec<String>, Failure> {
    let mut names: Vec<String> = Vec::new();
    let mut start = None;
    let mut pages = Pages::new("ListTables", None);
    while names.len() < FETCHED_TABLES_MAX {
        let mut request = Json::Object(Vec::new());
        if let Some(start) = start.take() {
            request.set("ExclusiveStartTableName", start);
        }
        let answer = client.ask("ListTables", &request).await?;
        let found = answer.get("TableNames").map_or(&[][..], Json::elements);
        names.extend(found.iter().filter_map(Json::as_str).map(str::to_owned));
        start = answer.get("LastEvaluatedTableName").cloned();
        pages.note(found.len(), start.as_ref())?;
        if start.is_none() {
            return Ok(names);
        }
    }
    Err(Failure::new(format!(
        "{} has more than {FETCHED_TABLES_MAX} tables; name some with --table",
        client.endpoint
    )))
}

/// A table with its settings and a sample of its items. An endpoint that refuses Scan gives no sample.
async fn table(client: &mut Client, name: &str, sample: u64, bar: &Bar) -> Result<LiveTable, Refusal> {
    let request = Json::object([("TableName", Json::text(name))]);
    let description = client.ask("DescribeTable", &request).await?;
    let mut unanswered = Vec::new();
    let mut answers = Vec::new();
    for operation in ["DescribeTimeToLive", "DescribeContinuousBackups"] {
        // Not every endpoint supports these settings. Without them they count as off, and a note says so.
        let answer = client.ask(operation, &request).await;
        answers.push(answer.map_err(|refusal| unanswered.push(taken_as_off(&refusal))).ok());
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
            Err(refusal) if refusal.kind == "AccessDeniedException" => {
                unanswered.push(taken_as_off(&refusal));
            }
            Err(_) => {}
        }
    }
    let (items, refused) = sample_of(client, name, sample, bar).await?;
    unanswered.extend(
        refused.map(|refusal| format!("sampling stopped after {} items: {}", items.len(), refusal.text)),
    );
    Ok(LiveTable { description, time_to_live, backups, other_settings, unanswered, items })
}

fn taken_as_off(refusal: &Refusal) -> String {
    format!("{}; taken as off", refusal.text)
}

/// The first items of a Scan, and why there are no more if a page was refused.
async fn sample_of(
    client: &mut Client,
    name: &str,
    sample: u64,
    bar: &Bar,
) -> Result<(Vec<Json>, Option<Refusal>), Refusal> {
    let mut items = Vec::new();
    let mut left = sample;
    let mut start = None;
    let mut pages = Pages::new("Scan", None);
    while left > 0 {
        let mut request = Json::object([
            ("TableName", Json::text(name)),
            ("Limit", Json::number(left.min(PAGE_ITEMS_MAX))),
        ]);
        if let Some(start) = start.take() {
            request.set("ExclusiveStartKey", start);
        }
        let answer = match client.ask("Scan", &request).await {
            Ok(answer) => answer,
            Err(refusal) if !refusal.kind.is_empty() => return Ok((items, Some(refusal))),
            Err(broken) => return Err(broken),
        };
        let found = answer.get("Items").map_or(&[][..], Json::elements);
        left = left.saturating_sub(u64::try_from(found.len()).unwrap_or(u64::MAX));
        items.extend(found.iter().cloned());
        bar.at(&format!("sampling {name}"), sample - left, sample);
        start = answer.get("LastEvaluatedKey").cloned();
        pages.note(found.len(), start.as_ref())?;
        if start.is_none() {
            break;
        }
    }
    Ok((items, None))
}
