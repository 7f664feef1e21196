//! Writes a draft into a Workbench document; unchanged members of the base document stay.

use std::collections::{BTreeMap, BTreeSet};

use keywright_semantics::schema::{IndexKind, IndexSchema, KeyAttribute, KeySchema, Projection};
use keywright_semantics::value::{AttributeValue, Item, ValueType};

use super::read::{has_key, key_of};
use crate::create_table::{key_type_name, write_projection, write_units};
use crate::draft::{Draft, DraftTable};
use crate::infer::Entity;
use keywright_model::Template;
use keywright_model::item_json::{read_item, write_item};
use keywright_model::json::Json;
use keywright_model::tables::{AutoScaling, Capacity, Scaling, Units};

/// The role that the Workbench writes for auto scaling.
const SCALING_ROLE: &str = "AWSServiceRoleForApplicationAutoScaling_DynamoDBTable";

/// Items by their key values, to match items of the document with items of the draft.
type ItemsByKey<'a> = Vec<(Vec<Option<AttributeValue>>, usize, &'a Item)>;

pub(super) fn fresh(draft: &Draft, written: &str) -> (Json, Vec<String>) {
    let metadata = Json::object([
        ("Author", Json::text("")),
        ("DateCreated", Json::text(written)),
        ("DateLastModified", Json::text(written)),
        ("Description", Json::text(&draft.description)),
        ("AWSService", Json::text("Amazon DynamoDB")),
        ("Version", Json::text("3.0")),
    ]);
    let root = Json::object([
        ("ModelName", Json::text(&draft.name)),
        ("ModelMetadata", metadata),
        ("DataModel", Json::List(Vec::new())),
    ]);
    let empty = Draft { tables: Vec::new(), ..draft.clone() };
    update(root, &empty, draft)
}

/// Changes `root`, which holds `current`, so that it holds
/// `draft`. Also returns notes on what it cannot hold.
pub(super) fn update(mut root: Json, current: &Draft, draft: &Draft) -> (Json, Vec<String>) {
    if draft.name != current.name {
        root.set("ModelName", Json::text(&draft.name));
    }
    if draft.description != current.description
        && let Some(metadata) = root.get_mut("ModelMetadata")
    {
        metadata.set("Description", Json::text(&draft.description));
    }
    let mut lost = Vec::new();
    let mut old: Vec<Json> = root.get("DataModel").map_or(&[][..], Json::elements).to_vec();
    old.retain(|json| json.str_at("TableName").is_some_and(|name| draft.table(name).is_some()));
    for table in &draft.tables {
        note_lost(table, &mut lost);
        let name = &table.definition.name;
        let known = old.iter_mut().find(|json| json.str_at("TableName") == Some(name.as_str()));
        match (known, current.table(name)) {
            (Some(json), Some(current)) => update_table(json, current, table),
            _ => old.push(fresh_table(table)),
        }
    }
    root.set("DataModel", Json::List(old));
    (root, lost)
}

fn note_lost(table: &DraftTable, lost: &mut Vec<String>) {
    let definition = &table.definition;
    let name = &definition.name;
    for index in &definition.schema.indexes {
        if index.kind == IndexKind::Local {
            lost.push(format!("{name}.{}: a local index", index.name));
        } else if !fits(&index.key) {
            lost.push(format!("{name}.{}: an index key of several attributes", index.name));
        }
    }
    let settings = [
        (definition.ttl.is_some(), "time to live"),
        (definition.stream.is_some(), "the stream"),
        (definition.class.is_some(), "the table class"),
        (definition.point_in_time_recovery, "point-in-time recovery"),
        (definition.deletion_protection, "deletion protection"),
        (!definition.replicas.is_empty(), "replicas"),
    ];
    lost.extend(settings.iter().filter(|(set, _)| *set).map(|(_, what)| format!("{name}: {what}")));
}

/// Whether the format can hold a key: one partition attribute and at most one sort attribute.
fn fits(key: &KeySchema) -> bool {
    key.partition.len() == 1 && key.sort.len() <= 1
}

