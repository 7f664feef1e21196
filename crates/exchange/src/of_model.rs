//! From a model to a draft, for export and comparison.

use std::collections::BTreeMap;

use keywright_semantics::request::parts::TableClass;
use keywright_semantics::schema::{IndexSchema, KeyAttribute, KeySchema, TableSchema};
use keywright_semantics::value::{AttributeValue, Item, ValueType};

use super::draft::{Draft, DraftTable};
use super::infer::{Attribute, Entity as Inferred};
use keywright_model::item_json::read_item;
use keywright_model::json::Json;
use keywright_model::tables::{self, AutoScaling, Policies, Provisioned, Scaling, TableDefinition, Units};
use keywright_model::{self as model, Entity, Model, Node, NodeKind, Table, Template};

/// The model file's field for table settings of templates that a model has no field for.
pub(super) const CLOUDFORMATION_EXTENSION: &str = "x-cloudformation";

/// A model's stored items, by table.
pub type Items = BTreeMap<String, Vec<Item>>;

/// The stored items in the model's own data section.
pub fn stored_items(model: &Model) -> Items {
    let mut found = Items::new();
    for raw in &model.data.items {
        let items = raw.items.iter().filter_map(|item| read_item(&json(item))).map(|read| read.item);
        found.entry(raw.table.clone()).or_default().extend(items);
    }
    found
}

/// A model-file tree as JSON.
pub fn json(node: &Node) -> Json {
    match &node.kind {
        NodeKind::Null => Json::Null,
        NodeKind::Bool(value) => Json::Bool(*value),
        NodeKind::Number(digits) => Json::Number(digits.clone()),
        NodeKind::Text(text) => Json::Text(text.clone()),
        NodeKind::List(elements) => Json::List(elements.iter().map(json).collect()),
        NodeKind::Map(_) => {
            Json::Object(node.members().map(|(name, value)| (name.to_owned(), json(value))).collect())
        }
    }
}

/// Makes a draft of a model and its items.
pub fn of_model(model: &Model, items: &Items) -> Draft {
    let none = Vec::new();
    let tables = model.tables.iter().map(|table| {
        let own = items.get(&table.name).unwrap_or(&none);
        table_draft(model, table, own)
    });
    Draft {
        name: model.name.clone(),
        description: model.text.clone().unwrap_or_default(),
        tables: tables.collect(),
    }
}

fn table_draft(model: &Model, table: &Table, items: &[Item]) -> DraftTable {
    let definition = TableDefinition { policies: policies(model, &table.name), ..definition(table) };
    let mut entities: Vec<Inferred> =
        model.entities_of(&table.name).map(|entity| inferred(entity, &definition)).collect();
    for (at, item) in items.iter().enumerate() {
        if let Some(entity) = owner(&definition, &entities, item)
            && let Some(entity) = entities.get_mut(entity)
        {
            entity.members.push(at);
        }
    }
    for entity in &mut entities {
        mark_variables(entity, items);
    }
    let owned = entities.iter().map(|entity| entity.members.len()).sum::<usize>();
    assert!(owned <= items.len(), "an item belongs to one entity at most");
    let declared = declared(&entities);
    DraftTable { definition, declared, entities, items: items.to_vec(), measured: None }
}

pub(super) fn inferred(entity: &Entity, definition: &TableDefinition) -> Inferred {
    // Attributes that no item has are left out of documents;
    // they only give the model the type of an index key.
    let absent = |name: &str| entity.attribute(name).is_some_and(|known| known.present_ppm == Some(0));
    let keys = definition.key_attributes().into_iter().filter(|key| !absent(&key.name));
    let templates = keys.filter_map(|key| {
        let template = entity.template(&key.name)?;
        Some((key.name.clone(), template))
    });
    let attributes = entity.attributes.iter().map(|attribute| Attribute {
        name: attribute.name.clone(),
        value_type: attribute.value_type,
        stored: !absent(&attribute.name),
    });
    Inferred {
        name: entity.name.clone(),
        members: Vec::new(),
        templates: templates.collect(),
        attributes: attributes.collect(),
        guessed: false,
        doubts: Vec::new(),
        parents: Vec::new(),
    }
}

