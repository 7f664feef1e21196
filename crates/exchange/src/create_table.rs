//! `CreateTable` requests and `DescribeTable` answers as JSON, read and written.
//!
//! The members are those of the public API. `CloudFormation` shares most of
//! them; its modules use the functions here. Time to live and point-in-time
//! recovery have requests of their own in the API, so they are not written.

use std::collections::{BTreeMap, BTreeSet};

use keywright_semantics::request::parts::{StreamViewType, TableClass};
use keywright_semantics::schema::{
    IndexKind, IndexSchema, KeyAttribute, KeySchema, KeyType, Projection, TableSchema,
};

use super::fault::{ExchangeFault, Faults, report};
use super::supported;
use keywright_model::json::{Json, Members};
use keywright_model::tables::{Capacity, Provisioned, TableDefinition, Units};

/// The warm throughput of a new on-demand table (developer guide: warm throughput).
const WARM_READS: u64 = 12_000;
const WARM_WRITES: u64 = 4_000;

/// Reads the tables of a document: one request or description, bare or under `Table`, or a list of them.
pub fn read_document(json: &Json) -> Result<Vec<TableDefinition>, Faults> {
    let mut faults = Vec::new();
    let tables: Vec<TableDefinition> = match json {
        Json::List(elements) => elements
            .iter()
            .enumerate()
            .filter_map(|(index, element)| read_one(element, &format!("[{index}]"), &mut faults))
            .collect(),
        one => read_one(one, "", &mut faults).into_iter().collect(),
    };
    if faults.is_empty() { Ok(tables) } else { Err(faults) }
}

fn read_one(json: &Json, path: &str, faults: &mut Faults) -> Option<TableDefinition> {
    for wrapper in ["Table", "TableDescription"] {
        if let Some(inner) = json.get(wrapper) {
            return read_table(inner, &member(path, wrapper), faults);
        }
    }
    read_table(json, path, faults)
}

/// Reads one table from members named as in `CreateTable`.
pub fn read_table(json: &Json, path: &str, faults: &mut Faults) -> Option<TableDefinition> {
    let Some(name) = json.str_at("TableName") else {
        report(faults, ExchangeFault::new(member(path, "TableName"), "the table's name is missing"));
        return None;
    };
    let schema = read_schema(json, path, faults)?;
    let mut table = TableDefinition::new(name, schema);
    table.billing = read_billing(json);
    table.stream = json.get("StreamSpecification").and_then(read_stream);
    table.class = json
        .str_at("TableClass")
        .or_else(|| json.get("TableClassSummary")?.str_at("TableClass"))
        .and_then(TableClass::from_name);
    table.deletion_protection =
        json.get("DeletionProtectionEnabled").and_then(Json::as_bool).unwrap_or(false);
    table.replicas = read_replicas(json);
    Some(table)
}

/// The other regions of a described table, without the region in its ARN.
fn read_replicas(json: &Json) -> Vec<String> {
    let own = json.str_at("TableArn").and_then(|arn| arn.split(':').nth(3)).unwrap_or_default();
    let replicas = json.get("Replicas").map_or(&[][..], Json::elements);
    let regions = replicas.iter().filter_map(|replica| replica.str_at("RegionName"));
    regions.filter(|region| *region != own).map(str::to_owned).collect()
}

/// The tables of a document as written, each with its path.
pub fn written(json: &Json) -> Vec<(String, &Json)> {
    let unwrapped = |json, path: String| -> (String, &Json) {
        let inner =
            ["Table", "TableDescription"].iter().find_map(|name| Some((name, Json::get(json, name)?)));
        inner.map_or((path.clone(), json), |(name, inner)| (member(&path, name), inner))
    };
    match json {
        Json::List(elements) => {
            elements.iter().enumerate().map(|(at, one)| unwrapped(one, format!("[{at}]"))).collect()
        }
        one => vec![unwrapped(one, String::new())],
    }
}

/// The paths of members of a request or description that a model cannot hold.
pub fn unheld(table: &Json) -> Vec<String> {
    let mut chosen = table.clone();
    if table.get("TableStatus").is_some() {
        // Every described table and index has a warm throughput.
        // It is meaningful only if it was raised or chosen.
        forget_usual(&mut chosen);
        if let Some(Json::List(indexes)) = chosen.get_mut("GlobalSecondaryIndexes") {
            indexes.iter_mut().for_each(forget_usual);
        }
    }
    supported::part(&chosen, &supported::TABLE).unheld
}