fn fresh_table(table: &DraftTable) -> Json {
    let mut json = Json::object([
        ("TableName", Json::text(&table.definition.name)),
        ("KeyAttributes", write_key(&table.definition.schema.key)),
        ("NonKeyAttributes", Json::List(Vec::new())),
    ]);
    let definition = keywright_model::tables::TableDefinition {
        schema: keywright_semantics::schema::TableSchema {
            key: table.definition.schema.key.clone(),
            indexes: Vec::new(),
        },
        billing: Capacity::OnDemand,
        ..table.definition.clone()
    };
    let empty = DraftTable {
        definition,
        declared: Vec::new(),
        entities: Vec::new(),
        items: Vec::new(),
        measured: None,
    };
    if !table.entities.is_empty() {
        json.set("TableFacets", Json::List(Vec::new()));
    }
    update_table(&mut json, &empty, table);
    if json.get("TableData").is_none() {
        json.set("TableData", Json::List(Vec::new()));
    }
    json.set("DataAccess", Json::object([("MySql", Json::Object(Vec::new()))]));
    if table.definition.billing == Capacity::OnDemand {
        json.set("BillingMode", Json::text("PAY_PER_REQUEST"));
    }
    json
}

fn update_table(json: &mut Json, current: &DraftTable, table: &DraftTable) {
    if table.definition.schema.key != current.definition.schema.key {
        update_key(json, &table.definition.schema.key);
    }
    update_attributes(json, current, table);
    update_facets(json, current, table);
    update_indexes(json, current, table);
    update_items(json, current, table);
    if in_a_model(&table.definition.billing) != in_a_model(&current.definition.billing) {
        write_billing(json, &table.definition.billing);
    }
}

fn write_key(key: &KeySchema) -> Json {
    let attribute = |attribute: &KeyAttribute| {
        Json::object([
            ("AttributeName", Json::text(&attribute.name)),
            ("AttributeType", Json::text(key_type_name(attribute.key_type))),
        ])
    };
    let mut json = Json::Object(Vec::new());
    for (role, attributes) in [("PartitionKey", &key.partition), ("SortKey", &key.sort)] {
        if let Some(first) = attributes.first() {
            json.set(role, attribute(first));
        }
    }
    json
}

/// Changes the key of a table or an index; its other members stay.
fn update_key(holder: &mut Json, key: &KeySchema) {
    let mut json = holder.get("KeyAttributes").cloned().unwrap_or(Json::Object(Vec::new()));
    let fresh = write_key(key);
    for role in ["PartitionKey", "SortKey"] {
        let Some(attribute) = fresh.get(role) else {
            json.remove(role);
            continue;
        };
        let mut kept = json.get(role).cloned().unwrap_or(Json::Object(Vec::new()));
        for (name, value) in attribute.members() {
            kept.set(name, value.clone());
        }
        json.set(role, kept);
    }
    holder.set("KeyAttributes", json);
}

/// Changes the projection of an index; its other members stay.
fn update_projection(holder: &mut Json, projection: &Projection) {
    let mut json = holder.get("Projection").cloned().unwrap_or(Json::Object(Vec::new()));
    json.remove("NonKeyAttributes");
    for (name, value) in write_projection(projection).members() {
        json.set(name, value.clone());
    }
    holder.set("Projection", json);
}

/// Every non-key attribute that an item of the table can have, with its type.
fn attributes(table: &DraftTable) -> Vec<(String, ValueType)> {
    let own = table.key_names();
    let index_keys = table.definition.key_attributes().into_iter().map(|key| {
        let value_type = ValueType::from_name(key_type_name(key.key_type)).unwrap_or(ValueType::S);
        (key.name.clone(), value_type)
    });
    let stored = table
        .entities
        .iter()
        .flat_map(|entity| &entity.attributes)
        .filter(|attribute| attribute.stored)
        .map(|attribute| (attribute.name.clone(), attribute.value_type));
    let mut found: Vec<(String, ValueType)> = Vec::new();
    for (name, value_type) in index_keys.chain(stored) {
        if !own.contains(&name.as_str()) && !found.iter().any(|(known, _)| *known == name) {
            found.push((name, value_type));
        }
    }
    found
}

