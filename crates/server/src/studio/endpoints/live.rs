//! Tables of the database with a sample of their items, as input for models.

use keywright_model::exchange::live::LiveTable;
use keywright_model::json::Json;

use crate::studio::members;
use crate::studio::refusal::Refusal;
use crate::studio::tables::Tables;

/// Items of one request.
const PAGE_ITEMS_MAX: u64 = 500;
/// Tables of one import; nobody reads a larger model.
const IMPORTED_TABLES_MAX: usize = 100;
const SAMPLE_DEFAULT: u64 = 500;
const SAMPLE_MAX: u64 = 10_000;

/// The tables that `{"tables": […]|null, "sample": n}` asks for; all if it names none.
pub(super) fn asked(tables: &Tables, request: &Json) -> Result<Vec<LiveTable>, Refusal> {
    let names = members::texts(request, "tables")?;
    let sample = members::number(request, "sample", SAMPLE_DEFAULT, 0..=SAMPLE_MAX)?;
    let names = if names.is_empty() { all(tables)? } else { names };
    if names.is_empty() {
        return Err(Refusal::fault("there are no tables here"));
    }
    if names.len() > IMPORTED_TABLES_MAX {
        return Err(Refusal::fault(format!("a model has at most {IMPORTED_TABLES_MAX} tables: choose some")));
    }
    names.iter().map(|name| table(tables, name, sample)).collect()
}

fn all(tables: &Tables) -> Result<Vec<String>, Refusal> {
    let request = Json::object([("Limit", Json::number(IMPORTED_TABLES_MAX))]);
    let answer = tables.ask("ListTables", &request)??;
    if answer.get("LastEvaluatedTableName").is_some() {
        return Err(Refusal::fault(format!("there are more than {IMPORTED_TABLES_MAX} tables: choose some")));
    }
    let names = answer.get("TableNames").map_or(&[][..], Json::elements);
    Ok(names.iter().filter_map(Json::as_str).map(str::to_owned).collect())
}

/// A table with a sample of its items.
pub(super) fn table(tables: &Tables, name: &str, sample: u64) -> Result<LiveTable, Refusal> {
    let request = Json::object([("TableName", Json::text(name))]);
    let description = tables.ask("DescribeTable", &request)??;
    let time_to_live = tables.ask("DescribeTimeToLive", &request)?.ok();
    let arn = description.at(&["Table", "TableArn"]).cloned().unwrap_or(Json::Null);
    let tags = tables.ask("ListTagsOfResource", &Json::object([("ResourceArn", arn)]))?;
    let other_settings = tags.ok().map(|tags| ("ListTagsOfResource".to_owned(), tags)).into_iter().collect();
    let items = items(tables, name, sample)?;
    Ok(LiveTable { description, time_to_live, backups: None, other_settings, unanswered: Vec::new(), items })
}

/// The first items of a Scan.
fn items(tables: &Tables, name: &str, sample: u64) -> Result<Vec<Json>, Refusal> {
    let mut items = Vec::new();
    let mut left = sample;
    let mut start = None;
    while left > 0 {
        let limit = Json::number(left.min(PAGE_ITEMS_MAX));
        let mut request = Json::object([("TableName", Json::text(name)), ("Limit", limit)]);
        if let Some(start) = start.take() {
            request.set("ExclusiveStartKey", start);
        }
        let answer = tables.ask("Scan", &request)??;
        let found = answer.get("Items").map_or(&[][..], Json::elements);
        left = left.saturating_sub(u64::try_from(found.len()).unwrap_or(u64::MAX));
        items.extend(found.iter().cloned());
        start = answer.get("LastEvaluatedKey").cloned();
        if start.is_none() {
            break;
        }
    }
    Ok(items)
}