fn forget_usual(holder: &mut Json) {
    let units = |name| holder.at(&["WarmThroughput", name]).and_then(Json::as_u64).unwrap_or_default();
    if units("ReadUnitsPerSecond") <= WARM_READS && units("WriteUnitsPerSecond") <= WARM_WRITES {
        holder.remove("WarmThroughput");
    }
}

/// The path of a member of an object.
pub fn member(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn read_stream(json: &Json) -> Option<StreamViewType> {
    if json.get("StreamEnabled").and_then(Json::as_bool) == Some(false) {
        return None;
    }
    json.str_at("StreamViewType").and_then(StreamViewType::from_name)
}

/// Reads keys and indexes.
pub fn read_schema(json: &Json, path: &str, faults: &mut Faults) -> Option<TableSchema> {
    let types = read_attribute_types(json, path, faults);
    let key = read_key(json, path, &types, faults)?;
    let mut indexes = Vec::new();
    for (list, kind) in
        [("LocalSecondaryIndexes", IndexKind::Local), ("GlobalSecondaryIndexes", IndexKind::Global)]
    {
        for (at, index) in json.get(list).map_or(&[][..], Json::elements).iter().enumerate() {
            let path = format!("{}[{at}]", member(path, list));
            indexes.extend(read_index(index, kind, &path, &types, faults));
        }
    }
    Some(TableSchema { key, indexes })
}

fn read_attribute_types(json: &Json, path: &str, faults: &mut Faults) -> BTreeMap<String, KeyType> {
    let mut types = BTreeMap::new();
    let definitions = json.get("AttributeDefinitions").map_or(&[][..], Json::elements);
    for (at, definition) in definitions.iter().enumerate() {
        match (definition.str_at("AttributeName"), definition.str_at("AttributeType").and_then(key_type)) {
            (Some(name), Some(key_type)) => {
                types.insert(name.to_owned(), key_type);
            }
            _ => report(
                faults,
                ExchangeFault::new(
                    format!("{}[{at}]", member(path, "AttributeDefinitions")),
                    "write AttributeName and AttributeType, which is S, N or B",
                ),
            ),
        }
    }
    types
}

/// The type of a key attribute from its name in the API.
pub fn key_type(name: &str) -> Option<KeyType> {
    match name {
        "S" => Some(KeyType::S),
        "N" => Some(KeyType::N),
        "B" => Some(KeyType::B),
        _ => None,
    }
}

/// The name in the API of a key attribute's type.
pub const fn key_type_name(key_type: KeyType) -> &'static str {
    match key_type {
        KeyType::S => "S",
        KeyType::N => "N",
        KeyType::B => "B",
    }
}

fn read_key(
    json: &Json,
    path: &str,
    types: &BTreeMap<String, KeyType>,
    faults: &mut Faults,
) -> Option<KeySchema> {
    let path = member(path, "KeySchema");
    let mut key = KeySchema { partition: Vec::new(), sort: Vec::new() };
    for (at, element) in json.get("KeySchema").map_or(&[][..], Json::elements).iter().enumerate() {
        let path = format!("{path}[{at}]");
        let Some(name) = element.str_at("AttributeName") else {
            report(faults, ExchangeFault::new(path, "the AttributeName is missing"));
            continue;
        };
        let Some(&key_type) = types.get(name) else {
            report(faults, ExchangeFault::new(path, format!("AttributeDefinitions does not define {name}")));
            continue;
        };
        let attribute = KeyAttribute { name: name.to_owned(), key_type };
        match element.str_at("KeyType") {
            Some("HASH") => key.partition.push(attribute),
            Some("RANGE") => key.sort.push(attribute),
            _ => report(faults, ExchangeFault::new(path, "the KeyType must be HASH or RANGE")),
        }
    }
    if key.partition.is_empty() {
        report(
            faults,
            ExchangeFault::new(path, "there is no partition key: write an element with KeyType HASH"),
        );
        return None;
    }
    Some(key)
}

