//! `CloudFormation` templates: their DynamoDB tables read, templates written.
//!
//! `AWS::DynamoDB::Table` has the members of `CreateTable` and a few more; `AWS::DynamoDB::GlobalTable` moves reads,
//! table class and recovery to its replicas. Functions are followed where the template itself holds the answer: a
//! parameter's default, a substitution of such; what only a deployment knows is replaced and noted.

use std::collections::BTreeMap;

use keywright_semantics::schema::IndexKind;

use super::create_table::{read_table, write_request, write_schema};
use super::fault::{ExchangeFault, Faults};
use super::json::{Json, Members};
use super::tables::{AutoScaling, Billing, Provisioned, Scaling, TableDefinition, Units};
use super::yaml;

const TABLE: &str = "AWS::DynamoDB::Table";
const GLOBAL_TABLE: &str = "AWS::DynamoDB::GlobalTable";
const TARGET: &str = "AWS::ApplicationAutoScaling::ScalableTarget";
const POLICY: &str = "AWS::ApplicationAutoScaling::ScalingPolicy";

/// Levels of functions inside functions that are followed.
const FUNCTION_LEVELS_MAX: usize = 40;

/// Tables of a template and what had to be assumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    pub tables: Vec<TableDefinition>,
    pub notes: Vec<String>,
}

/// Which resource a table is written as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resource {
    Table,
    /// With a replica in each of these regions.
    GlobalTable(Vec<String>),
}

/// Reads a template from its text, JSON or YAML.
pub fn parse(text: &str) -> Result<Read, Faults> {
    let json = match Json::parse(text) {
        Ok(json) => json,
        Err(_) => yaml::parse(text).map_err(|fault| vec![fault])?,
    };
    read(&json)
}

/// Whether a document is a template with resources.
pub fn looks_like(json: &Json) -> bool {
    json.get("Resources").is_some_and(|resources| {
        resources.members().iter().any(|(_, resource)| resource.str_at("Type").is_some())
    })
}

