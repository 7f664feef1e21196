//! Applies a model to an endpoint: the calls that make what the endpoint lacks, and what differs otherwise.
//!
//! It drops nothing and changes nothing that is there. It knows no network: the caller describes the tables,
//! sends the calls in order, and waits until the table is active after each.

use std::collections::BTreeMap;
use std::fmt;

use keywright_semantics::request::parts::{StreamViewType, TableClass};
use keywright_semantics::schema::{IndexKind, IndexSchema, KeyAttribute, KeySchema, Projection};

use super::create_table::{write_index, write_request};
use super::fault::Faults;
use super::live::{LiveTable, definitions};
use super::of_model::definition;
use keywright_model::Model;
use keywright_model::json::Json;
use keywright_model::tables::{Capacity, TableDefinition};

/// What the tables are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Deletion protection and point-in-time recovery are left out, so that tables can be thrown away.
    Development,
    /// Everything that the model declares.
    Production,
}

/// One request to the endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The table that it makes or changes.
    pub table: String,
    /// The operation of the API.
    pub operation: &'static str,
    /// The request.
    pub request: Json,
    /// What it does, as the end of a sentence about the table: `index byDay`.
    pub makes: String,
    /// Whether the table works without it. An endpoint that does not have the operation refuses it, and the
    /// next call can be sent all the same.
    pub is_optional: bool,
}

/// Something that is otherwise at the endpoint, and is left as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The table.
    pub table: String,
    /// The part of the table, such as `billing` or `index byDay`.
    pub part: String,
    /// How it differs.
    pub contrast: Contrast,
}

/// The two sides of a difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contrast {
    /// Both have the part.
    Both {
        /// The model's.
        model: String,
        /// The endpoint's.
        endpoint: String,
    },
    /// The endpoint lacks it.
    OnlyModel(String),
    /// The model lacks it.
    OnlyEndpoint(String),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, part, contrast } = self;
        match contrast {
            Contrast::Both { model, endpoint } => {
                write!(f, "{table}: {part} is {endpoint} in the table and {model} in the model")
            }
            Contrast::OnlyModel(model) => {
                write!(f, "{table}: the model has {part} ({model}); the table does not")
            }
            Contrast::OnlyEndpoint(endpoint) => {
                write!(f, "{table}: the table has {part} ({endpoint}); the model does not")
            }
        }
    }
}

/// What is to be done, and what is not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Application {
    /// The calls, in order.
    pub calls: Vec<Call>,
    /// What differs and stays.
    pub differences: Vec<Difference>,
    /// What the model declares and no call here can make.
    pub notes: Vec<String>,
}

/// Compares a model with the tables that an endpoint has; `there` are those of the model's tables that exist.
/// Fails if a description cannot be read.
pub fn apply(model: &Model, there: &[LiveTable], purpose: Purpose) -> Result<Application, Faults> {
    let mut known: BTreeMap<String, TableDefinition> = BTreeMap::new();
    for live in there {
        known.extend(definitions(live)?.into_iter().map(|table| (table.name.clone(), table)));
    }
    let mut made = Application::default();
    for table in &model.tables {
        let wanted = for_purpose(definition(table), purpose);
        match known.get(&wanted.name) {
            None => made.create(&wanted),
            Some(there) => made.compare(&wanted, there, purpose),
        }
        if matches!(&wanted.billing, Capacity::Provisioned(capacity) if capacity.autoscaling.is_some()) {
            made.notes.push(format!(
                "{}: auto scaling is another service's; `export --to cloudformation` declares it",
                wanted.name
            ));
        }
    }
    Ok(made)
}

fn for_purpose(mut table: TableDefinition, purpose: Purpose) -> TableDefinition {
    if purpose == Purpose::Development {
        table.deletion_protection = false;
        table.point_in_time_recovery = false;
    }
    if !table.replicas.is_empty() {
        table.stream = Some(StreamViewType::NewAndOldImages);
    }
    table
}

impl Application {
    fn create(&mut self, table: &TableDefinition) {
        self.call(table, "CreateTable", write_request(table), "the table");
        if let Some(attribute) = &table.ttl {
            self.enable_ttl(table, attribute);
        }
        if table.point_in_time_recovery {
            self.enable_recovery(table);
        }
        for region in &table.replicas {
            self.add_replica(table, region);
        }
    }