fn read_index(
    json: &Json,
    kind: IndexKind,
    path: &str,
    types: &BTreeMap<String, KeyType>,
    faults: &mut Faults,
) -> Option<IndexSchema> {
    let key = read_key(json, path, types, faults)?;
    let Some(name) = json.str_at("IndexName") else {
        report(faults, ExchangeFault::new(member(path, "IndexName"), "the index's name is missing"));
        return None;
    };
    let projection = read_projection(json.get("Projection"), &member(path, "Projection"), faults);
    Some(IndexSchema { name: name.to_owned(), kind, key, projection })
}

/// Reads a projection; a missing one is read as ALL, which is what tools mean when they omit it.
pub fn read_projection(json: Option<&Json>, path: &str, faults: &mut Faults) -> Projection {
    let Some(json) = json else {
        return Projection::All;
    };
    match json.str_at("ProjectionType") {
        Some("KEYS_ONLY") => Projection::KeysOnly,
        Some("INCLUDE") => Projection::Include(
            json.get("NonKeyAttributes")
                .map_or(&[][..], Json::elements)
                .iter()
                .filter_map(Json::as_str)
                .map(str::to_owned)
                .collect::<BTreeSet<_>>(),
        ),
        Some("ALL") | None => Projection::All,
        Some(other) => {
            report(
                faults,
                ExchangeFault::new(path, format!("{other} is no projection: ALL, KEYS_ONLY or INCLUDE")),
            );
            Projection::All
        }
    }
}

fn read_billing(json: &Json) -> Capacity {
    let mode = json
        .str_at("BillingMode")
        .or_else(|| json.get("BillingModeSummary").and_then(|summary| summary.str_at("BillingMode")));
    let units = json.get("ProvisionedThroughput").and_then(read_units);
    match (mode, units) {
        (Some("PAY_PER_REQUEST"), _) | (_, None) => Capacity::OnDemand,
        (_, Some(table)) => {
            let indexes = json.get("GlobalSecondaryIndexes").map_or(&[][..], Json::elements);
            let own = indexes.iter().filter_map(|index| {
                let units = index.get("ProvisionedThroughput").and_then(read_units)?;
                Some((index.str_at("IndexName")?.to_owned(), units)).filter(|_| units != table)
            });
            Capacity::Provisioned(Provisioned { table, indexes: own.collect(), autoscaling: None })
        }
    }
}

/// Reads capacity units. The description of an on-demand table has zeros, which are read as no units.
pub fn read_units(json: &Json) -> Option<Units> {
    let read = json.get("ReadCapacityUnits").and_then(Json::as_u64)?;
    let write = json.get("WriteCapacityUnits").and_then(Json::as_u64)?;
    (read > 0 && write > 0).then_some(Units { read, write })
}

/// Writes the request that creates the table.
pub fn write_request(table: &TableDefinition) -> Json {
    let mut members: Members = vec![("TableName".to_owned(), Json::text(&table.name))];
    members.extend(write_schema(table));
    if let Some(view) = table.stream {
        let stream =
            Json::object([("StreamEnabled", Json::Bool(true)), ("StreamViewType", Json::text(view.name()))]);
        members.push(("StreamSpecification".to_owned(), stream));
    }
    if let Some(class) = table.class {
        members.push(("TableClass".to_owned(), Json::text(class.name())));
    }
    if table.deletion_protection {
        members.push(("DeletionProtectionEnabled".to_owned(), Json::Bool(true)));
    }
    Json::Object(members)
}

/// Writes the members for keys, indexes and capacity, which `CreateTable` and `CloudFormation` share.
pub fn write_schema(table: &TableDefinition) -> Members {
    let definitions = table.key_attributes().into_iter().map(|attribute| {
        Json::object([
            ("AttributeName", Json::text(&attribute.name)),
            ("AttributeType", Json::text(key_type_name(attribute.key_type))),
        ])
    });
    let mut members: Members = vec![
        ("AttributeDefinitions".to_owned(), Json::List(definitions.collect())),
        ("KeySchema".to_owned(), write_key(&table.schema.key)),
    ];
    for (list, kind) in
        [("LocalSecondaryIndexes", IndexKind::Local), ("GlobalSecondaryIndexes", IndexKind::Global)]
    {
        let indexes: Vec<Json> = table
            .schema
            .indexes
            .iter()
            .filter(|index| index.kind == kind)
            .map(|index| write_index(index, &table.billing))
            .collect();
        if !indexes.is_empty() {
            members.push((list.to_owned(), Json::List(indexes)));
        }
    }
    match &table.billing {
        Capacity::OnDemand => members.push(("BillingMode".to_owned(), Json::text("PAY_PER_REQUEST"))),
        Capacity::Provisioned(capacity) => {
            members.push(("BillingMode".to_owned(), Json::text("PROVISIONED")));
            members.push(("ProvisionedThroughput".to_owned(), write_units(capacity.table)));
        }
    }
    members
}

