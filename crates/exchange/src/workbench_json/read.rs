//! Makes a draft of a Workbench document.

use std::collections::{BTreeMap, BTreeSet};

use keywright_semantics::schema::{IndexKind, IndexSchema, KeyAttribute, KeySchema, KeyType, TableSchema};
use keywright_semantics::value::{AttributeValue, Item, ValueType};

use super::{Assumption, Read};
use crate::create_table::{key_type, read_projection, read_units};
use crate::draft::{Draft, DraftTable};
use crate::fault::{ExchangeFault, Faults};
use crate::infer::{Facet, Group, classify, infer};
use keywright_model::Template;
use keywright_model::item_json::read_item;
use keywright_model::json::Json;
use keywright_model::tables::{AutoScaling, Capacity, Provisioned, Scaling, TableDefinition};

/// The partition key of a table whose document names none.
const UNKNOWN_KEY: &str = "pk";

/// Reads everything that can be interpreted. For the rest it makes assumptions, which `Read::assumed` lists.
pub(super) fn read(root: &Json) -> Read {
    let mut reader = Reader::default();
    let list = root.get("DataModel").map_or(&[][..], Json::elements);
    reader.schema = Schema { models: root.at(&["ModelSchema", "models"]), only_table: list.len() == 1 };
    let tables: Vec<DraftTable> =
        list.iter().enumerate().map(|(at, table)| reader.table(table, at)).collect();
    let name = root.str_at("ModelName").filter(|name| !name.is_empty()).unwrap_or("model");
    let description = root.at(&["ModelMetadata", "Description"]).and_then(Json::as_str).unwrap_or_default();
    let draft = Draft { name: name.to_owned(), description: description.to_owned(), tables };
    Read { draft, notes: reader.notes, assumed: reader.assumed }
}

/// The lists with a table's items: its own, then each facet's.
pub(super) fn item_lists(table: &Json) -> impl Iterator<Item = (Option<&str>, &[Json])> {
    let own = (None, table.get("TableData").map_or(&[][..], Json::elements));
    let facets = table.get("TableFacets").map_or(&[][..], Json::elements);
    std::iter::once(own).chain(facets.iter().filter_map(|facet| {
        Some((Some(facet.str_at("FacetName")?), facet.get("TableData").map_or(&[][..], Json::elements)))
    }))
}

/// Whether an item has the table's key, with attributes of the
/// right type that are not empty. No table can hold other items.
pub(super) fn has_key(item: &Item, key: &KeySchema) -> bool {
    key.attributes().all(|attribute| match (item.get(&attribute.name), attribute.key_type) {
        (Some(AttributeValue::S(text)), KeyType::S) => !text.is_empty(),
        (Some(AttributeValue::B(bytes)), KeyType::B) => !bytes.is_empty(),
        (Some(AttributeValue::N(_)), KeyType::N) => true,
        _ => false,
    })
}

/// The values of an item's key attributes, which identify the item.
pub(super) fn key_of(item: &Item, key: &KeySchema) -> Vec<Option<AttributeValue>> {
    key.attributes().map(|attribute| item.get(&attribute.name).cloned()).collect()
}

#[derive(Default)]
struct Reader<'a> {
    assumed: Vec<Assumption>,
    notes: Vec<String>,
    schema: Schema<'a>,
}

/// The schema that AWS's web modeler stores next to the tables: by entity and attribute the type and the
/// value template, `{Order: {SK: {type: String, value: "order#${orderId}"}}}`.
#[derive(Clone, Copy, Default)]
struct Schema<'a> {
    models: Option<&'a Json>,
    only_table: bool,
}

impl Schema<'_> {
    /// Adds an alias for each entity whose key has a template in the schema, unless a facet has one. With
    /// several tables, only the items show to which table an entity belongs.
    fn add_to(self, facets: &mut BTreeMap<String, Facet>, table: &TableDefinition, items: &[Item]) {
        for (name, attributes) in self.models.map_or(&[][..], Json::members) {
            let template = |key: Option<&KeyAttribute>| {
                let value = attributes.get(&key?.name)?.str_at("value")?;
                Template::parse_alias(value).map(|_| value.to_owned())
            };
            let key = &table.schema.key;
            let (partition, sort) = (template(key.partition.first()), template(key.sort.first()));
            let shown =
                || items.iter().flat_map(Item::values).any(|value| *value == AttributeValue::S(name.clone()));
            if (partition.is_some() || sort.is_some()) && (self.only_table || shown()) {
                let facet = Facet { partition_alias: partition, sort_alias: sort, attributes: Vec::new() };
                facets.entry(name.clone()).or_insert(facet);
            }
        }
    }
}

/// A table's items without duplicates, and the facet in which each occurs first.
#[derive(Default)]
struct Items {
    items: Vec<Item>,
    facets: Vec<Option<String>>,
}

