//! Makes a model from a live table: its description and a sample of its items, which the caller fetches.

use std::collections::BTreeMap;

use keywright_semantics::value::{Item, ValueType};

use super::create_table::{read_document, read_units, unheld, written};
use super::draft::{Draft, DraftTable, Measured};
use super::fault::Faults;
use super::infer::{Attribute, Entity, classify, identifier, infer, key_value_type, relate};
use super::repair::{distinct_names, made_readable};
use super::to_model::{Made, to_model};
use keywright_model::Template;
use keywright_model::data::key_text;
use keywright_model::item_json::read_item;
use keywright_model::json::Json;
use keywright_model::overlap::meeting;
use keywright_model::tables::TableDefinition;

/// The data fetched from one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveTable {
    /// The answer of DescribeTable.
    pub description: Json,
    /// The answer of DescribeTimeToLive, if there was one.
    pub time_to_live: Option<Json>,
    /// The answer of DescribeContinuousBackups, if there was one.
    pub backups: Option<Json>,
    /// Answers about settings that a model does not hold, by operation.
    pub other_settings: Vec<(String, Json)>,
    /// Requests that were refused, as notes.
    pub unanswered: Vec<String>,
    /// Items in DynamoDB JSON.
    pub items: Vec<Json>,
}

/// Makes a model of the tables; entities are inferred from the items. What cannot be inferred is left out or
/// kept as raw keys, with a note. Fails only if no answer describes a table.
pub fn import(name: &str, tables: &[LiveTable]) -> Result<Made, Faults> {
    let (mut draft, faults) = draft(name, tables);
    if draft.tables.is_empty() {
        return Err(faults);
    }
    let mut found: Vec<String> = tables.iter().flat_map(notes).collect();
    found.extend(faults.iter().map(|fault| format!("a table is left out: {fault}")));
    distinct_names(&mut draft, &mut found);
    let Made { model, notes } = to_model(&draft);
    found.extend(notes);
    let model = made_readable(model, &mut found)?;
    Ok(Made { model, notes: found })
}

/// A draft of the tables, and the faults of descriptions that cannot be read.
pub fn draft(name: &str, tables: &[LiveTable]) -> (Draft, Faults) {
    let mut found = Vec::new();
    let mut faults = Vec::new();
    for live in tables {
        match read_document(&live.description) {
            Ok(tables) => {
                found.extend(tables.into_iter().map(|table| table_draft(&with_settings(table, live), live)));
            }
            Err(mut more) => faults.append(&mut more),
        }
    }
    relate(&mut found);
    (Draft { name: name.to_owned(), description: String::new(), tables: found }, faults)
}

/// Notes on settings that a model does not hold, and on requests that were refused.
fn notes(live: &LiveTable) -> Vec<String> {
    let mut found = Vec::new();
    for (_, table) in written(&live.description) {
        let name = table.str_at("TableName").unwrap_or_default();
        let unheld = unheld(table).into_iter();
        let asked =
            live.other_settings.iter().filter_map(|(operation, answer)| unheld_setting(operation, answer));
        let unheld: Vec<String> = unheld.chain(asked.map(str::to_owned)).collect();
        if !unheld.is_empty() {
            found.push(format!("{name}: a model does not hold {}; left out", unheld.join(", ")));
        }
        let provisioned = table.get("ProvisionedThroughput").and_then(read_units).is_some();
        if provisioned {
            found.push(format!(
                "{name}: auto scaling is configured in another service, which the import does not read; write `autoscale` where it scales"
            ));
        }
        found.extend(live.unanswered.iter().map(|text| format!("{name}: {text}")));
    }
    found
}