/// Adds new attributes and removes those that were used before and no longer are. Attributes that the
/// document lists without using them stay.
fn update_attributes(json: &mut Json, current: &DraftTable, table: &DraftTable) {
    let before = attributes(current);
    let after = attributes(table);
    let gone: Vec<&str> = before
        .iter()
        .map(|(name, _)| name.as_str())
        .filter(|name| !after.iter().any(|(kept, _)| kept == name))
        .collect();
    let retyped = |name: &str| {
        let of = |list: &[(String, ValueType)]| {
            list.iter().find(|(known, _)| known == name).map(|(_, value_type)| *value_type)
        };
        of(&after).filter(|now| of(&before).is_some_and(|was| was != *now))
    };
    let mut list: Vec<Json> = json.get("NonKeyAttributes").map_or(&[][..], Json::elements).to_vec();
    let listed =
        |list: &[Json], name: &str| list.iter().any(|json| json.str_at("AttributeName") == Some(name));
    let length = list.len();
    list.retain(|json| json.str_at("AttributeName").is_none_or(|name| !gone.contains(&name)));
    let mut changed = list.len() != length;
    for attribute in &mut list {
        if let Some(now) = attribute.str_at("AttributeName").and_then(retyped) {
            attribute.set("AttributeType", Json::text(now.name()));
            changed = true;
        }
    }
    for (name, value_type) in &after {
        if !listed(&list, name) && !before.iter().any(|(known, _)| known == name) {
            list.push(Json::object([
                ("AttributeName", Json::text(name)),
                ("AttributeType", Json::text(value_type.name())),
            ]));
            changed = true;
        }
    }
    if changed {
        json.set("NonKeyAttributes", Json::List(list));
    }
}

/// A document with facets gets one facet per entity; a document without facets stays without.
fn update_facets(json: &mut Json, current: &DraftTable, table: &DraftTable) {
    let Some(Json::List(old)) = json.get("TableFacets") else {
        return;
    };
    let mut facets = old.clone();
    facets.retain(|facet| {
        facet
            .str_at("FacetName")
            .is_none_or(|name| current.entity(name).is_none() || table.entity(name).is_some())
    });
    for entity in &table.entities {
        let known = facets.iter_mut().find(|facet| facet.str_at("FacetName") == Some(entity.name.as_str()));
        match (known, current.entity(&entity.name)) {
            (Some(facet), Some(was)) => update_facet(facet, was, entity, table),
            (Some(_), None) => {}
            (None, _) => facets.push(fresh_facet(entity, table)),
        }
    }
    json.set("TableFacets", Json::List(facets));
}

fn update_facet(facet: &mut Json, was: &Entity, entity: &Entity, table: &DraftTable) {
    let keys = table.key_names();
    if keys.iter().any(|key| was.templates.get(*key) != entity.templates.get(*key)) {
        facet.set("KeyAttributeAlias", write_alias(entity, table));
    }
    if names(was, table) != names(entity, table) {
        facet.set("NonKeyAttributes", Json::List(names(entity, table).into_iter().map(Json::text).collect()));
    }
}

fn fresh_facet(entity: &Entity, table: &DraftTable) -> Json {
    Json::object([
        ("FacetName", Json::text(&entity.name)),
        ("KeyAttributeAlias", write_alias(entity, table)),
        ("TableData", Json::List(Vec::new())),
        ("NonKeyAttributes", Json::List(names(entity, table).into_iter().map(Json::text).collect())),
        ("DataAccess", Json::object([("MySql", Json::Object(Vec::new()))])),
    ])
}

/// The attributes of a facet: those of its items, without the table's keys.
fn names<'a>(entity: &'a Entity, table: &DraftTable) -> BTreeSet<&'a str> {
    let keys = table.key_names();
    let stored =
        entity.attributes.iter().filter(|attribute| attribute.stored).map(|attribute| &attribute.name);
    stored.chain(entity.templates.keys()).map(String::as_str).filter(|name| !keys.contains(name)).collect()
}

