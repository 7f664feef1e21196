//! Reads the tables of a template.

use std::collections::BTreeMap;

use keywright_semantics::limits::TABLE_NAME_BYTES_MIN;
use keywright_semantics::request::parts::TableClass;

use super::functions::{Functions, ID_BYTES_MAX, cut};
use super::{GLOBAL_TABLE, POLICY, Parameters, Read, SIMPLE_TABLE, TABLE, TARGET, is_made};
use crate::create_table::{read_table, read_units};
use crate::fault::{ExchangeFault, Faults, report};
use crate::lines::Lines;
use crate::supported::{self, Shape};
use keywright_model::FAULTS_MAX;
use keywright_model::json::Json;
use keywright_model::tables::{
    AutoScaling, Capacity, Policies, Provisioned, Scaling, TableDefinition, Units,
};

/// What begins the names of values that every stack has, such as its region.
const PSEUDO_PARAMETERS: &str = "AWS::";

/// Transforms that leave the tables of a template as they are, or that this module knows.
const KNOWN_TRANSFORMS: [&str; 3] =
    ["AWS::Serverless-2016-10-31", "AWS::LanguageExtensions", "AWS::SecretsManager-2024-09-16"];

/// How to get the template that a deployment made of loops, transforms and macros.
const PROCESSED: &str = "import the output of `aws cloudformation get-template --stack-name NAME --template-stage Processed`, or the tables themselves with --endpoint";

/// Parameters that a fault names. The service takes 200.
const NAMES_SHOWN_MAX: usize = 200;

/// Resources of a template. The service takes 500.
const RESOURCES_MAX: usize = 1_000;

/// Notes on a template; nobody reads more.
const NOTES_MAX: usize = 1_000;

/// Bytes of a resource id, which is compared with all tables and policies: the name of a table and an index
/// with the functions that make them.
const RESOURCE_ID_BYTES_MAX: usize = 2_048;

/// Reads the tables of a template; `lines` are those of its text.
pub fn read(template: &Json, lines: &Lines, parameters: &Parameters) -> Result<Read, Faults> {
    check_parameters(template, parameters)?;
    let mut reader = Reader { functions: Functions::new(template, parameters), lines, notes: Vec::new() };
    let mut faults = Vec::new();
    let mut tables = Vec::new();
    let resources = template.get("Resources").map_or(&[][..], Json::members);
    if resources.len() > RESOURCES_MAX {
        let text = format!("a template has at most {RESOURCES_MAX} resources here: divide it");
        return Err(vec![ExchangeFault::new("Resources", text)]);
    }
    reader.note_transforms(template);
    for (id, resource) in resources {
        let mut own = Vec::new();
        let found = reader.resource(id, resource, &mut own);
        tables.extend(found.filter(|_| own.is_empty()).map(|table| (id.clone(), table)));
        for fault in own {
            report(&mut faults, fault);
        }
    }
    reader.within_bounds()?;
    if tables.is_empty() {
        return Err(reader.without_tables(faults));
    }
    for fault in faults {
        reader.note(&fault.path, &format!("{}; the table is left out", fault.text));
    }
    reader.read_scaling(resources, &mut tables);
    if let Some(globals) = template.get("Globals").and_then(|globals| globals.get("SimpleTable")) {
        let names: Vec<&str> = globals.members().iter().map(|(name, _)| name.as_str()).collect();
        reader.note("Globals.SimpleTable", &format!("a model does not hold {}", names.join(", ")));
    }
    reader.within_bounds()?;
    Ok(Read { tables: tables.into_iter().map(|(_, table)| table).collect(), notes: reader.finish() })
}