/// The setting that an answer shows to be present.
fn unheld_setting(operation: &str, answer: &Json) -> Option<&'static str> {
    let any = |name: &str| answer.get(name).is_some_and(|list| !list.elements().is_empty());
    match operation {
        "ListTagsOfResource" => any("Tags").then_some("tags"),
        "GetResourcePolicy" => answer.str_at("Policy").map(|_| "the resource policy"),
        "DescribeKinesisStreamingDestination" => {
            any("KinesisDataStreamDestinations").then_some("the Kinesis stream")
        }
        "DescribeContributorInsights" => {
            (answer.str_at("ContributorInsightsStatus") == Some("ENABLED")).then_some("contributor insights")
        }
        _ => None,
    }
}

/// The definitions of the tables in a description, with their settings.
pub(super) fn definitions(live: &LiveTable) -> Result<Vec<TableDefinition>, Faults> {
    Ok(read_document(&live.description)?.into_iter().map(|table| with_settings(table, live)).collect())
}

/// The definition with the settings that have operations of their own.
fn with_settings(mut definition: TableDefinition, live: &LiveTable) -> TableDefinition {
    let ttl = live.time_to_live.as_ref().and_then(|answer| answer.get("TimeToLiveDescription"));
    definition.ttl = ttl
        .filter(|ttl| matches!(ttl.str_at("TimeToLiveStatus"), Some("ENABLED" | "ENABLING")))
        .and_then(|ttl| ttl.str_at("AttributeName"))
        .map(str::to_owned);
    let recovery =
        ["ContinuousBackupsDescription", "PointInTimeRecoveryDescription", "PointInTimeRecoveryStatus"];
    definition.point_in_time_recovery =
        live.backups.as_ref().and_then(|answer| answer.at(&recovery)).and_then(Json::as_str)
            == Some("ENABLED");
    definition
}

fn table_draft(definition: &TableDefinition, live: &LiveTable) -> DraftTable {
    let items: Vec<Item> = live.items.iter().filter_map(read_item).map(|read| read.item).collect();
    let table = written(&live.description)
        .into_iter()
        .find(|(_, table)| table.str_at("TableName") == Some(definition.name.as_str()));
    match table {
        Some((_, table)) => described(definition, table, &items),
        None => of_items(definition, &items),
    }
}

/// A table with the entities inferred from its items and the counts of its description.
pub fn described(definition: &TableDefinition, description: &Json, items: &[Item]) -> DraftTable {
    let number = |name: &str| description.get(name).and_then(Json::as_u64);
    let measured =
        number("ItemCount").map(|items| Measured { items, bytes: number("TableSizeBytes").unwrap_or(0) });
    DraftTable { measured, ..of_items(definition, items) }
}

/// A table with the entities inferred from its items. Entities whose keys can collide are joined.
pub fn of_items(definition: &TableDefinition, items: &[Item]) -> DraftTable {
    let borrowed: Vec<&Item> = items.iter().collect();
    let mut groups = classify(definition, &borrowed);
    let mut doubts = Vec::new();
    loop {
        let entities = infer(definition, &borrowed, &groups, &BTreeMap::new(), &[]);
        let draft = with_entities(definition.clone(), entities, items.to_vec());
        // Each round joins two groups, so the loop ends.
        let Some((one, other)) = meeting_entities(&draft).filter(|_| groups.len() > 1) else {
            return with_doubts(draft, doubts);
        };
        assert_eq!(draft.entities.len(), groups.len(), "each group is an entity");
        assert!(one < other, "the first of two groups stays where it is");
        let joined = groups.remove(other);
        if let Some(group) = groups.get_mut(one) {
            doubts.push((group.name.clone(), joined.name));
            group.members.extend(joined.members);
            group.members.sort_unstable();
        }
        if let [only] = groups.as_mut_slice() {
            only.name = identifier(&definition.name);
        }
    }
}

/// The first two entities that can have the same key.
fn meeting_entities(draft: &DraftTable) -> Option<(usize, usize)> {
    let alone = Draft { name: String::new(), description: String::new(), tables: vec![draft.clone()] };
    let model = to_model(&alone).model;
    let stored = |entity: &keywright_model::Entity, key: &str| {
        let own = draft.entities.iter().find(|own| own.name == entity.name);
        let members = own.map(|own| own.members.as_slice()).unwrap_or_default();
        members.iter().filter_map(|at| key_text(draft.items.get(*at)?.get(key)?)).collect()
    };
    meeting(&model, &stored).into_iter().next()
}

