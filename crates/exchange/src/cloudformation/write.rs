//! Writes tables as a template.
//!
//! A table with replicas becomes an `AWS::DynamoDB::GlobalTable`, any
//! other an `AWS::DynamoDB::Table` with separate scaling resources.

use keywright_semantics::request::parts::StreamViewType;
use keywright_semantics::schema::IndexKind;

use super::{GLOBAL_TABLE, POLICY, Resource, STACK_REGION, TABLE, TARGET};
use crate::create_table::{write_request, write_schema};
use keywright_model::json::{Json, Members};
use keywright_model::tables::{Capacity, Provisioned, Scaling, TableDefinition, Units};

/// Writes a template with the tables.
pub fn write(description: &str, tables: &[TableDefinition], resource: &Resource) -> Json {
    let mut resources: Members = Vec::new();
    for table in tables {
        let id = free_id(&table.name, &resources);
        let regions = regions(table, resource);
        if regions.is_empty() {
            resources.push((id.clone(), with_policies(resource_of(TABLE, table_properties(table)), table)));
            add_scaling(&id, table, &mut resources);
        } else {
            resources.push((
                id,
                with_policies(resource_of(GLOBAL_TABLE, global_properties(table, &regions)), table),
            ));
        }
    }
    let mut template = Json::object([("AWSTemplateFormatVersion", Json::text("2010-09-09"))]);
    if !description.is_empty() {
        template.set("Description", Json::text(description));
    }
    template.set("Resources", Json::Object(resources));
    template
}

/// The regions of a table's replicas, its own first; empty for a table without other regions.
fn regions(table: &TableDefinition, resource: &Resource) -> Vec<Json> {
    match resource {
        Resource::GlobalTable(regions) => regions.iter().map(Json::text).collect(),
        Resource::AsModelled if table.replicas.is_empty() => Vec::new(),
        Resource::AsModelled => {
            // One replica has to be in the region of the stack, which is left to the stack.
            let own = Json::object([("Ref", Json::text(STACK_REGION))]);
            std::iter::once(own).chain(table.replicas.iter().map(Json::text)).collect()
        }
    }
}

fn resource_of(kind: &str, properties: Json) -> Json {
    Json::object([("Type", Json::text(kind)), ("Properties", properties)])
}

/// The deletion policies of a resource stand outside its properties.
fn with_policies(mut resource: Json, table: &TableDefinition) -> Json {
    for (name, policy) in table.policies.named() {
        resource.set(name, Json::text(policy));
    }
    resource
}

/// A logical id: letters and digits only, unique in the template.
fn free_id(name: &str, taken: &Members) -> String {
    let base: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let base = if base.is_empty() { "Table".to_owned() } else { base };
    let mut id = base.clone();
    let mut number = 2;
    while taken.iter().any(|(known, _)| *known == id) {
        id = format!("{base}{number}");
        number += 1;
    }
    id
}

fn table_properties(table: &TableDefinition) -> Json {
    let mut properties = write_request(table);
    if let Some(stream) = table.stream {
        // Unlike the request, the resource has no StreamEnabled.
        properties.set("StreamSpecification", Json::object([("StreamViewType", Json::text(stream.name()))]));
    }
    set_ttl(&mut properties, table);
    set_recovery(&mut properties, table);
    properties
}

fn set_ttl(properties: &mut Json, table: &TableDefinition) {
    if let Some(ttl) = &table.ttl {
        properties.set(
            "TimeToLiveSpecification",
            Json::object([("AttributeName", Json::text(ttl)), ("Enabled", Json::Bool(true))]),
        );
    }
}

fn set_recovery(properties: &mut Json, table: &TableDefinition) {
    if table.point_in_time_recovery {
        properties.set(
            "PointInTimeRecoverySpecification",
            Json::object([("PointInTimeRecoveryEnabled", Json::Bool(true))]),
        );
    }
}

fn global_properties(table: &TableDefinition, regions: &[Json]) -> Json {
    let mut properties = Json::object([("TableName", Json::text(&table.name))]);
    for (name, value) in write_schema(table) {
        match name.as_str() {
            "ProvisionedThroughput" => {}
            "GlobalSecondaryIndexes" => properties.set(&name, global_indexes(table, &value)),
            _ => properties.set(&name, value),
        }
    }
    if let Capacity::Provisioned(capacity) = &table.billing {
        let scaling = capacity.autoscaling.and_then(|both| both.write);
        properties
            .set("WriteProvisionedThroughputSettings", settings("Write", scaling, capacity.table.write));
    }
    // Replicas read each other's changes from a stream of old and new images, which the service requires.
    let stream = if regions.len() > 1 { Some(StreamViewType::NewAndOldImages) } else { table.stream };
    if let Some(stream) = stream {
        properties.set("StreamSpecification", Json::object([("StreamViewType", Json::text(stream.name()))]));
    }
    set_ttl(&mut properties, table);
    let replicas = regions.iter().map(|region| replica(table, region)).collect();
    properties.set("Replicas", Json::List(replicas));
    properties
}