/// The templates of the table's keys, as this format writes variables.
fn write_alias(entity: &Entity, table: &DraftTable) -> Json {
    let alias = |key: Option<&KeyAttribute>| {
        let key = key?;
        let template = entity.template(&key.name);
        Some(Json::text(template.map_or_else(|| key.name.clone(), Template::to_alias)))
    };
    let key = &table.definition.schema.key;
    let mut json = Json::Object(Vec::new());
    if let Some(text) = alias(key.partition.first()) {
        json.set("PartitionKeyAlias", text);
    }
    if let Some(text) = alias(key.sort.first()) {
        json.set("SortKeyAlias", text);
    }
    json
}

fn update_indexes(json: &mut Json, current: &DraftTable, table: &DraftTable) {
    let holdable = |table: &DraftTable| -> Vec<IndexSchema> {
        let indexes = table.definition.schema.indexes.iter();
        indexes.filter(|index| index.kind == IndexKind::Global && fits(&index.key)).cloned().collect()
    };
    let (before, after) = (holdable(current), holdable(table));
    if before == after {
        return;
    }
    let mut list: Vec<Json> = json.get("GlobalSecondaryIndexes").map_or(&[][..], Json::elements).to_vec();
    list.retain(|index| {
        index.str_at("IndexName").is_some_and(|name| after.iter().any(|kept| kept.name == name))
    });
    for index in &after {
        let was = before.iter().find(|known| known.name == index.name);
        let place = list.iter_mut().find(|json| json.str_at("IndexName") == Some(index.name.as_str()));
        match place {
            Some(json) => {
                if was.is_none_or(|was| was.key != index.key) {
                    update_key(json, &index.key);
                }
                if was.is_none_or(|was| was.projection != index.projection) {
                    update_projection(json, &index.projection);
                }
            }
            None => list.push(Json::object([
                ("IndexName", Json::text(&index.name)),
                ("KeyAttributes", write_key(&index.key)),
                ("Projection", write_projection(&index.projection)),
            ])),
        }
    }
    if list.is_empty() {
        json.remove("GlobalSecondaryIndexes");
    } else {
        json.set("GlobalSecondaryIndexes", Json::List(list));
    }
}

/// Items keep their place, and their text unless they changed. New items go to their entity's facet, or to
/// the table if there are no facets.
fn update_items(json: &mut Json, current: &DraftTable, table: &DraftTable) {
    let key = &table.definition.schema.key;
    let wanted: ItemsByKey<'_> =
        table.items.iter().enumerate().map(|(at, item)| (key_of(item, key), at, item)).collect();
    let order: Vec<String> = table
        .key_names()
        .into_iter()
        .map(str::to_owned)
        .chain(current.declared.iter().chain(&attributes(table)).map(|(name, _)| name.clone()))
        .collect();
    let mut placed = BTreeSet::new();
    if let Some(list) = json.get_mut("TableData") {
        update_list(list, &wanted, key, &order, &mut placed);
    }
    if let Some(Json::List(facets)) = json.get_mut("TableFacets") {
        // The reader skips facets without a name.
        let named = facets.iter_mut().filter(|facet| facet.str_at("FacetName").is_some());
        for list in named.filter_map(|facet| facet.get_mut("TableData")) {
            update_list(list, &wanted, key, &order, &mut placed);
        }
    }
    // Only the table's own list can keep the order of items if those of several entities are interleaved.
    let in_turn = placed.is_empty() && !stand_by_facets(json, table);
    let mut new: BTreeMap<Option<String>, Vec<Json>> = BTreeMap::new();
    for (_, at, item) in wanted.iter().filter(|(_, at, _)| !placed.contains(at)) {
        let entity = table.entity_of(*at).filter(|_| !in_turn).map(|entity| entity.name.clone());
        new.entry(entity).or_default().push(write_item(item, &order));
    }
    for (entity, items) in new {
        if let Some(Json::List(list)) = list_of(json, entity.as_deref()) {
            list.extend(items);
        }
    }
}