/// Writes capacity units.
pub fn write_units(units: Units) -> Json {
    Json::object([
        ("ReadCapacityUnits", Json::number(units.read)),
        ("WriteCapacityUnits", Json::number(units.write)),
    ])
}

fn write_key(key: &KeySchema) -> Json {
    let element = |attribute: &KeyAttribute, role: &str| {
        Json::object([("AttributeName", Json::text(&attribute.name)), ("KeyType", Json::text(role))])
    };
    let partition = key.partition.iter().map(|attribute| element(attribute, "HASH"));
    let sort = key.sort.iter().map(|attribute| element(attribute, "RANGE"));
    Json::List(partition.chain(sort).collect())
}

pub(super) fn write_index(index: &IndexSchema, billing: &Capacity) -> Json {
    let mut json = Json::object([
        ("IndexName", Json::text(&index.name)),
        ("KeySchema", write_key(&index.key)),
        ("Projection", write_projection(&index.projection)),
    ]);
    if let (Capacity::Provisioned(capacity), IndexKind::Global) = (billing, index.kind) {
        json.set("ProvisionedThroughput", write_units(capacity.of_index(&index.name)));
    }
    json
}

/// Writes a projection.
pub fn write_projection(projection: &Projection) -> Json {
    match projection {
        Projection::All => Json::object([("ProjectionType", Json::text("ALL"))]),
        Projection::KeysOnly => Json::object([("ProjectionType", Json::text("KEYS_ONLY"))]),
        Projection::Include(names) => Json::object([
            ("ProjectionType", Json::text("INCLUDE")),
            ("NonKeyAttributes", Json::List(names.iter().map(Json::text).collect())),
        ]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: &str = r#"{"TableName":"Shop","AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"N"},{"AttributeName":"a","AttributeType":"S"},{"AttributeName":"b","AttributeType":"B"}],"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],"LocalSecondaryIndexes":[{"IndexName":"l","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"a","KeyType":"RANGE"}],"Projection":{"ProjectionType":"KEYS_ONLY"}}],"GlobalSecondaryIndexes":[{"IndexName":"g","KeySchema":[{"AttributeName":"a","KeyType":"HASH"},{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"b","KeyType":"RANGE"}],"Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["x","y"]},"ProvisionedThroughput":{"ReadCapacityUnits":3,"WriteCapacityUnits":4}}],"BillingMode":"PROVISIONED","ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":2},"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"},"TableClass":"STANDARD_INFREQUENT_ACCESS","DeletionProtectionEnabled":true}"#;

    #[test]
    fn a_request_is_read_and_written_alike() {
        let tables = read_document(&Json::parse(REQUEST).expect("JSON")).expect("a table");
        let [table] = tables.as_slice() else { panic!("one table") };
        assert_eq!(write_request(table).compact(), REQUEST);
    }

    #[test]
    fn a_description_is_read_like_the_request_that_made_it() {
        let request = Json::parse(REQUEST).expect("JSON");
        let mut description = request.clone();
        description.set("TableStatus", Json::text("ACTIVE"));
        description.remove("BillingMode");
        description.remove("TableClass");
        description.set(
            "TableClassSummary",
            Json::object([("TableClass", Json::text("STANDARD_INFREQUENT_ACCESS"))]),
        );
        let answer = Json::object([("Table", description)]);
        assert_eq!(read_document(&answer), read_document(&request));
    }

    #[test]
    fn every_fault_has_its_path() {
        let text = r#"{"TableName":"T","AttributeDefinitions":[{"AttributeName":"a","AttributeType":"X"}],"KeySchema":[{"AttributeName":"a","KeyType":"HASH"}]}"#;
        let faults = read_document(&Json::parse(text).expect("JSON")).expect_err("faults");
        let reported: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(
            reported,
            [
                "AttributeDefinitions[0]: write AttributeName and AttributeType, which is S, N or B",
                "KeySchema[0]: AttributeDefinitions does not define a",
                "KeySchema: there is no partition key: write an element with KeyType HASH",
            ]
        );
    }
}