impl Reader<'_> {
    fn table(&mut self, json: &Json, at: usize) -> DraftTable {
        let path = &format!("DataModel[{at}]");
        let unnamed = format!("Table{}", at + 1);
        let name = json.str_at("TableName").filter(|name| !name.is_empty()).unwrap_or_else(|| {
            self.assume(path, "the TableName is missing", format!("the table is called {unnamed}"));
            &unnamed
        });
        let key = self.key(json, path).unwrap_or_else(|| {
            let text = format!("{name} has the key {UNKNOWN_KEY}: write its key attributes");
            self.assume(&format!("{path}.KeyAttributes"), "the PartitionKey is missing", text);
            let key = KeyAttribute { name: UNKNOWN_KEY.to_owned(), key_type: KeyType::S };
            KeySchema { partition: vec![key], sort: Vec::new() }
        });
        let declared = self.declared(json, path);
        let indexes = self.indexes(json, path, key_types(&key, &declared));
        let mut definition = TableDefinition::new(name, TableSchema { key, indexes });
        definition.billing = read_billing(json);
        let read = self.items(json, path, &definition);
        let mut facets = facets(json);
        self.schema.add_to(&mut facets, &definition, &read.items);
        let items: Vec<&Item> = read.items.iter().collect();
        let groups = groups(&definition, &items, &read.facets, &facets);
        let entities = infer(&definition, &items, &groups, &facets.into_iter().collect(), &declared);
        DraftTable { definition, declared, entities, items: read.items, measured: None }
    }

    fn assume(&mut self, path: &str, fault: &str, assumed: impl Into<String>) {
        self.assumed.push(Assumption { fault: ExchangeFault::new(path, fault), assumed: assumed.into() });
    }

    /// The key of a table or an index; `None` without a partition key.
    fn key(&mut self, json: &Json, path: &str) -> Option<KeySchema> {
        let mut attribute = |role: &str| {
            let found = json.at(&["KeyAttributes", role])?;
            let place = format!("{path}.KeyAttributes.{role}");
            let fault = "write AttributeName and AttributeType, which is S, N or B";
            let Some(name) = found.str_at("AttributeName").filter(|name| !name.is_empty()) else {
                self.assume(&place, fault, "left out");
                return None;
            };
            let known = found.str_at("AttributeType").and_then(key_type);
            let key_type = known.unwrap_or_else(|| {
                self.assume(&place, fault, format!("S is assumed for {name}"));
                KeyType::S
            });
            Some(KeyAttribute { name: name.to_owned(), key_type })
        };
        let (partition, sort) = (attribute("PartitionKey"), attribute("SortKey"));
        Some(KeySchema { partition: vec![partition?], sort: sort.into_iter().collect() })
    }

    /// The indexes. An attribute has one type in a table: `types` has those that the table declares.
    fn indexes(&mut self, json: &Json, path: &str, mut types: BTreeMap<String, KeyType>) -> Vec<IndexSchema> {
        let mut found: Vec<IndexSchema> = Vec::new();
        for (list, kind) in
            [("LocalSecondaryIndexes", IndexKind::Local), ("GlobalSecondaryIndexes", IndexKind::Global)]
        {
            for (at, index) in json.get(list).map_or(&[][..], Json::elements).iter().enumerate() {
                let path = format!("{path}.{list}[{at}]");
                let Some(name) = index.str_at("IndexName") else {
                    self.assume(&path, "the IndexName is missing", "the index is left out");
                    continue;
                };
                let Some(mut key) = self.key(index, &path) else {
                    let fault = "the PartitionKey is missing";
                    self.assume(&format!("{path}.KeyAttributes"), fault, format!("{name} is left out"));
                    continue;
                };
                self.take_declared_types(&mut key, &path, &mut types);
                let mut faults = Faults::new();
                let place = format!("{path}.Projection");
                let projection = read_projection(index.get("Projection"), &place, &mut faults);
                let assumed = || "ALL is assumed".to_owned();
                self.assumed.extend(faults.into_iter().map(|fault| Assumption { fault, assumed: assumed() }));
                found.push(IndexSchema { name: name.to_owned(), kind, key, projection });
            }
        }
        found
    }

    /// Gives key attributes of an index the types that the table or an earlier index declares.
    fn take_declared_types(
        &mut self,
        key: &mut KeySchema,
        path: &str,
        types: &mut BTreeMap<String, KeyType>,
    ) {
        for attribute in key.partition.iter_mut().chain(&mut key.sort) {
            let own = attribute.key_type;
            let declared = *types.entry(attribute.name.clone()).or_insert(own);
            if own != declared {
                let (name, own, declared_name) = (&attribute.name, own.name(), declared.name());
                self.notes.push(format!(
                    "{path}.KeyAttributes: {name} has type {own} here, but the table declares {declared_name}; {declared_name} is used"
                ));
                attribute.key_type = declared;
            }
        }
    }

    fn declared(&mut self, json: &Json, path: &str) -> Vec<(String, ValueType)> {
        let mut found = Vec::new();
        for (at, attribute) in json.get("NonKeyAttributes").map_or(&[][..], Json::elements).iter().enumerate()
        {
            let Some(name) = attribute.str_at("AttributeName") else {
                let path = format!("{path}.NonKeyAttributes[{at}]");
                self.assume(&path, "the AttributeName is missing", "left out");
                continue;
            };
            let value_type = attribute.str_at("AttributeType").and_then(ValueType::from_name);
            found.push((name.to_owned(), value_type.unwrap_or(ValueType::S)));
        }
        found
    }

    fn items(&mut self, json: &Json, path: &str, table: &TableDefinition) -> Items {
        let mut found = Items::default();
        let mut keys: Vec<Vec<Option<AttributeValue>>> = Vec::new();
        let (mut untyped, mut keyless) = (0_usize, 0_usize);
        for (facet, list) in item_lists(json) {
            for raw in list {
                let Some(read) = read_item(raw) else {
                    self.assume(path, "an item in TableData is no object", "the item is left out");
                    continue;
                };
                untyped += usize::from(!read.typed);
                if !has_key(&read.item, &table.schema.key) {
                    keyless += 1;
                    continue;
                }
                let key = key_of(&read.item, &table.schema.key);
                if keys.contains(&key) {
                    continue;
                }
                keys.push(key);
                found.items.push(read.item);
                found.facets.push(facet.map(str::to_owned));
            }
        }
        if keyless > 0 {
            self.notes.push(format!(
                "{}: {keyless} items have no whole key and are left out: no table can hold them",
                table.name
            ));
        }
        if untyped > 0 {
            self.notes.push(format!(
                "{}: {untyped} items hold values without a DynamoDB type; they were read as what they evidently mean",
                table.name
            ));
        }
        found
    }
}