/// Reads the tables of a template.
pub fn read(template: &Json) -> Result<Read, Faults> {
    let mut reader = Reader { parameters: parameters(template), notes: Vec::new() };
    let mut faults = Vec::new();
    let mut tables = Vec::new();
    let resources = template.get("Resources").map_or(&[][..], Json::members);
    for (id, resource) in resources {
        let path = format!("Resources.{id}.Properties");
        let empty = Json::Object(Vec::new());
        let properties = resource.get("Properties").unwrap_or(&empty);
        let found = match resource.str_at("Type") {
            Some(TABLE) => {
                let properties = reader.resolve_table(id, properties);
                read_table(&properties, &path, &mut faults).map(|table| with_settings(table, &properties))
            }
            Some(GLOBAL_TABLE) => {
                let properties = reader.resolve_table(id, properties);
                read_table(&properties, &path, &mut faults).map(|table| with_replica(table, &properties))
            }
            _ => None,
        };
        tables.extend(found.map(|table| (id.clone(), table)));
    }
    if tables.is_empty() && faults.is_empty() {
        faults.push(ExchangeFault::new("Resources", format!("there is no {TABLE} and no {GLOBAL_TABLE}")));
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    reader.read_scaling(resources, &mut tables);
    Ok(Read { tables: tables.into_iter().map(|(_, table)| table).collect(), notes: reader.notes })
}

/// The parameters' defaults.
fn parameters(template: &Json) -> BTreeMap<String, Json> {
    let members = template.get("Parameters").map_or(&[][..], Json::members);
    members
        .iter()
        .filter_map(|(name, parameter)| Some((name.clone(), parameter.get("Default")?.clone())))
        .collect()
}

struct Reader {
    parameters: BTreeMap<String, Json>,
    notes: Vec<String>,
}

impl Reader {
    /// The properties with their functions followed and a name in every case.
    fn resolve_table(&mut self, id: &str, properties: &Json) -> Json {
        let mut resolved = self.resolve(properties, id, 0);
        if resolved.str_at("TableName").is_none_or(str::is_empty) {
            if properties.get("TableName").is_some() {
                self.notes.push(format!(
                    "{id}: the table's name is known only on deployment; it is called {id} here"
                ));
            }
            resolved.set("TableName", Json::text(id));
        }
        resolved
    }

    fn resolve(&mut self, json: &Json, id: &str, level: usize) -> Json {
        if level > FUNCTION_LEVELS_MAX {
            return Json::Null;
        }
        match json {
            Json::Object(members) => {
                if let [(name, argument)] = members.as_slice()
                    && (name == "Ref" || name.starts_with("Fn::"))
                {
                    return self.function(name, argument, id, level + 1);
                }
                let resolved = members
                    .iter()
                    .map(|(name, value)| (name.clone(), self.resolve(value, id, level + 1)))
                    .filter(|(_, value)| *value != Json::Null);
                Json::Object(resolved.collect())
            }
            Json::List(elements) => {
                let resolved = elements.iter().map(|element| self.resolve(element, id, level + 1));
                Json::List(resolved.filter(|value| *value != Json::Null).collect())
            }
            leaf => leaf.clone(),
        }
    }

    /// The value of a function, or null when only a deployment knows it.
    fn function(&mut self, name: &str, argument: &Json, id: &str, level: usize) -> Json {
        match (name, argument) {
            ("Ref", Json::Text(parameter)) => self.parameters.get(parameter).cloned().unwrap_or(Json::Null),
            ("Fn::Sub", Json::Text(text)) => self.substitute(text, &[]),
            ("Fn::Sub", Json::List(parts)) => {
                let text = parts.first().and_then(Json::as_str).unwrap_or_default();
                let values = parts.get(1).map_or(Json::Null, |values| self.resolve(values, id, level));
                self.substitute(text, values.members())
            }
            ("Fn::Join", Json::List(parts)) => {
                let delimiter = parts.first().and_then(Json::as_str).unwrap_or_default();
                let values = parts.get(1).map_or(Json::Null, |values| self.resolve(values, id, level));
                let texts: Vec<&str> = values.elements().iter().filter_map(Json::as_str).collect();
                Json::text(texts.join(delimiter))
            }
            ("Fn::If", Json::List(parts)) => {
                self.notes.push(format!("{id}: a condition is taken as true"));
                parts.get(1).map_or(Json::Null, |value| self.resolve(value, id, level))
            }
            _ => Json::Null,
        }
    }

    /// `${x}` replaced by values and parameters; by nothing, with the joint's hyphen, when only a deployment knows it.
    fn substitute(&self, text: &str, values: &[(String, Json)]) -> Json {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            out.push_str(before);
            let Some((name, tail)) = after.split_once('}') else {
                out.push_str(after);
                rest = "";
                break;
            };
            let own = values.iter().find(|(known, _)| known == name).map(|(_, value)| value);
            if let Some(Json::Text(value) | Json::Number(value)) = own.or_else(|| self.parameters.get(name)) {
                out.push_str(value);
            }
            rest = tail;
        }
        out.push_str(rest);
        Json::text(out.trim_matches(['-', '_', '.']))
    }

    /// Scalable targets and their policies, given to the tables they name.
    fn read_scaling(&mut self, resources: &[(String, Json)], tables: &mut [(String, TableDefinition)]) {
        for (target_id, target) in resources.iter().filter(|(_, found)| found.str_at("Type") == Some(TARGET))
        {
            let Some(properties) = target.get("Properties") else { continue };
            let dimension = properties.str_at("ScalableDimension").unwrap_or_default();
            let Some(dimension) = dimension.strip_prefix("dynamodb:table:") else { continue };
            let resource = properties.get("ResourceId").map(Json::compact).unwrap_or_default();
            let named = tables
                .iter_mut()
                .find(|(id, table)| mentions(&resource, id) || mentions(&resource, &table.name));
            let Some((_, table)) = named else { continue };
            let percent = policy_percent(resources, target_id);
            let number = |name: &str| properties.get(name).and_then(Json::as_u64);
            let (Some(units_min), Some(units_max), Some(target_percent)) =
                (number("MinCapacity"), number("MaxCapacity"), percent)
            else {
                self.notes
                    .push(format!("{target_id}: the scaling range or its target is not a number; left out"));
                continue;
            };
            let scaling = Scaling { units_min, units_max, target_percent };
            if let Billing::Provisioned(capacity) = &mut table.billing {
                let both = capacity.autoscaling.get_or_insert(AutoScaling { read: None, write: None });
                match dimension {
                    "ReadCapacityUnits" => both.read = Some(scaling),
                    "WriteCapacityUnits" => both.write = Some(scaling),
                    _ => {}
                }
            }
        }
    }
}