    fn compare(&mut self, table: &TableDefinition, there: &TableDefinition, purpose: Purpose) {
        if table.schema.key != there.schema.key {
            self.differs(table, "the key", key_text(&table.schema.key), key_text(&there.schema.key));
            return;
        }
        self.compare_indexes(table, there);
        self.compare_settings(table, there, purpose);
    }

    fn compare_indexes(&mut self, table: &TableDefinition, there: &TableDefinition) {
        for index in &table.schema.indexes {
            let part = format!("index {}", index.name);
            match there.schema.indexes.iter().find(|known| known.name == index.name) {
                Some(known) if known == index => {}
                Some(known) => self.differs(table, &part, index_text(index), index_text(known)),
                None if index.kind == IndexKind::Local => {
                    let text = format!("{}, which only a new table can get", index_brief(index));
                    self.note(table, &part, Contrast::OnlyModel(text));
                }
                None => match retyped(index, there) {
                    Some(other) => {
                        let (brief, name, other) = (index_brief(index), &other.name, other.key_type.name());
                        let text = format!("{brief}, which needs another type of {name} than its {other}");
                        self.note(table, &part, Contrast::OnlyModel(text));
                    }
                    None => self.add_index(table, index, &part),
                },
            }
        }
        for index in &there.schema.indexes {
            if !table.schema.indexes.iter().any(|own| own.name == index.name) {
                let part = format!("index {}", index.name);
                self.note(table, &part, Contrast::OnlyEndpoint(index_brief(index)));
            }
        }
    }

    fn compare_settings(&mut self, table: &TableDefinition, there: &TableDefinition, purpose: Purpose) {
        let (own, other) = (billing_text(&table.billing), billing_text(&there.billing));
        if own != other {
            self.differs(table, "billing", own, other);
        }
        let class = |of: &TableDefinition| of.class.unwrap_or(TableClass::Standard);
        if class(table) != class(there) {
            self.differs(table, "the class", class(table).name().to_owned(), class(there).name().to_owned());
        }
        match (&table.ttl, &there.ttl) {
            (Some(attribute), None) => self.enable_ttl(table, attribute),
            (own, other) if own != other => {
                self.differs(table, "the time to live", shown(own.as_deref()), shown(other.as_deref()));
            }
            _ => {}
        }
        match (table.stream, there.stream) {
            (Some(view), None) => {
                let request =
                    [("StreamEnabled", Json::Bool(true)), ("StreamViewType", Json::text(view.name()))];
                self.update(table, "StreamSpecification", Json::object(request), "the stream");
            }
            (own, other) if own != other => {
                let name = |view: Option<StreamViewType>| shown(view.map(StreamViewType::name));
                self.differs(table, "the stream", name(own), name(other));
            }
            _ => {}
        }
        if table.deletion_protection && !there.deletion_protection {
            self.update(table, "DeletionProtectionEnabled", Json::Bool(true), "deletion protection");
        }
        if table.point_in_time_recovery && !there.point_in_time_recovery {
            self.enable_recovery(table);
        }
        if purpose == Purpose::Production && !table.deletion_protection && there.deletion_protection {
            self.differs(table, "deletion protection", "off".to_owned(), "on".to_owned());
        }
        for region in table.replicas.iter().filter(|region| !there.replicas.contains(region)) {
            self.add_replica(table, region);
        }
        for region in there.replicas.iter().filter(|region| !table.replicas.contains(region)) {
            self.note(table, "a replica", Contrast::OnlyEndpoint(region.clone()));
        }
    }

    fn add_index(&mut self, table: &TableDefinition, index: &IndexSchema, part: &str) {
        let attributes = index.key.attributes().map(|key| {
            Json::object([
                ("AttributeName", Json::text(&key.name)),
                ("AttributeType", Json::text(key.key_type.name())),
            ])
        });
        let create = Json::object([("Create", write_index(index, &table.billing))]);
        let request = Json::object([
            ("TableName", Json::text(&table.name)),
            ("AttributeDefinitions", Json::List(attributes.collect())),
            ("GlobalSecondaryIndexUpdates", Json::List(vec![create])),
        ]);
        self.call(table, "UpdateTable", request, part);
    }