/// The types that a table declares for attributes that can be keys.
fn key_types(key: &KeySchema, declared: &[(String, ValueType)]) -> BTreeMap<String, KeyType> {
    let declared = declared.iter().filter_map(|(name, own)| Some((name.clone(), key_type(own.name())?)));
    let keys = key.attributes().map(|attribute| (attribute.name.clone(), attribute.key_type));
    declared.chain(keys).collect()
}

fn facets(json: &Json) -> BTreeMap<String, Facet> {
    let list = json.get("TableFacets").map_or(&[][..], Json::elements);
    list.iter()
        .filter_map(|facet| {
            let alias =
                |name: &str| facet.at(&["KeyAttributeAlias", name]).and_then(Json::as_str).map(str::to_owned);
            let names = facet.get("NonKeyAttributes").map_or(&[][..], Json::elements);
            let read = Facet {
                partition_alias: alias("PartitionKeyAlias"),
                sort_alias: alias("SortKeyAlias"),
                attributes: names.iter().filter_map(Json::as_str).map(str::to_owned).collect(),
            };
            Some((facet.str_at("FacetName")?.to_owned(), read))
        })
        .collect()
}

/// One group per facet, in document order, including empty
/// ones. Items outside facets are classified separately.
fn groups(
    table: &TableDefinition,
    items: &[&Item],
    shown_in: &[Option<String>],
    facets: &BTreeMap<String, Facet>,
) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (at, facet) in shown_in.iter().enumerate() {
        let Some(name) = facet else { continue };
        match groups.iter_mut().find(|group| group.name == *name) {
            Some(group) => group.members.push(at),
            None => groups.push(Group { name: name.clone(), members: vec![at] }),
        }
    }
    let shown: BTreeSet<&String> = shown_in.iter().flatten().collect();
    let empty = facets.keys().filter(|name| !shown.contains(name));
    groups.extend(empty.map(|name| Group { name: name.clone(), members: Vec::new() }));
    let free: Vec<usize> =
        shown_in.iter().enumerate().filter(|(_, facet)| facet.is_none()).map(|(at, _)| at).collect();
    let free_items: Vec<&Item> = free.iter().filter_map(|at| items.get(*at).copied()).collect();
    for found in classify(table, &free_items) {
        let members = found.members.iter().filter_map(|at| free.get(*at).copied()).collect::<Vec<_>>();
        match groups.iter_mut().find(|group| group.name == found.name) {
            Some(group) => group.members.extend(members),
            None => groups.push(Group { name: found.name, members }),
        }
    }
    groups
}

fn read_billing(json: &Json) -> Capacity {
    let settings = json.get("ProvisionedCapacitySettings");
    let units = settings.and_then(|settings| settings.get("ProvisionedThroughput")).and_then(read_units);
    match (json.str_at("BillingMode"), units) {
        (Some("PROVISIONED"), Some(table)) => {
            let scaling = |name| settings.and_then(|settings| settings.get(name)).and_then(read_scaling);
            let (read, write) = (scaling("AutoScalingRead"), scaling("AutoScalingWrite"));
            let autoscaling = (read.is_some() || write.is_some()).then_some(AutoScaling { read, write });
            Capacity::Provisioned(Provisioned { table, indexes: BTreeMap::new(), autoscaling })
        }
        _ => Capacity::OnDemand,
    }
}

fn read_scaling(json: &Json) -> Option<Scaling> {
    let number = |path: &[&str]| json.at(path).and_then(Json::as_u64);
    Some(Scaling {
        units_min: number(&["ScalableTargetRequest", "MinCapacity"])?,
        units_max: number(&["ScalableTargetRequest", "MaxCapacity"])?,
        target_percent: number(&["ScalingPolicyConfiguration", "TargetValue"])?,
    })
}