/// Whether a resource id names the table: as a word of its own.
fn mentions(resource: &str, name: &str) -> bool {
    resource
        .split(|letter: char| !(letter.is_alphanumeric() || "_-".contains(letter)))
        .any(|word| word == name)
}

fn policy_percent(resources: &[(String, Json)], target_id: &str) -> Option<u64> {
    resources.iter().filter(|(_, found)| found.str_at("Type") == Some(POLICY)).find_map(|(_, policy)| {
        let properties = policy.get("Properties")?;
        properties.get("ScalingTargetId").filter(|target| mentions(&target.compact(), target_id))?;
        whole(properties.at(&["TargetTrackingScalingPolicyConfiguration", "TargetValue"])?)
    })
}

/// A percentage, which templates may write with a fraction.
fn whole(json: &Json) -> Option<u64> {
    match json {
        Json::Number(text) | Json::Text(text) => text.split('.').next()?.parse().ok(),
        _ => None,
    }
}

/// Settings that `CreateTable` does not have.
fn with_settings(mut table: TableDefinition, properties: &Json) -> TableDefinition {
    let enabled = |json: &Json, name: &str| json.get(name).and_then(Json::as_bool).unwrap_or(false);
    table.ttl = properties
        .get("TimeToLiveSpecification")
        .filter(|ttl| enabled(ttl, "Enabled"))
        .and_then(|ttl| ttl.str_at("AttributeName"))
        .map(str::to_owned);
    table.point_in_time_recovery = properties
        .get("PointInTimeRecoverySpecification")
        .is_some_and(|recovery| enabled(recovery, "PointInTimeRecoveryEnabled"));
    table
}

/// A global table's settings, those of its first replica included.
fn with_replica(table: TableDefinition, properties: &Json) -> TableDefinition {
    let mut table = with_settings(table, properties);
    let nothing = Json::Null;
    let replica = properties.get("Replicas").and_then(|list| list.elements().first()).unwrap_or(&nothing);
    let own = with_settings(table.clone(), replica);
    table.point_in_time_recovery = own.point_in_time_recovery;
    table.deletion_protection =
        replica.get("DeletionProtectionEnabled").and_then(Json::as_bool).unwrap_or(false);
    table.class =
        replica.str_at("TableClass").and_then(keywright_semantics::request::parts::TableClass::from_name);
    let settings = |holder: &Json, settings: &str, name: &str| {
        holder.at(&[settings, &format!("{name}CapacityAutoScalingSettings")]).and_then(read_settings)
    };
    let write = settings(properties, "WriteProvisionedThroughputSettings", "Write");
    let read = settings(replica, "ReadProvisionedThroughputSettings", "Read");
    let fixed =
        replica.at(&["ReadProvisionedThroughputSettings", "ReadCapacityUnits"]).and_then(Json::as_u64);
    if properties.str_at("BillingMode") == Some("PROVISIONED")
        && let Some((write_scaling, write_units)) = write
        && let Some(read_units) = read.map(|(_, units)| units).or(fixed)
    {
        table.billing = Billing::Provisioned(Provisioned {
            table: Units { read: read_units, write: write_units },
            indexes: BTreeMap::new(),
            autoscaling: Some(AutoScaling {
                read: read.map(|(scaling, _)| scaling),
                write: Some(write_scaling),
            }),
        });
    }
    table
}

/// A scaling range and the units it starts with.
fn read_settings(json: &Json) -> Option<(Scaling, u64)> {
    let number = |name: &str| json.get(name).and_then(Json::as_u64);
    let scaling = Scaling {
        units_min: number("MinCapacity")?,
        units_max: number("MaxCapacity")?,
        target_percent: whole(json.at(&["TargetTrackingScalingPolicyConfiguration", "TargetValue"])?)?,
    };
    Some((scaling, number("SeedCapacity").unwrap_or(scaling.units_min)))
}

/// Writes a template with the tables.
pub fn write(description: &str, tables: &[TableDefinition], resource: &Resource) -> Json {
    let mut resources: Members = Vec::new();
    for table in tables {
        let id = free_id(&table.name, &resources);
        match resource {
            Resource::Table => {
                resources.push((id.clone(), resource_of(TABLE, table_properties(table))));
                add_scaling(&id, table, &mut resources);
            }
            Resource::GlobalTable(regions) => {
                resources.push((id, resource_of(GLOBAL_TABLE, global_properties(table, regions))));
            }
        }
    }
    let mut template = Json::object([("AWSTemplateFormatVersion", Json::text("2010-09-09"))]);
    if !description.is_empty() {
        template.set("Description", Json::text(description));
    }
    template.set("Resources", Json::Object(resources));
    template
}