/// Checks that the template has the parameters whose values are given, and allows these values.
fn check_parameters(template: &Json, given: &Parameters) -> Result<(), Faults> {
    let declared = template.get("Parameters").map_or(&[][..], Json::members);
    let by_name: BTreeMap<&str, &Json> =
        declared.iter().map(|(name, value)| (name.as_str(), value)).collect();
    let mut faults = Faults::new();
    for (name, value) in given.iter().filter(|(name, _)| !name.starts_with(PSEUDO_PARAMETERS)) {
        let text = match by_name.get(name.as_str()) {
            None => {
                let names: Vec<&str> = by_name.keys().copied().take(NAMES_SHOWN_MAX).collect();
                let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                format!("the template has no parameter {name}; its parameters: {known}")
            }
            Some(parameter) if !allows(parameter, value) => {
                let allowed = parameter.get("AllowedValues").map(Json::compact).unwrap_or_default();
                format!("{name}={value}: the template allows {}", cut(&allowed, RESOURCE_ID_BYTES_MAX))
            }
            Some(_) => continue,
        };
        report(&mut faults, ExchangeFault::new("Parameters", text));
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

fn allows(parameter: &Json, value: &str) -> bool {
    let allowed = parameter.get("AllowedValues").map_or(&[][..], Json::elements);
    let is_it = |one: &Json| match one {
        Json::Text(text) | Json::Number(text) => text == value,
        other => other.compact() == value,
    };
    allowed.is_empty() || allowed.iter().any(is_it)
}

struct Reader<'a> {
    functions: Functions<'a>,
    lines: &'a Lines,
    notes: Vec<String>,
}

impl Reader<'_> {
    /// A note with the line of its subject.
    fn note(&mut self, path: &str, text: &str) {
        let line = self.lines.line(path).map(|line| format!("line {line}: ")).unwrap_or_default();
        let about: Vec<&str> =
            path.split('.').filter(|part| !matches!(*part, "Resources" | "Properties")).collect();
        let note = format!("{line}{}: {text}", about.join("."));
        if self.notes.len() < NOTES_MAX && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn within_bounds(&mut self) -> Result<(), Faults> {
        let exceeded = self.functions.exceeded.take();
        exceeded.map_or(Ok(()), |text| Err(vec![ExchangeFault::new("", text)]))
    }

    /// The faults of a template without a table that can be read: with what else could make one, and with the
    /// values that only a deployment knows.
    fn without_tables(mut self, mut faults: Faults) -> Faults {
        if faults.is_empty() {
            let text = format!("there is no {TABLE}, no {GLOBAL_TABLE} and no {SIMPLE_TABLE}");
            faults.push(ExchangeFault::new("Resources", text));
        } else {
            self.notes.clear();
        }
        for fault in &mut faults {
            if let Some(line) = self.lines.line(&fault.path) {
                fault.path = format!("line {line}: {}", fault.path);
            }
        }
        self.functions.defaults.clear();
        faults.extend(self.finish().into_iter().map(|note| ExchangeFault::new("", note)));
        faults.truncate(FAULTS_MAX);
        faults
    }

    /// Notes macros that change the template on deployment, in ways that nobody else knows.
    fn note_transforms(&mut self, template: &Json) {
        let Some(transform) = template.get("Transform") else { return };
        let several = match transform {
            Json::List(elements) => elements.as_slice(),
            one => std::slice::from_ref(one),
        };
        let name = |one: &Json| one.as_str().or_else(|| one.str_at("Name")).map(str::to_owned);
        for name in several.iter().filter_map(name).filter(|name| !KNOWN_TRANSFORMS.contains(&name.as_str()))
        {
            let text = format!(
                "the macro {name} changes the template on deployment; it is read as it stands ({PROCESSED})"
            );
            self.note("Transform", &text);
        }
    }

    /// All notes, including those of the functions.
    fn finish(mut self) -> Vec<String> {
        for value in std::mem::take(&mut self.functions.unresolved) {
            self.note(&value.path, &value.text);
        }
        if !self.functions.defaults.is_empty() {
            let used: Vec<String> =
                self.functions.defaults.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            self.notes.push(format!("the defaults of the parameters are used: {}", used.join(", ")));
        }
        self.notes
    }

    fn resource(&mut self, id: &str, resource: &Json, faults: &mut Faults) -> Option<TableDefinition> {
        let path = format!("Resources.{}", cut(id, ID_BYTES_MAX));
        let kind = resource.str_at("Type").unwrap_or_default();
        let shape = match kind {
            TABLE => supported::RESOURCE,
            GLOBAL_TABLE => supported::GLOBAL_RESOURCE,
            SIMPLE_TABLE => supported::SIMPLE_RESOURCE,
            _ => {
                if let Some(text) = left_out(id, kind) {
                    self.note(&path, &text);
                }
                return None;
            }
        };
        if let Some(condition) = resource.str_at("Condition")
            && !self.functions.holds(condition, &path)
        {
            self.note(
                &path,
                &format!(
                    "the condition {condition} does not hold with these parameters; the table is imported anyway"
                ),
            );
        }
        let policies = self.policies(resource, &path);
        let path = format!("{path}.Properties");
        let mut properties = self.properties(id, resource, &shape, &path);
        if kind == SIMPLE_TABLE {
            properties = simple(&properties);
        }
        let table = read_table(&properties, &path, faults)?;
        let table = TableDefinition { policies, ..with_settings(table, &properties) };
        if table.billing == Capacity::OnDemand && kind != GLOBAL_TABLE {
            let mode = properties.str_at("BillingMode");
            if mode == Some("PROVISIONED") || mode.is_none() && kind == TABLE {
                self.note(&path, "it is provisioned and no capacity is given; on-demand is assumed");
            }
        }
        if kind == GLOBAL_TABLE { Some(self.with_replicas(table, &properties, &path)) } else { Some(table) }
    }

    /// The deletion policies. A model holds nothing else from outside the properties.
    fn policies(&mut self, resource: &Json, path: &str) -> Policies {
        let mut own = Json::Object(Vec::new());
        for (name, value) in resource.members() {
            match name.as_str() {
                "DeletionPolicy" | "UpdateReplacePolicy" => {
                    own.set(name, self.functions.resolve(value, path));
                }
                "CreationPolicy" | "DependsOn" | "UpdatePolicy" => {
                    self.note(&format!("{path}.{name}"), "a model does not hold this; left out");
                }
                _ => {}
            }
        }
        Policies::of(|name| own.str_at(name).map(str::to_owned))
    }

    /// The part of the properties that a model holds, with functions evaluated and always with a name.
    fn properties(&mut self, id: &str, resource: &Json, shape: &Shape, path: &str) -> Json {
        let empty = Json::Object(Vec::new());
        let parted = supported::part(resource.get("Properties").unwrap_or(&empty), shape);
        for name in &parted.unheld {
            self.note(&format!("{path}.{name}"), "a model does not hold this; left out");
        }
        let mut resolved = self.functions.resolve(&parted.held, path);
        if resolved.str_at("TableName").is_none_or(str::is_empty) {
            let short = id.len() < TABLE_NAME_BYTES_MIN;
            let name = if short { format!("{id}-table") } else { id.to_owned() };
            if short {
                let text =
                    format!("it has no name, and its own is too short for a table; it is called {name}");
                self.note(path, &text);
            }
            resolved.set("TableName", Json::text(name));
        }
        resolved
    }

    /// A global table's replicas, and the settings of the first one. The table's own region is that of the
    /// stack if the template says so, otherwise the first.
    fn with_replicas(&mut self, table: TableDefinition, properties: &Json, path: &str) -> TableDefinition {
        let replicas = properties.get("Replicas").map_or(&[][..], Json::elements);
        let mut regions: Vec<&str> = replicas.iter().filter_map(|replica| replica.str_at("Region")).collect();
        let stack = self.functions.region();
        let own = regions.iter().position(|region| *region == stack);
        let name = table.name.clone();
        let mut table = global_settings(table, properties, replicas.get(own.unwrap_or(0)));
        let place = format!("{path}.Replicas");
        if !regions.is_empty() {
            let home = regions.remove(own.unwrap_or(0));
            if own.is_none() && !regions.is_empty() {
                self.note(
                    &place,
                    &format!(
                        "{home} is assumed as the home region of {name}; {} as replicas",
                        regions.join(", ")
                    ),
                );
            }
        }
        if regions.is_empty() {
            self.note(&place, "one region; export writes it as an AWS::DynamoDB::Table, which CloudFormation does not take as the same resource");
        }
        table.replicas = regions.into_iter().map(str::to_owned).collect();
        for what in differing(replicas) {
            self.note(&place, &format!("the replicas differ in {what}; a model has one setting for all"));
        }
        table
    }

    /// Scalable targets and their policies, assigned to the tables they name.
    fn read_scaling(&mut self, resources: &[(String, Json)], tables: &mut [(String, TableDefinition)]) {
        let policies = policies_of(resources);
        for (target_id, target) in resources.iter().filter(|(_, found)| found.str_at("Type") == Some(TARGET))
        {
            let Some(raw) = target.get("Properties") else { continue };
            let path = format!("Resources.{}.Properties", cut(target_id, ID_BYTES_MAX));
            let properties =
                self.functions.resolve(&supported::part(raw, &supported::SCALABLE_TARGET).held, &path);
            let dimension = properties.str_at("ScalableDimension").unwrap_or_default();
            let Some(dimension) = dimension.strip_prefix("dynamodb:") else { continue };
            let resource = raw.get("ResourceId").map(id_text).unwrap_or_default();
            // The resource id usually refers to a table of the template; assumptions about it do not matter.
            let known = self.functions.unresolved.len();
            let resolved = raw.get("ResourceId").map(|id| self.functions.resolve(id, &path));
            self.functions.unresolved.truncate(known);
            let resolved = resolved.as_ref().and_then(Json::as_str).unwrap_or_default();
            let resolved = cut(resolved, RESOURCE_ID_BYTES_MAX);
            // The rest is the name of an index, which can equal that of another table.
            let before_index = |text: &str| text.split("/index/").next().unwrap_or_default().to_owned();
            let (place, resolved) = (before_index(&resource), before_index(resolved));
            let named = tables.iter_mut().find(|(id, table)| {
                mentions(&place, id) || mentions(&place, &table.name) || mentions(&resolved, &table.name)
            });
            let Some((_, table)) = named else {
                self.note(&path, "it scales no table of this template; left out");
                continue;
            };
            let Some(policy) = policy_of(&policies, target_id, &resource, dimension) else {
                self.note(&path, "no target-tracking policy of this template goes with it, and without one nothing scales; left out");
                continue;
            };
            let percent = self.policy_percent(policy);
            let number = |name: &str| properties.get(name).and_then(Json::as_u64);
            let (Some(units_min), Some(units_max), Some(target_percent)) =
                (number("MinCapacity"), number("MaxCapacity"), percent)
            else {
                self.note(&path, "the scaling range or its target is not a number; left out");
                continue;
            };
            let scaling = Scaling { units_min, units_max, target_percent };
            if !scale(table, dimension, scaling) {
                self.note(&path, "this index has another range than its table; a model has one range for both, so this one is left out");
            }
        }
    }

    fn policy_percent(&mut self, (id, value): (&str, &Json)) -> Option<u64> {
        let path = format!("Resources.{id}.Properties.TargetTrackingScalingPolicyConfiguration.TargetValue");
        whole(&self.functions.resolve(value, &path))
    }
}

/// The beginning of what a resource id is written as.
fn id_text(json: &Json) -> String {
    cut(&json.compact(), RESOURCE_ID_BYTES_MAX).to_owned()
}

/// A scaling policy of a template.
struct Policy<'a> {
    id: &'a str,
    properties: &'a Json,
    /// The target that it refers to.
    target: Option<String>,
    resource: Option<String>,
    value: &'a Json,
}