/// Whether the items are ordered by their lists: the table's own list, then each facet's.
fn stand_by_facets(json: &Json, table: &DraftTable) -> bool {
    let facets = json.get("TableFacets").map_or(&[][..], Json::elements);
    let place = |at: usize| {
        let entity = table.entity_of(at)?;
        facets.iter().position(|facet| facet.str_at("FacetName") == Some(&entity.name))
    };
    (0..table.items.len()).map(place).is_sorted()
}

fn update_list(
    list: &mut Json,
    wanted: &ItemsByKey<'_>,
    key: &KeySchema,
    order: &[String],
    placed: &mut BTreeSet<usize>,
) {
    let Json::List(items) = list else {
        return;
    };
    items.retain_mut(|raw| {
        let Some(read) = read_item(raw) else {
            return false;
        };
        if !has_key(&read.item, key) {
            // The reader skips such items, so the draft says nothing about them.
            return true;
        }
        let own = key_of(&read.item, key);
        let Some((_, at, item)) = wanted.iter().find(|(known, _, _)| *known == own) else {
            return false;
        };
        // Two items with the same key both keep their text; the model has only the first.
        if placed.insert(*at) && read.item != **item {
            *raw = write_item(item, order);
        }
        true
    });
}

/// The list that new items of an entity belong to.
fn list_of<'a>(json: &'a mut Json, entity: Option<&str>) -> Option<&'a mut Json> {
    let facet_at = json
        .get("TableFacets")
        .map_or(&[][..], Json::elements)
        .iter()
        .position(|facet| entity.is_some() && facet.str_at("FacetName") == entity);
    let holder = match (facet_at, json) {
        (Some(at), json) => match json.get_mut("TableFacets")? {
            Json::List(facets) => facets.get_mut(at)?,
            _ => return None,
        },
        (None, json) => json,
    };
    if holder.get("TableData").is_none() {
        holder.set("TableData", Json::List(Vec::new()));
    }
    holder.get_mut("TableData")
}

/// The part of a billing mode that the format can hold: one scaling range for reads and writes.
fn in_a_model(billing: &Capacity) -> Option<(Units, Option<Scaling>)> {
    let Capacity::Provisioned(capacity) = billing else { return None };
    let scaling = capacity.autoscaling.and_then(AutoScaling::together);
    Some((capacity.table, scaling))
}

fn write_billing(json: &mut Json, billing: &Capacity) {
    let Capacity::Provisioned(capacity) = billing else {
        json.set("BillingMode", Json::text("PAY_PER_REQUEST"));
        json.remove("ProvisionedCapacitySettings");
        return;
    };
    let mut settings = json.get("ProvisionedCapacitySettings").cloned().unwrap_or(Json::Object(Vec::new()));
    settings.set("ProvisionedThroughput", write_units(capacity.table));
    let scaling = capacity.autoscaling;
    for (name, scaling) in [
        ("AutoScalingRead", scaling.and_then(|both| both.read)),
        ("AutoScalingWrite", scaling.and_then(|both| both.write)),
    ] {
        match scaling {
            Some(scaling) => settings.set(name, write_scaling(scaling)),
            None => settings.remove(name),
        }
    }
    json.set("BillingMode", Json::text("PROVISIONED"));
    json.set("ProvisionedCapacitySettings", settings);
}

fn write_scaling(scaling: Scaling) -> Json {
    Json::object([
        (
            "ScalableTargetRequest",
            Json::object([
                ("MinCapacity", Json::number(scaling.units_min)),
                ("MaxCapacity", Json::number(scaling.units_max)),
                ("ServiceRole", Json::text(SCALING_ROLE)),
            ]),
        ),
        ("ScalingPolicyConfiguration", Json::object([("TargetValue", Json::number(scaling.target_percent))])),
    ])
}
