//! The table that a command fills: one that it creates, or the one that it has filled so far.
//!
//! Which other tables it takes, if any, the command decides.

use keywright_exchange::create_table::write_request;
use keywright_model::json::Json;
use keywright_model::tables::TableDefinition;

use super::side::{Side, identity};
use crate::client::endpoint::Client;
use crate::data::table::{NOT_FOUND, wait_until_active};
use crate::process::failure::Failure;
use crate::process::foreign::inline;

/// What the state file says of the target table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Begun {
    /// Nothing was done yet.
    Nothing,
    /// It was about to be created.
    Creating,
    /// It is there, and this is what tells it from another one.
    Created(String),
}

impl Begun {
    pub(crate) fn read(record: Option<&Json>) -> Self {
        match record.and_then(|record| record.str_at("table")) {
            None => Self::Nothing,
            Some("") => Self::Creating,
            Some(identity) => Self::Created(identity.to_owned()),
        }
    }

    pub(crate) fn json(&self) -> Json {
        match self {
            Self::Nothing => Json::Null,
            Self::Creating => Json::text(""),
            Self::Created(identity) => Json::text(identity),
        }
    }
}

/// Refuses a table that stands where one is to be created, or in the place of the one that was filled so far.
/// The flag names the target.
///
/// # Errors
///
/// If the table of the name is another one.
pub(crate) async fn check(
    client: &mut Client,
    target: &Side,
    begun: &Begun,
    flag: &str,
) -> Result<(), Failure> {
    let found = description(client, &target.table).await?;
    let name = &target.table;
    match (begun, found) {
        (Begun::Nothing, Some(_)) => Err(Failure::new(format!(
            "{} has a table {name} already, which this command did not create: delete it, or choose another \
             name with {flag}",
            target.endpoint
        ))),
        (Begun::Creating, Some(found)) if has_items(client, name).await? => Err(Failure::new(format!(
            "the table {name} at {} ({}) holds items that this command did not write: delete it, or choose \
             another name with {flag}",
            target.endpoint,
            identity(&found).unwrap_or_default()
        ))),
        (Begun::Created(own), found) => lost(target, own, found.as_ref(), flag).map_or(Ok(()), Err),
        (Begun::Nothing | Begun::Creating, None) | (Begun::Creating, Some(_)) => Ok(()),
    }
}

/// What to do if the table that was filled so far is gone, or another one stands in its place.
pub(crate) fn lost(target: &Side, own: &str, found: Option<&Json>, flag: &str) -> Option<Failure> {
    let place = target.place();
    match found.filter(|found| !is_deleted(found)) {
        None => Some(Failure::new(format!(
            "the table {place}, which was filled so far, is gone: remove the state file to begin again"
        ))),
        Some(found) if identity(found).as_deref() != Some(own) => Some(Failure::new(format!(
            "the table {place} is not the one that was filled so far: remove the state file, and begin again under \
             another name with {flag}"
        ))),
        Some(_) => None,
    }
}

/// Whether a described table is about to go.
pub(crate) fn is_deleted(description: &Json) -> bool {
    description.at(&["Table", "TableStatus"]).and_then(Json::as_str) == Some("DELETING")
}

/// Creates the table unless an earlier run did, and waits until it is active. Returns its identity.
pub(crate) async fn create(
    client: &mut Client,
    target: &Side,
    definition: &TableDefinition,
) -> Result<String, Failure> {
    if description(client, &target.table).await?.is_none() {
        let mut bare = definition.clone();
        bare.name.clone_from(&target.table);
        (bare.stream, bare.deletion_protection) = (None, false);
        client
            .ask("CreateTable", &write_request(&bare))
            .await
            .map_err(|refusal| Failure::new(format!("cannot create {}: {}", target.table, refusal.text)))?;
    }
    wait_until_active(client, &target.table).await?;
    let found = target.describe(client).await?;
    identity(&found).ok_or_else(|| Failure::new("DescribeTable: the endpoint describes no table"))
}