fn policies_of(resources: &[(String, Json)]) -> Vec<Policy<'_>> {
    let policies = resources.iter().filter(|(_, found)| found.str_at("Type") == Some(POLICY));
    policies.filter_map(|(id, policy)| policy_with(id, policy.get("Properties")?)).collect()
}

fn policy_with<'a>(id: &'a str, properties: &'a Json) -> Option<Policy<'a>> {
    Some(Policy {
        id,
        properties,
        target: properties.get("ScalingTargetId").map(id_text),
        resource: properties.get("ResourceId").map(id_text),
        value: properties.at(&["TargetTrackingScalingPolicyConfiguration", "TargetValue"])?,
    })
}

/// The policy that tracks a target, with its target value. It
/// refers to the target, or to the same resource and dimension.
fn policy_of<'a>(
    policies: &[Policy<'a>],
    target_id: &str,
    resource: &str,
    dimension: &str,
) -> Option<(&'a str, &'a Json)> {
    let found = policies.iter().find(|policy| {
        let by_target = policy.target.as_ref().is_some_and(|target| mentions(target, target_id));
        let same_dimension = policy
            .properties
            .str_at("ScalableDimension")
            .is_none_or(|named| named.strip_prefix("dynamodb:") == Some(dimension));
        by_target || policy.resource.as_deref() == Some(resource) && same_dimension
    })?;
    Some((found.id, found.value))
}