/// The entity of an item: its templates fit the item's key, the most specific entity first.
pub(super) fn owner(definition: &TableDefinition, entities: &[Inferred], item: &Item) -> Option<usize> {
    let keys: Vec<&KeyAttribute> = definition.schema.key.attributes().collect();
    let fits = |entity: &Inferred| {
        keys.iter().all(|key| match (entity.template(&key.name), item.get(&key.name)) {
            (Some(template), Some(AttributeValue::S(text))) => template.fits(text),
            (_, value) => value.is_some(),
        })
    };
    let telling = |entity: &Inferred| -> usize {
        let templates = keys.iter().filter_map(|key| entity.template(&key.name));
        let words: usize = templates.map(Template::literal_bytes).sum();
        let named =
            item.values().any(|value| matches!(value, AttributeValue::S(text) if *text == entity.name));
        words * 2 + usize::from(named)
    };
    let fitting = entities.iter().enumerate().filter(|(_, entity)| fits(entity));
    fitting.max_by_key(|(at, entity)| (telling(entity), std::cmp::Reverse(*at))).map(|(at, _)| at)
}

/// Attributes that only fill keys: templates name them, but no example has them.
fn mark_variables(entity: &mut Inferred, items: &[Item]) {
    let members: Vec<&Item> = entity.members.iter().filter_map(|at| items.get(*at)).collect();
    let in_template = |name: &str| {
        entity.templates.values().flat_map(Template::attributes).any(|own| own == name)
            && !entity.templates.contains_key(name)
    };
    let unstored: Vec<String> = entity
        .attributes
        .iter()
        .map(|attribute| attribute.name.clone())
        .filter(|name| in_template(name) && !members.iter().any(|item| item.contains_key(name)))
        .collect();
    for attribute in &mut entity.attributes {
        attribute.stored &= !unstored.contains(&attribute.name);
    }
}

fn declared(entities: &[Inferred]) -> Vec<(String, ValueType)> {
    let mut found: Vec<(String, ValueType)> = Vec::new();
    for attribute in entities.iter().flat_map(|entity| &entity.attributes).filter(|known| known.stored) {
        if !found.iter().any(|(name, _)| *name == attribute.name) {
            found.push((attribute.name.clone(), attribute.value_type));
        }
    }
    found
}

/// The model's extension that says what a stack does with a removed table.
fn policies(model: &Model, table: &str) -> Policies {
    let extension = model.extensions.iter().find(|(name, _)| name == CLOUDFORMATION_EXTENSION);
    let own = extension.and_then(|(_, tables)| tables.get(table));
    Policies::of(|name| own.and_then(|own| own.get(name)).and_then(Node::scalar))
}

/// The definition of one of the model's tables.
pub fn definition(table: &Table) -> TableDefinition {
    let key =
        KeySchema { partition: vec![table.partition.clone()], sort: table.sort.iter().cloned().collect() };
    let schema = TableSchema { key, indexes: table.indexes.iter().map(index).collect() };
    TableDefinition {
        name: table.name.clone(),
        schema,
        billing: billing(&table.billing),
        ttl: table.ttl.clone(),
        stream: table.stream,
        class: table.infrequent_access.then_some(TableClass::StandardInfrequentAccess),
        point_in_time_recovery: table.pitr.unwrap_or(false),
        deletion_protection: table.deletion_protection.unwrap_or(false),
        replicas: table.replicas.clone(),
        policies: Policies::default(),
    }
}

fn index(index: &model::Index) -> IndexSchema {
    IndexSchema {
        name: index.name.clone(),
        kind: index.kind,
        key: KeySchema { partition: index.partition.clone(), sort: index.sort.clone() },
        projection: index.projection.clone(),
    }
}

fn billing(billing: &model::DeclaredCapacity) -> tables::Capacity {
    match billing {
        model::DeclaredCapacity::OnDemand => tables::Capacity::OnDemand,
        model::DeclaredCapacity::Provisioned { read_units, write_units, autoscale } => {
            let scaling = autoscale.map(|scale| Scaling {
                units_min: scale.min,
                units_max: scale.max,
                target_percent: scale.target_percent,
            });
            tables::Capacity::Provisioned(Provisioned {
                table: Units { read: *read_units, write: *write_units },
                indexes: BTreeMap::new(),
                autoscaling: scaling.map(|both| AutoScaling { read: Some(both), write: Some(both) }),
            })
        }
    }
}