fn with_entities(definition: TableDefinition, mut entities: Vec<Entity>, items: Vec<Item>) -> DraftTable {
    if entities.is_empty() {
        entities.push(unknown_entity(&definition));
    }
    let mut declared: Vec<(String, ValueType)> = Vec::new();
    for attribute in entities.iter().flat_map(|entity| &entity.attributes).filter(|known| known.stored) {
        if !declared.iter().any(|(name, _)| *name == attribute.name) {
            declared.push((attribute.name.clone(), attribute.value_type));
        }
    }
    let mut members = entities.iter().flat_map(|entity| &entity.members);
    assert!(members.all(|at| *at < items.len()), "an entity's members are items");
    DraftTable { definition, declared, entities, items, measured: None }
}

/// Notes which entities were joined. The note belongs to the
/// first entity, because the joined one can have another name.
fn with_doubts(mut draft: DraftTable, joined: Vec<(String, String)>) -> DraftTable {
    if let Some(first) = draft.entities.first_mut().filter(|_| !joined.is_empty()) {
        first.guessed = true;
        let text = |(one, other): (String, String)| {
            format!(
                "{one} and {other}: their keys do not distinguish them; the model has one entity for both"
            )
        };
        first.doubts.extend(joined.into_iter().map(text));
    }
    draft
}