/// The note on a resource that is not a table but can create some.
fn left_out(id: &str, kind: &str) -> Option<String> {
    let database = kind.starts_with("AWS::DynamoDB::")
        || kind.starts_with("AWS::DAX::")
        || kind.starts_with("Custom::DynamoDB");
    let nested = matches!(kind, "AWS::CloudFormation::Stack" | "AWS::Serverless::Application")
        || kind.ends_with("::MODULE");
    if database {
        Some(format!("{kind} is not imported"))
    } else if nested {
        Some(format!("{kind} is not looked into; import its own template"))
    } else {
        is_made(id).then(|| {
            let what = if id.starts_with("Fn::ForEach") { "a loop" } else { "a transform" };
            format!("{what} makes resources on deployment, which the import cannot know ({PROCESSED})")
        })
    }
}

/// SAM's simple table as the table it becomes: a text key `id` if none is given, on-demand without capacity
/// (developer guide of SAM: `AWS::Serverless::SimpleTable`).
fn simple(properties: &Json) -> Json {
    let key = properties.get("PrimaryKey");
    let name = key.and_then(|key| key.str_at("Name")).unwrap_or("id");
    let key_type = match key.and_then(|key| key.str_at("Type")) {
        Some("Number") => "N",
        Some("Binary") => "B",
        _ => "S",
    };
    let one = |members: [(&str, &str); 2]| {
        Json::List(vec![Json::object(members.map(|(name, text)| (name, Json::text(text))))])
    };
    let mut table = properties.clone();
    table.set("AttributeDefinitions", one([("AttributeName", name), ("AttributeType", key_type)]));
    table.set("KeySchema", one([("AttributeName", name), ("KeyType", "HASH")]));
    let mode = if properties.get("ProvisionedThroughput").and_then(read_units).is_some() {
        "PROVISIONED"
    } else {
        "PAY_PER_REQUEST"
    };
    table.set("BillingMode", Json::text(mode));
    table
}