/// Indexes of a global table: writes scale for all replicas here, reads in each replica.
fn global_indexes(table: &TableDefinition, indexes: &Json) -> Json {
    let one = |index: &Json| {
        let mut index = index.clone();
        index.remove("ProvisionedThroughput");
        if let Capacity::Provisioned(capacity) = &table.billing {
            let units = capacity.of_index(index.str_at("IndexName").unwrap_or_default());
            let scaling = capacity.autoscaling.and_then(|both| both.write);
            index.set("WriteProvisionedThroughputSettings", settings("Write", scaling, units.write));
        }
        index
    };
    Json::List(indexes.elements().iter().map(one).collect())
}

/// The read settings of the table or an index in one replica.
fn read_capacity(capacity: &Provisioned, units: Units) -> Json {
    match capacity.autoscaling.and_then(|both| both.read) {
        Some(scaling) => settings("Read", Some(scaling), units.read),
        None => Json::object([("ReadCapacityUnits", Json::number(units.read))]),
    }
}

fn global(table: &TableDefinition) -> impl Iterator<Item = &str> {
    let indexes = table.schema.indexes.iter().filter(|index| index.kind == IndexKind::Global);
    indexes.map(|index| index.name.as_str())
}

fn replica(table: &TableDefinition, region: &Json) -> Json {
    let mut replica = Json::object([("Region", region.clone())]);
    if let Capacity::Provisioned(capacity) = &table.billing {
        replica.set("ReadProvisionedThroughputSettings", read_capacity(capacity, capacity.table));
        let indexes: Vec<Json> = global(table)
            .map(|name| {
                let reads = read_capacity(capacity, capacity.of_index(name));
                Json::object([("IndexName", Json::text(name)), ("ReadProvisionedThroughputSettings", reads)])
            })
            .collect();
        if !indexes.is_empty() {
            replica.set("GlobalSecondaryIndexes", Json::List(indexes));
        }
    }
    set_recovery(&mut replica, table);
    if table.deletion_protection {
        replica.set("DeletionProtectionEnabled", Json::Bool(true));
    }
    if let Some(class) = table.class {
        replica.set("TableClass", Json::text(class.name()));
    }
    replica
}

/// Scaling settings in a global table. Its writes must scale, so fixed units become a range of one size.
fn settings(name: &str, scaling: Option<Scaling>, units: u64) -> Json {
    let scaling = scaling.unwrap_or(Scaling { units_min: units, units_max: units, target_percent: 70 });
    let body = Json::object([
        ("MinCapacity", Json::number(scaling.units_min)),
        ("MaxCapacity", Json::number(scaling.units_max)),
        ("SeedCapacity", Json::number(units)),
        (
            "TargetTrackingScalingPolicyConfiguration",
            Json::object([("TargetValue", Json::number(scaling.target_percent))]),
        ),
    ]);
    Json::Object(vec![(format!("{name}CapacityAutoScalingSettings"), body)])
}

fn add_scaling(id: &str, table: &TableDefinition, resources: &mut Members) {
    let Capacity::Provisioned(Provisioned { autoscaling: Some(both), .. }) = &table.billing else {
        return;
    };
    // Indexes scale with the table: an index with too little capacity throttles the writes of both.
    for index in std::iter::once(None).chain(global(table).map(Some)) {
        for (name, scaling) in [("Read", both.read), ("Write", both.write)] {
            let Some(scaling) = scaling else { continue };
            let of_index: String =
                index.unwrap_or_default().chars().filter(char::is_ascii_alphanumeric).collect();
            let target_id = free_id(&format!("{id}{of_index}{name}Target"), resources);
            let policy_id = free_id(&format!("{id}{of_index}{name}Policy"), resources);
            let policy = scaling_policy(&policy_id, &target_id, name, scaling);
            resources.push((target_id, resource_of(TARGET, scalable_target(id, index, name, scaling))));
            resources.push((policy_id, resource_of(POLICY, policy)));
        }
    }
}

fn scalable_target(id: &str, index: Option<&str>, name: &str, scaling: Scaling) -> Json {
    let (resource, kind) = match index {
        None => (format!("table/${{{id}}}"), "table"),
        Some(index) => (format!("table/${{{id}}}/index/{index}"), "index"),
    };
    Json::object([
        ("ServiceNamespace", Json::text("dynamodb")),
        ("ResourceId", Json::object([("Fn::Sub", Json::text(resource))])),
        ("ScalableDimension", Json::text(format!("dynamodb:{kind}:{name}CapacityUnits"))),
        ("MinCapacity", Json::number(scaling.units_min)),
        ("MaxCapacity", Json::number(scaling.units_max)),
    ])
}

fn scaling_policy(policy_id: &str, target_id: &str, name: &str, scaling: Scaling) -> Json {
    let metric = format!("DynamoDB{name}CapacityUtilization");
    Json::object([
        ("PolicyName", Json::text(policy_id)),
        ("PolicyType", Json::text("TargetTrackingScaling")),
        ("ScalingTargetId", Json::object([("Ref", Json::text(target_id))])),
        (
            "TargetTrackingScalingPolicyConfiguration",
            Json::object([
                (
                    "PredefinedMetricSpecification",
                    Json::object([("PredefinedMetricType", Json::text(metric))]),
                ),
                ("TargetValue", Json::number(scaling.target_percent)),
            ]),
        ),
    ])
}