/// An entity for a table without known items: the key attributes
/// as they are, with attributes that give their types.
pub(super) fn unknown_entity(definition: &TableDefinition) -> Entity {
    let keys = definition.key_attributes();
    let attributes = keys.iter().map(|key| Attribute {
        name: key.name.clone(),
        value_type: key_value_type(key.key_type),
        stored: true,
    });
    Entity {
        name: identifier(&definition.name),
        members: Vec::new(),
        templates: keys.iter().map(|key| (key.name.clone(), Template::of_attribute(&key.name))).collect(),
        attributes: attributes.collect(),
        guessed: false,
        doubts: Vec::new(),
        parents: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_of_a_live_table_are_inferred_from_key_prefixes() {
        let description = Json::parse(
            r#"{"Table":{"TableName":"T","AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"}],"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],"BillingModeSummary":{"BillingMode":"PAY_PER_REQUEST"},"ProvisionedThroughput":{"ReadCapacityUnits":0,"WriteCapacityUnits":0}}}"#,
        )
        .expect("JSON");
        let item = |pk: &str, sk: &str| {
            Json::parse(&format!(r#"{{"pk":{{"S":"{pk}"}},"sk":{{"S":"{sk}"}}}}"#)).expect("JSON")
        };
        let items = vec![
            item("USER#u1", "PROFILE"),
            item("USER#u2", "PROFILE"),
            item("USER#u1", "ORDER#17"),
            item("USER#u2", "ORDER#18"),
            item("USER#u2", "ORDER#19"),
        ];
        let ttl =
            Json::parse(r#"{"TimeToLiveDescription":{"TimeToLiveStatus":"ENABLED","AttributeName":"exp"}}"#);
        let live = LiveTable {
            description,
            time_to_live: ttl.ok(),
            backups: None,
            other_settings: Vec::new(),
            unanswered: Vec::new(),
            items,
        };
        let draft = draft("shop", &[live]).0;
        let table = &draft.tables[0];
        assert_eq!(table.definition.ttl.as_deref(), Some("exp"));
        let found: Vec<(&str, usize, String, String)> = table
            .entities
            .iter()
            .map(|entity| {
                let templates = &entity.templates;
                (
                    entity.name.as_str(),
                    entity.members.len(),
                    templates["pk"].to_string(),
                    templates["sk"].to_string(),
                )
            })
            .collect();
        assert_eq!(
            found,
            [("USER", 2, "USER#{userId}", "PROFILE"), ("ORDER", 3, "USER#{userId}", "ORDER#{orderId}")]
                .map(|(name, items, pk, sk)| (name, items, pk.to_owned(), sk.to_owned()))
        );
    }

    #[test]
    fn a_sparse_index_is_keyed_by_an_attribute_that_only_its_items_have() {
        let description = Json::parse(
            r#"{"Table":{"TableName":"T","AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"},{"AttributeName":"GSI1PK","AttributeType":"S"}],"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],"GlobalSecondaryIndexes":[{"IndexName":"GSI1","KeySchema":[{"AttributeName":"GSI1PK","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}}],"BillingMode":"PAY_PER_REQUEST"}}"#,
        )
        .expect("JSON");
        for word in ["OPEN", "STATUS#OPEN"] {
            let item = |at: u32| {
                let slot = if at.is_multiple_of(3) {
                    format!(r#","GSI1PK":{{"S":"{word}"}}"#)
                } else {
                    String::new()
                };
                let text = format!(r#"{{"pk":{{"S":"USER#{at}"}},"sk":{{"S":"TASK#t{at}"}}{slot}}}"#);
                Json::parse(&text).expect("JSON")
            };
            let live = LiveTable {
                description: description.clone(),
                time_to_live: None,
                backups: None,
                other_settings: Vec::new(),
                unanswered: Vec::new(),
                items: (10..19).map(item).collect(),
            };
            let made = crate::to_model::to_model(&draft("m", &[live]).0);
            let entity = &made.model.entities[0];
            let template = entity.template("GSI1PK").map(|template| template.to_string());
            assert_eq!(template.as_deref(), Some("{GSI1PK}"), "{word}");
            let shares: Vec<(&str, Option<u64>)> = entity
                .attributes
                .iter()
                .filter(|attribute| attribute.name.starts_with("GSI1PK"))
                .map(|attribute| (attribute.name.as_str(), attribute.present_ppm))
                .collect();
            assert_eq!(shares, [("GSI1PK", Some(333_333))], "{word}");
        }
    }

    #[test]
    fn of_attributes_with_equal_values_the_name_decides_and_the_others_are_noted() {
        let description = Json::parse(
            r#"{"TableName":"T","AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"}],"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],"BillingMode":"PAY_PER_REQUEST","ItemCount":30,"TableSizeBytes":3000}"#,
        )
        .expect("JSON");
        // The published examples use 12345 for every number.
        let item = Json::parse(
            r#"{"pk":{"S":"c#12345"},"sk":{"S":"o#12345"},"customerId":{"S":"12345"},"orderId":{"S":"12345"},"no":{"S":"12345"}}"#,
        )
        .expect("JSON");
        let live = LiveTable {
            description,
            time_to_live: None,
            backups: None,
            other_settings: Vec::new(),
            unanswered: vec!["DescribeTimeToLive: UnknownOperationException: no".to_owned()],
            items: vec![item],
        };
        assert_eq!(notes(&live), ["T: DescribeTimeToLive: UnknownOperationException: no"]);
        let made = crate::to_model::to_model(&draft("m", &[live]).0);
        let entity = &made.model.entities[0];
        let template = |key: &str| entity.template(key).map(|template| template.to_string());
        assert_eq!(template("pk").as_deref(), Some("c#{customerId}"));
        assert_eq!(template("sk").as_deref(), Some("o#{orderId}"));
        assert_eq!((entity.count, entity.size_bytes), (Some(30), Some(100)));
        let notes = made.notes.join("\n");
        for part in [
            "count and size of",
            "are inferred from 1 item: review them",
            "pk: customerId after `c`; no, orderId has the same values in the examples",
        ] {
            assert!(notes.contains(part), "{part} in {notes}");
        }
    }

    /// A table with one attribute as its key, or with a sort key, of type text.
    fn plain_table(keys: &[&str], items: &[&str]) -> LiveTable {
        let definitions: Vec<String> =
            keys.iter().map(|key| format!(r#"{{"AttributeName":"{key}","AttributeType":"S"}}"#)).collect();
        let schema: Vec<String> = keys
            .iter()
            .zip(["HASH", "RANGE"])
            .map(|(key, role)| format!(r#"{{"AttributeName":"{key}","KeyType":"{role}"}}"#))
            .collect();
        let text = format!(
            r#"{{"TableName":"Tickets","AttributeDefinitions":[{}],"KeySchema":[{}],"BillingMode":"PAY_PER_REQUEST"}}"#,
            definitions.join(","),
            schema.join(",")
        );
        LiveTable {
            description: Json::parse(&text).expect("JSON"),
            time_to_live: None,
            backups: None,
            other_settings: Vec::new(),
            unanswered: Vec::new(),
            items: items.iter().map(|item| Json::parse(item).expect("JSON")).collect(),
        }
    }

    #[test]
    fn a_table_whose_items_share_one_tenant_is_imported() {
        let by_text: Vec<String> = (1..4)
            .map(|at| {
                format!(
                    r#"{{"tenantId":{{"S":"acme"}},"pk":{{"S":"tt#acme#T{at}"}},"ticketId":{{"S":"T{at}"}}}}"#
                )
            })
            .collect();
        let by_attribute: Vec<String> = (1..4)
            .map(|at| {
                format!(
                    r#"{{"tenantId":{{"S":"acme"}},"sk":{{"S":"tt#acme#T{at}"}},"title":{{"S":"t{at}"}}}}"#
                )
            })
            .collect();
        for (keys, items, found) in [
            (&["pk"][..], &by_text, &["tt#{tenantId}#{ticketId}"][..]),
            (&["pk", "tenantId"], &by_text, &["tt#{tenantId}#{ticketId}", "{tenantId}"]),
            (&["tenantId", "pk"], &by_text, &["{tenantId}", "tt#{tenantId}#{ticketId}"]),
            (&["tenantId", "sk"], &by_attribute, &["{tenantId}", "tt#{tenantId}#{titleUpper}"]),
            (&["sk", "tenantId"], &by_attribute, &["tt#{tenantId}#{titleUpper}", "{tenantId}"]),
        ] {
            let items: Vec<&str> = items.iter().map(String::as_str).collect();
            let made = import("m", &[plain_table(keys, &items)]).expect("a model");
            let [entity] = made.model.entities.as_slice() else { panic!("one entity: {:?}", made.model) };
            let templates: Vec<String> =
                entity.key.templates.iter().map(|(_, template)| template.to_string()).collect();
            assert_eq!(templates, found, "{keys:?}");
        }
    }

    #[test]
    fn a_note_on_keys_that_are_not_inferred_names_the_key_of_an_item() {
        let items = (1..4).map(|at| format!(r#"{{"tenantId":{{"S":"acme"}},"pk":{{"S":"tt#acme#T{at}"}}}}"#));
        let items: Vec<String> = items.collect();
        let items: Vec<&str> = items.iter().map(String::as_str).collect();
        let made = import("m", &[plain_table(&["pk", "tenantId"], &items)]).expect("a model");
        let named = |note: &String| note.contains("pk `tt#acme#T1`, tenantId `acme`");
        assert!(made.notes.iter().any(named), "{:?}", made.notes);
    }

    #[test]
    fn a_description_that_cannot_be_read_leaves_out_its_table_only() {
        let unreadable = LiveTable {
            description: Json::parse(r#"{"TableName":"Odd"}"#).expect("JSON"),
            ..plain_table(&["pk"], &[])
        };
        let made = import("m", &[unreadable.clone(), plain_table(&["pk"], &[])]).expect("a model");
        assert_eq!(
            made.model.tables.iter().map(|table| table.name.as_str()).collect::<Vec<_>>(),
            ["Tickets"]
        );
        assert!(made.notes.iter().any(|note| note.starts_with("a table is left out")), "{:?}", made.notes);
        assert!(import("m", &[unreadable]).is_err());
    }
}