/// Turns on what would hinder or flood a migration: time to live, the stream, protection from deletion.
pub(crate) async fn finish(
    client: &mut Client,
    target: &Side,
    definition: &TableDefinition,
) -> Result<(), Failure> {
    let table = ("TableName", Json::text(&target.table));
    let there = target.describe(client).await?;
    let mut calls = Vec::new();
    if let Some(attribute) = definition.ttl.as_ref() {
        let answer = client.ask_again("DescribeTimeToLive", &Json::object([table.clone()])).await?;
        let status = answer.at(&["TimeToLiveDescription", "TimeToLiveStatus"]).and_then(Json::as_str);
        if !matches!(status, Some("ENABLED" | "ENABLING")) {
            let ttl = Json::object([("Enabled", Json::Bool(true)), ("AttributeName", Json::text(attribute))]);
            calls.push(("UpdateTimeToLive", ("TimeToLiveSpecification", ttl)));
        }
    }
    let is_on = |path: &[&str]| there.at(path).and_then(Json::as_bool) == Some(true);
    if let Some(view) =
        definition.stream.filter(|_| !is_on(&["Table", "StreamSpecification", "StreamEnabled"]))
    {
        let stream =
            Json::object([("StreamEnabled", Json::Bool(true)), ("StreamViewType", Json::text(view.name()))]);
        calls.push(("UpdateTable", ("StreamSpecification", stream)));
    }
    if definition.deletion_protection && !is_on(&["Table", "DeletionProtectionEnabled"]) {
        calls.push(("UpdateTable", ("DeletionProtectionEnabled", Json::Bool(true))));
    }
    for (operation, member) in calls {
        client.ask(operation, &Json::object([table.clone(), member])).await?;
        wait_until_active(client, &target.table).await?;
    }
    Ok(())
}

/// The description of a table; `None` if there is none.
pub(crate) async fn description(client: &mut Client, name: &str) -> Result<Option<Json>, Failure> {
    match client.ask_again("DescribeTable", &Json::object([("TableName", Json::text(name))])).await {
        Ok(description) => Ok(Some(description)),
        Err(refusal) if refusal.kind == NOT_FOUND => Ok(None),
        Err(refusal) => Err(refusal.into()),
    }
}

/// Whether a table has an item.
pub(crate) async fn has_items(client: &mut Client, name: &str) -> Result<bool, Failure> {
    wait_until_active(client, name).await?;
    let request = Json::object([
        ("TableName", Json::text(name)),
        ("Limit", Json::number(1)),
        ("ConsistentRead", Json::Bool(true)),
    ]);
    let answer = client.ask_again("Scan", &request).await?;
    Ok(!answer.get("Items").map_or(&[][..], Json::elements).is_empty())
}

/// What a migration will create, in words.
pub(crate) fn shown(definition: &TableDefinition) -> String {
    let key: Vec<String> = definition
        .schema
        .key
        .attributes()
        .map(|key| {
            format!(
                "{} ({})",
                inline(&key.name),
                keywright_exchange::create_table::key_type_name(key.key_type)
            )
        })
        .collect();
    let indexes: Vec<String> =
        definition.schema.indexes.iter().map(|index| inline(&index.name).into_owned()).collect();
    let indexes = match indexes.as_slice() {
        [] => "no index".to_owned(),
        [one] => format!("the index {one}"),
        several => format!("the indexes {}", several.join(", ")),
    };
    let capacity = match &definition.billing {
        keywright_model::tables::Capacity::OnDemand => "on demand".to_owned(),
        keywright_model::tables::Capacity::Provisioned(own) => {
            format!("{} read and {} write units", own.table.read, own.table.write)
        }
    };
    format!("key {}, {indexes}, {capacity}", key.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::endpoint::Credentials;

    #[test]
    fn a_table_that_is_gone_or_another_one_is_lost() {
        let credentials = Credentials::new((String::new(), String::new()), None, None);
        let endpoint = "http://localhost:8000".parse().unwrap();
        let target = Side { endpoint, credentials, table: "T".to_owned() };
        let lost = |found: Option<&str>| {
            let found = found.map(|table| Json::parse(&format!(r#"{{"Table":{{{table}}}}}"#)).unwrap());
            lost(&target, "a", found.as_ref(), "--to").map(|failure| failure.to_string())
        };
        assert_eq!(lost(Some(r#""TableId":"a","TableStatus":"ACTIVE""#)), None);
        for gone in [None, Some(r#""TableId":"a","TableStatus":"DELETING""#)] {
            let said = lost(gone).unwrap();
            assert!(said.contains("T at http://localhost:8000") && said.contains("is gone"), "{said}");
        }
        assert!(lost(Some(r#""TableId":"b","TableStatus":"ACTIVE""#)).unwrap().contains("is not the one"));
    }
}