/// Sets the scaling range of a table. False if the dimension is an index's and its range differs from the
/// table's: a model has one range for both.
fn scale(table: &mut TableDefinition, dimension: &str, scaling: Scaling) -> bool {
    let Capacity::Provisioned(capacity) = &mut table.billing else { return true };
    let both = capacity.autoscaling.get_or_insert(AutoScaling { read: None, write: None });
    let Some((holder, units)) = dimension.split_once(':') else { return true };
    let place = if units == "ReadCapacityUnits" { &mut both.read } else { &mut both.write };
    if holder == "index" && place.is_some() {
        return *place == Some(scaling);
    }
    *place = Some(scaling);
    true
}

/// Whether a resource id contains the table's name as a whole word.
fn mentions(resource: &str, name: &str) -> bool {
    resource
        .split(|letter: char| !(letter.is_alphanumeric() || "_-.".contains(letter)))
        .any(|word| word == name || word.split('.').any(|part| part == name))
}

/// A percentage, which templates can write with a fraction.
fn whole(json: &Json) -> Option<u64> {
    match json {
        Json::Number(text) | Json::Text(text) => text.split('.').next()?.parse().ok(),
        _ => None,
    }
}

/// The settings that `CreateTable` does not have.
fn with_settings(mut table: TableDefinition, properties: &Json) -> TableDefinition {
    table.ttl = properties
        .get("TimeToLiveSpecification")
        .filter(|ttl| enabled(ttl, "Enabled"))
        .and_then(|ttl| ttl.str_at("AttributeName"))
        .map(str::to_owned);
    table.point_in_time_recovery = recovers(properties);
    table
}