    fn enable_ttl(&mut self, table: &TableDefinition, attribute: &str) {
        let specification = [("Enabled", Json::Bool(true)), ("AttributeName", Json::text(attribute))];
        let request = Json::object([
            ("TableName", Json::text(&table.name)),
            ("TimeToLiveSpecification", Json::object(specification)),
        ]);
        self.call(table, "UpdateTimeToLive", request, "the time to live");
    }

    fn enable_recovery(&mut self, table: &TableDefinition) {
        let specification = Json::object([("PointInTimeRecoveryEnabled", Json::Bool(true))]);
        let request = Json::object([
            ("TableName", Json::text(&table.name)),
            ("PointInTimeRecoverySpecification", specification),
        ]);
        self.call(table, "UpdateContinuousBackups", request, "point-in-time recovery");
        self.last_is_optional();
    }

    fn add_replica(&mut self, table: &TableDefinition, region: &str) {
        let create = Json::object([("Create", Json::object([("RegionName", Json::text(region))]))]);
        self.update(table, "ReplicaUpdates", Json::List(vec![create]), &format!("replica {region}"));
        self.last_is_optional();
    }

    fn update(&mut self, table: &TableDefinition, member: &str, value: Json, makes: &str) {
        let request = Json::object([("TableName", Json::text(&table.name)), (member, value)]);
        self.call(table, "UpdateTable", request, makes);
    }

    fn call(&mut self, table: &TableDefinition, operation: &'static str, request: Json, makes: &str) {
        let (table, makes) = (table.name.clone(), makes.to_owned());
        self.calls.push(Call { table, operation, request, makes, is_optional: false });
    }

    fn last_is_optional(&mut self) {
        if let Some(last) = self.calls.last_mut() {
            last.is_optional = true;
        }
    }

    fn differs(&mut self, table: &TableDefinition, part: &str, model: String, endpoint: String) {
        self.note(table, part, Contrast::Both { model, endpoint });
    }

    fn note(&mut self, table: &TableDefinition, part: &str, contrast: Contrast) {
        self.differences.push(Difference { table: table.name.clone(), part: part.to_owned(), contrast });
    }
}

/// A key attribute of the table that has another type than the new index needs.
fn retyped<'a>(index: &IndexSchema, there: &'a TableDefinition) -> Option<&'a KeyAttribute> {
    let differs = |known: &&KeyAttribute| {
        index.key.attributes().any(|own| own.name == known.name && own.key_type != known.key_type)
    };
    there.key_attributes().into_iter().find(differs)
}

fn key_text(key: &KeySchema) -> String {
    let names = |attributes: &[KeyAttribute]| {
        let names: Vec<String> =
            attributes.iter().map(|own| format!("{} ({})", own.name, own.key_type.name())).collect();
        names.join(" + ")
    };
    match names(&key.sort) {
        sort if sort.is_empty() => names(&key.partition),
        sort => format!("{}, {sort}", names(&key.partition)),
    }
}

fn index_text(index: &IndexSchema) -> String {
    let kind = match index.kind {
        IndexKind::Local => "local",
        IndexKind::Global => "global",
    };
    format!("{kind} by {} with {}", key_text(&index.key), held(index))
}

/// An index in few words: `day, all attributes`.
fn index_brief(index: &IndexSchema) -> String {
    let names: Vec<&str> = index.key.attributes().map(|own| own.name.as_str()).collect();
    format!("{}, {}", names.join(", "), held(index))
}

/// The attributes that an index holds.
fn held(index: &IndexSchema) -> String {
    match &index.projection {
        Projection::All => "all attributes".to_owned(),
        Projection::KeysOnly => "keys only".to_owned(),
        Projection::Include(names) => names.iter().map(String::as_str).collect::<Vec<_>>().join(", "),
    }
}

fn billing_text(billing: &Capacity) -> String {
    match billing {
        Capacity::OnDemand => "on-demand".to_owned(),
        Capacity::Provisioned(capacity) => {
            format!("provisioned with {} read and {} write units", capacity.table.read, capacity.table.write)
        }
    }
}

fn shown(setting: Option<&str>) -> String {
    setting.unwrap_or("off").to_owned()
}