fn resource_of(kind: &str, properties: Json) -> Json {
    Json::object([("Type", Json::text(kind)), ("Properties", properties)])
}

/// A logical id: letters and digits only, each used once.
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

fn global_properties(table: &TableDefinition, regions: &[String]) -> Json {
    let mut properties = Json::object([("TableName", Json::text(&table.name))]);
    for (name, value) in write_schema(table) {
        match name.as_str() {
            "ProvisionedThroughput" => {}
            "GlobalSecondaryIndexes" => properties.set(&name, global_indexes(table, &value)),
            _ => properties.set(&name, value),
        }
    }
    if let Billing::Provisioned(capacity) = &table.billing {
        let scaling = capacity.autoscaling.and_then(|both| both.write);
        properties
            .set("WriteProvisionedThroughputSettings", settings("Write", scaling, capacity.table.write));
    }
    // Replicas read each other's changes from a stream of old and new images; the service asks for it.
    if table.stream.is_some() || regions.len() > 1 {
        let view = table.stream.map_or("NEW_AND_OLD_IMAGES", |stream| stream.name());
        properties.set("StreamSpecification", Json::object([("StreamViewType", Json::text(view))]));
    }
    set_ttl(&mut properties, table);
    let replicas = regions.iter().map(|region| replica(table, region)).collect();
    properties.set("Replicas", Json::List(replicas));
    properties
}

/// Indexes as a global table has them: writes scale for all replicas here, reads for each replica there.
fn global_indexes(table: &TableDefinition, indexes: &Json) -> Json {
    let one = |index: &Json| {
        let mut index = index.clone();
        index.remove("ProvisionedThroughput");
        if let Billing::Provisioned(capacity) = &table.billing {
            let units = capacity.of_index(index.str_at("IndexName").unwrap_or_default());
            let scaling = capacity.autoscaling.and_then(|both| both.write);
            index.set("WriteProvisionedThroughputSettings", settings("Write", scaling, units.write));
        }
        index
    };
    Json::List(indexes.elements().iter().map(one).collect())
}

/// What one replica reads of the table or an index.
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

