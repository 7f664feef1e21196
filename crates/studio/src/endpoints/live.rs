//! Tables of the database with a sample of their items, as input for models.

use std::collections::BTreeSet;

use keywright_exchange::live::LiveTable;
use keywright_model::json::Json;

use crate::limits::SAMPLE_BYTES_MAX;
use crate::members;
use crate::refusal::{Kind, Refusal};
use crate::tables::Tables;

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
    if let Some(name) = repeated(&names) {
        return Err(Refusal::fault(format!("table {name} is named twice")));
    }
    let mut room = Room(usize::try_from(SAMPLE_BYTES_MAX).unwrap_or(usize::MAX));
    names.iter().map(|name| sampled(tables, name, sample, &mut room)).collect()
}

fn repeated(names: &[String]) -> Option<&String> {
    let mut seen = BTreeSet::new();
    names.iter().find(|name| !seen.insert(name.as_str()))
}

/// Bytes that are left for the items of all tables.
struct Room(usize);

impl Room {
    fn take(&mut self, items: &[Json]) -> Result<(), Refusal> {
        let bytes = items.iter().map(bytes).sum();
        self.0 = self.0.checked_sub(bytes).ok_or_else(|| {
            let text = format!(
                "the items of these tables have more than {} MiB: choose fewer tables, or a smaller `sample`",
                SAMPLE_BYTES_MAX >> 20
            );
            Refusal::new(Kind::TooLarge, text)
        })?;
        Ok(())
    }
}

/// The texts of a value; a value itself counts as its brackets and commas.
fn bytes(json: &Json) -> usize {
    match json {
        Json::Null | Json::Bool(_) => 4,
        Json::Number(text) | Json::Text(text) => text.len() + 2,
        Json::List(elements) => 2 + elements.iter().map(bytes).sum::<usize>(),
        Json::Object(members) => {
            2 + members.iter().map(|(name, value)| name.len() + 4 + bytes(value)).sum::<usize>()
        }
    }
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

/// A table without items.
pub(super) fn table(tables: &Tables, name: &str) -> Result<LiveTable, Refusal> {
    sampled(tables, name, 0, &mut Room(0))
}

/// A table with a sample of its items.
fn sampled(tables: &Tables, name: &str, sample: u64, room: &mut Room) -> Result<LiveTable, Refusal> {
    let request = Json::object([("TableName", Json::text(name))]);
    let description = tables.ask("DescribeTable", &request)??;
    let time_to_live = tables.ask("DescribeTimeToLive", &request)?.ok();
    let arn = description.at(&["Table", "TableArn"]).cloned().unwrap_or(Json::Null);
    let tags = tables.ask("ListTagsOfResource", &Json::object([("ResourceArn", arn)]))?;
    let other_settings = tags.ok().map(|tags| ("ListTagsOfResource".to_owned(), tags)).into_iter().collect();
    let items = items(tables, name, sample, room)?;
    Ok(LiveTable { description, time_to_live, backups: None, other_settings, unanswered: Vec::new(), items })
}

/// The first items of a Scan.
fn items(tables: &Tables, name: &str, sample: u64, room: &mut Room) -> Result<Vec<Json>, Refusal> {
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
        room.take(found)?;
        items.extend(found.iter().cloned());
        start = answer.get("LastEvaluatedKey").cloned();
        if start.is_none() {
            break;
        }
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampled_bytes_of_all_tables_are_bounded_and_names_are_given_once() {
        let item = Json::object([("pk", Json::object([("S", Json::text("x".repeat(100)))]))]);
        let mut room = Room(250);
        assert_eq!(room.take(std::slice::from_ref(&item)), Ok(()));
        assert_eq!(room.take(std::slice::from_ref(&item)), Ok(()));
        assert_eq!(room.take(&[item]).map_err(|refused| refused.kind), Err(Kind::TooLarge));
        let names = ["a", "b", "a"].map(str::to_owned);
        assert_eq!(repeated(&names), Some(&names[2]));
        assert_eq!(repeated(&names[..2]), None);
    }
}