fn enabled(json: &Json, name: &str) -> bool {
    json.get(name).and_then(Json::as_bool).unwrap_or(false)
}

fn recovers(holder: &Json) -> bool {
    holder
        .get("PointInTimeRecoverySpecification")
        .is_some_and(|recovery| enabled(recovery, "PointInTimeRecoveryEnabled"))
}

/// A global table with the settings of one of its replicas.
fn global_settings(mut table: TableDefinition, properties: &Json, replica: Option<&Json>) -> TableDefinition {
    let nothing = Json::Null;
    let replica = replica.unwrap_or(&nothing);
    table.point_in_time_recovery = recovers(replica);
    table.deletion_protection = enabled(replica, "DeletionProtectionEnabled");
    table.class = replica.str_at("TableClass").and_then(TableClass::from_name);
    if properties.str_at("BillingMode") == Some("PAY_PER_REQUEST") {
        return table;
    }
    let Some((write, write_scaling)) = capacity(properties, "Write") else { return table };
    let Some((read, read_scaling)) = capacity(replica, "Read").or_else(|| capacity(properties, "Read"))
    else {
        return table;
    };
    let own = Units { read, write };
    let of_replica = replica.get("GlobalSecondaryIndexes").map_or(&[][..], Json::elements);
    let indexes = properties.get("GlobalSecondaryIndexes").map_or(&[][..], Json::elements);
    let indexes = indexes.iter().filter_map(|index| {
        let name = index.str_at("IndexName")?;
        let reads = of_replica.iter().find(|known| known.str_at("IndexName") == Some(name)).unwrap_or(index);
        let (read, write) = (capacity(reads, "Read"), capacity(index, "Write"));
        let units = Units {
            read: read.map_or(own.read, |(units, _)| units),
            write: write.map_or(own.write, |(units, _)| units),
        };
        (units != own).then(|| (name.to_owned(), units))
    });
    let autoscaling = (read_scaling.is_some() || write_scaling.is_some())
        .then_some(AutoScaling { read: read_scaling, write: write_scaling });
    table.billing = Capacity::Provisioned(Provisioned {
        table: own,
        indexes: indexes.collect::<BTreeMap<_, _>>(),
        autoscaling,
    });
    table
}

/// The initial units of a global table, an index or a replica, and
/// their range. Fixed write units are written as a range of one size.
fn capacity(holder: &Json, name: &str) -> Option<(u64, Option<Scaling>)> {
    let settings = holder.get(&format!("{name}ProvisionedThroughputSettings"))?;
    if let Some(fixed) = settings.get("ReadCapacityUnits").and_then(Json::as_u64) {
        return Some((fixed, None));
    }
    let range = settings.get(&format!("{name}CapacityAutoScalingSettings"))?;
    let number = |name: &str| range.get(name).and_then(Json::as_u64);
    let scaling = Scaling {
        units_min: number("MinCapacity")?,
        units_max: number("MaxCapacity")?,
        target_percent: whole(range.at(&["TargetTrackingScalingPolicyConfiguration", "TargetValue"])?)?,
    };
    let units = number("SeedCapacity").unwrap_or(scaling.units_min);
    let fixed = scaling.units_min == scaling.units_max && units == scaling.units_min;
    Some((units, (!fixed).then_some(scaling)))
}

/// The settings that differ between the replicas.
fn differing(replicas: &[Json]) -> Vec<&str> {
    let Some(first) = replicas.first() else { return Vec::new() };
    let mut found: Vec<&str> = Vec::new();
    let names = replicas.iter().flat_map(Json::members).map(|(name, _)| name.as_str());
    for name in names.filter(|name| *name != "Region") {
        let same = replicas.iter().all(|replica| replica.get(name) == first.get(name));
        if !same && !found.contains(&name) {
            found.push(name);
        }
    }
    found
}