fn replica(table: &TableDefinition, region: &str) -> Json {
    let mut replica = Json::object([("Region", Json::text(region))]);
    if let Billing::Provisioned(capacity) = &table.billing {
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

/// The scaling settings of a global table; its writes must scale, so fixed units become a range of one size.
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
    let Billing::Provisioned(Provisioned { autoscaling: Some(both), .. }) = &table.billing else {
        return;
    };
    // An index that does not scale with its table throttles the writes of both.
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

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: &str = r#"
Parameters:
  Stage: {Type: String, Default: prod}
Resources:
  Queue: {Type: AWS::SQS::Queue}
  Orders:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: !Sub "${AWS::StackName}-orders-${Stage}"
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions:
        - {AttributeName: pk, AttributeType: S}
        - {AttributeName: at, AttributeType: N}
      KeySchema:
        - {AttributeName: pk, KeyType: HASH}
      GlobalSecondaryIndexes:
        - IndexName: byTime
          KeySchema:
            - {AttributeName: at, KeyType: HASH}
          Projection: {ProjectionType: KEYS_ONLY}
      TimeToLiveSpecification: {AttributeName: expires, Enabled: true}
      PointInTimeRecoverySpecification: {PointInTimeRecoveryEnabled: "true"}
      StreamSpecification: {StreamViewType: NEW_AND_OLD_IMAGES}
  Unnamed:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: !ImportValue elsewhere
      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
      KeySchema: [{AttributeName: id, KeyType: HASH}]
      ProvisionedThroughput: {ReadCapacityUnits: "5", WriteCapacityUnits: 6}
"#;

    #[test]
    fn tables_of_a_yaml_template_are_read_with_their_settings() {
        let read = parse(TEMPLATE).expect("a template");
        let [orders, unnamed] = read.tables.as_slice() else { panic!("two tables") };
        assert_eq!(orders.name, "orders-prod");
        assert_eq!(orders.ttl.as_deref(), Some("expires"));
        assert!(orders.point_in_time_recovery && orders.stream.is_some());
        assert_eq!(orders.schema.indexes.len(), 1);
        assert_eq!(unnamed.name, "Unnamed");
        let Billing::Provisioned(capacity) = &unnamed.billing else { panic!("provisioned") };
        assert_eq!(capacity.table, Units { read: 5, write: 6 });
        assert_eq!(
            read.notes,
            ["Unnamed: the table's name is known only on deployment; it is called Unnamed here"]
        );
    }

    fn scaled() -> Vec<TableDefinition> {
        let mut tables = parse(TEMPLATE).expect("a template").tables;
        if let Billing::Provisioned(capacity) = &mut tables[1].billing {
            let scaling = Scaling { units_min: 1, units_max: 10, target_percent: 70 };
            capacity.autoscaling = Some(AutoScaling { read: Some(scaling), write: Some(scaling) });
        }
        tables
    }

    #[test]
    fn a_written_template_reads_back_as_the_same_tables() {
        let tables = scaled();
        let template = write("Two tables", &tables, &Resource::Table);
        assert_eq!(parse(&yaml::write(&template)).expect("YAML").tables, tables);
        assert_eq!(parse(&template.pretty()).expect("JSON").tables, tables);
    }

    #[test]
    fn a_global_table_reads_back_too() {
        let tables = scaled();
        let regions = vec!["us-east-1".to_owned(), "eu-west-1".to_owned()];
        let template = write("", &tables, &Resource::GlobalTable(regions));
        let mut read = parse(&yaml::write(&template)).expect("YAML").tables;
        // The service requires the stream of a table with several replicas.
        assert!(read[1].stream.take().is_some());
        assert_eq!(read, tables);
    }

    #[test]
    fn a_template_without_tables_is_a_fault() {
        assert!(parse("Resources: {}").is_err());
    }

    #[test]
    fn indexes_scale_with_their_table_under_ids_of_their_own() {
        let request = |name: &str, index: &str| {
            let text = format!(
                r#"{{"TableName":"{name}","AttributeDefinitions":[{{"AttributeName":"id","AttributeType":"S"}}],
                "KeySchema":[{{"AttributeName":"id","KeyType":"HASH"}}],"ProvisionedThroughput":{{"ReadCapacityUnits":5,"WriteCapacityUnits":5}},
                "GlobalSecondaryIndexes":[{{"IndexName":"{index}","KeySchema":[{{"AttributeName":"id","KeyType":"HASH"}}],"Projection":{{"ProjectionType":"ALL"}}}}]}}"#
            );
            let mut faults = Vec::new();
            let table = read_table(&Json::parse(&text).expect("JSON"), "", &mut faults).expect("a table");
            let Billing::Provisioned(capacity) = &table.billing else { panic!("provisioned") };
            let scaling = Scaling { units_min: 5, units_max: 50, target_percent: 70 };
            let both = AutoScaling { read: Some(scaling), write: Some(scaling) };
            let billing = Billing::Provisioned(Provisioned { autoscaling: Some(both), ..capacity.clone() });
            TableDefinition { billing, ..table }
        };
        let tables = [request("Shop", "Orders"), request("ShopOrders", "byDay")];
        let template = write("", &tables, &Resource::Table);
        let resources = template.get("Resources").expect("resources").members();
        let ids: std::collections::BTreeSet<&String> = resources.iter().map(|(id, _)| id).collect();
        // Each table, and a target and a policy for reads and writes of itself and its index.
        assert_eq!((ids.len(), resources.len()), (18, 18));
        assert!(template.compact().contains("table/${Shop}/index/Orders"));
        assert_eq!(read(&template).expect("a template").tables, tables);
        let global = write("", &tables, &Resource::GlobalTable(vec!["eu-west-1".to_owned()]));
        let first = global.at(&["Resources", "Shop", "Properties"]).expect("the table");
        let index = &first.get("GlobalSecondaryIndexes").expect("indexes").elements()[0];
        assert!(index.get("WriteProvisionedThroughputSettings").is_some());
        let replica = &first.get("Replicas").expect("replicas").elements()[0];
        let index = &replica.get("GlobalSecondaryIndexes").expect("its indexes").elements()[0];
        assert!(index.get("ReadProvisionedThroughputSettings").is_some());
    }
}
